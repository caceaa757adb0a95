//! The difference of two stored trees as a patch that `git apply` takes.
//!
//! Made in an empty repository of its own: no attribute, driver or filter of the user's repository has a
//! say in it.

use super::export::{Blobs, hash_objects, index_record};
use super::run::Git;
use crate::tree::manifest::{Entry, TreeId, diff};
use crate::tree::{Tree, TreeError};

impl Tree {
    /// A binary-safe patch, with full object names and without renames, from one stored tree to another.
    /// Paths are relative to the workdir. Git knows one permission bit: other changes of mode are not in it.
    pub fn export_patch(&self, from: TreeId, to: TreeId) -> Result<Vec<u8>, TreeError> {
        let (old, new) = (self.manifest(from)?, self.manifest(to)?);
        let changes = diff(&old, &new);
        let sides = [&old, &new]
            .map(|side| -> Vec<Entry> { changes.iter().filter_map(|c| side.entry(&c.path).cloned()).collect() });
        let scratch = self.scratch_dir()?;
        let repository = scratch.path().join("repository");
        let limit_ms = self.options.git_limit_ms;
        Git::new(scratch.path(), limit_ms).run(&["init", "-q", "--bare", "--template=", "repository"], b"")?;
        let objects = self.store.objects_dir();
        let git = Git::new(&objects, limit_ms).on(&repository);
        let blobs = hash_objects(&self.store, &git, &sides.concat())?;
        let write = |name: &str, side: &[Entry]| {
            let index = scratch.path().join(name);
            write_tree(
                &Git::new(&repository, limit_ms).on(&repository).index(&index),
                side,
                &blobs,
            )
        };
        let (from, to) = (write("old", &sides[0])?, write("new", &sides[1])?);
        let mut args = vec![
            "diff-tree",
            "-r",
            "-p",
            "--binary",
            "--full-index",
            "--no-renames",
            "--no-color",
        ];
        args.extend([
            "--no-ext-diff",
            "--no-textconv",
            "--src-prefix=a/",
            "--dst-prefix=b/",
            &from,
            &to,
        ]);
        git.run(&args, b"")
    }
}

fn write_tree(git: &Git<'_>, entries: &[Entry], blobs: &Blobs) -> Result<String, TreeError> {
    let mut records = Vec::new();
    for entry in entries {
        records.extend(index_record(
            entry,
            blobs.of(&entry.digest).unwrap_or_default(),
            &entry.path,
        ));
    }
    git.run(&["update-index", "-z", "--index-info"], &records)?;
    git.line(&["write-tree"], b"")
}
