//! Where a check declared hermetic may reach, and where it may not (SPEC 6.7.3).
//!
//! ```text
//!   system ── this machine's software and the kernel's account of itself ──┐
//!   tools  ── where the check's programs are installed ────────────────────┤   the longest path that holds
//!   own    ── the copy, its home and its temporary directory ──────────────┼──>  a place decides
//!   named  ── what the contract allows ────────────────────────────────────┤
//!   barred ── the user's tree, the user's home, what names this machine ───┘
//! ```
//!
//! The world says which paths these are and what was touched. What that means is said here and in `vet::hermeticity`.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

/// Software of the machine, its configuration, and what the kernel says of itself. `/etc` is whole, because every
/// program reads some of it (the loader's cache, users, name service, certificates) and each system calls it otherwise.
const SYSTEM: &[&str] = &[
    "/bin",
    "/dev/fd",
    "/dev/full",
    "/dev/null",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/random",
    "/dev/shm",
    "/dev/stderr",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
    "/etc",
    "/gnu/store",
    "/home/linuxbrew/.linuxbrew",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/opt",
    "/proc",
    "/run/current-system",
    "/run/nscd",
    "/run/systemd/resolve",
    "/run/systemd/userdb",
    "/sbin",
    "/snap",
    "/sys",
    "/usr",
    "/var/cache/fontconfig",
    "/var/lib/gems",
    "/var/run/nscd",
];

/// What tells one machine from another, and its keys.
const BARRED: &[&str] = &[
    "/etc/gshadow",
    "/etc/hostname",
    "/etc/machine-id",
    "/etc/shadow",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/sudoers",
    "/etc/sudoers.d",
];

/// Variables that name directories of tools and of what they have fetched or built.
pub const TOOL_VARIABLES: &[&str] = &[
    "BUNDLE_PATH",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "CCACHE_DIR",
    "CONDA_PREFIX",
    "GEM_HOME",
    "GEM_PATH",
    "GOCACHE",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "GRADLE_USER_HOME",
    "JAVA_HOME",
    "NODE_PATH",
    "NVM_DIR",
    "PYENV_ROOT",
    "PYTHONHOME",
    "PYTHONUSERBASE",
    "RBENV_ROOT",
    "RUSTUP_HOME",
    "SCCACHE_DIR",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TZDIR",
    "UV_PYTHON_INSTALL_DIR",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
];

/// Where packages of node are installed.
const PACKAGES: &[u8] = b"/node_modules/";

/// Which rank a path has among those of its length: the later wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Tool,
    Barred,
    Own,
}

/// The places of one check.
#[derive(Clone, Debug)]
pub struct Roots {
    /// Absolute, without a slash at the end.
    paths: Vec<(Vec<u8>, Rank)>,
    /// The user's tree and home.
    users: Vec<Vec<u8>>,
    workdir: Vec<u8>,
    hosts: Vec<Host>,
}

#[derive(Clone, Copy, Debug)]
struct Host {
    address: IpAddr,
    port: Option<u16>,
}

impl Roots {
    /// The places of every check, for a user with this tree and this home.
    pub fn new(workdir: &[u8], home: Option<&[u8]>) -> Self {
        let users: Vec<Vec<u8>> = [Some(workdir), home].into_iter().flatten().map(plain).collect();
        let fixed = |list: &[&str], rank| list.iter().map(move |path| (path.as_bytes().to_vec(), rank)).collect();
        let mut paths: Vec<(Vec<u8>, Rank)> = fixed(SYSTEM, Rank::Tool);
        let barred: Vec<(Vec<u8>, Rank)> = fixed(BARRED, Rank::Barred);
        paths.extend(barred);
        paths.extend(users.iter().map(|path| (path.clone(), Rank::Barred)));
        Self {
            paths,
            users,
            workdir: plain(workdir),
            hosts: Vec::new(),
        }
    }

    /// The check's own: its copy, its home, its temporary directory.
    pub fn own(&mut self, path: &[u8]) {
        self.paths.push((plain(path), Rank::Own));
    }

    /// Where tools are. Nothing comes of a path that the user's tree or home lies in, or that lies in that tree.
    pub fn tool(&mut self, path: &[u8]) {
        let path = plain(path);
        let is_wide = path.is_empty() || self.users.iter().any(|users| holds(&path, users));
        if path.first() == Some(&b'/') && !is_wide && !holds(&self.workdir, &path) {
            self.paths.push((path, Rank::Tool));
        }
    }

    /// Where the program `file` is: its directory, and what was installed with it. A package of node finds others beside
    /// it.
    pub fn program(&mut self, file: &[u8]) {
        let Some(dir) = parent(file) else { return };
        self.tool(dir);
        self.installed_with(dir);
        let packages = file.windows(PACKAGES.len()).position(|part| part == PACKAGES);
        if let Some(end) = packages.map(|at| at + PACKAGES.len()) {
            self.tool(file.get(..end).unwrap_or_default());
        }
    }

    /// What was installed with the programs in `dir`: of a directory `bin` the prefix beside it. That of a user's own
    /// `.local` holds more than software, so of it the libraries alone.
    pub fn installed_with(&mut self, dir: &[u8]) {
        let (Some(prefix), true) = (parent(dir), name(dir) == b"bin") else {
            return;
        };
        if name(prefix) == b".local" {
            self.tool(&[prefix, b"/lib"].concat());
        } else {
            self.tool(prefix);
        }
    }

    /// An environment of tools in the user's tree: what is in it is held to t0 by other guards.
    pub fn environment(&mut self, path: &[u8]) {
        self.paths.push((plain(path), Rank::Own));
    }

    /// What the contract allows, each a path or an address.
    pub fn named(&mut self, entries: &[String]) {
        for entry in entries {
            match read(entry) {
                Ok(Named::Path) => self.own(entry.as_bytes()),
                Ok(Named::Host { address, port }) => self.hosts.push(Host { address, port }),
                Err(_) => {}
            }
        }
    }

    /// Whether the check may reach this path. The longest path that holds it decides.
    pub fn allow(&self, path: &[u8]) -> bool {
        let deciding = self.paths.iter().filter(|(root, _)| holds(root, path));
        let deciding = deciding.max_by_key(|(root, rank)| (root.len(), *rank));
        deciding.is_some_and(|(_, rank)| *rank != Rank::Barred)
    }

    /// Whether this directory leads to one of the check's own: whoever looks for a file upwards lists it.
    pub fn leads_to_own(&self, dir: &[u8]) -> bool {
        let dir = plain(dir);
        let own = |(_, rank): &&(Vec<u8>, Rank)| *rank == Rank::Own;
        self.paths.iter().filter(own).any(|(root, _)| holds(&dir, root))
    }

    /// Whether the check may connect to this address. A port for names is none of its own, wherever it is: who answers
    /// there asks others.
    pub fn allow_address(&self, address: IpAddr, port: u16) -> bool {
        let address = address.to_canonical();
        let named = |host: &Host| host.address == address && host.port.is_none_or(|own| own == port);
        if self.hosts.iter().any(named) {
            return true;
        }
        (address.is_loopback() || address.is_unspecified()) && port != NAME_SERVICE
    }
}

/// The port of name servers.
pub const NAME_SERVICE: u16 = 53;

/// What an entry of `hermetic_allow` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    Path,
    Host { address: IpAddr, port: Option<u16> },
}

/// Reads an entry of `hermetic_allow`.
///
/// # Errors
/// What it should have been.
pub fn read(entry: &str) -> Result<Named, String> {
    if entry.starts_with('/') {
        return match entry.split('/').any(|part| part == "..") {
            true => Err(format!("a path without `..`, not {entry}")),
            false => Ok(Named::Path),
        };
    }
    if let Ok(socket) = entry.parse::<SocketAddr>() {
        return Ok(Named::Host {
            address: socket.ip().to_canonical(),
            port: Some(socket.port()),
        });
    }
    let bare = entry
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(entry);
    let address = bare.parse::<IpAddr>().map_err(|_| {
        "an absolute path, or an address with or without a port: a trace shows addresses and no names".to_string()
    })?;
    Ok(Named::Host {
        address: address.to_canonical(),
        port: None,
    })
}

fn plain(path: &[u8]) -> Vec<u8> {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
    path.get(..end).unwrap_or_default().to_vec()
}

/// Whether `path` is `root` or lies in it. The empty root is `/`.
fn holds(root: &[u8], path: &[u8]) -> bool {
    path.strip_prefix(root)
        .is_some_and(|rest| rest.is_empty() || rest.first() == Some(&b'/'))
}

fn parent(path: &[u8]) -> Option<&[u8]> {
    let at = path.iter().rposition(|byte| *byte == b'/')?;
    path.get(..at).filter(|parent| !parent.is_empty())
}

fn name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests;
