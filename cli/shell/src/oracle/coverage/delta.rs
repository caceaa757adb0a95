//! What two reports say of a change, counted, and named as far as a person would read on.
//!
//! ```text
//!   lines of t0 that are as they were --where they stand now--> hidden, vanished, lost
//!   lines that t0 does not have       --of them that can run--> ran or not
//! ```
//!
//! A report says nothing of a line that is a part of a longer statement, so a change of such lines alone is one that
//! cannot be measured. A tool is told to leave code out by a mark in a comment: whether the work wrote one beside it is
//! seen here, for most formats do not say what they leave out.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use engine::event::candidate::{Counted, Covered};

use super::{Coverage, LineState, Lines};
use crate::hunks::{Difference, between, is_idle, is_prose, lines, told};

/// Stretches and files that are named of each kind.
const NAMED_MAX: usize = 16;
/// By which tools are told to leave code out, in small letters and without what may stand between their words.
const MARKS: &[&str] = &[
    "c8ignore",
    "codecoverageignore",
    "coverage(off)",
    "coverageignore",
    "excludefromcodecoverage",
    "gcovexcl",
    "gcovrexcl",
    "grcovexcl",
    "istanbulignore",
    "lcovexcl",
    "nocoverage",
    "nodecoverage",
    "pragmanobranch",
    "pragmanocover",
    "v8ignore",
];

/// A file of the product that is another than at t0.
#[derive(Clone, Debug)]
pub(crate) struct Changed {
    pub(crate) path: String,
    /// Empty where there was none.
    pub(crate) before: Vec<u8>,
    pub(crate) after: Vec<u8>,
}

/// The product, and what the work did to it.
#[derive(Debug)]
pub(crate) struct Change<'a> {
    /// Every file of the product that there is now.
    pub(crate) product: BTreeSet<&'a str>,
    pub(crate) changed: Vec<Changed>,
    /// Files of the product that are no longer there.
    pub(crate) gone: Vec<String>,
}

/// A list that is counted to its end and named at its beginning.
#[derive(Default)]
struct Tally {
    total: u64,
    /// The file, and a first and a last line of it.
    named: Vec<(String, Option<(u32, u32)>)>,
}

impl Tally {
    fn line(&mut self, path: &str, number: u32) {
        self.total += 1;
        if let Some((known, Some((_, last)))) = self.named.last_mut()
            && known == path
            && number == last.saturating_add(1)
        {
            *last = number;
        } else if self.named.len() <= NAMED_MAX {
            // One more than is told, so that the last of those ends where it does.
            self.named.push((path.to_owned(), Some((number, number))));
        }
    }

    /// The lines of a stretch that did not run; gives how many of it can.
    fn of(&mut self, path: &str, now: &Lines, stretch: &RangeInclusive<u32>) -> u64 {
        let mut can_run = 0;
        for number in stretch.clone() {
            match now.state(number) {
                LineState::Unknown => {}
                LineState::Ran => can_run += 1,
                LineState::DidNotRun | LineState::Excluded => {
                    can_run += 1;
                    self.line(path, number);
                }
            }
        }
        can_run
    }

    fn file(&mut self, what: String) {
        self.total += 1;
        if self.named.len() < NAMED_MAX {
            self.named.push((what, None));
        }
    }

    fn counted(self) -> Counted {
        let told = |(path, lines): (String, Option<(u32, u32)>)| match lines {
            None => path,
            Some((first, last)) if first == last => format!("{path}:{first}"),
            Some((first, last)) => format!("{path}:{first}-{last}"),
        };
        Counted {
            total: self.total,
            first: self.named.into_iter().take(NAMED_MAX).map(told).collect(),
        }
    }
}

#[derive(Default)]
struct Told {
    changed: u64,
    unrun: Tally,
    hidden: Tally,
    vanished: Tally,
    lost: Tally,
    hidden_files: Tally,
    unloaded: Tally,
    beside: Tally,
}

/// How much of the product ran, whatever was changed.
pub(crate) fn totals(coverage: &Coverage, is_product: impl Fn(&str) -> bool) -> Covered {
    let own = coverage.files.iter().filter(|(path, _)| is_product(path));
    let mut covered = Covered {
        format: coverage.format.to_owned(),
        ..Covered::default()
    };
    for (_, lines) in own {
        covered.files += 1;
        for (_, ran) in lines.can_run() {
            covered.can_run += 1;
            covered.ran += u64::from(ran);
        }
    }
    covered
}

/// How many lines of these stretches can run, and which of them did not or are left out.
pub(crate) fn unrun<'a>(
    coverage: &Coverage,
    stretches: impl Iterator<Item = (&'a str, &'a RangeInclusive<u32>)>,
) -> (u64, Counted) {
    let (mut changed, mut unrun) = (0, Tally::default());
    for (path, stretch) in stretches {
        if let Some(now) = coverage.files.get(path) {
            changed += unrun.of(path, now, stretch);
        }
    }
    (changed, unrun.counted())
}

/// What the reports say of the change; `start` is the one of t0, where there is one.
pub(crate) fn compare(start: Option<&Coverage>, now: &Coverage, change: &Change<'_>) -> Covered {
    let mut told = Told::default();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for file in &change.changed {
        let difference = between(&file.before, &file.after);
        let floor = start.and_then(|start| start.files.get(&file.path));
        changed_lines(file, &difference, now.files.get(&file.path), &mut told);
        if let Some(floor) = floor {
            kept_lines(file, &difference, floor, now.files.get(&file.path), &mut told);
        }
        seen.insert(&file.path);
    }
    for path in change.gone.iter().filter(|path| !is_prose(path)) {
        told.beside.file(format!("{path}, which is gone"));
    }
    let floors = start.into_iter().flat_map(|start| &start.files);
    for (path, floor) in
        floors.filter(|(path, _)| change.product.contains(path.as_str()) && !seen.contains(path.as_str()))
    {
        unchanged(path, floor, now.files.get(path), &mut told);
    }
    Covered {
        changed: told.changed,
        unrun: told.unrun.counted(),
        hidden: told.hidden.counted(),
        vanished: told.vanished.counted(),
        lost: told.lost.counted(),
        hidden_files: told.hidden_files.counted(),
        unloaded: told.unloaded.counted(),
        beside: told.beside.counted(),
        ..totals(now, |path| change.product.contains(path))
    }
}

/// Lines that t0 does not have.
fn changed_lines(file: &Changed, difference: &Difference, now: Option<&Lines>, told: &mut Told) {
    let (old, new) = (lines(&file.before), lines(&file.after));
    for gone in difference.gone.iter().filter(|gone| !is_idle(&old, gone)) {
        if !is_prose(&file.path) {
            told.beside
                .file(format!("{}: {} that are gone", file.path, self::told(gone)));
        }
    }
    let Some(now) = now else {
        let works = difference.hunks.iter().any(|hunk| !is_idle(&new, hunk));
        if works && !is_prose(&file.path) {
            told.beside.file(file.path.clone());
        }
        return;
    };
    for hunk in &difference.hunks {
        let can_run = told.unrun.of(&file.path, now, hunk);
        told.changed += can_run;
        if can_run == 0 && !is_idle(&new, hunk) {
            told.beside.file(format!("{}: {}", file.path, self::told(hunk)));
        }
    }
}

/// Lines of a changed file that are as they were.
fn kept_lines(file: &Changed, difference: &Difference, floor: &Lines, now: Option<&Lines>, told: &mut Told) {
    let new = lines(&file.after);
    let at = |number: u32| {
        usize::try_from(number)
            .ok()
            .and_then(|number| new.get(number.checked_sub(1)?))
    };
    let is_marked = || {
        let mut written = difference.hunks.iter().flat_map(|hunk| hunk.clone());
        written.any(|number| at(number).is_some_and(|line| has_mark(line)))
    };
    // Braces and comments are a part of the code around them in some formats, and of none when that changes.
    let says_something = |number: u32| {
        at(number).is_some_and(|line| line.iter().any(u8::is_ascii_alphanumeric)) && !is_idle(&new, &(number..=number))
    };
    let could_run = difference
        .kept
        .iter()
        .flat_map(|kept| kept.lines())
        .filter_map(|(before, after)| match floor.state(before) {
            LineState::Ran => Some((after, true)),
            LineState::DidNotRun => Some((after, false)),
            LineState::Excluded | LineState::Unknown => None,
        });
    let could_run: Vec<(u32, bool)> = could_run.collect();
    let Some(now) = now else {
        if could_run.iter().any(|(number, _)| says_something(*number)) {
            let list = if is_marked() {
                &mut told.hidden_files
            } else {
                &mut told.unloaded
            };
            list.file(file.path.clone());
        }
        return;
    };
    let mut marked = None;
    for (number, ran) in could_run {
        match now.state(number) {
            LineState::Ran => {}
            LineState::DidNotRun if ran => told.lost.line(&file.path, number),
            LineState::DidNotRun => {}
            LineState::Excluded => told.hidden.line(&file.path, number),
            LineState::Unknown if !says_something(number) => {}
            LineState::Unknown if *marked.get_or_insert_with(is_marked) => told.hidden.line(&file.path, number),
            LineState::Unknown => told.vanished.line(&file.path, number),
        }
    }
}

/// A file that nobody touched.
fn unchanged(path: &str, floor: &Lines, now: Option<&Lines>, told: &mut Told) {
    let Some(now) = now else {
        if floor.can_run().next().is_some() {
            told.unloaded.file(path.to_owned());
        }
        return;
    };
    for (number, ran) in floor.can_run() {
        match now.state(number) {
            LineState::Ran => {}
            LineState::DidNotRun if ran => told.lost.line(path, number),
            LineState::DidNotRun => {}
            LineState::Excluded | LineState::Unknown => told.vanished.line(path, number),
        }
    }
}

/// Whether a line tells a tool to leave code out.
fn has_mark(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line).to_lowercase();
    let plain: String = text
        .chars()
        .filter(|c| !c.is_whitespace() && !"-_:@/*#".contains(*c))
        .collect();
    // Colons around it are all that tells one of them from other words.
    let ruby = text.contains(":nocov:");
    ruby || MARKS.iter().any(|mark| plain.contains(mark))
}

#[cfg(test)]
mod tests;
