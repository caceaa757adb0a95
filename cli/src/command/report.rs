//! `report`: the facts of a run, in rows and totals.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::Serialize;
use shell::record::{self, Record};

use super::{life, status};
use crate::app::Scene;
use crate::failure::Failure;
use crate::outcome::{Answer, Outcome};
use crate::render::report::{self, Foreign, Report};
use crate::which::Which;

/// Show the facts of a run: iterations, verdicts, guards, pins, costs
///
/// Works on a run that is at work and on a damaged journal, and then says up to where it is good.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// How it is written
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Tell what this receipt says instead, wherever it comes from; nothing in it is verified
    #[arg(long, value_name = "FILE")]
    receipt: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    /// The object of --json
    Json,
    Markdown,
}

/// The object of this command.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum Objects {
    Recorded { report: Box<Report> },
    Foreign { foreign: Foreign },
}

pub(crate) fn run(args: Args, scene: &Scene) -> Result<Outcome, Failure> {
    if let Some(file) = &args.receipt {
        return foreign(file, &args, scene);
    }
    let place = args.which.find()?;
    let record = Record::read(place.run.clone())?;
    let alive = record::governor(&place.state, &place.run)?.is_some();
    let Some(state) = &record.fold.state else {
        return Err(Failure::workspace(format!(
            "no recorded run state for {}: {}",
            place.run.id(),
            status::damage(&record).unwrap_or_else(|| "it ended before its first event".to_owned())
        )));
    };
    let shown = Report::of(&record, state, alive, status::damage(&record));
    let status = match (&state.facts.halted, &state.facts.suspended) {
        (Some(_), _) => "halted",
        (None, Some(_)) => "interrupted",
        (None, None) if alive => "alive",
        (None, None) => "stale",
    };
    let mut answer = life::about("report", status, &place.run, state, &place.workdir);
    let text = match args.format {
        Format::Text => report::text(&shown, answer.advice.as_ref(), scene.out),
        Format::Markdown => report::markdown(&shown, answer.advice.as_ref()),
        Format::Json => String::new(),
    };
    let warnings = shown.warnings.clone();
    answer = answer.with(&Objects::Recorded {
        report: Box::new(shown),
    });
    Ok(written(args.format, answer, text, warnings))
}

fn foreign(file: &Path, args: &Args, scene: &Scene) -> Result<Outcome, Failure> {
    let told = record::foreign_receipt(file, args.which.id());
    let told = told.map_err(|error| Failure::io("read the receipt", file, &error))?;
    let shown = Foreign::of(file.to_string_lossy().into_owned(), told);
    let text = match args.format {
        Format::Text => shown.text(scene.out),
        Format::Markdown => shown.markdown(),
        Format::Json => String::new(),
    };
    let warnings = shown.warnings.clone();
    let mut answer = Answer::new("report", "ok");
    answer.run_id.clone_from(&shown.run_id);
    answer.receipt = Some(shown.file.clone());
    answer.verified = Some(false);
    let answer = answer.with(&Objects::Foreign { foreign: shown });
    Ok(written(args.format, answer, text, warnings))
}

/// The object itself where that is the format; it holds the warnings.
fn written(format: Format, answer: Answer, text: String, warnings: Vec<String>) -> Outcome {
    if format == Format::Json {
        let mut text = serde_json::to_string(&answer).unwrap_or_default();
        text.push('\n');
        return Outcome::new(answer, text);
    }
    Outcome::new(answer, text).warning(warnings)
}
