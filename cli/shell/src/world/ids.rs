//! Identity lists printed by the operator's own commands: one a line, or `{"ids": [...]}`.

use serde::Deserialize;

use crate::process::{CommandRun, Outcome};

use super::output;
use crate::oracle::collect::BOUNDS;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    ids: Vec<String>,
}

/// The sorted, unique identities, or why the answer is unusable.
pub(super) fn read(run: &CommandRun) -> Result<Vec<String>, String> {
    if run.outcome != Outcome::Exited(0) || run.stop.is_some() {
        return Err(format!("the command {}", run.outcome));
    }
    if !run.stderr.end().iter().all(u8::is_ascii_whitespace) {
        let text = String::from_utf8_lossy(run.stderr.end());
        return Err(format!(
            "it wrote to standard error: {}",
            text.trim().chars().take(160).collect::<String>()
        ));
    }
    let stream = output::read(&run.stdout);
    if !stream.whole {
        return Err("its output is too long".into());
    }
    parse(&stream.bytes)
}

fn parse(bytes: &[u8]) -> Result<Vec<String>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "its output is not UTF-8".to_string())?;
    let trimmed = text.trim();
    let mut ids: Vec<String> = if trimmed.starts_with(['{', '[']) {
        let list: List = serde_json::from_str(trimmed).map_err(|error| format!("its output is not a list: {error}"))?;
        if list.ids.iter().any(|id| id.trim().is_empty() || id.contains('\n')) {
            return Err("an identity is blank or has more than one line".into());
        }
        list.ids
    } else {
        trimmed
            .lines()
            .map(|line| line.trim().to_string())
            .filter(|line| !line.is_empty())
            .collect()
    };
    ids.sort_unstable();
    ids.dedup();
    match BOUNDS.exceeded(ids.iter().map(String::as_str)) {
        None => Ok(ids),
        Some(why) => Err(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_lists_give_the_same_set_and_carriage_returns_vanish() {
        let expected = Ok(vec!["A".to_string(), "B".to_string()]);
        assert_eq!(parse(b"B\r\nA\r\nB\r\n"), expected);
        assert_eq!(parse(b"{\"ids\":[\"B\",\"A\"]}"), expected);
        assert_eq!(parse(b""), Ok(vec![]));
        assert_eq!(parse(b"{\"ids\":[]}"), Ok(vec![]));
    }

    #[test]
    fn a_malformed_list_is_refused() {
        for bytes in [
            &b"{invalid"[..],
            b"{\"ids\":null}",
            b"{\"ids\":[],\"x\":1}",
            b"[\"a\"]",
            b"{\"ids\":[\" \"]}",
            b"\xff",
            "x".repeat(BOUNDS.id_bytes + 1).as_bytes(),
        ] {
            assert!(parse(bytes).is_err(), "{bytes:?}");
        }
    }
}
