//! A sentinel for a check that is a script: it is told to end with a status of its own, behind what it loads.
//!
//! ```text
//!   begun      before the script loads anything
//!   stopped    before the first line that could end it by itself: then it ends, and with status 9
//! ```
//!
//! Both leave a sign. A script that began and whose check is green all the same was ended by what it loads, or by what it
//! calls, or has its status bent behind its back. Only Python and the shell are written, and only where nothing around the
//! script could make something else of its status.

use std::fs;
use std::io;
use std::path::Path;

use syntax::Language;

use super::Suite;
use crate::oracle::collect::{Detection, Place};

/// Signs, in the order in which they are left.
const SIGNS: [&str; 2] = ["begun", "stopped"];

/// What a status can be lost in.
const OPERATORS: &[char] = &['|', ';', '!', '`', '('];

/// What may end a script before its last line, as a part of a line.
const ENDS_PYTHON: &[&str] = &["exit", "quit", "raise", "assert", "abort", "exec", "kill"];
const ENDS_SHELL: &[&str] = &["exit", "return", "exec", "kill", "trap", "set -", "abort"];

/// Plants it and gives the path of the script; nothing where the check is no script or it is not known how.
///
/// # Errors
/// When the copy cannot be written to.
pub(in crate::world::vet) fn plant(detection: &Detection, suite: &Suite<'_>, signs: &Path) -> io::Result<Vec<String>> {
    let Some(path) = script(detection, suite) else {
        return Ok(Vec::new());
    };
    let text = suite.text(&path);
    let [begun, stopped] = SIGNS.map(|sign| signs.join(sign).display().to_string());
    if begun.contains(['\'', '\\', '\n']) {
        return Ok(Vec::new());
    }
    let planted = if path.ends_with(".py") {
        let (before, behind) = (
            format!("open('{begun}', 'w').close()\n"),
            format!("open('{stopped}', 'w').close()\nraise SystemExit(9)\n"),
        );
        let places = python(&text);
        let parses = |text: &String| syntax::functions(Language::of("check.py")?, text.as_bytes()).ok();
        places
            .map(|places| written(&text, places, &before, &behind))
            .filter(|text| parses(text).is_some())
    } else {
        let (before, behind) = (format!(": > '{begun}'\n"), format!(": > '{stopped}'; exit 9\n"));
        shell(&text).map(|places| written(&text, places, &before, &behind))
    };
    let Some(planted) = planted else {
        return Ok(Vec::new());
    };
    fs::create_dir_all(signs)?;
    fs::write(suite.copy.join(&path), planted)?;
    Ok(vec![path])
}

/// The signs that a run left.
pub(in crate::world::vet) fn left(signs: &Path) -> impl Iterator<Item = String> {
    let left = SIGNS.into_iter().filter(move |sign| signs.join(sign).exists());
    left.map(str::to_owned)
}

/// The script that the check runs by itself, whose status is that of the check where it is red.
fn script(detection: &Detection, suite: &Suite<'_>) -> Option<String> {
    let texts = detection.texts();
    let own = texts.iter().filter(|text| !matches!(text.place, Place::Script(_)));
    let lines: Vec<&str> = own
        .map(|text| text.text.trim_start_matches(['@', '+', ' ', '\t']))
        .collect();
    let keeps = |line: &&str| !line.contains(OPERATORS) && !line.starts_with('-') && !line.starts_with("if ");
    if !lines.iter().all(keeps) {
        return None;
    }
    lines.iter().flat_map(|line| line.split("&&")).find_map(|command| {
        let words: Vec<&str> = command
            .split_whitespace()
            .skip_while(|word| word.contains('='))
            .collect();
        let (program, rest) = words.split_first()?;
        let name = program.rsplit('/').next().unwrap_or(program);
        let is_interpreter = name.starts_with("python") || matches!(name, "sh" | "bash" | "dash");
        let path: &str = if is_interpreter { rest.first()? } else { program };
        let copy = suite.copy.to_str()?;
        let path = path
            .strip_prefix(copy)
            .map_or(path, |below| below.trim_start_matches('/'));
        let path = path.trim_start_matches("./");
        let first = suite.text(path).lines().next().unwrap_or_default().to_owned();
        let is_shell = path.ends_with(".sh") || first.starts_with("#!") && first.ends_with("sh");
        let written = path.ends_with(".py") || is_shell;
        (written && suite.files.contains(&path)).then(|| path.to_owned())
    })
}

/// The text with these lines before those of these numbers.
fn written(text: &str, (first, second): (usize, usize), before: &str, behind: &str) -> String {
    let mut out = String::new();
    for (at, line) in text.split_inclusive('\n').enumerate() {
        if at == first {
            out.push_str(before);
        }
        if at == second {
            out.push_str(behind);
        }
        out.push_str(line);
    }
    out
}

/// Before the first import, and before the first line of the module that could end it.
fn python(text: &str) -> Option<(usize, usize)> {
    let (mut depth, mut in_text, mut decorated) = (0_i32, false, false);
    let mut starts = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let goes_on = ["else", "elif", "except", "finally", ")", "]", "}", "#", "@"];
        let is_start = !line.is_empty() && !line.starts_with(char::is_whitespace) && depth == 0 && !in_text;
        if is_start && !decorated && !goes_on.iter().any(|word| line.starts_with(word)) {
            starts.push(at);
        }
        decorated = is_start && line.starts_with('@');
        let quotes = line.matches("\"\"\"").count() + line.matches("'''").count();
        in_text ^= quotes % 2 == 1;
        depth += balance(line, &['(', '[', '{'], &[')', ']', '}']);
    }
    let line = |at: usize| text.lines().nth(at).unwrap_or_default();
    let imports = |at: &usize| {
        let line = line(*at);
        (line.starts_with("import ") || line.starts_with("from ")) && !line.contains("__future__")
    };
    let first = starts.iter().copied().find(imports)?;
    let ends = text
        .lines()
        .position(|line| ENDS_PYTHON.iter().any(|word| line.contains(word)))?;
    let second = starts.iter().copied().rfind(|at| *at <= ends)?;
    (first < second).then_some((first, second))
}

/// Before the first command, and before the first one that could end the script.
fn shell(text: &str) -> Option<(usize, usize)> {
    if text.contains("<<") {
        return None;
    }
    let (mut depth, mut starts) = (0_i32, Vec::new());
    for (at, line) in text.lines().enumerate() {
        if depth == 0 && !line.trim().is_empty() && !line.starts_with([' ', '\t', '#', '}', ')']) {
            starts.push(at);
        }
        let words = || line.split(|c: char| c.is_whitespace() || c == ';');
        let opens = words()
            .filter(|word| ["if", "case", "do", "{", "("].contains(word))
            .count();
        let closes = words()
            .filter(|word| ["fi", "esac", "done", "}", ")"].contains(word))
            .count();
        depth += i32::try_from(opens).ok()? - i32::try_from(closes).ok()?;
    }
    let first = *starts.first()?;
    let ends = text
        .lines()
        .position(|line| ENDS_SHELL.iter().any(|word| line.contains(word)))?;
    let second = starts.iter().copied().rfind(|at| *at <= ends)?;
    (depth == 0 && first < second).then_some((first, second))
}

fn balance(line: &str, opens: &[char], closes: &[char]) -> i32 {
    let count = |of: &[char]| i32::try_from(line.matches(of).count()).unwrap_or(0);
    count(opens) - count(closes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planted(command: &str, files: &[(&str, &str)]) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            fs::write(dir.path().join(path), text).unwrap();
        }
        let suite = Suite {
            copy: dir.path(),
            files: &files.iter().map(|(path, _)| *path).collect::<Vec<_>>(),
            passing: &[],
        };
        let find = |name: &str| {
            files
                .iter()
                .find(|(path, _)| *path == name)
                .map(|(_, text)| (*text).to_owned())
        };
        let detection = Detection {
            command: command.to_owned(),
            makefile: find("Makefile"),
            ..Detection::default()
        };
        let planted = plant(&detection, &suite, Path::new("/tmp/signs")).unwrap();
        let text = fs::read_to_string(dir.path().join(planted.first()?)).unwrap();
        Some(text.replace("/tmp/signs/", ""))
    }

    const PYTHON: &str = "\"\"\"Import it.\"\"\"\nimport sys\nfrom shop import (\n    total,\n)\n\nbad = 0\nfor n in [1]:\n    bad += total(n) != n\nsys.exit(bad)\n";
    const SHELL: &str = "#!/bin/sh\n. ./lib.sh\nis() {\n    test \"$1\" = \"$2\" || bad=1\n}\nis 1 1\nif [ -n \"$bad\" ]; then\n    exit 1\nfi\n";

    #[test]
    fn a_script_is_stopped_behind_what_it_loads_and_calls_and_before_it_could_stop_by_itself() {
        let python = planted("python3 check.py", &[("check.py", PYTHON)]).unwrap();
        assert!(
            python.contains("\"\"\"\nopen('begun', 'w').close()\nimport sys\n"),
            "{python}"
        );
        assert!(
            python.contains("!= n\nopen('stopped', 'w').close()\nraise SystemExit(9)\nsys.exit(bad)"),
            "{python}"
        );
        let make = [("Makefile", "test:\n\t@sh run.sh\n"), ("run.sh", SHELL)];
        let shell = planted("make -s test", &make).unwrap();
        assert!(shell.contains("#!/bin/sh\n: > 'begun'\n. ./lib.sh\n"), "{shell}");
        assert!(shell.contains("is 1 1\n: > 'stopped'; exit 9\nif ["), "{shell}");
    }

    #[test]
    fn a_status_that_something_else_is_made_of_and_a_script_that_is_not_understood_are_left_alone() {
        let script = ("check.py", PYTHON);
        for command in [
            "python3 check.py || true",
            "python3 check.py | tee log",
            "python3 check.py; cat log",
            "! python3 check.py",
            "python3 -m check",
            "cat check.py",
            "python3 other.py",
        ] {
            assert_eq!(planted(command, &[script]), None, "{command}");
        }
        let ignoring = [("Makefile", "test:\n\t-python3 check.py\n"), script];
        assert_eq!(planted("make test", &ignoring), None);
        for text in [
            "import a\nassert a.x\n",
            "x = 1\nexit(x)\n",
            "import a\nif a.x:\n    exit(1)\n",
            "import a\nprint(a)\n",
        ] {
            let found = planted("python3 check.py", &[("check.py", text)]);
            let at_once = found.is_none_or(|found| found.contains("import a\nopen('stopped'"));
            assert!(at_once, "{text}");
        }
        for text in [
            ". ./lib.sh\ncat <<E\nexit\nE\n",
            "set -e\n. ./lib.sh\nexit 1\n",
            "{\n. ./lib.sh\nexit 1\n",
        ] {
            assert_eq!(planted("sh run.sh", &[("run.sh", text)]), None, "{text}");
        }
    }
}
