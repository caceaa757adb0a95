//! Files that are the product and hold tests which were collected from them (SPEC 5.4.10).
//!
//! ```text
//!   collected files --> those that mark their tests, or that the product loads --> their tests as they are at t0
//! ```
//!
//! Such a file is the work: what is protected of it are its tests. Which files these are is settled at t0, when nobody
//! has worked yet.

use std::collections::{BTreeMap, BTreeSet};

use engine::event::id::{Bytes, Digest};
use engine::event::measurement::SurfaceClass;
use engine::event::policy::GuardPolicy;
use engine::guard::surface;
use serde::{Deserialize, Serialize};
use syntax::{Body, Language};

use super::in_source::InSource;
use crate::tree::{Entry, Kind};

/// Longer sources are nothing that a person wrote.
const SOURCE_MAX_BYTES: u64 = 1 << 20;

/// Reads content by its digest, or says why not.
pub(super) type Content<'c> = &'c dyn Fn(&[u8; 32]) -> Result<Vec<u8>, String>;

/// The files that members of t0 were collected from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Suites {
    files: BTreeSet<Bytes>,
    /// Those of them that are the product as well.
    shared: BTreeMap<Bytes, Held>,
    /// Sources that hold members and are no file of tests for it.
    #[serde(default)]
    in_source: InSource,
}

/// The tests of one such file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Held {
    /// Of the whole file.
    content: Digest,
    tests: BTreeMap<String, Vec<Digest>>,
    around: Option<Digest>,
}

impl Suites {
    pub(super) fn new(files: BTreeSet<Bytes>) -> Self {
        Self {
            files,
            ..Self::default()
        }
    }

    /// Whether tests were collected from this file.
    pub(super) fn holds(&self, path: &Bytes) -> bool {
        self.files.contains(path)
    }

    /// Whether it holds tests and is nothing else.
    pub(super) fn is_suite(&self, path: &Bytes) -> bool {
        self.files.contains(path) && !self.shared.contains_key(path)
    }

    /// Why a path is watched, if it is.
    pub(super) fn class(&self, policy: &GuardPolicy, path: &Bytes) -> Option<(SurfaceClass, String)> {
        if self.is_suite(path) {
            surface::classify_collected(policy, &path.0)
        } else {
            surface::classify(policy, &path.0)
        }
    }

    /// Tells the product from the tests, by what the tree of t0 holds. What cannot be read stays a file of tests.
    pub(super) fn settle(&mut self, entries: &[Entry], policy: &GuardPolicy, members: &[&str], content: Content<'_>) {
        let documented = self.documented(entries, policy, members, content);
        self.files.retain(|path| !documented.contains(path));
        let product = sources(entries).filter(|entry| {
            let path = Bytes(entry.path.clone());
            !self.holds(&path) && is_unnamed(policy, &entry.path)
        });
        self.in_source = InSource::settle(product, members, &documented, content);
        let own = |entry: &&Entry| self.files.contains(&Bytes(entry.path.clone())) && is_unnamed(policy, &entry.path);
        let candidates: Vec<&Entry> = sources(entries).filter(own).collect();
        if candidates.is_empty() {
            return;
        }
        let product = |entry: &&Entry| !self.holds(&Bytes(entry.path.clone())) && is_unnamed(policy, &entry.path);
        let mut loaded = BTreeSet::new();
        if candidates.iter().any(|entry| entry.path.ends_with(b".py")) {
            for entry in sources(entries)
                .filter(product)
                .filter(|entry| entry.path.ends_with(b".py"))
            {
                loaded.extend(content(&entry.digest).iter().flat_map(|bytes| modules(bytes)));
            }
        }
        let held = |entry: &&Entry| {
            let bytes = content(&entry.digest).ok()?;
            let held = Held::of(&entry.path, entry.digest, &bytes).filter(|held| !held.tests.is_empty())?;
            (held.around.is_some() || names(&entry.path).iter().any(|name| loaded.contains(name)))
                .then(|| (Bytes(entry.path.clone()), held))
        };
        self.shared = candidates.iter().filter_map(held).collect();
    }

    /// Modules of Python without a test of their own, which members lead to that are called after examples: by unittest an
    /// example of a method has the name that a test would have.
    fn documented(
        &self,
        entries: &[Entry],
        policy: &GuardPolicy,
        members: &[&str],
        content: Content<'_>,
    ) -> BTreeSet<Bytes> {
        let names: BTreeSet<&str> = members.iter().filter_map(|id| id.rsplit('.').next()).collect();
        let is_documented = |entry: &&Entry| {
            let own = self.files.contains(&Bytes(entry.path.clone())) && is_unnamed(policy, &entry.path);
            let python = own
                .then(|| Language::of(std::str::from_utf8(&entry.path).ok()?))
                .flatten();
            let Some((language, bytes)) = python.zip(content(&entry.digest).ok()) else {
                return false;
            };
            let has_none = syntax::tests(language, &bytes).is_ok_and(|parsed| parsed.tests.is_empty());
            has_none
                && syntax::examples_by_name(language, &bytes)
                    .is_ok_and(|examples| examples.keys().any(|name| names.contains(name.as_str())))
        };
        let found = sources(entries)
            .filter(|entry| entry.path.ends_with(b".py"))
            .filter(is_documented);
        found.map(|entry| Bytes(entry.path.clone())).collect()
    }

    /// Files of both kinds whose tests of t0 are other ones now. A test that is gone is named by its member.
    pub(super) fn rewritten(&self, entries: &[Entry], content: Content<'_>) -> Vec<Bytes> {
        let entry = |path: &Bytes| {
            let at = entries.binary_search_by(|entry| entry.path.cmp(&path.0)).ok()?;
            Some(&entries[at])
        };
        let differs = |(path, before): &(&Bytes, &Held)| {
            entry(path).is_some_and(|entry| {
                let now = || {
                    content(&entry.digest)
                        .ok()
                        .and_then(|bytes| Held::of(&path.0, entry.digest, &bytes))
                };
                before.content.0 != entry.digest && now().is_none_or(|now| !before.stands_in(&now))
            })
        };
        let shared = self.shared.iter().filter(differs).map(|(path, _)| path.clone());
        shared.chain(self.in_source.rewritten(entries, content)).collect()
    }
}

impl Held {
    fn of(path: &[u8], digest: [u8; 32], source: &[u8]) -> Option<Self> {
        let language = Language::of(std::str::from_utf8(path).ok()?)?;
        let parsed = syntax::tests(language, source).ok()?;
        let digest_of = |body: Body| Digest(body.0);
        let mut tests: BTreeMap<String, Vec<Digest>> = BTreeMap::new();
        for test in parsed.tests {
            let of_name = tests.entry(test.path.join("::")).or_default();
            of_name.push(digest_of(test.body));
            of_name.extend(test.parameters.into_iter().map(digest_of));
        }
        Some(Self {
            content: Digest(digest),
            tests,
            around: syntax::around(language, source).ok()?.map(digest_of),
        })
    }

    /// Each test that is still there is what it was, and so is what stands around them; where none is left, nothing has to.
    fn stands_in(&self, now: &Self) -> bool {
        let same = |(name, test): (&String, &Vec<Digest>)| now.tests.get(name).is_none_or(|now| now == test);
        let around = self.around == now.around || now.tests.is_empty() && now.around.is_none();
        around && self.tests.iter().all(same)
    }
}

/// Nobody watches it for its name.
fn is_unnamed(policy: &GuardPolicy, path: &[u8]) -> bool {
    !surface::test_source(path) && surface::classify(policy, path).is_none()
}

fn sources(entries: &[Entry]) -> impl Iterator<Item = &Entry> {
    entries
        .iter()
        .filter(|entry| entry.kind == Kind::File && entry.size <= SOURCE_MAX_BYTES)
}

/// Names of what the import statements of a Python source speak of.
fn modules(source: &[u8]) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(source);
    let imports = text.lines().map(str::trim_start);
    let imports = imports.filter(|line| line.starts_with("import ") || line.starts_with("from "));
    let words = imports.flat_map(|line| line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')));
    words
        .map(|word| word.trim_matches('.').to_owned())
        .filter(|word| !word.is_empty())
        .collect()
}

/// What a Python source may be called by an import: by its whole path, or within its package.
fn names(path: &[u8]) -> Vec<String> {
    let path = String::from_utf8_lossy(path);
    let Some(module) = path.strip_suffix(".py") else {
        return Vec::new();
    };
    let last = module.rsplit('/').next().unwrap_or(module);
    vec![module.replace('/', "."), last.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALC: &str = "def total(xs):\n    return sum(xs)\n\ndef test_total():\n    assert total([1]) == 1\n";

    fn entries(files: &[(&str, &str)]) -> Vec<Entry> {
        let entry = |(path, text): &(&str, &str)| Entry {
            path: (*path).into(),
            kind: Kind::File,
            mode: 0o644,
            size: text.len() as u64,
            digest: *blake3::hash(text.as_bytes()).as_bytes(),
        };
        files.iter().map(entry).collect()
    }

    fn content<'c>(files: &'c [(&str, &str)]) -> impl Fn(&[u8; 32]) -> Result<Vec<u8>, String> + 'c {
        |digest| {
            let found = files
                .iter()
                .find(|(_, text)| blake3::hash(text.as_bytes()).as_bytes() == digest);
            Ok(found.unwrap().1.as_bytes().to_vec())
        }
    }

    fn settled(files: &[(&str, &str)], collected: &str) -> Suites {
        let mut suites = Suites::new([Bytes::from(collected)].into());
        suites.settle(&entries(files), &GuardPolicy::default(), &[], &content(files));
        suites
    }

    fn is_suite(files: &[(&str, &str)], collected: &str) -> bool {
        settled(files, collected).is_suite(&Bytes::from(collected))
    }

    #[test]
    fn a_collected_file_that_the_product_loads_is_the_product_and_any_other_is_a_file_of_tests() {
        assert!(!is_suite(
            &[("app.py", "from calc import total\n"), ("calc.py", CALC)],
            "calc.py"
        ));
        assert!(!is_suite(
            &[("shop/app.py", "from . import calc\n"), ("shop/calc.py", CALC)],
            "shop/calc.py"
        ));
        assert!(is_suite(&[("calc.py", CALC)], "calc.py"));
        assert!(is_suite(
            &[("app.py", "TOTAL = 'calc'\n"), ("calc.py", CALC)],
            "calc.py"
        ));
        assert!(is_suite(
            &[("conftest.py", "import calc\n"), ("calc.py", CALC)],
            "calc.py"
        ));
        assert!(is_suite(
            &[("test_more.py", "import calc\n"), ("calc.py", CALC)],
            "calc.py"
        ));
        let broken = [("app.py", "import calc\n"), ("calc.py", "def test_a(:\n")];
        assert!(is_suite(&broken, "calc.py"));
    }

    #[test]
    fn a_script_that_asks_for_its_runner_is_the_product() {
        let marked = "export const f = 1;\nif (import.meta.vitest) { it('a', () => { expect(f).toBe(1); }); }\n";
        assert!(!is_suite(&[("a.ts", marked)], "a.ts"));
        assert!(is_suite(
            &[("a.ts", "it('a', () => { expect(f).toBe(1); });\n")],
            "a.ts"
        ));
        assert!(is_suite(&[("a.test.ts", marked)], "a.test.ts"));
    }

    #[test]
    fn a_module_whose_members_are_examples_is_the_product_and_its_examples_are_held() {
        let till = "class Till:\n    def total(self):\n        \"\"\"Adds.\n\n        >>> Till().total()\n        3\n        \"\"\"\n        return 2\n";
        let start = [("shop/price.py", till)];
        let mut suites = Suites::new([Bytes::from("shop/price.py")].into());
        let members = ["shop.price.Till.total"];
        suites.settle(&entries(&start), &GuardPolicy::default(), &members, &content(&start));
        assert!(!suites.holds(&Bytes::from("shop/price.py")));
        let rewritten = |text: &str| {
            let now = [("shop/price.py", text), ("before", till)];
            suites.rewritten(&entries(&now[..1]), &content(&now)).len()
        };
        assert_eq!(rewritten(&till.replace("return 2", "return 3")), 0);
        assert_eq!(rewritten(&till.replace("        3\n", "        2\n")), 1);
    }

    #[test]
    fn of_a_product_with_tests_the_tests_are_held_to_what_they_were() {
        let start = [("app.py", "import calc\n"), ("calc.py", CALC)];
        let suites = settled(&start, "calc.py");
        let rewritten = |text: &str| {
            let now = [("calc.py", text)];
            suites.rewritten(&entries(&now), &content(&now)).len()
        };
        assert_eq!(rewritten(CALC), 0);
        assert_eq!(rewritten(&CALC.replace("sum(xs)", "1")), 0);
        assert_eq!(
            rewritten(&format!("{CALC}\ndef test_more():\n    assert total([]) == 0\n")),
            0
        );
        assert_eq!(rewritten(&CALC.replace("== 1", "== 2")), 1);
        assert_eq!(rewritten("def test_total(:\n"), 1);
        // Whoever is gone is named by its member.
        assert_eq!(rewritten("def total(xs):\n    return sum(xs)\n"), 0);
    }
}
