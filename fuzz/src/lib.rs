//! Fuzz targets as plain functions: libFuzzer calls them with new bytes, `cargo test` with the corpus.
//!
//! ```text
//! cargo fuzz run --fuzz-dir fuzz --features libfuzzer --sanitizer none reduce COPY_OF_THE_CORPUS
//! ```
//!
//! A new target is one function, one line in [`TARGETS`], two lines in `fuzz_targets/`, a `[[bin]]` and a
//! corpus folder. Targets over raw bytes of a journal belong into `bytes.rs`, those whose hashes the harness
//! makes right into files of their own, those over what other programs write into `text.rs`,
//! those over what was seen of a check while it ran into `measured.rs`, and those over source text into `sources.rs`.

pub mod bodies;
pub mod bytes;
pub mod chain;
mod forge;
pub mod measured;
pub mod reduce;
pub mod sources;
pub mod text;

/// A target: panics on a broken property and answers with a label of what it reached.
pub type Target = fn(&[u8]) -> String;

/// Every target by the name of its corpus folder.
pub const TARGETS: &[(&str, Target)] = &[
    ("bodies", bodies::bodies),
    ("chain", chain::chain),
    ("collect", text::collect),
    ("config", text::config),
    ("coverage", measured::coverage),
    ("frame", bytes::frame),
    ("recover", bytes::recover),
    ("reduce", reduce::reduce),
    ("syntax", sources::syntax),
    ("trace", measured::trace),
];
