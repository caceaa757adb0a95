//! Which guards stood, in words.

use engine::event::finding::{GuardRun, GuardState};
use engine::report::Report;
use serde::Serialize;

/// Guards by state, over the last judged iteration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Guards {
    pub(crate) active: Vec<String>,
    /// What they saw was left to `kill_set`.
    pub(crate) deferred: Vec<String>,
    pub(crate) unavailable: Vec<String>,
    pub(crate) not_applicable: Vec<String>,
    pub(crate) off: Vec<String>,
}

impl Guards {
    /// From the newest row in which guards judged.
    pub(crate) fn of(report: &Report) -> Self {
        let judged = report.rows.iter().rev().find(|row| !row.guards.is_empty());
        Self::from_runs(judged.map_or(&[], |row| &*row.guards))
    }

    fn from_runs(runs: &[GuardRun]) -> Self {
        let mut guards = Self::default();
        for run in runs {
            let list = match run.state {
                GuardState::Active => &mut guards.active,
                GuardState::Deferred => &mut guards.deferred,
                GuardState::Unavailable => &mut guards.unavailable,
                GuardState::NotApplicable => &mut guards.not_applicable,
                GuardState::Off => &mut guards.off,
            };
            list.push(run.guard.clone());
        }
        guards
    }

    /// `9 active; unavailable: collected_set; off: none`.
    pub(crate) fn line(&self) -> String {
        if *self == Self::default() {
            return "none judged".to_owned();
        }
        let mut parts = vec![format!("{} active", self.active.len())];
        let named = [
            ("left to kill_set", &self.deferred),
            ("unavailable", &self.unavailable),
            ("not applicable", &self.not_applicable),
            ("off", &self.off),
        ];
        for (what, names) in named {
            if !names.is_empty() {
                parts.push(format!("{what}: {}", names.join(", ")));
            }
        }
        parts.join("; ")
    }
}
