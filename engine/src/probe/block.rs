//! Runs under one condition: how often each verdict came, and what differed (SPEC 6.5.7).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::verdict::{Class, Verdict};
use crate::event::id::Digest;
use crate::stat::Tally;

/// Runs under one condition.
#[derive(Clone, Debug, Default)]
pub struct Block {
    verdicts: Vec<(Verdict, u32)>,
    exits: BTreeMap<Option<i32>, u32>,
    outputs: BTreeSet<[u8; 32]>,
}

impl Block {
    /// Takes in one run.
    pub fn add(&mut self, verdict: Verdict, exit: Option<i32>, output: Digest) {
        match self.verdicts.iter_mut().find(|(known, _)| known.agrees(&verdict)) {
            Some((_, runs)) => *runs += 1,
            None => self.verdicts.push((verdict, 1)),
        }
        *self.exits.entry(exit).or_default() += 1;
        self.outputs.insert(output.0);
    }

    pub fn runs(&self) -> u32 {
        self.verdicts.iter().map(|(_, runs)| runs).sum()
    }

    /// The most frequent verdict; of equals the one that came first.
    pub fn reference(&self) -> Option<&Verdict> {
        let mut best: Option<&(Verdict, u32)> = None;
        for seen in &self.verdicts {
            if best.is_none_or(|best| seen.1 > best.1) {
                best = Some(seen);
            }
        }
        best.map(|(verdict, _)| verdict)
    }

    /// How many runs say what the reference says.
    pub fn against(&self, reference: &Verdict) -> Tally {
        let same = self.verdicts.iter().find(|(verdict, _)| verdict.agrees(reference));
        Tally {
            agreeing: same.map_or(0, |(_, runs)| *runs),
            runs: self.runs(),
        }
    }

    pub fn tally(&self) -> Tally {
        self.reference()
            .map_or(Tally::default(), |reference| self.against(reference))
    }

    pub fn green(&self) -> u32 {
        let green = self
            .verdicts
            .iter()
            .filter(|(verdict, _)| verdict.class == Class::Green);
        green.map(|(_, runs)| runs).sum()
    }

    pub fn distinct_verdicts(&self) -> usize {
        self.verdicts.len()
    }

    pub fn distinct_outputs(&self) -> usize {
        self.outputs.len()
    }

    /// Exit statuses and how often each was seen; none for a run that did not end by itself.
    pub fn exits(&self) -> impl Iterator<Item = (Option<i32>, u32)> {
        self.exits.iter().map(|(exit, runs)| (*exit, *runs))
    }

    /// Members that did not fare the same in every run.
    pub fn unsteady(&self) -> BTreeSet<&str> {
        let pairs = self.verdicts.iter().zip(self.verdicts.iter().skip(1));
        pairs.flat_map(|((one, _), (two, _))| one.differing(two)).collect()
    }
}
