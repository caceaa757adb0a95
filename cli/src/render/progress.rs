//! What people see while a run is at work: one line an iteration, and on a terminal one line that moves.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use engine::Effect;
use engine::event::iteration::CheckPurpose;
use engine::report::{Fate, Report, Row};
use shell::clock;

use super::{Style, err, milliseconds, money, safe};

const FRAME: Duration = Duration::from_millis(120);
const ROUND: [char; 4] = ['|', '/', '-', '\\'];
/// Braille dots that go round.
const ROUND_UTF8: [char; 8] = [
    '\u{280b}', '\u{2819}', '\u{2839}', '\u{2838}', '\u{283c}', '\u{2834}', '\u{2826}', '\u{2827}',
];
/// Member names that a line of an iteration has room for.
const NAMED_MAX: usize = 3;

/// `iter 3 red 4 failing (-2) kept 38s`, from the row of an iteration and the row before it.
pub(crate) fn iteration_line(report: &Report, iteration: u32, success_exit: i32) -> Option<String> {
    let at = report.rows.iter().rposition(|row| row.iteration == iteration)?;
    let row = report.rows.get(at)?;
    let before = at.checked_sub(1).and_then(|before| report.rows.get(before));
    let name = match iteration {
        0 => "t0".to_owned(),
        n => format!("iter {n}"),
    };
    let mut words = vec![name, verdict(row, success_exit)];
    if !row.collector.is_empty() && row.members > 0 {
        let change = before
            .filter(|before| !before.collector.is_empty())
            .map(|before| change(before, row));
        words.push(format!("{} failing{}", row.failing, change.unwrap_or_default()));
    }
    words.push(fate(row));
    if row.no_op {
        words.push("(the tree did not change)".to_owned());
    }
    if row.spent.microusd > 0 {
        words.push(money(row.spent.microusd));
    }
    let spent = row.commands.iter().map(|command| command.duration_ms).sum();
    words.push(milliseconds(spent));
    words.retain(|word| !word.is_empty());
    Some(safe(&words.join(" ")).replace('\n', " "))
}

fn verdict(row: &Row, success_exit: i32) -> String {
    match row.check_exit() {
        Some(exit) if exit == success_exit => "green",
        Some(_) => "red",
        None => "no verdict",
    }
    .to_owned()
}

fn change(before: &Row, row: &Row) -> String {
    match i128::from(row.failing) - i128::from(before.failing) {
        0 => " (same)".to_owned(),
        change => format!(" ({change:+})"),
    }
}

fn fate(row: &Row) -> String {
    match &row.fate {
        Fate::Open => String::new(),
        Fate::Accepted { .. } if row.iteration == 0 => String::new(),
        Fate::Accepted { .. } => "kept".to_owned(),
        Fate::Rejected { cause, subjects } => {
            let named: Vec<&str> = subjects.iter().take(NAMED_MAX).map(String::as_str).collect();
            let more = subjects.len().saturating_sub(named.len());
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            format!("undone: {cause} {}{more}", named.join(", "))
        }
    }
}

/// What a long effect is called.
fn doing(effect: &Effect) -> Option<String> {
    let (iteration, what) = match effect {
        Effect::Execute { iteration, attempt, .. } => match attempt {
            0 | 1 => (iteration, "work".to_owned()),
            n => (iteration, format!("work, attempt {n}")),
        },
        Effect::Check { iteration, purpose, .. } => {
            let what = match purpose {
                CheckPurpose::Baseline | CheckPurpose::Iteration => "check",
                CheckPurpose::Recheck => "check once more, in doubt",
                CheckPurpose::Confirmation => "check once more, before green",
                CheckPurpose::Resume => "check once more, after the resume",
            };
            (iteration, what.to_owned())
        }
        Effect::Vet(request) => (&request.iteration, format!("guard {} in fresh copies", request.guard)),
        Effect::Restore { iteration, .. } => (iteration, "put the accepted tree back".to_owned()),
        Effect::Wait {
            iteration, delay_ms, ..
        } => (iteration, format!("wait {}", milliseconds(*delay_ms))),
        Effect::ObserveTree { .. } | Effect::BuildContext(_) => return None,
    };
    Some(match iteration {
        0 => format!("t0: {what}"),
        n => format!("iter {n}: {what}"),
    })
}

#[derive(Debug)]
struct Doing {
    what: String,
    since_ms: u64,
}

/// Writes progress on standard error.
#[derive(Debug)]
pub(crate) struct Progress {
    silent: bool,
    style: Style,
    doing: Arc<Mutex<Option<Doing>>>,
    over: Arc<AtomicBool>,
    painter: Option<JoinHandle<()>>,
}

impl Progress {
    /// Nothing moves where a line cannot be written over; nothing is said when `silent`.
    pub(crate) fn new(style: Style, silent: bool) -> Self {
        let doing = Arc::new(Mutex::new(None));
        let over = Arc::new(AtomicBool::new(false));
        let painter = (style.live && !silent).then(|| paint(style, Arc::clone(&doing), Arc::clone(&over)));
        Self {
            silent,
            style,
            doing,
            over,
            painter: painter.flatten(),
        }
    }

    /// Nothing is shown.
    pub(crate) const fn is_silent(&self) -> bool {
        self.silent
    }

    /// One line that stays.
    pub(crate) fn line(&self, line: &str) {
        if self.silent {
            return;
        }
        // Held while writing, so that the moving line does not come in between.
        let _held = self.doing.lock().unwrap_or_else(PoisonError::into_inner);
        let clear = if self.painter.is_some() { "\r\u{1b}[K" } else { "" };
        err(&format!("{clear}{line}\n"));
    }

    pub(crate) const fn style(&self) -> Style {
        self.style
    }

    /// A long effect begins.
    pub(crate) fn effect(&self, effect: &Effect) {
        let mut doing_now = self.doing.lock().unwrap_or_else(PoisonError::into_inner);
        *doing_now = doing(effect).map(|what| Doing {
            what,
            since_ms: clock::mono_ms(),
        });
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(painter) = self.painter.take() {
            painter.thread().unpark();
            let _panicked = painter.join();
        }
    }
}

/// The thread that keeps the line moving; none when the system has no thread to give.
fn paint(style: Style, doing: Arc<Mutex<Option<Doing>>>, over: Arc<AtomicBool>) -> Option<JoinHandle<()>> {
    let painter = move || {
        let mut turn = 0_usize;
        while !over.load(Ordering::Acquire) {
            {
                let doing = doing.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(doing) = doing.as_ref() {
                    frame(style, doing, turn);
                }
            }
            turn = turn.wrapping_add(1);
            std::thread::park_timeout(FRAME);
        }
        let mut stream = std::io::stderr().lock();
        let _gone = stream.write_all(b"\r\x1b[K").and_then(|()| stream.flush());
    };
    std::thread::Builder::new()
        .name("progress".to_owned())
        .spawn(painter)
        .ok()
}

/// Whole seconds: a line that moves ten times a second must not flicker.
fn seconds(ms: u64) -> String {
    match ms / 1_000 {
        0 => "0s".to_owned(),
        whole => milliseconds(whole * 1_000),
    }
}

fn frame(style: Style, doing: &Doing, turn: usize) {
    let sign = if style.utf8 {
        ROUND_UTF8[turn % ROUND_UTF8.len()]
    } else {
        ROUND[turn % ROUND.len()]
    };
    let spent = clock::mono_ms().saturating_sub(doing.since_ms);
    let line = format!("{sign} {} {}", doing.what, seconds(spent));
    // A line that wraps could not be written over.
    let line: String = line.chars().take(style.width.saturating_sub(1)).collect();
    err(&format!("\r\u{1b}[K{}", style.dim(&line)));
}

#[cfg(test)]
mod tests {
    use engine::event::iteration::RejectCause;
    use engine::event::measurement::StopCause;
    use engine::report::CommandRow;

    use super::*;

    fn row(iteration: u32, failing: u64, exit: i32, fate: Fate) -> Row {
        Row {
            iteration,
            tree: Default::default(),
            head: None,
            commands: vec![CommandRow {
                what: if iteration == 0 { "baseline" } else { "iteration" },
                attempt: 1,
                exit: Some(exit),
                stop: StopCause::None,
                duration_ms: 38_000,
                output_bytes: 0,
                survivors: 0,
                zone: None,
            }],
            interrupted: false,
            collector: "tap".to_owned(),
            members: 9,
            failing,
            best: failing,
            no_op: false,
            guards: std::rc::Rc::default(),
            findings: Vec::new(),
            fate,
            verdict: None,
            spent: engine::report::Spent::default(),
            grounds: engine::report::Grounds::default(),
            checkpointed: true,
        }
    }

    #[test]
    fn a_line_says_verdict_count_change_fate_and_time() {
        let mut report = Report::default();
        report.rows = vec![
            row(0, 6, 1, Fate::Accepted { changed: false }),
            row(1, 4, 1, Fate::Accepted { changed: true }),
            row(
                2,
                5,
                1,
                Fate::Rejected {
                    cause: RejectCause::Regressed,
                    subjects: vec!["t::a".into(), "t::\u{1b}b".into()],
                },
            ),
            row(3, 0, 0, Fate::Accepted { changed: true }),
        ];
        let line = |n| iteration_line(&report, n, 0).unwrap();
        assert_eq!(line(0), "t0 red 6 failing 38s");
        assert_eq!(line(1), "iter 1 red 4 failing (-2) kept 38s");
        assert_eq!(
            line(2),
            "iter 2 red 5 failing (+1) undone: regressed t::a, t::\\u{1b}b 38s"
        );
        assert_eq!(line(3), "iter 3 green 0 failing (-5) kept 38s");
        assert_eq!(iteration_line(&report, 9, 0), None);
    }
}
