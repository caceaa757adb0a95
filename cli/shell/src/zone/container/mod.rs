//! A plan, as arguments of podman or docker (SPEC 14.2.5). Nothing is looked at or started here: one plan has one
//! rendering, and what it cannot say safely it does not say.
//!
//! ```text
//!   root      the image's, read-only; nothing of the machine's but what the plan binds
//!   /tmp, home                 empty, of bounded size
//!   process 1                  loopexec's own init, as under bwrap
//!   network                    none; a listener of the loopback is passed out over the control socket
//! ```

mod probe;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::Path;

use engine::event::policy::ZoneRuntime;

use super::bwrap::{HOST, ID, Sources};
use super::plan::{Container, HOME_AT, TMP_AT, ZonePlan};
use super::{INIT, INIT_AT};

pub(super) use probe::{find, see};

/// The name of the label that a container of ours is known by, whoever is left to end it.
const LABEL: &str = "loopexec.zone";

/// The arguments in order, without those that the init gets.
pub(super) fn arguments(plan: &ZonePlan, container: &Container, sources: &Sources) -> Vec<OsString> {
    let limits = &plan.limits;
    let is_podman = container.engine == ZoneRuntime::Podman;
    let mut list = Arguments(Vec::new());
    list.add(["run", "--rm", "--interactive", "--pull", "never"]);
    list.add(["--label", &labelled(container)]);
    // Whatever the zone, for a listener of its loopback is all that the proxy needs.
    list.add(["--network", "none"]);
    list.add(["--read-only", "--cap-drop", "ALL"]);
    list.add(["--security-opt", "no-new-privileges"]);
    list.add(["--ipc", "private", "--hostname", HOST, "--log-driver", "none"]);
    list.add(["--pids-limit", &limits.processes.to_string()]);
    // The same for both: no swap.
    let memory = format!("{}b", limits.memory_bytes);
    list.add(["--memory", &memory, "--memory-swap", &memory]);
    list.add(["--shm-size", &format!("{}b", limits.scratch_bytes)]);
    for (name, most) in [
        ("core", 0),
        ("nofile", limits.open_files.into()),
        ("fsize", limits.file_bytes),
    ] {
        list.add(["--ulimit", &format!("{name}={most}:{most}")]);
    }
    if is_podman {
        // The image's user is nobody's, and the user's own files stay readable.
        list.add(["--userns", &format!("keep-id:uid={ID},gid={ID}")]);
        // Both on by default: directories that may be written, and variables of ours.
        list.add(["--read-only-tmpfs=false", "--http-proxy=false"]);
        // The control socket, as the descriptor after the usual three.
        list.add(["--preserve-fds", "1"]);
    }
    list.add(["--user", &format!("{ID}:{ID}"), "--workdir", "/"]);
    list.scratch(limits.scratch_bytes, TMP_AT, "1777");
    list.scratch(limits.scratch_bytes, HOME_AT, "1777");
    list.bind(&sources.init, Path::new(INIT_AT), false);
    let binds = plan.binds.iter().zip(&sources.binds);
    let mut binds: Vec<_> = binds
        .map(|(bind, source)| (bind.at.as_path(), bind.writable, source.as_path()))
        .chain([(plan.work.at.as_path(), plan.work.writable, sources.work.as_path())])
        .collect();
    // What lies below another comes after it, or it would be covered.
    binds.sort_by_key(|(at, ..)| at.components().count());
    for (at, writable, source) in binds {
        list.bind(source, at, writable);
    }
    for output in &plan.work.outputs {
        list.scratch(limits.scratch_bytes, &output.to_string_lossy(), "1777");
    }
    list.add(["--entrypoint", INIT_AT]);
    // Nothing after this is an option, whatever an image is called.
    list.add(["--", &container.image]);
    list.0
}

/// The same for people.
pub(super) fn rendered(plan: &ZonePlan, container: &Container) -> Vec<OsString> {
    let sources = Sources {
        init: std::env::current_exe().unwrap_or_default(),
        work: plan.work.source.clone(),
        binds: plan.binds.iter().map(|bind| bind.source.clone()).collect(),
    };
    let mut list = arguments(plan, container, &sources);
    list.push(INIT.into());
    list
}

/// What the options of an engine cannot say, as a sentence: a comma ends a part of them.
pub(super) fn unsound(plan: &ZonePlan) -> Option<String> {
    let binds = plan.binds.iter().flat_map(|bind| [&bind.source, &bind.at]);
    let mut paths = binds
        .chain([&plan.work.source, &plan.work.at])
        .chain(&plan.work.outputs);
    let spoils = |path: &Path| {
        path.to_str()
            .is_none_or(|path| path.contains([',', ':', '"', '\n', '\r']))
    };
    let path = paths.find(|path| spoils(path))?;
    Some(format!(
        "{} has a comma, a colon, a quote or a line's end in its path, which podman and docker read as more than a path",
        path.display()
    ))
}

fn labelled(container: &Container) -> String {
    format!("{LABEL}={}", container.label)
}

struct Arguments(Vec<OsString>);

impl Arguments {
    fn add<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(OsString::from));
    }

    fn bind(&mut self, source: &Path, at: &Path, writable: bool) {
        let mut words = OsString::from("type=bind,source=");
        words.push(source);
        words.push(",destination=");
        words.push(at);
        words.push(if writable { ",readonly=false" } else { ",readonly=true" });
        self.0.extend(["--mount".into(), words]);
    }

    fn scratch(&mut self, bytes: u64, at: &str, mode: &str) {
        self.add(["--tmpfs", &format!("{at}:rw,nosuid,nodev,size={bytes},mode={mode}")]);
    }
}
