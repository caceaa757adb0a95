//! Seeing the whole tree, in this process and at the price of one `lstat` a file.
//!
//! ```text
//! Dir   open, compare signature --same--> Warm: lstat each known file, rehash what moved
//!            |                  --else--> list, classify by the ignore rules --> Cold: reuse or hash
//!            +--> one Dir job for each subdirectory
//! ```
//!
//! The walk only reads the state of the previous scan; what it found differently is the [`Haul`], which
//! [`super::state`] applies. Nothing here asks git what changed, and no link is followed.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;

use super::beneath::{open_dir_at, sig_at};
use super::cache::Remembered;
use super::error::TreeError;
use super::listing::{CacheDir, Dir, Name, SkipReason, Slot, Sorted, list, sort};
use super::manifest::Kind;
use super::path::{join, split};
use super::pins::Pins;
use super::queue::Queue;
use super::read::{Look, buffer, look_at};
use super::rules::{Rules, read_ignore_file};
use super::stat::{Now, Sig};

/// Files of one directory that are looked at in one go; more are split between threads.
const CHUNK: usize = 512;
/// Trees with fewer directories are walked by one thread.
const WORTH_A_THREAD: usize = 32;

/// What a walk compares with.
pub(crate) struct Walk<'a> {
    pub(crate) dirs: &'a HashMap<Vec<u8>, Dir>,
    pub(crate) remembered: &'a Remembered,
    pub(crate) pins: &'a Pins,
    pub(crate) cache_dirs: &'a [CacheDir],
    /// The state directory, relative to the workdir, when it lies beneath it.
    pub(crate) state: Option<&'a [u8]>,
    /// The workdir relative to the top of the repository; empty when they are the same.
    pub(crate) prefix: &'a [u8],
    pub(crate) now: Now,
    /// The signature of the root, taken after `now`, which holds for its device.
    pub(crate) top: Sig,
}

/// What one thread found.
#[derive(Default)]
pub(crate) struct Haul {
    /// Every directory that was there.
    pub(crate) visited: Vec<Vec<u8>>,
    /// Directories listed anew; their files are in `cold`.
    pub(crate) listed: Vec<(Vec<u8>, Dir)>,
    pub(crate) cold: Vec<(Vec<u8>, Vec<Slot>)>,
    /// Known files that are not what they were: directory, index, and the file as it is now.
    pub(crate) warm: Vec<(Vec<u8>, usize, Option<Slot>)>,
    pub(crate) unstable: Vec<Vec<u8>>,
}

enum Job {
    Dir {
        path: Vec<u8>,
        parent: Arc<OwnedFd>,
        rules: Arc<Rules>,
    },
    Warm {
        path: Vec<u8>,
        fd: Arc<OwnedFd>,
        from: usize,
    },
    Cold {
        path: Vec<u8>,
        fd: Arc<OwnedFd>,
        files: Vec<(CString, Kind)>,
        now: Now,
    },
}

/// One thread's buffers and findings. The buffers are made when something is read: mostly nothing is.
#[derive(Default)]
struct Worker {
    haul: Haul,
    bytes: OnceCell<Vec<u8>>,
    names: OnceCell<Vec<MaybeUninit<u8>>>,
}

impl Worker {
    fn bytes(&mut self) -> &mut [u8] {
        self.bytes.get_or_init(buffer);
        self.bytes.get_mut().map_or(&mut [], Vec::as_mut_slice)
    }

    fn names(&mut self) -> &mut [MaybeUninit<u8>] {
        self.names.get_or_init(|| vec![MaybeUninit::uninit(); 64 * 1024]);
        self.names.get_mut().map_or(&mut [], Vec::as_mut_slice)
    }
}

impl Walk<'_> {
    /// Walks everything beneath `root`; one haul a thread.
    pub(crate) fn run(&self, root: Arc<OwnedFd>, rules: Arc<Rules>, threads: usize) -> Result<Vec<Haul>, TreeError> {
        let small = !self.dirs.is_empty() && self.dirs.len() < WORTH_A_THREAD;
        let threads = if small { 1 } else { threads.max(1) };
        let queue = Queue::new(
            Job::Dir {
                path: Vec::new(),
                parent: root,
                rules,
            },
            threads,
        );
        if threads == 1 {
            return Ok(vec![self.work(&queue)?]);
        }
        std::thread::scope(|scope| {
            let helpers: Vec<_> = (1..threads)
                .filter_map(|_| {
                    let helper = std::thread::Builder::new().spawn_scoped(scope, || self.work(&queue));
                    // Without a helper the walk is slower, not different.
                    helper.inspect_err(|_| queue.leave()).ok()
                })
                .collect();
            let mut hauls = vec![self.work(&queue)];
            for helper in helpers {
                match helper.join() {
                    Ok(haul) => hauls.push(haul),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            hauls.into_iter().collect()
        })
    }

    fn work(&self, queue: &Queue<Job>) -> Result<Haul, TreeError> {
        let mut worker = Worker::default();
        queue.work(|job, more| match job {
            Job::Dir { path, parent, rules } => self.dir(path, &parent, rules, &mut worker, more),
            Job::Warm { path, fd, from } => self.warm(&path, &fd, from, &mut worker),
            Job::Cold { path, fd, files, now } => self.cold(path, fd.as_fd(), files, now, &mut worker),
        })?;
        Ok(worker.haul)
    }

    fn dir(
        &self,
        path: Vec<u8>,
        parent: &Arc<OwnedFd>,
        rules: Arc<Rules>,
        worker: &mut Worker,
        more: &mut Vec<Job>,
    ) -> Result<(), TreeError> {
        let (fd, sig) = match self.enter(&path, parent) {
            Ok(entered) => entered,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                worker.haul.unstable.push(path);
                return Ok(());
            }
            Err(errno) => return Err(TreeError::reading(&path, errno)),
        };
        match self
            .dirs
            .get(&path)
            .filter(|known| self.still_good(known, &path, sig, &rules, fd.as_fd()))
        {
            Some(known) => {
                self.subdirs(&path, &known.subdirs, &fd, &known.rules, more);
                let chunks = (CHUNK..known.files.len()).step_by(CHUNK);
                more.extend(chunks.map(|from| Job::Warm {
                    path: path.clone(),
                    fd: fd.clone(),
                    from,
                }));
                self.warm(&path, &fd, 0, worker)?;
            }
            None => self.list_anew(&path, sig, &fd, rules, worker, more)?,
        }
        worker.haul.visited.push(path);
        Ok(())
    }

    /// Opens a directory from the one above; the root is open.
    fn enter(&self, path: &[u8], parent: &Arc<OwnedFd>) -> Result<(Arc<OwnedFd>, Sig), Errno> {
        if path.is_empty() {
            return Ok((parent.clone(), self.top));
        }
        let fd = open_dir_at(parent.as_fd(), split(path).1)?;
        let sig = Sig::of(&rustix::fs::fstat(&fd)?);
        Ok((Arc::new(fd), sig))
    }

    /// The time as it counts in a directory on this device.
    fn now_on(&self, device: u64) -> Now {
        if device == self.top.dev {
            self.now
        } else {
            self.now.elsewhere()
        }
    }

    /// True when the names in a known directory, and what is made of them, are what they were.
    fn still_good(&self, known: &Dir, path: &[u8], sig: Sig, rules: &Arc<Rules>, fd: BorrowedFd<'_>) -> bool {
        known.settled
            && known.sig == sig
            && Arc::ptr_eq(&known.parent_rules, rules)
            && (known.skip != Some(SkipReason::NestedRepository) || !self.pins.any_beneath(path))
            && known
                .ignore_file
                .is_none_or(|(was, settled)| settled && sig_at(fd, ".gitignore").is_ok_and(|is| is == Some(was)))
    }

    fn subdirs(&self, path: &[u8], names: &[CString], fd: &Arc<OwnedFd>, rules: &Arc<Rules>, more: &mut Vec<Job>) {
        more.extend(names.iter().map(|name| Job::Dir {
            path: join(path, name.to_bytes()),
            parent: fd.clone(),
            rules: rules.clone(),
        }));
    }

    fn list_anew(
        &self,
        path: &[u8],
        sig: Sig,
        fd: &Arc<OwnedFd>,
        parent_rules: Arc<Rules>,
        worker: &mut Worker,
        more: &mut Vec<Job>,
    ) -> Result<(), TreeError> {
        let now = self.now_on(sig.dev);
        let names = match path {
            // The root stays open, and a descriptor is listed once.
            b"" => open_dir_at(fd.as_fd(), ".").and_then(|once| list(once.as_fd(), worker.names())),
            _ => list(fd.as_fd(), worker.names()),
        };
        let names = names.map_err(|e| TreeError::reading(path, e))?;
        let rules_dir = join(self.prefix, path);
        let rules_dir = rules_dir.strip_suffix(b"/").unwrap_or(&rules_dir);
        let (rules, ignore_file) = self.rules_of(path, rules_dir, &names, &parent_rules, fd.as_fd(), now);
        let skip = self.skip(path, &names);
        let hidden = self
            .state
            .map(split)
            .filter(|(dir, _)| *dir == path)
            .map(|(_, name)| name);
        let sorted = match skip {
            Some(_) => Sorted::default(),
            None => sort(names, &rules, rules_dir, hidden),
        };
        self.subdirs(path, &sorted.subdirs, fd, &rules, more);
        let mut files = sorted.files;
        while !files.is_empty() {
            let rest = files.split_off(files.len().min(CHUNK));
            more.push(Job::Cold {
                path: path.to_vec(),
                fd: fd.clone(),
                files,
                now,
            });
            files = rest;
        }
        let dir = Dir {
            sig,
            settled: sig.settled(now),
            parent_rules,
            rules,
            ignore_file,
            files: Vec::new(),
            subdirs: sorted.subdirs,
            ignored: sorted.ignored,
            specials: sorted.specials,
            skip,
        };
        worker.haul.listed.push((path.to_vec(), dir));
        Ok(())
    }

    /// The rules within a directory: compiled anew only when the text of its ignore file is another one.
    fn rules_of(
        &self,
        path: &[u8],
        rules_dir: &[u8],
        names: &[Name],
        parent: &Arc<Rules>,
        fd: BorrowedFd<'_>,
        now: Now,
    ) -> (Arc<Rules>, Option<(Sig, bool)>) {
        if names
            .binary_search_by(|n| n.name.to_bytes().cmp(b".gitignore"))
            .is_err()
        {
            return (parent.clone(), None);
        }
        let Some((sig, text)) = read_ignore_file(fd) else {
            let sig = sig_at(fd, ".gitignore").ok().flatten();
            return (parent.clone(), sig.map(|sig| (sig, sig.settled(now))));
        };
        let known = self
            .dirs
            .get(path)
            .map(|dir| &dir.rules)
            .filter(|rules| rules.is_within(parent, &text));
        (
            known.cloned().unwrap_or_else(|| parent.within(rules_dir, text)),
            Some((sig, sig.settled(now))),
        )
    }

    fn skip(&self, path: &[u8], names: &[Name]) -> Option<SkipReason> {
        let has = |wanted: &[u8]| names.binary_search_by(|n| n.name.to_bytes().cmp(wanted)).is_ok();
        if path.is_empty() {
            return None;
        }
        if has(b".git") && !self.pins.any_beneath(path) {
            return Some(SkipReason::NestedRepository);
        }
        let name = split(path).1;
        let cache = self.cache_dirs.iter().filter(|c| c.name == name);
        let is_cache = cache
            .into_iter()
            .any(|c| c.markers.is_empty() || c.markers.iter().any(|m| has(m)));
        is_cache.then_some(SkipReason::CacheDirectory)
    }

    /// Looks at the known files of a directory whose names are what they were.
    fn warm(&self, path: &[u8], fd: &OwnedFd, from: usize, worker: &mut Worker) -> Result<(), TreeError> {
        let Some(dir) = self.dirs.get(path) else { return Ok(()) };
        for (index, slot) in dir.files.iter().enumerate().skip(from).take(CHUNK) {
            let sig = sig_at(fd.as_fd(), slot.name.as_c_str());
            let sig = sig.map_err(|e| TreeError::reading(&join(path, slot.name.to_bytes()), e))?;
            if sig == Some(slot.sig) && slot.settled {
                continue;
            }
            let slot_now = self.hash(path, fd.as_fd(), &slot.name, self.now, worker)?;
            if slot_now.is_none() {
                worker.haul.unstable.push(join(path, slot.name.to_bytes()));
            }
            worker.haul.warm.push((path.to_vec(), index, slot_now));
        }
        Ok(())
    }

    /// Looks at files of a directory that was listed anew, reusing what is known of them.
    fn cold(
        &self,
        path: Vec<u8>,
        fd: BorrowedFd<'_>,
        files: Vec<(CString, Kind)>,
        now: Now,
        worker: &mut Worker,
    ) -> Result<(), TreeError> {
        let known = self.dirs.get(&path);
        let mut slots = Vec::with_capacity(files.len());
        for (name, _) in files {
            let file = join(&path, name.to_bytes());
            let sig = sig_at(fd, name.as_c_str()).map_err(|e| TreeError::reading(&file, e))?;
            let slot = match sig.and_then(|sig| self.reuse(known, &file, &name, sig)) {
                Some(slot) => Some(slot),
                None => self.hash(&path, fd, &name, now, worker)?,
            };
            match slot {
                Some(slot) => slots.push(slot),
                None => worker.haul.unstable.push(file),
            }
        }
        worker.haul.cold.push((path, slots));
        Ok(())
    }

    fn reuse(&self, known: Option<&Dir>, file: &[u8], name: &CString, sig: Sig) -> Option<Slot> {
        let in_memory = known
            .and_then(|dir| dir.slot(name))
            .filter(|slot| slot.settled && slot.sig == sig);
        in_memory.cloned().or_else(|| {
            let digest = self.remembered.digest(file, &sig)?;
            Some(Slot {
                name: name.clone(),
                kind: sig.kind()?,
                sig,
                digest,
                settled: true,
            })
        })
    }

    fn hash(
        &self,
        path: &[u8],
        fd: BorrowedFd<'_>,
        name: &CString,
        now: Now,
        worker: &mut Worker,
    ) -> Result<Option<Slot>, TreeError> {
        match look_at(fd, name, worker.bytes()) {
            Ok(Look::Gone) => Ok(None),
            Ok(Look::Seen(seen)) => {
                if !seen.stable {
                    worker.haul.unstable.push(join(path, name.to_bytes()));
                }
                let settled = seen.stable && seen.sig.settled(now);
                Ok(Some(Slot {
                    name: name.clone(),
                    kind: seen.kind,
                    sig: seen.sig,
                    digest: seen.digest,
                    settled,
                }))
            }
            Err(errno) => Err(TreeError::reading(&join(path, name.to_bytes()), errno)),
        }
    }
}
