//! What a check minds of its surroundings, as an object and as lines.

use engine::event::halt::HaltReason;
use engine::probe::{Experiment, Finding, Together as Joint, Verdict};
use engine::stat::{Share, Tally};
use engine::words::counted;
use serde::Serialize;
use shell::probe::Probed;

use super::probe::{Names, class_word, share};
use super::safe;

/// How each fared.
const HOLDS: &str = "holds";
const BROKE: &str = "broke";
const NONDETERMINISTIC: &str = "nondeterministic";
const NOT_PROBED: &str = "not_probed";

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Dimensions {
    each: Vec<Dimension>,
    /// All that hold, at once; null when fewer than two do.
    together: Option<Together>,
    /// With 95 % confidence at least this share of runs agrees under every dimension that holds.
    joint_lower_ppm: Option<u32>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Dimension {
    name: String,
    /// `holds`, `broke`, `nondeterministic` or `not_probed`, which is never a pass.
    state: &'static str,
    /// Why it was not probed.
    why: Option<String>,
    /// Runs that were varied for the first time, and those of them that agreed with the reference.
    runs: u32,
    agreeing: u32,
    /// The exact bound on the share of runs that agree under it, at 95 %; null unless it holds.
    exact_lower_ppm: Option<u32>,
    /// In what ways it can be varied here, in the order of the runs.
    ways: Vec<String>,
    #[serde(flatten)]
    broken: Broken,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Together {
    /// As of one dimension.
    state: &'static str,
    why: Option<String>,
    runs: u32,
    agreeing: u32,
    /// All that were varied at once.
    of: Vec<String>,
    /// The smallest set that broke; empty unless it did.
    broke: Vec<String>,
    #[serde(flatten)]
    broken: Broken,
}

/// What was seen instead of the reference.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Broken {
    /// What was varied in the run that disagreed.
    by: Option<String>,
    /// What it said: `green`, `red` or `no verdict`.
    verdict: Option<&'static str>,
    /// Tests that fared otherwise than in the reference.
    differing: Names,
}

impl Dimensions {
    /// `None` when nothing was to be varied.
    pub(crate) fn of(probed: &Probed) -> Option<Self> {
        let experiment = probed.probe.experiment.as_ref()?;
        let subjects = experiment.subjects().iter().enumerate();
        let each: Vec<Dimension> = subjects
            .zip(experiment.found())
            .map(|((number, subject), found)| Dimension {
                name: subject.name.clone(),
                state: state(&found.finding),
                why: why(&found.finding),
                runs: found.tally.runs,
                agreeing: found.tally.agreeing,
                exact_lower_ppm: found.bound.map(Share::ppm_down),
                ways: probed.ways.get(number).cloned().unwrap_or_default(),
                broken: Broken::of(experiment, &found.finding, &[number], probed),
            })
            .collect();
        let holding: Vec<usize> = (0..each.len())
            .filter(|at| each.get(*at).is_some_and(|one| one.state == HOLDS))
            .collect();
        let together = experiment
            .found_together()
            .map(|joint| Together::of(experiment, &joint, &holding, probed));
        Some(Self {
            each,
            together,
            joint_lower_ppm: experiment.joint_bound().map(Share::ppm_down),
        })
    }

    /// One line for each: its name, and how it fared.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (&str, String)> {
        let each = self.each.iter().map(|one| {
            let bound = one
                .exact_lower_ppm
                .map(|ppm| format!("; at least {} of runs do, with 95 % confidence", share(ppm)));
            let held = format!("{}{}", agreement(one.runs, one.agreeing), bound.unwrap_or_default());
            (
                one.name.as_str(),
                fared(one.state, one.why.as_deref(), &one.broken, held),
            )
        });
        let together = self.together.iter().map(|all| {
            let held = format!("{} under {}", agreement(all.runs, all.agreeing), all.of.join(", "));
            let mut text = fared(all.state, all.why.as_deref(), &all.broken, held);
            if !all.broke.is_empty() {
                text.push_str(&format!(" (smallest set: {})", all.broke.join(", ")));
            }
            ("together", text)
        });
        let joint = self.joint_lower_ppm.map(|ppm| {
            let text = format!("at least {} of runs agree under each that holds, jointly", share(ppm));
            ("jointly", text)
        });
        each.chain(together).chain(joint)
    }

    /// What was not probed, and why.
    pub(crate) fn not_probed(&self) -> impl Iterator<Item = (&str, &str)> {
        let each = self.each.iter().map(|one| (one.name.as_str(), one.why.as_deref()));
        let together = self.together.iter().map(|all| ("together", all.why.as_deref()));
        each.chain(together).filter_map(|(name, why)| Some((name, why?)))
    }

    /// How many hold, for a check that minds nothing.
    pub(crate) fn summary(&self) -> String {
        let holding = self.each.iter().filter(|one| one.state == HOLDS).count();
        let held = counted(holding as u64, "dimension");
        match self.each.len() - holding {
            0 => format!("; it holds under {held}"),
            left => format!("; it holds under {held}, and {left} more could not be probed"),
        }
    }

    /// What broke, in words, for this reason.
    pub(crate) fn sentence(&self, reason: HaltReason, cause: &str) -> String {
        let wanted = match cause {
            "dimension_nondeterministic" => NONDETERMINISTIC,
            _ => BROKE,
        };
        let mut told = Vec::new();
        for one in self.each.iter().filter(|one| one.state == wanted) {
            told.push((vec![one.name.as_str()], &one.broken));
        }
        for all in self.together.iter().filter(|all| all.state == wanted) {
            let names = if all.broke.is_empty() { &all.of } else { &all.broke };
            told.push((names.iter().map(String::as_str).collect(), &all.broken));
        }
        // The dimension that gives the reason comes first.
        if reason == HaltReason::CheckNotHermetic {
            told.sort_by_key(|(names, _)| !names.contains(&"network"));
        }
        let parts = told.iter().map(|(names, broken)| {
            let by = broken.by.as_deref().unwrap_or("a change");
            let members = match broken.differing.total() {
                0 => String::new(),
                _ => format!(": {}", safe(&broken.differing.words())),
            };
            format!("{} ({by}){members}", names.join(" with "))
        });
        let parts = parts.collect::<Vec<_>>().join("; ");
        match wanted {
            NONDETERMINISTIC => format!("the check disagreed and then did not say the same again under {parts}"),
            _ => format!("the check says something else, twice the same, under {parts}"),
        }
    }

    /// Names of what broke or was nondeterministic.
    pub(crate) fn broken_names(&self) -> Vec<&str> {
        let broken = |state: &str| [BROKE, NONDETERMINISTIC].contains(&state);
        let each = self
            .each
            .iter()
            .filter(|one| broken(one.state))
            .map(|one| one.name.as_str());
        let sets = self.together.iter().filter(|all| broken(all.state));
        let sets = sets.flat_map(|all| if all.broke.is_empty() { &all.of } else { &all.broke });
        each.chain(sets.map(String::as_str)).collect()
    }
}

impl Together {
    fn of(experiment: &Experiment, joint: &Joint, holding: &[usize], probed: &Probed) -> Self {
        let names = |set: &[usize]| -> Vec<String> {
            let subjects = set.iter().filter_map(|number| experiment.subjects().get(*number));
            subjects.map(|subject| subject.name.clone()).collect()
        };
        let Tally { agreeing, runs } = experiment.tally_together(holding);
        let broke = matches!(joint.finding, Finding::Broke { .. });
        Self {
            state: state(&joint.finding),
            why: why(&joint.finding),
            runs,
            agreeing,
            of: names(holding),
            broke: if broke { names(&joint.set) } else { Vec::new() },
            broken: Broken::of(experiment, &joint.finding, &joint.set, probed),
        }
    }
}

impl Broken {
    fn of(experiment: &Experiment, finding: &Finding, set: &[usize], probed: &Probed) -> Self {
        let seen: Option<(u32, &Verdict)> = match finding {
            Finding::Broke { variation, by } | Finding::Nondeterministic { variation, by } => Some((*variation, by)),
            Finding::Holds | Finding::NotProbed(_) => None,
        };
        let way = |number: &usize, variation: u32| {
            let ways = probed.ways.get(*number)?;
            ways.get(variation as usize % ways.len().max(1)).cloned()
        };
        Self {
            by: seen.map(|(variation, _)| {
                let ways: Vec<String> = set.iter().filter_map(|number| way(number, variation)).collect();
                ways.join(" and ")
            }),
            verdict: seen.map(|(_, by)| class_word(&by.class)),
            differing: Names::of(
                seen.map(|(_, by)| experiment.differing(by))
                    .unwrap_or_default()
                    .into_iter(),
            ),
        }
    }
}

fn state(finding: &Finding) -> &'static str {
    match finding {
        Finding::Holds => HOLDS,
        Finding::Broke { .. } => BROKE,
        Finding::Nondeterministic { .. } => NONDETERMINISTIC,
        Finding::NotProbed(_) => NOT_PROBED,
    }
}

fn why(finding: &Finding) -> Option<String> {
    match finding {
        Finding::NotProbed(why) => Some(why.clone()),
        Finding::Holds | Finding::Broke { .. } | Finding::Nondeterministic { .. } => None,
    }
}

fn agreement(runs: u32, agreeing: u32) -> String {
    format!("{agreeing} of {runs} agree")
}

fn fared(state: &str, why: Option<&str>, broken: &Broken, held: String) -> String {
    let by = broken.by.as_deref().unwrap_or("a change");
    let members = match broken.differing.total() {
        0 => String::new(),
        _ => format!(", {}", broken.differing.words()),
    };
    let verdict = broken.verdict.unwrap_or("no verdict");
    match state {
        NOT_PROBED => format!("not probed: {}", why.unwrap_or("nobody knows why")),
        BROKE => format!("broke: {by}, twice {verdict}{members}"),
        NONDETERMINISTIC => format!("nondeterministic: {by}, {verdict} and then not the same{members}"),
        _ => format!("holds: {held}"),
    }
}
