//! What a contract and this machine come to: all that the zones of one run have in common.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use engine::event::policy::{IsolationPolicy, Policy};

use super::credential::Key;
use super::limits::available;
use super::plan::{Bears, Container, Gateway};
use super::plan::{HOME_AT, TMP_AT};
use super::shown::shown;
use super::toolchain::{SYSTEM, Toolchain};
use super::{Bind, Egress, Limits, Network, Refusal, RefusalCause, Work, Zone, ZonePlan, container};
use crate::process::{host_program, path_of};

pub(super) type Variables = Vec<(OsString, OsString)>;

/// Variables that every command may know: they hold no secrets, and much behaves oddly without them.
pub(super) const HARMLESS: &[&str] = &[
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "CI",
    "GIT_TERMINAL_PROMPT",
];

/// Variables by which tools are told where they are.
pub(super) const OF_TOOLCHAINS: &[&str] = &[
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOROOT",
    "GOPATH",
    "GOFLAGS",
    "JAVA_HOME",
    "NODE_PATH",
    "PYTHONPATH",
    "VIRTUAL_ENV",
];

/// Descriptors that one program may hold.
pub(super) const OPEN_FILES: u32 = 4_096;

/// What the zones of a run have in common.
#[derive(Clone, Debug)]
pub struct Terms {
    bwrap: PathBuf,
    /// Where both zones see the tree.
    at: PathBuf,
    toolchain: Toolchain,
    isolation: IsolationPolicy,
    /// Variables that a check gets as the user has them.
    pass_env: Vec<String>,
    umask: u32,
    drop_to: Option<(u32, u32)>,
    container: Option<Container>,
    /// Where plain requests of the work go, and the key that they get on the way.
    gateway: Option<Gateway>,
    /// Processors of the governor.
    processors: u32,
}

/// One command for a zone.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) zone: Zone,
    /// The governor's copy of the tree.
    pub(crate) source: PathBuf,
    /// What it shares with the governor beside that.
    pub(crate) binds: Vec<Bind>,
    pub(crate) argv: Vec<OsString>,
    /// What every command of the run gets, before the zone has its say.
    pub(crate) inherited: Variables,
    /// What this one gets on top.
    pub(crate) env: Variables,
    pub(crate) umask: Option<u32>,
    /// A file of the zone for its standard input.
    pub(crate) input: Option<PathBuf>,
    pub(crate) report: PathBuf,
}

impl Terms {
    /// For the tree at `at`, an absolute path without links.
    ///
    /// # Errors
    /// What this machine or this contract does not allow, before anything starts.
    pub fn of(policy: &Policy, at: &Path, env: &[(OsString, OsString)]) -> Result<Self, Refusal> {
        let mut isolation = policy.isolation.clone();
        isolation.outputs = one_of_each(&isolation.outputs);
        let drop_to = drop_to(isolation.uid)?;
        let path = path_of(env);
        let container = container::find(&isolation, path)?;
        let bwrap = match &container {
            Some(_) => PathBuf::new(),
            None => host_program("bwrap", path).map_err(|_| Refusal {
                cause: RefusalCause::BackendMissing,
                message: "no directory of PATH outside of the workdir has bwrap; install the package bubblewrap"
                    .to_owned(),
            })?,
        };
        let said = |wanted: &str| {
            let found = env.iter().rev().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.as_os_str())
        };
        let mut toolchain = shown(policy, at, env)?;
        if container.is_none() {
            toolchain.keep_outermost();
        }
        Ok(Self {
            bwrap,
            at: at.to_path_buf(),
            toolchain,
            isolation,
            pass_env: policy.oracle.pass_env.clone(),
            umask: 0o022,
            drop_to,
            container,
            gateway: gateway(&policy.isolation, said)?,
            processors: available(),
        })
    }

    /// Takes a key that the gateway is to bear; gives back one that the work itself is to have.
    pub(crate) fn keep(&mut self, key: Key) -> Option<Key> {
        let Some(gateway) = &mut self.gateway else {
            return Some(key);
        };
        gateway.bears = Some(Bears {
            header: self.isolation.gateway_key_header.clone(),
            key: key.secret,
        });
        None
    }

    /// The program that makes them.
    pub(crate) fn bwrap(&self) -> &Path {
        &self.bwrap
    }

    /// What makes them where bwrap does not.
    pub(crate) fn container(&self) -> Option<&Container> {
        self.container.as_ref()
    }

    /// Where zones see the tree.
    pub(crate) fn at(&self) -> &Path {
        &self.at
    }

    /// User and group of a zone where they are not the governor's.
    pub(crate) fn owner(&self) -> Option<(u32, u32)> {
        self.drop_to
    }

    /// Directories of the tree that a check may write.
    pub(crate) fn outputs(&self) -> &[String] {
        &self.isolation.outputs
    }

    /// The whole zone for one command.
    pub(crate) fn plan(&self, order: Order) -> ZonePlan {
        let zone = order.zone;
        let is_work = zone == Zone::Agent;
        // The root of a container is its image's, and so are the tools in it.
        let is_shown = |dir: &&PathBuf| {
            let declared = self
                .isolation
                .toolchains
                .iter()
                .any(|declared| Path::new(declared) == dir.as_path());
            self.container.is_none() || declared
        };
        let seen = self.toolchain.dirs.iter().filter(is_shown).map(|dir| Bind {
            source: dir.clone(),
            at: dir.clone(),
            writable: false,
        });
        let allow = &self.isolation.egress_allow;
        let network = if is_work && (!allow.is_empty() || !self.isolation.gateway.is_empty()) {
            Network::Proxy(Egress {
                allow: allow.clone(),
                connections_max: IsolationPolicy::CONNECTIONS_MAX,
                concurrent_max: IsolationPolicy::CONCURRENT_MAX,
                bytes_max: self.isolation.egress_max_bytes,
                idle_ms: IsolationPolicy::CONNECTION_IDLE_MS,
                total_ms: IsolationPolicy::EGRESS_TIME_MAX_MS,
                gateway: self.gateway.clone(),
            })
        } else {
            Network::Nothing
        };
        let limits = Limits {
            memory_bytes: self.isolation.memory_max_bytes,
            processes: self.isolation.processes_max,
            open_files: OPEN_FILES,
            file_bytes: self.isolation.memory_max_bytes,
            scratch_bytes: self.isolation.scratch_max_bytes,
            volume_bytes: self.isolation.volume_max_bytes,
            // What is the same for every check of a run may be another number on another machine.
            processors: (!is_work).then(|| self.isolation.processors.unwrap_or(self.processors)),
        };
        ZonePlan {
            zone,
            bwrap: self.bwrap.clone(),
            container: self.container.clone(),
            env: self.environment(zone, &order.inherited, order.env),
            binds: seen.chain(order.binds).collect(),
            work: Work {
                source: order.source,
                at: self.at.clone(),
                writable: is_work,
                outputs: Vec::new(),
            },
            network,
            limits,
            require_cgroup: self.isolation.require_cgroup,
            drop_to: self.drop_to,
            umask: order.umask.unwrap_or(self.umask),
            argv: order.argv,
            cwd: self.at.clone(),
            input: order.input.into_iter().collect(),
            report: order.report,
        }
    }

    /// An allow list of what is inherited, then what the command gets on top, then what a zone has of its own.
    fn environment(&self, zone: Zone, inherited: &Variables, own: Variables) -> Variables {
        let named = match zone {
            Zone::Agent => &self.isolation.agent_env,
            Zone::Exec => &self.pass_env,
        };
        let kept = |name: &OsStr| {
            let is = |known: &&str| *name == **known;
            HARMLESS.iter().any(is) || OF_TOOLCHAINS.iter().any(is) || named.iter().any(|known| name == known.as_str())
        };
        let path = path_of(inherited).map(|path| ("PATH".into(), self.visible(path)));
        let inherited = inherited.iter().filter(|(name, _)| kept(name)).cloned();
        let of_zone = [
            ("HOME", HOME_AT),
            ("TMPDIR", TMP_AT),
            ("USER", "loopexec"),
            ("LOGNAME", "loopexec"),
        ];
        let is_replaced = |name: &OsStr| name == "HOME" || name == "TMPDIR" || name.as_bytes().starts_with(b"XDG_");
        let mut env: Variables = self.toolchain.env.clone();
        if zone == Zone::Exec && !self.isolation.outputs.iter().any(|output| output == "target") {
            // cargo would write into the tree, which is read-only.
            env.push(("CARGO_TARGET_DIR".into(), Path::new(TMP_AT).join("target").into()));
        }
        env.extend(path);
        env.extend(inherited);
        env.extend(own.into_iter().filter(|(name, _)| !is_replaced(name)));
        env.extend(of_zone.map(|(name, value)| (name.into(), value.into())));
        let bears = self.gateway.as_ref().is_some_and(|gateway| gateway.bears.is_some());
        if zone == Zone::Agent && bears {
            // Clients that find no key at all do not even ask.
            let name = self
                .isolation
                .gateway_key_env
                .as_ref()
                .unwrap_or(&self.isolation.key_env);
            env.push((name.into(), HELD.into()));
        }
        last_of_each(env)
    }

    /// The directories of the search path that are there inside.
    fn visible(&self, path: &OsStr) -> OsString {
        let seen = |dir: &PathBuf| {
            let mut roots = SYSTEM.iter().map(Path::new).chain([self.at.as_path()]);
            let declared = self.toolchain.dirs.iter().any(|known| dir.starts_with(known));
            dir.is_absolute() && (declared || roots.any(|root| dir.starts_with(root)))
        };
        std::env::join_paths(std::env::split_paths(path).filter(seen)).unwrap_or_default()
    }
}

/// What the work finds in place of a key that the gateway bears.
const HELD: &str = "held-by-loopexec";

/// The gateway of a contract, with a key that the environment holds; one that is minted comes later.
fn gateway<'e>(
    isolation: &IsolationPolicy,
    said: impl Fn(&str) -> Option<&'e OsStr>,
) -> Result<Option<Gateway>, Refusal> {
    let failed = |message: String| Refusal {
        cause: RefusalCause::ProbeFailed,
        message,
    };
    if isolation.gateway.is_empty() {
        return Ok(None);
    }
    let bears = |name: &String| {
        let key = said(name).and_then(OsStr::to_str).filter(|key| !key.is_empty());
        let missing =
            || format!("{name}, which --gateway-key-env names, is not set here or is no text: set it, or mint a key");
        let header = isolation.gateway_key_header.clone();
        key.map(|key| Bears {
            header,
            key: key.to_owned(),
        })
        .ok_or_else(|| failed(missing()))
    };
    Ok(Some(Gateway {
        entries: isolation.gateway.clone(),
        bears: isolation.gateway_key_env.as_ref().map(bears).transpose()?,
        ca: isolation.gateway_ca.as_ref().map(PathBuf::from),
    }))
}

fn drop_to(uid: Option<u32>) -> Result<Option<(u32, u32)>, Refusal> {
    match (rustix::process::geteuid().is_root(), uid) {
        (false, _) => Ok(None),
        (true, Some(uid)) => Ok(Some((uid, uid))),
        (true, None) => Err(Refusal {
            cause: RefusalCause::Privileged,
            message:
                "loopexec runs as root, and what root starts in a zone can leave it; run it as a user, or name an \
                      unprivileged one with --zone-uid"
                    .to_owned(),
        }),
    }
}

/// Directories without the ways in which one of them can be spelled, and without what lies in another of them.
fn one_of_each(outputs: &[String]) -> Vec<String> {
    let spelled = |output: &String| -> PathBuf {
        let parts = Path::new(output).components();
        let plain: PathBuf = parts.filter(|part| *part != Component::CurDir).collect();
        // The tree as a whole is no output, and is refused by its name.
        if plain.as_os_str().is_empty() {
            output.into()
        } else {
            plain
        }
    };
    let mut dirs: Vec<PathBuf> = outputs.iter().map(spelled).collect();
    // What lies in a directory comes right behind it.
    dirs.sort();
    dirs.dedup_by(|dir, before| dir.starts_with(&*before));
    dirs.iter().map(|dir| dir.to_string_lossy().into_owned()).collect()
}

/// Of two entries with one name the later.
pub(super) fn last_of_each(env: Variables) -> Variables {
    let mut kept: Variables = Vec::with_capacity(env.len());
    for (name, value) in env {
        kept.retain(|(known, _)| *known != name);
        kept.push((name, value));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_directory_is_one_output_however_it_is_spelled() {
        let outputs = |named: &[&str]| one_of_each(&named.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(
            outputs(&["out/", "./out", "b", "out", "out/./deep", "out-2"]),
            ["b", "out", "out-2"]
        );
        for refused in [".", "../x", "/x", ""] {
            assert_eq!(outputs(&[refused]), [refused]);
        }
    }
}
