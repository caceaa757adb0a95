//! Which files the members of a measurement were collected from, whatever those files are called.
//!
//! Every runner can be told to look for tests elsewhere than where its convention says, and an agent that may edit what
//! is collected there can make it say anything. A member's identity begins with its file, or with the module that it is
//! in; several paths are given where it could be any of them, and whoever asks keeps those that exist.

use std::collections::BTreeSet;

use engine::event::id::Bytes;

/// Suffixes of sources that hold nothing but tests where tests are collected from them by file.
const SOURCES: &[&str] = &["cjs", "js", "jsx", "mjs", "php", "py", "rb", "ts", "tsx"];

/// More modules than this within modules are no path of a source.
const MODULES_MAX: usize = 16;

/// Paths, relative to the workdir, of the files that these members come from.
pub fn files<'a>(ids: impl Iterator<Item = &'a str>) -> BTreeSet<Bytes> {
    let mut files = BTreeSet::new();
    for id in ids {
        let (suite, case) = parted(id);
        if is_source(suite) {
            if !is_doctest(suite, case) {
                files.insert(bytes(suite));
            }
        } else if case.is_empty() {
            files.extend(modules(suite).map(|path| bytes(&path)));
        }
    }
    files
}

fn bytes(path: &str) -> Bytes {
    Bytes(path.trim_start_matches("./").as_bytes().to_vec())
}

/// What names the file, and the rest.
fn parted(id: &str) -> (&str, &str) {
    let marks = ["::", " > "];
    let first = marks
        .iter()
        .filter_map(|mark| id.split_once(mark))
        .min_by_key(|(suite, _)| suite.len());
    first.unwrap_or((id, ""))
}

fn is_source(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let suffix = name.rsplit_once('.').map(|(_, suffix)| suffix);
    suffix.is_some_and(|suffix| SOURCES.contains(&suffix)) && !path.starts_with('/') && !path.contains("..")
}

/// An example in the documentation of a module: `shop/price.py::shop.price.total`. Its file is the product.
fn is_doctest(suite: &str, case: &str) -> bool {
    let path = suite.trim_end_matches(".py");
    let module = path.strip_suffix("/__init__").unwrap_or(path).replace('/', ".");
    let name = module.rsplit('.').next().unwrap_or(&module);
    [module.as_str(), name].iter().any(|module| {
        case.strip_prefix(module)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// The modules that a dotted name may begin with: `checks.price.TotalTest.test_one` is in `checks/price.py`.
fn modules(name: &str) -> impl Iterator<Item = String> {
    let words: Vec<&str> = name.split('.').collect();
    let fits = words.len() > 2
        && words.len() <= MODULES_MAX
        && words
            .iter()
            .all(|word| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_'));
    let most = if fits { words.len() - 2 } else { 0 };
    (1..=most).map(move |count| format!("{}.py", words[..count].join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(id: &str) -> Vec<String> {
        files([id].into_iter()).iter().map(Bytes::text).collect()
    }

    #[test]
    fn a_member_leads_to_its_file() {
        for (id, file) in [
            ("price_checks.py::test_total", "price_checks.py"),
            ("checks/price.py::Total::test_one[a::b > c]", "checks/price.py"),
            ("lib/sum.mjs > adds > twice", "lib/sum.mjs"),
            ("./spec/sum.rb > adds", "spec/sum.rb"),
            ("slug_checks.SlugTest.test_lower", "slug_checks.py"),
        ] {
            assert_eq!(of(id), [file], "{id}");
        }
        // Examples in the documentation of a module, or of a package.
        for id in ["shop/price.py::shop.price.total", "shop/__init__.py::shop.total"] {
            assert!(of(id).is_empty(), "{id}");
        }
        assert_eq!(of("checks.price.Total.test_one"), ["checks.py", "checks/price.py"]);
    }

    #[test]
    fn what_is_no_file_of_tests_is_not_made_one() {
        for id in [
            "shop/price.py::shop.price.total",
            "shop/price.py::price",
            "tests::adds",
            "crate::tests::adds",
            "/outside/a.py::test",
            "../outside/a.py::test",
            "adds",
            "it adds. always. everywhere",
            "ok 1.2.3",
        ] {
            assert_eq!(of(id), [""; 0], "{id}");
        }
    }
}
