//! The programs that the check and the work command start with: they are there, and can be executed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;

use engine::doctor::{CHECK_NOT_EXECUTABLE, CHECK_NOT_FOUND, EXEC_NOT_EXECUTABLE, EXEC_NOT_FOUND, Fault, GUARD_BLIND};
use engine::event::policy::Command;
use engine::vet::hermeticity;

use super::shell_list::parts;
use super::{Concern, Looked, Patient};
use crate::oracle::collect::{Detection, is_assignment};
use crate::oracle::trace;
use crate::process::{Outcome, host_program, which};

pub(super) static CONCERN: Concern = Concern {
    name: "tools",
    doc: "the programs of the check and the work command are there and can be executed",
    look,
};

/// What a shell does itself.
const BUILTIN: &[&str] = &[
    ".", ":", "[", "[[", "alias", "bg", "break", "cd", "command", "continue", "declare", "echo", "eval", "exec",
    "exit", "export", "false", "fg", "getopts", "hash", "kill", "let", "local", "printf", "pwd", "read", "readonly",
    "return", "set", "shift", "shopt", "source", "test", "times", "trap", "true", "type", "ulimit", "umask", "unset",
    "wait", "do", "done", "else", "elif", "fi", "for", "while", "until", "case", "esac", "}",
];

fn look(patient: &Patient, looked: &mut Looked) {
    let policy = &patient.policy;
    let check = [CHECK_NOT_FOUND, CHECK_NOT_EXECUTABLE];
    let exec = [EXEC_NOT_FOUND, EXEC_NOT_EXECUTABLE];
    for (command, faults) in [(&policy.oracle.check, check), (&policy.exec, exec)] {
        let programs = match command.shell {
            true => programs(patient, command),
            false => command
                .words
                .iter()
                .take(1)
                .map(|word| (word.0.clone(), false))
                .collect(),
        };
        for (program, is_wrapped) in programs {
            one(patient, looked, &OsString::from_vec(program), faults, is_wrapped);
        }
    }
    tracer(patient, looked);
}

/// What a declaration of the contract needs.
fn tracer(patient: &Patient, looked: &mut Looked) {
    if !hermeticity::declared(&patient.policy) {
        return;
    }
    standing_clock(patient, looked);
    if patient.policy.isolation.zones {
        // What its zone saw fixed of itself is the evidence there.
        return;
    }
    match host_program(trace::STRACE, patient.variable("PATH")) {
        Ok(file) => looked.ok(&CONCERN, trace::STRACE, format!("it is {}", file.display())),
        Err(_) => {
            let what = "the check is declared hermetic and is traced by it, and no directory of PATH has it";
            looked.problem(&CONCERN, GUARD_BLIND, trace::STRACE, what, trace::REMEDY);
        }
    }
}

/// What tier T1 of such a check rests on.
fn standing_clock(patient: &Patient, looked: &mut Looked) {
    let subject = "faketime";
    match which(OsStr::new(subject), &patient.workdir, patient.variable("PATH")) {
        Ok(file) => looked.ok(&CONCERN, subject, format!("it is {}", file.display())),
        Err(_) => {
            let what = "no directory of PATH has it: a clock that stands still (tier T1), or is a day on, is not tried";
            looked.note(&CONCERN, subject, what, "install faketime");
        }
    }
}

/// Programs that a shell would start, and whether only a recipe, a script or a branch calls them.
fn programs(patient: &Patient, command: &Command) -> Vec<(Vec<u8>, bool)> {
    let detection = match *command == patient.policy.oracle.check {
        true => patient.detection(),
        false => Detection {
            command: command.display(),
            ..Detection::default()
        },
    };
    let own = parts(&detection.command).unwrap_or_default().into_iter();
    let own = own.filter_map(|part| part.words.into_iter().find(|word| !is_assignment(word)));
    let called = detection
        .invocations()
        .into_iter()
        .filter_map(|run| run.words.into_iter().next());
    let mut found: Vec<(Vec<u8>, bool)> = Vec::new();
    for (program, is_wrapped) in own.map(|word| (word, false)).chain(called.map(|word| (word, true))) {
        let plain = program
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_./+".contains(c));
        let is_known = found.iter().any(|(known, _)| known == program.as_bytes());
        if plain && !BUILTIN.contains(&program.as_str()) && !is_known {
            found.push((program.into_bytes(), is_wrapped));
        }
    }
    found
}

fn one(patient: &Patient, looked: &mut Looked, program: &OsStr, [absent, barred]: [Fault; 2], is_wrapped: bool) {
    let path = patient.variable("PATH");
    let shown = program.to_string_lossy();
    let (fault, what, remedy) = match which(program, &patient.workdir, path) {
        Ok(file) => return looked.ok(&CONCERN, shown, format!("it is {}", file.display())),
        Err(Outcome::NotExecutable) => {
            let remedy = format!("make it executable: chmod +x {shown}");
            (barred, "it is there and cannot be executed", remedy)
        }
        Err(_) if shown.contains('/') => (
            absent,
            "there is no such file",
            "build it first, or correct the path".to_owned(),
        ),
        Err(_) => {
            let remedy = "install it, activate the environment that has it, or give its path".to_owned();
            (absent, "no directory of PATH has it", remedy)
        }
    };
    if is_wrapped {
        // A step before it may make it, and not every line of a script is come to.
        looked.note(&CONCERN, shown, what, remedy);
    } else {
        looked.problem(&CONCERN, fault, shown, what, remedy);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::bench::{patient, said};
    use super::*;

    #[test]
    fn a_program_that_is_missing_or_barred_is_named_with_what_to_do() {
        let (_dir, patient) = patient(
            &[("verify", "#!/bin/sh\n"), ("ok", "#!/bin/sh\n")],
            "cd . && A=b ./ok && ./verify && no-such-tool-here x",
        );
        fs::set_permissions(patient.workdir.join("ok"), fs::Permissions::from_mode(0o755)).unwrap();
        let mut looked = Looked::default();
        look(&patient, &mut looked);
        let told: Vec<_> = looked
            .findings
            .iter()
            .map(|f| (f.subject.as_str(), f.severity.fault()))
            .collect();
        let wanted = [
            ("./ok", None),
            ("./verify", Some(CHECK_NOT_EXECUTABLE)),
            ("no-such-tool-here", Some(CHECK_NOT_FOUND)),
        ];
        assert_eq!(told, wanted);
        assert!(looked.findings[1].remedy.contains("chmod +x ./verify"));
    }

    #[test]
    fn the_work_command_has_causes_of_its_own() {
        let (_dir, mut patient) = patient(&[], "true");
        patient.policy.exec = Command {
            words: ["no-such-agent".into(), "-p".into()].into(),
            shell: false,
        };
        let mut looked = Looked::default();
        look(&patient, &mut looked);
        assert_eq!(looked.findings[0].severity.fault(), Some(EXEC_NOT_FOUND));
    }

    #[test]
    fn a_check_that_is_declared_hermetic_needs_the_program_that_traces_it() {
        let (_dir, mut patient) = patient(&[], "true");
        let tools = tempfile::tempdir().unwrap();
        patient.env = vec![("PATH".into(), tools.path().into())];
        assert_eq!(said(&CONCERN, &patient), []);
        patient.policy.oracle.hermetic = true;
        let fault = |patient: &Patient| {
            let mut looked = Looked::default();
            look(patient, &mut looked);
            looked.findings.iter().find_map(|found| found.severity.fault())
        };
        assert_eq!(fault(&patient), Some(GUARD_BLIND));
        patient.policy.isolation.zones = true;
        assert_eq!(fault(&patient), None, "a zone needs no trace");
        patient.policy.isolation.zones = false;
        let strace = tools.path().join(trace::STRACE);
        fs::write(&strace, "").unwrap();
        fs::set_permissions(&strace, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(fault(&patient), None);
    }

    #[test]
    fn what_a_recipe_calls_may_be_made_on_the_way() {
        let (_dir, patient) = patient(&[("Makefile", "test:\n\t./made\n")], "make test");
        let last = said(&CONCERN, &patient).pop();
        assert_eq!(last, Some(("note", "there is no such file".to_owned())));
    }
}
