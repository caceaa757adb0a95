//! The order in which a runner is made to run its tests, by its environment alone.
//!
//! | runner | means | orders |
//! | --- | --- | --- |
//! | pytest | a plugin with a random generator of its own | backwards, shuffled, one alone |
//! | unittest | the module that has it name every test | backwards, shuffled, one alone |
//! | cargo | a runner of its test binaries, which gives them more words | shuffled, one alone |
//! | jest, vitest | words that node adds to their command line | shuffled |
//! | Go, googletest, RSpec | variables of their own | shuffled |

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::{HERE, Perturbation};
use crate::oracle::collect::{Detection, takes_plugins};

/// Source of the plugin; it needs nothing but pytest itself.
const PLUGIN: &str = include_str!("order_plugin.py");
const MODULE: &str = "loopexec_probe_order";
const FILE: &str = "loopexec_probe_order.py";
/// What does the same for jest and vitest, by their command line.
const PRELOAD: &str = include_str!("order_preload.cjs");
const PRELOAD_FILE: &str = "loopexec_probe_order.cjs";
/// What either is told, and what it leaves when it was obeyed.
const WANTED: &str = "order";
const SIGN: &str = "order.seen";

/// What cargo starts the test binaries by.
const CARGO_RUNNER: &str = include_str!("order_runner.sh");
const CARGO_RUNNER_FILE: &str = "loopexec_probe_order.sh";
/// The platforms whose binaries may be tested here, as cargo's variable for such a runner names them.
const CARGO_RUNNERS: &[&str] = if cfg!(target_arch = "aarch64") {
    &[
        "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
        "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER",
    ]
} else {
    &[
        "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
        "CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_RUNNER",
    ]
};
/// Where the module that has unittest name every test finds what is wanted.
const UNITTEST: &str = "LOOPEXEC_UNITTEST_ORDER";

/// The largest seed that every runner takes.
pub(crate) const SEED_MAX: u32 = 65_535;

/// An order that is not the suite's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order<'a> {
    Backwards,
    /// By a seed from 1 to [`SEED_MAX`].
    Shuffled(u32),
    /// This test and no other.
    Alone(&'a str),
}

/// What is injected into this runner takes effect, and stands in the place of nothing that the project wants.
pub(crate) fn is_open(runner: &str, check: &Detection, dir: &Path, env: &[(OsString, OsString)]) -> bool {
    match runner {
        "libtest" => !has_own_runner(dir, env),
        _ => takes_plugins(check),
    }
}

/// cargo is told to start test binaries by something: in the tree at `dir`, for the user, or by a variable.
fn has_own_runner(dir: &Path, env: &[(OsString, OsString)]) -> bool {
    let value = |name: &str| {
        env.iter()
            .rev()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value)
    };
    let is_runner = |(name, _): &(OsString, OsString)| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_TARGET_") && name.ends_with("_RUNNER")
    };
    let user = || {
        let below = |name: &str, dir: &str| value(name).map(|home| Path::new(home).join(dir));
        below("CARGO_HOME", "").or_else(|| below("HOME", ".cargo"))
    };
    let below = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let dirs = std::iter::once(dir.to_owned())
        .chain(below)
        .map(|dir| dir.join(".cargo"));
    env.iter().any(is_runner) || dirs.chain(user()).any(|dir| names_a_runner(&dir))
}

fn names_a_runner(dir: &Path) -> bool {
    let files: [PathBuf; 2] = ["config.toml", "config"].map(|name| dir.join(name));
    let texts = files.iter().filter_map(|file| fs::read_to_string(file).ok());
    texts
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .any(|line| {
            let key = line.split(['=', '#']).next().unwrap_or_default();
            key.trim_end().trim_end_matches(['"', '\'']).ends_with("runner")
        })
}

/// What brings the tests of this runner into that order.
///
/// # Errors
/// Why nothing does.
pub(crate) fn change(runner: &str, is_open: bool, order: Order<'_>) -> Result<Perturbation, String> {
    let seed = match (runner, order) {
        ("pytest", _) if !is_open => {
            return Err("the check hides plugins from pytest, by which the order is changed".to_owned());
        }
        ("libtest", _) if !is_open => {
            return Err("the project starts its test binaries by a runner of its own".to_owned());
        }
        ("pytest", order) => return Ok(by_plugin(wanted(order))),
        ("unittest", order) => return Ok(by_starter(wanted(order))),
        ("libtest", Order::Shuffled(_) | Order::Alone(_)) => return Ok(by_cargo_runner(wanted(order))),
        ("", _) => return Err("no runner was recognised that takes an order from its environment".to_owned()),
        (_, Order::Shuffled(seed)) => seed,
        (other, Order::Backwards) => return Err(format!("{other} runs no suite backwards")),
        (other, Order::Alone(_)) => return Err(format!("{other} is not told by its environment which test to run")),
    };
    match runner {
        "go" => Ok(by_words("GOFLAGS", format!("-shuffle={seed}"))),
        "googletest" => Ok(by_googletest(seed)),
        "jest" | "vitest" => Ok(by_preload(seed)),
        "rspec" => Ok(by_words("SPEC_OPTS", format!("--order rand:{seed}"))),
        other => Err(format!("{other} takes no order of its tests from the environment")),
    }
}

/// What is written for those who read it from a file.
fn wanted(order: Order<'_>) -> String {
    match order {
        Order::Backwards => "reverse".to_owned(),
        Order::Shuffled(seed) => seed.to_string(),
        Order::Alone(member) => format!("alone\n{member}"),
    }
}

fn by_starter(wanted: String) -> Perturbation {
    Perturbation {
        files: vec![(WANTED, wanted)],
        of_support: vec![(UNITTEST, format!("{HERE}/{WANTED}"))],
        signs: vec![SIGN],
        ..Perturbation::default()
    }
}

fn by_cargo_runner(wanted: String) -> Perturbation {
    let starts = |name: &&'static str| (*name, format!("sh {HERE}/{CARGO_RUNNER_FILE}"));
    Perturbation {
        files: vec![(CARGO_RUNNER_FILE, CARGO_RUNNER.to_owned()), (WANTED, wanted)],
        of_support: CARGO_RUNNERS.iter().map(starts).collect(),
        signs: vec![SIGN],
        ..Perturbation::default()
    }
}

fn by_plugin(wanted: String) -> Perturbation {
    Perturbation {
        files: vec![(FILE, PLUGIN.to_owned()), (WANTED, wanted)],
        pytest_plugins: vec![MODULE],
        signs: vec![SIGN],
        ..Perturbation::default()
    }
}

fn by_preload(seed: u32) -> Perturbation {
    Perturbation {
        files: vec![(PRELOAD_FILE, PRELOAD.to_owned()), (WANTED, seed.to_string())],
        node_preloads: vec![PRELOAD_FILE],
        signs: vec![SIGN],
        ..Perturbation::default()
    }
}

fn by_words(name: &'static str, words: String) -> Perturbation {
    Perturbation {
        words: vec![(name, words)],
        ..Perturbation::default()
    }
}

fn by_googletest(seed: u32) -> Perturbation {
    Perturbation {
        set: vec![
            ("GTEST_SHUFFLE", "1".to_owned()),
            ("GTEST_RANDOM_SEED", seed.to_string()),
        ],
        ..Perturbation::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_runner_of_the_guard_has_the_means_that_the_guard_counts_on() {
        for runner in engine::vet::order::RUNNERS {
            for (order, has) in [
                (Order::Backwards, runner.backwards),
                (Order::Shuffled(7), true),
                (Order::Alone("tests/test_a.py::test_b"), runner.alone_max > 0),
            ] {
                let change = change(runner.name, true, order);
                assert_eq!(change.is_ok(), has, "{} {order:?}", runner.name);
            }
        }
    }

    #[test]
    fn a_project_that_starts_its_test_binaries_by_something_keeps_it() {
        let dir = tempfile::tempdir().unwrap();
        let check = Detection::default();
        let open = |env: &[(&str, &str)]| {
            let env: Vec<_> = env.iter().map(|(name, value)| (name.into(), value.into())).collect();
            is_open("libtest", &check, dir.path(), &env)
        };
        let home = dir.path().join("home").display().to_string();
        assert!(open(&[("HOME", &home)]));
        assert!(!open(&[("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", "qemu")]));
        for (place, text, is_free) in [
            (
                ".cargo/config.toml",
                "[build]\n# runner = 'x'\n[alias]\nt = 'test --runner'\n",
                true,
            ),
            (
                ".cargo/config.toml",
                "[target.x86_64-unknown-linux-gnu]\nrunner = 'sudo -E'\n",
                false,
            ),
            ("core/.cargo/config", "target.'cfg(unix)'.runner = ['x']\n", false),
            ("home/.cargo/config.toml", "[target.x]\n\"runner\" = 'x'\n", false),
        ] {
            let path = dir.path().join(place);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            assert_eq!(open(&[("HOME", &home)]), is_free, "{place}");
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn a_runner_without_means_says_so_and_so_does_a_check_that_hides_plugins() {
        for (runner, is_open) in [("pytest", false), ("libtest", false), ("nextest", true), ("", true)] {
            assert!(change(runner, is_open, Order::Shuffled(1)).is_err(), "{runner}");
        }
    }
}
