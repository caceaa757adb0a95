//! The rule, on bytes that no writer of today leaves behind.

use super::*;
use crate::batch::{self, Purpose};
use crate::segment::Identity;

/// A segment whose first batch was never written and whose second one says how many were synced before it.
fn behind_a_lost_batch(durable_batches: u64) -> Tail {
    let segment = Header {
        identity: Identity::new("run-1").unwrap(),
        number: 0,
        size_bytes: 1 << 20,
        first_batch: 0,
        epoch: 1,
        previous: Digest::ZERO,
        head: Head::default(),
        peaks: Peaks::default(),
        table: Vec::new(),
    };
    let second = batch::Header {
        purpose: Purpose::Events,
        origin: segment.identity.origin(),
        segment: 0,
        epoch: 1,
        ordinal: 1,
        first_seq: 1,
        durable_events: 0,
        durable_batches,
        count: 1,
        live_bytes: 400,
        nonzero_sectors: 1,
        head: Digest::ZERO,
        before: Digest::ZERO,
    };
    let mut bytes = vec![0; 3 * BLOCK];
    bytes[2 * BLOCK..][..batch::HEADER_BYTES].copy_from_slice(&second.encode());
    judge(&Scan::new(&bytes, &segment), &Problem::Zero)
}

#[test]
fn a_lost_batch_is_damage_once_a_later_one_knows_it_synced_and_torn_before() {
    assert!(matches!(behind_a_lost_batch(0), Tail::Torn(_)));
    assert!(matches!(behind_a_lost_batch(1), Tail::Corrupt(_)));
}
