//! `init`: the state directory and a first configuration.

use serde::Serialize;
use shell::{paths, project};

use crate::app::Scene;
use crate::failure::Failure;
use crate::outcome::{Answer, Outcome};
use crate::render::safe;
use crate::which::Workdir;

/// Create .loopexec, find the project's test runner, write a commented loopexec.toml if there is none
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    at: Workdir,
}

/// The object of this command.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Objects {
    init: Init,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Init {
    state: String,
    config: String,
    config_written: bool,
    detected: Vec<Detected>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Detected {
    runner: &'static str,
    check: Vec<String>,
    why: String,
}

pub(crate) fn run(args: Args, _: &Scene) -> Result<Outcome, Failure> {
    let workdir = paths::workdir(&args.at.workdir)?;
    let made = project::init(&workdir).map_err(|error| Failure::from(error.0))?;
    let mut text = format!("state directory {}\n", made.state.path().display());
    text.push_str(&match made.config_written {
        true => format!("wrote {}\n", made.config.display()),
        false => format!("kept {} as it is\n", made.config.display()),
    });
    text.push_str(&match made.detected.first() {
        Some(best) => format!(
            "check: {} (because {})\nnext: loopexec run --dry-run\n",
            safe(&best.check.join(" ")),
            safe(&best.why)
        ),
        None => "no test runner was recognised: set check in loopexec.toml\n".to_owned(),
    });
    let init = Init {
        state: made.state.path().to_string_lossy().into_owned(),
        config: made.config.to_string_lossy().into_owned(),
        config_written: made.config_written,
        detected: made
            .detected
            .into_iter()
            .map(|found| Detected {
                runner: found.runner,
                check: found.check,
                why: found.why,
            })
            .collect(),
    };
    Ok(Outcome::new(
        Answer::new("init", "initialized").with(&Objects { init }),
        text,
    ))
}
