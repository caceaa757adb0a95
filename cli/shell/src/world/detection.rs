//! What the project shows about its check before it runs: the command, and the recipes and scripts it names.

use std::fs;
use std::path::Path;

use engine::event::policy::Command;

use crate::foreign;
use crate::oracle::collect::Detection;

/// How much of a file is looked at to recognise a runner.
const LOOK_BYTES: u64 = 64 << 10;
const MAKEFILES: &[&str] = &["GNUmakefile", "makefile", "Makefile", "justfile", "Justfile"];
/// Makefiles of directories that are looked at.
const BELOW_MAX: usize = 64;

pub(crate) fn detection(workdir: &Path, check: &Command) -> Detection {
    let text = |name: &str| {
        let bytes = foreign::read_start(&workdir.join(name), LOOK_BYTES).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let makefile = MAKEFILES.iter().find_map(|name| text(name));
    let command = check.display();
    let leads_below = |text: &str| text.contains(" -C") || text.contains("--directory");
    let makefiles_below = match leads_below(&command) || makefile.as_deref().is_some_and(leads_below) {
        true => makefiles_below(workdir, &text),
        false => Vec::new(),
    };
    let scripts = command
        .split(|c: char| c.is_whitespace() || ";&|()'\"".contains(c))
        .filter(|word| !word.is_empty() && workdir.join(word).is_file())
        .filter_map(|word| {
            Some((
                word.trim_start_matches("./").to_string(),
                text(word).filter(|text| is_shell(text))?,
            ))
        })
        .collect();
    Detection {
        command,
        makefile,
        makefiles_below,
        package_json: text("package.json"),
        scripts,
    }
}

fn makefiles_below(workdir: &Path, text: &dyn Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let entries = fs::read_dir(workdir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    let found = names.into_iter().filter_map(|name| {
        let makefile = MAKEFILES.iter().find_map(|file| text(&format!("{name}/{file}")))?;
        Some((name, makefile))
    });
    found.take(BELOW_MAX).collect()
}

/// Whether a text can be read as a shell reads it: an interpreter or a runner of another language cannot.
fn is_shell(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    match first.strip_prefix("#!") {
        Some(interpreter) => interpreter.trim_end().ends_with("sh") || interpreter.contains("sh "),
        None => !text.contains(['\0', '\u{fffd}']),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scripts_of_a_shell_are_read_as_such() {
        for text in [
            "cargo test\n",
            "#!/bin/sh\nmake\n",
            "#!/usr/bin/env bash\n",
            "#!/bin/sh -e\n",
        ] {
            assert!(is_shell(text), "{text}");
        }
        for text in [
            "#!/usr/bin/python3\nimport pytest\n",
            "#!/usr/bin/env node\n",
            "\u{7f}ELF\0\0",
        ] {
            assert!(!is_shell(text), "{text}");
        }
    }

    #[test]
    fn a_runner_named_by_its_path_is_recognised() {
        let dir = tempfile::tempdir().unwrap();
        let runner = dir.path().join("pytest");
        fs::write(&runner, "#!/usr/bin/python3\nfrom pytest import main\n").unwrap();
        let check = Command::shell(&format!("{} -q", runner.display()));
        assert_eq!(detection(dir.path(), &check).invocations()[0].program(), "pytest");
    }
}
