//! What the rules of the last scan say of a path, whether or not anything is there.

use super::Tree;
use super::path::{ancestors, join, split};

impl Tree {
    /// Whether a scan would have left this path alone when the tree was last looked at: what an ignore file says now does
    /// not count, and neither does what was pinned.
    pub(crate) fn ignores(&self, path: &[u8]) -> bool {
        let prefix = self
            .reader
            .as_ref()
            .map_or(&b""[..], |r| r.repository().prefix.as_slice());
        let mut rules = self.known.dirs.get(&b""[..]).map_or(&self.rules, |dir| &dir.rules);
        let mut outermost_first: Vec<&[u8]> = ancestors(path).collect();
        outermost_first.reverse();
        for dir in outermost_first {
            if rules.ignore(&join(prefix, dir), true) || self.was_left_alone(dir) {
                return true;
            }
            rules = self.known.dirs.get(dir).map_or(rules, |dir| &dir.rules);
        }
        rules.ignore(&join(prefix, path), false) || self.was_left_alone(path)
    }

    fn was_left_alone(&self, path: &[u8]) -> bool {
        let (dir, name) = split(path);
        let dir = self.known.dirs.get(dir);
        dir.is_some_and(|dir| dir.ignored.iter().any(|(known, _)| known.to_bytes() == name))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::tree::Options;

    #[test]
    fn a_path_is_ignored_as_it_was_at_the_last_look_whatever_the_rules_say_now() {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().join("work");
        fs::create_dir_all(work.join("sub")).unwrap();
        fs::create_dir(work.join("env")).unwrap();
        fs::write(work.join(".gitignore"), "env/\n*.key\n").unwrap();
        fs::write(work.join("sub/.gitignore"), "!kept.key\nown\n").unwrap();
        let mut tree = Tree::open(&work, &dir.path().join("state"), Options::default()).unwrap();
        tree.scan().unwrap();
        fs::write(work.join(".gitignore"), "").unwrap();
        for ignored in ["env", "env/bin/new", "a.key", "sub/own", "sub/deep/b.key"] {
            assert!(tree.ignores(ignored.as_bytes()), "{ignored}");
        }
        for seen in ["a", "sub/kept.key", "own", "sub/x"] {
            assert!(!tree.ignores(seen.as_bytes()), "{seen}");
        }
    }
}
