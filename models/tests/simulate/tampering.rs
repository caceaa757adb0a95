//! Journals of simulated runs that were tampered with: the engine, the second opinion or both refuse them.

use std::cell::Cell;
use std::sync::Arc;

use engine::Rederivation;
use engine::event::Event;
use engine::event::iteration::{CheckPurpose, TreePurpose};
use models::reference;
use models::script::transcript;
use models::sim::Dice;

use crate::run::{simulate, told};

/// What a forger may do to a journal without anybody but the hash chain noticing: leave out or move that a
/// governor died, was stopped or was resumed, that a person spoke, a halt that was followed by a resume, or
/// the end. Each leaves the journal of another run that is just as legal.
fn harmless(kind: &str, journal: &[Event], at: usize) -> bool {
    let of_life = |event: &Event| {
        matches!(
            event.name(),
            "suspended" | "resumed" | "amended" | "acked" | "interrupted"
        )
    };
    let next = journal.get(at + 1);
    let followed = next.is_some_and(of_life);
    let halt = journal[at].name() == "halted" && followed;
    // A walk that ended a life is made anew by the next one, alone or behind the check of a resume.
    let behind_resume = matches!(&journal[at - 1], Event::CheckEnded(ended) if ended.purpose == CheckPurpose::Resume);
    let walk = match &journal[at] {
        Event::TreeObserved(walk) => walk.purpose == TreePurpose::Resume || behind_resume,
        _ => false,
    };
    // A workdir that is gone may be the answer to the command itself, or to the walk behind it.
    let lost = matches!(next, Some(Event::Halted(halted)) if halted.cause == "workdir_lost");
    let answer = matches!(journal[at].name(), "execute_ended" | "check_ended" | "restore_ended");
    of_life(&journal[at])
        || halt
        || (kind == "drop" && answer && lost)
        || (kind == "drop" && walk && followed)
        || (kind == "drop" && next.is_none())
        || (kind == "swap" && followed)
}

#[test]
fn journals_that_were_tampered_with_are_refused() {
    let mut dice = Dice::new(7);
    let (mut mutants, mut by_reference) = (0_u32, 0_u32);
    for seed in 0..3_000 {
        let journal = simulate(seed).unwrap().journal;
        if journal.len() < 4 {
            continue;
        }
        let at = usize::try_from(1 + dice.below(journal.len() as u64 - 2)).unwrap();
        let kind = ["drop", "swap", "double"][usize::try_from(dice.below(3)).unwrap()];
        let mut mutant = journal.clone();
        match kind {
            "drop" => drop(mutant.remove(at)),
            "swap" => mutant.swap(at, at + 1),
            _ => mutant.insert(at, journal[at].clone()),
        }
        if mutant == journal || harmless(kind, &journal, at) {
            continue;
        }
        mutants += 1;
        let second = reference::accept(&told(&mutant)).is_err();
        by_reference += u32::from(second);
        let engine = engine::rederive(&mutant).is_err();
        assert!(
            second || engine,
            "seed {seed}: {kind} at {at} goes unnoticed\n{}",
            transcript(&mutant)
        );
    }
    println!("{mutants} mutants, {by_reference} refused by the second opinion alone");
    assert!(mutants > 1_500);
    assert!(by_reference * 100 >= mutants * 98, "{by_reference} of {mutants}");
}

#[test]
fn a_decision_that_was_rewritten_is_refused() {
    let mut rewritten = 0_u32;
    for seed in 0..400 {
        let journal = simulate(seed).unwrap().journal;
        for (at, event) in journal.iter().enumerate() {
            let mut forged = event.clone();
            match &mut forged {
                Event::Halted(halted) if halted.reason != engine::event::halt::HaltReason::SuccessConditionMet => {
                    Arc::make_mut(halted).reason = engine::event::halt::HaltReason::SuccessConditionMet;
                }
                Event::GuardsJudged(judged) if !judged.report.findings.is_empty() => {
                    Arc::make_mut(judged).report.findings.clear();
                }
                Event::CandidateAccepted(accepted) => Arc::make_mut(accepted).passing += 1,
                Event::Checkpointed(done) => Arc::make_mut(done).failing += 1,
                Event::ProgressJudged(judged) => Arc::make_mut(judged).stalled += 1,
                _ => continue,
            }
            let mut mutant = journal.clone();
            mutant[at] = forged;
            let divergence = engine::rederive(&mutant).expect_err("a rewritten decision differs from what was due");
            assert_eq!(divergence.index(), at, "seed {seed}");
            rewritten += 1;
        }
    }
    assert!(rewritten > 1_000, "{rewritten}");
}

#[test]
fn a_success_that_nothing_earned_is_refused_by_both() {
    for seed in 0..2_000 {
        let mut journal = simulate(seed).unwrap().journal;
        let Some(Event::Halted(halted)) = journal.last_mut() else {
            continue;
        };
        if halted.reason == engine::event::halt::HaltReason::SuccessConditionMet {
            continue;
        }
        Arc::make_mut(halted).reason = engine::event::halt::HaltReason::SuccessConditionMet;
        assert!(engine::State::fold(&journal).is_err(), "seed {seed}: by type");
        assert!(
            reference::accept(&told(&journal)).is_err(),
            "seed {seed}: by the second opinion"
        );
    }
}

/// An event that is counted as long as it is held.
struct Held<'c> {
    event: Event,
    now: &'c Cell<u32>,
}

impl<'c> Held<'c> {
    fn read(line: &str, now: &'c Cell<u32>, peak: &Cell<u32>) -> Self {
        now.set(now.get() + 1);
        peak.set(peak.get().max(now.get()));
        let event = serde_json::from_str(line).unwrap();
        Self { event, now }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.now.set(self.now.get() - 1);
    }
}

#[test]
fn however_long_a_journal_is_one_event_of_it_is_held_while_its_decisions_are_derived_again() {
    for seed in 0..200 {
        let journal = simulate(seed).unwrap().journal;
        let lines: Vec<String> = journal
            .iter()
            .map(|event| serde_json::to_string(event).unwrap())
            .collect();
        let (now, peak) = (Cell::new(0), Cell::new(0));
        let mut stepwise = Rederivation::default();
        for line in &lines {
            stepwise.take(&Held::read(line, &now, &peak).event).unwrap();
        }
        assert_eq!((peak.get(), stepwise.differs()), (1, None), "seed {seed}");
        assert_eq!(stepwise.state(), engine::rederive(&journal).ok().as_ref());
    }
}
