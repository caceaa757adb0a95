//! One turn on its way through the rooms: what the agent did, what was seen, what was judged.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;

use super::check::GreenCheck;
use crate::event::finding::Finding;
use crate::event::halt::HaltReason;
use crate::event::id::Digest;
use crate::event::iteration::{CheckEnded, TreeObserved};
use crate::event::measurement::{Survivor, TreeSeen};
use crate::guard::GuardsCleared;
use crate::members::IdSet;

/// What a walk saw, shared with the fact that told it. When it was walked and what for are no part of it: two that saw
/// the same are one.
#[derive(Clone)]
pub struct Walked(Arc<TreeObserved>);

impl Walked {
    pub(crate) fn of(observed: &Arc<TreeObserved>) -> Self {
        Self(Arc::clone(observed))
    }
}

impl fmt::Debug for Walked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Walked").field(&self.0.seen).finish()
    }
}

impl Deref for Walked {
    type Target = TreeSeen;

    fn deref(&self) -> &TreeSeen {
        &self.0.seen
    }
}

impl PartialEq for Walked {
    fn eq(&self, other: &Self) -> bool {
        self.0.seen == other.0.seen
    }
}

impl Eq for Walked {}

impl Hash for Walked {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.seen.hash(state);
    }
}

/// The evidence of an iteration, collected on the way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Turn {
    pub iteration: u32,
    /// The tree that the check judged.
    pub tree: Digest,
    /// The tree that it read: another one only where its own writing made t0.
    pub read: Digest,
    pub no_op: bool,
    pub exec_survivors: Vec<Survivor>,
    /// Of the work command, and of a check that was cut short and asked again.
    pub interference: Vec<String>,
    /// None in the baseline.
    pub after_exec: Option<Walked>,
}

/// What stands against a turn: the gravest violation of a guard.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Objection {
    pub reason: HaltReason,
    /// Of the halt: the guard's name, or what its reason has in place of that (SPEC 4.2.1).
    pub cause: String,
    /// Subject and detail, with the guard's name.
    pub detail: String,
}

impl From<&Finding> for Objection {
    fn from(finding: &Finding) -> Self {
        Self {
            reason: finding.reason,
            cause: cause(finding).into(),
            detail: format!("{}: {} ({})", finding.subject, finding.detail, finding.guard),
        }
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other reason has the name of its guard"
)]
fn cause(finding: &Finding) -> &str {
    match finding.reason {
        HaltReason::HermeticityViolation => "reached_outside",
        HaltReason::CheckNotHermetic => "dimension_broke",
        _ => &finding.guard,
    }
}

/// A turn whose check ran and whose guards spoke.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Judged {
    pub turn: Turn,
    pub check: Arc<CheckEnded>,
    /// The check passed.
    pub green: Option<GreenCheck>,
    /// Every guard ran and none objected.
    pub cleared: Option<GuardsCleared>,
    /// The gravest violation.
    pub violation: Option<Objection>,
    /// The first guard that could not run, and why.
    pub unavailable: Option<String>,
    pub failing: IdSet,
    pub passing: IdSet,
    /// Members that the accepted line passed and this turn does not.
    pub broke: Vec<String>,
    /// Members that failed in the accepted line and pass now.
    pub fixed: Vec<String>,
}
