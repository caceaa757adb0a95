//! A receipt of another origin: of another machine, another version, another tool (SPEC 12.8.3).
//!
//! ```text
//!   file --line by line--> one JSON object that names an event of the run --> rows, a halt
//!                     `--> anything else: left out, and a warning
//! ```
//!
//! What it says is told and never believed: no journal stands behind it. So nothing here is judged, and no line, however
//! it was made, costs more than its own length.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde_json::{Map, Value};

use crate::foreign;

/// A line that is longer is left out.
const LINE_MAX_BYTES: usize = 4 << 20;
/// Warnings that are told; the rest is counted.
const WARNINGS_NAMED: usize = 16;
/// Iterations that are told; events of the rest are counted.
const ROWS_MAX: usize = 10_000;
/// Of a name that a line gives.
const NAME_MAX_CHARS: usize = 200;

/// What a receipt says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForeignReceipt {
    /// The run that it speaks of, as far as a line names one.
    pub run_id: Option<String>,
    pub lines: u64,
    /// Lines that stand.
    pub events: u64,
    /// By iteration.
    pub rows: BTreeMap<u64, ForeignRow>,
    /// The reason of its last halt.
    pub halt: Option<String>,
    pub warnings: Vec<String>,
    /// Warnings that are not among these.
    pub warnings_more: u64,
}

/// What it says of one iteration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForeignRow {
    pub events: u64,
    pub exec_exit: Option<i64>,
    pub check_exit: Option<i64>,
    pub failing: Option<u64>,
    /// `kept` or `undone`; nothing where no line says so.
    pub fate: Option<&'static str>,
}

/// Reads the receipt at `path`, of this run where one is named and of the run that it names first otherwise.
///
/// # Errors
/// The file is no regular file, or cannot be read to its end.
pub fn foreign_receipt(path: &Path, run_id: Option<&str>) -> io::Result<ForeignReceipt> {
    let mut lines = BufReader::new(foreign::open(path)?);
    let mut told = ForeignReceipt {
        run_id: run_id.map(str::to_owned),
        ..ForeignReceipt::default()
    };
    let mut line = Vec::new();
    // A line that names no run is about the one that was named last.
    let mut of_another = false;
    while let Some(whole) = next_line(&mut lines, &mut line)? {
        told.lines += 1;
        if let Err(why) = told.take(whole.then_some(&line), &mut of_another) {
            told.warn(why);
        }
    }
    Ok(told)
}

/// Reads a line without its end. False when it is too long and `line` holds none of it; none at the end of the file.
fn next_line(lines: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<bool>> {
    line.clear();
    let (mut whole, mut any) = (true, false);
    loop {
        let seen = match lines.fill_buf() {
            Ok(seen) => seen,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if seen.is_empty() {
            return Ok(any.then_some(whole));
        }
        any = true;
        let end = seen.iter().position(|byte| *byte == b'\n');
        let part = &seen[..end.unwrap_or(seen.len())];
        whole &= line.len() + part.len() <= LINE_MAX_BYTES;
        if whole {
            line.extend_from_slice(part);
        } else {
            line.clear();
        }
        let used = part.len() + usize::from(end.is_some());
        lines.consume(used);
        if end.is_some() {
            return Ok(Some(whole));
        }
    }
}

impl ForeignReceipt {
    fn warn(&mut self, why: String) {
        if self.warnings.len() < WARNINGS_NAMED {
            self.warnings.push(format!("line {}: {why}", self.lines));
        } else {
            self.warnings_more += 1;
        }
    }

    fn take(&mut self, line: Option<&Vec<u8>>, of_another: &mut bool) -> Result<(), String> {
        let line = line.ok_or_else(|| format!("it is longer than {LINE_MAX_BYTES} bytes and left out"))?;
        let Ok(Value::Object(line)) = serde_json::from_slice(line) else {
            return Err("it is not one JSON object and left out".to_owned());
        };
        // An event of ours stands in its record; others write it flat.
        let event = match line.get("event") {
            Some(Value::Object(event)) => event,
            _ => &line,
        };
        let name = event.get("event").and_then(Value::as_str);
        let name = name.ok_or("it names no event and is left out")?;
        if let Some(run) = [event, &line].iter().find_map(|map| map.get("run_id")?.as_str()) {
            let run = shortened(run);
            *of_another = *self.run_id.get_or_insert_with(|| run.clone()) != run;
        }
        if *of_another {
            return Err("it is about another run and left out".to_owned());
        }
        self.events += 1;
        self.follow(name, event)
    }

    fn follow(&mut self, name: &str, event: &Map<String, Value>) -> Result<(), String> {
        match name {
            "halted" => self.halt = text(event, "reason"),
            "halt" => self.halt = text(event, "detail"),
            _ => {}
        }
        let Some(iteration) = event.get("iteration").and_then(Value::as_u64) else {
            return Ok(());
        };
        if self.rows.len() >= ROWS_MAX && !self.rows.contains_key(&iteration) {
            return Err(format!(
                "iteration {iteration} is not among the {ROWS_MAX} that are told"
            ));
        }
        let row = self.rows.entry(iteration).or_default();
        row.events += 1;
        match name {
            "exec" | "execute_ended" => row.exec_exit = exit(event),
            "check" => row.check_exit = exit(event),
            "check_ended" if is_verdict(event) => row.check_exit = exit(event),
            "progress_judged" => row.failing = event.get("failing").and_then(Value::as_u64),
            // There, the size of the failing set stands where an exit status stands.
            "progress" => row.failing = event.get("exit_code").and_then(Value::as_u64),
            "candidate_accepted" => row.fate = Some("kept"),
            "candidate_rejected" | "candidate_restored" => row.fate = Some("undone"),
            _ => {}
        }
        Ok(())
    }
}

/// The status of a command that ended by itself.
fn exit(event: &Map<String, Value>) -> Option<i64> {
    let Some(run) = event.get("run") else {
        return event.get("exit_code").and_then(Value::as_i64);
    };
    let by_itself = run["outcome"] == "exited" && run["stop"] == "none";
    run["code"].as_i64().filter(|_| by_itself)
}

/// A run that is no repetition of another one.
fn is_verdict(event: &Map<String, Value>) -> bool {
    let purpose = event.get("purpose").and_then(Value::as_str);
    matches!(purpose, Some("baseline" | "iteration"))
}

fn text(event: &Map<String, Value>, key: &str) -> Option<String> {
    event.get(key).and_then(Value::as_str).map(shortened)
}

fn shortened(name: &str) -> String {
    name.chars().take(NAME_MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(bytes: &[u8], run_id: Option<&str>) -> ForeignReceipt {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("receipt");
        std::fs::write(&path, bytes).unwrap();
        foreign_receipt(&path, run_id).unwrap()
    }

    #[test]
    fn a_line_of_4_mib_stands_and_one_byte_more_is_left_out_without_being_kept() {
        let line = |bytes: usize| {
            let frame = r#"{"event":"check","iteration":1,"exit_code":1,"x":""}"#.len();
            let fill = "x".repeat(bytes - frame);
            format!(r#"{{"event":"check","iteration":1,"exit_code":1,"x":"{fill}"}}"#)
        };
        let bytes = format!("{}\n{}\n{}", line(LINE_MAX_BYTES), line(LINE_MAX_BYTES + 1), line(100));
        let seen = told(bytes.as_bytes(), None);
        assert_eq!((seen.lines, seen.events), (3, 2));
        assert_eq!(seen.warnings, ["line 2: it is longer than 4194304 bytes and left out"]);
    }

    #[test]
    fn lines_follow_the_run_that_was_named_last() {
        let bytes = br#"{"event":"run_start","run_id":"a"}
{"event":{"event":"run_opened","run_id":"b"}}
{"event":{"event":"check_ended","iteration":1,"purpose":"iteration","run":{"outcome":"exited","stop":"none","code":0}}}
{"event":"check","run_id":"a","iteration":1,"exit_code":3}
"#;
        let first = told(bytes, None);
        assert_eq!((first.run_id.as_deref(), first.events), (Some("a"), 2));
        assert_eq!(first.rows[&1].check_exit, Some(3));
        let second = told(bytes, Some("b"));
        assert_eq!((second.events, second.rows[&1].check_exit), (2, Some(0)));
    }

    #[test]
    fn hostile_bytes_are_lines_like_any_other() {
        let deep = "[".repeat(100_000);
        let mut bytes = format!("{deep}\n{{\"event\":{{\"event\":{deep}\n").into_bytes();
        bytes.extend(b"\xff\xfe\n\0\0\0\n{\"event\":\"\xc3\x28\"}\n\n");
        bytes.extend(br#"{"event":7}"#);
        bytes.extend(b"\n{\"event\":\"check\",\"iteration\":-1,\"exit_code\":1e400}\n");
        bytes.extend(br#"{"event":"check","iteration":18446744073709551615,"exit_code":"1","run":[[]]}"#);
        let seen = told(&bytes, None);
        assert_eq!((seen.lines, seen.events), (9, 1), "{:?}", seen.warnings);
        assert_eq!(seen.rows[&u64::MAX].check_exit, None);
        // Any cut of any line ends the same way: with an answer.
        for cut in (0..bytes.len()).step_by(9_973) {
            assert!(told(&bytes[..cut], Some("r")).lines <= 9);
        }
    }

    #[test]
    fn what_is_told_has_bounds_whatever_is_read() {
        let line = |n: usize| format!("{{\"event\":\"check\",\"iteration\":{n},\"exit_code\":1}}\n");
        let bytes: String = (0..ROWS_MAX + 40).map(line).collect();
        let seen = told(bytes.as_bytes(), None);
        assert_eq!((seen.rows.len(), seen.events), (ROWS_MAX, ROWS_MAX as u64 + 40));
        assert_eq!((seen.warnings.len(), seen.warnings_more), (WARNINGS_NAMED, 24));
    }
}
