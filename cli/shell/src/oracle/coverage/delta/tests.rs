use super::*;
use crate::oracle::coverage::{Names, read};

const PATH: &str = "money.py";

/// The coverage that these marks draw, a line each: `+` ran, `-` did not, `x` is left out, `.` cannot run.
fn coverage(path: &str, marks: &str) -> Coverage {
    let of = |wanted: char| {
        let lines = (1..).zip(marks.chars()).filter(|(_, mark)| *mark == wanted);
        let lines: Vec<String> = lines.map(|(number, _): (u32, char)| number.to_string()).collect();
        lines.join(",")
    };
    let file = format!(
        "{{\"executed_lines\":[{}],\"missing_lines\":[{}],\"excluded_lines\":[{}]}}",
        of('+'),
        of('-'),
        of('x')
    );
    let report = format!("{{\"meta\":{{}},\"files\":{{\"{path}\":{file}}}}}");
    read(report.as_bytes(), &Names::new("/w", [path].into_iter())).unwrap()
}

fn change(before: &str, after: &str) -> Change<'static> {
    Change {
        product: [PATH, "idle.py"].into(),
        changed: vec![Changed {
            path: PATH.into(),
            before: before.as_bytes().to_vec(),
            after: after.as_bytes().to_vec(),
        }],
        gone: vec![],
    }
}

fn told(start: (&str, &str), now: (&str, &str)) -> Covered {
    let floor = coverage(PATH, start.1);
    compare(Some(&floor), &coverage(PATH, now.1), &change(start.0, now.0))
}

fn names(list: &Counted) -> Vec<&str> {
    list.first.iter().map(String::as_str).collect()
}

const CODE: &str = "def a():\n    return 1\n\ndef b():\n    return 2\n";

#[test]
fn an_honest_change_is_counted_and_nothing_else_is_told() {
    let found = told(
        (CODE, "++.+-"),
        ("# why\ndef a():\n    return 3\n\ndef b():\n    return 2\n", ".++.+-"),
    );
    let quiet = Covered {
        format: "coverage.py".into(),
        files: 1,
        can_run: 4,
        ran: 3,
        changed: 1,
        ..Covered::default()
    };
    assert_eq!(found, quiet);
}

#[test]
fn changed_lines_that_did_not_run_or_are_left_out_are_named_in_stretches() {
    let now =
        "def a():\n    return 1\n\ndef b():\n    x = 3\n    return x\n\ndef c():  # pragma: no cover\n    return 4\n";
    let found = told((CODE, "++.+-"), (now, "++.+--.xx"));
    assert_eq!(found.changed, 4);
    assert_eq!(
        (found.unrun.total, names(&found.unrun)),
        (4, vec!["money.py:5-6", "money.py:8-9"])
    );
    assert_eq!(found.hidden, Counted::default());
}

#[test]
fn a_mark_hides_the_unchanged_lines_behind_it_whether_the_report_says_so_or_not() {
    let marked = CODE.replace("def b():", "def b():  # pragma: no cover");
    for (marks, lines) in [("++.xx", 1), ("++", 1)] {
        let found = told((CODE, "++.+-"), (&marked, marks));
        assert_eq!(
            (found.hidden.total, names(&found.hidden)),
            (lines, vec!["money.py:5"]),
            "{marks}"
        );
        assert_eq!(found.vanished, Counted::default());
    }
    for mark in [
        "/* istanbul ignore next */",
        "# PRAGMA: NO COVER",
        "// LCOV_EXCL_START",
        "#[coverage(off)]",
        "/* c8 ignore start */",
    ] {
        let now = format!("def a():\n    return 1\n{mark}\ndef b():\n    return 2\n");
        let found = told((CODE, "++.++"), (&now, "++"));
        assert_eq!(names(&found.hidden), ["money.py:4-5"], "{mark}");
    }
}

#[test]
fn lines_that_cannot_run_any_more_without_a_mark_are_only_said() {
    let quoted = CODE.replace("\n\ndef b", "\n\n'''\ndef b") + "'''\n";
    let found = told((CODE, "++.++"), (&quoted, "++.+"));
    assert_eq!(
        (names(&found.vanished), names(&found.hidden)),
        (vec!["money.py:5-6"], vec![])
    );
    // Braces belong to whatever is around them.
    let found = told(("a {\nb;\n}\n", "+++"), ("a {\nb;\nc;\n}\n", "++++"));
    assert_eq!(found.vanished, Counted::default());
    let found = told(("a {\nb;\n}\n", "+++"), ("a {\nb;\nc;\n}\n", "+++."));
    assert_eq!(found.vanished, Counted::default());
}

#[test]
fn a_line_that_ran_and_does_not_is_lost_wherever_it_stands_now() {
    let now = "def a():\n    return 3\n    return 4\n\ndef b():\n    return 2\n";
    let found = told((CODE, "++.++"), (now, "+++.+-"));
    assert_eq!((found.lost.total, names(&found.lost)), (1, vec!["money.py:6"]));
}

#[test]
fn a_file_that_is_measured_no_more_is_hidden_only_by_a_mark() {
    let gone = coverage("idle.py", "+");
    let floor = coverage(PATH, "++.++");
    let marked = format!("# coverage: ignore file\n{CODE}");
    let found = compare(Some(&floor), &gone, &change(CODE, &marked));
    assert_eq!(
        (names(&found.hidden_files), names(&found.unloaded)),
        (vec![PATH], vec![])
    );
    let found = compare(Some(&floor), &gone, &change(CODE, &CODE.replace('1', "3")));
    assert_eq!(
        (names(&found.hidden_files), names(&found.unloaded)),
        (vec![], vec![PATH])
    );
    assert_eq!(names(&found.beside), [PATH], "the fix may be in it");
    // Nothing of it is left that could run.
    let found = compare(Some(&floor), &gone, &change(CODE, "# moved\n"));
    assert_eq!((names(&found.hidden_files), names(&found.unloaded)), (vec![], vec![]));
    // Nobody touched it, and nothing loads it.
    let untouched = Change {
        changed: vec![],
        ..change("", "")
    };
    assert_eq!(names(&compare(Some(&floor), &gone, &untouched).unloaded), [PATH]);
}

#[test]
fn what_cannot_be_measured_of_a_change_is_told_and_prose_is_not() {
    let table = "RATES = {\n    'a': 1,\n    'b': 2,\n}\n";
    let found = told((table, "+"), (&table.replace('2', "3"), "+"));
    assert_eq!((found.changed, names(&found.beside)), (0, vec!["money.py: line 3"]));
    let found = told((CODE, "++.++"), ("def a():\n    return 1\n", "++"));
    assert_eq!(names(&found.beside), ["money.py: lines 3 to 5 that are gone"]);
    let prose = Change {
        changed: vec![Changed {
            path: "README.md".into(),
            before: vec![],
            after: b"text\n".to_vec(),
        }],
        gone: vec!["old.py".into(), "NOTES.txt".into()],
        ..change("", "")
    };
    let found = compare(None, &coverage(PATH, "+"), &prose);
    assert_eq!(names(&found.beside), ["old.py, which is gone"]);
}

#[test]
fn lists_are_cut_and_counts_are_not() {
    let code = "x = 1\n\n".repeat(100);
    let marks = "-.".repeat(100);
    let found = compare(None, &coverage(PATH, &marks), &change("", &code));
    assert_eq!(
        (found.changed, found.unrun.total, found.unrun.first.len()),
        (100, 100, NAMED_MAX)
    );
    assert_eq!(found.unrun.first[NAMED_MAX - 1], "money.py:31");
    let (changed, unrun) = unrun(
        &coverage(PATH, "+-x"),
        [(PATH, &(1..=3)), ("other", &(1..=9))].into_iter(),
    );
    assert_eq!((changed, unrun.total, names(&unrun)), (3, 2, vec!["money.py:2-3"]));
}
