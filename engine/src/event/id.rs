//! Identities and small values that facts are made of: digests, raw bytes, stamps.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::shape::{Shape, label, wire};

/// A 32-byte blake3 digest; 64 lowercase hex digits in JSON.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize,
)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest that stands for "nothing": all zero.
    pub const ZERO: Self = Self([0; 32]);

    /// Lowercase hex.
    pub fn hex(&self) -> String {
        String::from(self.spelled(&mut [0; 64]))
    }

    /// The same in room that the caller has: journals spell many of them.
    fn spelled<'r>(&self, room: &'r mut [u8; 64]) -> &'r str {
        const DIGITS: [u8; 16] = *b"0123456789abcdef";
        for (pair, byte) in room.chunks_exact_mut(2).zip(self.0) {
            let nibbles = [byte >> 4, byte & 15].map(usize::from);
            pair.copy_from_slice(&nibbles.map(|nibble| DIGITS[nibble]));
        }
        str::from_utf8(room).unwrap_or_default()
    }

    /// Reads 64 hex digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.len() != 64 {
            return None;
        }
        let mut out = [0_u8; 32];
        for (slot, pair) in out.iter_mut().zip(bytes.chunks_exact(2)) {
            *slot = hex_value(pair[0])? << 4 | hex_value(pair[1])?;
        }
        Some(Self(out))
    }

    /// The first twelve hex digits, for people.
    pub fn short(&self) -> String {
        let mut hex = self.hex();
        hex.truncate(12);
        hex
    }
}

/// Lowercase only, so that one digest has one spelling.
fn hex_value(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.short())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spelled(&mut [0; 64]))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.spelled(&mut [0; 64]))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_hex(&text).ok_or_else(|| D::Error::custom("a digest is 64 lowercase hex digits"))
    }
}

impl Shape for Digest {
    fn shape(out: &mut String) {
        out.push_str("digest");
    }
}

/// Bytes of the world that need not be text: paths, captured output. In JSON a string in which valid
/// UTF-8 stands as it is, a backslash is doubled and every other byte is `\xNN`: nothing is lost.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    /// The lossless text form.
    pub fn text(&self) -> String {
        let mut out = String::with_capacity(self.0.len());
        for chunk in self.0.utf8_chunks() {
            for character in chunk.valid().chars() {
                if character == '\\' {
                    out.push('\\');
                }
                out.push(character);
            }
            for byte in chunk.invalid() {
                out.push_str("\\x");
                for nibble in [byte >> 4, byte & 15] {
                    out.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
                }
            }
        }
        out
    }

    /// Reads the text form back; `None` when an escape is malformed.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut out = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let Some((&byte, tail)) = rest.split_first() {
            if byte != b'\\' {
                out.push(byte);
                rest = tail;
                continue;
            }
            match tail {
                [b'\\', after @ ..] => {
                    out.push(b'\\');
                    rest = after;
                }
                [b'x', high, low, after @ ..] => {
                    out.push(hex_value(*high)? << 4 | hex_value(*low)?);
                    rest = after;
                }
                _ => return None,
            }
        }
        Some(Self(out))
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl From<&str> for Bytes {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text(), f)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_text(&text).ok_or_else(|| D::Error::custom("bytes hold a malformed \\xNN escape"))
    }
}

impl Shape for Bytes {
    fn shape(out: &mut String) {
        out.push_str("bytes");
    }
}

wire! {
    /// When something was seen. Wall time is for people; every duration and deadline is computed from
    /// the monotonic clock, so that a changed clock or a sleeping machine cannot lie (SPEC 8.4).
    #[derive(Copy, Default)]
    pub struct Stamp {
        /// Milliseconds since the Unix epoch, UTC.
        pub wall_ms: u64,
        /// Milliseconds of the monotonic clock since this process of the governor started.
        pub mono_ms: u64,
    }
}

label! {
    /// The rooms of an iteration and of a run, by name.
    pub enum PhaseName {
        Open = "open",
        BuildContext = "build_context",
        Execute = "execute",
        Check = "check",
        Guards = "guards",
        Ratchet = "ratchet",
        Progress = "progress",
        Checkpoint = "checkpoint",
        Closed = "closed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_digest_survives_its_hex_and_has_one_spelling() {
        let digest = Digest(core::array::from_fn(|i| u8::try_from(i * 7 % 256).unwrap()));
        assert_eq!(Digest::from_hex(&digest.hex()), Some(digest));
        assert_eq!(Digest::from_hex(&digest.hex().to_uppercase()), None);
        assert_eq!(Digest::from_hex("00"), None);
    }

    proptest::proptest! {
        #[test]
        fn bytes_survive_their_text_form(raw: Vec<u8>) {
            let bytes = Bytes(raw);
            proptest::prop_assert_eq!(Bytes::from_text(&bytes.to_string()), Some(bytes));
        }
    }

    #[test]
    fn a_broken_escape_is_refused() {
        for text in ["\\", "\\x1", "\\q", "\\xZZ"] {
            assert_eq!(Bytes::from_text(text), None, "{text}");
        }
    }
}
