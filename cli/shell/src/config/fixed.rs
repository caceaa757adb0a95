//! Decimal numbers without floats: what a person writes is kept exactly or refused.

use super::error::Fault;

/// Reads `12`, `12.5`, `.5` or `+12.5` as an integer count of `10^-decimals`.
///
/// # Errors
/// [`Fault::Malformed`] for anything else, a sign or an exponent included; [`Fault::TooFine`] for more
/// significant decimals than fit; [`Fault::AboveMaximum`] above `max`.
pub fn parse(text: &str, decimals: u32, wanted: &str, smallest: &'static str, max: u64) -> Result<u64, Fault> {
    let malformed = || Fault::Malformed {
        wanted: wanted.to_owned(),
        found: text.to_owned(),
    };
    let body = text.strip_prefix('+').unwrap_or(text);
    let (whole, fraction) = body.split_once('.').unwrap_or((body, ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    // `5.` is refused like TOML refuses it; `.5` is what people write on a command line.
    let has_point = body.len() != whole.len();
    if !digits(whole) || !digits(fraction) || (has_point && fraction.is_empty()) || (whole.is_empty() && !has_point) {
        return Err(malformed());
    }
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > decimals as usize {
        return Err(Fault::TooFine {
            found: text.to_owned(),
            smallest,
        });
    }
    let mut units: u64 = 0;
    let padding = core::iter::repeat_n(b'0', decimals as usize - fraction.len());
    for digit in whole.bytes().chain(fraction.bytes()).chain(padding) {
        let next = units
            .checked_mul(10)
            .and_then(|u| u.checked_add(u64::from(digit - b'0')));
        match next {
            Some(next) if next <= max => units = next,
            _ => {
                return Err(Fault::AboveMaximum {
                    found: text.to_owned(),
                    maximum: show(max, decimals),
                });
            }
        }
    }
    Ok(units)
}

/// The one spelling of a count of `10^-decimals`: no trailing zeros, no bare point.
pub fn show(units: u64, decimals: u32) -> String {
    let scale = 10_u64.saturating_pow(decimals);
    let (whole, fraction) = (units / scale, units % scale);
    if fraction == 0 {
        return whole.to_string();
    }
    let padded = format!("{fraction:0width$}", width = decimals as usize);
    format!("{whole}.{}", padded.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micro(text: &str) -> Result<u64, Fault> {
        parse(text, 6, "a number", "0.000001", u64::MAX)
    }

    #[test]
    fn forms_that_are_not_plain_decimals_are_refused() {
        for text in [
            "", ".", "5.", "-1", "1e3", "1_000", "1,5", " 1", "1 ", "0x1", "nan", "inf", "+", "1.2.3", "１",
        ] {
            assert!(matches!(micro(text), Err(Fault::Malformed { .. })), "{text}");
        }
    }

    #[test]
    fn decimals_beyond_the_last_kept_one_are_refused_unless_they_are_zero() {
        assert_eq!(micro("1.000001"), Ok(1_000_001));
        assert_eq!(micro("1.00000100"), Ok(1_000_001));
        assert!(matches!(micro("1.0000001"), Err(Fault::TooFine { .. })));
    }

    #[test]
    fn a_number_too_large_to_hold_is_a_typed_error() {
        assert!(matches!(micro("18446744073710"), Err(Fault::AboveMaximum { .. })));
        assert!(matches!(micro(&"9".repeat(400)), Err(Fault::AboveMaximum { .. })));
    }

    proptest::proptest! {
        #[test]
        fn every_count_survives_its_spelling(units: u64, decimals in 0_u32..=9) {
            let text = show(units, decimals);
            proptest::prop_assert_eq!(parse(&text, decimals, "a number", "one", u64::MAX), Ok(units));
        }

        #[test]
        fn no_text_makes_it_panic(text: String) {
            let _ = micro(&text);
        }
    }
}
