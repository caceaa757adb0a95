//! `init`: the state directory and a first configuration, never over what is there.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::config::FILE_NAME;
use crate::paths::{PathError, StateDir};

use super::{Detected, detect};

/// What `init` did and found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Initialised {
    pub state: StateDir,
    pub config: PathBuf,
    /// False when a configuration was already there: it is left as it is.
    pub config_written: bool,
    /// Proposals, the best one first.
    pub detected: Vec<Detected>,
}

/// Why nothing, or not everything, was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitError(pub PathError);

impl fmt::Display for InitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for InitError {}

impl From<PathError> for InitError {
    fn from(error: PathError) -> Self {
        Self(error)
    }
}

/// Makes the state directory of `workdir` and, where there is none, its `loopexec.toml`.
///
/// # Errors
/// What stands in the way, with the path.
pub fn init(workdir: &Path) -> Result<Initialised, InitError> {
    let state = StateDir::create(workdir)?;
    let detected = detect(workdir);
    let config = workdir.join(FILE_NAME);
    let config_written = write_new(&config, &init_file(&detected))?;
    Ok(Initialised {
        state,
        config,
        config_written,
        detected,
    })
}

/// Writes a file that does not exist yet; false when something has that name, be it a broken link.
fn write_new(path: &Path, text: &str) -> Result<bool, PathError> {
    let fail = |error: &io::Error| PathError::io("write", path, error);
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => file.write_all(text.as_bytes()).map(|()| true).map_err(|e| fail(&e)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(fail(&error)),
    }
}

/// The text of a first configuration: the best proposal in force, the others beside it.
pub fn init_file(detected: &[Detected]) -> String {
    let mut out = String::from(
        "# The contract of this project's loops. Flags and LOOPEXEC_* variables win over it.\n\
         # Every setting, its value and where it came from: loopexec run --dry-run\n\
         \n\
         [loop]\n",
    );
    match detected.split_first() {
        None => out.push_str(
            "# The command that decides: exit 0 is green. No test runner was recognised; name yours.\n\
             # check = \"make test\"\n",
        ),
        Some((best, others)) => {
            out.push_str(&format!(
                "# The command that decides: exit 0 is green. Chosen because {}.\n",
                best.why
            ));
            out.push_str(&check_line(best));
            for other in others {
                out.push_str(&format!("# Or, because {}:\n# {}", other.why, check_line(other)));
            }
        }
    }
    out.push_str(
        "\n\
         # The work command, run before each check: a string for sh -c, or an array of words.\n\
         # exec = \"my-agent --prompt-file TASK.md\"\n\
         \n\
         [bounds]\n\
         max_iterations = 10\n\
         # command_timeout = \"20m\"\n\
         # check_timeout = \"10m\"\n\
         # timeout = \"2h\"\n\
         \n\
         [guards]\n\
         # Paths that the work must not touch, beside the built-in ones.\n\
         # blocked = [\"default\", \"migrations/\"]\n",
    );
    out
}

fn check_line(detected: &Detected) -> String {
    let words = detected.check.iter().map(|word| toml::Value::from(word.as_str()));
    format!("check = {}\n", toml::Value::Array(words.collect()))
}
