//! Published figures, to the last of their ten digits.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::super::real::{Real, Round};
use super::super::*;

const ONE_SIDED: OneIn = OneIn(20);
const TWO_SIDED: OneIn = OneIn(40);
const Z_ONE_SIDED: u64 = 1_644_853_626_951_470;

/// k/n, then Clopper-Pearson one- and two-sided, Wilson one- and two-sided, and the mixture's confidence sequence.
const BOUNDS: &str = "\
1/1 0.05000000000 0.02500000000 0.2698659488 0.2065493144 0.02500000000
5/5 0.5492802717 0.4781762499 0.6488834992 0.5655175352 0.3838519496
10/10 0.7411344491 0.6915028922 0.7870580299 0.7224672001 0.5831197243
20/20 0.8608916593 0.8315665290 0.8808421626 0.8388748419 0.7393286491
30/30 0.9049661471 0.8842966918 0.9172756919 0.8864866068 0.8070868606
59/59 0.9504923901 0.9393910990 0.9561539644 0.9388706295 0.8867689691
60/60 0.9512970867 0.9403705077 0.9568532014 0.9398281479 0.8883020605
100/100 0.9704869504 0.9637833074 0.9736572792 0.9630065018 0.9267156266
299/299 0.9900308532 0.9877384041 0.9910325033 0.9873152810 0.9713238278
2995/2995 0.9990002556 0.9987690789 0.9990974619 0.9987190190 0.9963336938
1/2 0.02532056552 0.01257911709 0.1208663194 0.09453120573 0.008403959875
9/10 0.6058366976 0.5549838830 0.6522813327 0.5958499732 0.4548817473
29/30 0.8514039313 0.8278305444 0.8635958578 0.8332960901 0.7470706012
99/100 0.9534401885 0.9455406146 0.9564182265 0.9455138038 0.9052030364
95/100 0.8977466224 0.8871650889 0.9008389147 0.8882495308 0.8397411262
297/300 0.9743586069 0.9710554887 0.9752442460 0.9710165066 0.9508290042";

#[test]
fn every_bound_has_the_digits_that_were_published() {
    let mut compared = 0;
    for row in BOUNDS.lines() {
        let mut words = row.split(' ');
        let (agreeing, runs) = words.next().unwrap().split_once('/').unwrap();
        let tally = Tally {
            agreeing: agreeing.parse().unwrap(),
            runs: runs.parse().unwrap(),
        };
        let bounds = [
            exact_lower(tally, ONE_SIDED),
            exact_lower(tally, TWO_SIDED),
            wilson_lower(tally, Z_ONE_SIDED),
            wilson_lower(tally, Z_TWO_SIDED),
            anytime_lower(tally, ONE_SIDED),
        ];
        for (bound, published) in bounds.into_iter().zip(words) {
            assert_eq!(digits(bound.unwrap().0.into(), 15), published, "{row}");
            compared += 1;
        }
    }
    assert_eq!(compared, 16 * 5);
}

#[test]
fn run_counts_are_those_that_were_published() {
    let rates = [200_000, 100_000, 50_000, 20_000, 10_000, 5_000, 1_000];
    for (risk, published) in [
        (OneIn(20), [14, 29, 59, 149, 299, 598, 2995]),
        (OneIn(100), [21, 44, 90, 228, 459, 919, 4603]),
        (OneIn(10), [11, 22, 45, 114, 230, 460, 2302]),
    ] {
        let counts: Vec<_> = rates.iter().map(|rate| needed(*rate, risk).unwrap()).collect();
        assert_eq!(counts, published);
    }
}

#[test]
fn the_fewest_runs_that_show_95_percent_despite_some_flakes_are_those_that_were_published() {
    type Bound = fn(Tally) -> Option<Share>;
    let rows: [(Bound, [u32; 5]); 3] = [
        (|tally| exact_lower(tally, ONE_SIDED), [59, 93, 124, 153, 181]),
        (|tally| wilson_lower(tally, Z_ONE_SIDED), [52, 87, 118, 147, 175]),
        (|tally| wilson_lower(tally, Z_TWO_SIDED), [73, 110, 142, 173, 202]),
    ];
    for (bound, published) in rows {
        for (flakes, fewest) in (0_u32..).zip(published) {
            let reaches = |runs: u32| {
                let agreeing = runs - flakes;
                bound(Tally { agreeing, runs }).unwrap().reaches(950_000)
            };
            assert!(reaches(fewest) && !reaches(fewest - 1), "{flakes} flakes");
        }
    }
}

#[test]
fn without_a_known_reference_five_runs_say_nothing_and_six_do() {
    assert!((1..=5).all(|runs| unknown_reference_lower(runs, ONE_SIDED).is_none()));
    for (runs, published) in [
        (6, "0.5981235762"),
        (7, "0.6506470266"),
        (10, "0.7411324460"),
        (20, "0.8608916593"),
    ] {
        let bound = unknown_reference_lower(runs, ONE_SIDED).unwrap();
        assert_eq!(digits(bound.0.into(), 15), published, "{runs} runs");
    }
}

#[test]
fn evidence_has_the_digits_that_were_published() {
    let of = |agreeing, runs| Tally { agreeing, runs };
    for (evidence, published) in [
        (certified(of(59, 59), 950_000), "6.556961472"),
        (certified(of(88, 88), 950_000), "20.29637816"),
        (certified(of(98, 100), 950_000), "2.160647221"),
        (certified(of(295, 300), 950_000), "40.39205985"),
        (flaky(of(0, 1), 950_000), "10.50000000"),
        (flaky(of(0, 2), 950_000), "140.3333333"),
        (flaky(of(8, 10), 950_000), "1.262626263"),
        (flaky(of(16, 20), 950_000), "3.748832866"),
        (flaky(of(59, 59), 950_000), "0.01666666667"),
    ] {
        assert_eq!(digits(evidence.parts(), 12), published);
    }
    assert!(certified(of(88, 88), 950_000).refutes(ONE_SIDED));
    assert!(!certified(of(87, 87), 950_000).refutes(ONE_SIDED), "88 are the first");
    let all_in = Real::ratio(20, 19, Round::Down).pow(59, Round::Down);
    assert_eq!(digits(all_in.whole_parts(1_000_000_000_000), 12), "20.62088442");
}

/// Ten significant digits of a count of `10^-decimals`, rounded to the nearest as the published ones are.
fn digits(parts: u128, decimals: usize) -> String {
    let length = parts.to_string().len();
    let cut = u32::try_from(length.saturating_sub(10)).unwrap();
    let unit = 10_u128.pow(cut);
    let rounded = ((parts + unit / 2) / unit * unit).to_string();
    let padded = format!("{rounded:0>width$}", width = decimals + 1);
    let (whole, fraction) = padded.split_at(padded.len() - decimals);
    let places = decimals - cut as usize;
    format!("{whole}.{}", &fraction[..places])
}
