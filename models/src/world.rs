//! A simulated world: answers every effect of the engine, and remembers what really happened.
//!
//! What the world *really* is stands beside what it *says*: properties are stated over [`Ghosts`], never
//! over the engine's own fields, so that a fault in a guard cannot hide itself.

mod lab;
mod said;

use engine::event::id::{Digest, Stamp};
use engine::event::iteration::{CheckPurpose, TreePurpose};
use engine::event::measurement::{
    GitSeen, GitState, MemberStatus, RefChange, ReportState, RunOutcome, StopCause, TreeSeen,
};
use engine::{Effect, IntegrityReading, Observation, Reading};

use crate::act::{Act, Edit, End, Lab, Look, Repair, Slice, Turn, Walk};
use crate::project::{SNAPSHOT, TESTS, Tree, base_of, bit, name};
use said::{command, product, survivor, touched};

/// Who reads the output of the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Runner {
    /// A collector names every test.
    Known,
    /// Nobody: the exit status is all there is.
    Unknown,
    /// The operator's own command names what fails.
    FailuresCmd,
}

/// What really happened, whatever was said about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ghosts {
    /// The sources that the last run of the check really judged.
    pub judged: Option<Tree>,
    /// Runs on those sources that exited green. Counts to three.
    pub greens: u8,
    /// Those of them that showed a failing test as passing: nothing tells them from the truth.
    pub lies: u8,
    /// Some run on those sources showed a test as what it is not.
    pub flipped: bool,
    /// Bit n: the baseline named test n, and it counted. Nobody can miss what t0 never showed.
    pub named: u8,
    /// Something wrote into the state directory since the last turn began.
    pub touched: bool,
    /// A process of the turn or of its check still runs.
    pub stray: bool,
    /// The sources of which a copy was green last, and whether that copy showed a test as what it is not.
    pub vetted: Option<Tree>,
    pub copies_lied: bool,
}

/// The simulated world.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub tree: Tree,
    /// The tree of the last walk.
    pub walked: Tree,
    pub moved_ref: bool,
    pub edited_hook: bool,
    /// Bit n: test n passes here because of what lies beside the sources, and in no copy.
    pub props: u8,
    pub runner: Runner,
    /// The contract has an integrity command.
    pub integrity: bool,
    /// Failure messages differ with the salt of the tree.
    pub chatty: bool,
    /// Milliseconds that every effect takes; zero keeps states comparable.
    pub pace_ms: u64,
    pub mono_ms: u64,
    /// What the wall clock was set forward by, in all.
    pub wall_ahead_ms: u64,
    pub ghosts: Ghosts,
}

impl World {
    /// A workdir that holds `tree`, read by a known runner.
    pub fn new(tree: Tree) -> Self {
        Self {
            tree,
            walked: tree,
            moved_ref: false,
            edited_hook: false,
            props: 0,
            runner: Runner::Known,
            integrity: false,
            chatty: false,
            pace_ms: 0,
            mono_ms: 0,
            wall_ahead_ms: 0,
            ghosts: Ghosts::default(),
        }
    }

    /// The time now.
    pub fn now(&self) -> Stamp {
        Stamp {
            wall_ms: self.mono_ms.wrapping_add(self.wall_ahead_ms),
            mono_ms: self.mono_ms,
        }
    }

    fn pass(&mut self, time_ms: u64) -> Stamp {
        self.mono_ms += if self.pace_ms == 0 { 0 } else { time_ms };
        self.now()
    }

    /// The governor died: its clock starts anew, and what it left running is ended before the next life.
    pub fn reboot(&mut self) {
        self.mono_ms = 0;
        self.ghosts.stray = false;
        // A new life verifies the journal before it goes on.
        self.ghosts.touched = false;
    }

    /// Performs one effect in one way. An act of another kind is replaced by the plain one.
    pub fn perform(&mut self, effect: &Effect, act: Act) -> Observation {
        match effect {
            Effect::ObserveTree { purpose, base, .. } => {
                let walk = if let Act::Walk(walk) = act { walk } else { Walk::Fine };
                self.walk(*purpose, *base, walk)
            }
            Effect::BuildContext(request) => {
                let failed = act == Act::Slice(Slice::Fails);
                Observation::Context {
                    path: ".loopexec/context.md".into(),
                    digest: Digest::ZERO,
                    bytes: 0,
                    tokens: u64::from(request.iteration),
                    manifest: Vec::new(),
                    error: if failed { "no space left".into() } else { String::new() },
                }
            }
            Effect::Execute { .. } => {
                let turn = if let Act::Turn(turn) = act {
                    turn
                } else {
                    Turn::does(Edit::Nothing)
                };
                self.execute(turn)
            }
            Effect::Wait { delay_ms, .. } => Observation::Waited {
                at: self.pass(*delay_ms),
            },
            Effect::Check { purpose, copy_of, .. } => {
                let look = if let Act::Look(look) = act { look } else { Look::Honest };
                let baseline = *purpose == CheckPurpose::Baseline;
                match copy_of.and_then(Tree::of) {
                    Some(tree) => self.check_copy(tree, look),
                    None => self.check(look, baseline),
                }
            }
            Effect::Restore { to, .. } => {
                let repair = if let Act::Repair(repair) = act {
                    repair
                } else {
                    Repair::Fine
                };
                self.restore(*to, repair)
            }
            Effect::Vet(request) => {
                let lab = if let Act::Lab(lab) = act { lab } else { Lab::Honest };
                self.vet(request, lab)
            }
        }
    }

    fn walk(&mut self, purpose: TreePurpose, base: Option<Digest>, walk: Walk) -> Observation {
        let at = self.pass(self.pace_ms);
        if walk == Walk::Lost {
            let why = "the workdir is gone".into();
            return Observation::TreeLost { at, why };
        }
        let changed = self.tree != self.walked && purpose != TreePurpose::Baseline;
        self.walked = self.tree;
        let moved = |name: &str| RefChange {
            name: name.into(),
            from: Some("aaaa".into()),
            to: Some("bbbb".into()),
        };
        let readable = walk != Walk::GitUnreadable;
        let git = GitSeen {
            state: if readable {
                GitState::Read
            } else {
                GitState::Unavailable
            },
            note: if readable { String::new() } else { "torn index".into() },
            head: Some("aaaa".into()),
            branch: Some("refs/heads/main".into()),
            refs: (self.moved_ref && readable)
                .then(|| moved("refs/remotes/origin/main"))
                .into_iter()
                .collect(),
            meta: (self.edited_hook && readable)
                .then(|| moved("hooks/pre-commit"))
                .into_iter()
                .collect(),
            listed: if readable {
                GitState::Read
            } else {
                GitState::Unavailable
            },
            listed_note: String::new(),
            index_locked: false,
        };
        let seen = TreeSeen {
            tree: self.tree.digest(),
            files: 3,
            bytes: 30,
            changes_total: u64::from(changed),
            changes: changed.then(product).into_iter().collect(),
            surface: self.tree.surface(base.map_or(self.tree.watched, base_of)),
            surface_more: 0,
            surface_files: 3,
            surface_digest: self.tree.surface_digest(),
            unstable: (walk == Walk::Restless).then(|| "log.txt".into()).into_iter().collect(),
            unstored: Vec::new(),
            unreadable: Vec::new(),
            git,
            assertions: self.tree.assertions(),
            cost_us: 0,
        };
        Observation::Tree { at, seen }
    }

    fn execute(&mut self, turn: Turn) -> Observation {
        self.ghosts.touched = turn.edit == Edit::TouchState;
        self.ghosts.stray = turn.end == End::Survivor { ended: false };
        self.tree = turn.edit.apply(self.tree);
        self.moved_ref |= turn.edit == Edit::MoveRef;
        if let Edit::Prop(n) = turn.edit {
            self.props |= bit(n);
        }
        self.edited_hook |= turn.edit == Edit::EditHook;
        let (outcome, code, stop) = match turn.end {
            End::Exit(code) | End::Instant(code) => (RunOutcome::Exited, code, StopCause::None),
            End::Signal(signal) => (RunOutcome::Signaled, signal, StopCause::None),
            End::NotFound => (RunOutcome::NotFound, 0, StopCause::None),
            End::Lost(outcome) => (outcome, 0, StopCause::None),
            End::Stop(stop) => (RunOutcome::Signaled, 9, stop),
            End::Ask | End::Survivor { .. } => (RunOutcome::Exited, 0, StopCause::None),
        };
        let mut run = command(outcome, code, stop);
        run.duration_ms = if matches!(turn.end, End::Instant(_)) { 1 } else { 5_000 };
        if let End::Survivor { ended } = turn.end {
            run.survivors.push(survivor(ended));
        }
        Observation::Executed {
            at: self.pass(run.duration_ms),
            run,
            ask: (turn.end == End::Ask).then(|| "which port?".into()),
            interference: touched(self.ghosts.touched),
        }
    }

    fn check(&mut self, look: Look, baseline: bool) -> Observation {
        let before = self.tree.sources();
        let mut seen = self.tree;
        seen.right |= self.props;
        if let Look::Flip(n) = look {
            seen.right ^= bit(n);
        }
        let mut members = seen.members();
        let failed = members.iter().any(|(_, status)| status.fails());
        let (mut outcome, mut code, mut stop) = (RunOutcome::Exited, i32::from(failed), StopCause::None);
        let mut report = ReportState::Fresh;
        let mut announced = None;
        match look {
            Look::Honest | Look::Flip(_) | Look::Unreadable | Look::Unfinished => {}
            Look::ExitZero => code = 0,
            Look::ZeroTests(exit) => {
                members.clear();
                code = exit;
            }
            Look::Crash => {
                members.clear();
                code = 2;
                report = ReportState::Absent;
            }
            Look::Code(exit) => {
                members.clear();
                code = exit;
                report = ReportState::Absent;
            }
            Look::Signal(signal) => {
                members.clear();
                (outcome, code) = (RunOutcome::Signaled, signal);
            }
            Look::Lost(lost) => {
                members.clear();
                (outcome, code) = (lost, 0);
            }
            Look::Stop(cause) => {
                members.clear();
                (outcome, code, stop) = (RunOutcome::Signaled, 9, cause);
            }
            Look::Stale => report = ReportState::Stale,
            Look::NoReport => {
                members.clear();
                report = ReportState::Absent;
            }
            Look::Partial => {
                announced = Some(members.len() as u64 + 2);
                code = 0;
            }
            Look::Survivor => self.ghosts.stray = true,
            Look::TouchesState => {}
            Look::WritesSurface => self.tree.watched |= SNAPSHOT,
            Look::WritesArtefact => self.tree.artefacts = self.tree.artefacts.wrapping_add(1),
        }
        let mut run = command(outcome, code, stop);
        run.duration_ms = 100;
        if look == Look::Survivor {
            run.survivors.push(survivor(false));
        }
        self.witness(before, run.exited() == Some(0), matches!(look, Look::Flip(_)));
        let integrity = self.integrity.then(|| {
            let ids: Vec<String> = self.tree.members().into_iter().map(|(id, _)| id).collect();
            let digest = fingerprint(&ids);
            IntegrityReading {
                ids,
                digest,
                error: String::new(),
            }
        });
        let at = self.pass(run.duration_ms);
        let reading = self.reading(look, members, report, announced, integrity);
        if baseline {
            let counted = |n: &u8| {
                let of = |(id, status): &(String, MemberStatus)| {
                    *id == name(*n) && matches!(status, MemberStatus::Passed | MemberStatus::Failed)
                };
                reading.members.iter().any(of)
            };
            self.ghosts.named = (0..TESTS).filter(counted).map(bit).sum();
        }
        self.ghosts.touched |= look == Look::TouchesState;
        Observation::Checked {
            at,
            run,
            reading,
            interference: touched(look == Look::TouchesState),
        }
    }

    /// Notes what a run of the check really was.
    fn witness(&mut self, judged: Tree, green: bool, lie: bool) {
        if self.ghosts.judged != Some(judged) {
            self.ghosts.judged = Some(judged);
            (self.ghosts.greens, self.ghosts.lies, self.ghosts.flipped) = (0, 0, false);
        }
        self.ghosts.flipped |= lie;
        self.ghosts.greens = (self.ghosts.greens + u8::from(green)).min(3);
        self.ghosts.lies = (self.ghosts.lies + u8::from(green && lie)).min(3);
    }

    fn reading(
        &self,
        look: Look,
        members: Vec<(String, MemberStatus)>,
        report: ReportState,
        announced: Option<u64>,
        integrity: Option<IntegrityReading>,
    ) -> Reading {
        let read = self.runner == Runner::Known && look != Look::Unreadable;
        let failing: Vec<String> = members
            .iter()
            .filter(|(_, status)| status.fails())
            .map(|(id, _)| id.clone())
            .collect();
        let mut said = failing.clone();
        if self.chatty {
            said.push(format!("salt {}", self.tree.salt));
        }
        let messages_digest = if failing.is_empty() {
            Digest::ZERO
        } else {
            fingerprint(&said)
        };
        let members = match self.runner {
            Runner::Known if read => members,
            Runner::Known | Runner::Unknown => Vec::new(),
            Runner::FailuresCmd => failing.into_iter().map(|id| (id, MemberStatus::Failed)).collect(),
        };
        let spelled: Vec<String> = members.iter().map(|(id, status)| format!("{id} {status}")).collect();
        let collector = match self.runner {
            Runner::Known if read => "junit",
            Runner::FailuresCmd => engine::FAILURES_CMD,
            Runner::Known | Runner::Unknown => "",
        };
        Reading {
            collector: collector.into(),
            note: String::new(),
            report: if read { report } else { ReportState::NotUsed },
            announced: announced.filter(|_| read),
            concluded: read.then_some(members.len() as u64),
            finished: look != Look::Unfinished,
            complete: self.runner != Runner::FailuresCmd,
            contradictions: Vec::new(),
            retried: 0,
            members_digest: fingerprint(&spelled),
            messages_digest: if self.runner == Runner::Unknown {
                Digest::ZERO
            } else {
                messages_digest
            },
            output_digest: Digest::ZERO,
            members,
            integrity,
            cost_us: 0,
        }
    }

    fn restore(&mut self, to: Digest, repair: Repair) -> Observation {
        let saved = self.tree.digest();
        if repair == Repair::Fails {
            // Half of it: whatever the salt stood for is back, the rest is not.
            self.tree.salt = Tree::of(to).map_or(0, |tree| tree.salt);
        } else if let Some(tree) = Tree::of(to) {
            self.tree = tree;
        }
        Observation::Restored {
            at: self.pass(self.pace_ms),
            written: 1,
            removed: 0,
            saved,
            error: if repair == Repair::Fine {
                String::new()
            } else {
                "disk full".into()
            },
        }
    }
}

/// A stand-in for a digest over lines: good enough to tell a few short lists apart.
pub(crate) fn fingerprint(lines: &[String]) -> Digest {
    let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
    for byte in lines.iter().flat_map(|line| line.bytes().chain([b'\n'])) {
        hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    let mut bytes = [1_u8; 32];
    bytes[..16].copy_from_slice(&hash.to_le_bytes());
    Digest(bytes)
}
