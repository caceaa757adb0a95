//! istanbul's JSON (`coverage-final.json` of nyc, c8, jest and vitest): statements by their places, and their counts.
//!
//! A line can run if a statement begins on it, as istanbul's own reports have it.

use serde_json::Value;

use super::{Content, CoverageError, Draft, Format};

pub(super) static FORMAT: Format = Format {
    name: "istanbul",
    recognise: |content| match content {
        Content::Json(Value::Object(files)) => files
            .values()
            .next()
            .is_some_and(|file| file.get("statementMap").is_some()),
        Content::Json(_) | Content::Text(_) => false,
    },
    read,
};

fn read(content: &Content<'_>, draft: &mut Draft<'_>) -> Result<(), CoverageError> {
    let Content::Json(Value::Object(files)) = content else {
        return Err(CoverageError::malformed(FORMAT.name, "it is no object of files"));
    };
    for (key, file) in files {
        let path = file.get("path").and_then(Value::as_str).unwrap_or(key);
        let slot = draft.file(&[path, key]);
        let malformed = |what: &str| CoverageError::malformed(FORMAT.name, format!("a file has no {what}"));
        let statements = file.get("statementMap").and_then(Value::as_object);
        let counts = file.get("s").and_then(Value::as_object);
        let counts = counts.ok_or_else(|| malformed("counts `s`"))?;
        for (id, place) in statements.ok_or_else(|| malformed("`statementMap`"))? {
            let number = place.pointer("/start/line").and_then(Value::as_i64);
            let number = number.ok_or_else(|| malformed("line of a statement"))?;
            let count = counts.get(id).and_then(Value::as_u64);
            let count = count.ok_or_else(|| malformed("count of a statement"))?;
            draft.line(&slot, number, count > 0)?;
        }
    }
    Ok(())
}
