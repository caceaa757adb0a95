use super::*;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::{PermissionsExt as _, symlink};

#[test]
fn a_new_state_directory_is_private_and_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let state = StateDir::create(dir.path()).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(state.path()), 0o700);
    assert_eq!(mode(&state.runs()), 0o700);
    assert_eq!(fs::read_to_string(state.path().join(".gitignore")).unwrap(), "*\n");
    assert_eq!(StateDir::create(dir.path()).unwrap(), state, "and is taken again");
    assert_eq!(StateDir::open(dir.path()).unwrap(), Some(state));
}

#[test]
fn looking_for_state_makes_none() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(StateDir::open(dir.path()).unwrap(), None);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn an_existing_directory_with_wider_rights_is_accepted() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(STATE_DIR)).unwrap();
    fs::set_permissions(dir.path().join(STATE_DIR), fs::Permissions::from_mode(0o755)).unwrap();
    StateDir::create(dir.path()).unwrap();
}

#[test]
fn links_and_files_in_place_of_the_state_are_refused() {
    let elsewhere = tempfile::tempdir().unwrap();
    for inner in ["", "runs", "objects"] {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join(STATE_DIR).join(inner);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        let place = place.components().collect::<PathBuf>();
        symlink(elsewhere.path(), &place).unwrap();
        assert_eq!(
            StateDir::create(dir.path()),
            Err(PathError::SymbolicLink { path: place })
        );
    }
    assert_eq!(
        fs::read_dir(elsewhere.path()).unwrap().count(),
        0,
        "nothing was written behind a link"
    );
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(STATE_DIR);
    fs::write(&path, "").unwrap();
    assert_eq!(StateDir::create(dir.path()), Err(PathError::NotADirectory { path }));
}

#[test]
fn the_state_of_another_user_is_refused() {
    // Every system has a directory of another user: root's for users, and a chown away for root.
    let path = if rustix::process::geteuid().is_root() {
        let dir = tempfile::tempdir().unwrap().keep();
        let path = dir.join(STATE_DIR);
        fs::create_dir(&path).unwrap();
        std::os::unix::fs::chown(&path, Some(12_345), None).unwrap();
        path
    } else {
        PathBuf::from("/usr")
    };
    assert!(matches!(vet(&path), Err(PathError::ForeignOwner { .. })));
    if rustix::process::geteuid().is_root() {
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }
}

#[test]
fn what_the_system_refuses_names_the_path_and_what_to_do() {
    // The kernel's own file system refuses new directories, to root as well.
    let error = StateDir::create(Path::new("/proc")).unwrap_err();
    let PathError::Io { path, errno, .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(path, Path::new("/proc/.loopexec"));
    assert_ne!(*errno, 0);
    assert!(error.to_string().contains("/proc/.loopexec"), "{error}");
    let full = PathError::io("create", Path::new("/x"), &io::Error::from_raw_os_error(28));
    assert!(full.to_string().contains("make room"), "{full}");
    let read_only = PathError::io("create", Path::new("/x"), &io::Error::from_raw_os_error(30));
    assert!(read_only.to_string().contains("read-only"), "{read_only}");
}

#[test]
fn a_workdir_is_absolute_and_without_links() {
    let dir = tempfile::tempdir().unwrap();
    let real = fs::canonicalize(dir.path()).unwrap();
    let link = dir.path().join("link");
    symlink(&real, &link).unwrap();
    assert_eq!(workdir(&link).unwrap(), real);
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(workdir(&file), Err(PathError::NotADirectory { .. })));
    assert!(matches!(workdir(&dir.path().join("none")), Err(PathError::Io { .. })));
}

#[test]
fn run_ids_that_could_leave_their_directory_are_refused() {
    for text in ["", ".", "..", "a/b", "../x", "a b", "ü", "a\n", "a\0", &"x".repeat(65)] {
        assert!(
            matches!(RunId::parse(text), Err(PathError::BadRunId { .. })),
            "{text:?}"
        );
    }
    for text in ["local", "...", "a.b_c-D9", &"x".repeat(64)] {
        assert_eq!(RunId::parse(text).unwrap().as_str(), text);
    }
}

#[test]
fn fresh_ids_of_one_second_differ_and_later_ones_sort_behind() {
    let second = 1_796_000_000_000;
    let ids: BTreeSet<RunId> = (0..50).map(|_| RunId::fresh(second).unwrap()).collect();
    assert!(ids.len() > 45, "{} different ids", ids.len());
    let later = RunId::fresh(second + 1_000).unwrap();
    assert!(ids.iter().all(|id| *id < later));
    assert!(later.as_str().starts_with("20261130T005321Z-"), "{later}");
}

#[test]
fn a_used_run_id_is_refused_and_its_history_kept() {
    let dir = tempfile::tempdir().unwrap();
    let state = StateDir::create(dir.path()).unwrap();
    let id = RunId::parse("local").unwrap();
    let run = state.create_run(id.clone()).unwrap();
    fs::write(run.journal().join("0"), "history").unwrap();
    assert!(matches!(state.create_run(id.clone()), Err(PathError::RunExists { .. })));
    assert_eq!(fs::read_to_string(run.journal().join("0")).unwrap(), "history");
    assert_eq!(state.open_run(id).unwrap(), run);
}

#[test]
fn two_runs_started_at_once_get_two_directories() {
    let dir = tempfile::tempdir().unwrap();
    let state = StateDir::create(dir.path()).unwrap();
    let paths: BTreeSet<PathBuf> = std::thread::scope(|scope| {
        let start = || state.create_fresh_run(1_796_000_000_000).unwrap().path().to_owned();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(paths.len(), 8);
    assert_eq!(state.run_ids().unwrap().len(), 8);
}

#[test]
fn a_run_that_is_missing_or_a_link_is_not_opened() {
    let dir = tempfile::tempdir().unwrap();
    let state = StateDir::create(dir.path()).unwrap();
    let id = RunId::parse("gone").unwrap();
    assert!(matches!(state.open_run(id.clone()), Err(PathError::NoSuchRun { .. })));
    symlink(dir.path(), state.runs().join("gone")).unwrap();
    assert!(matches!(state.open_run(id), Err(PathError::SymbolicLink { .. })));
}

#[test]
fn the_key_is_found_by_the_first_variable_that_counts() {
    let all = [("LOOPEXEC_KEY", "/k/key"), ("XDG_CONFIG_HOME", "/x"), ("HOME", "/h")];
    let of = |set: &[(&'static str, &'static str)]| {
        let set = set.to_vec();
        signing_key(Path::new("/w/tree"), move |name| {
            set.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v))
        })
    };
    assert_eq!(of(&all), Ok("/k/key".into()));
    assert_eq!(of(&all[1..]), Ok("/x/loopexec/key".into()));
    assert_eq!(of(&all[2..]), Ok("/h/.config/loopexec/key".into()));
    assert_eq!(
        of(&[("XDG_CONFIG_HOME", "relative"), ("HOME", "/h")]),
        Ok("/h/.config/loopexec/key".into())
    );
    assert_eq!(
        of(&[("LOOPEXEC_KEY", ""), ("HOME", "/h")]),
        Ok("/h/.config/loopexec/key".into())
    );
    assert_eq!(of(&[]), Err(PathError::NoHome));
    assert!(matches!(
        of(&[("LOOPEXEC_KEY", "key")]),
        Err(PathError::NotAbsolute { .. })
    ));
}

#[test]
fn a_key_inside_the_workdir_is_refused_even_behind_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let real = fs::canonicalize(dir.path()).unwrap();
    let (tree, outside) = (real.join("tree"), real.join("outside"));
    fs::create_dir(&tree).unwrap();
    symlink(&tree, &outside).unwrap();
    for key in [tree.join("deep/er/key"), outside.join("key")] {
        let found = signing_key(&tree, |name| (name == "LOOPEXEC_KEY").then(|| key.clone().into()));
        assert_eq!(found, Err(PathError::KeyInWorkdir { path: key }));
    }
}
