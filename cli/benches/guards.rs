//! What the guards of an iteration cost beside the check that they guard, on a pytest suite of 200 tests: every figure
//! is a share of the check's own time in the same run, so that the machine's speed cancels out.
//!
//! `cargo bench -p loopexec --bench guards`. `LOOPEXEC_TEST_PYTHON` names a Python with pytest (`python3`), and
//! `LOOPEXEC_BENCH_ITERATIONS` sets the length of a run (12).
//!
//! ```text
//!   execute | look | check (floor) | read the report | look | judge, record | execute ...
//!             \_____________________ the guards ____________________/
//! ```
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints its table and has nobody to report to"
)]

mod place;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use place::{Place, find, median, program};

const TESTS: usize = 200;
const FILES: usize = 20;
/// What the guards of an iteration may take of the check's own time (SPEC 5.1.8).
const SHARE_MAX: f64 = 0.05;

fn main() {
    let iterations = std::env::var("LOOPEXEC_BENCH_ITERATIONS").map_or(12, |text| text.parse().unwrap());
    assert!(iterations >= 10, "fewer than ten iterations have no middle");
    let named = std::env::var("LOOPEXEC_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let Some(python) = with_pytest(&named) else {
        println!("skipped: {named} has no pytest; LOOPEXEC_TEST_PYTHON can name one that has");
        return;
    };

    println!("{iterations} iterations a run, {TESTS} tests in {FILES} files; medians of the iterations");
    println!(
        "{:<44} {:>9} {:>9} {:>7} {:>8}",
        "", "ms", "check, ms", "share", "target"
    );
    let known = iterate(&python, &format!("{python} -m pytest -q"), iterations);
    for (what, part) in [
        (
            "look at the tree before the check",
            (|turn| turn.before_ms) as fn(&Turn) -> f64,
        ),
        ("report read", |turn| turn.reading_ms),
        ("look at the tree behind the check", |turn| turn.behind_ms),
    ] {
        row(what, &known, part, None);
    }
    row(
        "guards of an iteration, together",
        &known,
        Turn::guards_ms,
        Some(SHARE_MAX),
    );
    row(
        "everything but work and check, with syncs",
        &known,
        |turn| turn.beside_ms,
        None,
    );

    // The same by a script of the project: what it starts is nobody's program to look at.
    let hidden = iterate(&python, "./check", iterations);
    let looks = |turn: &Turn| turn.before_ms + turn.behind_ms;
    let [with, without] = [&known, &hidden].map(|turns| median(&turns.iter().map(looks).collect::<Vec<_>>()));
    println!(
        "{:<44} {:>9.2} {without:>9.2}",
        "looks with the check's programs, and without", with
    );
}

/// Milliseconds of one iteration.
struct Turn {
    check_ms: f64,
    before_ms: f64,
    reading_ms: f64,
    behind_ms: f64,
    /// From one end of the work command to the next checkpoint, less the check.
    beside_ms: f64,
}

impl Turn {
    fn guards_ms(&self) -> f64 {
        self.before_ms + self.reading_ms + self.behind_ms
    }
}

/// A run in which each turn edits the product and mends nothing.
fn iterate(python: &str, check: &str, iterations: usize) -> Vec<Turn> {
    let place = Place::new(&std::env::temp_dir());
    project(&place.root.path().join("work"), python);
    let mut run = place.loopexec(&[
        "run",
        "--quiet",
        "--exec",
        "echo \"# $LOOPEXEC_ITERATION\" >> product.py",
    ]);
    run.args(["--check", check, "--collector", "pytest"])
        .args(["--no-progress-k", "off", "--same-failure-r", "off"])
        .args(["--max-iterations", &iterations.to_string()]);
    let status = run.status().unwrap();
    assert_eq!(status.code(), Some(12), "the run did not end at its cap");
    turns(&place)
}

/// 200 tests of a product, all but one of them green, in a repository of their own.
fn project(work: &Path, python: &str) {
    let mut product = String::new();
    for file in 0..FILES {
        let mut suite = String::from("import product\n");
        for test in 0..TESTS / FILES {
            let number = file * (TESTS / FILES) + test;
            let is = if number == 0 { number + 1 } else { number };
            let _ = write!(product, "def f{number}():\n    return {is}\n\n");
            let _ = write!(
                suite,
                "\ndef test_{number}():\n    assert product.f{number}() == {number}\n"
            );
        }
        fs::create_dir_all(work.join("checks")).unwrap();
        fs::write(work.join(format!("checks/test_{file}.py")), suite).unwrap();
    }
    fs::write(work.join("product.py"), product).unwrap();
    fs::write(work.join("conftest.py"), "").unwrap();
    fs::write(work.join(".gitignore"), "__pycache__/\n.pytest_cache/\n.loopexec/\n").unwrap();
    let script = work.join("check");
    fs::write(&script, format!("#!/bin/sh\nexec {python} -m pytest -q\n")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(script, mode).unwrap();
}

/// What the only run says of itself. The first iteration is left out: it reads what later ones know.
fn turns(place: &Place) -> Vec<Turn> {
    let receipt = find(place.root.path(), "receipt.jsonl").unwrap();
    let text = fs::read_to_string(receipt).unwrap();
    let events: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].clone())
        .collect();
    let of = |iteration: u64, name: &str, purpose: &str| {
        let is = |event: &&Value| {
            event["event"] == name
                && event["iteration"] == iteration
                && (purpose.is_empty() || event["purpose"] == purpose)
        };
        events.iter().find(is).unwrap().clone()
    };
    let last = events
        .iter()
        .filter_map(|event| event["iteration"].as_u64())
        .max()
        .unwrap();
    let turn = |iteration| {
        let check = of(iteration, "check_ended", "iteration");
        let look = |purpose| us(&of(iteration, "tree_observed", purpose)["seen"]["cost_us"]);
        let stamp = |name| of(iteration, name, "")["at"]["mono_ms"].as_f64().unwrap();
        assert_eq!(check["measurement"]["members_total"], TESTS, "{check}");
        let check_ms = check["run"]["duration_ms"].as_f64().unwrap();
        Turn {
            check_ms,
            before_ms: look("after_exec"),
            reading_ms: us(&check["measurement"]["cost_us"]),
            behind_ms: look("after_check"),
            beside_ms: stamp("checkpointed") - stamp("execute_ended") - check_ms,
        }
    };
    (2..=last).map(turn).collect()
}

fn us(value: &Value) -> f64 {
    value.as_f64().unwrap() / 1e3
}

/// One line: the median of a part, that of the check, and the median of their ratios.
fn row(what: &str, turns: &[Turn], part: impl Fn(&Turn) -> f64, target: Option<f64>) {
    let middle = |figure: &dyn Fn(&Turn) -> f64| median(&turns.iter().map(figure).collect::<Vec<_>>());
    let share = middle(&|turn| part(turn) / turn.check_ms);
    let target = target.map_or_else(String::new, |most| {
        let verdict = if share > most { "  above" } else { "" };
        format!("<= {:.1} %{verdict}", most * 100.0)
    });
    println!(
        "{what:<44} {:>9.2} {:>9.2} {:>5.2} % {target:>8}",
        middle(&part),
        middle(&|turn| turn.check_ms),
        share * 100.0
    );
}

/// The Python, by its whole path, if it has pytest.
fn with_pytest(named: &str) -> Option<String> {
    let python = if named.contains('/') {
        named.into()
    } else {
        program(named)?
    };
    let place = Place::new(&std::env::temp_dir());
    let mut asked = place.command(&python);
    let has = asked.args(["-m", "pytest", "--version"]).status();
    has.is_ok_and(|status| status.success())
        .then(|| python.to_string_lossy().into_owned())
}
