//! Room for the record and for fresh copies, and the right to write there.

use std::path::{Path, PathBuf};

use engine::doctor::NO_ROOM;
use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};

use super::{Concern, Looked, Patient};

pub(super) static CONCERN: Concern = Concern {
    name: "storage",
    doc: "there is room, and a right to write, for the record and for fresh copies",
    look,
};

/// Less room than this ends a run sooner or later; less than the first, at once.
const BYTES_MIN: u64 = 64 << 20;
const BYTES_FEW: u64 = 1 << 30;
const INODES_MIN: u64 = 1_000;
const INODES_FEW: u64 = 20_000;

/// What is free on a file system.
#[derive(Clone, Copy, Debug)]
struct Free {
    bytes: u64,
    /// None where the file system counts none.
    inodes: Option<u64>,
}

fn look(patient: &Patient, looked: &mut Looked) {
    let temporary = PathBuf::from(
        patient
            .variable("TMPDIR")
            .filter(|dir| !dir.is_empty())
            .unwrap_or("/tmp".as_ref()),
    );
    place(
        looked,
        &patient.workdir,
        "the workdir",
        "free some, or move the project",
    );
    place(
        looked,
        &temporary,
        "the directory for temporary files",
        "free some, or set TMPDIR to a place with room",
    );
    if temporary
        .canonicalize()
        .is_ok_and(|dir| dir.starts_with(&patient.workdir))
    {
        looked.problem(
            &CONCERN,
            NO_ROOM,
            temporary.display(),
            "the directory for temporary files lies in the workdir, where no fresh copy can be made",
            "set TMPDIR to a directory outside of it",
        );
    }
}

fn place(looked: &mut Looked, dir: &Path, what: &str, remedy: &str) {
    let shown = dir.display();
    let seen = match statvfs(dir) {
        Ok(seen) => seen,
        Err(error) => {
            let detail = format!("{what} cannot be looked at: {}", std::io::Error::from(error));
            looked.problem(&CONCERN, NO_ROOM, shown, detail, "make it, or name another one");
            return;
        }
    };
    if seen.f_flag.contains(StatVfsMountFlags::RDONLY) {
        looked.problem(
            &CONCERN,
            NO_ROOM,
            shown,
            format!("{what} is on a read-only file system"),
            "mount it for writing",
        );
        return;
    }
    if access(dir, Access::WRITE_OK | Access::EXEC_OK).is_err() {
        let remedy = "give yourself the right, or name another one";
        looked.problem(&CONCERN, NO_ROOM, shown, format!("you may not write to {what}"), remedy);
        return;
    }
    let free = Free {
        bytes: seen.f_bavail.saturating_mul(seen.f_frsize),
        inodes: (seen.f_files > 0).then_some(seen.f_favail),
    };
    let told = match free.inodes {
        Some(inodes) => format!("{} MiB and {inodes} files are free for {what}", free.bytes >> 20),
        None => format!("{} MiB are free for {what}", free.bytes >> 20),
    };
    match scarcity(free) {
        Scarcity::None => looked.ok(&CONCERN, shown, told),
        Scarcity::Soon => looked.note(&CONCERN, shown, told, remedy),
        Scarcity::Now => looked.problem(&CONCERN, NO_ROOM, shown, format!("only {told}"), remedy),
    }
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Scarcity {
    None,
    Soon,
    Now,
}

fn scarcity(free: Free) -> Scarcity {
    let of = |left: u64, min: u64, few: u64| match left {
        left if left < min => Scarcity::Now,
        left if left < few => Scarcity::Soon,
        _ => Scarcity::None,
    };
    let inodes = free
        .inodes
        .map_or(Scarcity::None, |left| of(left, INODES_MIN, INODES_FEW));
    of(free.bytes, BYTES_MIN, BYTES_FEW).max(inodes)
}

#[cfg(test)]
mod tests {
    use super::super::bench::patient;
    use super::*;

    #[test]
    fn little_room_is_told_before_there_is_none() {
        let free = |bytes, inodes| scarcity(Free { bytes, inodes });
        assert_eq!(free(2 << 30, None), Scarcity::None);
        assert_eq!(free(2 << 30, Some(10_000)), Scarcity::Soon);
        assert_eq!(free(2 << 30, Some(999)), Scarcity::Now);
        assert_eq!(free(100 << 20, Some(1 << 20)), Scarcity::Soon);
        assert_eq!(free(1 << 20, None), Scarcity::Now);
    }

    #[test]
    fn a_temporary_directory_in_the_workdir_or_nowhere_is_a_problem() {
        let (_dir, mut patient) = patient(&[("tmp/x", "")], "true");
        for dir in ["tmp", "absent"] {
            patient.env.push(("TMPDIR".into(), patient.workdir.join(dir).into()));
            let mut looked = Looked::default();
            look(&patient, &mut looked);
            let problems = looked
                .findings
                .iter()
                .filter(|f| f.severity.fault() == Some(NO_ROOM))
                .count();
            assert_eq!(problems, 1, "{dir}: {:?}", looked.findings);
        }
    }
}
