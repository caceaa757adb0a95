//! The zones that a contract asks for: whether they are to be had, judged by what starting them showed.

use alloc::format;
use alloc::string::String;

use super::halt;
use crate::effect::Next;
use crate::event::measurement::CommandRun;
use crate::event::zone::{ZoneRefusal, ZoneSeen};
use crate::facts::Facts;

/// What a run needs, each once.
const NEEDED: [&str; 2] = ["agent", "exec"];

/// The halt of a run whose zones are not to be had; `None` where they are, or are not asked for.
pub(crate) fn missing(facts: &Facts) -> Option<Next> {
    if !facts.policy().isolation.zones {
        return None;
    }
    let zones = &facts.opened.zones;
    if let Some(refused) = zones.iter().find(|seen| seen.refused.is_some()) {
        return Some(unsatisfiable(facts, refused));
    }
    let unseen = NEEDED
        .iter()
        .find(|needed| !zones.iter().any(|seen| seen.zone == **needed));
    unseen.map(|zone| {
        let detail = format!("nobody saw the {zone} zone start");
        halt(
            facts,
            ZoneRefusal::ProbeFailed.reason(),
            ZoneRefusal::ProbeFailed.label(),
            &detail,
        )
    })
}

/// The halt for one zone that did not start.
pub(crate) fn unsatisfiable(facts: &Facts, seen: &ZoneSeen) -> Next {
    let refusal = seen.refused.unwrap_or(ZoneRefusal::ProbeFailed);
    halt(facts, refusal.reason(), refusal.label(), &seen.said)
}

/// What to say of a command whose zone did not last.
pub(crate) fn lost(what: &str, run: &CommandRun) -> String {
    let said = run
        .zone
        .as_ref()
        .map(|zone| zone.said.as_str())
        .filter(|said| !said.is_empty());
    let said = said.map(|said| format!(": {said}")).unwrap_or_default();
    format!("the zone of the {what} did not last{said}")
}
