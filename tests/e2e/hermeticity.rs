//! A check that is declared hermetic is held to it, by a trace of what it touches and by other surroundings (SPEC 6.7.3).

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::story::{Project, Said, available, python_with_pytest};
use crate::support::zones::zones;

const WORK: &str = "echo done > product";

fn project() -> Project {
    Project::committed(&[("README", "x\n")])
}

/// A run of this check, which is red until the work is done.
fn run(project: &Project, check: &str, more: &[&str]) -> Said {
    let check = format!("grep -q done product && {check}");
    project.run(
        WORK,
        &check,
        &[&["--hermetic", "--fast", "--guard-off", "sentinel_pair"], more].concat(),
    )
}

/// None where nothing can be traced on this machine.
fn traceable() -> Option<()> {
    available("strace").then_some(())
}

/// Halted for what it reached, with this place and program in the sentence.
#[track_caller]
fn reached(said: &Said, place: &str, program: &str) {
    said.halted(14, "hermeticity_violation", "reached_outside");
    let sentence = said.json["advice"]["why"].as_str().unwrap();
    assert!(sentence.contains(place) && sentence.contains(program), "{}", said.all());
}

#[test]
fn a_check_that_touches_and_minds_nothing_outside_converges_and_says_how_far_that_was_shown() {
    let Some(()) = traceable() else { return };
    let project = project();
    let said = run(&project, "cp product $TMPDIR/x && grep -q done $TMPDIR/x", &[]);
    said.converged(1);
    let vetted = project.vetted(&said, "hermeticity");
    assert_eq!(vetted["state"], "active", "{vetted}");
    assert_eq!(vetted["findings"].as_array().unwrap().len(), 0, "{vetted}");
    let subjects: Vec<_> = vetted["trials"]
        .as_array()
        .unwrap()
        .iter()
        .map(|trial| &trial["subject"])
        .collect();
    let frozen = available("faketime").then_some("frozen");
    assert_eq!(subjects, [&["traced", "varied"], frozen.as_slice()].concat());
    assert!(
        vetted["trials"][0]["trace"]["processes"].as_u64().unwrap() >= 3,
        "{vetted}"
    );
    for words in [
        "T0 partly: outside of an exec zone nothing fixes network",
        ": under other",
    ] {
        assert!(vetted["note"].as_str().unwrap().contains(words), "{vetted}");
    }
    assert_eq!(project.json(&["verify"]).exit, 0);
    assert!(
        fs::read_dir(project.outside("tmp")).unwrap().next().is_none(),
        "something was left"
    );
}

#[test]
fn a_check_that_is_not_declared_hermetic_is_not_traced() {
    let project = project();
    let secret = project.outside("elsewhere");
    fs::write(&secret, "done\n").unwrap();
    let said = project.run(
        WORK,
        &format!("grep -q done product && cat {}", secret.display()),
        &["--fast"],
    );
    said.converged(1);
    assert_eq!(project.vetted(&said, "hermeticity")["state"], "not_applicable");
}

#[test]
fn a_check_that_reads_the_users_tree_from_a_copy_is_halted_with_the_file_and_the_program_named() {
    let Some(()) = traceable() else { return };
    let project = project();
    let tree = project.dir().canonicalize().unwrap();
    // A path in the check's own words would lead into the copy; one that a file of the tree holds does not.
    project.write("read.sh", &format!("cat {}/README\n", tree.display()));
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "read"]);
    let said = run(&project, "sh read.sh", &[]);
    reached(&said, &format!("{}/README", tree.display()), "cat");
    let finding = project.vetted(&said, "hermeticity")["findings"][0].clone();
    assert_eq!(finding["severity"], "violation", "{finding}");
}

#[test]
fn what_a_link_in_the_tree_leads_to_is_named_unless_the_contract_allows_it() {
    let Some(()) = traceable() else { return };
    let project = project();
    let answers = project.outside("answers").join("all");
    fs::create_dir(answers.parent().unwrap()).unwrap();
    fs::write(&answers, "42\n").unwrap();
    symlink(&answers, project.dir().join("link")).unwrap();
    let (answers, check) = (answers.canonicalize().unwrap(), "cat link");
    reached(&run(&project, check, &[]), &answers.display().to_string(), "cat");
    project.git(&["checkout", "-q", "."]);
    fs::remove_file(project.dir().join("product")).unwrap();
    let allowed = answers.parent().unwrap().display().to_string();
    run(&project, check, &["--hermetic-allow", &allowed]).converged(1);
}

#[test]
fn a_connection_is_named_whether_or_not_anybody_answers() {
    let (Some(()), Some(python)) = (traceable(), python_with_pytest()) else {
        return;
    };
    let project = project();
    let connect = |host: &str| {
        format!("{python} -c 'import socket; s = socket.socket(); s.setblocking(False); s.connect_ex((\"{host}\", 9))'")
    };
    reached(&run(&project, &connect("192.0.2.1"), &[]), "192.0.2.1:9", "python");
}

#[test]
fn a_check_that_minds_its_surroundings_is_not_hermetic_by_what_it_minds() {
    let Some(()) = traceable() else { return };
    let project = project();
    let said = run(&project, "test \"$TZ\" = UTC", &[]);
    said.halted(14, "check_not_hermetic", "dimension_broke");
    assert!(
        said.why().contains("timezone") && said.why().contains("TZ="),
        "{}",
        said.all()
    );
}

/// None, said aloud, where no clock can be made to stand still.
fn clock() -> Option<()> {
    available("faketime").then_some(())
}

#[test]
fn a_clock_that_stands_still_is_a_tier_and_waiting_for_it_to_move_is_held_against_nobody() {
    let (Some(()), Some(())) = (traceable(), clock()) else {
        return;
    };
    let note = |check: &str| {
        let project = project();
        let said = run(&project, check, &[]);
        said.converged(1);
        project.vetted(&said, "hermeticity")["note"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let held = note("true");
    assert!(held.contains("T1 held"), "{held}");
    let moves = "a=$(date +%s%N); b=$(date +%s%N); test $a != $b";
    let broke = note(&format!("{{ {moves}; }}"));
    assert!(broke.contains("T1 broke: with a clock that stands still"), "{broke}");
}

#[test]
fn in_a_zone_a_hermetic_check_needs_no_trace_and_its_tiers_are_what_the_zone_and_its_runs_showed() {
    let Some(zones) = zones() else { return };
    let project = project();
    fs::write(project.outside("answers"), "42\n").unwrap();
    let check = format!(
        "! cat {} && test \"$(nproc)\" = 1",
        project.outside("answers").display()
    );
    let said = run(&project, &check, &[zones, &["--check-processors", "1"]].concat());
    said.converged(1);
    let vetted = project.vetted(&said, "hermeticity");
    let subjects: Vec<_> = vetted["trials"]
        .as_array()
        .unwrap()
        .iter()
        .map(|trial| &trial["subject"])
        .collect();
    let (frozen, note) = (available("faketime"), vetted["note"].as_str().unwrap());
    assert_eq!(subjects, [&["varied"], frozen.then_some("frozen").as_slice()].concat());
    let t0 = "T0 held: the exec zone fixed network, root, home, tmp, host, processors, umask";
    for words in [
        t0,
        "as T0 fixes it: network, home, tmp",
        "not traced",
        "timezone, locale, path",
    ] {
        assert!(note.contains(words), "{note}");
    }
    assert_eq!(note.contains("T1 held"), frozen, "{note}");
    assert_eq!(project.json(&["verify"]).exit, 0);
    let report = project.json(&["report"]);
    let facts = report.json["report"]["isolation"]["exec_zone_facts"].to_string();
    assert!(facts.contains("1 processor"), "{facts}");
}

#[test]
fn in_a_zone_too_a_check_that_minds_its_surroundings_is_not_hermetic() {
    let Some(zones) = zones() else { return };
    let said = run(&project(), "test \"$TZ\" = UTC", zones);
    said.halted(14, "check_not_hermetic", "dimension_broke");
    assert!(said.why().contains("timezone"), "{}", said.all());
    let Some(()) = clock() else { return };
    let is_near_the_start = "test $(( $(date +%s) - SOURCE_DATE_EPOCH )) -lt 7200";
    let said = run(&project(), is_near_the_start, zones);
    said.halted(14, "check_not_hermetic", "dimension_broke");
    assert!(said.why().contains("clock"), "{}", said.all());
}

#[test]
fn what_the_contract_passes_on_is_not_claimed_to_be_fixed_in_a_zone() {
    let Some(zones) = zones() else { return };
    let project = project();
    let said = run(&project, "true", &[zones, &["--check-env", "TZ"]].concat());
    said.converged(1);
    let note = project.vetted(&said, "hermeticity")["note"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(note.contains("T0 partly: the contract passes on TZ"), "{note}");
}

#[test]
fn a_probe_in_zones_and_the_doctor_tell_each_tier_by_what_was_seen() {
    let Some(zones) = zones() else { return };
    let project = project();
    let contract = [&["--check", "true", "--hermetic"], zones].concat();
    let few = ["--runs", "1", "--side-effect-runs", "0", "--dimensions=network,path"];
    let said = project.json(&[&["probe-check"], &contract[..], &few].concat());
    assert_eq!(said.exit, 0, "{}", said.all());
    let shown = &said.json["probe"]["hermeticity"];
    let state = |tier: &str| shown[tier]["state"].as_str().unwrap_or_default().to_owned();
    assert_eq!((state("t0"), state("trace")), ("held".into(), "held".into()), "{shown}");
    assert!(
        shown["t2"]["why"]
            .as_str()
            .unwrap()
            .contains("as T0 fixes it: network, home, tmp"),
        "{shown}"
    );
    assert_eq!(
        state("t1"),
        if available("faketime") { "held" } else { "not_probed" },
        "{shown}"
    );
    let dimensions = said.json["probe"]["dimensions"].to_string();
    assert!(
        dimensions.contains("none but a loopback of its own (tier T0)"),
        "{dimensions}"
    );

    let looked = project.json(&[&["doctor"], &contract[..]].concat());
    let findings = looked.json["doctor"]["findings"].as_array().unwrap();
    let tier = findings.iter().find(|found| found["subject"] == "tier T0").unwrap();
    assert!(tier["detail"].as_str().unwrap().starts_with("held"), "{tier}");
    let stands = findings.iter().find(|found| found["subject"] == "tier T1").unwrap();
    let (severity, has_remedy) = if available("faketime") {
        ("ok", false)
    } else {
        ("note", true)
    };
    assert_eq!(stands["severity"], severity, "{stands}");
    assert_eq!(
        stands["remedy"].as_str().is_some_and(|remedy| !remedy.is_empty()),
        has_remedy,
        "{stands}"
    );
    assert!(
        !findings.iter().any(|found| found["subject"] == "strace"),
        "{}",
        looked.all()
    );
}

#[test]
fn without_strace_nothing_that_is_declared_hermetic_is_green_and_what_to_install_is_said() {
    let mut project = project();
    let programs = project.outside("programs");
    fs::create_dir(&programs).unwrap();
    for name in ["sh", "grep", "git", "true", "cat"] {
        let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|dir| dir.join(name))
            .find(|path| path.is_file());
        symlink(found.unwrap(), programs.join(name)).unwrap();
    }
    project.set("PATH", programs.display().to_string());
    let said = run(&project, "true", &[]);
    said.halted(13, "objective_unverified", "guard_unavailable");
    assert!(said.why().contains("install strace"), "{}", said.all());
    fs::remove_file(project.dir().join("product")).unwrap();
    run(&project, "true", &["--guard-off", "hermeticity"]).converged(1);
}

#[test]
fn a_probe_names_what_a_hermetic_check_touched_and_claims_no_tier_that_was_not_reached() {
    let Some(()) = traceable() else { return };
    let project = project();
    let secret = project.outside("elsewhere");
    fs::write(&secret, "x\n").unwrap();
    let secret = secret.canonicalize().unwrap().display().to_string();
    let probe = |check: &str, more: &[&str]| {
        let words = [
            "probe-check",
            "--check",
            check,
            "--hermetic",
            "--runs",
            "1",
            "--side-effect-runs",
            "0",
        ];
        project.json(&[&words, more].concat())
    };
    let said = probe(&format!("cat {secret}"), &[]);
    assert_eq!(
        (said.exit, said.reason(), said.cause()),
        (14, "check_not_hermetic", "reached_outside"),
        "{}",
        said.all()
    );
    assert!(said.why().contains(&secret), "{}", said.all());
    let shown = &said.json["probe"]["hermeticity"];
    assert_eq!(
        (&shown["trace"]["state"], &shown["t2"]["state"]),
        (&"broke".into(), &"not_probed".into()),
        "{shown}"
    );

    let near = probe("true", &["--dimensions=home,tmp"]);
    let shown = &near.json["probe"]["hermeticity"];
    assert_eq!(
        (near.exit, &shown["trace"]["state"]),
        (0, &"held".into()),
        "{}",
        near.all()
    );
    assert_eq!(
        (&shown["t0"]["state"], &shown["t2"]["state"]),
        (&"partly".into(), &"partly".into()),
        "{shown}"
    );
    assert!(shown["t2"]["why"].as_str().unwrap().contains("network"), "{shown}");
}
