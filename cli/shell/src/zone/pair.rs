//! One pair of zones, outside of any run: the work once, then the check on what it left. The user's tree stays as it is.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use engine::event::policy::{Command, Policy};
use engine::event::zone::ZoneSeen;

use super::account::{self, Ending, account};
use super::credential::Desk;
use super::credential::loan::{self, Loan};
use super::volume::{Left, Volume};
use super::{Order, Refusal, RefusalCause, Terms, Zone, ZonePlan};
use crate::process::{
    CommandRun, CommandSpec, Deadlines, Input, Outcome, Supervisor, SupervisorOptions, Wishes, host_environment, masked,
};
use crate::scratch::Scratch;
use crate::session::signals;
use crate::tree::{Options, Tree, TreeId};
use crate::world::{argv, hermetic};

/// What a pair is made of.
#[derive(Debug)]
pub struct Pair<'a> {
    pub policy: &'a Policy,
    /// An absolute path without links.
    pub workdir: &'a Path,
    /// The environment, as it was when the program started.
    pub env: &'a [(OsString, OsString)],
    /// The binary that is started once more as supervisor, launcher and init.
    pub exe: &'a Path,
}

/// One zone of it, afterwards.
#[derive(Debug)]
pub struct Entered {
    pub seen: ZoneSeen,
    /// Absent when the command did not end by itself, or was not started.
    pub exit: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// The whole of it.
#[derive(Debug)]
pub struct Entry {
    /// Absent without a work command.
    pub agent: Option<Entered>,
    pub exec: Entered,
    /// What the work changed, by path.
    pub changed: Vec<Vec<u8>>,
    /// The key that was made for the work.
    pub key: Option<Lent>,
}

/// A key that the work had.
#[derive(Debug)]
pub struct Lent {
    pub label: String,
    /// Why it may still be good.
    pub failed: Option<String>,
}

impl Pair<'_> {
    /// Both plans, for people: nothing is made and nothing starts.
    ///
    /// # Errors
    /// What this machine or this contract does not allow.
    pub fn plans(&self) -> Result<[ZonePlan; 2], Refusal> {
        let terms = Terms::of(self.policy, self.workdir, self.env)?;
        Ok([Zone::Agent, Zone::Exec].map(|zone| {
            let order = self.order(zone, PathBuf::from("VOLUME"), PathBuf::from("REPORT"));
            terms.plan(order)
        }))
    }

    /// Runs it.
    ///
    /// # Errors
    /// What keeps a zone from being prepared. One that does not start says so in its account.
    pub fn run(&self) -> Result<Entry, Refusal> {
        let mut terms = Terms::of(self.policy, self.workdir, self.env)?;
        let failed = |message: String| Refusal {
            cause: RefusalCause::ProbeFailed,
            message,
        };
        let isolation = &self.policy.isolation;
        if !loan::is_asked_for(isolation) || self.policy.exec.is_empty() {
            return self.enter(&terms, &mut Purse::default()).map_err(failed);
        }
        let state = loan::state_of(self.workdir)?;
        let desk = Desk::new(self.exe, self.env, self.workdir);
        let (loan, key) = Loan::take(desk, &state, isolation)?;
        let mut purse = Purse {
            spellings: key.spellings(),
            label: loan.label(),
            loan: Some(loan),
            ..Purse::default()
        };
        purse.variable = terms.keep(key).map(|key| (key.name.into(), key.secret.into()));
        let entered = self.enter(&terms, &mut purse);
        // Before the check began it was given back; not so where something kept the work from its end.
        purse.give_back();
        let Purse { label, failed: why, .. } = purse;
        match (entered, why) {
            (Ok(entry), failed) => Ok(Entry {
                key: Some(Lent { label, failed }),
                ..entry
            }),
            (Err(message), None) => Err(failed(message)),
            (Err(message), Some(why)) => Err(failed(format!(
                "{message}; and the key {label} could not be revoked and may still be good: {why}"
            ))),
        }
    }

    fn enter(&self, terms: &Terms, purse: &mut Purse) -> Result<Entry, String> {
        let stop = signals::watch(self.workdir).map_err(|error| error.to_string())?;
        let scratch = Scratch::beside(self.workdir, "zones").map_err(|error| error.to_string())?;
        let mut tree =
            Tree::open(self.workdir, &scratch.shelf(), Options::default()).map_err(|error| error.to_string())?;
        let before = tree.snapshot().map_err(|error| error.to_string())?.id;
        let report = scratch.tmp().join("zone.json");
        let mut left = Left::default();
        let mut after = before;
        let agent = if self.policy.exec.is_empty() {
            None
        } else {
            let mut volume = Volume::new(&tree, "agent", terms.owner())?;
            volume.bring(before)?;
            let order = self.order(Zone::Agent, volume.place(), report.clone());
            let order = Order {
                env: purse.variable.iter().cloned().collect(),
                ..order
            };
            let mut entered = self.start(terms, order, &stop.wishes)?;
            purse.give_back();
            for said in [&mut entered.stdout, &mut entered.stderr] {
                *said = masked(&purse.spellings, said);
            }
            account::conceal(&mut entered.seen, &purse.spellings);
            left = volume.keep(before, &purse.spellings)?;
            after = left.tree;
            Some(entered)
        };
        let mut volume = Volume::new(&tree, "exec", terms.owner())?;
        volume.bring(TreeId(after.0))?;
        let exec = self.start(terms, self.order(Zone::Exec, volume.place(), report), &stop.wishes)?;
        let changed = left.put.into_iter().map(|entry| entry.path).chain(left.removed);
        Ok(Entry {
            agent,
            exec,
            changed: changed.map(|path| masked(&purse.spellings, &path)).collect(),
            key: None,
        })
    }

    fn order(&self, zone: Zone, source: PathBuf, report: PathBuf) -> Order {
        Order {
            zone,
            source,
            binds: Vec::new(),
            argv: argv(self.command(zone)),
            inherited: match zone {
                Zone::Agent => self.env.to_vec(),
                Zone::Exec => hermetic::offered(self.policy, self.env),
            },
            env: Vec::new(),
            umask: None,
            input: None,
            report,
        }
    }

    fn command(&self, zone: Zone) -> &Command {
        match zone {
            Zone::Agent => &self.policy.exec,
            Zone::Exec => &self.policy.oracle.check,
        }
    }

    fn start(&self, terms: &Terms, order: Order, wishes: &Wishes) -> Result<Entered, String> {
        let (zone, report) = (order.zone, order.report.clone());
        let _none_of_the_other_zone = std::fs::remove_file(&report);
        let plan = terms.plan(order);
        let bounds = &self.policy.bounds;
        let timeout_ms = match zone {
            Zone::Agent => bounds.command_timeout_ms,
            Zone::Exec => bounds.check_timeout_ms,
        };
        let spec = CommandSpec {
            argv: account::launcher(self.exe),
            cwd: "/".into(),
            input: Input::Bytes(postcard::to_stdvec(&plan).map_err(|error| error.to_string())?),
            deadlines: Deadlines {
                timeout_ms,
                grace_ms: bounds.grace_ms,
                ..Deadlines::default()
            },
            label: zone.label().to_owned(),
            ..CommandSpec::default()
        };
        let run = run_once(self.exe, self.env, &spec, wishes)?;
        let (seen, ending) = account(&report, zone).ok_or("its launcher ended without a word")?;
        let exit = match (ending, run.outcome) {
            (Ending::AsSeen, Outcome::Exited(code)) if run.stop.is_none() => Some(code),
            _ => None,
        };
        Ok(Entered {
            seen,
            exit,
            stdout: run.stdout.inline.unwrap_or(run.stdout.head),
            stderr: run.stderr.inline.unwrap_or(run.stderr.head),
        })
    }
}

/// What is to be had of the key, if there is one.
#[derive(Debug, Default)]
struct Purse {
    loan: Option<Loan>,
    label: String,
    variable: Option<(OsString, OsString)>,
    spellings: Vec<Vec<u8>>,
    failed: Option<String>,
}

impl Purse {
    /// Makes it worthless, once.
    fn give_back(&mut self) {
        if let Some(loan) = self.loan.take() {
            self.failed = loan.give_back().err();
        }
    }
}

/// One command under a supervisor of its own.
pub(super) fn run_once(
    exe: &Path,
    env: &[(OsString, OsString)],
    spec: &CommandSpec,
    wishes: &Wishes,
) -> Result<CommandRun, String> {
    let options = SupervisorOptions {
        runtime_dir: None,
        env: host_environment(env),
    };
    let run = Supervisor::start(exe, options).and_then(|mut supervisor| {
        let run = supervisor.run(spec, wishes);
        supervisor.shutdown();
        run
    });
    run.map_err(|error| error.to_string())
}
