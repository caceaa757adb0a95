//! Writes the corpora of the targets over bytes and text, from a small journal, the captured outputs of
//! real runners and a few files by hand: `cargo test -p fuzz --test seeds -- --ignored`.

// A seed that cannot be made fails its test.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fuzz::bodies::mode;
use fuzz::bytes::original;
use fuzz::text::{SEPARATOR, SIGNALLED};
use journal::batch::{self, BLOCK};
use journal::frame::Frame;
use models::sim::Dice;
use shell::oracle::collect::ALL;

/// No seed is longer: short cases are what a fuzzer is fast with.
const SEED_BYTES_MAX: usize = 7168;

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn write(target: &str, name: &str, bytes: &[u8]) {
    let folder = root("fuzz/corpus").join(target);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(name), bytes).unwrap();
}

/// Every segment header, the beginning of every batch, one frame of each kind, and a few that are torn or changed.
#[test]
#[ignore = "writes the corpus"]
fn write_the_corpus_of_frame() {
    let files = &original().files;
    write("frame", "notes", &files["checkpoints.note"]);
    for (file, bytes) in files.iter().filter(|(name, _)| name.ends_with(".seg")) {
        write("frame", &format!("segment-{}", &file[7..8]), &bytes[..BLOCK]);
        for (number, block) in bytes.chunks(BLOCK).enumerate().skip(1) {
            let Some(header) = batch::Header::parse(block) else {
                continue;
            };
            let live = (header.live_bytes as usize).min(block.len());
            let name = |what: &str| format!("{what}-{}-{number}", &file[7..8]);
            write("frame", &name("batch"), &block[..live.min(1024)]);
            let mut rest = &block[batch::HEADER_BYTES..live];
            while let Some((frame, after)) = Frame::parse(rest) {
                let whole = &rest[..rest.len() - after.len()];
                let kind = journal::codec::kind_name(frame.kind).unwrap_or("unknown");
                if whole.len() <= SEED_BYTES_MAX {
                    write("frame", kind, whole);
                }
                rest = after;
            }
        }
    }
    let frame = &files["00000000.seg"][BLOCK + batch::HEADER_BYTES..][..600];
    write("frame", "torn", &frame[..90]);
    let mut huge = frame[..90].to_vec();
    huge[..4].fill(0xff);
    write("frame", "huge", &huge);
}

/// One case of each kind of event, one of several batches, and a few that no reader can take.
#[test]
#[ignore = "writes the corpus"]
fn write_the_corpus_of_bodies() {
    let table = journal::codec::table();
    let body = |event: &engine::event::Event, how: u8| {
        let mut payload = Vec::new();
        event.encode(&mut payload);
        let row = table.iter().position(|row| row.kind == event.kind()).unwrap();
        let length = u16::try_from(payload.len()).unwrap().to_le_bytes();
        [&[how, u8::try_from(row).unwrap(), length[0], length[1]][..], &payload].concat()
    };
    let mut several = Vec::new();
    for event in &original().events {
        let case = body(event, 0);
        if case.len() <= 1024 {
            write("bodies", event.name(), &case);
            let mut changed = case.clone();
            *changed.last_mut().unwrap() ^= 0x80;
            write("bodies", &format!("{}-changed", event.name()), &changed);
        }
        if several.len() + case.len() < 4096 {
            several.extend(body(event, if several.len() % 3 == 0 { mode::COMMIT } else { 0 }));
        }
    }
    write("bodies", "several", &several);
    write("bodies", "nothing", &[]);
    write("bodies", "unknown", &[mode::RAW_KIND, 250, 3, 0, 1, 2, 3]);
    let unknown = [mode::RAW_KIND | mode::OPTIONAL, 250, 3, 0, 1, 2, 3];
    write("bodies", "unknown-optional", &[&unknown[..], &several].concat());
}

/// The shortest of many random cases for every answer.
#[test]
#[ignore = "writes the corpus"]
fn write_the_corpus_of_chain() {
    let mut dice = Dice::new(17);
    let mut found: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for round in 0..6_000 {
        let length = 60 + dice.below(900);
        let mut case: Vec<u8> = (0..length).map(|_| u8::try_from(dice.below(256)).unwrap()).collect();
        case[0] = u8::try_from(round % 5).unwrap();
        // One case for each kind of edit alone, too.
        let label = match case[0] {
            1 => format!("{}-{}", fuzz::chain::chain(&case), case[1] % 10),
            _ => fuzz::chain::chain(&case),
        };
        if found.get(&label).is_none_or(|known| known.len() > case.len()) {
            found.insert(label, case);
        }
    }
    for (label, case) in found {
        write("chain", &label, &case);
    }
}

/// The shortest of many random lists of edits for every pair of verdicts they lead to.
#[test]
#[ignore = "writes the corpus"]
fn write_the_corpus_of_recover() {
    let mut dice = Dice::new(5);
    let mut found: BTreeMap<String, Vec<u8>> = BTreeMap::from([(fuzz::bytes::recover(&[]), Vec::new())]);
    for _ in 0..6_000 {
        let edits = 1 + dice.below(4);
        let case: Vec<u8> = (0..edits * 4).map(|_| u8::try_from(dice.below(256)).unwrap()).collect();
        let label = fuzz::bytes::recover(&case);
        if found.get(&label).is_none_or(|known| known.len() > case.len()) {
            found.insert(label, case);
        }
    }
    for (label, case) in found {
        write("recover", &label, &case);
    }
}

/// Every captured output, whole or as much of it as is short, under its collector and under another one.
#[test]
#[ignore = "writes the corpus"]
fn write_the_corpus_of_collect() {
    let outputs = root("cli/shell/tests/fixtures/collect");
    for (index, collector) in ALL.iter().enumerate() {
        let Ok(entries) = fs::read_dir(outputs.join(collector.name)) else {
            continue;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            let text = fs::read(&path).unwrap();
            let text = &text[..text.len().min(SEED_BYTES_MAX)];
            let extension = path.extension().unwrap().to_str().unwrap();
            let stem = path.file_stem().unwrap().to_str().unwrap();
            let (place, before) = match extension {
                "expect" => continue,
                "stderr" => (b'0', 1),
                "jsonl" => (b'1', 2),
                "json" if collector.name != "go" => (b'1', 2),
                "xml" if collector.name == "pytest" => (b'1', 3),
                "xml" => (b'0', 2),
                _ => (b'0', 0),
            };
            if text.is_empty() {
                continue;
            }
            let which = b'a' + u8::try_from(index).unwrap();
            let case = [&[which, 1, place], &vec![SEPARATOR; before][..], text].concat();
            write("collect", &format!("{}-{stem}-{extension}", collector.name), &case);
            let half = [
                &[which, SIGNALLED, place],
                &vec![SEPARATOR; before][..],
                &text[..text.len() / 2],
            ]
            .concat();
            if half.len() < 1024 {
                write("collect", &format!("{}-{stem}-{extension}-cut", collector.name), &half);
            }
        }
    }
}

#[test]
#[ignore = "writes the corpus"]
fn write_the_corpus_of_config() {
    for project in ["pytest", "cargo", "node"] {
        let file = root(&format!("tests/fixtures/{project}-project/loopexec.toml"));
        write("config", &format!("{project}.toml"), &fs::read(file).unwrap());
    }
    for (name, text) in CONFIGS {
        write("config", name, text.as_bytes());
    }
    write("config", "not_utf8.toml", b"[loop]\n# \xff\n");
}

/// Files and single values.
const CONFIGS: &[(&str, &str)] = &[
    (
        "loop.toml",
        "[loop]\ncheck = \"make check\"\nexec = \"off\"\nmode = \"check_fixpoint\"\nsecrets = [\"TOKEN\", \"_KEY2\"]\npipefail = true\n",
    ),
    (
        "oracle.toml",
        "[oracle]\ncollector = \"pytest\"\nreport = \"out/report.xml\"\nbaseline = false\nrequire_red = true\ncheck_success_exit = 3\nfailures_cmd = \"cat failures\"\n",
    ),
    (
        "bounds.toml",
        "[bounds]\nmax_iterations = 12\ntimeout = \"1h30m\"\nidle_timeout = \"off\"\nfirst_output_timeout = 0\nterminate_grace = \"1.5s\"\nbudget_usd = 2.50\n",
    ),
    (
        "capture.toml",
        "[capture]\ninline_max = \"4KiB\"\nexcerpt = 65536\nblob_max = \"8MiB\"\noutput_cap = \"off\"\n",
    ),
    (
        "failures.toml",
        "[failures]\non_exec_failure = \"retry\"\nexec_retries = 3\nretry_backoff = \"500ms\"\ninstant_failures = 0\non_check_timeout = \"halt\"\n",
    ),
    (
        "thresholds.toml",
        "[thresholds]\nno_progress_k = 5\nsame_failure_r = 0\noscillation_periods = 2\ncomprehension_every = \"off\"\n",
    ),
    (
        "guards.toml",
        "[guards]\nsurface = \"src/\"\nblocked = [\"tests/\", \"a,b/\", \"*.\u{fc}\"]\nallow = []\ncommits = false\noff = [\"collected_set\"]\non_violation = \"restore:5\"\n",
    ),
    (
        "pins.toml",
        "[pins]\nmode = \"required\"\ncontext_files = [\"AGENTS.md\", \"/etc/rules\"]\ncost_usd = 0.000001\n[model]\nprovider = \"p\"\nid = \"i\"\n",
    ),
    (
        "sampling.toml",
        "[sampling]\ntemperature = 0.70\ntop_p = \".5\"\nseed = -7\nmax_tokens = 4096\n[money]\nmetering = \"strict\"\ncalls_max = 9\n",
    ),
    ("alias.toml", "[loop]\nmax-iterations = 4\n"),
    (
        "twice.toml",
        "[loop]\nmax_iterations = 3\n[bounds]\nmax_iterations = 4\n",
    ),
    ("unknown_setting.toml", "[bounds]\nmax_iteration = 3\n"),
    ("unknown_section.toml", "[gaurds]\nconfirm = true\n"),
    ("top_level.toml", "check = \"true\"\n"),
    (
        "dotted.toml",
        "bounds.timeout = \"5s\"\nloop = { check = [\"a\", \"b c\"] }\n",
    ),
    ("windows.toml", "\u{feff}[loop]\r\ncheck = \"\"\"\r\na\r\nb\"\"\"\r\n"),
    ("open_string.toml", "[loop]\ncheck = \"true\n"),
    (
        "blanks.toml",
        "[guards]\nblocked = [\" a \", \"b\\tc\"]\n[loop]\ncheck = \" x \"\n",
    ),
    ("nul.toml", "[loop]\ncheck = [\"a\\u0000b\"]\n"),
    ("date.toml", "[model]\nid = 1979-05-27\n"),
    ("hexadecimal.toml", "[bounds]\nmax_iterations = 0x10\n"),
    (
        "largest.toml",
        "[bounds]\nmax_iterations = 18446744073709551615\nbudget_usd = 1000000000.000001\n",
    ),
    ("comment.toml", "# nothing is set\n"),
    ("duration", "1h30m"),
    ("duration_of_parts", "3649d23h59m59s999ms"),
    ("duration_too_fine", "0.5ms"),
    ("money", "12.345678"),
    ("money_negative", "-0.5"),
    ("size", "64KiB"),
    ("size_largest", "18446744073709551615"),
    ("size_too_large", "16777216TiB"),
    ("list_of_lines", "a,b\nc\n"),
    ("list_of_commas", "tests/, *.\u{fc} ,.env"),
    ("form", "restore:2"),
    ("off", "off"),
    ("zero", "0"),
    ("nothing", ""),
];
