//! What an examination found, as an object and as lines.

use engine::doctor::{Finding, Severity};
use engine::event::halt::HaltReason;
use engine::words::counted;
use serde::Serialize;
use shell::doctor::{self, Looked};

use super::{Style, safe};

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Shown {
    findings: Vec<Found>,
    problems: u64,
    notes: u64,
    /// Processes of earlier runs that nobody governs. They are named, not ended.
    left_running: Vec<LeftRunning>,
    isolation: Isolation,
    /// Null when nothing was to be run, and when it could not be.
    adequacy: Option<Adequacy>,
}

/// What runs of the check in fresh copies showed.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Adequacy {
    /// The unchanged copy: `green`, `untested` (red: nothing is said about changes) or `fault`.
    control: &'static str,
    /// Concluded tests of the control run, where a runner is read.
    tests: Option<u64>,
    /// How the mutation of `--mutate-cmd` fared: `killed`, `survived` or `unjudged`.
    operator: Option<&'static str>,
    mutants: Vec<Mutant>,
    /// Null where nothing measured which lines ran.
    coverage: Option<Covered>,
}

/// What a coverage report says of the lines that the last commit does not have.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Covered {
    /// Of the report.
    format: &'static str,
    /// Changed lines that can run, and those of them that did not.
    changed: u64,
    unrun: u64,
}

/// One change of a changed line.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Mutant {
    path: String,
    line: u32,
    /// The changed part of the file that it lies in.
    hunk_first: u32,
    hunk_last: u32,
    operator: &'static str,
    original: String,
    replacement: String,
    /// `killed`, `survived` or `unjudged`.
    fate: &'static str,
}

impl Adequacy {
    fn of(tried: &doctor::Adequacy) -> Self {
        let mutants = tried.mutants.iter().map(|mutant| Mutant {
            path: mutant.path.clone(),
            line: mutant.line,
            hunk_first: mutant.hunk.0,
            hunk_last: mutant.hunk.1,
            operator: mutant.operator,
            original: mutant.original.clone(),
            replacement: mutant.replacement.clone(),
            fate: mutant.fate.label(),
        });
        Self {
            control: tried.control,
            tests: tried.tests,
            operator: tried.operator.map(|fate| fate.label()),
            mutants: mutants.collect(),
            coverage: tried.coverage.as_ref().map(|covered| Covered {
                format: covered.format,
                changed: covered.changed,
                unrun: covered.unrun,
            }),
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Found {
    concern: &'static str,
    /// `ok`, `note` or `problem`.
    severity: &'static str,
    /// The file, command or variable that it is about.
    subject: String,
    detail: String,
    /// What to do; empty when there is nothing to do.
    remedy: String,
    /// Of a problem: what a run would halt with, or be refused with.
    #[cfg_attr(test, schemars(with = "Option<crate::schema::Reason>"))]
    reason: Option<HaltReason>,
    cause: Option<&'static str>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LeftRunning {
    run_id: String,
    pid: u32,
    command: String,
}

/// Facts about the machine; what was found by starting both zones.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Isolation {
    /// Whether bwrap starts a program in namespaces of its own; null where there is no bwrap.
    bwrap_starts: Option<bool>,
    user_namespaces_withheld: bool,
    /// Null where the kernel has no Landlock.
    landlock_abi: Option<u32>,
}

impl Shown {
    pub(crate) fn of(looked: &Looked, tried: Option<&doctor::Adequacy>) -> Self {
        let of = |wanted: &dyn Fn(Severity) -> bool| {
            let found = looked.findings.iter().filter(|finding| wanted(finding.severity));
            found.count() as u64
        };
        Self {
            findings: looked.findings.iter().map(Found::of).collect(),
            problems: of(&|severity| severity.fault().is_some()),
            notes: of(&|severity| severity == Severity::Note),
            left_running: looked
                .left_running
                .iter()
                .map(|left| LeftRunning {
                    run_id: left.run_id.clone(),
                    pid: left.pid,
                    command: left.command.clone(),
                })
                .collect(),
            isolation: Isolation {
                bwrap_starts: looked.isolation.bwrap_starts,
                user_namespaces_withheld: looked.isolation.user_namespaces_withheld,
                landlock_abi: looked.isolation.landlock_abi,
            },
            adequacy: tried.map(Adequacy::of),
        }
    }

    /// `2 problems, 1 note`.
    pub(crate) fn counts(&self) -> String {
        format!("{}, {}", counted(self.problems, "problem"), counted(self.notes, "note"))
    }
}

impl Found {
    fn of(finding: &Finding) -> Self {
        let fault = finding.severity.fault();
        Self {
            concern: finding.concern,
            severity: finding.severity.label(),
            subject: finding.subject.clone(),
            detail: finding.detail.clone(),
            remedy: finding.remedy.clone(),
            reason: fault.map(|(reason, _)| reason),
            cause: fault.map(|(_, cause)| cause),
        }
    }
}

/// One finding a line, and below it what to do.
pub(crate) fn lines(findings: &[Finding], style: Style) -> String {
    let mut out = String::new();
    for finding in findings {
        let label = format!("{:<8}", finding.severity.label());
        let label = match finding.severity {
            Severity::Ok => style.green(&label),
            Severity::Note => style.yellow(&label),
            Severity::Problem(_) => style.red(&label),
        };
        let one_line = |text: &str| safe(text).replace(['\n', '\t'], " ");
        out.push_str(&format!(
            "{label} {:<12} {}: {}\n",
            finding.concern,
            one_line(&finding.subject),
            one_line(&finding.detail)
        ));
        if !finding.remedy.is_empty() && finding.severity != Severity::Ok {
            out.push_str(&format!("{:22}do: {}\n", "", one_line(&finding.remedy)));
        }
    }
    out
}

/// A problem as one sentence that says what to do.
pub(crate) fn sentence(finding: &Finding) -> String {
    let said = format!("{}: {}", finding.subject, finding.detail);
    match finding.remedy.as_str() {
        "" => said,
        remedy => format!("{said}; {remedy}"),
    }
}
