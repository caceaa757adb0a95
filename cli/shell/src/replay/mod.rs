//! Replay: the recorded check, once more, on the tree that the recorded verdict was about.
//!
//! ```text
//!   audit the journal --> judged { tree, check } --> fresh copy --> run the check --> compare
//!     (first, always)                                (never the recorded path)
//! ```
//!
//! A verdict can be replayed; the way to it cannot. Nothing is executed before the journal has verified. Start with
//! [`replay()`]; [`check_once`] is how the check is run.

mod check;
mod error;

use engine::State;
use engine::event::id::Digest;
use journal::VerifyOptions;

use crate::lock;
use crate::oracle::perturb::Perturbation;
use crate::record::{Audit, Judged, Place, Record, audit};
use crate::scratch::Scratch;
use crate::tree::{Options, Tree, TreeId};
use crate::world::{in_place, relocated};

pub(crate) use check::check_until;
pub use check::{Checked, Surroundings, check_once};
pub use error::ReplayError;

/// Two values that should be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compared<T> {
    pub recorded: T,
    pub replayed: T,
}

impl<T: PartialEq> Compared<T> {
    pub fn agrees(&self) -> bool {
        self.recorded == self.replayed
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    pub run_id: String,
    pub iteration: u32,
    pub tree: Digest,
    /// The exit status that the contract calls green.
    pub success_exit: i32,
    /// Exit status; absent when the check did not end by itself.
    pub exit: Compared<Option<i32>>,
    /// Over the members and their statuses.
    pub members: Compared<Digest>,
    /// Over the normalised output. It may differ without touching the verdict.
    pub output: Compared<Digest>,
    pub duration_ms: u64,
    /// The beginning of what the check printed on standard error this time: untrusted text.
    pub stderr: String,
}

impl Replayed {
    /// The recorded verdict was green.
    pub fn was_green(&self) -> bool {
        self.exit.recorded == Some(self.success_exit)
    }

    /// The same verdict: exit class and members. Output is told apart and does not decide.
    pub fn is_verified(&self) -> bool {
        let green_now = self.exit.replayed == Some(self.success_exit);
        self.exit.replayed.is_some() && green_now == self.was_green() && self.members.agrees()
    }

    /// `verified_green` or `verified_red`, else `not_reproduced`.
    pub fn label(&self) -> &'static str {
        match (self.is_verified(), self.was_green()) {
            (true, true) => "verified_green",
            (true, false) => "verified_red",
            (false, _) => "not_reproduced",
        }
    }
}

/// Verifies the journal and then, only then, runs the recorded check on the recorded tree in a fresh copy.
///
/// # Errors
/// The journal does not verify, there is no verdict, the tree cannot be laid out, or the check could not be run.
pub fn replay(place: &Place, options: &VerifyOptions, with: &Surroundings) -> Result<(Audit, Replayed), ReplayError> {
    // The store is shared with a run at work, which must not find its half-written files cleared away.
    let _held = lock::acquire(&place.state, place.run.id())?;
    let found = audit(&place.run, options, false)?;
    if let Some(why) = found.defect() {
        return Err(ReplayError::NotVerified { why });
    }
    let record = Record::read(place.run.clone())?;
    let (Some(judged), Some(state)) = (record.fold.judged, record.fold.state) else {
        return Err(ReplayError::NothingToReplay);
    };
    let Checked { run, reading, signal } = in_fresh_copy(place, &judged, &state, with)?;
    if signal != 0 {
        return Err(ReplayError::Interrupted { signal });
    }
    let measured = &judged.check.measurement;
    let replayed = Replayed {
        run_id: place.run.id().to_string(),
        iteration: judged.check.iteration,
        tree: judged.tree,
        success_exit: state.facts.policy().oracle.success_exit,
        exit: Compared {
            recorded: judged.check.run.exited(),
            replayed: run.exited(),
        },
        members: Compared {
            recorded: measured.members_digest,
            replayed: reading.members_digest,
        },
        output: Compared {
            recorded: measured.output_digest,
            replayed: reading.output_digest,
        },
        duration_ms: run.duration_ms,
        stderr: String::from_utf8_lossy(&run.stderr.head.0).into_owned(),
    };
    Ok((found, replayed))
}

fn in_fresh_copy(place: &Place, judged: &Judged, state: &State, with: &Surroundings) -> Result<Checked, ReplayError> {
    let tree = Tree::open(&place.workdir, place.state.path(), Options::default())?;
    // Away from the workdir: a copy beneath it would still find the project's own files above itself.
    let scratch = Scratch::new("replay")?;
    tree.materialise(TreeId(judged.tree.0), &scratch.tree())?;
    let with = led_to(&scratch, place, state, with)?;
    let mut checked = check_once(&scratch.tree(), &scratch.shelf(), state, &with)?;
    let seen = || tree.manifest(TreeId(judged.tree.0)).ok();
    relocated::settle(&mut checked.reading, state, &tree, seen);
    Ok(checked)
}

/// What the check is run with where its project is installed in place: Python is told of the copy.
fn led_to(scratch: &Scratch, place: &Place, state: &State, with: &Surroundings) -> Result<Surroundings, ReplayError> {
    let mut with = with.clone();
    if in_place::is_installed(&place.workdir, &state.facts.policy().oracle.check, &with.env) {
        let change = in_place::redirected(&place.workdir, &scratch.tree());
        scratch.renew_variation()?;
        scratch.write_support(|dir| change.support(dir))?;
        let env = change.environment(with.env.clone(), &scratch.support());
        with.set.extend(Perturbation::changed(&with.env, &env));
        with.env = env;
    }
    Ok(with)
}
