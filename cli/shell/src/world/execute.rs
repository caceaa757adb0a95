//! The work command: what it is told, what it did, what it asks.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::event::id::{Bytes, Digest};
use engine::event::policy::{Command, Policy};
use engine::event::run::Program;
use engine::{Observation, State};

use super::RealWorld;
use super::command::{Job, Output, argv, limits};
use super::zones;
use crate::driver::Meanwhile;
use crate::foreign;
use crate::process::{Input, which};
use crate::zone::{Refusal, Zone};

/// How much of an agent's question is kept.
const ASK_MAX_BYTES: u64 = 16 << 10;
/// A larger program is named and not hashed byte for byte on every start.
const PROGRAM_MAX_BYTES: u64 = 256 << 20;

type Variables = Vec<(OsString, OsString)>;

impl RealWorld {
    pub(super) fn execute(
        &mut self,
        state: &State,
        iteration: u32,
        attempt: u32,
        time_left_ms: Option<u64>,
        meanwhile: &mut dyn FnMut(Meanwhile) -> bool,
    ) -> Observation {
        let facts = &state.facts;
        let policy = facts.policy();
        let ask = self.ask_file();
        let _ = fs::remove_file(&ask);
        let job = Job {
            place: None,
            within: None,
            argv: argv(&policy.exec),
            env: Vec::new(),
            input: Input::Closed,
            output: Output::Kept(&policy.capture),
            limits: limits(&facts.bounds, facts.bounds.command_timeout_ms, time_left_ms),
            umask: None,
            label: format!("exec-{iteration}-{attempt}"),
            meanwhile: Some(meanwhile),
        };
        if self.zones.is_some() {
            return self.execute_in_zone(state, job, iteration);
        }
        let told = self.told(state, iteration, &self.run.context(), &ask);
        let run = match self.held_or_not(job, told) {
            Ok(job) => self.command(state, job).1,
            Err(refusal) => zones::not_entered(Zone::Agent, refusal),
        };
        Observation::Executed {
            at: self.clock.stamp(),
            run,
            ask: read_ask(&ask),
            interference: self.interference(),
        }
    }

    /// The work as the contract has it started where it has no zone.
    fn held_or_not<'j>(&self, job: Job<'j>, told: Variables) -> Result<Job<'j>, Refusal> {
        let Some(held) = &self.held else {
            let env = [self.work_env.clone(), told].concat();
            return Ok(Job { env, ..job });
        };
        let held = held.as_ref().map_err(Clone::clone)?;
        let env = held.environment(&[self.env.clone(), self.work_env.clone()].concat(), told);
        let argv = held.words(&env, job.argv)?;
        Ok(Job { argv, env, ..job })
    }

    /// Sleeps, unless a signal asks the run to stop.
    pub(super) fn wait(&mut self, delay_ms: u64) -> Observation {
        let _asked = self.stop.wishes.wait(Duration::from_millis(delay_ms));
        Observation::Waited { at: self.clock.stamp() }
    }

    fn ask_file(&self) -> PathBuf {
        self.run.context().join("ask")
    }

    /// The variables that tell the agent where it stands, and where it finds its context and may ask.
    pub(super) fn told(&self, state: &State, iteration: u32, context: &Path, ask: &Path) -> Vec<(OsString, OsString)> {
        let facts = &state.facts;
        let left = facts.bounds.max_iterations.saturating_sub(iteration);
        let mut env: Vec<(OsString, OsString)> = Vec::from([
            ("LOOPEXEC_RUN_ID".into(), OsString::from(self.run.id().as_str())),
            ("LOOPEXEC_ITERATION".into(), iteration.to_string().into()),
            ("LOOPEXEC_ITERATIONS_LEFT".into(), left.to_string().into()),
            ("LOOPEXEC_CONTEXT".into(), context.join("context.md").into()),
            ("LOOPEXEC_FEEDBACK".into(), context.join("feedback.txt").into()),
            ("LOOPEXEC_REQUEST".into(), context.join("request.json").into()),
            ("LOOPEXEC_ASK".into(), ask.into()),
        ]);
        if let Some(ms) = facts.time_left_ms() {
            env.push(("LOOPEXEC_BUDGET_LEFT_MS".into(), ms.to_string().into()));
        }
        if let Some(microusd) = facts.budget_left_microusd() {
            env.push(("LOOPEXEC_BUDGET_LEFT_MICROUSD".into(), microusd.to_string().into()));
        }
        env
    }
}

pub(super) fn read_ask(path: &Path) -> Option<Bytes> {
    let text = foreign::read_start(path, ASK_MAX_BYTES).ok()?;
    (!text.is_empty()).then_some(Bytes(text))
}

/// Names that a POSIX shell knows without a program.
pub(super) const BUILTINS: &[&str] = &[
    ".", ":", "[", "alias", "bg", "break", "case", "cd", "command", "continue", "echo", "eval", "exec", "exit",
    "export", "false", "fg", "for", "getopts", "hash", "if", "jobs", "kill", "local", "printf", "pwd", "read",
    "readonly", "return", "set", "shift", "test", "times", "trap", "true", "type", "ulimit", "umask", "unalias",
    "unset", "until", "wait", "while", "{", "!",
];

/// Finds the programs of the work and check commands before anything starts. A program that cannot be found
/// or executed has no digest.
pub fn resolve_programs(policy: &Policy, workdir: &Path, env: &[(OsString, OsString)]) -> Vec<Program> {
    let commands = [("exec", &policy.exec), ("check", &policy.oracle.check)];
    let path = env
        .iter()
        .rev()
        .find(|(name, _)| name == "PATH")
        .map(|(_, value)| value.as_os_str());
    let mut programs = Vec::new();
    for (role, command) in commands {
        let Some(name) = program(command) else { continue };
        let found = which(OsStr::from_bytes(&name), workdir, path).ok();
        let digest = found.as_deref().and_then(hash);
        let shown = found.map_or(name, |path| path.into_os_string().as_bytes().to_vec());
        programs.push(Program {
            role: role.into(),
            path: Bytes(shown),
            digest,
        });
    }
    programs
}

/// The program that a command surely starts; `None` where only a shell could tell.
fn program(command: &Command) -> Option<Vec<u8>> {
    let first = &command.words.first()?.0;
    if !command.shell {
        return Some(first.clone());
    }
    let text = std::str::from_utf8(first).ok()?;
    let word = text.split_whitespace().next()?;
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "._/+-".contains(c));
    (plain && !BUILTINS.contains(&word)).then(|| word.as_bytes().to_vec())
}

fn hash(path: &Path) -> Option<Digest> {
    let file = fs::File::open(path).ok();
    let size = fs::metadata(path).ok()?.len();
    let mut hasher = blake3::Hasher::new();
    match file {
        Some(mut file) if size <= PROGRAM_MAX_BYTES => {
            std::io::copy(&mut file, &mut hasher).ok()?;
        }
        // Executable and not readable, or huge: its size stands for it.
        _ => {
            hasher.update(&size.to_le_bytes());
        }
    }
    Some(Digest(*hasher.finalize().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_program_that_is_surely_started_is_looked_for() {
        let shell = |text: &str| program(&Command::shell(text));
        assert_eq!(shell("pytest -q"), Some(b"pytest".to_vec()));
        assert_eq!(shell("./check.sh"), Some(b"./check.sh".to_vec()));
        for text in [
            "cd x && make",
            "A=1 make",
            "true",
            "if true; then :; fi",
            "$TOOL run",
            "(exit 1)",
            "",
        ] {
            assert_eq!(shell(text), None, "{text}");
        }
    }

    #[test]
    fn a_missing_program_has_no_digest() {
        let mut policy = Policy {
            exec: Command::shell("no-such-program-here --now"),
            ..Policy::default()
        };
        policy.oracle.check = Command {
            words: ["sh".into(), "-c".into()].into(),
            shell: false,
        };
        let env = [("PATH".into(), "/usr/bin:/bin".into())];
        let found = resolve_programs(&policy, Path::new("/"), &env);
        assert_eq!((found[0].role.as_str(), found[0].digest), ("exec", None));
        assert!(found[1].digest.is_some());
    }
}
