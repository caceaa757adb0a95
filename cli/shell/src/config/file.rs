//! `loopexec.toml`: its text, read into entries that know their line and column.
//!
//! Windows line ends and a byte-order mark are taken for what they are. Numbers are read from their
//! source text, so that an amount of money never passes through a float.

use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, Fault, Place};
use super::resolve::Entry;
use super::setting::{Kind, Off, Setting};
use super::value::{self, Value};
use super::{names, table};
use crate::paths::open_regular;

/// No configuration needs more than this.
pub const MAX_BYTES: u64 = 1 << 20;

/// Reads the file at `path`; no file is no entries.
///
/// # Errors
/// The first mistake, with its line and column.
pub fn read(path: &Path) -> Result<Vec<Entry>, ConfigError> {
    match load(path)? {
        None => Ok(Vec::new()),
        Some(bytes) => parse(path, &bytes),
    }
}

/// Reads the text of a configuration file. `path` is named in errors only.
///
/// # Errors
/// The first mistake, with its line and column.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Vec<Entry>, ConfigError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.replace("\r\n", "\n"),
        Err(error) => {
            let valid = String::from_utf8_lossy(bytes.get(..error.valid_up_to()).unwrap_or_default()).into_owned();
            let source = Source { path, text: &valid };
            return Err(ConfigError::new(source.place(valid.len()), Fault::NotUtf8));
        }
    };
    let source = Source { path, text: &text };
    let root = DeTable::parse(&text).map_err(|error| {
        let place = source.place(error.span().map_or(0, |span| span.start));
        let message = error.message().to_owned();
        ConfigError::new(place, Fault::NotToml { message })
    })?;
    source.sections(root.get_ref())
}

fn load(path: &Path) -> Result<Option<Vec<u8>>, ConfigError> {
    let fail = |error: &io::Error| {
        let detail = error.to_string();
        ConfigError::new(Place::WholeFile(path.to_owned()), Fault::Unreadable { detail })
    };
    let file = match open_regular(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fail(&error)),
    };
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|e| fail(&e))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(ConfigError::new(
            Place::WholeFile(path.to_owned()),
            Fault::TooLarge { max_bytes: MAX_BYTES },
        ));
    }
    Ok(Some(bytes))
}

struct Source<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Source<'_> {
    fn sections(&self, root: &DeTable<'_>) -> Result<Vec<Entry>, ConfigError> {
        let mut entries: Vec<Entry> = Vec::new();
        for (section, content) in root {
            let at = section.span().start;
            let Some(settings) = content.get_ref().as_table() else {
                return Err(self.unknown(section.get_ref(), at));
            };
            if !table::settings().iter().any(|row| row.section() == section.get_ref()) {
                return Err(self.unknown_section(section.get_ref(), at));
            }
            for (name, value) in settings {
                let key = format!("{}.{}", section.get_ref(), name.get_ref());
                let at = name.span().start;
                let setting = table::find(&key).ok_or_else(|| self.unknown(&key, at))?;
                let entry = self.entry(setting, value, at)?;
                if let Some(first) = entries.iter().find(|have| have.setting.key == setting.key) {
                    let first = first.place.to_string();
                    return Err(ConfigError::of(self.place(at), setting.key, Fault::Twice { first }));
                }
                entries.push(entry);
            }
        }
        Ok(entries)
    }

    fn entry(&self, setting: &'static Setting, value: &Spanned<DeValue<'_>>, at: usize) -> Result<Entry, ConfigError> {
        Ok(Entry {
            setting,
            value: self.value(setting, value)?,
            place: self.place(at),
            source: super::FILE_NAME.to_owned(),
        })
    }

    fn value(&self, setting: &'static Setting, value: &Spanned<DeValue<'_>>) -> Result<Value, ConfigError> {
        let at = value.span().start;
        let fault = |fault| ConfigError::of(self.place(at), setting.key, fault);
        match value.get_ref() {
            DeValue::Array(items) if setting.kind == Kind::Command => {
                let words: Vec<&OsStr> = items
                    .iter()
                    .map(|item| self.word(setting, item))
                    .collect::<Result<_, _>>()?;
                value::command_words(words).map_err(fault)
            }
            DeValue::Array(items) if setting.kind.is_list() => {
                let mut list = match setting.kind {
                    Kind::Paths => Value::Paths(Vec::new()),
                    _ => Value::Texts(Vec::new()),
                };
                for item in items.iter() {
                    let at = item.span().start;
                    let word = self.word(setting, item)?;
                    let read = value::read(setting, word)
                        .map_err(|fault| ConfigError::of(self.place(at), setting.key, fault))?;
                    // `off` among other entries would silently clear the ones before it.
                    if read == Value::Off {
                        let detail = "off stands alone: write \"off\" or [] for no entries".to_owned();
                        return Err(ConfigError::of(
                            self.place(at),
                            setting.key,
                            Fault::Contradiction { detail },
                        ));
                    }
                    value::append(&mut list, read);
                }
                Ok(list)
            }
            scalar => {
                let text = scalar_text(setting, scalar).map_err(fault)?;
                value::read(setting, OsStr::new(&text)).map_err(fault)
            }
        }
    }

    fn word<'v>(&self, setting: &'static Setting, item: &'v Spanned<DeValue<'_>>) -> Result<&'v OsStr, ConfigError> {
        item.get_ref().as_str().map(OsStr::new).ok_or_else(|| {
            let fault = wrong_type("an array of strings", item.get_ref());
            ConfigError::of(self.place(item.span().start), setting.key, fault)
        })
    }

    fn unknown(&self, key: &str, at: usize) -> ConfigError {
        let keys = table::settings().iter().map(|row| row.key);
        self.unknown_name("setting", key, names::nearest(key, keys), at)
    }

    fn unknown_section(&self, section: &str, at: usize) -> ConfigError {
        let sections = table::settings().iter().map(Setting::section);
        let nearest = names::nearest(section, sections);
        self.unknown_name("section", section, nearest, at)
    }

    fn unknown_name(&self, what: &'static str, name: &str, nearest: Option<&str>, at: usize) -> ConfigError {
        let (name, nearest) = (name.to_owned(), nearest.map(str::to_owned));
        ConfigError::new(self.place(at), Fault::Unknown { what, name, nearest })
    }

    /// Line and column, from one, of a byte offset.
    fn place(&self, offset: usize) -> Place {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        let column = before.get(line_start..).map_or(0, |tail| tail.chars().count()) + 1;
        Place::File {
            path: self.path.to_owned(),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }
}

/// The source text of a scalar, when its type suits the setting.
fn scalar_text(setting: &Setting, value: &DeValue<'_>) -> Result<String, Fault> {
    let text = match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(truth) => truth.to_string(),
        other => return Err(wrong_type(wanted(setting), other)),
    };
    let (string, integer, float) = (
        matches!(value, DeValue::String(_)),
        matches!(value, DeValue::Integer(_)),
        matches!(value, DeValue::Float(_)),
    );
    let suits = match setting.kind {
        Kind::Bool => matches!(value, DeValue::Boolean(_)),
        Kind::Count { .. } | Kind::Integer { .. } => integer || (string && text == "off" && setting.off != Off::Never),
        Kind::Size { .. } => integer || string,
        Kind::Money | Kind::Decimal { .. } => integer || float || string,
        // A bare number is let through to the message about units.
        Kind::Duration => integer || float || string,
        _ => string,
    };
    if suits {
        Ok(text)
    } else {
        Err(wrong_type(wanted(setting), value))
    }
}

fn wanted(setting: &Setting) -> &'static str {
    match setting.kind {
        Kind::Bool => "true or false, without quotes",
        Kind::Count { .. } | Kind::Integer { .. } => "a whole number, without quotes",
        Kind::Size { .. } => "a size: a whole number of bytes, or a string such as \"64KiB\"",
        Kind::Money => "an amount in dollars",
        Kind::Decimal { .. } => "a number",
        Kind::Duration => "a duration: a string such as \"10m\"",
        Kind::Command => "a command: a string, or an array of words",
        Kind::Patterns | Kind::Paths | Kind::EnvNames | Kind::Names | Kind::Places => "an array of strings",
        Kind::Text | Kind::Form(_) | Kind::Choice(_) | Kind::Path => "a string",
    }
}

fn wrong_type(wanted: &str, found: &DeValue<'_>) -> Fault {
    let found = match found {
        DeValue::Array(_) => "an array".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
        DeValue::String(text) => format!("\"{text}\""),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(truth) => truth.to_string(),
        DeValue::Datetime(time) => time.to_string(),
    };
    Fault::Malformed {
        wanted: wanted.to_owned(),
        found,
    }
}
