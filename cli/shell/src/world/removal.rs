//! A command does not go on for hours in a workdir that is no longer there.

use std::io::ErrorKind;
use std::path::Path;

use crate::process::Cancel;

/// Wishes for the end of a command as soon as `workdir` has been removed, and says so once.
pub(super) fn once_removed(workdir: &Path) -> impl FnMut() -> Option<Cancel> {
    let mut told = false;
    move || {
        let tell = !told && is_removed(workdir);
        told |= tell;
        tell.then_some(Cancel::Stop)
    }
}

/// Any other trouble, of a network file system for one, may pass.
fn is_removed(workdir: &Path) -> bool {
    workdir
        .metadata()
        .is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_removal_of_the_workdir_is_told_once() {
        let dir = tempfile::tempdir().unwrap();
        let workdir = dir.path().to_path_buf();
        let mut wish = once_removed(&workdir);
        assert_eq!(wish(), None);
        drop(dir);
        assert_eq!(wish(), Some(Cancel::Stop));
        assert_eq!(wish(), None);
    }
}
