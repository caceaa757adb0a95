//! The governor's own files, watched around every command: who else writes to them interferes.
//!
//! The shell only reports which of them changed; what that means is the engine's to say.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use engine::guard::state_interference::REMOVED;

use crate::paths::{RunDir, STATE_DIR};

/// By name: inode, size and change time; nothing for what is not there.
type Seen = BTreeMap<String, Option<(u64, u64, i64, i64)>>;

/// What the governor's own files looked like before a command.
pub(super) struct OwnFiles {
    workdir: PathBuf,
    run: RunDir,
    before: Seen,
}

impl OwnFiles {
    pub(super) fn look(workdir: &Path, run: &RunDir) -> Self {
        Self {
            workdir: workdir.to_path_buf(),
            run: run.clone(),
            before: look(workdir, run),
        }
    }

    /// What somebody else changed since: one name for all of it when all of it is gone.
    pub(super) fn changed(&self) -> Vec<String> {
        if !self.run.path().exists() {
            let state = Path::new(STATE_DIR);
            let gone = if self.workdir.join(state).exists() {
                state.join("runs").join(self.run.id().as_str())
            } else {
                state.to_path_buf()
            };
            return vec![format!("{}/ {REMOVED}", gone.display())];
        }
        differences(&self.before, &look(&self.workdir, &self.run))
    }
}

fn look(workdir: &Path, run: &RunDir) -> Seen {
    let state = workdir.join(STATE_DIR);
    let name = |path: &Path| path.strip_prefix(workdir).unwrap_or(path).display().to_string();
    let mut files = vec![run.receipt(), run.state_file()];
    files.extend(["LOCK", "state.json", ".gitignore"].map(|name| state.join(name)));
    if let Ok(entries) = fs::read_dir(run.journal()) {
        // The spare segment is filled by the journal's own thread while a command works.
        let lasting = |path: &PathBuf| path.extension() != Some(OsStr::new("prep"));
        files.extend(entries.flatten().map(|entry| entry.path()).filter(lasting));
    }
    let mut seen: Seen = files.iter().map(|path| (name(path), file(path))).collect();
    // What is in these changes by the governor's own doing, or checks itself when it is read.
    for kept in [run.journal(), state.join("objects")] {
        seen.insert(name(&kept), inode(&kept));
    }
    // Only a run that begins makes an entry here, and this one holds the lock.
    let runs = state.join("runs");
    seen.insert(name(&runs), file(&runs));
    seen
}

fn file(path: &Path) -> Option<(u64, u64, i64, i64)> {
    let seen = fs::symlink_metadata(path).ok()?;
    Some((seen.ino(), seen.size(), seen.ctime(), seen.ctime_nsec()))
}

fn inode(path: &Path) -> Option<(u64, u64, i64, i64)> {
    fs::symlink_metadata(path).ok().map(|seen| (seen.ino(), 0, 0, 0))
}

fn differences<T: PartialEq>(before: &BTreeMap<String, T>, after: &BTreeMap<String, T>) -> Vec<String> {
    let names = before.keys().chain(after.keys());
    let mut touched: Vec<String> = names
        .filter(|name| before.get(*name) != after.get(*name))
        .cloned()
        .collect();
    touched.sort();
    touched.dedup();
    touched
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touched_files_are_named() {
        let before = BTreeMap::from([("a".to_string(), 1), ("b".to_string(), 2)]);
        let after = BTreeMap::from([("a".to_string(), 1), ("b".to_string(), 3), ("c".to_string(), 4)]);
        assert_eq!(differences(&before, &after), ["b", "c"]);
    }
}
