//! The causes of halts that the code says and the vocabulary of SPEC 4.2.1 are the same.
//!
//! ```text
//!   words in the rooms that decide, and where a command refuses ──all of them──> vocabulary
//!   vocabulary ──but what is not built──> words in the code
//! ```

use std::collections::BTreeSet;

use engine::event::iteration::CheckPurpose;
use engine::event::zone::ZoneRefusal;

use super::house::sources;
use crate::support::vocabulary;

/// Whatever these say in one word is a cause.
const ROOMS: &[&str] = &[
    "engine/src/adequacy.rs",
    "engine/src/doctor.rs",
    "engine/src/phase/",
    "engine/src/probe/",
    "engine/src/progress/",
    "engine/src/state",
    "cli/src/failure.rs",
];

/// Words of those rooms that are something else.
const OTHER: &[&str] = &[
    "attempt",
    "check",
    "falls",
    "iteration",
    "killed",
    "member",
    "none",
    "note",
    "ok",
    "problem",
    "survived",
    "test",
    "unjudged",
];

/// Where a command names a cause outside of those rooms; it stands before the end of the statement.
const NAMED: &[&str] = &["Failure::of(", "failure_cause = Some("];

/// A run of the check that disagrees gives its purpose as the cause.
const DISAGREEING: &[CheckPurpose] = &[CheckPurpose::Recheck, CheckPurpose::Confirmation, CheckPurpose::Resume];

/// What names no cause because it is not built yet. This list may only shrink.
const UNBUILT: &[&str] = &[
    "calls",
    "candidate_changed_during_verification",
    "governor_gone",
    "governor_stalled",
    "header_does_not_fit",
    "hook_failed",
    "judge",
    "judge_failed",
    "model_mismatch",
    "model_undeclared",
    "network_contradiction",
    "observed_allowance_exhausted",
    "order",
    "outlier",
    "paged",
    "protected_policy_drift",
    "proved_flaky",
    "relevant_file_does_not_fit",
    "reservation_denied",
    "reservation_overrun",
    "saved_usage_invalid",
    "scope_damaged",
    "score_evidence_invalid",
    "score_fell",
    "score_patience",
    "score_target_reached",
    "task_needs_person",
    "tasks_blocked",
    "tasks_completed",
    "tokens",
    "unresolved_reservation",
    "usage_invalid",
    "usage_unavailable",
];

#[test]
fn every_cause_that_the_code_says_is_in_the_vocabulary() {
    let known: BTreeSet<_> = vocabulary::causes().values().flatten().cloned().collect();
    let strange: Vec<_> = said().into_iter().filter(|word| !known.contains(word)).collect();
    assert!(strange.is_empty(), "SPEC 4.2.1 knows no {strange:?}");
}

#[test]
fn every_cause_of_the_vocabulary_is_said_by_the_code_once_it_is_built() {
    let said = said();
    let unsaid: BTreeSet<_> = vocabulary::all_causes()
        .into_iter()
        .filter(|cause| !said.contains(cause))
        .collect();
    let unbuilt: BTreeSet<_> = UNBUILT.iter().map(|cause| (*cause).to_owned()).collect();
    let differing: Vec<_> = unsaid.symmetric_difference(&unbuilt).collect();
    assert!(
        differing.is_empty(),
        "said by nobody and not listed, or the other way round: {differing:?}"
    );
}

#[test]
fn words_are_found_in_literals_and_sentences_are_not() {
    let found = words(r#"halt(facts, R::X, "stalled", "it is red"), format!("{n}"), "run_deadline", "Ab""#);
    assert_eq!(found.collect::<Vec<_>>(), ["stalled", "run_deadline"]);
}

/// Every cause that the shipped code names.
fn said() -> BTreeSet<String> {
    let refusals = ZoneRefusal::ALL.iter().map(|refusal| refusal.label());
    let disagreeing = DISAGREEING.iter().map(|purpose| purpose.label());
    let mut said: BTreeSet<_> = refusals.chain(disagreeing).map(str::to_owned).collect();
    for (path, source) in sources() {
        let text = source.product_text();
        if ROOMS.iter().any(|room| path.starts_with(room)) {
            said.extend(words(&text).filter(|word| !OTHER.contains(word)).map(str::to_owned));
        } else if path.starts_with("cli/src/") {
            let calls = NAMED.iter().flat_map(|call| text.split(call).skip(1));
            let statements = calls.map(|rest| rest.split([';', '}']).next().unwrap());
            said.extend(statements.flat_map(words).map(str::to_owned));
        }
    }
    said
}

/// String literals that are one word of small letters, digits and underscores.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let word = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_lowercase())
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    text.split('"').skip(1).filter(move |text| word(text))
}
