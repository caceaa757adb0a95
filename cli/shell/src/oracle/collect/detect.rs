//! Which programs a check command runs, as far as its text tells.
//!
//! The command is split as a shell would split it; `make`, package scripts and shell scripts whose
//! text is at hand are opened, and wrappers such as `env`, `timeout` or `uv run` are peeled off. It
//! is a guess made before the run: it chooses a reader, it never judges anything.

use std::collections::{BTreeMap, BTreeSet};

use super::peel::{is_assignment, peel};

/// What is known about a check before it runs. All texts may be cut at 64 KiB.
#[derive(Debug, Clone, Default)]
pub struct Detection {
    /// The command as the user wrote it.
    pub command: String,
    /// Text of the Makefile or justfile.
    pub makefile: Option<String>,
    /// Text of package.json.
    pub package_json: Option<String>,
    /// Shell scripts the command may name: path relative to the working directory, text.
    pub scripts: Vec<(String, String)>,
}

/// One program the command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// `NAME=value` words in front of the program.
    pub assignments: Vec<String>,
    /// The program as written, then its arguments.
    pub words: Vec<String>,
    /// Found in a recipe or script rather than in the command itself.
    pub wrapped: bool,
}

/// Shell text that the check comes to, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    pub place: Place,
    pub text: String,
}

/// The command itself, a line of the recipe of a target, a script of package.json by name, a shell script by path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Command,
    Recipe(String),
    Package(String),
    Script(String),
}

/// What a walk through the command came by.
#[derive(Default)]
struct Walk {
    found: Vec<Invocation>,
    texts: Vec<Text>,
    programs: BTreeSet<String>,
}

impl Invocation {
    /// File name of the program.
    pub fn program(&self) -> &str {
        self.words
            .first()
            .map_or("", |word| word.rsplit('/').next().unwrap_or(word))
    }

    pub fn arguments(&self) -> &[String] {
        self.words.get(1..).unwrap_or_default()
    }

    pub fn has(&self, argument: &str) -> bool {
        self.arguments()
            .iter()
            .any(|word| word == argument || word.strip_prefix(argument).is_some_and(|rest| rest.starts_with('=')))
    }

    /// The module of `python -m MODULE`.
    pub fn python_module(&self) -> Option<&str> {
        let program = self.program();
        if !(program.starts_with("python") || program.starts_with("pypy") || program == "py") {
            return None;
        }
        let at = self.arguments().iter().position(|word| word == "-m")?;
        self.arguments().get(at + 1).map(String::as_str)
    }

    /// The words after a tool's subcommand, when it is `subcommand` (`cargo +nightly test` counts).
    pub fn is(&self, program: &str, subcommand: &[&str]) -> bool {
        let mut arguments = self.arguments().iter().filter(|word| !word.starts_with(['-', '+']));
        self.program() == program
            && subcommand
                .iter()
                .all(|wanted| arguments.next().is_some_and(|word| word == wanted))
    }

    /// Confidence of a match on this invocation.
    pub(super) fn sure(&self) -> u8 {
        if self.wrapped { 70 } else { 90 }
    }
}

const DEPTH_LIMIT: usize = 5;
const INVOCATION_LIMIT: usize = 500;

impl Detection {
    /// Every program the command is seen to run.
    pub fn invocations(&self) -> Vec<Invocation> {
        self.walk().found
    }

    /// Every shell text that the command comes to, itself first.
    pub fn texts(&self) -> Vec<Text> {
        self.walk().texts
    }

    /// Every program, those that only start or name another one among them, as written.
    pub fn programs(&self) -> BTreeSet<String> {
        self.walk().programs
    }

    fn walk(&self) -> Walk {
        let mut out = Walk::default();
        self.expand(&self.command, &Place::Command, 0, &mut out);
        out
    }

    /// Confidence of the first invocation for which `matches` holds.
    pub(super) fn find(&self, matches: impl Fn(&Invocation) -> bool) -> Option<u8> {
        self.invocations()
            .iter()
            .find(|found| matches(found))
            .map(Invocation::sure)
    }

    fn expand(&self, text: &str, place: &Place, depth: usize, out: &mut Walk) {
        out.texts.push(Text {
            place: place.clone(),
            text: text.to_string(),
        });
        // What make does with a line stands in front of it.
        let text = match place {
            Place::Recipe(_) => text.trim_start_matches(['@', '-', '+', ' ', '\t']),
            _ => text,
        };
        for words in commands(text) {
            if depth > DEPTH_LIMIT || out.found.len() >= INVOCATION_LIMIT || out.texts.len() >= INVOCATION_LIMIT {
                return;
            }
            out.programs
                .extend(words.iter().find(|word| !is_assignment(word)).cloned());
            let (assignments, words) = peel(words);
            out.programs.extend(words.first().cloned());
            let found = Invocation {
                assignments,
                words,
                wrapped: *place != Place::Command,
            };
            if found.words.is_empty() || self.open(&found, place, depth, out) {
                continue;
            }
            out.found.push(found);
        }
    }

    /// Opens a wrapper whose text is at hand; `false` when `found` is a program of its own.
    fn open(&self, found: &Invocation, place: &Place, depth: usize, out: &mut Walk) -> bool {
        let arguments = found.arguments();
        match found.program() {
            "make" | "gmake" | "just" => {
                let Some(makefile) = &self.makefile else { return false };
                let mut targets: Vec<&str> = arguments
                    .iter()
                    .map(String::as_str)
                    .filter(|word| !word.starts_with('-') && !word.contains('='))
                    .collect();
                let recipes = Recipes::read(makefile);
                if targets.is_empty() {
                    targets.extend(recipes.first);
                }
                targets.iter().for_each(|target| {
                    for line in recipes.lines(target, 0) {
                        self.expand(line, &Place::Recipe((*target).to_string()), depth + 1, out);
                    }
                });
                true
            }
            "npm" | "pnpm" | "yarn" | "bun" => {
                let mut names = arguments
                    .iter()
                    .map(String::as_str)
                    .filter(|word| !word.starts_with('-'));
                let name = match names.next() {
                    Some("run" | "run-script") => names.next(),
                    Some("t" | "tst") => Some("test"),
                    other => other,
                };
                let Some(script) = name.and_then(|name| self.package_script(name)) else {
                    return false;
                };
                let place = Place::Package(name.unwrap_or_default().to_string());
                self.expand(&script, &place, depth + 1, out);
                true
            }
            "sh" | "bash" | "dash" | "zsh" => {
                if let Some(at) = arguments
                    .iter()
                    .position(|word| word.starts_with('-') && word.ends_with('c'))
                    && let Some(script) = arguments.get(at + 1)
                {
                    self.expand(script, place, depth + 1, out);
                    return true;
                }
                arguments
                    .iter()
                    .find(|word| !word.starts_with('-'))
                    .is_some_and(|path| self.open_script(path, depth, out))
            }
            _ => self.open_script(&found.words[0], depth, out),
        }
    }

    fn open_script(&self, path: &str, depth: usize, out: &mut Walk) -> bool {
        let path = path.trim_start_matches("./");
        let Some((_, text)) = self
            .scripts
            .iter()
            .find(|(name, _)| name.trim_start_matches("./") == path)
        else {
            return false;
        };
        self.expand(text, &Place::Script(path.to_string()), depth + 1, out);
        true
    }

    fn package_script(&self, name: &str) -> Option<String> {
        let package: serde_json::Value = serde_json::from_str(self.package_json.as_deref()?).ok()?;
        package.get("scripts")?.get(name)?.as_str().map(str::to_string)
    }
}

/// The rules of a Makefile, as far as a reader of commands needs them.
struct Recipes<'a> {
    first: Option<&'a str>,
    rules: BTreeMap<&'a str, (Vec<&'a str>, Vec<&'a str>)>,
}

impl<'a> Recipes<'a> {
    fn read(text: &'a str) -> Self {
        let mut recipes = Self {
            first: None,
            rules: BTreeMap::new(),
        };
        let mut current: Vec<&str> = Vec::new();
        for line in text.lines() {
            if line.starts_with([' ', '\t']) {
                for target in &current {
                    recipes.rules.entry(target).or_default().1.push(line.trim_start());
                }
                continue;
            }
            let Some((left, right)) = line.split_once(':') else {
                continue;
            };
            if left.starts_with(['#', '.']) || left.contains('=') || right.starts_with('=') {
                continue;
            }
            let (needs, inline) = right.split_once(';').unwrap_or((right, ""));
            current = left.split_whitespace().collect();
            for target in &current {
                recipes.first.get_or_insert(target);
                let rule = recipes.rules.entry(target).or_default();
                rule.0.extend(needs.split_whitespace());
                rule.1.extend((!inline.trim().is_empty()).then_some(inline.trim()));
            }
        }
        recipes
    }

    fn lines(&self, target: &str, depth: usize) -> Vec<&'a str> {
        let Some((needs, lines)) = self.rules.get(target) else {
            return Vec::new();
        };
        let mut out = Vec::new();
        for need in needs {
            if depth < DEPTH_LIMIT && out.len() < INVOCATION_LIMIT {
                out.extend(self.lines(need, depth + 1));
            }
        }
        out.extend(lines);
        out.truncate(INVOCATION_LIMIT);
        out
    }
}

/// Splits shell text into commands of words. Quotes are honoured, expansions are not performed.
fn commands(text: &str) -> Vec<Vec<String>> {
    let mut out = Vec::new();
    let mut command: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.chars().peekable();
    let mut comment = false;
    while let Some(c) = chars.next() {
        if comment && c != '\n' {
            continue;
        }
        comment = false;
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some('"') | None, '\\') => match chars.next() {
                Some('\n') | None => {}
                Some(escaped) => word.get_or_insert_default().push(escaped),
            },
            (Some(_), _) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => comment = true,
            (None, ';' | '&' | '|' | '\n' | '(' | ')') => {
                command.extend(word.take());
                out.push(std::mem::take(&mut command));
            }
            (None, _) if c.is_whitespace() => command.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(c),
        }
    }
    command.extend(word);
    out.push(command);
    out.retain(|command| !command.is_empty());
    out
}

#[cfg(test)]
mod tests {
    use super::super::choose;
    use super::*;

    fn chosen(command: &str) -> &'static str {
        let detection = Detection {
            command: command.to_string(),
            makefile: Some(
                "PY := python3\n.PHONY: test all\nall: lint\ntest: unit\n\t@echo done\nunit:\n\t@cd sub && PYTHONPATH=src python3 -m pytest -q \\\n\t\t-x\nrust: ; cargo test\n"
                    .to_string(),
            ),
            package_json: Some(r#"{"scripts":{"test":"NODE_ENV=test jest --ci","unit":"node --test","v":"vitest run"}}"#.to_string()),
            scripts: vec![("ci/test.sh".to_string(), "#!/bin/sh\nset -e\nif ! cargo nextest run; then exit 1; fi\n".to_string())],
        };
        choose(&detection).map_or("none", |collector| collector.name)
    }

    #[test]
    fn the_runner_is_found_behind_wrappers_recipes_and_scripts() {
        let cases = [
            ("pytest -q", "pytest"),
            ("python3.11 -B -m pytest tests", "pytest"),
            ("uv run --frozen pytest", "pytest"),
            ("uv run pytest", "pytest"),
            ("timeout -k 5 60 env A=b ./venv/bin/pytest", "pytest"),
            ("timeout -s KILL 60 env A=b ./venv/bin/pytest", "pytest"),
            ("coverage run --branch -m pytest", "pytest"),
            ("python -m coverage run -m unittest -v", "unittest"),
            ("make test", "pytest"),
            ("make -s rust CARGO=cargo", "libtest"),
            ("make nonesuch", "none"),
            ("make", "none"),
            ("npm test", "jest"),
            ("npm run -s unit", "node"),
            ("yarn v", "vitest"),
            ("npx jest", "jest"),
            ("sh -c 'cd x && cargo +stable test --workspace'", "libtest"),
            ("./ci/test.sh", "nextest"),
            ("bash ci/test.sh", "nextest"),
            ("go test ./...", "go"),
            ("bundle exec rspec spec", "rspec"),
            ("ctest --test-dir build -j4", "ctest"),
            ("./build/unit --gtest_shuffle", "googletest"),
            ("echo pytest", "none"),
            ("true # pytest", "none"),
            ("", "none"),
        ];
        for (command, expected) in cases {
            assert_eq!(chosen(command), expected, "{command}");
        }
    }

    #[test]
    fn a_recipe_that_needs_itself_ends() {
        let detection = Detection {
            command: "make a".into(),
            makefile: Some("a: a a a a b\n\tmake a\nb: a a a\n\tx\n".into()),
            ..Detection::default()
        };
        assert!(detection.invocations().len() <= INVOCATION_LIMIT * 2);
    }
}
