//! A check whose exit status is not that of what it runs: it can never be red.
//!
//! Every shell text that the check comes to is looked at: the command, the lines of its recipes, the scripts behind
//! it. What cannot be read for certain is passed over (SPEC 2.5.3).

use engine::doctor::EXIT_MASKED;

use super::shell_list::{Joint, Part, parts};
use super::{Concern, Looked, Patient};
use crate::oracle::collect::{self, Detection, Place, Text};

pub(super) static CONCERN: Concern = Concern {
    name: "exit_status",
    doc: "the exit status of the check is that of what it runs",
    look,
};

/// Commands that succeed whatever was before them.
const ALWAYS: &[&str] = &["true", ":", "echo", "printf", "date"];
/// Filters that succeed whatever they read.
const FILTERS: &[&str] = &[
    "cat", "column", "cut", "fmt", "fold", "head", "less", "more", "nl", "rev", "sed", "sort", "strings", "tac",
    "tail", "tee", "tr", "ts", "uniq", "wc",
];
/// Commands after which the text is still about to begin.
const PREPARING: &[&str] = &["set", "cd", "export", "umask", "ulimit", "source", ".", "shopt", "trap"];

/// Why an exit status means nothing, and what to do.
#[derive(Debug, PartialEq, Eq)]
struct Mask {
    why: String,
    remedy: &'static str,
}

const TAKE_OFF: &str = "take it off, so that a failure of the tests is a failure of the check";
const PIPEFAIL: &str = "give --pipefail, put `set -o pipefail` in front in bash, or take off the pipe";

fn look(patient: &Patient, looked: &mut Looked) {
    if patient.policy.oracle.check.is_empty() {
        return;
    }
    let detection = patient.detection();
    let mut masked = false;
    for Text { place, text } in texts(patient, &detection) {
        let given = match place {
            Place::Command => Given {
                pipefail: has_pipefail(patient),
                errexit: false,
            },
            Place::Script(_) => Given::of_script(&text),
            Place::Recipe(_) | Place::Package(_) => Given::default(),
        };
        let (subject, mask) = match &place {
            Place::Command => (patient.policy.oracle.check.display(), mask(&text, given, &detection)),
            Place::Recipe(target) => (format!("recipe of {target}"), recipe(&text, target, given, &detection)),
            Place::Package(name) => (format!("package.json, script {name}"), mask(&text, given, &detection)),
            Place::Script(path) => (path.clone(), mask(&text, given, &detection)),
        };
        if let Some(Mask { why, remedy }) = mask {
            masked = true;
            looked.problem(&CONCERN, EXIT_MASKED, subject, why, remedy);
        }
    }
    let ignoring = detection.makefile.as_deref().is_some_and(ignores_all);
    for run in detection_of_make(patient) {
        let flag = run.iter().any(|word| word == "-i" || word == "--ignore-errors");
        if flag || ignoring {
            masked = true;
            let why = match flag {
                true => "make is told to ignore the errors of every recipe",
                false => "the makefile says .IGNORE, so that make ignores the errors of every recipe",
            };
            looked.problem(&CONCERN, EXIT_MASKED, run.join(" "), why, TAKE_OFF);
        }
    }
    if !masked {
        let subject = patient.policy.oracle.check.display();
        looked.ok(
            &CONCERN,
            subject,
            "nothing hides its exit status, as far as its text tells",
        );
    }
}

/// The texts behind the check; of one that is given as words there is none of its own, unless it calls a shell.
fn texts(patient: &Patient, detection: &Detection) -> Vec<Text> {
    let check = &patient.policy.oracle.check;
    let mut texts = detection.texts();
    if check.shell {
        return texts;
    }
    let words: Vec<String> = check.words.iter().map(|word| word.text()).collect();
    let inner = words
        .iter()
        .position(|word| word == "-c")
        .and_then(|at| words.get(at + 1));
    let is_shell = words.first().is_some_and(|word| word.ends_with("sh"));
    texts.retain(|text| text.place != Place::Command);
    if let (true, Some(inner)) = (is_shell, inner) {
        texts.insert(
            0,
            Text {
                place: Place::Command,
                text: inner.clone(),
            },
        );
    }
    texts
}

fn has_pipefail(patient: &Patient) -> bool {
    let check = &patient.policy.oracle.check;
    !check.shell && check.words.iter().any(|word| word.0 == b"pipefail")
}

/// The words of every call of make in the check itself.
fn detection_of_make(patient: &Patient) -> Vec<Vec<String>> {
    let text = patient.policy.oracle.check.display();
    let calls = parts(&text).unwrap_or_default().into_iter();
    calls
        .filter(|part| ["make", "gmake"].contains(&part.program()))
        .map(|part| part.words)
        .collect()
}

fn ignores_all(makefile: &str) -> bool {
    makefile.lines().any(|line| line.trim_end() == ".IGNORE:")
}

/// What holds before the first command of a text.
#[derive(Clone, Copy, Debug, Default)]
struct Given {
    pipefail: bool,
    errexit: bool,
}

impl Given {
    fn of_script(text: &str) -> Self {
        let first = text.lines().next().unwrap_or_default();
        let flags = first.strip_prefix("#!").and_then(|line| line.split_once(" -"));
        Self {
            errexit: flags.is_some_and(|(_, flags)| flags.contains('e')),
            pipefail: false,
        }
    }

    /// What `set` makes of it.
    fn after(mut self, part: &Part) -> Self {
        if part.program() == "set" {
            let mut words = part.words.iter().skip(1).peekable();
            while let Some(word) = words.next() {
                let short = word.starts_with('-') && !word.starts_with("--");
                self.errexit |= short && word.contains('e');
                if short && word.ends_with('o') {
                    self.pipefail |= words.peek().is_some_and(|option| *option == "pipefail");
                    self.errexit |= words.peek().is_some_and(|option| *option == "errexit");
                }
            }
        }
        self
    }
}

/// A line of a recipe: one shell of its own, and marks that make reads.
fn recipe(line: &str, target: &str, given: Given, detection: &Detection) -> Option<Mask> {
    let marks: String = line.chars().take_while(|c| "@-+ \t".contains(*c)).collect();
    let text = line.get(marks.len()..)?;
    let tests = parts(text).is_some_and(|parts| parts.iter().any(|part| runs_tests(part, detection)));
    if !tests {
        // Of what prepares or tidies up, errors are rightly ignored.
        return None;
    }
    if marks.contains('-') {
        return Some(Mask {
            why: format!("make ignores the failure of `{text}`, which stands behind a `-` in the recipe of {target}"),
            remedy: "take off the `-` in front of the line",
        });
    }
    mask(text, given, detection)
}

/// Why the exit status of a text is not that of what it runs, if that is certain.
fn mask(text: &str, given: Given, detection: &Detection) -> Option<Mask> {
    let parts = parts(text)?;
    let mut given = given;
    for (at, part) in parts.iter().enumerate() {
        given = given.after(part);
        let is_last = at + 1 == parts.len();
        let tests = runs_tests(part, detection);
        let weighs = tests || decides(&parts, at);
        if let Some(mask) = joined(&parts, at, given, weighs) {
            return Some(mask);
        }
        if tests && !is_last && !given.errexit && is_forgotten(&parts, at) {
            return Some(Mask {
                why: format!(
                    "`{}` is followed by `{}`, whose exit status counts instead",
                    part.words.join(" "),
                    parts.last().map(|last| last.words.join(" ")).unwrap_or_default()
                ),
                remedy: "join them with `&&`, or put `set -e` in front",
            });
        }
    }
    closing(&parts, given)
}

/// A command whose failure the very next one hides.
fn joined(parts: &[Part], at: usize, given: Given, weighs: bool) -> Option<Mask> {
    let (part, next) = (parts.get(at)?, parts.get(at + 1));
    if !weighs {
        return None;
    }
    match (part.behind, next) {
        (Joint::Or, Some(next)) if always(next) => Some(Mask {
            why: format!("`|| {}` makes a success of every failure", next.words.join(" ")),
            remedy: TAKE_OFF,
        }),
        (Joint::Pipe, Some(_)) if !given.pipefail => {
            let last = parts.iter().skip(at).find(|part| part.behind != Joint::Pipe)?;
            FILTERS.contains(&last.program()).then(|| Mask {
                why: format!(
                    "the exit status of a pipe is that of its last part: `{}` succeeds whatever the tests do",
                    last.words.join(" ")
                ),
                remedy: PIPEFAIL,
            })
        }
        (Joint::Background, None) => Some(Mask {
            why: "it ends with `&`: the shell does not wait for it and exits 0".to_owned(),
            remedy: TAKE_OFF,
        }),
        (Joint::Background, Some(next))
            if next.program() == "wait" && next.words.len() == 1 && at + 2 == parts.len() =>
        {
            Some(Mask {
                why: "`wait` without a process exits 0, whatever became of what it waited for".to_owned(),
                remedy: "run it in the foreground, or end with `wait $!`",
            })
        }
        _ => None,
    }
}

/// Whether the exit status of the text is that of this part, or of the list that it begins.
fn decides(parts: &[Part], at: usize) -> bool {
    let rest = parts.get(at..).unwrap_or_default();
    let ends = rest
        .iter()
        .take(rest.len().saturating_sub(1))
        .any(|part| matches!(part.behind, Joint::Then | Joint::Background));
    !ends || rest.len() == 2 && rest.last().is_some_and(|last| last.program() == "wait")
}

/// Whether what follows behind a `;` or a line end takes the place of this part's exit status.
fn is_forgotten(parts: &[Part], at: usize) -> bool {
    let rest = parts.get(at..).unwrap_or_default();
    let Some(end) = rest.iter().position(|part| part.behind == Joint::Then) else {
        return false;
    };
    let behind = rest.get(end + 1..).unwrap_or_default();
    // Where the status is kept or asked for, it is not forgotten.
    let keeps = |part: &Part| {
        let asks = ["exit", "return", "test", "[", "trap"].contains(&part.program());
        asks || part
            .words
            .iter()
            .any(|word| word.contains("$?") || word.contains("PIPESTATUS"))
    };
    !behind.is_empty() && !behind.iter().any(keeps)
}

/// A text that ends with a command which always succeeds.
fn closing(parts: &[Part], given: Given) -> Option<Mask> {
    let (last, before) = parts.split_last()?;
    let real = before
        .iter()
        .any(|part| !PREPARING.contains(&part.program()) && !always(part));
    let apart = before.last().is_some_and(|part| part.behind == Joint::Then);
    let keeps = before
        .iter()
        .any(|part| part.words.iter().any(|word| word.contains("$?")));
    (real && apart && !given.errexit && !keeps && always(last)).then(|| Mask {
        why: format!(
            "it ends with `{}`, which succeeds whatever was before it",
            last.words.join(" ")
        ),
        remedy: TAKE_OFF,
    })
}

fn always(part: &Part) -> bool {
    ALWAYS.contains(&part.program()) || part.words == ["exit", "0"]
}

/// Whether a test runner is recognised in this part.
fn runs_tests(part: &Part, detection: &Detection) -> bool {
    let alone = Detection {
        command: part.words.join(" "),
        ..detection.clone()
    };
    !collect::candidates(&alone).is_empty()
}

#[cfg(test)]
mod tests {
    use super::super::bench::{patient, said};
    use super::*;
    use engine::event::policy::Command;

    fn told(check: &str) -> String {
        let (_dir, patient) = patient(&[], check);
        let said = said(&CONCERN, &patient);
        said.into_iter()
            .map(|(severity, detail)| format!("{severity}: {detail}"))
            .collect()
    }

    #[test]
    fn what_hides_an_exit_status_is_named() {
        for (check, why) in [
            ("pytest -q || true", "`|| true` makes"),
            ("./verify || :", "`|| :` makes"),
            ("pytest || exit 0", "`|| exit 0` makes"),
            ("pytest -q | tail -5", "`tail -5` succeeds"),
            ("pytest 2>&1 | tee log", "`tee log` succeeds"),
            ("./verify | grep x | cat", "`cat` succeeds"),
            ("pytest; true", "followed by `true`"),
            ("./verify; echo done", "ends with `echo done`"),
            ("./verify\ntrue", "ends with `true`"),
            ("pytest -q; ./coverage", "followed by `./coverage`"),
            ("pytest || true; ./coverage", "`|| true` makes"),
            ("pytest -q &", "ends with `&`"),
            ("pytest & wait", "`wait` without"),
            ("set -e; pytest | tee log; echo done", "`tee log` succeeds"),
            ("make -i test", "ignore the errors"),
        ] {
            let told = told(check);
            assert!(told.starts_with("problem: ") && told.contains(why), "{check}: {told}");
        }
    }

    #[test]
    fn an_honest_text_is_left_alone() {
        for check in [
            "pytest -q",
            "cd x; pytest",
            "cd x && pytest -q 2>&1",
            "set -e; pytest; echo done",
            "set -euo pipefail\npytest | tee log\necho done",
            "set -o pipefail; pytest | tail",
            "pytest; rc=$?; echo $rc; exit $rc",
            "pytest | grep -q passed",
            "./build || exit 1; pytest",
            "rm -f log || true; pytest",
            "docker compose up & pytest",
            "pytest & wait $!",
            "echo start; pytest",
            "pytest && echo green",
            "for x in a b; do pytest $x || exit 1; done",
            "true",
        ] {
            let told = told(check);
            assert!(told.starts_with("ok: "), "{check}: {told}");
        }
    }

    #[test]
    fn recipes_package_scripts_and_scripts_are_read_like_the_check() {
        let makefile =
            "test:\n\t-rm -f log\n\t-pytest -q\nfine:\n\t-rm -f log\n\tpytest -q\npiped:\n\tpytest | tee log\n";
        let package = r#"{"scripts": {"test": "jest || true", "fine": "jest"}}"#;
        let script = "#!/bin/sh\npytest -q\necho done\n";
        let strict = "#!/bin/sh -e\npytest -q\necho done\n";
        let files = [
            ("Makefile", makefile),
            ("package.json", package),
            ("loose.sh", script),
            ("strict.sh", strict),
        ];
        for (check, wanted) in [
            ("make test", "behind a `-`"),
            ("make piped", "`tee log` succeeds"),
            ("npm test", "`|| true` makes"),
            ("./loose.sh", "followed by `echo done`"),
        ] {
            let (_dir, patient) = patient(&files, check);
            let said = said(&CONCERN, &patient);
            assert!(said.len() == 1 && said[0].1.contains(wanted), "{check}: {said:?}");
        }
        for check in ["make fine", "npm run fine", "./strict.sh"] {
            let (_dir, patient) = patient(&files, check);
            assert_eq!(said(&CONCERN, &patient)[0].0, "ok", "{check}");
        }
    }

    #[test]
    fn words_have_no_shell_but_the_one_that_they_call() {
        let (_dir, mut patient) = patient(&[], "");
        let mut told = |words: &[&str]| {
            patient.policy.oracle.check = Command {
                words: words.iter().map(|word| (*word).into()).collect(),
                shell: false,
            };
            said(&CONCERN, &patient)[0].0
        };
        assert_eq!(told(&["pytest", "-k", "a || true"]), "ok");
        assert_eq!(told(&["sh", "-c", "pytest | tail"]), "problem");
        assert_eq!(told(&["bash", "-o", "pipefail", "-c", "pytest | tail"]), "ok");
    }
}
