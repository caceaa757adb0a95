//! `probe-check`: the check again and again in fresh copies, and how sure one may be of it afterwards.

use engine::event::halt::HaltReason;
use engine::probe::{Judged, judge};
use engine::stat::{self, PPM, RISK};
use engine::words::counted;
use serde::Serialize;
use shell::config::{self, Inputs, fixed};
use shell::paths;
use shell::probe::dimension::{self, Dimension};
use shell::probe::{self, Plan, Probed};
use shell::replay::Surroundings;

use crate::app::Scene;
use crate::contract::{self, ProbeFlags};
use crate::failure::Failure;
use crate::outcome::{Advice, Answer, Outcome};
use crate::render::dimensions::Dimensions;
use crate::render::probe::{self as shown, Shown};
use crate::render::{self, safe};
use crate::which::{Workdir, quoted, workdir_flag};

/// Runs without a flag that says how many.
const RUNS: u32 = 10;
/// More runs than this are a mistake.
const RUNS_MAX: u32 = 10_000;
/// In place of a list of dimensions.
const ALL: &str = "all";
/// Each needs a supervisor and a copy.
const JOBS_MAX: i64 = 256;

/// Run the check repeatedly in fresh copies and report a bound on its flake rate
///
/// The workdir is read once and never written to. A run agrees when it shows the same exit class and the same failing,
/// skipped and collected tests. The first disagreement voids the bound. Two more blocks of runs tell side effects from
/// flakiness: one shares the home and the temporary directory, one reruns in a single copy. A target that is missed, a
/// check that disagrees with itself and one that changes what it measures are exit 14.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    at: Workdir,
    /// How often to run the check; as often as the rate needs, or 10 times, when left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(RUNS_MAX)))]
    runs: Option<u32>,
    /// Flake rate to be ruled out with 95 % confidence: 0.05 needs 59 runs, 0.01 needs 299
    #[arg(long, value_name = "RATE", value_parser = rate)]
    max_flake_rate: Option<u32>,
    /// Runs at once in the first block; 0 for one on each processor
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=JOBS_MAX))]
    jobs: u32,
    /// Runs of each of the two blocks that look for side effects; 0 leaves them out
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=i64::from(RUNS_MAX)))]
    side_effect_runs: u32,
    /// Vary the surroundings too, one thing at a time and then all at once: all of order, seed, clock, timezone, locale,
    /// concurrency, load, network, home, tmp, umask and path, or those listed
    #[arg(long, value_name = "LIST", num_args = 0..=1, require_equals = true, default_missing_value = ALL)]
    dimensions: Option<String>,
    /// Runs under each of them, at least
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(3..=i64::from(RUNS_MAX)))]
    dimension_runs: u32,
    /// Copy .git too, for a check that asks git
    #[arg(long)]
    with_git: bool,
    #[command(flatten)]
    contract: ProbeFlags,
}

const EXAMPLES: &str = "\
Examples:
  loopexec probe-check --check 'make test'                   10 runs, no target
  loopexec probe-check --max-flake-rate 0.05 --jobs 0        59 runs, one on each processor
  loopexec probe-check --dimensions=order,network            what the check minds around it
  loopexec probe-check --runs 200 --check-timeout 2m --json  as many as you like, for programs";

/// The object of this command.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Objects {
    probe: Shown,
    warnings: Vec<String>,
}

/// A rate in parts per million, read without a float.
fn rate(text: &str) -> Result<u32, String> {
    let parts =
        fixed::parse(text, 6, "a rate such as 0.05", "0.000001", u64::from(PPM)).map_err(|fault| fault.to_string())?;
    match u32::try_from(parts) {
        Ok(parts @ 1..PPM) => Ok(parts),
        _ => Err("it must lie between 0 and 1; no number of runs shows that a check is never flaky".to_owned()),
    }
}

/// How many runs were asked for, and whether the first disagreement is the end.
fn runs(args: &Args) -> Result<(u32, bool), Failure> {
    if let Some(runs) = args.runs {
        return Ok((runs, false));
    }
    let Some(rate) = args.max_flake_rate else {
        return Ok((RUNS, false));
    };
    match stat::needed_unknown_reference(rate, RISK) {
        Some(runs) if runs <= RUNS_MAX => Ok((runs, true)),
        needed => Err(Failure::usage(format!(
            "--max-flake-rate: {} needs {} runs and {RUNS_MAX} are the most; give a larger rate, or --runs",
            shown::share(rate),
            needed.map_or_else(|| "too many".to_owned(), |needed| needed.to_string()),
        ))),
    }
}

/// What is to be varied, in the order of the list of all, each once.
fn dimensions(list: Option<&str>) -> Result<Vec<&'static Dimension>, Failure> {
    let Some(list) = list else {
        return Ok(Vec::new());
    };
    let wanted: Vec<&str> = list.split(',').map(str::trim).collect();
    if let Some(strange) = wanted
        .iter()
        .find(|name| **name != ALL && dimension::by_name(name).is_none())
    {
        let names: Vec<_> = dimension::ALL.iter().map(|dimension| dimension.name).collect();
        return Err(Failure::usage(format!(
            "--dimensions: there is no {}; there are {} and {ALL}",
            quoted(strange),
            names.join(", ")
        )));
    }
    let is_wanted = |dimension: &&&Dimension| wanted.contains(&ALL) || wanted.contains(&dimension.name);
    Ok(dimension::ALL.iter().filter(is_wanted).copied().collect())
}

pub(crate) fn run(args: Args, scene: &Scene) -> Result<Outcome, Failure> {
    let (runs, until_disagreement) = runs(&args)?;
    let workdir = paths::workdir(&args.at.workdir)?;
    let names = contract::known();
    let contract = config::resolve(&Inputs {
        workdir: &workdir,
        flags: &args.contract.0,
        env: &scene.env,
        known: contract::as_known(&names),
    })?;
    let plan = Plan {
        workdir,
        policy: contract.policy,
        runs,
        side_effect_runs: args.side_effect_runs,
        jobs: match args.jobs.min(runs) {
            0 => probe::processors(),
            jobs => jobs as usize,
        },
        until_disagreement,
        with_git: args.with_git,
        dimensions: dimensions(args.dimensions.as_deref())?,
        dimension_runs: args.dimension_runs,
    };
    if !scene.json {
        render::err(&announcement(&plan));
    }
    let with = Surroundings {
        env: scene.env.clone(),
        exe: scene.exe()?,
        around: Vec::new(),
        set: Vec::new(),
    };
    let probed = probe::probe(&plan, &with)?;
    Ok(outcome(&args, &plan, &probed))
}

fn announcement(plan: &Plan) -> String {
    format!(
        "probing `{}`: {} in fresh copies, {} at once{}\n",
        safe(&plan.policy.oracle.check.display()),
        counted(u64::from(plan.runs), "run"),
        plan.jobs,
        match plan.dimensions.len() {
            0 => String::new(),
            count => format!(", then under {}", counted(count as u64, "dimension")),
        }
    )
}

fn outcome(args: &Args, plan: &Plan, probed: &Probed) -> Outcome {
    let judged = judge(&probed.probe, args.max_flake_rate);
    let fault = judged.fault.or_else(|| cut_short(plan, probed, &judged));
    let status = if fault.is_some() { "error" } else { "ok" };
    let mut answer = Answer::new("probe-check", status);
    let exits: Vec<_> = probed.probe.fresh.exits().collect();
    if let [(exit, _)] = exits.as_slice() {
        answer.check_exit = *exit;
    }
    let figures = Shown::of(plan, probed, &judged, args.max_flake_rate);
    let why = shown::sentence(&figures, probed, fault);
    let broken = figures.dimensions().map(Dimensions::broken_names).unwrap_or_default();
    let advice = advice(args, plan, &judged, fault, &why, &broken);
    let mut text = format!("{}: {why}\n", shown::word(fault, &judged));
    text.push_str(&figures.lines());
    if fault.is_some() {
        text.push_str(&shown::quoted(&probed.stderr));
    }
    text.push_str(&format!("next: {}\n", safe(&advice.next)));
    answer.advice = Some(advice);
    let mut warnings = warnings(plan, probed);
    let unprobed = figures.dimensions().into_iter().flat_map(Dimensions::not_probed);
    warnings.extend(unprobed.map(|(name, why)| format!("{name} was not probed, which is no pass: {why}")));
    answer = answer.with(&Objects {
        probe: figures,
        warnings: warnings.clone(),
    });
    let mut exit = 0;
    if let Some((reason, cause)) = fault {
        answer.halt_reason = Some(reason);
        answer.failure_cause = Some(cause.to_owned());
        answer.errors.push(why);
        exit = reason.exit_code();
    }
    Outcome::new(answer, text).exiting(exit).warning(warnings)
}

/// The probe's own time was over before what was asked for could be shown.
fn cut_short(plan: &Plan, probed: &Probed, judged: &Judged) -> Option<(HaltReason, &'static str)> {
    let is_shown = judged.certified == Some(true) && plan.dimensions.is_empty();
    (probed.out_of_time && !is_shown).then_some((HaltReason::BudgetExceeded, "run_deadline"))
}

fn warnings(plan: &Plan, probed: &Probed) -> Vec<String> {
    let mut warnings = Vec::new();
    if probe::names_the_workdir(&plan.policy, &plan.workdir) {
        warnings.push(
            "the check names the workdir by its absolute path: what it does there is not done in the copy".to_owned(),
        );
    }
    if probed.copied.foreign_git {
        warnings.push("--with-git: .git is a file that leads to another repository, and was left out".to_owned());
    }
    if probed.copied.specials > 0 {
        warnings.push(format!(
            "{} (sockets, pipes, devices) cannot be copied and were left out",
            counted(probed.copied.specials, "special file")
        ));
    }
    if probed.survivors > 0 {
        warnings.push(format!(
            "the check left {} running, which a run would not take for green; they were ended",
            counted(u64::from(probed.survivors), "process")
        ));
    }
    if probed.out_of_time {
        warnings.push("--timeout was over before all runs were done".to_owned());
    }
    warnings
}

/// What to make of it and what to type next.
fn advice(
    args: &Args,
    plan: &Plan,
    judged: &Judged,
    fault: Option<(HaltReason, &'static str)>,
    why: &str,
    broken: &[&str],
) -> Advice {
    let mut same = format!("loopexec probe-check{}", workdir_flag(&plan.workdir));
    same.push_str(&contract::spelled(&args.contract.0));
    if args.with_git {
        same.push_str(" --with-git");
    }
    let rate = args.max_flake_rate.unwrap_or(50_000);
    let (verdict, next) = match fault {
        None if judged.certified == Some(true) => {
            ("done", format!("loopexec run --dry-run{}", workdir_flag(&plan.workdir)))
        }
        None => (
            "done",
            format!("{same} --max-flake-rate {}", fixed::show(u64::from(rate), 6)),
        ),
        Some((HaltReason::CheckNotDeterministic, _)) => (
            "fix-check",
            format!("{same} --max-flake-rate {}", fixed::show(u64::from(rate), 6)),
        ),
        Some((HaltReason::BudgetExceeded, _)) => ("raise-the-limit", format!("{same} --jobs 0")),
        // The same once more, once it is mended.
        Some((_, cause)) if cause.starts_with("dimension_") => {
            ("fix-check", format!("{same} --dimensions={}", broken.join(",")))
        }
        // Runs beside each other can clash over a port or a file: that would be no flakiness of one alone.
        Some((HaltReason::CheckFlaky, _)) if plan.jobs > 1 => {
            ("fix-check", format!("{same} --runs {} --jobs 1", plan.runs))
        }
        Some((reason, cause)) => {
            let verdict = match (reason, cause.starts_with("check_")) {
                (HaltReason::ExecutionFailure, false) => "fix-substrate",
                (HaltReason::IsolationUnsatisfiable | HaltReason::CredentialScopeInvalid, _) => "fix-config",
                _ => "fix-check",
            };
            (verdict, format!("loopexec explain-halt {}", reason.label()))
        }
    };
    Advice {
        verdict,
        why: why.to_owned(),
        next,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_read_exactly_or_refused() {
        assert_eq!(rate("0.05"), Ok(50_000));
        assert_eq!(rate(".000001"), Ok(1));
        for refused in ["0", "1", "1.5", "-0.1", "5%", "0.0000001", "nan", ""] {
            assert!(rate(refused).is_err(), "{refused}");
        }
    }
}
