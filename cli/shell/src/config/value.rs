//! A value on its way from what was written into the policy: read by kind, never twice.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use engine::event::id::Bytes;
use engine::event::policy::Command;
use engine::hermetic::reach;

use super::error::Fault;
use super::setting::{Kind, Off, Setting};
use super::{duration, fixed, money, pattern, size};

/// A value in its final type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Switched off.
    Off,
    Bool(bool),
    Count(u64),
    Integer(i64),
    DurationMs(u64),
    MicroUsd(u64),
    SizeBytes(u64),
    /// Text, label, decimal or form.
    Text(String),
    Command(Command),
    Path(Bytes),
    Texts(Vec<String>),
    Paths(Vec<Bytes>),
}

/// Decimals of a [`Kind::Decimal`].
pub const DECIMALS: u32 = 9;

/// Reads one written value of a setting. A list becomes a list of one.
///
/// # Errors
/// The fault, without its place.
pub fn read(setting: &Setting, raw: &OsStr) -> Result<Value, Fault> {
    if setting.off != Off::Never && (raw == "off" || (setting.off == Off::WordOrZero && raw == "0")) {
        return Ok(Value::Off);
    }
    match setting.kind {
        Kind::Command => return shell_command(raw),
        Kind::Path => return relative_path(raw).map(Value::Path),
        Kind::Paths => return any_path(raw).map(|path| Value::Paths(vec![path])),
        _ => {}
    }
    let text = raw.to_str().ok_or(Fault::NotUtf8)?;
    if text.is_empty() {
        return Err(Fault::Empty {
            what: if setting.kind.is_list() {
                "an entry"
            } else {
                "the value"
            },
        });
    }
    let value = read_text(setting.kind, text)?;
    match (setting.off, &value) {
        (Off::WordOrZero, Value::DurationMs(0) | Value::MicroUsd(0) | Value::SizeBytes(0) | Value::Count(0)) => {
            Ok(Value::Off)
        }
        _ => Ok(value),
    }
}

fn read_text(kind: Kind, text: &str) -> Result<Value, Fault> {
    match kind {
        Kind::Count { min, max } => count(text, min, max).map(Value::Count),
        Kind::Integer { min, max } => integer(text, min, max).map(Value::Integer),
        Kind::Duration => duration::parse(text).map(Value::DurationMs),
        Kind::Money => money::parse(text).map(Value::MicroUsd),
        Kind::Size { max_bytes } => size::parse(text, max_bytes).map(Value::SizeBytes),
        Kind::Decimal { max } => decimal(text, max).map(Value::Text),
        Kind::Bool => boolean(text).map(Value::Bool),
        Kind::Text | Kind::Form(_) => plain_text(text).map(Value::Text),
        Kind::Choice(labels) => choice(text, labels).map(Value::Text),
        Kind::Patterns => pattern::check(text).map(|()| Value::Texts(vec![text.to_owned()])),
        Kind::EnvNames => env_name(text).map(|name| Value::Texts(vec![name])),
        Kind::Names => plain_text(text).map(|name| Value::Texts(vec![name])),
        Kind::Places => place(text).map(|place| Value::Texts(vec![place])),
        // Read from bytes by the caller: these need not be text.
        Kind::Command => shell_command(OsStr::new(text)),
        Kind::Path => relative_path(OsStr::new(text)).map(Value::Path),
        Kind::Paths => any_path(OsStr::new(text)).map(|path| Value::Paths(vec![path])),
    }
}

/// A command given as words, run without a shell.
///
/// # Errors
/// No words, an empty program, or a nul byte.
pub fn command_words<'a>(words: impl IntoIterator<Item = &'a OsStr>) -> Result<Value, Fault> {
    let words: Vec<Bytes> = words.into_iter().map(|word| Bytes::from(word.as_bytes())).collect();
    let Some(program) = words.first() else {
        return Err(Fault::Empty { what: "the command" });
    };
    if program.0.trim_ascii().is_empty() {
        return Err(Fault::Empty {
            what: "the name of the program",
        });
    }
    if words.iter().any(|word| word.0.contains(&0)) {
        return Err(Fault::Nul);
    }
    Ok(Value::Command(Command { words, shell: false }))
}

/// Joins a further entry of the same list.
pub fn append(list: &mut Value, more: Value) {
    match (list, more) {
        (Value::Texts(have), Value::Texts(more)) => have.extend(more),
        (Value::Paths(have), Value::Paths(more)) => have.extend(more),
        (list, more) => *list = more,
    }
}

fn shell_command(raw: &OsStr) -> Result<Value, Fault> {
    let bytes = raw.as_bytes();
    if bytes.trim_ascii().is_empty() {
        return Err(Fault::Empty { what: "the command" });
    }
    if bytes.contains(&0) {
        return Err(Fault::Nul);
    }
    Ok(Value::Command(Command {
        words: vec![Bytes::from(bytes)],
        shell: true,
    }))
}

fn any_path(raw: &OsStr) -> Result<Bytes, Fault> {
    let bytes = raw.as_bytes();
    if bytes.trim_ascii().is_empty() {
        return Err(Fault::Empty { what: "the path" });
    }
    if bytes.contains(&0) {
        return Err(Fault::Nul);
    }
    Ok(Bytes::from(bytes))
}

fn place(text: &str) -> Result<String, Fault> {
    let read = reach::read(text).map(|_| text.to_owned());
    read.map_err(|wanted| Fault::Malformed {
        wanted,
        found: text.to_owned(),
    })
}

fn relative_path(raw: &OsStr) -> Result<Bytes, Fault> {
    let path = any_path(raw)?;
    let leaves = path.0.starts_with(b"/") || path.0.split(|byte| *byte == b'/').any(|part| part == b"..");
    if leaves {
        return Err(Fault::Malformed {
            wanted: "a path inside the workdir, relative to it".to_owned(),
            found: path.text(),
        });
    }
    Ok(path)
}

fn count(text: &str, min: u64, max: u64) -> Result<u64, Fault> {
    let found = || text.to_owned();
    let negative = text.len() > 1 && text.starts_with('-') && text.bytes().skip(1).all(|b| b.is_ascii_digit());
    if negative {
        return Err(Fault::BelowMinimum {
            found: found(),
            minimum: min.to_string(),
        });
    }
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Fault::Malformed {
            wanted: "a whole number".to_owned(),
            found: found(),
        });
    }
    // Only digits are left, so a failure to parse is a number too large for the type.
    match text.parse::<u64>() {
        Ok(number) if number < min => Err(Fault::BelowMinimum {
            found: found(),
            minimum: min.to_string(),
        }),
        Ok(number) if number <= max => Ok(number),
        _ => Err(Fault::AboveMaximum {
            found: found(),
            maximum: max.to_string(),
        }),
    }
}

fn integer(text: &str, min: i64, max: i64) -> Result<i64, Fault> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Fault::Malformed {
            wanted: "a whole number".to_owned(),
            found: text.to_owned(),
        });
    }
    match text.parse::<i64>() {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        other => {
            let below = other.map_or(text.starts_with('-'), |number| number < min);
            Err(if below {
                Fault::BelowMinimum {
                    found: text.to_owned(),
                    minimum: min.to_string(),
                }
            } else {
                Fault::AboveMaximum {
                    found: text.to_owned(),
                    maximum: max.to_string(),
                }
            })
        }
    }
}

fn decimal(text: &str, max: u64) -> Result<String, Fault> {
    let nano_max = max.saturating_mul(10_u64.pow(DECIMALS));
    let nano = fixed::parse(
        text,
        DECIMALS,
        "a number of zero or more, such as 0.7",
        "0.000000001",
        nano_max,
    )?;
    Ok(fixed::show(nano, DECIMALS))
}

/// Whether a word means yes or no.
///
/// # Errors
/// Any other word.
pub fn boolean(text: &str) -> Result<bool, Fault> {
    match text {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err(Fault::Malformed {
            wanted: "true or false".to_owned(),
            found: text.to_owned(),
        }),
    }
}

fn plain_text(text: &str) -> Result<String, Fault> {
    if text.trim().is_empty() {
        return Err(Fault::Empty { what: "the value" });
    }
    if text.contains('\0') {
        return Err(Fault::Nul);
    }
    Ok(text.to_owned())
}

fn choice(text: &str, labels: &'static [&'static str]) -> Result<String, Fault> {
    if labels.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(Fault::Malformed {
        wanted: format!("one of {}", labels.join(", ")),
        found: text.to_owned(),
    })
}

fn env_name(text: &str) -> Result<String, Fault> {
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if starts && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return Ok(text.to_owned());
    }
    Err(Fault::Malformed {
        wanted: "the name of an environment variable".to_owned(),
        // Whoever misread the setting wrote the secret itself: do not repeat it.
        found: "the value (not repeated here)".to_owned(),
    })
}

/// The kind of a row and the shape that its setter takes disagree: a mistake in the table.
fn mismatch(wanted: &str, found: &Value) -> Fault {
    Fault::Malformed {
        wanted: wanted.to_owned(),
        found: format!("{found:?}"),
    }
}

macro_rules! takers {
    ($($(#[$doc:meta])* $name:ident: $variant:ident -> $ty:ty, $what:literal);* $(;)?) => {
        impl Value {$(
            $(#[$doc])*
            ///
            /// # Errors
            /// A value of another shape.
            pub fn $name(self) -> Result<$ty, Fault> {
                match self {
                    Self::$variant(inner) => Ok(inner),
                    other => Err(mismatch($what, &other)),
                }
            }
        )*}
    };
}

takers! {
    /// The boolean.
    boolean: Bool -> bool, "true or false";
    /// The count.
    count: Count -> u64, "a whole number";
    /// The integer.
    integer: Integer -> i64, "a whole number";
    /// The duration, in milliseconds.
    duration_ms: DurationMs -> u64, "a duration";
    /// The amount, in micro-USD.
    microusd: MicroUsd -> u64, "an amount of money";
    /// The size, in bytes.
    size_bytes: SizeBytes -> u64, "a size";
    /// The text.
    text: Text -> String, "text";
    /// The command.
    command: Command -> Command, "a command";
    /// The path.
    path: Path -> Bytes, "a path";
    /// The list of texts.
    texts: Texts -> Vec<String>, "a list";
    /// The list of paths.
    paths: Paths -> Vec<Bytes>, "a list of paths";
}

impl Value {
    /// `None` when switched off, the value otherwise.
    pub fn unless_off(self) -> Option<Self> {
        match self {
            Self::Off => None,
            value => Some(value),
        }
    }

    /// The count as 32 bits; the bounds of the row keep it in range.
    ///
    /// # Errors
    /// A value of another shape or size.
    pub fn count_u32(self) -> Result<u32, Fault> {
        let count = self.count()?;
        u32::try_from(count).map_err(|_| Fault::AboveMaximum {
            found: count.to_string(),
            maximum: u32::MAX.to_string(),
        })
    }

    /// The count as 32 bits, where `off` is written as `off`.
    ///
    /// # Errors
    /// A value of another shape or size.
    pub fn count_u32_or(self, off: u32) -> Result<u32, Fault> {
        match self {
            Self::Off => Ok(off),
            value => value.count_u32(),
        }
    }
}
