//! Proofs that are handed out: what grew is shown to whoever wrote down what it was before (SPEC 12.10.2).

use std::fs;

use crate::support::cli::Project;

#[test]
fn a_journal_that_grew_is_shown_to_extend_what_was_written_down_before() {
    let project = Project::counting();
    let words = [
        "run",
        "--run-id",
        "r",
        "--check",
        "sh check.sh",
        "--collector",
        "tap",
        "--exec",
        "sh fix.sh",
        "--max-iterations",
        "1",
    ];
    project.run(&words).exits(12);
    let noted = project.say("verify --json").exits(0).json()["journal"].clone();
    project.say("resume r --max-iterations 5").exits(10);
    let events = noted["events"].as_u64().unwrap();
    let out = project.beside("extension.json");
    let name = out.to_str().unwrap();
    project
        .say(&format!("verify r --prove-extends {events} --out {name}"))
        .exits(0);
    let public = fs::read_to_string(project.beside("home/.config/loopexec/key.pub")).unwrap();
    let key = journal::keys::parse_public(&public).unwrap();
    let shown = journal::extension::check(&fs::read_to_string(&out).unwrap(), Some(&key)).unwrap();
    assert_eq!(
        (shown.from, shown.from_root.hex()),
        (events, noted["root"].as_str().unwrap().to_owned())
    );
    assert!(shown.size > events);

    project
        .say(&format!("verify r --prove-extends 99999 --out {name}"))
        .exits(30);
    project.say("verify r --prove-extends 1").exits(2);
    project.say(&format!("verify r --out {name}")).exits(2);
}
