//! A copy of the user's tree for one zone: brought to a recorded tree before a command, read back after it.
//!
//! ```text
//!   user's tree ──copy once──> volume ──bring(tree)──> command ──keep()──> store ──the agent's changes──> user's tree
//! ```
//!
//! Everything comes and goes through the store of snapshots, by recorded paths, beneath a directory and over no link.
//! What git ignores is copied once: it is no part of any recorded tree, and what a zone does to it stays in the volume.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, lchown};
use std::path::{Path, PathBuf};

use super::clone::{clone, clone_nested};
use crate::process::holds_any;
use crate::scratch::{Scratch, copy_to_be_seen_in_place, remove};
use crate::tree::{Change, Entry, Tree, TreeError, TreeId, diff};

/// Without set-user-ID, set-group-ID and the sticky bit.
const PERMISSIONS: u32 = 0o777;

/// One copy, with what its zone exchanges with the governor beside it.
#[derive(Debug)]
pub(crate) struct Volume {
    scratch: Scratch,
    tree: Tree,
    /// Whom it belongs to, where that is not the governor.
    owner: Option<(u32, u32)>,
}

/// What a command did to the tree of a volume.
#[derive(Debug, Default)]
pub(crate) struct Left {
    /// The tree as it left it.
    pub(crate) tree: TreeId,
    pub(crate) put: Vec<Entry>,
    pub(crate) removed: Vec<Vec<u8>>,
    /// Files that were not kept.
    pub(crate) named_by_a_secret: u64,
}

impl Volume {
    /// Copies what is in the workdir of `tree` now.
    pub(crate) fn new(tree: &Tree, purpose: &str, owner: Option<(u32, u32)>) -> Result<Self, String> {
        let scratch = Scratch::beside(tree.workdir(), purpose).map_err(|error| error.to_string())?;
        let place = scratch.tree();
        let copied = copy_to_be_seen_in_place(tree.workdir(), &place).map_err(|error| error.to_string())?;
        let failed = |dir: &Path, error| format!("{}: {error}", dir.join(".git").display());
        if let Ok(repository) = tree.repository() {
            clone(repository, &place).map_err(|error| failed(&place, error))?;
        }
        for dir in copied.nested {
            let (nested, into) = (tree.workdir().join(&dir), place.join(&dir));
            if !tree.ignores(dir.join(".git").as_os_str().as_bytes()) {
                clone_nested(&nested, tree.workdir(), &into).map_err(|error| failed(&into, error))?;
            }
        }
        let volume = Self {
            tree: tree.twin(&place).map_err(|error| error.to_string())?,
            scratch,
            owner,
        };
        hand_over(&place, owner).map_err(|error| format!("{}: {error}", place.display()))?;
        Ok(volume)
    }

    /// Leaves it as it is, for somebody to look at: nothing of it is used or removed again. Where it is then.
    pub(crate) fn quarantine(self) -> String {
        match self.scratch.set_aside() {
            Ok(place) => place.display().to_string(),
            Err(error) => error.to_string(),
        }
    }

    /// The copy.
    pub(crate) fn place(&self) -> PathBuf {
        self.scratch.tree()
    }

    /// An empty directory that the zone may write, beside the tree.
    pub(crate) fn fresh_exchange(&self, name: &str) -> Result<PathBuf, String> {
        let dir = self.scratch.shelf().join(name);
        self.renew(&dir)
            .map_err(|error| format!("{}: {error}", dir.display()))?;
        Ok(dir)
    }

    /// Makes the recorded files those of `tree`, whatever was done to them.
    pub(crate) fn bring(&mut self, tree: TreeId) -> Result<(), String> {
        self.tree.scan().map_err(said)?;
        if self.tree.current().id() == tree {
            return Ok(());
        }
        let before = self.tree.current().clone();
        self.tree.restore(tree).map_err(said)?;
        let mut given = Vec::new();
        for change in diff(&before, self.tree.current()) {
            self.hand_over_path(&change, &mut given)
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Empties the directories that the zone may write, but for what the tree has there.
    pub(crate) fn renew_outputs(&mut self, outputs: &[String]) -> Result<Vec<PathBuf>, String> {
        let mut made = Vec::new();
        for output in outputs {
            let dir = self.place().join(output);
            plain_below(&self.place(), output)?;
            self.renew(&dir)
                .map_err(|error| format!("{}: {error}", dir.display()))?;
            made.push(dir);
        }
        Ok(made)
    }

    /// Stores what the command left and says how that differs from `before`. What has one of `secrets` in its path is
    /// removed first: whoever kept it would have kept that.
    pub(crate) fn keep(&mut self, before: TreeId, secrets: &[Vec<u8>]) -> Result<Left, String> {
        let named_by_a_secret = self.remove_named_by(secrets)?;
        let seen = self.tree.snapshot().map_err(said)?;
        if !seen.unstable.is_empty() {
            return Err(format!("{} files changed while they were read", seen.unstable.len()));
        }
        let before = self.tree.manifest(before).map_err(said)?;
        let now = self.tree.current();
        let mut left = Left {
            tree: seen.id,
            named_by_a_secret,
            ..Left::default()
        };
        for change in diff(&before, now) {
            match now.entry(&change.path).map(plain) {
                Some(entry) if before.entry(&change.path).map(plain).as_ref() == Some(&entry) => {}
                Some(entry) => left.put.push(entry),
                None => left.removed.push(change.path),
            }
        }
        Ok(left)
    }

    fn remove_named_by(&mut self, secrets: &[Vec<u8>]) -> Result<u64, String> {
        if secrets.is_empty() {
            return Ok(0);
        }
        self.tree.scan().map_err(said)?;
        let entries = self.tree.current().entries().iter();
        let named = entries.filter(|entry| holds_any(secrets, &entry.path));
        let named: Vec<PathBuf> = named
            .map(|entry| self.place().join(OsStr::from_bytes(&entry.path)))
            .collect();
        for path in &named {
            fs::remove_file(path).map_err(|error| format!("a file that is named by the key: {error}"))?;
        }
        Ok(named.len() as u64)
    }

    fn renew(&self, dir: &Path) -> io::Result<()> {
        // Whatever modes the command left there.
        remove(dir).map_err(io::Error::other)?;
        if let Some(parent) = dir.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::DirBuilder::new().mode(0o700).create(dir)?;
        hand_over(dir, self.owner)
    }

    /// The same for a file that was just written and the directories that were made for it. The way there ends at the first
    /// part that is no directory: nothing behind a link is the volume's. `given` are the directories on the way to the one
    /// before, which come in order, so that those they share are given once.
    fn hand_over_path(&self, change: &Change, given: &mut Vec<OsString>) -> io::Result<()> {
        let Some(owner) = self.owner else {
            return Ok(());
        };
        let parts: Vec<_> = Path::new(OsStr::from_bytes(&change.path)).iter().collect();
        let shared = parts
            .iter()
            .zip(given.iter())
            .take_while(|(part, known)| *part == known);
        given.truncate(shared.count());
        let mut path = self.place();
        path.extend(given.iter());
        for part in parts.iter().skip(given.len()) {
            path.push(part);
            let Ok(seen) = fs::symlink_metadata(&path) else { break };
            give(&path, &seen, owner)?;
            if !seen.is_dir() {
                break;
            }
            given.push((*part).to_owned());
        }
        Ok(())
    }
}

/// An entry as it may come out of a zone: the governor writes it as its own, and whoever starts it gets no rights by that.
fn plain(entry: &Entry) -> Entry {
    Entry {
        mode: entry.mode & PERMISSIONS,
        ..entry.clone()
    }
}

/// Gives a directory with all that is in it to the zone's user, where that is not the governor's. Links are not followed.
pub(crate) fn hand_over(top: &Path, owner: Option<(u32, u32)>) -> io::Result<()> {
    let Some(owner) = owner else {
        return Ok(());
    };
    let mut open = vec![top.to_path_buf()];
    while let Some(path) = open.pop() {
        let seen = fs::symlink_metadata(&path)?;
        give(&path, &seen, owner)?;
        if seen.is_dir() {
            for entry in fs::read_dir(&path)? {
                open.push(entry?.path());
            }
        }
    }
    Ok(())
}

/// One file, directory or link itself.
fn give(path: &Path, seen: &fs::Metadata, (uid, gid): (u32, u32)) -> io::Result<()> {
    if (seen.uid(), seen.gid()) == (uid, gid) {
        return Ok(());
    }
    // Takes set-user-ID and set-group-ID away, which nobody needs back.
    lchown(path, Some(uid), Some(gid))
}

/// Every part of a path that is there is a directory and no link: nobody planted one to be mounted over.
pub(crate) fn plain_below(top: &Path, relative: &str) -> Result<(), String> {
    let mut path = top.to_path_buf();
    for part in Path::new(relative).components() {
        let std::path::Component::Normal(part) = part else {
            return Err(format!("{relative} is no directory inside of the workdir"));
        };
        path.push(part);
        match fs::symlink_metadata(&path) {
            Ok(seen) if !seen.is_dir() => {
                return Err(format!(
                    "{relative} leads over {}, which is no directory",
                    path.display()
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

fn said(error: TreeError) -> String {
    error.to_string().trim_end_matches('.').to_owned()
}

/// Takes out of a directory that a zone wrote what is no plain file of its own: a link, a pipe, a second name.
pub(crate) fn settle_exchange(top: &Path) -> io::Result<()> {
    let mut open = vec![top.to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            let seen = entry.metadata()?;
            if seen.is_dir() {
                open.push(entry.path());
            } else if !seen.is_file() || seen.nlink() != 1 {
                fs::remove_file(entry.path())?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Options;
    use std::os::unix::fs::symlink;

    struct Project {
        _dir: tempfile::TempDir,
        workdir: PathBuf,
        tree: Tree,
    }

    fn project() -> Project {
        let dir = tempfile::tempdir().unwrap();
        let workdir = dir.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(workdir.join("src")).unwrap();
        fs::write(workdir.join("src/a"), "a").unwrap();
        fs::write(workdir.join(".gitignore"), "env/\n").unwrap();
        fs::create_dir(workdir.join("env")).unwrap();
        fs::write(workdir.join("env/tool"), "tool").unwrap();
        symlink(workdir.join("src"), workdir.join("link")).unwrap();
        let tree = Tree::open(&workdir, &dir.path().join("state"), Options::default()).unwrap();
        Project {
            _dir: dir,
            workdir,
            tree,
        }
    }

    #[test]
    fn a_command_finds_the_tree_and_what_git_ignores_and_only_its_changes_come_back() {
        let mut project = project();
        let t0 = project.tree.snapshot().unwrap().id;
        let mut volume = Volume::new(&project.tree, "test", None).unwrap();
        volume.bring(t0).unwrap();
        let place = volume.place();
        assert_eq!(fs::read(place.join("env/tool")).unwrap(), b"tool");
        assert_eq!(fs::read_link(place.join("link")).unwrap(), project.workdir.join("src"));

        fs::write(place.join("src/a"), "changed").unwrap();
        fs::write(place.join("src/new"), "new").unwrap();
        fs::write(place.join("env/tool"), "spoiled").unwrap();
        fs::remove_file(place.join("link")).unwrap();
        let left = volume.keep(t0, &[]).unwrap();
        let put: Vec<&[u8]> = left.put.iter().map(|entry| entry.path.as_slice()).collect();
        assert_eq!(put, [&b"src/a"[..], b"src/new"]);
        assert_eq!(left.removed, [b"link".to_vec()]);

        // What somebody else did to the user's tree in the meantime stays.
        fs::write(project.workdir.join("mine"), "mine").unwrap();
        project.tree.restore_files(&left.put, &left.removed).unwrap();
        assert_eq!(fs::read(project.workdir.join("src/a")).unwrap(), b"changed");
        assert_eq!(fs::read(project.workdir.join("mine")).unwrap(), b"mine");
        assert_eq!(fs::read(project.workdir.join("env/tool")).unwrap(), b"tool");
        assert!(!project.workdir.join("link").exists());

        // Another turn begins with the tree that was accepted, whatever is in the volume.
        volume.bring(t0).unwrap();
        assert_eq!(fs::read(place.join("src/a")).unwrap(), b"a");
        assert!(!place.join("src/new").exists() && place.join("link").is_symlink());
    }

    #[test]
    fn bits_that_give_rights_stay_in_the_volume_and_are_no_change_by_themselves() {
        use std::os::unix::fs::PermissionsExt as _;
        let mut project = project();
        let t0 = project.tree.snapshot().unwrap().id;
        let mut volume = Volume::new(&project.tree, "test", None).unwrap();
        volume.bring(t0).unwrap();
        let place = volume.place();
        fs::write(place.join("tool"), "x").unwrap();
        for (name, mode) in [("tool", 0o7755), ("src/a", 0o6644)] {
            fs::set_permissions(place.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        let left = volume.keep(t0, &[]).unwrap();
        let put: Vec<_> = left
            .put
            .iter()
            .map(|entry| (entry.path.as_slice(), entry.mode))
            .collect();
        assert_eq!(put, [(&b"tool"[..], 0o755)]);
    }

    #[test]
    fn a_link_that_takes_the_place_of_a_directory_hands_over_nothing_behind_it() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root gives files to others");
            return;
        }
        let mut project = project();
        let outside = project.workdir.parent().unwrap().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "x").unwrap();
        symlink(&outside, project.workdir.join("x")).unwrap();
        let t0 = project.tree.snapshot().unwrap().id;
        let mut volume = Volume::new(&project.tree, "test", Some((64_646, 64_646))).unwrap();
        volume.bring(t0).unwrap();
        fs::remove_file(volume.place().join("x")).unwrap();
        fs::create_dir(volume.place().join("x")).unwrap();
        fs::write(volume.place().join("x/file"), "y").unwrap();
        volume.keep(t0, &[]).unwrap();
        volume.bring(t0).unwrap();
        let link = fs::symlink_metadata(volume.place().join("x")).unwrap();
        assert!(link.is_symlink() && link.uid() == 64_646);
        assert_eq!(fs::metadata(outside.join("file")).unwrap().uid(), 0);
    }

    #[test]
    fn a_volume_that_something_outlived_is_set_aside_and_never_swept() {
        let mut project = project();
        let t0 = project.tree.snapshot().unwrap().id;
        let mut volume = Volume::new(&project.tree, "test", None).unwrap();
        volume.bring(t0).unwrap();
        let had = volume.place();
        let aside = PathBuf::from(volume.quarantine());
        drop(Scratch::new("sweeping").unwrap());
        assert!(
            !had.exists() && fs::read(aside.join("tree/src/a")).unwrap() == b"a",
            "{}",
            aside.display()
        );
        fs::remove_dir_all(aside).unwrap();
    }

    #[test]
    fn an_output_is_empty_again_and_never_reached_over_a_link() {
        let mut project = project();
        let t0 = project.tree.snapshot().unwrap().id;
        let mut volume = Volume::new(&project.tree, "test", None).unwrap();
        volume.bring(t0).unwrap();
        let dirs = volume.renew_outputs(&["out/deep".to_owned()]).unwrap();
        fs::write(dirs[0].join("stale"), "x").unwrap();
        volume.renew_outputs(&["out/deep".to_owned()]).unwrap();
        assert!(!dirs[0].join("stale").exists());
        for outside in ["link", "link/x", "../out", "/out"] {
            assert!(volume.renew_outputs(&[outside.to_owned()]).is_err(), "{outside}");
        }
        assert!(project.workdir.join("src/a").exists());
    }

    #[test]
    fn what_a_zone_leaves_to_be_read_leads_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("exchange");
        fs::create_dir_all(top.join("sub")).unwrap();
        fs::write(dir.path().join("secret"), "s").unwrap();
        fs::write(top.join("sub/report.xml"), "r").unwrap();
        symlink(dir.path().join("secret"), top.join("sub/link")).unwrap();
        fs::hard_link(dir.path().join("secret"), top.join("second")).unwrap();
        drop(std::os::unix::net::UnixListener::bind(top.join("socket")).unwrap());
        settle_exchange(&top).unwrap();
        assert!(top.join("sub/report.xml").exists());
        for gone in ["sub/link", "second", "socket"] {
            assert!(fs::symlink_metadata(top.join(gone)).is_err(), "{gone}");
        }
        assert!(dir.path().join("secret").exists());
    }
}
