//! A run as JUnit XML: for CI systems that show test reports and nothing else.

use engine::State;
use engine::event::halt::HaltReason;
use engine::event::measurement::MemberStatus;
use engine::report::Fate;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use shell::record::Record;

use crate::failure::Failure;

/// The document: the halt, the iterations, the members of the last check.
pub(crate) fn document(record: &Record, state: &State) -> Result<String, Failure> {
    let run_id = record.run.id().as_str();
    let mut report = Report::new(format!("loopexec {run_id}"));
    report.add_test_suites([halt(state), iterations(record, state), members(state)]);
    report.to_string().map_err(|error| {
        Failure::of(
            HaltReason::InternalError,
            "defect",
            format!("the report cannot be written as XML: {error}"),
        )
    })
}

fn halt(state: &State) -> TestSuite {
    let mut suite = TestSuite::new("halt");
    let facts = &state.facts;
    let status = match &facts.halted {
        Some(halted) if halted.reason == HaltReason::SuccessConditionMet => TestCaseStatus::success(),
        Some(halted) => failed(NonSuccessKind::Failure, halted.reason.label(), &halted.sentence),
        None => failed(NonSuccessKind::Error, "not_over", "The run has not halted."),
    };
    suite.add_test_case(TestCase::new("converged", status));
    suite
}

fn iterations(record: &Record, state: &State) -> TestSuite {
    let mut suite = TestSuite::new("iterations");
    let success_exit = state.facts.policy().oracle.success_exit;
    for row in &record.fold.report.rows {
        let name = match row.iteration {
            0 => "baseline".to_owned(),
            n => format!("iteration {n}"),
        };
        let status = match (row.check_exit(), &row.fate) {
            (_, Fate::Rejected { cause, subjects }) => failed(
                NonSuccessKind::Failure,
                cause.label(),
                &format!("undone: {}", subjects.join(", ")),
            ),
            (Some(exit), _) if exit == success_exit => TestCaseStatus::success(),
            (Some(exit), _) => failed(
                NonSuccessKind::Failure,
                "red",
                &format!("exit {exit}, {} failing", row.failing),
            ),
            (None, _) => failed(NonSuccessKind::Error, "none", "the check came to no verdict"),
        };
        let mut case = TestCase::new(name, status);
        let spent = row.commands.iter().map(|command| command.duration_ms).sum();
        case.set_time(std::time::Duration::from_millis(spent));
        suite.add_test_case(case);
    }
    suite
}

/// What the last check said of each member.
fn members(state: &State) -> TestSuite {
    let mut suite = TestSuite::new("check");
    for (id, status) in state.facts.members.iter() {
        let label = status.label();
        let status = match status {
            MemberStatus::Passed => TestCaseStatus::success(),
            MemberStatus::Error => failed(NonSuccessKind::Error, label, label),
            MemberStatus::Failed | MemberStatus::Xpass | MemberStatus::FlakyPassed | MemberStatus::Absent => {
                failed(NonSuccessKind::Failure, label, label)
            }
            MemberStatus::Skipped | MemberStatus::Xfail | MemberStatus::Ignored | MemberStatus::Todo => {
                TestCaseStatus::skipped()
            }
        };
        suite.add_test_case(TestCase::new(id.as_str(), status));
    }
    suite
}

fn failed(kind: NonSuccessKind, class: &str, message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(class).set_message(message);
    status
}
