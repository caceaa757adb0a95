//! What must hold whatever the order. A thread that waits for ever is found by loom itself.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use loom::thread;

use crate::bell::{Bell, Over};
use crate::budget::Budget;
use crate::queue::Queue;
use crate::zone::plan::Egress;

/// Threads of one walk, the calling one among them, over a binary tree of jobs: each job is done once, and all end.
pub fn a_walk(depth: u32, threads: usize) {
    let queue = Arc::new(Queue::new(depth, threads));
    let done = Arc::new(AtomicU32::new(0));
    let work = {
        let (queue, done) = (Arc::clone(&queue), Arc::clone(&done));
        move || {
            let step = |depth: u32, more: &mut Vec<u32>| {
                done.fetch_add(1, Ordering::Relaxed);
                if depth > 0 {
                    more.extend([depth - 1, depth - 1]);
                }
                Ok::<(), ()>(())
            };
            assert_eq!(queue.work(step), Ok(()));
        }
    };
    together(threads, &work);
    assert_eq!(done.load(Ordering::Relaxed), (2 << depth) - 1, "jobs done");
}

/// One job fails. Somebody says so, nobody waits for the jobs that are left, and none is begun after all have ended.
pub fn a_walk_that_fails(threads: usize) {
    let queue = Arc::new(Queue::new(1, threads));
    let failed = Arc::new(AtomicU32::new(0));
    let work = {
        let (queue, failed) = (Arc::clone(&queue), Arc::clone(&failed));
        move || {
            let step = |depth: u32, more: &mut Vec<u32>| match depth {
                0 => Err(()),
                _ => {
                    more.extend([depth - 1, depth - 1]);
                    Ok(())
                }
            };
            if queue.work(step).is_err() {
                failed.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    together(threads, &work);
    assert!((1..=2).contains(&failed.load(Ordering::Relaxed)));
}

/// A thread that the system did not give takes nobody's work with it.
pub fn a_walk_with_a_thread_too_few() {
    let queue = Arc::new(Queue::new(1_u32, 2));
    let other = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || queue.leave())
    };
    let mut done = 0;
    let step = |depth: u32, more: &mut Vec<u32>| {
        done += 1;
        more.extend((0..depth).map(|_| depth - 1));
        Ok::<(), ()>(())
    };
    assert_eq!(queue.work(step), Ok(()));
    assert!(other.join().is_ok());
    assert_eq!(done, 2);
}

/// Two threads, one connection too many: it is refused, and has rung.
pub fn connections_up_to_a_cap() {
    let (bell, budget) = budget();
    let admitted = Arc::new(AtomicU32::new(0));
    let connect = {
        let admitted = Arc::clone(&admitted);
        move || {
            if budget.admits() {
                admitted.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    together(2, &connect);
    assert_eq!(admitted.load(Ordering::Relaxed), CONNECTIONS_MAX, "connections");
    assert_eq!(bell.over(), Some(Over::Connections));
}

/// Bytes of two threads: none passes beyond the cap, and whoever is refused has rung.
pub fn bytes_up_to_a_cap() {
    let (bell, budget) = budget();
    let [passed, refused] = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
    let pass = {
        let (passed, refused) = (Arc::clone(&passed), Arc::clone(&refused));
        move || {
            for bytes in [3, 4] {
                let counted = if budget.spends(bytes) { &passed } else { &refused };
                counted.fetch_add(bytes, Ordering::Relaxed);
            }
        }
    };
    together(2, &pass);
    let [passed, refused] = [passed, refused].map(|counted| counted.load(Ordering::Relaxed));
    assert!(
        passed <= BYTES_MAX && passed + refused == 14,
        "{passed} passed, {refused} refused"
    );
    assert_eq!(bell.over(), Some(Over::Bytes));
}

/// Places come back: never more than may be open at once, and none is lost.
pub fn places_at_once() {
    let (bell, budget) = budget();
    let open = Arc::new(AtomicU32::new(0));
    let visit = {
        let (budget, open) = (std::sync::Arc::clone(&budget), Arc::clone(&open));
        move || {
            let Some(place) = budget.place() else { return };
            assert!(open.fetch_add(1, Ordering::SeqCst) < CONCURRENT_MAX, "open at once");
            open.fetch_sub(1, Ordering::SeqCst);
            drop(place);
        }
    };
    together(3, &visit);
    let all: Vec<_> = std::iter::from_fn(|| budget.place()).collect();
    assert_eq!(all.len(), CONCURRENT_MAX as usize, "places in the end");
    assert_eq!(bell.over(), None, "who finds no place waits");
}

const CONNECTIONS_MAX: u32 = 1;
const CONCURRENT_MAX: u32 = 1;
const BYTES_MAX: u64 = 10;

fn budget() -> (std::sync::Arc<Bell>, std::sync::Arc<Budget>) {
    let egress = Egress {
        connections_max: CONNECTIONS_MAX,
        concurrent_max: CONCURRENT_MAX,
        bytes_max: BYTES_MAX,
        idle_ms: 0,
        total_ms: u64::MAX,
    };
    let bell = std::sync::Arc::new(Bell::default());
    (
        std::sync::Arc::clone(&bell),
        std::sync::Arc::new(Budget::new(&egress, bell)),
    )
}

/// The same in this many threads, of which the calling one is one.
fn together(threads: usize, work: &(impl Fn() + Clone + Send + 'static)) {
    let others: Vec<_> = (1..threads).map(|_| thread::spawn(work.clone())).collect();
    work();
    for other in others {
        assert!(other.join().is_ok());
    }
}
