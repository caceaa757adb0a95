//! What work and check ran in.

use engine::State;
use engine::event::zone::{EgressSeen, ZoneName};
use engine::report::Report as Fold;
use engine::words::counted;
use serde::Serialize;

/// The isolation that was in force, by what was seen of it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Isolation {
    /// Work and check ran in zones.
    pub(crate) zones: bool,
    /// What the work was held by in place of a zone, and what of one was missing; null where nobody asked for that.
    pub(crate) degraded: Option<String>,
    /// What the init of each zone saw when the run began; null where it did not start.
    pub(crate) agent_zone_facts: Option<String>,
    pub(crate) exec_zone_facts: Option<String>,
    /// What the work connected to through the proxy, or tried to.
    pub(crate) egress: Vec<Connection>,
    /// Connections to places that are not named.
    pub(crate) egress_more: u64,
    /// Processes that went with a zone.
    pub(crate) left_inside: u64,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Connection {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) allowed: bool,
    /// Why not; empty where allowed.
    pub(crate) reason: String,
    pub(crate) connections: u32,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
}

impl Isolation {
    pub(super) fn of(state: &State, fold: &Fold) -> Self {
        let zones = &state.facts.opened.zones;
        let facts = |name: ZoneName| {
            let seen = zones.iter().find(|seen| seen.zone == name && !seen.facts.is_empty());
            seen.map(|seen| seen.facts.clone())
        };
        Self {
            zones: state.facts.policy().isolation.zones,
            degraded: state.facts.degraded().map(str::to_owned),
            agent_zone_facts: facts(ZoneName::Agent).filter(|_| state.facts.degraded().is_none()),
            exec_zone_facts: facts(ZoneName::Exec),
            egress: fold.egress.rows.iter().map(Connection::of).collect(),
            egress_more: fold.egress.more,
            left_inside: fold.totals.left_inside,
        }
    }

    /// For people.
    pub(super) fn line(&self) -> String {
        if let Some(held) = &self.degraded {
            return held.clone();
        }
        if !self.zones {
            return "none: work and check ran with your rights".to_owned();
        }
        let sum = |allowed: bool| {
            let rows = self.egress.iter().filter(|row| row.allowed == allowed);
            rows.map(|row| u64::from(row.connections)).sum::<u64>()
        };
        format!(
            "two zones ({}); {} allowed, {} denied",
            self.exec_zone_facts.as_deref().unwrap_or("not to be had"),
            counted(sum(true), "connection"),
            sum(false)
        )
    }
}

impl Connection {
    fn of(seen: &EgressSeen) -> Self {
        Self {
            host: seen.host.clone(),
            port: seen.port,
            allowed: seen.allowed,
            reason: seen.reason.clone(),
            connections: seen.connections,
            bytes_in: seen.bytes_in,
            bytes_out: seen.bytes_out,
        }
    }
}
