//! Why a path cannot be used, with the path and what the system said of it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// What is wrong with a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathError {
    /// The system refused. `errno` is zero when it gave no number.
    Io {
        doing: &'static str,
        path: PathBuf,
        errno: i32,
        detail: String,
    },
    SymbolicLink {
        path: PathBuf,
    },
    NotADirectory {
        path: PathBuf,
    },
    ForeignOwner {
        path: PathBuf,
        owner: u32,
        user: u32,
    },
    BadRunId {
        found: String,
    },
    RunExists {
        run_id: String,
        path: PathBuf,
    },
    NoSuchRun {
        run_id: String,
        path: PathBuf,
    },
    /// A signing key that the work could read, or commit.
    KeyInWorkdir {
        path: PathBuf,
    },
    /// A variable that names a place must name it absolutely.
    NotAbsolute {
        variable: &'static str,
        path: PathBuf,
    },
    /// Neither of the variables that a home is known by is set.
    NoHome,
    /// The system gave no random bytes.
    NoRandomness {
        detail: String,
    },
}

impl PathError {
    /// What the system said while `doing` something with `path`.
    pub fn io(doing: &'static str, path: &Path, error: &io::Error) -> Self {
        Self::Io {
            doing,
            path: path.to_owned(),
            errno: error.raw_os_error().unwrap_or(0),
            detail: error.to_string(),
        }
    }

    /// What to do about it, for the numbers that people meet.
    fn advice(errno: i32) -> &'static str {
        match Errno::from_raw_os_error(errno) {
            Errno::ROFS => "; the file system is read-only, so no run can keep its record there",
            Errno::ACCESS | Errno::PERM => "; give this user the right to write there, or choose another workdir",
            Errno::NOSPC => "; the file system is full, make room and try again",
            Errno::DQUOT => "; this user's quota is used up, make room and try again",
            Errno::NOTDIR => "; something on the way is a file where a directory is needed",
            Errno::NOENT => "; it does not exist",
            _ => "",
        }
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io {
                doing,
                path,
                errno,
                detail,
            } => write!(f, "cannot {doing} {}: {detail}{}", path.display(), Self::advice(*errno)),
            Self::SymbolicLink { path } => write!(
                f,
                "{} is a symbolic link, and state is never kept behind one; remove the link",
                path.display()
            ),
            Self::NotADirectory { path } => write!(f, "{} is not a directory; move it away", path.display()),
            Self::ForeignOwner { path, owner, user } => write!(
                f,
                "{} belongs to user {owner}, not to user {user} who runs this; run as its owner, or move it away",
                path.display()
            ),
            Self::BadRunId { found } => write!(
                f,
                "{found:?} is no run id; use 1 to 64 letters, digits, dots, dashes and underscores, and not . or .."
            ),
            Self::RunExists { run_id, path } => write!(
                f,
                "a run {run_id} already exists in {}; choose another id, or resume it",
                path.display()
            ),
            Self::NoSuchRun { run_id, path } => write!(f, "there is no run {run_id} in {}", path.display()),
            Self::KeyInWorkdir { path } => write!(
                f,
                "the signing key {} lies inside the workdir, where the work could read or commit it; keep it elsewhere",
                path.display()
            ),
            Self::NotAbsolute { variable, path } => {
                write!(f, "{variable} is {}; it must be an absolute path", path.display())
            }
            Self::NoHome => f.write_str("no place for the signing key: set LOOPEXEC_KEY, XDG_CONFIG_HOME or HOME"),
            Self::NoRandomness { detail } => write!(f, "the system gave no random bytes: {detail}"),
        }
    }
}

impl std::error::Error for PathError {}
