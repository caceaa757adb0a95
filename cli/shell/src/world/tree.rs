//! Walks and restores, as observations.

use std::time::Instant;

use engine::event::id::{Bytes, Digest};
use engine::event::iteration::TreePurpose;
use engine::event::measurement::{AssertionsSeen, ChangeKind, GitSeen, TreeChange, TreeSeen};
use engine::{Observation, State};

use super::RealWorld;
use super::assertions::{Counts, against, kept};
use super::listed::Listed;
use super::outputs::{self, Outputs};
use super::surface::{Base, Suites};
use crate::oracle::suite;
use crate::process::path_of;
use crate::tree::{self, GitFacts, TreeError, TreeId, Unavailable};

/// Changed paths that are named; the rest is counted.
const CHANGES_NAMED: usize = 64;

impl RealWorld {
    /// Walks the workdir, keeps what is new, compares what is watched with t0 or defines t0.
    pub(super) fn observe_tree(&mut self, state: &State, base: Option<Digest>, purpose: TreePurpose) -> Observation {
        match self.walk(state, base, purpose) {
            Ok(seen) => Observation::Tree {
                at: self.clock.stamp(),
                seen,
            },
            Err(why) => Observation::TreeLost {
                at: self.clock.stamp(),
                why,
            },
        }
    }

    fn walk(&mut self, state: &State, base: Option<Digest>, purpose: TreePurpose) -> Result<TreeSeen, String> {
        let started = Instant::now();
        let policy = &state.facts.policy().guards;
        let hidden = self.environments.start_up_paths(&self.workdir);
        let patterns = self.surfaces.literal(policy);
        let literal: Vec<&[u8]> = patterns.iter().chain(&hidden).map(Vec::as_slice).collect();
        let suites = match base {
            None => Suites::new(suite::files(state.facts.members.iter().map(|(id, _)| id.as_str()))),
            Some(digest) => {
                let blobs = self.run.blobs();
                let known = self.surfaces.base(&blobs, digest);
                let known = known.map_err(|error| format!("{}: {error}", blobs.display()))?;
                known.suites().clone()
            }
        };
        self.assertions.follow(&suites);
        self.surfaces.follow(suites.clone());
        let surfaces = std::cell::RefCell::new(&mut self.surfaces);
        let watches = |path: &[u8]| surfaces.borrow_mut().watches(policy, path);
        let outcome = self.tree.observe(&literal, &watches);
        let facts = self.tree.git_facts();
        let listed = listed(&mut self.tree, &facts, &watches);
        let (mut seen, watched) = outcome.map_err(|error| sentence(&error))?;
        if !std::mem::replace(&mut self.walked, true) && state.facts.t0.is_some() {
            // The walk before this one belongs to an earlier life: its tree is in the store.
            let before = self
                .tree
                .manifest(TreeId(state.facts.tree.0))
                .map_err(|error| sentence(&error))?;
            seen.changes = tree::diff(&before, self.tree.current());
        }

        let index_locked = self
            .tree
            .repository()
            .is_ok_and(|repository| repository.index_lock().is_some());
        let blobs = self.run.blobs();
        let trouble = |error: std::io::Error| format!("{}: {error}", blobs.display());
        let (known, programs) = match base {
            Some(digest) => {
                let base = self.surfaces.base(&blobs, digest).map_err(trouble)?;
                (
                    Some(&base.assertions),
                    self.toolchain.again(&self.workdir, base.programs()),
                )
            }
            None => {
                let check = &state.facts.policy().oracle.check;
                (None, self.toolchain.start(&self.workdir, check, path_of(&self.env)))
            }
        };
        let assertions = self
            .assertions
            .count(self.tree.current().entries(), policy, known, &|digest| {
                self.tree.content(digest).map_err(|error| sentence(&error))
            });
        let start = if known.is_none() {
            kept(&assertions)
        } else {
            Counts::new()
        };
        let content = |digest: &[u8; 32]| self.tree.content(digest).map_err(|error| sentence(&error));
        let entries = self.tree.current().entries();
        let mut suites = suites;
        let rewritten = match base {
            None => {
                let members: Vec<&str> = state.facts.members.iter().map(|(id, _)| id.as_str()).collect();
                suites.settle(entries, policy, &members, &content);
                Vec::new()
            }
            Some(_) => suites.rewritten(entries, &content),
        };
        let asserted = against(known.unwrap_or(&start), &assertions);
        let mut now = Base::now(&suites, &watched, &facts, listed, start, programs);
        let judged = purpose == TreePurpose::AfterCheck;
        if base.is_none() && judged {
            let written = (self.workdir.as_path(), &self.marks);
            let is_tracked = |path: &Bytes| now.listed.as_ref().map_or(true, |listed| listed.names(path));
            now.outputs = Outputs::of(&watched, policy, written, &is_tracked);
        }
        let files = now.len() as u64;
        let (surface, surface_more, surface_digest, git) = match base {
            None => {
                if !judged {
                    self.marks = outputs::marks(&self.workdir, &watched, policy, None);
                }
                let git = now.git(&facts, index_locked, now.unlisted().cloned());
                let digest = self.surfaces.found(&blobs, now).map_err(trouble)?;
                (Vec::new(), 0, digest, git)
            }
            Some(digest) => {
                let before = self.surfaces.base(&blobs, digest).map_err(trouble)?;
                let names = |contents: &_| self.tree.git_names(contents).map_err(|error| sentence(&error));
                let (staged, unlisted) = match before.staged(&now, names) {
                    Ok(staged) => (staged, None),
                    Err(why) => (Vec::new(), Some(why)),
                };
                let check = &state.facts.policy().oracle.check;
                let called = |name: &[u8]| before.programs().may_start(&self.workdir, check, name);
                // A check that did not pass may have ended before it wrote what the work has written meanwhile.
                let written = |path: &Bytes| {
                    let fresh = || outputs::is_fresh(&self.workdir, path, &self.marks);
                    let built = || outputs::is_built(&self.workdir, path, policy, state.facts.opened.at.wall_ms);
                    before.outputs.holds(path) && (!judged || !self.check_passed || fresh()) || built()
                };
                let (surface, more) = before.changes(&now, staged, rewritten, policy, &called, &written);
                if !judged {
                    self.marks = outputs::marks(&self.workdir, &watched, policy, Some(&before.outputs));
                }
                (surface, more, digest, before.git(&facts, index_locked, unlisted))
            }
        };
        Ok(assemble(
            seen,
            git,
            (surface, surface_more, files, surface_digest),
            asserted,
            started,
        ))
    }

    pub(super) fn restore(&mut self, to: Digest) -> Observation {
        let outcome = self.tree.restore(TreeId(to.0));
        let at = self.clock.stamp();
        match outcome {
            Ok(done) => Observation::Restored {
                at,
                written: done.written,
                removed: done.removed,
                saved: Digest(done.saved.0),
                error: String::new(),
            },
            Err(error) => {
                let (written, removed) = (0, 0);
                Observation::Restored {
                    at,
                    written,
                    removed,
                    saved: Digest::ZERO,
                    error: error.to_string(),
                }
            }
        }
    }
}

/// What index and commit hold of what is watched, or why that cannot be said. Without a repository: nothing.
fn listed(
    tree: &mut tree::Tree,
    facts: &Result<GitFacts, Unavailable>,
    watches: &dyn Fn(&[u8]) -> bool,
) -> Result<Listed, String> {
    match facts {
        Ok(facts) => tree
            .git_listed(facts.head.as_deref(), watches)
            .map(Listed::from)
            .map_err(|error| sentence(&error)),
        Err(Unavailable::NoRepository) => Ok(Listed::default()),
        Err(why) => Err(why.to_string()),
    }
}

fn sentence(error: &TreeError) -> String {
    error.to_string().trim_end_matches('.').to_string()
}

fn assemble(
    seen: tree::TreeSeen,
    git: GitSeen,
    surface: (Vec<engine::event::measurement::SurfaceChange>, u64, u64, Digest),
    assertions: AssertionsSeen,
    started: Instant,
) -> TreeSeen {
    let (surface, surface_more, surface_files, surface_digest) = surface;
    let changes_total = seen.changes.len() as u64;
    let changes = seen.changes.into_iter().take(CHANGES_NAMED);
    TreeSeen {
        tree: Digest(seen.id.0),
        files: seen.files,
        bytes: seen.size_bytes,
        changes_total,
        changes: changes
            .map(|c| TreeChange {
                path: Bytes(c.path),
                kind: kind(c.kind),
            })
            .collect(),
        surface,
        surface_more,
        surface_files,
        surface_digest,
        unstable: seen.unstable.into_iter().map(Bytes).collect(),
        unstored: seen.unstored.into_iter().map(Bytes).collect(),
        unreadable: Vec::new(),
        git,
        assertions,
        cost_us: u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
    }
}

fn kind(kind: tree::ChangeKind) -> ChangeKind {
    match kind {
        tree::ChangeKind::Added => ChangeKind::Added,
        tree::ChangeKind::Removed => ChangeKind::Removed,
        tree::ChangeKind::Modified => ChangeKind::Modified,
        tree::ChangeKind::ModeChanged => ChangeKind::Mode,
        tree::ChangeKind::TypeChanged => ChangeKind::Type,
    }
}
