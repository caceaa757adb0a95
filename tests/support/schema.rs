//! One answer held to the schema that it names (SPEC 2.2.5).
//!
//! The files leave room for members of later versions. Here there is none: a member that no schema describes is a
//! fault, and so is a keyword that this page does not know. A cause must be one of its reason (SPEC 4.2.1).

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Map, Value};

use super::vocabulary::causes;

/// Fails unless `answer` is what its schema says.
#[track_caller]
pub(crate) fn holds(answer: &Value) {
    let mut faults = faults(&named(answer), answer);
    if let (Some(reason), Some(cause)) = (answer["halt_reason"].as_str(), answer["failure_cause"].as_str())
        && !causes()[reason].contains(cause)
    {
        faults.push(format!("{cause} is no cause of {reason}"));
    }
    assert!(faults.is_empty(), "{}\n{answer:#}", faults.join("\n"));
}

/// The records of a stream of events: fails unless the first is what its schema says and the others are too.
#[track_caller]
pub(crate) fn stream(said: &str) -> Vec<Value> {
    let (first, rest) = said.split_once('\n').expect("a stream has a beginning");
    let first = serde_json::from_str(first).unwrap();
    holds(&first);
    [vec![first], rest_of_stream(rest)].concat()
}

/// The records of a stream that was heard in part before: each is an event, and the last is an answer.
#[track_caller]
pub(crate) fn rest_of_stream(said: &str) -> Vec<Value> {
    let records: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (last, events) = records.split_last().expect("a stream has an end");
    holds(last);
    let schema = file("event").unwrap();
    for event in events {
        let faults = faults(&of_kind(&schema, event), event);
        assert!(faults.is_empty(), "{}\n{event:#}", faults.join("\n"));
    }
    records
}

/// The alternative that an event names, so that what is wrong with it is told of that kind alone.
#[track_caller]
fn of_kind(schema: &Value, event: &Value) -> Value {
    let kinds = schema["anyOf"].as_array().unwrap();
    let mut named = kinds
        .iter()
        .filter(|kind| kind["properties"]["event"]["const"] == event["event"]);
    named
        .next()
        .unwrap_or_else(|| panic!("no kind is called {}", event["event"]))
        .clone()
}

/// The schema that an answer names.
#[track_caller]
pub(crate) fn named(answer: &Value) -> Value {
    let name = answer["schema"].as_str().unwrap_or_default();
    let command = name
        .strip_prefix("loopexec.")
        .and_then(|rest| rest.strip_suffix("/1"))
        .unwrap_or_else(|| panic!("no schema is called {name:?}: {answer}"));
    file(command).unwrap_or_else(|error| panic!("{error}: no schema of {name}"))
}

fn file(name: &str) -> io::Result<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/schemas");
    let text = fs::read_to_string(folder.join(format!("{name}.json")))?;
    Ok(serde_json::from_str(&text)?)
}

/// Everything in which `value` differs from `schema`.
pub(crate) fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut held = Held {
        root: schema,
        faults: Vec::new(),
    };
    held.whole(schema, value, "");
    held.faults
}

struct Held<'a> {
    root: &'a Value,
    faults: Vec<String>,
}

impl Held<'_> {
    /// A value and everything in it; no member may be left that nothing describes.
    fn whole(&mut self, schema: &Value, value: &Value, at: &str) {
        let described = self.part(schema, value, at);
        let members = value.as_object().into_iter().flat_map(Map::keys);
        let strange = members.filter(|member| !described.contains(*member));
        let strange: Vec<_> = strange
            .map(|member| format!("{at}/{member}: described by nothing"))
            .collect();
        self.faults.extend(strange);
    }

    /// One schema of possibly several about the same value; gives the members that it describes.
    fn part(&mut self, schema: &Value, value: &Value, at: &str) -> BTreeSet<String> {
        let mut described = BTreeSet::new();
        for (keyword, said) in schema.as_object().unwrap() {
            let holds = match keyword.as_str() {
                "$schema" | "$defs" | "title" | "description" | "format" => true,
                "$ref" => {
                    let found = self
                        .root
                        .pointer(said.as_str().unwrap().trim_start_matches('#'))
                        .unwrap();
                    described.append(&mut self.part(found, value, at));
                    true
                }
                "anyOf" => {
                    let found = self.any(said.as_array().unwrap(), value, at);
                    described.extend(found.iter().flatten().cloned());
                    found.is_some()
                }
                "properties" => {
                    for (member, schema) in said.as_object().unwrap() {
                        described.insert(member.clone());
                        if let Some(value) = value.get(member) {
                            self.whole(schema, value, &format!("{at}/{member}"));
                        }
                    }
                    true
                }
                "items" => {
                    for (index, value) in value.as_array().into_iter().flatten().enumerate() {
                        self.whole(said, value, &format!("{at}/{index}"));
                    }
                    true
                }
                "required" => said
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|member| value.get(member.as_str().unwrap()).is_some()),
                "type" => match said {
                    Value::Array(names) => names.iter().any(|name| is_a(value, name)),
                    name => is_a(value, name),
                },
                "const" => value == said,
                "enum" => said.as_array().unwrap().contains(value),
                "minimum" => value.as_f64().is_none_or(|number| number >= said.as_f64().unwrap()),
                "maximum" => value.as_f64().is_none_or(|number| number <= said.as_f64().unwrap()),
                _ => panic!("{keyword} is a keyword that this page does not know"),
            };
            if !holds {
                self.faults.push(format!("{at}: {keyword} {said} does not hold"));
            }
        }
        described
    }

    /// Members described by every alternative that holds; nothing when none does.
    fn any(&self, alternatives: &[Value], value: &Value, at: &str) -> Option<BTreeSet<String>> {
        let held = alternatives.iter().filter_map(|alternative| {
            let mut held = Held {
                root: self.root,
                faults: Vec::new(),
            };
            let described = held.part(alternative, value, at);
            held.faults.is_empty().then_some(described)
        });
        held.reduce(|mut all, mut more| {
            all.append(&mut more);
            all
        })
    }
}

fn is_a(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is no type"),
    }
}
