//! Guards: what must hold before a green check may count.
//!
//! ```text
//!   evidence of one turn --> every guard in ALL --> GuardReport --> GuardsCleared (or none)
//! ```
//!
//! All guards run, every finding is recorded, the gravest violation names the halt. A guard is one file
//! (the cheat it catches, the check, a tripping and a passing test) and one line in [`ALL`].
//! [`GuardsCleared`] can be made here and nowhere else: without it nothing can converge.

pub mod artefact_consistency;
pub mod assertion_count;
pub mod blocked_paths;
pub mod check_mutation;
pub mod collected_set;
pub mod determinant_files;
pub mod integrity_members;
pub mod leftover_processes;
pub mod outcome_downgrades;
pub mod protected_manifest;
pub mod refs_moved;
pub mod stable_tree;
pub mod state_interference;
pub mod surface;
pub mod toolchain_identity;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::event::candidate::Vetted;
use crate::event::finding::{Finding, GuardReport, GuardRun, GuardState, Severity};
use crate::event::halt::HaltReason;
use crate::event::id::Digest;
use crate::event::iteration::CheckEnded;
use crate::event::measurement::{CommandRun, GitState, Measurement, SurfaceChange, SurfaceClass, Survivor, TreeSeen};
use crate::event::policy::Policy;
use crate::members::{IdSet, Members};
use crate::vet;

/// Findings kept by name; the rest is counted.
pub const FINDINGS_MAX: usize = 64;

/// What guards may look at: one turn, as recorded.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    pub policy: &'a Policy,
    pub iteration: u32,
    /// Survivors of the work command and of the check.
    pub exec_survivors: &'a [Survivor],
    pub check_survivors: &'a [Survivor],
    /// Files of the state directory that changed while the work command ran, and while the check did.
    pub exec_interference: &'a [String],
    pub check_interference: &'a [String],
    /// The walk between work and check; none in the baseline.
    pub after_exec: Option<&'a TreeSeen>,
    pub after_check: &'a TreeSeen,
    pub check: &'a CommandRun,
    pub measurement: &'a Measurement,
    pub members: &'a Members,
    pub universe: &'a IdSet,
    /// The most tests that an accepted check ran and did not name.
    pub unnamed: Option<u64>,
    /// Statuses of the accepted line; empty before there is one.
    pub accepted: &'a Members,
    /// Names of guards that were active at t0.
    pub active_at_t0: &'a [String],
}

impl<'a> Evidence<'a> {
    pub fn green(&self) -> bool {
        self.check.exited() == Some(self.policy.oracle.success_exit)
    }

    /// A collector read the artefact.
    pub fn collected(&self) -> bool {
        !self.measurement.collector.is_empty()
    }

    /// The walk that a guard about the agent's changes looks at.
    pub fn tree(&self) -> &'a TreeSeen {
        self.after_exec.unwrap_or(self.after_check)
    }

    /// Watched paths of one class that the agent changed. In the baseline there is no agent.
    pub fn surface(&self, class: SurfaceClass) -> impl Iterator<Item = &'a SurfaceChange> {
        self.after_exec
            .into_iter()
            .flat_map(|seen| &seen.surface)
            .filter(move |change| change.class == class)
    }
}

/// What one guard says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Outcome {
    pub state: GuardState,
    pub note: String,
    pub findings: Vec<Finding>,
}

impl Outcome {
    /// Ran on complete evidence.
    pub fn active(findings: Vec<Finding>) -> Self {
        Self {
            state: GuardState::Active,
            note: String::new(),
            findings,
        }
    }

    /// Ran over what this walk saw of the surface: finding nothing means something only where index and commit
    /// were looked at too.
    pub(crate) fn compared(seen: &TreeSeen, findings: Vec<Finding>) -> Self {
        if findings.is_empty() && seen.git.listed == GitState::Unavailable {
            return Self::unavailable(alloc::format!(
                "index and commit cannot be compared with t0: {}",
                seen.git.listed_note
            ));
        }
        Self::active(findings)
    }

    /// The tests changed as the contract lets them: whether they are worth as much as before is for `kill_set` to say
    /// (SPEC 5.2.3).
    pub(crate) fn left_to_kill_set(what: &str) -> Self {
        Self {
            state: GuardState::Deferred,
            note: alloc::format!("left to {}: {what}", vet::kill_set::VET.name),
            findings: Vec::new(),
        }
    }

    /// Does not apply here.
    pub fn not_applicable(why: &str) -> Self {
        Self {
            state: GuardState::NotApplicable,
            note: why.into(),
            findings: Vec::new(),
        }
    }

    /// Could not run.
    pub fn unavailable(why: String) -> Self {
        Self {
            state: GuardState::Unavailable,
            note: why,
            findings: Vec::new(),
        }
    }
}

/// One guard.
pub struct Guard {
    pub name: &'static str,
    /// One line for help and SPEC: the cheat it catches.
    pub catches: &'static str,
    /// What a violation halts the run with.
    pub reason: HaltReason,
    pub check: fn(&Evidence<'_>) -> Outcome,
}

impl Guard {
    pub(crate) fn finding(&self, severity: Severity, subject: impl Into<String>, detail: impl Into<String>) -> Finding {
        Finding {
            guard: self.name.into(),
            severity,
            reason: self.reason,
            subject: subject.into(),
            detail: detail.into(),
        }
    }

    pub(crate) fn violation(&self, subject: impl Into<String>, detail: impl Into<String>) -> Finding {
        self.finding(Severity::Violation, subject, detail)
    }
}

/// Every guard, in alphabetical order.
pub static ALL: &[&Guard] = &[
    &artefact_consistency::GUARD,
    &assertion_count::GUARD,
    &blocked_paths::GUARD,
    &check_mutation::GUARD,
    &collected_set::GUARD,
    &determinant_files::GUARD,
    &integrity_members::GUARD,
    &leftover_processes::GUARD,
    &outcome_downgrades::GUARD,
    &protected_manifest::GUARD,
    &refs_moved::GUARD,
    &stable_tree::GUARD,
    &state_interference::GUARD,
    &toolchain_identity::GUARD,
];

/// Runs every guard over one turn.
pub fn judge(evidence: &Evidence<'_>) -> GuardReport {
    let mut report = GuardReport::default();
    for guard in ALL {
        let off = evidence.policy.guards.off.iter().any(|name| name == guard.name);
        let outcome = if off {
            Outcome {
                state: GuardState::Off,
                note: "switched off by the contract".into(),
                findings: Vec::new(),
            }
        } else {
            lasting(guard, (guard.check)(evidence), evidence)
        };
        report.guards.push(GuardRun {
            guard: guard.name.into(),
            state: outcome.state,
            note: outcome.note,
            findings: u32::try_from(outcome.findings.len()).unwrap_or(u32::MAX),
        });
        for finding in outcome.findings {
            if report.findings.len() < FINDINGS_MAX {
                report.findings.push(finding);
            } else {
                report.findings_more += 1;
            }
        }
    }
    report
}

/// What a run of the check did beside measuring: the gravest violation of the guards that need no walk. For runs that
/// [`judge`] never sees, because they are a sample of another run or were cut short.
pub(crate) fn beside(policy: &Policy, check: &CheckEnded) -> Option<Finding> {
    let left = check.run.survivors.iter();
    let touched = check.interference.iter();
    let found = touched
        .map(|name| state_interference::touched("check", name))
        .chain(left.map(|survivor| leftover_processes::left("check", survivor)));
    found
        .filter(|finding| finding.severity == Severity::Violation && !policy.guards.off.contains(&finding.guard))
        .min_by_key(|finding| gravity(finding.reason))
}

/// A guard that was active at t0 does not stop applying: then something it needs is gone (SPEC 5.1.3).
fn lasting(guard: &Guard, outcome: Outcome, evidence: &Evidence<'_>) -> Outcome {
    let was_active = evidence.active_at_t0.iter().any(|name| name == guard.name);
    if was_active && outcome.state == GuardState::NotApplicable {
        return Outcome::unavailable(alloc::format!("it was active at the start and now: {}", outcome.note));
    }
    outcome
}

/// The violation that names the halt: the first of the gravest reason.
pub fn gravest<'a>(report: &'a GuardReport, vetted: &'a [Arc<Vetted>]) -> Option<&'a Finding> {
    let before_green = vetted.iter().flat_map(|vetted| &vetted.findings);
    let findings = report.findings.iter().chain(before_green);
    let violations = findings.filter(|f| f.severity == Severity::Violation);
    violations.min_by_key(|f| gravity(f.reason))
}

/// Lower is graver (SPEC 4.5).
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "only reasons that a guard names are ranked; all others are equally mild"
)]
const fn gravity(reason: HaltReason) -> u8 {
    match reason {
        HaltReason::CredentialScopeInvalid => 0,
        HaltReason::BlockedPathModified => 1,
        HaltReason::MetricIntegrityViolation => 2,
        HaltReason::ObjectiveUnverified => 3,
        HaltReason::CheckInadequate => 4,
        _ => 5,
    }
}

/// The first guard that should have run and could not.
pub fn unavailable(report: &GuardReport) -> Option<&GuardRun> {
    report.guards.iter().find(|run| run.state == GuardState::Unavailable)
}

/// The first guard that left what it saw to `kill_set`.
pub fn deferred(report: &GuardReport) -> Option<&GuardRun> {
    report.guards.iter().find(|run| run.state == GuardState::Deferred)
}

/// Proof that every guard of this iteration and tree, those before green included, ran and found nothing that stands
/// against green.
/// Only [`clear`] makes one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GuardsCleared {
    iteration: u32,
    tree: Digest,
    /// Guards left something to `kill_set`, and it stood for it.
    suites_compared: bool,
    /// One of those before green saw the check fail.
    shown_to_fail: bool,
}

impl GuardsCleared {
    pub fn iteration(&self) -> u32 {
        self.iteration
    }

    pub fn tree(&self) -> Digest {
        self.tree
    }

    /// The tests of now were compared with those of t0 and are worth as much: what is not collected any more was
    /// accounted for.
    pub fn suites_compared(&self) -> bool {
        self.suites_compared
    }

    /// What must fail was put to the check, and it did.
    pub fn shown_to_fail(&self) -> bool {
        self.shown_to_fail
    }
}

/// Every guard of the iteration known to this engine is in the report, none was unavailable, none found a violation. What
/// one of them left to `kill_set` is open still.
pub fn passed(report: &GuardReport) -> bool {
    let complete = ALL
        .iter()
        .all(|guard| report.guards.iter().any(|run| run.guard == guard.name));
    let clean = gravest(report, &[]).is_none() && report.findings_more == 0;
    complete && clean && unavailable(report).is_none()
}

/// The proof, when report and vets carry it: every guard of the iteration passed, and after them every guard before
/// green, on this iteration and tree. What a guard left to `kill_set` needs that one to have run.
pub fn clear(report: &GuardReport, vetted: &[Arc<Vetted>], iteration: u32, tree: Digest) -> Option<GuardsCleared> {
    let of = |vet: &vet::Vet| {
        let here =
            |vetted: &&Arc<Vetted>| vetted.guard == vet.name && (vetted.iteration, vetted.tree) == (iteration, tree);
        vetted.iter().find(here).map(|vetted| vetted.state)
    };
    let spoke =
        |vet: &&vet::Vet| of(vet).is_some_and(|state| !matches!(state, GuardState::Unavailable | GuardState::Deferred));
    let suites_compared = deferred(report).is_some();
    let settled = !suites_compared || of(&vet::kill_set::VET) == Some(GuardState::Active);
    let vets = vet::ALL.iter().all(spoke) && gravest(report, vetted).is_none();
    (passed(report) && vets && settled).then_some(GuardsCleared {
        iteration,
        tree,
        suites_compared,
        shown_to_fail: vetted.iter().any(|vetted| vet::shown_to_fail(vetted)),
    })
}

/// What keeps a green turn without a violation from being cleared, in words: a guard that could not run, or one before
/// green that had to stand for another and did not.
pub(crate) fn open(report: &GuardReport, vetted: &[Arc<Vetted>]) -> Option<String> {
    if let Some(run) = unavailable(report) {
        return Some(alloc::format!("{}: {}", run.guard, run.note));
    }
    let said = |vetted: &Arc<Vetted>| alloc::format!("{}: {}", vetted.guard, vetted.note);
    if let Some(unvetted) = vetted.iter().find(|vetted| vetted.state == GuardState::Unavailable) {
        return Some(said(unvetted));
    }
    let run = deferred(report)?;
    let kill_set = vetted.iter().find(|vetted| vetted.guard == vet::kill_set::VET.name)?;
    (kill_set.state != GuardState::Active).then(|| alloc::format!("{}; {} {}", said(kill_set), run.guard, run.note))
}

#[cfg(test)]
pub(crate) mod bench;

#[cfg(test)]
mod tests;
