//! The user's two programs: a question as JSON on standard input, an answer that nobody keeps.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::event::policy::Command;
use serde_json::{Value, json};

use super::refusal;
use crate::process::{
    CaptureSpec, CommandRun, CommandSpec, Deadlines, Input, Outcome, Supervisor, SupervisorOptions, Wishes,
    host_environment, keep_out, leftovers, path_of, which,
};
use crate::world::argv;
use crate::zone::{Refusal, RefusalCause};

const MINT_LIMIT_MS: u64 = 60_000;
const REVOKE_LIMIT_MS: u64 = 20_000;
const GRACE_MS: u64 = 1_000;
/// No answer is longer.
const ANSWER_MAX_BYTES: u64 = 64 << 10;
/// A shorter secret could not be masked without masking ordinary text.
const SECRET_MIN_BYTES: usize = 8;
/// What a program says is quoted without its long words: any of them may be a key.
const WORD_MAX_BYTES: usize = 15;
const SAID_MAX_CHARS: usize = 200;
/// How long what is left of a mint command may take to end.
const LEFTOVERS_LIMIT: Duration = Duration::from_secs(5);

/// What is asked for.
pub(super) struct Asked<'a> {
    pub(super) run: &'a str,
    pub(super) label: &'a str,
    pub(super) ttl_ms: u64,
    pub(super) cap_microusd: u64,
}

/// What came of it.
pub(super) struct Minted {
    pub(super) id: String,
    pub(super) secret: String,
}

/// Where the user's programs are started from: with the user's rights and environment, and away from the tree.
#[derive(Clone, Debug)]
pub(crate) struct Desk {
    pub(super) exe: PathBuf,
    pub(super) env: Vec<(OsString, OsString)>,
    workdir: PathBuf,
}

impl Desk {
    pub(crate) fn new(exe: &Path, env: &[(OsString, OsString)], workdir: &Path) -> Self {
        keep_out(workdir);
        Self {
            exe: exe.to_path_buf(),
            // What the work can put into the tree is not found there, and no interpreter is told to look.
            env: host_environment(env),
            workdir: workdir.to_path_buf(),
        }
    }

    /// Why a command is not to be trusted with keys, or cannot be started.
    pub(super) fn objection(&self, what: &str, command: &Command) -> Option<String> {
        let parts = command.words.iter().flat_map(|word| {
            word.0
                .split(|byte| byte.is_ascii_whitespace() || b"'\"=;|&()<>`".contains(byte))
        });
        let mut files = parts
            .filter(|part| !part.is_empty())
            .map(|part| Path::new(OsStr::from_bytes(part)));
        // A bare word is a program or an option: the search path knows no directory of the tree.
        let of_tree = files.find(|file| {
            let named = file.is_absolute() || file.components().count() > 1;
            let at = self.workdir.join(file);
            named && at.exists() && lies_in(&at, &self.workdir)
        });
        if let Some(file) = of_tree {
            return Some(format!(
                "the {what} command names {}, which lies in the tree: what it runs with your rights must be out of the \
                 work's reach, named by an absolute path",
                file.display()
            ));
        }
        let words = argv(command);
        let program = words.first()?;
        which(program, Path::new("/"), path_of(&self.env)).err().map(|_| {
            format!(
                "the program {} of the {what} command cannot be found or executed",
                program.to_string_lossy()
            )
        })
    }

    /// Leaves word of the program in `place`, so that whoever cleans up can end it.
    pub(super) fn mint(&self, command: &Command, asked: &Asked<'_>, place: &Path) -> Result<Minted, Refusal> {
        let Asked {
            run,
            label,
            ttl_ms,
            cap_microusd,
        } = asked;
        let question = json!({"run": run, "label": label, "ttl_ms": ttl_ms, "cap_microusd": cap_microusd});
        let failed = |why: &str| refusal(RefusalCause::ProbeFailed, why);
        let answer = self
            .ask("mint", command, &question, MINT_LIMIT_MS, Some(place))
            .map_err(|why| failed(&why))?;
        read(&answer)
    }

    pub(super) fn revoke(&self, command: &Command, label: &str, id: Option<&str>) -> Result<(), String> {
        let mut question = json!({"label": label});
        if let Some(id) = id {
            question["id"] = id.into();
        }
        self.ask("revoke", command, &question, REVOKE_LIMIT_MS, None).map(drop)
    }

    /// What it printed, when it ended well.
    fn ask(
        &self,
        what: &str,
        command: &Command,
        question: &Value,
        limit_ms: u64,
        word: Option<&Path>,
    ) -> Result<Vec<u8>, String> {
        let spec = CommandSpec {
            argv: argv(command),
            cwd: "/".into(),
            input: Input::Bytes(format!("{question}\n").into_bytes()),
            capture: CaptureSpec {
                inline_max_bytes: ANSWER_MAX_BYTES,
                stop_after_bytes: Some(ANSWER_MAX_BYTES),
                ..CaptureSpec::default()
            },
            deadlines: Deadlines {
                timeout_ms: Some(limit_ms),
                grace_ms: GRACE_MS,
                ..Deadlines::default()
            },
            label: what.to_owned(),
            ..CommandSpec::default()
        };
        let options = SupervisorOptions {
            runtime_dir: word.map(Path::to_path_buf),
            env: self.env.clone(),
        };
        // Nobody's wish to stop the run cuts this short: it is how a run stops.
        let run = Supervisor::start(&self.exe, options)
            .and_then(|mut supervisor| {
                let run = supervisor.run(&spec, &Wishes::never());
                supervisor.shutdown();
                run
            })
            .map_err(|error| format!("the {what} command was not run: {error}"))?;
        answered(what, limit_ms, run)
    }
}

fn answered(what: &str, limit_ms: u64, run: CommandRun) -> Result<Vec<u8>, String> {
    use crate::process::StopCause;
    let said = said(run.stderr.end());
    match (run.stop, &run.outcome) {
        (None, Outcome::Exited(0)) => Ok(run.stdout.inline.unwrap_or_default()),
        (None, outcome) => Err(format!("the {what} command {outcome}{said}")),
        (Some(StopCause::Deadline), _) => Err(format!(
            "the {what} command did not end within {} seconds{said}",
            limit_ms / 1_000
        )),
        (Some(StopCause::OutputCap), _) => {
            Err(format!("the {what} command printed more than {ANSWER_MAX_BYTES} bytes"))
        }
        (Some(_), _) => Err(format!("the {what} command was ended from outside{said}")),
    }
}

/// The last line of what it said, without anything that could be a key.
fn said(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let Some(line) = text.lines().rev().find(|line| !line.trim().is_empty()) else {
        return String::new();
    };
    let word = |word: &str| match word.len() {
        ..=WORD_MAX_BYTES => word.to_owned(),
        _ => "***".to_owned(),
    };
    let words: Vec<String> = line.split_whitespace().map(word).collect();
    let line: String = words.join(" ").chars().take(SAID_MAX_CHARS).collect();
    format!("; it said {line:?}")
}

/// No word of the answer is quoted, whatever is wrong with it.
fn read(answer: &[u8]) -> Result<Minted, Refusal> {
    let wrong = |why: &str| Err(refusal(RefusalCause::CredentialUnbounded, why));
    let Ok(Value::Object(answer)) = serde_json::from_slice::<Value>(answer) else {
        return wrong("the mint command did not answer with one JSON object {id, secret, expires}");
    };
    let text = |name: &str| match answer.get(name) {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    if text("expires").is_none() {
        return wrong("the answer of the mint command does not say when the key `expires`");
    }
    let Some(id) = text("id") else {
        return wrong("the answer of the mint command has no `id`");
    };
    let secret = answer.get("secret").and_then(Value::as_str).unwrap_or_default();
    if secret.len() < SECRET_MIN_BYTES || secret.chars().any(char::is_control) {
        return wrong(
            "the `secret` in the answer of the mint command is no text of at least 8 bytes without control characters",
        );
    }
    if id.contains(secret) {
        return wrong("the `id` in the answer of the mint command is the secret itself");
    }
    let secret = secret.to_owned();
    Ok(Minted { id, secret })
}

/// Ends a mint command that was left running: what it makes after a look by label would be nobody's.
pub(super) fn end_mint(place: &Path) -> Result<(), String> {
    let ended = leftovers::end(place, LEFTOVERS_LIMIT).map_err(|error| error.to_string())?;
    match ended.remaining.first() {
        None => Ok(()),
        Some(left) => Err(format!(
            "process {} of the mint command cannot be ended and may still make it",
            left.pid
        )),
    }
}

fn lies_in(path: &Path, tree: &Path) -> bool {
    let real = path.canonicalize();
    path.starts_with(tree) || real.is_ok_and(|real| real.starts_with(tree))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(answer: &str) -> Option<RefusalCause> {
        read(answer.as_bytes()).err().map(|refusal| refusal.cause)
    }

    #[test]
    fn an_answer_is_a_key_with_a_name_and_an_end() {
        let good = read(br#"{"id": 7, "secret": "sk-12345678", "expires": "2031-01-01T00:00:00Z", "x": 1}"#);
        assert!(good.is_ok_and(|minted| minted.id == "7" && minted.secret == "sk-12345678"));
        for bad in [
            "",
            "sk-12345678",
            "[]",
            r#"{"id": "a", "secret": "sk-12345678"}"#,
            r#"{"id": "a", "secret": "sk-12345678", "expires": null}"#,
            r#"{"secret": "sk-12345678", "expires": 1}"#,
            r#"{"id": "a", "secret": "short", "expires": 1}"#,
            r#"{"id": "a", "secret": "sk-1234\n5678", "expires": 1}"#,
            r#"{"id": "a", "secret": {"sk-12345678": 1}, "expires": 1}"#,
            r#"{"id": "sk-12345678", "secret": "sk-12345678", "expires": 1}"#,
        ] {
            assert_eq!(cause(bad), Some(RefusalCause::CredentialUnbounded), "{bad}");
        }
    }

    #[test]
    fn a_refusal_quotes_nothing_that_could_be_a_key() {
        for answer in [
            "sk-canary-0123456789 is yours",
            r#"{"secret": ["sk-canary-0123456789"]}"#,
        ] {
            let refusal = read(answer.as_bytes()).err().unwrap();
            assert!(!refusal.message.contains("canary"), "{}", refusal.message);
        }
        let said = said(b"first\nmade key=sk-canary-0123456789 but lost it\n\n");
        assert_eq!(said, "; it said \"made *** but lost it\"");
    }

    #[test]
    fn a_program_that_the_work_could_change_is_trusted_with_no_key() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().canonicalize().unwrap();
        let (tree, outside) = (at.join("tree"), at.join("outside"));
        for dir in [&tree, &outside] {
            std::fs::create_dir(dir).unwrap();
            std::fs::write(dir.join("mint"), "#!/bin/sh\n").unwrap();
        }
        std::os::unix::fs::symlink(tree.join("mint"), outside.join("link")).unwrap();
        let path = std::env::join_paths([Path::new("/usr/bin"), Path::new("/bin"), &tree, Path::new("relative")]);
        let desk = Desk::new(Path::new("loopexec"), &[("PATH".into(), path.unwrap())], &tree);
        assert_eq!(path_of(&desk.env), Some(OsStr::new("/usr/bin:/bin")));
        let objects = |text: &str| desk.objection("mint", &Command::shell(text)).is_some();
        assert!(objects("./mint"));
        assert!(objects(&format!("sh '{}'", tree.join("mint").display())));
        assert!(objects(&format!("sh {}", outside.join("link").display())));
        assert!(!objects(&format!("sh {}", outside.join("mint").display())));
        let missing = Command {
            words: ["no-such-program-here".into()].into(),
            shell: false,
        };
        assert!(desk.objection("mint", &missing).is_some());
    }
}
