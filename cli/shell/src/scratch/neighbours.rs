//! What lies beside a workdir and is named from there: `../venv/bin/python -m pytest`.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;

use engine::event::policy::Command;

/// Lets the names that the command's own text takes from beside `workdir` lead to the same beside its copy, where nothing
/// of that name is. What lies further off is not brought near.
///
/// # Errors
/// When no link can be made.
pub(crate) fn bring_near(workdir: &Path, copy: &Path, command: &Command) -> io::Result<()> {
    let (Some(around), Some(place)) = (workdir.parent(), copy.parent()) else {
        return Ok(());
    };
    for name in command.words.iter().flat_map(|word| names(&word.0)) {
        let (there, here) = (around.join(name), place.join(name));
        if there.exists() && fs::symlink_metadata(&here).is_err() {
            symlink(there, here)?;
        }
    }
    Ok(())
}

/// The first names behind `../` at the beginnings of words.
fn names(text: &[u8]) -> impl Iterator<Item = &OsStr> {
    let parts = text.split(|byte| byte.is_ascii_whitespace() || b"'\"=;:&|()<>".contains(byte));
    let behind = parts.filter_map(|part| part.strip_prefix(b"../"));
    let first = behind.filter_map(|rest| rest.split(|byte| *byte == b'/').next());
    first
        .filter(|name| !matches!(*name, b"" | b"." | b".."))
        .map(OsStr::from_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_command_names_beside_the_workdir_is_beside_the_copy_too() {
        let dir = tempfile::tempdir().unwrap();
        let (around, place) = (dir.path().join("around"), dir.path().join("place"));
        for made in ["around/work", "around/venv", "around/home", "place/tree", "place/home"] {
            fs::create_dir_all(dir.path().join(made)).unwrap();
        }
        fs::write(around.join("venv/run"), "1").unwrap();
        let command = Command::shell("A=../venv/x ../venv/run ../home/x ../none ../../far ./../b 'a/../work'");
        bring_near(&around.join("work"), &place.join("tree"), &command).unwrap();
        assert_eq!(fs::read(place.join("tree/../venv/run")).unwrap(), b"1");
        let mut found: Vec<_> = fs::read_dir(&place)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        found.sort();
        assert_eq!(found, ["home", "tree", "venv"]);
        assert!(
            fs::symlink_metadata(place.join("home")).unwrap().is_dir(),
            "the place's own"
        );
    }
}
