//! A check that runs only part of the tests, perhaps none of them.
//!
//! Whether a filter matches anything shows only by running: the baseline of a run is the first to know.

use super::{Concern, Looked, Patient};
use crate::oracle::collect::Invocation;

pub(super) static CONCERN: Concern = Concern {
    name: "selection",
    doc: "the check runs all tests, and none at all is no success",
    look,
};

fn look(patient: &Patient, looked: &mut Looked) {
    if patient.policy.oracle.check.is_empty() {
        return;
    }
    let before = looked.findings.len();
    for run in patient.detection().invocations() {
        let command = run.words.join(" ");
        if let Some(flag) = ["--passWithNoTests", "--pass-with-no-tests"]
            .into_iter()
            .find(|flag| run.has(flag))
        {
            let detail = format!("`{flag}` makes a success of a run without a test");
            looked.note(
                &CONCERN,
                &command,
                detail,
                "take it off; a run in which tests vanish must not be green",
            );
        }
        if let Some((filter, vacuous)) = filter(&run) {
            let detail = match vacuous {
                true => format!("`{filter}` selects tests, and exits 0 when it matches none"),
                false => format!("`{filter}` selects tests: the others are neither run nor guarded"),
            };
            let remedy = "make sure that it still matches; without the filter all are guarded";
            looked.note(&CONCERN, &command, detail, remedy);
        }
    }
    if looked.findings.len() == before {
        let subject = patient.policy.oracle.check.display();
        looked.ok(&CONCERN, subject, "no filter is seen in it");
    }
}

/// The words that select tests, and whether the runner exits 0 when nothing is selected.
fn filter(run: &Invocation) -> Option<(String, bool)> {
    let flagged = |flags: &[&str]| {
        let words = run.arguments();
        words.iter().enumerate().find_map(|(at, word)| {
            let flag = flags
                .iter()
                .find(|flag| word == *flag || word.strip_prefix(**flag).is_some_and(|rest| rest.starts_with('=')))?;
            let value = (word == flag).then(|| words.get(at + 1)).flatten();
            Some(
                [Some(word), value]
                    .into_iter()
                    .flatten()
                    .cloned()
                    .collect::<Vec<_>>()
                    .join(" "),
            )
        })
    };
    let module = run.python_module();
    match run.program() {
        "pytest" | "py.test" => Some((flagged(&["-k", "-m", "--lf", "--last-failed", "--deselect"])?, false)),
        // Its own -m names the module.
        _ if module == Some("pytest") => Some((flagged(&["-k", "--lf", "--last-failed", "--deselect"])?, false)),
        _ if module == Some("unittest") => Some((flagged(&["-k"])?, true)),
        "jest" => Some((flagged(&["-t", "--testNamePattern", "--onlyChanged", "-o"])?, false)),
        "vitest" => Some((flagged(&["-t", "--testNamePattern", "--changed"])?, false)),
        "go" if run.is("go", &["test"]) => Some((flagged(&["-run", "-skip", "--run"])?, true)),
        "cargo" if run.is("cargo", &["nextest", "run"]) => {
            Some((flagged(&["-E", "--filter-expr", "--filterset"])?, false))
        }
        "cargo" if run.is("cargo", &["test"]) => Some((cargo_name(run)?, true)),
        _ => None,
    }
}

/// The name in front of `--` that `cargo test` filters by.
fn cargo_name(run: &Invocation) -> Option<String> {
    const WITH_VALUE: &[&str] = &[
        "-p",
        "--package",
        "--exclude",
        "--test",
        "--bin",
        "--example",
        "--bench",
        "-j",
        "--jobs",
        "-F",
        "--features",
        "--target",
        "--target-dir",
        "--manifest-path",
        "--profile",
        "--color",
        "--config",
        "--message-format",
    ];
    let mut words = run
        .arguments()
        .iter()
        .skip_while(|word| *word != "test" && *word != "t")
        .skip(1);
    while let Some(word) = words.next() {
        if word == "--" {
            return None;
        }
        if WITH_VALUE.contains(&word.as_str()) {
            words.next();
        } else if !word.starts_with(['-', '+', '>', '<', '2']) {
            return Some(word.clone());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::bench::{patient, said};
    use super::*;

    #[test]
    fn a_filter_is_named_and_a_runner_that_succeeds_without_a_test_more_so() {
        for (check, wanted) in [
            ("pytest -q -k 'not slow'", "`-k not slow` selects"),
            ("python -m pytest -k x", "`-k x` selects"),
            ("go test ./... -run TestA", "exits 0 when it matches none"),
            ("cargo test -p engine guards", "`guards` selects tests, and exits 0"),
            ("jest --passWithNoTests", "without a test"),
            ("python -m unittest -k x", "exits 0 when it matches none"),
        ] {
            let (_dir, patient) = patient(&[], check);
            let said = said(&CONCERN, &patient);
            assert!(said[0].0 == "note" && said[0].1.contains(wanted), "{check}: {said:?}");
        }
    }

    #[test]
    fn without_a_filter_there_is_none() {
        for check in [
            "pytest -q",
            "python -m pytest -q",
            "cargo test -p engine -- --nocapture",
            "go test ./...",
            "./verify -k x",
        ] {
            let (_dir, patient) = patient(&[], check);
            assert_eq!(said(&CONCERN, &patient)[0].0, "ok", "{check}");
        }
    }
}
