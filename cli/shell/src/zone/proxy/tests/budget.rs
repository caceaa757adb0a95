//! What a zone may use of the network, one thread at a time; `models/threads` has them at once.

use std::sync::Arc;

use super::super::bell::{Bell, NEVER, Over};
use super::super::budget::Budget;
use crate::zone::plan::Egress;

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
