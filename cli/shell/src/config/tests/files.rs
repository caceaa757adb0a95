//! The file: positions, line ends, types, and everything that is no file.

use super::*;

/// Line, column and fault of the mistake in `toml`.
fn mistake(toml: &str) -> (u32, u32, Fault) {
    match from_toml(toml).unwrap_err() {
        ConfigError {
            place: Place::File { line, column, .. },
            fault,
            ..
        } => (line, column, fault),
        other => panic!("no position: {other}"),
    }
}

fn unknown(what: &'static str, name: &str, nearest: &str) -> Fault {
    Fault::Unknown {
        what,
        name: name.to_owned(),
        nearest: Some(nearest.to_owned()),
    }
}

#[test]
fn an_unknown_key_is_named_with_its_position_and_the_nearest_one() {
    let (line, column, fault) = mistake("# ü\n[bounds]\n\n  max_iteration = 3\n");
    assert_eq!((line, column), (4, 3));
    assert_eq!(
        fault,
        unknown("setting", "bounds.max_iteration", "bounds.max_iterations")
    );
    let (_, _, fault) = mistake("[loop]\ntimeout = \"5s\"\n");
    assert_eq!(fault, unknown("setting", "loop.timeout", "bounds.timeout"));
    let (line, column, fault) = mistake("check = \"true\"\n");
    assert_eq!((line, column, fault), (1, 1, unknown("setting", "check", "loop.check")));
    let (line, column, fault) = mistake("[loop]\ncheck = \"true\"\n[gaurds]\nconfirm = true\n");
    assert_eq!((line, column, fault), (3, 2, unknown("section", "gaurds", "guards")));
}

#[test]
fn a_wrong_value_is_named_with_its_position_and_key() {
    let error = from_toml("[bounds]\n# ümlaut before\ntimeout = \"5\"\n").unwrap_err();
    assert!(
        error
            .to_string()
            .contains("loopexec.toml:3:11: bounds.timeout: `5` has no unit"),
        "{error}"
    );
    let (line, column, fault) = mistake("[guards]\nblocked = [\"a/\",\n  \"\"]\n");
    assert_eq!((line, column), (3, 3));
    assert!(matches!(fault, Fault::Empty { .. }));
}

#[test]
fn types_are_not_converted_behind_the_authors_back() {
    for toml in [
        "[bounds]\nmax_iterations = \"10\"\n",
        "[bounds]\nmax_iterations = 10.0\n",
        "[bounds]\nmax_iterations = 0x10\n",
        "[bounds]\nmax_iterations = true\n",
        "[oracle]\nbaseline = \"true\"\n",
        "[oracle]\nbaseline = 1\n",
        "[loop]\ncheck = 5\n",
        "[loop]\ncheck = [\"a\", 5]\n",
        "[loop]\ncheck = []\n",
        "[loop]\ncheck = [\"\"]\n",
        "[loop]\ncheck = [\"a\\u0000b\"]\n",
        "[loop]\ncheck = {program = \"a\"}\n",
        "[model]\nid = [\"a\"]\n",
        "[model]\nid = 1979-05-27\n",
        "[bounds]\ntimeout = 5\n",
        "[guards]\nblocked = [\"a\", \"off\"]\n",
        "[oracle]\nreport = \"/abs/report.xml\"\n",
        "[oracle]\nreport = \"../report.xml\"\n",
    ] {
        mistake(toml);
    }
    for toml in [
        "[guards]\nblocked = []\n",
        "[guards]\nblocked = \"off\"\n",
        "[bounds]\ntimeout = \"off\"\n",
        "[bounds]\ntimeout = 0\n",
    ] {
        from_toml(toml).unwrap_or_else(|error| panic!("{toml}: {error}"));
    }
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_change_nothing() {
    let unix = "[loop]\ncheck = \"\"\"\na\nb\"\"\"\n[bounds]\nmax_iterations = 4\n";
    let windows = format!("\u{feff}{}", unix.replace('\n', "\r\n"));
    let (unix, windows) = (from_toml(unix).unwrap(), from_toml(&windows).unwrap());
    assert_eq!(unix, windows);
    assert_eq!(windows.policy.oracle.check.display(), "a\nb");
    let (line, column, _) = mistake("\u{feff}[bounds]\r\nmax_iteration = 3\r\n");
    assert_eq!((line, column), (2, 1));
}

#[test]
fn one_setting_under_two_names_is_said_twice() {
    let (line, _, fault) = mistake("[loop]\nmax_iterations = 3\n[bounds]\nmax-iterations = 4\n");
    assert!(matches!(fault, Fault::Twice { .. }));
    assert!(line == 2 || line == 4);
    let (line, _, fault) = mistake("[bounds]\nmax_iterations = 3\nmax_iterations = 4\n");
    assert_eq!(line, 3);
    assert!(matches!(fault, Fault::NotToml { .. }));
}

#[test]
fn broken_text_is_named_with_its_position() {
    let (line, _, fault) = mistake("[loop]\ncheck = \"true\n");
    assert_eq!(line, 2);
    assert!(matches!(fault, Fault::NotToml { .. }));
    let dir = workdir("");
    fs::write(dir.path().join(FILE_NAME), b"[loop]\n# \xff\n").unwrap();
    let error = file::read(&dir.path().join(FILE_NAME)).unwrap_err();
    assert!(matches!(error.place, Place::File { line: 2, column: 3, .. }), "{error}");
    assert_eq!(error.fault, Fault::NotUtf8);
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let dir = workdir("");
    let path = dir.path().join(FILE_NAME);
    fs::create_dir(&path).unwrap();
    assert!(matches!(file::read(&path).unwrap_err().fault, Fault::Unreadable { .. }));
    fs::remove_dir(&path).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    let error = file::read(&path).unwrap_err();
    assert!(error.to_string().contains("not a regular file"), "{error}");
    assert_eq!(error.class().exit_code(), 30);
}

#[test]
fn an_enormous_file_is_refused_without_being_parsed() {
    let dir = workdir(&"#".repeat(usize::try_from(file::MAX_BYTES).unwrap() + 1));
    let error = file::read(&dir.path().join(FILE_NAME)).unwrap_err();
    assert!(matches!(error.fault, Fault::TooLarge { .. }), "{error}");
}

#[test]
fn no_file_is_no_entries() {
    assert_eq!(from_toml("").unwrap().origins, []);
    assert_eq!(from_toml("\n# only a comment\n").unwrap().origins, []);
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes: Vec<u8>) {
        let _ = file::parse(std::path::Path::new("x"), &bytes);
    }

    #[test]
    fn no_value_of_any_setting_makes_the_reader_panic(at in 0..settings().len(), value in "[\\PC]{0,30}") {
        let setting = &settings()[at];
        let text = format!("[{}]\n{} = {value}\n", setting.section(), setting.name());
        let _ = file::parse(std::path::Path::new("x"), text.as_bytes());
        let _ = value::read(setting, std::ffi::OsStr::new(&value));
    }
}
