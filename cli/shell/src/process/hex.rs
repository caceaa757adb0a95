//! Byte strings inside JSON: paths, arguments and output are bytes, not text, and must survive unchanged.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Lower-case hexadecimal of these bytes.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    digits
        .chunks_exact(2)
        .map(|pair| Some((value(pair[0])? << 4) | value(pair[1])?))
        .collect()
}

fn value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// What is made of bytes and can be made from them again.
pub(super) trait Bytes: Sized {
    fn bytes(&self) -> &[u8];
    fn from_bytes(bytes: Vec<u8>) -> Option<Self>;
}

impl Bytes for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
    fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        Some(bytes)
    }
}

impl Bytes for [u8; 32] {
    fn bytes(&self) -> &[u8] {
        self
    }
    fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        bytes.try_into().ok()
    }
}

impl Bytes for OsString {
    fn bytes(&self) -> &[u8] {
        OsStrExt::as_bytes(self.as_os_str())
    }
    fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        Some(OsStringExt::from_vec(bytes))
    }
}

impl Bytes for PathBuf {
    fn bytes(&self) -> &[u8] {
        OsStrExt::as_bytes(self.as_os_str())
    }
    fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        Some(Self::from(OsString::from_vec(bytes)))
    }
}

/// The one shape on the wire; the modules below say how many of it a field holds.
struct Hex<T>(T);

impl<T: Bytes> Serialize for Hex<&T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&encode(self.0.bytes()))
    }
}

impl<'de, T: Bytes> Deserialize<'de> for Hex<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Digits are never escaped, so the message itself lends them.
        let text = <&str>::deserialize(deserializer)?;
        decode(text)
            .and_then(T::from_bytes)
            .map(Hex)
            .ok_or_else(|| D::Error::custom("not hexadecimal"))
    }
}

pub(super) mod one {
    use super::{Bytes, Deserialize, Deserializer, Hex, Serialize, Serializer};

    pub(in super::super) fn serialize<T: Bytes, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        Hex(value).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, T: Bytes, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        Ok(Hex::deserialize(deserializer)?.0)
    }
}

pub(super) mod option {
    use super::{Bytes, Deserialize, Deserializer, Hex, Serialize, Serializer};

    pub(in super::super) fn serialize<T: Bytes, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().map(Hex).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, T: Bytes, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        Ok(Option::<Hex<T>>::deserialize(deserializer)?.map(|hex| hex.0))
    }
}

pub(super) mod list {
    use super::{Bytes, Deserialize, Deserializer, Hex, Serializer};

    pub(in super::super) fn serialize<T: Bytes, S: Serializer>(values: &[T], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(Hex))
    }

    pub(in super::super) fn deserialize<'de, T: Bytes, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<T>, D::Error> {
        Ok(Vec::<Hex<T>>::deserialize(deserializer)?
            .into_iter()
            .map(|hex| hex.0)
            .collect())
    }
}

pub(super) mod pairs {
    use super::{Bytes, Deserialize, Deserializer, Hex, Serializer};

    pub(in super::super) fn serialize<T: Bytes, S: Serializer>(
        values: &[(T, T)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|(left, right)| (Hex(left), Hex(right))))
    }

    pub(in super::super) fn deserialize<'de, T: Bytes, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(T, T)>, D::Error> {
        Ok(Vec::<(Hex<T>, Hex<T>)>::deserialize(deserializer)?
            .into_iter()
            .map(|(l, r)| (l.0, r.0))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn every_byte_survives() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&all)), Some(all));
    }

    #[test]
    fn anything_but_pairs_of_digits_is_refused() {
        for bad in ["0", "0g", "AA", "é"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
