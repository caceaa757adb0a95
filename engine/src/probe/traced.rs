//! A run of a check that is declared hermetic, with its calls written down (SPEC 6.7.3).

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::verdict::{Class, Verdict};
use crate::event::candidate::Trace;
use crate::event::finding::{Finding, Severity};
use crate::event::halt::HaltReason;
use crate::vet::hermeticity;

/// What such a run showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traced {
    /// What it touched, or why nobody knows.
    pub trace: Result<Trace, String>,
    /// None where it was not run.
    pub verdict: Option<Verdict>,
}

impl Traced {
    /// What it reached outside, each a sentence about a place; what it wrote there among them, as a note.
    pub fn findings(&self) -> Vec<Finding> {
        self.trace.as_ref().map(hermeticity::touched).unwrap_or_default()
    }

    /// Why nothing follows from it, if so.
    pub fn unproved(&self, reference: &Verdict) -> Option<String> {
        let trace = match &self.trace {
            Ok(trace) => trace,
            Err(why) => return Some(why.clone()),
        };
        let differs = match &self.verdict {
            Some(verdict) if verdict.agrees(reference) => String::new(),
            Some(verdict) => format!("{} instead of {}", word(&verdict.class), word(&reference.class)),
            None => "it came to no end".into(),
        };
        hermeticity::unproved(trace, &differs)
    }

    /// Reason and cause, unless it reached nothing.
    pub(super) fn fault(&self, reference: &Verdict) -> Option<(HaltReason, &'static str)> {
        let reached = self
            .findings()
            .iter()
            .any(|finding| finding.severity == Severity::Violation);
        if reached {
            return Some((HaltReason::CheckNotHermetic, "reached_outside"));
        }
        let unproved = self.unproved(reference).is_some();
        unproved.then_some((HaltReason::ObjectiveUnverified, "guard_unavailable"))
    }
}

/// How a run ended, for people; two that ended alike differ in their tests.
fn word(class: &Class) -> &str {
    match class {
        Class::Green => "a green run",
        Class::Red => "a red run",
        Class::Broken { detail, .. } => detail,
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::event::candidate::{Reach, Reached};

    fn verdict(class: Class) -> Verdict {
        Verdict {
            class,
            failing: vec![],
            skipped: vec![],
            collected: vec![],
        }
    }

    fn traced(acts: &[Reach], verdict: Option<Verdict>) -> Traced {
        let reached = acts.iter().map(|act| Reached {
            act: *act,
            program: "sh".into(),
            place: "/srv/x".into(),
            times: 1,
        });
        Traced {
            trace: Ok(Trace {
                reached: reached.collect(),
                processes: 1,
                ..Trace::default()
            }),
            verdict,
        }
    }

    #[test]
    fn what_was_reached_is_the_fault_and_what_nobody_saw_is_one_too() {
        let green = verdict(Class::Green);
        let fault = |traced: &Traced| traced.fault(&green);
        assert_eq!(fault(&traced(&[], Some(green.clone()))), None);
        assert_eq!(fault(&traced(&[Reach::Wrote], Some(green.clone()))), None);
        let reached = Some((HaltReason::CheckNotHermetic, "reached_outside"));
        assert_eq!(fault(&traced(&[Reach::Read], Some(green.clone()))), reached);
        assert_eq!(fault(&traced(&[Reach::Connected], None)), reached);
        let open = Some((HaltReason::ObjectiveUnverified, "guard_unavailable"));
        assert_eq!(fault(&traced(&[], Some(verdict(Class::Red)))), open);
        assert_eq!(fault(&traced(&[], None)), open);
        let missing = Traced {
            trace: Err("no strace".into()),
            verdict: None,
        };
        assert_eq!(fault(&missing), open);
        assert_eq!(missing.unproved(&green).as_deref(), Some("no strace"));
    }
}
