//! How far a check that is declared hermetic was shown to be: a tier for each kind of evidence, and none for more than
//! was seen (SPEC 6.7.2).
//!
//! ```text
//!   T0  what is fixed for the run     contract: variables, mask  +  what the exec zone saw of itself
//!   T1  a clock that stands still     one run under a preload, with a sign that it was in force
//!   T2  other surroundings            runs in which they were varied; what T0 fixes needs no varying
//! ```

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use super::umask;
use crate::event::policy::Oracle;
use crate::event::zone::{Fixture, ZoneName, ZoneSeen};

/// How far one tier holds. What was not probed is no pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Held,
    Partly,
    Broke,
    NotProbed,
}

impl Standing {
    /// The word of an answer.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Partly => "partly",
            Self::Broke => "broke",
            Self::NotProbed => "not_probed",
        }
    }
}

/// One tier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tier {
    pub standing: Standing,
    /// What it rests on, what it does not cover, or why it does not hold.
    pub why: String,
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let standing = match self.standing {
            Standing::NotProbed => "not probed",
            Standing::Held | Standing::Partly | Standing::Broke => self.standing.label(),
        };
        match self.why.as_str() {
            "" => f.write_str(standing),
            why => write!(f, "{standing}: {why}"),
        }
    }
}

fn tier(standing: Standing, why: impl Into<String>) -> Tier {
    Tier {
        standing,
        why: why.into(),
    }
}

/// What a trace would look for: a check from which these are kept can neither connect outside nor read there.
const KEPT_APART: [Fixture; 4] = [Fixture::Network, Fixture::Root, Fixture::Home, Fixture::Tmp];

/// What of these the zone of a check did not see fixed; `None` stands for no zone.
fn unfixed<'a>(wanted: &'a [Fixture], zone: Option<&'a ZoneSeen>) -> impl Iterator<Item = Fixture> + 'a {
    let zone = zone.filter(|seen| seen.zone == ZoneName::Exec && seen.refused.is_none());
    let is_fixed = move |fixture: &Fixture| zone.is_some_and(|zone| zone.fixed.contains(fixture));
    wanted.iter().copied().filter(move |fixture| !is_fixed(fixture))
}

/// Why what is known of the zone of a check does not stand in for a trace of what it touches; `None` where it does.
pub fn lets_out(zone: Option<&ZoneSeen>) -> Option<String> {
    let open = names(unfixed(&KEPT_APART, zone));
    (!open.is_empty()).then(|| format!("the zone of the check does not show that it fixed its {open}"))
}

/// T0: the surroundings that are fixed for the check, by the contract and by the zone that it ran in.
pub fn t0(oracle: &Oracle, zone: Option<&ZoneSeen>) -> Tier {
    // The mask is fixed in every mode, and a run has a temporary directory of its own.
    let by_contract = |fixture: &Fixture| match fixture {
        Fixture::Umask => umask(oracle).is_some(),
        Fixture::Tmp => true,
        Fixture::Network | Fixture::Root | Fixture::Home | Fixture::Host | Fixture::Processors => false,
    };
    let open = names(unfixed(Fixture::ALL, zone).filter(|fixture| !by_contract(fixture)));
    let mut lacks = Vec::new();
    if !open.is_empty() {
        lacks.push(match zone {
            Some(_) => format!("its zone does not show that it fixed {open}"),
            None => format!("outside of an exec zone nothing fixes {open}"),
        });
    }
    if !oracle.pass_env.is_empty() {
        lacks.push(format!("the contract passes on {}", oracle.pass_env.join(", ")));
    }
    if lacks.is_empty() {
        let fixed = names(Fixture::ALL.iter().copied());
        return tier(Standing::Held, format!("the exec zone fixed {fixed}"));
    }
    tier(Standing::Partly, lacks.join("; "))
}

/// T1: what a run showed whose clock stood still; an error says why there was none.
pub fn t1(frozen: Option<Result<Option<&str>, &str>>) -> Tier {
    match frozen {
        None => tier(Standing::NotProbed, "no run was made with a clock that stands still"),
        Some(Err(why)) => tier(Standing::NotProbed, why),
        Some(Ok(None)) => tier(
            Standing::Held,
            "the clock stood still for programs that load the preload",
        ),
        Some(Ok(Some(differs))) => tier(Standing::Broke, format!("with a clock that stands still, {differs}")),
    }
}

/// What became of varying one dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Held,
    Broke,
    /// It was not varied, and why; empty where nobody asked for it.
    Open(String),
}

/// T2: dimensions in which a run was varied, by name. One that the zone fixes has nothing to vary.
pub fn t2(parts: &[(&str, Part)], zone: Option<&ZoneSeen>) -> Tier {
    let of = |wanted: &dyn Fn(&str, &Part) -> bool| -> Vec<String> {
        let found = parts.iter().filter(|(name, part)| wanted(name, part));
        let told = found.map(|(name, part)| match part {
            Part::Open(why) if !why.is_empty() && !is_of_zone(name, zone) => format!("{name} ({why})"),
            Part::Open(_) | Part::Held | Part::Broke => (*name).to_owned(),
        });
        told.collect()
    };
    let broke = of(&|_, part| *part == Part::Broke);
    let held = of(&|_, part| *part == Part::Held);
    let open = of(&|name, part| matches!(part, Part::Open(_)) && !is_of_zone(name, zone));
    let fixed = of(&|name, part| matches!(part, Part::Open(_)) && is_of_zone(name, zone));
    if !broke.is_empty() {
        return tier(Standing::Broke, broke.join(", "));
    }
    let mut why = Vec::new();
    if !held.is_empty() {
        why.push(format!("under other {}", held.join(", ")));
    }
    if !open.is_empty() {
        why.push(format!("not probed: {}", open.join(", ")));
    }
    if !fixed.is_empty() {
        why.push(format!("not varied, as T0 fixes it: {}", fixed.join(", ")));
    }
    let standing = match (held.is_empty(), open.is_empty()) {
        (true, _) => Standing::NotProbed,
        (false, true) => Standing::Held,
        (false, false) => Standing::Partly,
    };
    tier(standing, why.join("; "))
}

/// The zone of the check is known to have fixed what this dimension varies.
fn is_of_zone(dimension: &str, zone: Option<&ZoneSeen>) -> bool {
    Fixture::from_label(dimension).is_some_and(|fixture| unfixed(&[fixture], zone).next().is_none())
}

fn names(fixtures: impl Iterator<Item = Fixture>) -> String {
    let names: Vec<String> = fixtures.map(|fixture| fixture.label().to_string()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests;
