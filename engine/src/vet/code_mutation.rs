//! Code mutation: does the check notice when what was changed is changed once more?
//!
//! Each run has one small change in one of the lines that the tree of the start does not have. A check that stays green
//! whatever becomes of them was not made green by them, or does not look. One that notices any is believed: an honest fix
//! may stand beside something that no test looks at.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::experiment::patience_ms;
use super::{Base, Case, Experiment, Plan, Plant, Ran, Step, Vet};
use crate::adequacy::Fate;
use crate::event::candidate::{Hunk, Mutated, Trial};
use crate::event::finding::Finding;
use crate::event::halt::HaltReason;
use crate::event::measurement::MemberStatus;
use crate::event::policy::Adequacy;
use crate::guard::Outcome;
use crate::members::is_pseudo;
use crate::words::counted;

pub static VET: Vet = Vet {
    name: "code_mutation",
    catches: "a check that notices nothing of what was changed",
    reason: HaltReason::CheckInadequate,
    plan,
    judge,
};

/// Runs for one hunk, once the check noticed another.
const EACH_MAX: usize = 3;
/// Survivors below this may be no other program than the one they were made of.
const SURVIVORS_MIN: usize = 2;
/// The operator that puts back what stood there (SPEC 5.6.5).
const UNDO: &str = "undo";
/// Changes without a mutant that the note names.
const NAMED_MAX: usize = 3;

/// What the runs are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trying {
    pub mutants_max: u32,
    pub success_exit: i32,
    /// The check of the turn showed tests.
    pub shows_tests: bool,
    /// The longest run known so far, where the contract sets no limit for one.
    pub usual_ms: Option<u64>,
}

fn plan(case: &Case<'_>) -> Plan {
    let facts = case.facts;
    let shows_tests = facts.members.iter().any(|(id, _)| !is_pseudo(id));
    if !shows_tests && facts.policy().guards.adequacy == Adequacy::Change {
        // A build or a lint is satisfied by many a product, and says nothing else.
        return Plan::NotApplicable("the check shows no test that could notice a change of the product".into());
    }
    let control_ms = case.control().map_or(0, |control| control.duration_ms);
    let unlimited = facts.bounds.check_timeout_ms.is_none();
    Plan::Run(Experiment::CodeMutants(Trying {
        mutants_max: case.runs(1, facts.policy().guards.mutants_max),
        success_exit: facts.policy().oracle.success_exit,
        shows_tests,
        usual_ms: unlimited.then(|| control_ms.max(case.check.run.duration_ms)),
    }))
}

/// The mutant that comes next: of the hunk with the fewest runs among those in which nothing was noticed.
pub(super) fn step(trying: &Trying, control_ms: u64, ran: &[Ran]) -> Option<Step> {
    let tried: Vec<(&Mutated, Fate)> = ran
        .iter()
        .filter_map(|ran| Some((ran.mutants.first()?, trying.fate(ran))))
        .collect();
    let (hunk, nth) = match ran.first() {
        None => (0, 0),
        Some(first) => next(trying, &first.hunks, &tried)?,
    };
    let timeout_ms = trying.usual_ms.map(|usual| patience_ms(usual.max(control_ms)));
    Some(Step {
        subject: "one change of the product",
        base: Base::Candidate,
        plant: Plant::Code { hunk, nth, timeout_ms },
    })
}

fn next(trying: &Trying, hunks: &[Hunk], tried: &[(&Mutated, Fate)]) -> Option<(usize, usize)> {
    if tried.len() >= usize::try_from(trying.mutants_max).unwrap_or(usize::MAX) {
        return None;
    }
    let noticed_any = tried.iter().any(|(_, fate)| *fate == Fate::Killed);
    let open = hunks.iter().enumerate().filter_map(|(at, hunk)| {
        let own = || tried.iter().filter(|(mutated, _)| hunk.holds(mutated));
        let there_are = usize::try_from(hunk.mutants).unwrap_or(usize::MAX);
        let max = if noticed_any {
            there_are.min(EACH_MAX)
        } else {
            there_are
        };
        let count = own().count();
        let is_open = count < max && own().all(|(_, fate)| *fate != Fate::Killed);
        is_open.then_some((count, at))
    });
    open.min().map(|(nth, at)| (at, nth))
}

impl Trying {
    fn fate(&self, ran: &Ran) -> Fate {
        let members = &ran.reading.members;
        let fails = ran.reading.members.iter().any(|(_, status)| status.fails());
        // A source that lists only what failed shows nothing of the others.
        let no_test = ran.reading.complete && !members.iter().any(|(id, _)| !is_pseudo(id));
        let shown = !self.shows_tests || !no_test;
        Fate::of_run(
            (ran.run.stop, ran.run.outcome, ran.run.code),
            self.success_exit,
            fails,
            shown,
        )
    }
}

impl Hunk {
    fn holds(&self, mutated: &Mutated) -> bool {
        self.path == mutated.path && (self.first..=self.last).contains(&mutated.line)
    }
}

/// As the record shows it.
fn fate(case: &Case<'_>, trial: &Trial) -> Fate {
    let known = &case.facts.members;
    let fails = trial.changes.iter().any(|change| change.status.fails());
    let lost = |id: &str| {
        trial
            .changes
            .iter()
            .any(|c| c.id == id && c.status == MemberStatus::Absent)
    };
    let mut tests = known.iter().filter(|(id, _)| !is_pseudo(id)).peekable();
    let shown = tests.peek().is_none() || tests.any(|(id, _)| !lost(id));
    let success = case.facts.policy().oracle.success_exit;
    Fate::of_run((trial.stop, trial.outcome, trial.code), success, fails, shown)
}

/// Whether the check of this turn noticed any change of what was changed.
pub(super) fn noticed(case: &Case<'_>) -> bool {
    let own = case.earlier.iter().filter(|vetted| vetted.guard == VET.name);
    let mut mutated = own
        .flat_map(|vetted| &vetted.trials)
        .filter(|trial| !trial.mutants.is_empty());
    mutated.any(|trial| fate(case, trial) == Fate::Killed)
}

fn judge(case: &Case<'_>, trials: &[Trial]) -> Outcome {
    let tried: Vec<(&Mutated, Fate)> = trials
        .iter()
        .filter_map(|trial| Some((trial.mutants.first()?, fate(case, trial))))
        .collect();
    let first = trials.first();
    let hunks = first.map_or(&[][..], |trial| &trial.hunks);
    let others = first.map_or(&[][..], |trial| &trial.unmutated);
    weigh(case.facts.policy().guards.adequacy, hunks, others, &tried)
}

/// `others` are changes that no mutant could be made of.
fn weigh(adequacy: Adequacy, hunks: &[Hunk], others: &[String], tried: &[(&Mutated, Fate)]) -> Outcome {
    if tried.is_empty() {
        let why = "no changed line of the product, in a language that is read, could be changed into another program";
        return Outcome::not_applicable(why);
    }
    let count = |wanted: Fate| tried.iter().filter(|(_, fate)| *fate == wanted).count();
    let (killed, survived) = (count(Fate::Killed), count(Fate::Survived));
    let of = |hunk: &Hunk| -> Vec<Fate> {
        let own = tried.iter().filter(|(mutated, _)| hunk.holds(mutated));
        own.map(|(_, fate)| *fate).collect()
    };
    let untried = hunks.iter().filter(|hunk| of(hunk).is_empty()).count();
    let whole_change = others.is_empty() && untried == 0;
    // The product as it was may give the check no test to run: that is no verdict, and yet it is not what it was.
    let undone = |(mutated, fate): &(&Mutated, Fate)| mutated.operator == UNDO && *fate != Fate::Survived;
    let nothing_noticed = killed == 0 && survived >= SURVIVORS_MIN && whole_change && !tried.iter().any(undone);
    let unnoticed = |hunk: &Hunk| {
        let fates = of(hunk);
        fates.contains(&Fate::Survived) && !fates.contains(&Fate::Killed)
    };
    let mut findings: Vec<Finding> = Vec::new();
    for hunk in hunks.iter().filter(|hunk| unnoticed(hunk)) {
        let survivor = tried
            .iter()
            .find(|(mutated, fate)| hunk.holds(mutated) && *fate == Fate::Survived);
        let Some((mutated, _)) = survivor else { continue };
        let subject = format!("{}:{}", mutated.path, mutated.line);
        let detail = format!(
            "the check stays green with `{}` for `{}` ({})",
            mutated.to, mutated.from, mutated.operator
        );
        findings.push(match adequacy {
            Adequacy::Change if !nothing_noticed => VET.note(subject, detail),
            Adequacy::Change | Adequacy::Every => VET.violation(subject, detail),
        });
    }
    let mut outcome = Outcome::active(findings);
    outcome.note = said(killed, tried.len(), untried, others, tried.len() - killed - survived);
    outcome
}

/// The ratio, and what was not looked at.
fn said(killed: usize, tried: usize, untried: usize, others: &[String], unjudged: usize) -> String {
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let mut words = format!("the check noticed {killed} of {}", counted(number(tried), "change"));
    if unjudged > 0 {
        words.push_str(&format!("; {unjudged} came to no verdict"));
    }
    if untried > 0 {
        words.push_str(&format!("; {} not tried", counted(number(untried), "hunk")));
    }
    if !others.is_empty() {
        let named = others.iter().take(NAMED_MAX).map(String::as_str).collect::<Vec<_>>();
        words.push_str("; nothing could be tried in ");
        words.push_str(&named.join(", "));
        if others.len() > named.len() {
            words.push_str(&format!(" and {} more", others.len() - named.len()));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::event::finding::{GuardState, Severity};

    use Adequacy::{Change, Every};
    use Fate::{Killed, Survived, Unjudged};

    fn hunk(first: u32, mutants: u32) -> Hunk {
        Hunk {
            path: "money.py".into(),
            first,
            last: first + 1,
            mutants,
        }
    }

    fn mutated(line: u32) -> Mutated {
        Mutated {
            members: vec![],
            path: "money.py".into(),
            line,
            operator: "comparison".into(),
            from: "<".into(),
            to: ">=".into(),
        }
    }

    fn weighed(adequacy: Adequacy, hunks: &[Hunk], others: &[&str], tried: &[(u32, Fate)]) -> (Outcome, Vec<Severity>) {
        let made: Vec<(Mutated, Fate)> = tried.iter().map(|(line, fate)| (mutated(*line), *fate)).collect();
        let tried: Vec<_> = made.iter().map(|(mutated, fate)| (mutated, *fate)).collect();
        let others: Vec<String> = others.iter().map(|other| String::from(*other)).collect();
        let outcome = weigh(adequacy, hunks, &others, &tried);
        let severities = outcome.findings.iter().map(|finding| finding.severity).collect();
        (outcome, severities)
    }

    fn next_of(max: u32, hunks: &[Hunk], tried: &[(u32, Fate)]) -> Option<(usize, usize)> {
        let trying = Trying {
            mutants_max: max,
            success_exit: 0,
            shows_tests: true,
            usual_ms: None,
        };
        let made: Vec<(Mutated, Fate)> = tried.iter().map(|(line, fate)| (mutated(*line), *fate)).collect();
        let tried: Vec<_> = made.iter().map(|(mutated, fate)| (mutated, *fate)).collect();
        next(&trying, hunks, &tried)
    }

    #[test]
    fn a_change_of_which_nothing_is_noticed_is_a_violation_that_names_what_was_tried() {
        let (outcome, severities) = weighed(Change, &[hunk(1, 9)], &[], &[(1, Survived), (2, Survived)]);
        assert_eq!(severities, [Severity::Violation]);
        let finding = &outcome.findings[0];
        assert_eq!(
            (finding.subject.as_str(), finding.reason),
            ("money.py:1", HaltReason::CheckInadequate)
        );
        assert_eq!(finding.detail, "the check stays green with `>=` for `<` (comparison)");
        assert_eq!(outcome.note, "the check noticed 0 of 2 changes");
    }

    #[test]
    fn an_untested_tidy_up_beside_a_tested_fix_is_a_note_unless_every_hunk_must_be_noticed() {
        let hunks = [hunk(1, 9), hunk(5, 9)];
        let tried = [(1, Killed), (5, Survived), (6, Survived)];
        assert_eq!(weighed(Change, &hunks, &[], &tried).1, [Severity::Note]);
        assert_eq!(weighed(Every, &hunks, &[], &tried).1, [Severity::Violation]);
        assert!(weighed(Every, &hunks, &[], &[(1, Killed), (5, Killed)]).1.is_empty());
    }

    #[test]
    fn what_is_not_the_whole_change_or_a_single_survivor_is_no_proof() {
        let two = [(1, Survived), (2, Survived)];
        assert_eq!(
            weighed(Change, &[hunk(1, 9)], &[], &two[..1]).1,
            [Severity::Note],
            "equivalent"
        );
        let (outcome, severities) = weighed(Change, &[hunk(1, 9)], &["schema.sql"], &two);
        assert_eq!(severities, [Severity::Note], "the fix may be in the other file");
        assert!(
            outcome.note.ends_with("; nothing could be tried in schema.sql"),
            "{}",
            outcome.note
        );
        let (outcome, severities) = weighed(Change, &[hunk(1, 9), hunk(7, 9)], &[], &two);
        assert_eq!(severities, [Severity::Note], "one hunk had no turn");
        assert!(outcome.note.ends_with("; 1 hunk not tried"), "{}", outcome.note);
    }

    #[test]
    fn a_change_that_cannot_be_undone_without_losing_every_test_is_not_unnoticed() {
        let undo = Mutated {
            operator: UNDO.into(),
            ..mutated(1)
        };
        let other = mutated(2);
        let weighed = |fate| {
            let tried = [(&other, Survived), (&other, Survived), (&undo, fate)];
            weigh(Change, &[hunk(1, 9)], &[], &tried).findings[0].severity
        };
        assert_eq!(weighed(Unjudged("no test ran")), Severity::Note);
        assert_eq!(weighed(Survived), Severity::Violation);
    }

    #[test]
    fn a_mutant_without_a_verdict_counts_neither_way() {
        let (outcome, severities) = weighed(Every, &[hunk(1, 9)], &[], &[(1, Unjudged("no test ran"))]);
        assert!(severities.is_empty());
        assert_eq!(outcome.note, "the check noticed 0 of 1 change; 1 came to no verdict");
        let (outcome, _) = weighed(Change, &[], &[], &[]);
        assert_eq!(outcome.state, GuardState::NotApplicable);
    }

    #[test]
    fn a_hunk_that_is_noticed_costs_one_run_and_all_have_a_turn_before_one_has_two() {
        let hunks = [hunk(1, 9), hunk(5, 9)];
        assert_eq!(next_of(16, &hunks[..1], &[(1, Killed)]), None);
        assert_eq!(next_of(16, &hunks, &[(1, Survived)]), Some((1, 0)));
        assert_eq!(next_of(16, &hunks, &[(1, Survived), (5, Killed)]), Some((0, 1)));
        let three = [(1, Survived), (5, Killed), (1, Survived), (2, Survived)];
        assert_eq!(
            next_of(16, &hunks, &three),
            None,
            "three are enough where another is noticed"
        );
        assert_eq!(
            next_of(4, &hunks[..1], &[(1, Survived); 3]),
            Some((0, 3)),
            "nothing is noticed so far"
        );
        assert_eq!(next_of(3, &hunks[..1], &[(1, Survived); 3]), None, "the runs are spent");
    }

    #[test]
    fn a_run_without_a_limit_of_its_own_gets_one_from_what_the_check_takes() {
        let limit = |usual_ms, control_ms| {
            let trying = Trying {
                mutants_max: 1,
                success_exit: 0,
                shows_tests: true,
                usual_ms,
            };
            let Plant::Code { timeout_ms, .. } = step(&trying, control_ms, &[]).unwrap().plant else {
                panic!("it changes no code");
            };
            timeout_ms
        };
        assert_eq!(limit(Some(100), 0), Some(10_000));
        assert_eq!(limit(Some(100), 60_000), Some(300_000), "a copy has no build of before");
        assert_eq!(limit(None, 60_000), None, "the contract says it");
    }
}
