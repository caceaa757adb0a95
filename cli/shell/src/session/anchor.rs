//! Open handles on the journal's files and on what it refers to, so that a run survives the removal of its own state directory.
//!
//! A work command that tidies up may delete the state directory. The files live on while a handle is open:
//! what was recorded is copied back from there, and the halt that follows is recorded beside it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use journal::{Journal, Writer};

use super::RunError;
use crate::lock::{self, StateLock};
use crate::paths::{RunDir, StateDir};
use crate::tree::Unmoved;

/// Blobs held at most: the oldest ones, the record of the watched surface among them.
const BLOBS_HELD: usize = 64;

pub(super) struct Anchors {
    run: RunDir,
    held: Held,
    blobs: Held,
}

/// Open files of one directory, by name.
#[derive(Default)]
struct Held {
    files: Vec<(OsString, File)>,
    /// The directory, as of the look that these come from.
    listed: Unmoved,
}

impl Anchors {
    pub(super) fn new(run: RunDir) -> Self {
        let mut anchors = Self {
            run,
            held: Held::default(),
            blobs: Held::default(),
        };
        anchors.hold();
        anchors
    }

    pub(super) fn run(&self) -> &RunDir {
        &self.run
    }

    /// Opens what is new. Best effort: without a handle there is nothing to copy from, and nothing else is lost.
    pub(super) fn hold(&mut self) {
        self.held.open_new(&self.run.journal(), usize::MAX);
        self.blobs.open_new(&self.run.blobs(), BLOBS_HELD);
    }

    /// The newest held segment is no longer in its place.
    pub(super) fn lost(&self) -> bool {
        !self.run.journal().join("LOCK").exists()
    }

    /// A lock that others see, when that of this life went with the directory it was on.
    pub(super) fn lock_anew(&self) -> Result<StateLock, RunError> {
        Ok(lock::acquire(&StateDir::create(self.workdir()?)?, self.run.id())?)
    }

    fn workdir(&self) -> Result<&Path, RunError> {
        let workdir = self.run.path().ancestors().nth(3).unwrap_or(self.run.path());
        if workdir.exists() {
            return Ok(workdir);
        }
        Err(RunError::WorkdirRemoved {
            workdir: workdir.to_path_buf(),
        })
    }

    /// Writes everything that is held back to where it was and opens it for writing.
    pub(super) fn put_back(&mut self) -> Result<Writer, RunError> {
        StateDir::create(self.workdir()?)?;
        let journal = self.run.journal();
        for dir in [journal.clone(), self.run.blobs(), self.run.context()] {
            let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir);
            made.map_err(|error| RunError::Io {
                doing: "create",
                path: dir,
                error,
            })?;
        }
        let blobs = self.run.blobs();
        let journal_files = self.held.files.iter_mut().map(|held| (&journal, held));
        let blob_files = self.blobs.files.iter_mut().map(|held| (&blobs, held));
        for (dir, (name, file)) in journal_files.chain(blob_files) {
            let path = dir.join(name);
            if !path.exists() {
                copy(file, &path).map_err(|error| RunError::Io {
                    doing: "put back",
                    path,
                    error,
                })?;
            }
        }
        let (mut writer, _) = Journal::open_write(&journal)?;
        let reader = Journal::open_read(&journal)?;
        writer.attach_receipt(journal::ReceiptWriter::resume(&reader, &self.run.receipt())?);
        self.held = Held::default();
        self.blobs = Held::default();
        self.hold();
        Ok(writer)
    }
}

impl Held {
    /// Opens files of `dir` that are not held yet, up to `max` of them.
    fn open_new(&mut self, dir: &Path, max: usize) {
        if self.listed.since_last(dir) {
            return;
        }
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if self.files.len() >= max {
                break;
            }
            if name == "LOCK" || self.files.iter().any(|(known, _)| *known == name) {
                continue;
            }
            if let Ok(file) = File::open(entry.path()) {
                self.files.push((name, file));
            }
        }
    }
}

fn copy(from: &mut File, to: &Path) -> std::io::Result<()> {
    from.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes)?;
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(to)?;
    file.write_all(&bytes)?;
    file.sync_all()
}
