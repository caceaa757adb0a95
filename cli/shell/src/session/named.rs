//! Files that the check's command line names, and which of them decide what it measures (SPEC 5.4.7).
//!
//! A script, a test file or an expected output is part of the check. A file that `grep`, `test` or a compiler only
//! looks at is what the check is *about*: it is the agent's to change, or nothing could ever turn green.

use std::collections::BTreeSet;
use std::path::Path;

use engine::event::policy::{Command, Origin, Policy};
use syntax::Language;

use crate::foreign;
use crate::oracle::collect::{Detection, Invocation, Place};
use crate::tree::is_compiled;
use crate::world::detection;

/// Programs that look at files and decide nothing by them.
const READERS: &[&str] = &[
    "test",
    "[",
    "[[",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "cat",
    "wc",
    "head",
    "tail",
    "stat",
    "ls",
    "sed",
    "awk",
    "jq",
    "sort",
    "uniq",
    "cut",
    "tr",
    "sha256sum",
    "md5sum",
    "cksum",
];
/// Readers that can take their instructions from a file.
const INSTRUCTED: &[&str] = &["grep", "egrep", "fgrep", "rg", "sed", "awk", "jq"];
/// Compilers and linters, as programs or as Python modules: what they are pointed at is the work.
const COMPILERS: &[&str] = &[
    "cc",
    "gcc",
    "g++",
    "clang",
    "clang++",
    "rustc",
    "tsc",
    "javac",
    "mypy",
    "pyright",
    "ruff",
    "flake8",
    "pylint",
    "black",
    "eslint",
    "prettier",
    "shellcheck",
    "yamllint",
    "xmllint",
    "py_compile",
    "json.tool",
];
/// Programs that run what they read on standard input.
const INTERPRETERS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "python", "python3", "node", "perl", "ruby", "xargs", ".",
];

/// Words in the path of a script that tests.
const TESTING: &[&str] = &[
    "alltests", "check", "checks", "ci", "e2e", "runtest", "runtests", "spec", "specs", "test", "testing", "tests",
    "verify",
];

/// Adds the files that decide to the protected ones, with their origin.
pub(super) fn protect(workdir: &Path, policy: &mut Policy, origins: &mut Vec<Origin>) {
    let mut words = deciding(&policy.oracle.check);
    // What a recipe builds and then runs is made of sources that are watched, or of the work.
    let is_built = |word: &String| is_compiled(&workdir.join(word));
    let behind = recipes(workdir, &policy.oracle.check);
    words.extend(behind.into_iter().filter(|word| !is_built(word)));
    for word in words {
        let Ok(path) = workdir.join(&word).canonicalize() else {
            continue;
        };
        let Ok(relative) = path.strip_prefix(workdir) else {
            continue;
        };
        let is_program = path.is_file() || path.is_dir() && run_as_directories(&policy.oracle.check).contains(&word);
        let Some(name) = relative.to_str().filter(|name| !name.is_empty() && is_program) else {
            continue;
        };
        let pattern = if path.is_dir() {
            format!("/{name}/")
        } else {
            format!("/{name}")
        };
        if !policy.guards.protected.contains(&pattern) && !name.contains(['*', '?']) {
            policy.guards.protected.push(pattern);
            origins.push(Origin {
                key: "guards.protected".into(),
                source: "check command".into(),
            });
        }
    }
}

/// Directories that the command runs as programs, as `go run ./tools/verify` does.
fn run_as_directories(check: &Command) -> BTreeSet<String> {
    let runs = invocations(check).into_iter();
    let of_go = runs.filter(|run| run.program() == "go" && run.arguments().first().is_some_and(|word| word == "run"));
    of_go
        .filter_map(|run| run.arguments().iter().skip(1).find(|word| plain(word)).cloned())
        .collect()
}

/// Scripts behind a makefile, a package script or a script of the command: those that are run there and whose path
/// says that they test, or that judge the work by what they hold, and one of a shell that is all there is to a target that
/// says so. What else is run there may be the work.
fn recipes(workdir: &Path, check: &Command) -> BTreeSet<String> {
    let seen = detection(workdir, check);
    let runs = seen.invocations();
    let wrapped = runs.iter().filter(|run| run.wrapped);
    let is_all = is_all(&seen) && runs.len() == 1;
    let scripts = wrapped.filter_map(|run| match run.program() {
        program if INTERPRETERS.contains(&program) => run.arguments().iter().find(|word| plain(word)),
        _ => run.words.first(),
    });
    let decides = |word: &&String| says_that_it_tests(word) || is_all || judges(workdir, word);
    scripts.filter(decides).cloned().collect()
}

/// Whether behind the command stands one line, of a target that says that it tests, and that line runs a script of a
/// shell.
fn is_all(seen: &Detection) -> bool {
    let texts = seen.texts();
    let mut behind = texts.iter().filter(|text| text.place != Place::Command);
    let (Some(only), None) = (behind.next(), behind.next()) else {
        return false;
    };
    let (Place::Recipe(name) | Place::Package(name)) = &only.place else {
        return false;
    };
    let mut words = only.text.trim_start_matches(['@', '-', '+']).split_whitespace();
    let program = words.next().unwrap_or_default();
    let runs_a_script = ["sh", "bash", "dash"].contains(&program) || program.ends_with(".sh");
    says_that_it_tests(name) && runs_a_script
}

/// A program that compares what modules of the workdir give for literals with literals.
fn judges(workdir: &Path, word: &str) -> bool {
    let path = workdir.join(word);
    let Some(language) = Language::of(word).filter(|_| path.is_file()) else {
        return false;
    };
    let is_own = |module: &str| {
        let first = module.split('.').next().unwrap_or_default();
        let beside = path
            .parent()
            .into_iter()
            .chain([workdir, &workdir.join("src")])
            .any(|dir| {
                let name = dir.join(first);
                !first.is_empty() && (name.is_dir() || name.with_extension("py").is_file())
            });
        module.starts_with('.') || word.ends_with(".py") && beside
    };
    let text = foreign::read_start(&path, syntax::SIZE_MAX_BYTES as u64).unwrap_or_default();
    syntax::judges(language, &text, &is_own).unwrap_or(false)
}

fn says_that_it_tests(path: &str) -> bool {
    let words = path.split(|c: char| !c.is_ascii_alphanumeric());
    let mut words = words.map(str::to_ascii_lowercase);
    words.any(|word| TESTING.contains(&word.as_str()))
}

/// Words of the command that would, as files, decide what it measures.
fn deciding(check: &Command) -> BTreeSet<String> {
    let runs = invocations(check);
    // What is piped into an interpreter is run, however it was read.
    let piped = runs
        .iter()
        .any(|run| INTERPRETERS.contains(&run.program()) && !run.arguments().iter().any(|a| plain(a)));
    let kept = runs
        .iter()
        .flat_map(|run| if piped { run.words.clone() } else { kept(run) });
    kept.flat_map(|word| split(&word)).collect()
}

fn invocations(check: &Command) -> Vec<Invocation> {
    let words: Vec<String> = check.words.iter().map(|word| word.text()).collect();
    let script = words
        .iter()
        .position(|word| word.starts_with('-') && word.ends_with('c'))
        .and_then(|at| words.get(at + 1));
    let shell = words.first().is_some_and(|word| word.ends_with("sh"));
    match (check.shell, script) {
        (true, _) => Detection {
            command: check.display(),
            ..Detection::default()
        }
        .invocations(),
        (false, Some(script)) if shell => Detection {
            command: script.clone(),
            ..Detection::default()
        }
        .invocations(),
        _ => vec![Invocation {
            assignments: Vec::new(),
            words,
            wrapped: false,
        }],
    }
}

fn plain(word: &str) -> bool {
    !word.starts_with(['-', '<', '>'])
}

/// The words of one program that may name a deciding file.
fn kept(run: &Invocation) -> Vec<String> {
    let program = run.program().trim_start_matches(['`', '$']);
    let from_file = |word: &String| word.starts_with("-f") || word.starts_with("--f");
    let reads = READERS.contains(&program) && !(INSTRUCTED.contains(&program) && run.arguments().iter().any(from_file));
    if reads {
        return Vec::new();
    }
    let compiles = COMPILERS.contains(&program) || run.python_module().is_some_and(|name| COMPILERS.contains(&name));
    if !compiles {
        return run.words.clone();
    }
    // A configuration that an option names is no work.
    let options = run
        .words
        .windows(2)
        .filter(|pair| pair[0].starts_with('-') && pair[0] != "-m");
    options.flat_map(|pair| pair.to_vec()).collect()
}

/// Parts of a word that may be a path: `--config=a.toml`, `<expected`, `` `run.sh` ``.
fn split(word: &str) -> Vec<String> {
    let parts = word.split(|c: char| c.is_whitespace() || ";&|()<>'\"`$=".contains(c));
    parts.filter(|part| !part.is_empty()).map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protected(files: &[&str], check: Command) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            std::fs::write(dir.path().join(file), "").unwrap();
        }
        let mut policy = Policy::default();
        policy.oracle.check = check;
        let before = policy.guards.protected.len();
        protect(&dir.path().canonicalize().unwrap(), &mut policy, &mut Vec::new());
        let mut added = policy.guards.protected.split_off(before);
        added.sort();
        added
    }

    #[test]
    fn what_a_check_runs_or_compares_with_is_protected() {
        let files = ["run.sh", "out", "expected", "rules.sed", "conf"];
        let cases: &[(&str, &[&str])] = &[
            ("sh run.sh", &["/run.sh"]),
            ("./run.sh out", &["/out", "/run.sh"]),
            ("diff out expected", &["/expected", "/out"]),
            ("./run.sh | grep -f expected", &["/expected", "/run.sh"]),
            ("cat run.sh | sh", &["/run.sh"]),
            ("sh < run.sh", &["/run.sh"]),
            ("sed -f rules.sed out", &["/out", "/rules.sed"]),
            ("ruff check --config conf out", &["/conf"]),
            ("bash -c './run.sh'", &["/run.sh"]),
        ];
        for (check, expected) in cases {
            assert_eq!(&protected(&files, Command::shell(check)), expected, "{check}");
        }
        let words = ["bash", "-o", "pipefail", "-c", "./run.sh | cat"]
            .map(Into::into)
            .to_vec();
        assert_eq!(protected(&files, Command { words, shell: false }), ["/run.sh"]);
    }

    #[test]
    fn a_directory_that_the_check_runs_as_a_program_is_protected_with_all_that_is_in_it() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("tools/verify")).unwrap();
        std::fs::create_dir_all(dir.path().join("calc")).unwrap();
        let mut policy = Policy::default();
        policy.oracle.check = Command::shell("go run ./tools/verify ./calc && go vet ./calc");
        let before = policy.guards.protected.len();
        protect(&dir.path().canonicalize().unwrap(), &mut policy, &mut Vec::new());
        assert_eq!(policy.guards.protected[before..], ["/tools/verify/"]);
    }

    #[test]
    fn scripts_that_test_are_found_behind_recipes() {
        let dir = tempfile::tempdir().unwrap();
        let files = [
            (
                "Makefile",
                "test: build\n\t@sh scripts/check.sh && python3 tools/verify_output.py out\nbuild:\n\tsh gen.sh\n",
            ),
            (
                "package.json",
                r#"{"scripts": {"test": "node run-tests.js && node cli.js", "ci": "./ci.sh", "spec": "sh run.sh", "app": "sh run.sh", "check": "node run.js"}}"#,
            ),
            ("all.sh", "python3 app.py\nsh spec/run.sh\n"),
        ];
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let cases: &[(&str, &[&str])] = &[
            ("make test", &["scripts/check.sh", "tools/verify_output.py"]),
            ("npm test", &["run-tests.js"]),
            ("npm run ci", &["./ci.sh"]),
            ("npm run spec", &["run.sh"]),
            ("npm run spec && sh all.sh", &["spec/run.sh"]),
            ("npm run app", &[]),
            ("npm run check", &[]),
            ("sh all.sh", &["spec/run.sh"]),
        ];
        for (check, expected) in cases {
            let found = recipes(dir.path(), &Command::shell(check));
            assert_eq!(found.into_iter().collect::<Vec<_>>(), *expected, "{check}");
        }
    }

    #[test]
    fn a_program_behind_a_recipe_that_judges_the_work_is_found_whatever_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let judge = "const { sum } = require('../src/calc.js');\nif (sum([1, 2]) !== 3) process.exit(1);\n";
        let app = "const { sum } = require('../src/calc.js');\nif (process.argv.indexOf('-v') !== -1) sum([1]);\n";
        let python = "from calc import total\nif total([1, 2]) != 3:\n    raise SystemExit(1)\n";
        let files = [
            (
                "Makefile",
                "look:\n\tpython3 tools/look.py\nrun:\n\tpython3 tools/other.py\n",
            ),
            (
                "package.json",
                r#"{"scripts": {"examine": "node tools/examine.js", "app": "node tools/app.js"}}"#,
            ),
            ("tools/examine.js", judge),
            ("tools/app.js", app),
            ("tools/look.py", python),
            (
                "tools/other.py",
                "import os\nif os.getenv('X') == '1':\n    raise SystemExit(1)\n",
            ),
            ("src/calc.py", ""),
        ];
        for (name, text) in files {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let cases: &[(&str, &[&str])] = &[
            ("npm run -s examine", &["tools/examine.js"]),
            ("npm run app", &[]),
            ("make look", &["tools/look.py"]),
            ("make run", &[]),
        ];
        for (check, expected) in cases {
            let found = recipes(dir.path(), &Command::shell(check));
            assert_eq!(found.into_iter().collect::<Vec<_>>(), *expected, "{check}");
        }
    }

    #[test]
    fn what_a_check_only_looks_at_is_the_work() {
        for check in [
            "grep -q ok status",
            "test -f status",
            "[ -s status ]",
            "test $(wc -l < status) -ge 2",
            "test \"$(cat status)\" = done",
            "exit $(cat status)",
            "gcc status",
            "python3 -m py_compile status",
            "! grep -q TODO status && test -s status",
        ] {
            assert_eq!(protected(&["status"], Command::shell(check)), [""; 0], "{check}");
        }
    }
}
