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
use std::path::{Path, PathBuf};

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
    let git = empty(volume)?;
    for (from, names) in [(own, OF_THE_WORKTREE), (common, SHARED)] {
        for name in names {
            copy(&from.join(name), &git.join(name))?;
        }
    }
    if let Ok(packed) = fs::read(common.join(PACKED)) {
        fs::write(git.join(PACKED), branches_and_tags(&packed))?;
    }
    Ok(())
}

/// The same for a repository within the workdir: a submodule, or one that somebody put there. Where its history is not to be
/// had it is an empty one, for without any it would be a part of the tree.
///
/// Its `.git` may be a file of the work's, and then leads nowhere but into the workdir.
pub(super) fn clone_nested(nested: &Path, workdir: &Path, volume: &Path) -> io::Result<()> {
    let found = Repository::find(nested).ok().filter(|found| found.prefix.is_empty());
    let is_inside = |dir: &Path| dir.canonicalize().is_ok_and(|dir| dir.starts_with(workdir));
    if let Some(found) = found.filter(|found| is_inside(&found.git_dir) && is_inside(&found.common_dir)) {
        clone(&found, volume)?;
    }
    match volume.join(".git").is_dir() {
        true => Ok(()),
        false => fs::write(empty(volume)?.join("HEAD"), "ref: refs/heads/main\n"),
    }
}

/// A repository of nothing, but for the word where it stands.
fn empty(volume: &Path) -> io::Result<PathBuf> {
    let git = volume.join(".git");
    for dir in ["objects", "refs"] {
        fs::create_dir_all(git.join(dir))?;
    }
    fs::write(git.join("config"), CONFIG)?;
    Ok(git)
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
    use std::process::Command;

    use super::*;
    use crate::tree::{Options, Tree};
    use crate::zone::volume::Volume;

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
    #[test]
    fn a_submodule_is_there_with_its_history_and_no_file_of_the_tree_lends_another_repository() {
        let (dir, top) = project();
        for (name, kept_in) in [
            ("vendor", top.join(".git/modules/vendor")),
            ("planted", dir.path().join("elsewhere")),
        ] {
            let nested = top.join(name);
            fs::create_dir(&nested).unwrap();
            fs::create_dir_all(kept_in.parent().unwrap()).unwrap();
            git(
                &nested,
                &["init", "-q", "--separate-git-dir", kept_in.to_str().unwrap()],
            );
            fs::write(nested.join("v"), "v").unwrap();
            git(&nested, &["add", "v"]);
            git(&nested, &["commit", "-qm", "history"]);
        }
        let mut tree = Tree::open(&top, &dir.path().join("state"), Options::default()).unwrap();
        let t0 = tree.snapshot().unwrap().id;
        let mut volume = Volume::new(&tree, "test", None).unwrap();
        volume.bring(t0).unwrap();
        for (name, history) in [("vendor", "history"), ("planted", "")] {
            let nested = volume.place().join(name);
            assert_eq!(fs::read(nested.join("v")).unwrap(), b"v", "{name}");
            assert_eq!(git(&nested, &["log", "--all", "--format=%s"]), history, "{name}");
            fs::write(nested.join("v"), "changed").unwrap();
        }
        // What the work does to it stays there, as with what git ignores.
        let left = volume.keep(t0, &[]).unwrap();
        assert!(left.put.is_empty() && left.removed.is_empty(), "{left:?}");
    }
}
