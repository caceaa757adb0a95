//! What an earlier run left behind when its governor and its supervisor were both killed.
//!
//! The supervisor leaves `supervisor.json` in the runtime directory and marks every command with its nonce. As long
//! as the machine has not been restarted since, whoever carries the nonce in its environment, is in the supervisor's
//! session, or descends from such a process, is left over from that run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, geteuid, getpid};
use serde::{Deserialize, Serialize};

use super::NONCE_VARIABLE;
use super::error::ProcessError;
use super::table::{self, Identity, Process};

const FILE: &str = "supervisor.json";
const PAUSE: Duration = Duration::from_millis(5);

/// A process of an earlier run that is still alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    pub pid: u32,
    /// Start time in clock ticks since boot: with the pid, the identity of the process.
    pub start_ticks: u64,
    pub command: String,
    /// True for the supervisor itself.
    pub supervisor: bool,
}

/// What [`end`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    pub ended: Vec<Leftover>,
    /// Those that would not die within the limit.
    pub remaining: Vec<Leftover>,
}

/// The processes that an earlier supervisor with this runtime directory left alive. Only to be asked while no run
/// uses the directory: a supervisor at work would be found as well.
///
/// # Errors
/// [`ProcessError::Marker`] when there is word of a supervisor that cannot be read.
pub fn find(runtime_dir: &Path) -> Result<Vec<Leftover>, ProcessError> {
    let Some(marker) = Marker::read(runtime_dir)? else {
        return Ok(Vec::new());
    };
    let supervisor = marker.identity();
    let found = marker.processes();
    Ok(found.into_iter().map(|id| describe(id, id == supervisor)).collect())
}

/// Kills them, again and again until there are none or `limit` has passed. Removes `supervisor.json` when none is
/// left.
///
/// # Errors
/// As [`find`].
pub fn end(runtime_dir: &Path, limit: Duration) -> Result<Ended, ProcessError> {
    let Some(marker) = Marker::read(runtime_dir)? else {
        return Ok(Ended::default());
    };
    let supervisor = marker.identity();
    let until = Instant::now() + limit;
    let mut named = BTreeMap::new();
    let alive = loop {
        let mut alive = marker.processes();
        // The supervisor first: it starts nothing more.
        alive.sort_by_key(|id| *id != supervisor);
        for id in &alive {
            named.entry(*id).or_insert_with(|| describe(*id, *id == supervisor));
            // Refused for another user's process: it remains, and is reported as remaining.
            let _refused = table::signal(*id, Signal::KILL);
        }
        if alive.is_empty() || Instant::now() >= until {
            break alive;
        }
        thread::sleep(PAUSE);
    };
    if alive.is_empty() {
        Marker::remove(runtime_dir);
    }
    let remains = |id: &Identity| alive.contains(id);
    let (remaining, ended): (Vec<_>, Vec<_>) = named.into_iter().partition(|(id, _)| remains(id));
    let values = |pairs: Vec<(Identity, Leftover)>| pairs.into_iter().map(|(_, leftover)| leftover).collect();
    Ok(Ended {
        ended: values(ended),
        remaining: values(remaining),
    })
}

fn describe(id: Identity, supervisor: bool) -> Leftover {
    let command = table::shown(&table::command_line(id.pid));
    Leftover {
        pid: u32::try_from(id.pid).unwrap_or(0),
        start_ticks: id.start_ticks,
        command,
        supervisor,
    }
}

/// The word a supervisor leaves of itself.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Marker {
    pid: i32,
    start_ticks: u64,
    boot_id: String,
    nonce: String,
}

impl Marker {
    pub(super) fn new(pid: i32, start_ticks: u64, nonce: &str) -> io::Result<Self> {
        Ok(Self {
            pid,
            start_ticks,
            boot_id: boot_id()?,
            nonce: nonce.to_owned(),
        })
    }

    /// Not synced: after a power cut there is no process left to find.
    pub(super) fn write(&self, runtime_dir: &Path) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(runtime_dir)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.persist(runtime_dir.join(FILE))?;
        Ok(())
    }

    /// A file that stays behind names a supervisor that is gone, and costs one look at the process table.
    pub(super) fn remove(runtime_dir: &Path) {
        let _absent = fs::remove_file(runtime_dir.join(FILE));
    }

    /// `None` when there is no word, or it is from before the machine was last started. It is put in place whole, so
    /// one without content is left only where the power was lost before it was on the disk.
    fn read(runtime_dir: &Path) -> Result<Option<Self>, ProcessError> {
        let path: PathBuf = runtime_dir.join(FILE);
        let failed = |message: String| ProcessError::Marker {
            path: path.clone(),
            message,
        };
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error.to_string())),
        };
        if text.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let marker: Self = serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))?;
        let boot_id = boot_id().map_err(|error| failed(error.to_string()))?;
        Ok(Some(marker).filter(|marker| marker.boot_id == boot_id))
    }

    fn identity(&self) -> Identity {
        Identity {
            pid: self.pid,
            start_ticks: self.start_ticks,
        }
    }

    fn processes(&self) -> Vec<Identity> {
        let table = table::all();
        let spared = lineage(&table);
        // The number of a session stays taken while the session has members. When it names another process now,
        // the session is that one's.
        let session_is_ours = table
            .iter()
            .all(|process| process.id.pid != self.pid || process.id == self.identity());
        let belongs = |process: &Process| {
            process.id == self.identity()
                || (session_is_ours && process.session == self.pid && process.id.start_ticks >= self.start_ticks)
                || carries(process.id.pid, &self.nonce)
        };
        let own_user = geteuid().as_raw();
        let mine = |process: &Process| {
            !spared.contains(&process.id.pid)
                && fs::metadata(format!("/proc/{}", process.id.pid)).is_ok_and(|about| about.uid() == own_user)
        };
        let found = table::trees(&table, |process| mine(process) && belongs(process));
        found
            .iter()
            .filter(|p| p.is_alive() && !spared.contains(&p.id.pid))
            .map(|process| process.id)
            .collect()
    }
}

/// This process and its ancestors. A run inside a command of another run must not end itself.
fn lineage(table: &[Process]) -> BTreeSet<i32> {
    let mut spared = BTreeSet::new();
    let mut next = Some(getpid().as_raw_pid());
    while let Some(pid) = next.filter(|pid| spared.insert(*pid)) {
        next = table
            .iter()
            .find(|process| process.id.pid == pid)
            .map(|process| process.parent);
    }
    spared
}

fn carries(pid: i32, nonce: &str) -> bool {
    let wanted = format!("{NONCE_VARIABLE}={nonce}");
    fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes()))
}

fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?
        .trim_end()
        .to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_word_of_a_supervisor_there_are_no_leftovers() {
        let room = tempfile::tempdir().unwrap();
        assert_eq!(find(room.path()).unwrap(), []);
    }

    #[test]
    fn word_from_before_a_restart_of_the_machine_means_nothing() {
        let room = tempfile::tempdir().unwrap();
        let own = table::find(getpid().as_raw_pid()).unwrap();
        let mut marker = Marker::new(own.parent, 0, "none").unwrap();
        marker.boot_id = "another".to_owned();
        marker.write(room.path()).unwrap();
        assert_eq!(find(room.path()).unwrap(), []);
    }

    #[test]
    fn word_that_cannot_be_read_is_an_error_that_names_the_file() {
        let room = tempfile::tempdir().unwrap();
        fs::write(room.path().join(FILE), "{").unwrap();
        assert!(find(room.path()).unwrap_err().to_string().contains(FILE));
    }

    #[test]
    fn a_marker_that_a_power_cut_left_without_content_names_nobody() {
        let room = tempfile::tempdir().unwrap();
        for lost in [&[][..], &[0; 64]] {
            fs::write(room.path().join(FILE), lost).unwrap();
            assert_eq!(find(room.path()).unwrap(), []);
            assert_eq!(end(room.path(), Duration::ZERO).unwrap(), Ended::default());
        }
    }

    #[test]
    fn the_asking_process_and_its_ancestors_are_spared() {
        let room = tempfile::tempdir().unwrap();
        let own = table::find(getpid().as_raw_pid()).unwrap();
        Marker::new(own.id.pid, own.id.start_ticks, "none")
            .unwrap()
            .write(room.path())
            .unwrap();
        assert_eq!(find(room.path()).unwrap(), []);
    }
}
