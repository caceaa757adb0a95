//! A receipt of another origin, as text and as Markdown.

use engine::words::counted;
use serde::Serialize;
use shell::record::ForeignReceipt;

use crate::render::table::{columns, markdown, markdown_cell};
use crate::render::{Style, safe};

/// What a receipt says that no journal stands behind.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Foreign {
    pub(crate) file: String,
    /// Always false: nothing in it was checked against anything.
    pub(crate) verified: bool,
    /// As the receipt names it.
    pub(crate) run_id: Option<String>,
    /// The reason of its last halt, as the receipt names it.
    pub(crate) halt_reason: Option<String>,
    /// `readable`, or `incomplete` where a line was left out.
    pub(crate) receipt_status: &'static str,
    pub(crate) lines: u64,
    /// Lines that stand.
    pub(crate) events: u64,
    pub(crate) timeline: Vec<Row>,
    pub(crate) warnings: Vec<String>,
}

/// One iteration; null is what no line says.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    pub(crate) iteration: u64,
    pub(crate) events: u64,
    pub(crate) exec_exit: Option<i64>,
    pub(crate) check_exit: Option<i64>,
    pub(crate) failing: Option<u64>,
    /// `kept` or `undone`.
    pub(crate) fate: Option<&'static str>,
}

const HEAD: [&str; 6] = ["iter", "work", "check", "failing", "fate", "events"];

impl Foreign {
    pub(crate) fn of(file: String, told: ForeignReceipt) -> Self {
        let mut warnings = told.warnings;
        if told.warnings_more > 0 {
            warnings.push(format!("and {} more like these", told.warnings_more));
        }
        if told.events == 0 {
            warnings.push("no line of it tells an event of this run".to_owned());
        }
        let row = |(iteration, row): (u64, shell::record::ForeignRow)| Row {
            iteration,
            events: row.events,
            exec_exit: row.exec_exit,
            check_exit: row.check_exit,
            failing: row.failing,
            fate: row.fate,
        };
        Self {
            file,
            verified: false,
            run_id: told.run_id,
            halt_reason: told.halt,
            receipt_status: if warnings.is_empty() { "readable" } else { "incomplete" },
            lines: told.lines,
            events: told.events,
            timeline: told.rows.into_iter().map(row).collect(),
            warnings,
        }
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let or_none = |said: &Option<String>| said.clone().unwrap_or_else(|| "not named".to_owned());
        vec![
            ("receipt", format!("{} ({})", self.file, self.receipt_status)),
            (
                "evidence",
                "unverified: nothing in it was checked against a journal".to_owned(),
            ),
            ("run", or_none(&self.run_id)),
            ("halt", or_none(&self.halt_reason)),
            ("events", format!("{} on {}", self.events, counted(self.lines, "line"))),
        ]
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let said = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        let row = |row: &Row| {
            vec![
                row.iteration.to_string(),
                said(row.exec_exit.map(|exit| exit.to_string())),
                said(row.check_exit.map(|exit| exit.to_string())),
                said(row.failing.map(|failing| failing.to_string())),
                said(row.fate.map(str::to_owned)),
                row.events.to_string(),
            ]
        };
        self.timeline.iter().map(row).collect()
    }

    /// For a terminal.
    pub(crate) fn text(&self, style: Style) -> String {
        let mut out = String::new();
        for (name, value) in self.facts() {
            out.push_str(&format!("{name:<12} {}\n", safe(&value).replace('\n', " ")));
        }
        if !self.timeline.is_empty() {
            out.push_str(&format!("\n{}\n", style.bold("timeline:")));
            for line in columns(&HEAD, &self.rows()).lines() {
                out.push_str(&format!("  {line}\n"));
            }
        }
        out
    }

    /// For a pull request.
    pub(crate) fn markdown(&self) -> String {
        let facts = self.facts().into_iter();
        let facts: Vec<_> = facts.map(|(name, value)| vec![name.to_owned(), value]).collect();
        let mut out = format!("# A receipt\n\n{}", markdown(&["fact", "value"], &facts));
        out.push_str(&format!("\n## Timeline\n\n{}", markdown(&HEAD, &self.rows())));
        if !self.warnings.is_empty() {
            out.push_str("\n## Warnings\n\n");
            for warning in &self.warnings {
                out.push_str(&format!("- {}\n", markdown_cell(warning)));
            }
        }
        out
    }
}
