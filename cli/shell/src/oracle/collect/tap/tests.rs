use super::*;

fn measure_text(text: &str) -> Measured {
    collect(&Artefact {
        stdout: text.as_bytes(),
        ..Artefact::default()
    })
    .unwrap()
}

fn listing(measured: &Measured) -> Vec<String> {
    measured
        .members
        .iter()
        .map(|member| format!("{} {}", member.id, member.status.label()))
        .collect()
}

#[test]
fn points_directives_and_nested_subtests_are_read() {
    let seen = measure_text(
        "TAP version 14\r\n1..5\r\nok 1 - plain\r\nnot ok 2 - bad\r\n  ---\r\n  message: 'ok 3 - no'\r\n  ...\r\nok 3 - s # SKIP why\r\n\
         # Subtest: outer\r\n    ok 1 - in \\# it\r\n    # Subtest: mid\r\n        not ok 1 - deep # TODO later\r\n        1..1\r\n    ok 2 - mid\r\n    1..2\r\n\
         ok 4 - outer\r\nok\r\n",
    );
    assert_eq!(
        listing(&seen),
        [
            "bad failed",
            "outer passed",
            "outer > in # it passed",
            "outer > mid passed",
            "outer > mid > deep todo",
            "plain passed",
            "s skipped",
            "test 5 passed"
        ]
    );
    assert_eq!(
        (seen.announced, seen.concluded, seen.finished),
        (Some(8), Some(8), true)
    );
    assert!(seen.contradictions.is_empty(), "{:?}", seen.contradictions);
    assert!(seen.member("outer").unwrap().container);
    assert_eq!(seen.member("bad").unwrap().message, "message: 'ok 3 - no'");
}

#[test]
fn a_plan_that_does_not_match_and_a_bail_out_contradict() {
    for text in [
        "1..3\nok 1\nok 2\n",
        "1..1\nok 1\nok 2\n",
        "ok 1\nBail out! no disk\n1..1\n",
        "1..1\n    ok 1 - orphan\n",
        "1..1\nok 1\n1..1\n",
        "1..1\nok\nok\n",
        "1..3\nok 1\nok 2\n1..1\nok 1\n",
    ] {
        assert!(!measure_text(text).contradictions.is_empty(), "{text}");
    }
}

#[test]
fn a_run_without_a_plan_has_not_finished() {
    let seen = measure_text("TAP version 13\nok 1 - a\n");
    assert!(!seen.finished);
    assert_eq!(seen.announced, None);
}

#[test]
fn a_failing_point_is_not_excused_by_skip() {
    assert_eq!(listing(&measure_text("1..1\nnot ok 1 - a # SKIP b\n")), ["a failed"]);
}

#[test]
fn two_documents_in_a_row_are_added() {
    let seen = measure_text("TAP version 13\nok 1 - a\n1..1\nTAP version 13\nok 1 - a\nnot ok 2 - b\n1..2\n");
    assert_eq!(listing(&seen), ["a passed", "a#2 passed", "b failed"]);
    assert_eq!((seen.announced, seen.finished), (Some(3), true));
}

#[test]
fn scripts_that_run_one_after_the_other_have_a_plan_each() {
    for text in [
        "1..1\nok 1 - a\n1..2\nok 1 - a\nnot ok 2 - b\n",
        "# t/1\nok 1 - a\n1..1\n# t/2\nok 1 - a\nnot ok 2 - b\n1..2\n",
        "1..1\nok 1 - a\nok 1 - a\nnot ok 2 - b\n1..2\n",
        "ok 1 - a\n1..1\n1..2\nok 1 - a\nnot ok 2 - b\n",
    ] {
        let seen = measure_text(text);
        assert_eq!(listing(&seen), ["a passed", "a#2 passed", "b failed"], "{text}");
        assert_eq!((seen.announced, seen.finished), (Some(3), true), "{text}");
        assert!(seen.contradictions.is_empty(), "{:?}", seen.contradictions);
    }
    let died = measure_text("1..1\nok 1 - a\nok 1 - b\n");
    assert_eq!((died.announced, died.finished), (None, false));
}

#[test]
fn prose_is_not_tap() {
    let prose = Artefact {
        stdout: b"okay then\nnot okay\n1 .. 2\n",
        ..Artefact::default()
    };
    assert!(matches!(collect(&prose), Err(CollectError::Absent { .. })));
}

#[test]
fn prove_says_of_each_script_that_it_is_well_and_that_is_no_point() {
    let seen = measure_text(
        "t/a.t .. \n1..1\nok 1 - a\nok\nt/long.t .... \nok 1 - b\nnot ok 2 - c\n1..2\nFailed 1/2 subtests \n\nTest Summary Report\n",
    );
    assert_eq!(listing(&seen), ["a passed", "b passed", "c failed"]);
    assert_eq!((seen.announced, seen.finished), (Some(3), true));
    assert!(seen.contradictions.is_empty(), "{:?}", seen.contradictions);
}

#[test]
fn a_subtest_at_the_beginning_of_a_script_belongs_to_that_script() {
    let seen =
        measure_text("t/a.t ..\n1..1\nnot ok 1 - a\nDubious\nt/b.t ..\n    1..1\n    ok 1 - in\nok 1 - b\n1..1\nok\n");
    assert_eq!(listing(&seen), ["a failed", "b passed", "b > in passed"]);
    assert!(seen.contradictions.is_empty(), "{:?}", seen.contradictions);
}

#[test]
fn what_is_tried_again_after_a_failure_is_no_report_that_nobody_announced() {
    let known = |text: &str| {
        let artefact = Artefact {
            stdout: text.as_bytes(),
            ..Artefact::default()
        };
        crate::oracle::collect::recognise(&artefact).map(|collector| collector.name)
    };
    assert_eq!(known("1..1\nok 1 - a\n1..1\nnot ok 1 - b\n"), Some("tap"));
    assert_eq!(known("1..1\nnot ok 1 - a\n1..1\nnot ok 1 - a\n"), None);
}
