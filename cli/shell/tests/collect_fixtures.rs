//! Captured output of real tools against the measurements that were read and agreed on.

#![expect(clippy::unwrap_used, reason = "a helper of tests that fail where it fails")]

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use shell::oracle::collect::{CollectError, by_name, recognise};
use shell::oracle::{Artefact, Measured, Status};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/collect");

struct Capture {
    exit: i32,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    report: Option<Vec<u8>>,
    files: Vec<(String, Vec<u8>)>,
    workdir: &'static str,
}

impl Capture {
    fn exit(exit: i32) -> Self {
        Self {
            exit,
            stdout: Vec::new(),
            stderr: Vec::new(),
            report: None,
            files: Vec::new(),
            workdir: "/srv/demo",
        }
    }
    fn stdout(mut self, name: &str) -> Self {
        self.stdout = read(name);
        self
    }
    fn stderr(mut self, name: &str) -> Self {
        self.stderr = read(name);
        self
    }
    fn report(mut self, name: &str) -> Self {
        self.report = Some(read(name));
        self
    }
    fn file(mut self, name: &str, from: &str) -> Self {
        self.files.push((name.to_string(), read(from)));
        self
    }
    fn below(mut self, workdir: &'static str) -> Self {
        self.workdir = workdir;
        self
    }
    fn artefact(&self) -> Artefact<'_> {
        Artefact {
            exit: Some(self.exit),
            stdout: &self.stdout,
            stderr: &self.stderr,
            report: self.report.as_deref(),
            reports_dir_files: &self.files,
            workdir: self.workdir,
        }
    }
}

fn read(name: &str) -> Vec<u8> {
    fs::read(format!("{ROOT}/{name}")).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn render(seen: &Measured) -> String {
    let mut out = String::new();
    let number = |value: Option<u64>| value.map_or("unknown".to_string(), |value| value.to_string());
    let _ = writeln!(
        out,
        "collector {}  announced {}  concluded {}  retried {}{}{}",
        seen.collector,
        number(seen.announced),
        number(seen.concluded),
        seen.retried,
        if seen.finished { "  finished" } else { "" },
        if seen.complete { "  complete" } else { "" },
    );
    for member in &seen.members {
        let line = member.line.map_or(String::new(), |line| format!(":{line}"));
        let place = member
            .file
            .as_ref()
            .map_or(String::new(), |file| format!("  [{file}{line}]"));
        let kind = if member.container { "  (container)" } else { "" };
        let said = member.message.lines().next().unwrap_or_default();
        let said = if said.is_empty() {
            String::new()
        } else {
            format!("  | {said}")
        };
        let _ = writeln!(out, "  {:<12} {}{kind}{place}{said}", member.status.label(), member.id);
    }
    for sentence in &seen.contradictions {
        let _ = writeln!(out, "contradiction: {sentence}");
    }
    for note in &seen.notes {
        let _ = writeln!(out, "note: {note}");
    }
    out
}

/// Measures `capture` and compares with `NAME.expect`.
fn agrees(collector: &str, name: &str, capture: &Capture) -> Measured {
    let seen = (by_name(collector).unwrap().collect)(&capture.artefact()).unwrap();
    let path = PathBuf::from(format!("{ROOT}/{name}.expect"));
    let rendered = render(&seen);
    if std::env::var_os("LOOPEXEC_BLESS").is_some() {
        fs::write(&path, &rendered).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(rendered, expected, "{name}");
    seen
}

#[test]
fn pytest_is_read_from_the_plugins_record() {
    let one = Capture::exit(1)
        .file("pytest.jsonl", "pytest/mixed.jsonl")
        .file("pytest.xml", "pytest/mixed.xml");
    let alone = agrees("pytest", "pytest/mixed", &one);
    let two = Capture::exit(1)
        .file("pytest.jsonl", "pytest/xdist.jsonl")
        .file("pytest.xml", "pytest/xdist.xml");
    let spread = agrees("pytest", "pytest/xdist", &two);
    let verdicts = |seen: &Measured| {
        seen.members
            .iter()
            .map(|member| (member.id.clone(), member.status))
            .collect::<Vec<_>>()
    };
    assert_eq!(verdicts(&alone), verdicts(&spread), "xdist changes no verdict");
}

#[test]
fn pytest_without_the_plugin_gives_the_same_verdicts_but_for_what_xml_cannot_tell() {
    let capture = Capture::exit(1)
        .stdout("pytest/xml_only.stdout")
        .file("pytest.xml", "pytest/xml_only.xml");
    agrees("pytest", "pytest/xml_only", &capture);
}

#[test]
fn a_pytest_session_that_died_has_announced_more_than_it_concluded() {
    let capture = Capture::exit(0)
        .stdout("pytest/died.stdout")
        .file("pytest.jsonl", "pytest/died.jsonl");
    let seen = agrees("pytest", "pytest/died", &capture);
    assert!(seen.announced > seen.concluded && !seen.finished);
}

#[test]
fn unittest_is_complete_with_v_and_names_only_failures_without() {
    let verbose = agrees(
        "unittest",
        "unittest/verbose",
        &Capture::exit(1).stderr("unittest/verbose.stderr"),
    );
    let dots = agrees(
        "unittest",
        "unittest/dots",
        &Capture::exit(1).stderr("unittest/dots.stderr"),
    );
    let failing = |seen: &Measured| seen.failing().map(|member| member.id.clone()).collect::<Vec<_>>();
    assert_eq!(failing(&verbose), failing(&dots));
    assert!(verbose.complete && !dots.complete);
    // Of ten, one was skipped, one had to fail, and one stands for a module that could not be loaded.
    assert_eq!((verbose.concluded, dots.concluded), (Some(10), Some(7)));
}

#[test]
fn a_unittest_line_that_a_test_wrote_into_is_settled_by_the_totals() {
    let said = |glued: &str, totals: &str| {
        let text = format!(
            "test_a (m.A.test_a) ... ok\n{glued}\n----------------------------------------------------------------------\n\
             Ran 3 tests in 0.001s\n\nOK{totals}\n"
        );
        let capture = Capture {
            stderr: text.into_bytes(),
            ..Capture::exit(0)
        };
        let seen = (by_name("unittest").unwrap().collect)(&capture.artefact()).unwrap();
        let of = |id: &str| seen.member(id).map(|member| member.status);
        (seen.complete, of("m.A.test_b"), of("m.A.test_c"))
    };
    let both = "test_b (m.A.test_b) ... noiseok\ntest_c (m.A.test_c) ... noiseskipped 'x'";
    let one = "test_b (m.A.test_b) ... ok\ntest_c (m.A.test_c) ... noiseskipped 'x'";
    let (passed, skipped) = (Some(Status::Passed), Some(Status::Skipped));
    assert_eq!(said(one, " (skipped=1)"), (true, passed, skipped));
    assert_eq!(said(one, ""), (true, passed, passed));
    assert_eq!(said(both, " (skipped=1)"), (false, None, None), "nobody knows which");
}

#[test]
fn a_unittest_run_that_ended_early_is_not_finished() {
    let seen = agrees(
        "unittest",
        "unittest/died",
        &Capture::exit(0).stderr("unittest/died.stderr"),
    );
    assert!(!seen.finished && seen.announced > seen.concluded);
}

#[test]
fn cargo_test_is_keyed_by_binary_and_believes_no_captured_output() {
    let mixed = Capture::exit(101)
        .stdout("libtest/mixed.stdout")
        .stderr("libtest/mixed.stderr");
    let seen = agrees("libtest", "libtest/mixed", &mixed);
    assert!(seen.members.iter().all(|member| !member.id.contains("fake")));
    let terse = Capture::exit(101)
        .stdout("libtest/terse.stdout")
        .stderr("libtest/terse.stderr");
    agrees("libtest", "libtest/terse", &terse);
    let noisy = Capture::exit(0)
        .stdout("libtest/nocapture.stdout")
        .stderr("libtest/nocapture.stderr");
    agrees("libtest", "libtest/nocapture", &noisy);
}

#[test]
fn a_test_binary_that_exits_early_contradicts_itself() {
    let capture = Capture::exit(0)
        .stdout("libtest/died.stdout")
        .stderr("libtest/died.stderr");
    let seen = agrees("libtest", "libtest/died", &capture);
    assert!(seen.announced > seen.concluded && !seen.contradictions.is_empty());
    assert!(recognise(&capture.artefact()).is_none());
}

#[test]
fn a_crate_that_does_not_compile_is_one_failing_container() {
    let capture = Capture::exit(101)
        .stdout("libtest/build_error.stdout")
        .stderr("libtest/build_error.stderr");
    agrees("libtest", "libtest/build_error", &capture);
}

#[test]
fn nextest_gives_the_same_verdicts_as_json_and_as_text() {
    let json = Capture::exit(100)
        .stdout("nextest/json.stdout")
        .stderr("nextest/json.stderr");
    let json = agrees("nextest", "nextest/json", &json);
    let human = Capture::exit(100)
        .stdout("nextest/human.stdout")
        .stderr("nextest/human.stderr");
    let human = agrees("nextest", "nextest/human", &human);
    let tally = |seen: &Measured, status| seen.members.iter().filter(|member| member.status == status).count();
    for status in [Status::Passed, Status::FlakyPassed, Status::Failed] {
        assert_eq!(tally(&json, status), tally(&human, status), "{status:?}");
    }
}

#[test]
fn node_is_read_from_tap_and_from_its_spec_reporter() {
    let tap = agrees(
        "node",
        "node/tap",
        &Capture::exit(1).stdout("node/mixed.tap").below("/srv/demo/node"),
    );
    let spec = agrees(
        "node",
        "node/spec",
        &Capture::exit(1).stdout("node/mixed.spec").below("/srv/demo/node"),
    );
    let ids = |seen: &Measured| seen.members.iter().map(|member| member.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&tap), ids(&spec));
}

#[test]
fn jest_and_vitest_are_keyed_by_file_and_titles() {
    agrees(
        "jest",
        "jest/mixed",
        &Capture::exit(1)
            .file("jest.json", "jest/mixed.json")
            .below("/srv/demo/jest"),
    );
    agrees(
        "vitest",
        "vitest/mixed",
        &Capture::exit(1)
            .file("vitest.json", "vitest/mixed.json")
            .below("/srv/demo/vitest"),
    );
}

#[test]
fn go_is_read_from_events_and_from_text() {
    agrees("go", "go/events", &Capture::exit(1).stdout("go/events.json"));
    agrees("go", "go/verbose", &Capture::exit(1).stdout("go/verbose.stdout"));
    // What a subtest prints without ending its line is followed by the verdict of its parent.
    agrees("go", "go/glued", &Capture::exit(0).stdout("go/glued.json"));
    agrees("go", "go/plain", &Capture::exit(1).stdout("go/plain.stdout"));
}

#[test]
fn tap_is_read_with_its_subtests() {
    agrees("tap", "tap/nested", &Capture::exit(1).stdout("tap/nested.tap"));
    agrees("tap", "tap/bail", &Capture::exit(1).stdout("tap/bail.tap"));
}

#[test]
fn junit_of_other_runners_is_read() {
    agrees(
        "junit",
        "junit/surefire",
        &Capture::exit(1).report("junit/surefire.xml"),
    );
    agrees(
        "junit",
        "junit/googletest",
        &Capture::exit(1).report("junit/googletest.xml"),
    );
}

#[test]
fn phpunit_is_read_with_its_data_sets() {
    agrees("junit", "junit/phpunit", &Capture::exit(1).report("junit/phpunit.xml"));
}

#[test]
fn rspec_is_keyed_by_file_and_description() {
    let capture = Capture::exit(1).file("rspec.json", "rspec/mixed.json");
    let seen = agrees("rspec", "rspec/mixed", &capture);
    let printed = Capture::exit(1).stdout("rspec/mixed.json");
    let collect = by_name("rspec").unwrap().collect;
    assert_eq!(collect(&printed.artefact()), Ok(seen));
}

#[test]
fn googletest_is_keyed_by_binary() {
    let capture = Capture::exit(1)
        .file("unit.json", "googletest/unit.json")
        .file("smoke.json", "googletest/smoke.json");
    agrees("googletest", "googletest/two", &capture);
}

#[test]
fn a_report_that_is_absent_or_breaks_off_is_no_measurement() {
    for (collector, name, fixture) in [
        ("rspec", "rspec.json", "rspec/mixed.json"),
        ("googletest", "unit.json", "googletest/unit.json"),
    ] {
        let collect = by_name(collector).unwrap().collect;
        let mut cut = Capture::exit(1).file(name, fixture);
        cut.files[0].1.truncate(300);
        assert!(matches!(collect(&cut.artefact()), Err(CollectError::Truncated { .. })));
        assert!(matches!(
            collect(&Capture::exit(1).artefact()),
            Err(CollectError::Absent { .. })
        ));
    }
}

#[test]
fn ctest_is_read_from_its_lines_and_held_to_its_totals() {
    agrees("ctest", "ctest/mixed", &Capture::exit(8).stdout("ctest/mixed.stdout"));
    let repeated = Capture::exit(0).stdout("ctest/repeated.stdout");
    agrees("ctest", "ctest/repeated", &repeated);
    assert_eq!(recognise(&repeated.artefact()).map(|found| found.name), Some("ctest"));
    let forged = agrees("ctest", "ctest/forged", &Capture::exit(8).stdout("ctest/forged.stdout"));
    assert_eq!(forged.contradictions.len(), 1);
}

#[test]
fn whole_text_output_is_recognised_without_a_command_to_go_by() {
    let name = |capture: &Capture| recognise(&capture.artefact()).map(|collector| collector.name);
    let libtest = Capture::exit(101)
        .stdout("libtest/mixed.stdout")
        .stderr("libtest/mixed.stderr");
    assert_eq!(name(&libtest), Some("libtest"));
    assert_eq!(name(&Capture::exit(1).stdout("node/mixed.tap")), Some("node"));
    assert_eq!(name(&Capture::exit(1).stdout("tap/nested.tap")), Some("tap"));
    assert_eq!(name(&Capture::exit(1).stdout("tap/bail.tap")), None);
    assert_eq!(
        name(&Capture::exit(1).stderr("unittest/verbose.stderr")),
        Some("unittest")
    );
    assert_eq!(
        name(&Capture::exit(100).stderr("nextest/human.stderr")),
        Some("nextest")
    );
    assert_eq!(name(&Capture::exit(0).stderr("libtest/build_error.stderr")), None);
    assert_eq!(name(&Capture::exit(0)), None);
}

#[test]
fn line_endings_change_nothing() {
    let crlf = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace('\n', "\r\n").into_bytes();
    for (collector, stdout, stderr) in [
        ("libtest", "libtest/mixed.stdout", "libtest/mixed.stderr"),
        ("nextest", "nextest/json.stdout", "nextest/json.stderr"),
        ("node", "node/mixed.tap", "node/mixed.tap"),
        ("unittest", "unittest/verbose.stderr", "unittest/verbose.stderr"),
        ("go", "go/verbose.stdout", "go/verbose.stdout"),
        ("ctest", "ctest/mixed.stdout", "ctest/mixed.stdout"),
    ] {
        let plain = Capture::exit(1).stdout(stdout).stderr(stderr);
        let mut windows = Capture::exit(1).stdout(stdout).stderr(stderr);
        windows.stdout = crlf(&windows.stdout);
        windows.stderr = crlf(&windows.stderr);
        let collect = by_name(collector).unwrap().collect;
        assert_eq!(collect(&plain.artefact()), collect(&windows.artefact()), "{collector}");
    }
}
