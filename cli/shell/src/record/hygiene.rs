//! The state directory itself: is it sane, private, complete, and free of what crashes leave behind?

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use engine::event::Event;
use engine::event::id::Digest;
use journal::VerifyOptions;

use super::audit::{ReceiptState, blobs_of};
use super::{Record, RecordError, audit, governor};
use crate::paths::{RunDir, StateDir};
use crate::process::leftovers;
use crate::session::Profile;
use crate::{foreign, lock};

/// No profile comes near this.
const PROFILE_MAX_BYTES: u64 = 64 << 20;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// Nothing to do.
    Note,
    /// Mends itself, or can be rebuilt or removed.
    Warning,
    /// An invariant does not hold.
    Broken,
}

impl Grade {
    pub const fn label(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Broken => "broken",
        }
    }
}

/// One thing that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub grade: Grade,
    /// The run or the file it is about.
    pub subject: String,
    pub detail: String,
}

/// Everything that was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hygiene {
    pub findings: Vec<Finding>,
    pub runs: u64,
    pub events: u64,
}

impl Hygiene {
    /// The gravest grade; a note when there is nothing.
    pub fn grade(&self) -> Grade {
        self.findings.iter().map(|f| f.grade).max().unwrap_or(Grade::Note)
    }

    pub(super) fn push(&mut self, grade: Grade, subject: impl ToString, detail: impl Into<String>) {
        self.findings.push(Finding {
            grade,
            subject: subject.to_string(),
            detail: detail.into(),
        });
    }
}

const GROUP_OR_OTHERS: u32 = 0o077;
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Looks at everything beneath the state directory and changes nothing.
///
/// # Errors
/// Something that must be readable is not.
pub fn inspect(state: &StateDir) -> Result<Hygiene, RecordError> {
    let mut seen = Hygiene::default();
    for dir in [state.path().to_owned(), state.runs(), state.objects(), state.cache()] {
        permissions(&dir, &mut seen);
    }
    let holder = lock::holder(state)?;
    if let Some(holder) = &holder {
        let detail = format!("run {} is at work (process {})", holder.run_id, holder.pid);
        seen.push(Grade::Note, state.lock_file().display(), detail);
    }
    for id in state.run_ids()? {
        let run = state.open_run(id)?;
        seen.runs += 1;
        permissions(run.path(), &mut seen);
        let live = governor(state, &run)?.is_some();
        match history(&run, live, &mut seen) {
            Ok(()) | Err(RecordError::Journal(journal::Error::Missing { .. })) if live => {}
            Ok(()) => {}
            Err(RecordError::Journal(journal::Error::Missing { .. })) => {
                let detail = "has no journal: it ended before its first event; the directory can be removed";
                seen.push(Grade::Warning, run.id(), detail);
            }
            Err(error) => seen.push(Grade::Broken, run.id(), error.to_string()),
        }
        if !live {
            processes(&run, &mut seen);
            spent_files(run.path(), &mut seen);
        }
    }
    if holder.is_none() {
        for shelf in ["incoming", "scratch"] {
            abandoned(&state.path().join(shelf), &mut seen);
        }
        spent_files(state.path(), &mut seen);
    }
    Ok(seen)
}

fn permissions(dir: &Path, seen: &mut Hygiene) {
    let Ok(meta) = fs::symlink_metadata(dir) else {
        return;
    };
    let mode = meta.mode() & 0o777;
    let shown = dir.display();
    if mode & WRITABLE_BY_OTHERS != 0 {
        let detail = format!("mode {mode:03o} lets others write to it; chmod go-w it");
        seen.push(Grade::Broken, shown, detail);
    } else if mode & GROUP_OR_OTHERS != 0 {
        let detail = format!("mode {mode:03o} lets others read it; chmod 700 it if the project is not public");
        seen.push(Grade::Note, shown, detail);
    }
}

fn history(run: &RunDir, live: bool, seen: &mut Hygiene) -> Result<(), RecordError> {
    let found = audit(run, &VerifyOptions::default(), live)?;
    let id = run.id();
    seen.events += found.verdict.head.size;
    if let Some(defect) = &found.verdict.defect {
        seen.push(Grade::Broken, id, format!("the journal is damaged: {defect}"));
        return Ok(());
    }
    for why in found.bad_acks.iter().chain(&found.bad_blobs) {
        seen.push(Grade::Broken, id, why.clone());
    }
    if found.verdict.torn_bytes > 0 && !live {
        let detail = format!(
            "{} bytes of a write that was cut short lie behind the end; the next resume sets them aside",
            found.verdict.torn_bytes
        );
        seen.push(Grade::Note, id, detail);
    }
    match &found.receipt {
        ReceiptState::Matches => {}
        ReceiptState::Missing => seen.push(
            Grade::Warning,
            id,
            "receipt.jsonl is missing; it can be rebuilt with `loopexec export --format jsonl`",
        ),
        ReceiptState::Behind(why) => seen.push(
            Grade::Warning,
            id,
            format!("the receipt lags and is rebuilt on resume: {why}"),
        ),
        ReceiptState::Differs(why) => seen.push(Grade::Broken, id, format!("the receipt was edited: {why}")),
    }
    let mut named = Vec::new();
    let record = Record::read_with(run.clone(), |_, event: &Event| blobs_of(event, &mut named))?;
    if !live {
        orphans(run, &named, seen);
        projection(&record, seen);
    }
    Ok(())
}

/// Blobs that no event names.
fn orphans(run: &RunDir, named: &[Digest], seen: &mut Hygiene) {
    let named: HashSet<String> = named.iter().map(Digest::hex).collect();
    let files = names_in(&run.blobs());
    let orphans = files.iter().filter(|name| !named.contains(*name)).count();
    if orphans > 0 {
        let detail = format!(
            "{orphans} files in {} belong to no event; they can be removed",
            run.blobs().display()
        );
        seen.push(Grade::Warning, run.id(), detail);
    }
}

/// The folded state beside the journal says what the journal says.
fn projection(record: &Record, seen: &mut Hygiene) {
    let path = record.run.state_file();
    let run_id = record.run.id();
    let Ok(text) = foreign::read(&path, PROFILE_MAX_BYTES) else {
        seen.push(Grade::Warning, run_id, "state.json is missing; it is rebuilt on resume");
        return;
    };
    let Ok(told) = serde_json::from_slice::<serde_json::Value>(&text) else {
        seen.push(
            Grade::Warning,
            run_id,
            "state.json is not JSON; it is rebuilt on resume",
        );
        return;
    };
    let Some(state) = &record.fold.state else { return };
    let wanted = serde_json::to_value(Profile::of(state, record.fold.events, record.head));
    let Ok(serde_json::Value::Object(wanted)) = wanted else {
        return;
    };
    if let Some((name, _)) = wanted
        .iter()
        .find(|(name, value)| told.get(name.as_str()) != Some(value))
    {
        let detail = format!("state.json and the journal differ in {name}; it is rebuilt on resume");
        seen.push(Grade::Warning, run_id, detail);
    }
}

fn processes(run: &RunDir, seen: &mut Hygiene) {
    match leftovers::find(run.path()) {
        Ok(left) => {
            for process in left {
                let detail = format!(
                    "process {} ({}) of this run is still alive though nobody governs it; `loopexec resume {}` ends it",
                    process.pid,
                    process.command,
                    run.id()
                );
                seen.push(Grade::Broken, run.id(), detail);
            }
        }
        Err(error) => seen.push(Grade::Warning, run.id(), error.to_string()),
    }
}

/// Temporary files whose writer is gone.
fn spent_files(dir: &Path, seen: &mut Hygiene) {
    for name in names_in(dir) {
        if name.ends_with(".new") || name.starts_with(".tmp") {
            let path = dir.join(&name);
            seen.push(
                Grade::Warning,
                path.display(),
                "a temporary file that a crash left; it can be removed",
            );
        }
    }
}

fn abandoned(shelf: &Path, seen: &mut Hygiene) {
    let count = names_in(shelf).len();
    if count > 0 {
        let detail =
            format!("holds {count} things that a crash left; the next run clears them, or they can be removed");
        seen.push(Grade::Warning, shelf.display(), detail);
    }
}

fn names_in(dir: &Path) -> Vec<String> {
    let Ok(listing) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let entries = listing.filter_map(Result::ok);
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
