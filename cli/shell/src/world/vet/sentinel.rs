//! Sentinels: tests that must fail, and one that must pass, in the suite of a copy.
//!
//! They stand in a file that the check is known to read where one can be found, so that they share its process and
//! whatever the product does to it. Their names are drawn anew for each copy, behind that of a test of the suite's own: what
//! selects that one by a part of its name selects them too. What selects it by its whole name is told by a body that fails in
//! its place.

pub(super) mod script;
mod stand_in;
mod suite;
mod template;

use std::fs;
use std::io;

pub(super) use suite::Suite;

/// What is drawn for one copy.
struct Draw {
    /// In every name.
    mark: String,
    /// Two values that differ.
    value: u32,
    other: u32,
}

impl Draw {
    fn new() -> io::Result<Self> {
        let mut random = [0_u8; 12];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let mark = random[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        let value = u32::from_le_bytes([random[6], random[7], random[8], 0]);
        Ok(Self {
            mark,
            value,
            other: value + 1 + u32::from(random[9]),
        })
    }

    /// A template with what was drawn in it, and the names that the suite has.
    fn fill(&self, template: &str, name: &str, class: &str) -> String {
        let text = template
            .replace("MARK", &self.mark)
            .replace("VALUE", &self.value.to_string())
            .replace("OTHER", &self.other.to_string());
        let parts: Vec<String> = text.split("NAME").map(|part| part.replace("CLASS", class)).collect();
        parts.join(name)
    }
}

/// Plants the sentinels of `runner` and gives their names, the one that must pass first. None where nothing can stand.
///
/// # Errors
/// When the copy cannot be written to.
pub(super) fn plant(runner: &str, suite: &Suite<'_>) -> io::Result<Vec<String>> {
    let draw = Draw::new()?;
    let Some(sentinel) = sentinel(runner, suite) else {
        return Ok(Vec::new());
    };
    let Sentinel {
        path,
        name,
        class,
        text,
        fails,
    } = sentinel;
    let path = suite.copy.join(path.replace("MARK", &draw.mark));
    let before = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    fs::write(&path, inserted(&before, &draw.fill(&text, &name, &class)))?;
    let fails = (1..=fails).map(|n| format!("lx{}_fails_{n}", draw.mark));
    Ok([format!("lx{}_holds", draw.mark)].into_iter().chain(fails).collect())
}

/// Puts a body that fails in place of members and gives their ids. None where it is not known how.
///
/// # Errors
/// When the copy cannot be written to.
pub(super) fn plant_in_place(runner: &str, suite: &Suite<'_>) -> io::Result<Vec<String>> {
    stand_in::plant(runner, suite, &Draw::new()?)
}

/// The text behind what is there, and before the line of a Python file that runs it.
fn inserted(before: &str, text: &str) -> String {
    let runs = before
        .split_inclusive('\n')
        .scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some((start, line))
        })
        .find(|(_, line)| line.starts_with("if __name__"));
    match runs {
        Some((at, _)) => format!("{}\n{text}\n{}", &before[..at], &before[at..]),
        None => format!("{before}\n{text}"),
    }
}

/// Whether a Python file itself defines a class of that name; of a nested one, the outermost.
fn defines(text: &str, class: &str) -> bool {
    let outer = class.split('.').next().unwrap_or(class);
    text.lines().any(|line| {
        let rest = line.strip_prefix("class ").and_then(|rest| rest.strip_prefix(outer));
        rest.is_some_and(|rest| rest.starts_with(['(', ':', ' ']))
    })
}

/// Where a sentinel goes and what it is.
struct Sentinel {
    /// A file that is added to, or made.
    path: String,
    /// What its tests are called after.
    name: String,
    /// A class that the suite has, for those that stand in it.
    class: String,
    text: String,
    /// Tests in it that must fail.
    fails: u32,
}

fn sentinel(runner: &str, suite: &Suite<'_>) -> Option<Sentinel> {
    match runner {
        "pytest" => pytest(suite),
        "unittest" => unittest(suite),
        "libtest" | "nextest" => {
            let path = suite.integration_test()?;
            let (around, name) = suite.rust().unwrap_or((Vec::new(), "it"));
            let open: String = around.iter().map(|name| format!("mod {name} {{")).collect();
            let text = format!(
                "\nmod lxMARK {{{open}\n{}\n{}}}\n",
                template::RUST,
                "}".repeat(around.len())
            );
            Some(added(path, name, &text, 2))
        }
        "go" => {
            let any = || {
                let path = suite.files.iter().find(|path| path.ends_with("_test.go"))?;
                Some(((*path).to_owned(), "Test".to_owned()))
            };
            let (path, name) = suite.go().or_else(any)?;
            suite
                .holds(&path, "testing")
                .then(|| added(path, &name, template::GO, 2))
        }
        "node" => {
            let (path, title) = suite.script(&["node:test"])?;
            let text = if suite.is_module(&path) {
                template::NODE_MODULE
            } else {
                template::NODE_SCRIPT
            };
            Some(added(path, &title, text, 3))
        }
        "jest" | "vitest" => {
            let (words, text): (&[&str], _) = match runner {
                "jest" => (&["expect("], template::JEST),
                _ => (&["vitest", "expect("], template::VITEST),
            };
            let (path, title) = suite.script(words)?;
            Some(added(path, &title, text, 2))
        }
        _ => None,
    }
}

/// Beside a test function if there is one, and in the class of a test if it has one.
fn pytest(suite: &Suite<'_>) -> Option<Sentinel> {
    let function = suite.pytest().find(|(_, test)| test.class.is_none());
    let Some((_, test)) = function.or_else(|| suite.pytest().next()) else {
        let (path, name) = suite.doctest()?;
        return Some(added(path, &name, template::DOCTEST, 2));
    };
    let text = suite.text(&test.path);
    // A class whose tests are cases may ask every one of them for an argument.
    let mut beside = suite
        .pytest()
        .filter(|(_, other)| other.path == test.path && !other.is_case);
    let class = beside.find_map(|(_, other)| other.class.filter(|class| defines(&text, class)));
    let sentinel = added(test.path, &test.name, template::PYTEST, 2);
    Some(match class {
        Some(class) => sentinel.within(class, template::PYTEST_CLASS, 1),
        None => sentinel,
    })
}

/// In a class of its own, and in the class of a test.
fn unittest(suite: &Suite<'_>) -> Option<Sentinel> {
    let Some((_, test)) = suite.unittest().next() else {
        // Nobody names what passes.
        let path = suite
            .source_with("import unittest")
            .or_else(|| suite.source_with("from unittest"))?;
        return Some(added(path, "test", template::UNITTEST, 3));
    };
    let class = test.class.filter(|class| defines(&suite.text(&test.path), class));
    let sentinel = added(test.path, &test.name, template::UNITTEST, 3);
    Some(match class {
        Some(class) => sentinel.within(class, template::UNITTEST_CLASS, 2),
        None => sentinel,
    })
}

fn added(path: String, name: &str, text: &str, fails: u32) -> Sentinel {
    Sentinel {
        path,
        name: name.to_owned(),
        class: String::new(),
        text: text.to_owned(),
        fails,
    }
}

impl Sentinel {
    /// With tests in a class of the suite's own too.
    fn within(self, class: String, text: &str, fails: u32) -> Self {
        Self {
            text: self.text + text,
            fails: self.fails + fails,
            class,
            ..self
        }
    }
}

#[cfg(test)]
mod tests;
