//! What of the machine a zone sees, made reachable for the user that bwrap runs as.
//!
//! A user that root drops to may not be allowed to walk to a source: the way leads through a private directory, and
//! older bwraps resolve every source to its path. So root first takes each source as a mount of its own and hangs it
//! where everyone may walk to; in a mount namespace of the launcher's, that nobody else sees.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::sched::{CloneFlags, unshare};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change, move_mount, open_tree,
};

use super::bwrap::Sources;
use super::plan::ZonePlan;

/// Directories that every machine has one of, and from which no zone takes anything while they are covered.
const STAGES: [&str; 4] = ["/mnt", "/media", "/srv", "/tmp"];

/// Opens every source once, so that one that is missing or is not what the plan says is told by its name.
///
/// # Errors
/// A sentence on the first that cannot be used.
pub(super) fn sources(plan: &ZonePlan, is_root: bool) -> Result<Sources, String> {
    let stages = is_root && leave_mounts()?;
    // By its path: what `/proc/self/exe` leads to lies in the mount namespace that was left.
    let init = std::env::current_exe().map_err(|error| format!("loopexec cannot find its own program: {error}"))?;
    let mut opened = vec![open(&init, OFlags::empty())?];
    opened.push(open(&plan.work.source, OFlags::DIRECTORY | OFlags::NOFOLLOW)?);
    check_outputs(plan, &opened[1])?;
    for bind in &plan.binds {
        opened.push(open(&bind.source, OFlags::empty())?);
    }
    if stages {
        let staged = stage(&opened).map_err(|error| format!("its directories cannot be mounted: {error}"))?;
        return Ok(Sources {
            init: staged[0].clone(),
            work: staged[1].clone(),
            binds: staged[2..].to_vec(),
        });
    }
    Ok(Sources {
        init,
        work: plan.work.source.clone(),
        binds: plan.binds.iter().map(|bind| bind.source.clone()).collect(),
    })
}

/// A mount namespace of our own, that tells the machine nothing. False where root may not have one: in a container,
/// whose directories then have to be open to the user dropped to.
fn leave_mounts() -> Result<bool, String> {
    match unshare(CloneFlags::CLONE_NEWNS) {
        Err(nix::Error::EPERM) => return Ok(false),
        other => other.map_err(|error| format!("no mount namespace can be made: {error}"))?,
    }
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(|error| format!("the mounts cannot be made private: {error}"))?;
    Ok(true)
}

fn open(source: &Path, how: OFlags) -> Result<OwnedFd, String> {
    if source.is_relative() {
        return Err(format!("{} is no absolute path", source.display()));
    }
    openat(CWD, source, OFlags::PATH | OFlags::CLOEXEC | how, Mode::empty())
        .map_err(|error| format!("{} cannot be opened: {error}", source.display()))
}

/// Each output is there as a plain directory, reached over no link.
fn check_outputs(plan: &ZonePlan, work: &OwnedFd) -> Result<(), String> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    for output in &plan.work.outputs {
        let relative = output.strip_prefix(&plan.work.at).unwrap_or(output);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat2(work, relative, flags, Mode::empty(), resolve).map_err(|error| {
            let (relative, tree) = (relative.display(), plan.work.source.display());
            format!("the output {relative} is no plain directory in {tree}: {error}")
        })?;
    }
    Ok(())
}

fn stage(opened: &[OwnedFd]) -> io::Result<Vec<PathBuf>> {
    let clone = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    let trees = opened.iter().map(|source| open_tree(source, "", clone));
    let trees = trees.collect::<Result<Vec<OwnedFd>, _>>()?;
    let base = STAGES
        .iter()
        .map(Path::new)
        .find(|base| fs::symlink_metadata(base).is_ok_and(|about| about.is_dir()))
        .ok_or_else(|| io::Error::other(format!("none of {} is a directory", STAGES.join(", "))))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("tmpfs", base, "tmpfs", flags, Some(c"mode=0755,size=64k"))?;
    let mut staged = Vec::new();
    for (index, (tree, source)) in trees.iter().zip(opened).enumerate() {
        let at = base.join(index.to_string());
        if rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(source)?.st_mode).is_dir() {
            fs::create_dir(&at)?;
        } else {
            fs::File::create_new(&at)?;
        }
        move_mount(tree.as_fd(), "", CWD, &at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
        staged.push(at);
    }
    Ok(staged)
}
