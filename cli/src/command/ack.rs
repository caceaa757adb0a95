//! `ack`: a person says that they have read.

use serde::Serialize;
use shell::paths;
use shell::record::{self, Acknowledge};

use crate::app::Scene;
use crate::failure::Failure;
use crate::outcome::{Answer, Outcome};
use crate::which::Which;

/// Record a signed acknowledgement: a person has read what was accepted so far
///
/// Clears the count of unread changes and survives resume. It is signed with the key in LOOPEXEC_KEY or
/// ~/.config/loopexec/key, which is made when there is none and never lies in the project.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// Who has read
    #[arg(long, value_name = "NAME")]
    reviewer: String,
    /// What they have to say
    #[arg(long, value_name = "TEXT", default_value = "")]
    note: String,
}

/// The object of this command.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Objects {
    ack: Shown,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Shown {
    reviewer: String,
    through_iteration: u32,
    key: String,
    signature: String,
    note: String,
}

pub(crate) fn run(args: Args, scene: &Scene) -> Result<Outcome, Failure> {
    let reviewer = args.reviewer.trim();
    if reviewer.is_empty() || reviewer.chars().any(char::is_control) {
        return Err(Failure::usage("--reviewer: name a person, in one line"));
    }
    let place = args.which.find()?;
    let key = paths::signing_key(&place.workdir, |name| scene.variable(name).map(ToOwned::to_owned))?;
    let acked = record::acknowledge(
        &place,
        &Acknowledge {
            reviewer,
            note: &args.note,
            key: &key,
        },
    )?;
    let mut answer = Answer::new("ack", "acked");
    answer.run_id = Some(place.run.id().to_string());
    answer.iteration = Some(acked.through_iteration);
    answer.receipt = Some(place.run.receipt().to_string_lossy().into_owned());
    let text = format!(
        "{} has read run {} up to iteration {}, signed with {}\n",
        crate::render::safe(&acked.reviewer),
        place.run.id(),
        acked.through_iteration,
        key.display()
    );
    let shown = Shown {
        reviewer: acked.reviewer,
        through_iteration: acked.through_iteration,
        key: acked.key,
        signature: acked.signature,
        note: acked.note,
    };
    Ok(Outcome::new(answer.with(&Objects { ack: shown }), text))
}
