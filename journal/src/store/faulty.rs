//! A simulated disk: it remembers every operation, can refuse any of them, and can say what may be left
//! after a power cut at any moment.
//!
//! The model is unkind. Until a file is synced, each of its changed sectors is kept or lost on its own,
//! and so is a change of its length; until a folder is synced, each of its names is. A sync that failed
//! leaves the bytes readable and marks them clean, so that no later sync makes them durable.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Hold, MemoryStore, Store};
use crate::batch::SECTOR;

/// One thing that happened to the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    Create {
        name: String,
    },
    Write {
        name: String,
        offset: u64,
        bytes: Vec<u8>,
    },
    SetLen {
        name: String,
        len: u64,
    },
    Sync {
        name: String,
    },
    FailedSync {
        name: String,
    },
    SyncDir {
        folder: String,
    },
    Rename {
        from: String,
        to: String,
    },
    Unlink {
        name: String,
    },
    /// Not an operation: the writer had told its caller that so many events are safe.
    Ack {
        events: u64,
    },
}

/// Which calls fail, counted over all of them from zero.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub call: u64,
    /// Whether every later call fails too.
    pub lasting: bool,
    /// The errno.
    pub errno: i32,
    /// A write leaves its first half behind.
    pub short: bool,
}

#[derive(Debug, Default)]
struct Record {
    ops: Vec<Op>,
    calls: u64,
    fault: Option<Fault>,
}

/// The simulated disk. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct FaultyStore {
    now: MemoryStore,
    record: Arc<Mutex<Record>>,
}

impl FaultyStore {
    /// A disk on which these files are durable.
    pub fn of(files: BTreeMap<String, Vec<u8>>) -> Self {
        Self {
            now: MemoryStore::of(files),
            record: Arc::default(),
        }
    }

    /// Fails calls from now on as `fault` says; the count of calls begins again.
    pub fn inject(&self, fault: Option<Fault>) {
        let mut record = self.record();
        record.calls = 0;
        record.fault = fault;
    }

    /// Calls since the last [`FaultyStore::inject`].
    pub fn calls(&self) -> u64 {
        self.record().calls
    }

    /// Notes that the writer has acknowledged so many events.
    pub fn ack(&self, events: u64) {
        self.record().ops.push(Op::Ack { events });
    }

    /// Everything that happened so far.
    pub fn ops(&self) -> Vec<Op> {
        self.record().ops.clone()
    }

    /// The files as a process sees them, durable or not.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.now.files()
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call; says whether it must fail.
    fn refuse(record: &mut Record) -> Option<Fault> {
        let call = record.calls;
        record.calls += 1;
        record
            .fault
            .filter(|fault| call == fault.call || (fault.lasting && call > fault.call))
    }

    fn call<T>(&self, op: Option<Op>, action: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let mut record = self.record();
        if let Some(fault) = Self::refuse(&mut record) {
            if let Some(Op::Sync { name }) = op {
                record.ops.push(Op::FailedSync { name });
            }
            return Err(io::Error::from_raw_os_error(fault.errno));
        }
        let value = action()?;
        record.ops.extend(op);
        Ok(value)
    }
}

impl Store for FaultyStore {
    fn create(&self, name: &str) -> io::Result<()> {
        let op = Op::Create { name: name.to_owned() };
        self.call(Some(op), || self.now.create(name))
    }

    fn read_at(&self, name: &str, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.call(None, || self.now.read_at(name, offset, into))
    }

    fn write_at(&self, name: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut record = self.record();
        let fault = Self::refuse(&mut record);
        let written = match fault {
            None => bytes,
            Some(Fault { short: true, .. }) => &bytes[..bytes.len() / 2],
            Some(_) => &[],
        };
        if fault.is_none() || !written.is_empty() {
            self.now.write_at(name, offset, written)?;
            record.ops.push(Op::Write {
                name: name.to_owned(),
                offset,
                bytes: written.to_vec(),
            });
        }
        fault.map_or(Ok(()), |fault| Err(io::Error::from_raw_os_error(fault.errno)))
    }

    fn len(&self, name: &str) -> io::Result<u64> {
        self.call(None, || self.now.len(name))
    }

    fn set_len(&self, name: &str, len: u64) -> io::Result<()> {
        let op = Op::SetLen {
            name: name.to_owned(),
            len,
        };
        self.call(Some(op), || self.now.set_len(name, len))
    }

    fn sync(&self, name: &str) -> io::Result<()> {
        let op = Op::Sync { name: name.to_owned() };
        self.call(Some(op), || self.now.sync(name))
    }

    fn sync_dir(&self, folder: &str) -> io::Result<()> {
        let op = Op::SyncDir {
            folder: folder.to_owned(),
        };
        self.call(Some(op), || Ok(()))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let op = Op::Rename {
            from: from.to_owned(),
            to: to.to_owned(),
        };
        self.call(Some(op), || self.now.rename(from, to))
    }

    fn unlink(&self, name: &str) -> io::Result<()> {
        let op = Op::Unlink { name: name.to_owned() };
        self.call(Some(op), || self.now.unlink(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.call(None, || self.now.list())
    }

    fn lock(&self) -> io::Result<Option<Hold>> {
        self.call(None, || self.now.lock())
    }

    fn place(&self) -> String {
        "simulated disk".to_owned()
    }
}

/// What one moment leaves to chance: a number of independent choices, each "kept" or "lost".
#[derive(Clone, Debug, Default)]
pub struct CrashPlan {
    names: BTreeMap<String, usize>,
    current: BTreeMap<String, usize>,
    files: Vec<Inode>,
    moves: Vec<Move>,
    acked: u64,
}

#[derive(Clone, Debug, Default)]
struct Inode {
    durable: Vec<u8>,
    length: usize,
    pending: Vec<Pending>,
}

#[derive(Clone, Debug)]
enum Pending {
    Bytes { at: usize, bytes: Vec<u8> },
    Length(usize),
}

#[derive(Clone, Debug)]
struct Move {
    folder: String,
    from: Option<String>,
    to: Option<(String, usize)>,
}

impl CrashPlan {
    /// The state after `ops`, on a disk that began with `files`.
    pub fn after(files: &BTreeMap<String, Vec<u8>>, ops: &[Op]) -> Self {
        let mut plan = Self::default();
        for (name, bytes) in files {
            plan.names.insert(name.clone(), plan.files.len());
            plan.files.push(Inode {
                durable: bytes.clone(),
                length: bytes.len(),
                pending: Vec::new(),
            });
        }
        plan.current = plan.names.clone();
        for op in ops {
            plan.step(op);
        }
        plan
    }

    /// Goes one operation further.
    pub fn step(&mut self, op: &Op) {
        match op {
            Op::Create { name } => {
                self.files.push(Inode::default());
                let inode = self.files.len() - 1;
                self.current.insert(name.clone(), inode);
                self.relink(name, None, Some((name.clone(), inode)));
            }
            Op::Write { name, offset, bytes } => {
                if let Some(file) = self.file(name) {
                    file.write(*offset as usize, bytes);
                }
            }
            Op::SetLen { name, len } => {
                if let Some(file) = self.file(name) {
                    file.length = *len as usize;
                    file.pending.push(Pending::Length(*len as usize));
                }
            }
            Op::Sync { name } => {
                if let Some(file) = self.file(name) {
                    file.durable = file.kept(&mut |_| true);
                    file.pending.clear();
                }
            }
            Op::FailedSync { name } => {
                if let Some(file) = self.file(name) {
                    file.pending.clear();
                }
            }
            Op::SyncDir { folder } => {
                let moves = std::mem::take(&mut self.moves);
                let (now, later): (Vec<_>, Vec<_>) = moves.into_iter().partition(|step| step.folder == *folder);
                now.iter().for_each(|step| step.apply(&mut self.names));
                self.moves = later;
            }
            Op::Rename { from, to } => {
                if let Some(inode) = self.current.remove(from) {
                    self.current.insert(to.clone(), inode);
                    self.relink(to, Some(from.clone()), Some((to.clone(), inode)));
                }
            }
            Op::Unlink { name } => {
                self.current.remove(name);
                self.relink(name, Some(name.clone()), None);
            }
            Op::Ack { events } => self.acked = *events,
        }
    }

    /// Events that had been acknowledged.
    pub const fn acked(&self) -> u64 {
        self.acked
    }

    /// How many things are left to chance.
    pub fn choices(&self) -> usize {
        self.moves.len() + self.files.iter().map(|file| file.pending.len()).sum::<usize>()
    }

    /// The disk after a power cut in which choice `i` was kept iff `keep(i)`.
    pub fn image(&self, mut keep: impl FnMut(usize) -> bool) -> MemoryStore {
        let mut names = self.names.clone();
        for (i, step) in self.moves.iter().enumerate() {
            if keep(i) {
                step.apply(&mut names);
            }
        }
        let mut first = self.moves.len();
        let mut contents = Vec::with_capacity(self.files.len());
        for file in &self.files {
            contents.push(file.kept(&mut |i| keep(first + i)));
            first += file.pending.len();
        }
        let files = names.into_iter().map(|(name, inode)| (name, contents[inode].clone()));
        MemoryStore::of(files.collect())
    }

    /// Calls `visit` with the disk of every combination of choices, or, when there are more than
    /// `limit` of them, of the telling ones: nothing, everything, every prefix, each alone, all but
    /// each, and random others from `seed`. Says how many there were.
    pub fn images(&self, limit: usize, seed: u64, mut visit: impl FnMut(MemoryStore)) -> usize {
        let bits = self.choices();
        if bits < 24 && 1 << bits <= limit {
            (0..1_usize << bits).for_each(|set| visit(self.image(|i| set >> i & 1 == 1)));
            return 1 << bits;
        }
        let telling = (2 * bits + bits + 1).min(limit);
        for i in 0..telling {
            let (which, at) = (i / bits.max(1), i % bits.max(1));
            visit(self.image(|bit| match which {
                0 => bit < at,
                1 => bit == at,
                2 => bit != at,
                _ => true,
            }));
        }
        let mut random = seed | 1;
        for _ in telling..limit {
            visit(self.image(|_| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                random >> 33 & 1 == 1
            }));
        }
        limit.max(telling)
    }

    fn file(&mut self, name: &str) -> Option<&mut Inode> {
        let inode = *self.current.get(name)?;
        self.files.get_mut(inode)
    }

    fn relink(&mut self, name: &str, from: Option<String>, to: Option<(String, usize)>) {
        let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        self.moves.push(Move { folder, from, to });
    }
}

impl Move {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        if let Some(from) = &self.from {
            names.remove(from);
        }
        if let Some((to, inode)) = &self.to {
            names.insert(to.clone(), *inode);
        }
    }
}

impl Inode {
    fn write(&mut self, offset: usize, bytes: &[u8]) {
        let mut at = offset;
        let mut rest = bytes;
        while !rest.is_empty() {
            let step = (SECTOR - at % SECTOR).min(rest.len());
            let (piece, after) = rest.split_at(step);
            if self.changes(at, piece) {
                self.pending.push(Pending::Bytes {
                    at,
                    bytes: piece.to_vec(),
                });
            }
            (at, rest) = (at + step, after);
        }
        if at > self.length {
            self.length = at;
            self.pending.push(Pending::Length(at));
        }
    }

    /// Whether losing this piece could be noticed.
    fn changes(&self, at: usize, piece: &[u8]) -> bool {
        let same = (0..piece.len()).all(|i| self.durable.get(at + i).copied().unwrap_or(0) == piece[i]);
        let over = |pending: &Pending| match pending {
            Pending::Bytes { at: from, bytes } => *from < at + piece.len() && at < from + bytes.len(),
            Pending::Length(_) => false,
        };
        !same || self.pending.iter().any(over)
    }

    fn kept(&self, keep: &mut dyn FnMut(usize) -> bool) -> Vec<u8> {
        let (mut bytes, mut length) = (self.durable.clone(), self.durable.len());
        for (i, pending) in self.pending.iter().enumerate() {
            match pending {
                _ if !keep(i) => {}
                Pending::Length(to) => length = *to,
                Pending::Bytes { at, bytes: piece } => {
                    if bytes.len() < at + piece.len() {
                        bytes.resize(at + piece.len(), 0);
                    }
                    bytes[*at..at + piece.len()].copy_from_slice(piece);
                }
            }
        }
        bytes.resize(length, 0);
        bytes
    }
}
