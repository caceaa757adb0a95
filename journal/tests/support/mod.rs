//! What the tests of the journal share: events, stores, one small layout, how much is asked of them.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::print_stdout)]

use std::sync::Arc;

use engine::event::Event;
use engine::event::id::{Digest, PhaseName, Stamp};
use engine::event::iteration::{RestoreEnded, RetryScheduled};
use engine::event::run::{InterruptCause, Interrupted};
use journal::{Journal, Layout, Reader, Store};

/// Segments of a few blocks, built in the same thread, so that everything is quick and repeatable.
pub const SMALL: Layout = Layout {
    first_bytes: 16 << 10,
    max_bytes: 32 << 10,
    background: false,
};

/// How many of something a test goes through: what the variable says, or as usual. `tests/prove` asks for more.
pub fn asked(variable: &str, usual: usize) -> usize {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap(),
        Err(_) => usual,
    }
}

/// Says what a test went through; `tests/prove` collects these lines.
pub fn figure(text: &str) {
    println!("figure: {text}");
}

/// The event number `i` of any test; sizes differ.
pub fn event(i: u64) -> Event {
    let iteration = u32::try_from(i).unwrap();
    match i % 3 {
        0 => RetryScheduled {
            iteration,
            attempt: 1,
            delay_ms: i * 7,
        }
        .into(),
        1 => Interrupted {
            at: Stamp {
                wall_ms: 1_700_000_000_000 + i,
                mono_ms: i,
            },
            iteration,
            phase: PhaseName::Execute,
            attempt: 2,
            cause: InterruptCause::Crash,
        }
        .into(),
        _ => RestoreEnded {
            at: Stamp { wall_ms: i, mono_ms: i },
            iteration,
            attempt: 1,
            to: Digest([u8::try_from(i % 251).unwrap(); 32]),
            written: i,
            removed: 0,
            saved: Digest([9; 32]),
            error: "x".repeat(usize::try_from(i % 5).unwrap() * 97),
        }
        .into(),
    }
}

/// An event with a payload of about so many bytes.
pub fn large(bytes: usize) -> Event {
    match event(2) {
        Event::RestoreEnded(fact) => RestoreEnded {
            error: "y".repeat(bytes),
            ..Arc::unwrap_or_clone(fact)
        }
        .into(),
        other => other,
    }
}

pub fn reader(store: &(impl Store + Clone + 'static)) -> journal::Result<Reader> {
    Journal::open_read_in(Arc::new(store.clone()))
}

/// All events, or the error that ended them.
pub fn contents(store: &(impl Store + Clone + 'static)) -> journal::Result<Vec<Event>> {
    let items: journal::Result<Vec<(u64, Event)>> = reader(store)?.events().collect();
    Ok(items?.into_iter().map(|(_, event)| event).collect())
}

/// The first `n` events of any test.
pub fn events(n: u64) -> Vec<Event> {
    (0..n).map(event).collect()
}
