//! `doctor`: what would keep a run from starting, or from being believed, and what to do about it.

use engine::doctor::{self, Fault, Finding};
use engine::event::halt::HaltReason;
use serde::Serialize;
use shell::config::{self, Inputs};
use shell::doctor::{Patient, look};
use shell::paths;

use crate::app::Scene;
use crate::contract::{self, DoctorFlags};
use crate::failure::Failure;
use crate::outcome::{Advice, Answer, Outcome};
use crate::render::doctor::{self as shown, Shown};
use crate::render::safe;
use crate::which::{Workdir, workdir_flag};

/// Examine project, check and machine before a run, and say what to do about each problem
///
/// Looks at the test runner, the exit status and the filters of the check, the programs, the state directory, what
/// earlier runs left, room on disk, git, the signing key and what could isolate. Neither the check nor the work is run;
/// nothing is changed and nothing ended. A problem is a finding for which a run would be refused, would halt or could
/// not be believed: the first one gives reason and exit code.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    at: Workdir,
    #[command(flatten)]
    contract: DoctorFlags,
}

const EXAMPLES: &str = "\
Examples:
  loopexec doctor                                    the project here, with its loopexec.toml
  loopexec doctor --check 'make test' --exec 'agent' before the first run
  loopexec doctor --json                             for programs";

/// The object of this command.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Objects {
    doctor: Shown,
}

pub(crate) fn run(args: Args, scene: &Scene) -> Result<Outcome, Failure> {
    let workdir = paths::workdir(&args.at.workdir)?;
    let names = contract::known();
    // A check that is missing is a finding.
    let contract = config::resolve_without_check(&Inputs {
        workdir: &workdir,
        flags: &args.contract.0,
        env: &scene.env,
        known: contract::as_known(&names),
    })?;
    let patient = Patient::new(workdir, contract.policy, scene.env.clone(), scene.exe()?)?;
    let looked = look(&patient)?;
    let fault = doctor::judge(&looked.findings);
    let shown = Shown::of(&looked);
    let advice = advice(&args, &patient, &looked.findings, fault);
    let mut text = shown::lines(&looked.findings, scene.out);
    text.push_str(&format!("{}\nnext: {}\n", shown.counts(), safe(&advice.next)));
    let mut answer = Answer::new("doctor", if fault.is_some() { "error" } else { "ok" });
    let problems = looked
        .findings
        .iter()
        .filter(|finding| finding.severity.fault().is_some());
    answer.errors = problems.map(shown::sentence).collect();
    answer.advice = Some(advice);
    answer = answer.with(&Objects { doctor: shown });
    let mut exit = 0;
    if let Some((reason, cause)) = fault {
        answer.halt_reason = Some(reason);
        answer.failure_cause = Some(cause.to_owned());
        exit = reason.exit_code();
    }
    Ok(Outcome::new(answer, text).exiting(exit))
}

/// What to make of it and what to type next.
fn advice(args: &Args, patient: &Patient, findings: &[Finding], fault: Option<Fault>) -> Advice {
    let at = workdir_flag(&patient.workdir);
    let flags = contract::spelled(&args.contract.0);
    let first = findings.iter().find(|finding| finding.severity.fault().is_some());
    let (verdict, next) = match fault {
        None => ("done", format!("loopexec run --dry-run{at}{flags}")),
        Some((reason, cause)) => (verdict(reason, cause), format!("loopexec doctor{at}{flags}")),
    };
    let why = match first {
        Some(problem) => shown::sentence(problem),
        None => "Nothing was found that would keep a run from starting or from being believed.".to_owned(),
    };
    Advice { verdict, why, next }
}

fn verdict(reason: HaltReason, cause: &str) -> &'static str {
    match reason {
        HaltReason::CheckInadequate => "fix-check",
        HaltReason::ExecutionFailure if cause.starts_with("check_") => "fix-check",
        HaltReason::ExecutionFailure => "fix-substrate",
        HaltReason::ObjectiveUnverified => "review-needed",
        _ => "fix-config",
    }
}
