//! What a probe showed, as an object and as lines.

use std::path::PathBuf;

use engine::event::halt::HaltReason;
use engine::probe::{Block, Class, Judged};
use engine::stat::{PPM, Share, Z_TWO_SIDED};
use engine::words::counted;
use serde::Serialize;
use shell::config::fixed;
use shell::probe::{Plan, Probed, kept};

use super::dimensions::Dimensions;
use super::hermeticity::Hermeticity;
use super::safe;

/// How many names of one kind are shown.
const NAMES_MAX: usize = 20;

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Shown {
    /// What was run and how it was read, for `run --probe`.
    check_digest: String,
    /// Runs in fresh copies that came to an end.
    runs: u32,
    /// Runs that were asked for, or that the target needs.
    planned: u32,
    /// Runs at once.
    jobs: u64,
    /// Green runs, and all others.
    passes: u32,
    fails: u32,
    /// The smaller of the two.
    flake_count: u32,
    /// Every run showed the same verdict.
    stable: bool,
    agreeing: u32,
    /// The most frequent verdict: `green`, `red` or `no verdict`.
    verdict: Option<&'static str>,
    failing: Names,
    distinct_exit_codes: Vec<i32>,
    /// How often each exit status was seen; null for a run that did not end by itself.
    exits: Vec<Exit>,
    distinct_verdicts: u64,
    /// Of the normalised output. They do not touch the verdict.
    distinct_outputs: u64,
    /// Tests that did not fare the same in every run.
    unsteady: Names,
    confidence_pct: u32,
    /// The exact bound: at least this share of runs shows the verdict. Null after a disagreement, and below 6 runs.
    exact_lower_ppm: Option<u32>,
    /// 0.05^(1/n): the same if the verdict had been known beforehand.
    known_reference_lower_ppm: Option<u32>,
    flake_upper_ppm: Option<u32>,
    /// The same as a share of one.
    flake_upper_bound: Option<f64>,
    /// Shown by name; it certifies nothing.
    wilson_lower_ppm: Option<u32>,
    wilson_z: String,
    /// The target, as a share of one.
    max_flake_rate: Option<f64>,
    max_flake_ppm: Option<u32>,
    /// Whether the target is shown; null without one.
    certified: Option<bool>,
    /// The runs prove a flake rate above the target.
    proved_flaky: bool,
    side_effects: SideEffects,
    /// What the check minds of its surroundings; null when nothing was to be varied, and when no verdict was steady.
    dimensions: Option<Dimensions>,
    /// How far it was shown to be hermetic; null unless the contract declares it.
    hermeticity: Option<Hermeticity>,
    copied_files: u64,
    copied_bytes: u64,
    out_of_time: bool,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Exit {
    code: Option<i32>,
    runs: u32,
}

/// Names, and how many there are of them.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Names {
    total: u64,
    /// The first of them.
    first: Vec<String>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SideEffects {
    /// Fresh copies that share a home and a temporary directory.
    shared: Repeated,
    /// One copy without a reset.
    rerun: Repeated,
    written_in_tree: Names,
    written_in_home: Names,
    written_in_tmp: Names,
}

/// A block against the verdict of the first one.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Repeated {
    /// 0: not probed.
    runs: u32,
    agreeing: u32,
}

impl Repeated {
    fn of(block: &Block, probed: &Probed) -> Self {
        let reference = probed.probe.fresh.reference();
        let tally = reference.map(|reference| block.against(reference)).unwrap_or_default();
        Self {
            runs: tally.runs,
            agreeing: tally.agreeing,
        }
    }

    fn words(&self) -> String {
        match self.runs {
            0 => "not probed".to_owned(),
            runs => format!("{} of {runs} agree", self.agreeing),
        }
    }
}

impl Names {
    pub(crate) fn of(names: impl ExactSizeIterator<Item = String>) -> Self {
        Self {
            total: names.len() as u64,
            first: names.take(NAMES_MAX).collect(),
        }
    }

    fn paths(paths: &[PathBuf]) -> Self {
        Self::of(paths.iter().map(|path| path.to_string_lossy().into_owned()))
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn words(&self) -> String {
        let more = self.total.saturating_sub(self.first.len() as u64);
        let shown = self.first.join(", ");
        match more {
            0 => shown,
            more => format!("{shown} and {more} more"),
        }
    }
}

impl Shown {
    pub(crate) fn of(plan: &Plan, probed: &Probed, judged: &Judged, max_flake_ppm: Option<u32>) -> Self {
        let fresh = &probed.probe.fresh;
        let tally = fresh.tally();
        let (passes, fails) = (fresh.green(), tally.runs.saturating_sub(fresh.green()));
        let reference = fresh.reference();
        let failing = reference
            .map(|reference| reference.failing.as_slice())
            .unwrap_or_default();
        let flake_upper_ppm = judged.bounds.exact.map(Share::rest_ppm_up);
        Self {
            check_digest: kept::check_digest(&plan.policy).hex(),
            runs: tally.runs,
            planned: plan.runs,
            jobs: plan.jobs as u64,
            passes,
            fails,
            flake_count: passes.min(fails),
            stable: tally.is_unanimous(),
            agreeing: tally.agreeing,
            verdict: reference.map(|reference| class_word(&reference.class)),
            failing: Names::of(failing.iter().cloned()),
            distinct_exit_codes: fresh.exits().filter_map(|(code, _)| code).collect(),
            exits: fresh.exits().map(|(code, runs)| Exit { code, runs }).collect(),
            distinct_verdicts: fresh.distinct_verdicts() as u64,
            distinct_outputs: fresh.distinct_outputs() as u64,
            unsteady: Names::of(
                fresh
                    .unsteady()
                    .into_iter()
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
                    .into_iter(),
            ),
            confidence_pct: 95,
            exact_lower_ppm: judged.bounds.exact.map(Share::ppm_down),
            known_reference_lower_ppm: judged.bounds.known_reference.map(Share::ppm_down),
            flake_upper_ppm,
            flake_upper_bound: flake_upper_ppm.map(of_one),
            wilson_lower_ppm: judged.bounds.wilson.map(Share::ppm_down),
            wilson_z: fixed::show(Z_TWO_SIDED, 15),
            max_flake_rate: max_flake_ppm.map(of_one),
            max_flake_ppm,
            certified: judged.certified,
            proved_flaky: judged.proved_flaky,
            side_effects: SideEffects {
                shared: Repeated::of(&probed.probe.shared, probed),
                rerun: Repeated::of(&probed.probe.rerun, probed),
                written_in_tree: Names::paths(&probed.written_in_tree),
                written_in_home: Names::paths(&probed.written_in_home),
                written_in_tmp: Names::paths(&probed.written_in_tmp),
            },
            dimensions: Dimensions::of(probed),
            hermeticity: Hermeticity::of(plan, probed),
            copied_files: probed.copied.files,
            copied_bytes: probed.copied.bytes,
            out_of_time: probed.out_of_time,
        }
    }

    pub(crate) fn dimensions(&self) -> Option<&Dimensions> {
        self.dimensions.as_ref()
    }

    /// The figures, one a line.
    pub(crate) fn lines(&self) -> String {
        let mut out = String::new();
        let mut line = |name: &str, value: String| {
            if !value.is_empty() {
                out.push_str(&format!("  {name:<12} {}\n", safe(&value)));
            }
        };
        let verdict = self.verdict.unwrap_or("none");
        line("runs", format!("{} of {} in fresh copies", self.runs, self.planned));
        line("agreement", format!("{} of {} ({verdict})", self.agreeing, self.runs));
        let exits = self.exits.iter().map(|exit| {
            let code = exit
                .code
                .map_or_else(|| "no exit status".to_owned(), |code| format!("exit {code}"));
            format!("{code} in {}", counted(u64::from(exit.runs), "run"))
        });
        line("exits", exits.collect::<Vec<_>>().join(", "));
        line("unsteady", self.unsteady.words());
        let bound = match self.exact_lower_ppm {
            Some(ppm) => format!("at least {} of runs agree, with 95 % confidence (exact)", share(ppm)),
            None if self.stable => "none: below 6 runs there is no statement".to_owned(),
            None => "none: the first disagreement voids it".to_owned(),
        };
        line("bound", bound);
        let wilson = self
            .wilson_lower_ppm
            .map(|ppm| format!("{} (z {}; certifies nothing)", share(ppm), self.wilson_z));
        line("wilson", wilson.unwrap_or_default());
        let target = self.max_flake_ppm.map(|ppm| {
            let said = if self.certified == Some(true) {
                "certified"
            } else {
                "missed"
            };
            format!("at most {} may disagree: {said}", share(ppm))
        });
        line("target", target.unwrap_or_default());
        line(
            "outputs",
            format!(
                "{} (this does not touch the verdict)",
                counted(self.distinct_outputs, "distinct one")
            ),
        );
        line("shared home", self.side_effects.shared.words());
        line("rerun", self.side_effects.rerun.words());
        line("wrote", self.side_effects.written_in_tree.words());
        line("wrote home", self.side_effects.written_in_home.words());
        line("wrote tmp", self.side_effects.written_in_tmp.words());
        for (name, fared) in self.hermeticity.iter().flat_map(Hermeticity::lines) {
            line(name, fared);
        }
        for (name, fared) in self.dimensions.iter().flat_map(Dimensions::lines) {
            line(name, fared);
        }
        out
    }
}

/// The first word of what is said to people.
pub(crate) fn word(fault: Option<(HaltReason, &'static str)>, judged: &Judged) -> &'static str {
    match (fault, judged.certified) {
        (Some((reason, _)), _) => reason.label(),
        (None, Some(_)) => "certified",
        (None, None) => "steady",
    }
}

/// What came of it, in one sentence.
pub(crate) fn sentence(shown: &Shown, probed: &Probed, fault: Option<(HaltReason, &'static str)>) -> String {
    let runs = counted(u64::from(shown.runs), "run");
    let verdict = shown.verdict.unwrap_or("none");
    let upper = shown.flake_upper_ppm.map_or_else(
        || "so few runs say nothing about others".to_owned(),
        |ppm| format!("with 95 % confidence at most {} of runs say otherwise", share(ppm)),
    );
    let Some((reason, cause)) = fault else {
        let varied = shown.dimensions.as_ref().map(Dimensions::summary).unwrap_or_default();
        return format!("{runs} in fresh copies agreed ({verdict}); {upper}{varied}");
    };
    let written = |names: &Names| match names.total {
        0 => String::new(),
        _ => format!(" (it wrote {})", safe(&names.words())),
    };
    match (reason, cause) {
        (_, "dimension_broke" | "dimension_disagreed" | "dimension_nondeterministic") => {
            let varied = shown.dimensions.as_ref();
            varied.map(|varied| varied.sentence(reason, cause)).unwrap_or_default()
        }
        (_, "reached_outside") => {
            let reached = shown.hermeticity.as_ref().map(Hermeticity::reached);
            format!(
                "the check is declared hermetic and reached outside: {}",
                safe(&reached.unwrap_or_default())
            )
        }
        (_, "guard_unavailable") => {
            let why = shown.hermeticity.as_ref().and_then(Hermeticity::unproved);
            format!(
                "nothing shows that the check is hermetic: {}",
                safe(why.unwrap_or_default())
            )
        }
        (HaltReason::CheckFlaky, _) => format!(
            "{} of {runs} disagreed with the rest on identical copies{}",
            shown.runs.saturating_sub(shown.agreeing),
            match shown.unsteady.total {
                0 => String::new(),
                _ => format!(": {}", safe(&shown.unsteady.words())),
            }
        ),
        (_, "shared_state_disagreed") => format!(
            "the check says something else once a run before it used the same home and temporary directory{}{}",
            written(&shown.side_effects.written_in_home),
            written(&shown.side_effects.written_in_tmp)
        ),
        (_, "rerun_disagreed") => format!(
            "the check says something else when it runs again in the same copy{}; a reset of the tree before each run cures that, an edit of the check is not needed",
            written(&shown.side_effects.written_in_tree)
        ),
        (HaltReason::CheckNotDeterministic, _) => format!(
            "{runs} agreed ({verdict}), which does not show a flake rate of at most {}: {upper}",
            share(shown.max_flake_ppm.unwrap_or(0))
        ),
        (HaltReason::ExecutionFailure | HaltReason::IsolationUnsatisfiable | HaltReason::CredentialScopeInvalid, _) => {
            let detail = match probed.probe.fresh.reference().map(|reference| &reference.class) {
                Some(Class::Broken { detail, .. }) => detail.as_str(),
                _ => "the check came to no verdict",
            };
            format!("{}, in a fresh copy of the workdir", safe(detail))
        }
        _ => format!("{runs} of {} ended before the time was over", shown.planned),
    }
}

/// What the check wrote, fenced: text from outside.
pub(crate) fn quoted(stderr: &str) -> String {
    if stderr.trim().is_empty() {
        return String::new();
    }
    let lines = safe(stderr);
    let lines = lines.lines().take(NAMES_MAX).map(|line| format!("    | {line}\n"));
    format!("  the check wrote:\n{}", lines.collect::<String>())
}

/// Parts per million as people say it.
pub(crate) fn share(ppm: u32) -> String {
    format!("{} %", fixed::show(u64::from(ppm), 4))
}

fn of_one(ppm: u32) -> f64 {
    f64::from(ppm) / f64::from(PPM)
}

pub(crate) fn class_word(class: &Class) -> &'static str {
    match class {
        Class::Green => "green",
        Class::Red => "red",
        Class::Broken { .. } => "no verdict",
    }
}
