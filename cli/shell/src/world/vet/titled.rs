//! Members that are rows of one test, by a title with places that each row fills.

use super::library::MARKS;

/// Whether the member is a row of the test of this path, whose title has places: `of %j`, `of $name`, `of ${name}`.
pub(super) fn is_titled(member: &str, path: &[String]) -> bool {
    let Some((title, above)) = path.split_last() else {
        return false;
    };
    let parts = fixed(title);
    let [first, middle @ .., last] = parts.as_slice() else {
        return false;
    };
    if parts.iter().all(|part| part.trim().is_empty()) {
        return false;
    }
    let fills = |rest: &str| {
        let Some(mut rest) = rest.strip_prefix(first).and_then(|rest| rest.strip_suffix(last)) else {
            return false;
        };
        middle.iter().all(|part| {
            let found = rest.find(part);
            rest = found.map_or("", |at| &rest[at + part.len()..]);
            found.is_some()
        })
    };
    MARKS.iter().any(|mark| {
        let before = above.iter().map(|part| format!("{part}{mark}")).collect::<String>();
        let starts = member.match_indices(before.as_str()).map(|(at, _)| at);
        let is_begun = |at: &usize| *at == 0 || MARKS.iter().any(|mark| member[..*at].ends_with(mark));
        starts.filter(is_begun).any(|at| fills(&member[at + before.len()..]))
    })
}

/// What of a title stands in every row: the texts around its places. One text for a title without places.
fn fixed(title: &str) -> Vec<&str> {
    let (mut parts, mut from, mut at) = (Vec::new(), 0, 0);
    while let Some(found) = title[at..].find(['%', '$']) {
        at += found;
        let rest = &title[at + 1..];
        let word = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_' && c != '.')
            .unwrap_or(rest.len());
        let place = match rest.chars().next() {
            _ if title[at..].starts_with('%') => usize::from(rest.starts_with(|c| "sdifjoOp#".contains(c))),
            Some('{') => rest.find('}').map_or(0, |end| end + 1),
            _ => word,
        };
        if place > 0 {
            parts.push(&title[from..at]);
            from = at + 1 + place;
        }
        at += 1 + place;
    }
    parts.push(&title[from..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_with_places_names_every_row_that_fills_them() {
        assert_eq!(
            fixed("of %j, 100% of $a.b and ${c}!"),
            ["of ", ", 100% of ", " and ", "!"]
        );
        let titled = |member: &str, path: &[&str]| {
            let path: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
            is_titled(member, &path)
        };
        assert!(titled("a.test.js > max > of [-4,-2] is -2", &["max", "of %j is %d"]));
        assert!(titled("max of -4,-2", &["max of ${xs}"]));
        assert!(!titled("a.test.js > max > from [-4,-2]", &["max", "of %j"]));
        assert!(!titled("a.test.js > min > of [-4,-2]", &["max", "of %j"]));
        assert!(
            !titled("a.test.js > max > plain", &["max", "plain"]),
            "a name without places is the other's matter"
        );
        assert!(
            !titled("a.test.js > max > anything", &["max", "%s"]),
            "nothing to tell it by"
        );
    }
}
