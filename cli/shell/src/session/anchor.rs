//! Open handles on the journal's files, so that a run survives the removal of its own state directory.
//!
//! A work command that tidies up may delete the state directory. The files live on while a handle is open:
//! what was recorded is copied back from there, and the halt that follows is recorded beside it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;

use journal::{Journal, Writer};

use super::RunError;
use crate::paths::{RunDir, StateDir};

pub(super) struct Anchors {
    run: RunDir,
    held: Vec<(OsString, File)>,
}

impl Anchors {
    pub(super) fn new(run: RunDir) -> Self {
        let mut anchors = Self { run, held: Vec::new() };
        anchors.hold();
        anchors
    }

    pub(super) fn run(&self) -> &RunDir {
        &self.run
    }

    /// Opens what is new. Best effort: without a handle there is nothing to copy from, and nothing else is lost.
    pub(super) fn hold(&mut self) {
        let Ok(entries) = fs::read_dir(self.run.journal()) else {
            return;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if name == "LOCK" || self.held.iter().any(|(known, _)| *known == name) {
                continue;
            }
            if let Ok(file) = File::open(entry.path()) {
                self.held.push((name, file));
            }
        }
    }

    /// The newest held segment is no longer in its place.
    pub(super) fn lost(&self) -> bool {
        !self.run.journal().join("LOCK").exists()
    }

    /// Writes everything that is held back to where it was and opens it for writing.
    pub(super) fn put_back(&mut self) -> Result<Writer, RunError> {
        let workdir = self.run.path().ancestors().nth(3);
        if let Some(workdir) = workdir {
            if !workdir.exists() {
                return Err(RunError::WorkdirRemoved { workdir: workdir.to_path_buf() });
            }
            StateDir::create(workdir)?;
        }
        let journal = self.run.journal();
        for dir in [journal.clone(), self.run.blobs(), self.run.context()] {
            fs::create_dir_all(&dir).map_err(|error| RunError::Io {
                doing: "create",
                path: dir,
                error,
            })?;
        }
        for (name, file) in &mut self.held {
            let path = journal.join(name);
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
        self.held.clear();
        self.hold();
        Ok(writer)
    }
}

fn copy(from: &mut File, to: &std::path::Path) -> std::io::Result<()> {
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
