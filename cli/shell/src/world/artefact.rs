//! The operator's own commands over the artefact of a check: which members fail, and which identities there are.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use engine::event::id::Digest;
use engine::event::measurement::{self as fact, MemberStatus, ReportState, StopCause};
use engine::event::policy::Command;
use engine::{FAILURES_CMD, IntegrityReading, Reading, State};

use super::RealWorld;
use super::command::{Job, Output, argv, limits};
use super::{ids, output};
use crate::foreign;
use crate::process::{Captured, CommandRun, Input};
use crate::scratch::Scratch;

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
        if let crate::process::Outcome::Exited(code) = check.outcome {
            env.push(("LOOPEXEC_CHECK_EXIT".into(), code.to_string().into()));
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
        let (run, own) = self.command(Job {
            place: self.apart.as_ref().map(Scratch::tree),
            within: None,
            argv: argv(command),
            env,
            input,
            output,
            limits,
            umask: None,
            label: label.to_string(),
        });
        fact.survivors.extend(own.survivors);
        if matches!(own.stop, StopCause::Cancelled | StopCause::RunDeadline) {
            fact.stop = own.stop;
        }
        for path in private {
            let _ = fs::remove_file(path);
        }
        run
    }

    /// The file that holds a stream as it was printed, and whether it was made for this.
    fn as_file(&self, name: &str, stream: &Captured) -> (PathBuf, bool) {
        let (inline, file) = match &stream.unmasked {
            Some(raw) => (&raw.inline, &raw.file),
            None => (&stream.inline, &stream.spilled),
        };
        if let Some(file) = file {
            return (file.clone(), false);
        }
        let path = self.run.context().join(format!("check.{name}"));
        let _ = foreign::write(&path, inline.as_deref().unwrap_or_default());
        (path, true)
    }
}
