//! CTest's own lines: it takes no reporter from the environment.
//!
//! A test is concluded by `1/3 Test #1: name ....   Passed`. What a failing test prints may stand between such lines
//! and may look like one, so they are held against the totals at the end.

use std::collections::BTreeMap;

use super::{Artefact, CollectError, Collector, inject_nothing};
use crate::oracle::{Measured, Member, Status, plain};

pub(super) static COLLECTOR: Collector = Collector {
    name: "ctest",
    doc: "CTest: the lines and totals of its ordinary output",
    detect: |detection| detection.find(|run| run.program() == "ctest"),
    inject: inject_nothing,
    collect,
};

const NAME: &str = "ctest";

fn collect(artefact: &Artefact<'_>) -> Result<Measured, CollectError> {
    let text = plain::text(artefact.stdout);
    let mut measured = Measured::unfinished(NAME);
    let mut tests: BTreeMap<u64, Member> = BTreeMap::new();
    let mut totals = None;
    let mut began = false;
    for line in text.lines() {
        began |= line.starts_with("Test project ") || line.starts_with("No tests were found");
        measured.finished |= line.starts_with("No tests were found");
        if let Some((number, of, test)) = concluded(line) {
            began = true;
            measured.announced = of.or(measured.announced);
            let again = tests.get(&number).is_some_and(|earlier| earlier.status.is_failing());
            measured.retried += u64::from(again);
            let lucky = again && test.status == Status::Passed;
            let status = if lucky { Status::FlakyPassed } else { test.status };
            tests.insert(number, Member { status, ..test });
        } else if let Some(stated) = summary(line) {
            totals = Some(stated);
            measured.finished = true;
        }
    }
    if !began {
        return Err(CollectError::Absent {
            collector: NAME,
            what: "output of CTest",
        });
    }
    measured.members = tests.into_values().collect();
    measured.concluded = Some(measured.members.len() as u64);
    if let Some((failed, run)) = totals {
        compare(failed, run, &mut measured);
    }
    Ok(measured.settled())
}

/// `2/3 Test #2: name ....***Failed    0.02 sec`; a repetition has no place in the count in front.
fn concluded(line: &str) -> Option<(u64, Option<u64>, Member)> {
    let (place, rest) = line.trim_start().split_once("Test ")?;
    let of = match place.trim_end() {
        "" => None,
        place => Some(place.split_once('/').and_then(|(_, of)| of.trim().parse().ok())?),
    };
    let (number, rest) = rest.trim_start().strip_prefix('#')?.split_once(": ")?;
    let (name, dots) = rest.split_at(rest.find(" ..")?);
    let said = dots.trim_start().trim_start_matches('.').trim();
    let status = status(said)?;
    let member = Member::new(name.trim_end(), status);
    let member = if status == Status::Passed {
        member
    } else {
        member.saying(without_time(said.trim_start_matches('*')))
    };
    Some((number.trim().parse().ok()?, of, member))
}

fn status(said: &str) -> Option<Status> {
    if said.starts_with("Passed") {
        return Some(Status::Passed);
    }
    // What kept a test from a verdict stands in front of the stars: `Subprocess aborted***Exception:`.
    let (_, verdict) = said.split_once("***")?;
    let is = |word: &str| verdict.starts_with(word);
    Some(match () {
        () if is("Failed") => Status::Failed,
        () if is("Skipped") => Status::Skipped,
        () if is("Not Run (Disabled)") => Status::Ignored,
        () => Status::Error,
    })
}

/// The words without the duration behind them, which is another one every time.
fn without_time(said: &str) -> &str {
    let Some(rest) = said.strip_suffix(" sec") else {
        return said;
    };
    rest.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
        .trim_end()
}

/// `67% tests passed, 1 tests failed out of 3`: how many failed, and of how many that ran.
fn summary(line: &str) -> Option<(u64, u64)> {
    let (_, rest) = line.split_once("% tests passed, ")?;
    let (failed, rest) = rest.split_once(' ')?;
    let (_, of) = rest.split_once("failed out of ")?;
    Some((failed.parse().ok()?, of.trim().parse().ok()?))
}

fn compare(stated: u64, run: u64, measured: &mut Measured) {
    let count = |wanted: fn(Status) -> bool| measured.members.iter().filter(|m| wanted(m.status)).count() as u64;
    let failed = count(Status::is_failing);
    // A disabled test is listed and not among those that ran.
    let ran = count(|status| status != Status::Ignored);
    if (stated, run) != (failed, ran) {
        measured.contradictions.push(format!(
            "the totals state {stated} failed of {run} tests and the lines say {failed} of {ran}"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_whatever_its_test_is_called() {
        let (number, of, test) =
            concluded(" 12/340 Test  #12: a name: with dots.. .......***Timeout   1.50 sec").unwrap();
        assert_eq!((number, of, test.status), (12, Some(340), Status::Error));
        assert_eq!(
            (test.id.as_str(), test.message.as_str()),
            ("a name: with dots..", "Timeout")
        );
        for line in [
            "    Start 1: alpha",
            "Test #x: a ... Passed",
            "1/2 Test #1: a",
            "Test timeout computed to be: 1500",
        ] {
            assert!(concluded(line).is_none(), "{line}");
        }
    }
}
