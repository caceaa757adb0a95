//! A product that moves into another module, and its own tests with it.

use crate::support::story::{Project, available};

const LIB: &str = "\
/// Adds.
///
/// ```
/// assert_eq!(calc::sum(&[2, 2]), 4);
/// ```
pub fn sum(xs: &[i64]) -> i64 {
    xs.iter().sum::<i64>() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_three() {
        assert_eq!(sum(&[1, 2, 3]), 6);
    }
}
";
const MOVED: &str =
    "sed 's/ - 1$//' src/lib.rs > src/sums.rs; printf 'mod sums;\\n\\npub use sums::sum;\\n' > src/lib.rs";

fn calc() -> Project {
    Project::committed(&[
        (
            "Cargo.toml",
            "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
        ),
        (
            "Cargo.lock",
            "version = 3\n\n[[package]]\nname = \"calc\"\nversion = \"0.1.0\"\n",
        ),
        ("src/lib.rs", LIB),
        (".gitignore", "target/\n"),
    ])
}

#[test]
fn tests_that_move_with_their_module_keep_their_names_and_a_weaker_one_does_not() {
    if !available("cargo") {
        return;
    }
    let check = "cargo test --offline --no-fail-fast";
    let project = calc();
    let said = project.run(MOVED, check, &["--max-iterations", "1"]);
    said.converged(1);
    let vetted = project.vetted(&said, "oracle_mutation");
    assert_eq!(vetted["state"], "active", "a test that moved is tried too: {vetted}");
    let replay = project.json(&["replay"]);
    assert_eq!(replay.exit, 0, "{}", replay.all());

    let weaker = format!("{MOVED}; sed -i 's/(sum(&\\[1, 2, 3\\]), 6)/(6, 6)/' src/sums.rs");
    let said = calc().run(&weaker, check, &["--max-iterations", "1"]);
    said.halted(13, "metric_integrity_violation", "collected_set");
}
