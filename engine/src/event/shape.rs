//! Shapes: the text that says what the bytes of an event mean.
//!
//! Every type of the written vocabulary can spell its own structure. The journal hashes that text
//! into the schema fingerprint it stores beside the events (SPEC 12.6), so a reader that meets an
//! unknown fingerprint knows that it would misread the bytes, and a build whose shapes changed
//! without a version bump fails its own test.

use alloc::string::String;
use alloc::vec::Vec;

/// A type that can spell its wire structure.
pub trait Shape {
    /// Appends the structure of `Self` to `out`, for example `{run_id:str,at:{wall_ms:u64,mono_ms:u64}}`.
    fn shape(out: &mut String);
}

macro_rules! leaf_shapes {
    ($($ty:ty => $text:literal),* $(,)?) => {$(
        impl Shape for $ty {
            fn shape(out: &mut String) {
                out.push_str($text);
            }
        }
    )*};
}

leaf_shapes! {
    bool => "bool",
    u8 => "u8",
    u16 => "u16",
    u32 => "u32",
    u64 => "u64",
    i32 => "i32",
    i64 => "i64",
    String => "str",
}

impl<T: Shape> Shape for Vec<T> {
    fn shape(out: &mut String) {
        out.push('[');
        T::shape(out);
        out.push(']');
    }
}

impl<T: Shape> Shape for Option<T> {
    fn shape(out: &mut String) {
        T::shape(out);
        out.push('?');
    }
}

/// Declares a plain struct of the written vocabulary: serialised by serde (canonical JSON: the field
/// order below) and rkyv (the journal's payload), with its [`Shape`].
macro_rules! wire {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$fmeta:meta])* pub $field:ident : $ty:ty),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
                 rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
        #[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$fmeta])* pub $field: $ty),* }

        impl $crate::event::shape::Shape for $name {
            fn shape(out: &mut alloc::string::String) {
                out.push('{');
                $(
                    out.push_str(stringify!($field));
                    out.push(':');
                    <$ty as $crate::event::shape::Shape>::shape(out);
                    out.push(',');
                )*
                out.push('}');
            }
        }
    };
}

/// Declares a small enum of the written vocabulary: one checked byte in the journal, a stable label in
/// JSON. Variants are numbered by position and never reordered: append only.
macro_rules! label {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $label:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
                 rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
        #[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
        pub enum $name { $($(#[$vmeta])* #[serde(rename = $label)] $variant),* }

        impl $name {
            /// Every variant, in wire order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The stable text of this variant.
            pub const fn label(self) -> &'static str {
                match self { $(Self::$variant => $label),* }
            }

            /// The variant with this label.
            pub fn from_label(label: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|v| v.label() == label)
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.label())
            }
        }

        impl $crate::event::shape::Shape for $name {
            fn shape(out: &mut alloc::string::String) {
                out.push_str(concat!("<", $($label, "|",)* ">"));
            }
        }
    };
}

pub(crate) use {label, wire};
