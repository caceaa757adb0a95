//! One gateway as a contract writes it.
//!
//! ```text
//!   OPENAI_BASE_URL=https://model.test/v1           the variable, and where it leads
//!   OPENAI_BASE_URL=https://model.test:8443         below any path
//!   OPENAI_BASE_URL=local:https://box.corp/v1       though the host's address is private
//! ```

use super::super::allow::{LOCAL, Scope};
use super::super::exchange::is_plain_path;
use super::super::host::{self, Host};

/// What every place of a gateway begins with.
const SCHEME: &str = "https://";

/// One variable of the work, and what requests below it become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(super) name: String,
    pub(super) host: Host,
    pub(super) port: u16,
    pub(super) scope: Scope,
    /// Begins with a slash, and ends with none; empty for all of the host.
    pub(super) path: String,
}

impl Entry {
    /// # Errors
    /// What is wrong with it, as a sentence.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let (name, place) = text.split_once('=').ok_or("write NAME=https://HOST/PATH")?;
        if !is_variable(name) {
            return Err("its variable needs letters, digits and underscores, and may be none that a zone sets itself");
        }
        let (place, scope) = match place.strip_prefix(LOCAL) {
            Some(place) => (place, Scope::Local),
            None => (place, Scope::Public),
        };
        let place = place
            .strip_prefix(SCHEME)
            .ok_or("it leads to `https://`, for the key goes there")?;
        let (authority, path) = match place.find('/') {
            Some(at) => place.split_at(at),
            None => (place, ""),
        };
        let path = path.strip_suffix('/').unwrap_or(path);
        if !path.is_empty() && !is_plain_path(path) {
            return Err("its path is letters, digits and marks, without `.` and `..`, query and fragment");
        }
        let (host, port) = match host::split(authority) {
            Some(pair) => pair,
            None if authority.contains(':') => return Err("its port is a number from 1 to 65535"),
            None => (authority, 443),
        };
        let host = match Host::parse(host) {
            Some(Host::Name(name)) if !host::is_numeric(&name) => Host::Name(name),
            _ => return Err("its host is a name: letters, digits, hyphens and dots"),
        };
        Ok(Self {
            name: name.to_owned(),
            host,
            port,
            scope,
            path: path.to_owned(),
        })
    }

    /// Where it leads, with how far it may.
    pub(super) fn place(&self) -> String {
        let local = if self.scope == Scope::Local { LOCAL } else { "" };
        format!("{local}{}:{}", self.host.text(), self.port)
    }
}

/// Whether a zone may find a base URL there.
fn is_variable(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let taken = ["PATH", "HOME", "TMPDIR", "USER", "LOGNAME"].contains(&name);
    let reserved = ["XDG_", "LOOPEXEC_", "LD_"]
        .iter()
        .any(|prefix| name.starts_with(prefix));
    let proxies = name.to_ascii_lowercase().ends_with("_proxy");
    let begins = name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
    begins && name.bytes().all(plain) && !taken && !reserved && !proxies
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_variable_and_a_place() {
        let entry = Entry::parse("BASE_URL=https://Model.Test/v1/").unwrap();
        assert_eq!(
            (entry.name.as_str(), entry.place().as_str(), entry.path.as_str()),
            ("BASE_URL", "model.test:443", "/v1")
        );
        let entry = Entry::parse("U=local:https://box.corp:8443").unwrap();
        assert_eq!(
            (entry.place().as_str(), entry.path.as_str()),
            ("local:box.corp:8443", "")
        );
    }

    #[test]
    fn whatever_leads_anywhere_else_is_none() {
        for text in [
            "https://model.test",
            "=https://model.test",
            "A-B=https://model.test",
            "HOME=https://model.test",
            "https_proxy=https://model.test",
            "U=http://model.test",
            "U=model.test",
            "U=https://",
            "U=https://u:p@model.test",
            "U=https://model.test:0",
            "U=https://model.test:",
            "U=https://127.0.0.1",
            "U=https://[::1]",
            "U=https://0x7f.1",
            "U=https://model.test/a/../b",
            "U=https://model.test/a?b",
            "U=https://model.test/a#b",
            "U=https://model.test//a",
        ] {
            assert!(Entry::parse(text).is_err(), "{text}");
        }
    }
}
