//! What the index and a commit hold, as git lists them.
//!
//! Two commands at most, and none as long as the file of the index keeps its signature and the commit its
//! name. Submodules are left out: what they hold is their own repository's.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::export::name_objects;
use super::refs::sig_of;
use crate::tree::stat::Sig;
use crate::tree::{Digest, Tree, TreeError};

const SUBMODULE: u32 = 0o160_000;

/// What git keeps of one file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitEntry {
    pub mode: u32,
    /// Of the blob, in hex.
    pub id: String,
}

/// Entries by path relative to the workdir. An unmerged path has several in the index.
pub type Listing = BTreeMap<Vec<u8>, BTreeSet<GitEntry>>;

/// Index and commit at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listed {
    pub index: Listing,
    pub commit: Listing,
    /// Paths of the index that are marked as not to be checked out.
    pub sparse: BTreeSet<Vec<u8>>,
}

/// The newest listings. The caller wants the same paths every time.
#[derive(Debug, Default)]
pub(crate) struct Listings {
    index: Option<(Sig, Listing, BTreeSet<Vec<u8>>)>,
    commit: Option<(String, Listing)>,
}

impl Tree {
    /// What the index and this commit hold of the wanted paths.
    pub fn git_listed(&mut self, head: Option<&str>, wanted: &dyn Fn(&[u8]) -> bool) -> Result<Listed, TreeError> {
        let mut listings = std::mem::take(&mut self.listings);
        let index = self.list_index(&mut listings, wanted)?;
        let commit = self.list_commit(&mut listings, head, wanted)?;
        self.listings = listings;
        let (index, sparse) = index;
        Ok(Listed { index, commit, sparse })
    }

    fn list_index(
        &self,
        known: &mut Listings,
        wanted: &dyn Fn(&[u8]) -> bool,
    ) -> Result<(Listing, BTreeSet<Vec<u8>>), TreeError> {
        let repository = self.repository().map_err(TreeError::Git)?;
        let now = self.now();
        let file = repository.git_dir.join("index");
        let Some(sig) = sig_of(&file).map_err(TreeError::Git)? else {
            return Ok((Listing::new(), BTreeSet::new()));
        };
        if let Some((_, index, sparse)) = known.index.as_ref().filter(|(before, ..)| *before == sig) {
            return Ok((index.clone(), sparse.clone()));
        }
        let (mut index, mut sparse) = (Listing::new(), BTreeSet::new());
        let told = self.git(repository).run(&["ls-files", "-z", "-s", "-t"], b"")?;
        for record in told.split(|b| *b == 0).filter(|record| !record.is_empty()) {
            let [tag, b' ', rest @ ..] = record else {
                return Err(unexpected("ls-files", record));
            };
            let (words, path) = fields("ls-files", rest)?;
            let [mode, id, _stage] = words[..] else {
                return Err(unexpected("ls-files", record));
            };
            if !take(&mut index, wanted, path, mode, id)? {
                continue;
            }
            if *tag == b'S' {
                sparse.insert(path.to_vec());
            }
        }
        known.index = sig.settled(now).then(|| (sig, index.clone(), sparse.clone()));
        Ok((index, sparse))
    }

    fn list_commit(
        &self,
        known: &mut Listings,
        head: Option<&str>,
        wanted: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Listing, TreeError> {
        let Some(head) = head else {
            return Ok(Listing::new());
        };
        if let Some((_, commit)) = known.commit.as_ref().filter(|(before, _)| before == head) {
            return Ok(commit.clone());
        }
        let repository = self.repository().map_err(TreeError::Git)?;
        let told = self.git(repository).run(&["ls-tree", "-r", "-z", head], b"")?;
        let mut commit = Listing::new();
        for record in told.split(|b| *b == 0).filter(|record| !record.is_empty()) {
            let (words, path) = fields("ls-tree", record)?;
            let [mode, _kind, id] = words[..] else {
                return Err(unexpected("ls-tree", record));
            };
            take(&mut commit, wanted, path, mode, id)?;
        }
        known.commit = Some((head.to_owned(), commit.clone()));
        Ok(commit)
    }

    /// The names that git would give to stored content as it is, through no filter. Nothing is written.
    pub fn git_names(&self, digests: &BTreeSet<Digest>) -> Result<HashMap<Digest, String>, TreeError> {
        let repository = self.repository().map_err(TreeError::Git)?;
        let objects = self.store.objects_dir();
        let git = super::run::Git::new(&objects, self.options.git_limit_ms).on(&repository.git_dir);
        name_objects(&self.store, &git, digests, &[])
    }
}

/// Words, a tab, and the path to the end.
fn fields<'a>(command: &str, record: &'a [u8]) -> Result<(Vec<&'a str>, &'a [u8]), TreeError> {
    let wrong = || unexpected(command, record);
    let tab = record.iter().position(|b| *b == b'\t').ok_or_else(wrong)?;
    let (words, path) = record.split_at(tab);
    let words = std::str::from_utf8(words).map_err(|_| wrong())?;
    Ok((words.split(' ').collect(), &path[1..]))
}

/// Adds the entry when it is wanted, and says whether it was.
fn take(
    listing: &mut Listing,
    wanted: &dyn Fn(&[u8]) -> bool,
    path: &[u8],
    mode: &str,
    id: &str,
) -> Result<bool, TreeError> {
    let mode = u32::from_str_radix(mode, 8).map_err(|_| unexpected("listing", path))?;
    let taken = mode != SUBMODULE && wanted(path);
    if taken {
        let entry = GitEntry {
            mode,
            id: id.to_owned(),
        };
        listing.entry(path.to_vec()).or_default().insert(entry);
    }
    Ok(taken)
}

fn unexpected(command: &str, record: &[u8]) -> TreeError {
    TreeError::GitFailed {
        command: command.to_owned(),
        status: "an answer of an unknown form".to_owned(),
        stderr: crate::tree::path_text(record),
    }
}
