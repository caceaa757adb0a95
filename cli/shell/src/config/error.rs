//! What can be wrong with a configuration, said to the person who wrote it.
//!
//! An error is a [`Place`] (which flag, variable, or line of which file) and a [`Fault`] (what is wrong
//! there and how to mend it). The [`Class`] that decides the exit code follows from the two.

use std::fmt;
use std::path::PathBuf;

use engine::event::halt::HaltReason;

/// The setting whose lower bound is an invariant of every run.
pub const ITERATION_BOUND: &str = "bounds.max_iterations";

/// Where the mistake was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A flag, with its dashes.
    Flag(String),
    /// An environment variable.
    Env(String),
    /// A position in a file; lines and columns count from one, columns in characters.
    File { path: PathBuf, line: u32, column: u32 },
    /// A file as a whole.
    WholeFile(PathBuf),
    /// Nowhere in particular: something is missing, or two layers contradict each other.
    Contract,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => f.write_str(flag),
            Self::Env(name) => f.write_str(name),
            Self::File { path, line, column } => write!(f, "{}:{line}:{column}", path.display()),
            Self::WholeFile(path) => write!(f, "{}", path.display()),
            Self::Contract => f.write_str("the configuration"),
        }
    }
}

/// What is wrong. The texts quote what was written, with control characters escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nobody knows this name. `nearest` is what was probably meant.
    Unknown {
        what: &'static str,
        name: String,
        nearest: Option<String>,
    },
    /// The same setting twice in one layer.
    Twice {
        first: String,
    },
    /// Two settings that cannot both hold.
    Contradiction {
        detail: String,
    },
    Empty {
        what: &'static str,
    },
    NotUtf8,
    /// A nul byte, which no command line and no path can hold.
    Nul,
    /// Not of the wanted form.
    Malformed {
        wanted: String,
        found: String,
    },
    MissingUnit {
        found: String,
    },
    UnknownUnit {
        unit: String,
        units: &'static str,
    },
    /// More digits than are kept exactly.
    TooFine {
        found: String,
        smallest: &'static str,
    },
    BelowMinimum {
        found: String,
        minimum: String,
    },
    AboveMaximum {
        found: String,
        maximum: String,
    },
    /// An amount of money that is negative or no number at all.
    BadMoney {
        found: String,
    },
    /// Not a pattern that could ever match what its author means.
    BadPattern {
        found: String,
        why: &'static str,
    },
    NotToml {
        message: String,
    },
    /// The file could not be read.
    Unreadable {
        detail: String,
    },
    TooLarge {
        max_bytes: u64,
    },
    NoCheck,
    /// `pins = "required"` without these.
    Unpinned {
        missing: Vec<&'static str>,
    },
    /// `pins = "required"`, and these context files cannot be read.
    UnreadContext {
        files: Vec<String>,
    },
    BudgetWithoutMetering,
    NoBash,
}

/// The exit class of a configuration error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The command line is wrong: exit 2, no halt reason.
    Usage,
    /// The file or the environment is wrong: `workspace_invalid`.
    Workspace,
    /// A stated bound makes no sense: `invariant_failed`.
    Invariant,
}

impl Class {
    /// The halt reason that this class is reported under; usage errors have none.
    pub const fn reason(self) -> Option<HaltReason> {
        match self {
            Self::Usage => None,
            Self::Workspace => Some(HaltReason::WorkspaceInvalid),
            Self::Invariant => Some(HaltReason::InvariantFailed),
        }
    }

    /// The process exit code.
    pub const fn exit_code(self) -> u8 {
        match self.reason() {
            None => 2,
            Some(reason) => reason.exit_code(),
        }
    }
}

/// One mistake in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    pub place: Place,
    /// Dotted name of the setting, when the mistake is in its value.
    pub key: Option<&'static str>,
    pub fault: Fault,
}

impl ConfigError {
    pub fn new(place: Place, fault: Fault) -> Self {
        Self {
            place,
            key: None,
            fault,
        }
    }

    pub fn of(place: Place, key: &'static str, fault: Fault) -> Self {
        Self {
            place,
            key: Some(key),
            fault,
        }
    }

    /// Which kind of exit this is.
    pub fn class(&self) -> Class {
        match (&self.fault, &self.place) {
            (Fault::BadMoney { .. }, _) => Class::Invariant,
            (Fault::BelowMinimum { .. }, _) if self.key == Some(ITERATION_BOUND) => Class::Invariant,
            (_, Place::Flag(_)) => Class::Usage,
            _ => Class::Workspace,
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        // A flag or a variable names its setting; a line of a file may hold several words.
        if let (Place::File { .. }, Some(key)) = (&self.place, self.key) {
            write!(f, "{key}: ")?;
        }
        write!(f, "{}", self.fault)
    }
}

impl std::error::Error for ConfigError {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { what, name, nearest } => {
                write!(f, "there is no {what} {}", quoted(name))?;
                match nearest {
                    Some(near) => write!(f, "; did you mean {}?", quoted(near)),
                    None => write!(f, "; `loopexec run --dry-run` lists every setting"),
                }
            }
            Self::Twice { first } => write!(f, "this is already set by {first}; keep one of the two"),
            Self::Contradiction { detail } => f.write_str(detail),
            Self::Empty { what } => write!(f, "{what} is empty; give a value, or leave the setting out"),
            Self::NotUtf8 => f.write_str("the value is not UTF-8 text"),
            Self::Nul => f.write_str("the value holds a nul byte, which no command line or path can carry"),
            Self::Malformed { wanted, found } => write!(f, "{} is not {wanted}", quoted(found)),
            Self::MissingUnit { found } => write!(
                f,
                "{} has no unit; write for example {found}s, or use ms, m, h or d",
                quoted(found)
            ),
            Self::UnknownUnit { unit, units } => write!(f, "{} is not a unit here; the units are {units}", quoted(unit)),
            Self::TooFine { found, smallest } => {
                write!(f, "{} is finer than {smallest}, which is the smallest step", quoted(found))
            }
            Self::BelowMinimum { found, minimum } => write!(f, "{found} is too small; the least is {minimum}"),
            Self::AboveMaximum { found, maximum } => write!(f, "{found} is too large; the most is {maximum}"),
            Self::BadMoney { found } => write!(
                f,
                "{} is not an amount of money; write zero or more dollars, such as 2.50",
                quoted(found)
            ),
            Self::BadPattern { found, why } => write!(f, "the pattern {} {why}", quoted(found)),
            Self::NotToml { message } => write!(f, "the file is not valid TOML: {}", message.trim_end()),
            Self::Unreadable { detail } => write!(f, "the file cannot be read: {detail}"),
            Self::TooLarge { max_bytes } => write!(f, "the file is larger than {max_bytes} bytes, which no configuration needs"),
            Self::NoCheck => f.write_str(
                "no check is set, and a run without one has nothing to converge on; give --check, or set check in [loop] of loopexec.toml (`loopexec init` writes one)",
            ),
            Self::Unpinned { missing } => write!(
                f,
                "pins are required, and these are not declared: {}; declare them (\"n/a\" is a declaration), or set pins to optional",
                missing.join(", ")
            ),
            Self::UnreadContext { files } => write!(
                f,
                "pins are required, and these context files cannot be read as regular files: {}; mend their paths, or set pins to optional",
                files.iter().map(|file| quoted(file)).collect::<Vec<_>>().join(", ")
            ),
            Self::BudgetWithoutMetering => f.write_str(
                "a budget is set, but nothing measures what is spent; add --metering observed or --metering strict, or drop the budget",
            ),
            Self::NoBash => f.write_str("pipefail needs bash, and no bash was found on PATH; install it, or switch pipefail off"),
        }
    }
}

/// `text` in quotes, short and with control characters escaped: it came from outside.
fn quoted(text: &str) -> String {
    const SHOWN_MAX: usize = 120;
    let mut out = String::from("`");
    for (i, character) in text.chars().enumerate() {
        if i == SHOWN_MAX {
            out.push('…');
            break;
        }
        if character.is_control() {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out.push('`');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_where_what_and_what_was_meant() {
        let error = ConfigError::new(
            Place::File {
                path: "loopexec.toml".into(),
                line: 3,
                column: 1,
            },
            Fault::Unknown {
                what: "setting",
                name: "bounds.max_iteration".into(),
                nearest: Some("bounds.max_iterations".into()),
            },
        );
        assert_eq!(
            error.to_string(),
            "loopexec.toml:3:1: there is no setting `bounds.max_iteration`; did you mean `bounds.max_iterations`?"
        );
    }

    #[test]
    fn what_is_quoted_can_neither_flood_nor_forge_a_terminal() {
        let shown = quoted(&format!("\u{1b}[2J{}", "x".repeat(5_000)));
        assert!(!shown.contains('\u{1b}') && shown.chars().count() < 140, "{shown}");
    }

    #[test]
    fn the_class_follows_from_place_and_fault() {
        let empty = Fault::Empty { what: "the command" };
        let class = |place, fault| ConfigError::new(place, fault).class();
        assert_eq!(class(Place::Flag("--check".into()), empty.clone()).exit_code(), 2);
        assert_eq!(class(Place::Env("LOOPEXEC_CHECK".into()), empty).exit_code(), 30);
        let low = Fault::BelowMinimum {
            found: "0".into(),
            minimum: "1".into(),
        };
        let bound = ConfigError::of(Place::Flag("--max-iterations".into()), ITERATION_BOUND, low);
        assert_eq!(bound.class().exit_code(), 20);
        assert_eq!(class(Place::Contract, Fault::NoCheck).exit_code(), 30);
    }
}
