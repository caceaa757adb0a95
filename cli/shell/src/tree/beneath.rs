//! Reaching files beneath the workdir without ever following a link.
//!
//! The kernel walks a path for us with links refused on all of it, so a component that was swapped for a symlink is
//! seen as what it is and never leads outside, and the way to a directory is one call however deep it lies. Where the
//! kernel has no such call, every directory of the path is opened on its own from its parent with `O_NOFOLLOW`.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, openat, openat2, statat};
use rustix::io::Errno;

use super::path::{os, split};
use super::stat::Sig;

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// No link on the way, and no way out.
const PLAIN: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS);

/// The longest path that is asked for at once; the kernel takes 4,095 bytes.
const LEG_MAX_BYTES: usize = 3_840;

/// Opens the directory `name` in `dir`, refusing a link.
pub(crate) fn open_dir_at(dir: BorrowedFd<'_>, name: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    retry(|dir, name| openat(dir, name, DIRECTORY, Mode::empty()), dir, name)
}

/// Opens the file `name` in `dir` for reading, refusing a link and never waiting for a fifo's writer.
pub(crate) fn open_file_at(dir: BorrowedFd<'_>, name: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    retry(|dir, name| openat(dir, name, FILE, Mode::empty()), dir, name)
}

fn retry<P: rustix::path::Arg>(
    open: impl Fn(BorrowedFd<'_>, &std::ffi::CStr) -> Result<OwnedFd, Errno>,
    dir: BorrowedFd<'_>,
    name: P,
) -> Result<OwnedFd, Errno> {
    name.into_with_c_str(|name| {
        loop {
            #[cfg(test)]
            tests::OPENED.set(tests::OPENED.get() + 1);
            match open(dir, name) {
                Err(Errno::INTR) => {}
                done => return done,
            }
        }
    })
}

/// The signature of `name` in `dir` itself, of a link and not of what it points to; `None` when absent.
pub(crate) fn sig_at(dir: BorrowedFd<'_>, name: impl rustix::path::Arg) -> Result<Option<Sig>, Errno> {
    match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(Sig::of(&stat))),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Opens directories beneath a root, remembering the last one.
pub(crate) struct Beneath<'a> {
    root: BorrowedFd<'a>,
    last: Option<(Vec<u8>, OwnedFd)>,
}

impl<'a> Beneath<'a> {
    pub(crate) fn new(root: BorrowedFd<'a>) -> Self {
        Self { root, last: None }
    }

    /// The directory `dir`; `None` when a component of it is absent, a link, or no directory.
    pub(crate) fn dir(&mut self, dir: &[u8]) -> Result<Option<BorrowedFd<'_>>, Errno> {
        if dir.is_empty() {
            return Ok(Some(self.root));
        }
        if self.last.as_ref().is_none_or(|(known, _)| known != dir) {
            self.last = None;
            match open_all(self.root, dir) {
                Ok(fd) => self.last = Some((dir.to_vec(), fd)),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
                Err(errno) => return Err(errno),
            }
        }
        Ok(self.last.as_ref().map(|(_, fd)| fd.as_fd()))
    }

    /// The signature of what stands at `path`; `None` when nothing can be reached there without a link.
    pub(crate) fn sig(&mut self, path: &[u8]) -> Result<Option<Sig>, Errno> {
        let (dir, name) = split(path);
        match self.dir(dir)? {
            Some(fd) => sig_at(fd, name),
            None => Ok(None),
        }
    }
}

fn open_all(root: BorrowedFd<'_>, dir: &[u8]) -> Result<OwnedFd, Errno> {
    open_in_legs(root, dir).or_else(|errno| match errno {
        // Older than the call, or a filter that does not know it.
        Errno::NOSYS | Errno::PERM => open_by_parts(root, dir),
        errno => Err(errno),
    })
}

fn open_in_legs(root: BorrowedFd<'_>, dir: &[u8]) -> Result<OwnedFd, Errno> {
    let plainly = |parent: BorrowedFd<'_>, leg: &std::ffi::CStr| openat2(parent, leg, DIRECTORY, Mode::empty(), PLAIN);
    let mut fd: Option<OwnedFd> = None;
    for leg in legs(dir) {
        let parent = fd.as_ref().map_or(root, AsFd::as_fd);
        fd = Some(retry(plainly, parent, os(leg))?);
    }
    fd.ok_or(Errno::NOENT)
}

fn open_by_parts(root: BorrowedFd<'_>, dir: &[u8]) -> Result<OwnedFd, Errno> {
    let mut fd: Option<OwnedFd> = None;
    for part in dir.split(|b| *b == b'/') {
        let parent = fd.as_ref().map_or(root, AsFd::as_fd);
        fd = Some(open_dir_at(parent, os(part))?);
    }
    fd.ok_or(Errno::NOENT)
}

/// A path in parts that the kernel takes, cut between components.
fn legs(mut dir: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let cut = match dir.get(..=LEG_MAX_BYTES) {
            Some(start) => start.iter().rposition(|byte| *byte == b'/').unwrap_or(dir.len()),
            None => dir.len(),
        };
        let (leg, rest) = dir.split_at(cut);
        dir = rest.strip_prefix(b"/").unwrap_or(rest);
        (!leg.is_empty()).then_some(leg)
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::tree::{Options, Tree};

    thread_local! {
        /// What this thread asked the kernel to open.
        pub(super) static OPENED: Cell<usize> = const { Cell::new(0) };
    }

    /// How often something is opened to put a file back that lies so many directories deep, and to take it away again.
    fn opened_for(levels: usize) -> usize {
        let place = tempfile::tempdir().unwrap();
        let work = place.path().join("work");
        fs::create_dir(&work).unwrap();
        let mut tree = Tree::open(&work, &place.path().join("state"), Options::default()).unwrap();
        let empty = tree.snapshot().unwrap().id;
        let deep = work.join(vec!["d"; levels].join("/"));
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("leaf"), "x").unwrap();
        let full = tree.snapshot().unwrap().id;
        OPENED.set(0);
        tree.restore(empty).unwrap();
        assert!(!work.join("d").exists());
        tree.restore(full).unwrap();
        assert!(deep.join("leaf").exists());
        OPENED.get()
    }

    #[test]
    fn a_file_that_lies_twice_as_deep_costs_twice_as_much_to_put_back_and_take_away() {
        let (some, more) = (opened_for(40), opened_for(80));
        assert!(some >= 40 && more < 3 * some, "{some}, {more}");
    }

    type Open = fn(BorrowedFd<'_>, &[u8]) -> Result<OwnedFd, Errno>;

    #[test]
    fn the_way_to_a_directory_is_one_call_for_each_path_that_the_kernel_takes() {
        let deep = |levels: usize| vec![&b"d"[..]; levels].join(&b'/');
        let calls = |levels: usize| legs(&deep(levels)).count();
        assert_eq!((calls(1), calls(1_500), calls(1_920)), (1, 1, 1));
        assert_eq!((calls(3_840), calls(38_400)), (2, 20));
        for dir in [deep(5_000), vec![b'x'; 5_000], b"a/b".to_vec()] {
            assert_eq!(legs(&dir).collect::<Vec<_>>().join(&b'/'), dir);
        }
    }

    #[test]
    fn no_link_leads_anywhere_by_one_call_or_by_many() {
        let place = tempfile::tempdir().unwrap();
        let inside = place.path().join("in");
        fs::create_dir_all(inside.join("a/b")).unwrap();
        fs::create_dir(place.path().join("out")).unwrap();
        fs::write(inside.join("a/file"), "").unwrap();
        symlink(place.path().join("out"), inside.join("away")).unwrap();
        symlink("a", inside.join("near")).unwrap();
        let root = fs::File::open(&inside).unwrap();
        for open in [open_in_legs as Open, open_by_parts] {
            let reached = |dir: &str| open(root.as_fd(), dir.as_bytes()).map(drop);
            assert_eq!((reached("a"), reached("a/b")), (Ok(()), Ok(())));
            for (dir, why) in [
                ("near", [Errno::LOOP, Errno::NOTDIR]),
                ("near/b", [Errno::LOOP, Errno::NOTDIR]),
                ("away", [Errno::LOOP, Errno::NOTDIR]),
                ("a/file", [Errno::NOTDIR; 2]),
                ("a/file/b", [Errno::NOTDIR; 2]),
                ("a/c", [Errno::NOENT; 2]),
            ] {
                let found = reached(dir).unwrap_err();
                assert!(why.contains(&found), "{dir}: {found:?}");
            }
        }
        assert!(open_in_legs(root.as_fd(), b"../out").is_err());
    }

    #[test]
    fn a_directory_that_lies_deeper_than_any_path_is_reached() {
        let place = tempfile::tempdir().unwrap();
        let name = [b'd'; 250];
        let root = fs::File::open(place.path()).unwrap();
        let mut at: OwnedFd = root.try_clone().unwrap().into();
        for _ in 0..40 {
            rustix::fs::mkdirat(&at, os(&name), Mode::RWXU).unwrap();
            at = open_dir_at(at.as_fd(), os(&name)).unwrap();
        }
        let deep = vec![&name[..]; 40].join(&b'/');
        let reached = open_all(root.as_fd(), &deep).unwrap();
        let inode = |fd: &OwnedFd| rustix::fs::fstat(fd).unwrap().st_ino;
        assert_eq!(inode(&reached), inode(&at));
        crate::scratch::remove(&place.keep()).unwrap();
    }
}
