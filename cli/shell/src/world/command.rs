//! From a command of the contract to a process, and from what the process did to a fact.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use engine::State;
use engine::event::id::{Bytes, Digest};
use engine::event::measurement::{self as fact, RunOutcome};
use engine::event::policy::{Bounds, Capture, Command};

use super::RealWorld;
use super::removal::once_removed;
use super::zones;
use crate::driver::Meanwhile;
use crate::process::{
    Cancel, CaptureSpec, Captured, CommandRun, CommandSpec, Deadlines, Input, Outcome, ProcessError, StopCause,
    Survivor,
};
use crate::zone::account::Ending;
use crate::zone::{Bind, Order, Refusal, Zone, account};

/// Variables that would lead a command's git astray when loopexec itself was started from a hook.
const MISLEADING: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
];

/// What commands inherit: the user's environment without what is ours and without what misleads, and marked
/// as unattended.
pub(super) fn inherited(env: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let ours = |name: &OsStr| name.as_bytes().starts_with(b"LOOPEXEC_");
    let misleading = |name: &OsStr| MISLEADING.iter().any(|m| name == *m);
    let set = ["CI", "GIT_TERMINAL_PROMPT"];
    let mut kept: Vec<_> = env
        .iter()
        .filter(|(name, _)| !ours(name) && !misleading(name) && !set.iter().any(|s| name == *s))
        .cloned()
        .collect();
    kept.push(("CI".into(), "true".into()));
    kept.push(("GIT_TERMINAL_PROMPT".into(), "0".into()));
    kept
}

/// The words to start; a command that the user wrote as one string goes to the shell.
pub(crate) fn argv(command: &Command) -> Vec<OsString> {
    let words = command.words.iter().map(|word| OsString::from_vec(word.0.clone()));
    if command.shell {
        ["/bin/sh".into(), "-c".into()].into_iter().chain(words).collect()
    } else {
        words.collect()
    }
}

/// The limits of one command, and whether the run's own working time is the nearest of them.
pub(super) struct Limits {
    pub deadlines: Deadlines,
    run_deadline: bool,
}

/// Combines the limits of the contract with the working time that is left.
pub(super) fn limits(bounds: &Bounds, own_ms: Option<u64>, time_left_ms: Option<u64>) -> Limits {
    let run_deadline = time_left_ms.is_some_and(|left| own_ms.is_none_or(|own| left < own));
    Limits {
        deadlines: Deadlines {
            timeout_ms: own_ms.into_iter().chain(time_left_ms).min(),
            idle_ms: bounds.idle_timeout_ms,
            first_output_ms: bounds.first_output_timeout_ms,
            grace_ms: bounds.grace_ms,
            ..Deadlines::default()
        },
        run_deadline,
    }
}

/// Who looks at what a command prints.
pub(super) enum Output<'c> {
    /// It is kept for people, with secrets masked.
    Kept(&'c Capture),
    /// It is also read at once, as it was printed.
    Read(&'c Capture),
}

/// One command of a run.
pub(super) struct Job<'c> {
    /// Where it runs; in the workdir where there is none.
    pub place: Option<PathBuf>,
    /// The zone that it runs in, whatever the place; with the user's rights where there is none.
    pub within: Option<Within>,
    pub argv: Vec<OsString>,
    /// On top of what every command inherits.
    pub env: Vec<(OsString, OsString)>,
    pub input: Input,
    pub output: Output<'c>,
    pub limits: Limits,
    /// The mask under which it makes files; that of the governor where there is none.
    pub umask: Option<u32>,
    pub label: String,
    /// What is done as soon as it runs; when that answers no, it is ended.
    pub meanwhile: Option<&'c mut dyn FnMut(Meanwhile) -> bool>,
}

/// The zone for one command.
pub(super) struct Within {
    pub zone: Zone,
    /// The tree that it sees.
    pub source: PathBuf,
    pub binds: Vec<Bind>,
    /// What of the environment an allow list chooses from.
    pub inherited: Vec<(OsString, OsString)>,
    /// A file of the zone that it reads as its standard input.
    pub input: Option<PathBuf>,
}

impl RealWorld {
    /// Runs one command to its end. `state` is what was recorded before it.
    pub(super) fn command(&mut self, state: &State, job: Job<'_>) -> (CommandRun, fact::CommandRun) {
        let (capture, unmasked) = match job.output {
            Output::Kept(capture) => (capture, false),
            Output::Read(capture) => (capture, true),
        };
        let zoned = job
            .within
            .as_ref()
            .map(|within| (within.zone, zones::report_place(self.run.path())));
        let started = Started {
            argv: job.argv,
            cwd: job.place.unwrap_or_else(|| self.workdir.clone()),
            env: job.env,
            input: job.input,
            umask: job.umask,
        };
        let started = match (job.within, &zoned) {
            (Some(within), Some((_, report))) => match self.in_zone(started, within, report) {
                Ok(started) => started,
                Err((zone, refusal)) => {
                    let run = never_ran(Vec::new(), refusal.message.clone());
                    return (run, zones::not_entered(zone, refusal));
                }
            },
            _ => started,
        };
        let spec = CommandSpec {
            argv: started.argv,
            cwd: started.cwd,
            env: started.env,
            input: started.input,
            umask: started.umask,
            capture: CaptureSpec {
                inline_max_bytes: capture.inline_max_bytes,
                head_bytes: capture.excerpt_bytes,
                tail_bytes: capture.excerpt_bytes,
                spill_dir: Some(self.run.blobs()),
                spill_stem: job.label.clone(),
                spill_max_bytes: capture.blob_max_bytes,
                stop_after_bytes: capture.output_cap_bytes,
                unmasked,
            },
            deadlines: job.limits.deadlines,
            label: job.label,
            redact: self.secrets.clone(),
        };
        self.own.before();
        let outcome = self.run_one(state, &spec, job.meanwhile);
        self.interference.extend(self.own.changed());
        match outcome {
            Ok(mut run) => {
                let mut fact = record(&mut run, &self.run.blobs(), job.limits.run_deadline);
                if let Some((zone, report)) = zoned
                    && zones::account(&report, zone, &mut fact) == Some(Ending::Outlived)
                {
                    self.quarantine(zone, &mut fact);
                }
                (run, fact)
            }
            Err(error) => self.lost(&error),
        }
    }

    /// Has a command run to its end, with what is done while it does.
    fn run_one(
        &mut self,
        state: &State,
        spec: &CommandSpec,
        meanwhile: Option<&mut dyn FnMut(Meanwhile) -> bool>,
    ) -> Result<CommandRun, ProcessError> {
        let mut removed = once_removed(&self.workdir);
        let (own, late) = (&mut self.own, &self.late);
        let mut running = self.supervisor.begin(spec)?;
        if let Some(meanwhile) = meanwhile
            && !own.keep_up(meanwhile)
        {
            running.cancel(Cancel::Force);
        }
        running.end_while(&self.stop.wishes, || {
            if let Some(write) = late.take() {
                own.derive(|| write(state));
            }
            removed()
        })
    }

    /// The same command, started by the launcher of its zone.
    fn in_zone(&self, command: Started, within: Within, report: &Path) -> Result<Started, (Zone, Refusal)> {
        let zone = within.zone;
        let (terms, exe) = self.launching().map_err(|refusal| (zone, refusal))?;
        let plan = terms.plan(Order {
            zone,
            source: within.source,
            binds: within.binds,
            argv: command.argv,
            inherited: within.inherited,
            env: command.env,
            umask: command.umask,
            input: within.input,
            report: report.to_path_buf(),
        });
        let bytes = postcard::to_stdvec(&plan).map_err(|error| (zone, zones::unprepared(error.to_string())))?;
        Ok(Started {
            argv: account::launcher(exe),
            cwd: "/".into(),
            env: Vec::new(),
            input: Input::Bytes(bytes),
            umask: None,
        })
    }

    /// What of the governor's own somebody else changed while the commands of one effect ran.
    pub(super) fn interference(&mut self) -> Vec<String> {
        std::mem::take(&mut self.interference).into_iter().collect()
    }

    /// The supervisor died: its orphans were ended, and a new one takes its place.
    fn lost(&mut self, error: &ProcessError) -> (CommandRun, fact::CommandRun) {
        let survivors = match error {
            ProcessError::Lost(lost) => lost.survivors.clone(),
            _ => Vec::new(),
        };
        // Without a supervisor every further command answers like this one: the engine then halts.
        let _ = self.supervisor.restart();
        let mut run = never_ran(survivors, error.to_string());
        let mut fact = record(&mut run, &self.run.blobs(), false);
        fact.outcome = RunOutcome::SupervisorLost;
        (run, fact)
    }
}

/// How a command is started.
struct Started {
    argv: Vec<OsString>,
    cwd: PathBuf,
    env: Vec<(OsString, OsString)>,
    input: Input,
    umask: Option<u32>,
}

pub(super) fn never_ran(survivors: Vec<Survivor>, message: String) -> CommandRun {
    CommandRun {
        outcome: Outcome::StartFailed { errno: 0, message },
        stop: None,
        stdout: Captured::nothing(),
        stderr: Captured::nothing(),
        started_unix_ms: 0,
        duration_ms: 0,
        cpu_ms: 0,
        max_rss_kb: 0,
        survivors,
    }
}

/// The fact of a command that nothing is known of.
pub(super) fn nothing_ran() -> fact::CommandRun {
    let mut run = never_ran(Vec::new(), String::new());
    record(&mut run, Path::new(""), false)
}

/// What a process did, as a fact. A spilled stream is kept under the digest of what was kept.
fn record(run: &mut CommandRun, blobs: &Path, run_deadline: bool) -> fact::CommandRun {
    let (outcome, code) = match &run.outcome {
        Outcome::Exited(code) => (RunOutcome::Exited, *code),
        Outcome::Signaled(signal) => (RunOutcome::Signaled, *signal),
        Outcome::NotFound => (RunOutcome::NotFound, 0),
        Outcome::NotExecutable => (RunOutcome::NotExecutable, 0),
        Outcome::StartFailed { errno, .. } => (RunOutcome::StartFailed, *errno),
    };
    let stop = match run.stop {
        None => fact::StopCause::None,
        Some(StopCause::Deadline) if run_deadline => fact::StopCause::RunDeadline,
        Some(StopCause::Deadline) => fact::StopCause::Deadline,
        Some(StopCause::Idle) => fact::StopCause::Idle,
        Some(StopCause::FirstOutput) => fact::StopCause::FirstOutput,
        Some(StopCause::OutputCap) => fact::StopCause::OutputCap,
        Some(StopCause::Cancelled | StopCause::Forced | StopCause::GovernorGone) => fact::StopCause::Cancelled,
    };
    fact::CommandRun {
        outcome,
        code,
        stop,
        duration_ms: run.duration_ms,
        cpu_ms: run.cpu_ms,
        rss_max_kib: run.max_rss_kb,
        stdout: stream(&mut run.stdout, blobs),
        stderr: stream(&mut run.stderr, blobs),
        survivors: run.survivors.iter().map(survivor).collect(),
        zone: None,
    }
}

fn survivor(survivor: &Survivor) -> fact::Survivor {
    fact::Survivor {
        pid: survivor.pid,
        command: survivor.command.as_str().into(),
        ended: survivor.ended,
    }
}

fn stream(captured: &mut Captured, blobs: &Path) -> fact::Captured {
    let complete = captured.inline.is_some();
    let blob = captured.spilled.clone().and_then(|path| keep(captured, &path, blobs));
    fact::Captured {
        bytes: captured.bytes,
        digest: Digest(captured.digest),
        head: Bytes(captured.inline.clone().unwrap_or_else(|| captured.head.clone())),
        tail: Bytes(captured.tail.clone()),
        complete,
        blob,
        truncated: captured.truncated,
        masked: captured.redacted,
    }
}

/// Names a spilled file after its content. The supervisor has synced the content already.
fn keep(captured: &mut Captured, path: &Path, blobs: &Path) -> Option<Digest> {
    let digest = if captured.truncated || captured.redacted > 0 {
        let mut hasher = blake3::Hasher::new();
        let mut file = fs::File::open(path).ok()?;
        std::io::copy(&mut file, &mut hasher).ok()?;
        Digest(*hasher.finalize().as_bytes())
    } else {
        Digest(captured.digest)
    };
    let named = blobs.join(digest.hex());
    fs::rename(path, &named).ok()?;
    captured.spilled = Some(named);
    // The name must be as durable as the content before an event speaks of it.
    fs::File::open(blobs).and_then(|dir| dir.sync_all()).ok()?;
    Some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, value: &str) -> (OsString, OsString) {
        (name.into(), value.into())
    }

    #[test]
    fn commands_inherit_neither_our_variables_nor_a_hooks_repository() {
        let env = [
            pair("PATH", "/bin"),
            pair("GIT_DIR", "/x"),
            pair("LOOPEXEC_KEY", "/k"),
            pair("CI", "false"),
        ];
        let kept = inherited(&env);
        assert_eq!(
            kept,
            [
                pair("PATH", "/bin"),
                pair("CI", "true"),
                pair("GIT_TERMINAL_PROMPT", "0")
            ]
        );
    }

    #[test]
    fn the_nearest_limit_names_its_cause() {
        let bounds = Bounds::default();
        assert!(limits(&bounds, Some(10), Some(5)).run_deadline);
        assert!(!limits(&bounds, Some(5), Some(10)).run_deadline);
        assert_eq!(limits(&bounds, None, Some(7)).deadlines.timeout_ms, Some(7));
        assert_eq!(limits(&bounds, None, None).deadlines.timeout_ms, None);
    }
}
