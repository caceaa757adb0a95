//! `[loop]`: what is run, and in which topology.

use engine::event::id::Bytes;
use engine::event::policy::{Command, LoopMode};

use super::super::error::Fault;
use super::super::setting::{Kind, Off, Setting};
use super::super::value::Value;
use super::row;

const GROUP: &str = "The loop";

pub(super) const ROWS: &[Setting] = &[
    Setting {
        kind: Kind::Command,
        set: |policy, value| {
            policy.oracle.check = value.command()?;
            Ok(())
        },
        show: |policy| row::command(&policy.oracle.check),
        ..row::blank(
            GROUP,
            "loop.check",
            "--check",
            "LOOPEXEC_CHECK",
            "The external check that decides: exit 0 is green",
            "A string is run as `sh -c` in the workdir; in the file an array of words is run without a shell. Required.",
        )
    },
    Setting {
        kind: Kind::Command,
        off: Off::Word,
        set: |policy, value| {
            policy.exec = value.unless_off().map(Value::command).transpose()?.unwrap_or_default();
            Ok(())
        },
        show: |policy| {
            if policy.exec.is_empty() {
                row::OFF.to_owned()
            } else {
                row::command(&policy.exec)
            }
        },
        ..row::blank(
            GROUP,
            "loop.exec",
            "--exec",
            "LOOPEXEC_EXEC",
            "The work command, run before each check",
            "A string is run as `sh -c`; words after `--` on the command line, or an array of words in the file, are run without a shell. Without a work command only the check runs.",
        )
    },
    row!(
        choice LoopMode,
        mode,
        row::blank(
            GROUP,
            "loop.mode",
            "--mode",
            "LOOPEXEC_MODE",
            "Topology of the loop",
            "`check_fixpoint` works until the check is green; `task_list` works through a plan, one task at a time.",
        )
    ),
    row!(
        list EnvNames,
        secrets,
        row::blank(
            GROUP,
            "loop.secrets",
            "--secret",
            "LOOPEXEC_SECRETS",
            "Environment variable whose value is masked wherever output is kept",
            "Only the name is recorded, never the value.",
        )
    ),
];

/// After the commands they change.
pub(super) const WRAPPING_ROWS: &[Setting] = &[Setting {
    kind: Kind::Bool,
    set: |policy, value| {
        let wanted = value.boolean()?;
        for command in [&mut policy.exec, &mut policy.oracle.check] {
            set_pipefail(command, wanted)?;
        }
        Ok(())
    },
    show: |policy| (has_pipefail(&policy.exec) || has_pipefail(&policy.oracle.check)).to_string(),
    ..row::blank(
        GROUP,
        "loop.pipefail",
        "--pipefail",
        "LOOPEXEC_PIPEFAIL",
        "Run the check and the work command with `bash -o pipefail -c` instead of `sh -c`",
        "A pipe such as `pytest | tee log` then fails when its first part fails. Needs bash; commands given as words are run as they are.",
    )
}];

const PIPEFAIL: [&str; 4] = ["bash", "-o", "pipefail", "-c"];

fn has_pipefail(command: &Command) -> bool {
    !command.shell
        && command.words.len() == PIPEFAIL.len() + 1
        && command
            .words
            .iter()
            .zip(PIPEFAIL)
            .all(|(word, part)| word.0 == part.as_bytes())
}

fn set_pipefail(command: &mut Command, wanted: bool) -> Result<(), Fault> {
    if wanted && command.shell {
        let words = PIPEFAIL.into_iter().map(Bytes::from).chain(command.words.drain(..));
        *command = Command {
            words: words.collect(),
            shell: false,
        };
    } else if !wanted && has_pipefail(command) {
        let text = command.words.pop().ok_or(Fault::Empty { what: "the command" })?;
        *command = Command {
            words: vec![text],
            shell: true,
        };
    }
    Ok(())
}
