//! A report as text and as Markdown.

use super::{Determinism, Report};
use crate::outcome::Advice;
use crate::render::table::{columns, markdown as markdown_table, markdown_cell};
use crate::render::{Style, milliseconds, money, one_line, safe, trend};
use engine::words::counted;
use shell::config::fixed;

const HEAD: [&str; 9] = [
    "iter", "verdict", "failing", "fate", "commit", "time", "copies", "cost", "ran in",
];

/// Name and value of each line about the run as a whole.
fn facts(report: &Report, utf8: bool) -> Vec<(&'static str, String)> {
    let state = match (&report.sentence, report.exit_code, report.alive) {
        (Some(sentence), Some(code), _) => format!("halted, exit {code}: {sentence}"),
        (_, _, true) => format!("at work: {}", report.phase),
        _ => report.phase.to_owned(),
    };
    let cost = match (report.cost.microusd, report.cost.declared_microusd) {
        (Some(spent), _) => format!(
            "{} in {} ({})",
            money(spent),
            counted(report.cost.calls, "call"),
            report.cost.metering
        ),
        (None, Some(declared)) => format!("{} declared, not measured", money(declared)),
        (None, None) => format!("unknown ({})", report.cost.metering),
    };
    let totals = &report.totals;
    let mut lines = vec![
        ("run", report.run_id.clone()),
        ("state", state),
        ("check", report.check.clone()),
        (
            "exec",
            if report.exec.is_empty() {
                "none".to_owned()
            } else {
                report.exec.clone()
            },
        ),
        ("workdir", report.workdir.clone()),
        ("began", report.began_at.clone()),
        ("failing", trend(&report.trend, utf8)),
        (
            "time",
            format!(
                "{} (work {}, check {})",
                milliseconds(totals.elapsed_ms),
                milliseconds(totals.exec_ms),
                milliseconds(totals.check_ms)
            ),
        ),
        (
            "lives",
            format!(
                "{} ({})",
                totals.resumes + 1,
                counted(totals.amendments.into(), "amendment")
            ),
        ),
        ("pins", report.pins.line()),
        ("isolation", report.isolation.line()),
        ("cost", cost),
        ("guards", report.guards.line()),
        ("check runs", determinism(&report.determinism)),
        (
            "journal",
            format!("{}, head {}", counted(report.events, "event"), report.head),
        ),
        ("receipt", format!("{} ({})", report.receipt, report.receipt_status)),
        (
            "attestation",
            match report.attestation_status {
                "absent" => "absent".to_owned(),
                _ => "signature present (not verified); `loopexec verify` verifies it".to_owned(),
            },
        ),
    ];
    lines.retain(|(_, value)| !value.is_empty());
    lines
}

/// How often the check was repeated, and what that shows.
fn determinism(seen: &Determinism) -> String {
    let mut words = format!(
        "{} repeated on one tree, {} disagreed",
        seen.samples, seen.disagreements
    );
    if seen.probe_runs > 0 {
        words.push_str(&format!(
            "; {} of {} of the probe agreed",
            seen.probe_agreeing,
            counted(seen.probe_runs.into(), "run")
        ));
    }
    if let (Some(wilson), Some(anytime)) = (seen.wilson_lower_ppm, seen.anytime_lower_ppm) {
        let share = |ppm: u32| fixed::show(ppm.into(), 6);
        words.push_str(&format!(
            "; the share that agrees is at least {} (Wilson), {} (at any time)",
            share(wilson),
            share(anytime)
        ));
    }
    words
}

fn rows(report: &Report) -> Vec<Vec<String>> {
    let rows = report.timeline.iter().map(|row| {
        let failing = match row.collector.is_empty() {
            true => "-".to_owned(),
            false => format!("{} of {}", row.failing, row.members),
        };
        let commit = row.commit.as_deref().unwrap_or("-");
        vec![
            if row.iteration == 0 {
                "t0".to_owned()
            } else {
                row.iteration.to_string()
            },
            row.verdict.to_owned(),
            failing,
            row.fate_line(),
            commit.chars().take(12).collect(),
            milliseconds(row.duration_ms),
            if row.spent.copies_ms > 0 {
                milliseconds(row.spent.copies_ms)
            } else {
                "-".to_owned()
            },
            if row.cost_microusd > 0 {
                money(row.cost_microusd)
            } else {
                "-".to_owned()
            },
            row.ground_word().to_owned(),
        ]
    });
    rows.collect()
}

/// One line a finding.
fn findings(report: &Report) -> Vec<String> {
    let rows = report.timeline.iter();
    rows.flat_map(|row| {
        row.findings.iter().map(|finding| {
            format!(
                "iteration {}: {} {}: {}: {}",
                row.iteration, finding.severity, finding.guard, finding.subject, finding.detail
            )
        })
    })
    .collect()
}

/// One line for what is not covered, with everything that is so for the same reason.
fn gaps(report: &Report) -> Vec<String> {
    let mut lines: Vec<(Vec<&str>, &str)> = Vec::new();
    for gap in &report.not_covered {
        match lines.iter_mut().find(|(_, why)| *why == gap.why) {
            Some((names, _)) => names.push(&gap.what),
            None => lines.push((vec![&gap.what], &gap.why)),
        }
    }
    let lines = lines.into_iter();
    lines
        .map(|(names, why)| format!("{}: {why}", names.join(", ")))
        .collect()
}

/// For a terminal.
pub(crate) fn text(report: &Report, advice: Option<&Advice>, style: Style) -> String {
    let mut out = String::new();
    for (name, value) in facts(report, style.utf8) {
        out.push_str(&format!("{name:<12} {}\n", one_line(&value)));
    }
    if !report.timeline.is_empty() {
        let flat = |cell: String| safe(&cell).replace(['\n', '\t'], " ");
        let rows: Vec<Vec<String>> = rows(report)
            .into_iter()
            .map(|row| row.into_iter().map(flat).collect())
            .collect();
        out.push_str(&format!("\n{}\n", style.bold("timeline:")));
        for line in columns(&HEAD, &rows).lines() {
            out.push_str(&format!("  {line}\n"));
        }
    }
    let findings = findings(report);
    if !findings.is_empty() {
        out.push_str(&format!("\n{}\n", style.bold("findings:")));
        for finding in findings {
            out.push_str(&format!("  {}\n", safe(&finding).replace('\n', " ")));
        }
    }
    if !report.not_covered.is_empty() {
        out.push_str(&format!("\n{}\n", style.bold("not covered:")));
        for line in gaps(report) {
            out.push_str(&format!("  {}\n", safe(&line).replace('\n', " ")));
        }
    }
    if let Some(advice) = advice {
        out.push_str(&format!(
            "\n{}: {}\nnext: {}\n",
            advice.verdict,
            one_line(&advice.why),
            style.bold(&safe(&advice.next))
        ));
    }
    out
}

/// For a pull request or a CI summary. Nothing from outside can break out of its cell.
pub(crate) fn markdown(report: &Report, advice: Option<&Advice>) -> String {
    let mut out = format!("# loopexec run {}\n\n", markdown_cell(&report.run_id));
    let lines: Vec<Vec<String>> = facts(report, true)
        .into_iter()
        .map(|(name, value)| vec![name.to_owned(), value])
        .collect();
    out.push_str(&markdown_table(&["fact", "value"], &lines));
    out.push_str("\n## Timeline\n\n");
    out.push_str(&markdown_table(&HEAD, &rows(report)));
    let lists = [
        ("Findings", findings(report)),
        ("Not covered", gaps(report)),
        ("Warnings", report.warnings.clone()),
    ];
    for (title, items) in lists {
        if !items.is_empty() {
            out.push_str(&format!("\n## {title}\n\n"));
            for item in items {
                out.push_str(&format!("- {}\n", markdown_cell(&item)));
            }
        }
    }
    if let Some(advice) = advice {
        // The command is ours and its run id plain, so it may stand in a code span.
        out.push_str(&format!(
            "\n## Advice\n\n**{}**: {}\n\n    {}\n",
            advice.verdict,
            markdown_cell(&advice.why),
            safe(&advice.next).replace('\n', " ")
        ));
    }
    out
}
