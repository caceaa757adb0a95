//! Paths as bytes: how they are written for people, and which ones are acceptable.
//!
//! Inside this room a path is a byte string relative to the workdir, components joined by one `/`,
//! because a file name on Linux is bytes and not text.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Writes a path as text without losing anything: valid UTF-8 stays as it is, a backslash is doubled,
/// control characters and bytes that are not UTF-8 become `\xNN`. [`path_bytes`] is the inverse.
pub fn path_text(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\\' => text.push_str("\\\\"),
                c if c.is_control() => {
                    let mut encoded = [0; 4];
                    c.encode_utf8(&mut encoded)
                        .bytes()
                        .for_each(|b| push_escape(&mut text, b));
                }
                c => text.push(c),
            }
        }
        chunk.invalid().iter().for_each(|b| push_escape(&mut text, *b));
    }
    text
}

fn push_escape(text: &mut String, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    text.push_str("\\x");
    text.push(char::from(HEX[usize::from(byte >> 4)]));
    text.push(char::from(HEX[usize::from(byte & 15)]));
}

/// Reads what [`path_text`] wrote; `None` when the text holds a backslash that it would not write.
pub fn path_bytes(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        if *first != b'\\' {
            bytes.push(*first);
            rest = tail;
            continue;
        }
        match tail {
            [b'\\', after @ ..] => {
                bytes.push(b'\\');
                rest = after;
            }
            [b'x', high, low, after @ ..] => {
                bytes.push(hex_value(*high)? << 4 | hex_value(*low)?);
                rest = after;
            }
            _ => return None,
        }
    }
    Some(bytes)
}

fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// Lower-case hexadecimal of any bytes.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// True for a path that names something beneath the workdir and outside every `.git`: no empty, `.`,
/// `..` or `.git` component, no NUL, not absolute, not empty.
pub(crate) fn is_inside(path: &[u8]) -> bool {
    !path.is_empty()
        && path
            .split(|b| *b == b'/')
            .all(|part| !matches!(part, b"" | b"." | b".." | b".git") && !part.contains(&0))
}

/// Directory and last component of a path; the directory of a top-level name is empty.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|b| *b == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}

/// `dir/name`, or `name` when `dir` is the workdir itself.
pub(crate) fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(dir.len() + name.len() + 1);
    if !dir.is_empty() {
        path.extend_from_slice(dir);
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

/// True when `path` is `dir` or lies beneath it; the empty `dir` holds everything.
pub(crate) fn is_under(path: &[u8], dir: &[u8]) -> bool {
    dir.is_empty() || (path.starts_with(dir) && matches!(path.get(dir.len()), None | Some(b'/')))
}

/// The directories above a path, nearest first, without the workdir itself.
pub(crate) fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::successors(Some(split(path).0), |dir| Some(split(dir).0)).take_while(|dir| !dir.is_empty())
}

/// Bytes as a path of the operating system.
pub(crate) fn os(path: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_path_survives_being_written_as_text(path in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(path_bytes(&path_text(&path)), Some(path));
        }
    }

    #[test]
    fn text_is_readable_where_it_can_be() {
        assert_eq!(path_text("naïve/é.txt".as_bytes()), "naïve/é.txt");
        assert_eq!(path_text(b"a\\b\n\xff"), "a\\\\b\\x0a\\xff");
        assert_eq!(path_bytes("a\\q"), None);
    }

    #[test]
    fn only_paths_beneath_the_workdir_and_outside_git_are_inside() {
        assert!(is_inside(b"a/.gitignore"));
        for bad in [
            &b""[..],
            b"/etc/passwd",
            b"a/../b",
            b"a//b",
            b"./a",
            b".git/config",
            b"sub/.git/x",
            b"a\0b",
        ] {
            assert!(!is_inside(bad), "{}", path_text(bad));
        }
    }

    #[test]
    fn ancestors_go_from_the_nearest_up() {
        assert_eq!(ancestors(b"a/b/c").collect::<Vec<_>>(), [&b"a/b"[..], b"a"]);
        assert_eq!(ancestors(b"a").count(), 0);
    }
}
