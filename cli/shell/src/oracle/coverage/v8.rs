//! V8's own counts, which node writes where `NODE_V8_COVERAGE` says: how often each stretch of a source ran.
//!
//! Stretches lie in one another, the inner ones later. A line ran unless a stretch of count 0 holds all of it. What is
//! counted are UTF-16 units, so the source has to be at hand.

use serde_json::Value;

use super::{CoverageError, Draft};
use crate::hunks::{is_idle, lines};

pub(super) const NAME: &str = "v8";

/// Reads what one process wrote; `source` gives the content of a file of the tree.
pub(super) fn read(
    bytes: &[u8],
    source: &dyn Fn(&str) -> Option<Vec<u8>>,
    draft: &mut Draft<'_>,
) -> Result<(), CoverageError> {
    let report: Value = serde_json::from_slice(bytes).map_err(CoverageError::json)?;
    let scripts = report.get("result").and_then(Value::as_array);
    for script in scripts.ok_or_else(|| malformed("there is no list `result`"))? {
        let url = script.get("url").and_then(Value::as_str).unwrap_or_default();
        if !url.starts_with("file://") {
            continue;
        }
        let slot = draft.file(&[url]);
        let Some(text) = slot.as_deref().and_then(source) else {
            continue;
        };
        let places = places(&text);
        let mut ran = vec![true; places.len()];
        let functions = script.get("functions").and_then(Value::as_array).into_iter().flatten();
        for range in
            functions.flat_map(|function| function.get("ranges").and_then(Value::as_array).into_iter().flatten())
        {
            let number = |name: &str| range.get(name).and_then(Value::as_u64);
            let (Some(start), Some(end), Some(count)) = (number("startOffset"), number("endOffset"), number("count"))
            else {
                return Err(malformed("a range is none"));
            };
            let from = places.partition_point(|place| place.start < start);
            for (at, _) in places
                .iter()
                .enumerate()
                .skip(from)
                .take_while(|(_, place)| place.end <= end)
            {
                draft.step()?;
                ran[at] = count > 0;
            }
        }
        for (place, ran) in places.iter().zip(ran) {
            draft.line(&slot, place.number, ran)?;
        }
    }
    Ok(())
}

fn malformed(what: &str) -> CoverageError {
    CoverageError::malformed(NAME, what)
}

/// A line that does something, and where it begins and ends.
struct Place {
    number: i64,
    start: u64,
    end: u64,
}

fn places(source: &[u8]) -> Vec<Place> {
    let units = |text: &str| text.encode_utf16().count() as u64;
    let all = lines(source);
    let text = String::from_utf8_lossy(source);
    let mut at = 0;
    let mut places = Vec::new();
    for (number, line) in (1_u32..).zip(text.split_inclusive('\n')) {
        let inner = line.trim();
        let start = at + units(&line[..line.len() - line.trim_start().len()]);
        at += units(line);
        let says_something = inner.chars().any(char::is_alphanumeric);
        if says_something && !is_idle(&all, &(number..=number)) {
            places.push(Place {
                number: number.into(),
                start,
                end: start + units(inner),
            });
        }
    }
    places
}
