//! What a zone is: one value, complete and self-contained, that says nothing about how it is made.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use engine::event::policy::ZoneRuntime;
pub use engine::event::zone::ZoneName as Zone;
use serde::{Deserialize, Serialize};

use crate::process::bytes;

/// The home directory of whoever runs in a zone: empty, writable, gone afterwards.
pub const HOME_AT: &str = "/home/loopexec";

/// The zone's own directory for temporary files.
pub const TMP_AT: &str = "/tmp";

/// Below it lie the program that is process 1, and whatever else of the governor's the plan hands in.
pub const EXCHANGE_AT: &str = "/loopexec";

/// A directory or file of the host that the zone sees, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bind {
    #[serde(with = "bytes::one")]
    pub source: PathBuf,
    #[serde(with = "bytes::one")]
    pub at: PathBuf,
    pub writable: bool,
}

/// The tree that the command works in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// The governor's own copy; never the user's tree.
    #[serde(with = "bytes::one")]
    pub source: PathBuf,
    /// Where the zone sees it: the path of the user's tree, so that what was built there still fits.
    #[serde(with = "bytes::one")]
    pub at: PathBuf,
    pub writable: bool,
    /// Directories below `at` that are empty, writable and gone afterwards. Each is there in `source`, as a directory
    /// that the governor made and reached over no link.
    #[serde(with = "bytes::list")]
    pub outputs: Vec<PathBuf>,
}

/// One entry of the list of what may be connected to (SPEC 14.4.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Egress {
    /// `host:port`, `*.host:port`, with `local:` in front where private addresses are meant.
    pub allow: Vec<String>,
    pub connections_max: u32,
    pub concurrent_max: u32,
    pub bytes_max: u64,
    pub idle_ms: u64,
    pub total_ms: u64,
    /// Where plain requests are passed on to, with a key that the zone does not have.
    pub gateway: Option<Gateway>,
}

/// The way to one host by which the key stays outside (SPEC 14.4.5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gateway {
    /// `NAME=https://host[:port][/path]`, with `local:` before the scheme where private addresses are meant.
    pub entries: Vec<String>,
    pub bears: Option<Bears>,
    /// PEM certificates to believe, in place of the machine's.
    #[serde(with = "bytes::option")]
    pub ca: Option<PathBuf>,
}

/// The key, and the header that bears it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bears {
    pub header: String,
    pub key: String,
}

impl Bears {
    /// As the header has it.
    pub(super) fn value(&self) -> String {
        if self.header.eq_ignore_ascii_case("authorization") {
            format!("Bearer {}", self.key)
        } else {
            self.key.clone()
        }
    }
}

impl fmt::Debug for Bears {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bears({})", self.header)
    }
}

/// What of a network the zone has beside its own loopback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    Nothing,
    /// A listener on its loopback that the launcher serves.
    Proxy(Egress),
}

/// An engine of containers, and what it makes them of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    pub engine: ZoneRuntime,
    #[serde(with = "bytes::one")]
    pub program: PathBuf,
    /// By its digest.
    pub image: String,
    /// What all containers of these zones are known by.
    pub label: String,
}

/// What the zone may use. Limits of the kernel's own kind, lowered only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Address space of one process; and, summed over the zone, what it may hold in memory.
    pub memory_bytes: u64,
    pub processes: u32,
    pub open_files: u32,
    /// One file.
    pub file_bytes: u64,
    /// All of `/tmp`, home and `/dev/shm` each.
    pub scratch_bytes: u64,
    /// All that it may write on disk: work tree and binds, with what was there before.
    pub volume_bytes: u64,
    /// How many processors it may run on; `None` for all there are.
    pub processors: Option<u32>,
}

/// One zone, for one command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZonePlan {
    pub zone: Zone,
    /// The program that makes namespaces.
    #[serde(with = "bytes::one")]
    pub bwrap: PathBuf,
    /// What makes a container in its place.
    pub container: Option<Container>,
    /// Beside the system's own directories: toolchains to read, exchange directories to write. None lies below the
    /// work tree.
    pub binds: Vec<Bind>,
    pub work: Work,
    pub network: Network,
    pub limits: Limits,
    /// Nothing less than a cgroup is to hold it to them.
    pub require_cgroup: bool,
    /// User and group to run as where the governor is uid 0; `None` where it is not.
    pub drop_to: Option<(u32, u32)>,
    pub umask: u32,
    /// All that the command finds in its environment. It reaches the zone over the control socket only.
    #[serde(with = "bytes::pairs")]
    pub env: Vec<(OsString, OsString)>,
    /// Program and arguments; the program is searched in the `PATH` of `env`, inside.
    #[serde(with = "bytes::list")]
    pub argv: Vec<OsString>,
    #[serde(with = "bytes::one")]
    pub cwd: PathBuf,
    /// A file of the zone that the command reads as its standard input; without one that is empty.
    #[serde(with = "bytes::list")]
    pub input: Vec<PathBuf>,
    /// Where the launcher leaves its [`super::ZoneReport`], as JSON, made anew: a place no zone sees.
    #[serde(with = "bytes::one")]
    pub report: PathBuf,
}
