//! What a zone was in fact: the word that the launcher leaves.

use std::fmt;

pub use engine::event::zone::{EgressSeen as Connection, Fixture, ZoneRefusal as RefusalCause};
use engine::words::counted;
use serde::{Deserialize, Serialize};

/// What the limits of a zone rest on (SPEC 14.6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    Cgroup,
    /// Limits of each process and a watch; a cgroup ends all of it at once.
    Kill,
    Rlimit,
}

/// What the init saw of itself before it let the command start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneFacts {
    pub backend: String,
    pub backend_version: String,
    pub uid: u32,
    /// Namespaces that are not the launcher's: `cgroup ipc mnt net pid user uts`.
    pub namespaces: Vec<String>,
    /// Effective capabilities, as the kernel prints them.
    pub capabilities: String,
    pub no_new_privileges: bool,
    /// Network interfaces.
    pub interfaces: Vec<String>,
    /// Landlock's version that is enforced; 0 for none.
    pub landlock_abi: u32,
    pub seccomp: bool,
    pub tier: Tier,
    /// Processors that the command may use.
    pub processors: u32,
    /// Which of the command's surroundings the zone fixed.
    pub fixed: Vec<Fixture>,
}

impl fmt::Display for ZoneFacts {
    /// One line for receipts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            backend,
            backend_version,
            uid,
            ..
        } = self;
        f.write_str([backend.as_str(), backend_version].join(" ").trim())?;
        write!(f, ", uid {uid}, ")?;
        write!(
            f,
            "namespaces {}, capabilities {}, ",
            self.namespaces.join(" "),
            self.capabilities
        )?;
        write!(
            f,
            "network {}, Landlock {}",
            self.interfaces.join(" "),
            self.landlock_abi
        )?;
        f.write_str(if self.seccomp { ", seccomp" } else { ", no seccomp" })?;
        f.write_str(match self.tier {
            Tier::Cgroup => ", limits by cgroup",
            Tier::Kill => ", limits by rlimit, ended by cgroup",
            Tier::Rlimit => ", limits by rlimit",
        })?;
        write!(f, ", {}", counted(self.processors.into(), "processor"))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub cause: RefusalCause,
    /// What happened and what to do, for people.
    pub message: String,
}

/// How the command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    Exited(i32),
    Signaled(i32),
    /// It was not found inside, or could not be executed: the error number and a sentence.
    NotStarted {
        errno: i32,
        message: String,
    },
    /// The zone went away under it.
    Lost,
}

/// Everything the launcher has to say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneReport {
    pub facts: Option<ZoneFacts>,
    pub refused: Option<Refusal>,
    pub ended: Option<Ended>,
    pub egress: Vec<Connection>,
    /// A cap of the proxy or the watch ended the zone: `connections`, `bytes`, `time`, `memory`, `volume`.
    pub cap: Option<String>,
    /// Processes that were still there inside when the command had ended, and went with the zone.
    pub left_inside: u32,
    /// The zone could not be ended: something of it is still there.
    pub outlived: bool,
}
