//! Work shared between the threads of one walk.
//!
//! Each thread keeps its own stack and gives half of it away when another is idle, so a walk of a small
//! tree costs next to nothing in locking.

use std::sync::PoisonError;

use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Condvar, Mutex, MutexGuard};

struct Shared<T> {
    jobs: Vec<T>,
    working: usize,
    stopped: bool,
}

/// A pool of jobs that ends when no thread has or can get any.
pub(crate) struct Queue<T> {
    shared: Mutex<Shared<T>>,
    changed: Condvar,
    idle: AtomicUsize,
}

impl<T> Queue<T> {
    /// A queue for this many threads, all of which must call [`Self::work`].
    pub(crate) fn new(first: T, threads: usize) -> Self {
        let shared = Shared {
            jobs: vec![first],
            working: threads,
            stopped: false,
        };
        Self {
            shared: Mutex::new(shared),
            changed: Condvar::new(),
            idle: AtomicUsize::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared<T>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does jobs until there are none left anywhere; `step` pushes the jobs that follow from one. An error
    /// stops every thread.
    pub(crate) fn work<E>(&self, mut step: impl FnMut(T, &mut Vec<T>) -> Result<(), E>) -> Result<(), E> {
        let _guard = StopOnPanic(self);
        let mut mine = Vec::new();
        while let Some(job) = self.take(&mut mine) {
            if let Err(error) = step(job, &mut mine) {
                self.lock().stopped = true;
                self.changed.notify_all();
                return Err(error);
            }
            if mine.len() > 1 && self.idle.load(Ordering::Relaxed) > 0 {
                self.share(&mut mine);
            }
        }
        Ok(())
    }

    /// Gives away the older half: those jobs are the ones with more beneath them.
    fn share(&self, mine: &mut Vec<T>) {
        let half = mine.len() / 2;
        self.lock().jobs.extend(mine.drain(..half));
        self.changed.notify_all();
    }

    /// Says that one of the announced threads will not come.
    pub(crate) fn leave(&self) {
        self.lock().working -= 1;
        self.changed.notify_all();
    }

    fn take(&self, mine: &mut Vec<T>) -> Option<T> {
        if let Some(job) = mine.pop() {
            return Some(job);
        }
        let mut shared = self.lock();
        shared.working -= 1;
        self.idle.fetch_add(1, Ordering::Relaxed);
        loop {
            if shared.stopped {
                return None;
            }
            if let Some(job) = shared.jobs.pop() {
                shared.working += 1;
                self.idle.fetch_sub(1, Ordering::Relaxed);
                return Some(job);
            }
            if shared.working == 0 {
                // This thread is among the idle ones, which wait or have left under this lock.
                if self.idle.load(Ordering::Relaxed) > 1 {
                    self.changed.notify_all();
                }
                return None;
            }
            shared = self.changed.wait(shared).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A thread that panics would otherwise be waited for for ever.
struct StopOnPanic<'a, T>(&'a Queue<T>);

impl<T> Drop for StopOnPanic<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().stopped = true;
            self.0.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::{Ordering, Queue};

    #[test]
    fn every_job_is_done_once_by_any_number_of_threads() {
        for threads in 1..4 {
            let queue = Queue::new(12u32, threads);
            let done = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| {
                        queue.work::<()>(|depth, more| {
                            done.fetch_add(1, Ordering::Relaxed);
                            if depth > 0 {
                                more.extend([depth - 1, depth - 1]);
                            }
                            Ok(())
                        })
                    });
                }
            });
            assert_eq!(done.into_inner(), (1 << 13) - 1);
        }
    }

    #[test]
    fn an_error_ends_every_thread() {
        let queue = Queue::new((), 2);
        let step = |(), more: &mut Vec<()>| {
            more.extend([(), ()]);
            Err::<(), _>("stop")
        };
        let (one, two) = std::thread::scope(|scope| {
            let other = scope.spawn(|| queue.work(step));
            (queue.work(step), other.join().unwrap())
        });
        assert!(one.is_err() || two.is_err());
    }
}
