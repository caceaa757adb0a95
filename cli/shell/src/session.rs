//! A life of a run: from a contract, or from a journal that stopped, to a halt or a suspension.
//!
//! ```text
//!   start:  lock -> run directory -> journal -> run_opened ----\
//!   resume: lock -> verify and fold -> recover -> resumed ------> drive -> seal
//! ```

mod anchor;
mod before;
mod beside;
mod error;
mod key;
mod ledger;
mod named;
mod projection;
pub(crate) mod signals;
mod support;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use engine::State;
use engine::event::Event;
use engine::event::id::{Bytes, Digest, Stamp};
use engine::event::run::{Amended, Probe, RunOpened};
use engine::event::zone::ZoneSeen;
use journal::{Journal, Keys, OpenOptions, Writer};

use crate::clock::Clock;
use crate::config::Resolved;
use crate::driver::{Broken, commit, drive};
use crate::paths::{self, RunDir, RunId, StateDir};
use crate::process::{Supervisor, SupervisorOptions, remove_unmasked};
use crate::record::latest;
use crate::replay::Surroundings;
use crate::tree::{Options, Tree, TreeId};
use crate::world::{RealWorld, StopRequests, hermetic, resolve_programs};
use crate::zone::credential::Desk;
use crate::zone::preflight;
use crate::{clock, lock};

use before::{end_leftovers, sweep_keys};
pub use error::RunError;
use ledger::Ledger;
pub use projection::Profile;

/// What a new run is made from.
#[derive(Debug)]
pub struct Start {
    /// The canonical workdir.
    pub workdir: PathBuf,
    pub contract: Resolved,
    /// Runs of this check that were made before.
    pub probe: Option<Probe>,
    /// Chosen by the user; a used id is refused. A fresh, sortable one when absent.
    pub run_id: Option<String>,
    /// The environment, as it was when the program started.
    pub env: Vec<(OsString, OsString)>,
    /// The binary that is started once more as the supervisor.
    pub exe: PathBuf,
}

/// What a run is continued from.
#[derive(Debug)]
pub struct Resume {
    pub workdir: PathBuf,
    /// The newest run of the workdir when absent.
    pub run_id: Option<String>,
    /// Raised limits; `at` is filled in.
    pub amendment: Option<Amended>,
    /// A head that the journal is known to have had.
    pub expect_head: Option<Digest>,
    pub env: Vec<(OsString, OsString)>,
    pub exe: PathBuf,
}

/// How a life ended.
#[derive(Debug)]
pub struct Finished {
    pub run: RunDir,
    /// `state.facts.halted` or `state.facts.suspended` says why.
    pub state: State,
    /// Head of the journal's chain after the last event.
    pub head: Digest,
    /// Number of events in the journal.
    pub events: u64,
    /// Things that went wrong beside the run itself (a projection that could not be written, ...).
    pub warnings: Vec<String>,
}

/// Told of every event once it is durable, with the state after the newest one.
pub trait Watch {
    /// The run directory is known; nothing has happened yet.
    fn opened(&mut self, run: &RunDir, state: &State);
    /// One durable event.
    fn event(&mut self, seq: u64, event: &Event);
    /// An effect begins.
    fn effect(&mut self, effect: &engine::Effect);
}

/// Runs a loop to its halt or suspension.
///
/// # Errors
/// Whatever prevents a record from being kept. A run that cannot do its work halts instead, and says why.
pub fn start(start: Start, watch: &mut dyn Watch) -> Result<Finished, RunError> {
    // A signal that comes before there is a record is answered when there is one.
    let stop = signals::watch(&start.workdir)?;
    let state_dir = StateDir::create(&start.workdir)?;
    let at = clock::stamp();
    let id = match &start.run_id {
        Some(text) => RunId::parse(text)?,
        None => RunId::fresh(at.wall_ms)?,
    };
    vet_named_key(&start)?;
    let lock = lock::acquire(&state_dir, &id)?;
    end_leftovers(&state_dir)?;
    let swept = sweep_keys(&state_dir, &Desk::new(&start.exe, &start.env, &start.workdir));
    // The lock names its holder by this id, so the run gets no other one.
    let run = state_dir.create_run(id)?;
    let policy = &start.contract.policy;
    let zones = preflight::see(policy, &start.workdir, &start.env, &start.exe, &stop.wishes);
    let opened = opened(&start, &run, at, zones)?;
    let mut writer = Journal::create(&run.journal(), run.id().as_str())?;
    writer.attach_receipt(journal::ReceiptWriter::create(&run.receipt())?);
    let life = Life {
        state_dir,
        run,
        env: start.env,
        exe: start.exe,
        stop,
    };
    let event = Event::from(opened);
    let state = State::first(&event).map_err(|illegal| RunError::illegal(0, &illegal))?;
    let mut ledger = Ledger::new(writer, lock, &life, watch)?;
    ledger.begin(&state, &event)?;
    swept.into_iter().for_each(|told| ledger.warn(told));
    if masks_its_status(&state.facts.policy().oracle.check) {
        ledger.warn(
            "the check is a pipe, whose exit status is that of its last command: a failing first command looks green; \
             --pipefail makes it count"
                .into(),
        );
    }
    life.live(state, ledger)
}

/// Continues a loop.
///
/// # Errors
/// As [`start`], and when the run is over for good, damaged, or not there.
pub fn resume(resume: Resume, watch: &mut dyn Watch) -> Result<Finished, RunError> {
    let stop = signals::watch(&resume.workdir)?;
    let none = || RunError::NoRun {
        workdir: resume.workdir.clone(),
    };
    let state_dir = StateDir::open(&resume.workdir)?.ok_or_else(none)?;
    let run = match &resume.run_id {
        Some(text) => state_dir.open_run(RunId::parse(text)?)?,
        None => latest(&state_dir)?.ok_or_else(none)?,
    };
    let lock = lock::acquire(&state_dir, run.id())?;
    let ended = end_leftovers(&state_dir)?;
    let swept = sweep_keys(&state_dir, &Desk::new(&resume.exe, &resume.env, &resume.workdir));
    if verify(&run, resume.expect_head)? == 0 {
        return Err(RunError::NeverBegan {
            run_id: run.id().to_string(),
        });
    }
    let options = OpenOptions {
        expect_head: resume.expect_head,
        ..OpenOptions::default()
    };
    let store = std::sync::Arc::new(journal::FileStore::open(&run.journal()));
    let (mut writer, _) = Journal::open_write_in(store, &options)?;
    let reader = Journal::open_read(&run.journal())?;
    let state = fold(&reader)?;
    let reason = state.resumable().err();
    if let Some(reason) = reason {
        return Err(RunError::NotResumable {
            run_id: run.id().to_string(),
            reason,
        });
    }
    writer.attach_receipt(journal::ReceiptWriter::resume(&reader, &run.receipt())?);
    let life = Life {
        state_dir,
        run,
        env: resume.env,
        exe: resume.exe,
        stop,
    };
    let mut ledger = Ledger::new(writer, lock, &life, watch)?;
    ledger.reopen(&state);
    swept.into_iter().for_each(|told| ledger.warn(told));
    let mut state = state;
    let at = clock::stamp();
    if let Some(interrupted) = state.recover(at) {
        state = ledger.commit(state, &interrupted)?;
    }
    if let Some(amendment) = resume.amendment {
        state = ledger.commit(state, &Amended { at, ..amendment }.into())?;
    }
    let resumed = state.resume(at, engine::VERSION.into(), clock::boot_id(), ended);
    state = ledger.commit(state, &resumed)?;
    let state = life.settle_keys(state, &reader, &mut ledger)?;
    life.live(state, ledger)
}

/// Examines the whole record, its signed checkpoints included, before anything is done on its word. Gives the number
/// of its events.
fn verify(run: &RunDir, expect_head: Option<Digest>) -> Result<u64, RunError> {
    let options = journal::VerifyOptions {
        expect_head,
        ..journal::VerifyOptions::default()
    };
    match Journal::verify(&run.journal(), &options, None) {
        Ok(verdict) => match verdict.defect {
            None => Ok(verdict.head.size),
            Some(defect) => Err(journal::Error::from(defect).into()),
        },
        Err(journal::Error::Missing { .. }) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// Folds a journal, event by event.
///
/// # Errors
/// Damage, or an event that does not belong where it stands.
pub fn fold(reader: &journal::Reader) -> Result<State, RunError> {
    let mut state: Option<State> = None;
    for item in reader.events() {
        let (seq, event) = item?;
        let next = match state.take() {
            None => State::first(&event),
            Some(state) => state.apply(&event),
        };
        state = Some(next.map_err(|illegal| RunError::illegal(seq, &illegal))?);
    }
    state.ok_or(RunError::Illegal {
        seq: 0,
        why: "the journal holds no event".into(),
    })
}

/// A signing key that the user named and that cannot be used is said now, not after hours of unsigned work.
fn vet_named_key(start: &Start) -> Result<(), RunError> {
    if variable(&start.env, "LOOPEXEC_KEY").is_some_and(|named| !named.is_empty()) {
        let path = paths::signing_key(&start.workdir, |name| variable(&start.env, name))?;
        Keys::load_or_create(&path, &[&start.workdir])?;
    }
    Ok(())
}

fn variable(env: &[(OsString, OsString)], name: &str) -> Option<OsString> {
    env.iter()
        .rev()
        .find(|(known, _)| known == name)
        .map(|(_, value)| value.clone())
}

fn opened(start: &Start, run: &RunDir, at: Stamp, zones: Vec<ZoneSeen>) -> Result<RunOpened, RunError> {
    let mut policy = start.contract.policy.clone();
    let mut origins = start.contract.origins.clone();
    named::protect(&start.workdir, &mut policy, &mut origins);
    beside::protect(&start.workdir, &mut policy, &mut origins);
    support::protect(&start.workdir, &mut policy, &mut origins);
    let canonical = serde_json::to_vec(&policy).map_err(|error| RunError::Io {
        doing: "write the contract of",
        path: run.path().to_path_buf(),
        error: error.into(),
    })?;
    Ok(RunOpened {
        at,
        run_id: run.id().to_string(),
        engine: engine::VERSION.into(),
        workdir: Bytes(start.workdir.clone().into_os_string().into_encoded_bytes()),
        boot_id: clock::boot_id(),
        policy_digest: Digest(*blake3::hash(&canonical).as_bytes()),
        programs: resolve_programs(&policy, &start.workdir, &start.env),
        policy,
        origins,
        probe: start.probe.clone(),
        zones,
    })
}

/// A shell pipe hides the exit status of all but its last command.
fn masks_its_status(check: &engine::event::policy::Command) -> bool {
    let text = check.display();
    check.shell && text.replace("||", "").contains('|')
}

/// What stays the same for one life.
struct Life {
    state_dir: StateDir,
    run: RunDir,
    env: Vec<(OsString, OsString)>,
    exe: PathBuf,
    stop: StopRequests,
}

impl Life {
    fn live(self, state: State, mut ledger: Ledger<'_>) -> Result<Finished, RunError> {
        let workdir = PathBuf::from(std::ffi::OsStr::new("")).join(self.workdir(&state));
        let mut tree = Tree::open(
            &workdir,
            self.state_dir.path(),
            Options {
                // Whoever ran before could write to the state directory.
                load_cache: false,
                ..Options::default()
            },
        )?;
        if let Some(t0) = state.facts.t0 {
            tree.pin(TreeId(t0.0))?;
        }
        let options = SupervisorOptions {
            runtime_dir: Some(self.run.path().to_path_buf()),
            env: hermetic::supervised(state.facts.policy(), &self.env),
        };
        remove_unmasked(&self.run.blobs());
        let supervisor = Supervisor::start(&self.exe, options)?;
        for warning in before::warnings(&state, &self.env) {
            ledger.warn(warning);
        }
        let mut world = RealWorld::new(
            &state,
            Clock::system(),
            self.run.clone(),
            &self.env,
            supervisor,
            self.stop.clone(),
            tree,
        )
        .with_copies(Surroundings {
            env: self.env.clone(),
            exe: self.exe.clone(),
            around: Vec::new(),
            set: Vec::new(),
        })
        .with_late(ledger.late())
        .with_fixed_checks(&state)
        .with_zones(&state, &self.env, &self.exe);
        let (state, held, key) = self.mint_key(state, &workdir, &mut ledger)?;
        world.hand_over_key(key);
        let outcome = drive(state, &mut world, &mut ledger);
        world.shutdown();
        let outcome = key::revoke(outcome, held, &mut ledger);
        let state = outcome.map_err(|broken| match broken {
            Broken::Record(error) => error,
            Broken::Illegal(illegal) => RunError::illegal(ledger.events(), &illegal),
        })?;
        let keys = self.keys(&workdir, &mut ledger);
        ledger.seal(&state, keys.as_ref())?;
        Ok(Finished {
            head: ledger.head(),
            events: ledger.events(),
            warnings: ledger.into_warnings(),
            run: self.run,
            state,
        })
    }

    fn workdir(&self, _: &State) -> PathBuf {
        // The state directory lies in the workdir; the path of today counts, not the recorded one.
        self.state_dir
            .path()
            .parent()
            .map(Path::to_path_buf)
            .unwrap_or_default()
    }

    /// The user's signing key; made on first use, never inside the workdir. Without one the receipt is unsigned.
    fn keys(&self, workdir: &Path, ledger: &mut Ledger<'_>) -> Option<Keys> {
        let made = paths::signing_key(workdir, |name| variable(&self.env, name))
            .map_err(|error| error.to_string())
            .and_then(|path| Keys::load_or_create(&path, &[workdir]).map_err(|error| error.to_string()));
        match made {
            Ok(keys) => Some(keys),
            Err(why) => {
                ledger.warn(format!("the receipt is not signed: {why}"));
                None
            }
        }
    }
}

impl Ledger<'_> {
    /// Applies and appends one event outside the bracket.
    fn commit(&mut self, state: State, event: &Event) -> Result<State, RunError> {
        let events = self.events();
        commit(state, event, self).map_err(|broken| match broken {
            Broken::Record(error) => error,
            Broken::Illegal(illegal) => RunError::illegal(events, &illegal),
        })
    }
}

/// A journal's writer, for those who append outside a life (an acknowledgement).
pub fn writer(run: &RunDir) -> Result<(Writer, State), RunError> {
    let (mut writer, _) = Journal::open_write(&run.journal())?;
    let reader = Journal::open_read(&run.journal())?;
    let state = fold(&reader)?;
    writer.attach_receipt(journal::ReceiptWriter::resume(&reader, &run.receipt())?);
    Ok((writer, state))
}

#[cfg(test)]
mod tests {
    use super::before::all_ended;
    use crate::process::leftovers::{self, Leftover};

    #[test]
    fn nothing_starts_beside_a_process_that_no_signal_ends() {
        let leftover = |pid| Leftover {
            pid,
            start_ticks: 1,
            command: "cp big /mnt/gone".into(),
            supervisor: false,
        };
        let outcome = |remaining| leftovers::Ended {
            ended: vec![leftover(7)],
            remaining,
        };
        assert!(matches!(all_ended(outcome(Vec::new())), Ok(1)));
        let refused = all_ended(outcome(vec![leftover(8)])).unwrap_err();
        assert_eq!(refused.reason(), engine::event::halt::HaltReason::ObjectiveUnverified);
        let said = refused.to_string();
        assert!(said.contains("process 8") && said.contains("cp big"), "{said}");
    }
}
