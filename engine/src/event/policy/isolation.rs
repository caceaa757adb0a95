//! Whether work and check run in zones of their own, and what those hold (SPEC 14).

use alloc::string::String;
use alloc::vec::Vec;

use super::Command;
use crate::event::shape::{label, wire};

label! {
    /// What makes the zones.
    pub enum ZoneRuntime {
        Bwrap = "bwrap",
        /// Containers, by `isolation.image`.
        Podman = "podman",
        Docker = "docker",
    }
}

wire! {
    /// The two zones. Everything but `zones` speaks only where it is true.
    pub struct IsolationPolicy {
        /// The work runs in the agent zone and the check in the exec zone.
        pub zones: bool,
        /// In place of zones, the work is held by what the kernel has without namespaces (SPEC 14.1.5).
        pub degraded: bool,
        /// Directories of the host that both zones see read-only, beside those of the system.
        pub toolchains: Vec<String>,
        /// Directories of the tree, relative to it, that a check may write. They are empty at its start.
        pub outputs: Vec<String>,
        /// `HOST:PORT` that the work may connect to.
        pub egress_allow: Vec<String>,
        /// What the work may send and receive in one turn.
        pub egress_max_bytes: u64,
        /// Names of variables that the work gets as the user has them.
        pub agent_env: Vec<String>,
        /// User and group that zones run as where the governor is uid 0.
        pub uid: Option<u32>,
        /// What one zone may hold in memory.
        pub memory_max_bytes: u64,
        pub processes_max: u32,
        /// Nothing less than a delegated cgroup is to hold a zone to what it may.
        pub require_cgroup: bool,
        /// What one zone may keep in temporary files.
        pub scratch_max_bytes: u64,
        /// What one zone may keep on disk: in the work's volume, a check's outputs, and what either exchanges.
        pub volume_max_bytes: u64,
        /// Processors that a check may use; all that the governor may where none are named.
        pub processors: Option<u32>,
        /// Makes the run's one key: asked on standard input, it answers on standard output (SPEC 14.5).
        pub mint: Option<Command>,
        /// Makes such a key worthless, by its label.
        pub revoke: Option<Command>,
        /// Name of the variable that the work finds the key in.
        pub key_env: String,
        /// How long the key may live.
        pub key_ttl_ms: Option<u64>,
        /// What may be spent with it.
        pub key_cap_microusd: Option<u64>,
        /// `NAME=https://HOST[:PORT][/PATH]`: the work finds a base URL in the variable, and the key stays outside (SPEC
        /// 14.4.5). All of one host and port.
        pub gateway: Vec<String>,
        /// Variable of the governor's environment with the key of the gateway, where none is minted.
        pub gateway_key_env: Option<String>,
        /// Name of the header that bears the key.
        pub gateway_key_header: String,
        /// File of certificates that the host of the gateway is believed by, in place of the machine's.
        pub gateway_ca: Option<String>,
        pub runtime: ZoneRuntime,
        /// Image of the containers, `NAME@sha256:DIGEST`.
        pub image: Option<String>,
    }
}

impl IsolationPolicy {
    /// Connections that the work may make in one turn.
    pub const CONNECTIONS_MAX: u32 = 10_000;
    /// Of these, so many at a time: more are turned away, which ends nothing.
    pub const CONCURRENT_MAX: u32 = 64;
    /// A connection that nobody speaks on for so long is closed.
    pub const CONNECTION_IDLE_MS: u64 = 300_000;
    /// So long after its start, a turn that connects is over.
    pub const EGRESS_TIME_MAX_MS: u64 = 86_400_000;
}

impl Default for IsolationPolicy {
    fn default() -> Self {
        Self {
            zones: false,
            degraded: false,
            toolchains: Vec::new(),
            outputs: Vec::new(),
            egress_allow: Vec::new(),
            egress_max_bytes: 1 << 30,
            agent_env: Vec::new(),
            uid: None,
            memory_max_bytes: 8 << 30,
            processes_max: 1_024,
            require_cgroup: false,
            scratch_max_bytes: 2 << 30,
            volume_max_bytes: 16 << 30,
            processors: None,
            mint: None,
            revoke: None,
            key_env: "AGENT_API_KEY".into(),
            key_ttl_ms: None,
            key_cap_microusd: None,
            gateway: Vec::new(),
            gateway_key_env: None,
            gateway_key_header: "authorization".into(),
            gateway_ca: None,
            runtime: ZoneRuntime::Bwrap,
            image: None,
        }
    }
}
