//! The catalogue of agents, dishonest ones and honest ones that look alike, each on a project of its own.
//!
//! ```text
//!   tests/corpus/<runner>/project/      red at t0
//!                         check         the check command
//!                         honest.sh     what mends it
//!                         cases/*.sh    one agent each: what it does, and how its run must end
//! ```
//!
//! A case begins with comments: one sentence, then `# ends: REASON [GUARD..]`, alternatives parted by ` or `;
//! `# flags:` are passed on; `# uncovered:` says why a dishonest agent converges all the same (SPEC 16.2), and
//! `# open:` what is still missing: such a case must *not* end as it should, so that whoever mends it says so.
//! `tests/corpus/run` prints the table, and who is still halted without the guard that halted it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::story::{Project, Said, available, python_with_pytest};

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/corpus");

/// What the first lines of a case say.
struct Case {
    name: String,
    script: PathBuf,
    flags: Vec<String>,
    /// Reasons, each with the guards or causes that may stand for it; none for any.
    ends: Vec<(String, Vec<String>)>,
    uncovered: bool,
    open: bool,
}

impl Case {
    fn read(script: &Path) -> Self {
        let text = fs::read_to_string(script).unwrap();
        let said: BTreeMap<_, _> = text
            .lines()
            .map_while(|line| line.strip_prefix("# "))
            .filter_map(|line| line.split_once(": "))
            .collect();
        let words = |name| said.get(name).copied().unwrap_or_default().split_whitespace();
        let ends = said
            .get("ends")
            .unwrap_or_else(|| panic!("{} does not say how it ends", script.display()));
        Self {
            name: script.file_stem().unwrap().to_string_lossy().into_owned(),
            script: script.to_owned(),
            flags: words("flags").map(str::to_owned).collect(),
            ends: ends.split(" or ").map(alternative).collect(),
            uncovered: said.contains_key("uncovered"),
            open: said.contains_key("open"),
        }
    }

    fn honest(&self) -> bool {
        !self.name.starts_with('H')
    }

    fn ended_well(&self, said: &Said) -> bool {
        let fits = |(reason, by): &(String, Vec<String>)| {
            said.reason() == reason && (by.is_empty() || by.iter().any(|name| name == said.cause()))
        };
        self.ends.iter().any(fits)
    }

    /// Why this run is not what the case says; `None` when it is.
    fn wrong(&self, said: &Said) -> Option<String> {
        let well = self.ended_well(said);
        let seen = format!("{} {} ({})", said.reason(), said.cause(), said.why());
        match (well, self.open) {
            (true, false) | (false, true) => None,
            (true, true) => Some(format!(
                "{}: ends as it should now; it is not open any more: {seen}",
                self.name
            )),
            (false, false) => Some(format!("{}: {seen}, expected {:?}", self.name, self.ends)),
        }
    }
}

fn alternative(text: &str) -> (String, Vec<String>) {
    let mut words = text.split_whitespace().map(str::to_owned);
    (words.next().unwrap(), words.collect())
}

fn cases(runner: &str) -> Vec<Case> {
    let dir = Path::new(CORPUS).join(runner).join("cases");
    let mut scripts: Vec<_> = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    scripts.sort();
    let wanted = std::env::var("CORPUS_ONLY").unwrap_or_default();
    let all = scripts.iter().map(|script| Case::read(script));
    all.filter(|case| case.name.contains(&wanted)).collect()
}

/// What ended each run before, and which of that can be switched off.
struct Ablation {
    tables: PathBuf,
    guards: String,
}

impl Ablation {
    /// `CORPUS_ABLATE` names the directory of an earlier `CORPUS_TABLE`, `CORPUS_GUARDS` all guards.
    fn read() -> Option<Self> {
        Some(Self {
            tables: std::env::var_os("CORPUS_ABLATE")?.into(),
            guards: std::env::var("CORPUS_GUARDS").unwrap_or_default(),
        })
    }

    /// The agent was halted by a guard, which is off from here on.
    fn reaches(&self, runner: &str, case: &mut Case) -> bool {
        let table = fs::read_to_string(self.tables.join(runner)).unwrap();
        let row = table.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        let by = row.into_iter().find_map(|row| match row.as_slice() {
            [_, name, "dishonest", _, by] if *name == case.name => Some((*by).to_owned()),
            _ => None,
        });
        let guard = by.filter(|by| self.guards.split_whitespace().any(|guard| guard == by));
        let is_one = guard.is_some();
        case.flags
            .extend(guard.into_iter().flat_map(|guard| ["--guard-off".to_owned(), guard]));
        is_one
    }
}

/// One agent at work on a fresh copy of the project.
fn run(runner: &str, case: &Case, python: &str) -> Said {
    let home = Path::new(CORPUS).join(runner);
    let mut project = Project::copied(&home.join("project"));
    project.set("PYTHON", python);
    project.set("CORPUS", home.to_string_lossy());
    let check = fs::read_to_string(home.join("check")).unwrap();
    let exec = format!("sh {}", case.script.display());
    let mut flags = case.flags.clone();
    if !flags.iter().any(|flag| flag == "--max-iterations") {
        flags.extend(["--max-iterations".to_owned(), "2".to_owned()]);
    }
    let flags: Vec<_> = flags.iter().map(String::as_str).collect();
    project.run(&exec, check.trim().replace("$PYTHON", python).as_str(), &flags)
}

/// Every case, two at a time: an agent's run waits more than it computes.
fn all_at_work(runner: &str, cases: &[Case], python: &str) -> Vec<Said> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::SeqCst);
            let Some(case) = cases.get(number) else { return done };
            done.push((number, run(runner, case, python)));
        }
    };
    let mut done = std::thread::scope(|scope| {
        let other = scope.spawn(work);
        let mut own = work();
        own.extend(other.join().unwrap());
        own
    });
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, said)| said).collect()
}

/// Runs every case of one runner; fails with all that did not end as they say.
fn all_end_as_they_say(runner: &str, python: &str) {
    let mut table = String::new();
    let mut wrong = Vec::new();
    let mut cases = cases(runner);
    cases.retain_mut(|case| Ablation::read().is_none_or(|ablation| ablation.reaches(runner, case)));
    for (case, said) in cases.iter().zip(all_at_work(runner, &cases, python)) {
        let kind = match (case.honest(), case.uncovered) {
            (true, _) => "honest",
            (false, true) => "uncovered",
            (false, false) => "dishonest",
        };
        let _ = writeln!(
            table,
            "{runner}\t{}\t{kind}\t{}\t{}",
            case.name,
            said.reason(),
            said.cause()
        );
        wrong.extend(case.wrong(&said));
    }
    if let Some(dir) = std::env::var_os("CORPUS_TABLE") {
        fs::write(Path::new(&dir).join(runner), table).unwrap();
        return;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn agents_on_a_pytest_project_end_as_they_deserve() {
    let Some(python) = python_with_pytest() else { return };
    all_end_as_they_say("pytest", &python);
}

#[test]
fn agents_on_a_unittest_project_end_as_they_deserve() {
    let Some(python) = python_with_pytest() else { return };
    all_end_as_they_say("unittest", &python);
}

#[test]
fn agents_on_a_cargo_project_end_as_they_deserve() {
    if available("cargo") {
        all_end_as_they_say("cargo", "");
    }
}

#[test]
fn agents_on_a_node_project_end_as_they_deserve() {
    if available("node") {
        all_end_as_they_say("node", "");
    }
}

#[test]
fn agents_on_a_project_of_shell_and_make_end_as_they_deserve() {
    if available("make") {
        all_end_as_they_say("make", "");
    }
}

#[test]
fn agents_on_a_project_whose_tests_have_names_of_its_own_end_as_they_deserve() {
    let Some(python) = python_with_pytest() else { return };
    all_end_as_they_say("names", &python);
}
