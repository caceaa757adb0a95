//! Whom and what a request means: a path of the gateway's host, or a place and a path there.

use super::super::host::{self, Host};

/// The port that is meant where none is named.
const PORT: u16 = 80;

/// A place of plain HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) host: Host,
    pub(super) port: u16,
}

impl Place {
    /// `HOST` or `HOST:PORT`, as a target or a `host` field has it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (host, port) = match host::split(text) {
            Some(pair) => pair,
            // What is left of an address of the sixth version when its last part is no port.
            None if text.contains(':') && !text.ends_with(']') => return None,
            None => (text, PORT),
        };
        let host = Host::parse(host)?;
        Some(Self { host, port })
    }

    /// Whether a `host` field means it too.
    pub(super) fn is_named(&self, field: &[u8]) -> bool {
        std::str::from_utf8(field).ok().and_then(Self::parse).as_ref() == Some(self)
    }

    /// As a request names it.
    pub(super) fn authority(&self) -> String {
        let host = match &self.host {
            Host::Address(address) if address.is_ipv6() => format!("[{address}]"),
            host => host.text(),
        };
        match self.port {
            PORT => host,
            port => format!("{host}:{port}"),
        }
    }
}

/// The place of a target in absolute form, and the path with query there.
pub(super) fn absolute(target: &str) -> Result<(Place, String), &'static str> {
    let wrong = "its target is not `http://host:port/path`";
    let rest = target.strip_prefix("http://").ok_or(wrong)?;
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let place = Place::parse(authority).ok_or(wrong)?;
    if !is_plain(path) {
        return Err("its target holds what no target may, or has a fragment");
    }
    let slash = if path.starts_with('/') { "" } else { "/" };
    Ok((place, format!("{slash}{path}")))
}

/// Whether a target is a path of our own host, below what is given away of it.
pub(super) fn is_below(target: &str, paths: &[String]) -> Result<(), &'static str> {
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, query),
        None => (target, ""),
    };
    if !is_plain_path(path) || !is_plain(query) {
        return Err("its target is no plain path: it begins with one slash and has no `.`, `..` or `//`");
    }
    let below = |allowed: &String| {
        let rest = path.strip_prefix(allowed.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if paths.iter().any(below) {
        Ok(())
    } else {
        Err("its target lies beside the path of the gateway")
    }
}

/// Letters and marks that every reader takes for themselves.
fn is_plain(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_graphic() && !b"#\\".contains(&byte))
}

/// A path that every reader takes for the same: nothing in it climbs, and nothing hides that.
pub(in super::super) fn is_plain_path(path: &str) -> bool {
    let mark = |byte: u8| b"-._~!$&'()*+,;=:@%".contains(&byte);
    let plain = |segment: &str| {
        let shown = segment.to_ascii_lowercase().replace("%2e", ".");
        // An encoded slash or a doubled encoding is a segment to one reader and two to another.
        let hidden = ["%2f", "%5c", "%25", "%00"].iter().any(|code| shown.contains(code));
        segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || mark(byte))
            && shown != "."
            && shown != ".."
            && !hidden
    };
    let Some(rest) = path.strip_prefix('/') else {
        return false;
    };
    let mut segments = rest.split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        if !plain(segment) || (segment.is_empty() && !is_last) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Option<String> {
        Place::parse(text).map(|place| place.authority())
    }

    #[test]
    fn a_place_has_one_spelling_whatever_it_was_written_as() {
        for (text, authority) in [
            ("Mirror.TEST.:80", "mirror.test"),
            ("mirror.test", "mirror.test"),
            ("mirror.test:8080", "mirror.test:8080"),
            ("[::1]", "[::1]"),
            ("[::1]:8080", "[::1]:8080"),
        ] {
            assert_eq!(place(text).as_deref(), Some(authority));
        }
        for text in [
            "",
            ":80",
            "mirror.test:",
            "mirror.test:080",
            "::1",
            "[::1",
            "u@mirror.test",
            "a,b",
            "a b",
            "a%2eb",
        ] {
            assert_eq!(place(text), None, "{text}");
        }
    }

    #[test]
    fn a_target_in_absolute_form_is_a_place_and_a_path_that_stays_as_it_is() {
        for (target, path) in [
            ("http://mirror.test", "/"),
            ("http://mirror.test/", "/"),
            ("http://mirror.test?a=b", "/?a=b"),
            (
                "http://mirror.test/@scope%2Fname/../x//y?u=http://z/",
                "/@scope%2Fname/../x//y?u=http://z/",
            ),
        ] {
            let (place, found) = absolute(target).unwrap();
            assert_eq!((place.authority().as_str(), found.as_str()), ("mirror.test", path));
        }
        for target in [
            "/",
            "*",
            "mirror.test:80",
            "https://mirror.test/",
            "HTTP://mirror.test/",
            "http:/mirror.test/",
            "http:///etc",
            "http://u:p@mirror.test/",
            "http://mirror.test@evil.test/",
            "http://mirror.test\\@evil.test/",
            "http://mirror.test#@evil.test/",
            "http://mirror.test/#a",
            "http://mirror.test/a\\b",
            "http://mirror.test:0/",
            "http://mirror.test/\u{e9}",
        ] {
            assert!(absolute(target).is_err(), "{target}");
        }
    }
}
