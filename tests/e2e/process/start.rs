//! Commands that never ran.

use super::*;

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
