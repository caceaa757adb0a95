//! Whole runs, told as script and transcript: given a contract, an agent and a check, the exact facts of
//! the journal in order, and the halt.

// A helper that fails fails its test.
#![allow(clippy::unwrap_used)]

mod commands;
mod determinism;
mod endings;
mod extending;
mod guards;
mod lives;
mod money;
mod people;
mod precedence;
mod ratchet;
mod rechecks;
mod revisits;
mod vets;

use engine::event::halt::HaltReason;
use engine::event::policy::{Command, Policy};
use models::drive::{Ended, Run};
use models::project::Tree;
use models::reference;
use models::script::{Script, halt, transcript};
use models::world::World;

/// A red start, as every story without a twist begins.
const RED: &str = "open walk:baseline baseline#1 ->1 walk:after_check guards accept:same progress checkpoint";

/// A contract with an agent and a check.
fn policy(bend: impl FnOnce(&mut Policy)) -> Policy {
    let mut policy = Policy {
        exec: Command::shell("agent"),
        ..Policy::default()
    };
    policy.oracle.check = Command::shell("check");
    policy.bounds.max_iterations = 5;
    bend(&mut policy);
    policy
}

/// A workdir in which these tests pass.
fn project(right: u8) -> World {
    World {
        pace_ms: 1,
        ..World::new(Tree::passing(right))
    }
}

/// Lives until the run halts, a dead or stopped governor being followed by another.
fn run(policy: Policy, world: World, mut script: Script) -> Run {
    let mut run = Run::new(policy, world);
    go_on(&mut run, &mut script);
    run
}

fn go_on(run: &mut Run, script: &mut Script) {
    for _ in 0..50 {
        match run.live(script) {
            Ok(Ended::Halted(_)) => return agreed(run),
            Ok(Ended::Suspended | Ended::Crashed) => {}
            Err(broken) => panic!("{broken}\n{}", transcript(&run.journal)),
        }
    }
    panic!("fifty lives and no end:\n{}", transcript(&run.journal));
}

/// Every decision can be derived again, and the second opinion agrees.
fn agreed(run: &Run) {
    if let Err(divergence) = engine::rederive(&run.journal) {
        panic!("{divergence}\n{}", transcript(&run.journal));
    }
    let lines: Vec<serde_json::Value> = run
        .journal
        .iter()
        .map(|event| serde_json::to_value(event).expect("an event has a JSON form"))
        .collect();
    if let Err(refusal) = reference::accept(&lines) {
        panic!("{refusal}\n{}", transcript(&run.journal));
    }
}

/// The transcript, compared line by line without regard to indentation.
#[track_caller]
fn told(run: &Run, expected: &str) {
    let clean = |text: &str| {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join("\n")
    };
    let seen = transcript(&run.journal);
    assert_eq!(
        clean(&seen),
        clean(expected),
        "\n--- seen\n{seen}\n--- expected\n{expected}"
    );
}

#[track_caller]
fn ends(run: &Run, reason: HaltReason, cause: &str, words: &str) {
    let halt = halt(&run.journal).expect("the run halted");
    assert_eq!((halt.reason, halt.cause.as_str()), (reason, cause), "{}", halt.sentence);
    assert!(halt.sentence.contains(words), "{} lacks {words}", halt.sentence);
    assert!(halt.sentence.ends_with('.'), "{}", halt.sentence);
}

/// What the agent was told at the start of its last turn.
fn last_told(run: &Run) -> String {
    let mut told = String::new();
    for end in 1..=run.journal.len() {
        let state = engine::State::fold(&run.journal[..end]).expect("a prefix folds");
        if let engine::Next::Perform(engine::Effect::BuildContext(request)) = state.next() {
            told = request.told;
        }
    }
    told
}
