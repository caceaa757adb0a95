//! `doctor`: what would keep a run from starting, or from being believed, and what to do about it.

use engine::doctor::{self, Fault, Finding};
use engine::event::halt::HaltReason;
use serde::Serialize;
use shell::config::{self, Inputs};
use shell::doctor::{Patient, Trials, adequacy, look};
use shell::paths;

use crate::app::Scene;
use crate::contract::{self, DoctorFlags};
use crate::failure::Failure;
use crate::outcome::{Advice, Answer, Outcome};
use crate::render::doctor::{self as shown, Shown};
use crate::render::{self, safe};
use crate::which::{Workdir, quoted, workdir_flag};

/// Examine project, check and machine before a run, and say what to do about each problem
///
/// Looks at the test runner, the exit status and the filters of the check, the programs, the state directory, what
/// earlier runs left, room on disk, git, the signing key, contradictory tests and what could isolate. Nothing is changed
/// and nothing ended, and without --run neither check nor work is run. A problem is a finding for which a run would be
/// refused, would halt or could not be believed: the first one gives reason and exit code.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    at: Workdir,
    /// Run the check in fresh copies too: unchanged, and with changed lines of the product mutated
    #[arg(long)]
    run: bool,
    /// Mutation of your own, as shell text: run in a fresh copy in which the check was green first. Implies --run
    #[arg(long, value_name = "COMMAND")]
    mutate_cmd: Option<String>,
    /// Mutants of changed lines that --run tries, at most
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=MUTANTS_MAX))]
    mutants_max: u32,
    /// Copy .git too, for a check that asks git
    #[arg(long)]
    with_git: bool,
    #[command(flatten)]
    contract: DoctorFlags,
}

/// Each needs a copy and a run of the check.
const MUTANTS_MAX: i64 = 1_000;

const EXAMPLES: &str = "\
Examples:
  loopexec doctor                                    the project here, with its loopexec.toml
  loopexec doctor --check 'make test' --exec 'agent' before the first run
  loopexec doctor --run                              does the check notice when a changed line is mutated?
  loopexec doctor --mutate-cmd 'git apply break.diff'  does it notice this change?";

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
    if args.mutate_cmd.is_some() && contract.policy.isolation.zones {
        // It would obey what the work left in the copy, with the user's rights.
        return Err(Failure::of(
            HaltReason::WorkspaceInvalid,
            "configuration_invalid",
            "--mutate-cmd does not run in zones in this release: leave out either it or --isolate",
        ));
    }
    let patient = Patient::new(workdir, contract.policy, scene.env.clone(), scene.exe()?)?;
    let mut looked = look(&patient)?;
    let tried = match wanted(&args, &looked.findings, &patient) {
        Some(trials) => {
            if !scene.json {
                let check = patient.policy.oracle.check.display();
                render::err(&format!("examining `{}` in fresh copies\n", safe(&check)));
            }
            Some(adequacy(&patient, &trials, &mut looked)?)
        }
        None => None,
    };
    let fault = doctor::judge(&looked.findings);
    let shown = Shown::of(&looked, tried.as_ref());
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

/// What to try; nothing where nothing was asked for, and where there is no check that could be run.
fn wanted(args: &Args, findings: &[Finding], patient: &Patient) -> Option<Trials> {
    let is_barred = |finding: &Finding| {
        let fault = finding.severity.fault();
        [doctor::CHECK_NOT_FOUND, doctor::CHECK_NOT_EXECUTABLE, doctor::NO_ROOM]
            .map(Some)
            .contains(&fault)
    };
    let asked = args.run || args.mutate_cmd.is_some();
    let possible = !patient.policy.oracle.check.is_empty() && !findings.iter().any(is_barred);
    (asked && possible).then(|| Trials {
        mutate: args.mutate_cmd.clone(),
        mutants_max: if args.run { args.mutants_max as usize } else { 0 },
        with_git: args.with_git,
    })
}

/// What to make of it and what to type next.
fn advice(args: &Args, patient: &Patient, findings: &[Finding], fault: Option<Fault>) -> Advice {
    let at = workdir_flag(&patient.workdir);
    let flags = contract::spelled(&args.contract.0);
    let same = format!("loopexec doctor{at}{}{flags}", own(args));
    let first = findings.iter().find(|finding| finding.severity.fault().is_some());
    let (verdict, next) = match fault {
        None => ("done", format!("loopexec run --dry-run{at}{flags}")),
        Some((reason, cause)) => (verdict(reason, cause), same),
    };
    let why = match first {
        Some(problem) => shown::sentence(problem),
        None => "Nothing was found that would keep a run from starting or from being believed.".to_owned(),
    };
    Advice { verdict, why, next }
}

/// The flags of this command alone, as they could be typed again.
fn own(args: &Args) -> String {
    let mut line = String::new();
    if args.run {
        line.push_str(" --run");
    }
    if let Some(mutate) = &args.mutate_cmd {
        line.push_str(&format!(" --mutate-cmd {}", quoted(mutate)));
    }
    if args.with_git {
        line.push_str(" --with-git");
    }
    line
}

fn verdict(reason: HaltReason, cause: &str) -> &'static str {
    match reason {
        HaltReason::CheckInadequate => "fix-check",
        HaltReason::UnsatisfiableConstraints => "do-not-retry",
        HaltReason::ExecutionFailure if cause.starts_with("check_") => "fix-check",
        HaltReason::ExecutionFailure => "fix-substrate",
        HaltReason::ObjectiveUnverified => "review-needed",
        _ => "fix-config",
    }
}
