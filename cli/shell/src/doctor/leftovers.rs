//! What earlier runs left behind: processes and fresh copies, which are named, not ended and not removed; and keys, which
//! are revoked.

use engine::doctor::{KEY_LEFT, LEFT_RUNNING};
use engine::words::counted;

use super::{Concern, Looked, Patient};
use crate::lock;
use crate::paths::{RunDir, StateDir};
use crate::process::leftovers;
use crate::record::governor;
use crate::scratch;
use crate::zone::credential::{Desk, Left, Swept};

pub(super) static CONCERN: Concern = Concern {
    name: "leftovers",
    doc: "nothing of an earlier run is still running or good, and no copy of one was left",
    look,
};

/// A process of an earlier run that nobody governs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftRunning {
    pub run_id: String,
    pub pid: u32,
    pub command: String,
}

fn look(patient: &Patient, looked: &mut Looked) {
    let before = looked.findings.len();
    // What is wrong with the directory itself is another concern's.
    if let Ok(Some(state)) = StateDir::open(&patient.workdir) {
        let ids = state.run_ids().unwrap_or_default();
        let left = Left::outside(&state);
        if lock::holder(&state).is_ok_and(|holder| holder.is_none()) {
            keys(&left, patient, looked);
        }
        for run in ids.into_iter().filter_map(|id| state.open_run(id).ok()) {
            // Before the lock is asked: a life that begins afterwards has a key of its own.
            let left = Left::of(&run);
            if governor(&state, &run).is_ok_and(|holder| holder.is_none()) {
                processes(&run, looked);
            }
            // Whoever is at work, in whatever run, has seen to all that was there before.
            if lock::holder(&state).is_ok_and(|holder| holder.is_none()) {
                keys(&left, patient, looked);
            }
        }
    }
    let copies = scratch::abandoned();
    if let Some(first) = copies.first() {
        let count = counted(copies.len() as u64, "fresh copy").replace("copys", "copies");
        looked.note(
            &CONCERN,
            first.display(),
            format!("{count} of a command that was killed lies there"),
            "the next probe-check, replay or doctor --run removes it",
        );
    }
    if looked.findings.len() == before {
        looked.ok(&CONCERN, patient.workdir.display(), "nothing of an earlier run is left");
    }
}

/// A key that is good and that nobody uses waits for no other run.
fn keys(left: &Left, patient: &Patient, looked: &mut Looked) {
    if left.is_nothing() {
        return;
    }
    let desk = Desk::new(&patient.exe, &patient.env, &patient.workdir);
    for Swept { run_id, key, failed } in left.sweep(&desk) {
        let subject = format!("key {key}");
        match failed {
            None => {
                let detail = format!("run {run_id} was not governed to its end and left it; it is revoked now");
                looked.note(&CONCERN, subject, detail, "");
            }
            Some(why) => looked.problem(
                &CONCERN,
                KEY_LEFT,
                subject,
                format!("run {run_id} left it and it may still be good: {why}"),
                "revoke it by hand, or see to what its revoke command says and run `loopexec doctor` again",
            ),
        }
    }
}

fn processes(run: &RunDir, looked: &mut Looked) {
    let id = run.id();
    match leftovers::find(run.path()) {
        Ok(left) => {
            for process in left {
                looked.problem(
                    &CONCERN,
                    LEFT_RUNNING,
                    format!("process {}", process.pid),
                    format!(
                        "`{}` of run {id} is still running and nobody governs it",
                        process.command
                    ),
                    format!("`loopexec resume {id}` ends it, or kill {}", process.pid),
                );
                looked.left_running.push(LeftRunning {
                    run_id: id.to_string(),
                    pid: process.pid,
                    command: process.command,
                });
            }
        }
        Err(error) => {
            let remedy = format!("`loopexec check` says more; `loopexec resume {id}` looks again");
            looked.note(&CONCERN, id, error.to_string(), remedy);
        }
    }
}
