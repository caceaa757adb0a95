//! What the rules promise, shown by counting every course that samples can take, and by simulated checks.
#![expect(
    clippy::disallowed_types,
    clippy::float_arithmetic,
    reason = "the chances that are predicted, to three places; nothing is decided by them"
)]

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::vec::Vec;

use proptest::prelude::*;

use super::super::*;

const TARGET: u32 = 950_000;
const SAMPLES: usize = 200;
/// Unanimous runs after which Wilson's bound is at 95 %.
const SEED: u32 = 73;

/// What the monitor says at every point that samples can lead to, whatever it said before.
type Courses = BTreeMap<(u32, u32, bool), Option<Lost>>;

static SEEDED: LazyLock<Courses> = LazyLock::new(|| courses(SEED));
static UNSEEDED: LazyLock<Courses> = LazyLock::new(|| courses(0));

fn courses(seed: u32) -> Courses {
    let mut known = Courses::new();
    let mut open: Vec<Monitor> = [Monitor::seeded(Tally::unanimous(seed), TARGET, RISK)].into();
    for _ in 0..SAMPLES {
        let mut next = BTreeMap::new();
        for monitor in &open {
            for agrees in [false, true] {
                let mut monitor = *monitor;
                let said = monitor.sample(agrees);
                known.insert(place(&monitor), said);
                next.insert(place(&monitor), monitor);
            }
        }
        open = next.into_values().collect();
    }
    known
}

fn place(monitor: &Monitor) -> (u32, u32, bool) {
    (monitor.tally().runs, monitor.tally().agreeing, monitor.has_reached())
}

fn chance(courses: &Courses, seed: u32, agreeing: f64, halts: fn(Lost) -> bool) -> f64 {
    chance_within(SAMPLES, courses, seed, agreeing, halts)
}

/// The chance that one of these verdicts falls within so many samples, when a share `agreeing` of runs agrees.
fn chance_within(samples: usize, courses: &Courses, seed: u32, agreeing: f64, halts: fn(Lost) -> bool) -> f64 {
    let start = Monitor::seeded(Tally::unanimous(seed), TARGET, RISK);
    let mut open = BTreeMap::from([(place(&start), 1.0)]);
    let mut halted = 0.0;
    for _ in 0..samples {
        let mut next = BTreeMap::new();
        for ((runs, agreed, reached), weight) in open {
            for (more, share) in [(0, 1.0 - agreeing), (1, agreeing)] {
                let at = |reached| (runs + 1, agreed + more, reached);
                // Once reached, the target stays reached; else the table tells whether it is now.
                let to = if reached || !courses.contains_key(&at(false)) {
                    at(true)
                } else {
                    at(false)
                };
                match courses[&to] {
                    Some(lost) if halts(lost) => halted += weight * share,
                    _ => *next.entry(to).or_insert(0.0) += weight * share,
                }
            }
        }
        open = next;
    }
    halted
}

fn any(_: Lost) -> bool {
    true
}

fn proof(lost: Lost) -> bool {
    lost == Lost::ProvedFlaky
}

#[test]
fn a_lost_certificate_and_a_proof_come_as_often_as_predicted() {
    for (agreeing, certificate, proved) in [
        (1.0, 0.0, 0.0),
        (0.99, 0.344, 0.000),
        (0.95, 0.979, 0.000),
        (0.90, 1.000, 0.053),
        (0.70, 1.000, 1.000),
    ] {
        let lost = chance(&SEEDED, SEED, agreeing, any);
        assert!((lost - certificate).abs() < 0.0005, "{agreeing}: certificate {lost}");
        let found = chance(&SEEDED, SEED, agreeing, proof);
        assert!((found - proved).abs() < 0.0005, "{agreeing}: proof {found}");
    }
}

#[test]
fn a_proof_without_a_probe_comes_as_often_as_predicted() {
    for (agreeing, proved) in [(1.0, 0.0), (0.95, 0.018), (0.90, 0.458)] {
        let found = chance(&UNSEEDED, 0, agreeing, proof);
        assert!((found - proved).abs() < 0.0005, "{agreeing}: proof {found}");
    }
}

#[test]
fn simulated_checks_are_halted_as_often_as_predicted() {
    const RUNS: u32 = 1_000;
    let mut dice = Dice(0x5eed);
    for flakes in [0_u32, 1, 5, 10, 30] {
        let agreeing = 1.0 - f64::from(flakes) / 100.0;
        let halted = (0..RUNS).filter(|_| {
            let mut monitor = Monitor::seeded(Tally::unanimous(SEED), TARGET, RISK);
            (0..SAMPLES).any(|_| monitor.sample(dice.below(100) >= flakes).is_some())
        });
        let seen = halted.count() as f64 / f64::from(RUNS);
        let predicted = chance(&SEEDED, SEED, agreeing, any);
        // Five deviations, and one in a thousand where the prediction has none.
        let width = 5.0 * (predicted * (1.0 - predicted) / f64::from(RUNS)).sqrt() + 0.001;
        assert!(
            (seen - predicted).abs() <= width,
            "{flakes} %: {seen} against {predicted}"
        );
    }
}

#[test]
fn a_proof_takes_as_many_samples_as_predicted() {
    for (agreeing, median) in [(0.80, 25), (0.70, 10), (0.50, 3)] {
        let within = |samples| chance_within(samples, &UNSEEDED, 0, agreeing, proof);
        assert!(within(median) > 0.5 - 1e-9 && within(median - 1) < 0.5, "{agreeing}");
    }
    for (agreeing, median, halts) in [(0.90, 7, any as fn(Lost) -> bool), (0.70, 2, any), (0.70, 52, proof)] {
        let within = |samples| chance_within(samples, &SEEDED, SEED, agreeing, halts);
        assert!(
            within(median) > 0.5 - 1e-9 && within(median - 1) < 0.5,
            "{agreeing}, seeded"
        );
    }
}

#[test]
fn a_probe_of_so_many_runs_misses_a_flaky_check_no_more_often_than_it_says() {
    let mut dice = Dice(42);
    for (rate_ppm, flakes_in_1000) in [(50_000, 50), (10_000, 10), (100_000, 100), (300_000, 300)] {
        let runs = needed_unknown_reference(rate_ppm, RISK).unwrap();
        let missed = (0..2_000).filter(|_| (0..runs).all(|_| dice.below(1_000) >= flakes_in_1000));
        let share = missed.count() as f64 / 2_000.0;
        assert!(share < 0.05 + 0.015, "{rate_ppm}: {share}");
    }
}

#[test]
fn no_data_is_neither_nothing_nor_everything() {
    let nothing = Tally::default();
    assert_eq!(exact_lower(nothing, RISK), None);
    assert_eq!(wilson_lower(nothing, Z_TWO_SIDED), None);
    assert_eq!(anytime_lower(nothing, RISK), None);
    assert_eq!(unknown_reference_lower(0, RISK), None);
    assert!(!nothing.is_unanimous());
}

#[test]
fn runs_that_all_disagree_leave_nothing() {
    let none = Tally { agreeing: 0, runs: 9 };
    for bound in [
        exact_lower(none, RISK),
        wilson_lower(none, Z_TWO_SIDED),
        anytime_lower(none, RISK),
    ] {
        assert_eq!((bound.unwrap().ppm_down(), bound.unwrap().rest_ppm_up()), (0, PPM));
    }
}

#[test]
fn a_rate_of_nothing_is_never_shown_and_one_of_everything_at_once() {
    assert_eq!(needed(0, RISK), None);
    assert_eq!(needed(PPM, RISK), Some(1));
    assert_eq!(needed(950_000, RISK), Some(1), "exactly at the risk");
    assert_eq!(exact_lower(Tally::unanimous(1), RISK).unwrap().ppm_down(), 50_000);
    assert_eq!(needed_unknown_reference(0, RISK), None);
    assert_eq!(needed_unknown_reference(500_000, RISK), Some(6));
    assert_eq!(needed_unknown_reference(999_999, RISK), Some(6));
    assert_eq!(needed(1, RISK), Some(2_995_731));
}

proptest! {
    #[test]
    fn a_bound_never_exceeds_the_share_that_was_seen(runs in 1_u32..5_000, flakes in 0_u32..50) {
        let tally = Tally { agreeing: runs.saturating_sub(flakes), runs };
        let seen = u64::from(tally.agreeing) * PARTS / u64::from(runs);
        for bound in [exact_lower(tally, RISK), wilson_lower(tally, Z_TWO_SIDED), anytime_lower(tally, RISK)] {
            prop_assert!(bound.unwrap().0 <= seen);
        }
        // What may be looked at after every run claims less than what may be looked at once.
        prop_assert!(anytime_lower(tally, RISK) <= exact_lower(tally, RISK));
    }

    #[test]
    fn an_unknown_reference_says_no_more_than_a_known_one(runs in 6_u32..2_000) {
        prop_assert!(unknown_reference_lower(runs, RISK) <= exact_lower(Tally::unanimous(runs), RISK));
    }

    #[test]
    fn so_many_runs_reach_the_rate_and_one_fewer_does_not(rate_ppm in 1_000_u32..500_000) {
        let (runs, share) = (needed(rate_ppm, RISK).unwrap(), PPM - rate_ppm);
        let reaches = |runs| exact_lower(Tally::unanimous(runs), RISK).is_some_and(|bound| bound.reaches(share));
        prop_assert!(reaches(runs) && !reaches(runs - 1));
        let runs = needed_unknown_reference(rate_ppm, RISK).unwrap();
        let reaches = |runs| unknown_reference_lower(runs, RISK).is_some_and(|bound| bound.reaches(share));
        prop_assert!(reaches(runs) && !reaches(runs - 1));
    }
}

/// The same numbers on every machine (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^= word >> 31;
        u32::try_from((u128::from(word) * u128::from(sides)) >> 64).unwrap()
    }
}
