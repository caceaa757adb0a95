//! Go modules.

use super::{Detected, Project};

pub(super) fn detect(project: &Project<'_>) -> Option<Detected> {
    let module = project.has("go.mod");
    module.then(|| Detected::new("go", &["go", "test", "./..."], "go.mod describes a module"))
}
