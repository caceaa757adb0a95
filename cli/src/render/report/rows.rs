//! One iteration of a report.

use engine::event::measurement::StopCause;
use engine::report::{Fate, Row as Folded};
use serde::Serialize;

/// One iteration; 0 is the baseline.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    pub(crate) iteration: u32,
    /// `green`, `red` or `none`.
    pub(crate) verdict: &'static str,
    pub(crate) check_exit: Option<i32>,
    /// Empty when no collector could read the check.
    pub(crate) collector: String,
    pub(crate) members: u64,
    pub(crate) failing: u64,
    pub(crate) best: u64,
    /// `kept`, `undone` or `open`.
    pub(crate) fate: &'static str,
    /// Why it was undone, and which members or paths it was about.
    pub(crate) cause: Option<String>,
    pub(crate) subjects: Vec<String>,
    pub(crate) no_op: bool,
    pub(crate) interrupted: bool,
    pub(crate) detector: Option<&'static str>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) commands: Vec<Command>,
    pub(crate) tree: String,
    pub(crate) commit: Option<String>,
    pub(crate) cost_microusd: u64,
    pub(crate) duration_ms: u64,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Finding {
    pub(crate) guard: String,
    pub(crate) severity: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) subject: String,
    pub(crate) detail: String,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Command {
    /// `exec`, or the purpose of a check.
    pub(crate) what: &'static str,
    pub(crate) attempt: u32,
    pub(crate) exit: Option<i32>,
    /// Why loopexec ended it; null when it ended by itself.
    pub(crate) stopped: Option<&'static str>,
    pub(crate) duration_ms: u64,
    pub(crate) output_bytes: u64,
    pub(crate) survivors: usize,
    /// `agent` or `exec`; null where it ran with the user's rights.
    pub(crate) zone: Option<&'static str>,
}

impl Row {
    pub(crate) fn of(row: &Folded, success_exit: i32) -> Self {
        let (fate, cause, subjects) = match &row.fate {
            Fate::Open => ("open", None, Vec::new()),
            Fate::Accepted { .. } => ("kept", None, Vec::new()),
            Fate::Rejected { cause, subjects } => ("undone", Some(cause.to_string()), subjects.clone()),
        };
        Self {
            iteration: row.iteration,
            verdict: match row.check_exit() {
                Some(exit) if exit == success_exit => "green",
                Some(_) => "red",
                None => "none",
            },
            check_exit: row.check_exit(),
            collector: row.collector.clone(),
            members: row.members,
            failing: row.failing,
            best: row.best,
            fate,
            cause,
            subjects,
            no_op: row.no_op,
            interrupted: row.interrupted,
            detector: row.verdict.map(|reason| reason.label()),
            findings: row
                .findings
                .iter()
                .map(|finding| Finding {
                    guard: finding.guard.clone(),
                    severity: finding.severity.label(),
                    reason: finding.reason.label(),
                    subject: finding.subject.clone(),
                    detail: finding.detail.clone(),
                })
                .collect(),
            commands: row
                .commands
                .iter()
                .map(|command| Command {
                    what: command.what,
                    attempt: command.attempt,
                    exit: command.exit,
                    stopped: (command.stop != StopCause::None).then(|| command.stop.label()),
                    duration_ms: command.duration_ms,
                    output_bytes: command.output_bytes,
                    survivors: command.survivors,
                    zone: command.zone.map(|zone| zone.label()),
                })
                .collect(),
            tree: row.tree.hex(),
            commit: row.head.clone(),
            cost_microusd: row.microusd,
            duration_ms: row.commands.iter().map(|command| command.duration_ms).sum(),
        }
    }

    /// What became of it, with the names it was about.
    pub(crate) fn fate_line(&self) -> String {
        let mut out = self.fate.to_owned();
        if let Some(cause) = &self.cause {
            out.push_str(&format!(" ({cause}: {})", self.subjects.join(", ")));
        }
        if self.no_op {
            out.push_str(", tree unchanged");
        }
        if self.interrupted {
            out.push_str(", interrupted");
        }
        out
    }
}
