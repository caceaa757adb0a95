//! What the events of a run come to, for those who look at it from outside.

use engine::State;
use engine::event::Event;
use engine::event::id::{Digest, Stamp};
use engine::event::iteration::CheckEnded;
use engine::phase::Illegal;
use engine::report::Report;

/// A verdict of the check, and the tree it was about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    pub seq: u64,
    pub tree: Digest,
    pub check: CheckEnded,
}

/// One step of the accepted line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedTree {
    pub iteration: u32,
    pub tree: Digest,
    pub passing: u64,
    pub failing: u64,
    /// The commit that HEAD named when the tree was walked.
    pub commit: Option<String>,
}

/// The fold of a journal as far as it was read.
#[derive(Debug, Default)]
pub struct Fold {
    /// After the last event. [`Fold::add`] loses it at an event that does not belong where it stands;
    /// [`super::Record`] then folds again up to there.
    pub state: Option<State>,
    pub report: Report,
    /// The last check that came to an exit status by itself.
    pub judged: Option<Judged>,
    /// The accepted line, oldest first, t0 included.
    pub accepted: Vec<AcceptedTree>,
    /// Size of the failing set after the baseline and after each iteration.
    pub trend: Vec<u64>,
    /// The first event that did not belong where it stood.
    pub illegal: Option<(u64, Illegal)>,
    pub events: u64,
    /// Stamp of the first event and the newest one.
    pub began: Stamp,
    pub last: Stamp,
    /// The tree in the workdir, as far as it is known from the events.
    tree: Digest,
    commit: Option<String>,
    /// The tree that the running check reads.
    checked: Digest,
}

impl Fold {
    /// Takes the next event.
    pub fn add(&mut self, seq: u64, event: &Event) {
        self.events = seq + 1;
        self.report.add(event);
        self.follow(seq, event);
        if self.illegal.is_some() {
            return;
        }
        let next = match self.state.take() {
            None => State::first(event),
            Some(state) => state.apply(event),
        };
        match next {
            Ok(state) => self.state = Some(state),
            Err(illegal) => self.illegal = Some((seq, illegal)),
        }
    }

    fn follow(&mut self, seq: u64, event: &Event) {
        if let Some(at) = stamp(event) {
            self.last = at;
        }
        match event {
            Event::RunOpened(opened) => self.began = opened.at,
            Event::TreeObserved(observed) => {
                self.tree = observed.seen.tree;
                self.commit.clone_from(&observed.seen.git.head);
            }
            Event::RestoreEnded(ended) if ended.error.is_empty() => self.tree = ended.to,
            Event::CheckBegan(began) => self.checked = began.copy_of.unwrap_or(self.tree),
            Event::CheckEnded(ended) => self.check_ended(seq, ended),
            Event::CandidateAccepted(accepted) => self.accepted.push(AcceptedTree {
                iteration: accepted.iteration,
                tree: accepted.tree,
                passing: accepted.passing,
                failing: accepted.failing,
                commit: self.commit.clone(),
            }),
            Event::ProgressJudged(judged) => self.trend.push(judged.failing),
            _ => {}
        }
    }

    fn check_ended(&mut self, seq: u64, ended: &CheckEnded) {
        if ended.run.exited().is_some() {
            self.judged = Some(Judged {
                seq,
                tree: self.checked,
                check: ended.clone(),
            });
        }
    }
}

/// When an event happened, for those that say so.
fn stamp(event: &Event) -> Option<Stamp> {
    match event {
        Event::RunOpened(event) => Some(event.at),
        Event::Resumed(event) => Some(event.at),
        Event::Amended(event) => Some(event.at),
        Event::Interrupted(event) => Some(event.at),
        Event::Suspended(event) => Some(event.at),
        Event::TreeObserved(event) => Some(event.at),
        Event::ExecuteBegan(event) => Some(event.at),
        Event::ExecuteEnded(event) => Some(event.at),
        Event::RetryWaited(event) => Some(event.at),
        Event::CheckBegan(event) => Some(event.at),
        Event::CheckEnded(event) => Some(event.at),
        Event::RestoreBegan(event) => Some(event.at),
        Event::RestoreEnded(event) => Some(event.at),
        Event::Checkpointed(event) => Some(event.at),
        Event::Escalated(event) => Some(event.at),
        Event::Delivered(event) => Some(event.at),
        Event::Acked(event) => Some(event.at),
        Event::Credential(event) => Some(event.at),
        _ => None,
    }
}
