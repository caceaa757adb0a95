//! The bytes of every event, as they were written once and must be read for ever (SPEC 11).
//!
//! ```text
//!   shape of a kind ──sampler──> canonical JSON ──decode, encode──> payload
//!                                      |                               |
//!   tests/golden/events/v1/   <kind>-<name>.json              <kind>-<name>.hex     kinds.txt
//! ```
//!
//! Each kind has three values: *full* fills every optional field and lists two of everything, the second without its
//! optional fields; *bare* fills nothing; *wide* holds the ends of every range. `LOOPEXEC_REGENERATE=1` writes the folder anew; after a release a changed line means that old journals
//! are misread, and the kind needs a new version instead.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use engine::event::{Event, Schema};
use journal::codec;

use super::house;

#[test]
fn every_kind_keeps_its_golden_bytes() {
    let folder = folder();
    let now: BTreeMap<String, String> = Event::schemas().iter().flat_map(pages).chain([kinds()]).collect();
    let kept: BTreeMap<String, String> = house::files(&folder)
        .iter()
        .map(|path| {
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                house::read(path),
            )
        })
        .collect();
    let names: BTreeSet<_> = now.keys().chain(kept.keys()).collect();
    let changed: Vec<_> = names
        .into_iter()
        .filter(|name| now.get(*name) != kept.get(*name))
        .collect();
    if house::regenerate() {
        fs::create_dir_all(&folder).unwrap();
        for name in changed {
            match now.get(name) {
                Some(page) => fs::write(folder.join(name), page).unwrap(),
                None => fs::remove_file(folder.join(name)).unwrap(),
            }
        }
        return;
    }
    assert!(
        changed.is_empty(),
        "golden events differ from the code (LOOPEXEC_REGENERATE=1 rewrites them, before a release): {changed:?}"
    );
}

#[test]
fn golden_bytes_are_still_read_as_what_they_said() {
    for schema in Event::schemas() {
        let [json, hex] = [".json", ".hex"].map(|end| house::read(&folder().join(file(&schema, end))));
        let values: Vec<Event> = serde_json::from_str(&json).unwrap();
        let payloads: Vec<_> = hex.lines().map(unhex).collect();
        assert_eq!((values.len(), payloads.len()), (3, 3), "{}", schema.name);
        for (value, payload) in values.into_iter().zip(payloads) {
            assert_eq!(Event::decode(schema.kind, schema.version, &payload), Ok(value));
        }
    }
}

#[test]
fn a_payload_that_lost_its_last_byte_is_not_read_as_what_it_was() {
    for schema in Event::schemas() {
        for value in samples(&schema) {
            let payload = encoded(&value);
            let mut shorter = payload.clone();
            shorter.pop();
            let read = Event::decode(schema.kind, schema.version, &shorter);
            assert_ne!(read, Ok(value), "{}", schema.name);
        }
    }
}

#[test]
fn samples_reach_both_sides_of_every_option_list_and_range() {
    for schema in Event::schemas() {
        let json: String = samples(&schema)
            .iter()
            .map(|value| serde_json::to_string(value).unwrap())
            .collect();
        assert_eq!(schema.shape.contains('?'), json.contains(":null"), "{}", schema.name);
        assert_eq!(schema.shape.contains('['), json.contains(":[]"), "{}", schema.name);
        assert!(
            !schema.shape.contains("u64") || json.contains(":18446744073709551615"),
            "{}",
            schema.name
        );
    }
}

fn folder() -> PathBuf {
    house::root().join("tests/golden/events/v1")
}

fn file(schema: &Schema, end: &str) -> String {
    format!("{:02}-{}{end}", schema.kind, schema.name)
}

/// The two files of one kind.
fn pages(schema: &Schema) -> [(String, String); 2] {
    let values = samples(schema);
    let lines: Vec<_> = values
        .iter()
        .map(|value| serde_json::to_string(value).unwrap())
        .collect();
    let payloads: String = values.iter().map(|value| hex(&encoded(value)) + "\n").collect();
    [
        (file(schema, ".json"), format!("[\n{}\n]\n", lines.join(",\n"))),
        (file(schema, ".hex"), payloads),
    ]
}

/// Number, version, name and fingerprint of every kind. The fingerprint is what a segment's header holds.
fn kinds() -> (String, String) {
    let row = |schema: &Schema| {
        let Schema {
            kind, version, name, ..
        } = schema;
        format!("{kind} v{version} {name} {}\n", codec::fingerprint(schema))
    };
    ("kinds.txt".into(), Event::schemas().iter().map(row).collect())
}

fn encoded(value: &Event) -> Vec<u8> {
    let mut payload = Vec::new();
    value.encode(&mut payload);
    payload
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .map(|c| c.to_digit(16).unwrap().try_into().unwrap())
        .collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// What a sample fills.
#[derive(Clone, Copy, PartialEq)]
enum Fill {
    Full,
    Bare,
    Wide,
}

/// One value of a kind for each way to fill it.
fn samples(schema: &Schema) -> [Event; 3] {
    [Fill::Full, Fill::Bare, Fill::Wide].map(|fill| {
        let mut sampler = Sampler {
            shape: &schema.shape,
            fill,
            is_sparse: fill == Fill::Bare,
            count: 0,
        };
        let fields = sampler.value();
        assert_eq!(sampler.shape, "", "{} is read to its end", schema.name);
        let comma = if fields == "{}" { "" } else { "," };
        let json = format!("{{\"event\":\"{}\"{comma}{}", schema.name, &fields[1..]);
        serde_json::from_str(&json).unwrap_or_else(|error| panic!("{}: {error}: {json}", schema.name))
    })
}

/// Reads a shape from its beginning and writes a value of it. Every scalar of a value is another one, so that two
/// fields that changed places show.
struct Sampler<'a> {
    shape: &'a str,
    fill: Fill,
    /// Optional fields stay empty.
    is_sparse: bool,
    count: u64,
}

impl<'a> Sampler<'a> {
    fn value(&mut self) -> String {
        let value = if self.takes("{") {
            self.fields()
        } else if self.takes("[") {
            self.list()
        } else if self.takes("<") {
            self.label()
        } else {
            self.scalar()
        };
        match self.takes("?") && self.is_sparse {
            true => "null".into(),
            false => value,
        }
    }

    fn fields(&mut self) -> String {
        let mut fields = Vec::new();
        while !self.takes("}") {
            let name = self.until(':');
            fields.push(format!("\"{name}\":{}", self.value()));
            assert!(self.takes(","));
        }
        format!("{{{}}}", fields.join(","))
    }

    fn list(&mut self) -> String {
        let item = self.shape;
        let mut values = vec![self.value()];
        if self.fill == Fill::Full {
            let around = std::mem::replace(&mut self.is_sparse, true);
            self.shape = item;
            values.push(self.value());
            self.is_sparse = around;
        }
        assert!(self.takes("]"));
        match self.fill {
            Fill::Bare => "[]".into(),
            Fill::Full | Fill::Wide => format!("[{}]", values.join(",")),
        }
    }

    fn label(&mut self) -> String {
        let labels: Vec<_> = self.until('>').split('|').filter(|label| !label.is_empty()).collect();
        let chosen = match self.fill {
            Fill::Full => usize::try_from(self.next()).unwrap() % labels.len(),
            Fill::Bare => 0,
            Fill::Wide => labels.len() - 1,
        };
        format!("\"{}\"", labels[chosen])
    }

    fn scalar(&mut self) -> String {
        let end = self
            .shape
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(self.shape.len());
        let (kind, rest) = self.shape.split_at(end);
        self.shape = rest;
        let n = self.next();
        let (full, bare, wide) = match kind {
            "bool" => (n.is_multiple_of(2).to_string(), "false".into(), "true".into()),
            "u8" => (n.to_string(), "0".into(), u8::MAX.to_string()),
            "u16" => (n.to_string(), "0".into(), u16::MAX.to_string()),
            "u32" => (n.to_string(), "0".into(), u32::MAX.to_string()),
            "u64" => (n.to_string(), "0".into(), u64::MAX.to_string()),
            "i32" => (format!("-{n}"), "0".into(), i32::MIN.to_string()),
            "i64" => (format!("-{n}"), "0".into(), i64::MIN.to_string()),
            // Longer than what the encoding keeps inline, and not ASCII.
            "str" => (
                format!("\"text {n}\""),
                "\"\"".into(),
                format!("\"{n} \\\"\u{e9}\u{1f511}\\n\""),
            ),
            // A byte that is no text, and the backslash that would hide it.
            "bytes" => (
                format!("\"path/{n}\""),
                "\"\"".into(),
                format!("\"{n}\\\\xff\\\\\\\\x\""),
            ),
            "digest" => (
                format!("\"{n:064x}\""),
                format!("\"{}\"", "0".repeat(64)),
                format!("\"{}\"", "f".repeat(64)),
            ),
            other => panic!("the sampler does not know `{other}`"),
        };
        match self.fill {
            Fill::Full => full,
            Fill::Bare => bare,
            Fill::Wide => wide,
        }
    }

    fn next(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    fn takes(&mut self, token: &str) -> bool {
        let rest = self.shape.strip_prefix(token);
        self.shape = rest.unwrap_or(self.shape);
        rest.is_some()
    }

    fn until(&mut self, end: char) -> &'a str {
        let (taken, rest) = self.shape.split_once(end).expect("the shape is well formed");
        self.shape = rest;
        taken
    }
}
