//! Journals that were written once and must be read for ever.
//!
//! `tests/golden/journal/v1` holds a journal with one event of every kind, its receipt, a proof and the
//! public key. After a release it is never written again: a kind that changes gets a new version and a
//! new folder beside this one. Before that, `JOURNAL_GOLDEN=write cargo test -p journal --test golden`
//! writes it anew.
#![allow(clippy::unwrap_used)]

#[path = "support/mod.rs"]
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::event::Event;
use engine::event::id::Digest;
use journal::keys::{parse_public, public_text};
use journal::{FileStore, Journal, Keys, MemoryStore, VerifyOptions, codec, proof, receipt};
use support::SMALL;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/journal/v1")
}

/// A value of the type that `shape` spells, as JSON; `n` makes values differ.
fn sample(shape: &mut &str, n: &mut u64, out: &mut String) {
    *n += 1;
    let at = out.len();
    match shape.as_bytes()[0] {
        b'{' => {
            *shape = &shape[1..];
            out.push('{');
            while !shape.starts_with('}') {
                let (name, rest) = shape.split_once(':').unwrap();
                out.push_str(&format!("\"{name}\":"));
                *shape = rest;
                sample(shape, n, out);
                *shape = shape.strip_prefix(',').unwrap();
                if !shape.starts_with('}') {
                    out.push(',');
                }
            }
            out.push('}');
            *shape = &shape[1..];
        }
        b'[' => {
            *shape = &shape[1..];
            out.push('[');
            sample(shape, n, out);
            out.push(']');
            *shape = shape.strip_prefix(']').unwrap();
        }
        b'<' => {
            let (labels, rest) = shape[1..].split_once('>').unwrap();
            let labels: Vec<&str> = labels.split('|').filter(|label| !label.is_empty()).collect();
            out.push_str(&format!("\"{}\"", labels[*n as usize % labels.len()]));
            *shape = rest;
        }
        _ => {
            let end = shape.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(shape.len());
            let (word, rest) = shape.split_at(end);
            out.push_str(&match word {
                "bool" => n.is_multiple_of(2).to_string(),
                "u8" => (*n % 256).to_string(),
                "u16" | "u32" | "u64" => (*n * 1_001 % 65_536).to_string(),
                "i32" | "i64" => format!("-{n}"),
                "str" => format!("\"text {n} \\\" \u{e9}\\n\""),
                "bytes" => format!("\"p\\\\xff/{n}\""),
                "digest" => format!("\"{n:064x}\""),
                other => panic!("the sampler does not know {other}"),
            });
            *shape = rest;
        }
    }
    if let Some(rest) = shape.strip_prefix('?') {
        *shape = rest;
        if n.is_multiple_of(5) {
            out.truncate(at);
            out.push_str("null");
        }
    }
}

/// One event of every kind.
fn every_kind() -> Vec<Event> {
    let mut n = 0;
    let build = |schema: &engine::event::Schema| {
        let mut fields = String::new();
        sample(&mut schema.shape.as_str(), &mut n, &mut fields);
        let json = format!("{{\"event\":\"{}\",{}", schema.name, &fields[1..]);
        serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"))
    };
    Event::schemas().iter().map(build).collect()
}

fn write(folder: &Path) {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).unwrap();
    let dir = folder.join("run.journal");
    let keys = Keys::from_seed(&[42; 32]);
    let mut writer = Journal::create_in(Arc::new(FileStore::create(&dir).unwrap()), "golden", SMALL).unwrap();
    for (i, event) in every_kind().iter().enumerate() {
        writer.append(event).unwrap();
        if i % 4 == 3 {
            writer.commit().unwrap();
        }
    }
    writer.seal(Digest([7; 32]), Some(&keys)).unwrap();
    writer.close().unwrap();
    let reader = Journal::open_read(&dir).unwrap();
    receipt::rebuild(&reader, &folder.join("receipt.jsonl")).unwrap();
    fs::write(
        folder.join("proof.json"),
        proof::prove(&reader, 12).unwrap().text().unwrap(),
    )
    .unwrap();
    fs::write(folder.join("key.pub"), public_text(&keys.public())).unwrap();
    let schemas = Event::schemas();
    let lines = schemas.iter().map(|schema| {
        format!(
            "{} v{} {} {}\n",
            schema.kind,
            schema.version,
            schema.name,
            codec::fingerprint(schema)
        )
    });
    fs::write(folder.join("schemas.txt"), lines.collect::<String>()).unwrap();
}

#[test]
fn the_golden_journal_is_read_verified_proven_and_rebuilt() {
    let folder = folder();
    if std::env::var("JOURNAL_GOLDEN").is_ok_and(|value| value == "write") {
        write(&folder);
    }
    let dir = folder.join("run.journal");
    let key = parse_public(&fs::read_to_string(folder.join("key.pub")).unwrap()).unwrap();
    let options = VerifyOptions {
        key: Some(key),
        expect_head: None,
    };
    let verdict = Journal::verify(&dir, &options, None).unwrap();
    assert!(verdict.is_intact(), "{:?}", verdict.defect);
    assert_eq!(verdict.checkpoints, 1);
    let reader = Journal::open_read(&dir).unwrap();
    let kinds: Vec<u16> = reader.events().map(|item| item.unwrap().1.kind()).collect();
    assert_eq!(kinds.len() as u64, verdict.head.size);
    let lines = fs::read(folder.join("receipt.jsonl")).unwrap();
    receipt::check(&reader, &folder.join("receipt.jsonl")).unwrap();
    assert_eq!(receipt::leaves(lines.as_slice()).unwrap(), reader.leaves().unwrap());
    let copy = MemoryStore::default();
    let head = receipt::import(lines.as_slice(), Arc::new(copy), "golden", SMALL).unwrap();
    assert_eq!(head, verdict.head);
    let text = fs::read_to_string(folder.join("proof.json")).unwrap();
    assert_eq!(proof::prove(&reader, 12).unwrap().text().unwrap(), text);
    let proven = proof::check(&text, Some(&key)).unwrap();
    assert_eq!((proven.seq, proven.root), (12, verdict.root));
}

#[test]
fn a_released_kind_keeps_its_structure() {
    let recorded = fs::read_to_string(folder().join("schemas.txt")).unwrap();
    for line in recorded.lines() {
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap();
        let (kind, version, name, print) = (word(), word(), word(), word());
        let now = Event::schemas()
            .into_iter()
            .find(|schema| schema.kind.to_string() == kind && format!("v{}", schema.version) == version);
        let now = now.unwrap_or_else(|| panic!("{name} {version} is gone; old journals hold it"));
        assert_eq!(now.name, name);
        assert_eq!(
            codec::fingerprint(&now).hex(),
            print,
            "{name} changed without a new version"
        );
    }
}

#[test]
fn one_event_of_every_kind_survives_the_journal() {
    let store = MemoryStore::default();
    let mut writer = Journal::create_in(Arc::new(store.clone()), "run-1", SMALL).unwrap();
    let all = every_kind();
    writer.append_all(&all).unwrap();
    writer.commit().unwrap();
    drop(writer);
    assert_eq!(support::contents(&store).unwrap(), all);
    assert_eq!(all.len(), Event::schemas().len());
}
