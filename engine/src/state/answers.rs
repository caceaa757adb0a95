//! What the world's answers amount to: the facts that [`State`] records for them, with nothing judged.

use alloc::string::String;

use super::State;
use crate::effect::{Effect, Observation, Reading};
use crate::event::Event;
use crate::event::halt::HaltReason;
use crate::event::iteration::{CheckEnded, ContextBuilt, ExecuteEnded, RestoreEnded, RetryWaited, TreeObserved};
use crate::event::measurement::{IntegritySet, Measurement, MemberStatus, ReportState};
use crate::event::run::Halted;
use crate::facts::Facts;
use crate::members::{TOLD_BYTES_MAX, told_bytes};
use crate::vet::Seen;

impl State {
    /// The fact that an answer amounts to.
    pub fn observe(&self, effect: &Effect, observation: Observation) -> Event {
        match (effect, observation) {
            (Effect::ObserveTree { iteration, purpose, .. }, Observation::Tree { at, seen }) => TreeObserved {
                at,
                iteration: *iteration,
                purpose: *purpose,
                seen,
            }
            .into(),
            (
                Effect::BuildContext(request),
                Observation::Context {
                    path,
                    digest,
                    bytes,
                    tokens,
                    manifest,
                    error,
                },
            ) => ContextBuilt {
                iteration: request.iteration,
                path,
                digest,
                bytes,
                tokens,
                manifest,
                error,
            }
            .into(),
            (
                Effect::Execute { iteration, attempt, .. },
                Observation::Executed {
                    at,
                    run,
                    ask,
                    interference,
                },
            ) => ExecuteEnded {
                at,
                iteration: *iteration,
                attempt: *attempt,
                run,
                ask,
                interference,
            }
            .into(),
            (Effect::Wait { iteration, attempt, .. }, Observation::Waited { at }) => RetryWaited {
                at,
                iteration: *iteration,
                attempt: *attempt,
            }
            .into(),
            (
                Effect::Check {
                    iteration,
                    attempt,
                    purpose,
                    ..
                },
                Observation::Checked {
                    at,
                    run,
                    reading,
                    interference,
                },
            ) => {
                let measurement = self.measurement(reading);
                CheckEnded {
                    at,
                    iteration: *iteration,
                    attempt: *attempt,
                    purpose: *purpose,
                    run,
                    measurement,
                    interference,
                }
                .into()
            }
            (
                Effect::Restore { iteration, attempt, to },
                Observation::Restored {
                    at,
                    written,
                    removed,
                    saved,
                    error,
                },
            ) => {
                let (iteration, attempt, to) = (*iteration, *attempt, *to);
                RestoreEnded {
                    at,
                    iteration,
                    attempt,
                    to,
                    written,
                    removed,
                    saved,
                    error,
                }
                .into()
            }
            (
                Effect::Vet(request),
                Observation::Vetted {
                    at,
                    trials,
                    trouble,
                    cost_us,
                },
            ) => {
                let trouble = if trouble.is_empty() {
                    request.trouble(&trials)
                } else {
                    trouble
                };
                let trials = trials.iter().map(|ran| ran.trial(&self.facts)).collect();
                let seen = told(Seen {
                    at,
                    trials,
                    trouble,
                    cost_us,
                });
                match self.phase.vetted(&self.facts, request, seen) {
                    Some(vetted) => vetted.into(),
                    None => {
                        let why = alloc::format!("nobody asked for {}", request.guard);
                        self.broken(HaltReason::InternalError, "foreign_answer", why)
                    }
                }
            }
            (_, Observation::TreeLost { why, .. }) => self.broken(HaltReason::WorkspaceInvalid, "workdir_lost", why),
            (effect, _) => {
                let why = alloc::format!("the world answered {effect:?} with something else");
                self.broken(HaltReason::InternalError, "foreign_answer", why)
            }
        }
    }

    /// A halt that an observation itself amounts to.
    fn broken(&self, reason: HaltReason, cause: &str, why: String) -> Event {
        let mut sentence = String::from(reason.row().sentence.trim_end_matches('.'));
        sentence.push_str(": ");
        sentence.push_str(&why);
        sentence.push('.');
        let accepted = self.facts.accepted.as_ref().map(|accepted| accepted.tree);
        let (iteration, tree) = (self.facts.iteration, self.facts.tree);
        Halted {
            iteration,
            reason,
            cause: cause.into(),
            sentence,
            tree,
            accepted,
            improving: false,
        }
        .into()
    }

    /// Compares a reading with what was known, so that the journal keeps only the difference.
    fn measurement(&self, mut reading: Reading) -> Measurement {
        if !reading.complete {
            complete(&self.facts, &mut reading);
        }
        let mut changes = self.facts.members.changes_to(&reading.members);
        if told_bytes(&changes) > TOLD_BYTES_MAX {
            reading = unread(reading, told_bytes(&changes));
            changes = self.facts.members.changes_to(&reading.members);
        }
        let integrity = reading.integrity.map(|set| {
            let known = &self.facts.integrity;
            let usable = set.error.is_empty();
            let lost = known
                .iter()
                .filter(|id| usable && set.ids.binary_search(id).is_err())
                .cloned()
                .collect();
            let added = set.ids.iter().filter(|id| !known.contains(id)).cloned().collect();
            IntegritySet {
                total: u64::try_from(set.ids.len()).unwrap_or(u64::MAX),
                digest: set.digest,
                added,
                lost,
                error: set.error,
            }
        });
        Measurement {
            members_total: u64::try_from(reading.members.len()).unwrap_or(u64::MAX),
            changes,
            collector: reading.collector,
            note: reading.note,
            report: reading.report,
            announced: reading.announced,
            concluded: reading.concluded,
            finished: reading.finished,
            complete: reading.complete,
            contradictions: reading.contradictions,
            retried: reading.retried,
            members_digest: reading.members_digest,
            messages_digest: reading.messages_digest,
            output_digest: reading.output_digest,
            integrity,
            cost_us: reading.cost_us,
        }
    }
}

/// A reading that names more than a fact can say is read as none: a part could hide the rest (SPEC 6.3.7).
fn unread(reading: Reading, bytes: usize) -> Reading {
    Reading {
        collector: reading.collector,
        note: too_much(bytes),
        report: ReportState::Malformed,
        messages_digest: reading.messages_digest,
        output_digest: reading.output_digest,
        integrity: reading.integrity,
        cost_us: reading.cost_us,
        ..Reading::nothing()
    }
}

/// The same of all runs of one experiment: its guard then has seen nothing that it could say.
fn told(seen: Seen) -> Seen {
    let bytes: usize = seen.trials.iter().map(|trial| told_bytes(&trial.changes)).sum();
    if bytes <= TOLD_BYTES_MAX {
        return seen;
    }
    Seen {
        trials: alloc::vec::Vec::new(),
        trouble: too_much(bytes),
        ..seen
    }
}

fn too_much(bytes: usize) -> String {
    alloc::format!(
        "the names of the tests that changed take {bytes} bytes, and the record holds at most {TOLD_BYTES_MAX} at once"
    )
}

/// Some sources list only what fails: whoever was known and is not listed now passes.
pub(crate) fn complete(facts: &Facts, reading: &mut Reading) {
    let known = facts.members.iter().map(|(id, _)| id).chain(facts.universe.iter());
    let passing: alloc::vec::Vec<_> = known
        .filter(|id| reading.members.binary_search_by(|(other, _)| other.cmp(id)).is_err())
        .map(|id| (id.clone(), MemberStatus::Passed))
        .collect();
    reading.members.extend(passing);
    reading.members.sort_unstable();
    reading.members.dedup_by(|a, b| a.0 == b.0);
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::event::id::Stamp;
    use crate::event::measurement::MemberChange;
    use crate::vet::bench::trial;

    /// Runs of an experiment, each with this many changed members under names of 1,000 bytes.
    fn seen(runs: &[usize]) -> Seen {
        let change = MemberChange {
            id: "x".repeat(1_000),
            status: MemberStatus::Failed,
        };
        let run = |changes: &usize| {
            let mut trial = trial(1);
            trial.changes = vec![change.clone(); *changes];
            trial
        };
        Seen {
            at: Stamp::default(),
            trials: runs.iter().map(run).collect(),
            trouble: String::new(),
            cost_us: 0,
        }
    }

    #[test]
    fn runs_that_show_more_names_than_a_fact_holds_show_nothing_and_say_why() {
        let fits = told(seen(&[3_000, 3_000]));
        assert_eq!((fits.trials.len(), fits.trouble.as_str()), (2, ""));
        let over = told(seen(&[3_000, 3_300]));
        assert!(over.trials.is_empty());
        assert!(over.trouble.contains("take 6400800 bytes"), "{}", over.trouble);
    }
}
