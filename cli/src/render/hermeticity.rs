//! How far a check that is declared hermetic was shown to be, as an object and as lines: each tier by itself, and none
//! for more than was seen (SPEC 6.7.2).

use engine::event::candidate::{Reach, Trace};
use engine::event::finding::Severity;
use engine::event::zone::ZoneSeen;
use engine::hermetic::tiers::{self, Part, Standing};
use engine::probe::{Experiment, Finding};
use engine::vet::hermeticity::{self, DIMENSIONS};
use engine::words::counted;
use serde::Serialize;
use shell::probe::{Plan, Probed};

use super::probe::Names;

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Hermeticity {
    /// Fixed surroundings.
    t0: Tier,
    /// A clock that stands still, for programs that load the preload. `broke` is held against nobody.
    t1: Tier,
    /// Other surroundings: the network, home, tmp, path, timezone, locale and an offset clock, but for what `t0` fixes.
    t2: Tier,
    /// `held` where a traced run reached nothing outside, or where the zone of the check leaves nothing to reach; `broke`
    /// where something was reached; else `not_probed`, which is never a pass.
    trace: Tier,
    /// What it reached outside, in words.
    reached: Names,
    /// Paths outside that it wrote to; they are held against nobody.
    wrote: Names,
    /// Calls that reached a place which is not named here.
    unnamed: u64,
    processes: u64,
    /// Calls for what nothing freezes: random bytes of the kernel, and the clock as far as calls show it.
    randomness_calls: u64,
    clock_calls: u64,
}

/// How far one tier holds.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Tier {
    /// `held`, `partly`, `broke` or `not_probed`.
    state: &'static str,
    /// What it rests on, what it does not cover, or why it does not hold.
    why: Option<String>,
}

impl Hermeticity {
    /// `None` where the check is not declared hermetic.
    pub(crate) fn of(plan: &Plan, probed: &Probed) -> Option<Self> {
        if !hermeticity::declared(&plan.policy) {
            return None;
        }
        let experiment = probed.probe.experiment.as_ref();
        let traced = probed.probe.traced.as_ref();
        let findings = traced.map(engine::probe::Traced::findings).unwrap_or_default();
        let violations = findings
            .iter()
            .filter(|finding| finding.severity == Severity::Violation);
        let reached: Vec<String> = violations
            .map(|finding| format!("{}: {}", finding.subject, finding.detail))
            .collect();
        let nothing = Trace::default();
        let trace = traced.and_then(|traced| traced.trace.as_ref().ok()).unwrap_or(&nothing);
        let wrote = trace.reached.iter().filter(|reached| reached.act == Reach::Wrote);
        let wrote: Vec<String> = wrote.map(|reached| reached.place.clone()).collect();
        let reference = probed.probe.fresh.reference();
        let zone = probed.probe.zone.as_ref();
        Some(Self {
            t0: told(tiers::t0(&plan.policy.oracle, zone)),
            t1: told(match (&probed.probe.frozen, reference) {
                (Some(frozen), Some(reference)) => frozen.t1(reference),
                _ => tiers::t1(None),
            }),
            t2: told(varied(experiment, zone)),
            trace: match (traced, reference) {
                _ if !reached.is_empty() => tier(Standing::Broke, None),
                (Some(traced), Some(reference)) => match traced.unproved(reference) {
                    Some(why) => tier(Standing::NotProbed, Some(why)),
                    None => tier(Standing::Held, None),
                },
                (None, Some(_)) if zone.is_some() => tier(
                    Standing::Held,
                    Some("its zone leaves nothing outside to reach, and nothing was traced".to_owned()),
                ),
                _ => tier(Standing::NotProbed, Some("no traced run was made".to_owned())),
            },
            reached: Names::of(reached.into_iter()),
            wrote: Names::of(wrote.into_iter()),
            unnamed: trace.unnamed,
            processes: trace.processes,
            randomness_calls: trace.randomness,
            clock_calls: trace.clock,
        })
    }

    /// What it reached, for a sentence.
    pub(crate) fn reached(&self) -> String {
        self.reached.words()
    }

    /// Why the traced run proves nothing.
    pub(crate) fn unproved(&self) -> Option<&str> {
        self.trace.why.as_deref()
    }

    /// One line for each.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (&'static str, String)> {
        let mut traced = self.trace.words();
        if self.trace.state == Standing::Held.label() && self.processes > 0 {
            traced = format!(
                "{traced}: {} of it reached nothing outside; {} for random bytes",
                counted(self.processes, "process"),
                counted(self.randomness_calls, "call"),
            );
        }
        if self.reached.total() > 0 {
            traced = format!("{traced}: {}", self.reached.words());
        }
        if self.wrote.total() > 0 {
            traced = format!("{traced}; it wrote to {}", self.wrote.words());
        }
        [
            ("trace", traced),
            ("tier T0", self.t0.words()),
            ("tier T1", self.t1.words()),
            ("tier T2", self.t2.words()),
        ]
        .into_iter()
    }
}

impl Tier {
    fn words(&self) -> String {
        let state = self.state.replace('_', " ");
        match &self.why {
            Some(why) => format!("{state}: {why}"),
            None => state,
        }
    }
}

fn tier(standing: Standing, why: Option<String>) -> Tier {
    Tier {
        state: standing.label(),
        why,
    }
}

fn told(tier: tiers::Tier) -> Tier {
    Tier {
        state: tier.standing.label(),
        why: Some(tier.why).filter(|why| !why.is_empty()),
    }
}

/// How the dimensions of a hermetic check fared.
fn varied(experiment: Option<&Experiment>, zone: Option<&ZoneSeen>) -> tiers::Tier {
    let Some(experiment) = experiment else {
        return tiers::Tier {
            standing: Standing::NotProbed,
            why: format!("--dimensions={} would", DIMENSIONS.join(",")),
        };
    };
    let names = experiment.subjects().iter().map(|subject| subject.name.as_str());
    let found: Vec<(&str, Finding)> = names
        .zip(experiment.found().into_iter().map(|found| found.finding))
        .collect();
    let part = |wanted: &str| match found.iter().find(|(known, _)| *known == wanted) {
        Some((_, Finding::Holds)) => Part::Held,
        Some((_, Finding::Broke { .. } | Finding::Nondeterministic { .. })) => Part::Broke,
        Some((_, Finding::NotProbed(why))) => Part::Open(why.clone()),
        None => Part::Open(String::new()),
    };
    let parts = DIMENSIONS.map(|name| (name, part(name)));
    tiers::t2(&parts, zone)
}
