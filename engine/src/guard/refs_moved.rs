//! Refs moved: branches, tags, stashes, remote-tracking refs, HEAD's place and the repository's own
//! configuration are what they were at t0.
//!
//! A commit on the current branch is allowed and recorded; with `commits_allowed = false` it is not. A
//! push shows as a moved remote-tracking ref. Hooks, info, alternates and modules count as configuration.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Evidence, Guard, Outcome};
use crate::event::finding::Finding;
use crate::event::halt::HaltReason;
use crate::event::measurement::{GitState, RefChange};

pub static GUARD: Guard = Guard {
    name: "refs_moved",
    catches: "a pushed, switched, created or deleted ref, or an edited repository configuration or hook",
    reason: HaltReason::BlockedPathModified,
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let git = &evidence.tree().git;
    match git.state {
        GitState::None => return Outcome::not_applicable("the workdir is not in a git repository"),
        GitState::Unavailable => return Outcome::unavailable(format!("the repository cannot be read: {}", git.note)),
        GitState::Read => {}
    }
    if !evidence
        .policy
        .guards
        .blocked
        .iter()
        .any(|pattern| pattern.trim_end_matches('/') == ".git")
    {
        return Outcome::not_applicable(".git/ is not a blocked path of the contract");
    }
    if evidence.after_exec.is_none() {
        return Outcome::active(Vec::new());
    }
    // A commit on the branch that the run started on is work, not an escape, when the contract says so.
    let commit = |change: &&RefChange| {
        evidence.policy.guards.commits_allowed && Some(&change.name) == git.branch.as_ref() && change.from.is_some()
    };
    let refs = git
        .refs
        .iter()
        .filter(|change| !commit(change))
        .map(|change| moved("ref", change));
    let meta = git.meta.iter().map(|change| moved("repository file", change));
    Outcome::active(refs.chain(meta).collect())
}

fn moved(what: &str, change: &RefChange) -> Finding {
    let side = |value: &Option<String>| {
        value
            .as_deref()
            .unwrap_or("absent")
            .chars()
            .take(12)
            .collect::<String>()
    };
    GUARD.violation(
        change.name.as_str(),
        format!("{what} moved from {} to {}", side(&change.from), side(&change.to)),
    )
}

#[cfg(test)]
mod tests {
    use super::super::bench::Bench;
    use super::*;
    use crate::event::finding::GuardState;

    fn push() -> RefChange {
        RefChange {
            name: "refs/remotes/origin/main".into(),
            from: Some("aaaa".into()),
            to: Some("bbbb".into()),
        }
    }

    #[test]
    fn a_moved_ref_and_an_edited_hook_are_named() {
        let mut bench = Bench::honest();
        bench.after_exec.git.refs = [push()].into();
        bench.after_exec.git.meta = [RefChange {
            name: "hooks/pre-commit".into(),
            from: None,
            to: None,
        }]
        .into();
        let found = check(&bench.evidence()).findings;
        assert_eq!(found.len(), 2);
        assert!(found[0].detail.contains("from aaaa to bbbb"), "{}", found[0].detail);
    }

    #[test]
    fn a_commit_on_the_current_branch_is_allowed_unless_the_contract_says_no() {
        let mut bench = Bench::honest();
        bench.after_exec.git.refs = [RefChange {
            name: "refs/heads/main".into(),
            ..push()
        }]
        .into();
        assert!(check(&bench.evidence()).findings.is_empty());
        bench.policy.guards.commits_allowed = false;
        assert_eq!(check(&bench.evidence()).findings.len(), 1);
    }

    #[test]
    fn an_unreadable_repository_is_not_green_and_no_repository_does_not_apply() {
        let mut bench = Bench::honest();
        bench.after_exec.git.state = GitState::Unavailable;
        assert_eq!(check(&bench.evidence()).state, GuardState::Unavailable);
        bench.after_exec.git.state = GitState::None;
        assert_eq!(check(&bench.evidence()).state, GuardState::NotApplicable);
    }

    #[test]
    fn a_contract_without_the_repository_among_its_blocked_paths_lets_refs_move() {
        let mut bench = Bench::honest();
        bench.policy.guards.blocked.retain(|p| p != ".git/");
        bench.after_exec.git.refs = [push()].into();
        assert_eq!(check(&bench.evidence()).state, GuardState::NotApplicable);
    }
}
