//! Receipts and proofs: the journal in the hands of people and other languages.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "support/mod.rs"]
mod support;

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use engine::event::id::Digest;
use journal::{Error, Journal, Keys, MemoryStore, OpenOptions, ReceiptWriter, extension, proof, receipt};
use support::{SMALL, contents, event, events, reader};

fn journal(count: u64) -> MemoryStore {
    let store = MemoryStore::default();
    let mut writer = Journal::create_in(Arc::new(store.clone()), "run-1", SMALL).unwrap();
    for i in 0..count {
        writer.append(&event(i)).unwrap();
        if i % 3 == 0 {
            writer.commit().unwrap();
        }
    }
    writer.commit().unwrap();
    drop(writer);
    store
}

fn file(scratch: &tempfile::TempDir) -> std::path::PathBuf {
    scratch.path().join("receipt.jsonl")
}

fn open(path: &Path) -> std::io::BufReader<fs::File> {
    std::io::BufReader::new(fs::File::open(path).unwrap())
}

#[test]
fn a_line_is_written_when_its_event_is_durable_and_not_before() {
    let scratch = tempfile::tempdir().unwrap();
    let path = file(&scratch);
    let store = MemoryStore::default();
    let mut writer = Journal::create_in(Arc::new(store.clone()), "run-1", SMALL).unwrap();
    writer.attach_receipt(ReceiptWriter::create(&path).unwrap());
    writer.append(&event(0)).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "");
    writer.commit().unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(
        text.starts_with(r#"{"seq":0,"event":{"event":"retry_scheduled","#),
        "{text}"
    );
    for i in 1..20 {
        writer.append(&event(i)).unwrap();
    }
    writer.commit().unwrap();
    assert_eq!(writer.receipt_error(), None);
    assert_eq!(receipt::check(&reader(&store).unwrap(), &path).unwrap(), writer.head());
}

#[test]
fn the_lines_alone_give_back_every_leaf_and_the_whole_journal() {
    let scratch = tempfile::tempdir().unwrap();
    let path = file(&scratch);
    let store = journal(40);
    let read = reader(&store).unwrap();
    receipt::rebuild(&read, &path).unwrap();
    assert_eq!(receipt::leaves(open(&path)).unwrap(), read.leaves().unwrap());
    let copy = MemoryStore::default();
    let head = receipt::import(open(&path), Arc::new(copy.clone()), "run-1", SMALL).unwrap();
    assert_eq!(head, read.head().unwrap());
    assert_eq!(reader(&copy).unwrap().leaves().unwrap(), read.leaves().unwrap());
    assert_eq!(contents(&copy).unwrap(), events(40));
}

#[test]
fn a_receipt_whose_lines_do_not_follow_each_other_is_refused_without_the_journal() {
    let scratch = tempfile::tempdir().unwrap();
    let path = file(&scratch);
    receipt::rebuild(&reader(&journal(9)).unwrap(), &path).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let refused = |text: String, at: u64| match receipt::leaves(text.as_bytes()) {
        Err(Error::Receipt { line, .. }) => assert_eq!(line, at, "{text}"),
        other => panic!("{other:?}"),
    };
    refused(text.replacen(r#""delay_ms":21"#, r#""delay_ms":22"#, 1), 4);
    refused(text.replacen(r#""payload":""#, r#""payload":"0"#, 1), 1);
    refused([lines[0], lines[2]].join("\n"), 2);
    refused([lines[1], lines[0]].join("\n"), 1);
    refused(
        text.replacen(r#""iteration":0,"attempt":1"#, r#""attempt":1,"iteration":0"#, 1),
        1,
    );
    // A payload digest that is not that of the event, with a leaf that fits it.
    let line = receipt::Line::parse(lines[0]).unwrap();
    let (_, mut link) = line.link().unwrap();
    link.payload = Digest([4; 32]);
    let forged = lines[0]
        .replace(&line.payload.hex(), &link.payload.hex())
        .replace(&line.leaf.hex(), &link.leaf(&Digest::ZERO).hex());
    refused(forged, 1);
    // Another event with its own digest, and a leaf, each in a line that is otherwise as it was written.
    let other = receipt::Line::parse(lines[1]).unwrap();
    let exchanged =
        text.replacen(line.event.get(), other.event.get(), 1)
            .replacen(&line.payload.hex(), &other.payload.hex(), 1);
    refused(exchanged, 1);
    let fifth = receipt::Line::parse(lines[4]).unwrap();
    refused(text.replacen(&fifth.leaf.hex(), &Digest([5; 32]).hex(), 1), 5);
}

#[test]
fn a_receipt_that_lags_or_leads_is_mended_on_resume() {
    let scratch = tempfile::tempdir().unwrap();
    let path = file(&scratch);
    let store = journal(9);
    receipt::rebuild(&reader(&store).unwrap(), &path).unwrap();
    let whole = fs::read_to_string(&path).unwrap();
    let lagging = whole[..whole.len() - 40].to_owned();
    let leading = format!("{whole}{}", whole.lines().next().unwrap());
    for broken in [lagging, leading, String::new(), "garbage\n".to_owned()] {
        fs::write(&path, broken).unwrap();
        let resumed = ReceiptWriter::resume(&reader(&store).unwrap(), &path).unwrap();
        drop(resumed);
        assert_eq!(fs::read_to_string(&path).unwrap(), whole);
    }
    let (mut writer, _) = Journal::open_write_in(Arc::new(store.clone()), &OpenOptions::default()).unwrap();
    writer.attach_receipt(ReceiptWriter::resume(&reader(&store).unwrap(), &path).unwrap());
    writer.append(&event(9)).unwrap();
    writer.commit().unwrap();
    receipt::check(&reader(&store).unwrap(), &path).unwrap();
}

#[test]
fn a_receipt_that_cannot_be_written_never_stops_the_journal() {
    let store = MemoryStore::default();
    let mut writer = Journal::create_in(Arc::new(store), "run-1", SMALL).unwrap();
    writer.attach_receipt(ReceiptWriter::create(Path::new("/dev/full")).unwrap());
    writer.append(&event(0)).unwrap();
    assert_eq!(writer.commit().unwrap().seq, Some(0));
    assert!(writer.receipt_error().is_some_and(|why| why.contains("No space left")));
    writer.append(&event(1)).unwrap();
    assert_eq!(writer.commit().unwrap().seq, Some(1));
}

#[test]
fn every_event_is_proven_alone_and_a_changed_proof_is_refused() {
    let store = journal(21);
    let keys = Keys::from_seed(&[1; 32]);
    let (mut writer, _) = Journal::open_write_in(Arc::new(store.clone()), &OpenOptions::default()).unwrap();
    writer.seal(Digest([5; 32]), Some(&keys)).unwrap();
    writer.append(&event(21)).unwrap();
    writer.commit().unwrap();
    let read = reader(&store).unwrap();
    for seq in 0..21 {
        let text = proof::prove(&read, seq).unwrap().text().unwrap();
        let proven = proof::check(&text, Some(&keys.public())).unwrap();
        assert_eq!((proven.seq, proven.event, proven.size), (seq, event(seq), 21));
        assert!(proven.checkpoint.is_some_and(|(_, signed)| signed));
        assert!(proof::check(&text, Some(&Keys::from_seed(&[2; 32]).public())).is_err());
    }
    // After the checkpoint there is a root, and nobody who signed it.
    let text = proof::prove(&read, 21).unwrap().text().unwrap();
    assert_eq!(proof::check(&text, None).unwrap().size, 22);
    assert!(proof::check(&text, Some(&keys.public())).is_err());
    assert!(matches!(
        proof::prove(&read, 22),
        Err(Error::NoSuchEvent { seq: 22, size: 22 })
    ));

    let text = proof::prove(&read, 4).unwrap().text().unwrap();
    for at in 0..text.len() - 1 {
        for flip in [1, 4] {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= flip;
            if let Ok(changed) = String::from_utf8(bytes) {
                assert!(
                    proof::check(&changed, Some(&keys.public())).is_err(),
                    "byte {at}: {changed}"
                );
            }
        }
    }
}

#[test]
fn a_proof_from_a_million_events_is_a_message_of_a_kilobyte_and_a_half() {
    let store = MemoryStore::default();
    let mut writer = Journal::create_in(Arc::new(store.clone()), &"r".repeat(40), journal::Layout::default()).unwrap();
    let small = event(0);
    for i in 1..=1_000_000_u64 {
        writer.append(&small).unwrap();
        if i % 10_000 == 0 {
            writer.commit().unwrap();
        }
    }
    let keys = Keys::from_seed(&[1; 32]);
    writer.seal(Digest([5; 32]), Some(&keys)).unwrap();
    drop(writer);
    let proof = proof::prove(&reader(&store).unwrap(), 399_999).unwrap();
    let text = proof.text().unwrap();
    let beside = text.len() - proof.event.get().len();
    assert!(text.len() <= 1_536, "{} bytes", text.len());
    assert!(beside <= 1_434, "{beside} bytes beside the event");
    assert_eq!(proof::check(&text, Some(&keys.public())).unwrap().size, 1_000_000);
    let Some(python) = Python::find() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let (path, key) = (scratch.path().join("proof.json"), scratch.path().join("key.pub"));
    fs::write(&path, text).unwrap();
    fs::write(&key, journal::keys::public_text(&keys.public())).unwrap();
    assert!(python.accepts(&[&path, &key]));
}

/// What the scripts need: `python3`. Where that is missing there is nothing to ask, and the test says so.
struct Python(std::ffi::OsString);

impl Python {
    fn find() -> Option<Self> {
        let python = Self(std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into()));
        let found = python.run(&["-c".as_ref(), "pass".as_ref()]).is_some();
        if !found {
            println!("skipped: there is no python3 to run tests/verify_proof.py");
        }
        found.then_some(python)
    }

    /// What it printed, when it exited with 0. Nothing is written beside the scripts.
    fn run(&self, arguments: &[&OsStr]) -> Option<String> {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests");
        let mut command = std::process::Command::new(&self.0);
        command.arg("-B").args(arguments).current_dir(scripts);
        let output = command.output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).unwrap())
    }

    fn accepts(&self, files: &[&Path]) -> bool {
        let files = files.iter().map(|file| file.as_os_str());
        let words: Vec<&OsStr> = std::iter::once("verify_proof.py".as_ref()).chain(files).collect();
        self.run(&words).is_some()
    }
}

#[test]
fn a_verifier_that_shares_no_code_accepts_the_proof_and_refuses_an_altered_one() {
    let Some(python) = Python::find() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("proof.json");
    for (count, seq) in [(1, 0), (37, 0), (37, 17), (37, 36), (64, 40)] {
        let text = proof::prove(&reader(&journal(count)).unwrap(), seq)
            .unwrap()
            .text()
            .unwrap();
        fs::write(&path, &text).unwrap();
        assert!(python.accepts(&[&path]), "event {seq} of {count}");
        for (from, to) in [
            (r#""iteration":"#, r#""iteration":1"#),
            (r#""previous":""#, r#""previous":"0"#),
            (r#""flags":1"#, r#""flags":0"#),
            (r#""seq":"#, r#""seq":1"#),
            (r#""size":"#, r#""size":1"#),
        ] {
            let altered = text.replacen(from, to, 1);
            assert_ne!(altered, text);
            fs::write(&path, altered).unwrap();
            assert!(!python.accepts(&[&path]), "event {seq} of {count}, {to}");
        }
    }
}

#[test]
fn a_newer_checkpoint_is_shown_to_extend_an_older_root_and_no_other() {
    let python = Python::find();
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("extension.json");
    let signer = Keys::from_seed(&[1; 32]);
    let store = journal(20);
    let (mut writer, _) = Journal::open_write_in(Arc::new(store.clone()), &OpenOptions::default()).unwrap();
    writer.append(&event(20)).unwrap();
    writer.seal(Digest([5; 32]), Some(&signer)).unwrap();
    drop(writer);
    let key = signer.public();
    for (from, older) in [(1, journal(1)), (7, journal(7)), (16, journal(16)), (20, journal(20))] {
        let text = extension::prove(&reader(&store).unwrap(), from)
            .unwrap()
            .text()
            .unwrap();
        let seen = extension::check(&text, Some(&key)).unwrap();
        assert_eq!((seen.from, seen.size), (from, 21));
        // What somebody wrote down when the journal was that short.
        let known = extension::prove(&reader(&older).unwrap(), from).unwrap();
        let known = extension::check(&known.text().unwrap(), None).unwrap();
        assert_eq!(seen.from_root, known.root, "{from}");
        let longer = format!(r#""from":{{"size":{}"#, from + 1);
        let altered = text.replacen(&format!(r#""from":{{"size":{from}"#), &longer, 1);
        assert_ne!(altered, text);
        assert!(extension::check(&altered, None).is_err(), "{from}");
        assert!(extension::check(&text, Some(&Keys::from_seed(&[2; 32]).public())).is_err());
        for (told, holds) in [(text, true), (altered, false)] {
            fs::write(&path, told).unwrap();
            assert!(
                python.as_ref().is_none_or(|python| python.accepts(&[&path]) == holds),
                "{from}"
            );
        }
    }
    let reader = reader(&store).unwrap();
    for from in [0, 22] {
        assert!(matches!(
            extension::prove(&reader, from),
            Err(Error::NoSuchEvent { .. })
        ));
    }
}

#[test]
fn the_same_verifier_holds_the_root_to_the_key_that_signed_it() {
    let Some(python) = Python::find() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = scratch.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let [signer, other] = [1, 2].map(|seed| Keys::from_seed(&[seed; 32]));
    let store = journal(20);
    let (mut writer, _) = Journal::open_write_in(Arc::new(store.clone()), &OpenOptions::default()).unwrap();
    writer.append(&event(20)).unwrap();
    writer.seal(Digest([5; 32]), Some(&signer)).unwrap();
    drop(writer);
    let text = proof::prove(&reader(&store).unwrap(), 7).unwrap().text().unwrap();
    let proof = file("proof.json", &text);
    let [own, foreign] = [("own.pub", &signer), ("foreign.pub", &other)]
        .map(|(name, keys)| file(name, &journal::keys::public_text(&keys.public())));
    assert!(python.accepts(&[&proof, &own]));
    assert!(!python.accepts(&[&proof, &foreign]));
    let at = text.find("loopexec ").unwrap() + 20;
    let forged = format!(
        "{}{}{}",
        &text[..at],
        if &text[at..=at] == "A" { "B" } else { "A" },
        &text[at + 1..]
    );
    assert!(!python.accepts(&[&file("forged.json", &forged), &own]));
}

/// Lengths on both sides of every border: blocks, chunks, and trees of chunks that are not full.
#[test]
fn its_hash_is_blake3_for_inputs_of_every_shape() {
    let Some(python) = Python::find() else { return };
    let lengths = [
        0, 1, 63, 64, 65, 1023, 1024, 1025, 2048, 2049, 3072, 3073, 4096, 5121, 8193, 31_745,
    ];
    let listed = lengths.map(|length| length.to_string()).join(",");
    let script = format!(
        "import blake3\nfor n in ({listed}):\n data = bytes(i % 251 for i in range(n))\n \
         print(blake3.digest(data).hex(), blake3.derived('BLAKE3 2019-12-27 16:29:52 test vectors context', data).hex())"
    );
    let said = python.run(&["-c".as_ref(), script.as_ref()]).unwrap();
    let context = "BLAKE3 2019-12-27 16:29:52 test vectors context";
    let expected = lengths.map(|length| {
        let data: Vec<u8> = (0..length).map(|i: u32| (i % 251) as u8).collect();
        let derived = blake3::Hasher::new_derive_key(context).update(&data).finalize();
        format!("{} {derived}\n", blake3::hash(&data))
    });
    assert_eq!(said, expected.concat());
    // The published vector of no input at all.
    assert!(
        said.starts_with("af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262 "),
        "{said}"
    );
}
