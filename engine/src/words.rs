//! Numbers beside their nouns, for sentences that people read.

use alloc::format;
use alloc::string::String;

/// `1 test`, `2 tests`: the plural of `noun` is regular.
#[must_use]
pub fn counted(number: u64, noun: &str) -> String {
    let hisses = ["s", "x", "ch", "sh"].iter().any(|end| noun.ends_with(end));
    let ending = match (number, hisses) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{number} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_is_singular_and_all_else_is_plural() {
        assert_eq!(counted(1, "test"), "1 test");
        assert_eq!(counted(0, "test"), "0 tests");
        assert_eq!(counted(2, "still unread change"), "2 still unread changes");
        assert_eq!(counted(2, "process"), "2 processes");
    }
}
