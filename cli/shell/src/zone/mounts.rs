//! What is mounted in a zone, as its first process reads it.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::process::bytes;

/// What the kernel shows of itself; bwrap's own, and of harmless devices alone.
const KERNELS: [&str; 2] = ["/proc", "/dev"];

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mounted {
    #[serde(with = "bytes::one")]
    pub(super) at: PathBuf,
    pub(super) kind: String,
}

/// Of the kernel's table. What it shows itself, `/proc` and `/dev`, is left out.
pub(super) fn mounts(table: &[u8]) -> Vec<Mounted> {
    let lines = table.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let one = |line: &[u8]| {
        let mut words = line.split(|byte| *byte == b' ');
        let at = PathBuf::from(OsString::from_vec(unescaped(words.nth(4)?)));
        // Optional words stand between, and a dash ends them.
        let kind = words.skip_while(|word| *word != b"-").nth(1)?;
        Some(Mounted {
            at,
            kind: String::from_utf8_lossy(kind).into_owned(),
        })
    };
    // A line that cannot be read is a mount that nobody planned.
    let unread = || Mounted {
        at: "/?".into(),
        kind: String::new(),
    };
    let all = lines.map(|line| one(line).unwrap_or_else(unread));
    all.filter(|mounted| !KERNELS.iter().any(|place| mounted.at.starts_with(place)))
        .collect()
}

/// Blanks and the like stand in octal digits behind a backslash.
fn unescaped(word: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match (first, byte) {
            (b'\\', Some(byte)) => {
                plain.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            _ => {
                plain.push(*first);
                rest = after;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn mounted(at: &str, kind: &str) -> Mounted {
        Mounted {
            at: at.into(),
            kind: kind.to_owned(),
        }
    }

    #[test]
    fn mounts_are_read_with_blanks_in_their_names_and_the_kernels_own_are_left_out() {
        let table = b"1 0 0:1 / / rw - tmpfs tmpfs rw\n2 1 8:1 /a /a\\040b ro shared:1 master:2 - ext4 /dev/x rw\n\
            3 1 0:2 / /proc rw - proc proc rw\n4 1 0:3 / /dev/shm rw - tmpfs tmpfs rw\nodd\n";
        let seen = mounts(table);
        assert_eq!(seen[..2], [mounted("/", "tmpfs"), mounted("/a b", "ext4")]);
        assert_eq!(
            (seen.len(), seen[2].kind.as_str()),
            (3, ""),
            "what cannot be read is no planned mount"
        );
        let own = mounts(&fs::read("/proc/self/mountinfo").unwrap());
        assert!(
            own.iter()
                .any(|mounted| mounted.at == Path::new("/") && !mounted.kind.is_empty())
        );
    }
}
