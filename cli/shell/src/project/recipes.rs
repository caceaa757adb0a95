//! A recipe named `test` in a makefile or a justfile.

use super::{Detected, Project};

pub(super) fn make(project: &Project<'_>) -> Option<Detected> {
    let file = project.first(&["GNUmakefile", "makefile", "Makefile"])?;
    let text = project.text(file)?;
    let has_target = text.lines().any(is_make_target);
    has_target.then(|| Detected::new("make", &["make", "test"], format!("{file} has a target test")))
}

pub(super) fn just(project: &Project<'_>) -> Option<Detected> {
    let file = project.first(&["justfile", "Justfile", ".justfile"])?;
    let text = project.text(file)?;
    let has_recipe = text.lines().any(is_just_recipe);
    has_recipe.then(|| Detected::new("just", &["just", "test"], format!("{file} has a recipe test")))
}

/// `test:` or `all test: deps`, and not the assignments `test := x` and `test ::= x`.
fn is_make_target(line: &str) -> bool {
    if line.starts_with(['\t', '#', ' ']) {
        return false;
    }
    let Some((targets, rest)) = line.split_once(':') else {
        return false;
    };
    !rest.trim_start_matches(':').starts_with('=') && targets.split_whitespace().any(|target| target == "test")
}

/// `test:`, `test arg="x": deps` or `@test:`, and not the assignment `test := x`.
fn is_just_recipe(line: &str) -> bool {
    let line = line.strip_prefix('@').unwrap_or(line);
    let Some(rest) = line.strip_prefix("test") else {
        return false;
    };
    if !rest.starts_with([':', ' ']) {
        return false;
    }
    rest.split_once(':').is_some_and(|(_, after)| !after.starts_with('='))
}
