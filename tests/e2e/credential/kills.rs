//! The governor is killed at each step, alone and with its reaper: no key is good in the end.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use super::Scene;
use crate::support::{Running, Sleeper, wait_until};

/// Kills a governor and the reaper with it, or leaves the reaper to its work.
fn kill(scene: &Scene, running: Running, with_reaper: bool) {
    if with_reaper {
        scene.kill_reaper();
    }
    running.kill();
}

/// What is left is seen to by the reaper, or by the next start.
fn settles(scene: &Scene, with_reaper: bool) {
    if with_reaper {
        assert_eq!(scene.markers(), 1, "word of the key is there for whoever comes");
        let examined = scene.project.loopexec(&["doctor", "--check", "true"]);
        assert!(examined.json.to_string().contains("it is revoked now"), "{examined:?}");
        assert!(scene.provider.good().is_empty());
    }
    wait_until("the marker is gone", || scene.markers() == 0);
    assert!(scene.provider.good().is_empty());
    wait_until("the reaper is gone", || scene.reapers().is_empty());
    assert!(scene.provider.asked("revoke") > 0);
}

/// Both ways to die, at one gate of the provider.
fn killed_at(gate: &str, then: impl Fn(&Scene)) {
    for with_reaper in [false, true] {
        let Some(scene) = Scene::new() else { return };
        scene.provider.close(gate);
        let running = scene.start("touch done", &[]);
        scene.provider.wait_at(gate);
        kill(&scene, running, with_reaper);
        then(&scene);
        settles(&scene, with_reaper);
    }
}

#[test]
fn killed_before_the_provider_made_the_key() {
    // The mint command dies with its governor, or is ended before anybody revokes: it makes no key afterwards.
    killed_at("mint-early", |scene| {
        wait_until("the mint command is gone", || {
            scene.reapers().is_empty() || scene.provider.asked("revoke") > 0
        });
        scene.provider.open("mint-early");
    });
}

#[test]
fn a_mint_command_that_nobody_supervises_any_more_is_ended_before_the_key_is_revoked() {
    let Some(scene) = Scene::new() else { return };
    scene.provider.close("mint-early");
    let running = scene.start("touch done", &[]);
    scene.provider.wait_at("mint-early");
    let supervisor = Pid::from_raw(scene.provider.supervisor_of_mint()).unwrap();
    // The governor cannot end what its supervisor leaves to it.
    running.signal(Signal::STOP);
    kill_process(supervisor, Signal::KILL).unwrap();
    assert!(scene.provider.is_minting());
    running.kill();
    wait_until("the key is revoked", || scene.provider.asked("revoke") > 0);
    assert!(!scene.provider.is_minting(), "it would be made after all");
    scene.provider.open("mint-early");
    settles(&scene, false);
    assert!(scene.provider.all().is_empty());
}

#[test]
fn a_key_that_comes_late_is_revoked_too() {
    let Some(scene) = Scene::new() else { return };
    for gate in ["mint-early", "revoke-late"] {
        scene.provider.close(gate);
    }
    let running = scene.start("touch done", &[]);
    scene.provider.wait_at("mint-early");
    running.kill();
    scene.provider.wait_at("revoke-late");
    let label = scene.project.events_named("credential")[0]["label"]
        .as_str()
        .unwrap()
        .to_owned();
    scene.provider.makes(&label);
    scene.provider.open("revoke-late");
    settles(&scene, false);
}

#[test]
fn killed_when_the_provider_had_made_the_key_and_not_answered() {
    killed_at("mint-late", |scene| scene.provider.open("mint-late"));
}

#[test]
fn killed_when_the_key_was_made_and_not_recorded() {
    for with_reaper in [false, true] {
        let Some(scene) = Scene::new() else { return };
        scene.provider.close("mint-late");
        let running = scene.start("touch done", &[]);
        scene.provider.wait_at("mint-late");
        // Stopped, it cannot take the answer.
        running.signal(Signal::STOP);
        scene.provider.open("mint-late");
        scene.provider.wait_made();
        assert_eq!(scene.provider.good().len(), 1);
        kill(&scene, running, with_reaper);
        assert_eq!(scene.steps(), ["intended"]);
        settles(&scene, with_reaper);
    }
}

#[test]
fn killed_while_the_work_had_the_key() {
    for with_reaper in [false, true] {
        let Some(scene) = Scene::new() else { return };
        let sleeper = Sleeper::new();
        let running = scene.start(sleeper.command(), &[]);
        wait_until("the work is at it", || sleeper.is_up());
        assert_eq!(scene.provider.good().len(), 1);
        kill(&scene, running, with_reaper);
        settles(&scene, with_reaper);
        wait_until("the work is gone", || !sleeper.is_up());
    }
}

#[test]
fn killed_while_it_revoked_the_key() {
    killed_at("revoke", |scene| scene.provider.open("revoke"));
}

#[test]
fn the_next_life_of_a_killed_run_records_that_its_key_is_revoked_before_it_makes_another() {
    for with_reaper in [false, true] {
        let Some(scene) = Scene::new() else { return };
        let sleeper = Sleeper::new();
        let work = format!(
            "if [ -e \"$HOME/x\" ]; then :; fi; case $LOOPEXEC_ITERATION in 1) {};; *) touch done;; esac",
            sleeper.command()
        );
        let running = scene.start(&work, &[]);
        wait_until("the work is at it", || sleeper.is_up());
        kill(&scene, running, with_reaper);
        let ended = scene.project.loopexec(&["resume"]);
        assert_eq!(ended.exit, Some(10), "{ended:?}");
        assert_eq!(
            scene.steps(),
            ["intended", "minted", "revoked", "intended", "minted", "revoked"]
        );
        let labels: Vec<_> = scene.project.events_named("credential");
        assert_eq!(labels[0]["label"], labels[2]["label"]);
        assert_ne!(labels[0]["label"], labels[3]["label"]);
        assert!(scene.provider.good().is_empty());
        scene.project.verified();
    }
}

#[test]
fn another_run_revokes_the_key_of_one_that_died_with_its_reaper() {
    let Some(scene) = Scene::new() else { return };
    let sleeper = Sleeper::new();
    let running = scene.start(sleeper.command(), &[]);
    wait_until("the work is at it", || sleeper.is_up());
    let old = scene.provider.good();
    kill(&scene, running, true);
    let ended = scene.run("touch done", &["--run-id", "zz-next"]);
    assert_eq!(ended.exit, Some(10), "{ended:?}");
    assert!(ended.json["warnings"].to_string().contains(&old[0]), "{ended:?}");
    assert!(scene.provider.good().is_empty() && scene.markers() == 0);
}

#[test]
fn a_key_is_revoked_though_the_record_of_its_run_is_gone_with_the_governor() {
    let Some(scene) = Scene::new() else { return };
    let sleeper = Sleeper::new();
    let running = scene.start(sleeper.command(), &[]);
    wait_until("the work is at it", || sleeper.is_up());
    running.signal(Signal::STOP);
    fs::remove_dir_all(scene.project.root.join(".loopexec")).unwrap();
    running.kill();
    scene.provider.wait_until_none_is_good();
    wait_until("the reaper is gone", || scene.reapers().is_empty());
}

#[test]
fn signals_that_ask_a_run_to_stop_do_not_end_the_reaper() {
    let Some(scene) = Scene::new() else { return };
    let sleeper = Sleeper::new();
    let running = scene.start(sleeper.command(), &[]);
    wait_until("the work is at it", || sleeper.is_up());
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        for pid in scene.reapers() {
            kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
        }
    }
    assert_eq!(scene.reapers().len(), 1);
    running.kill();
    settles(&scene, false);
}

#[test]
fn a_key_is_revoked_by_a_governor_whose_marker_was_removed() {
    let Some(scene) = Scene::new() else { return };
    let sleeper = Sleeper::new();
    let running = scene.start(sleeper.command(), &[]);
    wait_until("the work is at it", || sleeper.is_up());
    for place in scene.marked() {
        fs::remove_dir_all(place).unwrap();
    }
    running.signal(Signal::TERM);
    running.end();
    assert!(scene.provider.good().is_empty());
    assert_eq!(scene.steps(), ["intended", "minted", "revoked"]);
}
