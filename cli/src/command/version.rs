//! `version`: identity and build facts.

use serde::Serialize;

use crate::app::Scene;
use crate::contract;
use crate::failure::Failure;
use crate::outcome::{Answer, Outcome, TOOL, VERSION};

/// Print identity and build facts
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Args {}

/// The object of this command.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Objects {
    /// Left out by `--version`.
    #[serde(skip_serializing_if = "Option::is_none")]
    build: Option<Build>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Build {
    engine: &'static str,
    /// Format of the journal's segments.
    journal_format: u32,
    target: String,
    collectors: Vec<&'static str>,
    guards: Vec<&'static str>,
}

pub(crate) fn run(_: Args, _: &Scene) -> Result<Outcome, Failure> {
    let (guards, collectors) = contract::known();
    let build = Build {
        engine: engine::VERSION,
        journal_format: journal::segment::FORMAT,
        target: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        collectors,
        guards,
    };
    let text = format!(
        "{TOOL} {VERSION}\nengine {}, journal format {}, {}\ncollectors: {}\nguards: {}\n",
        build.engine,
        build.journal_format,
        build.target,
        build.collectors.join(" "),
        build.guards.join(" ")
    );
    Ok(Outcome::new(
        Answer::new("version", "ok").with(&Objects { build: Some(build) }),
        text,
    ))
}

/// The answer to `--version`.
pub(crate) fn line() -> Outcome {
    Outcome::new(Answer::new("version", "ok"), format!("{TOOL} {VERSION}\n"))
}
