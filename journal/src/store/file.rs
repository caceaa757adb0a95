//! A directory of the file system. Writing is buffered and made durable by `fdatasync`; an error of
//! either is reported once and the caller must never retry, because the kernel may have marked the
//! pages clean.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::OFlags;

use super::{Hold, Store};
use crate::lock::LOCK_NAME;

/// A journal directory. Opens files as they are needed, for reading alone unless something is written.
#[derive(Debug)]
pub struct FileStore {
    dir: PathBuf,
    open: Mutex<HashMap<String, Open>>,
}

#[derive(Clone, Debug)]
struct Open {
    file: Arc<File>,
    writable: bool,
}

impl FileStore {
    /// Makes the directory, durably; one that exists already is fine.
    pub fn create(dir: &Path) -> io::Result<Self> {
        match std::fs::create_dir(dir) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
        Ok(Self::open(dir))
    }

    /// A directory that is there. Nothing is touched until a file is asked for.
    pub fn open(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            open: Mutex::default(),
        }
    }

    fn files(&self) -> MutexGuard<'_, HashMap<String, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, name: &str, writable: bool) -> io::Result<Arc<File>> {
        let mut files = self.files();
        if let Some(known) = files.get(name)
            && (known.writable || !writable)
        {
            return Ok(Arc::clone(&known.file));
        }
        // Without waiting: a fifo put in place of a file is an error, not the end of all progress.
        let file = OpenOptions::new()
            .read(true)
            .write(writable)
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
            .open(self.dir.join(name))?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        let file = Arc::new(file);
        files.insert(
            name.to_owned(),
            Open {
                file: Arc::clone(&file),
                writable,
            },
        );
        Ok(file)
    }
}

impl Store for FileStore {
    fn create(&self, name: &str) -> io::Result<()> {
        let path = self.dir.join(name);
        if let Some(folder) = Path::new(name).parent()
            && !folder.as_os_str().is_empty()
            && !self.dir.join(folder).is_dir()
        {
            std::fs::create_dir(self.dir.join(folder))?;
            self.sync_dir("")?;
        }
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        let open = Open {
            file: Arc::new(file),
            writable: true,
        };
        self.files().insert(name.to_owned(), open);
        Ok(())
    }

    fn read_at(&self, name: &str, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let file = self.file(name, false)?;
        let mut done = 0;
        while done < into.len() {
            match file.read_at(&mut into[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn write_at(&self, name: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file(name, true)?.write_all_at(bytes, offset)
    }

    fn len(&self, name: &str) -> io::Result<u64> {
        Ok(self.file(name, false)?.metadata()?.len())
    }

    fn set_len(&self, name: &str, len: u64) -> io::Result<()> {
        self.file(name, true)?.set_len(len)
    }

    fn sync(&self, name: &str) -> io::Result<()> {
        self.file(name, true)?.sync_data()
    }

    fn sync_dir(&self, folder: &str) -> io::Result<()> {
        File::open(self.dir.join(folder))?.sync_all()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = self.files();
        std::fs::rename(self.dir.join(from), self.dir.join(to))?;
        files.remove(to);
        if let Some(file) = files.remove(from) {
            files.insert(to.to_owned(), file);
        }
        Ok(())
    }

    fn unlink(&self, name: &str) -> io::Result<()> {
        self.files().remove(name);
        std::fs::remove_file(self.dir.join(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.dir)? {
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn lock(&self) -> io::Result<Option<Hold>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(self.dir.join(LOCK_NAME))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Box::new(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn place(&self) -> String {
        self.dir.display().to_string()
    }
}
