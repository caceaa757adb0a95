//! One iteration of a report.

use engine::event::measurement::StopCause;
use engine::report::{Fate, Ground as FoldedGround, Row as Folded};
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
    pub(crate) spent: Spent,
    pub(crate) isolation: RowIsolation,
}

/// What the iteration took.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Spent {
    /// Null where no call was booked, or one of them has no known price.
    pub(crate) microusd: Option<u64>,
    pub(crate) calls: u64,
    pub(crate) tokens: u64,
    pub(crate) work_ms: u64,
    pub(crate) check_ms: u64,
    /// Runs of the check in copies, for the guards before green.
    pub(crate) copies_ms: u64,
    /// Of work and check.
    pub(crate) cpu_ms: u64,
}

/// What work and check ran in, by what was seen of it; null where nothing was started.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RowIsolation {
    pub(crate) work: Option<Ground>,
    pub(crate) check: Option<Ground>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Ground {
    /// `agent` or `exec`; null for the rights of the user.
    pub(crate) zone: Option<&'static str>,
    /// The zone was not to be had, and nothing ran.
    pub(crate) refused: bool,
    /// What was in force in the zone.
    pub(crate) facts: String,
}

impl Ground {
    fn of(ground: &FoldedGround) -> Self {
        Self {
            zone: ground.zone.map(|zone| zone.label()),
            refused: ground.refused,
            facts: ground.facts.clone(),
        }
    }

    const fn word(&self) -> &'static str {
        match (self.zone, self.refused) {
            (_, true) => "refused",
            (Some(_), false) => "zone",
            (None, false) => "user",
        }
    }
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
            cost_microusd: row.spent.microusd,
            duration_ms: row.commands.iter().map(|command| command.duration_ms).sum(),
            spent: Spent {
                microusd: (row.spent.calls > 0 && !row.spent.unknown).then_some(row.spent.microusd),
                calls: row.spent.calls,
                tokens: row.spent.tokens,
                work_ms: row.spent.exec_ms,
                check_ms: row.spent.check_ms,
                copies_ms: row.spent.vet_ms,
                cpu_ms: row.spent.cpu_ms,
            },
            isolation: RowIsolation {
                work: row.grounds.work.as_deref().map(Ground::of),
                check: row.grounds.check.as_deref().map(Ground::of),
            },
        }
    }

    /// What it ran in, in a word: the least that held.
    pub(crate) fn ground_word(&self) -> &'static str {
        let words = [&self.isolation.work, &self.isolation.check];
        let words: Vec<_> = words.into_iter().flatten().map(Ground::word).collect();
        let known = ["user", "refused", "zone"].into_iter();
        known.into_iter().find(|word| words.contains(word)).unwrap_or("-")
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
