//! `resume`: another life of a run.

use engine::event::id::Digest;
use shell::session::{self, Resume};

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
    let workdir = place.workdir;
    let mut watcher = Watcher::new(scene, &args.showing);
    let finished = session::resume(
        Resume {
            workdir: workdir.clone(),
            run_id: Some(place.run.id().to_string()),
            amendment,
            expect_head,
            env: scene.env.clone(),
            exe: scene.exe()?,
        },
        &mut watcher,
    )?;
    drop(watcher);
    life::finished("resume", scene, &finished, &workdir, success_exit)
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
