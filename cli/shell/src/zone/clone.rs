//! The repository that the work finds in its volume: history and branches, and nothing that leads out of it or runs.
//!
//! ```text
//!   copied     objects, HEAD, branches, tags, the index
//!   made       a configuration that names no remote, no helper, no filter and no hook
//!   left out   configuration, hooks, remotes and what was fetched from them, reflogs, stashes, other worktrees
//! ```
//!
//! No git is run for it. What the work does to it stays in the volume: only files come back, and git is never run there.

use std::fs;
use std::io;
use std::path::Path;

use crate::scratch::copy_file;
use crate::tree::Repository;

/// Of the repository's own directory.
const OF_THE_WORKTREE: &[&str] = &["HEAD", "index"];
/// Of the directory that all worktrees share.
const SHARED: &[&str] = &["shallow", "objects", "refs/heads", "refs/tags"];

/// References of every kind in one file.
const PACKED: &str = "packed-refs";

const CONFIG: &str =
    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n";

/// Makes `volume/.git` from the repository around the workdir. Does nothing where the workdir is a part of a larger
/// tree, or where history is kept in a way that a copy of these files does not hold.
pub(super) fn clone(repository: &Repository, volume: &Path) -> io::Result<()> {
    let (own, common) = (&repository.git_dir, &repository.common_dir);
    let is_plain = repository.prefix.is_empty() && !common.join("objects/info/alternates").exists();
    // Hashes of another length and tables of references need a configuration that says so.
    if !is_plain || common.join("reftable").exists() || !says_sha1(common) {
        return Ok(());
    }
    let git = volume.join(".git");
    fs::create_dir(&git)?;
    for (from, names) in [(own, OF_THE_WORKTREE), (common, SHARED)] {
        for name in names {
            copy(&from.join(name), &git.join(name))?;
        }
    }
    if let Ok(packed) = fs::read(common.join(PACKED)) {
        fs::write(git.join(PACKED), branches_and_tags(&packed))?;
    }
    for dir in ["objects", "refs"] {
        fs::create_dir_all(git.join(dir))?;
    }
    fs::write(git.join("config"), CONFIG)
}

/// Of packed references those that are copied. The commit that a tag stands for has a line of its own behind it.
fn branches_and_tags(packed: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut is_kept = true;
    for line in packed.split_inclusive(|byte| *byte == b'\n') {
        if !line.starts_with(b"^") {
            let name = line.splitn(2, |byte| *byte == b' ').nth(1).unwrap_or_default();
            is_kept = line.starts_with(b"#") || name.starts_with(b"refs/heads/") || name.starts_with(b"refs/tags/");
        }
        if is_kept {
            kept.extend_from_slice(line);
        }
    }
    kept
}

fn says_sha1(common: &Path) -> bool {
    let config = fs::read_to_string(common.join("config")).unwrap_or_default();
    !config.to_ascii_lowercase().contains("objectformat")
}

/// A file, or a directory with all that is in it. Links are left out; what is not there is not missed.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let Ok(seen) = fs::symlink_metadata(from) else {
        return Ok(());
    };
    if seen.is_file() {
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        return match copy_file(from, to) {
            // A lock or a temporary file of a git at work.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other.map(drop),
        };
    }
    if seen.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            copy(&from.join(&name), &to.join(&name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;
    use std::path::PathBuf;
    use std::process::Command;

    use super::*;

    fn git(dir: &Path, args: &[&str]) -> String {
        let mut command = Command::new("git");
        let known = [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")];
        command.args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "safe.directory=*"]);
        let done = command.envs(known).args(args).current_dir(dir).output().unwrap();
        assert!(
            done.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }

    fn project() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap().join("project");
        fs::create_dir(&top).unwrap();
        git(&top, &["init", "-q", "-b", "main"]);
        fs::write(top.join("a"), "1").unwrap();
        git(&top, &["add", "a"]);
        git(&top, &["commit", "-qm", "one"]);
        (dir, top)
    }

    fn volume_of(top: &Path, name: &str) -> PathBuf {
        let volume = top.parent().unwrap().join(name);
        fs::create_dir(&volume).unwrap();
        fs::copy(top.join("a"), volume.join("a")).unwrap();
        clone(&Repository::find(top).unwrap(), &volume).unwrap();
        volume
    }

    #[test]
    fn the_work_finds_history_and_state_and_nothing_that_leads_out_or_runs() {
        let (_dir, top) = project();
        git(&top, &["remote", "add", "origin", "https://token@example.test/x"]);
        git(&top, &["config", "core.fsmonitor", "touch /tmp/never"]);
        fs::write(top.join(".git/hooks/pre-commit"), "#!/bin/sh\nexit 1\n").unwrap();
        git(&top, &["tag", "-a", "-m", "v1", "v1"]);
        git(&top, &["update-ref", "refs/remotes/origin/private", "HEAD"]);
        fs::write(top.join("a"), "a secret").unwrap();
        git(&top, &["stash", "-q"]);
        git(&top, &["pack-refs", "--all"]);
        git(&top, &["gc", "-q"]);
        fs::write(top.join("a"), "2").unwrap();
        let volume = volume_of(&top, "volume");
        assert_eq!(git(&volume, &["log", "--format=%s"]), "one");
        assert_eq!(git(&volume, &["status", "--short"]), "M a");
        assert_eq!(git(&volume, &["branch", "--show-current"]), "main");
        assert_eq!(git(&volume, &["remote"]), "");
        let references = git(&volume, &["for-each-ref", "--format=%(refname)"]);
        assert_eq!(references, "refs/heads/main\nrefs/tags/v1");
        assert!(!volume.join(".git/hooks").exists());
        let config = fs::read_to_string(volume.join(".git/config")).unwrap();
        assert!(!config.contains("token") && !config.contains("fsmonitor"), "{config}");
        git(&volume, &["commit", "-qam", "two"]);
        assert_eq!(git(&top, &["log", "--format=%s"]), "one");
        let packs = fs::read_dir(volume.join(".git/objects/pack")).unwrap();
        assert!(packs.flatten().all(|pack| pack.metadata().unwrap().nlink() == 1));
    }

    #[test]
    fn a_worktree_becomes_a_repository_of_its_own_and_a_part_of_a_tree_none() {
        let (_dir, top) = project();
        let side = top.parent().unwrap().join("side");
        git(&top, &["worktree", "add", "-q", "-b", "side", side.to_str().unwrap()]);
        let volume = volume_of(&side, "volume");
        assert_eq!(git(&volume, &["branch", "--show-current"]), "side");
        assert!(volume.join(".git").is_dir() && !volume.join(".git/worktrees").exists());
        let part = top.join("part");
        fs::create_dir(&part).unwrap();
        fs::write(part.join("a"), "1").unwrap();
        assert!(!volume_of(&part, "beside").join(".git").exists());
    }
}
