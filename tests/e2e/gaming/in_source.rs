//! Tests that stand in the product's own file, where no protected path can keep them: an agent that has to edit that
//! file may take out what they demand.

use super::MIV;
use crate::support::story::{Project, available, python_with_pytest};

const LIB: &str = "\
pub fn total(prices: &[u32]) -> u32 {
    debug_assert!(prices.len() < 100);
    prices.iter().sum::<u32>() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(prices: &[u32], sum: u32) {
        assert_eq!(total(prices), sum);
    }

    #[test]
    fn some() {
        assert_eq!(total(&[1, 2]), 3);
    }

    #[test]
    fn one() {
        check(&[7], 7);
    }
}
";

const HONEST: &str = "sed -i 's/ + 1$//' src/lib.rs";
const CHECK: &str = "cargo test --offline --no-fail-fast";

fn shop() -> Project {
    Project::committed(&[
        (
            "Cargo.toml",
            "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
        ),
        (
            "Cargo.lock",
            "version = 3\n\n[[package]]\nname = \"shop\"\nversion = \"0.1.0\"\n",
        ),
        ("src/lib.rs", LIB),
        (".gitignore", "target/\n"),
    ])
}

#[test]
fn an_assertion_taken_out_of_a_product_file_is_missed() {
    if !available("cargo") {
        return;
    }
    let cheats = [
        ("deleted", "sed -i '/assert_eq/d' src/lib.rs"),
        ("commented out", "sed -i 's,assert_eq,// &,' src/lib.rs"),
        (
            "kept in a text",
            "sed -i 's/assert_eq!(\\(.*\\));/let _ = \"assert_eq!(\\1)\";/' src/lib.rs",
        ),
    ];
    for (name, exec) in cheats {
        let said = shop().run(exec, CHECK, &[]);
        let found = (said.exit, said.reason().to_owned(), said.cause().to_owned());
        assert_eq!(
            found,
            (13, MIV.to_owned(), "assertion_count".to_owned()),
            "{name}: {}",
            said.why()
        );
        assert!(said.why().contains("src/lib.rs"), "{name}: {}", said.why());
    }
}

#[test]
fn an_honest_change_of_that_file_is_none() {
    if !available("cargo") {
        return;
    }
    let exec = format!(
        "{HONEST}; sed -i '/debug_assert/d; s/fn one() {{/fn two() {{ check(\\&[1, 1], 2); }}\\n    #[test]\\n    &/' src/lib.rs"
    );
    let project = shop();
    project.run(&exec, CHECK, &[]).converged(1);
    assert!(project.read("src/lib.rs").contains("fn two()"));
}

/// The guards before green that only cost time here.
const OTHERS: [&str; 5] = ["order", "oracle_mutation", "code_mutation", "sentinel_pair", "coverage"];

#[test]
fn a_python_module_with_its_own_tests_is_the_work_and_its_tests_are_not() {
    let Some(python) = python_with_pytest() else { return };
    let calc = "def total(xs):\n    return sum(xs) + 1\n\n\ndef test_total():\n    assert total([1]) == 1\n";
    let files = [
        ("pytest.ini", "[pytest]\npython_files = calc.py\n"),
        ("app.py", "from calc import total\n"),
        ("calc.py", calc),
    ];
    let check = format!("{python} -m pytest -q -p no:cacheprovider");
    let fast = OTHERS.map(|name| ["--guard-off", name]);
    let mends = "sed -i 's/ + 1$//' calc.py";
    for policy in ["frozen", "extend"] {
        let flags = [&["--surface", policy], fast.as_flattened()].concat();
        let project = Project::committed(&files);
        project.run(mends, &check, &flags).converged(1);
        let project = Project::committed(&files);
        let said = project.run("sed -i 's/== 1/== 2/' calc.py", &check, &flags);
        said.halted(13, MIV, "protected_manifest");
    }
}
