//! The order in which a runner is made to run its tests, by its environment alone.
//!
//! | runner | means | orders |
//! | --- | --- | --- |
//! | pytest | a plugin with a random generator of its own | backwards, shuffled, one alone |
//! | jest, vitest | words that node adds to their command line | shuffled |
//! | Go, googletest, RSpec | variables of their own | shuffled |

use super::Perturbation;

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

/// What brings the tests of this runner into that order. `takes_plugins`: pytest finds a plugin that is injected.
///
/// # Errors
/// Why nothing does.
pub(crate) fn change(runner: &str, takes_plugins: bool, order: Order<'_>) -> Result<Perturbation, String> {
    let seed = match (runner, order) {
        ("pytest", _) if !takes_plugins => {
            return Err("the check hides plugins from pytest, by which the order is changed".to_owned());
        }
        ("pytest", Order::Backwards) => return Ok(by_plugin("reverse".to_owned())),
        ("pytest", Order::Shuffled(seed)) => return Ok(by_plugin(seed.to_string())),
        ("pytest", Order::Alone(member)) => return Ok(by_plugin(format!("alone\n{member}"))),
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
                (Order::Alone("tests/test_a.py::test_b"), runner.alone),
            ] {
                let change = change(runner.name, true, order);
                assert_eq!(change.is_ok(), has, "{} {order:?}", runner.name);
            }
        }
    }

    #[test]
    fn a_runner_without_means_says_so_and_so_does_a_check_that_hides_plugins() {
        for (runner, takes_plugins) in [("pytest", false), ("libtest", true), ("", true)] {
            assert!(change(runner, takes_plugins, Order::Shuffled(1)).is_err(), "{runner}");
        }
    }
}
