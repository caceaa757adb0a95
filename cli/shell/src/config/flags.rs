//! Flags, without knowing how a command line is parsed.
//!
//! Whoever parses it builds its arguments from the rows of [`table::settings`] and hands over what it
//! found: the key of the row, and the text as it was written, once an occurrence.

use std::ffi::{OsStr, OsString};

use super::error::{ConfigError, Fault, Place};
use super::resolve::Entry;
use super::setting::Setting;
use super::value::{self, Value};
use super::{names, table};

/// What the command line said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Key or flag of a setting and the text given; a switch without a value has an empty text.
    pub values: Vec<(String, OsString)>,
    /// Words after `--`: the work command, run without a shell.
    pub exec_words: Vec<OsString>,
    /// One iteration, whatever else is said about their number.
    pub once: bool,
}

impl Flags {
    /// Adds one occurrence.
    pub fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.values.push((name.to_owned(), value.into()));
        self
    }
}

/// Reads the flags into entries.
///
/// # Errors
/// An unknown name, a value that cannot be read, or the same thing said twice.
pub fn read(flags: &Flags) -> Result<Vec<Entry>, ConfigError> {
    let mut entries: Vec<Entry> = Vec::new();
    for (name, raw) in &flags.values {
        let setting = find(name).ok_or_else(|| unknown(name))?;
        let place = Place::Flag(setting.flag.to_owned());
        let fail = |fault| ConfigError::of(place.clone(), setting.key, fault);
        let value = value_of(setting, raw).map_err(fail)?;
        match entries.iter_mut().find(|entry| entry.setting.key == setting.key) {
            None => entries.push(Entry {
                setting,
                value,
                place,
                source: setting.flag.to_owned(),
            }),
            Some(entry) if setting.repeatable() && value != Value::Off && entry.value != Value::Off => {
                value::append(&mut entry.value, value);
            }
            Some(entry) => {
                let first = entry.source.clone();
                return Err(fail(Fault::Twice { first }));
            }
        }
    }
    trailing_words(flags, &mut entries)?;
    if flags.once {
        once(&mut entries);
    }
    Ok(entries)
}

fn value_of(setting: &'static Setting, raw: &OsStr) -> Result<Value, Fault> {
    if !setting.is_switch() {
        return value::read(setting, raw);
    }
    let said = if raw.is_empty() {
        true
    } else {
        value::read(setting, raw)?.boolean()?
    };
    Ok(Value::Bool(said != setting.flag_negates))
}

fn trailing_words(flags: &Flags, entries: &mut Vec<Entry>) -> Result<(), ConfigError> {
    let words = flags.exec_words.iter().map(OsString::as_os_str);
    let (Some(setting), false) = (table::find("loop.exec"), flags.exec_words.is_empty()) else {
        return Ok(());
    };
    let place = Place::Flag("--".to_owned());
    let fail = |fault| ConfigError::of(place.clone(), setting.key, fault);
    if let Some(entry) = entries.iter().find(|entry| entry.setting.key == setting.key) {
        let first = entry.source.clone();
        return Err(fail(Fault::Twice { first }));
    }
    let value = value::command_words(words).map_err(fail)?;
    entries.push(Entry {
        setting,
        value,
        place,
        source: "--".to_owned(),
    });
    Ok(())
}

fn once(entries: &mut Vec<Entry>) {
    if let Some(setting) = table::find(super::error::ITERATION_BOUND) {
        entries.retain(|entry| entry.setting.key != setting.key);
        entries.push(Entry {
            setting,
            value: Value::Count(1),
            place: Place::Flag("--once".to_owned()),
            source: "--once".to_owned(),
        });
    }
}

fn find(name: &str) -> Option<&'static Setting> {
    table::find(name).or_else(|| table::settings().iter().find(|row| row.flag == name))
}

fn unknown(name: &str) -> ConfigError {
    let flags = table::settings().iter().map(|row| row.flag);
    let nearest = names::nearest(name, flags).map(str::to_owned);
    ConfigError::new(
        Place::Flag(name.to_owned()),
        Fault::Unknown {
            what: "flag",
            name: name.to_owned(),
            nearest,
        },
    )
}
