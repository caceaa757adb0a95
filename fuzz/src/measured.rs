//! Targets over what was seen of a check while it ran: `coverage` (reports of line coverage) and `trace` (calls as
//! strace writes them down). Whoever runs in the process that is measured can bend the first.

use std::collections::BTreeSet;

use engine::hermetic::reach::Roots;
use shell::oracle::coverage::{self, Coverage, LineState, Names};
use shell::oracle::trace;

/// Files that a report may be about.
const FILES: &[&str] = &["money.py", "src/lib.rs", "calc/calc.go", "src/total.js"];
const ROOT: &str = "/w/copy";

/// More names than these a trace never gives, of those that are written to and of all others.
const NAMED_MAX: usize = 32;

/// Reads the bytes as a report; names the format.
///
/// # Panics
/// When a report speaks of other files than those of the tree, of a line in two ways, or of more once it is joined with
/// itself.
pub fn coverage(data: &[u8]) -> String {
    let names = Names::new(ROOT, FILES.iter().copied());
    let seen = coverage::read(data, &names);
    match seen {
        Ok(seen) => {
            assert_eq!(coverage::read(data, &names).as_ref(), Ok(&seen));
            whole(&seen);
            let mut twice = seen.clone();
            twice.join(seen.clone());
            assert_eq!(twice, seen, "a report joined with itself");
            seen.format.to_owned()
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            "refused".to_owned()
        }
    }
}

fn whole(seen: &Coverage) {
    assert!(!seen.files.is_empty(), "a report about no file is an error");
    for (path, lines) in &seen.files {
        assert!(FILES.contains(&path.as_str()), "{path} is no file of the tree");
        let named: Vec<(u32, bool)> = lines.can_run().collect();
        assert!(
            named.windows(2).all(|pair| pair[0].0 < pair[1].0),
            "{path}: each line once"
        );
        for (line, ran) in named {
            let state = if ran { LineState::Ran } else { LineState::DidNotRun };
            assert_eq!(lines.state(line), state, "{path}:{line}");
        }
    }
}

/// Reads the bytes as the calls of a check with its places.
///
/// # Panics
/// When a place that the check may reach is told as one outside, when more is named than may be, or when a line is
/// lost.
pub fn trace(data: &[u8]) -> String {
    let mut roots = Roots::new(b"/home/u/work", Some(b"/home/u"));
    roots.own(ROOT.as_bytes());
    let Ok(seen) = trace::read_from(data, &roots, ROOT.as_bytes()) else {
        return "unreadable".to_owned();
    };
    let lines = data.split(|byte| *byte == b'\n').count() as u64;
    assert!(seen.unread <= lines, "{} of {lines} lines are unread", seen.unread);
    assert!(
        seen.reached.len() <= NAMED_MAX,
        "{} places are named",
        seen.reached.len()
    );
    let places: BTreeSet<_> = seen
        .reached
        .iter()
        .map(|reached| (reached.act, &reached.place))
        .collect();
    assert_eq!(places.len(), seen.reached.len(), "each place once for each act");
    for reached in &seen.reached {
        assert!(reached.times > 0 && !reached.place.is_empty());
        let own = reached.place == ROOT
            || reached
                .place
                .strip_prefix(ROOT)
                .is_some_and(|rest| rest.starts_with('/'));
        assert!(!own, "{} belongs to the check", reached.place);
    }
    let what = if seen.reached.is_empty() { "inside" } else { "outside" };
    let unread = if seen.unread > 0 { "-unread" } else { "" };
    format!("{what}{unread}")
}
