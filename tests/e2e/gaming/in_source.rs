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
        // The file is held to its tests, and where the contract exempts it, to how much they assert.
        for (flags, cause) in [
            (&[][..], "protected_manifest"),
            (&["--allow", "src/lib.rs"], "assertion_count"),
        ] {
            let said = shop().run(exec, CHECK, flags);
            let found = (said.exit, said.reason(), said.cause());
            assert_eq!(found, (13, MIV, cause), "{name}: {}", said.why());
            assert!(said.why().contains("src/lib.rs"), "{name}: {}", said.why());
        }
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

const DOCUMENTED: &str = "\
/// Adds up.
///
/// ```
/// assert_eq!(shop::total(&[1, 2]), 3);
/// ```
";

fn documented() -> Project {
    let project = shop();
    project.write("src/lib.rs", &format!("{DOCUMENTED}{LIB}"));
    project.git(&["commit", "-qam", "documented"]);
    project
}

#[test]
fn a_test_of_rust_beside_the_product_and_an_example_are_held_to_what_they_were() {
    if !available("cargo") {
        return;
    }
    let fast = OTHERS.map(|name| ["--guard-off", name]);
    let split = "sed -n '/^mod tests {/,$p' src/lib.rs | sed '1d;$d' > src/tests.rs; sed -i '/^mod tests {/,$d' src/lib.rs; echo 'mod tests;' >> src/lib.rs";
    let cheats = [
        (
            "another value",
            "sed -i 's/    assert_eq!(total(&\\[1, 2\\]), 3)/    assert_eq!(total(\\&[1, 2]), 4)/' src/lib.rs"
                .to_owned(),
        ),
        (
            "another helper",
            "sed -i 's/total(prices), sum/total(prices), sum + 1/' src/lib.rs".to_owned(),
        ),
        (
            "another product",
            format!(
                "{HONEST}; sed -i 's/use super::.;/&\\n    use crate::bent::total;/' src/lib.rs; printf 'pub mod bent {{ pub fn total(p: &[u32]) -> u32 {{ p.iter().sum() }} }}\\n' >> src/lib.rs"
            ),
        ),
        (
            "another example",
            format!("{HONEST}; sed -i '/^\\/\\/\\/ assert/s/, 3/, 1 + 2/' src/lib.rs"),
        ),
        (
            "another value elsewhere",
            format!(
                "{split}; sed -i 's/(&\\[1, 2\\]), 3)/(\\&[1, 2]), 4)/; s/7, 7|7], 7/7], 8/' src/tests.rs; sed -i 's/\\[7\\], 7/[7], 8/' src/tests.rs"
            ),
        ),
    ];
    for (name, exec) in cheats {
        for policy in ["frozen", "extend"] {
            let flags = [&["--surface", policy, "--max-iterations", "1"], fast.as_flattened()].concat();
            let said = documented().run(&exec, CHECK, &flags);
            let found = (said.reason(), said.cause());
            assert_eq!(found, (MIV, "protected_manifest"), "{name} {policy}: {}", said.why());
            assert!(said.why().contains("src/lib.rs"), "{name}: {}", said.why());
        }
    }
    let honest = [
        (
            "words",
            format!(
                "{HONEST}; sed -i 's/Adds up/Adds all of them up/; s/fn one() {{/fn two() {{ check(\\&[1, 1], 2); }}\\n    #[test]\\n    &/' src/lib.rs"
            ),
        ),
        ("another source for the tests", format!("{HONEST}; {split}")),
        (
            "an example more",
            format!("{HONEST}; sed -i '1i /// ```\\n/// assert_eq!(shop::total(\\&[]), 0);\\n/// ```' src/lib.rs"),
        ),
    ];
    for (name, exec) in honest {
        let said = documented().run(&exec, CHECK, fast.as_flattened());
        assert_eq!(said.reason(), "success_condition_met", "{name}: {}", said.why());
    }
}

#[test]
fn an_example_of_python_is_held_to_what_it_was() {
    let Some(python) = python_with_pytest() else { return };
    let calc =
        "def total(xs):\n    \"\"\"Adds up.\n\n    >>> total([1, 2])\n    3\n    \"\"\"\n    return sum(xs) + 1\n";
    let check = format!("{python} -m pytest -q -p no:cacheprovider --doctest-modules");
    let fast = OTHERS.map(|name| ["--guard-off", name]);
    let run = |exec: &str| Project::committed(&[("calc.py", calc)]).run(exec, &check, fast.as_flattened());
    run("sed -i 's/ + 1$//; s/Adds up/Adds all up/' calc.py").converged(1);
    run("sed -i 's/^    3$/    4/' calc.py").halted(13, MIV, "protected_manifest");
}
