//! The doctor: what of a project and its machine would keep a run from starting, or from being believed.
//!
//! ```text
//!   Patient --look, one concern after the other--> findings --engine::doctor::judge--> reason, or none
//! ```
//!
//! A look reads files, asks the system, and starts small programs under the supervisor. It runs neither the check nor
//! the work, changes nothing and ends nobody's process; only a key that a dead run left is revoked, and where the contract
//! has keys made, one is made and revoked. A concern is one file and one line in [`ALL`]. Start with [`look()`]; whether
//! the check can turn red shows by running it, which [`adequacy()`] does in fresh copies.

mod adequacy;
mod assertions;
mod changed;
mod coverage;
mod error;
mod exit_status;
mod isolation;
mod key;
mod leftovers;
mod repository;
mod runner;
mod selection;
mod shell_list;
mod state;
mod storage;
mod tools;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use engine::doctor::{Fault, Finding, Severity};
use engine::event::policy::Policy;

use crate::oracle::collect::Detection;
use crate::session::signals;
use crate::world::{StopRequests, detection};

pub use adequacy::{Adequacy, Mutated, Trials, adequacy};
pub use coverage::Covered;
pub use error::DoctorError;
pub use isolation::Facts;
pub use leftovers::LeftRunning;

/// Who is looked at. Made by [`Patient::new`], which listens for signals from then on.
#[derive(Debug)]
pub struct Patient {
    /// Canonical.
    pub workdir: PathBuf,
    /// The contract that a run would have; its check may be missing.
    pub policy: Policy,
    /// The environment, as it was when the program started.
    pub env: Vec<(OsString, OsString)>,
    /// The binary that is started once more as the supervisor.
    pub exe: PathBuf,
    stop: StopRequests,
}

/// What there is to look at, and how.
#[derive(Debug)]
pub struct Concern {
    pub name: &'static str,
    /// What it is about, for people.
    pub doc: &'static str,
    look: fn(&Patient, &mut Looked),
}

/// Every concern, in the order in which a problem gives the reason.
pub static ALL: &[&Concern] = &[
    &runner::CONCERN,
    &exit_status::CONCERN,
    &selection::CONCERN,
    &assertions::CONCERN,
    &tools::CONCERN,
    &state::CONCERN,
    &leftovers::CONCERN,
    &storage::CONCERN,
    &repository::CONCERN,
    &key::CONCERN,
    &isolation::CONCERN,
];

/// All that was seen.
#[derive(Debug, Default)]
pub struct Looked {
    pub findings: Vec<Finding>,
    /// Processes of earlier runs that nobody governs. They are named, not ended.
    pub left_running: Vec<LeftRunning>,
    pub isolation: Facts,
}

/// Looks at everything.
///
/// # Errors
/// A signal ended it.
pub fn look(patient: &Patient) -> Result<Looked, DoctorError> {
    let mut looked = Looked::default();
    for concern in ALL {
        (concern.look)(patient, &mut looked);
        patient.goes_on()?;
    }
    Ok(looked)
}

impl Patient {
    /// # Errors
    /// When signals cannot be listened for.
    pub fn new(
        workdir: PathBuf,
        policy: Policy,
        env: Vec<(OsString, OsString)>,
        exe: PathBuf,
    ) -> Result<Self, DoctorError> {
        let stop = signals::watch(&workdir)?;
        Ok(Self {
            workdir,
            policy,
            env,
            exe,
            stop,
        })
    }

    /// Whether nobody asked for an end.
    fn goes_on(&self) -> Result<(), DoctorError> {
        match self.stop.first.load(Ordering::SeqCst) {
            0 => Ok(()),
            signal => Err(DoctorError::Interrupted { signal }),
        }
    }

    /// A variable of the environment.
    fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.env.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_os_str())
    }

    /// What the check is seen to run.
    fn detection(&self) -> Detection {
        detection(&self.workdir, &self.policy.oracle.check)
    }
}

impl Looked {
    fn ok(&mut self, concern: &Concern, subject: impl ToString, detail: impl Into<String>) {
        self.add(concern.name, Severity::Ok, subject, detail, "");
    }

    fn note(
        &mut self,
        concern: &Concern,
        subject: impl ToString,
        detail: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.add(concern.name, Severity::Note, subject, detail, remedy);
    }

    fn problem(
        &mut self,
        concern: &Concern,
        fault: Fault,
        subject: impl ToString,
        detail: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.add(concern.name, Severity::Problem(fault), subject, detail, remedy);
    }

    fn add(
        &mut self,
        concern: &'static str,
        severity: Severity,
        subject: impl ToString,
        detail: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.findings.push(Finding {
            concern,
            severity,
            subject: subject.to_string(),
            detail: detail.into(),
            remedy: remedy.into(),
        });
    }
}

#[cfg(test)]
mod bench {
    use std::sync::Arc;

    use engine::event::policy::Command;

    use super::*;
    use crate::process::Wishes;

    /// A project with these files and this check.
    pub(super) fn patient(files: &[(&str, &str)], check: &str) -> (tempfile::TempDir, Patient) {
        let dir = tempfile::tempdir().unwrap();
        let workdir = dir.path().canonicalize().unwrap();
        for (name, text) in files {
            std::fs::create_dir_all(workdir.join(name).parent().unwrap()).unwrap();
            std::fs::write(workdir.join(name), text).unwrap();
        }
        let mut policy = Policy::default();
        policy.oracle.check = Command::shell(check);
        let patient = Patient {
            workdir,
            policy,
            env: std::env::vars_os().collect(),
            exe: PathBuf::new(),
            stop: StopRequests {
                first: Arc::default(),
                wishes: Wishes::never(),
            },
        };
        (dir, patient)
    }

    /// What one concern says of it: severity and detail of each finding.
    pub(super) fn said(concern: &Concern, patient: &Patient) -> Vec<(&'static str, String)> {
        let mut looked = Looked::default();
        (concern.look)(patient, &mut looked);
        let findings = looked.findings.into_iter();
        findings
            .map(|finding| (finding.severity.label(), finding.detail))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_concern_has_a_name_of_its_own_and_says_what_it_is_about() {
        let mut names: Vec<_> = ALL.iter().map(|concern| concern.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
        assert!(ALL.iter().all(|concern| !concern.doc.is_empty()));
    }
}
