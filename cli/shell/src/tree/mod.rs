//! The tree room: what is in the working directory, kept so that any moment of it can be put back.
//!
//! ```text
//!            walk + rules           store                place
//! workdir --------------> manifest -------> objects ----------------> workdir   (restore)
//!    ^      (stat cache)     |    snapshot            materialise \-> scratch   (replay)
//!    |                       `-- diff, id                export  \-> a branch or a patch
//!    `-- never: .git, the state directory, ignored files, other repositories
//! ```
//!
//! Read [`Tree`] first, then [`Manifest`]. What holds throughout:
//! - Git is never asked what changed in the tree, and nothing that a repository configures is ever executed.
//! - A link is an entry whose content is its target. It is not followed when reading or writing.
//! - What a restore overwrites or deletes is in the store before it is touched.
//! - The index, `HEAD`, branches, stashes and ignored files are the user's and are not touched.
//! - A file that was seen once, or is tracked, is seen in every later scan, whatever ignore files say then.

use std::collections::{HashMap, HashSet};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

mod beneath;
mod cache;
mod compiled;
mod displace;
mod error;
pub mod git;
mod ignored;
mod listing;
mod manifest;
mod path;
mod pins;
mod place;
mod queue;
mod read;
mod restore;
mod rules;
mod scratch;
mod snapshot;
mod stat;
mod state;
mod store;
mod surface;
mod unmoved;
mod walk;

pub(crate) use compiled::is_compiled;
pub use error::TreeError;
pub use git::{Export, GitEntry, GitFacts, GitReader, Listed, Listing, Repository, Unavailable};
pub use listing::{CacheDir, SkipReason, Skipped};
pub use manifest::{Change, ChangeKind, Digest, Entry, Kind, Manifest, TreeId, diff};
pub use path::{path_bytes, path_text};
pub use restore::Restored;
pub(crate) use unmoved::Unmoved;

use cache::Remembered;
use git::listed::Listings;
use git::run::Git;
use listing::Slot;
use pins::Pins;
use rules::Rules;
use stat::{Now, Sig};
use state::Known;
use store::Store;
use walk::Walk;

use crate::foreign;

/// How a tree is looked at.
#[derive(Debug, Clone)]
pub struct Options {
    /// Directories that are never entered, ignored by git or not.
    pub cache_dirs: Vec<CacheDir>,
    /// Files larger than this are hashed and not stored.
    pub blob_cap_bytes: u64,
    /// Threads of a walk.
    pub threads: usize,
    /// Whether the stat cache of an earlier process is believed. Say no when someone may have written to
    /// the state directory.
    pub load_cache: bool,
    /// The longest that one git command may take.
    pub git_limit_ms: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cache_dirs: CacheDir::well_known(),
            blob_cap_bytes: 256 << 20,
            threads: 2,
            load_cache: true,
            git_limit_ms: 60_000,
        }
    }
}

/// What one scan saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeSeen {
    /// The name of everything seen.
    pub id: TreeId,
    /// Files and links.
    pub files: u64,
    pub size_bytes: u64,
    /// Against the previous scan of this [`Tree`]; empty for the first.
    pub changes: Vec<Change>,
    /// Paths that vanished or changed while they were read, twice in a row. Something is writing there.
    pub unstable: Vec<Vec<u8>>,
    /// Directories that were left alone.
    pub skipped: Vec<Skipped>,
    /// Sockets, fifos and devices, which no manifest holds.
    pub specials: u64,
    /// Files that are hashed and not stored, being over the cap. Only a snapshot fills this.
    pub unstored: Vec<Vec<u8>>,
}

/// A working directory, and the store of what it was.
#[derive(Debug)]
pub struct Tree {
    workdir: PathBuf,
    root: Arc<OwnedFd>,
    /// Whether a change on the root's file system always carries a later time.
    faithful: bool,
    state_dir: PathBuf,
    /// The state directory relative to the workdir, when it lies beneath it.
    state_path: Option<Vec<u8>>,
    options: Options,
    reader: Result<GitReader, Unavailable>,
    listings: Listings,
    rules: Arc<Rules>,
    pins: Pins,
    /// Tracked files that were absent from the start (sparse checkout): an export keeps them.
    sparse: HashSet<Vec<u8>>,
    known: Known,
    remembered: Remembered,
    /// Ignored files that were captured by name, with their signatures.
    captured: HashMap<Vec<u8>, Slot>,
    store: Store,
    stored: Option<TreeId>,
    unstored: Vec<Vec<u8>>,
    scanned: bool,
    /// The manifest has to be put together again.
    stale: bool,
    /// The pinned paths have to be worked out again.
    pins_moved: bool,
}

impl Tree {
    /// Opens a workdir, with a state directory that is created when absent. Asks git once what is tracked;
    /// a workdir outside any repository is fine. Nothing is scanned yet.
    pub fn open(workdir: &Path, state_dir: &Path, options: Options) -> Result<Self, TreeError> {
        let (workdir, root) = open_workdir(workdir)?;
        store::make_dir(state_dir)?;
        let state_dir = state_dir
            .canonicalize()
            .map_err(|e| TreeError::writing_io(state_dir, &e))?;
        let state_path = relative(&workdir, &state_dir);
        if state_path.as_ref().is_some_and(Vec::is_empty) {
            return Err(TreeError::OutOfBounds { path: b".".to_vec() });
        }
        let store = Store::open(&state_dir)?;
        let remembered = if options.load_cache {
            Remembered::load(&Remembered::file(&state_dir))
        } else {
            Remembered::default()
        };
        let repository = Repository::find(&workdir);
        let tracked = match &repository {
            Ok(found) => tracked(found, &workdir, options.git_limit_ms)?,
            Err(_) => Tracked::default(),
        };
        let rules = outer_rules(repository.as_ref().ok());
        let pins = Pins::new(pins::outside(tracked.paths, state_path.as_deref()));
        Ok(Self {
            workdir,
            faithful: stat::is_faithful(&root),
            root: Arc::new(root),
            state_dir,
            state_path,
            options,
            reader: repository.map(GitReader::new),
            listings: Listings::default(),
            rules,
            pins,
            sparse: tracked.sparse,
            known: Known::nothing(),
            remembered,
            captured: HashMap::new(),
            store,
            stored: None,
            unstored: Vec::new(),
            scanned: false,
            stale: false,
            pins_moved: false,
        })
    }

    /// The canonical path of the workdir.
    pub fn workdir(&self) -> &Path {
        &self.workdir
    }

    /// The repository the workdir lies in, as found when the tree was opened.
    pub fn repository(&self) -> Result<&Repository, Unavailable> {
        self.reader.as_ref().map(GitReader::repository).map_err(Clone::clone)
    }

    /// What the repository says and is set to now, read without running git.
    pub fn git_facts(&mut self) -> Result<GitFacts, Unavailable> {
        self.reader.as_mut().map_err(|reason| reason.clone())?.read()
    }

    /// The files as of the last scan.
    pub fn current(&self) -> &Manifest {
        &self.known.manifest
    }

    /// The files of a stored tree.
    pub fn manifest(&self, id: TreeId) -> Result<Manifest, TreeError> {
        self.store.tree(id)
    }

    /// The content of a stored file or link, checked.
    pub fn content(&self, digest: &Digest) -> Result<Vec<u8>, TreeError> {
        self.store.bytes(digest)
    }

    /// Looks for every path of this tree in all scans to come, even when ignore files name it later. The
    /// first scan is pinned by itself; a run that is continued pins the tree it began with.
    pub fn pin(&mut self, id: TreeId) -> Result<(), TreeError> {
        self.pins.pin(Arc::new(self.store.tree(id)?));
        self.pins_moved = true;
        Ok(())
    }

    /// Sees the tree as it is, and stores nothing.
    pub fn scan(&mut self) -> Result<TreeSeen, TreeError> {
        let before = self.known.manifest.clone();
        let unstable = self.look()?;
        Ok(self.seen(&before, unstable))
    }

    /// Saves what is known of file signatures, for the next process.
    pub fn save_cache(&self) -> Result<(), TreeError> {
        cache::save(&Remembered::file(&self.state_dir), self.known.settled())
    }

    fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Brings what is known up to date; returns the paths that would not hold still.
    fn look(&mut self) -> Result<Vec<Vec<u8>>, TreeError> {
        let (now, top) = self.find_workdir()?;
        let prefix = self
            .reader
            .as_ref()
            .map_or(&b""[..], |r| r.repository().prefix.as_slice());
        let walk = Walk {
            dirs: &self.known.dirs,
            remembered: &self.remembered,
            pins: &self.pins,
            cache_dirs: &self.options.cache_dirs,
            state: self.state_path.as_deref(),
            prefix,
            now,
            top,
        };
        let hauls = walk.run(self.root.clone(), self.rules.clone(), self.options.threads)?;
        let mut unstable = Vec::new();
        let moved = self.known.apply(hauls, &mut unstable);
        self.stale |= moved;
        if moved || self.pins_moved {
            self.known.review_pins(&self.pins, self.state_path.as_deref());
            self.pins_moved = false;
        }
        self.stale |= self.known.look_at_pins(self.root.as_fd(), now, &mut unstable)?;
        if self.stale {
            self.known.rebuild();
            self.stale = false;
        }
        if !self.scanned {
            self.remember_first();
        }
        unstable.sort_unstable();
        unstable.dedup();
        Ok(unstable)
    }

    fn remember_first(&mut self) {
        self.pins.pin(self.known.manifest.clone());
        self.pins.found_at_open(
            self.known.ignored(|_| true).collect(),
            self.known.dirs.keys().cloned().collect(),
        );
        let manifest = &self.known.manifest;
        self.sparse.retain(|path| manifest.entry(path).is_none());
        // Every file is in `known` now.
        self.remembered = Remembered::default();
    }

    fn seen(&mut self, before: &Manifest, unstable: Vec<Vec<u8>>) -> TreeSeen {
        let manifest = &self.known.manifest;
        let first = !std::mem::replace(&mut self.scanned, true);
        TreeSeen {
            id: self.known.id,
            files: manifest.entries().len() as u64,
            size_bytes: manifest.size_bytes(),
            changes: if first || std::ptr::eq(before, &**manifest) {
                Vec::new()
            } else {
                diff(before, manifest)
            },
            unstable,
            skipped: self.known.skipped.clone(),
            specials: self.known.specials,
            unstored: Vec::new(),
        }
    }

    /// The time where the root lies.
    fn now(&self) -> Now {
        Now::with(self.faithful)
    }

    /// Makes sure that the open directory is still what the path names: a workdir that was removed is told
    /// apart from one that cannot be read, and one that was replaced is opened anew. Its signature, and a time before
    /// that was taken.
    fn find_workdir(&mut self) -> Result<(Now, Sig), TreeError> {
        let now = self.now();
        let held = rustix::fs::fstat(&*self.root).map(|s| Sig::of(&s));
        let named = rustix::fs::lstat(&self.workdir).map(|s| Sig::of(&s));
        match (held, named) {
            (Ok(held), Ok(named)) if (held.dev, held.ino) == (named.dev, named.ino) => Ok((now, held)),
            _ => {
                // A link in its place is not followed: it would lead a restore elsewhere.
                self.root = Arc::new(open_plain(&self.workdir)?);
                self.faithful = stat::is_faithful(&*self.root);
                let now = self.now();
                let opened = rustix::fs::fstat(&*self.root).map_err(|e| TreeError::reading(b".", e))?;
                Ok((now, Sig::of(&opened)))
            }
        }
    }
}

/// What git tracks beneath the workdir.
#[derive(Debug, Default)]
struct Tracked {
    paths: Vec<Vec<u8>>,
    /// Marked as not to be checked out.
    sparse: HashSet<Vec<u8>>,
}

fn tracked(repository: &Repository, workdir: &Path, limit_ms: u64) -> Result<Tracked, TreeError> {
    let git = Git::new(workdir, limit_ms)
        .on(&repository.git_dir)
        .work_tree(&repository.top);
    let listed = git.run(&["ls-files", "-z", "-c", "-t"], b"")?;
    let mut tracked = Tracked::default();
    for record in listed.split(|b| *b == 0) {
        let [tag, b' ', path @ ..] = record else { continue };
        if !path::is_inside(path) {
            continue;
        }
        tracked.paths.push(path.to_vec());
        if *tag == b'S' {
            tracked.sparse.insert(path.to_vec());
        }
    }
    Ok(tracked)
}

/// The rules that come from outside the workdir: `info/exclude` and ignore files above it.
fn outer_rules(repository: Option<&Repository>) -> Arc<Rules> {
    let Some(repository) = repository else {
        return Rules::outermost(b"");
    };
    let exclude = foreign::read(&repository.common_dir.join("info/exclude"), rules::LARGEST_BYTES).unwrap_or_default();
    let base = Rules::outermost(&exclude);
    rules::above_workdir(&base, &repository.top, &repository.prefix).unwrap_or_else(|| Rules::outermost(b""))
}

fn open_workdir(workdir: &Path) -> Result<(PathBuf, OwnedFd), TreeError> {
    let path = workdir
        .canonicalize()
        .map_err(|e| unusable(workdir, error::errno_of(&e)))?;
    let fd = open_plain(&path)?;
    Ok((path, fd))
}

fn open_plain(workdir: &Path) -> Result<OwnedFd, TreeError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(workdir, flags, Mode::empty()).map_err(|errno| unusable(workdir, errno))
}

fn unusable(workdir: &Path, errno: Errno) -> TreeError {
    let workdir = workdir.to_path_buf();
    match errno {
        Errno::NOENT => TreeError::WorkdirRemoved { workdir },
        errno => TreeError::WorkdirUnusable {
            workdir,
            errno: errno.raw_os_error(),
        },
    }
}

fn relative(workdir: &Path, dir: &Path) -> Option<Vec<u8>> {
    let below = dir.strip_prefix(workdir).ok()?;
    Some(std::os::unix::ffi::OsStrExt::as_bytes(below.as_os_str()).to_vec())
}
