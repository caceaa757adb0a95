//! `SPEC.md` and the code say the same.
//!
//! ```text
//!   code ──rows──> tables between `generated` markers     (LOOPEXEC_REGENERATE=1 rewrites them)
//!   sources ──"SPEC n.n.n"──> clauses that exist
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use engine::event::Event;
use engine::event::halt::HaltReason;
use engine::guard;

use super::house::{self, read, root, rust_files};

/// The tables that are written from code, by marker.
fn generated() -> Vec<(&'static str, String)> {
    vec![
        ("halt-reasons", halt_reasons()),
        ("exit-codes", exit_codes()),
        ("events", events()),
        ("guards", guards()),
        ("vets", vets()),
        ("commands", commands()),
        ("settings", settings()),
    ]
}

fn halt_reasons() -> String {
    let rows = HaltReason::ALL.iter().map(|reason| {
        let row = reason.row();
        let (label, code) = (code(reason.label()), row.exit_code.to_string());
        vec![label, code, row.class.into(), row.owner.into(), row.sentence.into()]
    });
    table(&["reason", "exit", "class", "owner", "sentence"], rows)
}

fn exit_codes() -> String {
    let mut classes: BTreeMap<u8, (&str, Vec<String>)> = BTreeMap::new();
    for reason in HaltReason::ALL {
        let row = reason.row();
        let class = classes.entry(row.exit_code).or_insert((row.class, Vec::new()));
        assert_eq!(class.0, row.class, "exit code {} has two classes", row.exit_code);
        class.1.push(code(reason.label()));
    }
    let rows = classes
        .into_iter()
        .map(|(exit, (class, reasons))| vec![exit.to_string(), class.into(), reasons.join(", ")]);
    table(&["exit", "class", "reasons"], rows)
}

fn events() -> String {
    let rows = Event::schemas().into_iter().map(|schema| {
        let meaning = meanings()
            .find(|(name, _)| *name == schema.name)
            .map_or("", |(_, meaning)| meaning);
        vec![
            schema.kind.to_string(),
            schema.version.to_string(),
            code(schema.name),
            meaning.into(),
        ]
    });
    table(&["kind", "version", "name", "meaning"], rows)
}

fn guards() -> String {
    let rows = guard::ALL.iter().map(|guard| {
        let reason = code(guard.reason.label());
        vec![code(guard.name), guard.catches.into(), reason]
    });
    table(&["guard", "catches", "reason"], rows)
}

fn vets() -> String {
    let rows = engine::vet::ALL.iter().map(|guard| {
        let reason = code(guard.reason.label());
        vec![code(guard.name), guard.catches.into(), reason]
    });
    table(&["guard", "catches", "reason"], rows)
}

fn commands() -> String {
    let rows = cli::command_table()
        .into_iter()
        .map(|[name, purpose, exits]| vec![code(&name), purpose, exits]);
    table(&["command", "purpose", "exit"], rows)
}

fn settings() -> String {
    let rows = shell::config::reference().into_iter().map(|row| {
        let default = if row.default.is_empty() {
            String::new()
        } else {
            code(&row.default)
        };
        vec![code(row.key), code(&row.flag), code(row.env), default, row.meaning]
    });
    table(&["setting", "flag", "environment", "default", "meaning"], rows)
}

fn meanings() -> impl Iterator<Item = (&'static str, &'static str)> {
    MEANINGS.lines().filter_map(|line| line.split_once(": "))
}

/// What each event says, for readers of the contract: one a line, after its name.
const MEANINGS: &str = "\
run_opened: the contract was pinned; the first event of every run
resumed: a later life of the run began
amended: a person changed limits between two lives
interrupted: an effect began and nobody saw its end
suspended: the run stopped without a halt and can be resumed
halted: the run is over, with its computed reason
tree_observed: the workdir was walked, for the purpose it names
context_built: slice and request for the work command were written, or could not be
execute_began: the work command is about to start
execute_ended: the work command ended, and nothing of it runs any more
retry_scheduled: a failed work command will be tried again after a delay
retry_waited: the delay is over
check_began: the check is about to start
check_ended: the check ended; its one artefact was captured and read
guards_judged: every guard judged this iteration and tree
candidate_accepted: the ratchet moved to this tree
candidate_rejected: the ratchet refused this tree and the accepted one comes back
restore_began: a tree is about to be brought back
restore_ended: it is back, or why not; what stood there is in the store
progress_judged: what the detectors saw
checkpointed: the iteration is over and all of it is on disk
reserved: calls that the work may make were booked ahead
settled: what was really used; closes the reservation
scored: a score of the candidate was read
judged: an advisory reviewer answered
probed: the check was run repeatedly under one condition
vetted: one guard before green ran, or could not
escalated: a packet for a person was made
delivered: the packet was sent, or could not be
acked: a person acknowledged, signed
task_selected: one task of the plan was taken up
task_closed: the task was completed or is blocked, with evidence
credential: one step in the life of the run's key
";

#[test]
fn generated_tables_are_what_the_code_says() {
    let mut spec = spec();
    let before = spec.clone();
    for (marker, table) in generated() {
        let (start, end) = region(&spec, marker);
        spec.replace_range(start..end, &table);
    }
    if house::regenerate() {
        fs::write(root().join("SPEC.md"), &spec).unwrap();
    } else {
        let differs = before.lines().zip(spec.lines()).find(|(old, new)| old != new);
        assert!(
            before == spec,
            "SPEC.md differs from the code (LOOPEXEC_REGENERATE=1 rewrites it): {differs:?}"
        );
    }
}

#[test]
fn every_marker_has_a_generator() {
    assert_eq!(spec().matches("<!-- generated: ").count(), generated().len());
}

#[test]
fn every_event_has_a_meaning_and_every_meaning_an_event() {
    let events: BTreeSet<_> = Event::schemas().iter().map(|s| s.name).collect();
    let meanings: BTreeSet<_> = meanings().map(|(name, _)| name).collect();
    assert_eq!(events, meanings);
}

#[test]
fn every_halt_reason_has_causes_and_a_verdict() {
    let spec = spec();
    let sections = [("### 4.2 ", "### 4.3 ", "causes"), ("### 4.6 ", "## 5 ", "verdict")];
    for (from, to, what) in sections {
        let text = between(&spec, from, to);
        let firsts: Vec<_> = text
            .lines()
            .filter_map(|l| l.strip_prefix("| ")?.split(" | ").next())
            .collect();
        for reason in HaltReason::ALL {
            let named = code(reason.label());
            let rows = firsts.iter().filter(|cell| cell.contains(&named)).count();
            assert_eq!(rows, 1, "{reason} has {rows} rows of {what}");
        }
    }
}

#[test]
fn clauses_are_numbered_once_and_in_order() {
    let mut last = Vec::new();
    for line in spec().lines() {
        if let Some(id) = clause_of(line) {
            let number: Vec<u32> = id.split('.').map(|n| n.parse().unwrap()).collect();
            assert!(last < number, "{id} stands after {last:?}");
            last = number;
        }
    }
}

#[test]
fn every_clause_that_is_cited_exists() {
    let clauses = clauses(&spec());
    let mut missing = Vec::new();
    let mut cited = 0;
    for file in rust_files(&root()) {
        for id in citations(&read(&file)) {
            cited += 1;
            if !clauses.contains(&id) {
                missing.push(format!("{}: SPEC {id}", file.display()));
            }
        }
    }
    for id in inner_references(&spec()) {
        if !clauses.contains(&id) {
            missing.push(format!("SPEC.md itself: {id}"));
        }
    }
    assert!(cited > 0, "no source cites the contract: is the search blind?");
    assert!(missing.is_empty(), "cited, but not there:\n{}", missing.join("\n"));
}

#[test]
fn citations_are_found_however_deep_they_go() {
    assert_eq!(
        citations("(SPEC 4.3), SPEC 12.6.1. SPECIAL 7, SPEC x"),
        ["4.3", "12.6.1"]
    );
}

fn spec() -> String {
    read(&root().join("SPEC.md"))
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut out = format!("| {} |\n|{}\n", head.join(" | "), " --- |".repeat(head.len()));
    for row in rows {
        assert_eq!(row.len(), head.len());
        // A pipe would end the cell.
        let cells: Vec<_> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    out
}

/// The bytes between the two markers of a table.
fn region(spec: &str, marker: &str) -> (usize, usize) {
    let open = format!("<!-- generated: {marker} -->\n");
    let start = spec
        .find(&open)
        .unwrap_or_else(|| panic!("SPEC.md has no marker for `{marker}`"))
        + open.len();
    let length = spec[start..]
        .find("<!-- end generated -->")
        .expect("every marker is closed");
    (start, start + length)
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(from).expect("the section begins");
    let end = text[start..].find(to).expect("the section ends");
    &text[start..start + end]
}

/// The id of the clause or heading that begins on this line.
fn clause_of(line: &str) -> Option<&str> {
    let id = match line.strip_prefix("**") {
        Some(rest) => rest.split_once("**")?.0,
        None => line
            .strip_prefix("### ")
            .or_else(|| line.strip_prefix("## "))?
            .split(' ')
            .next()?,
    };
    (!id.is_empty()
        && id
            .split('.')
            .all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit())))
    .then_some(id)
}

fn clauses(spec: &str) -> BTreeSet<String> {
    spec.lines().filter_map(clause_of).map(str::to_owned).collect()
}

/// The longest dotted number at the beginning of `text`.
fn dotted(text: &str) -> &str {
    let end = text
        .find(|c: char| c != '.' && !c.is_ascii_digit())
        .unwrap_or(text.len());
    text[..end].trim_end_matches('.')
}

fn citations(source: &str) -> Vec<String> {
    source
        .split("SPEC ")
        .skip(1)
        .map(dotted)
        .filter(|id| !id.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Numbers of three parts in the text of the contract, and two parts where a parenthesis holds nothing else.
fn inner_references(spec: &str) -> Vec<String> {
    let words = spec.split(|c: char| c != '.' && !c.is_ascii_digit());
    let deep = words
        .map(dotted)
        .filter(|id| id.split('.').filter(|n| !n.is_empty()).count() == 3);
    let lists = spec.split('(').skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
    let alone = |list: &&str| list.contains('.') && list.chars().all(|c| c.is_ascii_digit() || ". ,".contains(c));
    let shallow = lists.filter(alone).flat_map(|list| list.split(", "));
    deep.chain(shallow).map(str::to_owned).collect()
}
