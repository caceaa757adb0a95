//! Each store behind the same three calls. Each keeps a sequence number, a kind and the payload, in one durable
//! transaction a commit, set up as its own documentation says for that.

use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use engine::event::Event;
use fjall::{Database as FjallDatabase, Keyspace, KeyspaceCreateOptions, PersistMode};
use journal::{Journal, Writer};
use redb::{Database as RedbDatabase, ReadableDatabase, ReadableTable, TableDefinition};
use rusqlite::Connection;

use crate::Failure;

pub trait Store {
    fn name(&self) -> &'static str;
    /// Makes a batch durable, or hands it over if that is how this store is measured.
    fn commit(&mut self, batch: &[Event]) -> Result<(), Failure>;
    /// Waits until everything is durable.
    fn settle(&mut self) -> Result<(), Failure> {
        Ok(())
    }
    /// Decodes every event in order and gives their number.
    fn read(&mut self) -> Result<u64, Failure>;
}

/// The two bytes of the kind, then the payload; all kinds have version 1.
fn encode(event: &Event, out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&event.kind().to_be_bytes());
    event.encode(out);
}

fn decode(bytes: &[u8]) -> Result<(), Failure> {
    let (kind, payload) = bytes.split_first_chunk().ok_or("a record has no kind")?;
    drop(black_box(Event::decode(u16::from_be_bytes(*kind), 1, payload)));
    Ok(())
}

/// What no store can be faster than: the bytes of the journal's batch over zeros, and a sync.
pub struct Floor {
    file: File,
    at: u64,
    buffer: Vec<u8>,
}

impl Floor {
    const BYTES: u64 = 64 << 20;

    pub fn new(path: &Path, batch: &[Event]) -> Result<Self, Failure> {
        let file = OpenOptions::new().create(true).truncate(true).write(true).open(path)?;
        let zeros = vec![0; 1 << 20];
        for at in (0..Self::BYTES).step_by(1 << 20) {
            file.write_all_at(&zeros, at)?;
        }
        file.sync_all()?;
        let mut payloads = Vec::new();
        batch.iter().for_each(|event| event.encode(&mut payloads));
        let live = journal::batch::HEADER_BYTES + batch.len() * journal::frame::HEADER_BYTES + payloads.len();
        let buffer = vec![0xA5; live.next_multiple_of(journal::batch::BLOCK)];
        Ok(Self { file, at: 0, buffer })
    }
}

impl Store for Floor {
    fn name(&self) -> &'static str {
        "floor: write and sync"
    }

    fn commit(&mut self, _: &[Event]) -> Result<(), Failure> {
        if self.at + self.buffer.len() as u64 > Self::BYTES {
            self.at = 0;
        }
        self.file.write_all_at(&self.buffer, self.at)?;
        self.at += self.buffer.len() as u64;
        Ok(self.file.sync_data()?)
    }

    fn read(&mut self) -> Result<u64, Failure> {
        Ok(0)
    }
}

/// The journal of loopexec.
pub struct Chain {
    writer: Writer,
    dir: PathBuf,
    behind: bool,
}

impl Chain {
    pub fn new(dir: &Path, behind: bool) -> Result<Self, Failure> {
        Ok(Self {
            writer: Journal::create(dir, "compare")?,
            dir: dir.to_owned(),
            behind,
        })
    }
}

impl Store for Chain {
    fn name(&self) -> &'static str {
        if self.behind { "journal, handed over" } else { "journal" }
    }

    fn commit(&mut self, batch: &[Event]) -> Result<(), Failure> {
        self.writer.append_all(batch)?;
        match self.behind {
            true => self.writer.commit_behind()?,
            false => self.writer.commit()?,
        };
        Ok(())
    }

    fn settle(&mut self) -> Result<(), Failure> {
        self.writer.commit()?;
        Ok(())
    }

    fn read(&mut self) -> Result<u64, Failure> {
        Ok(Journal::open_read(&self.dir)?.fold(|_, event| {
            black_box(event);
        })?)
    }
}

/// SQLite: write-ahead log, `synchronous` full.
pub struct Lite {
    connection: Connection,
    seq: i64,
    buffer: Vec<u8>,
}

impl Lite {
    pub fn new(path: &Path) -> Result<Self, Failure> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, event BLOB NOT NULL)", ())?;
        Ok(Self {
            connection,
            seq: 0,
            buffer: Vec::new(),
        })
    }
}

impl Store for Lite {
    fn name(&self) -> &'static str {
        "SQLite, WAL, FULL"
    }

    fn commit(&mut self, batch: &[Event]) -> Result<(), Failure> {
        let transaction = self.connection.transaction()?;
        let mut insert = transaction.prepare_cached("INSERT INTO events VALUES (?1, ?2)")?;
        for event in batch {
            encode(event, &mut self.buffer);
            insert.execute((self.seq, &self.buffer))?;
            self.seq += 1;
        }
        drop(insert);
        Ok(transaction.commit()?)
    }

    fn read(&mut self) -> Result<u64, Failure> {
        let mut select = self
            .connection
            .prepare_cached("SELECT event FROM events ORDER BY seq")?;
        let mut rows = select.query(())?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            decode(row.get_ref(0)?.as_blob()?)?;
            count += 1;
        }
        Ok(count)
    }
}

/// redb: its default durability, immediate.
pub struct Redb {
    database: RedbDatabase,
    seq: u64,
    buffer: Vec<u8>,
}

impl Redb {
    const TABLE: TableDefinition<'static, u64, &'static [u8]> = TableDefinition::new("events");

    pub fn new(path: &Path) -> Result<Self, Failure> {
        Ok(Self {
            database: RedbDatabase::create(path)?,
            seq: 0,
            buffer: Vec::new(),
        })
    }
}

impl Store for Redb {
    fn name(&self) -> &'static str {
        "redb, immediate"
    }

    fn commit(&mut self, batch: &[Event]) -> Result<(), Failure> {
        let transaction = self.database.begin_write()?;
        let mut table = transaction.open_table(Self::TABLE)?;
        for event in batch {
            encode(event, &mut self.buffer);
            table.insert(self.seq, self.buffer.as_slice())?;
            self.seq += 1;
        }
        drop(table);
        Ok(transaction.commit()?)
    }

    fn read(&mut self) -> Result<u64, Failure> {
        let transaction = self.database.begin_read()?;
        let mut count = 0;
        for item in transaction.open_table(Self::TABLE)?.iter()? {
            decode(item?.1.value())?;
            count += 1;
        }
        Ok(count)
    }
}

/// fjall: one batch a commit, `fdatasync` each.
pub struct Fjall {
    database: FjallDatabase,
    events: Keyspace,
    seq: u64,
    buffer: Vec<u8>,
}

impl Fjall {
    pub fn new(path: &Path) -> Result<Self, Failure> {
        let database = FjallDatabase::builder(path).open()?;
        let events = database.keyspace("events", KeyspaceCreateOptions::default)?;
        Ok(Self {
            database,
            events,
            seq: 0,
            buffer: Vec::new(),
        })
    }
}

impl Store for Fjall {
    fn name(&self) -> &'static str {
        "fjall, SyncData"
    }

    fn commit(&mut self, batch: &[Event]) -> Result<(), Failure> {
        let mut write = self.database.batch().durability(Some(PersistMode::SyncData));
        for event in batch {
            encode(event, &mut self.buffer);
            write.insert(&self.events, self.seq.to_be_bytes(), self.buffer.as_slice());
            self.seq += 1;
        }
        Ok(write.commit()?)
    }

    fn read(&mut self) -> Result<u64, Failure> {
        let mut count = 0;
        for item in self.events.iter() {
            decode(&item.into_inner()?.1)?;
            count += 1;
        }
        Ok(count)
    }
}
