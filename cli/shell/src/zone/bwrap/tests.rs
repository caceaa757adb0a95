use super::*;
use crate::zone::plan::{Bind, Limits, Network, Work, Zone};

pub(in super::super) fn plan() -> ZonePlan {
    ZonePlan {
        zone: Zone::Exec,
        bwrap: "/usr/bin/bwrap".into(),
        container: None,
        binds: vec![Bind {
            source: "/tools".into(),
            at: "/opt/tools".into(),
            writable: false,
        }],
        work: Work {
            source: "/run/tree".into(),
            at: "/home/user/project".into(),
            writable: false,
            outputs: vec!["/home/user/project/target".into()],
        },
        network: Network::Nothing,
        limits: Limits {
            memory_bytes: 1,
            processes: 1,
            open_files: 1,
            file_bytes: 1,
            scratch_bytes: 4096,
            volume_bytes: 1,
            processors: None,
        },
        require_cgroup: false,
        drop_to: None,
        umask: 0o22,
        env: vec![("SECRET".into(), "canary".into())],
        argv: vec!["canary".into()],
        cwd: "/canary".into(),
        input: vec![],
        report: "/canary/report".into(),
    }
}

fn rendered(plan: &ZonePlan) -> String {
    let system = System {
        shown: vec!["/usr".into(), "/etc/ssl".into()],
        copied: vec!["/etc/ld.so.cache".into()],
        links: vec![("/bin".into(), "usr/bin".into())],
    };
    let sources = Sources {
        init: "/mnt/0".into(),
        work: "/mnt/1".into(),
        binds: vec!["/mnt/2".into()],
    };
    let words = arguments(plan, &system, &sources, &[10, 11, 12, 13, 14, 15]);
    let mut text = String::new();
    for word in words {
        let word = word.into_string().unwrap();
        if !text.is_empty() {
            text.push(if word.starts_with("--") { '\n' } else { ' ' });
        }
        text.push_str(&word);
    }
    text
}

#[test]
fn a_plan_has_this_one_rendering() {
    let expected = "\
--unshare-user
--unshare-ipc
--unshare-pid
--unshare-net
--unshare-uts
--unshare-cgroup
--disable-userns
--assert-userns-disabled
--new-session
--as-pid-1
--die-with-parent
--cap-drop ALL
--hostname loopexec
--symlink /usr/share/zoneinfo/UTC /etc/localtime
--uid 1000
--gid 1000
--ro-bind /usr /usr
--ro-bind /etc/ssl /etc/ssl
--symlink usr/bin /bin
--perms 0644
--file 10 /etc/passwd
--perms 0644
--file 11 /etc/group
--perms 0644
--file 12 /etc/hosts
--perms 0644
--file 13 /etc/nsswitch.conf
--perms 0644
--file 14 /etc/resolv.conf
--perms 0644
--file 15 /etc/ld.so.cache
--proc /proc
--ro-bind /proc/sys /proc/sys
--dev /dev
--perms 1777
--size 4096
--tmpfs /dev/shm
--perms 1777
--size 4096
--tmpfs /tmp
--size 4096
--tmpfs /home/loopexec
--ro-bind /mnt/0 /loopexec/init
--ro-bind /mnt/2 /opt/tools
--ro-bind /mnt/1 /home/user/project
--size 4096
--tmpfs /home/user/project/target
--remount-ro /dev
--remount-ro /
--chdir /";
    assert_eq!(rendered(&plan()), expected);
}

#[test]
fn no_word_of_the_command_is_among_the_arguments() {
    assert!(!rendered(&plan()).contains("canary"));
    assert_eq!(command(), ["--", "/loopexec/init", "__zone-init"]);
}

#[test]
fn what_lies_below_scratch_is_pinned_at_its_first_directory_and_no_other() {
    let mut pinned = plan();
    pinned.work.at = "/tmp/a/b/c".into();
    pinned.work.outputs = Vec::new();
    pinned.binds[0].at = "/tmp/a/d".into();
    let text = rendered(&pinned);
    assert_eq!(text.matches("--tmpfs /tmp/a\n").count(), 1, "{text}");
    let places = [
        "--tmpfs /tmp\n",
        "--tmpfs /tmp/a\n",
        "/mnt/1 /tmp/a/b/c\n",
        "--remount-ro /tmp/a\n",
    ];
    let order: Vec<usize> = places.iter().map(|place| text.find(place).unwrap()).collect();
    assert!(order.is_sorted(), "{text}");
    pinned.work.at = "/tmp/w".into();
    pinned.binds[0].at = "/home/loopexec/tool".into();
    assert_eq!(
        rendered(&pinned).matches("--tmpfs").count(),
        3,
        "each is a mount of its own"
    );
}

#[test]
fn what_is_written_to_is_bound_so_and_nothing_else() {
    let mut agent = plan();
    agent.work.writable = true;
    agent.work.outputs = Vec::new();
    let text = rendered(&agent);
    assert!(text.contains("\n--bind /mnt/1 /home/user/project\n"), "{text}");
    assert_eq!(text.matches("\n--bind").count(), 1, "{text}");
}

#[test]
fn a_plan_that_mounts_where_it_must_not_is_unsound() {
    assert_eq!(unsound(&plan()), None);
    type Spoil = fn(&mut ZonePlan);
    let spoiled: [(Spoil, &str); 14] = [
        (|plan| plan.work.writable = true, "writable has outputs"),
        (
            |plan| plan.work.outputs = vec!["/elsewhere".into()],
            "does not lie below",
        ),
        (
            |plan| plan.work.outputs = vec!["/home/user/project".into()],
            "does not lie below",
        ),
        (
            |plan| plan.work.outputs = vec!["/home/user/project/../x".into()],
            "without dots",
        ),
        (
            |plan| {
                plan.binds[0].at = "/home/user/project/tools".into();
                plan.work.writable = true;
                plan.work.outputs.clear();
            },
            "nothing may be mounted",
        ),
        (
            |plan| plan.binds[0].at = "/home/user/project".into(),
            "nothing may be mounted",
        ),
        (
            |plan| {
                plan.binds[0].at = "/home/user".into();
                plan.binds[0].writable = true;
            },
            "nothing may be mounted",
        ),
        (|plan| plan.binds[0].at = "tools".into(), "absolute"),
        (|plan| plan.binds[0].at = "/opt//tools".into(), "absolute"),
        (|plan| plan.binds[0].at = "/tmp".into(), "the zone's own"),
        (|plan| plan.binds[0].at = "/home".into(), "the zone's own"),
        (|plan| plan.binds[0].at = "/proc/sys/kernel".into(), "shows"),
        (|plan| plan.binds[0].at = "/loopexec/init".into(), "shows"),
        (|plan| plan.work.at = "/".into(), "the zone's own"),
    ];
    for (number, (spoil, word)) in spoiled.into_iter().enumerate() {
        let mut plan = plan();
        spoil(&mut plan);
        let said = unsound(&plan).unwrap_or_default();
        assert!(said.contains(word), "{number}: {said:?} has no {word:?}");
    }
}
