//! What a zone may use of the network: each cap is checked before anything passes, and the first one passed is the last.

use std::sync::Arc;

use super::bell::{Bell, NEVER, Over};
use crate::clock;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
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
