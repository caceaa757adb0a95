//! What goes wrong with the machinery itself. That a command fails is no error but its [`Outcome`](super::Outcome).

use engine::words::counted;
use std::error::Error;
use std::fmt;
use std::path::PathBuf;

use super::outcome::Survivor;

/// Why a command could not be run and accounted for.
#[derive(Debug)]
pub enum ProcessError {
    /// The supervisor did not start or did not answer.
    Start { exe: PathBuf, message: String },
    /// The supervisor died while a command ran.
    Lost(SupervisorLost),
    /// The supervisor was lost earlier and has not been restarted.
    NotRunning,
    /// Word of an earlier supervisor cannot be read or removed.
    Marker { path: PathBuf, message: String },
}

/// The end of a supervisor that nobody asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupervisorLost {
    /// The command that was running.
    pub label: String,
    /// How the supervisor ended, when the system could tell.
    pub how: Option<String>,
    /// The processes it left, the command itself among them.
    pub survivors: Vec<Survivor>,
}

impl fmt::Display for ProcessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start { exe, message } => write!(
                f,
                "the process supervisor ({}) did not start: {message}; check that the binary is in place and may run",
                exe.display()
            ),
            Self::Lost(lost) => lost.fmt(f),
            Self::NotRunning => f.write_str("the process supervisor was lost and has not been restarted"),
            Self::Marker { path, message } => {
                write!(
                    f,
                    "{}: {message}; make sure no earlier run is alive, then remove the file",
                    path.display()
                )
            }
        }
    }
}

impl fmt::Display for SupervisorLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = self.how.as_deref().unwrap_or("no status");
        write!(
            f,
            "the process supervisor died ({how}) while `{}` was running; ",
            self.label
        )?;
        let alive: Vec<String> = self
            .survivors
            .iter()
            .filter(|survivor| !survivor.ended)
            .map(|survivor| survivor.pid.to_string())
            .collect();
        if alive.is_empty() {
            write!(
                f,
                "{} it left ended with it, the output of the command is lost",
                counted(self.survivors.len() as u64, "process")
            )
        } else {
            write!(
                f,
                "these processes could not be ended: {}; end them by hand",
                alive.join(", ")
            )
        }
    }
}

impl Error for ProcessError {}
