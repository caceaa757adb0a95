//! Artefact consistency: the exit status and the report tell the same story (SPEC 5.5).
//!
//! Catches a rewritten exit status, an early `exit(0)`, a list-only run, a run of zero tests and a
//! report left over from another run.

use alloc::format;
use alloc::vec::Vec;

use super::{Evidence, Guard, Outcome};
use crate::event::finding::{Finding, Severity};
use crate::event::halt::HaltReason;
use crate::event::measurement::ReportState;
use crate::state::FAILURES_CMD;
use crate::words::counted;

pub static GUARD: Guard = Guard {
    name: "artefact_consistency",
    catches: "an exit status that contradicts the report, zero tests, tests announced and not concluded, a stale report",
    reason: HaltReason::MetricIntegrityViolation,
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let seen = evidence.measurement;
    if !evidence.collected() && seen.report == ReportState::NotUsed {
        return Outcome::not_applicable("no collector reads this runner; the exit status is all there is");
    }
    if seen.collector == FAILURES_CMD && seen.report == ReportState::Malformed {
        return Outcome::unavailable(format!("the failures command's answer is unusable: {}", seen.note));
    }
    let mut findings = Vec::new();
    // A red check converges nothing: its inconsistencies are worth a note, not a halt.
    let severity = if evidence.green() {
        Severity::Violation
    } else {
        Severity::Note
    };
    let mut add =
        |subject: &str, detail: alloc::string::String| findings.push(GUARD.finding(severity, subject, detail));
    match seen.report {
        ReportState::Stale => add(
            "report",
            "the report is older than the check that should have written it".into(),
        ),
        ReportState::Absent => add("report", "the check wrote no report".into()),
        ReportState::Malformed => add("report", format!("the report cannot be read: {}", seen.note)),
        ReportState::NotUsed | ReportState::Fresh => {}
    }
    if let (Some(announced), Some(concluded)) = (seen.announced, seen.concluded)
        && concluded < announced
    {
        add(
            "runner",
            format!(
                "{} announced and only {concluded} concluded",
                counted(announced, "test")
            ),
        );
    }
    for contradiction in &seen.contradictions {
        add("runner", contradiction.clone());
    }
    if evidence.collected() && !seen.finished {
        add("runner", "the runner never said that it came to its end".into());
    }
    if evidence.green() {
        findings.extend(green_findings(evidence));
    }
    // Nobody has worked before t0: a check that contradicts itself there never showed its own red.
    if evidence.iteration == 0 {
        let own = findings
            .iter_mut()
            .filter(|finding| finding.severity == Severity::Violation);
        own.for_each(|finding| finding.reason = HaltReason::CheckInadequate);
    }
    Outcome::active(findings)
}

fn green_findings(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let failing: Vec<_> = evidence.members.iter().filter(|(_, status)| status.fails()).collect();
    if let Some((first, status)) = failing.first() {
        let (count, s) = (failing.len(), if failing.len() == 1 { "" } else { "s" });
        let detail = format!("the check exited green while {count} member{s} failed, {first} ({status}) first");
        findings.push(GUARD.violation(first.as_str(), detail));
    }
    let concluded = evidence
        .measurement
        .concluded
        .unwrap_or(evidence.measurement.members_total);
    let is_known = evidence.measurement.complete || evidence.measurement.concluded.is_some();
    if evidence.collected() && is_known && concluded == 0 {
        let mut finding = GUARD.violation("runner", "the check exited green without running a test");
        // Nothing was lost when nothing was ever there: then the check itself is the problem.
        if evidence.universe.is_empty() {
            finding.reason = HaltReason::CheckInadequate;
        }
        findings.push(finding);
    } else if evidence.collected()
        && evidence.measurement.complete
        && !evidence.members.iter().any(|(_, status)| status.passes())
        && failing.is_empty()
    {
        let detail = format!(
            "the check exited green with {} and none that passed",
            counted(concluded, "test")
        );
        findings.push(GUARD.violation("runner", detail));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::bench::{Bench, members, run};
    use super::*;
    use crate::event::measurement::MemberStatus::{Failed, Passed, Skipped};
    use crate::members::IdSet;

    fn findings(bend: impl FnOnce(&mut Bench)) -> Vec<Finding> {
        let mut bench = Bench::honest();
        bend(&mut bench);
        check(&bench.evidence()).findings
    }

    #[test]
    fn a_green_exit_with_a_failing_member_is_a_violation() {
        let found = findings(|b| b.members = members(&[("a", Passed), ("b", Failed)]));
        assert_eq!(found[0].severity, Severity::Violation);
        assert_eq!(found[0].subject, "b");
    }

    #[test]
    fn a_contradiction_before_any_work_is_an_inadequate_check_and_no_tampering() {
        let red = |b: &mut Bench| b.members = members(&[("a", Passed), ("b", Failed)]);
        assert_eq!(findings(red)[0].reason, HaltReason::MetricIntegrityViolation);
        let mut bench = Bench::honest();
        red(&mut bench);
        let at_t0 = check(&Evidence {
            iteration: 0,
            ..bench.evidence()
        })
        .findings;
        assert_eq!(at_t0[0].reason, HaltReason::CheckInadequate);
        assert!(at_t0[0].detail.contains("1 member failed"), "{}", at_t0[0].detail);
    }

    #[test]
    fn a_green_run_of_zero_tests_is_a_violation_and_without_a_universe_inadequate() {
        let none = |b: &mut Bench| {
            b.members = members(&[]);
            b.measurement.announced = None;
            b.measurement.concluded = Some(0);
        };
        assert_eq!(findings(none)[0].reason, HaltReason::MetricIntegrityViolation);
        let never = findings(|b| {
            none(b);
            b.universe = IdSet::default();
        });
        assert_eq!(never[0].reason, HaltReason::CheckInadequate);
    }

    #[test]
    fn a_green_run_in_which_every_test_is_skipped_is_a_violation() {
        let skipped = members(&[("a", Skipped), ("b", Skipped)]);
        let found = findings(|b| b.members = skipped);
        assert!(
            found[0].detail.contains("2 tests and none that passed"),
            "{}",
            found[0].detail
        );
    }

    #[test]
    fn a_green_exit_before_the_last_test_concluded_is_a_violation() {
        let found = findings(|b| b.measurement.announced = Some(3));
        assert!(
            found[0].detail.contains("3 tests announced and only 2"),
            "{}",
            found[0].detail
        );
    }

    #[test]
    fn a_stale_or_absent_report_is_a_violation_when_green_and_a_note_when_red() {
        for report in [ReportState::Stale, ReportState::Absent, ReportState::Malformed] {
            assert_eq!(
                findings(|b| b.measurement.report = report)[0].severity,
                Severity::Violation
            );
            let red = findings(|b| {
                b.measurement.report = report;
                b.check = run(1);
            });
            assert_eq!(red[0].severity, Severity::Note);
        }
    }

    #[test]
    fn a_green_exit_of_a_runner_that_contradicts_itself_or_never_ended_is_a_violation() {
        let torn = findings(|b| b.measurement.finished = false);
        assert_eq!(torn[0].severity, Severity::Violation);
        let odd = findings(|b| b.measurement.contradictions = ["3 passed, 2 named".into()].into());
        assert_eq!(odd[0].severity, Severity::Violation);
    }

    #[test]
    fn a_red_exit_without_a_failing_member_is_no_violation() {
        assert!(findings(|b| b.check = run(2)).is_empty());
    }

    #[test]
    fn a_runner_that_nobody_reads_is_said_to_be_unread() {
        let mut bench = Bench::honest();
        bench.measurement.collector.clear();
        bench.measurement.report = ReportState::NotUsed;
        assert_eq!(
            check(&bench.evidence()).state,
            crate::event::finding::GuardState::NotApplicable
        );
    }
}
