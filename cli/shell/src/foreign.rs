//! Files in places where a command of the run could have put something else.
//!
//! A name there may lead to a fifo that nobody writes to, to a device, to a file without end, or be a second name of
//! one of the user's own files. Reading never waits and never takes more than it was told to; writing never reaches
//! another file.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, openat};

/// Reads a regular file, following links to one.
///
/// # Errors
/// Also when it is no regular file, or longer than `max_bytes`.
pub(crate) fn read(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = open(path)?;
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        let why = format!("it is longer than {max_bytes} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

/// The first `max_bytes` of a regular file.
///
/// # Errors
/// Also when it is no regular file.
pub(crate) fn read_start(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(max_bytes).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a regular file for reading.
///
/// # Errors
/// Also when it is no regular file.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flag(OFlags::NONBLOCK))
        .open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
}

/// Opens a regular file with one name beneath `top` for reading, over no link on the way.
///
/// # Errors
/// Also when the path leads over a link or out of `top`, or to anything else.
pub(crate) fn open_beneath(top: &Path, path: &Path) -> io::Result<File> {
    let elsewhere = || {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            "it leads out of its directory, or over a link",
        )
    };
    let mut at: OwnedFd = File::open(top)?.into();
    let mut parts = path.components().filter(|part| *part != Component::CurDir).peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else {
            return Err(elsewhere());
        };
        let kind = match parts.peek() {
            Some(_) => OFlags::DIRECTORY,
            None => OFlags::NONBLOCK | OFlags::NOCTTY,
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | kind;
        at = openat(&at, name, flags, Mode::empty())?;
    }
    let file = File::from(at);
    match file.metadata()? {
        seen if seen.is_file() && seen.nlink() == 1 => Ok(file),
        _ => Err(elsewhere()),
    }
}

/// Makes `bytes` the content of a file of ours. What stands in its place and is not ours alone (a link, a fifo, a
/// second name of another file) is removed first.
///
/// The file is not emptied before: some file systems take that for a careless replacement and flush it to the disk.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_open(path, bytes).map(drop)
}

/// A file that is written again and again: it stays open, and is opened anew where somebody put another in its place.
#[derive(Debug, Default)]
pub(crate) struct Rewritten {
    file: Option<(File, Standing)>,
}

/// Device, inode, mode and owner.
type Standing = (u64, u64, u32, u32);

impl Rewritten {
    /// As [`write`].
    ///
    /// # Errors
    /// As [`write`].
    pub(crate) fn write(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if let Some((file, standing)) = &self.file
            && let Ok(seen) = fs::symlink_metadata(path)
            && is_ours(&seen)
            && stands(&seen) == *standing
        {
            file.write_all_at(bytes, 0)?;
            let length = bytes.len() as u64;
            return if seen.len() > length {
                file.set_len(length)
            } else {
                Ok(())
            };
        }
        self.file = None;
        let file = write_open(path, bytes)?;
        let standing = stands(&file.metadata()?);
        self.file = Some((file, standing));
        Ok(())
    }
}

fn stands(seen: &Metadata) -> Standing {
    (seen.dev(), seen.ino(), seen.mode(), seen.uid())
}

fn is_ours(seen: &Metadata) -> bool {
    seen.is_file() && seen.nlink() == 1
}

fn write_open(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let flags = flag(OFlags::NONBLOCK | OFlags::NOFOLLOW);
    let open = |new: bool| {
        OpenOptions::new()
            .write(true)
            .create_new(new)
            .custom_flags(flags)
            .open(path)
    };
    let ours = |file: &File| file.metadata().is_ok_and(|seen| is_ours(&seen));
    let mut file = match open(false) {
        Ok(file) if ours(&file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => open(true)?,
        Ok(_) | Err(_) => {
            fs::remove_file(path)?;
            open(true)?
        }
    };
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    Ok(file)
}

fn flag(flags: OFlags) -> i32 {
    flags.bits().cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifo_is_neither_waited_for_nor_written_to() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(read(&path, 10).is_err());
        assert!(read_start(&path, 10).is_err());
        write(&path, b"plain").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"plain");
    }

    #[test]
    fn what_is_written_never_reaches_a_file_behind_a_link_or_a_second_name() {
        let room = tempfile::tempdir().unwrap();
        let [precious, link, name] = ["precious", "link", "name"].map(|name| room.path().join(name));
        fs::write(&precious, "kept").unwrap();
        std::os::unix::fs::symlink(&precious, &link).unwrap();
        fs::hard_link(&precious, &name).unwrap();
        for path in [&link, &name] {
            write(path, b"ours").unwrap();
            assert_eq!(fs::read(path).unwrap(), b"ours");
        }
        assert_eq!(fs::read(&precious).unwrap(), b"kept");
    }

    #[test]
    fn a_file_that_stays_open_is_written_where_its_name_leads_and_nowhere_else() {
        let room = tempfile::tempdir().unwrap();
        let [path, second] = ["file", "second"].map(|name| room.path().join(name));
        let mut file = Rewritten::default();
        for text in ["first", "a longer text", "short", ""] {
            file.write(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read(&path).unwrap(), text.as_bytes());
        }
        let now_elsewhere: [fn(&Path, &Path); 5] = [
            |path, _| fs::remove_file(path).unwrap(),
            |path, second| fs::rename(path, second).unwrap(),
            |path, second| std::os::unix::fs::symlink(second, path).unwrap(),
            |path, second| fs::hard_link(path, second).unwrap(),
            |path, second| {
                fs::rename(path, second).unwrap();
                fs::write(path, "another").unwrap();
            },
        ];
        for (text, moves) in ["b", "c", "d", "e", "f"].into_iter().zip(now_elsewhere) {
            let _ = fs::remove_file(&second);
            if text == "d" {
                fs::remove_file(&path).unwrap();
                fs::write(&second, "kept").unwrap();
            }
            moves(&path, &second);
            let there = fs::read(&second).ok();
            file.write(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(fs::read(&second).ok(), there, "{text}");
        }
    }

    #[test]
    fn a_file_beneath_a_directory_is_reached_over_no_link_and_nowhere_else() {
        let room = tempfile::tempdir().unwrap();
        let top = room.path().join("top");
        fs::create_dir_all(top.join("sub")).unwrap();
        fs::write(room.path().join("secret"), "s").unwrap();
        fs::write(top.join("sub/report"), "r").unwrap();
        std::os::unix::fs::symlink(room.path(), top.join("out")).unwrap();
        std::os::unix::fs::symlink("sub/report", top.join("link")).unwrap();
        fs::hard_link(room.path().join("secret"), top.join("second")).unwrap();
        assert!(open_beneath(&top, Path::new("./sub/report")).is_ok());
        let absolute = room.path().join("secret");
        for other in [
            "out/secret",
            "link",
            "second",
            "../secret",
            "sub",
            "",
            absolute.to_str().unwrap(),
        ] {
            assert!(open_beneath(&top, Path::new(other)).is_err(), "{other}");
        }
    }

    #[test]
    fn a_shorter_text_leaves_nothing_of_a_longer_one() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("file");
        for text in ["a longer text", "short", ""] {
            write(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read(&path).unwrap(), text.as_bytes());
        }
    }

    #[test]
    fn no_more_is_read_than_was_allowed() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("file");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert!(read(&path, 4).is_err());
        assert_eq!(read_start(&path, 4).unwrap(), b"1234");
        assert!(read(Path::new("/dev/zero"), 4).is_err());
    }
}
