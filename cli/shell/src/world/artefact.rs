//! The operator's own commands over the artefact of a check: which members fail, and which identities there are.
//!
//! They are often scripts of the tree, which the work may have changed: where the check runs in its zone, so do they, on the
//! tree that it saw, with the artefact beside it, and nothing of either to write.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;

use engine::event::id::Digest;
use engine::event::measurement::{self as fact, MemberStatus, ReportState, RunOutcome, StopCause};
use engine::event::policy::Command;
use engine::{FAILURES_CMD, IntegrityReading, Reading, State};

use super::RealWorld;
use super::command::{Job, Limits, Output, Within, argv, limits, never_ran};
use super::{ids, output, zones};
use crate::foreign;
use crate::process::{Captured, CommandRun, Input, Outcome};
use crate::scratch::Scratch;
use crate::zone::{Bind, Zone, hand_over};

/// Where such a command of a zone finds the artefact, beside the tree.
const ARTEFACT: &str = "artefact";

/// Its files.
const STREAMS: [&str; 2] = ["stdout", "stderr"];

impl RealWorld {
    /// The operator's own failures command, over the captured artefact.
    pub(super) fn failures(
        &mut self,
        state: &State,
        command: &Command,
        check: &CommandRun,
        fact: &mut fact::CommandRun,
        reading: &mut Reading,
    ) {
        let mut run = self.over_artefact(state, command, check, fact, "failures");
        let ids = ids::read(&run);
        output::forget(&mut run);
        reading.collector = FAILURES_CMD.into();
        reading.announced = None;
        reading.concluded = None;
        reading.retried = 0;
        reading.contradictions = Vec::new();
        (reading.finished, reading.complete) = (true, false);
        match ids {
            Ok(ids) => {
                reading.members = ids.into_iter().map(|id| (id, MemberStatus::Failed)).collect();
                reading.report = ReportState::NotUsed;
            }
            Err(why) => {
                reading.members = Vec::new();
                reading.note = why;
                reading.report = ReportState::Malformed;
            }
        }
    }

    pub(super) fn integrity(
        &mut self,
        state: &State,
        command: &Command,
        check: &CommandRun,
        fact: &mut fact::CommandRun,
    ) -> IntegrityReading {
        let mut run = self.over_artefact(state, command, check, fact, "integrity");
        let (ids, error) = match ids::read(&run) {
            Ok(ids) => (ids, String::new()),
            Err(why) => (Vec::new(), why),
        };
        output::forget(&mut run);
        IntegrityReading {
            digest: Digest::ZERO,
            ids,
            error,
        }
    }

    /// Runs a command that looks at the captured artefact: standard output of the check on its standard input,
    /// paths and exit status by environment. What it left running, or that it was cut short by a signal or the run's
    /// own deadline, goes to the account of the check: without its answer the check has no verdict.
    fn over_artefact(
        &mut self,
        state: &State,
        command: &Command,
        check: &CommandRun,
        fact: &mut fact::CommandRun,
        label: &str,
    ) -> CommandRun {
        let facts = &state.facts;
        let own_ms = Some(facts.bounds.beside_timeout_ms());
        let limits = limits(&facts.bounds, own_ms, facts.time_left_ms());
        let mut env: Vec<(OsString, OsString)> = vec![("LOOPEXEC_RUN_ID".into(), self.run.id().as_str().into())];
        if let Outcome::Exited(code) = check.outcome {
            env.push(("LOOPEXEC_CHECK_EXIT".into(), code.to_string().into()));
        }
        if self.zones.is_some() {
            let (mut run, own) = self.over_artefact_in_zone(state, command, check, env, limits, label);
            fact.survivors.extend(own.survivors.iter().cloned());
            if matches!(own.stop, StopCause::Cancelled | StopCause::RunDeadline) {
                fact.stop = own.stop;
            }
            if let Some(why) = unbelievable(&own) {
                run.outcome = Outcome::StartFailed { errno: 0, message: why };
            }
            return run;
        }
        let mut private = Vec::new();
        for (name, stream) in [("stdout", &check.stdout), ("stderr", &check.stderr)] {
            let (path, made) = self.as_file(name, stream);
            env.push((
                format!("LOOPEXEC_CHECK_{}", name.to_uppercase()).into(),
                path.clone().into(),
            ));
            private.extend(made.then_some(path));
        }
        let stdout = &check.stdout;
        let input = match stdout.unmasked.as_ref().map_or(&stdout.inline, |raw| &raw.inline) {
            Some(bytes) => Input::Bytes(bytes.clone()),
            None => Input::File(self.as_file("stdout", stdout).0),
        };
        let output = Output::Read(&facts.policy().capture);
        let (run, own) = self.command(
            state,
            Job {
                place: self.apart.as_ref().map(Scratch::tree),
                within: None,
                argv: argv(command),
                env,
                input,
                output,
                limits,
                umask: None,
                label: label.to_string(),
                meanwhile: None,
            },
        );
        fact.survivors.extend(own.survivors);
        if matches!(own.stop, StopCause::Cancelled | StopCause::RunDeadline) {
            fact.stop = own.stop;
        }
        for path in private {
            let _ = fs::remove_file(path);
        }
        run
    }

    /// The same in the exec zone of the check: no network, the tree and the artefact to read and nothing to write.
    fn over_artefact_in_zone(
        &mut self,
        state: &State,
        command: &Command,
        check: &CommandRun,
        mut env: Vec<(OsString, OsString)>,
        limits: Limits,
        label: &str,
    ) -> (CommandRun, fact::CommandRun) {
        let told = zones::inside(ARTEFACT);
        let within = match self.show_artefact(check) {
            Ok(shown) => Within {
                zone: Zone::Exec,
                source: self.check_root(),
                binds: vec![Bind {
                    source: shown,
                    at: told.clone(),
                    writable: false,
                }],
                inherited: self.env.clone(),
                input: Some(told.join("stdout")),
            },
            Err(error) => {
                let refusal = zones::unprepared(format!("the check's output cannot be shown to it: {error}"));
                let run = never_ran(Vec::new(), refusal.message.clone());
                return (run, zones::not_entered(Zone::Exec, refusal));
            }
        };
        for name in STREAMS {
            let path = told.join(name);
            env.push((format!("LOOPEXEC_CHECK_{}", name.to_uppercase()).into(), path.into()));
        }
        let env = [self.check_env.clone(), env].concat();
        let done = self.command(
            state,
            Job {
                place: None,
                within: Some(within),
                argv: argv(command),
                env,
                input: Input::Closed,
                output: Output::Read(&state.facts.policy().capture),
                limits,
                umask: engine::hermetic::umask(&state.facts.policy().oracle),
                label: label.to_string(),
                meanwhile: None,
            },
        );
        // As secret as what the check printed.
        let _ = fs::remove_dir_all(self.run.path().join(ARTEFACT));
        done
    }

    /// Puts what the check printed into a directory of its own, which belongs to whoever zones run as.
    fn show_artefact(&self, check: &CommandRun) -> io::Result<PathBuf> {
        let dir = self.run.path().join(ARTEFACT);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir(&dir)?;
        for (name, stream) in STREAMS.into_iter().zip([&check.stdout, &check.stderr]) {
            let (inline, file) = as_printed(stream);
            match file {
                Some(file) => io::copy(&mut foreign::open(file)?, &mut fs::File::create_new(dir.join(name))?)?,
                None => {
                    let bytes = inline.as_deref().unwrap_or_default();
                    fs::write(dir.join(name), bytes)?;
                    0
                }
            };
        }
        let owner = self.launching().ok().and_then(|(terms, _)| terms.owner());
        hand_over(&dir, owner)?;
        Ok(dir)
    }

    /// The file that holds a stream as it was printed, and whether it was made for this.
    fn as_file(&self, name: &str, stream: &Captured) -> (PathBuf, bool) {
        let (inline, file) = as_printed(stream);
        if let Some(file) = file {
            return (file.clone(), false);
        }
        let path = self.run.context().join(format!("check.{name}"));
        let _ = foreign::write(&path, inline.as_deref().unwrap_or_default());
        (path, true)
    }
}

/// A stream as it was printed: kept whole, or in a file.
fn as_printed(stream: &Captured) -> (&Option<Vec<u8>>, &Option<PathBuf>) {
    match &stream.unmasked {
        Some(raw) => (&raw.inline, &raw.file),
        None => (&stream.inline, &stream.spilled),
    }
}

/// Why an answer from a zone is none, if so: nobody says that it was in its zone, or the zone was not to be had.
fn unbelievable(own: &fact::CommandRun) -> Option<String> {
    let said = own.zone.as_ref().map(|zone| zone.said.as_str()).unwrap_or_default();
    match (own.outcome, own.stop) {
        (RunOutcome::ZoneRefused, _) => Some(format!("its zone did not start: {said}")),
        (RunOutcome::ZoneLost, _) => Some(format!("its zone did not last: {said}")),
        (_, StopCause::MemoryCap | StopCause::VolumeCap) => Some("it held more than a zone may".to_owned()),
        _ if own.zone.is_none() && own.stop == StopCause::None => Some("nobody says in which zone it ran".to_owned()),
        _ => None,
    }
}
