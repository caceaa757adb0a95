//! What one setting is: its three names, its kind, its words, and the field of the policy behind it.

use engine::event::policy::Policy;

use super::error::Fault;
use super::value::Value;

/// What a value may look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number of things.
    Count {
        min: u64,
        max: u64,
    },
    /// A whole number that may be negative.
    Integer {
        min: i64,
        max: i64,
    },
    /// Milliseconds, written with a unit.
    Duration,
    /// Dollars, kept as micro-USD.
    Money,
    /// Bytes, written plainly or with a binary unit.
    Size {
        max_bytes: u64,
    },
    /// A number with at most nine decimals, from zero to `max`; kept as text, in one spelling.
    Decimal {
        max: u64,
    },
    Bool,
    /// Any text but the empty one.
    Text,
    /// Text of a form that the setter reads; the form is shown to people.
    Form(&'static str),
    /// One of these labels.
    Choice(&'static [&'static str]),
    /// A string for `sh -c`, or in a file an array of words.
    Command,
    /// A path relative to the workdir.
    Path,
    /// Patterns of paths.
    Patterns,
    /// Paths, relative to the workdir or absolute.
    Paths,
    /// Names of environment variables.
    EnvNames,
    /// Plain names.
    Names,
    /// Absolute paths and addresses.
    Places,
}

impl Kind {
    /// Whether several values add up to one.
    pub const fn is_list(self) -> bool {
        matches!(
            self,
            Self::Patterns | Self::Paths | Self::EnvNames | Self::Names | Self::Places
        )
    }

    /// What stands for a value in help texts, such as `DURATION` or `halt|continue`.
    pub fn placeholder(self) -> String {
        match self {
            Self::Count { .. } => "N".to_owned(),
            Self::Integer { .. } => "INTEGER".to_owned(),
            Self::Duration => "DURATION".to_owned(),
            Self::Money => "USD".to_owned(),
            Self::Size { .. } => "SIZE".to_owned(),
            Self::Decimal { .. } => "DECIMAL".to_owned(),
            Self::Bool => "true|false".to_owned(),
            Self::Text => "TEXT".to_owned(),
            Self::Form(form) => form.to_owned(),
            Self::Choice(labels) => labels.join("|"),
            Self::Command => "COMMAND".to_owned(),
            Self::Path | Self::Paths => "PATH".to_owned(),
            Self::Patterns => "PATTERN".to_owned(),
            Self::EnvNames | Self::Names => "NAME".to_owned(),
            Self::Places => "PATH|ADDRESS".to_owned(),
        }
    }
}

/// How a value is switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Off {
    /// It cannot be.
    Never,
    /// With the word `off`; a zero is a zero.
    Word,
    /// With the word `off` or with a zero.
    WordOrZero,
}

/// One setting. Everything that is said about it anywhere is generated from this row.
#[derive(Clone, Copy)]
pub struct Setting {
    /// Dotted name in the file, section first.
    pub key: &'static str,
    /// Another dotted name for the same thing in the file.
    pub alias: Option<&'static str>,
    /// The flag, with its dashes.
    pub flag: &'static str,
    /// The flag states the opposite of the key (`--no-baseline` for `baseline`).
    pub flag_negates: bool,
    /// The environment variable.
    pub env: &'static str,
    pub kind: Kind,
    pub off: Off,
    /// One line, without a full stop.
    pub help: &'static str,
    /// What else there is to know; may be empty.
    pub long: &'static str,
    /// Heading that the setting stands under in help and in the dry run.
    pub group: &'static str,
    /// Writes the value into the policy.
    pub set: fn(&mut Policy, Value) -> Result<(), Fault>,
    /// Reads it back, in the spelling that [`Setting::set`] would take from a variable.
    pub show: fn(&Policy) -> String,
}

impl Setting {
    /// Section of the file.
    pub fn section(&self) -> &'static str {
        self.key.split_once('.').map_or("", |(section, _)| section)
    }

    /// Name within its section.
    pub fn name(&self) -> &'static str {
        self.key.split_once('.').map_or(self.key, |(_, name)| name)
    }

    /// Whether the flag may stand several times.
    pub const fn repeatable(&self) -> bool {
        self.kind.is_list()
    }

    /// Whether the flag stands without a value.
    pub const fn is_switch(&self) -> bool {
        matches!(self.kind, Kind::Bool)
    }
}

impl std::fmt::Debug for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.key)
    }
}
