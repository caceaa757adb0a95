//! `status`: the fold of a run, live or ended.

use std::time::Duration;

use engine::State;
use engine::event::Event;
use engine::words::counted;
use serde::Serialize;
use shell::clock::{self, Utc};
use shell::lock::Holder;
use shell::process::leftovers::{self, Leftover};
use shell::record::{self, Follow, Place, Record};

use super::life;
use crate::app::Scene;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::render::{self, Guards, one_line, safe};
use crate::which::{Which, workdir_flag};

/// Show where a run is: live, interrupted or ended
///
/// Reads the journal and nothing else, takes no lock and disturbs nobody.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// Show each iteration as it ends, until the run halts or its governor is gone
    #[arg(long, short)]
    follow: bool,
}

/// Between two looks at a journal that grows.
const LOOK: Duration = Duration::from_millis(200);

/// The object of this command.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Objects {
    state: Shown,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Shown {
    phase: &'static str,
    /// Somebody is at work on this run now.
    alive: bool,
    pid: Option<u32>,
    max_iterations: u32,
    failing: usize,
    best_failing: Option<u64>,
    best_iteration: Option<u32>,
    trend: Vec<u64>,
    elapsed_ms: u64,
    spent_microusd: u64,
    unread: u32,
    began_at: String,
    last_event_at: String,
    events: u64,
    head: String,
    guards: Guards,
    /// Processes of the run that outlived its governor. They are named, not ended.
    left_running: Vec<LeftRunning>,
    /// Why the journal could be read only so far.
    damage: Option<String>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LeftRunning {
    pid: u32,
    command: String,
}

pub(crate) fn run(args: Args, scene: &Scene) -> Result<Outcome, Failure> {
    let place = args.which.find()?;
    if args.follow {
        follow(&place, scene)?;
    }
    let record = Record::read(place.run.clone())?;
    let holder = record::governor(&place.state, &place.run)?;
    let damage = damage(&record);
    let Some(state) = &record.fold.state else {
        return Err(Failure::of(
            engine::event::halt::HaltReason::WorkspaceInvalid,
            "",
            format!(
                "no recorded run state for {}: {}",
                place.run.id(),
                damage.unwrap_or_else(|| "it ended before its first event".to_owned())
            ),
        ));
    };
    let (left, unknown) = left_running(&place, holder.as_ref());
    let status = label(state, holder.as_ref());
    let text = text(&place, &record, state, (holder.as_ref(), &left), scene);
    let shown = shown(&record, state, (holder.as_ref(), left), damage.clone());
    let answer = life::about("status", status, &place.run, state, &place.workdir).with(&Objects { state: shown });
    Ok(Outcome::new(answer, text).warning(damage).warning(unknown))
}

/// What is still up of a run whose governor is gone. While there is one, its processes are its own affair.
/// Otherwise also why it cannot be said.
fn left_running(place: &Place, holder: Option<&Holder>) -> (Vec<Leftover>, Option<String>) {
    if holder.is_some() {
        return (Vec::new(), None);
    }
    match leftovers::find(place.run.path()) {
        Ok(left) => (left, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    }
}

/// Why the reading or the fold stopped early.
pub(crate) fn damage(record: &Record) -> Option<String> {
    let illegal = record.fold.illegal.as_ref();
    let illegal = illegal.map(|(seq, illegal)| format!("event {seq} is not lawful: {illegal}; shown up to there"));
    record.damage.as_ref().map(ToString::to_string).or(illegal)
}

const fn label(state: &State, holder: Option<&Holder>) -> &'static str {
    match (&state.facts.halted, &state.facts.suspended, holder) {
        (_, _, Some(_)) => "alive",
        (Some(_), _, None) => "halted",
        (None, Some(_), None) => "interrupted",
        (None, None, None) => "stale",
    }
}

fn shown(
    record: &Record,
    state: &State,
    (holder, left): (Option<&Holder>, Vec<Leftover>),
    damage: Option<String>,
) -> Shown {
    let (facts, fold) = (&state.facts, &record.fold);
    Shown {
        phase: state.phase.name().label(),
        alive: holder.is_some(),
        pid: holder.map(|holder| holder.pid).filter(|pid| *pid > 0),
        max_iterations: facts.bounds.max_iterations,
        failing: facts.failing().len(),
        best_failing: facts.history.best.map(|best| best.failing),
        best_iteration: facts.history.best.map(|best| best.iteration),
        trend: fold.trend.clone(),
        elapsed_ms: facts.elapsed_ms,
        spent_microusd: facts.spend.microusd,
        unread: facts.people.unread,
        began_at: Utc::from_wall_ms(fold.began.wall_ms).rfc3339(),
        last_event_at: Utc::from_wall_ms(fold.last.wall_ms).rfc3339(),
        events: fold.events,
        head: record.head.hex(),
        guards: Guards::of(&fold.report),
        left_running: left
            .into_iter()
            .map(|Leftover { pid, command, .. }| LeftRunning { pid, command })
            .collect(),
        damage,
    }
}

fn text(
    place: &Place,
    record: &Record,
    state: &State,
    (holder, left): (Option<&Holder>, &[Leftover]),
    scene: &Scene,
) -> String {
    let (facts, fold) = (&state.facts, &record.fold);
    let mut out = String::new();
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            out.push_str(&format!("{name:<11} {}\n", one_line(&value)));
        }
    };
    line("run", place.run.id().to_string());
    line("state", sentence(state, holder));
    for process in left {
        line("still up", format!("process {}, {}", process.pid, process.command));
    }
    line(
        "iteration",
        format!("{} of at most {}", facts.iteration, facts.bounds.max_iterations),
    );
    line("failing", render::trend(&fold.trend, scene.out.utf8));
    if let Some(best) = facts.history.best {
        line(
            "best",
            format!("{} failing at iteration {}", best.failing, best.iteration),
        );
    }
    line("guards", Guards::of(&fold.report).line());
    line("time", render::milliseconds(facts.elapsed_ms));
    if facts.spend.calls > 0 {
        line("spent", render::money(facts.spend.microusd));
    }
    if facts.people.unread > 0 {
        line("unread", counted(facts.people.unread.into(), "accepted change"));
    }
    let ago = clock::wall_ms().saturating_sub(fold.last.wall_ms);
    let last = Utc::from_wall_ms(fold.last.wall_ms).rfc3339();
    line("last event", format!("{last}, {} ago", render::milliseconds(ago)));
    line("receipt", place.run.receipt().to_string_lossy().into_owned());
    let next = next(place, state, holder);
    out.push_str(&format!("next: {}\n", scene.out.bold(&safe(&next))));
    out
}

fn sentence(state: &State, holder: Option<&Holder>) -> String {
    let phase = state.phase.name();
    match (&state.facts.halted, &state.facts.suspended, holder) {
        (_, _, Some(holder)) => format!("at work: {phase} (process {})", holder.pid),
        (Some(halted), _, None) => format!("halted, {}: {}", halted.reason, halted.sentence),
        (None, Some(suspended), None) => match suspended.cause {
            engine::event::run::SuspendCause::Signal => format!("interrupted by signal {}", suspended.code),
            engine::event::run::SuspendCause::Storage => format!("stopped, storage failed: {}", suspended.detail),
        },
        (None, None, None) => format!("its governor is gone without an end, in {phase}"),
    }
}

fn next(place: &Place, state: &State, holder: Option<&Holder>) -> String {
    let (run, at) = (place.run.id(), workdir_flag(&place.workdir));
    match (&state.facts.halted, holder) {
        (_, Some(_)) => format!("loopexec status --follow {run}{at}"),
        (Some(halted), None) => crate::next::of_halt(&state.facts, halted, &place.workdir).next,
        (None, None) => format!("loopexec resume {run}{at}"),
    }
}

/// Shows iterations as they end. In JSON nothing is shown before the end.
fn follow(place: &Place, scene: &Scene) -> Result<(), Failure> {
    let mut follow = Follow::new(place.run.clone());
    let mut heard = true;
    loop {
        // Asked before the look: whatever a governor wrote before it left is then seen by the look.
        let alive = record::governor(&place.state, &place.run)?.is_some();
        let news = follow.look(|_, event, fold| {
            let success_exit = fold
                .state
                .as_ref()
                .map_or(0, |state| state.facts.policy().oracle.success_exit);
            if let Event::Checkpointed(done) = event
                && let Some(line) = render::iteration_line(&fold.report, done.iteration, success_exit)
                && !scene.json
            {
                heard = heard && render::out(&format!("{line}\n"));
            }
        })?;
        if !heard || (news == 0 && !alive) || (follow.is_over() && !alive) {
            return Ok(());
        }
        std::thread::sleep(LOOK);
    }
}
