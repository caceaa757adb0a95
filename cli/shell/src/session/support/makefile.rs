//! Files that a makefile includes: they are read as a part of it.

use std::collections::BTreeSet;

use super::{Found, Project, directory, joined};

const NAMES: &[&str] = &["GNUmakefile", "Makefile", "makefile"];
const WORDS: &[&str] = &["include", "-include", "sinclude"];

/// What makefiles include, and what that includes. Names that make computes are not followed.
pub(super) fn find(project: &Project, found: &mut Found) {
    let is_makefile = |path: &&String| NAMES.contains(&path.rsplit('/').next().unwrap_or(path));
    let mut todo: Vec<(String, String)> = project
        .files
        .iter()
        .filter(is_makefile)
        .map(|path| (directory(path).to_owned(), path.clone()))
        .collect();
    let mut read = BTreeSet::new();
    // make looks for them from where it was started, whoever includes them.
    while let Some((dir, path)) = todo.pop() {
        if !read.insert(path.clone()) {
            continue;
        }
        let text = project.text_of(&path);
        for name in included(&text) {
            let Some(file) = joined(&dir, name).filter(|file| project.has(file)) else {
                continue;
            };
            found.decides(&file);
            todo.push((dir.clone(), file));
        }
    }
}

fn included(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    lines.flat_map(|line| {
        let mut words = line.split_whitespace();
        let includes = words.next().is_some_and(|word| WORDS.contains(&word));
        words.filter(move |word| includes && !word.contains(['$', '*', '?']))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;

    #[test]
    fn what_a_makefile_includes_decides_like_it() {
        let files = [
            (
                "Makefile",
                "include config.mk  # settings\n-include $(DEPS) local.mk\ntest:\n\tpytest\n",
            ),
            ("config.mk", "PYTHON = python3\ninclude deep/more\n"),
            ("deep/more", "X = 1\n"),
            ("other.mk", "include config.mk\n"),
            ("sub/Makefile", "sinclude rules\n"),
            ("sub/rules", ""),
        ];
        assert_eq!(found(&files).1, ["/config.mk", "/deep/more", "/sub/rules"]);
    }
}
