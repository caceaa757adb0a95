//! Commands in zones: the work on a volume of its own, the check on a tree that only the governor writes.
//!
//! ```text
//!   work:   volume <- recorded tree; run; volume -> store -> the agent's changes -> the user's tree
//!   check:  the governor's own copy <- recorded tree; run, the copy read-only; reports by a directory beside it
//! ```
//!
//! A world that runs the check in a copy has no volumes: the copy is the tree of the zone.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use engine::event::id::{Bytes, Digest};
use engine::event::measurement::{CommandRun as Fact, RunOutcome, StopCause};
use engine::{Observation, State};

use rustix::io::Errno;

use super::RealWorld;
use super::command::{Job, Within};
use super::execute::read_ask;
use crate::foreign;
use crate::process::masked;
use crate::tree::TreeId;
use crate::zone::EXCHANGE_AT;
use crate::zone::account::{self, Ending};
use crate::zone::credential::Key;
use crate::zone::volume::{Volume, plain_below, settle_exchange};
use crate::zone::{Bind, Refusal, RefusalCause, Terms, Zone, hand_over};

/// What the context of a turn consists of.
const CONTEXT_FILES: &[&str] = &["context.md", "feedback.txt", "request.json"];
/// A file of the context is never longer.
const CONTEXT_MAX_BYTES: u64 = 64 << 20;

/// What a world without zones says when it is asked for one.
const NO_ZONES: &str = "this world has no zones";

/// The zones of one world.
#[derive(Debug)]
pub(crate) struct Zones {
    /// Or why there are none, which every command of theirs then says.
    pub(crate) terms: Result<Terms, Refusal>,
    /// The binary that is started once more as launcher and init.
    pub(crate) exe: PathBuf,
    /// For the work, and for nobody else.
    key: Option<Key>,
    /// In which spellings it is known, wherever it is kept.
    pub(super) key_forms: Vec<Vec<u8>>,
    /// This world is one copy: there is nothing to bring to it and nothing to bring back.
    is_copy: bool,
    /// What is injected into a run, seen where it is.
    injected: Option<PathBuf>,
    pub(super) agent: Option<Volume>,
    exec: Option<Volume>,
}

impl Zones {
    /// Of a run.
    pub(crate) fn new(terms: Result<Terms, Refusal>, exe: PathBuf) -> Self {
        Self {
            terms,
            exe,
            key: None,
            key_forms: Vec::new(),
            is_copy: false,
            injected: None,
            agent: None,
            exec: None,
        }
    }

    /// Of one copy, with the directory of what is injected into its runs.
    pub(crate) fn of_a_copy(terms: Result<Terms, Refusal>, exe: PathBuf, injected: Option<PathBuf>) -> Self {
        Self {
            is_copy: true,
            injected,
            ..Self::new(terms, exe)
        }
    }
}

/// The directory of the zone's own where it shares files with the governor.
pub(super) fn inside(name: &str) -> PathBuf {
    Path::new(EXCHANGE_AT).join(name)
}

impl RealWorld {
    /// The work in the agent zone, and its changes in the user's tree.
    pub(super) fn execute_in_zone(&mut self, state: &State, job: Job<'_>, iteration: u32) -> Observation {
        let before = TreeId(state.facts.tree.0);
        let (mut run, ask) = match self.enter_agent_zone(before) {
            Err(refusal) => (not_entered(Zone::Agent, refusal), None),
            Ok((place, context)) => {
                let within = Within {
                    zone: Zone::Agent,
                    source: place,
                    binds: vec![Bind {
                        source: context.clone(),
                        at: inside("context"),
                        writable: true,
                    }],
                    inherited: [self.env.clone(), self.work_env.clone()].concat(),
                    input: None,
                };
                let told = inside("context");
                let mut env = self.told(state, iteration, &told, &told.join("ask"));
                env.extend(self.key());
                let job = Job {
                    env,
                    within: Some(within),
                    ..job
                };
                let (_, mut run) = self.command(state, job);
                let is_usable = run.outcome != RunOutcome::ZoneRefused && run.stop != StopCause::VolumeCap;
                if is_usable && self.zones.as_ref().is_some_and(|zones| zones.agent.is_some()) {
                    match self.bring_back(before) {
                        Ok(stayed) => stayed.note(&mut run),
                        Err(why) => lose(&mut run, Zone::Agent, why),
                    }
                }
                let ask = match settle(&context) {
                    Ok(()) => read_ask(&context.join("ask")),
                    Err(why) => {
                        lose(&mut run, Zone::Agent, why);
                        None
                    }
                };
                (run, ask.map(|ask| Bytes(masked(&self.secrets, &ask.0))))
            }
        };
        if let Some(seen) = &mut run.zone {
            account::conceal(seen, &self.secrets);
        }
        Observation::Executed {
            at: self.clock.stamp(),
            run,
            ask,
            interference: self.interference(),
        }
    }

    /// The work gets this key, and nobody keeps it; or nothing runs in zones, and every command says why.
    pub(crate) fn hand_over_key(&mut self, key: Result<Option<Key>, Refusal>) {
        let Some(zones) = &mut self.zones else { return };
        match key {
            Ok(key) => {
                zones.key_forms = key.iter().flat_map(Key::spellings).collect();
                self.secrets.extend(zones.key_forms.iter().cloned());
                zones.key = match &mut zones.terms {
                    Ok(terms) => key.and_then(|key| terms.keep(key)),
                    Err(_) => key,
                };
            }
            Err(refusal) => zones.terms = Err(refusal),
        }
    }

    /// The variable of the key.
    fn key(&self) -> Option<(OsString, OsString)> {
        let key = self.zones.as_ref()?.key.as_ref()?;
        Some((key.name.clone().into(), key.secret.clone().into()))
    }

    /// The tree of the turn in the volume, and its context beside it.
    fn enter_agent_zone(&mut self, tree: TreeId) -> Result<(PathBuf, PathBuf), Refusal> {
        let told = self.run.context();
        let terms = self.terms()?.clone();
        let volume = self.agent_volume(&terms).map_err(unprepared)?;
        volume.bring(tree).map_err(unprepared)?;
        let context = volume.fresh_exchange("context").map_err(unprepared)?;
        let place = volume.place();
        let failed = |error| unprepared(format!("{}: {error}", context.display()));
        for name in CONTEXT_FILES {
            let text = foreign::read(&told.join(name), CONTEXT_MAX_BYTES).unwrap_or_default();
            fs::write(context.join(name), text).map_err(failed)?;
        }
        hand_over(&context, terms.owner()).map_err(failed)?;
        Ok((place, context))
    }

    fn agent_volume(&mut self, terms: &Terms) -> Result<&mut Volume, String> {
        let zones = self.zones.as_mut().ok_or(NO_ZONES)?;
        match &mut zones.agent {
            Some(volume) => Ok(volume),
            none => Ok(none.insert(Volume::new(&self.tree, "agent", terms.owner())?)),
        }
    }

    fn exec_volume(&mut self, terms: &Terms) -> Result<&mut Volume, String> {
        let zones = self.zones.as_mut().ok_or(NO_ZONES)?;
        match &mut zones.exec {
            Some(volume) => Ok(volume),
            none => Ok(none.insert(Volume::new(&self.tree, "exec", terms.owner())?)),
        }
    }

    /// What a launcher is started with, and the binary that is one.
    pub(super) fn launching(&self) -> Result<(&Terms, &Path), Refusal> {
        let zones = self.zones.as_ref().ok_or_else(|| unprepared(NO_ZONES.to_owned()))?;
        Ok((self.terms()?, &zones.exe))
    }

    fn terms(&self) -> Result<&Terms, Refusal> {
        let zones = self.zones.as_ref().ok_or_else(|| unprepared(NO_ZONES.to_owned()))?;
        zones.terms.as_ref().map_err(Clone::clone)
    }

    /// Sets aside what something that outlived its zone may still write, and says where it is.
    pub(super) fn quarantine(&mut self, zone: Zone, fact: &mut Fact) {
        let volume = self.zones.as_mut().and_then(|zones| match zone {
            Zone::Agent => zones.agent.take(),
            Zone::Exec => zones.exec.take(),
        });
        if let (Some(volume), Some(seen)) = (volume, &mut fact.zone) {
            seen.said = format!(
                "{}; its volume is kept and used no more: {}",
                seen.said,
                volume.quarantine()
            );
        }
    }

    /// Where the check of a zone finds the tree, and what it shares with the governor.
    pub(super) fn enter_exec_zone(&mut self, tree: Digest, reports: &Path, support: &Path) -> Result<Within, Refusal> {
        let terms = self.terms()?.clone();
        let source = if self.zones.as_ref().is_some_and(|zones| zones.is_copy) {
            let copy = self.workdir.clone();
            for output in terms.outputs() {
                plain_below(&copy, output).map_err(unprepared)?;
            }
            let failed = |error| unprepared(format!("{}: {error}", copy.display()));
            hand_over(&copy, terms.owner()).map_err(failed)?;
            copy
        } else {
            let volume = self.exec_volume(&terms).map_err(unprepared)?;
            volume.renew_outputs(terms.outputs()).map_err(unprepared)?;
            volume.bring(TreeId(tree.0)).map_err(unprepared)?;
            volume.place()
        };
        let shared = [(reports, "reports", true), (support, "support", false)];
        let shared = shared.map(|(dir, name, writable)| (dir.to_path_buf(), inside(name), writable));
        let outputs = terms.outputs().iter();
        let outputs = outputs.map(|output| (source.join(output), terms.at().join(output), true));
        // A measuring run leaves its counts beside what was injected.
        let injected = self.injected().map(|dir| (dir.clone(), dir, true));
        let mut binds = Vec::new();
        for (dir, at, writable) in outputs.chain(shared).chain(injected) {
            let failed = |error| unprepared(format!("{}: {error}", dir.display()));
            fs::create_dir_all(&dir).map_err(failed)?;
            hand_over(&dir, terms.owner()).map_err(failed)?;
            binds.push(Bind {
                source: dir,
                at,
                writable,
            });
        }
        Ok(Within {
            zone: Zone::Exec,
            source,
            binds,
            inherited: self.env.clone(),
            input: None,
        })
    }

    fn injected(&self) -> Option<PathBuf> {
        self.zones.as_ref().and_then(|zones| zones.injected.clone())
    }

    /// Takes out of what the check shares with the governor whatever is no plain file.
    ///
    /// # Errors
    /// Something else may be left there, and nothing of it is to be read.
    pub(super) fn settle_exec_zone(&self, reports: &Path) -> Result<(), String> {
        // Without a copy or a volume there is nothing of a check's own: one that was set aside is not looked at again.
        let zones = self
            .zones
            .as_ref()
            .filter(|zones| zones.is_copy || zones.exec.is_some());
        let terms = zones.and_then(|zones| zones.terms.as_ref().ok());
        let outputs = terms.into_iter().flat_map(|terms| terms.outputs());
        let outputs = outputs.map(|output| self.check_root().join(output));
        for dir in outputs.chain([reports.to_path_buf()]).chain(self.injected()) {
            settle(&dir)?;
        }
        Ok(())
    }

    /// Where files that the check writes below its tree are found, seen from here.
    pub(super) fn check_root(&self) -> PathBuf {
        if let Some(copy) = &self.apart {
            return copy.tree();
        }
        let exec = self.zones.as_ref().and_then(|zones| zones.exec.as_ref());
        exec.map_or_else(|| self.workdir.clone(), Volume::place)
    }

    /// The path of the tree as the check knows it.
    pub(super) fn check_sees(&self) -> PathBuf {
        let zones = self.zones.as_ref();
        let terms = zones.and_then(|zones| zones.terms.as_ref().ok());
        terms.map_or_else(|| self.check_root(), |terms| terms.at().to_path_buf())
    }
}

/// What the launcher left word of, as a part of the fact, and what it makes of the end of the command.
pub(super) fn account(report: &Path, zone: Zone, fact: &mut Fact) -> Option<Ending> {
    let accounted = account::account(report, zone);
    // It has the words of the work as they were.
    let _read = fs::remove_file(report);
    let Some((seen, ending)) = accounted else {
        // Killed with all of its zone, for a reason that is known already; or gone, which nobody asked for.
        if fact.stop == StopCause::None {
            lose(fact, zone, "its launcher ended without a word".to_owned());
        }
        return None;
    };
    fact.zone = Some(seen);
    match &ending {
        Ending::Refused => fact.outcome = RunOutcome::ZoneRefused,
        Ending::MemoryCap => fact.stop = StopCause::MemoryCap,
        Ending::EgressCap => fact.stop = StopCause::EgressCap,
        Ending::VolumeCap => fact.stop = StopCause::VolumeCap,
        Ending::Outlived => fact.outcome = RunOutcome::ZoneLost,
        // Whoever ended the command has said why.
        _ if fact.stop != StopCause::None => {}
        Ending::NotStarted { errno } => (fact.outcome, fact.code) = not_started(*errno),
        Ending::Lost => fact.outcome = RunOutcome::ZoneLost,
        Ending::AsSeen => {}
    }
    Some(ending)
}

fn not_started(errno: i32) -> (RunOutcome, i32) {
    match Errno::from_raw_os_error(errno) {
        Errno::NOENT => (RunOutcome::NotFound, 0),
        Errno::ACCESS => (RunOutcome::NotExecutable, 0),
        _ => (RunOutcome::StartFailed, errno),
    }
}

/// A zone that nothing was started in.
pub(super) fn not_entered(zone: Zone, refusal: Refusal) -> Fact {
    let mut run = super::command::nothing_ran();
    run.outcome = RunOutcome::ZoneRefused;
    run.zone = Some(account::refused(zone, refusal));
    run
}

/// What kept the governor from preparing a zone.
pub(super) fn unprepared(message: String) -> Refusal {
    Refusal {
        cause: RefusalCause::ProbeFailed,
        message,
    }
}

/// What a zone wrote, with nothing left in it that leads elsewhere.
fn settle(dir: &Path) -> Result<(), String> {
    settle_exchange(dir).map_err(|error| format!("what it left in {} cannot be cleaned: {error}", dir.display()))
}

pub(super) fn lose(fact: &mut Fact, zone: Zone, why: String) {
    fact.outcome = RunOutcome::ZoneLost;
    fact.zone.get_or_insert_with(|| account::blank(zone)).said = why;
}

/// Where the launcher of the next command leaves word, with nothing there yet.
pub(super) fn report_place(run: &Path) -> PathBuf {
    let place = run.join("zone.json");
    let _ = fs::remove_file(&place);
    place
}
