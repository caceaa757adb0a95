//! A project that its environment knows by the path of the workdir.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::story::{Project, available};

const CODE: &str = "def total(prices):\n    return sum(prices) - 1\n";
const TESTS: &str = "\
import unittest

from shop.price import total


class TotalTest(unittest.TestCase):
    def test_three(self):
        self.assertEqual(total([1, 2]), 3)
";
/// As setuptools writes it, as far as it finds packages.
const FINDER: &str = "\
import importlib.util
import sys

MAPPING = {'shop': 'DIR/src/shop'}
NAMESPACES = {}


class _EditableFinder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name in MAPPING:
            return importlib.util.spec_from_file_location(
                name, MAPPING[name] + '/__init__.py', submodule_search_locations=[MAPPING[name]])


def install():
    sys.meta_path.append(_EditableFinder)
";

/// A project whose sources only an environment at `venv` leads to, by these files of it.
fn installed(venv: &Path, project: &Project, files: &[(&str, &str)]) {
    let made = Command::new("python3")
        .args(["-m", "venv", "--without-pip"])
        .arg(venv)
        .status();
    assert!(made.unwrap().success());
    let lib = fs::read_dir(venv.join("lib")).unwrap().next().unwrap().unwrap().path();
    for (name, text) in files {
        let text = text.replace("DIR", &project.dir().display().to_string());
        fs::write(lib.join("site-packages").join(name), text).unwrap();
    }
}

fn shop() -> Project {
    Project::committed(&[
        ("src/shop/__init__.py", ""),
        ("src/shop/price.py", CODE),
        ("tests/test_price.py", TESTS),
        (".gitignore", "__pycache__/\n.venv/\n"),
    ])
}

#[test]
fn a_copy_of_a_project_that_is_installed_in_place_tests_the_copy() {
    if !available("python3") {
        return;
    }
    let honest = "sed -i 's/ - 1$//' src/shop/price.py";
    let outside = tempfile::tempdir().unwrap();
    let project = shop();
    installed(outside.path(), &project, &[("__editable__.shop.pth", "DIR/src\n")]);
    let python = outside.path().join("bin/python");
    let check = format!("{} -m unittest discover -v -s tests", python.display());
    project.run(honest, &check, &[]).converged(1);
    project.write("src/shop/price.py", CODE);
    let replay = project.json(&["replay"]);
    assert_eq!(replay.json["replay"]["outcome"], "verified_green", "{}", replay.all());

    let project = shop();
    let files = [
        (
            "__editable__.shop.pth",
            "import __editable___shop_finder; __editable___shop_finder.install()\n",
        ),
        ("__editable___shop_finder.py", FINDER),
    ];
    installed(&project.dir().join(".venv"), &project, &files);
    let check = ".venv/bin/python -m unittest discover -v -s tests";
    project.run(honest, check, &[]).converged(1);

    // Nothing that the copy is led by reaches a Python that takes no word from its environment.
    let project = shop();
    installed(&project.dir().join(".venv"), &project, &files);
    let said = project.run(
        honest,
        &check.replace("python", "python -E"),
        &["--max-iterations", "1"],
    );
    said.halted(13, "objective_unverified", "guard_unavailable");
}
