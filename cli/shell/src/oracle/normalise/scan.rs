//! Recognisers of one thing at one place. Each returns the length of what it recognised.

/// How far a rule looks back, and how long a path it takes.
const LOOK_LIMIT_BYTES: usize = 256;

/// A line being read from left to right.
pub(super) struct Scan<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl<'a> Scan<'a> {
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// What stands before, as far back as any rule looks: a long line must not cost its square.
    pub(super) fn before(&self) -> &'a str {
        let mut start = self.at.saturating_sub(LOOK_LIMIT_BYTES);
        while !self.text.is_char_boundary(start) {
            start += 1;
        }
        &self.text[start..self.at]
    }

    /// Whether a word, number or name could begin here.
    pub(super) fn at_boundary(&self) -> bool {
        !self.before().ends_with(|c: char| c.is_alphanumeric() || c == '_')
    }
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn ends(text: &str, at: usize) -> bool {
    !text[at..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

pub(super) fn uuid(text: &str) -> Option<usize> {
    let bytes = text.as_bytes().get(..36)?;
    let fits = bytes.iter().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    (fits && ends(text, 36)).then_some(36)
}

/// `HH:MM:SS` with an optional fraction.
pub(super) fn clock(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let two = |at: usize| {
        bytes
            .get(at..at + 2)
            .is_some_and(|pair| pair.iter().all(u8::is_ascii_digit))
    };
    if !(two(0) && bytes.get(2) == Some(&b':') && two(3) && bytes.get(5) == Some(&b':') && two(6)) {
        return None;
    }
    let mut end = 8;
    if matches!(bytes.get(8), Some(b'.' | b',')) && digits(&text[9..]) > 0 {
        end = 9 + digits(&text[9..]);
    }
    Some(end)
}

/// `YYYY-MM-DD` with an optional time of day and zone.
pub(super) fn date(text: &str) -> Option<usize> {
    let bytes = text.as_bytes().get(..10)?;
    let fits = bytes.iter().enumerate().all(|(at, byte)| match at {
        4 | 7 => *byte == b'-' || *byte == b'/',
        _ => byte.is_ascii_digit(),
    });
    if !fits || !matches!(bytes[5], b'0' | b'1') || !matches!(bytes[8], b'0'..=b'3') {
        return None;
    }
    let mut end = 10;
    if text[10..].starts_with(['T', ' '])
        && let Some(length) = clock(&text[11..])
    {
        end = 11 + length;
        let zone = &text[end..];
        if zone.starts_with('Z') {
            end += 1;
        } else if zone.starts_with(['+', '-']) && digits(&zone[1..]) == 2 {
            end += 3;
            let minutes = &text[end..];
            let colon = usize::from(minutes.starts_with(':'));
            if digits(&minutes[colon..]) == 2 {
                end += colon + 2;
            }
        }
    }
    Some(end)
}

/// `0x` and at least four hex digits.
pub(super) fn address(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("0x")?;
    let length = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
    (length >= 4 && ends(rest, length)).then_some(length + 2)
}

/// At least sixteen hex digits, letters and figures mixed: digests and build hashes.
pub(super) fn hex(text: &str) -> Option<usize> {
    let length = text.bytes().take_while(u8::is_ascii_hexdigit).count();
    let mixed = text[..length].bytes().any(|byte| byte.is_ascii_digit())
        && text[..length].bytes().any(|byte| byte.is_ascii_lowercase());
    (length >= 16 && mixed && ends(text, length)).then_some(length)
}

/// A number and a unit of time, with at most one blank between. With `whole`, integers count too.
pub(super) fn duration(text: &str, whole: bool) -> Option<usize> {
    let integer = digits(text);
    if integer == 0 {
        return None;
    }
    let mut end = integer;
    let fraction = text[end..].strip_prefix('.').map_or(0, digits);
    if fraction > 0 {
        end += 1 + fraction;
    } else if !whole {
        return None;
    }
    let blank = usize::from(text[end..].starts_with(' '));
    let unit = &text[end + blank..];
    let units = [
        "milliseconds",
        "seconds",
        "second",
        "minutes",
        "secs",
        "sec",
        "ms",
        "µs",
        "us",
        "ns",
        "s",
        "m",
    ];
    let unit = units
        .iter()
        .find(|word| unit.starts_with(**word) && ends(unit, word.len()))?;
    Some(end + blank + unit.len())
}

/// `:12` or `:12:5` right behind a file or host name.
pub(super) fn position(text: &str) -> Option<usize> {
    let first = digits(text.strip_prefix(':')?);
    if first == 0 || first > 7 {
        return None;
    }
    let mut end = 1 + first;
    if let Some(rest) = text[end..].strip_prefix(':')
        && digits(rest) > 0
    {
        end += 1 + digits(rest);
    }
    ends(text, end).then_some(end)
}

/// An absolute path of at least two components; `(length, where its last component begins)`.
pub(super) fn path(text: &str) -> Option<(usize, usize)> {
    let letter = text.as_bytes().first().is_some_and(u8::is_ascii_alphabetic);
    let drive = letter && (text[1..].starts_with(":\\") || text[1..].starts_with(":/"));
    if !text.starts_with('/') && !drive {
        return None;
    }
    let text = &text[..text.floor_char_boundary(LOOK_LIMIT_BYTES * 16)];
    let start = if drive { 2 } else { 0 };
    let length = start
        + text[start..]
            .find(|c: char| !(c.is_alphanumeric() || "/\\._-+@~=%".contains(c)))
            .unwrap_or(text.len() - start);
    let path = text[..length].trim_end_matches(['.', '/', '\\']);
    let last = path.rfind(['/', '\\'])? + 1;
    (last > 1 && last < path.len()).then_some((path.len(), last))
}

pub(super) fn number(text: &str) -> Option<usize> {
    let length = digits(text);
    (length > 0 && ends(text, length)).then_some(length)
}
