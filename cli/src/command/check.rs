//! `check`: hygiene of the state directory and of the workspace around it; never the application's own check.

use engine::event::halt::HaltReason;
use engine::words::counted;
use serde::Serialize;
use shell::paths::{self, StateDir};
use shell::record::{self, Grade, Hygiene};

use crate::app::Scene;
use crate::failure::Failure;
use crate::outcome::{Answer, Outcome};
use crate::render::one_line;
use crate::which::Workdir;

/// Check the state directory: permissions, lock, every journal, projections, leftovers of crashes
///
/// Beside it the workspace: loopexec.toml, whether git tracks the record or is in the middle of something. Never runs the
/// application's check. Exit 20 when an invariant does not hold; what can be rebuilt or removed is a
/// warning.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    at: Workdir,
}

/// The objects of this command.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Objects {
    findings: Vec<Shown>,
    runs: u64,
    events: u64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Shown {
    grade: &'static str,
    subject: String,
    detail: String,
}

pub(crate) fn run(args: Args, scene: &Scene) -> Result<Outcome, Failure> {
    let workdir = paths::workdir(&args.at.workdir)?;
    let state = StateDir::open(&workdir)?;
    let mut seen = match &state {
        Some(state) => record::inspect(state)?,
        None => Hygiene::default(),
    };
    seen.findings
        .extend(record::inspect_workspace(&workdir, state.as_ref()).findings);
    let broken = seen.grade() == Grade::Broken;
    let mut text = String::new();
    for finding in &seen.findings {
        let label = match finding.grade {
            Grade::Note => finding.grade.label().to_owned(),
            Grade::Warning => scene.out.yellow(finding.grade.label()),
            Grade::Broken => scene.out.red(finding.grade.label()),
        };
        text.push_str(&format!(
            "{label}: {}: {}\n",
            one_line(&finding.subject),
            one_line(&finding.detail)
        ));
    }
    let verdict = match seen.grade() {
        Grade::Broken => "an invariant does not hold",
        Grade::Warning => "sound; something can be rebuilt or removed",
        Grade::Note => "sound",
    };
    text.push_str(&match &state {
        Some(_) => format!(
            "{verdict}: {}, {} verified\n",
            counted(seen.runs, "run"),
            counted(seen.events, "event")
        ),
        None => format!("{verdict}: {} has no state directory yet\n", workdir.display()),
    });
    let mut answer = Answer::new("check", if broken { "error" } else { "ok" });
    if broken {
        answer.halt_reason = Some(HaltReason::InvariantFailed);
        answer.failure_cause = Some("hygiene_failed".to_owned());
        let broken = seen.findings.iter().filter(|finding| finding.grade == Grade::Broken);
        answer.errors = broken
            .map(|finding| format!("{}: {}", finding.subject, finding.detail))
            .collect();
    }
    let shown: Vec<Shown> = seen
        .findings
        .into_iter()
        .map(|finding| Shown {
            grade: finding.grade.label(),
            subject: finding.subject,
            detail: finding.detail,
        })
        .collect();
    let answer = answer.with(&Objects {
        findings: shown,
        runs: seen.runs,
        events: seen.events,
    });
    let exit = if broken {
        HaltReason::InvariantFailed.exit_code()
    } else {
        0
    };
    Ok(Outcome::new(answer, text).exiting(exit))
}
