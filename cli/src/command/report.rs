//! `report`: the facts of a run, in rows and totals.

use clap::ValueEnum;
use serde::Serialize;
use shell::record::{self, Record};

use super::{life, status};
use crate::app::Scene;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::render::report::{self, Report};
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
pub(crate) struct Objects {
    report: Report,
}

pub(crate) fn run(args: Args, scene: &Scene) -> Result<Outcome, Failure> {
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
    answer = answer.with(&Objects { report: shown });
    if args.format == Format::Json {
        let mut text = serde_json::to_string(&answer).unwrap_or_default();
        text.push('\n');
        return Ok(Outcome::new(answer, text));
    }
    Ok(Outcome::new(answer, text).warning(warnings))
}
