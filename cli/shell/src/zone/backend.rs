//! The program that makes namespaces, and the system directories that it is to show.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::bwrap::System;
use super::report::{Refusal, RefusalCause};

/// The first that can switch nested user namespaces off.
const VERSION_MIN: [u32; 3] = [0, 8, 0];

/// Set-user-id or set-group-id.
const GIVES_PRIVILEGES: u32 = 0o6000;

/// Directories of the root that belong to the system's programs; some are links on most machines.
const ROOTS: [&str; 8] = ["bin", "sbin", "lib", "lib32", "lib64", "libx32", "libexec", "usr"];

/// What programs read of `/etc` before they do anything, and what tells them whom to trust.
const ETC: [&str; 5] = [
    "/etc/ld.so.conf.d",
    "/etc/ssl",
    "/etc/ca-certificates",
    "/etc/pki/tls",
    "/etc/alternatives",
];

/// Small files of `/etc` for the same. To copy one costs less than to mount it.
const ETC_FILES: [&str; 2] = ["/etc/ld.so.cache", "/etc/ld.so.conf"];

/// A bwrap that may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backend {
    pub version: String,
}

/// Whether this bwrap may be used, for a preflight: it is asked for its version, which costs a start.
///
/// # Errors
/// When it is not there, would run with privileges, or is too old.
pub fn examine(bwrap: &Path) -> Result<Backend, Refusal> {
    look(bwrap)?;
    let said = Command::new(bwrap)
        .arg("--version")
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .map_err(|error| missing(bwrap, &error.to_string()))?;
    let text = String::from_utf8_lossy(&said.stdout);
    let version = text.split_whitespace().last().unwrap_or_default().to_owned();
    match numbers(&version) {
        Some(numbers) if numbers >= VERSION_MIN => Ok(Backend { version }),
        _ => Err(Refusal {
            cause: RefusalCause::BackendUnsafe,
            message: format!(
                "{} calls itself {:?}; zones need bubblewrap 0.8.0 or later: install one",
                bwrap.display(),
                text.trim()
            ),
        }),
    }
}

/// The part of it that costs nothing, for every zone.
pub(super) fn look(bwrap: &Path) -> Result<(), Refusal> {
    let about = fs::metadata(bwrap).map_err(|error| missing(bwrap, &error.to_string()))?;
    if !about.is_file() || about.permissions().mode() & 0o111 == 0 {
        return Err(missing(bwrap, "it is no program"));
    }
    if about.mode() & GIVES_PRIVILEGES != 0 {
        return Err(Refusal {
            cause: RefusalCause::BackendUnsafe,
            message: format!(
                "{} is set-user-id, so a fault in it is a fault of root: take that bit away (chmod u-s,g-s)",
                bwrap.display()
            ),
        });
    }
    Ok(())
}

fn missing(bwrap: &Path, why: &str) -> Refusal {
    Refusal {
        cause: RefusalCause::BackendMissing,
        message: format!("{} cannot be used ({why}): install bubblewrap", bwrap.display()),
    }
}

fn numbers(version: &str) -> Option<[u32; 3]> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    Some([parts.next()??, parts.next()??, parts.next().flatten().unwrap_or(0)])
}

impl System {
    /// This machine's.
    pub(super) fn look() -> Self {
        let mut system = Self::default();
        for name in ROOTS {
            let at = Path::new("/").join(name);
            match fs::symlink_metadata(&at) {
                Ok(about) if about.is_symlink() => {
                    if let Ok(target) = fs::read_link(&at) {
                        system.links.push((at, target));
                    }
                }
                Ok(about) if about.is_dir() => system.shown.push(at),
                _ => {}
            }
        }
        let there = |path: &PathBuf| !matches!(fs::metadata(path), Err(error) if error.kind() == ErrorKind::NotFound);
        system.shown.extend(ETC.iter().map(PathBuf::from).filter(there));
        let files = ETC_FILES.iter().map(PathBuf::from);
        system.copied.extend(files.filter(|path| path.is_file()));
        system
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(room: &Path, says: &str, mode: u32) -> PathBuf {
        let file = room.join("bwrap");
        fs::write(&file, format!("#!/bin/sh\necho {says}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        file
    }

    fn cause(bwrap: &Path) -> Option<RefusalCause> {
        examine(bwrap).err().map(|refusal| refusal.cause)
    }

    #[test]
    fn a_program_is_taken_by_its_version_and_never_with_privileges() {
        let room = tempfile::tempdir().unwrap();
        for (says, mode, refused) in [
            ("bubblewrap 0.8.0", 0o755, None),
            ("bubblewrap 0.12", 0o755, None),
            ("bubblewrap 1.0.1", 0o755, None),
            ("bubblewrap 0.7.9", 0o755, Some(RefusalCause::BackendUnsafe)),
            ("something else", 0o755, Some(RefusalCause::BackendUnsafe)),
            ("bubblewrap 0.8.0", 0o4755, Some(RefusalCause::BackendUnsafe)),
            ("bubblewrap 0.8.0", 0o2755, Some(RefusalCause::BackendUnsafe)),
            ("bubblewrap 0.8.0", 0o644, Some(RefusalCause::BackendMissing)),
        ] {
            assert_eq!(cause(&program(room.path(), says, mode)), refused, "{says} {mode:o}");
        }
        assert_eq!(cause(&room.path().join("absent")), Some(RefusalCause::BackendMissing));
        assert_eq!(cause(room.path()), Some(RefusalCause::BackendMissing));
    }

    #[test]
    fn of_the_root_only_the_systems_own_directories_are_shown() {
        let system = System::look();
        let roots = system.shown.iter().chain(system.links.iter().map(|(at, _)| at));
        let known = |at: &PathBuf| {
            let top = ROOTS.iter().any(|name| *at == Path::new("/").join(name));
            top || ETC.iter().any(|etc| at == Path::new(etc))
        };
        assert!(roots.clone().all(known), "{system:?}");
        assert!(roots.clone().any(|at| at == Path::new("/usr")), "{system:?}");
    }
}
