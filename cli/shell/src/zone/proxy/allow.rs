//! What may be connected to: the list of a plan, read once and never changed (SPEC 14.4.2, 14.4.3).
//!
//! ```text
//!   model.test:443           this name and this port
//!   *.model.test:443         every name below, at any depth; not `model.test` itself
//!   local:box.corp:8080      this name, though its address is private
//!   local:127.0.0.1:8080     this private address
//!   http://mirror.test:80    requests in plain HTTP to this name and port, and no tunnel
//!   local:http://box:8080    as before, to a private address
//! ```

use std::error::Error;
use std::fmt;
use std::net::IpAddr;

use super::address::{Reach, reach};
use super::host::{self, Host};

/// What opens an entry for private addresses.
pub(super) const LOCAL: &str = "local:";
/// What makes it one for plain requests.
const PLAIN: &str = "http://";

/// Why a list cannot be used. Nothing is allowed by a list that cannot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowError {
    /// There is no entry.
    Empty,
    /// An entry that means nothing, or more than its author can have meant.
    Entry { entry: String, why: &'static str },
}

impl fmt::Display for AllowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str(
                "the allow list for connections is empty; name what may be reached as `host:port`, or give the zone no network",
            ),
            Self::Entry { entry, why } => write!(f, "`{}` in the allow list for connections: {why}", entry.escape_debug()),
        }
    }
}

impl Error for AllowError {}

/// What may be connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowList(Vec<Entry>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    whom: Whom,
    port: u16,
    local: bool,
    speech: Speech,
}

/// In what a client speaks to a target: what is listed for one is not listed for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speech {
    /// CONNECT, and whatever goes through it.
    Tunnel,
    /// Requests of HTTP, which the proxy reads.
    Plain,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Whom {
    Name(String),
    /// Whatever ends with this, its first character the dot.
    Below(String),
    Address(IpAddr),
}

/// How far a target that is listed may lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// To public addresses, in TLS.
    Public,
    /// To private ones too, and in plain text.
    Local,
}

impl AllowList {
    /// Reads the entries of a plan.
    ///
    /// # Errors
    /// [`AllowError::Empty`] without any, [`AllowError::Entry`] for the first that is wrong.
    pub fn parse(entries: &[String]) -> Result<Self, AllowError> {
        if entries.is_empty() {
            return Err(AllowError::Empty);
        }
        let read = |entry: &String| {
            Entry::parse(entry).map_err(|why| AllowError::Entry {
                entry: entry.clone(),
                why,
            })
        };
        entries.iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Allows nothing.
    pub(super) fn nothing() -> Self {
        Self(Vec::new())
    }

    /// Whether plain requests may go anywhere at all.
    pub(super) fn has_plain(&self) -> bool {
        self.0.iter().any(|entry| entry.speech == Speech::Plain)
    }

    /// How far this target may lead; `None` where it is not listed. Of two entries, the local one holds.
    pub(super) fn scope(&self, host: &Host, port: u16, speech: Speech) -> Option<Scope> {
        let is_meant = |entry: &&Entry| entry.port == port && entry.speech == speech && entry.whom.is(host);
        let mut listed = self.0.iter().filter(is_meant).peekable();
        listed.peek()?;
        Some(if listed.any(|entry| entry.local) {
            Scope::Local
        } else {
            Scope::Public
        })
    }
}

impl Entry {
    fn parse(text: &str) -> Result<Self, &'static str> {
        let (rest, local) = match text.strip_prefix(LOCAL) {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let (rest, speech) = match rest.strip_prefix(PLAIN) {
            Some(rest) => (rest, Speech::Plain),
            None => (rest, Speech::Tunnel),
        };
        let (host, port) = host::split(rest).ok_or(match speech {
            Speech::Tunnel => "it lacks a port from 1 to 65535; write `host:port`",
            Speech::Plain => "it lacks a port from 1 to 65535, or has a path; write `http://host:port`",
        })?;
        let whom = match host.strip_prefix("*.") {
            Some(above) => Whom::Below(format!(".{}", wildcard(above)?)),
            None => Whom::of(host, local)?,
        };
        Ok(Self {
            whom,
            port,
            local,
            speech,
        })
    }
}

impl Whom {
    fn of(host: &str, local: bool) -> Result<Self, &'static str> {
        match Host::parse(host) {
            Some(Host::Name(name)) if host::is_numeric(&name) => Err(NUMERIC),
            Some(Host::Name(name)) => Ok(Self::Name(name)),
            Some(Host::Address(_)) if !local => Err(NUMERIC),
            Some(Host::Address(address)) if reach(address) == Reach::Near => Ok(Self::Address(address)),
            Some(Host::Address(_)) => Err("`local:` takes private addresses only; write the name of the host"),
            None if host.contains('*') => Err("a wildcard is the whole first label: `*.model.example:443`"),
            None => Err(NO_NAME),
        }
    }

    fn is(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Name(own), Host::Name(name)) => own == name,
            (Self::Below(end), Host::Name(name)) => name.ends_with(end.as_str()),
            (Self::Address(own), Host::Address(address)) => own == address,
            _ => false,
        }
    }
}

const NUMERIC: &str = "an address is no entry; write the name of the host, or `local:` and a private address";
const NO_NAME: &str = "that is no host name; write letters, digits, hyphens and dots (`xn--` for anything else)";

/// What stands after `*.`: a name of two labels or more, for below one label lie the hosts of half the world.
fn wildcard(above: &str) -> Result<String, &'static str> {
    match host::name(above) {
        Some(name) if host::is_numeric(&name) => Err(NUMERIC),
        Some(name) if name.contains('.') => Ok(name),
        Some(_) => Err("a wildcard needs two labels after it: `*.model.example:443`"),
        None => Err(NO_NAME),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[&str]) -> Result<AllowList, AllowError> {
        AllowList::parse(&entries.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>())
    }

    fn scope(list: &AllowList, host: &str, port: u16) -> Option<Scope> {
        list.scope(&Host::parse(host).unwrap(), port, Speech::Tunnel)
    }

    fn why(entry: &str) -> &'static str {
        match list(&["model.test:443", entry]) {
            Err(AllowError::Entry { entry: named, why }) if named == entry => why,
            other => panic!("{entry}: {other:?}"),
        }
    }

    #[test]
    fn an_empty_list_is_an_error_of_its_own() {
        assert_eq!(list(&[]), Err(AllowError::Empty));
    }

    #[test]
    fn host_and_port_are_exact_and_written_in_any_case() {
        let list = list(&["Model.TEST.:443"]).unwrap();
        assert_eq!(scope(&list, "model.test", 443), Some(Scope::Public));
        assert_eq!(scope(&list, "MODEL.test.", 443), Some(Scope::Public));
        for (host, port) in [
            ("model.test", 22),
            ("a.model.test", 443),
            ("odel.test", 443),
            ("model.test.evil.test", 443),
        ] {
            assert_eq!(scope(&list, host, port), None, "{host}:{port}");
        }
    }

    #[test]
    fn a_wildcard_holds_below_its_name_on_the_border_of_a_label() {
        let list = list(&["*.model.test:443"]).unwrap();
        assert_eq!(scope(&list, "a.model.test", 443), Some(Scope::Public));
        assert_eq!(scope(&list, "a.b.model.test", 443), Some(Scope::Public));
        for host in ["model.test", "evilmodel.test", "a.model.test.evil.test"] {
            assert_eq!(scope(&list, host, 443), None, "{host}");
        }
    }

    #[test]
    fn a_wildcard_elsewhere_or_above_everything_is_refused() {
        for entry in [
            "*.com:443",
            "*.com.:443",
            "*:443",
            "*.*.test:443",
            "a.*.test:443",
            "a*.model.test:443",
            "*.0.1:443",
        ] {
            why(entry);
        }
        assert!(why("*.com:443").contains("two labels"));
        assert!(why("a.*.test:443").contains("whole first label"));
    }

    #[test]
    fn an_address_is_refused_in_every_spelling() {
        for entry in [
            "1.1.1.1:443",
            "2130706433:80",
            "0x7f000001:80",
            "0177.0.0.1:80",
            "127.1:80",
            "127.0.0.0x1:80",
            "[::1]:443",
            "[::ffff:127.0.0.1]:443",
            "local:2130706433:80",
            "local:127.1:80",
        ] {
            assert_eq!(why(entry), NUMERIC, "{entry}");
        }
    }

    #[test]
    fn local_takes_names_and_private_addresses() {
        let list = list(&[
            "local:localhost:1",
            "local:127.0.0.1:2",
            "local:[::1]:3",
            "local:*.box.corp:4",
            "x.test:5",
        ])
        .unwrap();
        for (host, port) in [("localhost", 1), ("127.0.0.1", 2), ("[::1]", 3), ("a.box.corp", 4)] {
            assert_eq!(scope(&list, host, port), Some(Scope::Local), "{host}");
        }
        assert_eq!(scope(&list, "127.0.0.1", 3), None);
        assert_eq!(scope(&list, "[::ffff:127.0.0.1]", 2), None);
        for entry in [
            "local:1.1.1.1:443",
            "local:169.254.169.254:80",
            "local:0.0.0.0:80",
            "local:224.0.0.1:80",
        ] {
            assert!(why(entry).contains("private addresses only"), "{entry}");
        }
    }

    #[test]
    fn what_is_listed_for_plain_requests_is_listed_for_nothing_else() {
        let list = list(&[
            "http://Mirror.test:80",
            "http://*.box.test:80",
            "local:http://10.0.0.1:8080",
            "model.test:443",
            "local:box.corp:80",
        ])
        .unwrap();
        let plain = |host: &str, port| list.scope(&Host::parse(host).unwrap(), port, Speech::Plain);
        assert!(list.has_plain());
        assert_eq!(plain("mirror.test", 80), Some(Scope::Public));
        assert_eq!(plain("a.box.test", 80), Some(Scope::Public));
        assert_eq!(plain("10.0.0.1", 8080), Some(Scope::Local));
        for (host, port) in [
            ("mirror.test", 443),
            ("model.test", 443),
            ("box.corp", 80),
            ("box.test", 80),
        ] {
            assert_eq!(plain(host, port), None, "{host}:{port}");
        }
        for (host, port) in [("mirror.test", 80), ("a.box.test", 80), ("10.0.0.1", 8080)] {
            assert_eq!(scope(&list, host, port), None, "{host}:{port}");
        }
        assert!(!AllowList::parse(&["model.test:80".to_owned()]).unwrap().has_plain());
    }

    #[test]
    fn a_plain_entry_is_a_name_and_a_port_and_says_local_before_its_scheme() {
        for entry in [
            "http://mirror.test",
            "http://mirror.test/",
            "http://mirror.test:80/",
            "HTTP://mirror.test:80",
        ] {
            why(entry);
        }
        for entry in [
            "https://mirror.test:443",
            "http://local:mirror.test:80",
            "http://u@mirror.test:80",
        ] {
            assert_eq!(why(entry), NO_NAME, "{entry}");
        }
        assert_eq!(why("http://1.1.1.1:80"), NUMERIC);
        assert!(why("http://mirror.test").contains("`http://host:port`"));
    }

    #[test]
    fn of_two_entries_for_one_target_the_local_one_holds() {
        for entries in [["a.test:1", "local:a.test:1"], ["local:a.test:1", "a.test:1"]] {
            assert_eq!(scope(&list(&entries).unwrap(), "a.test", 1), Some(Scope::Local));
        }
    }

    #[test]
    fn whatever_is_no_host_and_port_is_refused() {
        for entry in [
            "model.test",
            "model.test:0",
            "model.test:65536",
            "",
            ":443",
            "local:443",
            "https://model.test:443",
        ] {
            why(entry);
        }
        for entry in [
            " model.test:443",
            "a_b.test:443",
            "\u{e9}.test:443",
            "u@model.test:443",
            "local:local:a.test:1",
        ] {
            assert_eq!(why(entry), NO_NAME, "{entry:?}");
        }
    }

    #[test]
    fn an_error_shows_no_control_characters() {
        let said = list(&["a\x1b[2J:1"]).unwrap_err().to_string();
        assert!(said.contains("`a\\u{1b}[2J:1`"), "{said}");
    }
}
