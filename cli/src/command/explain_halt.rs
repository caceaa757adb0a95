//! `explain-halt`: what a halt means, for a run, a reason or an exit code.

use engine::event::halt::HaltReason;
use serde::Serialize;
use shell::record::Record;

use super::life;
use crate::app::Scene;
use crate::failure::Failure;
use crate::outcome::{Answer, Outcome};
use crate::render::{one_line, safe};
use crate::which::{Which, Workdir};

/// Say what the last halt means and what to do next; or what a reason or an exit code means
///
/// With a run, or with nothing: the verdict, the reason and the next step, from that run's journal. With a reason such
/// as no_progress_detected or an exit code such as 17: the table, with no run needed.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Args {
    /// A run, a halt reason or an exit code
    #[arg(value_name = "RUN|REASON|CODE")]
    about: Option<String>,
    /// A run, whatever its name looks like
    #[arg(long = "run-id", value_name = "RUN", conflicts_with = "about")]
    run_id: Option<String>,
    #[command(flatten)]
    at: Workdir,
}

/// The objects of this command.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Objects {
    /// For a reason or an exit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    reasons: Option<Vec<Row>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Row {
    reason: &'static str,
    exit: u8,
    class: &'static str,
    owner: &'static str,
    sentence: &'static str,
}

pub(crate) fn run(args: Args, scene: &Scene) -> Result<Outcome, Failure> {
    if let Some(about) = &args.about {
        if let Some(reason) = HaltReason::from_label(about) {
            return Ok(rows(&[reason]));
        }
        if let Ok(code) = about.parse::<u8>() {
            return code_rows(code);
        }
    }
    let which = Which {
        run: args.about,
        run_id: args.run_id,
        at: args.at,
    };
    of_run(&which, scene)
}

fn of_run(which: &Which, scene: &Scene) -> Result<Outcome, Failure> {
    let place = which.find()?;
    let record = Record::read(place.run.clone())?;
    let Some(state) = &record.fold.state else {
        return Err(Failure::workspace(format!(
            "no recorded run state for {}: it ended before its first event",
            place.run.id()
        )));
    };
    let status = if state.facts.halted.is_some() {
        "halted"
    } else if state.facts.suspended.is_some() {
        "interrupted"
    } else {
        "ok"
    };
    let mut answer = life::about("explain-halt", status, &place.run, state, &place.workdir);
    let (verdict, why, next) = match &answer.advice {
        Some(advice) => (advice.verdict, advice.why.clone(), advice.next.clone()),
        None => (
            "running",
            format!("The run is in {} and has not ended.", state.phase.name()),
            format!("loopexec status {}", place.run.id()),
        ),
    };
    let reason = answer
        .halt_reason
        .map_or_else(|| "no halt".to_owned(), |reason| reason.to_string());
    let text = format!(
        "run      {}\nreason   {reason}\nverdict  {}\n{}\nnext: {}\n",
        place.run.id(),
        scene.out.bold(verdict),
        one_line(&why),
        scene.out.bold(&safe(&next))
    );
    answer.verdict = Some(verdict.to_owned());
    answer.why = Some(why);
    Ok(Outcome::new(answer, text))
}

fn rows(reasons: &[HaltReason]) -> Outcome {
    let rows: Vec<Row> = reasons
        .iter()
        .map(|reason| {
            let row = reason.row();
            Row {
                reason: reason.label(),
                exit: row.exit_code,
                class: row.class,
                owner: row.owner,
                sentence: row.sentence,
            }
        })
        .collect();
    let mut text = String::new();
    if let Some(row) = rows.first() {
        text.push_str(&format!("exit {}, {}: {}\n", row.exit, row.class, class(row.exit)));
    }
    for row in &rows {
        let owner = if row.owner == "human" {
            "  (a person has to act)"
        } else {
            ""
        };
        text.push_str(&format!("  {:<28} {}{owner}\n", row.reason, row.sentence));
    }
    let mut answer = Answer::new("explain-halt", "ok");
    answer.why = rows.first().map(|row| class(row.exit).to_owned());
    Outcome::new(answer.with(&Objects { reasons: Some(rows) }), text)
}

fn code_rows(code: u8) -> Result<Outcome, Failure> {
    let reasons: Vec<HaltReason> = HaltReason::ALL
        .iter()
        .copied()
        .filter(|reason| reason.exit_code() == code)
        .collect();
    if !reasons.is_empty() {
        return Ok(rows(&reasons));
    }
    let meaning = match code {
        0 => "the command did what it was asked; a run only with --success-exit 0".to_owned(),
        2 => "the command line is wrong and nothing was started".to_owned(),
        129..=192 => format!(
            "the run was interrupted by signal {}; `loopexec resume` goes on",
            code - 128
        ),
        _ => {
            return Err(Failure::usage(format!(
                "loopexec never exits with {code}; `loopexec --help` has the table of its codes"
            )));
        }
    };
    let mut answer = Answer::new("explain-halt", "ok");
    answer.why = Some(meaning.clone());
    Ok(Outcome::new(answer, format!("exit {code}: {meaning}\n")))
}

/// What to make of a class of exit codes, for scripts and people who meet only the number.
const fn class(code: u8) -> &'static str {
    match code {
        10 => "done; verify it anywhere with `loopexec replay`",
        11 => "do not retry; a person has to act, then resume",
        12 => "retry with a higher limit only if it was still improving, which the sentence of the halt says",
        13 => "do not retry; somebody has to look at what was changed, or at what could not be verified",
        14 => "mend the check first: its verdict cannot be trusted as it is",
        15 => "mend the check first: it would not notice whether the work is done",
        16 => "wait for the person who was asked, then resume",
        17 => "do not retry as it is: more of the same will not converge",
        18 => "raise the budget and resume if the work was still improving",
        19 => "look at what stopped or changed around the work, then resume",
        20 => "mend what the sentence names; a stated bound or invariant does not hold",
        30 => "mend the workspace or the configuration, then start again",
        40 => "nothing is said about the work: mend the command or its surroundings, then resume",
        _ => "loopexec itself failed; what was recorded is safe",
    }
}
