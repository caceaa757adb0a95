//! Removing what a command left, whatever it did to the modes of it and however deep it lies.
//!
//! ```text
//!   top/a/b/.../y/z/...     down to a number of levels by descriptor; what lies below is moved up into `top`,
//!   top/hoisted-0/...       and comes in the next round
//! ```
//!
//! So no path is ever too long, and no more is open at once than that number of directories. Links are not followed.

use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, RenameFlags, chmod, fchmod, fstat, openat, renameat_with, unlinkat};
use rustix::io::Errno;

use super::ScratchError;

/// As deep as this is gone before something is moved up.
const LEVELS_MAX: usize = 32;

/// Removes whatever is there. Nothing there is as well.
pub(crate) fn remove(dir: &Path) -> Result<(), ScratchError> {
    let removed = match fs::symlink_metadata(dir) {
        Ok(seen) if seen.is_dir() => Removal::of(dir).and_then(|()| fs::remove_dir(dir)),
        // Somebody put a file or a link in its place: that alone goes, and nothing that it leads to.
        Ok(_) => fs::remove_file(dir),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(ScratchError::new("remove", dir, error)),
        _ => Ok(()),
    }
}

struct Removal {
    top: OwnedFd,
    hoisted: u64,
}

impl Removal {
    /// Empties a directory.
    fn of(dir: &Path) -> io::Result<()> {
        let mut removal = Self {
            top: open(CWD, dir.as_os_str())?,
            hoisted: 0,
        };
        loop {
            let before = removal.hoisted;
            let top = removal.top.try_clone()?;
            removal.clear(top.as_fd(), 0)?;
            if removal.hoisted == before {
                return Ok(());
            }
        }
    }

    fn clear(&mut self, dir: BorrowedFd<'_>, level: usize) -> io::Result<()> {
        for entry in Dir::read_from(dir)? {
            let entry = entry?;
            let name = entry.file_name();
            if [c".", c".."].contains(&name) {
                continue;
            }
            match unlinkat(dir, name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(Errno::ISDIR) if level < LEVELS_MAX => {
                    let below = open(dir, name)?;
                    self.clear(below.as_fd(), level + 1)?;
                    unlinkat(dir, name, AtFlags::REMOVEDIR)?;
                }
                Err(Errno::ISDIR) => self.hoist(dir, name)?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Moves a directory up, under a name that nobody has.
    fn hoist(&mut self, dir: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
        // Who moves a directory writes to it, for it names the one above.
        drop(open(dir, name)?);
        loop {
            let free = format!("hoisted-{}", self.hoisted);
            self.hoisted += 1;
            match renameat_with(dir, name, &self.top, free, RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => {}
                moved => return Ok(moved?),
            }
        }
    }
}

/// Opens a directory, and gives it back to its owner.
fn open(parent: impl AsFd, name: impl rustix::path::Arg + Copy) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = match openat(&parent, name, OFlags::RDONLY | flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            let found = openat(&parent, name, OFlags::PATH | flags, Mode::empty())?;
            chmod(format!("/proc/self/fd/{}", found.as_raw_fd()), Mode::RWXU)?;
            openat(&parent, name, OFlags::RDONLY | flags, Mode::empty())?
        }
        opened => opened?,
    };
    if !Mode::from_raw_mode(fstat(&opened)?.st_mode).contains(Mode::RWXU) {
        fchmod(&opened, Mode::RWXU)?;
    }
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_deeper_than_any_path_is_removed_with_few_descriptors() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().join("top");
        fs::create_dir(&top).unwrap();
        // A name that is taken when something is moved up.
        fs::create_dir(top.join("hoisted-0")).unwrap();
        let name = "d".repeat(200);
        let mut at = openat(CWD, &top, OFlags::PATH, Mode::empty()).unwrap();
        for level in 0..100 {
            rustix::fs::mkdirat(&at, &name, Mode::RWXU).unwrap();
            drop(openat(&at, "file", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap());
            let below = openat(&at, &name, OFlags::PATH, Mode::empty()).unwrap();
            if level % 7 == 0 {
                let dir = openat(&at, ".", OFlags::RDONLY, Mode::empty()).unwrap();
                fchmod(&dir, Mode::XUSR).unwrap();
            }
            at = below;
        }
        drop(at);
        remove(&top).unwrap();
        assert!(!top.exists());
        remove(&top).unwrap();
    }

    #[test]
    fn what_a_link_leads_to_stays() {
        let place = tempfile::tempdir().unwrap();
        let [top, users] = ["top", "users"].map(|name| place.path().join(name));
        fs::create_dir(&top).unwrap();
        fs::create_dir(&users).unwrap();
        fs::write(users.join("kept"), "x").unwrap();
        std::os::unix::fs::symlink(&users, top.join("link")).unwrap();
        remove(&top).unwrap();
        std::os::unix::fs::symlink(&users, &top).unwrap();
        remove(&top).unwrap();
        assert!(users.join("kept").exists() && fs::symlink_metadata(&top).is_err());
    }
}
