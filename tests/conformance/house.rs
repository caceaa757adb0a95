//! The repository as its conformance tests read it: pages, and sources by the crate that they are built into.
//!
//! ```text
//!   cargo metadata ──targets──> crate roots ──`mod` lines──> every source that is built
//!   text ──comments and literals blanked──> code ──items under `cfg(test)` blanked──> product
//! ```
//!
//! Code keeps every byte offset of its text, so that a place in one is the same place in the other.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

pub(super) fn root() -> PathBuf {
    let cli = Path::new(env!("CARGO_MANIFEST_DIR"));
    cli.parent().expect("the package lies in the repository").to_path_buf()
}

pub(super) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}

pub(super) fn regenerate() -> bool {
    std::env::var_os("LOOPEXEC_REGENERATE").is_some_and(|value| value == "1")
}

pub(super) fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Every file below `dir`, in order, but for what `.gitignore` names and repositories of their own.
pub(super) fn files(dir: &Path) -> Vec<PathBuf> {
    let ignored = read(&root().join(".gitignore"));
    let ignored: Vec<_> = ignored.lines().map(|line| line.trim_matches('/')).collect();
    let mut found = Vec::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name == ".git" || ignored.iter().any(|ignored| name == **ignored) {
                continue;
            }
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let into = if is_dir { &mut open } else { &mut found };
            into.push(entry.path());
        }
    }
    found.sort();
    found
}

pub(super) fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut found = files(dir);
    found.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    found
}

/// The path from the root, as it stands in lists.
pub(super) fn name(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).to_string_lossy().into_owned()
}

/// What cargo says of the workspace; dependencies by name only, nothing resolved.
pub(super) fn packages() -> Vec<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let asked = ["metadata", "--no-deps", "--format-version", "1", "--offline"];
    let said = Command::new(cargo).args(asked).current_dir(root()).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let metadata: Value = serde_json::from_slice(&said.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// One source that is built into some crate.
pub(super) struct Source {
    /// From the root of the repository.
    pub(super) path: String,
    pub(super) text: String,
    /// The text without comments and literals.
    pub(super) code: String,
    /// Part of a library or a program, and not only of its tests.
    pub(super) is_product: bool,
}

impl Source {
    fn new(file: &Path, is_product: bool) -> Self {
        let text = read(file);
        Self {
            path: name(file),
            code: code(&text),
            text,
            is_product,
        }
    }

    /// The code that is shipped: nothing, for a source of tests.
    pub(super) fn product(&self) -> String {
        self.shipped(&self.code)
    }

    /// The same with its comments and literals.
    pub(super) fn product_text(&self) -> String {
        self.shipped(&self.text)
    }

    fn shipped(&self, form: &str) -> String {
        if self.is_product {
            without(form, &test_items(&self.code))
        } else {
            String::new()
        }
    }
}

/// Every source that a `mod` line reaches from the root of some crate, by path.
pub(super) fn sources() -> &'static BTreeMap<String, Source> {
    static SOURCES: OnceLock<BTreeMap<String, Source>> = OnceLock::new();
    SOURCES.get_or_init(find_sources)
}

fn find_sources() -> BTreeMap<String, Source> {
    let mut found = BTreeMap::new();
    for package in packages() {
        for target in package["targets"].as_array().unwrap() {
            let kind = target["kind"][0].as_str().unwrap();
            let file = PathBuf::from(target["src_path"].as_str().unwrap());
            let file = file.canonicalize().unwrap_or(file);
            let dir = file.parent().unwrap().to_path_buf();
            collect(&file, &dir, ["lib", "bin"].contains(&kind), &mut found);
        }
    }
    found
}

/// Takes in a file and the files of its modules, which lie in `dir`.
fn collect(file: &Path, dir: &Path, is_product: bool, found: &mut BTreeMap<String, Source>) {
    let known = found
        .get(&name(file))
        .is_some_and(|source| source.is_product >= is_product);
    if known || !file.is_file() {
        return;
    }
    let source = Source::new(file, is_product);
    let modules = modules(&source);
    found.insert(source.path.clone(), source);
    for module in modules {
        let is_product = is_product && !module.is_test;
        if let Some(path) = module.path {
            let file = file.parent().unwrap().join(path);
            collect(&file, file.parent().unwrap(), is_product, found);
            continue;
        }
        let dir = dir.join(&module.name);
        collect(&dir.with_extension("rs"), &dir, is_product, found);
        collect(&dir.join("mod.rs"), &dir, is_product, found);
    }
}

/// A `mod name;` line.
#[derive(Debug, PartialEq)]
struct Module {
    /// The folders of inline modules around it included.
    name: String,
    /// What a `path` attribute says.
    path: Option<String>,
    is_test: bool,
}

fn modules(source: &Source) -> Vec<Module> {
    let Source { code, text, .. } = source;
    let mut found = Vec::new();
    // Names of the braces that are open; empty for those of no module.
    let mut around: Vec<(&str, bool)> = Vec::new();
    let (mut item, mut at) = (0, 0);
    while let Some(step) = code[at..].find(['{', '}', ';']) {
        let end = at + step;
        let head = &code[item..end];
        let named = head
            .rsplit_once("mod ")
            .filter(|(before, _)| !before.ends_with(is_word));
        let named = named
            .map(|(_, name)| name.trim())
            .filter(|name| name.chars().all(is_word));
        let is_test = head.contains("#[cfg(test)]") || around.iter().any(|(_, is_test)| *is_test);
        match code.as_bytes()[end] {
            b'{' => around.push((named.unwrap_or(""), is_test)),
            b'}' => drop(around.pop()),
            _ => found.extend(named.map(|name| {
                let folders = around.iter().map(|(name, _)| *name).filter(|name| !name.is_empty());
                let attribute = text[item..end].split_once("#[path = \"");
                Module {
                    name: folders.chain([name]).collect::<Vec<_>>().join("/"),
                    path: attribute.and_then(|(_, rest)| Some(rest.split_once('"')?.0.to_owned())),
                    is_test,
                }
            })),
        }
        (item, at) = (end + 1, end + 1);
    }
    found
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Whether the code uses this name or path as such, and not as a part of a longer word.
pub(super) fn mentions(code: &str, needle: &str) -> bool {
    let opens = needle.starts_with(is_word);
    let closes = needle.ends_with(is_word);
    code.match_indices(needle).any(|(at, _)| {
        let inside = opens && code[..at].ends_with(is_word);
        let goes_on = closes && code[at + needle.len()..].starts_with(is_word);
        !inside && !goes_on
    })
}

/// The text with comments and the insides of literals blanked.
pub(super) fn code(text: &str) -> String {
    let mut out = text.as_bytes().to_vec();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let after_word = text[..at].ends_with(is_word);
        let (length, keep) = match bytes[at] {
            b'/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), 0),
            b'/' if rest.starts_with("/*") => (block_comment(rest), 0),
            b'r' if !after_word || text[..at].ends_with('b') => (raw_string(rest), 1),
            b'"' => (quoted(rest), 1),
            b'\'' => (character(rest), 1),
            _ => (0, 0),
        };
        for byte in out.iter_mut().skip(at + keep).take(length.saturating_sub(2 * keep)) {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at += length.max(rest.chars().next().map_or(1, char::len_utf8));
    }
    String::from_utf8(out).expect("whole characters were blanked")
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while let Some(step) = text[at..].find(['/', '*']) {
        at += step;
        let (change, length) = match &text[at..] {
            rest if rest.starts_with("/*") => (1, 2),
            rest if rest.starts_with("*/") => (-1, 2),
            _ => (0, 1),
        };
        depth += change;
        at += length;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// The length of a raw string that begins here; 0 when none does.
fn raw_string(text: &str) -> usize {
    let hashes = text[1..].bytes().take_while(|byte| *byte == b'#').count();
    if text.as_bytes().get(1 + hashes) != Some(&b'"') {
        return 0;
    }
    let close = format!("\"{}", "#".repeat(hashes));
    let body = 2 + hashes;
    text[body..]
        .find(&close)
        .map_or(text.len(), |end| body + end + close.len())
}

fn quoted(text: &str) -> usize {
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => drop(letters.next()),
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a character literal; 1 for the tick of a lifetime.
fn character(text: &str) -> usize {
    let mut letters = text.char_indices().skip(1);
    match letters.next() {
        Some((_, '\\')) => text[3..].find('\'').map_or(1, |end| 3 + end + 1),
        Some((at, letter)) if text[at + letter.len_utf8()..].starts_with('\'') => at + letter.len_utf8() + 1,
        _ => 1,
    }
}

/// Where the items stand that only tests see.
fn test_items(code: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(step) = ["#[cfg(test)]", "#[cfg(all(test,", "#[cfg(any(test,"]
        .iter()
        .filter_map(|attribute| code[at..].find(attribute))
        .min()
    {
        let begin = at + step;
        at = begin + item_length(&code[begin..]);
        found.push(begin..at);
    }
    found
}

/// The text without these ranges; its lines stay where they are.
fn without(text: &str, ranges: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for range in ranges {
        out.push_str(&text[at..range.start]);
        out.extend(text[range.clone()].chars().filter(|letter| *letter == '\n'));
        at = range.end;
    }
    out + &text[at..]
}

fn item_length(item: &str) -> usize {
    let mut depth = 0_usize;
    for (at, letter) in item.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth <= 1 => return at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    item.len()
}

#[test]
fn comments_and_literals_are_no_code() {
    let text = "a // b\n/* c /* d */ e */ f(\"g \\\" h\", r#\"i\" j\"#, 'k', '\\'', b\"l\") as &'m str";
    let code = code(text);
    assert_eq!(code.len(), text.len());
    let words: Vec<_> = code
        .split(|c: char| !is_word(c))
        .filter(|word| !word.is_empty())
        .collect();
    assert_eq!(words, ["a", "f", "r", "b", "as", "m", "str"]);
}

#[test]
fn what_only_tests_see_is_no_product() {
    let source = "fn a() {}\n#[cfg(test)]\nuse b::C;\n#[cfg(test)]\nmod tests {\n fn d() { if e {} }\n}\nfn f() {}\n";
    let product = without(source, &test_items(source));
    let kept: Vec<_> = product.lines().filter(|line| !line.trim().is_empty()).collect();
    assert_eq!(kept, ["fn a() {}", "fn f() {}"]);
}

#[test]
fn a_longer_word_is_another_word() {
    assert!(mentions("x = std::fs", "std::"));
    assert!(!mentions("x = my_std::fs", "std::"));
    assert!(mentions("println!()", "println!"));
    assert!(!mentions("eprintln!()", "println!"));
    assert!(!mentions("f640", "f64"));
}

#[test]
fn modules_are_found_in_inline_modules_and_by_attribute() {
    let text =
        "mod a;\npub(crate) mod b {\n fn f() {}\n mod c;\n}\n#[path = \"x/y.rs\"]\nmod d;\n#[cfg(test)]\nmod e;\n";
    let source = Source {
        path: String::new(),
        text: text.into(),
        code: code(text),
        is_product: true,
    };
    let found: Vec<_> = modules(&source)
        .into_iter()
        .map(|module| (module.name, module.path, module.is_test))
        .collect();
    let plain = |name: &str| (name.to_owned(), None, false);
    assert_eq!(
        found,
        [
            plain("a"),
            plain("b/c"),
            ("d".into(), Some("x/y.rs".into()), false),
            ("e".into(), None, true)
        ]
    );
}
