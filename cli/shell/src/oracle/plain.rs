//! Terminal output as plain text: no escapes, one kind of line ending, always valid UTF-8.

/// Removes terminal escape sequences. An unfinished sequence never swallows more than its own line,
/// so that output cannot be hidden behind one.
pub(crate) fn without_escapes(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == 0x1b {
            at = end_of_escape(bytes, at);
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    out
}

fn end_of_escape(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 2;
    match bytes.get(start + 1) {
        Some(b'[') => {
            while bytes.get(at).is_some_and(|byte| (0x20..=0x3f).contains(byte)) {
                at += 1;
            }
            if bytes.get(at).is_some_and(|byte| (0x40..=0x7e).contains(byte)) {
                at + 1
            } else {
                at
            }
        }
        Some(b']' | b'P' | b'X' | b'^' | b'_') => {
            while let Some(byte) = bytes.get(at) {
                match byte {
                    0x07 => return at + 1,
                    0x1b if bytes.get(at + 1) == Some(&b'\\') => return at + 2,
                    b'\n' | 0x1b => return at,
                    _ => at += 1,
                }
            }
            at
        }
        Some(0x20..=0x2f) => (at + 1).min(bytes.len()),
        Some(0x30..=0x7e) => at,
        _ => start + 1,
    }
}

/// Text for line parsers: escapes removed, `\r\n` and lone `\r` as `\n`, invalid UTF-8 replaced.
pub(crate) fn text(bytes: &[u8]) -> String {
    let mut bytes = without_escapes(bytes);
    if bytes.contains(&b'\r') {
        let mut out = Vec::with_capacity(bytes.len());
        let mut previous = 0;
        for &byte in &bytes {
            match byte {
                b'\r' => out.push(b'\n'),
                b'\n' if previous == b'\r' => {}
                _ => out.push(byte),
            }
            previous = byte;
        }
        bytes = out;
    }
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_removed_and_an_unfinished_one_hides_nothing_beyond_its_line() {
        let cases: [(&[u8], &str); 7] = [
            (b"\x1b[1;31mred\x1b[0m", "red"),
            (b"\x1b]8;;http://x\x07link\x1b]8;;\x1b\\", "link"),
            (b"a\x1b]0;never closed\nnext", "a\nnext"),
            (b"a\x1b[31\nnext", "a\nnext"),
            (b"\x1b(Bb\x1b7c", "bc"),
            (b"one\r\ntwo\rthree", "one\ntwo\nthree"),
            (b"\x1b", ""),
        ];
        for (input, expected) in cases {
            assert_eq!(text(input), expected, "{}", input.escape_ascii());
        }
    }
}
