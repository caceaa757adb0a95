//! The launcher's last word: the report in its place, and an end like the command's.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::ExitCode;

use nix::sys::signal::{SigSet, Signal};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, openat, renameat_with, unlinkat};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, setrlimit};
use signal_hook::low_level::emulate_default_handler;

use super::launch::REFUSED;
use super::report::{Ended, ZoneReport};

/// Said by shells of a program that is not there, and of one that cannot be executed.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

/// Where the report goes: its directory, opened before the launcher changes what its paths mean.
pub(super) struct Place {
    directory: OwnedFd,
    name: OsString,
}

impl Place {
    pub(super) fn open(report: &Path) -> io::Result<Self> {
        let (Some(directory), Some(name)) = (report.parent(), report.file_name()) else {
            return Err(Errno::INVAL.into());
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self {
            directory: openat(CWD, directory, flags, Mode::empty())?,
            name: name.to_owned(),
        })
    }

    /// All of it or nothing, and never over what is there.
    pub(super) fn write(&self, report: &ZoneReport) -> io::Result<()> {
        let mut draft = self.name.clone();
        draft.push(OsStr::new(".draft"));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.directory, &draft, flags, Mode::RUSR | Mode::WUSR)?;
        let written = File::from(file)
            .write_all(&serde_json::to_vec(report)?)
            .and_then(|()| self.put_in_place(&draft));
        if written.is_err() {
            let _left = unlinkat(&self.directory, &draft, AtFlags::empty());
        }
        written
    }

    fn put_in_place(&self, draft: &OsStr) -> io::Result<()> {
        Ok(renameat_with(
            &self.directory,
            draft,
            &self.directory,
            &self.name,
            RenameFlags::NOREPLACE,
        )?)
    }
}

/// Ends as the command did, so that the supervisor tells of the launcher what is true of the command.
pub(super) fn leave(report: &ZoneReport) -> ExitCode {
    match &report.ended {
        Some(Ended::Exited(code)) => ExitCode::from(u8::try_from(*code).unwrap_or(REFUSED)),
        Some(Ended::Signaled(signal)) => die_of(*signal),
        Some(Ended::NotStarted { errno, .. }) if *errno == Errno::NOENT.raw_os_error() => ExitCode::from(NOT_FOUND),
        Some(Ended::NotStarted { .. }) => ExitCode::from(NOT_EXECUTABLE),
        Some(Ended::Lost) | None => ExitCode::from(REFUSED),
    }
}

fn die_of(signal: i32) -> ExitCode {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // The command's core, if any, is not the launcher's to leave.
    let _kept = setrlimit(Resource::Core, none);
    if let Ok(known) = Signal::try_from(signal) {
        let mut only = SigSet::empty();
        only.add(known);
        let _blocked = only.thread_unblock();
        let _alive = emulate_default_handler(signal);
    }
    // Still here: as shells put it.
    ExitCode::from(u8::try_from(128 + signal).unwrap_or(REFUSED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_written_once_whole_and_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let room = tempfile::tempdir().unwrap();
        let file = room.path().join("report.json");
        let report = ZoneReport {
            ended: Some(Ended::Exited(3)),
            ..ZoneReport::default()
        };
        let place = Place::open(&file).unwrap();
        place.write(&report).unwrap();
        let read: ZoneReport = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert_eq!(read, report);
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(place.write(&ZoneReport::default()).is_err());
        let names: Vec<_> = std::fs::read_dir(room.path())
            .unwrap()
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        assert_eq!(names, ["report.json"], "what was there stays, and no draft beside it");
    }
}
