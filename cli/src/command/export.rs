//! `export`: a run in the formats of others.

use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use journal::Journal;
use serde::Serialize;
use shell::record::{self, Place, Record};
use shell::scratch;

use super::{life, status};
use crate::app::Scene;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::render::junit;
use crate::render::report::{self, Report};
use crate::which::Which;

/// Write a run as JSON lines, JUnit XML or Markdown
///
/// jsonl gives the receipt anew from the journal; junit is for CI systems that show test reports; markdown is the
/// report, for a pull request.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// What to write
    #[arg(long, value_enum)]
    format: Format,
    /// Where to; standard output when left out
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One event a line: the receipt, rebuilt from the journal
    Jsonl,
    /// The check's tests, the iterations and the halt as test cases
    Junit,
    Markdown,
}

impl Format {
    const fn label(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Junit => "junit",
            Self::Markdown => "markdown",
        }
    }
}

/// The objects of this command.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Objects {
    /// `jsonl`, `junit` or `markdown`.
    format: &'static str,
    /// The file that was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    out: Option<String>,
    /// The text itself, when no file was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

pub(crate) fn run(args: Args, _: &Scene) -> Result<Outcome, Failure> {
    let place = args.which.find()?;
    let record = Record::read(place.run.clone())?;
    let Some(state) = &record.fold.state else {
        return Err(Failure::workspace(format!(
            "no recorded run state for {}: it ended before its first event",
            place.run.id()
        )));
    };
    let alive = record::governor(&place.state, &place.run)?.is_some();
    let answer = life::about("export", "ok", &place.run, state, &place.workdir);
    let damage = status::damage(&record);
    let content = match args.format {
        Format::Jsonl => receipt(&place)?,
        Format::Junit => junit::document(&record, state)?,
        Format::Markdown => {
            let shown = Report::of(&record, state, alive, damage.clone());
            report::markdown(&shown, answer.advice.as_ref())
        }
    };
    let mut objects = Objects {
        format: args.format.label(),
        out: None,
        content: None,
    };
    let outcome = match &args.out {
        Some(path) => {
            fs::write(path, &content).map_err(|error| Failure::io("write", path, &error))?;
            objects.out = Some(path.to_string_lossy().into_owned());
            Outcome::new(answer.with(&objects), format!("wrote {}\n", path.display()))
        }
        None => {
            objects.content = Some(content.clone());
            Outcome::new(answer.with(&objects), content)
        }
    };
    Ok(outcome.warning(damage))
}

/// The receipt as the journal gives it, whatever lies beside the journal.
fn receipt(place: &Place) -> Result<String, Failure> {
    let fail = |path: &Path, error: &std::io::Error| Failure::io("write in", path, error);
    let base = scratch::base();
    let room = tempfile::tempdir_in(&base).map_err(|error| fail(&base, &error))?;
    let path = room.path().join("receipt.jsonl");
    let reader = Journal::open_read(&place.run.journal())?;
    journal::receipt::rebuild(&reader, &path)?;
    fs::read_to_string(&path).map_err(|error| Failure::io("read", &path, &error))
}
