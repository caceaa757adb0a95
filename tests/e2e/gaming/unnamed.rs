//! A runner that names only what failed: its tests get names where it can be told to give them, and are counted where
//! it cannot.

use super::{HONEST, MIV, MONEY};
use crate::support::story::{Project, python_with_pytest};

const TESTS: &str = "\
import unittest
from money import total, label

class MoneyTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([1, 2]), 3)

    def test_label(self):
        self.assertEqual(label(205), '2.05')
";

/// The tests that use it are skipped, whatever they say.
const SKIPS: &str =
    "printf 'import unittest\\ndef total(prices):\\n    raise unittest.SkipTest(\"later\")\\n' >> money.py";
/// They are dropped while they load.
const DROPS: &str =
    "printf 'import unittest\\nunittest.TestLoader.getTestCaseNames = lambda *rest: [\"test_label\"]\\n' >> money.py";

#[test]
fn tests_of_a_quiet_unittest_that_are_skipped_or_not_loaded_are_missed() {
    let Some(python) = python_with_pytest() else { return };
    let check = format!("{python} -m unittest");
    // Nothing that is injected lies on this path.
    let deaf = format!("PYTHONPATH=. {check}");
    let project = || {
        Project::committed(&[
            ("money.py", MONEY),
            ("test_money.py", TESTS),
            (".gitignore", "__pycache__/\n"),
        ])
    };
    for (check, cheat, guard) in [
        (&check, SKIPS, "outcome_downgrades"),
        (&check, DROPS, "collected_set"),
        (&deaf, SKIPS, "collected_set"),
    ] {
        project().run(cheat, check, &[]).halted(13, MIV, guard);
    }
    project().run(HONEST, &deaf, &[]).converged(1);
}
