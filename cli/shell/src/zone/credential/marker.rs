//! Word of a key that may be good, on disk before it can be: what it goes by and what revokes it, never the key.
//!
//! ```text
//!   <run directory>/credential-<random>/     0700, one for each life
//!     credential.json                        the word; without it there is nothing to revoke
//!     supervisor.json                        while the mint command runs: who runs it
//! ```
//!
//! Whoever finds one executes what it names, so it is believed only where it was made: in a directory that is private
//! to its owner, under the number that the file system gave that directory. One that came along with a copy or a
//! download of the project is told of and not executed.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use engine::event::policy::Command;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use crate::foreign;

const PREFIX: &str = "credential-";
const FILE: &str = "credential.json";
const MAX_BYTES: u64 = 1 << 20;
const OTHERS: u32 = 0o077;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Marker {
    pub(super) label: String,
    pub(super) run_id: String,
    pub(super) revoke: Command,
    /// Known once the key was made.
    pub(super) id: Option<String>,
    /// Number of the directory that it was made in.
    place: u64,
}

impl Marker {
    /// A fresh label, and word of it that outlives a power cut.
    pub(super) fn make(run: &Path, run_id: &str, life: u32, revoke: &Command) -> Result<(PathBuf, Self), String> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| format!("the system gives no random bytes: {error}"))?;
        let random: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let place = run.join(format!("{PREFIX}{random}"));
        let failed = |error: io::Error| unwritten(&place, &error);
        DirBuilder::new().mode(0o700).create(&place).map_err(failed)?;
        let marker = Self {
            // Run ids of two projects may be the same.
            label: format!("loopexec-{run_id}-{life}-{random}"),
            run_id: run_id.to_owned(),
            revoke: revoke.clone(),
            id: None,
            place: fs::metadata(&place).map_err(failed)?.ino(),
        };
        let written = marker.write(&place);
        let written = written.and_then(|()| sync(run).map_err(failed));
        if let Err(why) = written {
            remove(&place);
            return Err(why);
        }
        Ok((place, marker))
    }

    /// Puts it in place whole, for its owner alone.
    pub(super) fn write(&self, place: &Path) -> Result<(), String> {
        let write = || -> io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(place)?;
            file.write_all(&serde_json::to_vec(self)?)?;
            file.as_file().sync_all()?;
            file.persist(place.join(FILE))?;
            sync(place)
        };
        write().map_err(|error| unwritten(place, &error))
    }

    /// `None` where there is none.
    ///
    /// # Errors
    /// Why it is not believed.
    pub(super) fn read(place: &Path) -> Result<Option<Self>, String> {
        let path = place.join(FILE);
        let seen = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            seen => seen.and_then(|file| Ok((file, fs::symlink_metadata(place)?))),
        };
        let failed = |error: io::Error| format!("{} cannot be read: {error}", path.display());
        let (file, dir) = seen.map_err(failed)?;
        let private = |meta: &fs::Metadata| meta.uid() == geteuid().as_raw() && meta.mode() & OTHERS == 0;
        let strange = || {
            format!(
                "{} was not made by a run in this place, so what it names is not executed; if a key of yours is in it, \
                 revoke it by hand and remove the file",
                path.display()
            )
        };
        if !(file.is_file() && dir.is_dir() && private(&file) && private(&dir)) {
            return Err(strange());
        }
        let text = foreign::read(&path, MAX_BYTES).map_err(failed)?;
        let marker: Self = serde_json::from_slice(&text).map_err(|_| strange())?;
        if marker.place == dir.ino() {
            Ok(Some(marker))
        } else {
            Err(strange())
        }
    }
}

/// Every place below a run's directory that has one.
pub(super) fn places(run: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(run).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    let mut places: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    places.retain(|place| fs::symlink_metadata(place.join(FILE)).is_ok());
    places.sort();
    places
}

/// The key is worthless. The word goes first: a directory without it is nothing.
pub(super) fn remove(place: &Path) {
    let _absent = fs::remove_file(place.join(FILE));
    let _unsynced = sync(place);
    let _left = fs::remove_dir_all(place);
}

/// Whether somebody else has seen to it.
pub(super) fn is_gone(place: &Path) -> bool {
    fs::symlink_metadata(place.join(FILE)).is_err()
}

fn sync(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

fn unwritten(place: &Path, error: &io::Error) -> String {
    format!(
        "word of it could not be written to {}: {error}; make room there, or make it writable",
        place.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn made(run: &Path) -> (PathBuf, Marker) {
        Marker::make(run, "r", 1, &Command::shell("revoke")).unwrap()
    }

    #[test]
    fn word_of_a_key_is_private_and_read_back_until_it_is_removed() {
        let run = tempfile::tempdir().unwrap();
        let (place, mut marker) = made(run.path());
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&place), mode(&place.join(FILE))), (0o700, 0o600));
        assert_eq!(Marker::read(&place), Ok(Some(marker.clone())));
        marker.id = Some("7".into());
        marker.write(&place).unwrap();
        assert_eq!(Marker::read(&place), Ok(Some(marker)));
        assert_eq!(places(run.path()), std::slice::from_ref(&place));
        remove(&place);
        assert_eq!(Marker::read(&place), Ok(None));
        assert!(places(run.path()).is_empty() && is_gone(&place));
    }

    #[test]
    fn two_runs_of_one_name_go_by_two_labels() {
        let run = tempfile::tempdir().unwrap();
        assert_ne!(made(run.path()).1.label, made(run.path()).1.label);
    }

    #[test]
    fn a_word_that_came_from_elsewhere_is_not_believed() {
        let run = tempfile::tempdir().unwrap();
        let (place, _) = made(run.path());
        let copy = run.path().join("credential-copied");
        DirBuilder::new().mode(0o700).create(&copy).unwrap();
        fs::copy(place.join(FILE), copy.join(FILE)).unwrap();
        assert!(Marker::read(&copy).unwrap_err().contains("not executed"));
        let link = run.path().join("credential-link");
        std::os::unix::fs::symlink(&place, &link).unwrap();
        assert!(Marker::read(&link).is_err());
        fs::set_permissions(place.join(FILE), fs::Permissions::from_mode(0o644)).unwrap();
        assert!(Marker::read(&place).is_err());
    }

    #[test]
    fn a_damaged_word_is_told_of_and_not_taken_for_none() {
        let run = tempfile::tempdir().unwrap();
        let (place, _) = made(run.path());
        fs::write(place.join(FILE), "{\"label\":").unwrap();
        assert!(Marker::read(&place).is_err());
    }
}
