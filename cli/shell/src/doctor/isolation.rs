//! What this machine could isolate with: facts, found by doing. Isolation itself is not built (SPEC 14).

use std::ffi::{OsStr, OsString};
use std::fs;

use crate::process::{CommandSpec, Deadlines, Outcome, Supervisor, SupervisorOptions, landlock_abi, which};

use super::{Concern, Looked, Patient};

pub(super) static CONCERN: Concern = Concern {
    name: "isolation",
    doc: "facts about what this machine could isolate with; nothing is isolated yet",
    look,
};

/// A start that takes longer than this is none.
const START_LIMIT_MS: u64 = 10_000;

/// A new user, process and network namespace, and nothing writable.
const BWRAP: &[&str] = &[
    "--unshare-user",
    "--unshare-pid",
    "--unshare-net",
    "--die-with-parent",
    "--ro-bind",
    "/",
    "/",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "true",
];

/// Files of the kernel that withhold user namespaces, and what they hold where they do.
const WITHHELD: &[(&str, &str)] = &[
    ("/proc/sys/user/max_user_namespaces", "0"),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0"),
    ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
];

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Whether `bwrap` starts a program in namespaces of its own; `None` where there is no bwrap.
    pub bwrap_starts: Option<bool>,
    /// Whether the kernel's settings withhold namespaces from users.
    pub user_namespaces_withheld: bool,
    /// Version of the kernel's Landlock; `None` where it has none.
    pub landlock_abi: Option<u32>,
}

fn look(patient: &Patient, looked: &mut Looked) {
    let withheld = WITHHELD.iter().find(|(file, value)| {
        let text = fs::read_to_string(file);
        text.is_ok_and(|text| text.trim() == *value)
    });
    looked.isolation.user_namespaces_withheld = withheld.is_some();
    match withheld {
        Some((file, value)) => {
            let detail = format!("it says {value}: programs of a user get no namespaces of their own");
            looked.note(&CONCERN, file, detail, "an administrator can change it");
        }
        None => looked.ok(&CONCERN, "user namespaces", "no setting of the kernel withholds them"),
    }
    bwrap(patient, looked);
    looked.isolation.landlock_abi = landlock_abi();
    match looked.isolation.landlock_abi {
        Some(abi) => looked.ok(&CONCERN, "Landlock", format!("the kernel has version {abi} of it")),
        None => looked.note(&CONCERN, "Landlock", "the kernel has none, or it is switched off", ""),
    }
    looked.note(
        &CONCERN,
        "zones",
        "work and check run with your rights, in your file system and network: isolation is not built yet",
        "where the work is not trusted, run loopexec in a container or a machine of its own",
    );
}

fn bwrap(patient: &Patient, looked: &mut Looked) {
    let Ok(program) = which(OsStr::new("bwrap"), &patient.workdir, patient.variable("PATH")) else {
        return looked.note(
            &CONCERN,
            "bwrap",
            "no directory of PATH has it",
            "install bubblewrap to have it",
        );
    };
    let argv = [program.into_os_string()]
        .into_iter()
        .chain(BWRAP.iter().map(OsString::from))
        .collect();
    let spec = CommandSpec {
        argv,
        cwd: "/".into(),
        deadlines: Deadlines {
            timeout_ms: Some(START_LIMIT_MS),
            ..Deadlines::default()
        },
        label: "bwrap".to_owned(),
        ..CommandSpec::default()
    };
    let options = SupervisorOptions {
        runtime_dir: None,
        env: patient.env.clone(),
    };
    let started = Supervisor::start(&patient.exe, options).and_then(|mut supervisor| {
        let run = supervisor.run(&spec, &patient.stop.wishes);
        supervisor.shutdown();
        run
    });
    let (starts, why) = match started {
        Ok(run) if run.outcome == Outcome::Exited(0) && run.stop.is_none() => (true, String::new()),
        Ok(run) => {
            let told = run.stderr.inline.unwrap_or(run.stderr.head);
            let told = String::from_utf8_lossy(&told)
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned();
            (
                false,
                if told.is_empty() {
                    format!("{:?}", run.outcome)
                } else {
                    told
                },
            )
        }
        Err(error) => (false, error.to_string()),
    };
    looked.isolation.bwrap_starts = Some(starts);
    match starts {
        true => looked.ok(
            &CONCERN,
            "bwrap",
            "it starts a program in user, process and network namespaces",
        ),
        false => looked.note(
            &CONCERN,
            "bwrap",
            format!("it is there and does not start: {why}"),
            "let users have namespaces",
        ),
    }
}
