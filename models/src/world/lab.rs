//! Experiments in copies. A copy holds the sources of a tree and nothing that lies beside them.

use engine::Observation;
use engine::event::candidate::{Covered, Mutated, Trace};
use engine::event::measurement::{ReportState, RunOutcome, StopCause};
use engine::vet::{Base, Plant, Ran, Request, Step};

use super::World;
use super::said::command;
use crate::act::{Lab, Look};
use crate::project::{TESTS, Tree, bit};

impl World {
    /// The check in a fresh copy, which holds no props, and in which whatever it writes stays.
    pub(super) fn check_copy(&mut self, tree: Tree, look: Look) -> Observation {
        let (here, props) = (self.tree, self.props);
        (self.tree, self.props) = (tree, 0);
        let seen = self.check(look, false);
        (self.tree, self.props) = (here, props);
        seen
    }

    /// Nothing of it touches the workdir.
    pub(super) fn vet(&mut self, request: &Request, lab: Lab) -> Observation {
        let mut trials: Vec<Ran> = Vec::new();
        let mut trouble = String::new();
        // Its product is not written in a language that anything could be changed in, and its check is no script.
        let changes = |step: &Step| !matches!(step.plant, Plant::Code { .. } | Plant::Sentinels { .. });
        while let Some(step) = request.step(&trials).filter(changes) {
            if lab == Lab::Fails {
                trouble = "no space left".into();
                break;
            }
            // There are as many ways to bend the product as it has tests.
            if matches!(step.plant, Plant::Mutant(number) if number >= u32::from(TESTS)) {
                break;
            }
            trials.push(self.trial(request, step, lab));
        }
        let green = |ran: &Ran| ran.run.exited() == Some(0) || !ran.mutants.is_empty();
        if !trials.is_empty() || !trouble.is_empty() {
            self.ghosts.vetted = Tree::of(request.candidate)
                .map(Tree::sources)
                .filter(|_| !trials.is_empty() && trials.iter().all(green));
        }
        let lied = matches!(lab, Lab::Flip(_)) && !trials.is_empty();
        // The first request of a turn brings the control; later ones of the turn take no lie of it back.
        self.ghosts.copies_lied = lied || !request.control && self.ghosts.copies_lied;
        Observation::Vetted {
            at: self.pass(self.pace_ms),
            trials,
            trouble,
            cost_us: 0,
        }
    }

    fn trial(&self, request: &Request, step: Step, lab: Lab) -> Ran {
        let candidate = Tree::of(request.candidate).unwrap_or_default();
        let start = Tree::of(request.start).unwrap_or_default();
        let mut tree = match step.base {
            Base::Candidate => candidate,
            Base::Start => start,
            Base::CandidateOnStartSurface => Tree {
                watched: start.watched,
                ..candidate
            },
        };
        if let Lab::Flip(n) = lab {
            tree.right ^= bit(n);
        }
        let mut mutants = Vec::new();
        match step.plant {
            Plant::Mutant(number) => {
                tree.right &= !u8::try_from(number).map_or(0, bit);
                mutants.push(Mutated {
                    members: Vec::new(),
                    path: "product".into(),
                    line: number + 1,
                    operator: "constant".into(),
                    from: "right".into(),
                    to: "wrong".into(),
                });
            }
            // Its runner has no sentinels and takes no order, and its tests have no source.
            Plant::Nothing
            | Plant::Sentinels { .. }
            | Plant::Respelled
            | Plant::RespelledProduct
            | Plant::Expectations
            | Plant::Beyond { .. }
            | Plant::Failures { .. }
            | Plant::Order(_)
            | Plant::Code { .. }
            | Plant::Coverage
            | Plant::Review
            | Plant::Traced
            | Plant::Frozen
            | Plant::Varied(_) => {}
        }
        let mut members = tree.members();
        let failed = members.iter().any(|(_, status)| status.fails());
        let mut run = command(RunOutcome::Exited, i32::from(failed), StopCause::None);
        if let Lab::Stop(stop) = lab {
            members.clear();
            run = command(RunOutcome::Signaled, 9, stop);
        }
        // Its runner measures nothing, whatever the contract says.
        let coverage = (step.plant == Plant::Coverage).then(|| Covered {
            trouble: "the check wrote no coverage report there".into(),
            ..Covered::default()
        });
        // Its checks touch nothing outside.
        let trace = (step.plant == Plant::Traced).then(|| Trace {
            processes: 1,
            ..Trace::default()
        });
        Ran {
            step,
            run,
            reading: self.reading(Look::Honest, members, ReportState::Fresh, None, None),
            planted: Vec::new(),
            mutants,
            hunks: Vec::new(),
            unmutated: Vec::new(),
            coverage,
            trace,
            varied: Vec::new(),
            review: None,
        }
    }
}
