//! `completions`: from the same definition as the help.

use clap::CommandFactory as _;
use clap_complete::Shell;
use serde::Serialize;

use crate::app::{Cli, Scene};
use crate::failure::Failure;
use crate::outcome::{Answer, Outcome, TOOL};

/// Print completions for a shell
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Args {
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// The object of this command.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Objects {
    script: String,
}

pub(crate) fn run(args: Args, _: &Scene) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), TOOL, &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    let answer = Answer::new("completions", "ok").with(&Objects { script: script.clone() });
    Ok(Outcome::new(answer, script))
}
