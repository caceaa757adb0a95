//! `ratchet`: the accepted line of a run, and the way out of it into git.

use std::fs;
use std::path::PathBuf;

use clap::Subcommand;
use serde::Serialize;
use shell::lock;
use shell::record::{AcceptedTree, Place, Record};
use shell::tree::{Export, Options, Tree, TreeId};

use crate::app::Scene;
use crate::failure::Failure;
use crate::outcome::{Answer, Outcome};
use crate::render::{safe, table};
use crate::which::{Which, workdir_flag};

/// List the trees that were accepted, or export one as a branch or a patch
#[derive(clap::Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Clone, Debug, Subcommand)]
enum Action {
    Export(ExportArgs),
}

/// Write an accepted tree as a new branch or a patch; worktree, index and branches stay as they are
#[derive(clap::Args, Clone, Debug)]
struct ExportArgs {
    #[command(flatten)]
    which: Which,
    /// Name of the branch to make; it must not exist
    #[arg(
        long,
        value_name = "NAME",
        required_unless_present = "patch",
        conflicts_with = "patch"
    )]
    branch: Option<String>,
    /// File for a patch against the tree that the run began with; `-` is standard output
    #[arg(long, value_name = "FILE")]
    patch: Option<PathBuf>,
    /// The accepted tree with this id, or an unambiguous beginning of it; the last one when left out
    #[arg(long, value_name = "TREE", conflicts_with = "iteration")]
    tree: Option<String>,
    /// The tree that was accepted in this iteration
    #[arg(long, value_name = "N")]
    iteration: Option<u32>,
}

/// The object of this command.
#[derive(Serialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) enum Objects {
    Listed { accepted: Vec<Shown> },
    Exported { exported: Exported },
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Shown {
    iteration: u32,
    tree: String,
    passing: u64,
    failing: u64,
    commit: Option<String>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Exported {
    tree: String,
    iteration: u32,
    branch: Option<String>,
    commit: Option<String>,
    patch: Option<String>,
}

pub(crate) fn run(args: Args, scene: &Scene) -> Result<Outcome, Failure> {
    match args.action {
        None => list(&args.which),
        Some(Action::Export(wanted)) => export(&wanted, scene),
    }
}

fn answer(place: &Place, record: &Record) -> Answer {
    let mut answer = Answer::new("ratchet", "ok");
    answer.run_id = Some(place.run.id().to_string());
    answer.iteration = record.fold.state.as_ref().map(|state| state.facts.iteration);
    answer
}

fn list(which: &Which) -> Result<Outcome, Failure> {
    let place = which.find()?;
    let record = Record::read(place.run.clone())?;
    let accepted = &record.fold.accepted;
    let rows: Vec<Vec<String>> = accepted
        .iter()
        .map(|step| {
            vec![
                if step.iteration == 0 {
                    "t0".to_owned()
                } else {
                    step.iteration.to_string()
                },
                step.tree.short(),
                step.passing.to_string(),
                step.failing.to_string(),
                step.commit.as_deref().unwrap_or("-").chars().take(12).collect(),
            ]
        })
        .collect();
    let text = if rows.is_empty() {
        format!("run {} has accepted nothing\n", place.run.id())
    } else {
        format!(
            "{}next: loopexec ratchet export {}{} --branch NAME\n",
            table::columns(&["iter", "tree", "passing", "failing", "commit"], &rows),
            place.run.id(),
            workdir_flag(&place.workdir)
        )
    };
    let shown: Vec<Shown> = accepted
        .iter()
        .map(|step| Shown {
            iteration: step.iteration,
            tree: step.tree.hex(),
            passing: step.passing,
            failing: step.failing,
            commit: step.commit.clone(),
        })
        .collect();
    Ok(Outcome::new(
        answer(&place, &record).with(&Objects::Listed { accepted: shown }),
        text,
    ))
}

fn export(wanted: &ExportArgs, scene: &Scene) -> Result<Outcome, Failure> {
    let place = wanted.which.find()?;
    // The store is shared with a run at work.
    let _held = lock::acquire(&place.state, place.run.id())?;
    let record = Record::read(place.run.clone())?;
    let accepted = &record.fold.accepted;
    let step = chosen(accepted, wanted, &place)?;
    let began = record
        .fold
        .state
        .as_ref()
        .and_then(|state| state.facts.t0)
        .unwrap_or(step.tree);
    let tree = Tree::open(&place.workdir, place.state.path(), Options::default())?;
    let mut exported = Exported {
        tree: step.tree.hex(),
        iteration: step.iteration,
        branch: None,
        commit: None,
        patch: None,
    };
    let text = if let Some(branch) = &wanted.branch {
        // On top of what the run began with, so that the branch shows the work of the run and nothing else.
        let parent = accepted.first().and_then(|first| first.commit.as_deref());
        let message = message(&place, step);
        let commit = tree.export_commit(&Export {
            tree: TreeId(step.tree.0),
            branch,
            message: &message,
            parent,
            author: (
                &author(scene, "NAME", "loopexec"),
                &author(scene, "EMAIL", "loopexec@localhost"),
            ),
        })?;
        let text = format!(
            "branch {} is commit {commit}: iteration {}\n",
            safe(branch),
            step.iteration
        );
        exported.branch = Some(branch.clone());
        exported.commit = Some(commit);
        text
    } else {
        let patch = tree.export_patch(TreeId(began.0), TreeId(step.tree.0))?;
        let path = wanted.patch.clone().unwrap_or_else(|| "-".into());
        exported.patch = Some(path.to_string_lossy().into_owned());
        if path.as_os_str() == "-" {
            if !scene.json {
                crate::render::out_bytes(&patch);
            }
            String::new()
        } else {
            fs::write(&path, &patch).map_err(|error| Failure::io("write the patch", &path, &error))?;
            format!(
                "wrote {} ({} bytes): `git apply` takes it\n",
                path.display(),
                patch.len()
            )
        }
    };
    Ok(Outcome::new(
        answer(&place, &record).with(&Objects::Exported { exported }),
        text,
    ))
}

/// The step of the accepted line that is meant.
fn chosen<'a>(accepted: &'a [AcceptedTree], wanted: &ExportArgs, place: &Place) -> Result<&'a AcceptedTree, Failure> {
    let all = || format!("`loopexec ratchet {}` lists them", place.run.id());
    if let Some(iteration) = wanted.iteration {
        let found = accepted.iter().rev().find(|step| step.iteration == iteration);
        return found.ok_or_else(|| {
            Failure::usage(format!(
                "--iteration: no tree was accepted in iteration {iteration}; {}",
                all()
            ))
        });
    }
    let Some(prefix) = &wanted.tree else {
        let last = accepted.last();
        return last.ok_or_else(|| Failure::workspace(format!("run {} has accepted nothing", place.run.id())));
    };
    let mut found = accepted
        .iter()
        .rev()
        .filter(|step| step.tree.hex().starts_with(prefix.as_str()));
    let first = found.next().ok_or_else(|| {
        Failure::usage(format!(
            "--tree: no accepted tree begins with {}; {}",
            safe(prefix),
            all()
        ))
    })?;
    match found.find(|other| other.tree != first.tree) {
        None => Ok(first),
        Some(_) => Err(Failure::usage(format!(
            "--tree: more than one accepted tree begins with {}; give more of it",
            safe(prefix)
        ))),
    }
}

fn message(place: &Place, step: &AcceptedTree) -> String {
    format!(
        "Accept iteration {} of loopexec run {}\n\n{} passing, {} failing.\nLoopexec-Run: {}\nLoopexec-Tree: {}\n",
        step.iteration,
        place.run.id(),
        step.passing,
        step.failing,
        place.run.id(),
        step.tree
    )
}

/// As git itself would be told.
fn author(scene: &Scene, part: &str, default: &str) -> String {
    let said = scene
        .variable(&format!("GIT_AUTHOR_{part}"))
        .map(|value| value.to_string_lossy().into_owned());
    said.filter(|value| !value.is_empty())
        .unwrap_or_else(|| default.to_owned())
}
