//! From the command line to the exit code.

use std::ffi::{OsStr, OsString};
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, CommandFactory as _, FromArgMatches as _, Parser};
use engine::event::halt::HaltReason;
use serde::Serialize;
use shell::clock;

use crate::command::{COMMANDS, Command, only};
use crate::failure::Failure;
use crate::outcome::{Answer, Outcome};
use crate::render::{self, Style};

/// A governor for unattended agent loops: it runs work and check in turn, halts only on computed reasons, and leaves a
/// journal that anyone can verify
#[derive(Debug, Parser)]
#[command(
    name = "loopexec",
    version,
    max_term_width = 100,
    propagate_version = false,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = EXAMPLES,
    after_long_help = AFTER_LONG_HELP,
)]
pub(crate) struct Cli {
    /// Print exactly one JSON object on standard output, whatever happens
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  loopexec demo                                      watch a whole run on a small project of its own
  loopexec init                                      find the test runner, write loopexec.toml
  loopexec run --check 'make test' -- my-agent       work and check in turn until a computed reason halts
  loopexec status --follow                           see what is going on, from another terminal
  loopexec explain-halt                              what the last halt means and what to type next";

const AFTER_LONG_HELP: &str = "\
Examples:
  loopexec demo                                      watch a whole run on a small project of its own
  loopexec init                                      find the test runner, write loopexec.toml
  loopexec run --check 'make test' -- my-agent       work and check in turn until a computed reason halts
  loopexec status --follow                           see what is going on, from another terminal
  loopexec explain-halt                              what the last halt means and what to type next

Exit codes:
  0    the command did what it was asked (run, resume and step never exit 0 unless --success-exit 0)
  2    the command line is wrong; nothing was started
  10   converged                 11  blocked: a person is needed     12  iteration cap
  13   integrity in doubt        14  the check cannot be trusted     15  the check is inadequate
  16   a judgement is pending    17  no convergence                  18  budget
  19   liveness or drift         20  a stated invariant fails        30  workspace or configuration
  40   a command failed          50  loopexec itself failed
  128+N  interrupted by signal N; `loopexec resume` goes on
`loopexec explain-halt CODE` says more about each.";

/// What every command may ask about its surroundings.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) json: bool,
    /// The environment, as it was when the program started.
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) out: Style,
    pub(crate) err: Style,
}

impl Scene {
    fn new(json: bool) -> Self {
        let env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let (out, err) = render::styles(&env);
        Self { json, env, out, err }
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.env.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_os_str())
    }

    /// The binary to be started once more as a supervisor.
    pub(crate) fn exe(&self) -> Result<PathBuf, Failure> {
        std::env::current_exe().map_err(|error| {
            Failure::of(
                HaltReason::InternalError,
                "defect",
                format!("the path of this program cannot be found out: {error}"),
            )
        })
    }
}

/// Runs the program and gives its exit code.
pub fn main() -> ExitCode {
    clock::start();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let json = says(&arguments, "--json") || says(&arguments, "--events");
    let scene = Scene::new(json);
    let name = command_name(&arguments);
    let arguments = without_json(arguments);
    let (outcome, command) = guarded(|| match parse(name, &arguments) {
        Ok(cli) => {
            let name = cli.command.name();
            (cli.command.run(&scene), name)
        }
        Err(error) => unparsed(&error, name),
    })
    .unwrap_or_else(|message| (Err(defect(&message)), name));
    ExitCode::from(match outcome {
        Ok(outcome) => render::outcome(&scene, &outcome),
        Err(failure) => render::failure(&scene, command, &failure),
    })
}

/// Most of the time of a short command would go into building the arguments of all the others: they are built only
/// for a line that is not plainly right, and for help.
fn parse(command: &'static str, arguments: &[OsString]) -> Result<Cli, clap::Error> {
    if arguments.len() == 2
        && let Some(command) = Command::bare(command)
    {
        return Ok(Cli { json: false, command });
    }
    let json = Arg::new("json").long("json").global(true).action(ArgAction::SetTrue);
    let root = clap::Command::new("loopexec").subcommand_required(true).arg(json);
    only(command, root)
        .try_get_matches_from(arguments)
        .and_then(|matches| Cli::from_arg_matches(&matches))
        .or_else(|_| Cli::try_parse_from(arguments))
}

/// A flag anywhere before a `--`, known before anything is parsed, because what cannot be parsed is answered in JSON
/// too. A stream of events ends with the same object.
fn says(arguments: &[OsString], flag: &str) -> bool {
    let mut ours = arguments.iter().skip(1).take_while(|argument| *argument != "--");
    ours.any(|argument| argument == flag)
}

/// The line without the flag that was heard already: not every corner of the parser would take it.
fn without_json(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut ours = true;
    let kept = arguments.into_iter().filter(|argument| {
        ours &= argument != "--";
        !ours || argument != "--json"
    });
    kept.collect()
}

/// The command that was meant, for the schema of an answer to a line that cannot be parsed.
fn command_name(arguments: &[OsString]) -> &'static str {
    let word = arguments
        .iter()
        .skip(1)
        .find(|word| !word.to_string_lossy().starts_with('-'));
    let known = |word: &OsString| COMMANDS.iter().find(|row| *word == row.name);
    word.and_then(known).map_or("usage", |row| row.name)
}

/// The object of an answer that is a help text.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Help {
    help: String,
}

/// What clap has to say instead of arguments: help and version are answers, the rest is a mistake.
fn unparsed(error: &clap::Error, command: &'static str) -> (Result<Outcome, Failure>, &'static str) {
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let answer = Answer::new("help", "ok").with(&Help { help: text.clone() });
            (Ok(Outcome::new(answer, text)), command)
        }
        // `--json` alone is a bare command too.
        ErrorKind::MissingSubcommand => {
            let text = Cli::command().render_help().to_string();
            let answer = Answer::new("help", "ok").with(&Help { help: text.clone() });
            (Ok(Outcome::new(answer, text)), command)
        }
        ErrorKind::DisplayVersion => (Ok(crate::command::version_line()), command),
        _ => (Err(Failure::usage(sentence(&text))), command),
    }
}

/// Clap's rendering without its prefix.
fn sentence(text: &str) -> String {
    text.trim().trim_start_matches("error: ").to_owned()
}

/// The newest panic, as the hook saw it.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Runs `action`; a panic becomes its message, and nobody sees a backtrace.
fn guarded<T>(action: impl FnOnce() -> T) -> Result<T, String> {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let payload = info.payload();
        let said = payload.downcast_ref::<&str>().copied();
        let said = said.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let message = format!("{} at {place}", said.unwrap_or("no message"));
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = Some(message);
    }));
    panic::catch_unwind(AssertUnwindSafe(action)).map_err(|_| {
        let told = PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
        told.unwrap_or_else(|| "no message".to_owned())
    })
}

fn defect(message: &str) -> Failure {
    Failure::of(
        HaltReason::InternalError,
        "defect",
        format!(
            "loopexec itself failed: {message}; what was recorded is safe, `loopexec status` shows it, and this is worth a bug report"
        ),
    )
}

/// Every help text, in the order of the commands: for the test that keeps it.
pub fn help_tree() -> Vec<(String, String)> {
    let mut cli = Cli::command().term_width(100);
    cli.build();
    let mut tree = vec![("loopexec".to_owned(), cli.render_long_help().to_string())];
    gather(&mut cli, "loopexec", &mut tree);
    tree
}

/// Name, purpose and exits of every command, for the table of the contract.
pub fn command_table() -> Vec<[String; 3]> {
    let cli = Cli::command();
    let about = |name: &str| {
        let command = cli.find_subcommand(name).and_then(clap::Command::get_about);
        command.map(ToString::to_string).unwrap_or_default()
    };
    COMMANDS
        .iter()
        .map(|row| [row.name.to_owned(), about(row.name), row.exits.to_owned()])
        .collect()
}

fn gather(command: &mut clap::Command, path: &str, tree: &mut Vec<(String, String)>) {
    for sub in command.get_subcommands_mut().filter(|sub| sub.get_name() != "help") {
        let path = format!("{path} {}", sub.get_name());
        tree.push((path.clone(), sub.render_long_help().to_string()));
        gather(sub, &path, tree);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn json_is_asked_for_anywhere_but_behind_the_work_command() {
        assert!(says(&words("loopexec --json run"), "--json"));
        assert!(says(&words("loopexec run --nonsense --json"), "--json"));
        assert!(!says(&words("loopexec run -- agent --json"), "--json"));
    }

    #[test]
    fn what_the_work_command_is_told_stays_as_it_is() {
        let kept = without_json(words("loopexec --json run --json -- agent --json"));
        assert_eq!(kept, words("loopexec run -- agent --json"));
    }

    #[test]
    fn a_panic_becomes_one_sentence_of_class_50() {
        let message = guarded(|| -> () { panic!("a broken promise") }).unwrap_err();
        assert!(message.starts_with("a broken promise at "), "{message}");
        assert_eq!(defect(&message).exit, 50);
    }

    #[test]
    fn an_answer_to_a_line_that_cannot_be_parsed_names_the_command_that_was_meant() {
        assert_eq!(command_name(&words("loopexec --json verify --nope")), "verify");
        assert_eq!(command_name(&words("loopexec verifi")), "usage");
    }
}
