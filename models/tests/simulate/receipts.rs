//! Receipts of simulated runs, forged in every way that a reader without the hashes can notice: the second
//! opinion refuses each of them.
//!
//! A forger here renumbers lines and makes up leaves; only what the lines tell is left to judge.

use std::rc::Rc;

use models::reference;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::run::simulate;

/// Lines that share what was not forged.
type Lines = Vec<Rc<Value>>;

fn lines(seed: u64) -> Lines {
    let journal = simulate(seed).unwrap().journal;
    journal
        .iter()
        .map(|event| Rc::new(json!({"event": event, "kind": event.kind(), "v": event.version(), "flags": 0})))
        .collect()
}

/// Numbered and hashed anew, as a forger would.
fn receipt(lines: &[Rc<Value>]) -> String {
    let mut text = String::new();
    for (seq, line) in lines.iter().enumerate() {
        let mut line = Value::clone(line);
        line["seq"] = json!(seq);
        line["leaf"] = json!(format!("{seq:064x}"));
        line["payload"] = json!("0".repeat(64));
        text.push_str(&line.to_string());
        text.push('\n');
    }
    text
}

fn name(line: &Value) -> &str {
    line["event"]["event"].as_str().unwrap()
}

/// What a forger does to the event at a place. `None`: nothing of that kind is there.
type Forgery = fn(&mut Lines, usize) -> Option<()>;

/// Every forgery that must be refused, wherever it applies.
const FORGERIES: &[(&str, Forgery)] = &[
    ("a halt that claims success", claim_success),
    ("a success after a tripped guard", |lines, at| {
        judged_before(lines, at, "halted", "success_condition_met").map(trip)
    }),
    ("a success without one of the guards", |lines, at| {
        judged_before(lines, at, "halted", "success_condition_met").map(silence)
    }),
    ("an acceptance after a tripped guard", |lines, at| {
        judged_before(lines, at, "candidate_accepted", "").map(trip)
    }),
    ("an acceptance of another tree", |lines, at| {
        edit(lines, at, "candidate_accepted", "tree", |_| json!("f".repeat(64)))
    }),
    ("an acceptance that counts one more", |lines, at| {
        edit(lines, at, "candidate_accepted", "passing", more)
    }),
    ("guards that judged another tree", |lines, at| {
        edit(lines, at, "guards_judged", "tree", |_| json!("f".repeat(64)))
    }),
    ("a halt that is not final", |lines, at| {
        (name(&lines[at]) == "halted").then_some(())?;
        lines.insert(at + 1, lines[at].clone());
        Some(())
    }),
    ("a run that goes on behind its success", |lines, at| {
        let success = lines[at]["event"]["reason"] == "success_condition_met";
        (name(&lines[at]) == "halted" && success).then_some(())?;
        let resumed = json!({"event": {"event": "resumed"}, "kind": 60_000, "v": 1, "flags": 0});
        lines.insert(at + 1, Rc::new(resumed));
        Some(())
    }),
    ("an iteration that is skipped", |lines, at| {
        edit(lines, at, "context_built", "iteration", more)
    }),
    ("a work command of another attempt", |lines, at| {
        edit(lines, at, "execute_ended", "attempt", more)
    }),
    ("a check of another attempt", |lines, at| {
        edit(lines, at, "check_began", "attempt", more)
    }),
    ("a check with another purpose", |lines, at| {
        edit(lines, at, "check_ended", "purpose", |purpose| match purpose.as_str() {
            Some("gate") => json!("baseline"),
            _ => json!("gate"),
        })
    }),
    ("a member that was lost from the count", |lines, at| {
        lines[at]["event"].get("measurement")?;
        let total = here(lines, at)["measurement"].get_mut("members_total")?;
        *total = more(total);
        Some(())
    }),
    ("a restore to another tree", |lines, at| {
        edit(lines, at, "restore_began", "to", |_| json!("f".repeat(64)))
    }),
    ("a rejection that puts another tree back", |lines, at| {
        edit(lines, at, "candidate_rejected", "restore_to", |_| json!("f".repeat(64)))
    }),
    ("a retry that waits too long", |lines, at| {
        edit(lines, at, "retry_scheduled", "delay_ms", |_| json!(60_001))
    }),
    ("an effect that began twice", |lines, at| {
        name(&lines[at]).ends_with("_began").then_some(())?;
        lines.insert(at, lines[at].clone());
        Some(())
    }),
    ("an effect that ended twice", |lines, at| {
        name(&lines[at]).ends_with("_ended").then_some(())?;
        lines.insert(at, lines[at].clone());
        Some(())
    }),
    ("an effect without its beginning", |lines, at| {
        name(&lines[at]).ends_with("_began").then_some(())?;
        let ended = name(lines.get(at + 1)?).ends_with("_ended");
        ended.then(|| drop(lines.remove(at)))
    }),
    ("an end before its beginning", |lines, at| {
        let ended = name(&lines[at]).ends_with("_ended") && name(&lines[at - 1]).ends_with("_began");
        ended.then(|| lines.swap(at - 1, at))
    }),
    ("an acceptance without its guards", |lines, at| {
        let judged = name(&lines[at]) == "guards_judged" && name(lines.get(at + 1)?) == "candidate_accepted";
        judged.then(|| drop(lines.remove(at)))
    }),
    ("a kind that goes by two numbers", |lines, at| {
        let kind = lines[at]["kind"].clone();
        let earlier = lines[..at].iter().any(|line| line["kind"] == kind);
        earlier.then(|| Rc::make_mut(&mut lines[at])["kind"] = json!(60_000))
    }),
    ("an event that nobody knows", |lines, at| {
        lines[at] = Rc::new(json!({"event": {"event": "promoted"}, "kind": 60_000, "v": 1, "flags": 0}));
        Some(())
    }),
    ("a run without its beginning", |lines, _| {
        lines.remove(0);
        Some(())
    }),
];

fn claim_success(lines: &mut Lines, at: usize) -> Option<()> {
    let reason = lines[at]["event"].get("reason")?;
    (name(&lines[at]) == "halted" && reason != "success_condition_met").then_some(())?;
    here(lines, at)["reason"] = json!("success_condition_met");
    Some(())
}

fn here(lines: &mut [Rc<Value>], at: usize) -> &mut Value {
    &mut Rc::make_mut(&mut lines[at])["event"]
}

fn edit(lines: &mut [Rc<Value>], at: usize, event: &str, member: &str, to: fn(&Value) -> Value) -> Option<()> {
    (name(&lines[at]) == event).then_some(())?;
    let value = here(lines, at).get_mut(member)?;
    *value = to(value);
    Some(())
}

fn more(number: &Value) -> Value {
    json!(number.as_u64().unwrap() + 1)
}

/// The last judgement of the guards before this event, when it is one of that name and reason.
fn judged_before<'a>(lines: &'a mut [Rc<Value>], at: usize, event: &str, reason: &str) -> Option<&'a mut Value> {
    let meant = name(&lines[at]) == event && (reason.is_empty() || lines[at]["event"]["reason"] == reason);
    meant.then_some(())?;
    let judged = lines[..at].iter().rposition(|line| name(line) == "guards_judged")?;
    Some(&mut here(lines, judged)["report"])
}

fn trip(report: &mut Value) {
    let finding = json!({"guard": "blocked_paths", "severity": "violation", "reason": "blocked_path_modified"});
    report["findings"].as_array_mut().unwrap().push(finding);
}

fn silence(report: &mut Value) {
    report["guards"].as_array_mut().unwrap().pop();
}

#[test]
fn receipts_of_simulated_runs_are_accepted() {
    for seed in 0..500 {
        let lines = lines(seed);
        assert_eq!(reference::receipt(&receipt(&lines)), Ok(lines.len()), "seed {seed}");
    }
}

#[test]
fn a_line_that_is_still_being_written_says_nothing_yet() {
    let text = receipt(&lines(1));
    let events = text.lines().count();
    assert_eq!(reference::receipt(&text[..text.len() - 20]), Ok(events - 1));
}

#[test]
fn every_forgery_applies_somewhere_and_is_refused_everywhere() {
    let mut applied = vec![0_u32; FORGERIES.len()];
    for seed in 0..100 {
        let honest = lines(seed);
        for at in 1..honest.len() {
            for (count, (what, forge)) in applied.iter_mut().zip(FORGERIES) {
                let mut forged = honest.clone();
                if forge(&mut forged, at).is_some() {
                    let answer = reference::receipt(&receipt(&forged));
                    assert!(answer.is_err(), "seed {seed}, event {at}: {what} goes unnoticed");
                    *count += 1;
                }
            }
        }
    }
    for (count, (what, _)) in applied.iter().zip(FORGERIES) {
        assert!(*count > 0, "nowhere in these runs: {what}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Lines as they are, in another order, twice, or with one missing: their numbers tell.
    #[test]
    fn lines_that_were_moved_dropped_or_doubled_are_refused(seed in 0..5_000_u64, place in 0..1_000_usize, how in 0..3_u8) {
        let text = receipt(&lines(seed));
        let mut lines: Vec<&str> = text.lines().collect();
        let at = place % (lines.len() - 1);
        match how {
            0 => lines.swap(at, at + 1),
            1 => drop(lines.remove(at)),
            _ => lines.insert(at, lines[at]),
        }
        let forged = lines.join("\n") + "\n";
        prop_assert!(reference::receipt(&forged).is_err());
    }

    /// Whatever bytes: an answer, and never a panic.
    #[test]
    fn whatever_the_text_there_is_an_answer(text in ".{0,200}\n") {
        let _ = reference::receipt(&text);
    }

    #[test]
    fn a_broken_member_is_an_answer_too(seed in 0..500_u64, place in 0..1_000_usize, with in "[\\[\\]{}\",:0-9a-z]{1,3}") {
        let mut text = receipt(&lines(seed));
        let at = place * 7 % text.len();
        if text.is_char_boundary(at) {
            text.insert_str(at, &with);
            let _ = reference::receipt(&text);
        }
    }
}
