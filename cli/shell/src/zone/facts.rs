//! What the init sees of itself, and what of it must be so before a command may start.

use std::fs;
use std::io;
use std::path::Path;

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::process::{getgid, getpid, getuid};
use rustix::system::uname;
use serde::{Deserialize, Serialize};

use super::INIT_AT;
use super::bwrap::{HOST, ID, System, shown_at};
use super::mounts::{Mounted, mounts};
use super::plan::{HOME_AT, Network, TMP_AT, ZonePlan};
use super::report::{Fixture, Tier, ZoneFacts};

/// Every kind that a zone has its own of. (`time` moves no clock that anybody reads.)
const NAMESPACES: [&str; 7] = ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"];

/// Capability sets that must be empty.
const CAPABILITIES: [&str; 4] = ["CapInh", "CapPrm", "CapEff", "CapAmb"];

/// Places that nobody in a zone may write to, whatever the permissions in them say.
const READ_ONLY: [&str; 5] = ["/", "/usr", "/dev", "/proc/sys", INIT_AT];

/// How the kernel calls a file system in memory.
const SCRATCH: &str = "tmpfs";

/// As read in `/proc`; nothing is judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) pid: i32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    /// Kind and identity.
    pub(super) namespaces: Vec<(String, String)>,
    /// Set and value, in the kernel's digits.
    pub(super) capabilities: Vec<(String, String)>,
    pub(super) no_new_privileges: bool,
    pub(super) interfaces: Vec<String>,
    /// The session that it is in; 0 for one of the outside.
    pub(super) session: i32,
    /// The name that the machine has in here.
    pub(super) host: String,
    /// Every place of the zone that something is mounted at, but for what the kernel shows, and the kind of it.
    pub(super) mounts: Vec<Mounted>,
    /// Those of [`READ_ONLY`] that are mounted otherwise.
    pub(super) writable: Vec<String>,
    /// Open descriptors other than 0 to 2 that the init did not open itself.
    pub(super) descriptors: Vec<u32>,
}

/// What binds the command, told by itself before it becomes the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Confined {
    pub(super) landlock_abi: u32,
    pub(super) seccomp: bool,
    pub(super) processors: u32,
    /// As the kernel tells it.
    pub(super) umask: Option<u32>,
}

impl Seen {
    /// Looks. Nothing may be opened before.
    pub(super) fn look() -> io::Result<Self> {
        let descriptors = descriptors()?;
        let status = fs::read_to_string("/proc/self/status")?;
        Ok(Self {
            pid: getpid().as_raw_pid(),
            uid: getuid().as_raw(),
            gid: getgid().as_raw(),
            namespaces: namespaces()?,
            capabilities: CAPABILITIES
                .iter()
                .map(|set| ((*set).to_owned(), field(&status, set).unwrap_or_default()))
                .collect(),
            no_new_privileges: field(&status, "NoNewPrivs").as_deref() == Some("1"),
            interfaces: interfaces(&fs::read_to_string("/proc/self/net/dev")?),
            session: session(&fs::read_to_string("/proc/self/stat")?),
            host: uname().nodename().to_string_lossy().into_owned(),
            mounts: mounts(&fs::read("/proc/self/mountinfo")?),
            writable: writable(),
            descriptors,
        })
    }

    /// What is not as it must be, as a sentence; `outside` are the namespaces of the launcher.
    pub(super) fn fault(&self, plan: &ZonePlan, outside: &[(String, String)]) -> Option<String> {
        let uid = ID;
        if self.pid != 1 {
            return Some(format!("its first process is number {} there, not 1", self.pid));
        }
        if (self.uid, self.gid) != (uid, uid) {
            return Some(format!("it runs as {}:{}, not {uid}:{uid}", self.uid, self.gid));
        }
        if let Some(kind) = NAMESPACES.iter().find(|kind| !self.is_apart(kind, outside)) {
            return Some(format!("it has no {kind} namespace of its own"));
        }
        let held = |value: &str| value.is_empty() || value.bytes().any(|digit| digit != b'0');
        if let Some((set, value)) = self.capabilities.iter().find(|(_, value)| held(value)) {
            return Some(format!("it holds capabilities ({set} is {value})"));
        }
        if self.capabilities.len() != CAPABILITIES.len() {
            return Some("its capabilities cannot be read".to_owned());
        }
        if !self.no_new_privileges {
            return Some("programs in it may gain privileges".to_owned());
        }
        if self.interfaces != ["lo"] {
            return Some(format!(
                "it has network interfaces beside lo: {}",
                self.interfaces.join(" ")
            ));
        }
        if !self.writable.is_empty() {
            return Some(format!("not read-only in it: {}", self.writable.join(" ")));
        }
        // Of the session of whoever started it, a terminal could be told what to do.
        if self.session != self.pid {
            return Some("it has no session of its own".to_owned());
        }
        if self.host != HOST {
            return Some(format!("it is called {}, not {HOST}", self.host));
        }
        if let Some(other) = self.unplanned(plan) {
            return Some(format!("{} is mounted in it, which nobody planned", other.display()));
        }
        if !self.descriptors.is_empty() {
            return Some(format!(
                "descriptors {:?} of the outside are open in it",
                self.descriptors
            ));
        }
        None
    }

    fn is_apart(&self, kind: &str, outside: &[(String, String)]) -> bool {
        let of = |list: &[(String, String)]| list.iter().find(|(name, _)| name == kind).map(|(_, id)| id.clone());
        let inside = of(&self.namespaces);
        inside.is_some() && inside != of(outside)
    }

    /// A mount that is neither the root's own nor at or below something that the plan shows.
    fn unplanned(&self, plan: &ZonePlan) -> Option<&Path> {
        let shown = shown_at(plan, &System::look());
        let is_planned = |mounted: &&Mounted| match mounted.at == Path::new("/") {
            true => mounted.kind == SCRATCH,
            false => shown.iter().any(|place| mounted.at.starts_with(place)),
        };
        let unplanned = self.mounts.iter().find(|mounted| !is_planned(mounted));
        unplanned.map(|mounted| mounted.at.as_path())
    }

    /// Which surroundings of its command the zone fixed, by what was seen of them in here.
    fn fixed(&self, plan: &ZonePlan, confined: Confined) -> Vec<Fixture> {
        let is_own = |name: &str, at: &str| {
            let told = plan.env.iter().rev().find(|(known, _)| known == name);
            let is_scratch = |mounted: &Mounted| mounted.at == Path::new(at) && mounted.kind == SCRATCH;
            told.is_some_and(|(_, value)| value == at) && self.mounts.iter().any(is_scratch)
        };
        let is_fixed = |fixture: &Fixture| match fixture {
            Fixture::Network => plan.network == Network::Nothing && self.interfaces == ["lo"],
            Fixture::Root => !self.mounts.is_empty() && self.unplanned(plan).is_none(),
            Fixture::Home => is_own("HOME", HOME_AT),
            Fixture::Tmp => is_own("TMPDIR", TMP_AT),
            Fixture::Host => self.host == HOST && self.uid == ID,
            Fixture::Processors => plan.limits.processors == Some(confined.processors),
            Fixture::Umask => confined.umask == Some(plan.umask),
        };
        Fixture::ALL.iter().copied().filter(is_fixed).collect()
    }

    /// As the report tells it.
    pub(super) fn told(&self, plan: &ZonePlan, confined: Confined, tier: Tier) -> ZoneFacts {
        let effective = self.capabilities.iter().find(|(set, _)| set == "CapEff");
        ZoneFacts {
            backend: "bwrap".to_owned(),
            backend_version: String::new(),
            uid: self.uid,
            namespaces: self.namespaces.iter().map(|(kind, _)| kind.clone()).collect(),
            capabilities: effective.map(|(_, value)| value.clone()).unwrap_or_default(),
            no_new_privileges: self.no_new_privileges,
            interfaces: self.interfaces.clone(),
            landlock_abi: confined.landlock_abi,
            seccomp: confined.seccomp,
            tier,
            processors: confined.processors,
            fixed: self.fixed(plan, confined),
        }
    }
}

/// Kind and identity of those that this process is in.
pub(super) fn namespaces() -> io::Result<Vec<(String, String)>> {
    let one = |kind: &str| {
        let target = fs::read_link(format!("/proc/self/ns/{kind}"))?;
        Ok((kind.to_owned(), target.to_string_lossy().into_owned()))
    };
    NAMESPACES.into_iter().map(one).collect()
}

/// What the kernel says of this process under that name.
pub(super) fn field(status: &str, name: &str) -> Option<String> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.map(|value| value.trim().to_owned())
}

/// The session that the kernel tells of this process; 0 for one that is not in this namespace, and for no answer.
fn session(stat: &str) -> i32 {
    // The name before it may hold anything, and ends with the last bracket.
    let words = stat.rsplit_once(") ").map(|(_, words)| words.split(' '));
    words
        .and_then(|mut words| words.nth(3)?.parse().ok())
        .unwrap_or_default()
}

/// A place that is not there is not as it must be either.
fn writable() -> Vec<String> {
    let read_only = |place: &str| statvfs(place).is_ok_and(|about| about.f_flag.contains(StatVfsMountFlags::RDONLY));
    let others = READ_ONLY.into_iter().filter(|place| !read_only(place));
    others.map(str::to_owned).collect()
}

fn descriptors() -> io::Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc/self/fd")? {
        found.push(entry?.file_name().to_string_lossy().parse().unwrap_or(u32::MAX));
    }
    // The one that the list was read through is in it, and is closed by now.
    found.retain(|number| *number > 2 && fs::symlink_metadata(format!("/proc/self/fd/{number}")).is_ok());
    Ok(found)
}

fn interfaces(table: &str) -> Vec<String> {
    let names = table.lines().filter_map(|line| line.split_once(':'));
    names.map(|(name, _)| name.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zone::plan::{Bind, Egress, Limits, Work, Zone};

    fn pairs(keys: &[&str], value: &str) -> Vec<(String, String)> {
        keys.iter().map(|key| ((*key).to_owned(), value.to_owned())).collect()
    }

    fn plan() -> ZonePlan {
        let own = |name: &str, value: &str| (name.into(), value.into());
        ZonePlan {
            zone: Zone::Exec,
            bwrap: "/usr/bin/bwrap".into(),
            binds: vec![Bind {
                source: "/tools".into(),
                at: "/opt/tools".into(),
                writable: false,
            }],
            work: Work {
                source: "/copy".into(),
                at: "/project".into(),
                writable: false,
                outputs: Vec::new(),
            },
            network: Network::Nothing,
            limits: Limits {
                memory_bytes: 1,
                processes: 1,
                open_files: 1,
                file_bytes: 1,
                scratch_bytes: 1,
                volume_bytes: 1,
                processors: Some(2),
            },
            require_cgroup: false,
            drop_to: None,
            umask: 0o22,
            env: vec![own("HOME", HOME_AT), own("TMPDIR", TMP_AT)],
            argv: vec!["true".into()],
            cwd: "/project".into(),
            input: Vec::new(),
            report: "/report".into(),
            container: None,
        }
    }

    fn mounted(at: &str, kind: &str) -> Mounted {
        Mounted {
            at: at.into(),
            kind: kind.to_owned(),
        }
    }

    fn confined() -> Confined {
        Confined {
            landlock_abi: 1,
            seccomp: true,
            processors: 2,
            umask: Some(0o22),
        }
    }

    fn sound() -> Seen {
        Seen {
            pid: 1,
            uid: 1000,
            gid: 1000,
            namespaces: pairs(&NAMESPACES, "inside"),
            capabilities: pairs(&CAPABILITIES, "0000000000000000"),
            no_new_privileges: true,
            interfaces: vec!["lo".to_owned()],
            session: 1,
            host: HOST.to_owned(),
            mounts: [
                ("/", SCRATCH),
                ("/usr", "ext4"),
                (HOME_AT, SCRATCH),
                (TMP_AT, SCRATCH),
                ("/opt/tools", "ext4"),
                ("/project", "ext4"),
            ]
            .map(|(at, kind)| mounted(at, kind))
            .to_vec(),
            writable: Vec::new(),
            descriptors: Vec::new(),
        }
    }

    fn fault(seen: &Seen) -> Option<String> {
        seen.fault(&plan(), &pairs(&NAMESPACES, "outside"))
    }

    #[test]
    fn a_zone_as_it_must_be_has_no_fault() {
        assert_eq!(fault(&sound()), None);
        let own = namespaces().unwrap();
        assert_eq!(own.len(), NAMESPACES.len());
        assert!(own.iter().all(|(kind, id)| id.starts_with(kind.as_str())), "{own:?}");
    }

    #[test]
    fn each_fact_that_is_otherwise_is_a_fault_of_its_own() {
        type Spoil = fn(&mut Seen);
        let spoiled: [(Spoil, &str); 15] = [
            (|seen| seen.pid = 2, "number 2"),
            (|seen| seen.uid = 0, "0:1000"),
            (|seen| seen.gid = 0, "1000:0"),
            (|seen| seen.namespaces[3].1 = "outside".to_owned(), "net namespace"),
            (|seen| drop(seen.namespaces.remove(0)), "cgroup namespace"),
            (|seen| seen.capabilities[2].1 = "000000000000000f".to_owned(), "CapEff"),
            (|seen| drop(seen.capabilities.pop()), "cannot be read"),
            (|seen| seen.no_new_privileges = false, "gain"),
            (|seen| seen.interfaces.push("eth0".to_owned()), "eth0"),
            (|seen| seen.writable.push("/usr".to_owned()), "read-only in it: /usr"),
            (|seen| seen.descriptors.push(7), "[7]"),
            (|seen| seen.session = 0, "no session of its own"),
            (|seen| seen.host = "builder".to_owned(), "called builder"),
            (|seen| seen.mounts.push(mounted("/home", "ext4")), "/home is mounted"),
            (|seen| seen.mounts[0].kind = "ext4".to_owned(), "/ is mounted"),
        ];
        for (spoil, word) in spoiled {
            let mut seen = sound();
            spoil(&mut seen);
            let said = fault(&seen).unwrap_or_default();
            assert!(said.contains(word), "{word}: {said}");
        }
    }

    #[test]
    fn what_was_fixed_is_told_by_what_was_seen_and_no_more_of_it() {
        assert_eq!(sound().fixed(&plan(), confined()), Fixture::ALL);
        type Spoil = fn(&mut Seen, &mut ZonePlan, &mut Confined);
        let spoiled: [(Spoil, Fixture); 8] = [
            (|seen, _, _| seen.interfaces.push("eth0".to_owned()), Fixture::Network),
            (|_, plan, _| plan.network = Network::Proxy(egress()), Fixture::Network),
            (|seen, _, _| seen.mounts.push(mounted("/srv", "ext4")), Fixture::Root),
            (|seen, _, _| seen.mounts[2].kind = "ext4".to_owned(), Fixture::Home),
            (|_, plan, _| plan.env[1].1 = "/project".into(), Fixture::Tmp),
            (|seen, _, _| seen.host = "builder".to_owned(), Fixture::Host),
            (|_, _, confined| confined.processors = 1, Fixture::Processors),
            (|_, _, confined| confined.umask = None, Fixture::Umask),
        ];
        for (spoil, lost) in spoiled {
            let (mut seen, mut plan, mut confined) = (sound(), plan(), confined());
            spoil(&mut seen, &mut plan, &mut confined);
            let left: Vec<Fixture> = Fixture::ALL.iter().copied().filter(|known| *known != lost).collect();
            assert_eq!(seen.fixed(&plan, confined), left, "{lost}");
        }
    }

    fn egress() -> Egress {
        Egress {
            allow: Vec::new(),
            connections_max: 1,
            concurrent_max: 1,
            bytes_max: 1,
            idle_ms: 1,
            total_ms: 1,
            gateway: None,
        }
    }

    #[test]
    fn a_session_is_read_whatever_the_program_is_called() {
        assert_eq!(session("7 (odd ) 1 2) S 1 7 9 0 -1 4194560"), 9);
        assert_eq!(session("nothing of the kind"), 0);
        let own = session(&fs::read_to_string("/proc/self/stat").unwrap());
        // The leader of the session may be outside of this process namespace, and has no number in it.
        assert!(own >= 0, "{own}");
    }

    #[test]
    fn interfaces_are_read_from_the_kernels_table() {
        let table = "Inter-|   Receive\n face |bytes\n    lo: 0 0\n  eth0:12 3\n";
        assert_eq!(interfaces(table), ["lo", "eth0"]);
    }
}
