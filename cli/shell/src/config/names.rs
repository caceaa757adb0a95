//! The nearest known name to one that nobody knows.

/// Below this likeness a suggestion would be a guess.
const LIKENESS_MIN: f64 = 0.75;

/// The name in `known` that is most like `name`, if any is like it at all. Ties go to the earlier one.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = normal(name);
    let mut best: Option<(&str, f64)> = None;
    for candidate in known {
        let likeness = likeness(&wanted, &normal(candidate));
        if likeness >= LIKENESS_MIN && best.is_none_or(|(_, before)| likeness > before) {
            best = Some((candidate, likeness));
        }
    }
    best.map(|(candidate, _)| candidate)
}

/// A right word in the wrong section is nearer than any misspelling; then whole names; then last words.
fn likeness(wanted: &str, candidate: &str) -> f64 {
    let (wanted_last, candidate_last) = (last_word(wanted), last_word(candidate));
    if wanted_last == candidate_last {
        return 0.99;
    }
    let whole = strsim::normalized_damerau_levenshtein(wanted, candidate);
    let last = strsim::normalized_damerau_levenshtein(wanted_last, candidate_last) * 0.98;
    // `iterations` for `max_iterations`: a part of the name, as people remember it.
    let part = if wanted_last.len() >= 4 && candidate_last.contains(wanted_last) {
        0.8
    } else {
        0.0
    };
    whole.max(last).max(part)
}

fn normal(name: &str) -> String {
    name.trim_start_matches('-').to_lowercase().replace('-', "_")
}

fn last_word(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[&str] = &[
        "loop.check",
        "loop.exec",
        "bounds.max_iterations",
        "bounds.timeout",
        "guards.blocked",
    ];

    fn of(name: &str) -> Option<&'static str> {
        nearest(name, KNOWN.iter().copied())
    }

    #[test]
    fn slips_of_the_pen_find_their_word() {
        assert_eq!(of("bounds.max_iteration"), Some("bounds.max_iterations"));
        assert_eq!(of("bounds.max-iterations"), Some("bounds.max_iterations"));
        assert_eq!(of("guards.blokced"), Some("guards.blocked"));
        assert_eq!(of("loop.chek"), Some("loop.check"));
    }

    #[test]
    fn a_word_in_the_wrong_section_finds_its_section() {
        assert_eq!(of("loop.timeout"), Some("bounds.timeout"));
        assert_eq!(of("exec"), Some("loop.exec"));
    }

    #[test]
    fn a_name_like_nothing_gets_no_suggestion() {
        assert_eq!(of("colour.of_the_bikeshed"), None);
    }
}
