//! What a zone was in fact: what was in force, what it connected to, why it was not to be had (SPEC 14).

use alloc::string::String;
use alloc::vec::Vec;

use super::halt::HaltReason;
use super::shape::{label, wire};

label! {
    /// Which of the two.
    pub enum ZoneName {
        /// Runs the work: its own volume to write, no home, the proxy as its only way out.
        Agent = "agent",
        /// Runs the check: a tree to read, nothing to connect to.
        Exec = "exec",
    }
}
label! {
    /// Why a zone did not start: causes of `isolation_unsatisfiable` and `credential_scope_invalid` (SPEC 4.2).
    pub enum ZoneRefusal {
        BackendMissing = "backend_missing",
        BackendUnsafe = "backend_unsafe",
        Privileged = "privileged",
        AllowlistMissing = "allowlist_missing",
        ProbeFailed = "probe_failed",
        CredentialPathMounted = "credential_path_mounted",
        CredentialUnbounded = "credential_unbounded",
        CredentialNotRevocable = "credential_not_revocable",
    }
}
label! {
    /// What of the network a zone used up.
    pub enum EgressCap { Connections = "connections", Bytes = "bytes", Time = "time" }
}

label! {
    /// What of a command's surroundings its zone fixed, as the zone's own processes saw it (SPEC 6.7.2).
    pub enum Fixture {
        /// No network but a loopback of its own.
        Network = "network",
        /// The root has what the plan shows, and nothing else.
        Root = "root",
        /// A home of its own, with nothing in it.
        Home = "home",
        /// A temporary directory of its own, with nothing in it.
        Tmp = "tmp",
        /// The name of the machine, and the account.
        Host = "host",
        /// As many processors as were asked for.
        Processors = "processors",
        /// The mask under which files are made.
        Umask = "umask",
    }
}

impl ZoneRefusal {
    /// What a run that needs the zone halts with.
    pub const fn reason(self) -> HaltReason {
        match self {
            Self::CredentialPathMounted | Self::CredentialUnbounded | Self::CredentialNotRevocable => {
                HaltReason::CredentialScopeInvalid
            }
            Self::BackendMissing
            | Self::BackendUnsafe
            | Self::Privileged
            | Self::AllowlistMissing
            | Self::ProbeFailed => HaltReason::IsolationUnsatisfiable,
        }
    }
}

wire! {
    /// One zone, as its init and its launcher told it.
    pub struct ZoneSeen {
        pub zone: ZoneName,
        /// What was in force, in words; empty where nothing started.
        pub facts: String,
        /// Which of the surroundings it fixed; empty where nothing started.
        pub fixed: Vec<Fixture>,
        pub refused: Option<ZoneRefusal>,
        /// Why it was refused and what to do, how it was lost, or which cap of the network it passed.
        pub said: String,
        /// Processes that were still there inside when the command had ended. They went with the zone.
        pub left_inside: u32,
        pub egress: Vec<EgressSeen>,
    }
}
wire! {
    /// Connections of a zone to one place with one answer, together.
    pub struct EgressSeen {
        pub host: String,
        pub port: u16,
        pub allowed: bool,
        /// Why not; empty where allowed.
        pub reason: String,
        pub connections: u32,
        pub bytes_in: u64,
        pub bytes_out: u64,
    }
}
