//! Sizes in bytes: a plain number, or one with a binary unit.

use super::error::Fault;

const UNITS: &[(&str, u64)] = &[
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// Reads `65536`, `64KiB`, `8MiB` or `1GiB` as bytes.
///
/// # Errors
/// An unknown unit (decimal ones are refused rather than guessed at), more than `max`, or no size.
pub fn parse(text: &str, max: u64) -> Result<u64, Fault> {
    let number_len = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(number_len);
    if number.is_empty() {
        return Err(Fault::Malformed {
            wanted: "a size, such as 65536, 64KiB or 8MiB".to_owned(),
            found: text.to_owned(),
        });
    }
    let unit_bytes = match unit {
        "" => 1,
        unit => match UNITS.iter().find(|(name, _)| *name == unit) {
            Some((_, bytes)) => *bytes,
            None => {
                return Err(Fault::UnknownUnit {
                    unit: unit.to_owned(),
                    units: "B, KiB, MiB, GiB and TiB",
                });
            }
        },
    };
    number
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(unit_bytes))
        .filter(|bytes| *bytes <= max)
        .ok_or_else(|| Fault::AboveMaximum {
            found: text.to_owned(),
            maximum: show(max),
        })
}

/// The one spelling of a size: the largest unit that divides it.
pub fn show(bytes: u64) -> String {
    if bytes == 0 {
        return "0".to_owned();
    }
    let mut best = ("B", 1);
    for unit in UNITS {
        if bytes.is_multiple_of(unit.1) {
            best = *unit;
        }
    }
    match best.1 {
        1 => bytes.to_string(),
        unit_bytes => format!("{}{}", bytes / unit_bytes, best.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_binary_and_never_guessed() {
        assert_eq!(parse("64KiB", u64::MAX), Ok(65_536));
        assert_eq!(parse("10", u64::MAX), Ok(10));
        for text in ["64K", "64kb", "64MB", "1.5GiB", "64 KiB"] {
            assert!(
                matches!(parse(text, u64::MAX), Err(Fault::UnknownUnit { .. })),
                "{text}"
            );
        }
        for text in ["", "KiB", "-1"] {
            assert!(matches!(parse(text, u64::MAX), Err(Fault::Malformed { .. })), "{text}");
        }
        assert!(matches!(
            parse("17179869184TiB", u64::MAX),
            Err(Fault::AboveMaximum { .. })
        ));
    }

    proptest::proptest! {
        #[test]
        fn every_size_survives_its_spelling(bytes: u64) {
            proptest::prop_assert_eq!(parse(&show(bytes), u64::MAX), Ok(bytes));
        }
    }
}
