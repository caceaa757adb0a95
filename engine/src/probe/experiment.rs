//! Which run under which change of its surroundings comes next (SPEC 6.5.9).
//!
//! ```text
//!   each dimension      every variation once ── all agree ──────────────> holds
//!                          │ one does not
//!                          └─> the same again ── other verdict ─────────> nondeterministic
//!                                 └─ same ──> its tool alone ── agrees ─> broke
//!                                                └─ does not ───────────> not probed
//!   all that hold       together, round by round, in the same way; a break that shows again is minimised
//! ```
//!
//! The experiment knows its dimensions by number, name and count of variations. What they do to a run, and what of it
//! cannot be done here, the shell knows. Everything is worked out anew from the trials that were made: nothing pending
//! is stored.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::minimise::{self, Step};
use super::report::{Finding, Together};
use super::verdict::Verdict;

/// One dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub name: String,
    /// What it takes away lies outside of the tree: a check that misses it is not hermetic.
    pub is_outside: bool,
    /// A tool stands around the check, which could break it by itself.
    pub has_tool: bool,
    /// How many runs it has, each varied in its own way; or why there can be none.
    pub variations: Result<u32, String>,
}

/// Why a trial is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    First,
    /// Exactly as the one that disagreed.
    Again,
    /// The tools stand around the check and vary nothing.
    ToolAlone,
}

/// One run of the check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Numbers of what is varied, ascending.
    pub subjects: Vec<usize>,
    /// Which of its variations each takes: this one, counted round and round.
    pub variation: u32,
    pub purpose: Purpose,
}

/// What a trial showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// One for each copy of the check that ran.
    Verdicts(Vec<Verdict>),
    /// There is no sign that the change was in force.
    NotInForce(String),
}

/// All trials so far, and what they are held to.
#[derive(Clone, Debug)]
pub struct Experiment {
    pub(super) reference: Verdict,
    pub(super) subjects: Vec<Subject>,
    log: Vec<(Trial, Seen)>,
}

/// Where a chain of trials stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing<T> {
    Next(Trial),
    Known(T),
}

/// How one change fared: tried once, and what followed from it.
enum Fared {
    Agrees,
    Broke(Verdict),
    Nondeterministic(Verdict),
    NotInForce(String),
}

impl Experiment {
    /// `reference` is what every trial is held to.
    pub fn new(reference: Verdict, subjects: Vec<Subject>) -> Self {
        Self {
            reference,
            subjects,
            log: Vec::new(),
        }
    }

    /// The trial to make now; `None` when all is known.
    pub fn next(&self) -> Option<Trial> {
        let alone = (0..self.subjects.len()).find_map(|number| match self.alone(number) {
            Standing::Next(trial) => Some(trial),
            Standing::Known(_) => None,
        });
        alone.or_else(|| match self.together() {
            Standing::Next(trial) => Some(trial),
            Standing::Known(_) => None,
        })
    }

    /// Takes in what a trial showed.
    pub fn observe(&mut self, trial: Trial, seen: Seen) {
        self.log.push((trial, seen));
    }

    pub fn subjects(&self) -> &[Subject] {
        &self.subjects
    }

    pub(super) fn seen(&self, subjects: &[usize], variation: u32, purpose: Purpose) -> Option<&Seen> {
        let is_it =
            |trial: &Trial| trial.subjects == subjects && trial.variation == variation && trial.purpose == purpose;
        self.log.iter().find(|(trial, _)| is_it(trial)).map(|(_, seen)| seen)
    }

    /// What came of one dimension by itself.
    pub(super) fn alone(&self, number: usize) -> Standing<Finding> {
        let Some(subject) = self.subjects.get(number) else {
            return Standing::Known(Finding::Holds);
        };
        let variations = match &subject.variations {
            Ok(variations) => *variations,
            Err(why) => return Standing::Known(Finding::NotProbed(why.clone())),
        };
        for variation in 0..variations {
            match self.fared(&[number], variation) {
                Standing::Next(trial) => return Standing::Next(trial),
                Standing::Known(Fared::Agrees) => {}
                Standing::Known(Fared::NotInForce(why)) => return Standing::Known(Finding::NotProbed(why)),
                Standing::Known(Fared::Nondeterministic(by)) => {
                    return Standing::Known(Finding::Nondeterministic { variation, by });
                }
                Standing::Known(Fared::Broke(by)) => {
                    return self.unless_its_tool(&[number], variation, Finding::Broke { variation, by });
                }
            }
        }
        Standing::Known(Finding::Holds)
    }

    /// What came of all that hold alone; nothing when there are fewer than two.
    pub(super) fn together(&self) -> Standing<Option<Together>> {
        let holding: Vec<usize> = (0..self.subjects.len())
            .filter(|number| self.alone(*number) == Standing::Known(Finding::Holds))
            .collect();
        if holding.len() < 2 {
            return Standing::Known(None);
        }
        let known = |finding, set: Vec<usize>| Standing::Known(Some(Together { finding, set }));
        for variation in 0..self.rounds(&holding) {
            match self.fared(&holding, variation) {
                Standing::Next(trial) => return Standing::Next(trial),
                Standing::Known(Fared::Agrees) => {}
                Standing::Known(Fared::NotInForce(why)) => return known(Finding::NotProbed(why), holding),
                Standing::Known(Fared::Nondeterministic(by)) => {
                    return known(Finding::Nondeterministic { variation, by }, holding);
                }
                Standing::Known(Fared::Broke(by)) => return self.smallest(&holding, variation, &by),
            }
        }
        known(Finding::Holds, holding)
    }

    /// As often as the one of them that has the fewest ways to vary.
    pub(super) fn rounds(&self, subjects: &[usize]) -> u32 {
        let counts = subjects.iter().filter_map(|number| self.subjects.get(*number));
        counts
            .filter_map(|subject| subject.variations.as_ref().ok().copied())
            .min()
            .unwrap_or(0)
    }

    fn smallest(&self, holding: &[usize], variation: u32, by: &Verdict) -> Standing<Option<Together>> {
        let breaks = |set: &[usize]| match self.seen(set, variation, Purpose::First)? {
            Seen::Verdicts(verdicts) => Some(verdicts.iter().any(|verdict| verdict.agrees(by))),
            Seen::NotInForce(_) => Some(false),
        };
        let known = |set: &[usize]| if set.len() < 2 { Some(false) } else { breaks(set) };
        let set = match minimise::step(holding, known) {
            Step::Try(set) => return first(set, variation),
            Step::Smallest(set) => set,
        };
        let broke = Finding::Broke {
            variation,
            by: by.clone(),
        };
        match self.unless_its_tool(&set, variation, broke) {
            Standing::Next(trial) => Standing::Next(trial),
            Standing::Known(finding) => Standing::Known(Some(Together { finding, set })),
        }
    }

    /// One change, and the same again when it disagreed.
    fn fared(&self, subjects: &[usize], variation: u32) -> Standing<Fared> {
        let by = match self.seen(subjects, variation, Purpose::First) {
            None => return first(subjects.to_vec(), variation),
            Some(Seen::NotInForce(why)) => return Standing::Known(Fared::NotInForce(why.clone())),
            Some(Seen::Verdicts(verdicts)) => match self.disagreeing(verdicts) {
                None => return Standing::Known(Fared::Agrees),
                Some(by) => by.clone(),
            },
        };
        let again = Trial {
            subjects: subjects.to_vec(),
            variation,
            purpose: Purpose::Again,
        };
        Standing::Known(match self.seen(subjects, variation, Purpose::Again) {
            None => return Standing::Next(again),
            Some(Seen::NotInForce(why)) => Fared::NotInForce(why.clone()),
            Some(Seen::Verdicts(verdicts)) if verdicts.iter().any(|verdict| verdict.agrees(&by)) => Fared::Broke(by),
            Some(Seen::Verdicts(_)) => Fared::Nondeterministic(by),
        })
    }

    /// The finding, once the tools that stand around the check are known not to break it by themselves.
    fn unless_its_tool(&self, set: &[usize], variation: u32, finding: Finding) -> Standing<Finding> {
        let has_tool = |number: &usize| self.subjects.get(*number).is_some_and(|subject| subject.has_tool);
        if !set.iter().any(has_tool) {
            return Standing::Known(finding);
        }
        let tool = Trial {
            subjects: set.to_vec(),
            variation,
            purpose: Purpose::ToolAlone,
        };
        Standing::Known(match self.seen(set, variation, Purpose::ToolAlone) {
            None => return Standing::Next(tool),
            Some(Seen::NotInForce(why)) => Finding::NotProbed(why.clone()),
            Some(Seen::Verdicts(verdicts)) => match self.disagreeing(verdicts) {
                None => finding,
                Some(_) => Finding::NotProbed("its tool breaks the check with nothing varied".into()),
            },
        })
    }

    pub(super) fn disagreeing<'v>(&self, verdicts: &'v [Verdict]) -> Option<&'v Verdict> {
        verdicts.iter().find(|verdict| !verdict.agrees(&self.reference))
    }
}

fn first<T>(subjects: Vec<usize>, variation: u32) -> Standing<T> {
    Standing::Next(Trial {
        subjects,
        variation,
        purpose: Purpose::First,
    })
}

impl Trial {
    /// One change by itself.
    pub fn alone(number: usize, variation: u32) -> Self {
        Self {
            subjects: vec![number],
            variation,
            purpose: Purpose::First,
        }
    }
}
