//! Which changed lines the check runs, by a report of coverage.
//!
//! A report that the contract names is that of the control run, which is the check as it is. A runner that is made to
//! measure gets a run of its own, for it is told so by its environment.

use std::ffi::OsString;
use std::path::Path;

use engine::adequacy::UNCOVERED;
use engine::doctor::GUARD_BLIND;
use engine::words::counted;
use ignore::WalkBuilder;

use super::adequacy::Place;
use super::{Concern, DoctorError, Looked, Patient, changed};
use crate::oracle::coverage::{Names, Source, delta};

static CONCERN: Concern = Concern {
    name: "adequacy",
    doc: "the check runs every changed line",
    look: |_, _| {},
};

/// Files of a copy that names in a report may mean.
const FILES_MAX: usize = 200_000;
const REMEDY: &str = "let the check write a coverage report, and name it with --coverage";

/// What a report says of the lines that the last commit does not have.
#[derive(Clone, Debug)]
pub struct Covered {
    /// Of the report.
    pub format: &'static str,
    /// Changed lines that can run, and those of them that did not.
    pub changed: u64,
    pub unrun: u64,
}

/// Where the report comes from, or why there is none.
pub(super) struct Measure {
    source: Result<Source, String>,
    /// Why an old report is still there.
    stale: std::cell::RefCell<Option<String>>,
}

impl Measure {
    pub(super) fn of(patient: &Patient, env: &[(OsString, OsString)]) -> Self {
        let source = Source::of(&patient.policy.oracle, &patient.detection(), &patient.workdir, env);
        Self {
            source,
            stale: std::cell::RefCell::default(),
        }
    }

    /// Takes away the report of an earlier run; the check is run whatever comes of it.
    pub(super) fn clear(&self, tree: &Path) -> bool {
        if let Ok(source) = &self.source {
            *self.stale.borrow_mut() = source.clear(tree).err();
        }
        true
    }
}

/// Reads the coverage of a green control run, whose copy is still there, and says which changed lines did not run.
///
/// # Errors
/// A run could not be made, or a signal ended it.
pub(super) fn look(place: &Place<'_>, measure: &Measure, looked: &mut Looked) -> Result<Option<Covered>, DoctorError> {
    let patient = place.patient;
    let check = patient.policy.oracle.check.display();
    let source = match &measure.source {
        Ok(source) => source,
        Err(why) => {
            unmeasured(looked, check, why);
            return Ok(None);
        }
    };
    let hunks = changed::hunks(patient).unwrap_or_default();
    let is_named = matches!(source, Source::Named(_));
    if !is_named {
        if hunks.is_empty() {
            return Ok(None);
        }
        let change = source.change(&place.scratch.support());
        let run = place.trial_under(&change, |_| Ok(true))?;
        if run.is_none_or(|(_, reading)| reading.members.iter().any(|(_, status)| status.fails())) {
            unmeasured(looked, check, "it is red while it is measured");
            return Ok(None);
        }
    }
    let copy = place.scratch.tree();
    let paths = files(&copy);
    let names = Names::new(&copy.to_string_lossy(), paths.iter().map(String::as_str));
    let read = match measure.stale.borrow().clone() {
        Some(why) => Err(why),
        None => source.read(&copy, &place.scratch.support(), &names),
    };
    let coverage = match read {
        Ok(coverage) => coverage,
        Err(why) if is_named => {
            let remedy = "let the check write it in each run, or name the file that it writes";
            looked.problem(&CONCERN, GUARD_BLIND, check, why, remedy);
            return Ok(None);
        }
        Err(why) => {
            unmeasured(looked, check, &why);
            return Ok(None);
        }
    };
    let stretches = hunks.iter().map(|hunk| (hunk.path.as_str(), &hunk.lines));
    let (changed, unrun) = delta::unrun(&coverage, stretches);
    for stretch in &unrun.first {
        let detail = "it differs from the last commit, and the check does not run it";
        looked.problem(&CONCERN, UNCOVERED, stretch, detail, "add a test that runs it");
    }
    if changed > 0 {
        let ran = changed.saturating_sub(unrun.total);
        let detail = format!("it runs {ran} of {}", counted(changed, "changed line"));
        looked.ok(&CONCERN, check, detail);
    }
    Ok(Some(Covered {
        format: coverage.format,
        changed,
        unrun: unrun.total,
    }))
}

fn unmeasured(looked: &mut Looked, check: String, why: &str) {
    let detail = format!("which lines it runs is not measured: {why}");
    looked.note(&CONCERN, check, detail, REMEDY);
}

/// Every file of a copy but git's own, from its root.
fn files(root: &Path) -> Vec<String> {
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    let files = walk
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let paths = files.filter_map(|entry| Some(entry.path().strip_prefix(root).ok()?.to_str()?.to_owned()));
    paths.take(FILES_MAX).collect()
}
