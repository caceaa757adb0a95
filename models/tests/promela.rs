//! An independent model of the protocol in Promela, checked by spin: it shares no code and no author's
//! shortcut with the engine. Faults that are planted in it must be found, or its assertions say nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use engine::event::Event;

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/promela/loop.pml");
const SPEC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../SPEC.md");

/// What one search of a model said.
struct Verdict {
    errors: u64,
    states: u64,
    /// Statements of the governor that no run came to.
    unreached: usize,
    text: String,
}

/// One build of the model, in a folder of its own.
struct Model {
    folder: PathBuf,
}

impl Model {
    fn new(name: &str, flags: &[&str]) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("promela").join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("the scratch folder can be made");
        let model = Self { folder };
        let flags: Vec<String> = flags.iter().map(|flag| format!("-D{flag}")).collect();
        model.run("spin", flags.iter().map(String::as_str).chain(["-a", MODEL]));
        model
    }

    /// Assertions and invalid ends.
    fn safety(&self) -> Verdict {
        self.run("cc", ["-O0", "-DSAFETY", "-DNOCLAIM", "-o", "pan", "pan.c"]);
        self.search(&["-m200000", "-w22"])
    }

    /// One of the temporal formulas. Compiling takes longer than searching, so nothing is optimised.
    fn formula(&self, name: &str) -> Verdict {
        self.run("cc", ["-O0", "-o", "pan", "pan.c"]);
        self.search(&["-a", "-m200000", "-w22", "-N", name])
    }

    fn search(&self, flags: &[&str]) -> Verdict {
        let text = self.run("./pan", flags.iter().copied());
        let number = |before: &str, after: &str| {
            let line = text.lines().find(|line| line.contains(before) && line.contains(after));
            let words = line.unwrap_or_default().split_whitespace();
            let number = words.rev().find_map(|word| word.parse().ok());
            number.unwrap_or_else(|| panic!("the search says nothing of {before}{after}:\n{text}"))
        };
        let governor = text.split("unreached in proctype governor").nth(1).unwrap_or_default();
        let governor = governor.lines().skip(1).take_while(|line| line.contains("loop.pml:"));
        Verdict {
            errors: number("errors:", ""),
            states: number("states, stored", ""),
            unreached: governor.filter(|line| !line.contains("-end-")).count(),
            text,
        }
    }

    fn run<'a>(&self, program: &str, arguments: impl IntoIterator<Item = &'a str>) -> String {
        let ran = Command::new(program).args(arguments).current_dir(&self.folder).output();
        let ran = ran.unwrap_or_else(|error| panic!("{program} cannot be run: {error}"));
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{program} failed: {said}\n{text}");
        text
    }
}

/// Whether spin and a C compiler are there; says so when not.
#[expect(clippy::print_stdout, reason = "the runner of the tests reads what was left out")]
fn can_check() -> bool {
    let missing = ["spin", "cc"].into_iter().find(|program| {
        let ran = Command::new(program)
            .arg(if *program == "spin" { "-V" } else { "--version" })
            .output();
        ran.is_err()
    });
    if let Some(program) = missing {
        println!("skipped: there is no {program}; the Promela model is not checked");
    }
    missing.is_none()
}

#[test]
fn no_run_of_the_protocol_breaks_an_assertion() {
    if !can_check() {
        return;
    }
    let verdict = Model::new("safety", &["ITERS=3", "LIVES=2"]).safety();
    assert_eq!(verdict.errors, 0, "{}", verdict.text);
    assert_eq!(verdict.states, 260_710);
    // Before a recheck and a confirmation a later life has looked already, so the tree is the known one.
    assert_eq!(verdict.unreached, 6, "{}", verdict.text);
}

#[test]
fn every_run_of_the_protocol_ends_honestly_and_for_good() {
    if !can_check() {
        return;
    }
    let model = Model::new("formulas", &[]);
    for formula in ["ends", "honest", "final"] {
        let verdict = model.formula(formula);
        assert_eq!(verdict.errors, 0, "{formula}: {}", verdict.text);
        // A formula that holds before anything happened stores one state.
        assert!(verdict.states > 20_000, "{formula}: {}", verdict.text);
    }
}

#[test]
fn every_fault_that_is_planted_in_the_protocol_is_found() {
    if !can_check() {
        return;
    }
    let text = fs::read_to_string(MODEL).expect("the model can be read");
    let planted: BTreeSet<&str> = text.split(|c: char| !c.is_ascii_uppercase() && c != '_').collect();
    let planted: Vec<&str> = planted.into_iter().filter(|word| word.starts_with("BUG_")).collect();
    assert!(planted.len() >= 9, "{planted:?}");
    for fault in planted {
        let model = Model::new(fault, &[fault]);
        let verdict = if fault == "BUG_ENDLESS" {
            model.formula("ends")
        } else {
            model.safety()
        };
        assert_eq!(verdict.errors, 1, "{fault} is not found: {}", verdict.text);
    }
}

/// Events in the labels of the model's branches.
fn modelled() -> BTreeSet<String> {
    let text = fs::read_to_string(MODEL).expect("the model can be read");
    let labels = text.lines().filter_map(|line| line.strip_prefix("    /* "));
    let words = |line: &str| -> Vec<String> {
        line.split(|c: char| !c.is_ascii_lowercase() && c != '_')
            .map(Into::into)
            .collect()
    };
    labels.flat_map(words).collect()
}

#[test]
fn every_kind_of_event_is_a_branch_of_the_model_or_said_to_be_out_of_it() {
    let spec = fs::read_to_string(SPEC).expect("SPEC.md can be read");
    let table = spec
        .split("<!-- promela -->")
        .nth(1)
        .and_then(|text| text.split("<!-- end").next());
    let table = table.expect("SPEC.md has the table");
    let modelled = modelled();
    let mut rows = Vec::new();
    for line in table.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let kinds: Vec<&str> = cells[0].split(", ").map(|kind| kind.trim_matches('`')).collect();
        let out = cells[1].starts_with("out:");
        for kind in kinds {
            assert_eq!(!out, modelled.contains(kind), "{kind}: {}", cells[1]);
            rows.push(kind.to_owned());
        }
    }
    rows.sort();
    let mut kinds: Vec<String> = Event::schemas().iter().map(|schema| schema.name.to_owned()).collect();
    kinds.sort();
    assert_eq!(rows, kinds);
}
