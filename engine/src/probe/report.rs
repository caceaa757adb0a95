//! What an experiment found: each dimension by itself, all of them together, and what follows for the check.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::experiment::{Experiment, Purpose, Seen, Standing};
use super::verdict::Verdict;
use crate::event::halt::HaltReason;
use crate::stat::{self, OneIn, RISK, Share, Tally};

/// What came of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Every run agreed with the reference.
    Holds,
    /// This variation showed another verdict, twice the same.
    Broke { variation: u32, by: Verdict },
    /// This variation showed another verdict, and then not the same again.
    Nondeterministic { variation: u32, by: Verdict },
    /// Nothing is said of it, and why.
    NotProbed(String),
}

/// What came of one dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub finding: Finding,
    /// Runs that were varied for the first time, and how many of them agreed.
    pub tally: Tally,
    /// The exact bound on the share of runs that agree under it; only when all runs were made and agreed.
    pub bound: Option<Share>,
}

/// What came of all that hold alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Together {
    pub finding: Finding,
    /// The smallest set that broke; else all that were varied.
    pub set: Vec<usize>,
}

impl Experiment {
    /// Of each dimension, in their order.
    pub fn found(&self) -> Vec<Found> {
        let numbers = 0..self.subjects.len();
        numbers
            .map(|number| {
                let finding = match self.alone(number) {
                    Standing::Known(finding) => finding,
                    Standing::Next(_) => unfinished(),
                };
                let tally = self.tally(number);
                let bound = (finding == Finding::Holds)
                    .then(|| stat::exact_lower(tally, RISK))
                    .flatten();
                Found { finding, tally, bound }
            })
            .collect()
    }

    /// Of all together; `None` when fewer than two hold.
    pub fn found_together(&self) -> Option<Together> {
        let is_open = |number: usize| matches!(self.alone(number), Standing::Next(_));
        if self.subjects.len() > 1 && (0..self.subjects.len()).any(is_open) {
            return Some(Together {
                finding: unfinished(),
                set: vec![],
            });
        }
        match self.together() {
            Standing::Known(together) => together,
            Standing::Next(_) => Some(Together {
                finding: unfinished(),
                set: vec![],
            }),
        }
    }

    /// How many runs vary all of these at once, and how many of those agreed.
    pub fn tally_together(&self, set: &[usize]) -> Tally {
        self.tally_of(set, self.rounds(set))
    }

    /// The least of the bounds of all that hold, at a risk that is shared among them: they hold jointly.
    pub fn joint_bound(&self) -> Option<Share> {
        let found = self.found();
        let holding: Vec<&Found> = found.iter().filter(|found| found.finding == Finding::Holds).collect();
        let risk = OneIn(RISK.0.saturating_mul(u32::try_from(holding.len()).unwrap_or(u32::MAX)));
        let bounds = holding.iter().map(|found| stat::exact_lower(found.tally, risk));
        bounds.min().flatten()
    }

    /// Members that fared otherwise than in the reference.
    pub fn differing(&self, by: &Verdict) -> Vec<String> {
        self.reference.differing(by).into_iter().map(String::from).collect()
    }

    /// Reason and cause, when something broke.
    pub fn fault(&self) -> Option<(HaltReason, &'static str)> {
        let mut broken: Vec<usize> = Vec::new();
        let mut unsteady = false;
        let mut take = |finding: &Finding, set: &[usize]| match finding {
            Finding::Broke { .. } => broken.extend(set),
            Finding::Nondeterministic { .. } => unsteady = true,
            Finding::Holds | Finding::NotProbed(_) => {}
        };
        for (number, found) in self.found().iter().enumerate() {
            take(&found.finding, &[number]);
        }
        if let Some(together) = self.found_together() {
            take(&together.finding, &together.set);
        }
        let is_outside = |number: &usize| self.subjects.get(*number).is_some_and(|subject| subject.is_outside);
        if broken.iter().any(is_outside) {
            return Some((HaltReason::CheckNotHermetic, "dimension_broke"));
        }
        if !broken.is_empty() {
            return Some((HaltReason::CheckFlaky, "dimension_disagreed"));
        }
        unsteady.then_some((HaltReason::CheckFlaky, "dimension_nondeterministic"))
    }

    fn tally(&self, number: usize) -> Tally {
        let made = self
            .subjects
            .get(number)
            .and_then(|subject| subject.variations.as_ref().ok());
        self.tally_of(&[number], made.copied().unwrap_or(0))
    }

    fn tally_of(&self, set: &[usize], variations: u32) -> Tally {
        let mut tally = Tally::default();
        for variation in 0..variations {
            if let Some(Seen::Verdicts(verdicts)) = self.seen(set, variation, Purpose::First) {
                tally.runs += 1;
                tally.agreeing += u32::from(self.disagreeing(verdicts).is_none());
            }
        }
        tally
    }
}

fn unfinished() -> Finding {
    Finding::NotProbed("the probe ended before".into())
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::super::experiment::{Subject, Trial};
    use super::super::verdict::Class;
    use super::*;

    fn verdict(failing: &[&str]) -> Verdict {
        let class = if failing.is_empty() { Class::Green } else { Class::Red };
        Verdict {
            class,
            failing: failing.iter().map(ToString::to_string).collect(),
            skipped: vec![],
            collected: vec!["a".into(), "b".into()],
        }
    }

    fn subjects() -> Vec<Subject> {
        let names = ["order", "seed", "zone", "network", "path"];
        names
            .iter()
            .map(|name| Subject {
                name: name.to_string(),
                is_outside: *name == "network",
                has_tool: *name == "network",
                variations: Ok(3),
            })
            .collect()
    }

    /// Makes every trial that is asked for; the experiment, and the trials.
    fn made(subjects: Vec<Subject>, world: impl Fn(&Trial) -> Verdict) -> (Experiment, Vec<Trial>) {
        let mut experiment = Experiment::new(verdict(&[]), subjects);
        let mut trials = Vec::new();
        while let Some(trial) = experiment.next() {
            let seen = Seen::Verdicts(vec![world(&trial)]);
            trials.push(trial.clone());
            experiment.observe(trial, seen);
            assert!(trials.len() < 200, "it goes on for ever");
        }
        (experiment, trials)
    }

    fn broken_when(experiment: &Experiment) -> Vec<usize> {
        let found = experiment.found();
        (0..found.len())
            .filter(|at| matches!(found[*at].finding, Finding::Broke { .. }))
            .collect()
    }

    #[test]
    fn a_check_that_minds_nothing_holds_under_each_and_under_all() {
        let (experiment, trials) = made(subjects(), |_| verdict(&[]));
        assert_eq!(trials.len(), 5 * 3 + 3);
        let found = experiment.found();
        assert!(found.iter().all(|found| found.finding == Finding::Holds));
        // 0.05^(1/3), and for five at once 0.01^(1/3).
        assert_eq!(found[0].bound.unwrap().ppm_down(), 368_403);
        assert_eq!(experiment.joint_bound().unwrap().ppm_down(), 215_443);
        let together = experiment.found_together().unwrap();
        assert_eq!((together.finding, together.set.len()), (Finding::Holds, 5));
        assert_eq!(experiment.fault(), None);
    }

    #[test]
    fn what_breaks_on_one_is_named_once_it_shows_again_and_left_out_of_the_rest() {
        for number in 0..5 {
            let (experiment, trials) = made(subjects(), |trial| {
                let varied = trial.subjects.contains(&number) && trial.purpose != Purpose::ToolAlone;
                verdict(if varied { &["a"] } else { &[] })
            });
            assert_eq!(broken_when(&experiment), [number]);
            let of_it = trials.iter().filter(|trial| trial.subjects == [number]).count();
            assert_eq!(of_it, 2 + usize::from(number == 3), "once, again, and its tool");
            assert_eq!(experiment.found_together().unwrap().set.len(), 4);
            assert_eq!(experiment.differing(&verdict(&["a"])), ["a"]);
            let expected = match number {
                3 => (HaltReason::CheckNotHermetic, "dimension_broke"),
                _ => (HaltReason::CheckFlaky, "dimension_disagreed"),
            };
            assert_eq!(experiment.fault(), Some(expected));
        }
    }

    #[test]
    fn a_later_variation_can_break_and_it_is_the_one_that_is_named() {
        let (experiment, _) = made(subjects(), |trial| {
            let breaks = trial.subjects == [1] && trial.variation == 2;
            verdict(if breaks { &["b"] } else { &[] })
        });
        let found = experiment.found();
        assert!(matches!(found[1].finding, Finding::Broke { variation: 2, .. }));
        assert_eq!(found[1].tally, Tally { agreeing: 2, runs: 3 });
        assert_eq!(found[1].bound, None);
    }

    #[test]
    fn what_does_not_show_again_or_shows_otherwise_is_nondeterministic() {
        for second in [&[] as &[&str], &["b"]] {
            let (experiment, _) = made(subjects(), |trial| match (trial.subjects.as_slice(), trial.purpose) {
                ([2], Purpose::First) if trial.variation == 0 => verdict(&["a"]),
                ([2], _) => verdict(second),
                _ => verdict(&[]),
            });
            assert!(matches!(
                experiment.found()[2].finding,
                Finding::Nondeterministic { .. }
            ));
            assert_eq!(
                experiment.fault(),
                Some((HaltReason::CheckFlaky, "dimension_nondeterministic"))
            );
            let together = experiment.found_together().unwrap();
            assert_eq!(together.set, [0, 1, 3, 4], "it would spoil what is tried together");
        }
    }

    #[test]
    fn a_tool_that_breaks_the_check_by_itself_proves_nothing() {
        let (experiment, _) = made(subjects(), |trial| {
            verdict(if trial.subjects.contains(&3) { &["a"] } else { &[] })
        });
        assert!(matches!(&experiment.found()[3].finding, Finding::NotProbed(why) if why.contains("tool")));
        assert_eq!(experiment.fault(), None);
    }

    #[test]
    fn what_only_breaks_together_is_reduced_to_the_pair() {
        for (one, two) in [(0, 1), (1, 3), (0, 4), (2, 3)] {
            let (experiment, _) = made(subjects(), |trial| {
                let varied = trial.purpose != Purpose::ToolAlone;
                let both = trial.subjects.contains(&one) && trial.subjects.contains(&two);
                verdict(if varied && both { &["a"] } else { &[] })
            });
            assert!(broken_when(&experiment).is_empty());
            let together = experiment.found_together().unwrap();
            assert!(matches!(together.finding, Finding::Broke { variation: 0, .. }));
            assert_eq!(together.set, [one, two]);
            let hermetic = if two == 3 {
                (HaltReason::CheckNotHermetic, "dimension_broke")
            } else {
                (HaltReason::CheckFlaky, "dimension_disagreed")
            };
            assert_eq!(experiment.fault(), Some(hermetic));
        }
    }

    #[test]
    fn what_cannot_be_varied_is_not_probed_and_never_run() {
        let mut some = subjects();
        some[0].variations = Err("there is no such tool".into());
        let (experiment, trials) = made(some, |_| verdict(&[]));
        assert!(trials.iter().all(|trial| !trial.subjects.contains(&0)));
        assert_eq!(
            experiment.found()[0].finding,
            Finding::NotProbed("there is no such tool".into())
        );
        assert_eq!(experiment.found()[0].bound, None);
    }

    #[test]
    fn a_change_that_was_not_in_force_is_not_probed() {
        let mut experiment = Experiment::new(verdict(&[]), subjects());
        while let Some(trial) = experiment.next() {
            let seen = match trial.subjects.as_slice() {
                [0] => Seen::NotInForce("nobody saw it".into()),
                _ => Seen::Verdicts(vec![verdict(&[])]),
            };
            experiment.observe(trial, seen);
        }
        assert_eq!(
            experiment.found()[0].finding,
            Finding::NotProbed("nobody saw it".into())
        );
        assert_eq!(experiment.found()[0].tally, Tally::default());
    }

    #[test]
    fn of_two_copies_at_once_one_that_disagrees_is_enough() {
        let mut experiment = Experiment::new(verdict(&[]), subjects());
        let mut turn = 0;
        while let Some(trial) = experiment.next() {
            turn += 1;
            let mut both = vec![verdict(&[]), verdict(&[])];
            if trial.subjects == [4] {
                both[turn % 2] = verdict(&["b"]);
            }
            experiment.observe(trial, Seen::Verdicts(both));
        }
        assert_eq!(broken_when(&experiment), [4], "whichever of the two it was");
    }

    #[test]
    fn an_experiment_that_was_cut_short_says_so() {
        let mut experiment = Experiment::new(verdict(&[]), subjects());
        let trial = experiment.next().unwrap();
        assert_eq!(trial, Trial::alone(0, 0));
        experiment.observe(trial, Seen::Verdicts(vec![verdict(&[])]));
        let found = &experiment.found()[0];
        assert!(matches!(&found.finding, Finding::NotProbed(why) if why.contains("ended")));
        assert_eq!((found.tally, found.bound), (Tally::unanimous(1), None));
        let together = experiment.found_together().unwrap();
        assert_eq!(together.finding, found.finding);
    }
}
