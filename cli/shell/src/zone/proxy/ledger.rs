//! What passed and what was refused, summed by place and answer: as many rows as a journal can bear, whatever a zone
//! does (SPEC 14.4.4).

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Mutex, PoisonError};

use crate::zone::report::Connection;

/// Rows for what was allowed, and again for what was not: refusals cannot crowd out what passed.
pub(super) const ROWS_MAX: usize = 64;
/// The reason of a row for everything beyond.
const MORE: &str = "more";

/// Why a connection was refused or cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    NotListed,
    /// Asked for in plain HTTP, which no entry lets through to there.
    PlainNotListed,
    /// A credential that would have gone to a public address in plain HTTP.
    SecretInPlain,
    Private,
    Sni,
    NotTls,
    Malformed,
    Cap,
    Unreachable,
    /// The far side of a gateway is not who it should be.
    Certificate,
    /// An answer would have brought the key into the zone.
    Key,
}

impl Reason {
    /// As records say it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::NotListed => "not_listed",
            Self::PlainNotListed => "plain_not_listed",
            Self::SecretInPlain => "secret_in_plain",
            Self::Private => "private",
            Self::Sni => "sni",
            Self::NotTls => "not_tls",
            Self::Malformed => "malformed",
            Self::Cap => "cap",
            Self::Unreachable => "unreachable",
            Self::Certificate => "certificate",
            Self::Key => "key_in_answer",
        }
    }
}

/// Bytes of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Passed {
    /// Into the zone.
    pub(super) inward: u64,
    /// Out of it.
    pub(super) outward: u64,
}

/// The sums of one zone.
#[derive(Debug, Default)]
pub(super) struct Ledger(Mutex<Rows>);

#[derive(Debug, Default)]
struct Rows {
    allowed: BTreeMap<Key, Sum>,
    refused: BTreeMap<Key, Sum>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    host: String,
    port: u16,
    reason: &'static str,
}

#[derive(Debug, Default)]
struct Sum {
    connections: u32,
    passed: Passed,
}

impl Ledger {
    /// Adds a connection that is over.
    pub(super) fn note(&self, host: &str, port: u16, refused: Option<Reason>, passed: Passed) {
        let key = Key {
            host: host.to_owned(),
            port,
            reason: refused.map_or("", Reason::name),
        };
        // Sums are whole after every step: what a thread left that broke can be read on.
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = if refused.is_some() {
            &mut rows.refused
        } else {
            &mut rows.allowed
        };
        let is_known = rows.contains_key(&key) || rows.len() < ROWS_MAX;
        rows.entry(if is_known { key } else { Key::more() })
            .or_default()
            .add(passed);
    }

    /// Hands over the rows: what was allowed, then what was refused, each by name.
    pub(super) fn take(&self) -> Vec<Connection> {
        let rows = mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let said = |allowed| move |(key, sum): (Key, Sum)| sum.said(key, allowed);
        let refused = rows.refused.into_iter().map(said(false));
        rows.allowed.into_iter().map(said(true)).chain(refused).collect()
    }
}

impl Key {
    fn more() -> Self {
        Self {
            host: String::new(),
            port: 0,
            reason: MORE,
        }
    }
}

impl Sum {
    fn add(&mut self, passed: Passed) {
        self.connections = self.connections.saturating_add(1);
        self.passed.inward = self.passed.inward.saturating_add(passed.inward);
        self.passed.outward = self.passed.outward.saturating_add(passed.outward);
    }

    fn said(self, key: Key, allowed: bool) -> Connection {
        Connection {
            host: key.host,
            port: key.port,
            allowed,
            reason: key.reason.to_owned(),
            connections: self.connections,
            bytes_in: self.passed.inward,
            bytes_out: self.passed.outward,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_to_one_place_with_one_answer_are_one_row() {
        let ledger = Ledger::default();
        let passed = Passed { inward: 2, outward: 3 };
        ledger.note("a.test", 443, None, passed);
        ledger.note("a.test", 443, None, passed);
        ledger.note("a.test", 443, Some(Reason::Sni), Passed::default());
        ledger.note("a.test", 444, None, passed);
        let rows = ledger.take();
        let shown: Vec<_> = rows
            .iter()
            .map(|row| (row.port, row.allowed, &*row.reason, row.connections))
            .collect();
        assert_eq!(shown, [(443, true, "", 2), (444, true, "", 1), (443, false, "sni", 1)]);
        assert_eq!((rows[0].bytes_in, rows[0].bytes_out), (4, 6));
        assert_eq!(ledger.take(), []);
    }

    #[test]
    fn rows_are_bounded_and_lose_no_connection() {
        let ledger = Ledger::default();
        for number in 0..1_000 {
            ledger.note(
                &format!("{number}.test"),
                443,
                Some(Reason::NotListed),
                Passed::default(),
            );
        }
        ledger.note("a.test", 443, None, Passed { inward: 1, outward: 1 });
        let rows = ledger.take();
        assert_eq!(rows.len(), ROWS_MAX + 2);
        assert_eq!(rows.iter().map(|row| row.connections).sum::<u32>(), 1_001);
        assert!(rows[0].allowed && rows[0].host == "a.test", "crowded out");
        let more: Vec<_> = rows.iter().filter(|row| row.reason == "more").collect();
        assert_eq!((more.len(), &*more[0].host, more[0].connections), (1, "", 936));
    }
}
