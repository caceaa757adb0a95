//! Where in a suite a test of loopexec's own can stand, and after which of its tests it is called.

use std::fs;
use std::path::Path;

/// What is known of the suite in a copy.
pub(in crate::world::vet) struct Suite<'a> {
    pub(in crate::world::vet) copy: &'a Path,
    /// Files of the tree that were there at t0 too, by path.
    pub(in crate::world::vet) files: &'a [&'a str],
    /// Members that pass, those first that did not at t0.
    pub(in crate::world::vet) passing: &'a [&'a str],
}

/// A test in Python, as its id tells: its file, the class it stands in, and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Python {
    pub(super) path: String,
    pub(super) class: Option<String>,
    pub(super) name: String,
    /// One of several cases of the same function.
    pub(super) is_case: bool,
}

impl<'a> Suite<'a> {
    /// Members that are tests and stand for no container.
    fn tests(&self) -> impl Iterator<Item = &'a str> + Clone {
        self.passing.iter().copied().filter(|id| !id.starts_with('('))
    }

    /// Passing tests of pytest: `path::Class::name[case]`.
    pub(super) fn pytest(&self) -> impl Iterator<Item = (&'a str, Python)> {
        self.tests().filter_map(|id| {
            let (bare, is_case) = match id.split_once('[') {
                Some((bare, _)) => (bare, true),
                None => (id, false),
            };
            let (path, inner) = bare.split_once("::")?;
            let (class, name) = match inner.rsplit_once("::") {
                Some((class, name)) => (Some(class.replace("::", ".")), name),
                None => (None, inner),
            };
            let known = path.ends_with(".py") && self.files.contains(&path) && is_identifier(name);
            known.then(|| {
                let test = Python {
                    path: path.to_owned(),
                    class,
                    name: name.to_owned(),
                    is_case,
                };
                (id, test)
            })
        })
    }

    /// A module with an example in its documentation, and the last word of its name: `path::module.name`.
    pub(super) fn doctest(&self) -> Option<(String, String)> {
        self.tests().find_map(|id| {
            let (path, dotted) = id.split_once("::")?;
            let name = dotted.rsplit('.').next().filter(|name| is_identifier(name))?;
            let is_example = path.ends_with(".py") && dotted.contains('.') && self.files.contains(&path);
            is_example.then(|| (path.to_owned(), name.to_owned()))
        })
    }

    /// Passing tests of unittest: `module.Class.name`, or `__main__.Class.name` where the module is the program.
    pub(super) fn unittest(&self) -> impl Iterator<Item = (&'a str, Python)> {
        self.tests().filter_map(|id| {
            let (front, name) = id.rsplit_once('.')?;
            let (module, class) = front.rsplit_once('.')?;
            let path = self.module(front).or_else(|| {
                let program = module == "__main__";
                program.then(|| self.source_with(&format!("class {class}"))).flatten()
            })?;
            let test = Python {
                path,
                class: Some(class.to_owned()),
                name: name.to_owned(),
                is_case: false,
            };
            Some((id, test))
        })
    }

    /// The file of the module that a dotted name begins with.
    fn module(&self, dotted: &str) -> Option<String> {
        let mut name = dotted;
        loop {
            let path = format!("{}.py", name.replace('.', "/"));
            let below = format!("/{path}");
            let found = self.files.iter().find(|file| **file == path || file.ends_with(&below));
            if let Some(found) = found {
                return Some((*found).to_owned());
            }
            name = name.rsplit_once('.')?.0;
        }
    }

    /// A file of Python tests in which a line begins so.
    pub(super) fn source_with(&self, line: &str) -> Option<String> {
        let named = |path: &&&str| path.ends_with(".py") && path.contains("test");
        let begins = |path: &&&str| self.text(path).lines().any(|own| own.starts_with(line));
        self.files
            .iter()
            .filter(named)
            .find(begins)
            .map(|path| (*path).to_owned())
    }

    /// A test of Go, and the file that it stands in: `package TestName/case`.
    pub(super) fn go(&self) -> Option<(String, String)> {
        self.tests().find_map(|id| {
            let (package, name) = id.rsplit_once(' ')?;
            let name = name.split('/').next().filter(|name| name.starts_with("Test"))?;
            let is_own = |path: &&&str| {
                let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
                let below = dir.is_empty() || package == dir || package.ends_with(&format!("/{dir}"));
                path.ends_with("_test.go") && below && self.holds(path, &format!("func {name}("))
            };
            let path = self.files.iter().find(is_own)?;
            Some(((*path).to_owned(), name.to_owned()))
        })
    }

    /// The path of a test of Rust: the modules around it, and its name. Examples of documentation have none.
    pub(super) fn rust(&self) -> Option<(Vec<&'a str>, &'a str)> {
        self.tests().filter(|id| !id.contains(" - ")).find_map(|id| {
            let path = id.rsplit(' ').next()?;
            let mut words: Vec<&str> = path.split("::").collect();
            let plain = |word: &&str| is_identifier(word) && !["crate", "self", "super"].contains(word);
            let name = words.iter().all(plain).then(|| words.pop()).flatten()?;
            Some((words, name))
        })
    }

    /// A file of integration tests, one whose tests are known if there is one, or a new one beside the sources of the
    /// first package.
    pub(super) fn integration_test(&self) -> Option<String> {
        let is_test = |path: &&&str| path.ends_with(".rs") && path.split('/').rev().nth(1) == Some("tests");
        let runs = |path: &&&str| {
            let stem = path.rsplit('/').next().unwrap_or(path);
            self.tests().any(|id| id.contains(&format!("tests/{stem}")))
        };
        let tests = || self.files.iter().filter(is_test);
        if let Some(path) = tests().find(runs).or_else(|| tests().next()) {
            return Some((*path).to_owned());
        }
        let mut manifests: Vec<&str> = self
            .files
            .iter()
            .copied()
            .filter(|path| path.ends_with("Cargo.toml"))
            .collect();
        manifests.sort_by_key(|path| path.matches('/').count());
        let package = manifests.into_iter().find(|path| self.holds(path, "[package]"))?;
        let dir = package.trim_end_matches("Cargo.toml");
        fs::create_dir_all(self.copy.join(format!("{dir}tests"))).ok()?;
        Some(format!("{dir}tests/lxMARK.rs"))
    }

    /// A file of tests in JavaScript or TypeScript in which all of these stand, and the title of one of its tests.
    pub(super) fn script(&self, words: &[&str]) -> Option<(String, String)> {
        let is_script = |path: &&&str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            let ending = name.rsplit('.').next().unwrap_or_default();
            matches!(ending, "js" | "mjs" | "cjs" | "ts" | "mts" | "cts" | "jsx" | "tsx") && path.contains("test")
                || name.contains(".spec.")
        };
        let scripts = self.files.iter().filter(is_script);
        let fitting: Vec<&str> = scripts
            .copied()
            .filter(|path| words.iter().all(|word| self.holds(path, word)))
            .collect();
        let titled = self.tests().find_map(|id| {
            let own = id.split_once(" > ").filter(|(path, _)| fitting.contains(path));
            let (path, titles) = match own {
                Some(own) => own,
                None => {
                    let title = id.rsplit(" > ").next()?;
                    (fitting.iter().copied().find(|path| self.holds(path, title))?, id)
                }
            };
            let title = titles.replace(" > ", " ");
            let plain = !title.is_empty() && !title.contains(['\'', '\\', '\n', '\r']);
            plain.then(|| (path.to_owned(), title))
        });
        titled.or_else(|| Some(((*fitting.first()?).to_owned(), "it".to_owned())))
    }

    pub(super) fn is_module(&self, path: &str) -> bool {
        let import = |line: &str| line.starts_with("import ") || line.starts_with("export ");
        !path.ends_with(".cjs") && (path.ends_with(".mjs") || self.text(path).lines().any(import))
    }

    pub(super) fn holds(&self, path: &str, word: &str) -> bool {
        self.text(path).contains(word)
    }

    pub(super) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.copy.join(path)).unwrap_or_default()
    }
}

fn is_identifier(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && chars.all(|c| c.is_alphanumeric() || c == '_')
}
