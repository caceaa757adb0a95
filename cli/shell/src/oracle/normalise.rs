//! Text without what changes from run to run.
//!
//! Two readers, two degrees. [`message`] is for telling whether two failures are the same one: it is
//! generous, because a failure that moved by a line is still that failure. [`output_fingerprint_input`]
//! is for telling whether two runs printed the same: it is conservative, because output that differs
//! must look different. Values a test prints (numbers, words, relative names) survive both.
//!
//! | masked | message | fingerprint |
//! |---|---|---|
//! | escapes, line endings, trailing blanks | yes | yes |
//! | durations in a runner's own shapes, fractions with a unit | yes | yes |
//! | dates and clock times | yes | only behind `Start at` |
//! | names in temporary directories, build hashes of test binaries | yes | yes |
//! | process and thread numbers in known places, uuids | yes | yes |
//! | addresses, ports, line numbers, directories of absolute paths, long hex | yes | no |
//! | order of neighbouring libtest and nextest result lines | no | yes |

use super::plain;
use scan::Scan;

mod scan;

/// Normalises a failure text, so that the same failure gives the same text in another run, in another
/// directory and after edits that only move lines.
pub fn message(text: &str) -> String {
    let text = plain::text(text.as_bytes());
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        mask_message(line.trim_end(), &mut out);
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out
}

fn mask_message(line: &str, out: &mut String) {
    let mut scan = Scan { text: line, at: 0 };
    while let Some(c) = scan.rest().chars().next() {
        let rest = scan.rest();
        let mask = if scan.at_boundary() { masked_word(&scan) } else { None };
        let mask = mask.or_else(|| match c {
            ':' => scan::position(rest)
                .filter(|_| names_a_place(scan.before()))
                .map(|length| (length, ":<n>".to_string())),
            _ => None,
        });
        let (length, word) = mask.unwrap_or_else(|| (c.len_utf8(), c.to_string()));
        out.push_str(&word);
        scan.at += length;
    }
}

fn masked_word(scan: &Scan<'_>) -> Option<(usize, String)> {
    let rest = scan.rest();
    let fixed = |length: Option<usize>, word: &str| length.map(|length| (length, word.to_string()));
    let worker = rest
        .strip_prefix("gw")
        .filter(|_| scan.before().ends_with('['))
        .and_then(scan::number);
    fixed(worker.map(|length| length + 2), "gw<n>")
        .or_else(|| fixed(scan::uuid(rest), "<uuid>"))
        .or_else(|| fixed(scan::date(rest), "<time>"))
        .or_else(|| fixed(scan::clock(rest), "<time>"))
        .or_else(|| fixed(scan::address(rest), "<address>"))
        .or_else(|| fixed(scan::hex(rest), "<hex>"))
        .or_else(|| fixed(scan::duration(rest, true), "<duration>"))
        .or_else(|| {
            let length = scan::number(rest)?;
            numbered(scan.before()).then(|| (length, "<n>".to_string()))
        })
        .or_else(|| {
            let (length, last) = scan::path(rest)?;
            let inside_name = scan.before().ends_with(['.', '/', '~', ':']) && !scan.before().ends_with(": ");
            if inside_name && !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
                return None;
            }
            let name = temporary_name(&rest[..length]).unwrap_or(&rest[last..length]);
            Some((length, format!("<dir>/{name}")))
        })
}

/// Whether `before` ends with a word that is always followed by a number without meaning.
fn numbered(before: &str) -> bool {
    let trimmed = before.trim_end_matches([' ', '=', ':', '#']);
    if trimmed.len() == before.len() {
        return in_thread_parenthesis(before);
    }
    let word = trimmed
        .rsplit(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or_default();
    ["line", "lineno", "port", "pid", "tid"]
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known))
}

/// `thread 'tests::wrong' (6834) panicked`
fn in_thread_parenthesis(before: &str) -> bool {
    before.ends_with("' (") && before.contains("thread '")
}

/// Whether `:12` after `before` is a line or a port.
fn names_a_place(before: &str) -> bool {
    let word = before
        .rsplit(|c: char| c.is_whitespace() || "\"'(,<>=".contains(c))
        .next()
        .unwrap_or_default();
    let is_file = word
        .rsplit_once('.')
        .is_some_and(|(_, extension)| extension.starts_with(|c: char| c.is_alphanumeric()));
    is_file || word.contains('/') || word.ends_with("localhost") || word.ends_with(']')
}

/// For a path in a temporary directory, what stands for its random part.
fn temporary_name(path: &str) -> Option<&str> {
    let last = path.rsplit('/').next().unwrap_or(path);
    let random = last.starts_with("tmp") || last.starts_with(".tmp") || last.starts_with("pytest-");
    (path.contains("/tmp/") && random).then_some("<tmp>")
}

/// The bytes to hash when two runs of the same command on the same tree are compared.
pub fn output_fingerprint_input(output: &[u8]) -> Vec<u8> {
    let text = plain::text(output);
    let mut lines: Vec<String> = text.lines().map(|line| mask_output(line.trim_end())).collect();
    sort_result_lines(&mut lines);
    let mut out = lines.join("\n");
    out.truncate(out.trim_end_matches('\n').len());
    out.into_bytes()
}

fn mask_output(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut scan = Scan { text: line, at: 0 };
    let timing = timing_line(line);
    while let Some(c) = scan.rest().chars().next() {
        let (length, word) = masked_timing(&scan, timing).unwrap_or_else(|| (c.len_utf8(), c.to_string()));
        out.push_str(&word);
        scan.at += length;
    }
    out
}

/// Whether the whole line is about time, so that whole numbers with a unit are timings too.
fn timing_line(line: &str) -> bool {
    let content = line.trim_start();
    let prefixes = [
        "Duration ",
        "Start at ",
        "Time: ",
        "✓ ",
        "✔ ",
        "✖ ",
        "❯ ",
        "× ",
        "# duration_ms",
        "ℹ duration_ms",
    ];
    prefixes.iter().any(|prefix| content.starts_with(prefix))
}

fn masked_timing(scan: &Scan<'_>, timing: bool) -> Option<(usize, String)> {
    let (before, rest) = (scan.before(), scan.rest());
    if !scan.at_boundary() {
        return None;
    }
    if before.ends_with("duration_ms ") || before.ends_with("duration_ms: ") {
        let length = rest
            .bytes()
            .take_while(|byte| byte.is_ascii_digit() || *byte == b'.')
            .count();
        return (length > 0).then(|| (length, "<duration>".to_string()));
    }
    if before.trim_end().ends_with("Start at") {
        return scan::clock(rest).map(|length| (length, "<time>".to_string()));
    }
    if in_thread_parenthesis(before) || before.ends_with("pid ") || before.ends_with("pid=") {
        return scan::number(rest).map(|length| (length, "<n>".to_string()));
    }
    if before.ends_with('-') && before.contains("/deps/") {
        return scan::hex(rest)
            .filter(|length| *length == 16)
            .map(|length| (length, "<hash>".to_string()));
    }
    if rest.starts_with('[') {
        return nextest_mark(rest).map(|length| (length, "[<duration>]".to_string()));
    }
    if let Some(length) = scan::uuid(rest) {
        return Some((length, "<uuid>".to_string()));
    }
    let alone = before.ends_with('(') || before.ends_with('[') || timing;
    if let Some(length) = scan::duration(rest, alone) {
        return Some((length, "<duration>".to_string()));
    }
    let (length, _) = rest.starts_with("/tmp/").then(|| scan::path(rest)).flatten()?;
    Some((length, temporary_path(&rest[..length])?))
}

/// `[   0.022s] ( 2/10)`: the time padded to a width, the count of what has finished so far.
fn nextest_mark(text: &str) -> Option<usize> {
    let padding = 1 + text[1..].find(|c: char| c != ' ' && c != '>')?;
    let end = padding + scan::duration(&text[padding..], false)?;
    let rest = text[end..].strip_prefix(']')?;
    let rest = &rest[..rest.floor_char_boundary(40)];
    let counter = rest
        .strip_prefix(" (")
        .and_then(|rest| rest.split_once(") "))
        .map(|(counter, _)| counter);
    let counted = counter.filter(|counter| {
        counter
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b" /".contains(&byte))
    });
    Some(end + 1 + counted.map_or(0, |counter| counter.len() + 3))
}

/// `/tmp/.tmpAb12/x` as `/tmp/<tmp>/x`; other paths below `/tmp` keep their names.
fn temporary_path(path: &str) -> Option<String> {
    let below = path.strip_prefix("/tmp/")?;
    let (first, rest) = below
        .split_once('/')
        .map_or((below, None), |(first, rest)| (first, Some(rest)));
    let random = first.starts_with("tmp")
        || first.starts_with(".tmp")
        || first.starts_with("pytest-of-")
        || first.starts_with("tmp.");
    random.then(|| match rest {
        Some(rest) => format!("/tmp/<tmp>/{rest}"),
        None => "/tmp/<tmp>".to_string(),
    })
}

/// Tests that run in parallel finish in any order: neighbouring result lines are sorted.
fn sort_result_lines(lines: &mut [String]) {
    let mut start = 0;
    while start < lines.len() {
        let length = lines[start..].iter().take_while(|line| is_result_line(line)).count();
        lines[start..start + length].sort();
        start += length.max(1);
    }
}

fn is_result_line(line: &str) -> bool {
    let libtest = line.starts_with("test ") && line.contains(" ... ");
    libtest
        || line.trim_start().split_once(" [").is_some_and(|(word, rest)| {
            word.bytes().all(|byte| byte.is_ascii_uppercase()) && rest.starts_with("<duration>] ")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_failure_in_another_run_gives_the_same_message() {
        let cases = [
            (
                "at /home/a/proj/src/x.py:12: AssertionError",
                "at /srv/b/src/x.py:99: AssertionError",
            ),
            (
                "thread 'tests::wrong' (6834) panicked at src/lib.rs:25:32:",
                "thread 'tests::wrong' (9) panicked at src/lib.rs:7:1:",
            ),
            ("object at 0x7f00aa11>", "object at 0x55d2bb90>"),
            ("started 2026-01-02T03:04:05.123Z", "started 2027-11-12 13:14:15+01:00"),
            ("took 1.25s (5 ms)", "took 0.3s (71 ms)"),
            ("connect to 127.0.0.1:45123 failed", "connect to 127.0.0.1:33999 failed"),
            (
                "listening on localhost:8080, port 8080",
                "listening on localhost:9, port 9",
            ),
            (
                "id 550e8400-e29b-41d4-a716-446655440000",
                "id 123e4567-e89b-12d3-a456-426614174000",
            ),
            (
                "File \"/tmp/tmpab12/t.py\", line 12, in f",
                "File \"/tmp/tmpzz/t.py\", line 13, in f",
            ),
            ("wrote /tmp/tmpab12", "wrote /tmp/tmpzz"),
            ("[gw0] linux", "[gw3] linux"),
            (
                "digest 9f86d081884c7d659a2feaa0c55ad015",
                "digest 0123456789abcdef0123456789abcdef",
            ),
            ("\u{1b}[31mred\u{1b}[0m  ", "red"),
        ];
        for (one, other) in cases {
            assert_eq!(message(one), message(other));
        }
    }

    #[test]
    fn different_failures_keep_different_messages() {
        let cases = [
            ("assert 2 == 3", "assert 2 == 4"),
            ("left: 2", "left: 3"),
            ("{'a': 1}", "{'a': 2}"),
            ("a:1", "a:2"),
            ("expected 10 items", "expected 11 items"),
            ("in test_a.py", "in test_b.py"),
            ("cannot open /etc/one.conf", "cannot open /etc/two.conf"),
            ("1 / 2", "1 / 3"),
            ("0xff", "0xfe"),
        ];
        for (one, other) in cases {
            assert_ne!(message(one), message(other));
        }
    }

    #[test]
    fn directories_go_and_names_stay() {
        assert_eq!(
            message("error in /home/a/b/main.rs:3:4 (see ./x/y.rs:9)"),
            "error in <dir>/main.rs:<n> (see ./x/y.rs:<n>)"
        );
        assert_eq!(message("https://example.org/a/b"), "https://example.org/a/b");
        assert_eq!(message("and/or"), "and/or");
    }

    fn fingerprint(text: &str) -> String {
        String::from_utf8(output_fingerprint_input(text.as_bytes())).unwrap()
    }

    #[test]
    fn timings_do_not_change_a_fingerprint() {
        let cases = [
            ("=== 3 passed in 0.12s ===\n\n", "=== 3 passed in 1.02s ==="),
            (
                "test result: ok. 1 passed; finished in 0.00s",
                "test result: ok. 1 passed; finished in 12.10s",
            ),
            (
                "        PASS [   0.022s] ( 2/10) demo a",
                "        PASS [  10.022s] ( 9/10) demo a",
            ),
            ("# duration_ms 12.3", "# duration_ms 7"),
            ("  duration_ms: 0.5", "  duration_ms: 11.25"),
            ("Time:        0.876 s, estimated 1 s", "Time:        2 s, estimated 3 s"),
            ("  ✓ adds (5 ms)", "  ✓ adds (12 ms)"),
            (
                "   Duration  874ms (transform 36ms, setup 0ms)",
                "   Duration  1.20s (transform 3ms, setup 2ms)",
            ),
            ("   Start at  15:56:46", "   Start at  01:02:03"),
            (
                "    Finished `test` profile target(s) in 1.34s",
                "    Finished `test` profile target(s) in 0.02s",
            ),
            (
                "     Running tests/it.rs (target/debug/deps/it-4a9c20718bed82b8)",
                "     Running tests/it.rs (target/debug/deps/it-1111111111aa82b8)",
            ),
            ("thread 'main' (123) panicked", "thread 'main' (77) panicked"),
            ("ok  \tdemo/pkg\t0.012s", "ok  \tdemo/pkg\t1.5s"),
            ("--- PASS: TestA (0.00s)", "--- PASS: TestA (0.31s)"),
            ("Ran 3 tests in 0.001s", "Ran 3 tests in 0.200s"),
            ("wrote /tmp/.tmpAb12/out.txt", "wrote /tmp/.tmpZZ/out.txt"),
            ("one  \r\ntwo\r\n", "one\ntwo"),
            ("test b ... ok\ntest a ... ok", "test a ... ok\ntest b ... ok"),
            (
                " Nextest run ID 77721d7c-e0b5-4714-a4a0-6fbcdfa96c1a with",
                " Nextest run ID 88821d7c-e0b5-4714-a4a0-6fbcdfa96c1a with",
            ),
        ];
        for (one, other) in cases {
            assert_eq!(fingerprint(one), fingerprint(other));
        }
    }

    #[test]
    fn output_that_differs_keeps_different_fingerprints() {
        let cases = [
            ("3 passed in 0.12s", "2 passed in 0.12s"),
            ("value 5s", "value 6s"),
            ("x:12", "x:13"),
            ("0x7f00aa11", "0x7f00aa12"),
            ("/tmp/out.txt", "/tmp/other.txt"),
            ("test a ... ok\ntest b ... FAILED", "test a ... FAILED\ntest b ... ok"),
            ("a\n\nb", "a\nb"),
            ("b\na", "a\nb"),
            ("digest 9f86d081884c7d65", "digest 9f86d081884c7d66"),
        ];
        for (one, other) in cases {
            assert_ne!(fingerprint(one), fingerprint(other));
        }
    }
}
