//! Commands and their trees: bounded, captured, provably gone.
//!
//! Every test starts real processes. Long sleepers carry a unique number as their argument, by which the process
//! table is searched for them.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, never, unbounded};
use rustix::process::{Pid, Signal, kill_process};
use shell::process::{
    Cancel, CaptureSpec, CommandRun, CommandSpec, Deadlines, Input, Outcome, ProcessError, StopCause, Supervisor,
    SupervisorOptions, leftovers, which,
};

const LOOPEXEC: &str = env!("CARGO_BIN_EXE_loopexec");

// ---------------------------------------------------------------------------------------------------- survivors

#[test]
fn a_background_sleeper_in_nested_subshells_is_ended_and_named() {
    let sleeper = unique_sleeper();
    let run = run(&sh(&format!("( ( {sleeper} & ) & ) ; exit 0")));
    assert_eq!(run.outcome, Outcome::Exited(0));
    assert_eq!(alive(&sleeper), NOBODY);
    assert!(
        run.survivors.iter().any(|s| s.command.contains(&sleeper) && s.ended),
        "{:?}",
        run.survivors
    );
}

#[test]
fn a_setsid_grandchild_is_ended_before_the_command_is_reported() {
    let sleeper = unique_sleeper();
    let script = format!("setsid sh -c 'setsid {sleeper} & exit 0' & wait; exit 3");
    let run = run(&sh(&script));
    assert_eq!(run.outcome, Outcome::Exited(3));
    assert_eq!(alive(&sleeper), NOBODY);
    assert!(
        run.survivors.iter().any(|s| s.command.contains(&sleeper) && s.ended),
        "{:?}",
        run.survivors
    );
}

#[test]
fn a_daemon_that_scrubs_its_environment_is_ended_too() {
    let sleeper = unique_sleeper();
    let run = run(&sh(&format!(
        "env -i setsid sh -c '{sleeper} & exit 0' </dev/null >/dev/null 2>&1"
    )));
    assert_eq!((run.outcome, alive(&sleeper)), (Outcome::Exited(0), NOBODY));
}

#[test]
fn a_command_that_cleans_up_after_itself_leaves_no_survivors() {
    let run = run(&sh("sleep 0.01 & sleep 0.02 & wait; exit 5"));
    assert_eq!(
        (run.outcome, run.stop, run.survivors),
        (Outcome::Exited(5), None, Vec::new())
    );
}

#[test]
fn a_held_pipe_does_not_delay_the_end() {
    for detach in ["", "setsid "] {
        let sleeper = unique_sleeper();
        let run = run(&sh(&format!("{detach}{sleeper} & echo done")));
        assert_eq!(run.outcome, Outcome::Exited(0));
        assert_eq!(run.stdout.inline.as_deref(), Some(&b"done\n"[..]));
        assert_eq!(alive(&sleeper), NOBODY);
    }
}

#[test]
fn a_late_writer_is_dead_before_the_next_command() {
    let room = tempfile::tempdir().unwrap();
    let verdict = room.path().join("verdict");
    let mut supervisor = supervisor();
    let work = format!("echo good > {0}; (sleep 0.2; echo bad > {0}) &", verdict.display());
    supervisor.run(&sh(&work), &never()).unwrap();
    let check = supervisor
        .run(&sh(&format!("sleep 0.5; cat {}", verdict.display())), &never())
        .unwrap();
    assert_eq!(check.stdout.inline.as_deref(), Some(&b"good\n"[..]));
}

#[test]
fn survivors_may_be_given_time_to_end_by_themselves() {
    let room = tempfile::tempdir().unwrap();
    let mut spec = sh(&format!(
        "(sleep 0.1; echo done > {}/late) & exit 0",
        room.path().display()
    ));
    spec.deadlines.survivor_grace_ms = 60_000;
    let run = run(&spec);
    assert_eq!(run.survivors, []);
    assert!(room.path().join("late").exists());
}

#[test]
fn a_storm_of_forks_is_ended() {
    let sleeper = unique_sleeper();
    let script = format!(
        "for i in 1 2 3 4 5 6 7 8; do ( for j in 1 2 3 4 5; do setsid {sleeper} & ( {sleeper} & ) & done; {sleeper} ) & done; exit 0"
    );
    let run = run(&sh(&script));
    assert!(run.survivors.iter().all(|survivor| survivor.ended));
    assert_eq!(alive(&sleeper), NOBODY);
}

#[test]
fn secrets_are_masked_in_the_command_lines_of_survivors() {
    let sleeper = unique_sleeper();
    let mut spec = sh(&format!("{sleeper} & exit 0"));
    spec.redact = vec![sleeper.clone().into_bytes()];
    let run = run(&spec);
    assert!(!run.survivors.is_empty());
    assert!(
        run.survivors
            .iter()
            .all(|survivor| !survivor.command.contains(&sleeper)),
        "{:?}",
        run.survivors
    );
}

// -------------------------------------------------------------------------------------------- stops and deadlines

#[test]
fn a_term_trap_runs_before_the_end() {
    let room = tempfile::tempdir().unwrap();
    let mut spec = sh(&format!(
        "trap 'echo cleaned > {}/marker; exit 9' TERM; while :; do sleep 0.05; done",
        room.path().display()
    ));
    spec.deadlines = Deadlines {
        timeout_ms: Some(300),
        grace_ms: 60_000,
        ..Deadlines::default()
    };
    let run = run(&spec);
    assert_eq!((run.outcome, run.stop), (Outcome::Exited(9), Some(StopCause::Deadline)));
    assert!(room.path().join("marker").exists());
}

#[test]
fn a_grandchild_gets_its_grace_though_its_parent_is_gone_at_once() {
    let room = tempfile::tempdir().unwrap();
    let worker = format!(
        "trap \"sleep 0.2; echo cleaned > {}/marker; exit 0\" TERM; while :; do sleep 0.05; done",
        room.path().display()
    );
    let mut spec = sh(&format!("setsid sh -c '{worker}' & wait"));
    spec.deadlines = Deadlines {
        timeout_ms: Some(300),
        grace_ms: 60_000,
        ..Deadlines::default()
    };
    let run = run(&spec);
    assert_eq!(run.stop, Some(StopCause::Deadline));
    assert!(room.path().join("marker").exists(), "{run:?}");
    assert_eq!(run.survivors, []);
}

#[test]
fn a_tree_deaf_to_term_is_killed_after_the_grace() {
    let sleeper = unique_sleeper();
    let deaf = format!("trap '' TERM; setsid sh -c '{sleeper}; {sleeper}' & {sleeper}; {sleeper}");
    let mut spec = sh(&deaf);
    spec.deadlines = Deadlines {
        timeout_ms: Some(200),
        grace_ms: 200,
        ..Deadlines::default()
    };
    let run = run(&spec);
    assert_eq!(
        (run.outcome, run.stop),
        (Outcome::Signaled(9), Some(StopCause::Deadline))
    );
    assert!(
        run.duration_ms >= 400,
        "the grace was cut short: {} ms",
        run.duration_ms
    );
    assert_eq!(alive(&sleeper), NOBODY);
}

#[test]
fn the_grace_is_not_waited_out_when_the_tree_is_gone_early() {
    let mut spec = sh("sleep 600 & sleep 600");
    spec.deadlines = Deadlines {
        timeout_ms: Some(100),
        grace_ms: 3_600_000,
        ..Deadlines::default()
    };
    assert_eq!(run(&spec).outcome, Outcome::Signaled(15));
}

#[test]
fn silence_and_a_missing_first_byte_have_causes_of_their_own() {
    let mut quiet = sh("echo once; sleep 600");
    quiet.deadlines.idle_ms = Some(200);
    quiet.deadlines.first_output_ms = Some(60_000);
    assert_eq!(run(&quiet).stop, Some(StopCause::Idle));

    let mut mute = sh("sleep 600");
    mute.deadlines.first_output_ms = Some(200);
    assert_eq!(run(&mute).stop, Some(StopCause::FirstOutput));
}

#[test]
fn output_on_either_stream_keeps_the_idle_deadline_away() {
    let mut spec = sh("for i in 1 2 3 4 5 6 7 8; do echo x >&2; sleep 0.1; done");
    spec.deadlines.idle_ms = Some(700);
    assert_eq!(run(&spec).outcome, Outcome::Exited(0));
}

#[test]
fn a_stopped_child_does_not_evade_its_deadline() {
    let mut spec = sh("kill -STOP $$; exit 0");
    spec.deadlines = Deadlines {
        timeout_ms: Some(200),
        grace_ms: 60_000,
        ..Deadlines::default()
    };
    let run = run(&spec);
    assert_eq!(run.stop, Some(StopCause::Deadline));
    assert_eq!(run.outcome, Outcome::Signaled(15));
}

#[test]
fn a_cancel_asks_and_a_second_one_forces() {
    let room = tempfile::tempdir().unwrap();
    let ready = room.path().join("ready");
    let mut spec = sh(&format!(
        "trap 'echo asked' TERM; touch {}; while :; do sleep 0.02; done",
        ready.display()
    ));
    spec.deadlines.grace_ms = 3_600_000;
    let (wish, cancel) = unbounded();
    let running = std::thread::spawn(move || supervisor().run(&spec, &cancel).unwrap());
    wait_until("the command runs", || ready.exists());
    wish.send(Cancel::Stop).unwrap();
    // The trap may need a moment; a force that comes too early would only hide it.
    std::thread::sleep(Duration::from_millis(300));
    assert!(!running.is_finished());
    wish.send(Cancel::Force).unwrap();
    let run = running.join().unwrap();
    assert_eq!((run.outcome, run.stop), (Outcome::Signaled(9), Some(StopCause::Forced)));
    assert_eq!(
        run.stdout.inline.as_deref(),
        Some(&b"asked\n"[..]),
        "TERM came once, before KILL"
    );
}

#[test]
fn a_late_cancel_does_not_reach_the_next_command() {
    let mut supervisor = supervisor();
    let (wish, cancel) = unbounded();
    wish.send(Cancel::Stop).unwrap();
    let first = supervisor.run(&sh("sleep 600"), &cancel).unwrap();
    assert_eq!(first.stop, Some(StopCause::Cancelled));
    let second = supervisor.run(&sh("sleep 0.1; echo fine"), &never()).unwrap();
    assert_eq!((second.outcome, second.stop), (Outcome::Exited(0), None));
}

#[test]
fn the_supervisor_does_not_end_of_signals_meant_for_the_governor() {
    let mut supervisor = supervisor();
    let script = "kill -INT $PPID; kill -TERM $PPID; kill -HUP $PPID; echo alive";
    let run = supervisor.run(&sh(script), &never()).unwrap();
    assert_eq!(run.stdout.inline.as_deref(), Some(&b"alive\n"[..]));
    assert_eq!(
        supervisor.run(&sh("exit 4"), &never()).unwrap().outcome,
        Outcome::Exited(4)
    );
}

#[test]
fn commands_start_with_no_signal_ignored() {
    let run = run(&sh("grep SigIgn /proc/self/status"));
    let ignored = u64::from_str_radix(text(&run).trim_start_matches("SigIgn:").trim(), 16).unwrap();
    let standard = (1 << 31) - 1;
    assert_eq!(ignored & standard, 0, "{ignored:x}");
}

#[test]
fn a_supervisor_that_its_command_stops_is_woken() {
    assert_eq!(run(&sh("kill -STOP $PPID; exit 6")).outcome, Outcome::Exited(6));
}

// ------------------------------------------------------------------------------------------ input and descriptors

#[test]
fn standard_input_is_at_its_end_at_once() {
    let run = run(&sh("cat; echo end"));
    assert_eq!(run.stdout.inline.as_deref(), Some(&b"end\n"[..]));
}

#[test]
fn input_larger_than_a_pipe_arrives_while_the_command_floods_its_output() {
    let mut spec = sh("head -c 300000 /dev/zero; cat >&2; cksum < /dev/null");
    let text: Vec<u8> = (0..300_000u32).flat_map(u32::to_le_bytes).collect();
    spec.input = Input::Bytes(text.clone());
    spec.capture.inline_max_bytes = 4 * 1024 * 1024;
    let run = run(&spec);
    assert_eq!(run.stderr.inline, Some(text));
    assert!(run.stdout.bytes > 300_000);
}

#[test]
fn input_may_be_a_file() {
    let room = tempfile::tempdir().unwrap();
    let file = room.path().join("in");
    fs::write(&file, "from a file").unwrap();
    let run = run(&CommandSpec {
        input: Input::File(file),
        ..sh("cat")
    });
    assert_eq!(run.stdout.inline.as_deref(), Some(&b"from a file"[..]));
}

#[test]
fn a_command_has_no_terminal_and_its_own_process_group() {
    let mut supervisor = supervisor();
    let run = supervisor
        .run(&sh("cat /proc/$$/stat; echo $$; cat /dev/tty"), &never())
        .unwrap();
    let text = text(&run);
    let (stat, pid) = text.trim().split_once('\n').unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    assert_eq!(fields[2], pid, "process group");
    assert_eq!(fields[3], supervisor.pid().unwrap().to_string(), "session");
    assert_eq!(fields[4], "0", "terminal");
    assert_ne!(run.outcome, Outcome::Exited(0), "/dev/tty must not open");
}

#[test]
fn descriptors_beyond_the_standard_ones_are_not_inherited() {
    let leaked = File::open("/dev/null").unwrap();
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).unwrap();
    let mut supervisor = supervisor();
    let script = "n=0; while [ $n -lt 200 ]; do [ -e /proc/$$/fd/$n ] && echo $n; n=$((n+1)); done";
    assert!(leaked.as_fd().as_raw_fd() < 200);
    let run = supervisor.run(&sh(script), &never()).unwrap();
    assert_eq!(text(&run), "0\n1\n2\n");
}

#[test]
fn the_environment_is_exactly_what_was_given() {
    let mut spec = sh("");
    spec.argv = ["env", "-0"].map(OsString::from).to_vec();
    spec.env.push(("ODD".into(), "a b\"'\n".into()));
    let run = run(&spec);
    let mut names: Vec<String> = text(&run)
        .split_terminator('\0')
        .map(|entry| entry.split('=').next().unwrap().to_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["LOOPEXEC_SUPERVISOR", "ODD", "PATH"]);
    assert!(text(&run).contains("ODD=a b\"'\n\0"));
}

// --------------------------------------------------------------------------------------------------------- output

#[test]
fn fifty_megabytes_are_counted_and_hashed_exactly_in_flat_memory() {
    const SIZE: u64 = 50 * 1024 * 1024;
    let room = tempfile::tempdir().unwrap();
    let mut supervisor = supervisor();
    supervisor.run(&sh("true"), &never()).unwrap();
    let before_kb = peak_kb(supervisor.pid().unwrap());
    let mut spec = sh(&format!("yes 0123456789abcde | head -c {SIZE}"));
    spec.capture = CaptureSpec {
        spill_dir: Some(room.path().to_owned()),
        spill_stem: "big".to_owned(),
        spill_max_bytes: 1_000_000,
        ..CaptureSpec::default()
    };
    let run = supervisor.run(&spec, &never()).unwrap();
    let after_kb = peak_kb(supervisor.pid().unwrap());

    let whole = b"0123456789abcde\n".repeat((SIZE / 16) as usize);
    assert_eq!((run.outcome, run.stdout.bytes), (Outcome::Exited(0), SIZE));
    assert_eq!(run.stdout.digest, *blake3::hash(&whole).as_bytes());
    assert!(run.stdout.truncated);
    assert_eq!(fs::read(run.stdout.spilled.unwrap()).unwrap(), whole[..1_000_000]);
    assert_eq!(run.stdout.head, whole[..16 * 1024]);
    assert_eq!(run.stdout.tail, whole[whole.len() - 16 * 1024..]);
    assert!(
        after_kb < before_kb + 4 * 1024,
        "the supervisor grew from {before_kb} to {after_kb} KiB"
    );
}

#[test]
fn endless_output_is_stopped_at_its_cap() {
    let room = tempfile::tempdir().unwrap();
    let mut spec = sh("exec yes");
    spec.capture.spill_dir = Some(room.path().to_owned());
    spec.capture.spill_max_bytes = 100_000;
    spec.capture.stop_after_bytes = Some(1_000_000);
    let run = run(&spec);
    assert_eq!(
        (run.outcome, run.stop),
        (Outcome::Signaled(15), Some(StopCause::OutputCap))
    );
    assert!(run.stdout.bytes > 1_000_000);
    let files: Vec<u64> = room
        .path()
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .collect();
    assert_eq!(files, [100_000]);
}

#[test]
fn small_output_makes_no_file_and_odd_bytes_survive() {
    let room = tempfile::tempdir().unwrap();
    let mut spec = sh(r"printf 'a\000\377\360\237\230'; printf '\200' >&2");
    spec.capture.spill_dir = Some(room.path().to_owned());
    let run = run(&spec);
    assert_eq!(run.stdout.inline.as_deref(), Some(&b"a\0\xff\xf0\x9f\x98"[..]));
    assert_eq!(run.stderr.inline.as_deref(), Some(&b"\x80"[..]));
    assert_eq!(room.path().read_dir().unwrap().count(), 0);
}

#[test]
fn arguments_and_directories_of_any_bytes_work() {
    use std::os::unix::ffi::OsStringExt;
    let room = tempfile::tempdir().unwrap();
    let odd = OsString::from_vec(b"a \"q\" \xff\n'u'".to_vec());
    let cwd = room.path().join(&odd);
    fs::create_dir(&cwd).unwrap();
    let mut spec = sh("printf %s \"$0\"; pwd -P");
    spec.argv.push(odd.clone());
    spec.cwd = cwd.clone();
    let run = run(&spec);
    let expected = [
        odd.into_vec(),
        fs::canonicalize(cwd).unwrap().into_os_string().into_vec(),
        b"\n".to_vec(),
    ]
    .concat();
    assert_eq!(run.stdout.inline, Some(expected));
}

#[test]
fn a_secret_written_in_two_pieces_is_masked_everywhere() {
    let room = tempfile::tempdir().unwrap();
    let mut spec = sh("printf 'token=hun'; sleep 0.1; printf 'ter2 end'; head -c 100 /dev/zero; echo hunter2 >&2");
    spec.redact = vec![b"hunter2".to_vec()];
    spec.capture = CaptureSpec {
        inline_max_bytes: 50,
        spill_dir: Some(room.path().to_owned()),
        ..CaptureSpec::default()
    };
    let run = run(&spec);
    assert_eq!((run.stdout.redacted, run.stderr.redacted), (1, 1));
    assert_eq!(run.stderr.inline.as_deref(), Some(&b"***\n"[..]));
    let spilled = fs::read(run.stdout.spilled.unwrap()).unwrap();
    assert!(spilled.starts_with(b"token=*** end\0"), "{spilled:?}");
    assert_eq!(run.stdout.head, spilled);
    let raw = [&b"token=hunter2 end"[..], &[0; 100]].concat();
    assert_eq!(
        (run.stdout.bytes, run.stdout.digest),
        (raw.len() as u64, *blake3::hash(&raw).as_bytes())
    );
}

#[test]
fn processor_time_and_memory_of_the_tree_are_counted() {
    let run = run(&sh("sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done' & wait"));
    assert!(run.cpu_ms > 0 && run.max_rss_kb > 0, "{run:?}");
}

// ------------------------------------------------------------------------------------------- commands that never ran

#[test]
fn what_cannot_start_says_why() {
    let room = tempfile::tempdir().unwrap();
    let plain = room.path().join("plain");
    fs::write(&plain, "echo hi\n").unwrap();
    let argv = |program: &Path| CommandSpec {
        argv: vec![program.into()],
        ..sh("")
    };
    assert_eq!(
        run(&argv(Path::new("no-such-program-anywhere"))).outcome,
        Outcome::NotFound
    );
    assert_eq!(run(&argv(&room.path().join("absent"))).outcome, Outcome::NotFound);
    assert_eq!(run(&argv(&plain)).outcome, Outcome::NotExecutable);
    assert_eq!(
        run(&CommandSpec {
            argv: Vec::new(),
            ..sh("")
        })
        .outcome,
        Outcome::NotFound
    );

    let elsewhere = run(&CommandSpec {
        cwd: room.path().join("gone"),
        ..sh("true")
    });
    let Outcome::StartFailed { errno: 2, message } = elsewhere.outcome else {
        panic!("{elsewhere:?}")
    };
    assert!(
        message.contains("working directory") && message.contains("gone"),
        "{message}"
    );

    fs::write(&plain, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o755)).unwrap();
    let scripted = run(&argv(&plain));
    let Outcome::StartFailed { message, .. } = scripted.outcome else {
        panic!("{scripted:?}")
    };
    assert!(message.contains("interpreter"), "{message}");
}

#[test]
fn preflight_and_start_agree_on_the_program() {
    let path = std::env::var_os("PATH").unwrap();
    assert!(
        which("sh".as_ref(), Path::new("/"), Some(&path))
            .unwrap()
            .ends_with("sh")
    );
    assert_eq!(
        which("no-such-program".as_ref(), Path::new("/"), Some(&path)),
        Err(Outcome::NotFound)
    );
}

#[test]
fn a_binary_that_is_no_supervisor_is_told_apart() {
    for exe in ["/bin/true", "/no/such/binary"] {
        let error = Supervisor::start(Path::new(exe), SupervisorOptions::default()).unwrap_err();
        assert!(matches!(&error, ProcessError::Start { .. }), "{error}");
    }
}

// ---------------------------------------------------------------------------- deaths of governor and supervisor

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
    let error = supervisor.run(&spec, &never()).unwrap_err();
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
        supervisor.run(&sh("true"), &never()),
        Err(ProcessError::NotRunning)
    ));
    supervisor.restart().unwrap();
    assert_eq!(
        supervisor.run(&sh("exit 7"), &never()).unwrap().outcome,
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
    };
    let mut supervisor = Supervisor::start(Path::new(LOOPEXEC), options).unwrap();
    fs::write(room.join("pid.new"), supervisor.pid().unwrap().to_string()).unwrap();
    fs::rename(room.join("pid.new"), room.join("pid")).unwrap();
    let _unseen = supervisor.run(&sh(script.to_str().unwrap()), &never());
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
            .args(["--exact", "e2e::process::helper_governor", "--ignored", "--nocapture"])
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

// -------------------------------------------------------------------------------------------------------- helpers

const NOBODY: Vec<u32> = Vec::new();

fn supervisor() -> Supervisor {
    Supervisor::start(Path::new(LOOPEXEC), SupervisorOptions::default()).unwrap()
}

fn run(spec: &CommandSpec) -> CommandRun {
    let cancel: Receiver<Cancel> = never();
    supervisor().run(spec, &cancel).unwrap()
}

fn sh(script: &str) -> CommandSpec {
    CommandSpec {
        argv: ["sh", "-c", script].map(OsString::from).to_vec(),
        cwd: std::env::temp_dir(),
        env: vec![("PATH".into(), std::env::var_os("PATH").unwrap())],
        label: "command".to_owned(),
        ..CommandSpec::default()
    }
}

fn text(run: &CommandRun) -> String {
    String::from_utf8(run.stdout.inline.clone().unwrap()).unwrap()
}

/// A command that sleeps for ten minutes and is unlike any other.
fn unique_sleeper() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!(
        "sleep 600.{}{:03}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// Orphans of dead governors and supervisors all come to the one process these tests share: one such test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Processes whose command line is exactly this sleeper.
fn alive(sleeper: &str) -> Vec<u32> {
    let wanted = format!("{}\0", sleeper.replace(' ', "\0"));
    let pids = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    pids.filter(|pid| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == wanted.as_bytes()))
        .collect()
}

/// False for a process that is gone or only waits to be waited for.
fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

fn peak_kb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), signal).unwrap();
}

fn wait_until(what: &str, fact: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !fact() {
        assert!(Instant::now() < until, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
