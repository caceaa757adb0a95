//! A workbench for the vets' tests.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::{Base, Plant, Ran, Step};
use crate::effect::Reading;
use crate::event::candidate::{Trial, Vetted};
use crate::event::finding::GuardState;
use crate::event::id::{Digest, Stamp};
use crate::event::measurement::{MemberStatus, RunOutcome, StopCause};
use crate::guard::bench::run;

/// A vet that passed, on the tree of the guards' workbench.
pub(crate) fn vetted(guard: &str) -> Vetted {
    Vetted {
        at: Stamp::default(),
        iteration: 1,
        attempt: 1,
        tree: Digest::ZERO,
        guard: guard.into(),
        trials: vec![trial(0)],
        trouble: String::new(),
        state: GuardState::Active,
        note: String::new(),
        findings: vec![],
        cost_us: 0,
    }
}

/// A run in a copy that ended with this status and showed what the check of the turn did.
pub(crate) fn trial(code: i32) -> Trial {
    Trial {
        subject: "control".into(),
        outcome: RunOutcome::Exited,
        code,
        stop: StopCause::None,
        members_total: 2,
        members_digest: Digest::ZERO,
        changes: vec![],
        planted: vec![],
        mutants: vec![],
        hunks: vec![],
        unmutated: vec![],
        coverage: None,
        note: String::new(),
        verdict: None,
        trace: None,
        varied: vec![],
        duration_ms: 5,
    }
}

/// A run with this planted in the candidate that showed these members.
pub(crate) fn ran(plant: Plant, members: Vec<(String, MemberStatus)>) -> Ran {
    Ran {
        step: Step {
            subject: "run",
            base: Base::Candidate,
            plant,
        },
        run: run(0),
        reading: Reading {
            members,
            ..Reading::nothing()
        },
        planted: vec![],
        mutants: vec![],
        hunks: vec![],
        unmutated: vec![],
        coverage: None,
        trace: None,
        varied: vec![],
        review: None,
    }
}
