//! One line of strace's output: who called what, with which arguments, and what came of it. Pure and total: a line that
//! is none is said to be none.
//!
//! ```text
//!   4711  openat(AT_FDCWD</w>, "a b", O_RDONLY) = 3</w/a b>
//!   4711  vfork( <unfinished ...>
//!   4711  <... vfork resumed>) = 4712
//! ```

use std::borrow::Cow;

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended<'a> {
    /// A number, and the path that strace says it stands for.
    Value(i64, Option<Vec<u8>>),
    Failed(&'a [u8]),
    /// Nobody saw its end.
    Unknown,
}

/// A call that began and, as far as is known, ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call<'a> {
    pub name: &'a [u8],
    pub args: Vec<&'a [u8]>,
    pub ended: Ended<'a>,
}

/// What a line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Whole(&'a [u8]),
    /// The rest comes in a later line of the same process.
    Unfinished(&'a [u8]),
    Resumed(&'a [u8]),
    /// A signal, an end, a remark of strace.
    Other,
}

const UNFINISHED: &[u8] = b" <unfinished ...>";

/// The process of a line, and what kind of line it is; `None` for what strace does not write.
pub(super) fn line(text: &[u8]) -> Option<(u32, Line<'_>)> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (pid, rest) = text.split_at_checked(digits)?;
    let pid = std::str::from_utf8(pid).ok()?.parse().ok()?;
    let rest = rest.strip_prefix(b" ")?.trim_ascii();
    let kind = match rest.first()? {
        b'+' | b'-' | b'[' => Line::Other,
        b'<' => match rest.strip_prefix(b"<... ").and_then(|rest| after(rest, b" resumed>")) {
            Some(rest) => Line::Resumed(rest),
            None => Line::Other,
        },
        b'a'..=b'z' | b'_' | b'?' => match rest.strip_suffix(UNFINISHED) {
            Some(begun) => Line::Unfinished(begun),
            None => Line::Whole(rest),
        },
        _ => return None,
    };
    Some((pid, kind))
}

/// Reads a whole call, or one whose end is missing.
pub(super) fn call(text: &[u8]) -> Option<Call<'_>> {
    let open = text.iter().position(|byte| *byte == b'(')?;
    let (name, rest) = text.split_at_checked(open)?;
    if name.is_empty() || !name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
        return None;
    }
    let rest = rest.get(1..)?;
    let (args, close) = arguments(rest);
    let Some(close) = close else {
        return Some(Call {
            name,
            args,
            ended: Ended::Unknown,
        });
    };
    let result = rest.get(close + 1..)?.trim_ascii_start().strip_prefix(b"= ")?;
    Some(Call {
        name,
        args,
        ended: ended(result)?,
    })
}

/// The arguments, and where the parenthesis behind them is.
fn arguments(text: &[u8]) -> (Vec<&[u8]>, Option<usize>) {
    let (mut args, mut from, mut depth) = (Vec::new(), 0, 0_u32);
    let mut take = |from: usize, to: usize| {
        let arg = text.get(from..to).unwrap_or_default().trim_ascii();
        if !arg.is_empty() {
            args.push(arg);
        }
    };
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => at = quoted_end(text, at + 1, b'"'),
            b'<' => at = quoted_end(text, at + 1, b'>'),
            b'(' | b'[' | b'{' => depth += 1,
            b')' if depth == 0 => {
                take(from, at);
                return (args, Some(at));
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                take(from, at);
                from = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    take(from, text.len());
    (args, None)
}

/// Where the quote ends that begins before `at`; the end of the text if it does not.
fn quoted_end(text: &[u8], mut at: usize, end: u8) -> usize {
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => at += 1,
            byte if *byte == end => return at,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

fn ended(result: &[u8]) -> Option<Ended<'_>> {
    if result.first() == Some(&b'?') {
        return Some(Ended::Unknown);
    }
    let length = result
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-')
        .count();
    let (number, rest) = result.split_at_checked(length)?;
    let number = std::str::from_utf8(number).ok()?;
    let value = match number.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    if value < 0 {
        let why = rest.trim_ascii().split(|byte| *byte == b' ').next().unwrap_or_default();
        return Some(Ended::Failed(why));
    }
    Some(Ended::Value(value, annotated(rest)))
}

/// The path in `<>` at the start of a text; a socket or a pipe has none.
pub(super) fn annotated(text: &[u8]) -> Option<Vec<u8>> {
    let inner = text.strip_prefix(b"<")?;
    let inner = inner.get(..quoted_end(inner, 0, b'>'))?;
    let path = unescaped(inner);
    (path.first() == Some(&b'/')).then_some(path)
}

/// The text of an argument that is a string; `None` for a pointer or a cut one.
pub(super) fn string(arg: &[u8]) -> Option<Vec<u8>> {
    let inner = arg.strip_prefix(b"\"")?;
    let end = quoted_end(inner, 0, b'"');
    let is_whole = inner.get(end..)? == b"\"";
    is_whole.then(|| unescaped(inner.get(..end).unwrap_or_default()))
}

/// Every address of an argument: what stands behind `sa_family=`, up to the brace that closes it.
pub(super) fn addresses(arg: &[u8]) -> Vec<&[u8]> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(rest) = arg.get(at..).filter(|rest| !rest.is_empty()) {
        if let Some(body) = rest.strip_prefix(b"sa_family=") {
            let end = body_end(body);
            found.push(body.get(..end).unwrap_or_default());
            at += b"sa_family=".len() + end;
        } else if rest.first() == Some(&b'"') {
            at = quoted_end(arg, at + 1, b'"') + 1;
        } else {
            at += 1;
        }
    }
    found
}

fn body_end(body: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = body.get(at) {
        match byte {
            b'"' => at = quoted_end(body, at + 1, b'"'),
            b'}' => return at,
            _ => {}
        }
        at += 1;
    }
    body.len()
}

/// What stands behind `mark`.
pub(super) fn after<'a>(text: &'a [u8], mark: &[u8]) -> Option<&'a [u8]> {
    let at = text.windows(mark.len()).position(|part| part == mark)?;
    text.get(at + mark.len()..)
}

/// The bytes that escapes stand for: strace writes them as C does.
pub(super) fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let Some((kind, behind)) = rest.split_first() else {
            break;
        };
        rest = behind;
        let plain = match kind {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'v' => 0x0b,
            b'f' => 0x0c,
            b'x' => number(&mut rest, 2, 16, 0),
            b'0'..=b'7' => number(&mut rest, 2, 8, u32::from(kind - b'0')),
            other => *other,
        };
        bytes.push(plain);
    }
    bytes
}

/// At most so many further digits of a number that begins with `value`.
fn number(rest: &mut &[u8], digits: usize, radix: u32, mut value: u32) -> u8 {
    for _ in 0..digits {
        let Some((first, behind)) = rest.split_first() else {
            break;
        };
        let Some(digit) = char::from(*first).to_digit(radix) else {
            break;
        };
        value = value * radix + digit;
        *rest = behind;
    }
    u8::try_from(value & 0xff).unwrap_or_default()
}

/// A name for people.
pub(super) fn shown(path: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(path)
}

#[cfg(test)]
mod tests;
