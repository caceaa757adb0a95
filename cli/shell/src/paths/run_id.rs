//! Names of runs: safe as a file name, unique, sortable by start.

use std::fmt;

use super::error::PathError;
use crate::clock::Utc;

const LEN_MAX: usize = 64;

/// The name of a run: 1 to 64 of `A-Z a-z 0-9 . _ -`, and neither `.` nor `..`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

impl RunId {
    /// Takes a name that somebody chose.
    ///
    /// # Errors
    /// [`PathError::BadRunId`] for anything that is not a plain name.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        let fits = (1..=LEN_MAX).contains(&text.len());
        if fits && text.bytes().all(plain) && text != "." && text != ".." {
            return Ok(Self(text.to_owned()));
        }
        Err(PathError::BadRunId {
            found: text.chars().take(LEN_MAX + 1).collect(),
        })
    }

    /// A new name: the start in UTC, then random digits, as in `20261129T154501Z-4f2a9c`.
    ///
    /// # Errors
    /// [`PathError::NoRandomness`].
    pub fn fresh(wall_ms: u64) -> Result<Self, PathError> {
        let mut random = [0_u8; 3];
        getrandom::fill(&mut random).map_err(|error| PathError::NoRandomness {
            detail: error.to_string(),
        })?;
        let [a, b, c] = random;
        let start = Utc::from_wall_ms(wall_ms).compact();
        Self::parse(&format!("{start}-{a:02x}{b:02x}{c:02x}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
