//! How rows are written: one line of names, one field of the policy, and the shape between them.
//!
//! The shape of a field decides how it is read, switched off and shown, so that two fields of one
//! shape cannot behave differently.

use engine::event::id::Bytes;
use engine::event::policy::{Command, Policy};

use super::super::error::Fault;
use super::super::setting::{Kind, Off, Setting};
use super::super::value::Value;

/// A row without a field, to be completed by [`row!`].
pub(super) const fn blank(
    group: &'static str,
    key: &'static str,
    flag: &'static str,
    env: &'static str,
    help: &'static str,
    long: &'static str,
) -> Setting {
    Setting {
        key,
        alias: None,
        flag,
        flag_negates: false,
        env,
        kind: Kind::Text,
        off: Off::Never,
        help,
        long,
        group,
        set: nothing,
        show: blank_text,
    }
}

fn nothing(_: &mut Policy, _: Value) -> Result<(), Fault> {
    Ok(())
}

fn blank_text(_: &Policy) -> String {
    String::new()
}

/// Shown for what is absent, and read as such.
pub(super) const OFF: &str = "off";

pub(super) fn or_off<T>(value: Option<&T>, show: impl Fn(&T) -> String) -> String {
    value.map_or_else(|| OFF.to_owned(), show)
}

/// A shell command as it was written; words as an array.
pub(super) fn command(command: &Command) -> String {
    let word = |word: &Bytes| String::from_utf8_lossy(&word.0).into_owned();
    if command.shell {
        return command.words.iter().map(word).collect();
    }
    let words: Vec<String> = command.words.iter().map(|w| format!("{:?}", word(w))).collect();
    if words.is_empty() {
        String::new()
    } else {
        format!("[{}]", words.join(", "))
    }
}

/// Entries as a variable would hold them: by commas, or by lines when an entry holds a comma.
pub(super) fn list(entries: &[String]) -> String {
    if entries.is_empty() {
        return OFF.to_owned();
    }
    if entries.iter().any(|entry| entry.contains(',')) {
        return entries.iter().map(|entry| format!("{entry}\n")).collect();
    }
    entries.join(",")
}

/// The labels of an enum of the vocabulary.
macro_rules! labels {
    ($ty:ident) => {{
        const COUNT: usize = $ty::ALL.len();
        const LABELS: [&str; COUNT] = {
            let mut out = [""; COUNT];
            let mut i = 0;
            while i < COUNT {
                out[i] = $ty::ALL[i].label();
                i += 1;
            }
            out
        };
        &LABELS
    }};
}

/// One row: `row!(shape, path.to.field, blank)`.
macro_rules! row {
    (duration, $($field:ident).+, $blank:expr) => {
        Setting {
            kind: Kind::Duration,
            set: |policy, value| { policy.$($field).+ = value.duration_ms()?; Ok(()) },
            show: |policy| duration::show(policy.$($field).+),
            ..$blank
        }
    };
    (duration?, $($field:ident).+, $blank:expr) => {
        Setting {
            kind: Kind::Duration,
            off: Off::WordOrZero,
            set: |policy, value| {
                policy.$($field).+ = value.unless_off().map(Value::duration_ms).transpose()?;
                Ok(())
            },
            show: |policy| row::or_off(policy.$($field).+.as_ref(), |ms| duration::show(*ms)),
            ..$blank
        }
    };
    // A 32-bit count; the off form stores `$off`.
    (count($min:expr, $max:expr), $($field:ident).+, $blank:expr) => {
        Setting {
            kind: Kind::Count { min: $min, max: $max },
            set: |policy, value| { policy.$($field).+ = value.count_u32()?; Ok(()) },
            show: |policy| policy.$($field).+.to_string(),
            ..$blank
        }
    };
    (count($min:expr, $max:expr) off $off:expr, $($field:ident).+, $blank:expr) => {
        Setting {
            kind: Kind::Count { min: $min, max: $max },
            off: Off::WordOrZero,
            set: |policy, value| { policy.$($field).+ = value.count_u32_or($off)?; Ok(()) },
            show: |policy| match policy.$($field).+ {
                count if count == $off => row::OFF.to_owned(),
                count => count.to_string(),
            },
            ..$blank
        }
    };
    (count64($min:expr, $max:expr)? $off:ident, $($field:ident).+, $blank:expr) => {
        Setting {
            kind: Kind::Count { min: $min, max: $max },
            off: Off::$off,
            set: |policy, value| {
                policy.$($field).+ = value.unless_off().map(Value::count).transpose()?;
                Ok(())
            },
            show: |policy| row::or_off(policy.$($field).+.as_ref(), u64::to_string),
            ..$blank
        }
    };
    (money? $off:ident, $($field:ident).+, $blank:expr) => {
        Setting {
            kind: Kind::Money,
            off: Off::$off,
            set: |policy, value| {
                policy.$($field).+ = value.unless_off().map(Value::microusd).transpose()?;
                Ok(())
            },
            show: |policy| row::or_off(policy.$($field).+.as_ref(), |microusd| money::show(*microusd)),
            ..$blank
        }
    };
    (size($max:expr), $($field:ident).+, $blank:expr) => {
        Setting {
            kind: Kind::Size { max_bytes: $max },
            set: |policy, value| { policy.$($field).+ = value.size_bytes()?; Ok(()) },
            show: |policy| size::show(policy.$($field).+),
            ..$blank
        }
    };
    (size($max:expr)?, $($field:ident).+, $blank:expr) => {
        Setting {
            kind: Kind::Size { max_bytes: $max },
            off: Off::WordOrZero,
            set: |policy, value| {
                policy.$($field).+ = value.unless_off().map(Value::size_bytes).transpose()?;
                Ok(())
            },
            show: |policy| row::or_off(policy.$($field).+.as_ref(), |bytes| size::show(*bytes)),
            ..$blank
        }
    };
    (switch, $($field:ident).+, $blank:expr) => {
        Setting {
            kind: Kind::Bool,
            set: |policy, value| { policy.$($field).+ = value.boolean()?; Ok(()) },
            show: |policy| policy.$($field).+.to_string(),
            ..$blank
        }
    };
    (switch negated, $($field:ident).+, $blank:expr) => {
        Setting { flag_negates: true, ..row!(switch, $($field).+, $blank) }
    };
    (choice $ty:ident, $($field:ident).+, $blank:expr) => {
        Setting {
            kind: Kind::Choice(labels!($ty)),
            set: |policy, value| {
                let label = value.text()?;
                policy.$($field).+ = $ty::from_label(&label).ok_or_else(|| Fault::Malformed {
                    wanted: labels!($ty).join(" or "),
                    found: label,
                })?;
                Ok(())
            },
            show: |policy| policy.$($field).+.label().to_owned(),
            ..$blank
        }
    };
    (command?, $($field:ident).+, $blank:expr) => {
        Setting {
            kind: Kind::Command,
            off: Off::Word,
            set: |policy, value| {
                policy.$($field).+ = value.unless_off().map(Value::command).transpose()?;
                Ok(())
            },
            show: |policy| row::or_off(policy.$($field).+.as_ref(), row::command),
            ..$blank
        }
    };
    (text, $($field:ident).+, $blank:expr) => {
        Setting {
            kind: Kind::Text,
            set: |policy, value| { policy.$($field).+ = value.text()?; Ok(()) },
            show: |policy| policy.$($field).+.clone(),
            ..$blank
        }
    };
    (text?, $($field:ident).+, $blank:expr) => {
        row!(@text Kind::Text, $($field).+, $blank)
    };
    (decimal($max:expr)?, $($field:ident).+, $blank:expr) => {
        row!(@text Kind::Decimal { max: $max }, $($field).+, $blank)
    };
    (@text $kind:expr, $($field:ident).+, $blank:expr) => {
        Setting {
            kind: $kind,
            off: Off::Word,
            set: |policy, value| {
                policy.$($field).+ = value.unless_off().map(Value::text).transpose()?;
                Ok(())
            },
            show: |policy| row::or_off(policy.$($field).+.as_ref(), String::clone),
            ..$blank
        }
    };
    (list $kind:ident, $($field:ident).+, $blank:expr) => {
        Setting {
            kind: Kind::$kind,
            off: Off::Word,
            set: |policy, value| {
                policy.$($field).+ = value.unless_off().map(Value::texts).transpose()?.unwrap_or_default();
                Ok(())
            },
            show: |policy| row::list(&policy.$($field).+),
            ..$blank
        }
    };
}
