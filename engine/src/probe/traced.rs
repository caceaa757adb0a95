//! Runs of a check that is declared hermetic: one with its calls written down (SPEC 6.7.3), and one whose clock stands
//! still (SPEC 6.7.2).

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::verdict::{Class, Verdict};
use crate::event::candidate::Trace;
use crate::event::finding::{Finding, Severity};
use crate::event::halt::HaltReason;
use crate::event::zone::ZoneSeen;
use crate::hermetic::tiers::{self, Tier};
use crate::vet::hermeticity;

/// What such a run showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traced {
    /// What it touched, or why nobody knows.
    pub trace: Result<Trace, String>,
    /// None where it was not run.
    pub verdict: Option<Verdict>,
}

/// What a run whose clock stood still showed; an error says why there was none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frozen(pub Result<Verdict, String>);

impl Frozen {
    /// The tier that it reaches.
    pub fn t1(&self, reference: &Verdict) -> Tier {
        let verdict = match &self.0 {
            Ok(verdict) => verdict,
            Err(why) => return tiers::t1(Some(Err(why))),
        };
        if verdict.agrees(reference) {
            return tiers::t1(Some(Ok(None)));
        }
        let differs = format!("{} instead of {}", word(&verdict.class), word(&reference.class));
        tiers::t1(Some(Ok(Some(&differs))))
    }
}

impl Traced {
    /// What stands in its place where the check ran in a zone: nothing where that leaves nothing to trace.
    pub fn in_zone(zone: Option<&ZoneSeen>) -> Option<Self> {
        let why = tiers::lets_out(zone)?;
        Some(Self {
            trace: Err(why),
            verdict: None,
        })
    }

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
    use alloc::string::ToString as _;
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
    fn a_standing_clock_is_held_against_nobody_and_a_zone_that_lets_out_is() {
        let green = verdict(Class::Green);
        let t1 = |frozen: Frozen| frozen.t1(&green).to_string();
        assert!(t1(Frozen(Ok(green.clone()))).starts_with("held"));
        assert!(t1(Frozen(Ok(verdict(Class::Red)))).contains("a red run instead of a green run"));
        assert_eq!(t1(Frozen(Err("no faketime".into()))), "not probed: no faketime");
        let open = Traced::in_zone(None).unwrap();
        assert_eq!(
            open.fault(&green),
            Some((HaltReason::ObjectiveUnverified, "guard_unavailable"))
        );
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
