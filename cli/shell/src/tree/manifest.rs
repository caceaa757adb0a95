//! What a tree was at one moment: every file with kind, mode, size and digest, and one id for it all.
//!
//! A manifest is a sorted list. Its canonical bytes are written once per distinct tree, and the
//! [`TreeId`] is their keyed hash, so two trees have one id exactly when every entry is the same.

use std::cmp::Ordering;
use std::fmt;

use super::path::{hex, is_inside};

/// BLAKE3 of a file's content, or of a symlink's target.
pub type Digest = [u8; 32];

const MAGIC: &[u8; 16] = b"loopexec tree 1\n";
const ID_CONTEXT: &str = "loopexec tree manifest 1";
/// Bytes of one entry before its path: kind, mode, size, digest, path length.
const FIXED_BYTES: usize = 1 + 4 + 8 + 32 + 4;

/// The name of a tree.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TreeId(pub [u8; 32]);

impl TreeId {
    /// The id of a manifest with these canonical bytes.
    pub(crate) fn of(canonical: &[u8]) -> Self {
        Self(blake3::derive_key(ID_CONTEXT, canonical))
    }
}

impl fmt::Display for TreeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for TreeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TreeId({self})")
    }
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A regular file.
    File,
    /// A symbolic link; its content is its target, and it is never followed.
    Symlink,
}

/// One file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Relative to the workdir, components joined by `/`.
    pub path: Vec<u8>,
    pub kind: Kind,
    /// Permission bits (`0o7777`); always `0o777` for a symlink.
    pub mode: u32,
    /// Bytes of the content or of the link's target.
    pub size: u64,
    pub digest: Digest,
}

/// A sorted list of entries, one per path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Manifest {
    entries: Vec<Entry>,
}

/// How one path differs between two trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChangeKind {
    Added,
    Removed,
    /// Other content (the mode may differ too).
    Modified,
    /// Same content, other permission bits.
    ModeChanged,
    /// A file became a symlink or the reverse.
    TypeChanged,
}

/// One difference between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub path: Vec<u8>,
    pub kind: ChangeKind,
}

impl Manifest {
    /// Sorts the entries; of two entries for one path the later one stays.
    pub fn new(mut entries: Vec<Entry>) -> Self {
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        entries.dedup_by(|later, kept| {
            let same = later.path == kept.path;
            if same {
                std::mem::swap(later, kept);
            }
            same
        });
        Self { entries }
    }

    /// The entries, sorted by path.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry of exactly this path.
    pub fn entry(&self, path: &[u8]) -> Option<&Entry> {
        let at = self.entries.binary_search_by(|e| e.path.as_slice().cmp(path)).ok()?;
        self.entries.get(at)
    }

    /// The entries strictly beneath this directory.
    pub fn beneath<'a>(&'a self, dir: &[u8]) -> impl Iterator<Item = &'a Entry> + use<'a> {
        let mut prefix = dir.to_vec();
        if !prefix.is_empty() {
            prefix.push(b'/');
        }
        let from = self.entries.partition_point(|e| e.path < prefix);
        self.entries[from..]
            .iter()
            .take_while(move |e| e.path.starts_with(&prefix))
    }

    /// The sum of all sizes, in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.entries.iter().map(|e| e.size).sum()
    }

    /// The id of this tree.
    pub fn id(&self) -> TreeId {
        TreeId::of(&self.canonical_bytes())
    }

    /// The one encoding of this manifest.
    pub fn canonical_bytes(&self) -> Vec<u8> {
        let paths: usize = self.entries.iter().map(|e| e.path.len() + FIXED_BYTES).sum();
        let mut bytes = Vec::with_capacity(MAGIC.len() + 8 + paths);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&(self.entries.len() as u64).to_le_bytes());
        for entry in &self.entries {
            bytes.push(match entry.kind {
                Kind::File => 0,
                Kind::Symlink => 1,
            });
            bytes.extend_from_slice(&entry.mode.to_le_bytes());
            bytes.extend_from_slice(&entry.size.to_le_bytes());
            bytes.extend_from_slice(&entry.digest);
            bytes.extend_from_slice(&(entry.path.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&entry.path);
        }
        bytes
    }

    /// Reads canonical bytes; `None` for anything that [`Self::canonical_bytes`] would not write, and for
    /// paths that lead out of the workdir or into a repository.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let count = u64::from_le_bytes(take(&mut rest)?);
        let mut entries: Vec<Entry> = Vec::new();
        for _ in 0..count {
            let entry = decode_entry(&mut rest)?;
            if entries.last().is_some_and(|last| last.path >= entry.path) {
                return None;
            }
            entries.push(entry);
        }
        rest.is_empty().then_some(Self { entries })
    }
}

fn decode_entry(rest: &mut &[u8]) -> Option<Entry> {
    let kind = match take::<1>(rest)? {
        [0] => Kind::File,
        [1] => Kind::Symlink,
        _ => return None,
    };
    let mode = u32::from_le_bytes(take(rest)?);
    let size = u64::from_le_bytes(take(rest)?);
    let digest = take(rest)?;
    let length = usize::try_from(u32::from_le_bytes(take(rest)?)).ok()?;
    let (path, after) = rest.split_at_checked(length)?;
    *rest = after;
    (mode <= 0o7777 && is_inside(path)).then(|| Entry {
        path: path.to_vec(),
        kind,
        mode,
        size,
        digest,
    })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*head)
}

/// What happened between two trees, sorted by path.
pub fn diff(old: &Manifest, new: &Manifest) -> Vec<Change> {
    let mut changes = Vec::new();
    let (mut before, mut after) = (old.entries.iter().peekable(), new.entries.iter().peekable());
    loop {
        let order = match (before.peek(), after.peek()) {
            (Some(a), Some(b)) => a.path.cmp(&b.path),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return changes,
        };
        let change = match order {
            Ordering::Less => before.next().map(|e| (e, ChangeKind::Removed)),
            Ordering::Greater => after.next().map(|e| (e, ChangeKind::Added)),
            Ordering::Equal => before
                .next()
                .zip(after.next())
                .and_then(|(a, b)| Some((b, between(a, b)?))),
        };
        changes.extend(change.map(|(entry, kind)| Change {
            path: entry.path.clone(),
            kind,
        }));
    }
}

fn between(old: &Entry, new: &Entry) -> Option<ChangeKind> {
    if old.kind != new.kind {
        Some(ChangeKind::TypeChanged)
    } else if old.digest != new.digest || old.size != new.size {
        Some(ChangeKind::Modified)
    } else if old.mode != new.mode {
        Some(ChangeKind::ModeChanged)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(path: &str, content: &str) -> Entry {
        let digest = *blake3::hash(content.as_bytes()).as_bytes();
        Entry {
            path: path.into(),
            kind: Kind::File,
            mode: 0o644,
            size: content.len() as u64,
            digest,
        }
    }

    #[test]
    fn a_tree_id_depends_on_every_field_and_not_on_the_order_given() {
        let base = Manifest::new(vec![entry("a", "1"), entry("b", "2")]);
        assert_eq!(base.id(), Manifest::new(vec![entry("b", "2"), entry("a", "1")]).id());
        let mut ids = vec![base.id()];
        for change in [
            |e: &mut Entry| e.path = b"c".to_vec(),
            |e: &mut Entry| e.kind = Kind::Symlink,
            |e: &mut Entry| e.mode = 0o755,
            |e: &mut Entry| e.size = 9,
            |e: &mut Entry| e.digest[0] ^= 1,
        ] {
            let mut entries = base.entries().to_vec();
            change(&mut entries[0]);
            ids.push(Manifest::new(entries).id());
        }
        let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(distinct.len(), ids.len());
    }

    #[test]
    fn every_kind_of_difference_is_told() {
        let old = Manifest::new(vec![
            entry("gone", "1"),
            entry("mode", "1"),
            entry("text", "1"),
            entry("type", "1"),
        ]);
        let mut mode = entry("mode", "1");
        mode.mode = 0o755;
        let mut link = entry("type", "1");
        link.kind = Kind::Symlink;
        let new = Manifest::new(vec![entry("added", "1"), mode, entry("text", "2"), link]);
        let seen: Vec<_> = diff(&old, &new)
            .into_iter()
            .map(|c| (String::from_utf8(c.path).unwrap(), c.kind))
            .collect();
        let expected = [
            ("added", ChangeKind::Added),
            ("gone", ChangeKind::Removed),
            ("mode", ChangeKind::ModeChanged),
            ("text", ChangeKind::Modified),
            ("type", ChangeKind::TypeChanged),
        ];
        assert_eq!(seen, expected.map(|(p, k)| (p.to_owned(), k)));
        assert!(diff(&new, &new).is_empty());
    }

    #[test]
    fn beneath_is_about_components_and_not_about_prefixes_of_text() {
        let tree = Manifest::new(["a-b", "a/x", "a/y/z", "ab/c"].map(|p| entry(p, "")).to_vec());
        let beneath: Vec<_> = tree.beneath(b"a").map(|e| e.path.clone()).collect();
        assert_eq!(beneath, [b"a/x".to_vec(), b"a/y/z".to_vec()]);
        assert_eq!(tree.beneath(b"").count(), 4);
    }

    #[test]
    fn a_manifest_that_leads_outside_is_refused() {
        for bad in ["../x", "/x", ".git/config", "a/.git/hooks/x"] {
            let bytes = Manifest::new(vec![entry(bad, "")]).canonical_bytes();
            assert_eq!(Manifest::decode(&bytes), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn canonical_bytes_are_read_back_and_never_accepted_when_cut(names in proptest::collection::btree_set("[a-z\u{e9}]{1,8}", 0..8), cut in 0usize..64) {
            let tree = Manifest::new(names.iter().map(|n| entry(n, n)).collect());
            let bytes = tree.canonical_bytes();
            prop_assert_eq!(Manifest::decode(&bytes), Some(tree));
            if cut > 0 && cut <= bytes.len() {
                prop_assert_eq!(Manifest::decode(&bytes[..bytes.len() - cut]), None);
            }
        }
    }
}
