//! A check that writes beside its tests.

use crate::support::story::{Project, available, python_with_pytest};

const CODE: &str = "def total(prices):\n    return sum(prices) - 1\n";
const WRITES: &str = "\
import pathlib
from money import total


def test_total():
    out = pathlib.Path(__file__).parent / 'output'
    out.mkdir(exist_ok=True)
    (out / 'total.txt').write_text(str(total([1, 2])))
    assert (out / 'total.txt').read_text() == '3'
";
/// What it expects is what it found the first time.
const KEEPS: &str = "\
import pathlib
from money import total


def test_total():
    kept = pathlib.Path(__file__).parent / 'kept.txt'
    if not kept.exists():
        kept.write_text('3')
    assert str(total([1, 2])) == kept.read_text()
";
const HONEST: &str = "sed -i 's/ - 1$//' money.py";

#[test]
fn what_a_check_writes_each_time_may_differ_and_what_it_expects_may_not() {
    let Some(python) = python_with_pytest() else { return };
    let check = format!("{python} -m pytest -q");
    let project = Project::money(CODE, WRITES);
    let commit = "git add -A; git -c user.name=a -c user.email=a@b commit -q -m turn";
    let tried = format!("{HONEST}; {python} -m pytest -q > /dev/null; {commit}");
    project.run(&tried, &check, &[]).converged(1);

    let project = Project::money(CODE, KEEPS);
    let said = project.run("printf 2 > tests/kept.txt", &check, &["--max-iterations", "1"]);
    said.halted(13, "metric_integrity_violation", "check_mutation");
    Project::money(CODE, KEEPS).run(HONEST, &check, &[]).converged(1);
}

const MAKEFILE: &str = "\
test: tests/test_sum
\t./tests/test_sum
tests/test_sum: tests/test_sum.c sum.c
\t$(CC) -o $@ tests/test_sum.c sum.c
";
const TEST_C: &str = "\
#include <assert.h>
int sum(int a, int b);
int main(void) { assert(sum(1, 2) == 3); return 0; }
";

#[test]
fn what_a_compiler_makes_beside_tests_may_differ_and_every_copy_makes_it_again() {
    if !available("make") || !available("cc") {
        return;
    }
    let project = || {
        Project::committed(&[
            ("Makefile", MAKEFILE),
            ("sum.c", "int sum(int a, int b) { return a - b; }\n"),
            ("tests/test_sum.c", TEST_C),
        ])
    };
    let mended = "sed -i 's/a - b/a + b/' sum.c";
    project().run(mended, "make -s test", &[]).converged(1);
    let built = format!("{mended}; make -s test");
    project().run(&built, "make -s test", &[]).converged(1);

    let stub = "echo 'int main(void) { return 0; }' | cc -x c -o tests/test_sum -";
    let later = format!("{stub}; touch -d '+1 hour' tests/test_sum");
    let said = project().run(&later, "make -s test", &["--max-iterations", "1"]);
    said.halted(13, "objective_unverified", "guard_unavailable");
    assert!(said.why().contains("t0_replay"), "{}", said.why());
}
