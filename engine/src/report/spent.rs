//! What an iteration took, and what it ran in (SPEC 13.1.1).

use alloc::rc::Rc;
use alloc::string::String;

use super::Row;
use crate::event::measurement::{CommandRun, RunOutcome};
use crate::event::money::UsedCall;
use crate::event::zone::ZoneName;

/// What was spent in an iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Booked, as far as it has a price.
    pub microusd: u64,
    pub calls: u64,
    pub tokens: u64,
    /// Some call had no known price.
    pub unknown: bool,
    pub exec_ms: u64,
    pub check_ms: u64,
    /// Runs of the check in copies, for the guards before green.
    pub vet_ms: u64,
    /// Of work and check in their places.
    pub cpu_ms: u64,
}

impl Spent {
    pub(super) fn book(&mut self, call: &UsedCall) {
        self.calls += 1;
        self.unknown |= call.microusd.is_none();
        self.microusd = self.microusd.saturating_add(call.microusd.unwrap_or(0));
        let tokens = call.tokens_in.unwrap_or(0).saturating_add(call.tokens_out.unwrap_or(0));
        self.tokens = self.tokens.saturating_add(tokens);
    }
}

/// What a command ran in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ground {
    /// None: the rights of the user.
    pub zone: Option<ZoneName>,
    /// The zone was not to be had, and nothing ran.
    pub refused: bool,
    /// What was in force in the zone, in the words of its init.
    pub facts: String,
}

impl Ground {
    fn of(run: &CommandRun) -> Self {
        let zone = run.zone.as_ref();
        Self {
            zone: zone.map(|zone| zone.zone),
            refused: run.outcome == RunOutcome::ZoneRefused,
            facts: zone.map_or_else(String::new, |zone| zone.facts.clone()),
        }
    }

    /// What held more comes later.
    fn held(&self) -> u8 {
        u8::from(self.zone.is_some()) + u8::from(self.refused)
    }
}

/// What the commands of an iteration ran in: of several, the least that held. None where nothing was started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grounds {
    pub work: Option<Rc<Ground>>,
    pub check: Option<Rc<Ground>>,
}

impl Grounds {
    pub(super) fn note(&mut self, is_work: bool, ground: Rc<Ground>) {
        let known = if is_work { &mut self.work } else { &mut self.check };
        if known.as_ref().is_none_or(|known| ground.held() < known.held()) {
            *known = Some(ground);
        }
    }
}

/// The ground of this run, from an earlier row where one is the same, as it mostly is.
pub(super) fn ground(rows: &[Row], is_work: bool, run: &CommandRun) -> Rc<Ground> {
    let now = Ground::of(run);
    let of = |row: &Row| {
        let grounds = &row.grounds;
        if is_work {
            grounds.work.clone()
        } else {
            grounds.check.clone()
        }
    };
    let known = rows.iter().rev().find_map(of).filter(|known| **known == now);
    known.unwrap_or_else(|| Rc::new(now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::bench::run;

    #[test]
    fn of_several_grounds_the_least_that_held_is_told() {
        let ground = |zone, refused| {
            Rc::new(Ground {
                zone,
                refused,
                facts: String::new(),
            })
        };
        let zone = Some(ZoneName::Exec);
        let mut grounds = Grounds::default();
        grounds.note(false, ground(zone, true));
        assert!(grounds.check.as_ref().is_some_and(|ground| ground.refused));
        grounds.note(false, ground(zone, false));
        assert!(grounds.check.as_ref().is_some_and(|ground| !ground.refused));
        grounds.note(false, Rc::new(Ground::of(&run(0))));
        grounds.note(false, ground(zone, false));
        assert_eq!(grounds.check.as_ref().map(|ground| ground.zone), Some(None));
        assert_eq!(grounds.work, None);
    }
}
