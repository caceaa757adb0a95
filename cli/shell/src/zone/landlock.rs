//! The kernel's rules on files for the command: read and execute what there is, write to scratch and to what the plan
//! says. A second line: what may not be written is mounted read-only, or not at all.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, PathFdError, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

use super::bwrap::SHM_AT;
use super::plan::{HOME_AT, TMP_AT};
use crate::process::landlock_abi;

/// The newest rules that are known here; an older kernel enforces what it knows of them.
const KNOWN: ABI = ABI::V10;

/// Devices that may be written to. They are what a zone's `/dev` holds.
const DEVICES: [&str; 7] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/pts",
];

/// Why the rules are not in force.
#[derive(Debug)]
pub(super) enum NotBound {
    Rules(RulesetError),
    Place(PathFdError),
    /// The kernel has Landlock, and enforced nothing.
    Nothing,
}

impl std::fmt::Display for NotBound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rules(error) => error.fmt(f),
            Self::Place(error) => error.fmt(f),
            Self::Nothing => f.write_str("the kernel has Landlock, but enforces nothing of it"),
        }
    }
}

impl std::error::Error for NotBound {}

impl From<RulesetError> for NotBound {
    fn from(error: RulesetError) -> Self {
        Self::Rules(error)
    }
}

impl From<PathFdError> for NotBound {
    fn from(error: PathFdError) -> Self {
        Self::Place(error)
    }
}

/// Binds this process for good, and everything that it starts. Says the version that is in force; 0 where the kernel
/// has none.
pub(super) fn bind(writable: &[PathBuf]) -> Result<u32, NotBound> {
    let scratch = [TMP_AT, HOME_AT, SHM_AT].map(PathBuf::from);
    bind_to(&["/".into()], &[&scratch, writable].concat())
}

/// The same for what may be read and executed, and what may be written besides. A place to read that is not there is left
/// out.
pub(super) fn bind_to(readable: &[PathBuf], writable: &[PathBuf]) -> Result<u32, NotBound> {
    let Some(version) = landlock_abi() else {
        return Ok(0);
    };
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?
        .create()?;
    for at in readable.iter().filter(|at| at.exists()) {
        let read = AccessFs::from_read(KNOWN);
        let read = if at.is_dir() {
            read
        } else {
            read & AccessFs::from_file(KNOWN)
        };
        rules = rules.add_rule(PathBeneath::new(PathFd::new(at)?, read))?;
    }
    for at in DEVICES.into_iter().filter(|at| Path::new(at).exists()) {
        let use_it = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
        rules = rules.add_rule(PathBeneath::new(PathFd::new(at)?, use_it))?;
    }
    for at in writable {
        let access = if at.is_dir() {
            write()
        } else {
            write() & AccessFs::from_file(KNOWN)
        };
        rules = rules.add_rule(PathBeneath::new(PathFd::new(at)?, access))?;
    }
    if rules.restrict_self()?.ruleset == RulesetStatus::NotEnforced {
        return Err(NotBound::Nothing);
    }
    Ok(version)
}

/// All but to make devices.
fn write() -> BitFlags<AccessFs> {
    AccessFs::from_all(KNOWN) & !(AccessFs::MakeChar | AccessFs::MakeBlock)
}
