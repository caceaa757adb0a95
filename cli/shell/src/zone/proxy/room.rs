//! What all threads of one proxy share.

use std::io;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rustix::event::PollFlags;

use super::address::Reach;
use super::allow::{AllowList, Scope};
use super::bell::{Bell, Woken};
use super::budget::Budget;
use super::gateway::Gateway;
use super::ledger::Ledger;
use super::names::{Names, Resolve, join};
use crate::zone::plan::Egress;

/// Where an address leads, as the proxy judges it.
pub(super) type Judge = fn(IpAddr) -> Reach;

pub(super) struct Room {
    pub(super) list: AllowList,
    pub(super) gateway: Option<Gateway>,
    pub(super) bell: Arc<Bell>,
    pub(super) budget: Arc<Budget>,
    pub(super) ledger: Ledger,
    pub(super) names: Names,
    judge: Judge,
    visitors: Mutex<Vec<JoinHandle<()>>>,
}

impl Room {
    pub(super) fn new(
        list: AllowList,
        gateway: Option<Gateway>,
        egress: &Egress,
        resolver: Box<dyn Resolve>,
        judge: Judge,
    ) -> io::Result<Self> {
        let bell = Arc::new(Bell::new()?);
        Ok(Self {
            list,
            gateway,
            budget: Arc::new(Budget::new(egress, Arc::clone(&bell))),
            bell,
            ledger: Ledger::default(),
            names: Names::new(resolver),
            judge,
            visitors: Mutex::default(),
        })
    }

    /// As [`Bell::wait`], and rings when the time of the zone is up.
    pub(super) fn wait(&self, sources: &[(BorrowedFd<'_>, PollFlags)], until_ms: u64) -> Woken {
        match self.bell.wait(sources, self.budget.within(until_ms)) {
            Woken::Over => Woken::Over,
            _ if self.budget.is_late() => Woken::Over,
            woken => woken,
        }
    }

    /// Whether a target of this scope may be at this address.
    pub(super) fn is_in(&self, scope: Scope, address: IpAddr) -> bool {
        match (self.judge)(address) {
            Reach::Public => true,
            Reach::Near => scope == Scope::Local,
            Reach::Never => false,
        }
    }

    /// Whether a plain request may bear a secret to this address.
    pub(super) fn is_near(&self, address: IpAddr) -> bool {
        (self.judge)(address) == Reach::Near
    }

    /// Whether requests are read here, and not only the wish for a tunnel.
    pub(super) fn reads_requests(&self) -> bool {
        self.gateway.is_some() || self.list.has_plain()
    }

    /// Keeps the thread of a connection, and lets go of those that have ended.
    pub(super) fn keep(&self, visitor: JoinHandle<()>) {
        let mut visitors = self.visitors.lock().unwrap_or_else(PoisonError::into_inner);
        join(visitors.extract_if(.., |visitor| visitor.is_finished()));
        visitors.push(visitor);
    }

    /// Waits for all threads, once the bell has rung and nobody is let in any more.
    pub(super) fn close(&self) {
        let visitors = std::mem::take(&mut *self.visitors.lock().unwrap_or_else(PoisonError::into_inner));
        join(visitors.into_iter());
        self.names.close();
    }
}
