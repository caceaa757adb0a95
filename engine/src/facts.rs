//! What outlives a phase: the run's facts, folded from events and from nothing else.

use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::determinism::Determinism;
use crate::event::halt::HaltReason;
use crate::event::id::{Bytes, Digest, Stamp};
use crate::event::iteration::CheckEnded;
use crate::event::policy::{Bounds, Policy};
use crate::event::run::{Halted, RunOpened, Suspended};
use crate::event::zone::ZoneName;
use crate::members::{IdSet, Members};
use crate::phase::{CheckVerdict, Revisit};
use crate::progress::History;

/// The accepted line: the last tree that the ratchet took.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Accepted {
    pub iteration: u32,
    pub tree: Digest,
    /// The tree that its check read (SPEC 4.4.2).
    pub read: Digest,
    /// What its check left in the workdir: the tree and what the check wrote beside it.
    pub left: Digest,
    /// What the check said of it; nothing before the first check of a run without a baseline.
    pub verdict: Option<CheckVerdict>,
    pub passing: IdSet,
    pub failing: IdSet,
    pub statuses: Members,
}

/// Money as it was booked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Spend {
    pub microusd: u64,
    pub calls: u64,
    pub tokens: u64,
    /// Some call had no known price.
    pub unknown: bool,
    /// Reserved and not settled.
    pub reserved_microusd: u64,
    booked: Rc<alloc::collections::BTreeSet<String>>,
    pending: Rc<alloc::collections::BTreeSet<String>>,
}

impl Spend {
    /// Sets a call's maximum aside once; a repeat of a pending or settled id changes nothing.
    pub(crate) fn reserve(&mut self, id: &str, max_microusd: u64) {
        if !self.booked.contains(id) && !self.pending.contains(id) {
            Rc::make_mut(&mut self.pending).insert(id.to_string());
            self.reserved_microusd = self.reserved_microusd.saturating_add(max_microusd);
        }
    }

    /// The reservation is closed: what was used takes the place of the maxima.
    pub(crate) fn close(&mut self) {
        self.reserved_microusd = 0;
        self.pending = Rc::default();
    }

    /// Books a call once; a repeat of the same id changes nothing.
    pub(crate) fn book(&mut self, id: &str) -> bool {
        !self.booked.contains(id) && Rc::make_mut(&mut self.booked).insert(id.to_string())
    }
}

/// A person's part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct People {
    /// Accepted changes that nobody has acknowledged.
    pub unread: u32,
    /// The iterations whose accepted changes are unread.
    pub unread_iterations: Vec<u32>,
    pub escalated: Option<HaltReason>,
    pub acked_by: Option<String>,
}

/// Everything that outlives a phase.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Facts {
    pub opened: Arc<RunOpened>,
    /// The limits in force: the contract's, as amended.
    pub bounds: Bounds,
    /// The iteration that is under way or was the last; 0 is the baseline.
    pub iteration: u32,
    /// The last completed checkpoint.
    pub checkpointed: Option<u32>,
    /// Working time over all lives of the run.
    pub elapsed_ms: u64,
    /// The newest stamp.
    pub now: Stamp,
    /// The blob that describes the watched surface at t0.
    pub surface: Option<Digest>,
    /// The tree before any work.
    pub t0: Option<Digest>,
    /// The tree of the newest walk.
    pub tree: Digest,
    pub head: Option<String>,
    pub branch: Option<String>,
    pub members: Members,
    /// Members of t0 and of everything accepted since: it only grows.
    pub universe: IdSet,
    /// The most tests that an accepted check ran and did not name.
    pub unnamed: Option<u64>,
    /// Members that the check of t0 named.
    pub t0_members: IdSet,
    /// Those of them that passed there.
    pub t0_passing: IdSet,
    /// Guards that were active at t0: none of them may stop applying later (SPEC 5.1.3).
    pub active_guards: Vec<String>,
    /// Identities that the integrity command listed in accepted turns: it only grows.
    pub integrity: IdSet,
    pub accepted: Option<Rc<Accepted>>,
    pub last_check: Option<Arc<CheckEnded>>,
    /// What the next attempt is told about the last one.
    pub told: String,
    pub history: History,
    pub violations: u32,
    pub instant_failures: u32,
    pub determinism: Determinism,
    pub spend: Spend,
    pub people: People,
    pub suspended: Option<Arc<Suspended>>,
    pub halted: Option<Arc<Halted>>,
    /// A resumed run has not looked at t0 yet.
    pub revalidate: bool,
    /// What it saw there, when that forbids going on.
    pub drift: Option<(HaltReason, String)>,
    /// What a resumed run owes the accepted tree before it works.
    pub revisit: Revisit,
    /// Times the run came back to life.
    pub resumes: u32,
}

impl Facts {
    pub(crate) fn new(opened: Arc<RunOpened>) -> Self {
        let bounds = opened.policy.bounds.clone();
        let now = opened.at;
        let determinism = Determinism::new(opened.policy.oracle.max_flake_ppm, opened.probe.as_ref());
        Self {
            opened,
            bounds,
            iteration: 0,
            checkpointed: None,
            elapsed_ms: 0,
            now,
            surface: None,
            t0: None,
            tree: Digest::ZERO,
            head: None,
            branch: None,
            members: Members::default(),
            universe: IdSet::default(),
            unnamed: None,
            t0_members: IdSet::default(),
            t0_passing: IdSet::default(),
            active_guards: Vec::new(),
            integrity: IdSet::default(),
            accepted: None,
            last_check: None,
            told: String::new(),
            history: History::default(),
            violations: 0,
            instant_failures: 0,
            determinism,
            spend: Spend::default(),
            people: People::default(),
            suspended: None,
            halted: None,
            revalidate: false,
            drift: None,
            revisit: Revisit::default(),
            resumes: 0,
        }
    }

    pub fn policy(&self) -> &Policy {
        &self.opened.policy
    }

    /// What the work is held by in place of a zone, and what of one is missing; `None` where nobody asked for that.
    pub fn degraded(&self) -> Option<&str> {
        let zones = self.policy().isolation.degraded.then_some(&self.opened.zones);
        let held = zones?.iter().find(|seen| seen.zone == ZoneName::Agent);
        Some(held.map_or("it is not known by what the work was held", |seen| seen.facts.as_str()))
    }

    /// Adds the working time up to `at`. Only the monotonic clock counts, and it never runs backwards.
    pub(crate) fn tick(&mut self, at: Stamp) {
        self.elapsed_ms = self
            .elapsed_ms
            .saturating_add(at.mono_ms.saturating_sub(self.now.mono_ms));
        self.now = at;
    }

    /// A new life of the governor: its monotonic clock starts anew.
    pub(crate) fn reborn(&mut self, at: Stamp) {
        self.now = at;
        self.resumes += 1;
    }

    /// Working time that is left, when it is limited.
    pub fn time_left_ms(&self) -> Option<u64> {
        self.bounds
            .timeout_ms
            .map(|limit| limit.saturating_sub(self.elapsed_ms))
    }

    /// Money that is left, when it is limited.
    pub fn budget_left_microusd(&self) -> Option<u64> {
        let spent = self.spend.microusd.saturating_add(self.spend.reserved_microusd);
        self.bounds.budget_microusd.map(|limit| limit.saturating_sub(spent))
    }

    /// The exit status of the last check that ended by itself.
    pub fn check_exit(&self) -> Option<i32> {
        self.last_check.as_ref().and_then(|check| check.run.exited())
    }

    /// The check names the workdir by its absolute path: unless it is led elsewhere, it looks at that one, wherever it is
    /// started.
    pub fn check_names_workdir(&self) -> bool {
        let workdir = self.opened.workdir.0.as_slice();
        let names = |word: &Bytes| workdir.len() > 1 && word.0.windows(workdir.len()).any(|part| part == workdir);
        self.policy().oracle.check.words.iter().any(names)
    }

    /// The failing set of what is in the workdir now, as last measured.
    pub fn failing(&self) -> IdSet {
        let green = self.check_exit() == Some(self.policy().oracle.success_exit);
        if self.last_check.is_none() {
            IdSet::default()
        } else {
            self.members.failing(&self.universe, green)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_set_aside_once_until_it_is_settled() {
        let mut spend = Spend::default();
        spend.reserve("r/1/exec/a", 40);
        spend.reserve("r/1/exec/a", 40);
        spend.reserve("r/1/exec/b", 2);
        assert_eq!(spend.reserved_microusd, 42);
        spend.close();
        spend.book("r/1/exec/a");
        spend.reserve("r/1/exec/a", 40);
        assert_eq!(spend.reserved_microusd, 0);
    }

    #[test]
    fn a_call_is_booked_once() {
        let mut spend = Spend::default();
        assert!(spend.book("r/1/exec/a"));
        assert!(!spend.book("r/1/exec/a"));
    }
}
