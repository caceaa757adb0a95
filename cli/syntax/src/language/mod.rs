//! The languages, one file each, and the one list of them.

#[cfg(feature = "go")]
mod go;
#[cfg(feature = "java")]
mod java;
#[cfg(any(feature = "javascript", feature = "typescript"))]
mod javascript;
#[cfg(feature = "python")]
mod python;
#[cfg(feature = "rust")]
mod rust;
#[cfg(feature = "typescript")]
mod typescript;

use std::fmt;

use crate::grammar::Grammar;

/// A language that this build can read.
#[derive(Clone, Copy)]
pub struct Language {
    pub name: &'static str,
    /// How the names of its files end, behind the last dot.
    pub extensions: &'static [&'static str],
    /// Bytes of which one stands in every file that holds tests and is no file of tests by its name; empty where tests
    /// have files of their own.
    pub in_source: &'static [&'static str],
    pub(crate) grammar: &'static Grammar,
}

/// Every language of this build, in alphabetical order.
const ALL: &[Language] = &[
    #[cfg(feature = "go")]
    Language {
        name: "go",
        extensions: &["go"],
        in_source: &[],
        grammar: &go::GRAMMAR,
    },
    #[cfg(feature = "java")]
    Language {
        name: "java",
        extensions: &["java"],
        in_source: &[],
        grammar: &java::GRAMMAR,
    },
    #[cfg(feature = "javascript")]
    Language {
        name: "javascript",
        extensions: &["js", "jsx", "mjs", "cjs"],
        in_source: &[],
        grammar: &javascript::GRAMMAR,
    },
    #[cfg(feature = "python")]
    Language {
        name: "python",
        extensions: &["py"],
        in_source: &[],
        grammar: &python::GRAMMAR,
    },
    #[cfg(feature = "rust")]
    Language {
        name: "rust",
        extensions: &["rs"],
        in_source: &["test]", "case]", "cfg(test", "test(", "case("],
        grammar: &rust::GRAMMAR,
    },
    #[cfg(feature = "typescript")]
    Language {
        name: "tsx",
        extensions: &["tsx"],
        in_source: &[],
        grammar: &typescript::TSX,
    },
    #[cfg(feature = "typescript")]
    Language {
        name: "typescript",
        extensions: &["ts", "mts", "cts"],
        in_source: &[],
        grammar: &typescript::GRAMMAR,
    },
];

impl Language {
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.iter().copied()
    }

    /// The language of a path, by its extension.
    pub fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next()?;
        let (stem, extension) = name.rsplit_once('.')?;
        let known = ALL.iter().find(|language| language.extensions.contains(&extension))?;
        (!stem.is_empty()).then_some(*known)
    }
}

impl fmt::Debug for Language {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name)
    }
}

impl PartialEq for Language {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Language {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_stand_in_alphabetical_order_and_share_no_extension() {
        assert!(ALL.windows(2).all(|pair| pair[0].name < pair[1].name));
        let mut seen: Vec<&str> = ALL.iter().flat_map(|language| language.extensions).copied().collect();
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), count);
    }

    #[test]
    fn a_path_has_the_language_of_its_extension_and_hidden_names_have_none() {
        assert_eq!(Language::of("src/a.test.ts").map(|l| l.name), Some("typescript"));
        assert_eq!(Language::of("a.py").map(|l| l.name), Some("python"));
        assert_eq!(Language::of(".py"), None);
        assert_eq!(Language::of("Makefile"), None);
    }
}
