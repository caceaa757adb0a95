//! Where things lie: the state directory of a workdir, the directory of a run, the signing key.
//!
//! ```text
//! <workdir>/.loopexec/      0700, private to its owner
//!   LOCK                    the kernel lock of the running loop
//!   state.json              projection of the latest run
//!   objects/  cache/        snapshots by content; what can be computed again
//!   runs/<run-id>/          journal/ receipt.jsonl state.json blobs/ context/ supervisor.json
//! ```
//!
//! The directory lies where the work command can write. Nothing in it is followed through a symbolic
//! link that was put in its place, and nothing in it is trusted when somebody else owns it.

mod error;
mod key;
mod run_id;
#[cfg(test)]
mod tests;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

pub use error::PathError;
pub use key::signing_key;
pub use run_id::RunId;

use crate::process::keep_out;

/// Name of the state directory in the workdir.
pub const STATE_DIR: &str = ".loopexec";

const PRIVATE_DIR: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;

/// Attempts at a run id that nobody has; each collision is one in sixteen million.
const FRESH_ATTEMPTS_MAX: u32 = 16;

/// The workdir: absolute, without symbolic links, and a directory. Nothing that this process starts for itself comes out
/// of it from then on.
///
/// # Errors
/// What stands in the way, with the path.
pub fn workdir(path: &Path) -> Result<PathBuf, PathError> {
    let absolute = fs::canonicalize(path).map_err(|e| PathError::io("find the workdir", path, &e))?;
    if absolute.is_dir() {
        keep_out(&absolute);
        Ok(absolute)
    } else {
        Err(PathError::NotADirectory { path: absolute })
    }
}

/// Opens a regular file for reading. A pipe in its place must not make anybody wait for a writer.
///
/// # Errors
/// What the system said, or that it is no regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let nonblock = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = OpenOptions::new().read(true).custom_flags(nonblock).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

/// The state directory of one workdir, known to be a private directory of its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDir {
    root: PathBuf,
}

impl StateDir {
    /// Makes the directory, or takes the one that is there.
    ///
    /// # Errors
    /// A link, a file or another owner's directory in its place; or what the system said.
    pub fn create(workdir: &Path) -> Result<Self, PathError> {
        let root = workdir.join(STATE_DIR);
        make_dir(&root)?;
        let state = Self::vetted(root)?;
        state.ignore_itself()?;
        for dir in [state.runs(), state.objects(), state.cache()] {
            make_dir(&dir)?;
            vet(&dir)?;
        }
        Ok(state)
    }

    /// The directory that is already there; `None` when there is none.
    ///
    /// # Errors
    /// As [`StateDir::create`]. Nothing is written.
    pub fn open(workdir: &Path) -> Result<Option<Self>, PathError> {
        let root = workdir.join(STATE_DIR);
        match fs::symlink_metadata(&root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(PathError::io("look at", &root, &error)),
            Ok(_) => Self::vetted(root).map(Some),
        }
    }

    fn vetted(root: PathBuf) -> Result<Self, PathError> {
        vet(&root)?;
        Ok(Self { root })
    }

    /// Keeps version control away, without touching the project's own ignore files.
    fn ignore_itself(&self) -> Result<(), PathError> {
        let path = self.root.join(".gitignore");
        let mut options = OpenOptions::new();
        match options.write(true).create_new(true).mode(PRIVATE_FILE).open(&path) {
            Ok(mut file) => file
                .write_all(b"*\n")
                .map_err(|error| PathError::io("write", &path, &error)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(PathError::io("write", &path, &error)),
        }
    }

    pub fn path(&self) -> &Path {
        &self.root
    }

    pub fn lock_file(&self) -> PathBuf {
        self.root.join("LOCK")
    }

    /// Projection of the latest run.
    pub fn state_file(&self) -> PathBuf {
        self.root.join("state.json")
    }

    pub fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    pub fn objects(&self) -> PathBuf {
        self.root.join("objects")
    }

    pub fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// Claims the directory of a new run. The directory's creation is the claim: two runs can never
    /// share an id, and a used one is refused rather than overwritten.
    ///
    /// # Errors
    /// [`PathError::RunExists`], or what the system said.
    pub fn create_run(&self, id: RunId) -> Result<RunDir, PathError> {
        let run = RunDir {
            root: self.runs().join(id.as_str()),
            id,
        };
        match DirBuilder::new().mode(PRIVATE_DIR).create(&run.root) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(PathError::RunExists {
                    run_id: run.id.to_string(),
                    path: run.root,
                });
            }
            Err(error) => return Err(PathError::io("create", &run.root, &error)),
        }
        for dir in [run.journal(), run.blobs(), run.context()] {
            make_dir(&dir)?;
        }
        Ok(run)
    }

    /// Claims a directory under an id that nobody has used.
    ///
    /// # Errors
    /// What the system said.
    pub fn create_fresh_run(&self, wall_ms: u64) -> Result<RunDir, PathError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.create_run(RunId::fresh(wall_ms)?) {
                Err(PathError::RunExists { .. }) if attempts < FRESH_ATTEMPTS_MAX => {}
                outcome => return outcome,
            }
        }
    }

    /// The directory of a run that is there.
    ///
    /// # Errors
    /// [`PathError::NoSuchRun`], or a link or another owner's directory in its place.
    pub fn open_run(&self, id: RunId) -> Result<RunDir, PathError> {
        let root = self.runs().join(id.as_str());
        vet(&self.runs())?;
        match fs::symlink_metadata(&root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(PathError::NoSuchRun {
                run_id: id.to_string(),
                path: self.runs(),
            }),
            Err(error) => Err(PathError::io("look at", &root, &error)),
            Ok(_) => {
                vet(&root)?;
                Ok(RunDir { root, id })
            }
        }
    }

    /// The ids of all runs, sorted; fresh ids sort by time.
    ///
    /// # Errors
    /// What the system said.
    pub fn run_ids(&self) -> Result<Vec<RunId>, PathError> {
        let runs = self.runs();
        let fail = |error: &io::Error| PathError::io("list", &runs, error);
        let listing = match fs::read_dir(&runs) {
            Ok(listing) => listing,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(fail(&error)),
        };
        let mut ids = Vec::new();
        for entry in listing {
            let name = entry.map_err(|error| fail(&error))?.file_name();
            // What is no run id was not made by a run.
            ids.extend(name.to_str().and_then(|name| RunId::parse(name).ok()));
        }
        ids.sort();
        Ok(ids)
    }
}

/// The directory of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDir {
    root: PathBuf,
    id: RunId,
}

impl RunDir {
    pub fn id(&self) -> &RunId {
        &self.id
    }

    pub fn path(&self) -> &Path {
        &self.root
    }

    pub fn journal(&self) -> PathBuf {
        self.root.join("journal")
    }

    /// The journal as JSON lines: a projection.
    pub fn receipt(&self) -> PathBuf {
        self.root.join("receipt.jsonl")
    }

    /// The folded state: a projection.
    pub fn state_file(&self) -> PathBuf {
        self.root.join("state.json")
    }

    /// Captured outputs too large for the journal, by digest.
    pub fn blobs(&self) -> PathBuf {
        self.root.join("blobs")
    }

    /// What the agent is given, a file an iteration.
    pub fn context(&self) -> PathBuf {
        self.root.join("context")
    }

    /// Who supervises the commands of this run.
    pub fn supervisor(&self) -> PathBuf {
        self.root.join("supervisor.json")
    }
}

/// Makes one private directory; one that is there is kept.
fn make_dir(path: &Path) -> Result<(), PathError> {
    match DirBuilder::new().mode(PRIVATE_DIR).create(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(PathError::io("create", path, &error)),
    }
}

/// Refuses what is no directory of this user.
fn vet(path: &Path) -> Result<(), PathError> {
    let meta = fs::symlink_metadata(path).map_err(|error| PathError::io("look at", path, &error))?;
    let path = path.to_owned();
    if meta.file_type().is_symlink() {
        return Err(PathError::SymbolicLink { path });
    }
    if !meta.is_dir() {
        return Err(PathError::NotADirectory { path });
    }
    let (owner, user) = (meta.uid(), rustix::process::geteuid().as_raw());
    if owner != user {
        return Err(PathError::ForeignOwner { path, owner, user });
    }
    Ok(())
}
