//! Byte strings inside messages: paths, arguments and output are bytes, not text, and travel as one piece.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

/// What is made of bytes and can be made from them again.
pub(crate) trait Bytes: Sized {
    fn bytes(&self) -> &[u8];
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

impl Bytes for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(bytes.to_vec())
    }
}

impl Bytes for [u8; 32] {
    fn bytes(&self) -> &[u8] {
        self
    }
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok()
    }
}

impl Bytes for OsString {
    fn bytes(&self) -> &[u8] {
        OsStrExt::as_bytes(self.as_os_str())
    }
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(OsStringExt::from_vec(bytes.to_vec()))
    }
}

impl Bytes for PathBuf {
    fn bytes(&self) -> &[u8] {
        OsStrExt::as_bytes(self.as_os_str())
    }
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self::from(OsString::from_vec(bytes.to_vec())))
    }
}

/// The one shape on the wire; the modules below say how many of it a field holds.
struct Raw<T>(T);

impl<T: Bytes> Serialize for Raw<&T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0.bytes())
    }
}

impl<'de, T: Bytes> Deserialize<'de> for Raw<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let lent = <&[u8]>::deserialize(deserializer)?;
        T::from_bytes(lent)
            .map(Raw)
            .ok_or_else(|| D::Error::custom("a byte string of another length"))
    }
}

pub(crate) mod one {
    use super::{Bytes, Deserialize, Deserializer, Raw, Serialize, Serializer};

    pub(crate) fn serialize<T: Bytes, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        Raw(value).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, T: Bytes, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        Ok(Raw::deserialize(deserializer)?.0)
    }
}

pub(crate) mod option {
    use super::{Bytes, Deserialize, Deserializer, Raw, Serialize, Serializer};

    pub(crate) fn serialize<T: Bytes, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().map(Raw).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, T: Bytes, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        Ok(Option::<Raw<T>>::deserialize(deserializer)?.map(|raw| raw.0))
    }
}

pub(crate) mod list {
    use super::{Bytes, Deserialize, Deserializer, Raw, Serializer};

    pub(crate) fn serialize<T: Bytes, S: Serializer>(values: &[T], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(Raw))
    }

    pub(crate) fn deserialize<'de, T: Bytes, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<T>, D::Error> {
        Ok(Vec::<Raw<T>>::deserialize(deserializer)?
            .into_iter()
            .map(|raw| raw.0)
            .collect())
    }
}

pub(crate) mod pairs {
    use super::{Bytes, Deserialize, Deserializer, Raw, Serializer};

    pub(crate) fn serialize<T: Bytes, S: Serializer>(
        values: &[(T, T)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|(left, right)| (Raw(left), Raw(right))))
    }

    pub(crate) fn deserialize<'de, T: Bytes, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(T, T)>, D::Error> {
        Ok(Vec::<(Raw<T>, Raw<T>)>::deserialize(deserializer)?
            .into_iter()
            .map(|(l, r)| (l.0, r.0))
            .collect())
    }
}
