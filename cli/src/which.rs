//! Which workdir and which run a command is about: the same words in every command.

use std::path::{Path, PathBuf};

use clap::Args;
use shell::record::{self, Place};

use crate::failure::Failure;

/// Where the run lies.
#[derive(Args, Clone, Debug)]
pub(crate) struct Workdir {
    /// The project that the loop works on
    #[arg(long, value_name = "DIR", default_value = ".", global = false)]
    pub(crate) workdir: PathBuf,
}

impl Default for Workdir {
    fn default() -> Self {
        Self { workdir: ".".into() }
    }
}

/// One recorded run; the latest when none is named.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Which {
    /// Id of the run; the latest one when left out
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// The same, as a flag
    #[arg(long = "run-id", value_name = "RUN", conflicts_with = "run")]
    pub(crate) run_id: Option<String>,
    #[command(flatten)]
    pub(crate) at: Workdir,
}

impl Which {
    pub(crate) fn id(&self) -> Option<&str> {
        self.run.as_deref().or(self.run_id.as_deref())
    }

    /// The run and its directories.
    pub(crate) fn find(&self) -> Result<Place, Failure> {
        Ok(record::find(&self.at.workdir, self.id())?)
    }
}

/// What has to be added to a command line so that it speaks of this workdir.
pub(crate) fn workdir_flag(workdir: &Path) -> String {
    // The system names it without symbolic links, as the workdir is named.
    match std::env::current_dir() {
        Ok(here) if here == workdir => String::new(),
        _ => format!(" --workdir {}", quoted(&workdir.to_string_lossy())),
    }
}

/// A word as a POSIX shell would read it back.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:@%+,".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_quoted_word_is_one_word_of_a_shell() {
        for word in ["plain", "", "two words", "it's", "$HOME;rm -rf", "a\nb"] {
            let out = std::process::Command::new("sh")
                .args(["-c", &format!("printf %s {}", quoted(word))])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(out.stdout).unwrap(), word);
        }
    }
}
