//! `step`: one iteration.

use super::run;
#[cfg(test)]
pub(crate) use super::run::Objects;
use crate::app::Scene;
use crate::failure::Failure;
use crate::outcome::Outcome;

/// Run exactly one iteration: the same as `run --once`
#[derive(clap::Args, Clone, Debug)]
// The arguments of `run` bring the group.
#[group(skip)]
pub(crate) struct Args {
    #[command(flatten)]
    run: run::Args,
}

pub(crate) fn run(args: Args, scene: &Scene) -> Result<Outcome, Failure> {
    let once = run::Args { once: true, ..args.run };
    if once.resume {
        return Err(Failure::usage(
            "--resume: a step is a run of its own; go on with a run by `loopexec resume`",
        ));
    }
    run::run_as("step", once, scene)
}
