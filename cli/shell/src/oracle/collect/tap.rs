//! TAP 13 and 14, with nested subtests.
//!
//! A subtest is a document indented by four columns; the test point that closes it comes after it at
//! the outer level and names it. A plan that does not match, and `Bail out!`, are contradictions.
//! A new document begins with another plan, or with a first point behind as many as were planned.

use super::{Artefact, BOUNDS, CollectError, Collector, inject_nothing};
use crate::oracle::{Measured, Member, Status, plain};

pub(super) static COLLECTOR: Collector = Collector {
    name: "tap",
    doc: "TAP 13 and 14 on stdout, or in the report file the user names; nested subtests by their path",
    detect: |detection| {
        detection.find(|run| {
            matches!(run.program(), "bats" if run.has("--tap") || run.has("-t") || run.has("tap"))
                || run.program() == "tape"
                || run.program() == "prove" && (run.has("-v") || run.has("--verbose"))
        })
    },
    inject: inject_nothing,
    collect,
};

/// One test point.
pub(super) struct Point {
    /// Names from the outermost subtest to the point itself.
    pub(super) path: Vec<String>,
    pub(super) status: Status,
    pub(super) reason: String,
    pub(super) yaml: String,
    pub(super) has_children: bool,
    number: Option<u64>,
}

/// Everything read from one output, which may hold several documents in a row.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) points: Vec<Point>,
    /// Comments of the outermost level, without `# `.
    pub(super) comments: Vec<String>,
    pub(super) versions: usize,
    /// Sum of the plans; `None` when a document has none.
    pub(super) planned: Option<u64>,
    pub(super) bail: Option<String>,
    pub(super) contradictions: Vec<String>,
    /// Something was indented deeper than what is read.
    pub(super) too_deep: bool,
}

fn collect(artefact: &Artefact<'_>) -> Result<Measured, CollectError> {
    let text = plain::text(artefact.report.unwrap_or(artefact.stdout));
    let reading = read(&text);
    if reading.too_deep {
        return Err(BOUNDS.too_deep("tap"));
    }
    if reading.points.is_empty() && reading.planned.is_none() && reading.bail.is_none() {
        return Err(CollectError::Absent {
            collector: "tap",
            what: "TAP output",
        });
    }
    let mut measured = measure("tap", reading);
    measured
        .members
        .iter_mut()
        .for_each(|member| member.id = artefact.relative(&member.id));
    Ok(measured.settled())
}

/// The measurement common to every reader of TAP; members are not settled yet.
pub(super) fn measure(collector: &'static str, reading: Reading) -> Measured {
    let mut measured = Measured::unfinished(collector);
    measured.announced = reading.planned;
    measured.concluded = Some(reading.points.len() as u64);
    measured.finished = reading.planned.is_some() && reading.bail.is_none();
    measured.contradictions = reading.contradictions;
    if let Some(reason) = reading.bail {
        measured.contradictions.push(format!("the run bailed out: {reason}"));
    }
    measured.members = reading
        .points
        .into_iter()
        .map(|point| {
            let words = if point.reason.is_empty() {
                &point.yaml
            } else {
                &point.reason
            };
            let message = if point.status == Status::Passed { "" } else { words };
            let mut member = Member::new(point.path.join(" > "), point.status).saying(message);
            member.suite = (point.path.len() > 1).then(|| point.path[..point.path.len() - 1].join(" > "));
            member.container = point.has_children;
            member
        })
        .collect();
    measured
}

/// The points of one level that have no parent yet: a range of `Reading::points`, and the plan.
struct Level {
    start: usize,
    own: u64,
    plan: Option<u64>,
}

impl Level {
    fn at(start: usize) -> Self {
        Self {
            start,
            own: 0,
            plan: None,
        }
    }

    fn is_complete(&self) -> bool {
        self.own > 0 && self.plan == Some(self.own)
    }
}

pub(super) fn read(text: &str) -> Reading {
    let mut reading = Reading {
        planned: Some(0),
        ..Reading::default()
    };
    let mut levels = vec![Level::at(0)];
    let mut yaml: Option<usize> = None;
    let mut by_prove = false;
    for line in text.lines() {
        let content = line.trim_start_matches(' ');
        let indent = line.len() - content.len();
        if let Some(column) = yaml {
            if indent == column && content.trim_end() == "..." {
                yaml = None;
            } else if let Some(point) = reading.points.last_mut()
                && point.yaml.len() < crate::oracle::MESSAGE_LIMIT_BYTES
            {
                point.yaml.push_str(line.get(column..).unwrap_or(content));
                point.yaml.push('\n');
            }
            continue;
        }
        if content.trim_end() == "---" && indent % 4 == 2 && !reading.points.is_empty() {
            yaml = Some(indent);
            continue;
        }
        let depth = indent / 4;
        if indent % 4 != 0 {
            continue;
        }
        if depth >= BOUNDS.depth {
            reading.too_deep |= matches!(sort(content), Line::Plan(_) | Line::Point(_));
            continue;
        }
        if depth == 0 && is_script_of_prove(line) {
            by_prove = true;
        }
        match sort(content) {
            // prove says so of each script that it ran.
            Line::Point(_) if by_prove && line.trim_end() == "ok" && levels[0].is_complete() => {
                close_document(&mut reading, &mut levels);
            }
            Line::Version if depth == 0 => {
                if reading.versions > 0 || !reading.points.is_empty() {
                    close_document(&mut reading, &mut levels);
                }
                reading.versions += 1;
            }
            Line::Plan(count) => {
                open_to(&mut levels, depth, reading.points.len());
                // Scripts that run one after the other have a plan each.
                if depth == 0 && levels[0].plan.is_some() {
                    next_document(&mut reading, &mut levels);
                }
                match levels[depth].plan {
                    None => levels[depth].plan = Some(count),
                    Some(_) => reading.contradictions.push(format!("a second plan, 1..{count}")),
                }
            }
            Line::Point(mut point) => {
                if depth == 0 && point.number == Some(1) && levels[0].is_complete() {
                    next_document(&mut reading, &mut levels);
                }
                if depth + 1 < levels.len() {
                    adopt(&mut reading, &mut levels, depth, &mut point);
                }
                open_to(&mut levels, depth, reading.points.len());
                levels[depth].own += 1;
                if point.path[0].is_empty() {
                    point.path[0] = format!("test {}", point.number.unwrap_or(levels[depth].own));
                }
                reading.points.push(point);
            }
            Line::Bail(reason) => {
                reading.bail.get_or_insert(reason);
            }
            Line::Comment(text) if depth == 0 => reading.comments.push(text),
            Line::Version | Line::Comment(_) | Line::Other => {}
        }
    }
    if yaml.is_some() {
        reading
            .contradictions
            .push("a diagnostic block is not closed".to_string());
    }
    if reading.points.is_empty() && reading.versions == 0 && levels[0].plan.is_none() {
        reading.planned = None;
        return reading;
    }
    let last = &levels[0];
    let over = by_prove && levels.len() == 1 && last.own == 0 && last.plan.is_none() && !reading.points.is_empty();
    if !over {
        close_document(&mut reading, &mut levels);
    }
    reading
}

/// `t/a.t ..`, with which prove begins the output of a script.
fn is_script_of_prove(line: &str) -> bool {
    let (script, dots) = line.trim_end().rsplit_once(' ').unwrap_or_default();
    !script.is_empty() && dots.len() > 1 && dots.bytes().all(|byte| byte == b'.')
}

fn open_to(levels: &mut Vec<Level>, depth: usize, start: usize) {
    while levels.len() <= depth {
        levels.push(Level::at(start));
    }
}

/// Makes every deeper open point a child of `point`.
fn adopt(reading: &mut Reading, levels: &mut Vec<Level>, depth: usize, point: &mut Point) {
    let start = levels[depth + 1].start;
    while levels.len() > depth + 1 {
        if let Some(level) = levels.pop() {
            settle_plan(reading, &level, false);
        }
    }
    let name = point.path[0].clone();
    point.has_children = reading.points.len() > start;
    for child in &mut reading.points[start..] {
        child.path.insert(0, name.clone());
    }
}

fn close_document(reading: &mut Reading, levels: &mut Vec<Level>) {
    while levels.len() > 1 {
        if let Some(level) = levels.pop() {
            settle_plan(reading, &level, false);
            reading
                .contradictions
                .push("a subtest was never closed by its test point".to_string());
        }
    }
    if let Some(level) = levels.pop() {
        settle_plan(reading, &level, true);
    }
    levels.push(Level::at(reading.points.len()));
}

/// A document is over that has all its points: what is open below belongs to the first point of the next one.
fn next_document(reading: &mut Reading, levels: &mut Vec<Level>) {
    match levels.get(1).map(|below| below.start) {
        Some(start) if levels[0].is_complete() => {
            let over = std::mem::replace(&mut levels[0], Level::at(start));
            settle_plan(reading, &over, true);
        }
        _ => close_document(reading, levels),
    }
}

fn settle_plan(reading: &mut Reading, level: &Level, outermost: bool) {
    match level.plan {
        Some(plan) => {
            reading.planned = reading.planned.map(|sum| sum.saturating_add(plan));
            if plan != level.own {
                reading
                    .contradictions
                    .push(format!("{plan} tests were planned and {} ran", level.own));
            }
        }
        None if outermost => reading.planned = None,
        None => reading.planned = reading.planned.map(|sum| sum.saturating_add(level.own)),
    }
}

enum Line {
    Version,
    Plan(u64),
    Point(Point),
    Bail(String),
    Comment(String),
    Other,
}

fn sort(line: &str) -> Line {
    let line = line.trim_end();
    if let Some(rest) = line.strip_prefix("not ok") {
        return point(rest, false);
    }
    if let Some(rest) = line.strip_prefix("ok") {
        return point(rest, true);
    }
    if let Some(text) = line.strip_prefix('#') {
        return Line::Comment(text.trim().to_string());
    }
    if let Some(reason) = line.strip_prefix("Bail out!") {
        return Line::Bail(reason.trim().to_string());
    }
    if line == "TAP version 13" || line == "TAP version 14" {
        return Line::Version;
    }
    let plan = line
        .strip_prefix("1..")
        .and_then(|rest| rest.split([' ', '#']).next())
        .and_then(|n| n.parse().ok());
    plan.map_or(Line::Other, Line::Plan)
}

fn point(rest: &str, ok: bool) -> Line {
    if !(rest.is_empty() || rest.starts_with(' ')) {
        return Line::Other;
    }
    let rest = rest.trim_start();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = match rest[..digits].parse().ok() {
        Some(number) if rest[digits..].is_empty() || rest[digits..].starts_with(' ') => (Some(number), &rest[digits..]),
        _ => (None, rest),
    };
    let rest = rest.trim_start();
    let rest = rest.strip_prefix("- ").unwrap_or(if rest == "-" { "" } else { rest });
    let (name, directive) = split_directive(rest);
    let plain_status = if ok { Status::Passed } else { Status::Failed };
    let (status, reason) = match directive.map(|text| (text.get(..4).unwrap_or("").to_ascii_uppercase(), text)) {
        // A failing point stays failing, whatever it calls itself: SKIP excuses no failure.
        Some((word, text)) if word == "SKIP" && ok => (Status::Skipped, after_word(text)),
        Some((word, text)) if word == "TODO" => (Status::Todo, after_word(text)),
        _ => (plain_status, ""),
    };
    Line::Point(Point {
        path: vec![unescape(name)],
        status,
        reason: reason.to_string(),
        yaml: String::new(),
        has_children: false,
        number,
    })
}

fn after_word(text: &str) -> &str {
    text.split_once(' ').map_or("", |(_, rest)| rest.trim())
}

/// Splits at the last unescaped `#` that begins a directive.
fn split_directive(text: &str) -> (&str, Option<&str>) {
    for (at, _) in text.rmatch_indices('#') {
        let escapes = text[..at].bytes().rev().take_while(|byte| *byte == b'\\').count();
        let after = text[at + 1..].trim_start();
        let word = after.get(..4).unwrap_or("");
        if escapes % 2 == 0 && (word.eq_ignore_ascii_case("skip") || word.eq_ignore_ascii_case("todo")) {
            return (text[..at].trim_end(), Some(after));
        }
    }
    (text, None)
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some(&next @ ('#' | '\\'))) => {
                out.push(next);
                chars.next();
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
