//! The report of a run: one fold, three renderings (SPEC 13.6).

mod foreign;
mod isolation;
mod pins;
mod rows;
mod write;

use engine::State;
use engine::report::{Report as Fold, Totals, gaps};
use engine::words::counted;
use serde::Serialize;
use shell::clock::Utc;
use shell::record::Record;

use super::Guards;
use isolation::Isolation;
use pins::Pins;
use rows::Row;

pub(crate) use foreign::Foreign;
pub(crate) use write::{markdown, text};

/// No checkpoint was signed.
const ABSENT: &str = "absent";

/// Everything that a report says.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Report {
    pub(crate) run_id: String,
    /// `check_fixpoint` or `task_list`.
    pub(crate) mode: &'static str,
    pub(crate) phase: &'static str,
    /// The run is at work now.
    pub(crate) alive: bool,
    /// What `run` exited with, when it is over.
    pub(crate) exit_code: Option<u8>,
    pub(crate) sentence: Option<String>,
    pub(crate) iterations: u32,
    pub(crate) check: String,
    pub(crate) exec: String,
    pub(crate) workdir: String,
    pub(crate) began_at: String,
    pub(crate) engine: String,
    pub(crate) policy_digest: String,
    /// Settings that are not defaults, with their source.
    pub(crate) origins: Vec<Origin>,
    pub(crate) programs: Vec<Program>,
    #[serde(flatten)]
    pub(crate) pins: Pins,
    pub(crate) isolation: Isolation,
    pub(crate) cost: Cost,
    /// The verdict that a replay compares with.
    pub(crate) fingerprint: Option<Fingerprint>,
    pub(crate) determinism: Determinism,
    pub(crate) guards: Guards,
    pub(crate) totals: Sums,
    pub(crate) trend: Vec<u64>,
    pub(crate) timeline: Vec<Row>,
    pub(crate) accepted_tree: Option<String>,
    /// The tree of the newest walk.
    pub(crate) tree: String,
    /// What the evidence does not cover.
    pub(crate) not_covered: Vec<Gap>,
    pub(crate) events: u64,
    pub(crate) head: String,
    pub(crate) receipt: String,
    /// `readable`, `incomplete`, `missing` or `unreadable`.
    pub(crate) receipt_status: &'static str,
    /// `absent`, or `present_unverified`: a report verifies no signature.
    pub(crate) attestation_status: &'static str,
    pub(crate) warnings: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Origin {
    pub(crate) key: String,
    pub(crate) source: String,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Program {
    pub(crate) role: String,
    pub(crate) path: String,
    pub(crate) digest: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Cost {
    /// `unmetered`, `observed` or `strict`.
    pub(crate) metering: &'static str,
    /// Null when nothing measured it.
    pub(crate) microusd: Option<u64>,
    pub(crate) calls: u64,
    pub(crate) tokens: u64,
    /// Some call had no known price.
    pub(crate) unknown: bool,
    pub(crate) declared_microusd: Option<u64>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Gap {
    /// A guard, or what else is missing.
    pub(crate) what: String,
    pub(crate) why: String,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Fingerprint {
    pub(crate) iteration: u32,
    pub(crate) exit: Option<i32>,
    pub(crate) tree: String,
    pub(crate) members_digest: String,
    pub(crate) output_digest: String,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Determinism {
    /// Repeated runs of the check on one tree.
    pub(crate) samples: u32,
    pub(crate) disagreements: u32,
    /// Runs of a probe before the run, and those of them that agreed: the bounds count them too.
    pub(crate) probe_runs: u32,
    pub(crate) probe_agreeing: u32,
    /// The share of runs that may disagree; below 50,000 no run may.
    pub(crate) max_flake_ppm: u32,
    /// Lower end of Wilson's two-sided interval for the share that agrees. Null without a sample.
    pub(crate) wilson_lower_ppm: Option<u32>,
    /// Lower bound for the same share that holds however often it is looked at, at 95 %. Null without a sample.
    pub(crate) anytime_lower_ppm: Option<u32>,
    /// The rule by which trust was lost: `proved_flaky` or `bound_below_target`.
    pub(crate) lost: Option<&'static str>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Sums {
    pub(crate) elapsed_ms: u64,
    pub(crate) exec_ms: u64,
    pub(crate) check_ms: u64,
    pub(crate) cpu_ms: u64,
    pub(crate) output_bytes: u64,
    pub(crate) survivors_ended: u64,
    pub(crate) resumes: u32,
    pub(crate) amendments: u32,
    pub(crate) clock_jumps: u32,
    pub(crate) unread: u32,
}

impl Report {
    pub(crate) fn of(record: &Record, state: &State, alive: bool, damage: Option<String>) -> Self {
        let (facts, fold) = (&state.facts, &record.fold);
        let (opened, policy) = (&facts.opened, facts.policy());
        let (receipt_status, receipt_warning) = receipt(record, alive);
        let mut warnings = fold.report.warnings.clone();
        warnings.extend(damage);
        warnings.extend(receipt_warning);
        if fold.report.totals.clock_jumps > 0 {
            warnings.push(format!(
                "the wall clock made {}; durations come from the monotonic clock",
                counted(fold.report.totals.clock_jumps.into(), "jump")
            ));
        }
        let attestation_status = match record.run.journal().join(journal::checkpoint::FILE).exists() {
            true => "present_unverified",
            false => ABSENT,
        };
        Self {
            run_id: opened.run_id.clone(),
            mode: policy.mode.label(),
            phase: match (&facts.halted, &facts.suspended) {
                (Some(_), _) => "halted",
                (None, Some(_)) => "interrupted",
                (None, None) => state.phase.name().label(),
            },
            alive,
            exit_code: facts.halted.as_ref().map(|halted| halted.reason.exit_code()),
            sentence: facts.halted.as_ref().map(|halted| halted.sentence.clone()),
            iterations: facts.iteration,
            check: policy.oracle.check.display(),
            exec: policy.exec.display(),
            workdir: opened.workdir.text(),
            began_at: Utc::from_wall_ms(fold.began.wall_ms).rfc3339(),
            engine: opened.engine.clone(),
            policy_digest: opened.policy_digest.hex(),
            origins: opened
                .origins
                .iter()
                .map(|origin| Origin {
                    key: origin.key.clone(),
                    source: origin.source.clone(),
                })
                .collect(),
            programs: opened
                .programs
                .iter()
                .map(|program| Program {
                    role: program.role.clone(),
                    path: program.path.text(),
                    digest: program.digest.map(|digest| digest.hex()),
                })
                .collect(),
            pins: Pins::of(&policy.pins),
            isolation: Isolation::of(state, &fold.report),
            cost: cost(state),
            fingerprint: fold.judged.as_ref().map(|judged| Fingerprint {
                iteration: judged.check.iteration,
                exit: judged.check.run.exited(),
                tree: judged.tree.hex(),
                members_digest: judged.check.measurement.members_digest.hex(),
                output_digest: judged.check.measurement.output_digest.hex(),
            }),
            determinism: Determinism {
                samples: facts.determinism.samples,
                disagreements: facts.determinism.disagreements,
                probe_runs: facts.determinism.probe.runs,
                probe_agreeing: facts.determinism.probe.agreeing,
                max_flake_ppm: policy.oracle.max_flake_ppm,
                wilson_lower_ppm: facts.determinism.wilson_lower_ppm(),
                anytime_lower_ppm: facts.determinism.anytime_lower_ppm(),
                lost: facts.determinism.lost(),
            },
            guards: Guards::of(&fold.report),
            totals: sums(&fold.report.totals, state),
            trend: fold.trend.clone(),
            timeline: fold
                .report
                .rows
                .iter()
                .map(|row| Row::of(row, policy.oracle.success_exit))
                .collect(),
            tree: facts.tree.hex(),
            not_covered: not_covered(state, &fold.report, attestation_status),
            accepted_tree: facts.accepted.as_ref().map(|accepted| accepted.tree.hex()),
            events: fold.events,
            head: record.head.hex(),
            receipt: record.run.receipt().to_string_lossy().into_owned(),
            receipt_status,
            attestation_status,
            warnings,
        }
    }
}

/// What the fold does not cover, and what lies beside the journal.
fn not_covered(state: &State, fold: &Fold, attestation_status: &str) -> Vec<Gap> {
    let gaps = gaps(state, fold).into_iter().map(|gap| Gap {
        what: gap.what,
        why: gap.why,
    });
    let unsigned = (attestation_status == ABSENT).then(|| Gap {
        what: "signature".to_owned(),
        why: "no key signs the journal, so nothing tells whoever wrote it anew, as a whole, from its writer".to_owned(),
    });
    gaps.chain(unsigned).collect()
}

fn cost(state: &State) -> Cost {
    let (spend, policy) = (&state.facts.spend, state.facts.policy());
    Cost {
        metering: policy.money.metering.label(),
        microusd: (spend.calls > 0 && !spend.unknown).then_some(spend.microusd),
        calls: spend.calls,
        tokens: spend.tokens,
        unknown: spend.unknown,
        declared_microusd: policy.pins.declared_cost_microusd,
    }
}

const fn sums(totals: &Totals, state: &State) -> Sums {
    Sums {
        elapsed_ms: state.facts.elapsed_ms,
        exec_ms: totals.exec_ms,
        check_ms: totals.check_ms,
        cpu_ms: totals.cpu_ms,
        output_bytes: totals.output_bytes,
        survivors_ended: totals.survivors_ended,
        resumes: totals.resumes,
        amendments: totals.amendments,
        clock_jumps: totals.clock_jumps,
        unread: state.facts.people.unread,
    }
}

/// What the receipt is worth, and why it is less.
fn receipt(record: &Record, alive: bool) -> (&'static str, Option<String>) {
    let path = record.run.receipt();
    match std::fs::symlink_metadata(&path) {
        Err(_) => return ("missing", Some(format!("the receipt {} is missing", path.display()))),
        Ok(meta) if !meta.is_file() => {
            let why = format!("the receipt {} is no regular file", path.display());
            return ("unreadable", Some(why));
        }
        Ok(_) => {}
    }
    let reader = journal::Journal::open_read(&record.run.journal());
    match reader.and_then(|reader| journal::receipt::check(&reader, &path)) {
        Ok(_) => ("readable", None),
        // The line of the newest event may be on its way.
        Err(_) if alive => ("readable", None),
        Err(error) => (
            "incomplete",
            Some(format!("the receipt is not the journal, line for line: {error}")),
        ),
    }
}
