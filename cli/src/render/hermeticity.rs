//! How far a check that is declared hermetic was shown to be, as an object and as lines: each tier by itself, and none
//! for more than was seen (SPEC 6.7.2).

use engine::event::candidate::{Reach, Trace};
use engine::event::finding::Severity;
use engine::probe::{Experiment, Finding};
use engine::vet::hermeticity::{self, CLOCK, DIMENSIONS};
use engine::words::counted;
use serde::Serialize;
use shell::probe::{Plan, Probed};

use super::probe::Names;

const HELD: &str = "held";
const PARTLY: &str = "partly";
const BROKE: &str = "broke";
const NOT_PROBED: &str = "not_probed";

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Hermeticity {
    /// Fixed surroundings.
    t0: Tier,
    /// An offset clock.
    t1: Tier,
    /// Other surroundings: the network, home, tmp, path, timezone and locale.
    t2: Tier,
    /// `held` where a traced run reached nothing outside, `broke` where it did; else `not_probed`, which is never a pass.
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
    /// What it does not cover, or why it does not hold.
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
        let unproved = match (traced, probed.probe.fresh.reference()) {
            (Some(traced), Some(reference)) => traced.unproved(reference),
            _ => Some("no traced run was made".to_owned()),
        };
        Some(Self {
            t0: fixed(plan),
            t1: varied(experiment, &[CLOCK]),
            t2: varied(experiment, DIMENSIONS.strip_suffix(&[CLOCK]).unwrap_or(&DIMENSIONS)),
            trace: match (reached.is_empty(), unproved) {
                (false, _) => tier(BROKE, None),
                (true, Some(why)) => tier(NOT_PROBED, Some(why)),
                (true, None) => tier(HELD, None),
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
        if self.trace.state == HELD {
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

fn tier(state: &'static str, why: Option<String>) -> Tier {
    Tier { state, why }
}

/// The surroundings that are fixed for every check, but for what the contract passes on.
fn fixed(plan: &Plan) -> Tier {
    let passed = &plan.policy.oracle.pass_env;
    match passed.is_empty() {
        true => tier(
            HELD,
            Some("the network is there, as nothing isolates a check yet".to_owned()),
        ),
        false => tier(PARTLY, Some(format!("the contract passes on {}", passed.join(", ")))),
    }
}

/// How these dimensions fared.
fn varied(experiment: Option<&Experiment>, wanted: &[&str]) -> Tier {
    let Some(experiment) = experiment else {
        return tier(NOT_PROBED, Some(format!("--dimensions={} would", wanted.join(","))));
    };
    let names = experiment.subjects().iter().map(|subject| subject.name.as_str());
    let found: Vec<(&str, Finding)> = names
        .zip(experiment.found().into_iter().map(|found| found.finding))
        .collect();
    let (mut open, mut broke) = (Vec::new(), Vec::new());
    for name in wanted {
        match found
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, finding)| finding)
        {
            Some(Finding::Holds) => {}
            Some(Finding::Broke { .. } | Finding::Nondeterministic { .. }) => broke.push((*name).to_owned()),
            Some(Finding::NotProbed(why)) => open.push(format!("{name} ({why})")),
            None => open.push((*name).to_owned()),
        }
    }
    match (broke.is_empty(), open.len()) {
        (false, _) => tier(BROKE, Some(broke.join(", "))),
        (true, 0) => tier(HELD, None),
        (true, many) if many == wanted.len() => tier(NOT_PROBED, Some(open.join(", "))),
        (true, _) => tier(PARTLY, Some(format!("not probed: {}", open.join(", ")))),
    }
}
