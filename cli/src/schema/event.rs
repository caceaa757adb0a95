//! The schema of one line of `run --events`, out of the text in which the vocabulary spells its own structure.
//!
//! ```text
//!   shape  := '{' (name ':' shape ',')* '}' | '<' (label '|')* '>' | '[' shape ']' | word | shape '?'
//! ```
//!
//! It is the same text that the journal's fingerprints are made of, so a kind that changes its structure changes this
//! schema too. In JSON a digest and bytes are text, and what may be missing is null.

use engine::event::Event;
use serde_json::{Map, Value, json};

/// One line: a number, and the event that has it.
pub(super) fn schema() -> Value {
    let kinds: Vec<Value> = Event::schemas()
        .iter()
        .map(|kind| line(kind.name, &mut kind.shape.as_str()))
        .collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "loopexec.events/1, a line",
        "description": "An event as it became durable.",
        "type": "object",
        "anyOf": kinds,
    })
}

fn line(name: &str, shape: &mut &str) -> Value {
    let mut object = spelled(shape);
    assert!(shape.is_empty(), "{name}: {shape} is left");
    for (member, schema) in [("seq", word("u64")), ("event", json!({"const": name}))] {
        let slot = &mut object["properties"][member];
        assert!(slot.is_null(), "{name} has its own {member}");
        *slot = schema;
        object["required"].as_array_mut().unwrap().push(member.into());
    }
    object
}

/// The schema of the shape at the front of `text`, which is left with what follows it.
fn spelled(text: &mut &str) -> Value {
    let mut schema = match text.chars().next() {
        Some('{') => object(text),
        Some('<') => label(text),
        Some('[') => {
            skip(text, "[");
            let items = spelled(text);
            skip(text, "]");
            json!({"type": "array", "items": items})
        }
        _ => word(until(text, |next| !next.is_ascii_alphanumeric())),
    };
    while text.starts_with('?') {
        skip(text, "?");
        schema = json!({"anyOf": [schema, {"type": "null"}]});
    }
    schema
}

fn object(text: &mut &str) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    skip(text, "{");
    while !text.starts_with('}') {
        let name = until(text, |next| next == ':');
        skip(text, ":");
        properties.insert(name.to_owned(), spelled(text));
        required.push(name);
        skip(text, ",");
    }
    skip(text, "}");
    json!({"type": "object", "properties": properties, "required": required})
}

fn label(text: &mut &str) -> Value {
    skip(text, "<");
    let labels: Vec<_> = until(text, |next| next == '>').split_terminator('|').collect();
    skip(text, ">");
    json!({"type": "string", "enum": labels})
}

fn word(word: &str) -> Value {
    match word {
        "bool" => json!({"type": "boolean"}),
        "u8" => json!({"type": "integer", "format": "uint8", "minimum": 0, "maximum": u8::MAX}),
        "u16" => json!({"type": "integer", "format": "uint16", "minimum": 0, "maximum": u16::MAX}),
        "u32" => json!({"type": "integer", "format": "uint32", "minimum": 0}),
        "u64" => json!({"type": "integer", "format": "uint64", "minimum": 0}),
        "i32" => json!({"type": "integer", "format": "int32"}),
        "i64" => json!({"type": "integer", "format": "int64"}),
        "str" => json!({"type": "string"}),
        "digest" | "bytes" => json!({"type": "string", "format": word}),
        other => panic!("{other:?} is no word of a shape"),
    }
}

fn until<'a>(text: &mut &'a str, ends: impl Fn(char) -> bool) -> &'a str {
    let (head, rest) = text.split_at(text.find(ends).unwrap_or(text.len()));
    *text = rest;
    head
}

fn skip(text: &mut &str, mark: &str) {
    *text = text
        .strip_prefix(mark)
        .unwrap_or_else(|| panic!("{mark} expected at {text}"));
}

#[test]
fn a_shape_becomes_a_schema_with_nothing_left_out() {
    let mut text = "{at:{ms:u64,},words:[str],mark:<one|two|>?,}";
    let schema = line("said", &mut text);
    assert_eq!(schema["required"], json!(["at", "words", "mark", "seq", "event"]));
    assert_eq!(schema["properties"]["at"]["properties"]["ms"], word("u64"));
    assert_eq!(schema["properties"]["words"]["items"], word("str"));
    assert_eq!(
        schema["properties"]["mark"]["anyOf"],
        json!([{"type": "string", "enum": ["one", "two"]}, {"type": "null"}])
    );
    assert_eq!(schema["properties"]["event"], json!({"const": "said"}));
}
