//! Mutants of the product of a recorded tree.
//!
//! ```text
//!   tree of t0, tree of now --> changed product files --> hunks --> mutants of each, the telling ones first
//! ```
//!
//! Who asks says how many. Which of them is tried is not said here.

use std::ops::RangeInclusive;
use std::rc::Rc;

use engine::event::candidate::{Hunk, Mutated};
use engine::event::id::Bytes;
use engine::event::policy::{Adequacy, GuardPolicy};
use engine::guard::surface;
use syntax::{Language, Mutant, Operator, What};

use super::undone;
use crate::hunks::{between, is_idle, is_prose, lines, quoted, told};
use crate::tree::{Kind, Manifest, Tree};
use crate::world::surface::Suites;

/// A hunk gets at least so many, however many hunks there are.
const EACH_MIN: usize = 3;
/// Hunks that are looked at, and other changes that are named.
const HUNKS_MAX: usize = 128;
const NAMED_MAX: usize = 16;
/// A longer source is nothing that a person wrote.
const SOURCE_MAX_BYTES: u64 = 1024 * 1024;

/// A tree, and who says which of its files are the product.
pub(super) struct Product<'a> {
    pub(super) tree: &'a Tree,
    pub(super) manifest: &'a Manifest,
    pub(super) suites: &'a Suites,
    pub(super) policy: &'a GuardPolicy,
}

/// One part of a file, and the mutants of it.
pub(super) struct Part {
    path: String,
    lines: RangeInclusive<u32>,
    source: Rc<Vec<u8>>,
    mutants: Vec<Mutant>,
    /// What stood in its place.
    before: Option<Vec<u8>>,
}

/// The parts that can be mutated, and what else is another than it was.
#[derive(Default)]
pub(super) struct Picked {
    pub(super) parts: Vec<Part>,
    pub(super) others: Vec<String>,
}

impl Part {
    pub(super) fn hunk(&self) -> Hunk {
        Hunk {
            path: self.path.clone(),
            first: *self.lines.start(),
            last: *self.lines.end(),
            mutants: u32::try_from(self.mutants.len()).unwrap_or(u32::MAX),
        }
    }

    /// The lines that stood in its place, where one of its own cannot be changed once more: the fix may be that one.
    fn undone(&self, language: Language) -> Option<Mutant> {
        let undone = undone::part(&self.source, &self.lines, self.before.as_ref()?)?;
        let range = [self.lines.clone()];
        let all = syntax::mutants(language, &self.source, &What::Code(&range), undone.original.len()).ok()?;
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
        let texts = lines(&self.source);
        let is_bare = |line: u32| {
            let text = usize::try_from(line)
                .ok()
                .and_then(|line| texts.get(line.checked_sub(1)?));
            let says = text.is_some_and(|text| text.iter().any(is_word)) && !is_idle(&texts, &(line..=line));
            says && all.iter().all(|mutant| mutant.line != line)
        };
        let is_tried = !self.mutants.is_empty() && self.lines.clone().any(is_bare);
        is_tried.then_some(undone)
    }

    /// What is recorded of one of its mutants, and the file with it.
    pub(super) fn mutant(&self, nth: usize) -> Option<(Mutated, Vec<u8>)> {
        let mutant = self.mutants.get(nth)?;
        let told = Mutated {
            members: Vec::new(),
            path: self.path.clone(),
            line: mutant.line,
            operator: mutant.operator.label().to_owned(),
            from: quoted(&mutant.original),
            to: quoted(&mutant.replacement),
        };
        Some((told, syntax::apply(&self.source, mutant)))
    }
}

/// About `max` mutants of lines that `start` does not have, never fewer than a few of each part, the telling ones first and spread over the part.
///
/// # Errors
/// When a source cannot be read.
pub(super) fn pick(product: &Product<'_>, start: &Manifest, max: usize) -> Result<Picked, String> {
    let mut picked = Picked::default();
    let mut found: Vec<(Language, Part)> = Vec::new();
    let mut other = |what: String| {
        if picked.others.len() < NAMED_MAX {
            picked.others.push(what);
        }
    };
    for (path, before) in product.files(start)? {
        let Some(entry) = product.manifest.entry(path.as_bytes()) else {
            continue;
        };
        let language = Language::of(&path).filter(|_| entry.size <= SOURCE_MAX_BYTES);
        let Some(language) = language else {
            if !is_prose(&path) {
                other(path);
            }
            continue;
        };
        let source = Rc::new(product.content(&path, &entry.digest)?);
        let difference = between(&before, &source);
        let (old, new) = (lines(&before), lines(&source));
        for gone in difference.gone.iter().filter(|gone| !is_idle(&old, gone)) {
            other(format!("{path}: {} that are gone", told(gone)));
        }
        for hunk in difference.hunks.into_iter().filter(|hunk| !is_idle(&new, hunk)) {
            if found.len() == HUNKS_MAX {
                other(format!("{path}: {}", told(&hunk)));
                continue;
            }
            let replaced = difference.replaced.iter().find(|(now, _)| *now == hunk);
            let before = replaced
                .and_then(|(_, then)| undone::cut(&before, then))
                .map(|(_, text)| text.to_vec());
            let part = Part {
                path: path.clone(),
                lines: hunk,
                source: Rc::clone(&source),
                mutants: Vec::new(),
                before,
            };
            found.push((language, part));
        }
    }
    for path in product.gone(start) {
        other(format!("{path}, which is gone"));
    }
    let each = max.div_ceil(found.len().max(1)).max(EACH_MIN);
    for (language, mut part) in found {
        let range = [part.lines.clone()];
        let mutants = syntax::mutants(language, &part.source, &What::Code(&range), each.saturating_mul(4));
        part.mutants = telling(mutants.unwrap_or_default(), each);
        if product.policy.adequacy == Adequacy::Change
            && let Some(undone) = part.undone(language)
        {
            // Second: most hunks are noticed by the first.
            part.mutants.truncate(each.saturating_sub(1));
            part.mutants.insert(part.mutants.len().min(1), undone);
        }
        if part.mutants.is_empty() {
            other(format!("{}: {}", part.path, told(&part.lines)));
        } else {
            picked.parts.push(part);
        }
    }
    Ok(picked)
}

impl Product<'_> {
    /// Paths of the product that differ, with what they held before.
    pub(super) fn files(&self, start: &Manifest) -> Result<Vec<(String, Vec<u8>)>, String> {
        let mut files = Vec::new();
        for entry in self.manifest.entries().iter().filter(|entry| entry.kind == Kind::File) {
            let earlier = start.entry(&entry.path).filter(|old| old.kind == Kind::File);
            if earlier.is_some_and(|old| old.digest == entry.digest) || !self.is_product(&entry.path) {
                continue;
            }
            let Ok(path) = std::str::from_utf8(&entry.path) else {
                continue;
            };
            let before = match earlier.filter(|old| old.size <= SOURCE_MAX_BYTES) {
                Some(old) => self.content(path, &old.digest)?,
                None => Vec::new(),
            };
            files.push((path.to_owned(), before));
        }
        Ok(files)
    }

    /// Files of the product that are no longer there.
    pub(super) fn gone(&self, start: &Manifest) -> Vec<String> {
        let gone = start
            .entries()
            .iter()
            .filter(|old| old.kind == Kind::File && self.manifest.entry(&old.path).is_none());
        let own = gone.filter(|old| self.is_product(&old.path));
        let paths = own.filter_map(|old| std::str::from_utf8(&old.path).ok());
        paths.filter(|path| !is_prose(path)).map(str::to_owned).collect()
    }

    pub(super) fn is_product(&self, path: &[u8]) -> bool {
        let own = Bytes(path.to_vec());
        self.suites.class(self.policy, &own).is_none() && !surface::test_source(path)
    }

    pub(super) fn content(&self, path: &str, digest: &crate::tree::Digest) -> Result<Vec<u8>, String> {
        let content = self.tree.content(digest);
        content.map_err(|error| format!("{path}: {error}"))
    }
}

/// Those that change most of what a program does come first, one a line, and neighbours far apart.
fn telling(mutants: Vec<Mutant>, max: usize) -> Vec<Mutant> {
    let weak = |mutant: &Mutant| matches!(mutant.operator, Operator::Constant | Operator::Arithmetic);
    let mut sorted = mutants;
    sorted.sort_by_key(|mutant| (mutant.line, weak(mutant), mutant.span));
    let mut keyed: Vec<((bool, usize, u32), Mutant)> = Vec::new();
    let (mut line, mut nth, mut at) = (None, 0, 0_u32);
    for mutant in sorted {
        if line == Some(mutant.line) {
            nth += 1;
        } else {
            (line, nth, at) = (Some(mutant.line), 0, at.wrapping_add(1));
        }
        keyed.push(((weak(&mutant), nth, at.reverse_bits()), mutant));
    }
    keyed.sort_by_key(|(key, _)| (key.1, key.0, key.2));
    keyed.into_iter().map(|(_, mutant)| mutant).take(max).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told_of(source: &str, max: usize) -> Vec<(u32, &'static str)> {
        let language = Language::of("a.py").unwrap();
        let found = syntax::mutants(language, source.as_bytes(), &What::Code(&[1..=99]), 99).unwrap();
        let told = telling(found, max);
        told.iter()
            .map(|mutant| (mutant.line, mutant.operator.label()))
            .collect()
    }

    #[test]
    fn what_a_function_does_is_changed_before_the_constants_beside_it() {
        let source = "A = 1\nB = 2\nC = 3\n\ndef total(prices):\n    return sum(prices)\n";
        let first = told_of(source, 1);
        assert_eq!(first[0].0, 6, "{first:?}");
    }

    fn undone(before: &str, after: &str) -> Option<String> {
        let difference = between(before.as_bytes(), after.as_bytes());
        let (now, then) = &difference.replaced[0];
        let language = Language::of("a.py").unwrap();
        let found = syntax::mutants(language, after.as_bytes(), &What::Code(std::slice::from_ref(now)), 9).unwrap();
        let part = Part {
            path: "a.py".into(),
            lines: now.clone(),
            source: Rc::new(after.as_bytes().to_vec()),
            mutants: found,
            before: undone::cut(before.as_bytes(), then).map(|(_, text)| text.to_vec()),
        };
        let undone = part.undone(language)?;
        Some(String::from_utf8(syntax::apply(after.as_bytes(), &undone)).unwrap())
    }

    #[test]
    fn a_part_with_a_line_that_cannot_be_changed_once_more_is_undone() {
        let (before, after) = ("class A:\n    pass\n", "V = 2\n\nclass A(dict):\n    pass\n");
        assert_eq!(undone(before, after).as_deref(), Some(before));
        assert_eq!(undone("A = 1\nB = 2\n", "A = 3\n\n# Why.\nB = 2\n"), None);
        assert_eq!(
            undone("class A:\n    pass", "V = 2\nclass A(dict):\n    pass").as_deref(),
            Some("class A:\n    pass")
        );
    }

    #[test]
    fn every_line_has_its_turn_before_one_has_two() {
        let source = "def f(a):\n    if a > 1:\n        return a\n    return a + 2\n";
        let mut lines: Vec<u32> = told_of(source, 3).iter().map(|(line, _)| *line).collect();
        lines.sort_unstable();
        assert_eq!(lines, [2, 3, 4]);
    }
}
