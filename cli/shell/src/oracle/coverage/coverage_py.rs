//! coverage.py's JSON (`coverage json`, `pytest --cov-report=json`): the one format that names excluded lines.

use serde_json::Value;

use super::draft::Slot;
use super::{Content, CoverageError, Draft, Format};

pub(super) static FORMAT: Format = Format {
    name: "coverage.py",
    recognise: |content| content.member("meta").is_some() && content.member("files").is_some(),
    read,
};

fn read(content: &Content<'_>, draft: &mut Draft<'_>) -> Result<(), CoverageError> {
    let files = content.member("files").and_then(Value::as_object);
    let files = files.ok_or_else(|| CoverageError::malformed(FORMAT.name, "`files` is no object"))?;
    for (path, file) in files {
        // Windows' separators, where it was written there.
        let slot = draft.file(&[path, &path.replace('\\', "/")]);
        numbers(file, "executed_lines", |number| draft.line(&slot, number, true))?;
        numbers(file, "missing_lines", |number| draft.line(&slot, number, false))?;
        excluded(file, draft, &slot)?;
    }
    Ok(())
}

fn excluded(file: &Value, draft: &mut Draft<'_>, slot: &Slot) -> Result<(), CoverageError> {
    match file.get("excluded_lines") {
        None => Ok(()),
        Some(_) => numbers(file, "excluded_lines", |number| draft.excluded(slot, number)),
    }
}

fn numbers(
    file: &Value,
    name: &str,
    mut each: impl FnMut(i64) -> Result<(), CoverageError>,
) -> Result<(), CoverageError> {
    let malformed = || CoverageError::malformed(FORMAT.name, format!("`{name}` of a file is no list of lines"));
    let list = file.get(name).and_then(Value::as_array).ok_or_else(malformed)?;
    list.iter()
        .try_for_each(|number| each(number.as_i64().ok_or_else(malformed)?))
}
