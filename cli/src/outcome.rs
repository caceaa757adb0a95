//! What a command has to say, once for people and once for programs.

use engine::event::halt::HaltReason;
use serde::Serialize;
use serde_json::{Map, Value};

/// Name of the tool in every object.
pub(crate) const TOOL: &str = "loopexec";
/// Version of this build.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The one JSON object of a command (SPEC 2.2.3).
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Answer {
    /// Shape and major version, as in `loopexec.run/1`.
    pub(crate) schema: String,
    pub(crate) tool: &'static str,
    pub(crate) version: &'static str,
    #[cfg_attr(test, schemars(with = "crate::schema::Status"))]
    pub(crate) status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) run_id: Option<String>,
    /// Present whenever a run is spoken of, 0 being the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) iteration: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<crate::schema::Reason>"))]
    pub(crate) halt_reason: Option<HaltReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failure_cause: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) check_exit: Option<i32>,
    /// Path of `receipt.jsonl`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) receipt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) advice: Option<Advice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) verdict: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) verified: Option<bool>,
    /// The objects of this command.
    #[serde(flatten)]
    #[cfg_attr(test, schemars(skip))]
    pub(crate) objects: Map<String, Value>,
    pub(crate) errors: Vec<String>,
}

/// What to make of a halt, and what to type next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Advice {
    pub(crate) verdict: &'static str,
    pub(crate) why: String,
    /// A command line that can be run as printed.
    pub(crate) next: String,
}

impl Answer {
    /// An answer of `command` with nothing to tell yet.
    pub(crate) fn new(command: &str, status: &'static str) -> Self {
        Self {
            schema: format!("{TOOL}.{command}/1"),
            tool: TOOL,
            version: VERSION,
            status,
            run_id: None,
            iteration: None,
            halt_reason: None,
            failure_cause: None,
            check_exit: None,
            receipt: None,
            advice: None,
            verdict: None,
            why: None,
            verified: None,
            objects: Map::new(),
            errors: Vec::new(),
        }
    }

    /// Adds the objects of this command: a struct whose members are those of the answer.
    pub(crate) fn with(mut self, objects: &impl Serialize) -> Self {
        // Plain structs with string keys cannot fail to become a value.
        if let Ok(Value::Object(members)) = serde_json::to_value(objects) {
            self.objects.extend(members);
        }
        self
    }
}

/// A command that did what it was asked, or a result that has an exit code of its own.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) answer: Answer,
    /// For people, on standard output; ended with a line end.
    pub(crate) text: String,
    /// For people, on standard error: one warning a line.
    pub(crate) warnings: Vec<String>,
    pub(crate) exit: u8,
}

impl Outcome {
    pub(crate) fn new(answer: Answer, text: impl Into<String>) -> Self {
        Self {
            answer,
            text: text.into(),
            warnings: Vec::new(),
            exit: 0,
        }
    }

    pub(crate) fn exiting(mut self, exit: u8) -> Self {
        self.exit = exit;
        self
    }

    pub(crate) fn warning(mut self, warnings: impl IntoIterator<Item = String>) -> Self {
        self.warnings.extend(warnings);
        self
    }
}
