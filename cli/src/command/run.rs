//! `run`: the loop itself.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::Serialize;
use shell::config::{self, Inputs, Resolved};
use shell::probe::kept;
use shell::session::{self, Start};
use shell::{paths, record};

use super::life::{self, Showing, Watcher};
use super::resume;
use crate::app::Scene;
use crate::contract::{self, ContractFlags};
use crate::failure::Failure;
use crate::outcome::{Answer, Outcome};
use crate::render;
use crate::which::Workdir;

/// Work and check in turn until a computed reason halts
///
/// The check decides and runs once an iteration; a work command without a check has nothing to converge on. Settings
/// come from flags, then LOOPEXEC_* variables, then loopexec.toml, then defaults; --dry-run shows each with its source.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) at: Workdir,
    /// Name of the run; a fresh, sortable one when left out
    #[arg(long, value_name = "RUN")]
    pub(crate) run_id: Option<String>,
    /// One iteration, whatever else is said about their number
    #[arg(long)]
    pub(crate) once: bool,
    /// Go on with the latest run (or the one of --run-id) instead of starting one
    #[arg(long, conflicts_with_all = ["once", "dry_run"])]
    pub(crate) resume: bool,
    /// What `probe-check --json` printed about this check: its runs are the first samples of the check's flakiness
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub(crate) probe: Option<PathBuf>,
    /// Show the contract with the source of each value, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) showing: Showing,
    #[command(flatten)]
    pub(crate) contract: ContractFlags,
    /// The work command as words, run without a shell
    #[arg(last = true, value_name = "WORDS")]
    pub(crate) words: Vec<OsString>,
}

/// The objects of this command.
#[derive(Serialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) enum Objects {
    /// Of a dry run.
    Planned { contract: Vec<Row> },
    #[expect(
        dead_code,
        reason = "resume and step print them too: they come from the room that the three share"
    )]
    Ended(life::Objects),
}

/// One setting of the effective contract.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    group: &'static str,
    key: &'static str,
    value: String,
    /// `default`, or the flag, variable, file or setting that the value came from.
    source: String,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  loopexec run --check 'make test' -- my-agent --task TASK.md
  loopexec run --check 'pytest -q' --exec ./fix.sh --max-iterations 20 --timeout 2h
  loopexec run --dry-run                             every setting, its value and where it came from
  loopexec run --json --success-exit 0               for schedulers: one object, 0 when converged";

pub(crate) const AFTER_LONG_HELP: &str = "\
Examples:
  loopexec run --check 'make test' -- my-agent --task TASK.md
  loopexec run --check 'pytest -q' --exec ./fix.sh --max-iterations 20 --timeout 2h
  loopexec run --dry-run                             every setting, its value and where it came from
  loopexec run --json --success-exit 0               for schedulers: one object, 0 when converged

The exit code is the class of the halt (`loopexec --help` has the table): 10 is converged, and
`--success-exit 0` makes that one 0. A run that was interrupted by signal N exits 128+N and can be
continued with `loopexec resume`.";

pub(crate) fn run(args: Args, scene: &Scene) -> Result<Outcome, Failure> {
    run_as("run", args, scene)
}

/// As the command of this name.
pub(crate) fn run_as(command: &'static str, args: Args, scene: &Scene) -> Result<Outcome, Failure> {
    let success_exit = args.showing.success_exit(scene)?;
    let workdir = paths::workdir(&args.at.workdir)?;
    let mut flags = args.contract.0;
    flags.exec_words = args.words;
    if args.resume {
        if !flags.exec_words.is_empty() {
            return Err(Failure::usage(
                "--: the work command of a run is pinned; start a new run for another one",
            ));
        }
        let amendment = contract::amendment(&flags)?;
        let place = record::find(&workdir, args.run_id.as_deref())?;
        return resume::continued(command, &place, amendment, None, &args.showing, success_exit, scene);
    }
    flags.once = args.once;
    let names = contract::known();
    let contract = config::resolve(&Inputs {
        workdir: &workdir,
        flags: &flags,
        env: &scene.env,
        known: contract::as_known(&names),
    })?;
    if args.dry_run {
        return Ok(dry_run(command, &contract));
    }
    let mut watcher = Watcher::new(scene, &args.showing);
    let probe = args.probe.map(|path| kept::read(&path, &contract.policy)).transpose()?;
    let start = Start {
        workdir: workdir.clone(),
        contract,
        probe,
        run_id: args.run_id,
        env: scene.env.clone(),
        exe: scene.exe()?,
    };
    let finished = session::start(start, &mut watcher);
    // The line that moves is gone before anything else is written.
    drop(watcher);
    Ok(life::finished(command, scene, &finished?, &workdir, success_exit))
}

fn dry_run(command: &str, contract: &Resolved) -> Outcome {
    let rows: Vec<Row> = config::dry_run(contract)
        .into_iter()
        .map(|row| Row {
            group: row.group,
            key: row.key,
            value: row.value,
            source: row.source,
        })
        .collect();
    let mut text = String::new();
    let width = rows.iter().map(|row| row.key.len()).max().unwrap_or(0);
    let mut group = "";
    for row in &rows {
        if row.group != group {
            group = row.group;
            text.push_str(&format!("{}{group}\n", if text.is_empty() { "" } else { "\n" }));
        }
        let value = render::safe(&row.value).replace('\n', "\\n");
        let value = if value.is_empty() { "-".to_owned() } else { value };
        let source = match row.source.as_str() {
            "default" => String::new(),
            source => format!("   # {}", render::safe(source)),
        };
        text.push_str(&format!("  {:<width$}  {value}{source}\n", row.key));
    }
    Outcome::new(
        Answer::new(command, "planned").with(&Objects::Planned { contract: rows }),
        text,
    )
}
