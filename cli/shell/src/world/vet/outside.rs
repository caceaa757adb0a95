//! Links of a tree to what no tree holds: a copy of it is not the whole candidate, and nobody has judged the rest.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use engine::vet::Request;

use super::ignored::changed;
use crate::tree::{Entry, Kind, Manifest, Tree, TreeId};

/// Why the candidate of this request is not all there: a link that the tree of t0 does not have, or has elsewhere, leads to
/// something that the candidate does not hold. One that lay there before the run was opened, and was ignored then, is the
/// user's.
pub(super) fn leads_out(
    tree: &Tree,
    workdir: &Path,
    request: &Request,
    opened: SystemTime,
) -> Result<Option<String>, String> {
    let manifest = |id| tree.manifest(id).map_err(|error| error.to_string());
    let candidate = manifest(TreeId(request.candidate.0))?;
    let start = manifest(TreeId(request.start.0))?;
    for link in candidate.entries().iter().filter(|entry| entry.kind == Kind::Symlink) {
        if start.entry(&link.path) == Some(link) || is_older(&workdir.join(OsStr::from_bytes(&link.path)), opened) {
            continue;
        }
        let target = tree.content(&link.digest).map_err(|error| error.to_string())?;
        if let Some(place) = outside(&candidate, workdir, link, &target) {
            let (link, place) = (String::from_utf8_lossy(&link.path), place.display());
            return Ok(Some(format!("{link} is a link to {place}, which no tree holds")));
        }
    }
    Ok(None)
}

/// Nobody has touched it since; nothing sets that time back.
fn is_older(link: &Path, opened: SystemTime) -> bool {
    let touched = fs::symlink_metadata(link).ok().and_then(|link| changed(&link));
    touched.is_some_and(|touched| touched < opened)
}

/// What a link leads to, where that is there and the tree does not hold it.
fn outside(tree: &Manifest, workdir: &Path, link: &Entry, target: &[u8]) -> Option<PathBuf> {
    let path = workdir.join(OsStr::from_bytes(&link.path));
    let place = plain(&path.parent()?.join(OsStr::from_bytes(target)));
    let held = place.strip_prefix(workdir).is_ok_and(|below| {
        let below = below.as_os_str().as_bytes();
        let within = |entry: &Entry| {
            entry
                .path
                .strip_prefix(below)
                .is_some_and(|rest| rest.starts_with(b"/"))
        };
        below.is_empty() || tree.entry(below).is_some() || tree.entries().iter().any(within)
    });
    (!held && place.exists()).then_some(place)
}

/// Without `.` and `..`, as the text says it.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}
