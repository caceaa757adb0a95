//! Every end of a life that its governor sees: the key is revoked, and said to be so only then.

use rustix::process::Signal;

use super::Scene;
use super::provider::CANARY;
use crate::support::{Sleeper, wait_until};

#[test]
fn a_key_is_revoked_when_the_run_converges_and_when_it_does_not() {
    let Some(scene) = Scene::new() else { return };
    assert_eq!(scene.run("touch done", &[]).exit, Some(10));
    assert_eq!(scene.steps(), ["intended", "minted", "revoked"]);
    assert!(scene.provider.good().is_empty() && scene.reapers().is_empty() && scene.markers() == 0);
    std::fs::remove_file(scene.project.root.join("done")).unwrap();
    let ended = scene.run("exit 3", &[]);
    assert_eq!(ended.text("halt_reason"), "execution_failure", "{ended:?}");
    assert_eq!(scene.steps(), ["intended", "minted", "revoked"]);
    assert!(scene.provider.good().is_empty() && scene.markers() == 0);
    assert_eq!((scene.provider.asked("mint"), scene.provider.asked("revoke")), (2, 2));
}

#[test]
fn a_key_is_revoked_when_a_signal_stops_the_run_and_another_one_is_made_when_it_goes_on() {
    let Some(scene) = Scene::new() else { return };
    let sleeper = Sleeper::new();
    let work = format!(
        "if [ -e again ]; then touch done; else touch again; {}; fi",
        sleeper.command()
    );
    let running = scene.start(&work, &[]);
    wait_until("the work is at it", || sleeper.is_up());
    assert_eq!(scene.provider.good().len(), 1);
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.exit, Some(130), "{ended:?}");
    assert!(scene.provider.good().is_empty());
    let ended = scene.project.loopexec(&["resume"]);
    assert_eq!(ended.exit, Some(10), "{ended:?}");
    assert_eq!(
        scene.steps(),
        ["intended", "minted", "revoked", "intended", "minted", "revoked"]
    );
    let secrets = scene.provider.all();
    assert!(secrets.len() == 2 && secrets[0] != secrets[1]);
    assert!(scene.provider.good().is_empty());
    scene.project.verified();
}

#[test]
fn a_key_that_cannot_be_revoked_is_told_of_and_revoked_as_soon_as_that_is_possible() {
    let Some(scene) = Scene::new() else { return };
    scene.provider.breaks();
    let ended = scene.run("touch done", &[]);
    assert_eq!(ended.exit, Some(10), "{ended:?}");
    assert_eq!(scene.steps(), ["intended", "minted", "revoke_failed"]);
    assert_eq!(scene.provider.good().len(), 1);
    let warned = ended.json["warnings"].to_string();
    assert!(warned.contains("could not be revoked"), "{ended:?}");
    assert!(!warned.contains(CANARY) && !ended.stderr.contains(CANARY), "{ended:?}");
    let report = scene.project.loopexec(&["report"]);
    assert!(
        report.json["report"].to_string().contains("could not be revoked"),
        "{report:?}"
    );
    assert_eq!(scene.markers(), 1);
    // The reaper goes on without being told.
    scene.provider.mends();
    scene.provider.wait_until_none_is_good();
    wait_until("the marker is gone", || scene.markers() == 0);
    wait_until("the reaper is gone", || scene.reapers().is_empty());
}

#[test]
fn the_doctor_names_a_key_that_it_cannot_revoke_and_revokes_it_when_it_can() {
    let Some(scene) = Scene::new() else { return };
    scene.provider.breaks();
    scene.run("touch done", &[]);
    scene.kill_reaper();
    let examined = scene.project.loopexec(&["doctor", "--check", "true"]);
    assert_eq!(
        (examined.exit, examined.text("failure_cause")),
        (Some(13), "credential_not_revocable"),
        "{examined:?}"
    );
    assert_eq!(scene.provider.good().len(), 1);
    scene.provider.mends();
    let examined = scene.project.loopexec(&["doctor", "--check", "true"]);
    assert!(examined.json.to_string().contains("it is revoked now"), "{examined:?}");
    assert!(scene.provider.good().is_empty() && scene.markers() == 0);
}

#[test]
fn a_run_that_goes_on_makes_no_second_key_beside_one_that_may_be_good() {
    let Some(scene) = Scene::new() else { return };
    let sleeper = Sleeper::new();
    let running = scene.start(sleeper.command(), &[]);
    wait_until("the work is at it", || sleeper.is_up());
    scene.provider.breaks();
    scene.kill_reaper();
    running.kill();
    let refused = scene.project.loopexec(&["resume"]);
    assert_eq!(refused.exit, Some(13), "{refused:?}");
    assert!(refused.errors().contains("may still be good"), "{refused:?}");
    assert_eq!((scene.provider.good().len(), scene.provider.asked("mint")), (1, 1));
    assert_eq!(scene.steps(), ["intended", "minted", "revoke_failed"]);
    scene.provider.mends();
    let other = scene.start(sleeper.command(), &["--run-id", "other"]);
    wait_until("another run has a key of its own", || scene.provider.asked("mint") == 2);
    wait_until("its work is at it", || sleeper.is_up());
    assert_eq!(scene.provider.good().len(), 1, "the old key is still good");
    other.signal(Signal::TERM);
    other.end();
    assert!(scene.provider.good().is_empty());
}

#[test]
fn a_mint_command_that_fails_or_answers_without_bounds_leaves_no_key_and_nothing_runs() {
    let Some(scene) = Scene::new() else { return };
    let cases = [
        ("sk-canary-not-json", 0, "credential_unbounded"),
        (
            r#"{"id": "a", "secret": "sk-canary-0123456789"}"#,
            0,
            "credential_unbounded",
        ),
        ("", 1, "probe_failed"),
    ];
    for (answer, status, cause) in cases {
        scene.provider.answers(answer, status);
        let ended = scene.run("touch done", &[]);
        assert_eq!(ended.text("failure_cause"), cause, "{ended:?}");
        assert!(
            !ended.json.to_string().contains(CANARY) && !ended.stderr.contains(CANARY),
            "{ended:?}"
        );
        assert_eq!(scene.steps(), ["intended", "revoked"]);
        assert!(scene.provider.good().is_empty() && scene.markers() == 0);
        let ran = scene.project.events_named("execute_ended");
        assert!(ran.is_empty() && !scene.project.root.join("done").exists(), "{ran:?}");
    }
}

#[test]
fn no_key_is_made_for_a_run_that_halts_at_once() {
    let Some(scene) = Scene::new() else { return };
    let ended = scene.run("no-such-program-here", &[]);
    assert_eq!(ended.text("failure_cause"), "exec_not_found", "{ended:?}");
    assert!(scene.provider.calls().is_empty() && scene.steps().is_empty());
}
