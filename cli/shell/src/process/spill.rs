//! The file that takes output too large for a reply.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A file with a ceiling. Failing to write it never fails the command: it only ends the file, and says why.
pub(super) struct Spill {
    path: PathBuf,
    file: Option<File>,
    room_bytes: u64,
    complete: bool,
    problem: Option<String>,
}

/// What became of it.
pub(super) struct Spilled {
    pub(super) path: Option<PathBuf>,
    pub(super) complete: bool,
    pub(super) problem: Option<String>,
}

impl Spill {
    pub(super) fn create(path: PathBuf, max_bytes: u64) -> Self {
        match create_private(&path) {
            Ok(file) => Self {
                path,
                file: Some(file),
                room_bytes: max_bytes,
                complete: true,
                problem: None,
            },
            Err(error) => {
                let problem = Some(sentence("create", &path, &error));
                Self {
                    path,
                    file: None,
                    room_bytes: 0,
                    complete: false,
                    problem,
                }
            }
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        let fits = usize::try_from(self.room_bytes).unwrap_or(usize::MAX).min(bytes.len());
        self.complete &= fits == bytes.len();
        let Some(file) = self.file.as_mut().filter(|_| self.problem.is_none()) else {
            return;
        };
        match file.write_all(&bytes[..fits]) {
            Ok(()) => self.room_bytes -= fits as u64,
            Err(error) => {
                self.problem = Some(sentence("write", &self.path, &error));
                self.complete = false;
            }
        }
    }

    /// Returns once the file and its name are on stable storage.
    pub(super) fn finish(mut self) -> Spilled {
        if let Some(file) = &self.file {
            let synced = file.sync_all().and_then(|()| sync_directory(&self.path));
            if let Err(error) = synced {
                self.problem.get_or_insert_with(|| sentence("sync", &self.path, &error));
                self.complete = false;
            }
        }
        self.finish_unsynced()
    }

    /// For a file that is read at once and removed.
    pub(super) fn finish_unsynced(self) -> Spilled {
        Spilled {
            path: self.file.map(|_| self.path),
            complete: self.complete,
            problem: self.problem,
        }
    }
}

fn create_private(path: &Path) -> io::Result<File> {
    // A name left by an earlier attempt, or a link put there by someone else, is replaced and never followed.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn sync_directory(path: &Path) -> io::Result<()> {
    path.parent()
        .map_or(Ok(()), |directory| File::open(directory)?.sync_all())
}

fn sentence(verb: &str, path: &Path, error: &io::Error) -> String {
    format!("could not {verb} {}: {error}", path.display())
}
