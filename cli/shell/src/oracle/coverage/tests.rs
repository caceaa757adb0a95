use proptest::prelude::*;

use super::*;

const ROOT: &str = "/w/copy";

fn names() -> Names {
    Names::new(
        ROOT,
        ["money.py", "src/lib.rs", "calc/calc.go", "src/total.js"].into_iter(),
    )
}

fn seen(report: &str) -> Coverage {
    read(report.as_bytes(), &names()).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(report: &str) -> CoverageError {
    read(report.as_bytes(), &names()).expect_err(report)
}

/// `+` ran, `-` did not, `x` is left out, `.` is none that could run.
fn drawn(coverage: &Coverage, path: &str, to: u32) -> String {
    let lines = &coverage.files[path];
    let mark = |line| match lines.state(line) {
        LineState::Ran => '+',
        LineState::DidNotRun => '-',
        LineState::Excluded => 'x',
        LineState::Unknown => '.',
    };
    (1..=to).map(mark).collect()
}

/// A report of each format, of one file, with lines 1 and 3 run and 4 not, where the format can say so.
const REPORTS: &[(&str, &str, &str, &str)] = &[
    (
        "coverage.py",
        "money.py",
        r#"{"meta": {"format": 3}, "files": {"money.py": {"executed_lines": [3, 1], "missing_lines": [4], "excluded_lines": [6, 7], "summary": {}}}, "totals": {}}"#,
        "+.+-.xx",
    ),
    (
        "cobertura",
        "money.py",
        "<?xml version=\"1.0\" ?>\n<!DOCTYPE coverage SYSTEM \"http://cobertura.sourceforge.net/xml/coverage-04.dtd\">\n<coverage line-rate=\"0.5\"><sources><source>/w/copy</source></sources><packages><package><classes><class filename=\"money.py\"><methods><method><lines><line number=\"9\" hits=\"1\"/></lines></method></methods><lines><line number=\"1\" hits=\"2\"/><line number=\"3\" hits=\"1\"/><line number=\"4\" hits=\"0\"/></lines></class></classes></package></packages></coverage>",
        "+.+-...",
    ),
    (
        "lcov",
        "src/total.js",
        "TN:\nSF:/w/copy/src/total.js\nFN:1,total\nDA:1,2\nDA:3,1,abc\nDA:4,0\nLF:3\nend_of_record\nSF:/usr/include/x.h\nDA:1,1\nend_of_record\n",
        "+.+-...",
    ),
    (
        "llvm-cov",
        "src/lib.rs",
        r#"{"type": "llvm.coverage.json.export", "version": "2.0.1", "data": [{"files": [{"filename": "/w/copy/src/lib.rs", "segments": [[1,1,2,true,true,false],[2,2,0,false,false,false],[3,1,1,true,true,false],[3,9,0,false,false,false],[4,5,0,true,true,false],[5,2,0,false,false,false]]}], "functions": []}]}"#,
        "+++--..",
    ),
    (
        "go",
        "calc/calc.go",
        "mode: set\nexample.com/shop/calc/calc.go:1.2,1.20 1 1\nexample.com/shop/calc/calc.go:3.2,3.9 1 1\nexample.com/shop/calc/calc.go:4.2,5.3 2 0\n",
        "+.+--..",
    ),
    (
        "istanbul",
        "src/total.js",
        r#"{"/w/copy/src/total.js": {"path": "/w/copy/src/total.js", "statementMap": {"0": {"start": {"line": 1, "column": 0}, "end": {"line": 2, "column": 1}}, "1": {"start": {"line": 3, "column": 0}}, "2": {"start": {"line": 4, "column": 0}}}, "s": {"0": 7, "1": 1, "2": 0}, "fnMap": {}, "f": {}}}"#,
        "+.+-...",
    ),
];

#[test]
fn every_format_is_known_by_its_content_and_gives_the_lines_that_ran() {
    for (name, path, report, lines) in REPORTS {
        let coverage = seen(report);
        assert_eq!(coverage.format, *name);
        assert_eq!(drawn(&coverage, path, 7), *lines, "{name}");
    }
    let mut told: Vec<&str> = REPORTS.iter().map(|(name, ..)| *name).collect();
    told.sort_unstable();
    let all: Vec<&str> = ALL.iter().map(|format| format.name).collect();
    assert_eq!(told, all, "the list is alphabetical and each has a report here");
}

#[test]
fn a_report_that_is_cut_off_anywhere_is_an_error_or_less_and_never_more() {
    for (name, path, report, _) in REPORTS {
        let whole = seen(report);
        for at in 0..report.len() {
            if let Ok(part) = read(&report.as_bytes()[..at], &names()) {
                let ran = |coverage: &Coverage| coverage.files.get(*path).map_or(0, |lines| lines.can_run().count());
                assert!(ran(&part) <= ran(&whole), "{name} at {at}");
            }
        }
    }
    assert!(matches!(
        refused("SF:money.py\nDA:1,1\n"),
        CoverageError::Truncated { .. }
    ));
    assert!(matches!(refused("{\"meta\": {"), CoverageError::Truncated { .. }));
    assert!(matches!(
        refused("<coverage><packages>"),
        CoverageError::Truncated { .. }
    ));
}

#[test]
fn what_is_in_no_format_says_which_there_are() {
    for strange in ["hello", "{}", "[]", "{\"a\": 1}", "{\"files\": {}}"] {
        assert_eq!(refused(strange), CoverageError::Unknown, "{strange}");
    }
    assert_eq!(refused(" \n"), CoverageError::Empty);
    assert!(CoverageError::Unknown.to_string().contains("lcov"));
    assert!(matches!(
        refused("<report name='jacoco'/>"),
        CoverageError::Malformed { .. }
    ));
}

#[test]
fn numbers_that_no_line_has_are_refused_and_line_zero_is_nobodys() {
    for number in ["-1", "16777217", "99999999999999999999", "1.5", "x"] {
        let lcov = format!("SF:money.py\nDA:{number},1\nend_of_record\n");
        let py = format!(
            "{{\"meta\":{{}},\"files\":{{\"money.py\":{{\"executed_lines\":[{number}],\"missing_lines\":[]}}}}}}"
        );
        let xml = format!(
            "<coverage><class filename='money.py'><lines><line number='{number}' hits='1'/></lines></class></coverage>"
        );
        for report in [lcov, py, xml] {
            let error = refused(&report);
            assert!(matches!(error, CoverageError::Malformed { .. }), "{report}: {error}");
        }
    }
    let zero = seen("SF:money.py\nDA:0,1\nend_of_record\n");
    assert_eq!(zero.files["money.py"], Lines::default());
}

#[test]
fn a_stretch_as_long_as_all_numbers_ends_at_the_limit() {
    for report in [
        "mode: set\nmoney.py:1.1,9000000000.1 1 1\n",
        "mode: set\nmoney.py:5.1,1.1 1 1\n",
        r#"{"type":"llvm.coverage.json.export","data":[{"files":[{"filename":"money.py","segments":[[1,1,1,true,true],[9000000000,1,0,true,true]]}]}]}"#,
    ] {
        assert!(matches!(refused(report), CoverageError::Malformed { .. }), "{report}");
    }
    let many = format!("mode: set\n{}", "money.py:1.1,16000000.1 1 1\n".repeat(3));
    assert!(matches!(refused(&many), CoverageError::TooMany { .. }));
}

#[test]
fn a_report_over_the_size_is_refused_before_it_is_read() {
    let huge = vec![b'x'; LIMITS.report_bytes + 1];
    let error = read(&huge, &names()).expect_err("it is too large");
    assert!(matches!(error, CoverageError::TooLarge { .. }));
}

#[test]
fn document_types_with_definitions_are_refused() {
    let bomb =
        "<!DOCTYPE coverage [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]><coverage><class filename='&b;'/></coverage>";
    assert!(matches!(refused(bomb), CoverageError::Malformed { .. }));
    let undefined = "<coverage><class filename='&b;'/></coverage>";
    assert!(matches!(refused(undefined), CoverageError::Malformed { .. }));
    let deep = format!(
        "<coverage>{}{}</coverage>",
        "<class filename='money.py'>".repeat(50_000),
        "</class>".repeat(50_000)
    );
    let _ends = read(deep.as_bytes(), &names());
}

#[test]
fn a_report_about_other_trees_is_no_report_of_this_one() {
    let error = refused("SF:/etc/passwd\nDA:1,1\nend_of_record\nSF:../../money.py\nDA:1,1\nend_of_record\n");
    assert!(error.to_string().contains("/etc/passwd"), "{error}");
}

#[test]
fn a_line_ran_if_it_ran_in_any_process() {
    let mut one = seen("SF:money.py\nDA:1,1\nDA:2,0\nend_of_record\n");
    one.join(seen(
        "SF:money.py\nDA:2,3\nDA:3,0\nend_of_record\nSF:src/lib.rs\nDA:1,1\nend_of_record\n",
    ));
    assert_eq!(drawn(&one, "money.py", 3), "++-");
    assert_eq!(drawn(&one, "src/lib.rs", 1), "+");
    // The same line twice in one report too.
    assert_eq!(
        drawn(
            &seen("SF:money.py\nDA:1,0\nDA:1,1\nDA:1,0\nend_of_record\n"),
            "money.py",
            1
        ),
        "+"
    );
}

/// Pieces that mean something to one of the formats, and what tears them apart.
const PIECES: &[&str] = &[
    "SF:money.py\n",
    "SF:/etc/x\n",
    "DA:1,1\n",
    "DA:18446744073709551615,1\n",
    "DA:2,-1\n",
    "end_of_record\n",
    "mode: set\n",
    "money.py:1.1,3.1 1 0\n",
    "money.py:-1.1,3.1 1 0\n",
    ":::: 1 1\n",
    "<coverage>",
    "</coverage>",
    "<!DOCTYPE coverage>",
    "<class filename='money.py'>",
    "</class>",
    "<lines><line number='1' hits='1'/></lines>",
    "{\"meta\":{},\"files\":{",
    "\"money.py\":{\"executed_lines\":[1,-2,3e9],\"missing_lines\":[2]}",
    "{\"type\":\"llvm.coverage.json.export\",\"data\":[",
    "{\"files\":[{\"filename\":\"money.py\",\"segments\":[[1,1,1,true,true,false],[1,2]]}]}",
    "{\"money.py\":{\"statementMap\":{\"0\":{\"start\":{\"line\":1}}},\"s\":{\"0\":1}}",
    "]",
    "}",
    ",",
    "\0",
    "\u{feff}",
    "é",
];

proptest! {
    #[test]
    fn any_bytes_give_a_coverage_or_an_error(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40),
        torn in prop::collection::vec(any::<u8>(), 0..20),
        at in any::<prop::sample::Index>(),
    ) {
        let mut bytes = pieces.concat().into_bytes();
        let at = at.index(bytes.len() + 1);
        bytes.splice(at..at, torn);
        match read(&bytes, &names()) {
            Ok(coverage) => for (path, lines) in &coverage.files {
                prop_assert!(names().find(path).is_some(), "{path}");
                prop_assert!(lines.can_run.windows(2).all(|pair| pair[0].0 < pair[1].0));
                prop_assert!(lines.can_run.iter().all(|(line, _)| *line > 0));
            },
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
