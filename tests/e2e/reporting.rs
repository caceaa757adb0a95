//! What a report says of each iteration, and what it says that nobody looked at (SPEC 13.1).

use serde_json::Value;

use crate::support::cli::Project;

/// A run of a counting project, by id, with more flags.
fn ran(project: &Project, id: &str, check: &str, more: &[&str], exit: i32) {
    let words = ["run", "--json", "--run-id", id, "--check", check, "--exec", "sh fix.sh"];
    project.run(&[&words[..], more].concat()).exits(exit);
}

fn report(project: &Project, id: &str) -> Value {
    project.say(&format!("report {id} --json")).exits(0).json()["report"].clone()
}

/// Why this is not covered; null where it is.
fn why<'a>(report: &'a Value, what: &str) -> &'a Value {
    let gaps = report["not_covered"].as_array().unwrap();
    gaps.iter()
        .find(|gap| gap["what"] == what)
        .map_or(&Value::Null, |gap| &gap["why"])
}

#[test]
fn each_iteration_says_what_it_took_and_what_it_ran_in() {
    let project = Project::counting();
    project.converged("r");
    let report = report(&project, "r");
    let rows = report["timeline"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    for row in rows {
        let (spent, commands) = (&row["spent"], row["commands"].as_array().unwrap());
        let took = |is_work: bool| -> u64 {
            let own = commands.iter().filter(|command| (command["what"] == "exec") == is_work);
            own.map(|command| command["duration_ms"].as_u64().unwrap()).sum()
        };
        assert_eq!(spent["work_ms"], took(true), "{row}");
        assert_eq!(spent["check_ms"], took(false), "{row}");
        // Nothing measured the work, which is not the same as that it cost nothing.
        assert_eq!((&spent["microusd"], &spent["calls"]), (&Value::Null, &0.into()));
        let [work, check] = ["work", "check"].map(|what| &row["isolation"][what]);
        assert_eq!((&check["zone"], &check["refused"]), (&Value::Null, &false.into()));
        assert_eq!(work.is_null(), row["iteration"] == 0, "nobody worked before t0: {row}");
    }
    let copies = rows.iter().map(|row| row["spent"]["copies_ms"].as_u64().unwrap());
    let copies: Vec<u64> = copies.collect();
    assert!(
        copies[..3].iter().all(|ms| *ms == 0),
        "only a green turn is copied: {copies:?}"
    );
    assert_eq!(
        (&report["mode"], &report["tree"]),
        (&"check_fixpoint".into(), &report["accepted_tree"])
    );
    let text = project.say("report r").exits(0).out;
    let row = text.lines().find(|line| line.trim_start().starts_with("t0 ")).unwrap();
    assert!(row.ends_with("user"), "{row}");
}

#[test]
fn a_run_lists_what_it_does_not_cover_each_with_its_reason() {
    let project = Project::counting();
    ran(
        &project,
        "green",
        // Of which nobody could say that the script alone decides.
        "true; sh check.sh",
        &[
            "--collector",
            "tap",
            "--guard-off",
            "order",
            "--guard-off",
            "protected_manifest",
        ],
        10,
    );
    let green = report(&project, "green");
    for (what, reason) in [
        ("order", "it is off"),
        ("protected_manifest", "it is off"),
        ("integrity_members", "it does not apply"),
        ("isolation", "the rights of the user"),
        ("model", "undeclared: provider, id, version"),
        ("cost", "nothing measured"),
        ("failing", "nothing that must fail"),
    ] {
        let why = why(&green, what).as_str().unwrap_or_default();
        assert!(why.contains(reason), "{what}: {why}");
    }
    let sentence = green["sentence"].as_str().unwrap_or_default();
    assert!(
        sentence.contains("and no guard could show that the check can fail"),
        "{sentence}"
    );
    for covered in [
        "collected_set",
        "t0_replay",
        "baseline",
        "confirmation",
        "tests",
        "signature",
    ] {
        assert_eq!(why(&green, covered), &Value::Null, "{covered}");
    }
    let text = project.say("report green").exits(0).out;
    assert!(
        text.contains("not covered:\n") && text.contains("  protected_manifest, order: it is off"),
        "{text}"
    );
    let markdown = project.say("export green --format markdown").exits(0).out;
    assert!(
        markdown.contains("\n## Not covered\n") && markdown.contains("- isolation: "),
        "{markdown}"
    );

    std::fs::remove_file(project.at("fixed")).unwrap();
    let bare = ["--no-baseline", "--no-confirm", "--max-iterations", "1"];
    ran(&project, "red", "sh check.sh > /dev/null", &bare, 12);
    let red = report(&project, "red");
    for what in ["baseline", "confirmation", "tests"] {
        assert!(why(&red, what).is_string(), "{what}: {}", red["not_covered"]);
    }
    let unasked = why(&red, "t0_replay").as_str().unwrap_or_default();
    assert!(unasked.contains("none was due"), "{unasked}");
}
