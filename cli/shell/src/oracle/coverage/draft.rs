//! A coverage that is being read: lines come in any order, more than once, and from anywhere.

use std::collections::{BTreeMap, HashMap};

use super::error::shown;
use super::{Coverage, CoverageError, Limits, Lines, Names};

/// What a format reads into.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    format: &'static str,
    names: &'a Names,
    limits: Limits,
    files: BTreeMap<String, Lines>,
    /// The file of the tree that a name of the report means.
    known: HashMap<String, Option<String>>,
    lines: usize,
    /// The first name that means no file of the tree.
    elsewhere: Option<String>,
}

/// The file that lines are read of; none where it is not one of the tree.
pub(super) type Slot = Option<String>;

impl<'a> Draft<'a> {
    pub(super) fn new(format: &'static str, names: &'a Names, limits: Limits) -> Self {
        Self {
            format,
            names,
            limits,
            files: BTreeMap::new(),
            known: HashMap::new(),
            lines: 0,
            elsewhere: None,
        }
    }

    /// Begins a file, under the first of these names that is one of the tree.
    pub(super) fn file(&mut self, candidates: &[&str]) -> Slot {
        let key = candidates.join("\0");
        if !self.known.contains_key(&key) {
            let found = candidates.iter().find_map(|name| self.names.find(name));
            self.known.insert(key.clone(), found.map(str::to_owned));
        }
        let found = self.known.get(&key).cloned().flatten();
        match &found {
            Some(path) => drop(self.files.entry(path.clone()).or_default()),
            None if self.elsewhere.is_none() => {
                self.elsewhere = Some(shown(candidates.first().copied().unwrap_or_default()));
            }
            None => {}
        }
        found
    }

    /// A line that can run.
    ///
    /// # Errors
    /// When its number is none of a line, or there are too many.
    pub(super) fn line(&mut self, slot: &Slot, number: i64, ran: bool) -> Result<(), CoverageError> {
        if let Some((lines, number)) = self.at(slot, number)? {
            lines.can_run.push((number, ran));
        }
        Ok(())
    }

    /// The same of all lines from the first to the last.
    ///
    /// # Errors
    /// As [`Draft::line`], or when the last is before the first.
    pub(super) fn stretch(&mut self, slot: &Slot, (first, last): (i64, i64), ran: bool) -> Result<(), CoverageError> {
        if last < first {
            let what = format!("lines {first} to {last} run backwards");
            return Err(CoverageError::malformed(self.format, what));
        }
        // Before the loop: a stretch of all numbers would be as long as it says.
        self.at(slot, last)?;
        (first..=last).try_for_each(|number| self.line(slot, number, ran))
    }

    /// A line that could run and is left out.
    ///
    /// # Errors
    /// As [`Draft::line`].
    pub(super) fn excluded(&mut self, slot: &Slot, number: i64) -> Result<(), CoverageError> {
        if let Some((lines, number)) = self.at(slot, number)? {
            lines.excluded.push(number);
        }
        Ok(())
    }

    /// Counts work that names no line.
    ///
    /// # Errors
    /// When there is too much of it.
    pub(super) fn step(&mut self) -> Result<(), CoverageError> {
        self.at(&None, 0).map(drop)
    }

    /// What was read, if anything was: of several reports one may be about no file of the tree.
    pub(super) fn whatever(mut self) -> Coverage {
        self.files.values_mut().for_each(settle);
        Coverage {
            format: self.format,
            files: self.files,
        }
    }

    /// What was read; names of no file of the tree are left out, and nothing but such names is an error.
    pub(super) fn settled(self) -> Result<Coverage, CoverageError> {
        if self.files.is_empty() {
            return Err(match self.elsewhere {
                Some(first) => CoverageError::Elsewhere {
                    format: self.format,
                    first,
                },
                None => CoverageError::malformed(self.format, "it names no file"),
            });
        }
        Ok(self.whatever())
    }

    fn at(&mut self, slot: &Slot, number: i64) -> Result<Option<(&mut Lines, u32)>, CoverageError> {
        self.lines += 1;
        if self.lines > self.limits.lines {
            return Err(CoverageError::TooMany {
                format: self.format,
                limit: self.limits.lines,
            });
        }
        let known = u32::try_from(number)
            .ok()
            .filter(|_| i64::try_from(self.limits.line).is_ok_and(|max| number <= max));
        let Some(number) = known else {
            let what = format!("{number} is not the number of a line");
            return Err(CoverageError::malformed(self.format, what));
        };
        // Line 0 stands for a file without a statement, in several tools.
        let lines = slot
            .as_ref()
            .filter(|_| number > 0)
            .and_then(|path| self.files.get_mut(path));
        Ok(lines.map(|lines| (lines, number)))
    }
}

/// Each line once: it ran if it ran anywhere, and what can run is not left out.
pub(super) fn settle(lines: &mut Lines) {
    let Lines { can_run, excluded } = lines;
    can_run.sort_unstable_by_key(|(number, ran)| (*number, !ran));
    can_run.dedup_by_key(|(number, _)| *number);
    excluded.sort_unstable();
    excluded.dedup();
    excluded.retain(|number| can_run.binary_search_by_key(number, |(known, _)| *known).is_err());
}
