//! The only place that writes to the terminal.
//!
//! Results go to standard output, everything else to standard error. A reader that went away is no failure: what can no
//! longer be written is dropped, and the exit code stays what it was.

pub(crate) mod dimensions;
pub(crate) mod doctor;
mod guards;
pub(crate) mod hermeticity;
pub(crate) mod junit;
pub(crate) mod probe;
mod progress;
pub(crate) mod report;
mod spark;
mod stream;
mod style;
mod summary;
pub(crate) mod table;

use std::io::Write as _;

use crate::app::Scene;
use crate::failure::Failure;
use crate::outcome::{Answer, Outcome};

pub(crate) use guards::Guards;
pub(crate) use progress::{Progress, iteration_line};
pub(crate) use spark::trend;
pub(crate) use stream::EventStream;
#[cfg(test)]
pub(crate) use stream::Opening;
pub(crate) use style::{Style, styles};
pub(crate) use summary::{Ended, ended, milliseconds, money};

/// Writes an outcome and gives its exit code.
pub(crate) fn outcome(scene: &Scene, outcome: &Outcome) -> u8 {
    if scene.json {
        object(&outcome.answer);
    } else {
        let _gone = out(&outcome.text);
        for warning in &outcome.warnings {
            note(scene, "warning", warning);
        }
    }
    outcome.exit
}

/// Writes a failure of `command` and gives its exit code.
pub(crate) fn failure(scene: &Scene, command: &str, failure: &Failure) -> u8 {
    if scene.json {
        let mut answer = Answer::new(command, "error");
        answer.halt_reason = failure.reason;
        if !failure.cause.is_empty() {
            answer.failure_cause = Some(failure.cause.to_owned());
        }
        answer.errors.push(failure.message.clone());
        object(&answer);
    } else {
        note(scene, "error", &failure.message);
    }
    failure.exit
}

/// One JSON object and one line end.
pub(crate) fn object(answer: &Answer) {
    // A struct of strings, numbers and maps with string keys always becomes JSON.
    if let Ok(mut line) = serde_json::to_string(answer) {
        line.push('\n');
        let _gone = out(&line);
    }
}

/// To standard output, at once; false when the reader went away.
pub(crate) fn out(text: &str) -> bool {
    out_bytes(text.as_bytes())
}

/// To standard output, bytes as they are; false when the reader went away.
pub(crate) fn out_bytes(bytes: &[u8]) -> bool {
    let mut stream = std::io::stdout().lock();
    stream.write_all(bytes).and_then(|()| stream.flush()).is_ok()
}

/// To standard error, at once.
pub(crate) fn err(text: &str) {
    let mut stream = std::io::stderr().lock();
    let _gone = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
}

/// One line on standard error that begins with what kind of line it is.
pub(crate) fn note(scene: &Scene, kind: &str, message: &str) {
    let shown = match kind {
        "error" => scene.err.red(kind),
        _ => scene.err.yellow(kind),
    };
    err(&format!("{shown}: {}\n", safe(message)));
}

/// Text from outside with its control characters made visible; line ends and tabs stay.
pub(crate) fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        // Marks that reorder text could show another command than the one that is there.
        let reorders = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}');
        if (character.is_control() && !matches!(character, '\n' | '\t')) || reorders {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}

/// The same for text that is one line: nothing in it begins another.
pub(crate) fn one_line(text: &str) -> String {
    safe(&text.replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_one() {
        assert_eq!(one_line("a\nb\u{1b}"), "a\\nb\\u{1b}");
    }

    #[test]
    fn text_from_outside_cannot_drive_the_terminal() {
        assert_eq!(safe("a\u{1b}[2Jb\rc\u{202e}d\te\n"), "a\\u{1b}[2Jb\\rc\\u{202e}d\te\n");
    }

    #[test]
    fn an_object_is_one_line_without_escapes_for_the_web() {
        let mut answer = Answer::new("run", "error");
        answer.errors.push("a <b> & 'c'\nd".to_owned());
        let text = serde_json::to_string(&answer).unwrap();
        assert!(text.contains("a <b> & 'c'\\nd") && !text.contains('\n'), "{text}");
        assert!(
            text.starts_with(r#"{"schema":"loopexec.run/1","tool":"loopexec","version":""#),
            "{text}"
        );
    }
}
