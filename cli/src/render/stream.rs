//! `run --events`: the journal as it becomes durable, one JSON line an event.

use engine::event::Event;
use serde::Serialize;

use super::out;
use crate::outcome::{TOOL, VERSION};

/// The first record of the stream.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Opening<'a> {
    schema: &'static str,
    tool: &'static str,
    version: &'static str,
    run_id: &'a str,
}

#[derive(Serialize)]
struct Line<'a> {
    seq: u64,
    #[serde(flatten)]
    event: &'a Event,
}

/// Writes the stream.
#[derive(Debug, Default)]
pub(crate) struct EventStream;

impl EventStream {
    /// The version record, first of all.
    pub(crate) fn opening(run_id: &str) {
        line(&Opening {
            schema: "loopexec.events/1",
            tool: TOOL,
            version: VERSION,
            run_id,
        });
    }

    pub(crate) fn event(seq: u64, event: &Event) {
        line(&Line { seq, event });
    }
}

fn line(value: &impl Serialize) {
    if let Ok(mut text) = serde_json::to_string(value) {
        text.push('\n');
        let _gone = out(&text);
    }
}
