//! Which file a program name means, before anything starts.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::outcome::Outcome;

/// Searched when the environment has no `PATH`.
pub(super) const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Resolves `program` as a command in `cwd` with this `PATH` would. A name with a slash is taken from `cwd`; an empty
/// entry of the path is `cwd` itself.
///
/// # Errors
/// [`Outcome::NotFound`], or [`Outcome::NotExecutable`] when the only files of that name may not be executed.
pub fn which(program: &OsStr, cwd: &Path, path: Option<&OsStr>) -> Result<PathBuf, Outcome> {
    let mut answer = Err(Outcome::NotFound);
    for file in candidates(program, cwd, path) {
        match executable(&file) {
            Ok(found) => return Ok(found),
            Err(Outcome::NotExecutable) => answer = Err(Outcome::NotExecutable),
            Err(_) => {}
        }
    }
    answer
}

/// The files that `program` may mean there: the first of them that can be executed is the one.
pub(crate) fn candidates(program: &OsStr, cwd: &Path, path: Option<&OsStr>) -> impl Iterator<Item = PathBuf> {
    let entries: &[u8] = match program.as_bytes() {
        named if named.is_empty() || named.contains(&b'/') => b"",
        _ => path.unwrap_or(OsStr::new(DEFAULT_PATH)).as_bytes(),
    };
    let entries = entries.split(|byte| *byte == b':').map(OsStr::from_bytes);
    let files = entries.map(move |entry| cwd.join(entry).join(program));
    files.filter(|_| !program.is_empty())
}

/// The `PATH` among these variables; of several the last, as the command will see it.
pub(crate) fn path_of(env: &[(OsString, OsString)]) -> Option<&OsStr> {
    env.iter()
        .rev()
        .find(|(name, _)| name == "PATH")
        .map(|(_, value)| value.as_os_str())
}

/// The file itself, when it can be executed.
pub(crate) fn executable(file: &Path) -> Result<PathBuf, Outcome> {
    match fs::metadata(file) {
        Ok(about) if about.is_file() && access(file, Access::EXEC_OK).is_ok() => Ok(file.to_owned()),
        Ok(_) => Err(Outcome::NotExecutable),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(Outcome::NotExecutable),
        Err(_) => Err(Outcome::NotFound),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn file(directory: &Path, name: &str, mode: u32) {
        fs::write(directory.join(name), "#!/bin/sh\n").unwrap();
        fs::set_permissions(directory.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_first_executable_on_the_path_wins_over_an_earlier_file_that_is_none() {
        let room = tempfile::tempdir().unwrap();
        let (plain, good) = (room.path().join("plain"), room.path().join("good"));
        fs::create_dir(&plain).unwrap();
        fs::create_dir(&good).unwrap();
        file(&plain, "tool", 0o644);
        file(&good, "tool", 0o755);
        let path = OsString::from(format!("{}:{}", plain.display(), good.display()));
        assert_eq!(
            which(OsStr::new("tool"), room.path(), Some(&path)),
            Ok(good.join("tool"))
        );
        let path = OsString::from(plain);
        assert_eq!(
            which(OsStr::new("tool"), room.path(), Some(&path)),
            Err(Outcome::NotExecutable)
        );
    }

    #[test]
    fn a_name_with_a_slash_is_taken_from_the_working_directory() {
        let room = tempfile::tempdir().unwrap();
        file(room.path(), "tool", 0o755);
        assert_eq!(
            which(OsStr::new("./tool"), room.path(), None),
            Ok(room.path().join("./tool"))
        );
        assert_eq!(which(OsStr::new("./absent"), room.path(), None), Err(Outcome::NotFound));
    }

    #[test]
    fn an_empty_path_entry_is_the_working_directory() {
        let room = tempfile::tempdir().unwrap();
        file(room.path(), "tool", 0o755);
        let found = which(OsStr::new("tool"), room.path(), Some(OsStr::new("/nowhere:")));
        assert_eq!(found, Ok(room.path().join("tool")));
    }

    #[test]
    fn a_directory_is_not_executable_and_an_empty_name_not_found() {
        let room = tempfile::tempdir().unwrap();
        fs::create_dir(room.path().join("folder")).unwrap();
        assert_eq!(
            which(OsStr::new("./folder"), room.path(), None),
            Err(Outcome::NotExecutable)
        );
        assert_eq!(which(OsStr::new(""), room.path(), None), Err(Outcome::NotFound));
    }
}
