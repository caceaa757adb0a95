//! Which programs a check command runs, as far as its text tells.
//!
//! The command is split as a shell would split it; `make`, package scripts and shell scripts whose
//! text is at hand are opened, wrappers such as `env`, `timeout` or `uv run` are peeled off, and names that
//! those texts give to a program are put in. It is a guess made before the run: it chooses a reader, it never
//! judges anything.

use std::collections::BTreeSet;

use super::peel::{is_assignment, peel};
use super::recipes::Recipes;
use super::variables::in_shell;

/// What is known about a check before it runs. All texts may be cut at 64 KiB.
#[derive(Debug, Clone, Default)]
pub struct Detection {
    /// The command as the user wrote it.
    pub command: String,
    /// Text of the Makefile or justfile.
    pub makefile: Option<String>,
    /// Makefiles of directories right below, which another one leads to: directory, text.
    pub makefiles_below: Vec<(String, String)>,
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

    /// Assignments that stand alone, where they take the place of what was injected.
    fn export(assignments: Vec<String>) -> Option<Self> {
        let replaces = assignments.iter().any(|word| word.starts_with("PYTHONPATH="));
        replaces.then(|| Self {
            assignments: Vec::new(),
            words: [vec!["export".to_owned()], assignments].concat(),
            wrapped: true,
        })
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
        self.expand_as(text, text, place, depth, out);
    }

    /// `meant` is the text with what its names stand for.
    fn expand_as(&self, text: &str, meant: &str, place: &Place, depth: usize, out: &mut Walk) {
        out.texts.push(Text {
            place: place.clone(),
            text: text.to_string(),
        });
        // What make does with a line stands in front of it.
        let meant = match place {
            Place::Recipe(_) => meant.trim_start_matches(['@', '-', '+', ' ', '\t']),
            _ => meant,
        };
        for words in commands(&in_shell(meant)) {
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
            if found.words.is_empty() {
                // A variable that everybody was given changes for all that comes behind.
                out.found.extend(Invocation::export(found.assignments));
                continue;
            }
            if self.open(&found, place, depth, out) {
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
                let (dir, mut targets) = made(arguments);
                let Some(makefile) = self.makefile_of(dir) else {
                    return false;
                };
                let recipes = Recipes::read(makefile);
                let variables = recipes.variables.clone().given(arguments.iter());
                let path = variables.value("PYTHONPATH").map(|value| format!("PYTHONPATH={value}"));
                out.found.extend(Invocation::export(path.into_iter().collect()));
                if targets.is_empty() {
                    targets.extend(recipes.first);
                }
                targets.iter().for_each(|target| {
                    let place = Place::Recipe((*target).to_string());
                    for line in recipes.lines(target) {
                        self.expand_as(line, &variables.in_recipe(line), &place, depth + 1, out);
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

    fn makefile_of(&self, dir: Option<&str>) -> Option<&String> {
        let Some(dir) = dir.map(|dir| dir.trim_end_matches('/')) else {
            return self.makefile.as_ref();
        };
        let found = self.makefiles_below.iter().find(|(name, _)| name == dir);
        found.map(|(_, text)| text)
    }

    fn package_script(&self, name: &str) -> Option<String> {
        let package: serde_json::Value = serde_json::from_str(self.package_json.as_deref()?).ok()?;
        package.get("scripts")?.get(name)?.as_str().map(str::to_string)
    }
}

/// The directory in which make is told to work, and what it is to make there.
fn made(arguments: &[String]) -> (Option<&str>, Vec<&str>) {
    let mut words = arguments.iter().map(String::as_str);
    let (mut dir, mut targets) = (None, Vec::new());
    while let Some(word) = words.next() {
        match word {
            "-C" | "--directory" => dir = words.next(),
            _ if word.starts_with('-') || word.contains('=') => {
                dir = word
                    .strip_prefix("-C")
                    .or_else(|| word.strip_prefix("--directory="))
                    .or(dir);
            }
            _ => targets.push(word),
        }
    }
    (dir, targets)
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
                "PY := python3\n.PHONY: test all\nall: lint\ntest: unit\n\t@echo done\nunit:\n\t@cd sub && PYTHONPATH=src python3 -m pytest -q \\\n\t\t-x\nrust: ; cargo test\nGO ?= go\nGO_TEST := $(GO) test\nvar:\n\t@$(GO_TEST) ./...\nagain:\n\t$(MAKE) var\nDIRS = svc web\nall-of-them:\n\tfor d in $(DIRS); do $(MAKE) -C $$d test || exit 1; done\n"
                    .to_string(),
            ),
            makefiles_below: vec![("svc".to_string(), "test:\n\tgo test ./...\n".to_string())],
            package_json: Some(r#"{"scripts":{"test":"NODE_ENV=test jest --ci","unit":"node --test","v":"vitest run"}}"#.to_string()),
            scripts: vec![("ci/py".to_string(), "#!/bin/sh\nPYTHON=\"${PYTHON:-python3}\"\nexec \"$PYTHON\" -m pytest \"$@\"\n".to_string()), ("ci/test.sh".to_string(), "#!/bin/sh\nset -e\nif ! cargo nextest run; then exit 1; fi\n".to_string())],
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
            ("make var", "go"),
            ("make again", "go"),
            ("make -C svc test", "go"),
            ("make -C elsewhere test", "none"),
            ("make all-of-them", "go"),
            ("make var GO_TEST=pytest", "pytest"),
            ("./ci/py -q", "pytest"),
            ("R=pytest; $R -q", "pytest"),
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
