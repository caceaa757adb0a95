//! The record of a life: the journal, the watchers, the projections.
//!
//! Watchers and projections are told of an event only after it is on disk. They are derived: when one cannot
//! be written, the run goes on and says so.

use engine::event::Event;
use engine::event::id::{Digest, PhaseName};
use engine::{Effect, State};
use journal::{Keys, Writer};

use super::anchor::Anchors;
use super::projection::Projections;
use super::{Life, RunError, Watch};
use crate::driver::Record;
use crate::lock::StateLock;
use crate::world::late::Late;

pub(super) struct Ledger<'w> {
    /// Taken only while a lost journal is being put back.
    writer: Option<Writer>,
    anchors: Anchors,
    /// A command has run since the journal was last seen in its place.
    suspect: bool,
    /// Held as long as this life records.
    lock: StateLock,
    projections: Projections,
    watch: &'w mut dyn Watch,
    /// Appended, and not yet told.
    waiting: Vec<(u64, Event)>,
    events: u64,
    head: Digest,
    warnings: Vec<String>,
}

impl<'w> Ledger<'w> {
    pub(super) fn new(
        writer: Writer,
        lock: StateLock,
        life: &Life,
        watch: &'w mut dyn Watch,
    ) -> Result<Self, RunError> {
        let tip = writer.tip();
        Ok(Self {
            events: tip.size,
            head: tip.leaf,
            writer: Some(writer),
            anchors: Anchors::new(life.run.clone()),
            suspect: false,
            lock,
            projections: Projections::new(&life.state_dir, &life.run),
            watch,
            waiting: Vec::new(),
            warnings: Vec::new(),
        })
    }

    /// The first event of a run.
    pub(super) fn begin(&mut self, state: &State, event: &Event) -> Result<(), RunError> {
        self.watch.opened(self.anchors.run(), state);
        self.append(event)?;
        self.publish(state)?;
        self.link();
        Ok(())
    }

    /// Makes everything appended durable and tells of it, where no command of the loop follows that it is told during.
    pub(super) fn publish(&mut self, state: &State) -> Result<(), RunError> {
        self.sync(state)?;
        self.catch_up(state)
    }

    /// A run that goes on.
    pub(super) fn reopen(&mut self, state: &State) {
        self.watch.opened(self.anchors.run(), state);
        self.link();
    }

    fn link(&mut self) {
        if let Some(why) = self.projections.link() {
            self.warn(why);
        }
    }

    /// What of the projections waits for a command that lasts.
    pub(super) fn late(&self) -> Late {
        self.projections.late.clone()
    }

    pub(super) fn events(&self) -> u64 {
        self.events
    }

    pub(super) fn head(&self) -> Digest {
        self.head
    }

    pub(super) fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    pub(super) fn into_warnings(self) -> Vec<String> {
        self.warnings
    }

    fn writer(&mut self) -> Result<&mut Writer, RunError> {
        self.writer.as_mut().ok_or(RunError::Illegal {
            seq: self.events,
            why: "the journal was lost".into(),
        })
    }

    /// Signs what was recorded and lets watchers know of all of it.
    pub(super) fn seal(&mut self, state: &State, keys: Option<&Keys>) -> Result<(), RunError> {
        self.publish(state)?;
        let digest = self.projections.digest(state);
        self.writer()?.seal(digest, keys)?;
        Ok(())
    }

    /// Puts a journal back that somebody removed under the running governor.
    fn rescue(&mut self) -> Result<(), RunError> {
        // Its lock goes with the writer.
        self.writer = None;
        if !self.lock.still_guards() {
            self.lock = self.anchors.lock_anew()?;
        }
        let writer = self.anchors.put_back()?;
        // What was gathered went with the old writer.
        let writer = self.writer.insert(writer);
        for (_, event) in &self.waiting {
            writer.append(event)?;
        }
        self.warn("the journal was removed while the run was under way; it was put back".into());
        Ok(())
    }
}

/// Whether the governor's files may have been touched as far as the answer to a command tells.
fn was_touched(event: &Event) -> bool {
    match event {
        Event::ExecuteEnded(ended) => !ended.interference.is_empty(),
        Event::CheckEnded(ended) => !ended.interference.is_empty(),
        _ => true,
    }
}

impl Record for Ledger<'_> {
    type Error = RunError;

    fn append(&mut self, event: &Event) -> Result<(), RunError> {
        if std::mem::take(&mut self.suspect) && was_touched(event) && self.anchors.lost() {
            self.rescue()?;
        }
        let seq = self.writer()?.append(event)?;
        self.events = seq + 1;
        self.waiting.push((seq, event.clone()));
        Ok(())
    }

    fn write(&mut self, _: &State) -> Result<(), RunError> {
        Ok(self.writer()?.write()?)
    }

    fn sync(&mut self, state: &State) -> Result<(), RunError> {
        let writer = self.writer()?;
        writer.write()?;
        writer.sync()?;
        if state.phase.name() != PhaseName::Check {
            // Before a command may remove them.
            self.anchors.hold();
        }
        Ok(())
    }

    fn catch_up(&mut self, state: &State) -> Result<(), RunError> {
        let durable = self.writer()?.commit()?;
        self.head = durable.head;
        let behind = self.writer()?.receipt_error().map(ToString::to_string);
        if let Some(why) = behind {
            self.warn(format!("receipt.jsonl is behind the journal: {why}"));
        }
        // Once an iteration, with the beginning of the work, and at every end: the journal says the rest.
        if state.phase.name() != PhaseName::Check {
            if let Some(why) = self.projections.refresh(state, self.events, self.head) {
                self.warn(why);
            }
        } else {
            self.projections.follow(self.events, self.head);
        }
        for (seq, event) in self.waiting.drain(..) {
            self.watch.event(seq, &event);
        }
        Ok(())
    }

    fn running_out(&mut self) -> Option<String> {
        self.writer.as_mut()?.spare_error().map(str::to_owned)
    }

    fn announce(&mut self, effect: &Effect) {
        self.suspect = effect.runs_a_command();
        self.watch.effect(effect);
    }
}
