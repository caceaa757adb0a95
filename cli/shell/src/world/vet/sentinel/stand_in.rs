//! In place of tests that the suite has: the same name, and a body that fails.
//!
//! A check may select its tests by their very names, so that no other one is run. In Python a later definition takes the
//! place of an earlier one.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use super::suite::{Python, Suite};
use super::template::{FUNCTION, METHOD};
use super::{Draw, inserted};

/// Tests of one copy whose bodies fail.
const MEMBERS_MAX: usize = 8;

/// Puts bodies that fail in place of members and gives their ids; none where it is not known how.
pub(super) fn plant(runner: &str, suite: &Suite<'_>, draw: &Draw) -> io::Result<Vec<String>> {
    let known: Vec<(&str, Python)> = match runner {
        "pytest" => suite.pytest().collect(),
        "unittest" => suite.unittest().collect(),
        _ => Vec::new(),
    };
    let plain = known
        .into_iter()
        .filter(|(_, test)| !test.is_case && stands(suite, test));
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    let mut planted = Vec::new();
    for (id, test) in plain.take(MEMBERS_MAX) {
        let text = match &test.class {
            Some(class) => draw.fill(METHOD, &test.name, class),
            None => draw.fill(FUNCTION, &test.name, ""),
        };
        texts.entry(test.path).or_default().push_str(&text);
        planted.push(id.to_owned());
    }
    for (path, text) in texts {
        let before = suite.text(&path);
        fs::write(suite.copy.join(&path), inserted(&before, &text))?;
    }
    Ok(planted)
}

/// The file itself defines the function, or the class that has it.
fn stands(suite: &Suite<'_>, test: &Python) -> bool {
    let text = suite.text(&test.path);
    let heads = ["def", "async def"].map(|def| format!("{def} {}(", test.name));
    match &test.class {
        None => text.lines().any(|line| heads.iter().any(|head| line.starts_with(head))),
        Some(class) => super::defines(&text, class),
    }
}
