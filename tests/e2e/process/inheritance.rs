//! What a command starts with: input, descriptors, terminal, environment.

use super::*;

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
fn a_relative_input_is_the_governors() {
    let here = fs::read_to_string("Cargo.toml").unwrap();
    let run = run(&CommandSpec {
        input: Input::File("Cargo.toml".into()),
        ..sh("cat")
    });
    assert_eq!(text(&run), here);
}

#[test]
fn a_command_has_no_terminal_and_its_own_process_group() {
    let mut supervisor = supervisor();
    let run = supervisor
        .run(&sh("cat /proc/$$/stat; echo $$; cat /dev/tty"), &Wishes::never())
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
    let run = supervisor.run(&sh(script), &Wishes::never()).unwrap();
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
