//! The zones that a contract asks for: whether they are to be had, judged by what starting them showed.

use alloc::format;
use alloc::string::String;

use super::halt;
use crate::effect::Next;
use crate::event::measurement::{CommandRun, RunOutcome};
use crate::event::policy::IsolationPolicy;
use crate::event::zone::{EgressCap, ZoneName, ZoneRefusal, ZoneSeen};
use crate::facts::Facts;

/// The halt of a run whose zones are not to be had; `None` where they are, or are not asked for.
pub(crate) fn missing(facts: &Facts) -> Option<Next> {
    let isolation = &facts.policy().isolation;
    let needed: &[ZoneName] = match (isolation.zones, isolation.degraded) {
        (true, _) => ZoneName::ALL,
        // Only the work is held then.
        (false, true) => &[ZoneName::Agent],
        (false, false) => return None,
    };
    let zones = &facts.opened.zones;
    if let Some(refused) = zones.iter().find(|seen| seen.refused.is_some()) {
        return Some(unsatisfiable(facts, refused));
    }
    let unseen = needed
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

/// What of the network the work used up, in words.
pub(crate) fn over_cap(facts: &Facts, cap: Option<EgressCap>) -> String {
    let most = facts.policy().isolation.egress_max_bytes;
    match cap {
        Some(EgressCap::Connections) => {
            format!(
                "the work made more than {} connections",
                IsolationPolicy::CONNECTIONS_MAX
            )
        }
        Some(EgressCap::Time) => {
            format!(
                "the work connected for more than {} ms",
                IsolationPolicy::EGRESS_TIME_MAX_MS
            )
        }
        Some(EgressCap::Bytes) | None => format!("the work sent and received more than {most} bytes (--egress-max)"),
    }
}

/// What to say of work that kept more on disk than it may.
pub(crate) fn over_volume(facts: &Facts) -> String {
    let most = facts.policy().isolation.volume_max_bytes;
    format!(
        "the work kept more than {most} bytes on disk (--zone-volume), and nothing of it was brought to the workdir"
    )
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

/// It ran, and nobody says in which zone, though the contract asks for zones: what it says is worth nothing.
pub(crate) fn escaped(run: &CommandRun, facts: &Facts) -> bool {
    facts.policy().isolation.zones && run.zone.is_none() && run.outcome == RunOutcome::Exited
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::State;
    use crate::event::Event;
    use crate::event::halt::HaltReason;
    use crate::event::measurement::StopCause;
    use crate::event::policy::{Command, Policy};
    use crate::event::run::RunOpened;
    use crate::guard::bench::run;
    use crate::phase::check::{Failure, failure};

    fn seen(zone: ZoneName, refused: Option<ZoneRefusal>) -> ZoneSeen {
        ZoneSeen {
            zone,
            facts: "bwrap".into(),
            fixed: vec![],
            refused,
            said: "no".into(),
            left_inside: 0,
            egress: vec![],
        }
    }

    fn opened(isolated: bool, zones: Vec<ZoneSeen>) -> State {
        let mut policy = Policy::default();
        policy.oracle.check = Command::shell("true");
        policy.isolation.zones = isolated;
        State::open(RunOpened {
            at: crate::event::id::Stamp::default(),
            run_id: "r".into(),
            engine: "e".into(),
            workdir: "/w".into(),
            boot_id: "b".into(),
            policy_digest: crate::event::id::Digest::ZERO,
            policy,
            origins: vec![],
            programs: vec![],
            probe: None,
            zones,
        })
    }

    fn halted(state: &State) -> Option<(HaltReason, String)> {
        let Next::Record(Event::Halted(halted)) = state.next() else {
            return None;
        };
        Some((halted.reason, halted.cause.clone()))
    }

    #[test]
    fn a_run_begins_only_with_both_zones_that_it_asks_for() {
        let both = || vec![seen(ZoneName::Agent, None), seen(ZoneName::Exec, None)];
        assert_eq!(halted(&opened(true, both())), None);
        assert_eq!(halted(&opened(false, vec![])), None);
        let refused = |refusal| {
            halted(&opened(
                true,
                vec![seen(ZoneName::Agent, None), seen(ZoneName::Exec, Some(refusal))],
            ))
        };
        let cause = |refusal: ZoneRefusal| Some((refusal.reason(), refusal.label().into()));
        for refusal in ZoneRefusal::ALL {
            assert_eq!(refused(*refusal), cause(*refusal));
        }
        for zones in [
            vec![],
            vec![seen(ZoneName::Agent, None)],
            vec![seen(ZoneName::Exec, None)],
        ] {
            assert_eq!(halted(&opened(true, zones)), cause(ZoneRefusal::ProbeFailed));
        }
    }

    /// What becomes of a check that was stopped for this reason.
    fn check_stopped(stop: StopCause) -> &'static str {
        let mut stopped = run(0);
        (stopped.stop, stopped.zone) = (stop, Some(seen(ZoneName::Exec, None)));
        match failure(&stopped, &opened(true, vec![]).facts) {
            Some(Failure::Oracle { cause, .. }) => cause,
            _ => "a verdict",
        }
    }

    #[test]
    fn a_check_whose_zone_was_ended_or_did_not_last_has_no_verdict() {
        assert_eq!(check_stopped(StopCause::MemoryCap), "check_memory_exceeded");
        assert_eq!(check_stopped(StopCause::EgressCap), "zone_lost");
        assert_eq!(check_stopped(StopCause::VolumeCap), "check_volume_exceeded");
        let isolated = opened(true, vec![]);
        let mut gone = run(0);
        (gone.outcome, gone.zone) = (RunOutcome::ZoneLost, Some(seen(ZoneName::Exec, None)));
        assert!(matches!(
            failure(&gone, &isolated.facts),
            Some(Failure::Oracle { cause: "zone_lost", .. })
        ));
        gone.outcome = RunOutcome::ZoneRefused;
        assert!(matches!(failure(&gone, &isolated.facts), Some(Failure::ZoneRefused(_))));
    }

    #[test]
    fn a_check_that_ran_in_no_zone_has_no_verdict_where_zones_are_asked_for() {
        let isolated = opened(true, vec![]);
        let mut green = run(0);
        assert!(failure(&green, &isolated.facts).is_some());
        assert!(failure(&green, &opened(false, vec![]).facts).is_none());
        green.zone = Some(seen(ZoneName::Exec, None));
        assert!(failure(&green, &isolated.facts).is_none());
    }
}
