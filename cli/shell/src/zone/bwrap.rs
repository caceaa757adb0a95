//! A plan, as arguments of bwrap. Nothing is looked at or opened here: one plan on one machine has one rendering.
//!
//! ```text
//!   /usr, /bin ... /etc/ld.so.cache   read-only, as the machine has them
//!   /etc/passwd ...                   made
//!   /proc /dev                        the zone's own
//!   /tmp /home/loopexec /dev/shm      empty, of bounded size
//!   binds, work, outputs              the plan's
//!   everything else                   not there; the root itself takes no file
//! ```

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};

use super::plan::{EXCHANGE_AT, HOME_AT, TMP_AT, ZonePlan};
use super::{INIT, INIT_AT, container};

/// User and group of the command, as the zone sees them.
pub(super) const ID: u32 = 1000;

/// The name that the zone has for itself.
pub(super) const HOST: &str = "loopexec";

/// The zone's shared memory.
pub(super) const SHM_AT: &str = "/dev/shm";

/// Where a pinned directory holds nothing but the way to what is mounted below it.
const PIN_BYTES: u64 = 64 * 1024;

/// Each namespace by name: `--unshare-all` would do without some.
const APART: [&str; 18] = [
    "--unshare-user",
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup",
    "--disable-userns",
    "--assert-userns-disabled",
    "--new-session",
    "--as-pid-1",
    "--die-with-parent",
    "--cap-drop",
    "ALL",
    "--hostname",
    HOST,
    "--symlink",
    "/usr/share/zoneinfo/UTC",
    "/etc/localtime",
];

/// Files of every zone, the same on every machine.
pub(super) const MADE: [(&str, &str); 5] = [
    (
        "/etc/passwd",
        "loopexec:x:1000:1000:loopexec:/home/loopexec:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    ),
    ("/etc/group", "loopexec:x:1000:\nnogroup:x:65534:\n"),
    ("/etc/hosts", "127.0.0.1 localhost loopexec\n::1 localhost\n"),
    (
        "/etc/nsswitch.conf",
        "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n",
    ),
    ("/etc/resolv.conf", "# No name service: the proxy resolves.\n"),
];

/// What this machine's system directories are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct System {
    /// Read-only, each at its own path.
    pub(super) shown: Vec<PathBuf>,
    /// Files that the zone has a copy of.
    pub(super) copied: Vec<PathBuf>,
    /// Links of the root, and where they point.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
}

/// From where the things of a plan can be mounted, in the plan's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sources {
    pub(super) init: PathBuf,
    pub(super) work: PathBuf,
    pub(super) binds: Vec<PathBuf>,
}

/// The arguments in order; `made` are descriptors with the content of [`MADE`], then of what is copied.
pub(super) fn arguments(plan: &ZonePlan, system: &System, sources: &Sources, made: &[RawFd]) -> Vec<OsString> {
    let mut list = Arguments(APART.iter().map(OsString::from).collect());
    list.add(["--uid", &ID.to_string(), "--gid", &ID.to_string()]);
    for path in &system.shown {
        list.mount("--ro-bind", path, path);
    }
    for (at, target) in &system.links {
        list.mount("--symlink", target, at);
    }
    let files = MADE.iter().map(|(at, _)| Path::new(at));
    for (at, descriptor) in files.chain(system.copied.iter().map(PathBuf::as_path)).zip(made) {
        list.add(["--perms", "0644", "--file", &descriptor.to_string()]);
        list.0.push(at.into());
    }
    list.add([
        "--proc",
        "/proc",
        "--ro-bind",
        "/proc/sys",
        "/proc/sys",
        "--dev",
        "/dev",
    ]);
    for at in [SHM_AT, TMP_AT] {
        list.add(["--perms", "1777"]);
        list.scratch(plan.limits.scratch_bytes, Path::new(at));
    }
    list.scratch(plan.limits.scratch_bytes, Path::new(HOME_AT));

    let pins = pins(plan);
    for pin in &pins {
        list.scratch(PIN_BYTES, pin);
    }
    list.mount("--ro-bind", &sources.init, Path::new(INIT_AT));
    let binds = plan.binds.iter().zip(&sources.binds);
    let mut mounts: Vec<(&Path, bool, &Path)> = binds
        .map(|(bind, source)| (bind.at.as_path(), bind.writable, source.as_path()))
        .chain([(plan.work.at.as_path(), plan.work.writable, sources.work.as_path())])
        .collect();
    // What lies below another comes after it, or it would be covered.
    mounts.sort_by_key(|(at, ..)| at.components().count());
    for (at, writable, source) in mounts {
        list.mount(mode(writable), source, at);
    }
    for output in &plan.work.outputs {
        list.scratch(plan.limits.scratch_bytes, output);
    }
    for at in pins
        .iter()
        .map(PathBuf::as_path)
        .chain([Path::new("/dev"), Path::new("/")])
    {
        list.0.extend(["--remount-ro".into(), at.into()]);
    }
    list.add(["--chdir", "/"]);
    list.0
}

/// Where a zone of this plan has something that is not the kernel's own account of itself.
pub(super) fn shown_at(plan: &ZonePlan, system: &System) -> Vec<PathBuf> {
    let own = [TMP_AT, HOME_AT, INIT_AT].map(PathBuf::from);
    let binds = plan.binds.iter().map(|bind| bind.at.clone());
    let made = MADE.iter().map(|(at, _)| PathBuf::from(at));
    let below = plan.work.outputs.iter().cloned().chain([plan.work.at.clone()]);
    own.into_iter()
        .chain(system.shown.iter().cloned())
        .chain(made)
        .chain(binds)
        .chain(below)
        .collect()
}

/// The same for people, by the paths of the plan: the launcher hands bwrap descriptors in their place.
pub fn rendered(plan: &ZonePlan) -> Vec<OsString> {
    if let Some(container) = &plan.container {
        return container::rendered(plan, container);
    }
    let sources = Sources {
        init: std::env::current_exe().unwrap_or_default(),
        work: plan.work.source.clone(),
        binds: plan.binds.iter().map(|bind| bind.source.clone()).collect(),
    };
    let system = System::look();
    let made: Vec<RawFd> = (3..).take(MADE.len() + system.copied.len()).collect();
    let mut list = arguments(plan, &system, &sources, &made);
    list.extend(command().map(OsString::from));
    list
}

/// What bwrap is to start: words that tell nothing of the plan, for they are in every process table.
pub(super) fn command() -> [&'static str; 3] {
    ["--", INIT_AT, INIT]
}

/// What a plan must not ask for, as a sentence.
pub(super) fn unsound(plan: &ZonePlan) -> Option<String> {
    let work = &plan.work;
    let places: Vec<(&Path, bool)> = plan
        .binds
        .iter()
        .map(|bind| (bind.at.as_path(), bind.writable))
        .chain([(work.at.as_path(), work.writable)])
        .collect();
    for (at, _) in places.iter().chain(&outputs(plan)) {
        if !is_plain(at) {
            return Some(format!("{} is no absolute path without dots", at.display()));
        }
        if let Some(kept) = KEPT.iter().find(|kept| at == *kept || Path::new(*kept).starts_with(at)) {
            return Some(format!("{} would cover {kept}, which is the zone's own", at.display()));
        }
        if at.starts_with("/proc") || at.starts_with("/dev") || at.starts_with(INIT_AT) {
            return Some(format!(
                "{} lies in what the kernel or the zone itself shows",
                at.display()
            ));
        }
    }
    for (index, (below, _)) in places.iter().enumerate() {
        for (other, (above, writable)) in places.iter().enumerate() {
            let nested = index != other && below.starts_with(above);
            if nested && (*writable || below == above) {
                let (below, above) = (below.display(), above.display());
                return Some(format!("{below} lies below {above}, where nothing may be mounted"));
            }
        }
    }
    if let Some(output) = work.outputs.iter().find(|output| !below(output, &work.at)) {
        return Some(format!(
            "the output {} does not lie below the work tree",
            output.display()
        ));
    }
    // The command of such a zone could put a link where the next start mounts.
    if work.writable && !work.outputs.is_empty() {
        return Some("a work tree that is writable has outputs to mount below it".to_owned());
    }
    None
}

/// What no mount of a plan may hide.
const KEPT: [&str; 8] = ["/", "/usr", "/etc", "/proc", "/dev", TMP_AT, HOME_AT, EXCHANGE_AT];

fn outputs(plan: &ZonePlan) -> Vec<(&Path, bool)> {
    plan.work.outputs.iter().map(|at| (at.as_path(), true)).collect()
}

fn below(path: &Path, above: &Path) -> bool {
    path != above && path.starts_with(above)
}

/// Absolute, and written the one way that a mount table has for it.
fn is_plain(path: &Path) -> bool {
    use std::path::Component::{Normal, RootDir};
    let mut parts = path.components();
    let plain = parts.next() == Some(RootDir) && parts.all(|part| matches!(part, Normal(_)));
    plain && path.components().collect::<PathBuf>().as_os_str() == path.as_os_str()
}

/// The directories of scratch that something is mounted below. Were they scratch themselves, the command could move
/// them away, with what is mounted there, and put its own in their place.
fn pins(plan: &ZonePlan) -> BTreeSet<PathBuf> {
    let mounted = plan.binds.iter().map(|bind| &bind.at).chain([&plan.work.at]);
    mounted
        .filter_map(|at| {
            let scratch = [TMP_AT, HOME_AT].into_iter().find(|scratch| at.starts_with(scratch))?;
            let first = at.strip_prefix(scratch).ok()?.components().next()?;
            Some(Path::new(scratch).join(first)).filter(|first| first != at)
        })
        .collect()
}

fn mode(writable: bool) -> &'static str {
    if writable { "--bind" } else { "--ro-bind" }
}

struct Arguments(Vec<OsString>);

impl Arguments {
    fn add<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(OsString::from));
    }

    fn mount(&mut self, how: &str, source: &Path, at: &Path) {
        self.0.extend([how.into(), source.into(), at.into()]);
    }

    fn scratch(&mut self, bytes: u64, at: &Path) {
        self.0
            .extend(["--size".into(), bytes.to_string().into(), "--tmpfs".into(), at.into()]);
    }
}

#[cfg(test)]
pub(super) mod tests;
