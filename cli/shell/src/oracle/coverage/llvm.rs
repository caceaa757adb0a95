//! llvm-cov's export (`llvm-cov export`, `cargo llvm-cov --json`): places in a file at which the count changes.
//!
//! A *segment* says how often the code from its place on ran, up to the next one. A line ran if the code that reaches
//! into it, or a region that begins on it, did; a line on which nothing is counted cannot run.

use serde_json::Value;

use super::draft::Slot;
use super::{Content, CoverageError, Draft, Format};

pub(super) static FORMAT: Format = Format {
    name: "llvm-cov",
    recognise: |content| content.member("type").and_then(Value::as_str) == Some("llvm.coverage.json.export"),
    read,
};

#[derive(Clone, Copy)]
struct Segment {
    line: i64,
    count: u64,
    is_counted: bool,
    begins_region: bool,
}

fn read(content: &Content<'_>, draft: &mut Draft<'_>) -> Result<(), CoverageError> {
    let data = content.member("data").and_then(Value::as_array);
    for part in data.ok_or_else(|| malformed("`data` is no list"))? {
        let files = part.get("files").and_then(Value::as_array);
        for file in files.ok_or_else(|| malformed("a part has no `files`"))? {
            let name = file.get("filename").and_then(Value::as_str);
            let slot = draft.file(&[name.ok_or_else(|| malformed("a file has no name"))?]);
            let segments = file.get("segments").and_then(Value::as_array);
            let segments = segments.ok_or_else(|| malformed("a file has no `segments`"))?;
            let segments = segments.iter().map(segment).collect::<Option<Vec<_>>>();
            lines(&segments.ok_or_else(|| malformed("a segment is none"))?, draft, &slot)?;
        }
    }
    Ok(())
}

fn malformed(what: &str) -> CoverageError {
    CoverageError::malformed(FORMAT.name, what)
}

/// `[line, column, count, is counted, begins a region, is a gap]`; the last came later than the others.
fn segment(value: &Value) -> Option<Segment> {
    let flag = |at: usize| value.get(at).and_then(Value::as_bool);
    let is_gap = flag(5).unwrap_or(false);
    let is_counted = flag(3)?;
    Some(Segment {
        line: value.get(0)?.as_i64()?,
        // What could not be counted is written as a negative number.
        count: value.get(2)?.as_u64().unwrap_or(0),
        is_counted,
        begins_region: flag(4)? && is_counted && !is_gap,
    })
}

fn lines(segments: &[Segment], draft: &mut Draft<'_>, slot: &Slot) -> Result<(), CoverageError> {
    // What reaches into the line from above.
    let mut open: Option<Segment> = None;
    let mut rest = segments;
    while let Some(first) = rest.first() {
        let own = rest.iter().take_while(|segment| segment.line == first.line).count();
        let (here, later) = rest.split_at(own);
        let begun = here.iter().filter(|segment| segment.begins_region);
        let counts = begun
            .map(|segment| segment.count)
            .chain(counted(open).map(|above| above.count));
        if let Some(count) = counts.max() {
            draft.line(slot, first.line, count > 0)?;
        }
        open = here.last().copied();
        if let (Some(next), Some(above)) = (later.first(), counted(open))
            && next.line > first.line + 1
        {
            draft.stretch(slot, (first.line + 1, next.line - 1), above.count > 0)?;
        }
        rest = later;
    }
    Ok(())
}

fn counted(segment: Option<Segment>) -> Option<Segment> {
    segment.filter(|segment| segment.is_counted)
}
