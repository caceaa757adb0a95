//! A fate that is written down, for stories, and the transcript of what came of it.

use engine::Effect;
use engine::event::Event;
use engine::event::finding::{GuardState, Severity};
use engine::event::halt::HaltReason;
use engine::event::measurement::{CommandRun, RunOutcome, StopCause};
use engine::event::run::Halted;

use crate::act::{Act, Edit, Lab, Look, Repair, Slice, Turn, Walk};
use crate::drive::{Fate, Point};

/// The n-th call of a kind gets the n-th entry. After the end agents repeat their last turn and
/// everything else goes well.
#[derive(Clone, Debug, Default)]
pub struct Script {
    pub turns: Vec<Turn>,
    pub looks: Vec<Look>,
    pub walks: Vec<Walk>,
    pub repairs: Vec<Repair>,
    pub slices: Vec<Slice>,
    pub labs: Vec<Lab>,
    /// Dies at this point when the journal ends with an event of this name; each entry once, in order.
    pub crashes: Vec<(Point, &'static str)>,
    /// Is asked to stop when the journal ends with an event of this name; each entry once, in order.
    pub stops: Vec<&'static str>,
    /// Calls so far: turns, checks, walks, restores, slices, experiments.
    pub counts: [usize; 6],
}

impl Script {
    /// Agents that do these edits, one a turn.
    pub fn edits(edits: &[Edit]) -> Self {
        Self {
            turns: edits.iter().map(|edit| Turn::does(*edit)).collect(),
            ..Self::default()
        }
    }

    /// The run of the check with these deviations, in order of its calls.
    pub fn looks(mut self, looks: &[Look]) -> Self {
        self.looks = looks.to_vec();
        self
    }

    pub fn crash(mut self, point: Point, after: &'static str) -> Self {
        self.crashes.push((point, after));
        self
    }

    pub fn stop(mut self, after: &'static str) -> Self {
        self.stops.push(after);
        self
    }

    fn turn(&mut self, kind: usize) -> usize {
        self.counts[kind] += 1;
        self.counts[kind] - 1
    }
}

impl Fate for Script {
    fn act(&mut self, effect: &Effect) -> Act {
        match effect {
            Effect::Execute { .. } => {
                let n = self.turn(0);
                let turn = self.turns.get(n).or(self.turns.last()).copied();
                Act::Turn(turn.unwrap_or(Turn::does(Edit::Nothing)))
            }
            Effect::Check { .. } => {
                let n = self.turn(1);
                Act::Look(self.looks.get(n).copied().unwrap_or(Look::Honest))
            }
            Effect::ObserveTree { .. } => {
                let n = self.turn(2);
                Act::Walk(self.walks.get(n).copied().unwrap_or(Walk::Fine))
            }
            Effect::Restore { .. } => {
                let n = self.turn(3);
                Act::Repair(self.repairs.get(n).copied().unwrap_or(Repair::Fine))
            }
            Effect::BuildContext(_) => {
                let n = self.turn(4);
                Act::Slice(self.slices.get(n).copied().unwrap_or(Slice::Fine))
            }
            Effect::Wait { .. } => Act::Wait,
            Effect::Vet(_) => {
                let n = self.turn(5);
                Act::Lab(self.labs.get(n).copied().unwrap_or(Lab::Honest))
            }
        }
    }

    fn crash(&mut self, point: Point, journal: &[Event]) -> bool {
        let last = journal.last().map_or("", Event::name);
        let due = self.crashes.first() == Some(&(point, last));
        if due {
            self.crashes.remove(0);
        }
        due
    }

    fn suspend(&mut self, journal: &[Event]) -> bool {
        let last = journal.last().map_or("", Event::name);
        let due = self.stops.first() == Some(&last);
        if due {
            self.stops.remove(0);
        }
        due
    }
}

/// The journal as a person would tell it: one word a fact, one line an iteration.
pub fn transcript(journal: &[Event]) -> String {
    let mut out = String::new();
    for event in journal {
        let word = word(event);
        if word.is_empty() {
            continue;
        }
        let own_line = matches!(
            event,
            Event::ContextBuilt(_) | Event::Halted(_) | Event::Resumed(_) | Event::Suspended(_)
        );
        if !out.is_empty() {
            out.push(if own_line { '\n' } else { ' ' });
        }
        out.push_str(&word);
    }
    out
}

fn word(event: &Event) -> String {
    match event {
        Event::RunOpened(_) => "open".into(),
        Event::Resumed(_) => "resume".into(),
        Event::Amended(_) => "amend".into(),
        Event::Interrupted(interrupted) => format!("interrupted:{}#{}", interrupted.phase, interrupted.attempt),
        Event::Suspended(_) => "suspend".into(),
        Event::Halted(halted) => format!("halt {} {}", halted.reason, halted.cause),
        Event::TreeObserved(observed) => format!("walk:{}", observed.purpose),
        Event::ContextBuilt(built) if built.error.is_empty() => format!("{} context", built.iteration),
        Event::ContextBuilt(built) => format!("{} context!", built.iteration),
        Event::ExecuteBegan(began) => format!("exec#{}", began.attempt),
        Event::ExecuteEnded(ended) => ran(&ended.run),
        Event::RetryScheduled(retry) => format!("retry:{}ms", retry.delay_ms),
        Event::RetryWaited(_) => "waited".into(),
        Event::CheckBegan(began) => {
            let place = if began.copy_of.is_some() { ":copy" } else { "" };
            format!("{}#{}{place}", began.purpose, began.attempt)
        }
        Event::CheckEnded(ended) => ran(&ended.run),
        Event::GuardsJudged(judged) => {
            let report = &judged.report;
            let objection = report.findings.iter().find(|f| f.severity == Severity::Violation);
            let absent = report.guards.iter().find(|run| run.state == GuardState::Unavailable);
            match (objection, absent) {
                (Some(finding), _) => format!("guards!{}", finding.guard),
                (None, Some(run)) => format!("guards?{}", run.guard),
                (None, None) => "guards".into(),
            }
        }
        Event::Vetted(vetted) => match (vetted.state, vetted.findings.is_empty()) {
            (_, false) => format!("vet!{}", vetted.guard),
            (GuardState::Active, _) => "vet".into(),
            (GuardState::Unavailable | GuardState::Deferred, _) => format!("vet?{}", vetted.guard),
            // Nothing ran.
            (GuardState::NotApplicable | GuardState::Off, _) => String::new(),
        },
        Event::CandidateAccepted(accepted) if accepted.changed => "accept".into(),
        Event::CandidateAccepted(_) => "accept:same".into(),
        Event::CandidateRejected(rejected) => format!("reject:{}", rejected.cause),
        Event::RestoreBegan(began) => format!("restore#{}", began.attempt),
        Event::RestoreEnded(ended) => if ended.error.is_empty() { "->ok" } else { "->failed" }.into(),
        Event::ProgressJudged(judged) => match judged.verdict {
            Some(reason) => format!("progress!{reason}"),
            None => "progress".into(),
        },
        Event::Checkpointed(_) => "checkpoint".into(),
        other => other.name().into(),
    }
}

fn ran(run: &CommandRun) -> String {
    match (run.stop, run.outcome) {
        (StopCause::None, RunOutcome::Exited) => format!("->{}", run.code),
        (StopCause::None, RunOutcome::Signaled) => format!("->signal:{}", run.code),
        (StopCause::None, outcome) => format!("->{outcome}"),
        (stop, _) => format!("->{stop}"),
    }
}

/// The last halt of a journal.
pub fn halt(journal: &[Event]) -> Option<&Halted> {
    journal.iter().rev().find_map(|event| match event {
        Event::Halted(halted) => Some(&**halted),
        _ => None,
    })
}

/// The reason of the last halt.
pub fn reason(journal: &[Event]) -> Option<HaltReason> {
    halt(journal).map(|halted| halted.reason)
}
