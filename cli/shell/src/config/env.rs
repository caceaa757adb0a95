//! `LOOPEXEC_*`: variables that set, variables that are spoken for, and slips of the pen.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use super::error::{ConfigError, Fault, Place};
use super::resolve::Entry;
use super::setting::{Kind, Setting};
use super::value::{self, Value};
use super::{names, table};

/// Start of every variable that is ours.
pub const PREFIX: &str = "LOOPEXEC_";

/// Variables of ours that are no settings: what a run tells its commands, and what other parts of the
/// program read. They are accepted whatever they hold, so that a run may be started inside a run.
pub const RESERVED: &[&str] = &[
    "LOOPEXEC_RUN_ID",
    "LOOPEXEC_ITERATION",
    "LOOPEXEC_ITERATIONS_LEFT",
    "LOOPEXEC_CONTEXT",
    "LOOPEXEC_FEEDBACK",
    "LOOPEXEC_REQUEST",
    "LOOPEXEC_ASK",
    "LOOPEXEC_SUPERVISOR",
    "LOOPEXEC_SUCCESS_EXIT",
    "LOOPEXEC_LOG",
    "LOOPEXEC_KEY",
    "LOOPEXEC_STATE_HOME",
];

/// Beginnings of reserved variables.
pub const RESERVED_PREFIXES: &[&str] = &["LOOPEXEC_BUDGET_LEFT_", "LOOPEXEC_TEST_"];

/// Whether a variable of ours is no setting by design.
pub fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name) || RESERVED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Reads the settings among `variables`, in the order of the table.
///
/// # Errors
/// The first variable of ours that nobody knows, by name, or the first value that cannot be read.
pub fn read(variables: &[(OsString, OsString)]) -> Result<Vec<Entry>, ConfigError> {
    let mut ours: Vec<(&OsStr, &OsStr)> = variables
        .iter()
        .filter(|(name, _)| name.as_bytes().starts_with(PREFIX.as_bytes()))
        .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
        .collect();
    // The environment has no order worth keeping, and an error must not depend on it.
    ours.sort_unstable();
    let mut entries = Vec::new();
    for (name, raw) in ours {
        let name = name.to_string_lossy();
        if is_reserved(&name) {
            continue;
        }
        let Some(setting) = table::settings().iter().find(|row| row.env == name) else {
            return Err(unknown(&name));
        };
        let place = Place::Env(setting.env.to_owned());
        let value = value_of(setting, raw).map_err(|fault| ConfigError::of(place.clone(), setting.key, fault))?;
        entries.push(Entry {
            setting,
            value,
            place,
            source: setting.env.to_owned(),
        });
    }
    Ok(entries)
}

fn value_of(setting: &'static Setting, raw: &OsStr) -> Result<Value, Fault> {
    if !setting.kind.is_list() || raw == "off" {
        return value::read(setting, raw);
    }
    let mut list = match setting.kind {
        Kind::Paths => Value::Paths(Vec::new()),
        _ => Value::Texts(Vec::new()),
    };
    for part in parts(raw.as_bytes()) {
        let read = value::read(setting, OsStr::from_bytes(part))?;
        if read == Value::Off {
            let detail = "off stands alone: it means no entries".to_owned();
            return Err(Fault::Contradiction { detail });
        }
        value::append(&mut list, read);
    }
    Ok(list)
}

/// Entries of a list: one a line where there is a line end, so that an entry may hold a comma;
/// separated by commas otherwise.
fn parts(raw: &[u8]) -> Vec<&[u8]> {
    let by_line = raw.contains(&b'\n');
    let separator = if by_line { b'\n' } else { b',' };
    let body = raw.strip_suffix(b"\n").unwrap_or(raw);
    body.split(|byte| *byte == separator)
        .map(|part| {
            if by_line {
                part.strip_suffix(b"\r").unwrap_or(part)
            } else {
                part.trim_ascii()
            }
        })
        .collect()
}

fn unknown(name: &str) -> ConfigError {
    let settings = table::settings().iter().map(|row| row.env);
    let nearest = names::nearest(name, settings.chain(RESERVED.iter().copied()));
    ConfigError::new(
        Place::Env(name.to_owned()),
        Fault::Unknown {
            what: "variable",
            name: name.to_owned(),
            nearest: nearest.map(str::to_owned),
        },
    )
}
