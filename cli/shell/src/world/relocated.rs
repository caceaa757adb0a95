//! Members whose test moved with the product around it (SPEC 5.3.3).
//!
//! ```text
//!   member of t0 that is gone, new member --> the source of each --> the same test in both? --> it keeps its old name
//! ```
//!
//! A unit test inside of a module, and an example in its documentation, are named after the module: where the product
//! moves, they have to. One that is the same test there, under the same last name, is the member that it was.

use std::collections::{BTreeMap, BTreeSet};

use engine::{Reading, State};
use syntax::Language;

use super::check::digest_members;
use crate::tree::{Kind, Manifest, Tree, TreeId};

/// Members that are looked for, and new ones that each of them could be.
const LOST_MAX: usize = 1_024;
const ALIKE_MAX: usize = 32;
/// Longer sources are nothing that a person wrote.
const SOURCE_MAX_BYTES: u64 = 1 << 20;

/// Names that members had at t0, by those that they have now.
pub(crate) type Renamed = BTreeMap<String, String>;

/// Gives members that moved the names that they had at t0. `after` is the tree that the check saw.
pub(crate) fn settle(
    reading: &mut Reading,
    state: &State,
    tree: &Tree,
    after: impl FnOnce() -> Option<Manifest>,
) -> Renamed {
    let known = &state.facts.t0_members;
    let shown: BTreeSet<&str> = reading.members.iter().map(|(id, _)| id.as_str()).collect();
    let lost: Vec<&str> = known
        .iter()
        .map(String::as_str)
        .filter(|id| !shown.contains(id))
        .collect();
    let fresh: Vec<&str> = shown.iter().copied().filter(|id| !known.contains(id)).collect();
    if lost.is_empty() || fresh.is_empty() {
        return Renamed::new();
    }
    let before = state.facts.t0.and_then(|t0| tree.manifest(TreeId(t0.0)).ok());
    let Some((before, after)) = before.zip(after()) else {
        return Renamed::new();
    };
    let read = |manifest: &Manifest, path: &str| {
        let entry = manifest.entry(path.as_bytes())?;
        let small = entry.kind == Kind::File && entry.size <= SOURCE_MAX_BYTES;
        small.then(|| tree.content(&entry.digest).ok()).flatten()
    };
    let [before, after] = [&before, &after].map(|manifest| Sources {
        paths: paths(manifest),
        read: Box::new(move |path: &str| read(manifest, path)),
    });
    let renamed = paired(&lost, &fresh, &before, &after);
    for (id, _) in &mut reading.members {
        if let Some(old) = renamed.get(id) {
            id.clone_from(old);
        }
    }
    if !renamed.is_empty() {
        reading.members.sort_unstable();
        reading.members_digest = digest_members(&reading.members);
        let told = renamed.iter().map(|(now, old)| format!("{old} is {now} now")).take(8);
        let note = format!(
            "tests moved with the product around them: {}",
            told.collect::<Vec<_>>().join(", ")
        );
        let before = std::mem::take(&mut reading.note);
        reading.note = if before.is_empty() {
            note
        } else {
            format!("{before}; {note}")
        };
    }
    renamed
}

/// Those that are one member for certain: one lost, one new.
fn paired(lost: &[&str], fresh: &[&str], before: &Sources<'_>, after: &Sources<'_>) -> Renamed {
    let mut alike: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for id in fresh {
        alike.entry(last_name(id)).or_default().push(id);
    }
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for old in lost.iter().take(LOST_MAX) {
        let candidates = alike.get(last_name(old)).map_or(&[][..], Vec::as_slice);
        let same = candidates.iter().take(ALIKE_MAX).filter(|now| {
            let (was, is) = (Unit::of(old), Unit::of(now));
            was.zip(is).is_some_and(|(was, is)| was.is_same(before, &is, after))
        });
        pairs.extend(same.map(|now| (*old, *now)));
    }
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for (old, now) in &pairs {
        *times.entry(old).or_default() += 1;
        *times.entry(now).or_default() += 1;
    }
    let once = |(old, now): &(&str, &str)| [old, now].iter().all(|id| times.get(**id) == Some(&1));
    let pairs = pairs.iter().filter(|pair| once(pair));
    pairs.map(|(old, now)| ((*now).to_owned(), (*old).to_owned())).collect()
}

/// The source whose documentation this member is an example of; several packages may have one of that name.
pub(super) fn example_file(id: &str) -> Option<String> {
    match Unit::of(id)? {
        Unit::Example { files, .. } => files.into_iter().next(),
        Unit::Test(_) => None,
    }
}

/// What comes behind every mark.
pub(super) fn last_name(id: &str) -> &str {
    let marks = [" > ", "::"];
    let bare = id.split_once(" - ").map_or(id, |(_, item)| item);
    let end = marks
        .iter()
        .filter_map(|mark| bare.rsplit_once(mark))
        .map(|(_, last)| last);
    let last = end.min_by_key(|last| last.len()).unwrap_or(bare);
    if id.contains(".py::") {
        last.rsplit('.').next().unwrap_or(last)
    } else {
        last
    }
}

fn paths(manifest: &Manifest) -> Vec<&str> {
    let paths = manifest.entries().iter();
    paths
        .filter_map(|entry| std::str::from_utf8(&entry.path).ok())
        .collect()
}

/// Reads a file of a tree by its path, where it can be read.
type Read<'a> = dyn Fn(&str) -> Option<Vec<u8>> + 'a;

/// Files of one tree.
struct Sources<'a> {
    paths: Vec<&'a str>,
    read: Box<Read<'a>>,
}

impl Sources<'_> {
    /// Paths that are one of these, in the workdir or in a package within it.
    fn ending_with(&self, ends: &[String]) -> Vec<&str> {
        let is_end = |path: &&str| {
            let is = |end: &String| path.strip_suffix(end.as_str());
            ends.iter()
                .filter_map(is)
                .any(|dir| dir.is_empty() || dir.ends_with('/'))
        };
        self.paths.iter().copied().filter(is_end).collect()
    }
}

/// What a member is in a source, as its name tells it.
#[derive(Debug, PartialEq, Eq)]
enum Unit {
    /// A test in one of these files, by the names of its groups and its own there.
    Test(Vec<(Vec<String>, Vec<String>)>),
    /// An example of the definition of this name, and what its member is called beside.
    Example {
        files: Vec<String>,
        item: String,
        beside: String,
    },
}

impl Unit {
    fn of(id: &str) -> Option<Self> {
        if let Some((place, item)) = id.split_once(" - ") {
            let file = place.rsplit(' ').next().filter(|file| file.ends_with(".rs"))?;
            let (path, beside) = item.split_once([' ', '#']).unwrap_or((item, ""));
            let name = path.rsplit("::").next().filter(|name| !name.is_empty())?;
            return Some(Self::Example {
                files: vec![file.to_owned()],
                item: name.to_owned(),
                beside: beside.to_owned(),
            });
        }
        if let Some((file, name)) = id.split_once(".py::") {
            let module = file.strip_suffix("/__init__").unwrap_or(file).replace('/', ".");
            let within = [module.as_str(), module.rsplit('.').next()?];
            let item = within
                .iter()
                .find_map(|module| name.strip_prefix(module)?.strip_prefix('.'))?;
            return Some(Self::Example {
                files: vec![format!("{file}.py")],
                item: item.rsplit('.').next()?.to_owned(),
                beside: String::new(),
            });
        }
        if let Some((file, title)) = id.split_once(" > ") {
            let path = title.split(" > ").map(str::to_owned).collect();
            return Some(Self::Test(vec![(vec![file.to_owned()], path)]));
        }
        let (label, path) = id.rsplit_once(' ').unwrap_or(("", id));
        let root = label.rsplit(' ').next().filter(|root| root.ends_with(".rs"));
        let dir = root.map_or("src", |root| root.rsplit_once('/').map_or("", |(dir, _)| dir));
        let names: Vec<String> = path.split("::").map(str::to_owned).collect();
        let places = (0..names.len()).map(|at| {
            let (modules, test) = names.split_at(at);
            let below = [&[dir.to_owned()][..], modules].concat().join("/");
            let below = below.trim_start_matches('/');
            let files = match (at, root) {
                (0, Some(root)) => vec![root.to_owned()],
                (0, None) => vec!["src/lib.rs".to_owned(), "src/main.rs".to_owned()],
                _ => vec![format!("{below}.rs"), format!("{below}/mod.rs")],
            };
            (files, test.to_vec())
        });
        Some(Self::Test(places.collect()))
    }

    fn is_same(&self, before: &Sources<'_>, other: &Self, after: &Sources<'_>) -> bool {
        match (self, other) {
            (Self::Test(was), Self::Test(is)) => {
                let (was, is) = (found(was, before), found(is, after));
                let pairs = was.iter().flat_map(|was| is.iter().map(move |is| (was, is)));
                // Several packages may have such a file: then all of them are to say the same.
                !was.is_empty() && !is.is_empty() && pairs.into_iter().all(|(was, is)| was.is_same(is))
            }
            (
                Self::Example { files, item, beside },
                Self::Example {
                    files: there,
                    item: name,
                    beside: alike,
                },
            ) => {
                let (was, is) = (told(files, item, before), told(there, name, after));
                let all_the_same = was
                    .iter()
                    .chain(&is)
                    .all(|own| !own.is_empty() && was.first() == Some(own));
                beside == alike && !was.is_empty() && !is.is_empty() && all_the_same
            }
            _ => false,
        }
    }
}

/// A source that holds a test of this name.
struct Found<'a> {
    language: Language,
    source: Vec<u8>,
    path: &'a [String],
}

impl Found<'_> {
    fn is_same(&self, other: &Self) -> bool {
        let (was, is) = (
            (self.source.as_slice(), self.path),
            (other.source.as_slice(), other.path),
        );
        self.language == other.language && syntax::is_same_test(self.language, was, is) == Ok(true)
    }
}

fn found<'a>(places: &'a [(Vec<String>, Vec<String>)], sources: &Sources<'_>) -> Vec<Found<'a>> {
    let mut found = Vec::new();
    for (files, path) in places {
        for file in sources.ending_with(files) {
            let (Some(language), Some(source)) = (Language::of(file), (sources.read)(file)) else {
                continue;
            };
            let tests = syntax::tests(language, &source)
                .map(|parsed| parsed.tests)
                .unwrap_or_default();
            if tests.iter().any(|test| test.path == *path) {
                found.push(Found { language, source, path });
            }
        }
    }
    found
}

/// The examples of a definition, by the files that could be meant.
fn told(files: &[String], item: &str, sources: &Sources<'_>) -> Vec<Vec<String>> {
    let paths = sources.ending_with(files).into_iter();
    let read = paths.filter_map(|path| Some((Language::of(path)?, (sources.read)(path)?)));
    read.map(|(language, source)| syntax::examples(language, &source, item).unwrap_or_default())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(id: &str) -> Vec<(Vec<String>, String)> {
        match Unit::of(id) {
            Some(Unit::Test(places)) => places
                .into_iter()
                .map(|(files, path)| (files, path.join("::")))
                .collect(),
            Some(Unit::Example { files, item, beside }) => vec![(files, format!("{item}|{beside}"))],
            None => Vec::new(),
        }
    }

    fn at(files: &[&str], path: &str) -> (Vec<String>, String) {
        (files.iter().map(|file| (*file).to_owned()).collect(), path.to_owned())
    }

    #[test]
    fn a_members_name_tells_where_its_test_may_stand() {
        assert_eq!(
            files("calc src/lib.rs area::tests::adds"),
            [
                at(&["src/lib.rs"], "area::tests::adds"),
                at(&["src/area.rs", "src/area/mod.rs"], "tests::adds"),
                at(&["src/area/tests.rs", "src/area/tests/mod.rs"], "adds"),
            ]
        );
        assert_eq!(
            files("doc-tests calc src/sums.rs - sums::sum"),
            [at(&["src/sums.rs"], "sum|")]
        );
        assert_eq!(
            files("src/lib.rs - sum - compile#2"),
            [at(&["src/lib.rs"], "sum|- compile#2")]
        );
        assert_eq!(
            files("shop/price.py::shop.price.Till.total"),
            [at(&["shop/price.py"], "total|")]
        );
        assert_eq!(files("src/a.ts > max > of one"), [at(&["src/a.ts"], "max::of one")]);
        assert_eq!(files("tests/test_price.py::test_total"), []);
    }

    const TESTS: &str =
        "#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn adds() { assert_eq!(add(1), 2); }\n}\n";

    /// What `id` of these files is called once it is `now` in those.
    fn renamed(before: &[(&str, &str)], after: &[(&str, &str)], id: &str, now: &[&str]) -> Vec<String> {
        let [before, after] = [before, after].map(|files| Sources {
            paths: files.iter().map(|(path, _)| *path).collect(),
            read: Box::new(|wanted: &str| {
                let found = files.iter().find(|(path, _)| *path == wanted);
                found.map(|(_, text)| text.as_bytes().to_vec())
            }),
        });
        paired(&[id], now, &before, &after).into_keys().collect()
    }

    #[test]
    fn a_test_that_moved_with_its_module_is_the_member_that_it_was() {
        let (old, new) = ("calc src/lib.rs tests::adds", "calc src/lib.rs area::tests::adds");
        let before = [("calc/src/lib.rs", TESTS)];
        let after = [("calc/src/lib.rs", "mod area;\n"), ("calc/src/area.rs", TESTS)];
        assert_eq!(renamed(&before, &after, old, &[new]), [new]);
        let gutted = TESTS.replace("add(1), 2", "2, 2");
        let after = [("calc/src/area.rs", gutted.as_str())];
        assert_eq!(renamed(&before, &after, old, &[new]), [""; 0]);
    }

    #[test]
    fn a_member_that_could_have_become_two_or_is_read_from_two_sources_became_neither() {
        let before = [("src/lib.rs", TESTS)];
        let after = [("src/area.rs", TESTS), ("src/zone.rs", TESTS)];
        let now = ["calc src/lib.rs area::tests::adds", "calc src/lib.rs zone::tests::adds"];
        assert_eq!(renamed(&before, &after, "calc src/lib.rs tests::adds", &now), [""; 0]);
        let gutted = TESTS.replace("add(1), 2", "2, 2");
        let twice = [("a/src/area.rs", TESTS), ("b/src/area.rs", gutted.as_str())];
        assert_eq!(
            renamed(&before, &twice, "calc src/lib.rs tests::adds", &now[..1]),
            [""; 0]
        );
    }

    #[test]
    fn an_example_moves_with_what_it_documents() {
        let python = "def total(x):\n    \"\"\"\n    >>> total(1)\n    1\n    \"\"\"\n    return x\n";
        let (old, new) = ("price.py::price.total", "shop/sums.py::shop.sums.total");
        assert_eq!(
            renamed(&[("price.py", python)], &[("shop/sums.py", python)], old, &[new]),
            [new]
        );
        let other = python.replace("    1\n", "    2\n");
        assert_eq!(
            renamed(&[("price.py", python)], &[("shop/sums.py", &other)], old, &[new]),
            [""; 0]
        );
        let rust = "/// ```\n/// assert_eq!(calc::sum(), 1);\n/// ```\npub fn sum() {}\n";
        let (old, new) = (
            "doc-tests calc src/lib.rs - sum",
            "doc-tests calc src/sums.rs - sums::sum",
        );
        assert_eq!(
            renamed(&[("src/lib.rs", rust)], &[("src/sums.rs", rust)], old, &[new]),
            [new]
        );
    }

    #[test]
    fn the_last_name_is_what_stays_when_a_product_moves() {
        for (id, name) in [
            ("calc src/lib.rs area::tests::adds", "adds"),
            ("src/lib.rs - sum", "sum"),
            ("doc-tests calc src/sums.rs - sums::sum - compile", "sum - compile"),
            ("shop/price.py::shop.price.total", "total"),
            ("src/a.ts > max > of one", "of one"),
        ] {
            assert_eq!(last_name(id), name, "{id}");
        }
    }
}
