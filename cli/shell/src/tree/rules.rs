//! Which files git would ignore, decided here and never by git.
//!
//! Rules form a chain: the `.gitignore` of a directory is asked before that of its parent, and
//! `.git/info/exclude` last of all; the first that has an opinion wins. The user's global excludes are
//! not asked, so that a tree means the same on every machine. `info/exclude` is read once, when the tree
//! is opened: it lies in `.git`, where a change must not be able to hide a file from a later scan.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::beneath::open_file_at;
use super::path::{join, os};
use super::stat::Sig;

/// Larger ignore files are not read: their files are then seen rather than hidden.
pub(super) const LARGEST_BYTES: u64 = 4 << 20;

/// The rules in force in one directory.
#[derive(Debug)]
pub(crate) struct Rules {
    parent: Option<Arc<Self>>,
    own: Gitignore,
    /// What the rules were compiled from, to tell a touched file from a changed one.
    text: Vec<u8>,
}

impl Rules {
    /// The rules of `info/exclude` (or none), in force everywhere.
    pub(crate) fn outermost(exclude: &[u8]) -> Arc<Self> {
        Arc::new(Self {
            parent: None,
            own: compile(b"", exclude),
            text: exclude.to_vec(),
        })
    }

    /// Adds the text of a `.gitignore`. `dir` is relative to the top of the repository.
    pub(crate) fn within(self: &Arc<Self>, dir: &[u8], text: Vec<u8>) -> Arc<Self> {
        let own = compile(dir, &text);
        if own.is_empty() {
            self.clone()
        } else {
            Arc::new(Self {
                parent: Some(self.clone()),
                own,
                text,
            })
        }
    }

    /// True when these rules are `parent` with this very text added.
    pub(crate) fn is_within(&self, parent: &Arc<Self>, text: &[u8]) -> bool {
        self.parent.as_ref().is_some_and(|p| Arc::ptr_eq(p, parent)) && self.text == text
    }

    /// True when git would ignore this path (relative to the top of the repository), given that none of
    /// the directories above it is ignored.
    pub(crate) fn ignore(&self, path: &[u8], is_dir: bool) -> bool {
        let mut rules = Some(self);
        while let Some(level) = rules {
            match level.own.matched(os(path), is_dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => rules = level.parent.as_deref(),
            }
        }
        false
    }

    /// True when nothing can be ignored.
    pub(crate) fn are_empty(&self) -> bool {
        self.own.is_empty() && self.parent.as_ref().is_none_or(|p| p.are_empty())
    }
}

fn compile(dir: &[u8], text: &[u8]) -> Gitignore {
    let mut builder = GitignoreBuilder::new(PathBuf::from(os(dir)));
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    for line in text.split(|b| *b == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // A pattern that is not UTF-8 or not valid hides nothing: its files are seen.
        if let Ok(line) = std::str::from_utf8(line) {
            let _ = builder.add_line(None, line);
        }
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Reads the `.gitignore` of an open directory. A link is not followed (nor does git), and an unreadable
/// or oversized one ignores nothing.
pub(crate) fn read_ignore_file(dir: BorrowedFd<'_>) -> Option<(Sig, Vec<u8>)> {
    let fd = open_file_at(dir, ".gitignore").ok()?;
    let sig = Sig::of(&rustix::fs::fstat(&fd).ok()?);
    if sig.size > LARGEST_BYTES || sig.kind().is_none() {
        return None;
    }
    Some((sig, read_all(fd).ok()?))
}

fn read_all(fd: std::os::fd::OwnedFd) -> Result<Vec<u8>, Errno> {
    let mut text = Vec::new();
    let file = std::fs::File::from(fd);
    std::io::Read::read_to_end(&mut std::io::Read::take(file, LARGEST_BYTES), &mut text)
        .map_err(|e| super::error::errno_of(&e))?;
    Ok(text)
}

/// The rules of the directories between the top of the repository and the workdir, outermost first.
/// `None` when those rules ignore the workdir itself: then they have nothing to say inside it.
pub(crate) fn above_workdir(base: &Arc<Rules>, top: &std::path::Path, prefix: &[u8]) -> Option<Arc<Rules>> {
    let mut rules = base.clone();
    let mut dir = Vec::new();
    for part in prefix.split(|b| *b == b'/').filter(|p| !p.is_empty()) {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(top.join(os(&dir)), flags, Mode::empty()).ok();
        if let Some((_, text)) = fd.and_then(|fd| read_ignore_file(fd.as_fd())) {
            rules = rules.within(&dir, text);
        }
        dir = join(&dir, part);
        if rules.ignore(&dir, true) {
            return None;
        }
    }
    Some(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_rule_that_has_an_opinion_wins() {
        let outer = Rules::outermost(b"*.log\n").within(b"", b"build/\n/only-top\n".to_vec());
        let inner = outer.within(b"sub", b"!keep.log\n/here\r\n".to_vec());
        assert!(inner.ignore(b"sub/x.log", false));
        assert!(!inner.ignore(b"sub/keep.log", false));
        assert!(inner.ignore(b"sub/here", false), "a carriage return ends the line");
        assert!(!inner.ignore(b"sub/deeper/here", false));
        assert!(inner.ignore(b"sub/build", true));
        assert!(!inner.ignore(b"sub/build", false));
        assert!(!inner.ignore(b"sub/only-top", false));
        assert!(outer.ignore(b"only-top", false));
    }

    #[test]
    fn a_line_that_is_not_text_hides_nothing_and_spoils_nothing() {
        let rules = Rules::outermost(b"\xff*\nok\n");
        assert!(!rules.ignore(b"\xffa", false));
        assert!(rules.ignore(b"ok", false));
    }
}
