//! `replay`: the recorded check, once more, on the recorded tree.

use engine::event::halt::HaltReason;
use journal::VerifyOptions;
use serde::Serialize;
use shell::record::Place;
use shell::replay::{self, Compared, Replayed, Surroundings};

use crate::app::Scene;
use crate::failure::Failure;
use crate::outcome::{Answer, Outcome};
use crate::render::{milliseconds, safe};
use crate::which::Which;

/// Run the recorded check once more on the recorded tree, in a fresh copy, and compare
///
/// The journal is verified first, and nothing is executed unless it is sound. No agent runs and nothing is spent. A
/// different verdict is exit 13; different output with the same verdict is said and does not count.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Pair<T> {
    agrees: bool,
    recorded: T,
    replayed: T,
}

impl<T: PartialEq + Copy> Pair<T> {
    fn of(compared: Compared<T>) -> Self {
        Self {
            agrees: compared.agrees(),
            recorded: compared.recorded,
            replayed: compared.replayed,
        }
    }
}

/// The object of this command.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Objects {
    replay: Shown,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Shown {
    /// `verified_green`, `verified_red` or `not_reproduced`.
    outcome: &'static str,
    iteration: u32,
    tree: String,
    exit: Pair<Option<i32>>,
    #[cfg_attr(test, schemars(with = "Pair<String>"))]
    members: Pair<engine::event::id::Digest>,
    #[cfg_attr(test, schemars(with = "Pair<String>"))]
    output: Pair<engine::event::id::Digest>,
    duration_ms: u64,
}

pub(crate) fn run(args: Args, scene: &Scene) -> Result<Outcome, Failure> {
    let place = args.which.find()?;
    let replayed = of_place(&place, scene)?;
    Ok(outcome(&place, &replayed))
}

/// Verifies and replays one run.
pub(crate) fn of_place(place: &Place, scene: &Scene) -> Result<Replayed, Failure> {
    let with = Surroundings {
        env: scene.env.clone(),
        exe: scene.exe()?,
        around: Vec::new(),
        set: Vec::new(),
    };
    let (_, replayed) = replay::replay(place, &VerifyOptions::default(), &with)?;
    Ok(replayed)
}

fn outcome(place: &Place, replayed: &Replayed) -> Outcome {
    let verified = replayed.is_verified();
    let mut answer = Answer::new("replay", if verified { "verified" } else { "error" });
    answer.run_id = Some(replayed.run_id.clone());
    answer.iteration = Some(replayed.iteration);
    answer.check_exit = replayed.exit.replayed;
    answer.receipt = Some(place.run.receipt().to_string_lossy().into_owned());
    answer.verified = Some(verified);
    answer = answer.with(&Objects {
        replay: Shown {
            outcome: replayed.label(),
            iteration: replayed.iteration,
            tree: replayed.tree.hex(),
            exit: Pair::of(replayed.exit),
            members: Pair::of(replayed.members),
            output: Pair::of(replayed.output),
            duration_ms: replayed.duration_ms,
        },
    });
    let text = text(replayed);
    if verified {
        return Outcome::new(answer, text);
    }
    answer.halt_reason = Some(HaltReason::ObjectiveUnverified);
    answer.failure_cause = Some("verdict_not_reproduced".to_owned());
    answer.errors.push(difference(replayed));
    Outcome::new(answer, text).exiting(HaltReason::ObjectiveUnverified.exit_code())
}

/// What was not reproduced, in one sentence.
fn difference(replayed: &Replayed) -> String {
    let exit = |exit: Option<i32>| exit.map_or_else(|| "no exit status".to_owned(), |code| format!("exit {code}"));
    let what = if replayed.exit.agrees() {
        "other tests passed or failed than recorded".to_owned()
    } else {
        format!(
            "the check gave {} and {} was recorded",
            exit(replayed.exit.replayed),
            exit(replayed.exit.recorded)
        )
    };
    format!(
        "the verdict of iteration {} was not reproduced: {what}; ignored files (installed dependencies, build output) are not part of the recorded tree, so a check that needs them differs here",
        replayed.iteration
    )
}

fn text(replayed: &Replayed) -> String {
    let verdict = if replayed.was_green() { "green" } else { "red" };
    let mut out = match replayed.is_verified() {
        true => format!(
            "{}: the {verdict} verdict of iteration {} holds on a fresh copy of tree {}\n",
            replayed.label(),
            replayed.iteration,
            replayed.tree.short()
        ),
        false => format!("not reproduced: {}\n", difference(replayed)),
    };
    let same = |agrees: bool| if agrees { "same" } else { "differs" };
    out.push_str(&format!(
        "  exit       {}\n  members    {}\n  output     {}\n  time       {}\n",
        same(replayed.exit.agrees()),
        same(replayed.members.agrees()),
        match (replayed.output.agrees(), replayed.is_verified()) {
            (false, true) => "differs (this does not touch the verdict)",
            (agrees, _) => same(agrees),
        },
        milliseconds(replayed.duration_ms)
    ));
    if !replayed.is_verified() && !replayed.stderr.trim().is_empty() {
        out.push_str("  the check wrote:\n");
        for line in safe(&replayed.stderr).lines().take(20) {
            out.push_str(&format!("    | {line}\n"));
        }
    }
    out
}
