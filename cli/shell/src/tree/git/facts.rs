//! What a repository says and is set to, besides its files: the part of `.git` that nobody but the user
//! should change during a run.

use std::collections::{BTreeMap, HashMap};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::refs::{RefReader, head};
use super::{Repository, Unavailable};
use crate::tree::manifest::Digest;
use crate::tree::path::path_text;
use crate::tree::stat::{Now, Sig};

/// How deep submodule directories are searched: their names may hold slashes, and they nest.
const DEEPEST_MODULE: usize = 8;
/// What is read of one settings file at most.
const LARGEST_BYTES: u64 = 16 << 20;

/// A repository at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitFacts {
    /// The commit `HEAD` comes to (hex); `None` before the first commit.
    pub head: Option<String>,
    /// The reference `HEAD` names, such as `refs/heads/main`; `None` when detached.
    pub branch: Option<String>,
    /// Every reference with its full name (branches, remotes, tags, stash): a commit id (hex), or
    /// `ref: name` for a symbolic one.
    pub refs: BTreeMap<String, String>,
    /// What git would obey or execute: configuration, hooks, `info/`, alternates, and the same of
    /// submodules. Names are relative to the common git directory, those of a linked worktree's own files
    /// start with `worktree/`. The digest covers content, exec bit and, for a link, its target.
    pub meta: BTreeMap<String, Digest>,
}

/// Reads [`GitFacts`] again and again; unmoved files are not read twice.
#[derive(Debug)]
pub struct GitReader {
    repository: Repository,
    refs: RefReader,
    seen: HashMap<PathBuf, (Sig, Digest)>,
}

impl GitReader {
    /// A reader that knows nothing yet.
    pub fn new(repository: Repository) -> Self {
        Self {
            repository,
            refs: RefReader::default(),
            seen: HashMap::new(),
        }
    }

    /// Where the repository is.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// What the repository is now, without running git.
    pub fn read(&mut self) -> Result<GitFacts, Unavailable> {
        let Repository {
            git_dir, common_dir, ..
        } = self.repository.clone();
        if common_dir.join("reftable").is_dir() {
            return Err(Unavailable::Reftable { git_dir: common_dir });
        }
        let now = std::fs::File::open(&common_dir)
            .map(Now::on)
            .map_err(|e| Unavailable::reading(&common_dir, &e))?;
        let refs = self.refs.read(&git_dir, &common_dir, now)?;
        let (head, branch) = head(&git_dir, &refs)?;
        let mut sweep = Sweep {
            now,
            known: &self.seen,
            seen: HashMap::new(),
            meta: BTreeMap::new(),
        };
        sweep.settings(&common_dir, "")?;
        sweep.modules(&common_dir.join("modules"), "modules", 0)?;
        if git_dir != common_dir {
            sweep.settings(&git_dir, "worktree/")?;
            sweep.modules(&git_dir.join("modules"), "worktree/modules", 0)?;
        }
        let Sweep { seen, meta, .. } = sweep;
        self.seen = seen;
        Ok(GitFacts {
            head,
            branch,
            refs,
            meta,
        })
    }
}

struct Sweep<'a> {
    now: Now,
    known: &'a HashMap<PathBuf, (Sig, Digest)>,
    seen: HashMap<PathBuf, (Sig, Digest)>,
    meta: BTreeMap<String, Digest>,
}

impl Sweep<'_> {
    /// The settings of one git directory.
    fn settings(&mut self, dir: &Path, name: &str) -> Result<(), Unavailable> {
        for file in ["config", "config.worktree", "objects/info/alternates"] {
            self.file(&dir.join(file), format!("{name}{file}"))?;
        }
        self.dir(&dir.join("hooks"), &format!("{name}hooks"), |file| {
            !file.ends_with(b".sample")
        })?;
        // `refs` there is derived from the references by `git gc`, for whoever fetches over plain HTTP.
        self.dir(&dir.join("info"), &format!("{name}info"), |file| file != b"refs")
    }

    /// The files directly in a directory.
    fn dir(&mut self, dir: &Path, name: &str, wanted: impl Fn(&[u8]) -> bool) -> Result<(), Unavailable> {
        if dir.symlink_metadata().is_ok_and(|m| m.is_symlink()) {
            self.file(dir, name.to_owned())?;
        }
        for entry in entries(dir)? {
            let file_name = entry.file_name();
            if wanted(file_name.as_bytes()) {
                self.file(&entry.path(), format!("{name}/{}", path_text(file_name.as_bytes())))?;
            }
        }
        Ok(())
    }

    /// Git directories of submodules: whatever beneath `modules` has a `HEAD`.
    fn modules(&mut self, dir: &Path, name: &str, depth: usize) -> Result<(), Unavailable> {
        if depth > DEEPEST_MODULE {
            return Ok(());
        }
        for entry in entries(dir)? {
            if !entry.file_type().is_ok_and(|t| t.is_dir()) {
                continue;
            }
            let (path, name) = (
                entry.path(),
                format!("{name}/{}", path_text(entry.file_name().as_bytes())),
            );
            if path.join("HEAD").is_file() {
                self.settings(&path, &format!("{name}/"))?;
                self.modules(&path.join("modules"), &format!("{name}/modules"), depth + 1)?;
            } else {
                self.modules(&path, &name, depth + 1)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, name: String) -> Result<(), Unavailable> {
        let own = match rustix::fs::lstat(path) {
            Ok(stat) => Sig::of(&stat),
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Ok(()),
            Err(errno) => {
                return Err(Unavailable::Unreadable {
                    file: path.to_path_buf(),
                    errno: errno.raw_os_error(),
                });
            }
        };
        if own.file_type().is_dir() {
            return Ok(());
        }
        let digest = match self.known.get(path) {
            Some((known, digest)) if *known == own && own.file_type().is_file() => *digest,
            _ => digest(path, own)?,
        };
        if own.settled(self.now) {
            self.seen.insert(path.to_path_buf(), (own, digest));
        }
        self.meta.insert(name, digest);
        Ok(())
    }
}

/// Digest of what a settings file is: for a link its target and what is read through it.
fn digest(path: &Path, own: Sig) -> Result<Digest, Unavailable> {
    let mut hasher = blake3::Hasher::new();
    if own.file_type().is_symlink() {
        let target = std::fs::read_link(path).map_err(|e| Unavailable::reading(path, &e))?;
        hasher
            .update(b"link\0")
            .update(target.as_os_str().as_bytes())
            .update(b"\0");
    }
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {
            let executable = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0;
            hasher.update(if executable { b"exec\0" } else { b"file\0" });
            let file = std::fs::File::open(path).map_err(|e| Unavailable::reading(path, &e))?;
            let mut limited = std::io::Read::take(file, LARGEST_BYTES);
            hasher
                .update_reader(&mut limited)
                .map_err(|e| Unavailable::reading(path, &e))?;
            hasher.update(&metadata.len().to_le_bytes());
        }
        // A dangling link, a socket: nothing that git would read.
        _ => {
            hasher.update(b"other\0");
        }
    }
    Ok(*hasher.finalize().as_bytes())
}

fn entries(dir: &Path) -> Result<Vec<std::fs::DirEntry>, Unavailable> {
    match std::fs::read_dir(dir) {
        Ok(entries) => entries
            .collect::<Result<_, _>>()
            .map_err(|e| Unavailable::reading(dir, &e)),
        Err(e)
            if matches!(
                e.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(Vec::new())
        }
        Err(e) => Err(Unavailable::reading(dir, &e)),
    }
}
