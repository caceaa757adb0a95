//! Durations with a unit, as whole milliseconds.

use super::error::Fault;
use super::fixed;

const UNITS: &[(&str, u64)] = &[
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];
const UNIT_NAMES: &str = "ms, s, m, h and d";

/// The longest duration: ten years, so that sums of a few of them never overflow.
pub const MAX_MS: u64 = 3_650 * 86_400_000;

/// Reads `500ms`, `5s`, `1.5h` or `1h30m` as milliseconds.
///
/// # Errors
/// A missing or unknown unit, a fraction of a millisecond, more than [`MAX_MS`], or no duration at all.
pub fn parse(text: &str) -> Result<u64, Fault> {
    let malformed = || Fault::Malformed {
        wanted: "a duration, such as 500ms, 5s, 10m or 1h30m".to_owned(),
        found: text.to_owned(),
    };
    let too_long = || Fault::AboveMaximum {
        found: text.to_owned(),
        maximum: show(MAX_MS),
    };
    let mut total_ms: u64 = 0;
    let mut unit_before = u64::MAX;
    let mut rest = text;
    while !rest.is_empty() {
        let number_len = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, tail) = rest.split_at(number_len);
        if number.is_empty() {
            return Err(malformed());
        }
        if tail.is_empty() {
            return Err(Fault::MissingUnit { found: text.to_owned() });
        }
        let unit_len = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, after) = tail.split_at(unit_len);
        let Some((_, unit_ms)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(Fault::UnknownUnit {
                unit: unit.to_owned(),
                units: UNIT_NAMES,
            });
        };
        // `1m1h` and `5s5s` are slips of the pen more often than sums.
        if *unit_ms >= unit_before {
            return Err(malformed());
        }
        unit_before = *unit_ms;
        let part_ms = scaled(number, *unit_ms, text)?.ok_or_else(malformed)?;
        total_ms = total_ms
            .checked_add(part_ms)
            .filter(|ms| *ms <= MAX_MS)
            .ok_or_else(too_long)?;
        rest = after;
    }
    if text.is_empty() {
        Err(malformed())
    } else {
        Ok(total_ms)
    }
}

/// `number` units of `unit_ms`; `None` when it is no number.
fn scaled(number: &str, unit_ms: u64, text: &str) -> Result<Option<u64>, Fault> {
    const NANO: u64 = 1_000_000_000;
    let units_nano = match fixed::parse(number, 9, "", "1ms", u64::MAX) {
        Ok(units) => u128::from(units),
        // More than a billionth of a unit can be counted up to: whole units still may.
        Err(Fault::AboveMaximum { .. }) => match number.parse::<u64>() {
            Ok(whole) => u128::from(whole) * u128::from(NANO),
            Err(_) => u128::MAX / u128::from(unit_ms),
        },
        Err(Fault::TooFine { smallest, .. }) => {
            return Err(Fault::TooFine {
                found: text.to_owned(),
                smallest,
            });
        }
        Err(_) => return Ok(None),
    };
    let scaled = units_nano.saturating_mul(u128::from(unit_ms));
    if scaled / u128::from(NANO) <= u128::from(MAX_MS) && scaled % u128::from(NANO) != 0 {
        return Err(Fault::TooFine {
            found: text.to_owned(),
            smallest: "1ms",
        });
    }
    Ok(Some(u64::try_from(scaled / u128::from(NANO)).unwrap_or(u64::MAX)))
}

/// The one spelling of a duration, largest unit first: `1h30m`, `2s`, `1s500ms`, `0s`.
pub fn show(ms: u64) -> String {
    if ms == 0 {
        return "0s".to_owned();
    }
    let mut out = String::new();
    let mut rest = ms;
    for (name, unit_ms) in UNITS.iter().rev() {
        if rest >= *unit_ms {
            out.push_str(&format!("{}{name}", rest / unit_ms));
            rest %= unit_ms;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_needs_a_unit() {
        for text in ["5", "0", "1.5", "1h30"] {
            assert!(matches!(parse(text), Err(Fault::MissingUnit { .. })), "{text}");
        }
    }

    #[test]
    fn the_usual_spellings_are_read() {
        let cases = [
            ("500ms", 500),
            ("5s", 5_000),
            ("10m", 600_000),
            ("2h", 7_200_000),
            ("1.5h", 5_400_000),
            ("1h30m", 5_400_000),
            ("0s", 0),
            ("0.001s", 1),
            ("3650d", MAX_MS),
        ];
        for (text, ms) in cases {
            assert_eq!(parse(text), Ok(ms), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_with_its_own_fault() {
        for text in ["", "s", "-5s", "1m1h", "5s5s", "1..5s", " 5s", "5 s"] {
            let fault = parse(text).unwrap_err();
            assert!(
                matches!(fault, Fault::Malformed { .. } | Fault::UnknownUnit { .. }),
                "{text}: {fault:?}"
            );
        }
        assert!(matches!(parse("5us"), Err(Fault::UnknownUnit { .. })));
        assert!(matches!(parse("5 minutes"), Err(Fault::UnknownUnit { .. })));
        assert!(matches!(parse("0.5ms"), Err(Fault::TooFine { .. })));
        assert!(matches!(parse("0.0000000001h"), Err(Fault::TooFine { .. })));
        for text in ["3651d", "99999999999999999999999999s", "18446744073709551615d"] {
            assert!(matches!(parse(text), Err(Fault::AboveMaximum { .. })), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_duration_survives_its_spelling(ms in 0..=MAX_MS) {
            proptest::prop_assert_eq!(parse(&show(ms)), Ok(ms));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[0-9.a-z -]{0,40}") {
            let _ = parse(&text);
        }
    }
}
