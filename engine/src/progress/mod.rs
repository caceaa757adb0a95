//! Detectors of stalled and cyclic work: each a pure function of the run's history (SPEC 4.3).
//!
//! The history is a bounded window over candidates, accepted or not, so that the cost of an iteration
//! does not depend on how many came before. A new detector is one file and one line in [`DETECTORS`].

pub mod cycle;
pub mod pair;
pub mod regression;
pub mod repeat;
pub mod stall;
pub mod trend;

use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;

use crate::event::halt::HaltReason;
use crate::event::id::Digest;
use crate::event::policy::Thresholds;
use crate::members::IdSet;

/// Candidates that detectors can look back on.
pub const WINDOW: usize = 64;

/// One iteration as the detectors see it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Candidate {
    pub iteration: u32,
    pub tree: Digest,
    /// The agent's turn left the tree as it was.
    pub no_op: bool,
    pub failing: IdSet,
    pub passing: IdSet,
    /// Over the normalised failure messages; zero when there were none.
    pub messages: Digest,
    /// The runner named its members.
    pub measured: bool,
    /// Members of the accepted passing set that it broke.
    pub broke: Vec<String>,
    /// Members that failed in the accepted state and pass now.
    pub fixed: Vec<String>,
}

/// The smallest failing set of the accepted line so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Best {
    pub failing: u64,
    pub iteration: u32,
}

/// What the detectors look at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct History {
    candidates: VecDeque<Rc<Candidate>>,
    /// Size of the first measured failing set, and when.
    pub first: Option<Best>,
    pub best: Option<Best>,
    /// Iterations since `best` last fell strictly; without members, consecutive no-op turns.
    pub stalled: u32,
}

impl History {
    pub fn push(&mut self, candidate: Candidate) {
        if self.candidates.len() == WINDOW {
            self.candidates.pop_front();
        }
        self.candidates.push_back(Rc::new(candidate));
    }

    /// Oldest first.
    pub fn candidates(&self) -> impl DoubleEndedIterator<Item = &Candidate> + ExactSizeIterator {
        self.candidates.iter().map(AsRef::as_ref)
    }

    pub fn latest(&self) -> Option<&Candidate> {
        self.candidates.back().map(AsRef::as_ref)
    }

    /// Measured failing sets exist: sizes mean something.
    pub fn measured(&self) -> bool {
        self.first.is_some()
    }

    /// A fresh start for the patience counters after a person resumed a stalled run.
    pub fn forgive(&mut self) {
        self.stalled = 0;
        self.candidates.clear();
    }
}

/// What a detector saw, in one sentence that names the evidence and the threshold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Alarm {
    pub reason: HaltReason,
    /// Finer than the reason (SPEC 4.2.1).
    pub cause: &'static str,
    pub detail: String,
    /// A flaky check could have caused it: recheck at the same tree first.
    pub recheck: bool,
}

/// One detector.
pub struct Detector {
    pub reason: HaltReason,
    pub detect: fn(&History, &Thresholds) -> Option<Alarm>,
}

/// Most specific first: the first that raises an alarm names the halt (SPEC 4.5).
pub static DETECTORS: &[Detector] = &[
    pair::DETECTOR,
    regression::DETECTOR,
    cycle::DETECTOR,
    repeat::DETECTOR,
    stall::DETECTOR,
];

/// The first alarm, in order of specificity.
pub fn alarm(history: &History, thresholds: &Thresholds) -> Option<Alarm> {
    DETECTORS
        .iter()
        .find_map(|detector| (detector.detect)(history, thresholds))
}

#[cfg(test)]
pub(crate) mod script {
    //! Histories as short scripts, for the detectors' tests.
    use super::*;
    use alloc::string::ToString;

    pub(crate) fn set(ids: &str) -> IdSet {
        ids.chars().map(|c| c.to_string()).collect()
    }

    pub(crate) fn digest(n: u8) -> Digest {
        Digest([n; 32])
    }

    /// A candidate with the tree `tree` that fails `failing` and passes `passing`.
    pub(crate) fn candidate(iteration: u32, tree: u8, failing: &str, passing: &str) -> Candidate {
        Candidate {
            iteration,
            tree: digest(tree),
            no_op: false,
            failing: set(failing),
            passing: set(passing),
            messages: digest(iteration.to_le_bytes()[0]),
            measured: true,
            broke: Vec::new(),
            fixed: Vec::new(),
        }
    }

    pub(crate) fn history(candidates: impl IntoIterator<Item = Candidate>) -> History {
        let mut history = History::default();
        for candidate in candidates {
            history.push(candidate);
        }
        history
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::script::{candidate, digest, history};
    use super::*;

    /// Three turns that go wrong in every way that a detector knows.
    fn hopeless() -> History {
        let turn = |iteration, tree| Candidate {
            messages: digest(9),
            broke: vec!["a".into()],
            fixed: vec!["b".into()],
            ..candidate(iteration, tree, "a", "b")
        };
        let mut history = history([turn(1, 1), turn(2, 2), turn(3, 1)]);
        history.stalled = 3;
        history
    }

    #[test]
    fn the_most_specific_detector_names_the_halt() {
        let history = hopeless();
        let mut thresholds = Thresholds::default();
        let mut reasons = Vec::new();
        while let Some(alarm) = alarm(&history, &thresholds) {
            reasons.push(alarm.reason);
            let off: &mut u32 = match reasons.len() {
                1 => &mut thresholds.pair_candidates,
                2 => &mut thresholds.regression_candidates,
                3 => &mut thresholds.oscillation_periods,
                4 => &mut thresholds.same_failure_r,
                _ => &mut thresholds.no_progress_k,
            };
            *off = 0;
        }
        assert_eq!(
            reasons,
            [
                HaltReason::InfeasibleSuspected,
                HaltReason::SameTestRegressed,
                HaltReason::OscillationDetected,
                HaltReason::SameFailureRepeated,
                HaltReason::NoProgressDetected
            ]
        );
    }
}
