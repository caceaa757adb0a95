//! Counting, hashing, keeping and masking what a command prints.

use std::io::Write;

use super::*;

#[test]
fn fifty_megabytes_are_counted_and_hashed_exactly_in_flat_memory() {
    const SIZE: u64 = 50 * 1024 * 1024;
    let room = tempfile::tempdir().unwrap();
    let mut supervisor = supervisor();
    supervisor.run(&sh("true"), &Wishes::never()).unwrap();
    let before_kb = peak_kb(supervisor.pid().unwrap());
    let mut spec = sh(&format!("yes 0123456789abcde | head -c {SIZE}"));
    spec.capture = CaptureSpec {
        spill_dir: Some(room.path().to_owned()),
        spill_stem: "big".to_owned(),
        spill_max_bytes: 1_000_000,
        ..CaptureSpec::default()
    };
    let run = supervisor.run(&spec, &Wishes::never()).unwrap();
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

#[test]
fn what_the_pipe_still_holds_when_the_command_ends_is_kept() {
    let mut spec = sh("exec \"$0\" --exact e2e::process::output::helper_last_words --ignored --nocapture");
    spec.argv.push(std::env::current_exe().unwrap().into_os_string());
    spec.env.push(("TEST_LAST_WORDS".into(), "1".into()));
    spec.capture.inline_max_bytes = 1_000_000;
    let run = run(&spec);
    assert_eq!(
        run.stderr.inline.map(|bytes| bytes.len()),
        Some(400_000),
        "{:?}",
        run.outcome
    );
}

#[test]
fn an_end_handed_out_of_the_tree_reaches_no_later_command() {
    let room = tempfile::tempdir().unwrap();
    let (pid, go) = (room.path().join("pid"), room.path().join("go"));
    let spec = sh(&format!(
        "echo $$ > {0}.new; mv {0}.new {0}; while [ ! -e {1} ]; do sleep 0.02; done",
        pid.display(),
        go.display()
    ));
    let running = std::thread::spawn(move || {
        let mut supervisor = supervisor();
        supervisor.run(&spec, &Wishes::never()).unwrap();
        supervisor
    });
    wait_until("the command runs", || pid.exists());
    let number = fs::read_to_string(pid).unwrap();
    let stdout = format!("/proc/{}/fd/1", number.trim());
    let mut held = File::options().write(true).open(stdout).unwrap();
    fs::write(go, "").unwrap();
    let mut supervisor = running.join().unwrap();
    supervisor.run(&sh("true"), &Wishes::never()).unwrap();
    let refused = held.write(b"late").unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::BrokenPipe);
}

/// Not a test: a command that stops its supervisor, fills a large pipe and is gone before anyone reads.
#[test]
#[ignore = "started by other tests"]
fn helper_last_words() {
    if std::env::var_os("TEST_LAST_WORDS").is_none() {
        return;
    }
    rustix::pipe::fcntl_setpipe_size(std::io::stderr(), 1 << 20).unwrap();
    kill_process(rustix::process::getppid().unwrap(), Signal::STOP).unwrap();
    std::io::stderr().write_all(&[b'x'; 400_000]).unwrap();
    std::process::exit(0);
}
