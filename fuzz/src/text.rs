//! Targets over what other programs and people write: `collect` (reports and outputs of runners) and
//! `config` (the configuration file, and single values).

use std::ffi::OsString;
use std::path::Path;

use engine::event::policy::Policy;
use shell::config::resolve::Entry;
use shell::config::value::Value;
use shell::config::{FILE_NAME, duration, env, file, money, settings, size};
use shell::oracle::collect::{ALL, recognise};
use shell::oracle::{Artefact, Measured};

/// Stands between the outputs of one case.
pub const SEPARATOR: u8 = 0x1e;

/// Exit byte of a run that a signal ended.
pub const SIGNALLED: u8 = 0xff;

/// One case of `collect`: which collector reads it, the exit status, whether the report lies in the
/// reports directory, then standard output, standard error, the report, and a second report.
pub fn collect(data: &[u8]) -> String {
    let Some(([which, exit, place], rest)) = data.split_first_chunk() else {
        return "nothing".into();
    };
    let collector = ALL[usize::from(which.wrapping_sub(b'a')) % ALL.len()];
    let mut parts = rest.split(|byte| *byte == SEPARATOR);
    let mut part = || parts.next().unwrap_or_default();
    let (stdout, stderr, report, second) = (part(), part(), part(), part());
    let in_directory = !place.is_multiple_of(2);
    let files: Vec<(String, Vec<u8>)> = [
        ("pytest.jsonl", report),
        ("jest.json", report),
        ("rspec.json", report),
        ("vitest.json", report),
        ("pytest.xml", second),
        ("other/report.xml", second),
    ]
    .into_iter()
    .filter(|(_, bytes)| in_directory && !bytes.is_empty())
    .map(|(name, bytes)| (name.to_owned(), bytes.to_vec()))
    .collect();
    let artefact = Artefact {
        exit: (*exit != SIGNALLED).then_some(i32::from(*exit)),
        stdout,
        stderr,
        report: (!in_directory && !report.is_empty()).then_some(report),
        reports_dir_files: &files,
        workdir: "/srv/demo",
    };
    let seen = (collector.collect)(&artefact);
    assert_eq!(seen, (collector.collect)(&artefact), "the same bytes, the same reading");
    if let Some(known) = recognise(&artefact) {
        assert!((known.collect)(&artefact).is_ok_and(|seen| seen.finished));
    }
    match seen {
        Ok(seen) => format!("{}-{}", collector.name, measured(&seen, collector.name)),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            format!("{}-refused", collector.name)
        }
    }
}

fn measured(seen: &Measured, collector: &str) -> &'static str {
    assert_eq!(seen.collector, collector);
    let ascending = seen.members.windows(2).all(|pair| pair[0].id < pair[1].id);
    assert!(ascending, "{collector}: member ids are sorted and unique");
    for member in &seen.members {
        assert!(seen.member(&member.id) == Some(member), "{} is found", member.id);
    }
    match (seen.members.is_empty(), seen.finished) {
        (false, true) => "finished",
        (false, false) => "unfinished",
        (true, _) => "empty",
    }
}

/// Reads the bytes as a configuration file, as a value of every setting, and as a duration, an amount and
/// a size.
///
/// # Panics
/// When what was read is another thing once it was shown and read again.
pub fn config(data: &[u8]) -> String {
    let label = match file::parse(Path::new(FILE_NAME), data) {
        Ok(entries) => {
            entries.iter().for_each(shown_and_read_again);
            if entries.is_empty() { "empty" } else { "file" }
        }
        Err(error) => {
            assert!(error.to_string().starts_with(FILE_NAME), "{error}");
            "refused"
        }
    };
    match std::str::from_utf8(data) {
        Ok(text) => format!("{label}{}", values(text)),
        Err(_) => label.into(),
    }
}

/// The text as a single value; names the units it could be in.
fn values(text: &str) -> String {
    let mut label = String::new();
    if let Ok(ms) = duration::parse(text) {
        assert_eq!(duration::parse(&duration::show(ms)), Ok(ms), "{text}");
        label.push_str("-duration");
    }
    if let Ok(microusd) = money::parse(text) {
        assert_eq!(money::parse(&money::show(microusd)), Ok(microusd), "{text}");
        label.push_str("-money");
    }
    if let Ok(bytes) = size::parse(text, u64::MAX) {
        assert_eq!(size::parse(&size::show(bytes), u64::MAX), Ok(bytes), "{text}");
        label.push_str("-size");
    }
    for setting in settings() {
        if let Ok(entries) = env::read(&[(setting.env.into(), text.into())]) {
            entries.iter().for_each(shown_and_read_again);
        }
    }
    label
}

/// A setting that was read means the same once it was shown and read as a variable.
fn shown_and_read_again(entry: &Entry) {
    if !has_a_spelling(&entry.value) {
        return;
    }
    let Some(policy) = applied(entry) else { return };
    let shown = (entry.setting.show)(&policy);
    let again = env::read(&[(entry.setting.env.into(), OsString::from(&shown))]);
    let again = again.unwrap_or_else(|error| panic!("{:?} shows {shown:?}: {error}", entry.setting));
    let again: Vec<Option<Policy>> = again.iter().map(applied).collect();
    assert_eq!(again, [Some(policy)], "{:?} shows {shown:?}", entry.setting);
}

/// The defaults with this setting; `None` when the setting refuses the value.
fn applied(entry: &Entry) -> Option<Policy> {
    let mut policy = Policy::default();
    (entry.setting.set)(&mut policy, entry.value.clone())
        .is_ok()
        .then_some(policy)
}

/// Whether a variable can say it: words without a shell are for files and command lines only, and an
/// entry of a list has no blanks around it and no line break.
fn has_a_spelling(value: &Value) -> bool {
    let plain = |bytes: &[u8]| bytes.trim_ascii() == bytes && !bytes.contains(&b'\n') && !bytes.contains(&b'\r');
    match value {
        Value::Command(command) => command.shell,
        Value::Texts(entries) => entries.iter().all(|entry| plain(entry.as_bytes())),
        Value::Paths(entries) => entries.iter().all(|entry| plain(&entry.0)),
        _ => true,
    }
}
