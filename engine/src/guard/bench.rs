//! A workbench for the guards' tests: one honest turn, to be bent.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::Evidence;
use crate::event::id::Digest;
use crate::event::measurement::{
    AssertionsSeen, Captured, ChangeKind, CommandRun, GitSeen, GitState, Measurement, MemberStatus, Place, ReportState,
    RunOutcome, StopCause, SurfaceChange, SurfaceClass, Survivor, TreeSeen,
};
use crate::event::policy::Policy;
use crate::members::{IdSet, Members};

pub(crate) struct Bench {
    pub(crate) policy: Policy,
    pub(crate) exec_survivors: Vec<Survivor>,
    pub(crate) check_survivors: Vec<Survivor>,
    pub(crate) exec_interference: Vec<String>,
    pub(crate) check_interference: Vec<String>,
    pub(crate) after_exec: TreeSeen,
    pub(crate) after_check: TreeSeen,
    pub(crate) check: CommandRun,
    pub(crate) measurement: Measurement,
    pub(crate) members: Members,
    pub(crate) universe: IdSet,
    pub(crate) unnamed: Option<u64>,
    pub(crate) accepted: Members,
    pub(crate) active_at_t0: Vec<String>,
}

pub(crate) fn members(list: &[(&str, MemberStatus)]) -> Members {
    let mut members = Members::default();
    let list: Vec<_> = list.iter().map(|(id, status)| (String::from(*id), *status)).collect();
    let changes = members.changes_to(&list);
    members.apply(&changes);
    members
}

pub(crate) fn tree() -> TreeSeen {
    TreeSeen {
        tree: Digest([1; 32]),
        files: 3,
        bytes: 30,
        changes_total: 1,
        changes: vec![],
        surface: vec![],
        surface_more: 0,
        surface_files: 1,
        surface_digest: Digest([2; 32]),
        unstable: vec![],
        unstored: vec![],
        unreadable: vec![],
        git: GitSeen {
            state: GitState::Read,
            note: String::new(),
            head: Some("c0ffee".into()),
            branch: Some("refs/heads/main".into()),
            refs: vec![],
            meta: vec![],
            listed: GitState::Read,
            listed_note: String::new(),
            index_locked: false,
        },
        assertions: AssertionsSeen::default(),
        cost_us: 0,
    }
}

pub(crate) fn run(code: i32) -> CommandRun {
    CommandRun {
        outcome: RunOutcome::Exited,
        code,
        stop: StopCause::None,
        duration_ms: 5,
        cpu_ms: 1,
        rss_max_kib: 1_000,
        stdout: Captured::default(),
        stderr: Captured::default(),
        survivors: vec![],
        zone: None,
    }
}

pub(crate) fn measurement() -> Measurement {
    Measurement {
        collector: "pytest".into(),
        note: String::new(),
        report: ReportState::Fresh,
        announced: Some(2),
        concluded: Some(2),
        finished: true,
        complete: true,
        contradictions: vec![],
        retried: 0,
        members_total: 2,
        changes: vec![],
        members_digest: Digest::ZERO,
        messages_digest: Digest::ZERO,
        output_digest: Digest::ZERO,
        integrity: None,
        cost_us: 0,
    }
}

impl Bench {
    /// Two tests, one fixed by the agent, both green now.
    pub(crate) fn honest() -> Self {
        let now = members(&[("a", MemberStatus::Passed), ("b", MemberStatus::Passed)]);
        Self {
            policy: Policy::default(),
            exec_survivors: vec![],
            check_survivors: vec![],
            exec_interference: vec![],
            check_interference: vec![],
            after_exec: tree(),
            after_check: tree(),
            check: run(0),
            measurement: measurement(),
            universe: now.passing(None),
            unnamed: None,
            members: now,
            active_at_t0: vec![],
            accepted: members(&[("a", MemberStatus::Passed), ("b", MemberStatus::Failed)]),
        }
    }

    pub(crate) fn evidence(&self) -> Evidence<'_> {
        Evidence {
            policy: &self.policy,
            iteration: 1,
            exec_survivors: &self.exec_survivors,
            check_survivors: &self.check_survivors,
            exec_interference: &self.exec_interference,
            check_interference: &self.check_interference,
            after_exec: Some(&self.after_exec),
            after_check: &self.after_check,
            check: &self.check,
            measurement: &self.measurement,
            members: &self.members,
            universe: &self.universe,
            unnamed: self.unnamed,
            accepted: &self.accepted,
            active_at_t0: &self.active_at_t0,
        }
    }

    pub(crate) fn change(&self, path: &str, class: SurfaceClass) -> SurfaceChange {
        SurfaceChange {
            path: path.into(),
            place: Place::Tree,
            kind: ChangeKind::Modified,
            class,
            pattern: "p".into(),
        }
    }

    pub(crate) fn survivor(&self, ended: bool) -> Survivor {
        Survivor {
            pid: 7,
            command: "sleep 600".into(),
            ended,
        }
    }
}
