//! The governor's own files, watched around every command: who else writes to them interferes.
//!
//! The shell only reports which of them changed; what that means is the engine's to say. Looks are taken before and
//! after every command of a run, so they are cheap: directories stay open, and before a command only the journal, which the
//! governor itself has written since the last one, is looked at anew. What it derives is written while a command runs
//! ([`OwnFiles::keep_up`]).

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use engine::guard::state_interference::REMOVED;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RawDir, Stat, fstat, openat, stat, statat};

use crate::clock;
use crate::driver::Meanwhile;
use crate::paths::{RunDir, STATE_DIR};

/// Inode, size and change time; nothing for what is not there.
type Fact = Option<(u64, i64, i64, u64)>;

/// In the state directory: their content and their change times stay as a life finds them. Only a run that begins
/// makes an entry in `runs`, and this one holds the lock.
const STILL: [&str; 4] = ["LOCK", "state.json", ".gitignore", "runs"];
/// The one of them that is a link.
const LINK: &str = "state.json";
/// In the state directory: what is in it changes by the governor's own doing, and checks itself when it is read.
const KEPT: &str = "objects";
/// In the run's directory: what the governor derives from the journal.
const WRITTEN: [&str; 2] = ["receipt.jsonl", "state.json"];

/// Changes further apart than this carry different times: the clock that stamps files ticks at least a hundred times
/// a second.
const TICK_MS: u64 = 100;

/// The last names in a journal: its two newest segments, the lock, the signed checkpoints.
const WRITABLE: usize = 4;

/// The lock of a journal.
const LOCK_NAME: &str = "LOCK";

/// Room for the names of a journal's files; more of them take more calls.
const LISTING_BYTES: usize = 2048;

/// What the governor's own files looked like before the command at work.
#[derive(Debug)]
pub(crate) struct OwnFiles {
    workdir: PathBuf,
    run: RunDir,
    seen: Option<Seen>,
}

#[derive(Debug)]
struct Seen {
    dirs: Dirs,
    /// The state directory: as long as it is the same, so is what each name in it leads to. Nothing when it had
    /// changed shortly before.
    top: Fact,
    still: [Fact; STILL.len()],
    kept: [Fact; 2],
    written: [Fact; WRITTEN.len()],
    /// The journal's directory as of the look that `segments` comes from; nothing when it had changed so shortly
    /// before that another change may carry the same time.
    listed: Fact,
    /// The files of the journal, by name: the oldest segment first, what is none last.
    segments: Vec<(OsString, Fact)>,
    /// Looks taken, by which sealed segments take turns.
    turn: usize,
}

/// The directories that the names are below. `journal` is looked up from `state` on every look.
#[derive(Debug)]
struct Dirs {
    state: OwnedFd,
    state_inode: Option<u64>,
    run: OwnedFd,
    /// Nothing when somebody removed it.
    journal: Option<OwnedFd>,
    /// The way from the state directory to the journal's.
    way: PathBuf,
}

impl OwnFiles {
    pub(super) fn new(workdir: &Path, run: &RunDir) -> Self {
        Self {
            workdir: workdir.to_path_buf(),
            run: run.clone(),
            seen: None,
        }
    }

    /// Notes what the files are like before a command.
    pub(super) fn before(&mut self) {
        match &mut self.seen {
            Some(seen) => seen.renew(),
            none => *none = Dirs::open(&self.workdir, &self.run).ok().map(Seen::all),
        }
    }

    /// Lets the governor replace `state.json` while a command runs, unless somebody else has changed what is derived.
    pub(super) fn derive(&mut self, write: impl FnOnce()) {
        if let Some(seen) = &mut self.seen
            && seen.dirs.written() == seen.written
        {
            write();
            let [_, state] = seen.dirs.written();
            seen.written[1] = state;
        }
    }

    /// Lets the record catch up while a command runs: as [`OwnFiles::derive`], for what has to be written whoever else
    /// did. What somebody has changed by then is found all the same. False when the record cannot be kept.
    pub(super) fn keep_up(&mut self, meanwhile: &mut dyn FnMut(Meanwhile) -> bool) -> bool {
        // The disk may take its time, and none of that passes between the two looks.
        if !meanwhile(Meanwhile::Sync) {
            return false;
        }
        let Some(seen) = &mut self.seen else {
            return meanwhile(Meanwhile::Tell);
        };
        let found = seen.dirs.written();
        let done = meanwhile(Meanwhile::Tell);
        let now = seen.dirs.written();
        for ((was, found), now) in seen.written.iter_mut().zip(found).zip(now) {
            if *was == found {
                *was = now;
            }
        }
        done
    }

    /// What somebody else changed since: one name for all of it when all of it is gone.
    pub(super) fn changed(&mut self) -> Vec<String> {
        let state = Path::new(STATE_DIR);
        let top = fact(stat(self.workdir.join(state)));
        let mut before = self.seen.take();
        if let Some(seen) = &mut before
            && top.is_some_and(|(inode, ..)| Some(inode) == seen.dirs.state_inode)
            && !seen.differs(top)
        {
            self.seen = before;
            return Vec::new();
        }
        if fs::metadata(self.run.path()).is_err() {
            let there = self.workdir.join(state).exists();
            let run = state.join("runs").join(self.run.id().as_str());
            let gone = if there { &run } else { state };
            return vec![format!("{}/ {REMOVED}", gone.display())];
        }
        let after = Dirs::open(&self.workdir, &self.run).ok().map(Seen::all);
        let names = [before, after].map(|seen| seen.map_or_else(Vec::new, |seen| seen.named(&self.run)));
        let [before, after] = names;
        let mut touched = names_that_differ(&before, &after);
        if touched.is_empty() {
            // The same files in other directories.
            touched.push(state.as_os_str().to_os_string());
        }
        touched
            .into_iter()
            .map(|name| Path::new(&name).display().to_string())
            .collect()
    }
}

impl Dirs {
    fn open(workdir: &Path, run: &RunDir) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let way = Path::new("runs").join(run.id().as_str());
        let state = openat(CWD, workdir.join(STATE_DIR), flags, Mode::empty())?;
        let run = openat(&state, &way, flags, Mode::empty())?;
        let journal = openat(&run, "journal", flags, Mode::empty()).ok();
        let way = way.join("journal");
        Ok(Self {
            state_inode: fact(fstat(&state)).map(|(inode, ..)| inode),
            state,
            run,
            journal,
            way,
        })
    }

    fn still(&self) -> [Fact; STILL.len()] {
        STILL.map(|name| fact(statat(&self.state, name, AtFlags::SYMLINK_NOFOLLOW)))
    }

    /// Whether a name below differs that the state directory itself does not tell of.
    fn content_differs(&self, still: &[Fact; STILL.len()]) -> bool {
        let differs = |(name, was): (&str, &Fact)| fact(statat(&self.state, name, AtFlags::SYMLINK_NOFOLLOW)) != *was;
        // A link has no content to write to.
        let mut written = STILL.into_iter().zip(still).filter(|(name, _)| *name != LINK);
        written.any(differs)
    }

    fn kept(&self) -> [Fact; 2] {
        let objects = statat(&self.state, KEPT, AtFlags::SYMLINK_NOFOLLOW);
        [objects, statat(&self.state, &self.way, AtFlags::SYMLINK_NOFOLLOW)].map(inode)
    }

    fn written(&self) -> [Fact; WRITTEN.len()] {
        WRITTEN.map(|name| fact(statat(&self.run, name, AtFlags::SYMLINK_NOFOLLOW)))
    }

    fn journal(&self) -> Fact {
        fact(fstat(self.journal.as_ref()?))
    }

    /// The same, once its next change will have another time.
    fn listed(&self) -> Fact {
        settled(self.journal())
    }

    fn top(&self) -> Fact {
        settled(fact(fstat(&self.state)))
    }

    fn segment(&self, name: &OsStr) -> Fact {
        fact(statat(self.journal.as_ref()?, name, AtFlags::SYMLINK_NOFOLLOW))
    }

    /// The spare segment is filled by the journal's own thread while a command works, and left out.
    fn names(&self) -> Vec<OsString> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let journal = self.journal.as_ref();
        let Some(dir) = journal.and_then(|journal| openat(journal, ".", flags, Mode::empty()).ok()) else {
            return Vec::new();
        };
        let mut buffer = [MaybeUninit::uninit(); LISTING_BYTES];
        let mut listing = RawDir::new(dir.as_fd(), &mut buffer);
        let mut names = Vec::new();
        while let Some(Ok(entry)) = listing.next() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            let lasting = Path::new(name).extension() != Some(OsStr::new("prep"));
            if name != "." && name != ".." && lasting {
                names.push(name.to_os_string());
            }
        }
        names.sort();
        names
    }

    fn segments(&self) -> Vec<(OsString, Fact)> {
        self.named_by(|name| self.segment(name))
    }

    fn named_by(&self, fact: impl Fn(&OsStr) -> Fact) -> Vec<(OsString, Fact)> {
        let names = self.names().into_iter();
        names
            .map(|name| {
                let fact = fact(&name);
                (name, fact)
            })
            .collect()
    }
}

impl Seen {
    fn all(dirs: Dirs) -> Self {
        Self {
            top: dirs.top(),
            still: dirs.still(),
            kept: dirs.kept(),
            written: dirs.written(),
            listed: dirs.listed(),
            segments: dirs.segments(),
            turn: 0,
            dirs,
        }
    }

    /// Looks at what the governor writes before a command.
    fn renew(&mut self) {
        let listed = self.dirs.listed();
        if listed.is_none() || listed != self.listed {
            let known: HashMap<OsString, Fact> = self.segments.drain(..).collect();
            // What was seen of a sealed segment stands until its turn comes.
            let seen = |name: &OsStr| known.get(name).copied().unwrap_or_else(|| self.dirs.segment(name));
            self.segments = self.dirs.named_by(seen);
            self.listed = listed;
        }
        let written = self.segments.iter_mut().rev().take(WRITABLE);
        // The lock is signed when a life begins, and never written again.
        let written = written.filter(|(name, _)| name != LOCK_NAME);
        written.for_each(|(name, fact)| *fact = self.dirs.segment(name));
    }

    /// `top` is what the name of the state directory leads to.
    fn differs(&mut self, top: Fact) -> bool {
        self.turn += 1;
        let dirs = &self.dirs;
        if self.top.is_none() || self.top != top {
            // Before the looks at what is in it: what changes from here on shows next time.
            self.top = dirs.top();
            if dirs.kept() != self.kept || dirs.still() != self.still {
                return true;
            }
        }
        // What its name leads to, which is the directory that was opened or another one.
        let [_, journal] = self.kept;
        let found = fact(statat(&dirs.state, &dirs.way, AtFlags::SYMLINK_NOFOLLOW));
        if found.map(|(inode, ..)| (inode, 0, 0, 0)) != journal {
            return true;
        }
        let listed = self.listed.is_some() && found == self.listed;
        let names_stay = listed || dirs.names().iter().eq(self.segments.iter().map(|(name, _)| name));
        !names_stay
            || self.in_turn().any(|(name, fact)| dirs.segment(name) != *fact)
            || dirs.written() != self.written
            || dirs.content_differs(&self.still)
    }

    /// The files of the journal that may still be written, and one of the sealed ones: a look costs the same however
    /// long the run is.
    fn in_turn(&self) -> impl Iterator<Item = &(OsString, Fact)> {
        let sealed = self.segments.len().saturating_sub(WRITABLE);
        let (sealed, written) = self.segments.split_at(sealed);
        let one = self.turn.checked_rem(sealed.len()).and_then(|turn| sealed.get(turn));
        written.iter().chain(one)
    }

    /// All facts under names as people know them: below the workdir.
    fn named(self, run: &RunDir) -> Vec<(OsString, Fact)> {
        let state = Path::new(STATE_DIR);
        let run = state.join("runs").join(run.id().as_str());
        let journal = run.join("journal");
        let mut named: Vec<(PathBuf, Fact)> = Vec::new();
        named.extend(STILL.iter().map(|name| state.join(name)).zip(self.still));
        named.extend([state.join(KEPT), journal.clone()].into_iter().zip(self.kept));
        named.extend(WRITTEN.iter().map(|name| run.join(name)).zip(self.written));
        named.extend(self.segments.into_iter().map(|(name, fact)| (journal.join(name), fact)));
        named
            .into_iter()
            .map(|(path, fact)| (path.into_os_string(), fact))
            .collect()
    }
}

/// A directory that was changed so long ago that its next change will have another time.
fn settled(seen: Fact) -> Fact {
    let (_, _, second, nanosecond) = seen?;
    let changed_ms = u64::try_from(second).ok()? * 1000 + nanosecond / 1_000_000;
    let settled = clock::stamp().wall_ms > changed_ms.saturating_add(TICK_MS);
    settled.then_some(seen)?
}

fn fact(seen: rustix::io::Result<Stat>) -> Fact {
    let seen = seen.ok()?;
    Some((seen.st_ino, seen.st_size, seen.st_ctime, seen.st_ctime_nsec))
}

fn inode(seen: rustix::io::Result<Stat>) -> Fact {
    fact(seen).map(|(inode, ..)| (inode, 0, 0, 0))
}

fn names_that_differ<T: PartialEq>(before: &[(OsString, T)], after: &[(OsString, T)]) -> Vec<OsString> {
    let missing = |one: &(OsString, T), others: &[(OsString, T)]| !others.contains(one);
    let gone = before.iter().filter(|one| missing(one, after));
    let new = after.iter().filter(|one| missing(one, before));
    let mut names: Vec<_> = gone.chain(new).map(|(name, _)| name.clone()).collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests;
