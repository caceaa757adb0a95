//! Every collector is total: any bytes give a measurement or an error, and large ones do so quickly.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use shell::oracle::collect::{ALL, Detection, candidates, recognise};
use shell::oracle::{Artefact, normalise};

/// Lines that mean something to one of the parsers, and pieces that tear them apart.
const PIECES: &[&[u8]] = &[
    b"running 3 tests\n",
    b"running 18446744073709551615 tests\n",
    b"test a::b ... ok\n",
    b"test a ... ",
    b"ok\n",
    b"FAILED\n",
    b"failures:\n",
    b"---- a::b stdout ----\n",
    b"    a::b\n",
    b"test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
    b"test result: FAILED. 18446744073709551615 passed; 18446744073709551615 failed\n",
    b"     Running tests/x.rs (t/deps/x-0123456789abcdef)\n",
    b"   Doc-tests d\n",
    b"TAP version 13\n",
    b"1..3\n",
    b"1..18446744073709551615\n",
    b"ok 1 - a # SKIP b\n",
    b"    not ok 2 - c # TODO\n",
    b"        ok\n",
    b"  ---\n",
    b"  ...\n",
    b"Bail out!\n",
    b"# tests 18446744073709551615\n",
    b"# fail 3\n",
    b"  duration_ms: 1\n",
    b"test_a (m.C.test_a) ... ok\n",
    b"test_b (m.C) ... ",
    b"======\nFAIL: test_a (m.C.test_a)\n------\n",
    b"Ran 18446744073709551615 tests in 0.1s\n",
    b"\nOK (skipped=18446744073709551615)\n",
    b"FAILED (failures=1)\n",
    b"{\"type\":\"test\",\"event\":\"ok\",\"name\":\"a::b$c#2\"}\n",
    b"  Summary [ 0.1s] 3 tests run: 3 passed, 0 skipped\n",
    b"   Starting 18446744073709551615 tests across 1 binary\n",
    b"        PASS [ 0.1s] (1/2) a b\n",
    b"  TRY 2 FAIL [ 0.1s] a b\n",
    b"{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"T\"}\n",
    b"{\"Action\":\"fail\",\"Package\":\"p\"}\n",
    b"--- PASS: T (0.00s)\n",
    b"ok  \tp\t0.1s\n",
    b"<testsuites><testsuite name='s' tests='9'>",
    b"<testcase name='a'><failure/>",
    b"</testcase>",
    b"</testsuite></testsuites>",
    b"{\"testResults\":[{\"assertionResults\":[{\"status\":1}]}]}\n",
    b"{\"e\":\"session\"}\n",
    b"{\"e\":\"item\",\"id\":\"a::b\"}\n",
    b"{\"e\":\"phase\",\"id\":\"a::b\",\"when\":\"call\",\"outcome\":\"passed\"}\n",
    b"{\"e\":\"finished\",\"status\":1}\n",
    "✔ a (1.0ms)\n".as_bytes(),
    "▶ b\n".as_bytes(),
    "ℹ tests 3\n".as_bytes(),
    b"\x1b[31",
    b"\x1b]0;",
    b"\0",
    b"\xff\xfe",
    b"\r",
    b"\r\n",
    b"\n",
    b" ",
    b"    ",
];

fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => prop::sample::select(PIECES).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..12),
    ];
    prop_oneof![
        prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat()),
        prop::collection::vec(any::<u8>(), 0..600),
    ]
}

fn read_by_all(artefact: &Artefact<'_>) {
    for collector in ALL {
        match (collector.collect)(artefact) {
            Ok(seen) => {
                assert_eq!(seen.collector, collector.name);
                assert!(
                    seen.members.windows(2).all(|pair| pair[0].id < pair[1].id),
                    "{}: sorted and unique",
                    collector.name
                );
                assert_eq!(
                    Ok(seen),
                    (collector.collect)(artefact),
                    "{}: the same bytes, the same reading",
                    collector.name
                );
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    let _ = recognise(artefact);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(stdout in hostile(), stderr in hostile(), report in prop::option::of(hostile()), exit in prop::option::of(-1..300)) {
        let files = [("pytest.jsonl".to_string(), stderr.clone()), ("jest.json".to_string(), stdout.clone()), ("x.xml".to_string(), stdout.clone())];
        read_by_all(&Artefact { exit, stdout: &stdout, stderr: &stderr, report: report.as_deref(), reports_dir_files: &[], workdir: "/w" });
        read_by_all(&Artefact { exit, stdout: &stdout, stderr: &stderr, report: None, reports_dir_files: &files, workdir: "" });
    }

    #[test]
    fn any_text_is_normalised_and_normal_text_stays(bytes in hostile()) {
        let once = normalise::output_fingerprint_input(&bytes);
        prop_assert_eq!(&normalise::output_fingerprint_input(&once), &once);
        let text = String::from_utf8_lossy(&bytes);
        let once = normalise::message(&text);
        prop_assert_eq!(normalise::message(&once), once);
    }

    #[test]
    fn any_command_is_looked_at(command in "\\PC{0,80}", makefile in "[a-c: \t\n;=#-]{0,80}", package in "\\PC{0,40}") {
        let detection = Detection { command, makefile: Some(makefile), package_json: Some(package), ..Detection::default() };
        let _ = candidates(&detection);
    }
}

#[test]
fn fifty_thousand_members_are_read_in_a_moment() {
    let many = 50_000;
    let lines = |make: &dyn Fn(usize) -> String| (0..many).map(make).collect::<String>();
    let libtest = format!(
        "running {many} tests\n{}\ntest result: ok. {many} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
        lines(&|n| format!("test a::t{n} ... ok\n"))
    );
    let tap = format!("1..{many}\n{}", lines(&|n| format!("ok {} - t{}\n", n + 1, n % 7)));
    let unittest = format!(
        "{}\nRan {many} tests in 1.0s\n\nOK\n",
        lines(&|n| format!("test_{n} (m.C.test_{n}) ... ok\n"))
    );
    let go = lines(&|n| format!("{{\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"T{n}\"}}\n"))
        + "{\"Action\":\"pass\",\"Package\":\"p\"}\n";
    let nextest = lines(&|n| format!("{{\"type\":\"test\",\"event\":\"ok\",\"name\":\"a::b$t{n}\"}}\n"));
    let junit = format!(
        "<testsuite>{}</testsuite>",
        lines(&|n| format!("<testcase classname='C' name='t{n}'/>"))
    );
    let record = "{\"e\":\"session\"}\n".to_string()
        + &lines(&|n| format!("{{\"e\":\"item\",\"id\":\"t.py::t{n}\"}}\n"))
        + &lines(&|n| {
            format!(
                "{{\"e\":\"phase\",\"id\":\"t.py::t{n}\",\"when\":\"call\",\"outcome\":\"passed\"}}\n{{\"e\":\"phase\",\"id\":\"t.py::t{n}\",\"when\":\"teardown\",\"outcome\":\"passed\"}}\n"
            )
        })
        + "{\"e\":\"finished\",\"status\":0}\n";
    let jest = format!(
        "{{\"testResults\":[{{\"name\":\"a\",\"assertionResults\":[{}{{\"title\":\"z\",\"status\":\"passed\"}}]}}]}}",
        lines(&|n| format!("{{\"title\":\"t{n}\",\"status\":\"passed\"}},"))
    );
    for (name, text) in [
        ("libtest", &libtest),
        ("tap", &tap),
        ("unittest", &unittest),
        ("go", &go),
        ("nextest", &nextest),
        ("junit", &junit),
        ("pytest", &record),
        ("jest", &jest),
    ] {
        let collect = ALL.iter().find(|collector| collector.name == name).unwrap().collect;
        let in_report = matches!(name, "junit" | "pytest" | "jest");
        let artefact = Artefact {
            exit: Some(0),
            stdout: if in_report { b"" } else { text.as_bytes() },
            stderr: if in_report { b"" } else { text.as_bytes() },
            report: in_report.then_some(text.as_bytes()),
            ..Artefact::default()
        };
        let start = Instant::now();
        let seen = collect(&artefact).unwrap();
        let spent = start.elapsed();
        assert!(seen.members.len() >= many, "{name}: {}", seen.members.len());
        // A quadratic reader takes minutes; the bound only has to tell the two apart.
        assert!(spent < Duration::from_secs(20), "{name}: {spent:?}");
        eprintln!("{name}: {spent:?}");
    }
}

#[test]
fn adverse_shapes_are_read_in_a_moment() {
    let start = Instant::now();
    let shapes = [
        "test a ... \n".repeat(50_000),
        format!("running 50000 tests\n{}", "test a ... x\n".repeat(50_000)),
        (0..50_000)
            .map(|n| format!("test_{n} (m.C.test_{n}) ... x\n"))
            .collect(),
        (0..50_000).map(|n| format!("=== RUN   T{n}\n")).collect::<String>() + "ok  \tp\t0.1s\n",
        "x".repeat(2 << 20),
        "\u{1b}]".repeat(1 << 18),
        "[".repeat(1 << 18),
        format!("{{\"testResults\":{}", "[".repeat(1 << 18)),
        "# ".repeat(1 << 18),
        format!("ok 1 - {}\n", "\\#".repeat(1 << 17)),
        format!("ok 1 - {}\n", "# skip ".repeat(1 << 16)),
        "    ".repeat(60).repeat(1000),
        "/a".repeat(1 << 17),
        "0".repeat(1 << 18),
        "1.".repeat(1 << 17),
        "a:1".repeat(1 << 17),
    ];
    for shape in &shapes {
        let began = Instant::now();
        let bytes = shape.as_bytes();
        for report in [Some(bytes), None] {
            let artefact = Artefact {
                exit: Some(0),
                stdout: bytes,
                stderr: bytes,
                report,
                ..Artefact::default()
            };
            for collector in ALL {
                let _ = (collector.collect)(&artefact);
            }
        }
        let _ = normalise::output_fingerprint_input(bytes);
        let _ = normalise::message(shape);
        eprintln!(
            "{:?}... {:?}",
            shape.chars().take(12).collect::<String>(),
            began.elapsed()
        );
    }
    assert!(start.elapsed() < Duration::from_secs(120), "{:?}", start.elapsed());
    eprintln!("adverse shapes: {:?}", start.elapsed());
}
