//! The state directory: private, free to be taken, and with a history that can be read.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use engine::doctor::{HISTORY_DAMAGED, STATE_INVALID};

use super::{Concern, Looked, Patient};
use crate::lock;
use crate::paths::{RunDir, StateDir};
use crate::record::{Record, RecordError, governor};

pub(super) static CONCERN: Concern = Concern {
    name: "state",
    doc: "the state directory is private, free, and holds nothing damaged or unfinished",
    look,
};

const WRITABLE_BY_OTHERS: u32 = 0o022;
const OPEN_TO_OTHERS: u32 = 0o077;

fn look(patient: &Patient, looked: &mut Looked) {
    let state = match StateDir::open(&patient.workdir) {
        Ok(Some(state)) => state,
        Ok(None) => {
            let at = patient.workdir.display();
            return looked.ok(&CONCERN, at, "there is no state directory yet; the first run makes it");
        }
        Err(error) => {
            let at = patient.workdir.join(".loopexec");
            let remedy = "move it away; loopexec makes its own";
            return looked.problem(&CONCERN, STATE_INVALID, at.display(), error.to_string(), remedy);
        }
    };
    let before = looked.findings.len();
    for dir in [state.path().to_owned(), state.runs(), state.objects(), state.cache()] {
        permissions(&dir, looked);
    }
    match lock::holder(&state) {
        Ok(Some(holder)) => looked.note(
            &CONCERN,
            state.lock_file().display(),
            format!(
                "run {} is at work (process {}); another is refused meanwhile",
                holder.run_id, holder.pid
            ),
            "wait for it, stop it with a signal, or use another copy of the project",
        ),
        Ok(None) => {}
        Err(error) => {
            let remedy = "mend its permissions, or move the project to a local file system";
            looked.problem(
                &CONCERN,
                STATE_INVALID,
                state.lock_file().display(),
                error.to_string(),
                remedy,
            );
        }
    }
    let mut count = 0_u64;
    for id in state.run_ids().unwrap_or_default() {
        count += 1;
        match state.open_run(id) {
            Ok(run) => history(&state, &run, looked),
            Err(error) => {
                let at = state.runs();
                looked.problem(
                    &CONCERN,
                    STATE_INVALID,
                    at.display(),
                    error.to_string(),
                    "move what lies there away",
                );
            }
        }
    }
    if looked.findings.len() == before {
        let runs = engine::words::counted(count, "run");
        looked.ok(
            &CONCERN,
            state.path().display(),
            format!("it is private and free; {runs}, all ended"),
        );
    }
}

fn permissions(dir: &std::path::Path, looked: &mut Looked) {
    let Ok(seen) = fs::symlink_metadata(dir) else { return };
    let (mode, shown) = (seen.mode() & 0o777, &dir.display());
    if mode & WRITABLE_BY_OTHERS != 0 {
        let detail = format!("mode {mode:03o} lets others write to it");
        looked.problem(&CONCERN, STATE_INVALID, shown, detail, format!("chmod 700 {shown}"));
    } else if mode & OPEN_TO_OTHERS != 0 {
        let detail = format!("mode {mode:03o} lets others read what was recorded");
        looked.note(&CONCERN, shown, detail, format!("chmod 700 {shown}"));
    }
}

/// Whether a run came to its end, and its journal can be read to its own.
fn history(state: &StateDir, run: &RunDir, looked: &mut Looked) {
    if governor(state, run).is_ok_and(|holder| holder.is_some()) {
        return;
    }
    let id = run.id();
    let damaged = |looked: &mut Looked, why: String| {
        let remedy = format!("`loopexec verify {id}` says what of it is good; restore it from a copy");
        looked.problem(&CONCERN, HISTORY_DAMAGED, id, why, remedy);
    };
    let foreign = |looked: &mut Looked| {
        let remedy = "read it with the build that wrote it; it keeps nothing else from working".to_owned();
        looked.note(&CONCERN, id, "another build of loopexec wrote its journal", remedy);
    };
    match Record::read(run.clone()) {
        Ok(record) => {
            let ended = record.fold.state.as_ref().map(|state| state.facts.halted.is_some());
            match (record.damage, ended) {
                (Some(damage), _) if of_another_build(&damage) => foreign(looked),
                (Some(damage), _) => damaged(looked, format!("its journal is damaged: {damage}")),
                (None, Some(true)) => {}
                (None, _) => looked.note(
                    &CONCERN,
                    id,
                    "it has not come to an end and nobody governs it",
                    format!("`loopexec resume {id}` goes on with it"),
                ),
            }
        }
        Err(RecordError::Journal(journal::Error::Missing { .. })) => looked.note(
            &CONCERN,
            id,
            "it ended before its first event",
            format!("nothing is lost with it: remove {}", run.path().display()),
        ),
        Err(RecordError::Journal(error)) if of_another_build(&error) => foreign(looked),
        Err(error) => damaged(looked, error.to_string()),
    }
}

/// Nothing is wrong with such a journal.
fn of_another_build(error: &journal::Error) -> bool {
    matches!(error, journal::Error::Corrupt(defect) if defect.code == journal::Code::SchemaTable)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::bench::{patient, said};
    use super::*;

    #[test]
    fn a_state_directory_that_others_can_write_to_is_a_problem() {
        let (_dir, patient) = patient(&[], "true");
        assert_eq!(said(&CONCERN, &patient)[0].0, "ok");
        let state = StateDir::create(&patient.workdir).unwrap();
        assert_eq!(said(&CONCERN, &patient)[0].0, "ok");
        for (mode, severity) in [(0o755, "note"), (0o770, "problem")] {
            fs::set_permissions(state.path(), fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(said(&CONCERN, &patient)[0].0, severity, "{mode:o}");
        }
    }

    #[test]
    fn a_link_in_its_place_is_a_problem_and_is_not_followed() {
        let (dir, patient) = patient(&[], "true");
        std::os::unix::fs::symlink(dir.path(), patient.workdir.join(".loopexec")).unwrap();
        let mut looked = Looked::default();
        look(&patient, &mut looked);
        assert_eq!(looked.findings[0].severity.fault(), Some(STATE_INVALID));
    }

    #[test]
    fn a_journal_in_the_shapes_of_another_build_is_not_called_damaged() {
        let found = |code| {
            let (seq, segment, offset) = (0, 1, 0);
            let why = String::new();
            let defect = journal::Defect {
                code,
                seq,
                kind: None,
                segment,
                offset,
                why,
            };
            of_another_build(&journal::Error::Corrupt(Box::new(defect)))
        };
        assert!(found(journal::Code::SchemaTable));
        assert!(!found(journal::Code::Edited));
    }

    #[test]
    fn whoever_holds_the_lock_is_named() {
        let (_dir, patient) = patient(&[], "true");
        let state = StateDir::create(&patient.workdir).unwrap();
        let id = crate::paths::RunId::parse("held").unwrap();
        let _held = lock::acquire(&state, &id).unwrap();
        let said = said(&CONCERN, &patient);
        let wanted = format!("run held is at work (process {})", std::process::id());
        assert!(said[0].0 == "note" && said[0].1.starts_with(&wanted), "{said:?}");
    }
}
