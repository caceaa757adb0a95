//! Names into addresses: once for each connection, outside of the zone, and never for longer than a while.
//!
//! The system's own look-up cannot be called off. It therefore runs in a thread of its own that holds no descriptor of
//! the proxy, so that one which hangs keeps nothing but itself.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, select};

use super::bell::{Bell, Over};

/// How long a connection waits for its address.
const LOOKUP_LIMIT: Duration = Duration::from_secs(10);
/// How long the end waits for look-ups that nobody waits for any more.
const FAREWELL_LIMIT: Duration = Duration::from_secs(2);
/// Look-ups that may hang at once; beyond them a name is not found.
const HANGING_MAX: usize = 64;

/// Knows the addresses of names.
pub trait Resolve: Send + Sync {
    /// All addresses of a host, the best first.
    ///
    /// # Errors
    /// When the name is unknown or nobody can be asked.
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// What the machine itself uses.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        Ok((host, 0).to_socket_addrs()?.map(|found| found.ip()).collect())
    }
}

type Answer = io::Result<Vec<IpAddr>>;

/// The look-ups of one zone.
pub(super) struct Names {
    resolver: Arc<dyn Resolve>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Each thread holds one; none left, and all are done.
    at_work: Mutex<Option<Sender<Infallible>>>,
    all_done: Receiver<Infallible>,
}

impl Names {
    pub(super) fn new(resolver: Box<dyn Resolve>) -> Self {
        let (at_work, all_done) = bounded(0);
        Self {
            resolver: resolver.into(),
            threads: Mutex::default(),
            at_work: Mutex::new(Some(at_work)),
            all_done,
        }
    }

    /// The addresses of a host; none when it has none, or it takes too long, or the bell rings.
    pub(super) fn look_up(&self, host: &str, bell: &Bell) -> Vec<IpAddr> {
        let Some(answer) = self.ask(host) else {
            return Vec::new();
        };
        select! {
            recv(answer) -> found => match found {
                Ok(found) => found.unwrap_or_default(),
                // It went without a word: it broke.
                Err(_) => {
                    bell.raise(Over::Lost);
                    Vec::new()
                }
            },
            recv(bell.rung()) -> _ => Vec::new(),
            default(LOOKUP_LIMIT) => Vec::new(),
        }
    }

    fn ask(&self, host: &str) -> Option<Receiver<Answer>> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        join(threads.extract_if(.., |thread| thread.is_finished()));
        if threads.len() >= HANGING_MAX {
            return None;
        }
        let at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let (resolver, host) = (Arc::clone(&self.resolver), host.to_owned());
        let (tell, answer) = bounded(1);
        let look = move || {
            let _at_work = at_work;
            let _nobody_waits_any_more = tell.send(resolver.resolve(&host));
        };
        threads.push(Builder::new().name("egress-name".to_owned()).spawn(look).ok()?);
        Some(answer)
    }

    /// Waits a while for the threads, and lets go of one that hangs.
    pub(super) fn close(&self) {
        drop(self.at_work.lock().unwrap_or_else(PoisonError::into_inner).take());
        let are_done =
            self.all_done.recv_timeout(FAREWELL_LIMIT) == Err(crossbeam_channel::RecvTimeoutError::Disconnected);
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        join(threads.drain(..).filter(|thread| are_done || thread.is_finished()));
    }
}

/// Waits for threads that are at their end. One that broke has been noticed by whoever waited for its word.
pub(super) fn join(threads: impl Iterator<Item = JoinHandle<()>>) {
    for thread in threads {
        let _ = thread.join();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    struct Hangs(Receiver<Infallible>);

    impl Resolve for Hangs {
        fn resolve(&self, _: &str) -> Answer {
            let _ended = self.0.recv();
            Ok(Vec::new())
        }
    }

    struct Breaks;

    impl Resolve for Breaks {
        fn resolve(&self, _: &str) -> Answer {
            panic!("on purpose")
        }
    }

    #[test]
    fn the_system_knows_this_machine() {
        let found = SystemResolver.resolve("localhost").unwrap();
        assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback));
    }

    #[test]
    fn a_look_up_that_hangs_holds_up_neither_the_bell_nor_the_end() {
        let (hold, held) = bounded(0);
        let names = Names::new(Box::new(Hangs(held)));
        let bell = Bell::new().unwrap();
        thread::scope(|scope| {
            let waits = scope.spawn(|| names.look_up("a.test", &bell));
            bell.ring();
            assert_eq!(waits.join().unwrap(), Vec::<IpAddr>::new());
        });
        names.close();
        assert_eq!(bell.over(), None);
        drop(hold);
    }

    #[test]
    fn look_ups_that_hang_are_bounded() {
        let (hold, held) = bounded(0);
        let names = Names::new(Box::new(Hangs(held)));
        let asked = (0..HANGING_MAX + 1).filter_map(|_| names.ask("a.test")).count();
        assert_eq!(asked, HANGING_MAX);
        drop(hold);
        names.close();
        assert!(names.ask("a.test").is_none(), "asked after the end");
    }

    #[test]
    fn a_resolver_that_breaks_is_a_loss() {
        let names = Names::new(Box::new(Breaks));
        let bell = Bell::new().unwrap();
        assert_eq!(names.look_up("a.test", &bell), Vec::<IpAddr>::new());
        assert_eq!(bell.over(), Some(Over::Lost));
        names.close();
    }
}
