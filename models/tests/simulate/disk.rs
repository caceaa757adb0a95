//! The real journal on a simulated disk: calls that fail, power cuts that keep any choice of what was not
//! synced, and, as a mode of its own, syncs that lie.

use std::sync::Arc;

use engine::event::Event;
use engine::event::id::Digest;
use journal::store::{CrashPlan, Fault, FaultyStore, Op};
use journal::{Journal, Layout, MemoryStore, OpenOptions, Recovery, VerifyOptions, Writer};
use models::sim::Dice;

use crate::life::Died;
use crate::memory::Refused;

/// Segments of a few blocks, built in the same thread.
const SMALL: Layout = Layout {
    first_bytes: 16 << 10,
    max_bytes: 32 << 10,
    background: false,
};

const GOING_ON: OpenOptions = OpenOptions {
    layout: SMALL,
    expect_head: None,
};

/// No room, and a broken device.
const ERRNOS: [i32; 2] = [28, 5];

pub(crate) struct Disk {
    store: FaultyStore,
    /// What lay on the disk when the store was made.
    before: MemoryStore,
    writer: Option<Writer>,
    lies: bool,
    /// Operations up to the last sync that was believed.
    believed: usize,
    head: Digest,
}

/// What a disk gave back.
pub(crate) struct Found {
    pub(crate) events: Vec<Event>,
    /// Less than it had said.
    pub(crate) betrayed: bool,
}

impl Disk {
    pub(crate) fn new(lies: bool) -> Self {
        let store = FaultyStore::default();
        let writer = Journal::create_in(Arc::new(store.clone()), "simulated", SMALL).unwrap();
        Self {
            believed: store.ops().len(),
            store,
            before: MemoryStore::default(),
            writer: Some(writer),
            lies,
            head: Digest::ZERO,
        }
    }

    /// An empty one of the same kind.
    pub(crate) fn fresh(&self) -> Self {
        Self::new(self.lies)
    }

    pub(crate) fn append(&mut self, event: &Event) -> Result<(), Died> {
        let writer = self.writer.as_mut().ok_or(Died)?;
        writer.append(event).map(drop).map_err(|_| Died)
    }

    pub(crate) fn write(&mut self) -> Result<(), Died> {
        self.writer.as_mut().ok_or(Died)?.write().map_err(|_| Died)
    }

    pub(crate) fn sync(&mut self) -> Result<(), Died> {
        let durable = self.writer.as_mut().ok_or(Died)?.commit().map_err(|_| Died)?;
        self.believed = self.store.ops().len();
        self.head = durable.head;
        Ok(())
    }

    /// Writes what would have been synced; a power cut anywhere in it is still to come.
    pub(crate) fn tear(&mut self) {
        let _ = self.writer.as_mut().map(Writer::commit);
    }

    pub(crate) fn calm_down(&mut self) {
        self.store.inject(None);
    }

    /// The disk as the death left it, and a new writer on it, unless the record is refused.
    pub(crate) fn reopen(&mut self, dice: &mut Dice, durable: usize) -> Result<Found, Refused> {
        self.writer = None;
        self.power_cut(dice);
        let betrayed = self.notices(durable)?;
        // A governor may die while it repairs, and the next one begins with what that left.
        for _ in 0..dice.below(3) {
            if self.take_over().is_ok() && !self.lies {
                self.writer = None;
                self.power_cut(dice);
            }
        }
        self.take_over()?;
        let events = self.read()?;
        if !betrayed && events.len() < durable {
            return Err(Refused::Broken(format!(
                "{durable} events were durable and {} are left",
                events.len()
            )));
        }
        if dice.chance(5) {
            let fault = Fault {
                call: dice.below(60),
                lasting: dice.chance(50),
                errno: dice.pick(&ERRNOS).unwrap_or(5),
                short: dice.chance(50),
            };
            self.store.inject(Some(fault));
        }
        Ok(Found { events, betrayed })
    }

    /// Half of the deaths are the process's alone: what it wrote is there.
    fn power_cut(&mut self, dice: &mut Dice) {
        let left = if dice.chance(50) && !self.lies {
            MemoryStore::of(self.store.files())
        } else {
            let mut ops = self.store.ops();
            let open = (ops.len() - self.believed) as u64;
            ops.truncate(self.believed + usize::try_from(dice.below(open + 1)).unwrap());
            if self.lies {
                ops.retain(|op| !matches!(op, Op::Sync { .. } | Op::SyncDir { .. }) || dice.chance(60));
            }
            CrashPlan::after(&self.before.files(), &ops).image(|_| dice.chance(60))
        };
        self.store = FaultyStore::of(left.files());
        self.before = left;
        self.believed = 0;
    }

    /// Whoever remembers the head sees that a disk gave back less than it had said.
    fn notices(&self, durable: usize) -> Result<bool, Refused> {
        let known = (durable > 0).then_some(self.head);
        let seen = Journal::inspect_in(Arc::new(self.before.copy()), known);
        match seen {
            Ok(Recovery::Clean | Recovery::TornTail { .. }) => Ok(false),
            _ if self.lies => Ok(true),
            other => Err(Refused::Broken(format!("an honest disk: {other:?}"))),
        }
    }

    fn take_over(&mut self) -> Result<(), Refused> {
        match Journal::open_write_in(Arc::new(self.store.clone()), &GOING_ON) {
            Ok((writer, _)) => {
                self.believed = self.store.ops().len();
                self.writer = Some(writer);
                Ok(())
            }
            Err(_) if self.lies => Err(Refused::Betrayed),
            Err(error) => Err(Refused::Broken(format!("an honest disk: {error}"))),
        }
    }

    fn read(&self) -> Result<Vec<Event>, Refused> {
        let broken = |error: journal::Error| Refused::Broken(format!("what was taken over is readable: {error}"));
        let reader = Journal::open_read_in(Arc::new(self.store.clone())).map_err(broken)?;
        let events = reader.events().map(|item| item.map(|(_, event)| event));
        events.collect::<Result<_, _>>().map_err(broken)
    }

    /// At the end the journal is intact and holds exactly these events. A lying disk may have lost what nobody reads.
    pub(crate) fn holds(&self, events: &[Event]) -> Result<(), String> {
        if self.lies {
            return Ok(());
        }
        let files = MemoryStore::of(self.store.files());
        let verdict = journal::verify(&files, &VerifyOptions::default(), None).map_err(|error| error.to_string())?;
        if let Some(defect) = verdict.defect {
            return Err(format!("the journal has a defect: {defect:?}"));
        }
        let reader = Journal::open_read_in(Arc::new(files)).map_err(|error| error.to_string())?;
        let whole = reader.events().map_while(Result::ok).map(|(_, event)| event);
        match whole.eq(events.iter().cloned()) {
            true => Ok(()),
            false => Err("the journal holds something else than was recorded".into()),
        }
    }
}
