//! Which file of the tree a name in a report means.
//!
//! Tools write absolute paths, paths below a directory that the check went into, and paths below the name of a module.
//! A name that could mean several files means none.

use std::collections::HashMap;

/// The files of a tree.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Absolute path of the tree, without a slash at its end.
    root: String,
    paths: HashMap<String, ()>,
    /// Paths by their last part.
    by_file: HashMap<String, Vec<String>>,
}

impl Names {
    pub fn new<'a>(root: &str, paths: impl Iterator<Item = &'a str>) -> Self {
        let mut names = Self {
            root: root.trim_end_matches('/').to_owned(),
            ..Self::default()
        };
        for path in paths {
            let file = path.rsplit('/').next().unwrap_or(path);
            names.by_file.entry(file.to_owned()).or_default().push(path.to_owned());
            names.paths.insert(path.to_owned(), ());
        }
        names
    }

    /// The path in the tree.
    pub(super) fn find(&self, name: &str) -> Option<&str> {
        let name = name.strip_prefix("file://").unwrap_or(name);
        let below = name
            .strip_prefix(self.root.as_str())
            .and_then(|rest| rest.strip_prefix('/'));
        let below = below.filter(|_| !self.root.is_empty());
        if name.starts_with('/') && below.is_none() {
            return None;
        }
        let plain = plain(below.unwrap_or(name))?;
        if let Some((known, ())) = self.paths.get_key_value(&plain) {
            return Some(known);
        }
        // An absolute path says all there is to say.
        if below.is_some() {
            return None;
        }
        self.below_a_module(&plain).or_else(|| self.below_a_directory(&plain))
    }

    /// `example.com/module/a/b.go`, with what stands in front of the tree's own path taken away.
    fn below_a_module(&self, name: &str) -> Option<&str> {
        let mut rest = name;
        while let Some((_, shorter)) = rest.split_once('/') {
            if let Some((known, ())) = self.paths.get_key_value(shorter) {
                return Some(known);
            }
            rest = shorter;
        }
        None
    }

    /// `b.py`, where the check went into the one directory that has it.
    fn below_a_directory(&self, name: &str) -> Option<&str> {
        let file = name.rsplit('/').next()?;
        let ends = |path: &&String| path.strip_suffix(name).is_some_and(|front| front.ends_with('/'));
        let mut fitting = self.by_file.get(file)?.iter().filter(ends);
        let only = fitting.next()?;
        fitting.next().is_none().then_some(only)
    }
}

/// Without `.` and `..`; none where it leads out.
fn plain(name: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_a_file_of_the_tree_by_every_way_that_tools_write_it() {
        let names = Names::new(
            "/w/copy",
            ["money.py", "pkg/a.go", "web/src/b.js", "api/src/c.js"].into_iter(),
        );
        for (name, path) in [
            ("money.py", "money.py"),
            ("./pkg/../money.py", "money.py"),
            ("/w/copy/pkg/a.go", "pkg/a.go"),
            ("file:///w/copy/money.py", "money.py"),
            ("example.com/shop/pkg/a.go", "pkg/a.go"),
            ("src/b.js", "web/src/b.js"),
        ] {
            assert_eq!(names.find(name), Some(path), "{name}");
        }
    }

    #[test]
    fn what_lies_elsewhere_or_could_be_several_files_is_none() {
        let names = Names::new("/w/copy", ["a/x.js", "b/x.js", "c.js"].into_iter());
        for name in [
            "x.js",
            "/etc/c.js",
            "/w/copy2/c.js",
            "../c.js",
            "a/../../c.js",
            "/w/copy/z/c.js",
            "",
            "/",
        ] {
            assert_eq!(names.find(name), None, "{name}");
        }
    }
}
