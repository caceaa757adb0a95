//! The workspace around the record: would a run start in it, and does git keep its hands off the record?

use std::fs;
use std::path::Path;

use engine::words::counted;

use super::hygiene::{Grade, Hygiene};
use crate::config::file;
use crate::foreign;
use crate::paths::{STATE_DIR, StateDir};
use crate::tree::git::run::Git;
use crate::tree::{Repository, Unavailable};

/// One question to git.
const ANSWER_LIMIT_MS: u64 = 20_000;
/// An ignore file is a few lines.
const IGNORE_MAX_BYTES: u64 = 1 << 16;

/// What git keeps in its directory while it is in the middle of something, and what that is.
const UNDER_WAY: &[(&str, &str)] = &[
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("BISECT_LOG", "a bisection"),
];

/// Looks at the workspace and changes nothing; `state` is its state directory, where it has one.
pub fn inspect_workspace(workdir: &Path, state: Option<&StateDir>) -> Hygiene {
    let mut seen = Hygiene::default();
    let configuration = workdir.join("loopexec.toml");
    if let Err(error) = file::read(&configuration) {
        let detail = format!("no run starts with it: {error}");
        seen.push(Grade::Broken, configuration.display(), detail);
    }
    if let Some(state) = state {
        aside(state, &mut seen);
    }
    match Repository::find(workdir) {
        Err(Unavailable::NoRepository) => {}
        Err(error) => {
            let detail = format!("{error}; until that is mended no run can be green");
            seen.push(Grade::Warning, workdir.display(), detail);
        }
        Ok(repository) => {
            if let Some(state) = state {
                exposed(state, &mut seen);
                tracked(workdir, state, &repository, &mut seen);
            }
            under_way(&repository, &mut seen);
        }
    }
    seen
}

/// Without its own ignore file, the next `git add` takes the record in.
fn exposed(state: &StateDir, seen: &mut Hygiene) {
    let path = state.path().join(".gitignore");
    let text = foreign::read(&path, IGNORE_MAX_BYTES).unwrap_or_default();
    if !text.split(|byte| *byte == b'\n').any(|line| line.trim_ascii() == b"*") {
        let detail = "it does not keep git away from the record: a line with `*` does";
        seen.push(Grade::Warning, path.display(), detail);
    }
}

/// What git tracks, a checkout can put back to what it was.
fn tracked(workdir: &Path, state: &StateDir, repository: &Repository, seen: &mut Hygiene) {
    let git = Git::new(workdir, ANSWER_LIMIT_MS)
        .on(&repository.git_dir)
        .work_tree(&repository.top);
    let listed = match git.run(&["ls-files", "-z", "--", STATE_DIR], b"") {
        Ok(listed) => listed,
        Err(error) => {
            let detail = format!("nobody knows whether git tracks it: {error}");
            return seen.push(Grade::Warning, state.path().display(), detail);
        }
    };
    let files = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).count();
    if files > 0 {
        let detail = format!(
            "git tracks {} of it, so a checkout can take the record back; `git rm -r --cached {STATE_DIR}` ends that",
            counted(files as u64, "file")
        );
        seen.push(Grade::Broken, state.path().display(), detail);
    }
}

/// A run in the middle of something else would mix its commits with that.
fn under_way(repository: &Repository, seen: &mut Hygiene) {
    if let Some(lock) = repository.index_lock() {
        let detail = "a git command is at work on the index, or died on it; if none is running, remove the file";
        seen.push(Grade::Warning, lock.display(), detail);
    }
    let mut told = "";
    for (name, what) in UNDER_WAY {
        let path = repository.git_dir.join(name);
        if *what != told && path.symlink_metadata().is_ok() {
            told = what;
            let detail = format!("{what} is under way; finish it or call it off before a run works here");
            seen.push(Grade::Warning, path.display(), detail);
        }
    }
}

/// What a restore could not save, and so moved out of its way: it is the user's.
fn aside(state: &StateDir, seen: &mut Hygiene) {
    let shelf = state.path().join("aside");
    let count = fs::read_dir(&shelf).map_or(0, |listing| listing.filter_map(Result::ok).count());
    if count > 0 {
        let things = counted(count as u64, "thing");
        let detail =
            format!("holds {things} that stood in the way of a restore; look at them, and remove what is not needed");
        seen.push(Grade::Note, shelf.display(), detail);
    }
}
