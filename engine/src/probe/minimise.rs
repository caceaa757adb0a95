//! Delta debugging: from a set that breaks a check to one of which nothing can be left out.
//!
//! It is Zeller's ddmin as a function of what is known: it says which set to try next, and is asked again once that
//! one is known. What is neither the same break nor an agreement counts as no break.

use alloc::vec::Vec;

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Find out whether this set breaks the check in the same way.
    Try(Vec<usize>),
    /// It does, and no set that lacks one of it does.
    Smallest(Vec<usize>),
}

/// Reduces `whole`, which is known to break the check. `breaks` is what is known of a set; `None` for not tried yet.
pub(super) fn step(whole: &[usize], breaks: impl Fn(&[usize]) -> Option<bool>) -> Step {
    let mut set = whole.to_vec();
    let mut parts = 2;
    while set.len() > 1 {
        match reduced(&set, parts, &breaks) {
            Reduced::Unknown(tried) => return Step::Try(tried),
            Reduced::To { smaller, parts: next } => {
                set = smaller;
                parts = next;
            }
            Reduced::Not if parts >= set.len() => break,
            Reduced::Not => parts = (parts * 2).min(set.len()),
        }
    }
    Step::Smallest(set)
}

enum Reduced {
    To { smaller: Vec<usize>, parts: usize },
    Unknown(Vec<usize>),
    Not,
}

/// One round: each of so many parts alone, then all but each.
fn reduced(set: &[usize], parts: usize, breaks: impl Fn(&[usize]) -> Option<bool>) -> Reduced {
    let size = set.len().div_ceil(parts);
    for part in set.chunks(size) {
        match breaks(part) {
            Some(true) => {
                return Reduced::To {
                    smaller: part.to_vec(),
                    parts: 2,
                };
            }
            Some(false) => {}
            None => return Reduced::Unknown(part.to_vec()),
        }
    }
    for part in set.chunks(size) {
        let rest: Vec<usize> = set.iter().filter(|one| !part.contains(one)).copied().collect();
        match breaks(&rest) {
            Some(true) => {
                return Reduced::To {
                    smaller: rest,
                    parts: (parts - 1).max(2),
                };
            }
            Some(false) => {}
            None => return Reduced::Unknown(rest),
        }
    }
    Reduced::Not
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::vec;

    use super::*;

    /// Runs it to its end against a check that breaks when this holds; the set, and how many were tried.
    fn minimised(whole: &[usize], breaks: impl Fn(&[usize]) -> bool) -> (Vec<usize>, usize) {
        let mut known: BTreeMap<Vec<usize>, bool> = BTreeMap::new();
        loop {
            match step(whole, |set| known.get(set).copied()) {
                Step::Smallest(set) => return (set, known.len()),
                Step::Try(set) => {
                    let broke = breaks(&set);
                    assert!(known.insert(set, broke).is_none(), "no set is tried twice");
                }
            }
        }
    }

    #[test]
    fn any_pair_among_twelve_is_found_by_few_runs() {
        let whole: Vec<usize> = (0..12).collect();
        for one in 0..12 {
            for two in one + 1..12 {
                let (set, tried) = minimised(&whole, |set| set.contains(&one) && set.contains(&two));
                assert_eq!(set, [one, two]);
                assert!(tried <= 60, "{tried} for {one} and {two}");
            }
        }
    }

    #[test]
    fn nothing_can_be_left_out_of_what_is_found() {
        let whole: Vec<usize> = (0..7).collect();
        for wanted in 1_u32..1 << 7 {
            let within = |set: &[usize]| {
                let have = set.iter().fold(0, |have, one| have | 1_u32 << one);
                have & wanted == wanted
            };
            let (set, _) = minimised(&whole, within);
            assert_eq!(set.len() as u32, wanted.count_ones());
            assert!(within(&set));
        }
    }

    #[test]
    fn either_of_two_pairs_will_do_and_is_minimal() {
        let whole: Vec<usize> = (0..5).collect();
        let breaks = |set: &[usize]| {
            [[0, 4], [1, 2]]
                .iter()
                .any(|pair| pair.iter().all(|one| set.contains(one)))
        };
        let (set, _) = minimised(&whole, breaks);
        assert!([vec![0, 4], vec![1, 2]].contains(&set), "{set:?}");
    }

    #[test]
    fn what_breaks_as_a_whole_alone_stays_whole() {
        let (set, _) = minimised(&[3, 5, 8], |set| set.len() == 3);
        assert_eq!(set, [3, 5, 8]);
    }
}
