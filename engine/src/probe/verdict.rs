//! What one run of a check said, and whether another said the same (SPEC 6.5.1).

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::effect::Reading;
use crate::event::halt::HaltReason;
use crate::event::measurement::{CommandRun, MemberStatus};
use crate::event::zone::ZoneRefusal;
use crate::facts::Facts;
use crate::members::CHECK;
use crate::phase::check::{self, Failure};

/// How a run of the check ended, as far as verdicts go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Class {
    Green,
    Red,
    /// It came to no verdict: not found, killed, out of time.
    Broken {
        cause: &'static str,
        detail: String,
    },
}

/// What a run said (SPEC 6.5.1). Durations and text are no part of it. Lists are sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub class: Class,
    pub failing: Vec<String>,
    pub skipped: Vec<String>,
    pub collected: Vec<String>,
}

/// The reason behind the cause of a run that says nothing: its zone was not to be had, or it failed by itself.
pub(crate) fn reason_of(cause: &str) -> HaltReason {
    ZoneRefusal::from_label(cause).map_or(HaltReason::ExecutionFailure, ZoneRefusal::reason)
}

impl Verdict {
    /// `None` when a signal or the probe's own time cut the run short.
    pub fn of(run: &CommandRun, reading: &Reading, facts: &Facts) -> Option<Self> {
        let class = match check::failure(run, facts) {
            None if run.exited() == Some(facts.policy().oracle.success_exit) => Class::Green,
            None => Class::Red,
            Some(Failure::Oracle { cause, detail }) => Class::Broken { cause, detail },
            Some(Failure::ZoneRefused(seen)) => Class::Broken {
                cause: seen.refused.map_or("zone_lost", ZoneRefusal::label),
                detail: seen.said,
            },
            Some(Failure::Again | Failure::RunDeadline) => return None,
        };
        let ids = |wanted: &dyn Fn(&MemberStatus) -> bool| -> Vec<String> {
            let members = reading.members.iter().filter(|(_, status)| wanted(status));
            members.map(|(id, _)| id.clone()).collect()
        };
        let mut failing = ids(&|status| status.fails());
        if class == Class::Red && failing.is_empty() {
            failing.push(CHECK.to_string());
        }
        Some(Self {
            class,
            failing,
            skipped: ids(&|status| !status.fails() && !status.passes()),
            collected: ids(&|_| true),
        })
    }

    /// Of a run that was ended because the directory it ran in was gone.
    pub fn of_a_lost_workdir() -> Self {
        Self {
            class: Class::Broken {
                cause: "check_killed",
                detail: "the check removed the directory that it ran in and was ended".to_string(),
            },
            failing: Vec::new(),
            skipped: Vec::new(),
            collected: Vec::new(),
        }
    }

    /// The same class and the same sets. What a broken run printed does not count.
    pub fn agrees(&self, other: &Self) -> bool {
        let classes = match (&self.class, &other.class) {
            (Class::Broken { cause: one, .. }, Class::Broken { cause: two, .. }) => one == two,
            (one, two) => one == two,
        };
        classes && self.failing == other.failing && self.skipped == other.skipped && self.collected == other.collected
    }

    /// Members that fared otherwise in the other run, in either direction.
    pub fn differing<'a>(&'a self, other: &'a Self) -> BTreeSet<&'a str> {
        let lists = [
            (&self.failing, &other.failing),
            (&self.skipped, &other.skipped),
            (&self.collected, &other.collected),
        ];
        let mut found = BTreeSet::new();
        for (one, two) in lists {
            let set = |list: &'a [String]| -> BTreeSet<&'a str> { list.iter().map(String::as_str).collect() };
            found.extend(set(one).symmetric_difference(&set(two)).copied());
        }
        found
    }
}
