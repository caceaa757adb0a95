//! Keys outside of a run: one for a pair of zones, and one that only shows that the two programs work.

use super::Scene;
use super::provider::CANARY;
use crate::support::zones::flags;
use crate::support::{Answer, Sleeper, wait_until};

/// `command` with the work, the check and the provider of a scene; a flag of `more` takes the place of its own.
fn words<'a>(scene: &'a Scene, command: &[&'a str], work: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let usual = [
        ["--check", "test -z \"${AGENT_API_KEY-}\" && test -f done"],
        ["--exec", work],
        ["--mint-cmd", &scene.provider.mint],
        ["--revoke-cmd", &scene.provider.revoke],
        ["--key-ttl", "1h"],
        ["--key-cap-usd", "2.5"],
    ];
    let usual = usual.iter().filter(|[flag, _]| !more.contains(flag)).flatten().copied();
    // What isolates anyway has no flag for that.
    let zones = if command[0] == "doctor" { flags() } else { &flags()[1..] };
    let words = command.iter().copied().chain(usual).chain(zones.iter().copied());
    words.chain(more.iter().copied()).collect()
}

fn asked(scene: &Scene, command: &[&str], work: &str, more: &[&str]) -> Answer {
    scene.project.loopexec(&words(scene, command, work, more))
}

const ISOLATE: &[&str] = &["isolate", "--execute", "--confirm"];

#[test]
fn the_work_of_one_pair_of_zones_has_a_key_that_its_check_does_not_see_and_that_is_revoked() {
    let Some(scene) = Scene::new() else { return };
    let work = "echo \"mine: $AGENT_API_KEY\"; test -n \"$AGENT_API_KEY\" && touch done";
    let ended = asked(&scene, ISOLATE, work, &[]);
    assert_eq!(ended.exit, Some(0), "{ended:?}");
    assert_eq!(scene.provider.all().len(), 1);
    let key = &ended.json["isolation"]["key"];
    assert_eq!(key["revoked"], true, "{ended:?}");
    assert!(scene.provider.calls()[0].1["label"] == key["label"], "{ended:?}");
    assert!(scene.provider.good().is_empty() && scene.reapers().is_empty());
    assert!(
        !ended.stderr.contains(CANARY) && !ended.json.to_string().contains(CANARY),
        "{ended:?}"
    );
    // For people too, however the work ends.
    let printed = scene
        .project
        .printed(&words(&scene, ISOLATE, &format!("{work}; exit 3"), &[]));
    assert!(
        printed.contains("mine: ***") && printed.contains(", revoked"),
        "{printed}"
    );
    assert!(!printed.contains(CANARY), "{printed}");
    assert!(scene.provider.all().len() == 2 && scene.provider.good().is_empty());
    // And only as it may be had.
    let ended = asked(&scene, ISOLATE, "touch done", &["--key-ttl", "off"]);
    assert_eq!(ended.text("failure_cause"), "credential_unbounded", "{ended:?}");
    assert_eq!(scene.provider.all().len(), 2);
}

#[test]
fn the_key_of_one_pair_is_worthless_before_its_check_begins() {
    let Some(scene) = Scene::new() else { return };
    let sleeper = Sleeper::new();
    let check = &sleeper.command();
    let running = scene.project.start(&words(
        &scene,
        ISOLATE,
        "test -n \"$AGENT_API_KEY\"",
        &["--check", check],
    ));
    wait_until("the check has begun", || sleeper.is_up());
    let verbs: Vec<String> = scene.provider.calls().into_iter().map(|(verb, _)| verb).collect();
    assert_eq!(verbs, ["mint", "revoke"]);
    assert!(scene.provider.good().is_empty());
    running.signal(rustix::process::Signal::TERM);
    running.end();
}

#[test]
fn a_key_of_one_pair_that_cannot_be_revoked_is_told_of_and_swept_up() {
    let Some(scene) = Scene::new() else { return };
    scene.provider.breaks();
    let ended = asked(&scene, ISOLATE, "touch done", &[]);
    assert_eq!(ended.text("failure_cause"), "credential_not_revocable", "{ended:?}");
    assert_eq!(ended.json["isolation"]["key"]["revoked"], false, "{ended:?}");
    assert!(!ended.json.to_string().contains(CANARY) && !ended.stderr.contains(CANARY));
    scene.kill_reaper();
    assert_eq!(scene.provider.good().len(), 1);
    // None is made beside one that may be good.
    let ended = asked(&scene, ISOLATE, "touch done", &[]);
    assert_eq!(ended.text("failure_cause"), "credential_not_revocable", "{ended:?}");
    assert_eq!(scene.provider.all().len(), 1);
    scene.provider.mends();
    asked(&scene, &["doctor"], "touch done", &["--mint-cmd", "off"]);
    assert!(scene.provider.good().is_empty());
}

#[test]
fn the_doctor_has_a_key_made_and_revoked_and_says_what_happened() {
    let Some(scene) = Scene::new() else { return };
    let about = |ended: &Answer| {
        let findings = ended.json["doctor"]["findings"].as_array().unwrap().clone();
        let found = findings.into_iter().find(|found| found["subject"] == "the key");
        found.unwrap_or_else(|| panic!("{ended:?}"))
    };
    let ended = asked(&scene, &["doctor"], "true", &[]);
    assert_eq!(
        (&about(&ended)["severity"], scene.provider.all().len()),
        (&"note".into(), 0)
    );
    scene.project.loopexec(&["init"]);
    let ended = asked(&scene, &["doctor"], "true", &[]);
    assert_eq!(about(&ended)["severity"], "ok", "{ended:?}");
    assert_eq!(scene.provider.all().len(), 1);
    assert!(scene.provider.good().is_empty() && scene.reapers().is_empty());
    let ended = asked(&scene, &["doctor"], "true", &["--mint-cmd", "echo no"]);
    assert_eq!(
        (ended.exit, ended.text("failure_cause")),
        (Some(13), "credential_unbounded"),
        "{ended:?}"
    );
    assert!(scene.provider.good().is_empty());
}
