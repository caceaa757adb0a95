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

/// Sources of each language, whole and cut in two, and one of each under another language.
#[test]
#[ignore = "writes the corpus"]
fn write_the_corpus_of_syntax() {
    let languages: Vec<syntax::Language> = syntax::Language::all().collect();
    for (path, source) in SOURCES {
        let language = syntax::Language::of(path).unwrap();
        let which = languages.iter().position(|known| *known == language).unwrap();
        let case = |which: usize, source: &[u8]| [&[b'a' + u8::try_from(which).unwrap()], source].concat();
        let path = path.replace('.', "_");
        write("syntax", &path, &case(which, source.as_bytes()));
        write(
            "syntax",
            &format!("{path}-cut"),
            &case(which, &source.as_bytes()[..source.len() / 2]),
        );
        let other = (which + 1) % languages.len();
        write("syntax", &format!("{path}-other"), &case(other, source.as_bytes()));
    }
    write("syntax", "nothing", &[]);
}

/// A suite of each language, and one of two sources that nobody can satisfy.
const SOURCES: &[(&str, &str)] = &[
    (
        "calc_test.go",
        "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tfor _, tt := range []struct{ a, want int }{{1, 3}, {2, 4}} {\n\t\tt.Run(\"x\", func(t *testing.T) {\n\t\t\tif got := Add(tt.a, 2); got != tt.want {\n\t\t\t\tt.Errorf(\"got %d\", got)\n\t\t\t}\n\t\t})\n\t}\n}\n",
    ),
    (
        "CalcTest.java",
        "class CalcTest {\n  @Test void adds() { assertEquals(3, Calc.add(1, 2)); }\n  @ParameterizedTest @ValueSource(ints = {1, 2}) void f(int x) { assertTrue(x > 0); }\n}\n",
    ),
    (
        "calc.test.js",
        "import { test, expect } from 'vitest';\ndescribe('calc', () => {\n  it.each([[1, 3], [2, 4]])('adds %i', (a, want) => { expect(add(a, 2)).toBe(want); });\n  test('more', () => { const want = [1, 2]; expect(list()).toEqual(want); });\n});\n",
    ),
    (
        "test_calc.py",
        "import pytest\n\n@pytest.mark.parametrize('a, want', [(1, 3), (2, 4)])\ndef test_add(a, want):\n    assert add(a, 2) == want, 'message'\n\nclass TestMore:\n    def test_raises(self):\n        with pytest.raises(ValueError):\n            add(None, 1)\n        self.assertEqual(add(0, 0), 0)\n",
    ),
    (
        "opposed.py",
        "from calc import add\n\ndef test_a():\n    assert add(1, 2) == 3\n\x1efrom calc import add\n\ndef test_b():\n    assert add(1, 2) == 4\n",
    ),
    (
        "product.py",
        "def add(a, b):\n    if a > 0 and b:\n        return a + b\n    for x in [1]:\n        a += x\n    return -1\n",
    ),
    (
        "lib.rs",
        "pub fn add(a: i32, b: i32) -> i32 { if a > 1 { a + b } else { b - a } }\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn adds() { assert_eq!(add(1, 2), 3, \"why\"); assert!(add(0, 0) == 0); }\n    #[test]\n    #[should_panic]\n    fn fails() { add(i32::MAX, 1); }\n}\n",
    ),
    (
        "calc.ts",
        "export const add = (a: number, b: number): number => a + b;\nif (import.meta.vitest) {\n  const { it, expect } = import.meta.vitest;\n  it('adds', () => { expect(add(1, 2)).toBe(3); });\n}\n",
    ),
    (
        "view.tsx",
        "export const View = (p: { n: number }) => <p>{p.n > 1 ? 'many' : `one ${p.n}`}</p>;\ntest('view', () => { expect(render(<View n={1} />)).toMatchSnapshot(); });\n",
    ),
];

/// A report of each format, whole and cut in two.
#[test]
#[ignore = "writes the corpus"]
fn write_the_corpus_of_coverage() {
    for (name, report) in REPORTS {
        write("coverage", name, report.as_bytes());
        write(
            "coverage",
            &format!("{name}-cut"),
            &report.as_bytes()[..report.len() / 2],
        );
    }
    write("coverage", "nothing", b" \n");
}

const REPORTS: &[(&str, &str)] = &[
    (
        "coverage_py.json",
        r#"{"meta": {"format": 3}, "files": {"money.py": {"executed_lines": [3, 1], "missing_lines": [4], "excluded_lines": [6]}}}"#,
    ),
    (
        "cobertura.xml",
        r#"<coverage line-rate="0.5"><sources><source>/w/copy</source></sources><packages><package><classes><class filename="money.py"><lines><line number="1" hits="2"/><line number="4" hits="0"/></lines></class></classes></package></packages></coverage>"#,
    ),
    (
        "lcov.info",
        "TN:\nSF:/w/copy/src/total.js\nFN:1,total\nDA:1,2\nDA:4,0\nend_of_record\n",
    ),
    (
        "llvm.json",
        r#"{"type": "llvm.coverage.json.export", "version": "2.0.1", "data": [{"files": [{"filename": "/w/copy/src/lib.rs", "segments": [[1,1,2,true,true,false],[3,2,0,false,false,false],[4,5,0,true,true,false],[5,2,0,false,false,false]]}], "functions": []}]}"#,
    ),
    (
        "go.out",
        "mode: set\nexample.com/shop/calc/calc.go:1.2,1.20 1 1\nexample.com/shop/calc/calc.go:4.2,5.3 2 0\n",
    ),
    (
        "istanbul.json",
        r#"{"/w/copy/src/total.js": {"path": "/w/copy/src/total.js", "statementMap": {"0": {"start": {"line": 1, "column": 0}, "end": {"line": 2, "column": 1}}}, "s": {"0": 7}, "fnMap": {}, "f": {}}}"#,
    ),
];

/// Calls of a check that keeps to its places, and of one that does not.
#[test]
#[ignore = "writes the corpus"]
fn write_the_corpus_of_trace() {
    for (name, lines) in TRACES {
        write("trace", name, lines.as_bytes());
        write("trace", &format!("{name}-cut"), &lines.as_bytes()[..lines.len() / 2]);
    }
}

const TRACES: &[(&str, &str)] = &[
    (
        "inside",
        "10 execve(\"/bin/sh\", [...], 0x7ff /* 9 vars */) = 0\n10 openat(AT_FDCWD</w/copy>, \"a\", O_RDONLY) = 3</w/copy/a>\n10 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD) = 11\n11 execve(\"/usr/bin/python3\", [...], 0x7ff) = 0\n10 exit_group(0) = ?\n",
    ),
    (
        "outside",
        "10 execve(\"/bin/sh\", [...], 0x7ff /* 9 vars */) = 0\n10 openat(AT_FDCWD</w/copy>, \"l\", O_RDONLY) = 3</home/u/work/answers>\n10 connect(3<socket:[7]>, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr(\"192.0.2.1\")}, 16) = -1 EINPROGRESS (x)\n10 openat(AT_FDCWD</>, \"/home/u/x\", O_WRONLY|O_CREAT, 0666) = 4</home/u/x>\n",
    ),
    (
        "parted",
        "10 openat(AT_FDCWD</w/copy>, \"a\" <unfinished ...>\n11 getrandom(\"\\x01\", 1, 0) = 1\n10 <... openat resumed>, O_RDONLY) = 3</etc/shadow>\n+++ exited with 0 +++\nnonsense\n",
    ),
];

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
