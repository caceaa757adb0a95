//! A stored tree as a commit on a new branch, beside everything the user has.
//!
//! The commit is put together in an index of its own, from the store and not from the workdir: the user's
//! index, `HEAD` and files are not involved, filters and hooks are not run, and an existing branch is
//! never moved.

use std::collections::{BTreeSet, HashMap};

use super::Repository;
use super::run::Git;
use crate::tree::manifest::{Digest, Entry, Kind, TreeId};
use crate::tree::path::{hex, is_under, join};
use crate::tree::store::{Store, make_dir, object_name};
use crate::tree::{Tree, TreeError, read};

/// What to export, and as what.
#[derive(Debug, Clone, Copy)]
pub struct Export<'a> {
    pub tree: TreeId,
    /// Without `refs/heads/`. It must not exist.
    pub branch: &'a str,
    pub message: &'a str,
    /// The commit (hex) to build on; `None` makes a first commit.
    pub parent: Option<&'a str>,
    /// Name and address of author and committer.
    pub author: (&'a str, &'a str),
}

impl Tree {
    /// Makes a commit of a stored tree on a new branch and returns its id (hex). Of the parent's files,
    /// those outside the workdir, submodules, and files that were not checked out stay as they are.
    pub fn export_commit(&self, export: &Export<'_>) -> Result<String, TreeError> {
        let repository = self.repository().map_err(TreeError::Git)?;
        let manifest = self.manifest(export.tree)?;
        let scratch = self.scratch_dir()?;
        let index = scratch.path().join("index");
        let (name, address) = export.author;
        let git = self.git(repository).index(&index).author(name, address);
        refuse_existing(&git, export.branch)?;
        if let Some(parent) = export.parent {
            git.run(&["read-tree", parent], b"")?;
        }
        let blobs = self.write_blobs(repository, manifest.entries())?;
        let mut records = self.outdated(&git, repository, &manifest)?;
        for entry in manifest.entries() {
            let blob = blobs.of(&entry.digest).unwrap_or_default();
            records.extend(index_record(entry, blob, &join(&repository.prefix, &entry.path)));
        }
        git.run(&["update-index", "-z", "--index-info"], &records)
            .map_err(|e| not_exportable(e, manifest.entries()))?;
        let tree = git.line(&["write-tree"], b"")?;
        let mut commit = vec!["commit-tree", &tree, "-F", "-"];
        commit.extend(export.parent.iter().flat_map(|parent| ["-p", parent]));
        let commit = git.line(&commit, export.message.as_bytes())?;
        let branch = format!("refs/heads/{}", export.branch);
        // The empty old value: only if it still does not exist.
        git.run(&["update-ref", "-m", "loopexec: export", &branch, &commit, ""], b"")?;
        Ok(commit)
    }

    pub(crate) fn git<'a>(&'a self, repository: &'a Repository) -> Git<'a> {
        Git::new(&self.workdir, self.options.git_limit_ms)
            .on(&repository.git_dir)
            .work_tree(&repository.top)
    }

    /// A directory for temporary files, removed when dropped.
    pub(crate) fn scratch_dir(&self) -> Result<tempfile::TempDir, TreeError> {
        let shelf = self.state_dir.join("scratch");
        make_dir(&shelf)?;
        tempfile::Builder::new()
            .tempdir_in(&shelf)
            .map_err(|e| TreeError::writing_io(&shelf, &e))
    }

    fn write_blobs(&self, repository: &Repository, entries: &[Entry]) -> Result<Blobs, TreeError> {
        let objects = self.store.objects_dir();
        let git = Git::new(&objects, self.options.git_limit_ms).on(&repository.git_dir);
        hash_objects(&self.store, &git, entries)
    }

    /// Records that remove what the parent has in the workdir and a walk would have seen.
    fn outdated(
        &self,
        git: &Git<'_>,
        repository: &Repository,
        manifest: &crate::tree::Manifest,
    ) -> Result<Vec<u8>, TreeError> {
        let prefix = &repository.prefix;
        let mut records = Vec::new();
        let listed = git.run(&["ls-files", "-z", "-s", "--full-name", ":/"], b"")?;
        for record in listed.split(|b| *b == 0) {
            let Some(tab) = record.iter().position(|b| *b == b'\t') else {
                continue;
            };
            let path = &record[tab + 1..];
            if record.starts_with(b"160000") || !is_under(path, prefix) {
                continue;
            }
            let below = if prefix.is_empty() {
                path
            } else {
                path.get(prefix.len() + 1..).unwrap_or_default()
            };
            if manifest.entry(below).is_none() && !self.sparse.contains(below) {
                records.extend_from_slice(format!("0 {:040}\t", 0).as_bytes());
                records.extend_from_slice(path);
                records.push(0);
            }
        }
        Ok(records)
    }
}

fn refuse_existing(git: &Git<'_>, branch: &str) -> Result<(), TreeError> {
    let full = format!("refs/heads/{branch}");
    git.run(&["check-ref-format", &full], b"")?;
    let existing = git.run(&["for-each-ref", "--format=%(refname)", &full], b"")?;
    let taken = existing.split(|b| *b == b'\n').any(|name| name == full.as_bytes());
    if taken {
        Err(TreeError::BranchExists {
            branch: branch.to_owned(),
        })
    } else {
        Ok(())
    }
}

/// The git names of stored content.
pub(crate) struct Blobs(HashMap<Digest, String>);

impl Blobs {
    pub(crate) fn of(&self, digest: &Digest) -> Option<&str> {
        self.0.get(digest).map(String::as_str)
    }
}

/// Writes stored content into the object database that `git` works on, run in the store's directory. The
/// content is checked against its digest first, and passes through no filter.
pub(crate) fn hash_objects(store: &Store, git: &Git<'_>, entries: &[Entry]) -> Result<Blobs, TreeError> {
    let lost = entries
        .iter()
        .filter(|e| !store.contains(&e.digest))
        .map(|e| e.path.clone());
    let lost: Vec<_> = lost.collect();
    if !lost.is_empty() {
        return Err(TreeError::NotStored { paths: lost });
    }
    let digests: BTreeSet<Digest> = entries.iter().map(|e| e.digest).collect();
    name_objects(store, git, &digests, &["-w"]).map(Blobs)
}

/// The git names of stored content, checked against its digest first, through no filter.
pub(crate) fn name_objects(
    store: &Store,
    git: &Git<'_>,
    digests: &BTreeSet<Digest>,
    more: &[&str],
) -> Result<HashMap<Digest, String>, TreeError> {
    let mut bytes = read::buffer();
    let mut names = String::with_capacity(digests.len() * 66);
    for digest in digests {
        store.check(digest, &mut bytes)?;
        names.push_str(&object_name(digest));
        names.push('\n');
    }
    let mut args = vec!["hash-object", "--no-filters", "--stdin-paths"];
    args.extend(more);
    let ids = git.run(&args, names.as_bytes())?;
    let ids: Vec<String> = String::from_utf8_lossy(&ids).lines().map(str::to_owned).collect();
    if ids.len() != digests.len() {
        let missing = digests.iter().nth(ids.len()).map(|d| hex(d)).unwrap_or_default();
        return Err(TreeError::BlobMissing { digest: missing });
    }
    Ok(digests.iter().copied().zip(ids).collect())
}

/// One line for `update-index -z --index-info`.
pub(crate) fn index_record(entry: &Entry, blob: &str, path: &[u8]) -> Vec<u8> {
    let mode = match entry.kind {
        Kind::Symlink => "120000",
        Kind::File if entry.mode & 0o100 != 0 => "100755",
        Kind::File => "100644",
    };
    let mut record = format!("{mode} {blob} 0\t").into_bytes();
    record.extend_from_slice(path);
    record.push(0);
    record
}

/// Names the path that git refused, when it said which.
fn not_exportable(error: TreeError, entries: &[Entry]) -> TreeError {
    let TreeError::GitFailed { stderr, .. } = &error else {
        return error;
    };
    let refused = entries
        .iter()
        .find(|e| stderr.contains(&*String::from_utf8_lossy(&e.path)));
    match refused {
        Some(entry) => TreeError::NotExportable {
            path: entry.path.clone(),
            stderr: stderr.clone(),
        },
        None => error,
    }
}
