//! Ending what is left of a tree, and naming it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::mask::masked;
use super::outcome::Survivor;
use super::table::{self, Identity, Process};

/// How long to wait for the dead between two looks at the table.
const PAUSE: Duration = Duration::from_millis(5);

/// A set of processes that are to be gone.
pub(super) trait Household {
    /// Waits for those that have ended. True when no one is left.
    fn reap(&mut self) -> bool;
    /// Those that can be seen alive, children and their trees.
    fn living(&self) -> Vec<Process>;
    /// Returns when someone may have ended, after `at_most` in any case.
    fn pause(&mut self, at_most: Duration);
}

/// How to end them.
pub(super) struct Sweep<'a> {
    /// Secrets to mask in command lines.
    pub(super) redact: &'a [Vec<u8>],
    /// After this, whoever is still there is reported as not ended.
    pub(super) limit: Duration,
    /// Those the stop of the command has killed already: reported only when they do not end.
    pub(super) struck: &'a BTreeSet<Identity>,
    /// Those earlier sweeps could not end: reported again as long as they are there, and not waited for again.
    pub(super) stuck: &'a mut BTreeSet<Identity>,
}

impl Sweep<'_> {
    /// Kills everyone, again and again until no one is left: children of the killed come to light as ours.
    pub(super) fn end_all(self, house: &mut impl Household) -> Vec<Survivor> {
        let begun = Instant::now();
        let mut named: BTreeMap<Identity, Survivor> = BTreeMap::new();
        while !house.reap() {
            let living = house.living();
            let overdue = begun.elapsed() >= self.limit;
            let fresh = living.iter().filter(|process| !self.stuck.contains(&process.id));
            for process in fresh.clone() {
                let id = process.id;
                if !self.struck.contains(&id) || overdue {
                    named.entry(id).or_insert_with(|| self.name(id));
                }
            }
            let only_stuck = fresh.clone().count() == 0 && !living.is_empty();
            if overdue || only_stuck {
                self.give_up(&living, &mut named);
                break;
            }
            for process in &living {
                // Refused for another user's process: it stays in the table and is reported at the limit.
                let _refused = table::signal(process.id, Signal::KILL);
            }
            house.pause(PAUSE);
        }
        named.into_values().collect()
    }

    fn name(&self, id: Identity) -> Survivor {
        Survivor {
            pid: u32::try_from(id.pid).unwrap_or(0),
            start_ticks: id.start_ticks,
            command: table::shown(&masked(self.redact, &table::command_line(id.pid))),
            ended: true,
        }
    }

    fn give_up(self, living: &[Process], named: &mut BTreeMap<Identity, Survivor>) {
        for id in living.iter().map(|process| process.id) {
            named.entry(id).or_insert_with(|| self.name(id)).ended = false;
        }
        self.stuck.extend(living.iter().map(|process| process.id));
        if living.is_empty() {
            let nameless = Identity { pid: 0, start_ticks: 0 };
            let command = "a process that /proc does not show".to_owned();
            named.insert(
                nameless,
                Survivor {
                    pid: 0,
                    start_ticks: 0,
                    command,
                    ended: false,
                },
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Processes in uninterruptible sleep, as far as a sweep can tell. They do not exist, so that no signal reaches
    /// anyone.
    struct Immortals {
        immortal: Vec<Process>,
        looks: Cell<u32>,
    }

    impl Household for Immortals {
        fn reap(&mut self) -> bool {
            self.immortal.is_empty()
        }
        fn living(&self) -> Vec<Process> {
            self.looks.set(self.looks.get() + 1);
            self.immortal.clone()
        }
        fn pause(&mut self, at_most: Duration) {
            std::thread::sleep(at_most);
        }
    }

    fn immortal() -> Process {
        let own = table::find(std::process::id() as i32).unwrap();
        Process {
            id: Identity {
                pid: own.id.pid,
                start_ticks: own.id.start_ticks + 1,
            },
            ..own
        }
    }

    fn sweep(house: &mut Immortals, struck: &[Process], stuck: &mut BTreeSet<Identity>) -> Vec<bool> {
        let limit = Duration::from_millis(20);
        let struck = struck.iter().map(|process| process.id).collect();
        let sweep = Sweep {
            redact: &[],
            limit,
            struck: &struck,
            stuck,
        };
        sweep
            .end_all(house)
            .into_iter()
            .map(|survivor| survivor.ended)
            .collect()
    }

    #[test]
    fn one_that_no_signal_ends_is_named_after_the_limit_and_never_waited_for_again() {
        let mut stuck = BTreeSet::new();
        let mut house = Immortals {
            immortal: vec![immortal()],
            looks: Cell::new(0),
        };
        assert_eq!(sweep(&mut house, &[], &mut stuck), [false]);
        assert!(house.looks.get() > 1, "it was given the time that there is");
        house.looks.set(0);
        assert_eq!(sweep(&mut house, &[], &mut stuck), [false], "it still may write");
        assert_eq!(house.looks.get(), 1);
    }

    #[test]
    fn one_that_the_stop_had_killed_in_vain_is_named_too() {
        let mut house = Immortals {
            immortal: vec![immortal()],
            looks: Cell::new(0),
        };
        let struck = house.immortal.clone();
        assert_eq!(sweep(&mut house, &struck, &mut BTreeSet::new()), [false]);
    }

    #[test]
    fn an_empty_house_needs_no_look_at_the_table() {
        let mut house = Immortals {
            immortal: Vec::new(),
            looks: Cell::new(0),
        };
        assert_eq!(sweep(&mut house, &[], &mut BTreeSet::new()), [false; 0]);
        assert_eq!(house.looks.get(), 0);
    }
}
