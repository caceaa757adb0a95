//! The Merkle tree over the leaves, in the shape of RFC 6962, kept as its peaks.
//!
//! The peaks are the roots of the full subtrees that the size's binary digits name, left to right, so
//! appending costs one node on average and the whole tree is at most 64 digests. Folding the peaks
//! from the right gives the RFC 6962 root of any size.

use engine::event::id::Digest;

use crate::chain::node;

/// A growing tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peaks {
    size: u64,
    peaks: Vec<Digest>,
}

impl Peaks {
    /// A tree of `size` leaves with these peaks; `None` when their number does not fit the size.
    pub fn from_parts(size: u64, peaks: Vec<Digest>) -> Option<Self> {
        (peaks.len() == size.count_ones() as usize).then_some(Self { size, peaks })
    }

    pub fn push(&mut self, leaf: Digest) {
        let mut carry = leaf;
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.peaks.pop() {
                carry = node(&left, &carry);
            }
        }
        self.peaks.push(carry);
        self.size += 1;
    }

    pub const fn size(&self) -> u64 {
        self.size
    }

    pub fn peaks(&self) -> &[Digest] {
        &self.peaks
    }

    /// The RFC 6962 root; 32 zero bytes for no leaves.
    pub fn root(&self) -> Digest {
        let mut peaks = self.peaks.iter().rev();
        let Some(&last) = peaks.next() else {
            return Digest::ZERO;
        };
        peaks.fold(last, |right, left| node(left, &right))
    }
}

/// The root of these leaves.
pub fn root(leaves: &[Digest]) -> Digest {
    let mut tree = Peaks::default();
    for leaf in leaves {
        tree.push(*leaf);
    }
    tree.root()
}

/// The audit path of leaf `index`, bottom up: what must be hashed beside it to reach the root.
pub fn audit_path(leaves: &[Digest], index: usize) -> Vec<Digest> {
    let mut path = Vec::new();
    let (mut rest, mut index) = (leaves, index);
    while rest.len() > 1 {
        let (left, right) = rest.split_at(split(rest.len()));
        if index < left.len() {
            path.push(root(right));
            rest = left;
        } else {
            path.push(root(left));
            index -= left.len();
            rest = right;
        }
    }
    path.reverse();
    path
}

/// The largest power of two below `size`.
fn split(size: usize) -> usize {
    size.next_power_of_two() / 2
}

/// The root that `leaf` at `index` of `size` leads to along `path`; `None` when the path has the wrong
/// length or the index is outside the tree.
pub fn root_along(leaf: Digest, index: u64, size: u64, path: &[Digest]) -> Option<Digest> {
    if index >= size {
        return None;
    }
    let (mut position, mut last, mut hash) = (index, size - 1, leaf);
    for sibling in path {
        if last == 0 {
            return None;
        }
        if position % 2 == 1 || position == last {
            hash = node(sibling, &hash);
            while position % 2 == 0 && position != 0 {
                position /= 2;
                last /= 2;
            }
        } else {
            hash = node(&hash, sibling);
        }
        position /= 2;
        last /= 2;
    }
    (last == 0).then_some(hash)
}

/// What must be hashed beside the root of the first leaves to reach the root of them all, bottom up (RFC 6962, 2.1.2).
/// `first` is between 1 and their number.
pub fn growth_path(leaves: &[Digest], first: usize) -> Vec<Digest> {
    fn below(leaves: &[Digest], first: usize, is_known: bool) -> Vec<Digest> {
        if first >= leaves.len() {
            return if is_known { Vec::new() } else { vec![root(leaves)] };
        }
        let (left, right) = leaves.split_at(split(leaves.len()));
        let (mut path, beside) = if first <= left.len() {
            (below(left, first, is_known), root(right))
        } else {
            (below(right, first - left.len(), false), root(left))
        };
        path.push(beside);
        path
    }
    below(leaves, first, true)
}

/// The root of `size` leaves that `path` leads to, when it also leads to `known` as the root of the first of them; `None`
/// when it does not, or has the wrong length.
pub fn root_of_growth(first: u64, size: u64, known: Digest, path: &[Digest]) -> Option<Digest> {
    /// Both roots of a subtree; a subtree at the left edge that is whole in both is `known` itself.
    fn both(first: u64, size: u64, known: Option<Digest>, path: &[Digest]) -> Option<(Digest, Digest)> {
        if first == size {
            return match (known, path) {
                (Some(root), []) => Some((root, root)),
                (None, [root]) => Some((*root, *root)),
                _ => None,
            };
        }
        let (beside, path) = path.split_last()?;
        let half = 1_u64 << (63 - (size - 1).leading_zeros());
        if first <= half {
            let (old, new) = both(first, half, known, path)?;
            return Some((old, node(&new, beside)));
        }
        let (old, new) = both(first - half, size - half, None, path)?;
        Some((node(beside, &old), node(beside, &new)))
    }
    if first == 0 || first > size {
        return None;
    }
    let (old, new) = both(first, size, Some(known), path)?;
    (old == known).then_some(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(size: usize) -> Vec<Digest> {
        (0..size)
            .map(|i| Digest(core::array::from_fn(|j| u8::try_from((i * 31 + j) % 251).unwrap())))
            .collect()
    }

    /// RFC 6962, section 2.1, word for word.
    fn tree_hash(leaves: &[Digest]) -> Digest {
        match leaves {
            [] => Digest::ZERO,
            [leaf] => *leaf,
            _ => {
                let (left, right) = leaves.split_at(split(leaves.len()));
                node(&tree_hash(left), &tree_hash(right))
            }
        }
    }

    #[test]
    fn the_folded_peaks_are_the_root_of_the_recursive_definition() {
        for size in 0..70 {
            assert_eq!(root(&leaves(size)), tree_hash(&leaves(size)), "{size} leaves");
        }
    }

    #[test]
    fn every_size_extends_every_smaller_one_and_nothing_else_is_extended_by_its_path() {
        for size in 1..40_usize {
            let all = leaves(size);
            for first in 1..=size {
                let (old, path) = (root(&all[..first]), growth_path(&all, first));
                let grown = |first: usize, size: usize, old, path: &[Digest]| {
                    root_of_growth(first as u64, size as u64, old, path)
                };
                let new = Some(root(&all));
                assert_eq!(grown(first, size, old, &path), new, "{first} to {size}");
                assert_ne!(grown(first, size, Digest([7; 32]), &path), new, "another old root");
                assert_eq!(grown(0, size, old, &path), None);
                assert_eq!(grown(size + 1, size, old, &path), None);
                let longer: Vec<Digest> = path.iter().copied().chain([old]).collect();
                assert_ne!(grown(first, size, old, &longer), new);
                for at in 0..path.len() {
                    let mut altered = path.clone();
                    altered[at].0[0] ^= 1;
                    assert_ne!(grown(first, size, old, &altered), new, "{first} to {size}, node {at}");
                }
                if let Some((_, shorter)) = path.split_last() {
                    assert_ne!(grown(first, size, old, shorter), new);
                }
            }
        }
        assert_eq!(root_of_growth(1, u64::MAX, Digest::ZERO, &[Digest::ZERO; 80]), None);
    }

    #[test]
    fn every_leaf_of_every_size_is_proven_and_no_other_place_is() {
        for size in 1..40_usize {
            let leaves = leaves(size);
            let root = root(&leaves);
            for index in 0..size {
                let path = audit_path(&leaves, index);
                let at = |i: u64, n: u64, p: &[Digest]| root_along(leaves[index], i, n, p);
                assert_eq!(at(index as u64, size as u64, &path), Some(root));
                assert_ne!(at(index as u64 + 1, size as u64, &path), Some(root));
                assert_eq!(at(size as u64, size as u64, &path), None);
                let mut longer = path.clone();
                longer.push(root);
                assert_ne!(at(index as u64, size as u64, &longer), Some(root));
                if let Some((_, shorter)) = path.split_last() {
                    assert_ne!(at(index as u64, size as u64, shorter), Some(root));
                }
            }
        }
    }
}
