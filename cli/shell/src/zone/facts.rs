//! What the init sees of itself, and what of it must be so before a command may start.

use std::fs;
use std::io;

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::process::{getgid, getpid, getuid};
use serde::{Deserialize, Serialize};

use super::INIT_AT;
use super::report::{Tier, ZoneFacts};

/// Every kind that a zone has its own of. (`time` moves no clock that anybody reads.)
const NAMESPACES: [&str; 7] = ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"];

/// Capability sets that must be empty.
const CAPABILITIES: [&str; 4] = ["CapInh", "CapPrm", "CapEff", "CapAmb"];

/// Places that nobody in a zone may write to, whatever the permissions in them say.
const READ_ONLY: [&str; 5] = ["/", "/usr", "/dev", "/proc/sys", INIT_AT];

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
            writable: writable(),
            descriptors,
        })
    }

    /// What is not as it must be, as a sentence; `outside` are the namespaces of the launcher.
    pub(super) fn fault(&self, uid: u32, outside: &[(String, String)]) -> Option<String> {
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

    /// As the report tells it.
    pub(super) fn told(&self, confined: Confined) -> ZoneFacts {
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
            tier: Tier::Rlimit,
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

    fn pairs(keys: &[&str], value: &str) -> Vec<(String, String)> {
        keys.iter().map(|key| ((*key).to_owned(), value.to_owned())).collect()
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
            writable: Vec::new(),
            descriptors: Vec::new(),
        }
    }

    fn fault(seen: &Seen) -> Option<String> {
        seen.fault(1000, &pairs(&NAMESPACES, "outside"))
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
        let spoiled: [(Spoil, &str); 11] = [
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
        ];
        for (spoil, word) in spoiled {
            let mut seen = sound();
            spoil(&mut seen);
            let said = fault(&seen).unwrap_or_default();
            assert!(said.contains(word), "{word}: {said}");
        }
    }

    #[test]
    fn interfaces_are_read_from_the_kernels_table() {
        let table = "Inter-|   Receive\n face |bytes\n    lo: 0 0\n  eth0:12 3\n";
        assert_eq!(interfaces(table), ["lo", "eth0"]);
    }
}
