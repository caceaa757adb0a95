//! `[isolation]`: whether work and check run in zones of their own, and what those hold.

use engine::event::id::Bytes;
use engine::event::policy::ZoneRuntime;

use super::super::error::Fault;
use super::super::setting::{Kind, Off, Setting};
use super::super::value::Value;
use super::super::{duration, money, size};
use super::row;
use crate::zone::proxy::gateway;

const GROUP: &str = "Isolation";

const LARGEST_BYTES: u64 = 1 << 50;

/// A zone has no directory that a relative path could start from.
fn absolute(path: Bytes) -> Result<String, Fault> {
    let found = path.text();
    match String::from_utf8(path.0) {
        Ok(path) if path.starts_with('/') => Ok(path),
        _ => Err(Fault::Malformed {
            wanted: "an absolute path".to_owned(),
            found,
        }),
    }
}

pub(super) const ROWS: &[Setting] = &[
    row!(
        switch,
        isolation.zones,
        row::blank(
            GROUP,
            "isolation.zones",
            "--isolate",
            "LOOPEXEC_ISOLATE",
            "Work and check run in zones of their own, by bwrap, or not at all",
            "The work gets a copy of the tree, no home and no network; the check a read-only tree and no network. The \
             work's changes come back to your tree when its turn is over.",
        )
    ),
    row!(
        switch,
        isolation.degraded,
        row::blank(
            GROUP,
            "isolation.degraded",
            "--isolate-degraded",
            "LOOPEXEC_ISOLATE_DEGRADED",
            "The work is held by Landlock and seccomp alone, where zones are not to be had",
            "It works in your tree with the network open, and sees no home; the check is not isolated. Every report says so.",
        )
    ),
    Setting {
        kind: Kind::Paths,
        off: Off::Word,
        set: |policy, value| {
            let paths = value.unless_off().map(Value::paths).transpose()?.unwrap_or_default();
            policy.isolation.toolchains = paths.into_iter().map(absolute).collect::<Result<_, _>>()?;
            Ok(())
        },
        show: |policy| row::list(&policy.isolation.toolchains),
        ..row::blank(
            GROUP,
            "isolation.toolchains",
            "--toolchain",
            "LOOPEXEC_TOOLCHAINS",
            "Absolute path that both zones see, read-only",
            "They see the system's directories, those of PATH, and the environment of the check's program without it.",
        )
    },
    row!(
        list Names,
        isolation.outputs,
        row::blank(
            GROUP,
            "isolation.check_outputs",
            "--check-output",
            "LOOPEXEC_CHECK_OUTPUTS",
            "Directory of the tree that an isolated check may write",
            "Relative to the workdir. It holds what the tree has there, whatever an earlier check wrote.",
        )
    ),
    row!(
        list Names,
        isolation.egress_allow,
        row::blank(
            GROUP,
            "isolation.egress_allow",
            "--egress-allow",
            "LOOPEXEC_EGRESS_ALLOW",
            "HOST:PORT that isolated work may connect to",
            "Exactly that name and port, by HTTPS through a proxy. `*.HOST:PORT` means every name below HOST; `local:` in \
             front of an entry means that its address may be one of this machine or network; `http://HOST:PORT` lets plain \
             requests through to there, and nothing else. Without any, none.",
        )
    ),
    row!(
        size(LARGEST_BYTES),
        isolation.egress_max_bytes,
        row::blank(
            GROUP,
            "isolation.egress_max",
            "--egress-max",
            "LOOPEXEC_EGRESS_MAX",
            "What isolated work may send and receive in one turn",
            "",
        )
    ),
    row!(
        list EnvNames,
        isolation.agent_env,
        row::blank(
            GROUP,
            "isolation.agent_env",
            "--agent-env",
            "LOOPEXEC_AGENT_ENVS",
            "Environment variable that isolated work gets as you have it",
            "Without it, such work finds the search path, language and terminal and no credentials.",
        )
    ),
    Setting {
        kind: Kind::Count {
            min: 1,
            max: 0xffff_fffe,
        },
        off: Off::WordOrZero,
        set: |policy, value| {
            policy.isolation.uid = match value {
                Value::Off => None,
                value => Some(value.count_u32()?),
            };
            Ok(())
        },
        show: |policy| row::or_off(policy.isolation.uid.as_ref(), u32::to_string),
        ..row::blank(
            GROUP,
            "isolation.uid",
            "--zone-uid",
            "LOOPEXEC_ZONE_UID",
            "User and group number that zones run as when loopexec runs as root",
            "As root without it nothing is isolated, so nothing is run.",
        )
    },
    row!(
        size(LARGEST_BYTES),
        isolation.memory_max_bytes,
        row::blank(
            GROUP,
            "isolation.memory_max",
            "--zone-memory",
            "LOOPEXEC_ZONE_MEMORY",
            "What the processes of one zone may hold in memory together",
            "",
        )
    ),
    row!(
        count(1, 1_000_000),
        isolation.processes_max,
        row::blank(
            GROUP,
            "isolation.processes_max",
            "--zone-processes",
            "LOOPEXEC_ZONE_PROCESSES",
            "Processes and threads that one zone may have at a time",
            "",
        )
    ),
    row!(
        switch,
        isolation.require_cgroup,
        row::blank(
            GROUP,
            "isolation.require_cgroup",
            "--require-cgroup",
            "LOOPEXEC_REQUIRE_CGROUP",
            "No zone without a delegated cgroup of version 2 for its limits",
            "`systemd-run --user --scope -p Delegate=yes loopexec run` gives one. Without it a zone is limited by what the \
             kernel limits a process by, and watched.",
        )
    ),
    row!(
        size(LARGEST_BYTES),
        isolation.scratch_max_bytes,
        row::blank(
            GROUP,
            "isolation.scratch_max",
            "--zone-scratch",
            "LOOPEXEC_ZONE_SCRATCH",
            "What one zone may keep in each of its home and temporary directory",
            "They are in memory, and gone when the zone is.",
        )
    ),
    row!(
        size(LARGEST_BYTES),
        isolation.volume_max_bytes,
        row::blank(
            GROUP,
            "isolation.volume_max",
            "--zone-volume",
            "LOOPEXEC_ZONE_VOLUME",
            "What one zone may keep on disk: the work's tree, a check's outputs",
            "It is looked at while the command runs, which ends when there is more.",
        )
    ),
    Setting {
        kind: Kind::Count { min: 1, max: 1_024 },
        off: Off::WordOrZero,
        set: |policy, value| {
            policy.isolation.processors = match value {
                Value::Off => None,
                value => Some(value.count_u32()?),
            };
            Ok(())
        },
        show: |policy| row::or_off(policy.isolation.processors.as_ref(), u32::to_string),
        ..row::blank(
            GROUP,
            "isolation.processors",
            "--check-processors",
            "LOOPEXEC_CHECK_PROCESSORS",
            "Processors that an isolated check may use",
            "Without it as many as loopexec itself may, which is another number on another machine.",
        )
    },
    row!(
        command?,
        isolation.mint,
        row::blank(
            GROUP,
            "isolation.mint_cmd",
            "--mint-cmd",
            "LOOPEXEC_MINT_CMD",
            "Makes the one key that isolated work gets, anew for every life of the run",
            "It runs with your rights, outside of the tree, and reads {run, label, ttl_ms, cap_microusd} as JSON. It prints \
             {id, secret, expires}. Needs --revoke-cmd, --key-ttl and --key-cap-usd.",
        )
    ),
    row!(
        command?,
        isolation.revoke,
        row::blank(
            GROUP,
            "isolation.revoke_cmd",
            "--revoke-cmd",
            "LOOPEXEC_REVOKE_CMD",
            "Revokes that key, however the run ends",
            "It reads {label, id} as JSON, without id where none is known. Exit status 0 means that no key of this label \
             is good any more, or that there never was one; anything else is tried again.",
        )
    ),
    row!(
        text,
        isolation.key_env,
        row::blank(
            GROUP,
            "isolation.key_env",
            "--key-env",
            "LOOPEXEC_KEY_ENV",
            "Environment variable that isolated work finds the key in",
            "",
        )
    ),
    row!(
        duration?,
        isolation.key_ttl_ms,
        row::blank(
            GROUP,
            "isolation.key_ttl",
            "--key-ttl",
            "LOOPEXEC_KEY_TTL",
            "How long the key may live, whatever becomes of the run",
            "At most an hour longer than --timeout.",
        )
    ),
    row!(
        money? WordOrZero,
        isolation.key_cap_microusd,
        row::blank(
            GROUP,
            "isolation.key_cap_usd",
            "--key-cap-usd",
            "LOOPEXEC_KEY_CAP_USD",
            "Dollars that may be spent with the key; its provider holds to it",
            "",
        )
    ),
    Setting {
        kind: Kind::Names,
        off: Off::Word,
        set: |policy, value| {
            let entries = value.unless_off().map(Value::texts).transpose()?.unwrap_or_default();
            gateway::read(&entries).map_err(|error| Fault::Contradiction {
                detail: error.to_string(),
            })?;
            policy.isolation.gateway = entries;
            Ok(())
        },
        show: |policy| row::list(&policy.isolation.gateway),
        ..row::blank(
            GROUP,
            "isolation.gateway",
            "--gateway",
            "LOOPEXEC_GATEWAYS",
            "NAME=https://HOST[:PORT][/PATH]: variable of isolated work, its way to a model",
            "The work speaks plain HTTP to the address that it finds in NAME; loopexec speaks TLS to the host, adds the \
             key, and gives none to the work. `local:` before `https` means that the host may be of this machine or network.",
        )
    },
    row!(
        text?,
        isolation.gateway_key_env,
        row::blank(
            GROUP,
            "isolation.gateway_key_env",
            "--gateway-key-env",
            "LOOPEXEC_GATEWAY_KEY_ENV",
            "Your environment variable with the key of the gateway, where none is minted",
            "The work finds `held-by-loopexec` in it.",
        )
    ),
    row!(
        text,
        isolation.gateway_key_header,
        row::blank(
            GROUP,
            "isolation.gateway_key_header",
            "--gateway-key-header",
            "LOOPEXEC_GATEWAY_KEY_HEADER",
            "Header that bears the key of the gateway; authorization as a bearer token",
            "x-api-key and x-goog-api-key are others.",
        )
    ),
    Setting {
        kind: Kind::Text,
        off: Off::Word,
        set: |policy, value| {
            let path = value.unless_off().map(Value::text).transpose()?;
            let path = path.map(|path| absolute(Bytes::from(path.as_bytes()))).transpose()?;
            policy.isolation.gateway_ca = path;
            Ok(())
        },
        show: |policy| row::or_off(policy.isolation.gateway_ca.as_ref(), String::clone),
        ..row::blank(
            GROUP,
            "isolation.gateway_ca",
            "--gateway-ca",
            "LOOPEXEC_GATEWAY_CA",
            "Absolute path of PEM certificates that the gateway believes, and no others",
            "Without it, it believes those that this machine does.",
        )
    },
    row!(
        choice ZoneRuntime,
        isolation.runtime,
        row::blank(
            GROUP,
            "isolation.runtime",
            "--runtime",
            "LOOPEXEC_RUNTIME",
            "What makes the zones",
            "In this release podman and docker are only tried: `isolate` shows what they would be started with, and nothing \
             runs in a container.",
        )
    ),
    row!(
        text?,
        isolation.image,
        row::blank(
            GROUP,
            "isolation.image",
            "--image",
            "LOOPEXEC_IMAGE",
            "Image of containers, by its digest: NAME@sha256:DIGEST",
            "loopexec pulls none.",
        )
    ),
];
