//! Whether the check can turn red: a control run in a fresh copy, then the same with the product changed.
//!
//! ```text
//!   workdir --copied once--> master --copied for every trial--> place { tree, home, tmp }
//!     control     the copy as it is: must be green, or nothing is said about changes
//!     coverage    which changed lines ran, by the report of the control or of one more run
//!     operator    --mutate-cmd in the copy, then the check
//!     built in    one small change of one changed line, then the check; again for the next
//! ```
//!
//! The workdir is read once and never written to. All places are removed at the end, whatever the end is.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use engine::adequacy::{self, Control, Fate, MUTATION_FAILED, SURVIVED};
use engine::event::id::{Bytes, Digest, Stamp};
use engine::event::run::RunOpened;
use engine::probe::Verdict;
use engine::words::counted;
use engine::{Reading, State, VERSION};

use super::changed::{self, Hunk};
use super::coverage::{self, Covered, Measure};
use super::{Concern, DoctorError, Looked, Patient};
use crate::clock::Clock;
use crate::oracle::perturb::Perturbation;
use crate::process::{CommandSpec, Deadlines, Outcome, Supervisor, SupervisorOptions};
use crate::replay::{Surroundings, check_until};
use crate::scratch::{Scratch, Traces, copy_tree};
use crate::session::RunError;
use crate::world::{hermetic, in_place};

static CONCERN: Concern = Concern {
    name: "adequacy",
    doc: "the check turns red when the product is changed",
    look: |_, _| {},
};

/// What is to be tried.
#[derive(Clone, Debug)]
pub struct Trials {
    /// The operator's mutation: shell text, run in a copy.
    pub mutate: Option<String>,
    /// Changes of loopexec's own, at most.
    pub mutants_max: usize,
    /// Copy .git too, for a check that asks git.
    pub with_git: bool,
}

/// What the trials showed.
#[derive(Clone, Debug, Default)]
pub struct Adequacy {
    /// `green`, `untested` or `fault`.
    pub control: &'static str,
    /// Concluded tests of the control run, where a runner is read.
    pub tests: Option<u64>,
    /// How the operator's mutation fared.
    pub operator: Option<Fate>,
    pub mutants: Vec<Mutated>,
    /// What a report of coverage says of changed lines, where there was one.
    pub coverage: Option<Covered>,
}

/// One change of loopexec's own.
#[derive(Clone, Debug)]
pub struct Mutated {
    pub path: String,
    pub line: u32,
    /// First and last line of the changed part that it lies in.
    pub hunk: (u32, u32),
    pub operator: &'static str,
    pub original: String,
    pub replacement: String,
    pub fate: Fate,
}

/// Runs the trials and adds what they showed to the findings.
///
/// # Errors
/// No copy could be made, a check could not be started, or a signal ended it.
pub fn adequacy(patient: &Patient, trials: &Trials, looked: &mut Looked) -> Result<Adequacy, DoctorError> {
    let mut seen = Adequacy::default();
    let place = Place::new(patient, trials)?;
    let check = patient.policy.oracle.check.display();
    let measure = Measure::of(patient, &place.env);
    let control = place.trial(|tree| Ok(measure.clear(tree)))?;
    let Some((verdict, reading)) = control else {
        return Ok(seen);
    };
    match adequacy::control(&verdict, &reading) {
        Control::Fault(fault, why) => {
            seen.control = "fault";
            let remedy = "make the check run tests, and exit with the status of their runner";
            looked.problem(&CONCERN, fault, check, why, remedy);
            return Ok(seen);
        }
        Control::Untested(why) => {
            seen.control = "untested";
            let detail = format!("it is red without any change ({why}): whether it notices one is untested");
            looked.note(
                &CONCERN,
                check,
                detail,
                "examine it again once it is green; with --with-git if it asks git",
            );
            return Ok(seen);
        }
        Control::Green(tests) => {
            seen.control = "green";
            seen.tests = tests;
            let told = tests.map_or_else(String::new, |tests| format!(", {}", counted(tests, "test")));
            looked.ok(
                &CONCERN,
                &check,
                format!("it is green in a fresh copy without any change{told}"),
            );
        }
    }
    seen.coverage = coverage::look(&place, &measure, looked)?;
    if let Some(mutate) = &trials.mutate {
        seen.operator = place.operator(mutate, looked, &seen)?;
    }
    place.built_in(trials, looked, &mut seen)?;
    Ok(seen)
}

pub(super) struct Place<'a> {
    pub(super) patient: &'a Patient,
    master: Scratch,
    pub(super) scratch: Scratch,
    /// What checks find, settled for all of them.
    env: Vec<(OsString, OsString)>,
}

impl<'a> Place<'a> {
    fn new(patient: &'a Patient, trials: &Trials) -> Result<Self, DoctorError> {
        let master = Scratch::beside(&patient.workdir, "master")?;
        let scratch = Scratch::beside(&patient.workdir, "doctor")?;
        let copied = copy_tree(&patient.workdir, &master.tree(), trials.with_git, || {
            patient.goes_on().is_ok()
        });
        patient.goes_on()?;
        copied?;
        Ok(Self {
            patient,
            env: hermetic::settled(&patient.policy, Clock::system().stamp(), &patient.env),
            master,
            scratch,
        })
    }

    /// The check in a new copy in which `change` was made; nothing when `change` says that there is nothing to check.
    fn trial(
        &self,
        change: impl FnOnce(&Path) -> Result<bool, DoctorError>,
    ) -> Result<Option<(Verdict, Reading)>, DoctorError> {
        self.trial_under(&Perturbation::default(), change)
    }

    /// The same, with other surroundings.
    pub(super) fn trial_under(
        &self,
        other: &Perturbation,
        change: impl FnOnce(&Path) -> Result<bool, DoctorError>,
    ) -> Result<Option<(Verdict, Reading)>, DoctorError> {
        let Self { patient, scratch, .. } = self;
        scratch.clear_tree()?;
        scratch.renew_surroundings()?;
        scratch.renew_shelf()?;
        let copied = copy_tree(&self.master.tree(), &scratch.tree(), true, || patient.goes_on().is_ok());
        patient.goes_on()?;
        copied?;
        if !change(&scratch.tree())? {
            return Ok(None);
        }
        let state = State::open(RunOpened {
            at: Stamp::default(),
            run_id: "doctor".into(),
            engine: VERSION.into(),
            workdir: Bytes(scratch.tree().as_os_str().as_encoded_bytes().to_vec()),
            boot_id: String::new(),
            policy_digest: Digest::ZERO,
            policy: patient.policy.clone(),
            origins: Vec::new(),
            programs: Vec::new(),
            probe: None,
            zones: Vec::new(),
        });
        let mut other = other.clone();
        if in_place::is_installed(&patient.workdir, &patient.policy.oracle.check, &patient.env) {
            other = other.and(&in_place::redirected(&patient.workdir, &scratch.tree()));
        }
        scratch.renew_variation()?;
        scratch.write_support(|dir| other.support(dir))?;
        let with = Surroundings {
            env: other.environment(self.environment(), &scratch.support()),
            exe: patient.exe.clone(),
            around: Vec::new(),
            set: Vec::new(),
        };
        let checked = check_until(&scratch.tree(), &scratch.shelf(), &state, &with, &patient.stop, None)?;
        patient.goes_on()?;
        let verdict = Verdict::of(&checked.run, &checked.reading, &state.facts);
        let verdict = verdict.unwrap_or_else(Verdict::of_a_lost_workdir);
        Ok(Some((verdict, checked.reading)))
    }

    fn environment(&self) -> Vec<(OsString, OsString)> {
        Scratch::environment(&self.env, &self.scratch.home(), &self.scratch.tmp())
    }

    /// The operator's mutation in a copy, and the check after it.
    fn operator(&self, mutate: &str, looked: &mut Looked, seen: &Adequacy) -> Result<Option<Fate>, DoctorError> {
        let mut refused = None;
        let after = self.trial(|tree| {
            let before = Traces::of(tree);
            refused = self.mutate(mutate, tree)?;
            if refused.is_none() && Traces::of(tree).changed_since(&before).is_empty() {
                refused = Some("it changed nothing in the copy".to_owned());
            }
            Ok(refused.is_none())
        })?;
        if let Some(why) = refused {
            let remedy = "let it change product code below the directory that it is run in, and exit 0";
            looked.problem(&CONCERN, MUTATION_FAILED, mutate, why, remedy);
            return Ok(None);
        }
        let Some((verdict, _)) = after else { return Ok(None) };
        let fate = Fate::of(&verdict, seen.tests.is_some_and(|tests| tests > 0));
        match fate {
            Fate::Killed => looked.ok(&CONCERN, mutate, "the check notices this change"),
            Fate::Survived => {
                let remedy = "add a test that fails after it";
                looked.problem(
                    &CONCERN,
                    SURVIVED,
                    mutate,
                    "the check stays green after this change",
                    remedy,
                );
            }
            Fate::Unjudged(cause) => looked.note(
                &CONCERN,
                mutate,
                format!("after this change the check came to no verdict: {cause}"),
                "",
            ),
        }
        Ok(Some(fate))
    }

    /// Runs the mutation; why it did not do its work, if so.
    fn mutate(&self, mutate: &str, tree: &Path) -> Result<Option<String>, DoctorError> {
        let bounds = &self.patient.policy.bounds;
        let spec = CommandSpec {
            argv: ["/bin/sh".into(), "-c".into(), mutate.into()].into(),
            cwd: tree.to_path_buf(),
            deadlines: Deadlines {
                timeout_ms: Some(bounds.beside_timeout_ms()),
                grace_ms: bounds.grace_ms,
                ..Deadlines::default()
            },
            label: "mutation".to_owned(),
            ..CommandSpec::default()
        };
        let options = SupervisorOptions {
            runtime_dir: None,
            env: self.environment(),
        };
        let mut supervisor = Supervisor::start(&self.patient.exe, options).map_err(RunError::from)?;
        let run = supervisor.run(&spec, &self.patient.stop.wishes).map_err(RunError::from);
        supervisor.shutdown();
        let run = run?;
        self.patient.goes_on()?;
        Ok(match (run.outcome, run.stop) {
            (Outcome::Exited(0), None) => None,
            (_, Some(stop)) => Some(format!("it was ended: {stop:?}")),
            (Outcome::Exited(code), None) => Some(format!("it exited {code}")),
            (outcome, None) => Some(format!("it did not come to an end of its own: {outcome:?}")),
        })
    }

    /// One small change of a changed line after the other.
    fn built_in(&self, trials: &Trials, looked: &mut Looked, seen: &mut Adequacy) -> Result<(), DoctorError> {
        if trials.mutants_max == 0 {
            return Ok(());
        }
        let at = self.patient.workdir.display();
        let hunks = match changed::hunks(self.patient) {
            Ok(hunks) => hunks,
            Err(why) => {
                looked.note(
                    &CONCERN,
                    at,
                    format!("no mutants of its own: {why}"),
                    "give --mutate-cmd",
                );
                return Ok(());
            }
        };
        let candidates = changed::mutants(&hunks, trials.mutants_max);
        if candidates.is_empty() {
            let detail = "no mutants of its own: no changed line of product code can be mutated";
            looked.note(
                &CONCERN,
                at,
                detail,
                "give --mutate-cmd, or examine again when something is changed",
            );
            return Ok(());
        }
        for (hunk, mutant) in candidates {
            let after = self.trial(|tree| write(tree, hunk, &mutant))?;
            let Some((verdict, _)) = after else { continue };
            let fate = Fate::of(&verdict, seen.tests.is_some_and(|tests| tests > 0));
            let subject = format!("{}:{}", hunk.path, mutant.line);
            let change = format!(
                "`{}` for `{}` ({})",
                mutant.replacement,
                mutant.original,
                mutant.operator.label()
            );
            match fate {
                Fate::Killed => looked.ok(&CONCERN, subject, format!("the check notices {change}")),
                Fate::Survived => {
                    let detail = format!("the check stays green with {change}");
                    looked.problem(
                        &CONCERN,
                        SURVIVED,
                        subject,
                        detail,
                        "add a test that fails after this change",
                    );
                }
                Fate::Unjudged(cause) => {
                    looked.note(&CONCERN, subject, format!("no verdict with {change}: {cause}"), "")
                }
            }
            seen.mutants.push(Mutated {
                path: hunk.path.clone(),
                line: mutant.line,
                hunk: (*hunk.lines.start(), *hunk.lines.end()),
                operator: mutant.operator.label(),
                original: mutant.original,
                replacement: mutant.replacement,
                fate,
            });
        }
        Ok(())
    }
}

/// Puts the change into the copy; false when the file of the copy is not the one that was read.
fn write(tree: &Path, hunk: &Hunk, mutant: &syntax::Mutant) -> Result<bool, DoctorError> {
    let path = tree.join(&hunk.path);
    let within = path.canonicalize().is_ok_and(|real| real.starts_with(tree));
    let same = fs::read(&path).is_ok_and(|bytes| bytes == *hunk.source);
    if !within || !same {
        return Ok(false);
    }
    let written = fs::write(&path, syntax::apply(&hunk.source, mutant));
    written.map(|()| true).map_err(|error| {
        DoctorError::Run(RunError::Io {
            doing: "write a mutant to",
            path,
            error,
        })
    })
}
