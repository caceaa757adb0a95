//! What a zone may use of the network: each cap is checked before anything passes, and the first one passed is the last.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::bell::{Bell, NEVER, Over};
use crate::clock;
use crate::zone::plan::Egress;

/// The caps of a plan, and how much of them is gone.
#[derive(Debug)]
pub(super) struct Budget {
    bell: Arc<Bell>,
    connections_max: u32,
    concurrent_max: u32,
    bytes_max: u64,
    pub(super) idle_ms: u64,
    ends_ms: u64,
    connections: AtomicU32,
    open: AtomicU32,
    bytes: AtomicU64,
}

impl Budget {
    /// The time begins now.
    pub(super) fn new(egress: &Egress, bell: Arc<Bell>) -> Self {
        Self {
            bell,
            connections_max: egress.connections_max,
            concurrent_max: egress.concurrent_max,
            bytes_max: egress.bytes_max,
            idle_ms: egress.idle_ms,
            ends_ms: clock::mono_ms().saturating_add(egress.total_ms),
            connections: AtomicU32::new(0),
            open: AtomicU32::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    /// Counts one more connection, refused ones too: a zone that only knocks is stopped as well.
    pub(super) fn admits(&self) -> bool {
        let before = self.connections.fetch_add(1, Ordering::Relaxed);
        self.holds(before < self.connections_max, Over::Connections) && !self.is_late()
    }

    /// Counts bytes that are about to pass, in either direction.
    pub(super) fn spends(&self, bytes: u64) -> bool {
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.holds(before.saturating_add(bytes) <= self.bytes_max, Over::Bytes)
    }

    /// Whether the time is up for whoever asks.
    pub(super) fn is_late(&self) -> bool {
        !self.holds(self.ends_ms == NEVER || clock::mono_ms() < self.ends_ms, Over::Time)
    }

    /// The earlier of this moment and the end.
    pub(super) fn within(&self, until_ms: u64) -> u64 {
        until_ms.min(self.ends_ms)
    }

    /// A place among those that may be open at once.
    pub(super) fn place(self: &Arc<Self>) -> Option<Place> {
        let is_free = |open: u32| (open < self.concurrent_max).then_some(open + 1);
        self.open
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_free)
            .ok()?;
        Some(Place(Arc::clone(self)))
    }

    fn holds(&self, holds: bool, cap: Over) -> bool {
        if !holds {
            self.bell.raise(cap);
        }
        holds
    }
}

/// One connection among those that are open; free again when dropped.
#[derive(Debug)]
pub(super) struct Place(Arc<Budget>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(egress: &Egress) -> (Arc<Bell>, Arc<Budget>) {
        let bell = Arc::new(Bell::new().unwrap());
        (Arc::clone(&bell), Arc::new(Budget::new(egress, bell)))
    }

    fn egress() -> Egress {
        Egress {
            allow: Vec::new(),
            connections_max: 2,
            concurrent_max: 1,
            bytes_max: 10,
            idle_ms: NEVER,
            total_ms: NEVER,
            gateway: None,
        }
    }

    #[test]
    fn the_connection_beyond_the_cap_rings() {
        let (bell, budget) = budget(&egress());
        assert!(budget.admits() && budget.admits());
        assert_eq!(bell.over(), None);
        assert!(!budget.admits());
        assert_eq!(bell.over(), Some(Over::Connections));
    }

    #[test]
    fn the_byte_beyond_the_cap_rings_before_it_passes() {
        let (bell, budget) = budget(&egress());
        assert!(budget.spends(4) && budget.spends(6));
        assert_eq!(bell.over(), None);
        assert!(!budget.spends(1));
        assert_eq!(bell.over(), Some(Over::Bytes));
    }

    #[test]
    fn the_time_rings_when_somebody_asks_after_it() {
        let (bell, budget) = budget(&Egress {
            total_ms: 0,
            ..egress()
        });
        assert_eq!(bell.over(), None);
        assert!(!budget.admits());
        assert_eq!(bell.over(), Some(Over::Time));
        assert!(budget.within(NEVER) < NEVER);
    }

    #[test]
    fn a_place_is_free_again_when_its_holder_is_gone() {
        let (bell, budget) = budget(&egress());
        let place = budget.place();
        assert!(place.is_some() && budget.place().is_none());
        drop(place);
        assert!(budget.place().is_some());
        assert_eq!(bell.over(), None);
    }
}
