//! Work that forges, deletes, floods, lingers or waits: what it reaches, and what is said about it.

mod children;
mod output;
mod planted;
mod reports;
mod storage;
mod tampering;

use crate::support::{Answer, Project};

/// One iteration of this work under a check that stays red.
fn worked(project: &Project, work: &str, more: &[&str]) -> Answer {
    project.script("work.sh", work);
    let args = ["run", "--check", "exit 1", "--exec", "./work.sh", "--once"];
    project.loopexec(&[&args, more].concat())
}

/// What the work command came to in the first iteration.
fn executed(project: &Project) -> serde_json::Value {
    project.events_named("execute_ended")[0]["run"].clone()
}
