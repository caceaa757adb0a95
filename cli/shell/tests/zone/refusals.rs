//! What is refused: nothing of the command runs, and a sentence says why.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use shell::zone::{RefusalCause, Zone, ZonePlan};

use super::support::{NOBODY, Room, Run, WORK_AT, is_root, run};

fn refused(run: &Run) -> (RefusalCause, String) {
    assert_eq!(run.status.code(), Some(125), "{run:#?}");
    assert_eq!(
        (run.stdout.as_str(), run.stderr.as_str()),
        ("", ""),
        "nothing was started"
    );
    let report = run.report.clone().unwrap();
    assert_eq!(report.ended, None);
    let refusal = report.refused.unwrap();
    (refusal.cause, refusal.message)
}

/// A shell script in bwrap's place.
pub(crate) fn pretended(room: &Room, script: &str, mode: u32) -> ZonePlan {
    let directory = tempfile::tempdir().unwrap().keep();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    let file = directory.join("bwrap");
    fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    ZonePlan {
        bwrap: file,
        ..room.plan(Zone::Exec, &["true"])
    }
}

pub(crate) fn root_without_a_user_to_drop_to_is_refused_a93() {
    if !is_root() {
        eprintln!("skipped: only root can be refused as root");
        return;
    }
    let room = Room::new();
    for drop_to in [None, Some((0, NOBODY)), Some((NOBODY, 0))] {
        let mut plan = room.plan(Zone::Exec, &["true"]);
        plan.drop_to = drop_to;
        assert_eq!(refused(&run(&plan)).0, RefusalCause::Privileged, "{drop_to:?}");
    }
}

pub(crate) fn a_bwrap_that_is_missing_unsafe_or_failing_is_refused_a91() {
    let room = Room::new();
    for (script, mode, cause, word) in [
        ("", 0o644, RefusalCause::BackendMissing, "install"),
        ("", 0o4755, RefusalCause::BackendUnsafe, "set-user-id"),
        (
            "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1",
            0o755,
            RefusalCause::ProbeFailed,
            "apparmor_restrict",
        ),
        ("exit 0", 0o755, RefusalCause::ProbeFailed, "without a word"),
        (
            "exec < /dev/null; echo here",
            0o755,
            RefusalCause::ProbeFailed,
            "without a word",
        ),
    ] {
        let plan = pretended(&room, script, mode);
        let (said, message) = refused(&run(&plan));
        assert!(said == cause && message.contains(word), "{script}: {said:?} {message}");
        fs::remove_dir_all(plan.bwrap.parent().unwrap()).unwrap();
    }
    let mut absent = room.plan(Zone::Exec, &["true"]);
    absent.bwrap = "/absent/bwrap".into();
    assert_eq!(refused(&run(&absent)).0, RefusalCause::BackendMissing);
}

pub(crate) fn an_init_that_is_not_kept_apart_gets_no_go() {
    let room = Room::new();
    let own = std::env::current_exe().unwrap();
    // Where whoever root drops to finds it.
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::copy(own, place.path().join("init")).unwrap();
    let plan = pretended(
        &room,
        &format!("exec {}/init __zone-init", place.path().display()),
        0o755,
    );
    let (cause, message) = refused(&run(&plan));
    assert!(
        cause == RefusalCause::ProbeFailed && message.contains("not 1"),
        "{message}"
    );
    fs::remove_dir_all(plan.bwrap.parent().unwrap()).unwrap();
}

pub(crate) fn sources_that_are_not_as_planned_are_refused() {
    let room = Room::new();
    let refusal = |change: &dyn Fn(&mut ZonePlan)| {
        let mut plan = room.plan(Zone::Exec, &["true"]);
        change(&mut plan);
        refused(&run(&plan))
    };
    symlink("/usr", room.path("tree/link")).unwrap();
    for output in ["link", "link/lib", "absent", "tests/t"] {
        let (cause, message) = refusal(&|plan| plan.work.outputs = vec![Path::new(WORK_AT).join(output)]);
        let told = message.contains(output) && message.contains("no plain directory");
        assert!(cause == RefusalCause::ProbeFailed && told, "{message}");
    }
    let (_, message) = refusal(&|plan| plan.work.source = room.path("absent"));
    assert!(message.contains("absent"), "{message}");
    symlink(room.path("tree"), room.path("alias")).unwrap();
    let (_, message) = refusal(&|plan| plan.work.source = room.path("alias"));
    assert!(message.contains("alias"), "{message}");
    let (_, message) = refusal(&|plan| plan.work.writable = true);
    assert!(message.contains("writable"), "{message}");
}

/// Takes lines away from bwrap's arguments, and gives it the rest.
const LESS: &str = r#"
less=PATTERN
{
    tr '\0' '\n' < /dev/fd/$2 | grep -Evx -e "$less" | tr '\n' '\0' |
        exec /usr/bin/bwrap --args 3 -- /loopexec/init __zone-init 3<&0 0<&4 4<&-
} 4<&0
"#;

pub(crate) fn a_zone_that_is_less_apart_than_asked_for_gets_no_go() {
    let room = Room::new();
    for (taken, word) in [
        ("--unshare-net", "net namespace"),
        ("--unshare-ipc", "ipc namespace"),
        ("--unshare-cgroup", "cgroup namespace"),
        ("--unshare-uts|--hostname|loopexec", "uts namespace"),
        ("--unshare-pid|--as-pid-1", "not 1"),
        ("--as-pid-1", "not 1"),
        ("--disable-userns", "creation of new user namespaces"),
        ("--new-session", "no session of its own"),
    ] {
        let plan = pretended(&room, &LESS.replace("PATTERN", &format!("'{taken}'")), 0o755);
        let (cause, message) = refused(&run(&plan));
        assert!(
            cause == RefusalCause::ProbeFailed && message.contains(word),
            "{taken}: {message}"
        );
        fs::remove_dir_all(plan.bwrap.parent().unwrap()).unwrap();
    }
}

/// Asks for more before all else, in the list that bwrap reads.
const MORE: &str = r#"
list=$(printf '%s\n' MORE; tr '\0' '\n' < /dev/fd/$2)
printf '%s\n' "$list" | tr '\n' '\0' > /dev/fd/$2
exec /usr/bin/bwrap "$@"
"#;

/// Whatever was asked for before, none is held: without the dropping of all this zone would be refused.
pub(crate) fn capabilities_that_somebody_asked_for_are_dropped() {
    let room = Room::new();
    let plan = pretended(&room, &MORE.replace("MORE", "--cap-add CAP_NET_RAW"), 0o755);
    let held = run(&plan);
    assert_eq!(held.status.code(), Some(0), "{held:#?}");
    let facts = held.report.unwrap().facts.unwrap();
    assert!(facts.capabilities.bytes().all(|digit| digit == b'0'), "{facts:?}");
    fs::remove_dir_all(plan.bwrap.parent().unwrap()).unwrap();
}

/// Shows more than was planned.
pub(crate) fn a_zone_that_shows_more_than_was_planned_gets_no_go() {
    let room = Room::new();
    let plan = pretended(&room, &MORE.replace("MORE", "--ro-bind /etc /srv/etc"), 0o755);
    let (cause, message) = refused(&run(&plan));
    assert!(
        cause == RefusalCause::ProbeFailed && message.contains("/srv/etc is mounted"),
        "{message}"
    );
    fs::remove_dir_all(plan.bwrap.parent().unwrap()).unwrap();
}
