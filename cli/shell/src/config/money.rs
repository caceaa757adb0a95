//! Dollars as integers of a millionth: exact, or refused.

use super::error::Fault;
use super::fixed;

/// Decimals of a dollar that are kept.
pub const DECIMALS: u32 = 6;

/// The largest amount that can be written: a billion dollars, in micro-USD.
pub const MAX_MICROUSD: u64 = 1_000_000_000 * 1_000_000;

/// Reads dollars as micro-USD.
///
/// # Errors
/// [`Fault::BadMoney`] for a negative amount or one that is no number; otherwise as [`fixed::parse`].
pub fn parse(text: &str) -> Result<u64, Fault> {
    let unsigned = text.trim_start_matches(['+', '-']);
    if text.starts_with('-') || matches!(unsigned, "nan" | "inf" | "NaN" | "Inf" | "infinity") {
        return Err(Fault::BadMoney { found: text.to_owned() });
    }
    fixed::parse(
        text,
        DECIMALS,
        "an amount in dollars, such as 2.50",
        "0.000001",
        MAX_MICROUSD,
    )
}

/// Dollars, in their one spelling.
pub fn show(microusd: u64) -> String {
    fixed::show(microusd, DECIMALS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_where_a_float_would_not_be() {
        assert_eq!(parse("0.1").unwrap() + parse("0.2").unwrap(), parse("0.3").unwrap());
        assert_eq!(parse("2.50"), Ok(2_500_000));
        assert_eq!(show(2_500_000), "2.5");
    }

    #[test]
    fn negative_and_not_a_number_are_their_own_fault() {
        for text in ["-1", "-0.5", "-0", "nan", "-inf", "+inf"] {
            assert!(matches!(parse(text), Err(Fault::BadMoney { .. })), "{text}");
        }
    }

    #[test]
    fn a_dollar_sign_or_a_currency_is_refused() {
        for text in ["$5", "5 USD", "5€"] {
            assert!(matches!(parse(text), Err(Fault::Malformed { .. })), "{text}");
        }
    }
}
