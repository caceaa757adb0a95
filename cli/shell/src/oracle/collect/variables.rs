//! Names that a makefile or a shell script gives to a program, put back into what it runs.
//!
//! ```text
//!   PY ?= python3            test: ; $(PY) -m pytest       a makefile
//!   PY="${PY:-python3}"      exec "$PY" -m pytest          a script
//! ```
//!
//! What is given a value nowhere in the text comes from an environment that nobody knows, and is nothing; in a shell it
//! is left as it stands, for a script's own arguments look alike.

use std::collections::BTreeMap;

/// Names of names that are followed, names that are put in for one line, and bytes that a text may grow to.
const STEPS_MAX: usize = 5;
const NAMES_MAX: usize = 500;
const BYTES_MAX: usize = 64 << 10;
/// What stands in front of an assignment and changes nothing of it.
const MAKE_WORDS: &[&str] = &["export", "override", "private"];
const SHELL_WORDS: &[&str] = &["export", "readonly", "local", "declare"];

/// The variables of a makefile.
#[derive(Clone, Debug, Default)]
pub(super) struct Variables {
    values: BTreeMap<String, String>,
}

impl Variables {
    pub(super) fn of_make(text: &str) -> Self {
        let mut variables = Self::default();
        variables.values.insert("MAKE".into(), "make".into());
        let lines = text.lines().filter(|line| !line.starts_with(['\t', '#']));
        for line in lines {
            if let Some((name, operator, value)) = make_assignment(line) {
                variables.assign(name, operator, value);
            }
        }
        variables
    }

    fn assign(&mut self, name: &str, operator: &str, value: &str) {
        match operator {
            "?=" => {
                self.values.entry(name.to_owned()).or_insert_with(|| value.to_owned());
            }
            "+=" => {
                let all = self.values.entry(name.to_owned()).or_default();
                if all.len() < BYTES_MAX {
                    all.push(' ');
                    all.push_str(value);
                }
            }
            _ => {
                self.values.insert(name.to_owned(), value.to_owned());
            }
        }
    }

    /// Takes what the command line of make gives (`PY=python3`), which goes before what the makefile says.
    pub(super) fn given<'a>(mut self, words: impl Iterator<Item = &'a String>) -> Self {
        for (name, value) in words.filter_map(|word| word.split_once('=')) {
            self.assign(name, "=", value);
        }
        self
    }

    /// As the makefile writes it.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// A line of a recipe as the shell gets it. Functions of make are left as they stand.
    pub(super) fn in_recipe(&self, line: &str) -> String {
        self.expanded(line, 0, &mut 0)
    }

    fn expanded(&self, text: &str, depth: usize, names: &mut usize) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            let (before, reference) = rest.split_at(at);
            out.push_str(before);
            rest = &reference[1..];
            if let Some(behind) = rest.strip_prefix('$') {
                out.push('$');
                rest = behind;
                continue;
            }
            let Some((name, behind)) = bracketed(rest).filter(|(name, _)| is_name(name)) else {
                out.push('$');
                continue;
            };
            *names += 1;
            let goes_on = depth < STEPS_MAX && *names < NAMES_MAX && out.len() < BYTES_MAX;
            if let Some(value) = self.values.get(name).filter(|_| goes_on) {
                out.push_str(&self.expanded(value, depth + 1, names));
            }
            rest = behind;
        }
        out.push_str(rest);
        out
    }
}

/// `NAME = value` with any of make's signs, and not `target: NAME = value`.
fn make_assignment(line: &str) -> Option<(&str, &str, &str)> {
    let (left, value) = line.split_once('=')?;
    let name = left.trim_end_matches([':', '?', '+', '!']);
    let operator = match &left[name.len()..] {
        "?" => "?=",
        "+" => "+=",
        _ => "=",
    };
    let mut words = name.split_whitespace().skip_while(|word| MAKE_WORDS.contains(word));
    let name = words.next().filter(|name| is_name(name))?;
    let value = value.split(" #").next().unwrap_or_default().trim();
    words.next().is_none().then_some((name, operator, value))
}

/// Variables that a script is given, and adds to: what stood in them before is not in its text.
const INHERITED: &[&str] = &["PATH", "PYTHONPATH", "NODE_OPTIONS", "NODE_PATH", "PYTEST_ADDOPTS"];

/// The text of a shell with its own variables in their places: each as it was last given a value above.
pub(super) fn in_shell(text: &str) -> String {
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    let mut out = String::with_capacity(text.len());
    for part in text.split_inclusive(['\n', ';', '&']) {
        let part = substituted(part, &values);
        if let Some((name, value)) = shell_assignment(&part) {
            values.insert(name.to_owned(), value.to_owned());
        }
        out.push_str(&part);
        if out.len() > BYTES_MAX * 2 {
            return text.to_owned();
        }
    }
    out
}

/// `NAME=value` and nothing else, in quotes or in one word; or the first round of a loop.
fn shell_assignment(part: &str) -> Option<(&str, &str)> {
    if let Some(loops) = part.trim_start().strip_prefix("for ") {
        let mut words = loops.trim_end_matches([';', '\n']).split_whitespace();
        let name = words.next().filter(|name| is_name(name))?;
        return Some((name, words.nth(1)?));
    }
    let mut rest = part.trim().trim_end_matches([';', '&']).trim_end();
    for word in SHELL_WORDS {
        rest = rest
            .strip_prefix(word)
            .filter(|rest| rest.starts_with(' '))
            .unwrap_or(rest)
            .trim_start();
    }
    let (name, value) = rest.split_once('=').filter(|(name, _)| is_name(name))?;
    let quoted = |quote: char| {
        value
            .strip_prefix(quote)?
            .strip_suffix(quote)
            .filter(|value| !value.contains(quote))
    };
    let plain = (!value.contains(|c: char| c.is_whitespace() || "\"'`$(".contains(c))).then_some(value);
    Some((name, quoted('"').or_else(|| quoted('\'')).or(plain)?))
}

fn substituted(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, reference) = rest.split_at(at);
        out.push_str(before);
        let behind = &reference[1..];
        let (name, default, behind) = match behind.starts_with('{').then(|| bracketed(behind)).flatten() {
            Some((inside, behind)) => {
                let (name, default) = inside
                    .split_once('-')
                    .map_or((inside, None), |(name, default)| (name, Some(default)));
                (name.trim_end_matches(':'), default, behind)
            }
            None => {
                let end = behind
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .unwrap_or(behind.len());
                (&behind[..end], None, &behind[end..])
            }
        };
        let value = values.get(name).map(String::as_str).or(default);
        match value.filter(|value| is_name(name) && !INHERITED.contains(&name) && !value.contains('$')) {
            Some(value) => {
                out.push_str(value);
                rest = behind;
            }
            None => {
                out.push('$');
                rest = &reference[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// What stands in the brackets that this begins with, and what comes behind them.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let close = match text.chars().next()? {
        '(' => ')',
        '{' => '}',
        _ => return None,
    };
    text[1..].split_once(close)
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_makefile_gives_its_names_to_what_it_runs() {
        let text = "PY ?= python3\nexport ARGS = -q # quiet\nARGS += -ra\nRUN := $(PY) -m pytest ${ARGS}\nPY ?= other\nA = $(B)\nB = $(A)\n\tPY = no\n";
        let variables = Variables::of_make(text);
        for (line, expected) in [
            ("@$(RUN) tests", "@python3 -m pytest -q -ra tests"),
            ("$(MAKE) -s x", "make -s x"),
            ("$(TIMEOUT) pytest $$HOME", " pytest $HOME"),
            ("echo $(A)", "echo "),
            (
                "for f in $(wildcard *.t); do $@; done",
                "for f in $(wildcard *.t); do $@; done",
            ),
            ("cost $", "cost $"),
        ] {
            assert_eq!(variables.in_recipe(line), expected);
        }
        let given = ["test".to_owned(), "PY=pypy3".to_owned()];
        assert_eq!(variables.given(given.iter()).in_recipe("$(PY)"), "pypy3");
    }

    #[test]
    fn a_script_gives_its_names_to_what_it_runs() {
        for (text, expected) in [
            (
                "PY=\"${PY:-python3}\"\nexec \"$PY\" -m pytest \"$@\"\n",
                "exec \"python3\" -m pytest \"$@\"\n",
            ),
            ("export T='cargo test'; $T -q", " cargo test -q"),
            ("A=1\nB=$A\necho ${B}x $C ${D}\n", "echo 1x $C ${D}\n"),
            ("${PYTHON-python} t.py", "python t.py"),
            ("X=$(date) y", "X=$(date) y"),
            ("export PYTHONPATH=${PYTHONPATH:-}:lib\n", "${PYTHONPATH:-}:lib\n"),
        ] {
            assert!(in_shell(text).ends_with(expected), "{}", in_shell(text));
        }
        let grows: String = (0..40).map(|_| "A=\"$A$A$A$A\"\n").collect();
        assert!(in_shell(&format!("A=aaaa\n{grows}")).len() <= BYTES_MAX * 3);
    }
}
