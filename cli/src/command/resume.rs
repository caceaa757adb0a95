//! `resume`: another life of a run.

use engine::event::id::Digest;
use engine::event::run::Amended;
use shell::record::Place;
use shell::session::{self, Resume, RunError};

#[cfg(test)]
pub(crate) use super::life::Objects;
use super::life::{self, Showing, Watcher};
use crate::app::Scene;
use crate::contract::{self, LimitFlags};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::which::Which;

/// Go on with a run that was interrupted or that halted at a limit
///
/// The journal is verified first and what a crash left open is settled. The contract stays as it was pinned; the limits
/// can be raised, which is recorded. A run that converged, or whose evidence is in doubt, is not continued.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// A chain head that the journal is known to have had; without it in the journal nothing is done
    #[arg(long, value_name = "HEX")]
    expect_head: Option<String>,
    #[command(flatten)]
    showing: Showing,
    #[command(flatten)]
    limits: LimitFlags,
}

pub(crate) fn run(args: Args, scene: &Scene) -> Result<Outcome, Failure> {
    let success_exit = args.showing.success_exit(scene)?;
    let expect_head = args.expect_head.as_deref().map(head).transpose()?;
    let amendment = contract::amendment(&args.limits.0)?;
    // The latest run is the one that `status` and `report` show.
    let place = args.which.find()?;
    continued(
        "resume",
        &place,
        amendment,
        expect_head,
        &args.showing,
        success_exit,
        scene,
    )
}

/// Another life of the run in `place`, as the command of this name.
pub(crate) fn continued(
    command: &'static str,
    place: &Place,
    amendment: Option<Amended>,
    expect_head: Option<Digest>,
    showing: &Showing,
    success_exit: u8,
    scene: &Scene,
) -> Result<Outcome, Failure> {
    let mut watcher = Watcher::new(scene, showing);
    let resume = Resume {
        workdir: place.workdir.clone(),
        run_id: Some(place.run.id().to_string()),
        amendment,
        expect_head,
        env: scene.env.clone(),
        exe: scene.exe()?,
    };
    let finished = session::resume(resume, &mut watcher);
    // The line that moves is gone before anything else is written.
    drop(watcher);
    match finished {
        Ok(finished) => Ok(life::finished(command, scene, &finished, &place.workdir, success_exit)),
        Err(error @ RunError::NotResumable { .. }) => {
            life::over(command, scene, place, success_exit, error.to_string())
        }
        Err(error) => Err(error.into()),
    }
}

/// A chain head as it was written down.
pub(crate) fn head(text: &str) -> Result<Digest, Failure> {
    Digest::from_hex(&text.to_ascii_lowercase()).ok_or_else(|| {
        Failure::usage(format!(
            "--expect-head: `{}` is not a chain head, which is 64 hex digits as `loopexec status --json` shows them",
            crate::render::safe(&text.chars().take(80).collect::<String>())
        ))
    })
}
