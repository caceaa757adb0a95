//! What `run`, `resume` and `step` share: a life of a run as people and programs see it.

use std::path::Path;

use clap::Args;
use engine::event::Event;
use engine::event::halt::HaltReason;
use engine::event::run::SuspendCause;
use engine::report::Report;
use engine::{Effect, State};
use serde::Serialize;
use shell::paths::RunDir;
use shell::record::{Fold, Place, Record};
use shell::session::{Finished, Watch};

use crate::app::Scene;
use crate::failure::Failure;
use crate::next;
use crate::outcome::{Answer, Outcome};
use crate::render::{self, EventStream, Guards, Progress};

/// The exit code of a converged run that `--success-exit 0` replaces.
const CONVERGED: u8 = 10;
/// Added to the number of the signal that interrupted a run.
const SIGNALED: i32 = 128;

/// What a life of a run came to, beside the common members.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Objects {
    guards: Guards,
    /// Open failures after each iteration that was judged, the baseline first.
    trend: Vec<u64>,
    events: u64,
    /// Chain head of the journal.
    head: String,
    warnings: Vec<String>,
}

/// How a life of a run is shown.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Showing {
    /// Write every event to standard output as it becomes durable, one JSON object a line
    ///
    /// A record with the schema comes first and the object of `--json` last.
    #[arg(long)]
    pub(crate) events: bool,
    /// Say nothing while the run is at work
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Exit code of a converged run: 10, or 0 for schedulers that know nothing else
    ///
    /// Changes this one code and no other. [env: LOOPEXEC_SUCCESS_EXIT]
    #[arg(long, value_name = "0|10", value_parser = ["0", "10"])]
    pub(crate) success_exit: Option<String>,
}

impl Showing {
    /// The exit code of a converged run, from the flag or the environment.
    pub(crate) fn success_exit(&self, scene: &Scene) -> Result<u8, Failure> {
        const VARIABLE: &str = "LOOPEXEC_SUCCESS_EXIT";
        let said = match (&self.success_exit, scene.variable(VARIABLE)) {
            (Some(flag), _) => flag.clone(),
            (None, Some(value)) => value.to_string_lossy().into_owned(),
            (None, None) => return Ok(CONVERGED),
        };
        match said.as_str() {
            "0" => Ok(0),
            "10" | "" => Ok(CONVERGED),
            _ => Err(Failure::of(
                HaltReason::WorkspaceInvalid,
                "configuration_invalid",
                format!("{VARIABLE}: `{}` is neither 0 nor 10", render::safe(&said)),
            )),
        }
    }
}

/// Shows events as they become durable.
pub(crate) struct Watcher {
    progress: Progress,
    events: bool,
    /// Of the newest iterations: how long a run is must not show in how much is held.
    report: Report,
    /// How many events are in it.
    seen: u64,
    success_exit: i32,
}

impl Watcher {
    pub(crate) fn new(scene: &Scene, showing: &Showing) -> Self {
        Self {
            progress: Progress::new(scene.err, showing.quiet || scene.json),
            events: showing.events,
            report: Report::default(),
            seen: 0,
            success_exit: 0,
        }
    }
}

impl Watch for Watcher {
    fn opened(&mut self, run: &RunDir, state: &State) {
        self.success_exit = state.facts.policy().oracle.success_exit;
        // A later life begins with what the earlier ones recorded.
        if let Ok(record) = Record::read(run.clone()) {
            (self.report, self.seen) = (record.fold.report, record.fold.events);
        }
        if self.events {
            EventStream::opening(run.id().as_str());
        }
        let style = self.progress.style();
        self.progress.line(&style.dim(&format!("run {}", run.id())));
    }

    fn event(&mut self, seq: u64, event: &Event) {
        if self.events {
            EventStream::event(seq, event);
        }
        if self.progress.is_silent() {
            return;
        }
        if seq >= self.seen {
            self.report.add(event);
            self.seen = seq + 1;
        }
        if let Event::Checkpointed(done) = event
            && let Some(line) = render::iteration_line(&self.report, done.iteration, self.success_exit)
        {
            self.progress.line(&line);
            self.report.forget_before(done.iteration);
        }
        if let Event::RetryScheduled(retry) = event {
            let wait = render::milliseconds(retry.delay_ms);
            self.progress.line(&format!(
                "iter {} the work command failed, again in {wait}",
                retry.iteration
            ));
        }
    }

    fn effect(&mut self, effect: &Effect) {
        self.progress.effect(effect);
    }
}

/// The end of a life: the object, the lines and the exit code.
pub(crate) fn finished(command: &str, scene: &Scene, finished: &Finished, workdir: &Path, success_exit: u8) -> Outcome {
    let facts = &finished.state.facts;
    // What the run came to is known even when its record can no longer be read.
    let mut warnings = finished.warnings.clone();
    let fold = match Record::read(finished.run.clone()) {
        Ok(record) => record.fold,
        Err(error) => {
            warnings.push(format!("the record of the run cannot be read back: {error}"));
            Fold::default()
        }
    };
    let (status, exit) = end(&finished.state, success_exit);
    let mut answer = about(command, status, &finished.run, &finished.state, workdir);
    answer = answer.with(&Objects {
        guards: Guards::of(&fold.report),
        trend: fold.trend.clone(),
        events: finished.events,
        head: finished.head.hex(),
        warnings: warnings.clone(),
    });
    if status == "error"
        && let Some(halted) = &facts.halted
    {
        answer.errors.push(halted.sentence.clone());
    }
    let text = render::ended(
        scene.out,
        &render::Ended {
            state: &finished.state,
            report: &fold.report,
            trend: &fold.trend,
            advice: answer.advice.as_ref(),
            receipt: answer.receipt.as_deref().unwrap_or_default(),
        },
    );
    Outcome::new(answer, text).warning(warnings).exiting(exit)
}

/// A run that is not continued: its halt once more, and why. Schedulers that resume without asking get the same code
/// again.
pub(crate) fn over(
    command: &str,
    scene: &Scene,
    place: &Place,
    success_exit: u8,
    why: String,
) -> Result<Outcome, Failure> {
    let record = Record::read(place.run.clone())?;
    let Some(state) = record.fold.state else {
        return Err(Failure::workspace(why));
    };
    let as_finished = Finished {
        run: place.run.clone(),
        head: record.head,
        events: record.fold.events,
        warnings: vec![why],
        state,
    };
    Ok(finished(command, scene, &as_finished, &place.workdir, success_exit))
}

/// Status and exit code of a run that has stopped.
fn end(state: &State, success_exit: u8) -> (&'static str, u8) {
    match (&state.facts.halted, &state.facts.suspended) {
        (Some(halted), _) => match halted.reason.exit_code() {
            CONVERGED => ("halted", success_exit),
            // From here on it is not the work that stopped the run.
            code @ 30.. => ("error", code),
            code => ("halted", code),
        },
        (None, Some(suspended)) => match suspended.cause {
            SuspendCause::Signal => (
                "interrupted",
                u8::try_from(SIGNALED + suspended.code).unwrap_or(u8::MAX),
            ),
            SuspendCause::Storage => ("suspended", HaltReason::WorkspaceInvalid.exit_code()),
        },
        (None, None) => ("error", HaltReason::InternalError.exit_code()),
    }
}

/// The members of an answer that every command about a run fills.
pub(crate) fn about(command: &str, status: &'static str, run: &RunDir, state: &State, workdir: &Path) -> Answer {
    let facts = &state.facts;
    let mut answer = Answer::new(command, status);
    answer.run_id = Some(run.id().to_string());
    answer.iteration = Some(facts.iteration);
    answer.check_exit = facts.check_exit();
    answer.receipt = Some(run.receipt().to_string_lossy().into_owned());
    if let Some(halted) = &facts.halted {
        answer.halt_reason = Some(halted.reason);
        answer.failure_cause = Some(halted.cause.clone()).filter(|cause| !cause.is_empty());
        answer.advice = Some(next::of_halt(facts, halted, workdir));
    } else if let Some(suspended) = &facts.suspended {
        answer.advice = Some(next::of_suspension(facts, suspended, workdir));
    }
    answer
}
