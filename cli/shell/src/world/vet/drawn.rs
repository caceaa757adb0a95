//! Changes of a candidate's product that nobody could have worked towards: they are drawn by a seed when the work is over.
//!
//! ```text
//!   lines of the tests that differ from t0 --names in them--> functions of the product --> what those call
//!   lines of the product that differ from t0
//! ```
//!
//! What a changed test demanded is most likely to be missed where the work mended what it failed for: there the lines of
//! t0 are put back. Then in the functions that it named, then on the lines that the work changed, then in what those
//! functions call, then anywhere. Each place has its turn before any has a second one.

use std::collections::{BTreeSet, HashMap, HashSet};

use engine::event::candidate::Mutated;
use syntax::{Function, Language, Mutant, What};

use super::expected::Changed;
use super::undone;
use crate::hunks::quoted;
use crate::tree::{Entry, Kind, Manifest};

/// Sources of the product that are read, and changes that are looked for in one place of one of them.
const READ_MAX: usize = 512;
const MUTANTS_MAX: usize = 24;
/// Changes to choose from, for each that is wanted; beyond it no further source is read.
const CHOICE: usize = 4;

/// Reads content by its path in one of the two trees.
pub(super) type Content<'a> = &'a dyn Fn(&Entry) -> Result<Vec<u8>, String>;

/// The two trees, and what belongs to whom.
pub(super) struct Trees<'a> {
    pub(super) candidate: &'a Manifest,
    pub(super) start: &'a Manifest,
    /// Of the tests, their data and their configuration.
    pub(super) watched: &'a dyn Fn(&str) -> bool,
    pub(super) content: Content<'a>,
}

/// The changes that were drawn.
#[derive(Debug)]
pub(super) struct Drawn {
    seed: u32,
    chosen: Vec<(Vec<u8>, Spot)>,
}

/// Where a change is, the likeliest to be missed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Place {
    /// Lines of t0, in place of those that the work put there.
    Undone,
    /// In a function that a changed line of the tests names.
    Named,
    /// On a line that t0 does not have.
    Changed,
    /// In a function that one of the named ones calls.
    Called,
    Elsewhere,
}

/// The places in whose turn the next change is taken.
const TURNS: &[Place] = &[
    Place::Undone,
    Place::Named,
    Place::Changed,
    Place::Undone,
    Place::Named,
    Place::Called,
];
const PLACES: &[Place] = &[
    Place::Undone,
    Place::Named,
    Place::Changed,
    Place::Called,
    Place::Elsewhere,
];

/// One change that could be made.
#[derive(Clone, Debug)]
struct Spot {
    path: String,
    place: Place,
    /// The innermost function around it, by its first line; 0 outside of all.
    function: u32,
    mutant: Mutant,
}

/// A source of the product.
struct Source {
    path: String,
    language: Language,
    bytes: Vec<u8>,
    functions: Vec<Function>,
    changed: Vec<u32>,
    undone: Vec<Mutant>,
}

impl Drawn {
    /// At most `max` changes.
    ///
    /// # Errors
    /// When a source cannot be read.
    pub(super) fn of(trees: &Trees<'_>, max: usize, seed: u32) -> Result<Self, String> {
        let names = names(trees)?;
        let mut sources = Vec::new();
        let mut spots: Vec<Spot> = Vec::new();
        for entry in in_turn(trees, seed) {
            if let Some(source) = Source::read(trees, entry)? {
                sources.push(source);
            }
        }
        let called = called(&sources, &names);
        for place in PLACES.iter().copied() {
            for source in &sources {
                if place == Place::Elsewhere && spots.len() >= max.saturating_mul(CHOICE) {
                    break;
                }
                spots.extend(source.spots(place, &names, &called));
            }
        }
        let bytes: HashMap<&str, &[u8]> = sources.iter().map(|s| (s.path.as_str(), s.bytes.as_slice())).collect();
        let chosen = choose(spots, max, seed);
        let with_bytes = chosen.into_iter().map(|spot| {
            let source = bytes.get(spot.path.as_str()).copied().unwrap_or_default();
            (source.to_vec(), spot)
        });
        Ok(Self {
            seed,
            chosen: with_bytes.collect(),
        })
    }

    /// What is changed in the copy of this number, and by what seed it was drawn; none beyond the last.
    pub(super) fn change(&self, number: u32) -> Option<(Changed, String)> {
        let (source, spot) = self.chosen.get(usize::try_from(number).ok()?)?;
        let mutated = Mutated {
            members: Vec::new(),
            path: spot.path.clone(),
            line: spot.mutant.line,
            operator: spot.mutant.operator.label().into(),
            from: quoted(&spot.mutant.original),
            to: quoted(&spot.mutant.replacement),
        };
        let changed = Changed::of(spot.path.clone(), syntax::apply(source, &spot.mutant), mutated);
        Some((changed, self.seed.to_string()))
    }
}

impl Source {
    fn read(trees: &Trees<'_>, entry: &Entry) -> Result<Option<Self>, String> {
        let Some((path, language)) = source_of(entry) else {
            return Ok(None);
        };
        let bytes = (trees.content)(entry)?;
        // What does not parse is changed by nobody.
        let Ok(functions) = syntax::functions(language, &bytes) else {
            return Ok(None);
        };
        let before = match trees.start.entry(path.as_bytes()) {
            Some(before) if before.digest == entry.digest => None,
            Some(before) => Some((trees.content)(before)?),
            None => Some(Vec::new()),
        };
        let before = before.as_ref();
        let changed = before.map_or_else(Vec::new, |before| fresh_lines(before, &bytes));
        let undone = before.map_or_else(Vec::new, |before| undone::all(language, before, &bytes));
        Ok(Some(Self {
            path: path.to_owned(),
            language,
            bytes,
            functions,
            changed,
            undone,
        }))
    }

    fn spots(&self, place: Place, names: &HashSet<String>, called: &HashSet<String>) -> Vec<Spot> {
        let named = |known: &HashSet<String>| {
            let known = self.functions.iter().filter(|function| known.contains(&function.name));
            known.map(|function| function.lines.clone()).collect::<Vec<_>>()
        };
        let lines = match place {
            Place::Undone => {
                return self
                    .undone
                    .iter()
                    .map(|mutant| self.spot(place, mutant.clone()))
                    .collect();
            }
            Place::Named => named(names),
            Place::Changed => self.changed.iter().map(|line| *line..=*line).collect(),
            Place::Called => named(called),
            Place::Elsewhere => vec![1..=u32::MAX],
        };
        if lines.is_empty() {
            return Vec::new();
        }
        let found = syntax::mutants(self.language, &self.bytes, &What::Code(&lines), MUTANTS_MAX);
        let found = found.unwrap_or_default().into_iter();
        found.map(|mutant| self.spot(place, mutant)).collect()
    }

    fn spot(&self, place: Place, mutant: Mutant) -> Spot {
        let around = self.functions.iter().filter(|f| f.lines.contains(&mutant.line));
        Spot {
            path: self.path.clone(),
            place,
            function: around.map(|f| *f.lines.start()).max().unwrap_or(0),
            mutant,
        }
    }
}

/// The sources of the product, those that the work changed first, the others in an order that the seed gives.
fn in_turn<'a>(trees: &Trees<'a>, seed: u32) -> Vec<&'a Entry> {
    let product = |entry: &&Entry| source_of(entry).is_some_and(|(path, _)| !(trees.watched)(path));
    let same = |entry: &Entry| {
        let before = trees.start.entry(&entry.path);
        before.is_some_and(|before| before.digest == entry.digest)
    };
    let mut sources: Vec<&Entry> = trees.candidate.entries().iter().filter(product).collect();
    sources.sort_by_cached_key(|entry| (same(entry), rank(seed, &[&entry.path])));
    sources.truncate(READ_MAX);
    sources
}

fn source_of(entry: &Entry) -> Option<(&str, Language)> {
    let path = std::str::from_utf8(&entry.path)
        .ok()
        .filter(|_| entry.kind == Kind::File)?;
    Some((path, Language::of(path)?))
}

/// Names on lines of watched files that only one of the trees has.
fn names(trees: &Trees<'_>) -> Result<HashSet<String>, String> {
    let paths = |tree: &Manifest| {
        let files = tree.entries().iter().filter(|entry| entry.kind == Kind::File);
        let texts = files.filter_map(|entry| String::from_utf8(entry.path.clone()).ok());
        texts.filter(|path| (trees.watched)(path)).collect::<BTreeSet<_>>()
    };
    let mut names = HashSet::new();
    for path in paths(trees.candidate).union(&paths(trees.start)) {
        let (now, before) = (
            trees.candidate.entry(path.as_bytes()),
            trees.start.entry(path.as_bytes()),
        );
        if now.map(|entry| entry.digest) == before.map(|entry| entry.digest) || Language::of(path).is_none() {
            continue;
        }
        let text = |entry: Option<&Entry>| entry.map_or_else(|| Ok(Vec::new()), trees.content);
        let (now, before) = (text(now)?, text(before)?);
        for (text, other) in [(&now, &before), (&before, &now)] {
            let text = String::from_utf8_lossy(text);
            let lines: Vec<&str> = text.lines().collect();
            let fresh = fresh_lines(other, text.as_bytes());
            let fresh = fresh.iter().filter_map(|line| lines.get(*line as usize - 1));
            names.extend(fresh.flat_map(|line| words(line)).map(str::to_owned));
        }
    }
    Ok(names)
}

/// Names of functions that the named ones call and that are not named themselves.
fn called(sources: &[Source], names: &HashSet<String>) -> HashSet<String> {
    let known: HashSet<&str> = sources
        .iter()
        .flat_map(|source| &source.functions)
        .map(|function| function.name.as_str())
        .collect();
    let mut called = HashSet::new();
    for source in sources {
        let text = String::from_utf8_lossy(&source.bytes);
        let lines: Vec<&str> = text.lines().collect();
        for function in source
            .functions
            .iter()
            .filter(|function| names.contains(&function.name))
        {
            let (from, to) = (*function.lines.start() as usize - 1, *function.lines.end() as usize);
            let body = lines.get(from..to.min(lines.len())).unwrap_or_default();
            let found = body.iter().flat_map(|line| words(line));
            called.extend(found.filter(|word| known.contains(word)).map(str::to_owned));
        }
    }
    called.retain(|name| !names.contains(name));
    called
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(|word| !word.is_empty())
}

/// Lines of `now` that are none of `before`, counted from 1; how they are indented makes no difference.
fn fresh_lines(before: &[u8], now: &[u8]) -> Vec<u32> {
    let mut known: HashMap<&[u8], usize> = HashMap::new();
    for line in before.split(|byte| *byte == b'\n') {
        *known.entry(line.trim_ascii()).or_default() += 1;
    }
    let lines = now.split(|byte| *byte == b'\n').zip(1..);
    let fresh = lines.filter(|(line, _)| match known.get_mut(line.trim_ascii()) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => !line.trim_ascii().is_empty(),
    });
    fresh.map(|(_, number)| number).collect()
}

/// One after the other: of the place whose turn it is, from the function, the line and the kind of change of which the
/// fewest were taken, the one that the seed ranks first.
fn choose(mut spots: Vec<Spot>, max: usize, seed: u32) -> Vec<Spot> {
    // What is in several places counts in the likeliest.
    let mut seen = HashSet::new();
    spots.sort_by_key(|spot| spot.place);
    spots.retain(|spot| seen.insert((spot.path.clone(), spot.mutant.clone())));
    spots.sort_by_cached_key(|spot| {
        let Mutant { span, replacement, .. } = &spot.mutant;
        rank(
            seed,
            &[spot.path.as_bytes(), &span.start.to_le_bytes(), replacement.as_bytes()],
        )
    });
    let mut taken: Vec<Spot> = Vec::new();
    while taken.len() < max && !spots.is_empty() {
        let turn = TURNS[taken.len() % TURNS.len()];
        let used = |of: &dyn Fn(&Spot) -> bool| taken.iter().filter(|spot| of(spot)).count();
        let order = |spot: &Spot| {
            let same = |other: &Spot| (&other.path, other.function) == (&spot.path, spot.function);
            let line = |other: &Spot| (&other.path, other.mutant.line) == (&spot.path, spot.mutant.line);
            let kind = |other: &Spot| other.mutant.operator == spot.mutant.operator;
            let place = if spot.place == turn { None } else { Some(spot.place) };
            (place, used(&same), used(&line), used(&kind))
        };
        let Some(next) = (0..spots.len()).min_by_key(|at| order(&spots[*at])) else {
            break;
        };
        taken.push(spots.remove(next));
    }
    taken
}

fn rank(seed: u32, of: &[&[u8]]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    for part in of {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests;
