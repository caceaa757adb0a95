//! What belongs to the user stays the user's: edits, index, branches, ignored files, other repositories.

mod repository;
mod restore;

use crate::support::{Answer, Project};

/// The work of one iteration under a check that stays red.
fn worked(project: &Project, work: &str) -> Answer {
    project.loopexec(&["run", "--check", "exit 1", "--exec", work, "--once"])
}
