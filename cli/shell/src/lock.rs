//! One loop at a time in one workdir: a kernel lock on the state directory and on `.loopexec/LOCK` in it.
//!
//! The work can remove or replace a file; it cannot replace the directory without taking the whole record away. So
//! the directory carries the lock, and the file does where a file system (NFS) locks no directories.
//!
//! The kernel's lock is the only truth. What is written in the file names the holder for the message
//! and decides nothing: a process that dies frees its lock, and a file that it left behind blocks
//! nobody. Children never inherit it, because what is locked is closed on exec.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::paths::{PathError, RunId, StateDir};

/// Who holds the lock, as it wrote itself down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub run_id: String,
    pub pid: u32,
}

/// Why the lock was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockError {
    /// Another loop is running. The holder is unknown while it is still writing its name.
    Held {
        path: PathBuf,
        holder: Option<Holder>,
    },
    /// The file system cannot lock.
    Unsupported {
        path: PathBuf,
    },
    Path(PathError),
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held {
                holder: Some(Holder { run_id, pid }),
                ..
            } => write!(
                f,
                "run {run_id} (process {pid}) is at work in this workdir; wait for it, or use another copy of the project"
            ),
            Self::Held { path, holder: None } => write!(
                f,
                "another run holds {}; wait for it, or use another copy of the project",
                path.display()
            ),
            Self::Unsupported { path } => write!(
                f,
                "the file system of {} cannot lock files, so two runs could not be kept apart; use a local one",
                path.display()
            ),
            Self::Path(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LockError {}

impl From<PathError> for LockError {
    fn from(error: PathError) -> Self {
        Self::Path(error)
    }
}

/// The lock, held until it is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct StateLock {
    /// None where directories cannot be locked.
    directory: Option<File>,
    file: File,
    state: StateDir,
}

/// A question of [`holder`] holds the lock for an instant; that must not turn a run away.
const ATTEMPTS: u32 = 10;
const ATTEMPT_GAP: Duration = Duration::from_millis(10);

/// A run id, a pid and two line ends.
const HOLDER_MAX_BYTES: u64 = 128;

/// Takes the lock for `run_id`.
///
/// # Errors
/// [`LockError::Held`] with the holder's name when another loop runs.
pub fn acquire(state: &StateDir, run_id: &RunId) -> Result<StateLock, LockError> {
    for attempt in 1..=ATTEMPTS {
        if attempt > 1 {
            thread::sleep(ATTEMPT_GAP);
        }
        let Some(directory) = lock_directory(state)? else {
            continue;
        };
        let Some(mut file) = lock_file(state)? else { continue };
        sign(&mut file, run_id).map_err(|error| PathError::io("write", &state.lock_file(), &error))?;
        return Ok(StateLock {
            directory,
            file,
            state: state.clone(),
        });
    }
    Err(LockError::Held {
        path: state.path().to_path_buf(),
        holder: named(state),
    })
}

/// The locked directory, which is nothing where directories cannot be locked; `None` when another has it.
fn lock_directory(state: &StateDir) -> Result<Option<Option<File>>, LockError> {
    let directory = open_directory(state)?;
    match directory.try_lock() {
        // Somebody replaced it in between: lock the one that others will see.
        Ok(()) => Ok(is_same_file(&directory, state.path()).then_some(Some(directory))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) if locks_no_directories(&error) => Ok(Some(None)),
        Err(TryLockError::Error(error)) => Err(cannot_lock(state.path(), &error)),
    }
}

/// The locked file; `None` when another has it.
fn lock_file(state: &StateDir) -> Result<Option<File>, LockError> {
    let path = state.lock_file();
    let file = open(&path, true)?;
    match file.try_lock() {
        Ok(()) => Ok(is_same_file(&file, &path).then_some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(cannot_lock(&path, &error)),
    }
}

/// Who holds the lock now; `None` when nobody does. Never waits and never disturbs the holder.
///
/// # Errors
/// The directory or the file cannot be opened or locked at all.
pub fn holder(state: &StateDir) -> Result<Option<Holder>, LockError> {
    let unknown = || Holder {
        run_id: "unknown".to_owned(),
        pid: 0,
    };
    let held = is_held(&open_directory(state)?, state.path())? || {
        let path = state.lock_file();
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            _ => is_held(&open(&path, false)?, &path)?,
        }
    };
    Ok(held.then(|| named(state).unwrap_or_else(unknown)))
}

impl StateLock {
    /// Whether what is locked is still what others would lock: false after somebody removed the state directory below
    /// the running loop.
    pub fn still_guards(&self) -> bool {
        match &self.directory {
            Some(directory) => is_same_file(directory, self.state.path()),
            None => is_same_file(&self.file, &self.state.lock_file()),
        }
    }
}

fn is_held(file: &File, path: &Path) -> Result<bool, LockError> {
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) if locks_no_directories(&error) => Ok(false),
        Err(TryLockError::Error(error)) => Err(cannot_lock(path, &error)),
    }
}

fn open_directory(state: &StateDir) -> Result<File, LockError> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::DIRECTORY;
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or(0))
        .open(state.path());
    Ok(opened.map_err(|error| PathError::io("open", state.path(), &error))?)
}

/// NFS wants a descriptor that can be written, which a directory never has.
fn locks_no_directories(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let known = [Errno::BADF, Errno::INVAL, Errno::ISDIR].map(Errno::raw_os_error);
    error.raw_os_error().is_some_and(|number| known.contains(&number))
}

fn open(path: &Path, write: bool) -> Result<File, LockError> {
    // Neither a link nor a pipe in its place is followed or waited for.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    if write {
        options.write(true).create(true).truncate(false).mode(0o600);
    }
    let file = options
        .open(path)
        .map_err(|error| PathError::io("open", path, &error))?;
    match file.metadata() {
        Ok(meta) if meta.is_file() => Ok(file),
        Ok(_) => Err(PathError::io("lock", path, &io::Error::other("it is not a regular file")).into()),
        Err(error) => Err(PathError::io("look at", path, &error).into()),
    }
}

fn cannot_lock(path: &Path, error: &io::Error) -> LockError {
    if error.kind() == io::ErrorKind::Unsupported || error.raw_os_error() == Some(NO_LOCKS) {
        return LockError::Unsupported { path: path.to_owned() };
    }
    PathError::io("lock", path, error).into()
}

/// What network file systems without a lock service answer.
const NO_LOCKS: i32 = rustix::io::Errno::NOLCK.raw_os_error();

fn is_same_file(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(have), Ok(there)) => have.dev() == there.dev() && have.ino() == there.ino(),
        _ => false,
    }
}

fn sign(file: &mut File, run_id: &RunId) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(format!("{run_id}\n{}\n", std::process::id()).as_bytes())
}

/// What the holder wrote down. Without its file the record names it: the newest run of the workdir and its writer.
fn named(state: &StateDir) -> Option<Holder> {
    let signed = open(&state.lock_file(), false).ok();
    signed.and_then(|mut file| read_holder(&mut file)).or_else(|| {
        let run_id = hinted(state)?;
        let (pid, _) = journal::Journal::last_writer(&state.runs().join(run_id.as_str()).join("journal"));
        (pid != 0).then(|| Holder {
            run_id: run_id.to_string(),
            pid,
        })
    })
}

/// The run that `state.json` of the state directory points to: a hint, since anybody may have put it there.
fn hinted(state: &StateDir) -> Option<RunId> {
    let target = fs::read_link(state.state_file()).ok()?;
    RunId::parse(target.parent()?.file_name()?.to_str()?).ok()
}

fn read_holder(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(HOLDER_MAX_BYTES).read_to_string(&mut text).ok()?;
    let (run_id, rest) = text.split_once('\n')?;
    let (pid, _) = rest.split_once('\n')?;
    // The file lies where the work can write: nothing but a plain name is repeated to a terminal.
    let run_id = RunId::parse(run_id).ok()?;
    Some(Holder {
        run_id: run_id.to_string(),
        pid: pid.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader};
    use std::process::{Child, Command, Stdio};

    const HOLD_IN: &str = "LOOPEXEC_TEST_HOLD_LOCK_IN";

    #[test]
    fn a_second_run_is_refused_and_the_first_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::create(dir.path()).unwrap();
        let first = acquire(&state, &run("first")).unwrap();
        let refused = acquire(&state, &run("second")).unwrap_err();
        let expected = Holder {
            run_id: "first".into(),
            pid: std::process::id(),
        };
        assert!(matches!(&refused, LockError::Held { holder, .. } if *holder == Some(expected.clone())));
        assert!(refused.to_string().contains("run first"), "{refused}");
        assert_eq!(holder(&state).unwrap(), Some(expected), "the refused run left no mark");
        drop(first);
        eventually(|| holder(&state).unwrap().is_none());
        eventually(|| acquire(&state, &run("second")).is_ok());
    }

    #[test]
    fn a_killed_holder_frees_the_lock_and_its_file_blocks_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::create(dir.path()).unwrap();
        let mut other = hold_in_another_process(dir.path());
        let refused = acquire(&state, &run("mine")).unwrap_err();
        assert!(
            matches!(&refused, LockError::Held { holder: Some(h), .. } if h.pid == other.id() && h.run_id == "other"),
            "{refused:?}"
        );
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(
            fs::read_to_string(state.lock_file()).unwrap().starts_with("other\n"),
            "the file is still there"
        );
        let lock = acquire(&state, &run("mine")).unwrap();
        assert!(lock.still_guards());
        assert_eq!(holder(&state).unwrap().unwrap().run_id, "mine");
    }

    #[test]
    fn a_file_that_names_a_living_stranger_blocks_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::create(dir.path()).unwrap();
        fs::write(
            state.lock_file(),
            "stale-run\n1\n and much more than any holder ever writes",
        )
        .unwrap();
        let lock = acquire(&state, &run("fresh")).unwrap();
        let text = fs::read_to_string(state.lock_file()).unwrap();
        assert_eq!(text, format!("fresh\n{}\n", std::process::id()));
        drop(lock);
    }

    #[test]
    fn a_child_does_not_inherit_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::create(dir.path()).unwrap();
        let lock = acquire(&state, &run("parent")).unwrap();
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        drop(lock);
        eventually(|| acquire(&state, &run("next")).is_ok());
        assert!(child.try_wait().unwrap().is_none(), "the child still lives");
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn a_lock_file_removed_or_replaced_below_its_holder_lets_nobody_in() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::create(dir.path()).unwrap();
        let lock = acquire(&state, &run("first")).unwrap();
        fs::remove_file(state.lock_file()).unwrap();
        assert!(lock.still_guards());
        assert!(matches!(acquire(&state, &run("second")), Err(LockError::Held { .. })));
        assert!(holder(&state).unwrap().is_some());
        fs::write(state.lock_file(), "second\n1\n").unwrap();
        assert!(matches!(acquire(&state, &run("second")), Err(LockError::Held { .. })));
    }

    #[test]
    fn a_state_directory_removed_below_its_holder_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::create(dir.path()).unwrap();
        let lock = acquire(&state, &run("first")).unwrap();
        fs::remove_dir_all(state.path()).unwrap();
        assert!(!lock.still_guards());
        StateDir::create(dir.path()).unwrap();
        assert!(!lock.still_guards());
    }

    #[test]
    fn a_link_in_place_of_the_lock_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::create(dir.path()).unwrap();
        let target = dir.path().join("precious");
        fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, state.lock_file()).unwrap();
        assert!(matches!(acquire(&state, &run("r")), Err(LockError::Path(_))));
        assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
    }

    #[test]
    fn what_a_forged_file_says_is_not_repeated() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::create(dir.path()).unwrap();
        let lock = acquire(&state, &run("first")).unwrap();
        fs::write(state.lock_file(), "\u{1b}[2Jrun\n1\n").unwrap();
        let refused = acquire(&state, &run("second")).unwrap_err();
        assert!(matches!(refused, LockError::Held { holder: None, .. }), "{refused:?}");
        drop(lock);
    }

    /// Not a test of its own: the other process of the tests above.
    #[test]
    #[ignore = "runs only as another process of the lock tests"]
    fn hold_the_lock_until_killed() {
        let Some(workdir) = std::env::var_os(HOLD_IN) else {
            return;
        };
        let state = StateDir::create(Path::new(&workdir)).unwrap();
        let _lock = acquire(&state, &run("other")).unwrap();
        println!("held");
        io::stdin().read_line(&mut String::new()).unwrap();
    }

    fn hold_in_another_process(workdir: &Path) -> Child {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "lock::tests::hold_the_lock_until_killed",
                "--ignored",
                "--nocapture",
            ])
            .env(HOLD_IN, workdir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let said = output.lines().map_while(Result::ok).any(|line| line.ends_with("held"));
        assert!(said, "the other process took the lock");
        child
    }

    /// A process that another test is just starting shares every open file until it executes.
    fn eventually(fact: impl Fn() -> bool) {
        let held = (0..500).any(|_| {
            fact() || {
                thread::sleep(ATTEMPT_GAP);
                false
            }
        });
        assert!(held, "the fact never came true");
    }

    fn run(id: &str) -> RunId {
        RunId::parse(id).unwrap()
    }
}
