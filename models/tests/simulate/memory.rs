//! What a run recorded, and what of it is left after a death.

use engine::event::Event;
use models::sim::Dice;

use crate::disk::{Disk, Found};
use crate::life::Died;

/// The record of a run: in memory alone, or on a simulated disk as well.
pub(crate) struct Memory {
    events: Vec<Event>,
    /// So many of them survive a power cut.
    durable: usize,
    /// So many of them survive the death of a process.
    written: usize,
    disk: Option<Disk>,
    fresh: bool,
    betrayed: bool,
}

/// Why a record cannot be gone on with.
pub(crate) enum Refused {
    /// The disk had lied, and that was noticed.
    Betrayed,
    Broken(String),
}

impl Memory {
    pub(crate) fn new(disk: Option<Disk>) -> Self {
        Self {
            events: Vec::new(),
            durable: 0,
            written: 0,
            disk,
            fresh: true,
            betrayed: false,
        }
    }

    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    /// What a new governor may count on.
    pub(crate) fn durable(&self) -> &[Event] {
        &self.events[..self.durable]
    }

    pub(crate) fn disk(&self) -> Option<&Disk> {
        self.disk.as_ref()
    }

    pub(crate) fn into_events(self) -> Vec<Event> {
        self.events
    }

    /// Nobody has opened it yet.
    pub(crate) fn is_fresh(&self) -> bool {
        self.fresh
    }

    pub(crate) fn is_durable(&self) -> bool {
        self.durable == self.events.len()
    }

    pub(crate) fn is_written(&self) -> bool {
        self.written == self.events.len()
    }

    pub(crate) fn was_betrayed(&self) -> bool {
        self.betrayed
    }

    pub(crate) fn append(&mut self, event: &Event) -> Result<(), Died> {
        self.fresh = false;
        self.events.push(event.clone());
        self.disk.as_mut().map_or(Ok(()), |disk| disk.append(event))
    }

    pub(crate) fn write(&mut self) -> Result<(), Died> {
        if let Some(disk) = &mut self.disk {
            disk.write()?;
        }
        self.written = self.events.len();
        Ok(())
    }

    pub(crate) fn sync(&mut self) -> Result<(), Died> {
        if let Some(disk) = &mut self.disk {
            disk.sync()?;
        }
        self.written = self.events.len();
        self.durable = self.events.len();
        Ok(())
    }

    /// Dies in the middle of a sync: the batch is there or it is not.
    pub(crate) fn tear(&mut self, dice: &mut Dice) {
        match &mut self.disk {
            Some(disk) => disk.tear(),
            None if dice.chance(50) => self.durable = self.events.len(),
            None => {}
        }
    }

    /// No call fails any more.
    pub(crate) fn calm_down(&mut self) {
        if let Some(disk) = &mut self.disk {
            disk.calm_down();
        }
    }

    /// A run that was lost before its first event was durable is begun anew.
    pub(crate) fn begin_again(&mut self) {
        (self.durable, self.written) = (0, 0);
        if let Some(disk) = &mut self.disk {
            *disk = disk.fresh();
        }
    }

    /// What a new governor finds.
    pub(crate) fn reopen(&mut self, dice: &mut Dice) -> Result<(), Refused> {
        let Some(disk) = &mut self.disk else {
            // Half of the deaths are the process's alone.
            if dice.chance(50) {
                self.durable = self.durable.max(self.written);
            }
            self.events.truncate(self.durable);
            self.written = self.durable;
            return Ok(());
        };
        let found = match disk.reopen(dice, self.durable) {
            Ok(Found { events, betrayed }) => {
                self.betrayed |= betrayed;
                events
            }
            Err(refused) => {
                self.betrayed |= matches!(refused, Refused::Betrayed);
                return Err(refused);
            }
        };
        if !self.events.starts_with(&found) {
            return Err(Refused::Broken("the journal holds what was never recorded".into()));
        }
        (self.durable, self.written) = (found.len(), found.len());
        self.events = found;
        Ok(())
    }
}
