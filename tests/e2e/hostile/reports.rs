//! Reports that are large, padded, torn or written to be expanded (SPEC 6.3.7), and suites of many members.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use crate::support::{Answer, Project};

/// Whoever waited would wait for ever.
const GUARD: [&str; 2] = ["timeout", "300"];
const LISTED: [&str; 4] = ["--collector", "junit", "--report", "report.xml"];

/// Names as people give them: several lines, both quotes, other scripts, and what XML has to escape.
fn name(number: usize) -> String {
    match number % 4 {
        0 => format!("line one&#10;line two {number}"),
        1 => format!("says &quot;no&quot; and 'yes' &lt;{number}&gt; &amp; more"),
        2 => format!("größer 大きい \u{1f980} {number}"),
        _ => format!("test_{number}[a-{number}]"),
    }
}

/// A report of so many cases, of which those said to be are red or left out.
fn report(members: usize, red: Option<usize>, lost: Option<usize>) -> String {
    let mut text = String::from("<testsuite name=\"s\">\n");
    for number in (0..members).filter(|number| Some(*number) != lost) {
        let inside = if Some(number) == red {
            "<failure message=\"no\"/>"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "<testcase classname=\"many\" name=\"{}\">{inside}</testcase>",
            name(number)
        );
    }
    text + "</testsuite>\n"
}

/// A check that hands over what lies outside: `t0.xml`, and from the first turn on `now.xml`.
fn project(t0: &str, now: &str) -> Project {
    let project = Project::new();
    project.write(".gitignore", "report.xml\n");
    fs::write(project.outside.join("t0.xml"), t0).unwrap();
    fs::write(project.outside.join("now.xml"), now).unwrap();
    project
}

const CHECK: &str = r#"if test -e done.txt; then cat "$OUT/now.xml" > report.xml
    else cat "$OUT/t0.xml" > report.xml; exit 1; fi"#;

/// One turn that ends the work, guards that run nothing more, and what it cost: milliseconds of processor time of the
/// governor and of everything below it.
fn turned(project: &Project) -> (Answer, f64) {
    let counted = [
        &GUARD[..],
        &["sh", "-c", r#""$@"; code=$?; times > "$OUT/times"; exit $code"#, "sh"],
    ]
    .concat();
    let run = ["run", "--check", CHECK, "--exec", "touch done.txt", "--once", "--fast"];
    let answer = project.start_under(&counted, &[&run[..], &LISTED].concat()).end();
    let told = project.told("times");
    // The second line is about the children: `0m0.123000s 0m0.045000s`.
    let columns = told.lines().nth(1).unwrap_or_default().split(' ');
    let spent = columns.map(|time| {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m').unwrap();
        minutes.parse::<f64>().unwrap() * 60e3 + seconds.parse::<f64>().unwrap() * 1e3
    });
    (answer, spent.sum())
}

fn guard<'a>(judged: &'a Value, name: &str) -> &'a Value {
    let guards = judged["report"]["guards"].as_array().unwrap();
    guards.iter().find(|guard| guard["guard"] == name).unwrap()
}

/// Ten times as many members cost about ten times as much; a look from each at all the others would cost a hundred
/// times, and the bound only has to tell the two apart.
#[test]
fn fifty_thousand_members_cost_in_proportion_and_one_that_is_lost_is_named() {
    let lost = 31_338;
    let [(few, _), (many, project)] = [5_000, 50_000].map(|members| {
        let lost = (members == 50_000).then_some(lost);
        let project = project(&report(members, Some(7), None), &report(members, None, lost));
        let (answer, spent) = turned(&project);
        let wanted = if lost.is_some() {
            "metric_integrity_violation"
        } else {
            "success_condition_met"
        };
        assert_eq!(answer.text("halt_reason"), wanted, "{answer:?}");
        (spent, project)
    });
    assert!(
        many < few * 40.0 + 500.0,
        "{few} ms for 5,000 members, {many} ms for 50,000"
    );

    let checks = project.events_named("check_ended");
    let totals: Vec<_> = checks
        .iter()
        .map(|check| check["measurement"]["members_total"].as_u64().unwrap())
        .collect();
    assert_eq!(totals, [50_000, 49_999]);
    let judged = project.events_named("guards_judged").pop().unwrap();
    assert_eq!(guard(&judged, "collected_set")["state"], "active");
    let findings = judged["report"]["findings"].as_array().unwrap();
    let subjects: Vec<_> = findings
        .iter()
        .map(|finding| finding["subject"].as_str().unwrap())
        .collect();
    assert_eq!(subjects.len(), 1, "{subjects:?}");
    assert!(subjects[0].contains("größer 大きい \u{1f980} 31338"), "{subjects:?}");

    // Every line of the receipt is one object, however the names are written, and every view comes to its end.
    let receipt = fs::read_to_string(project.run_dir().join("receipt.jsonl")).unwrap();
    let lines: Vec<Value> = receipt
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(
        lines.iter().all(Value::is_object) && lines.len() > 8,
        "{} lines",
        lines.len()
    );
    let t0 = checks[0]["measurement"]["changes"].as_array().unwrap();
    assert!(
        t0.iter()
            .any(|change| change["id"].as_str().unwrap().ends_with("line one\nline two 0"))
    );
    for view in ["report", "status", "explain-halt"] {
        let said = project.start_under(&GUARD, &[view]).end();
        assert!(
            said.json.is_object() && said.text("status") != "error",
            "{view}: {said:?}"
        );
    }
    project.verified();
}

/// Green exits are no green beside a report that cannot be read, and the cause says so.
fn unread(answer: &Answer, report: &str) {
    let ended = (answer.text("halt_reason"), answer.text("failure_cause"));
    assert_eq!(
        ended,
        ("metric_integrity_violation", "artefact_consistency"),
        "{report}: {answer:?}"
    );
    assert!(!answer.stderr.contains("panicked"), "{report}: {answer:?}");
}

/// Green exits beside reports that nobody can read: each is a cause of its own, and none is green.
#[test]
fn a_report_that_is_vast_expands_is_torn_or_is_something_else_is_never_green() {
    let vast = r#"truncate -s 200M report.xml"#;
    let padded = r#"{ cat "$OUT/now.xml"; head -c 70000000 /dev/zero | tr '\0' ' '; } > report.xml"#;
    let entities = r#"printf '<!DOCTYPE t [<!ENTITY a "x"><!ENTITY b "&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>' > report.xml"#;
    let torn = r#"head -c 90 "$OUT/now.xml" > report.xml"#;
    let other = "printf '\\000\\377{' > report.xml";
    let empty = ": > report.xml";
    for write in [vast, padded, entities, torn, other, empty] {
        let project = project(&report(4, Some(1), None), &report(4, None, None));
        let check = format!(r#"if test -e done.txt; then {write}; else cat "$OUT/t0.xml" > report.xml; exit 1; fi"#);
        let run = ["run", "--check", &check, "--exec", "touch done.txt", "--once", "--fast"];
        let answer = project.start_under(&GUARD, &[&run[..], &LISTED].concat()).end();
        unread(&answer, write);
        let check = &project.events_named("check_ended")[1];
        assert_eq!(check["measurement"]["report"], "malformed", "{write}: {check}");
        project.verified();
    }
}

/// More than a fact can say is said to be too much: at the start, where every name is new, and in a turn.
#[test]
fn names_that_no_record_can_hold_are_a_cause_and_no_broken_run() {
    let wide = |members: usize| {
        let pad = "x".repeat(4_000);
        let case = |number| format!("<testcase classname=\"{pad}\" name=\"{number}\"/>\n");
        format!("<testsuite>{}</testsuite>", (0..members).map(case).collect::<String>())
    };
    for (t0, now, read) in [
        (2_000, 2_000, ["malformed", "malformed"]),
        (9, 2_000, ["fresh", "malformed"]),
    ] {
        let project = project(&wide(t0), &wide(now));
        let (answer, _) = turned(&project);
        unread(&answer, "wide names");
        let checks = project.events_named("check_ended");
        for (check, state) in checks.iter().zip(read) {
            assert_eq!(check["measurement"]["report"], state);
            let note = check["measurement"]["note"].as_str().unwrap();
            assert_eq!(
                note.contains("the record holds at most"),
                state == "malformed",
                "{note}"
            );
        }
        project.verified();
    }
}
