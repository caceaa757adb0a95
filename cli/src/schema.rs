//! The JSON Schemas of `--json` (SPEC 2.2.5), made from the types that are printed.
//!
//! ```text
//!   Answer, the common members ──┐
//!   Objects of a command ────────┼──> tests/golden/schemas/<command>.json
//!   Help ────────────────────────┘
//!   Event ───────────────────────────> tests/golden/schemas/event.json, a line of `run --events`
//! ```
//!
//! Only tests are built with this room: a schema that is no longer what the types say fails here, and the end-to-end
//! tests hold every answer of the real program to the files.

mod event;

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use engine::event::halt::HaltReason;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::app::Help;
use crate::command;
use crate::outcome::{Answer, TOOL};
use crate::render::Opening;

/// Spells what is added to the common members.
pub(crate) type Added = fn(&mut SchemaGenerator) -> Schema;

/// The halt reasons, as the engine lists them.
pub(crate) struct Reason;

impl JsonSchema for Reason {
    fn schema_name() -> Cow<'static, str> {
        "HaltReason".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let labels: Vec<_> = HaltReason::ALL.iter().map(|reason| reason.label()).collect();
        json_schema!({"type": "string", "enum": labels})
    }
}

/// The words of SPEC 2.2.4.
pub(crate) struct Status;

impl JsonSchema for Status {
    fn schema_name() -> Cow<'static, str> {
        "Status".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "enum": statuses()})
    }
}

#[test]
fn every_answer_has_the_schema_that_its_types_say() {
    let mut kept: Vec<PathBuf> = Vec::new();
    for (name, schema) in schemas() {
        let path = folder().join(format!("{name}.json"));
        let mut text = serde_json::to_string_pretty(&schema).unwrap();
        text.push('\n');
        if std::env::var_os("LOOPEXEC_REGENERATE").is_some_and(|value| value == "1") {
            fs::write(&path, &text).unwrap();
        }
        let old = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            old == text,
            "{} is not what the types say; LOOPEXEC_REGENERATE=1 rewrites it",
            path.display()
        );
        kept.push(path);
    }
    let mut found: Vec<_> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    found.sort();
    kept.sort();
    assert_eq!(found, kept, "a schema of nothing");
}

#[test]
fn the_words_for_a_status_are_those_of_the_contract() {
    let statuses = statuses();
    assert!(
        statuses.contains(&"halted".to_owned()) && statuses.len() > 10,
        "{statuses:?}"
    );
}

fn schemas() -> Vec<(String, Value)> {
    let mut all: Vec<_> = command::objects()
        .into_iter()
        .map(|(name, added)| (name.to_owned(), answer(name, Some(added))))
        .collect();
    let help: Added = |generator| generator.subschema_for::<Help>();
    all.push(("help".to_owned(), answer("help", Some(help))));
    // A line that names no command is only ever refused.
    all.push(("usage".to_owned(), answer("usage", None)));
    let mut events = settings().into_root_schema_for::<Opening<'_>>().to_value();
    events["title"] = json!("loopexec.events/1");
    events["properties"]["schema"] = json!({"const": "loopexec.events/1"});
    all.push(("events".to_owned(), events));
    all.push(("event".to_owned(), event::schema()));
    all
}

/// What is added may be missing only where the command failed.
fn answer(name: &str, added: Option<Added>) -> Value {
    let mut generator = settings();
    let added = added.map(|added| added(&mut generator).to_value());
    let mut schema = generator.root_schema_for::<Answer>().to_value();
    let title = format!("{TOOL}.{name}/1");
    schema["properties"]["schema"] = json!({"const": &title});
    schema["title"] = json!(title);
    let failed = json!({"properties": {"status": {"const": "error"}}});
    schema["anyOf"] = added.into_iter().chain([failed]).collect();
    schema
}

fn settings() -> SchemaGenerator {
    SchemaSettings::draft2020_12().for_serialize().into_generator()
}

fn statuses() -> Vec<String> {
    let spec = fs::read_to_string(repository().join("SPEC.md")).unwrap();
    let (_, words) = spec.split_once("**2.2.4** `status` is one of").unwrap();
    let (words, _) = words.split_once("\n\n").unwrap();
    words.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn folder() -> PathBuf {
    repository().join("tests/golden/schemas")
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
