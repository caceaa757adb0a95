//! Another value in place of a literal.

use crate::tree::{Id, Tree};

/// Above this, a number gets smaller: the next one may not fit its type.
const GROWS_BELOW: u128 = 100;
/// A floating-point number with more digits before the point may equal its neighbour.
const FLOAT_DIGITS: usize = 15;

/// Another literal of the same type, when the node is one that has another.
pub(super) fn other(tree: &Tree<'_>, id: Id) -> Option<String> {
    let known = tree.grammar;
    let text = tree.text(id);
    let (yes, no) = known.truths;
    if tree.is(id, known.numbers) {
        return number(text);
    }
    if tree.is(id, known.strings) {
        return string(text);
    }
    if tree.is(id, known.characters) {
        return character(text);
    }
    match text {
        _ if !tree.leaf(id) => None,
        text if text == yes => Some(no.to_string()),
        text if text == no => Some(yes.to_string()),
        _ => None,
    }
}

fn number(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    if ["0x", "0o", "0b"].iter().any(|radix| lower.starts_with(radix)) {
        let digit = if text.as_bytes().get(2) == Some(&b'0') {
            "1"
        } else {
            "0"
        };
        return Some(format!("{}{digit}{}", text.get(..2)?, text.get(3..)?));
    }
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (whole, rest) = text.split_at(digits);
    if whole.is_empty() {
        return Some(format!("1{rest}"));
    }
    if whole.len() > FLOAT_DIGITS && rest.starts_with('.') {
        return Some(format!(
            "{}{}{rest}",
            if whole.starts_with('9') { '8' } else { '9' },
            &whole[1..]
        ));
    }
    let value: u128 = whole.parse().ok()?;
    let value = if value < GROWS_BELOW { value + 1 } else { value - 1 };
    // What follows a group separator keeps its place: 1_000 becomes 2_000.
    Some(format!("{value}{rest}"))
}

/// A mark behind the opening quotes.
fn string(text: &str) -> Option<String> {
    let quote = text.find(['"', '\'', '`'])?;
    let mark = text[quote..].chars().next()?;
    let tripled: String = std::iter::repeat_n(mark, 3).collect();
    let open = if text[quote..].starts_with(&tripled) && text.len() >= quote + 6 {
        3
    } else {
        1
    };
    let (before, behind) = text.split_at(quote + open);
    Some(format!("{before}~{behind}"))
}

fn character(text: &str) -> Option<String> {
    let quote = text.find('\'')?;
    let other = if text[quote..].starts_with("'~'") { '!' } else { '~' };
    Some(format!("{}'{other}'", &text[..quote]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_becomes_a_neighbour_and_keeps_its_spelling() {
        for (from, to) in [
            ("0", "1"),
            ("1", "2"),
            ("255", "254"),
            ("1_000u32", "2_000u32"),
            ("0x1F", "0x0F"),
            ("0b01", "0b11"),
            ("1.5f", "2.5f"),
            (".5", "1.5"),
            ("2e3", "3e3"),
            ("10000000000000000000000.0", "90000000000000000000000.0"),
            ("10L", "11L"),
        ] {
            assert_eq!(number(from).as_deref(), Some(to));
        }
        assert_eq!(number("99999999999999999999999999999999999999999999"), None);
    }

    #[test]
    fn a_string_of_any_kind_gets_a_mark_inside_its_quotes() {
        for (from, to) in [
            ("\"\"", "\"~\""),
            ("'a'", "'~a'"),
            ("r#\"a\"#", "r#\"~a\"#"),
            ("b'x'", "b'~x'"),
            ("\"\"\"a\"\"\"", "\"\"\"~a\"\"\""),
            ("`a`", "`~a`"),
        ] {
            assert_eq!(string(from).as_deref(), Some(to));
        }
    }

    #[test]
    fn a_character_is_always_another() {
        assert_eq!(character("'c'").as_deref(), Some("'~'"));
        assert_eq!(character("b'~'").as_deref(), Some("b'!'"));
    }
}
