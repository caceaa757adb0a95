//! The spec reporter of node's test runner: marks, names, durations, two columns a level.

use crate::oracle::{Member, Status};

/// What the spec lines say.
#[derive(Default)]
pub(super) struct Spec {
    pub(super) members: Vec<Member>,
    /// `ℹ name value` lines of the summary, summed over several runs.
    pub(super) totals: Vec<(String, u64)>,
}

pub(super) fn read(text: &str) -> Spec {
    let mut spec = Spec::default();
    let mut open: Vec<(usize, String)> = Vec::new();
    let mut repeating = false;
    for line in text.lines() {
        let content = line.trim_start_matches(' ');
        let depth = (line.len() - content.len()) / 2;
        if let Some(rest) = content.strip_prefix("ℹ ") {
            repeating = false;
            if let Some((name, value)) = rest.trim_end().split_once(' ')
                && let Ok(value) = value.parse::<u64>()
            {
                spec.totals.push((name.to_string(), value));
            }
            continue;
        }
        // The failures are told a second time at the end.
        repeating |= depth == 0 && content.trim_end() == "✖ failing tests:";
        if repeating || depth > 64 {
            continue;
        }
        if let Some(name) = content.strip_prefix("▶ ") {
            open.retain(|(level, _)| *level < depth);
            open.push((depth, bare(name).0.to_string()));
            continue;
        }
        let Some((mark, rest)) = ["✔ ", "✖ ", "﹣ "]
            .iter()
            .find_map(|mark| Some((*mark, content.strip_prefix(mark)?)))
        else {
            continue;
        };
        let (name, directive) = bare(rest);
        let container = open
            .last()
            .is_some_and(|(level, opened)| *level == depth && opened == name);
        open.retain(|(level, _)| *level < depth);
        let status = match (mark, directive) {
            (_, Some(text)) if text.to_ascii_uppercase().starts_with("TODO") => Status::Todo,
            ("✖ ", _) => Status::Failed,
            ("﹣ ", _) | (_, Some(_)) => Status::Skipped,
            _ => Status::Passed,
        };
        let mut path: Vec<&str> = open.iter().map(|(_, name)| name.as_str()).collect();
        path.push(name);
        let mut member = Member::new(path.join(" > "), status).saying(directive.unwrap_or_default());
        member.container = container;
        spec.members.push(member);
    }
    spec
}

/// A name without its duration and directive: `deep (0.48ms) # TODO`.
fn bare(text: &str) -> (&str, Option<&str>) {
    let text = text.trim_end();
    let Some(close) = text.rfind("ms)") else {
        return (text, None);
    };
    let (head, tail) = (&text[..close], text[close + "ms)".len()..].trim_start());
    let Some((name, number)) = head.rsplit_once(" (") else {
        return (text, None);
    };
    if !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') || !(tail.is_empty() || tail.starts_with('#'))
    {
        return (text, None);
    }
    (name, tail.strip_prefix('#').map(str::trim))
}
