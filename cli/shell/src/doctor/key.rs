//! The signing key: where no work reaches it, and where nobody else reads it.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use engine::doctor::KEY_UNUSABLE;

use super::{Concern, Looked, Patient};
use crate::paths::signing_key;

pub(super) static CONCERN: Concern = Concern {
    name: "key",
    doc: "the signing key lies outside of the workdir and is read by its owner alone",
    look,
};

const OPEN_TO_OTHERS: u32 = 0o077;

fn look(patient: &Patient, looked: &mut Looked) {
    let path = match signing_key(&patient.workdir, |name| patient.variable(name).map(OsStr::to_owned)) {
        Ok(path) => path,
        Err(error) => {
            let remedy = "set LOOPEXEC_KEY to an absolute path outside of the workdir";
            // A run refuses a key that was named, and goes unsigned without one.
            if patient.variable("LOOPEXEC_KEY").is_some_and(|named| !named.is_empty()) {
                looked.problem(&CONCERN, KEY_UNUSABLE, "LOOPEXEC_KEY", error.to_string(), remedy);
            } else {
                looked.note(
                    &CONCERN,
                    "signing key",
                    format!("receipts stay unsigned: {error}"),
                    remedy,
                );
            }
            return;
        }
    };
    file(&path, looked);
}

fn file(path: &Path, looked: &mut Looked) {
    let shown = path.display();
    let seen = match fs::metadata(path) {
        Ok(seen) => seen,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return looked.ok(&CONCERN, shown, "there is no signing key yet; the first run makes it");
        }
        Err(error) => {
            let detail = format!("it cannot be looked at: {error}");
            return looked.problem(
                &CONCERN,
                KEY_UNUSABLE,
                shown,
                detail,
                "mend its permissions, or name another one",
            );
        }
    };
    let mode = seen.mode() & 0o777;
    if !seen.is_file() {
        looked.problem(
            &CONCERN,
            KEY_UNUSABLE,
            shown,
            "it is not a plain file",
            "move it away; a run makes a new one",
        );
    } else if mode & OPEN_TO_OTHERS != 0 {
        let detail = format!("mode {mode:03o} opens it to others: whoever read it can sign as you");
        let remedy = format!("make a new one: mv {shown} {shown}.old; what it signed is to be trusted less");
        looked.problem(&CONCERN, KEY_UNUSABLE, shown, detail, remedy);
    } else if seen.uid() != rustix::process::geteuid().as_raw() {
        let detail = format!("it belongs to user {}", seen.uid());
        looked.problem(
            &CONCERN,
            KEY_UNUSABLE,
            shown,
            detail,
            "name a key of your own with LOOPEXEC_KEY",
        );
    } else {
        looked.ok(&CONCERN, shown, format!("mode {mode:03o}, outside of the workdir"));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::bench::{patient, said};
    use super::*;

    #[test]
    fn a_key_that_the_work_or_others_reach_is_a_problem() {
        let (_dir, mut patient) = patient(&[("key", "x")], "true");
        let home = tempfile::tempdir().unwrap();
        let outside = home.path().join("key");
        let mut told = |path: &Path| {
            patient.env.push(("LOOPEXEC_KEY".into(), path.into()));
            said(&CONCERN, &patient).remove(0)
        };
        assert!(told(Path::new("relative")).1.contains("absolute"));
        assert_eq!(told(&outside).0, "ok", "it is made by the first run");
        fs::write(&outside, "x").unwrap();
        for (mode, severity) in [(0o600, "ok"), (0o644, "problem"), (0o620, "problem")] {
            fs::set_permissions(&outside, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(told(&outside).0, severity, "{mode:o}");
        }
        assert_eq!(told(home.path()).0, "problem");
        let inside = patient.workdir.join("key");
        patient.env.push(("LOOPEXEC_KEY".into(), inside.into()));
        let mut looked = Looked::default();
        look(&patient, &mut looked);
        assert_eq!(looked.findings[0].severity.fault(), Some(KEY_UNUSABLE));
    }

    #[test]
    fn without_a_place_for_a_key_receipts_stay_unsigned_and_that_is_said() {
        let (_dir, mut patient) = patient(&[], "true");
        patient.env.clear();
        let said = said(&CONCERN, &patient);
        assert!(said[0].0 == "note" && said[0].1.contains("unsigned"), "{said:?}");
    }
}
