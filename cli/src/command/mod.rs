//! The commands: one file each, and the list of them.

mod ack;
mod check;
mod completions;
mod demo;
mod doctor;
mod explain_halt;
mod export;
mod init;
mod isolate;
mod life;
mod probe_check;
mod ratchet;
mod replay;
mod report;
mod resume;
mod run;
mod status;
mod step;
mod verify;
mod version;

use clap::Subcommand;

use crate::app::Scene;
use crate::failure::Failure;
use crate::outcome::Outcome;

pub(crate) use version::line as version_line;

/// A row of the table of commands: what it is for stands in its help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandRow {
    pub name: &'static str,
    /// How it may exit, in the words of the contract.
    pub exits: &'static str,
}

macro_rules! commands {
    ($($(#[$meta:meta])* $name:ident($module:ident) = $label:literal, $exits:literal;)*) => {
        /// One command with its arguments.
        #[derive(Debug, Subcommand)]
        pub(crate) enum Command { $($(#[$meta])* $name($module::Args)),* }

        impl Command {
            /// Its name, as it was typed.
            pub(crate) const fn name(&self) -> &'static str {
                match self { $(Self::$name(_) => $label),* }
            }

            /// Does it.
            pub(crate) fn run(self, scene: &Scene) -> Result<Outcome, Failure> {
                match self { $(Self::$name(args) => $module::run(args, scene)),* }
            }
        }

        /// Of each command, by name, what it adds to the common members.
        #[cfg(test)]
        pub(crate) fn objects() -> Vec<(&'static str, crate::schema::Added)> {
            vec![$(($label, |generator| generator.subschema_for::<$module::Objects>())),*]
        }

        /// `root` with every command by name and the arguments of one.
        pub(crate) fn only(named: &str, root: clap::Command) -> clap::Command {
            let rows: &[(&'static str, fn(clap::Command) -> clap::Command)] =
                &[$(($label, <$module::Args as clap::Args>::augment_args)),*];
            rows.iter().fold(root, |root, (name, augment)| {
                let command = clap::Command::new(*name);
                root.subcommand(if *name == named { augment(command) } else { command })
            })
        }

        /// Every command, in the order of the help.
        pub const COMMANDS: &[CommandRow] = &[$(CommandRow { name: $label, exits: $exits }),*];
    };
}

commands! {
    Init(init) = "init", "0, 30";
    Demo(demo) = "demo", "0, 30, 50";
    #[command(after_help = run::EXAMPLES, after_long_help = run::AFTER_LONG_HELP)]
    Run(run) = "run", "class of the halt";
    Resume(resume) = "resume", "class of the halt";
    Step(step) = "step", "class of the halt";
    Status(status) = "status", "0, 30";
    Report(report) = "report", "0, 30";
    Replay(replay) = "replay", "0, 13, 30";
    Verify(verify) = "verify", "0, 13, 30";
    ExplainHalt(explain_halt) = "explain-halt", "0, 30";
    ProbeCheck(probe_check) = "probe-check", "0, 13, 14, 18, 30, 40";
    Doctor(doctor) = "doctor", "0, 13, 15, 17, 30, 40";
    Isolate(isolate) = "isolate", "0, 13, 20, 30, 40";
    Check(check) = "check", "0, 20";
    Ratchet(ratchet) = "ratchet", "0, 30";
    Ack(ack) = "ack", "0, 30";
    Export(export) = "export", "0, 30";
    Completions(completions) = "completions", "0";
    Version(version) = "version", "0";
}

impl Command {
    /// The command of a line that holds its name and nothing else, where that is asked so often that a parser would
    /// be a good part of the answer's cost.
    pub(crate) fn bare(named: &str) -> Option<Self> {
        (named == "status").then(|| Self::Status(status::Args::default()))
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::{COMMANDS, Command};
    use crate::app::Cli;

    #[test]
    fn a_command_that_needs_no_parser_is_what_the_parser_makes_of_its_name() {
        let bare = COMMANDS
            .iter()
            .filter_map(|row| Some((row.name, Command::bare(row.name)?)));
        for (name, bare) in bare {
            let parsed = Cli::try_parse_from(["loopexec", name]).unwrap();
            assert_eq!(format!("{bare:?}"), format!("{:?}", parsed.command));
        }
    }

    #[test]
    fn the_list_names_every_command_and_each_has_a_purpose() {
        let cli = Cli::command();
        let named: Vec<_> = cli
            .get_subcommands()
            .map(|command| command.get_name().to_owned())
            .collect();
        assert_eq!(named, COMMANDS.iter().map(|row| row.name).collect::<Vec<_>>());
        for command in cli.get_subcommands() {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(!about.is_empty() && !about.ends_with('.'), "{}", command.get_name());
        }
    }

    #[test]
    fn the_whole_tree_of_arguments_is_consistent() {
        Cli::command().debug_assert();
    }
}
