//! Deaths of the governor, of the supervisor, and of both.

use super::*;

#[test]
fn a_killed_governor_leaves_nothing_behind() {
    let _alone = alone();
    let sleeper = unique_sleeper();
    let mut governor = Governor::start(&format!("trap '' TERM HUP; setsid {sleeper} & {sleeper}; {sleeper}"));
    wait_until("the tree runs", || alive(&sleeper).len() >= 2);
    governor.kill();
    wait_until("the tree and the supervisor are gone", || {
        alive(&sleeper).is_empty() && !is_alive(governor.supervisor_pid)
    });
    assert_eq!(leftovers::find(governor.room.path()).unwrap(), []);
    assert!(!governor.room.path().join("supervisor.json").exists());
}

#[test]
fn a_supervisor_killed_by_its_command_is_reported_and_its_tree_ended() {
    let _alone = alone();
    let sleeper = unique_sleeper();
    let mut supervisor = supervisor();
    let mut spec = sh(&format!(
        "env -i setsid {sleeper} & kill -KILL $PPID; {sleeper}; {sleeper}"
    ));
    spec.label = "agent".to_owned();
    let error = supervisor.run(&spec, &Wishes::never()).unwrap_err();
    let ProcessError::Lost(lost) = &error else {
        panic!("{error}")
    };
    assert!(
        lost.survivors.iter().any(|s| s.command.contains(&sleeper) && s.ended),
        "{lost:?}"
    );
    assert!(error.to_string().contains("agent"), "{error}");
    assert_eq!(alive(&sleeper), NOBODY);

    assert!(matches!(
        supervisor.run(&sh("true"), &Wishes::never()),
        Err(ProcessError::NotRunning)
    ));
    supervisor.restart().unwrap();
    assert_eq!(
        supervisor.run(&sh("exit 7"), &Wishes::never()).unwrap().outcome,
        Outcome::Exited(7)
    );
}

#[test]
fn leftovers_of_a_governor_and_supervisor_that_both_died_are_found_and_ended() {
    let _alone = alone();
    let sleeper = unique_sleeper();
    let mut governor = Governor::start(&format!("setsid {sleeper} & {sleeper}; {sleeper}"));
    wait_until("the tree runs", || alive(&sleeper).len() >= 2);
    // Stopped first, so that it cannot see its supervisor die.
    signal(governor.child.id(), Signal::STOP);
    signal(governor.supervisor_pid, Signal::KILL);
    governor.kill();
    wait_until("both are gone", || !is_alive(governor.supervisor_pid));
    assert!(alive(&sleeper).len() >= 2, "the tree outlives both");

    let found = leftovers::find(governor.room.path()).unwrap();
    assert!(
        found.iter().any(|leftover| leftover.command.contains(&sleeper)),
        "{found:?}"
    );
    let ended = leftovers::end(governor.room.path(), Duration::from_secs(20)).unwrap();
    assert_eq!(ended.remaining, []);
    assert!(ended.ended.len() >= 2, "{ended:?}");
    assert_eq!(alive(&sleeper), NOBODY);
    assert!(!governor.room.path().join("supervisor.json").exists());
}

#[test]
fn a_clean_end_takes_back_the_word_of_the_supervisor() {
    let room = tempfile::tempdir().unwrap();
    let options = SupervisorOptions {
        runtime_dir: Some(room.path().to_owned()),
        ..SupervisorOptions::default()
    };
    let supervisor = Supervisor::start(Path::new(LOOPEXEC), options).unwrap();
    assert!(room.path().join("supervisor.json").exists());
    supervisor.shutdown();
    assert_eq!(room.path().read_dir().unwrap().count(), 0);
}

#[test]
fn no_outside_kill_program_is_called_and_bystanders_live() {
    let _alone = alone();
    let room = tempfile::tempdir().unwrap();
    let fake = room.path().join("kill");
    fs::write(
        &fake,
        format!("#!/bin/sh\necho \"$@\" >> {}/called\n", room.path().display()),
    )
    .unwrap();
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
    let (bystander, sleeper) = (unique_sleeper(), unique_sleeper());
    let mut words = bystander.split(' ');
    let mut other = Command::new(words.next().unwrap()).args(words).spawn().unwrap();

    let path = format!("{}:{}", room.path().display(), std::env::var("PATH").unwrap());
    let mut governor =
        Governor::start_with_path(&format!("trap '' TERM; setsid {sleeper} & {sleeper}; {sleeper}"), &path);
    wait_until("the tree runs", || alive(&sleeper).len() >= 2);
    governor.kill();
    wait_until("the tree is gone", || alive(&sleeper).is_empty());

    assert!(!room.path().join("called").exists());
    assert!(!alive(&bystander).is_empty(), "a process of the same user was killed");
    other.kill().unwrap();
    assert_eq!(other.wait().unwrap().signal(), Some(9));
}

/// Not a test: a governor of its own process, for the tests above to kill.
#[test]
#[ignore = "started by other tests"]
fn helper_governor() {
    let (Some(script), Some(room)) = (std::env::var_os("TEST_SCRIPT"), std::env::var_os("TEST_ROOM")) else {
        return;
    };
    let room = PathBuf::from(room);
    let options = SupervisorOptions {
        runtime_dir: Some(room.clone()),
        ..SupervisorOptions::default()
    };
    let mut supervisor = Supervisor::start(Path::new(LOOPEXEC), options).unwrap();
    fs::write(room.join("pid.new"), supervisor.pid().unwrap().to_string()).unwrap();
    fs::rename(room.join("pid.new"), room.join("pid")).unwrap();
    let _unseen = supervisor.run(&sh(script.to_str().unwrap()), &Wishes::never());
}

struct Governor {
    child: Child,
    room: tempfile::TempDir,
    supervisor_pid: u32,
}

impl Governor {
    fn start(script: &str) -> Self {
        Self::start_with_path(script, &std::env::var("PATH").unwrap())
    }

    fn start_with_path(script: &str, path: &str) -> Self {
        let room = tempfile::tempdir().unwrap();
        let child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "e2e::process::deaths::helper_governor",
                "--ignored",
                "--nocapture",
            ])
            .env("TEST_SCRIPT", script)
            .env("TEST_ROOM", room.path())
            .env("PATH", path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let pid = room.path().join("pid");
        wait_until("the governor has its supervisor", || pid.exists());
        let supervisor_pid = fs::read_to_string(pid).unwrap().parse().unwrap();
        Self {
            child,
            room,
            supervisor_pid,
        }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
