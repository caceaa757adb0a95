//! What a place on the network is called: one spelling for each, whoever wrote it.
//!
//! The allow list, the request and the name in the TLS hello all go through here, so that they are compared as equals.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Longest name that the name service knows, and its longest label.
const NAME_MAX: usize = 253;
const LABEL_MAX: usize = 63;

/// A host in its one spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// Small letters, digits, hyphens and dots; no dot at the end.
    Name(String),
    /// An address, written as one.
    Address(IpAddr),
}

impl Host {
    /// `None` for what is neither a name nor an address.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.strip_suffix(']')?;
            return inner
                .parse::<Ipv6Addr>()
                .ok()
                .map(|address| Self::Address(address.into()));
        }
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Some(Self::Address(address.into()));
        }
        name(text).map(Self::Name)
    }

    /// As people write it.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Name(name) => name.clone(),
            Self::Address(address) => address.to_string(),
        }
    }
}

/// `host:port`, the port mandatory and in plain digits.
pub(super) fn split(text: &str) -> Option<(&str, u16)> {
    let (host, digits) = text.rsplit_once(':')?;
    let is_plain = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    let port = digits.parse().ok().filter(|_| is_plain)?;
    Some((host, port))
}

/// A host name in its one spelling.
pub(super) fn name(text: &str) -> Option<String> {
    let bare = text.strip_suffix('.').unwrap_or(text);
    let is_name = bare.len() <= NAME_MAX && bare.split('.').all(is_label);
    is_name.then(|| bare.to_ascii_lowercase())
}

fn is_label(label: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=LABEL_MAX).contains(&label.len())
        && label.bytes().all(is_inner)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// Whether a resolver may read this name as an address: its last label is a number, in whatever base.
pub(super) fn is_numeric(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let hexadecimal = last.strip_prefix("0x");
    last.bytes().all(|byte| byte.is_ascii_digit())
        || hexadecimal.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn named(text: &str) -> Option<Host> {
        Some(Host::Name(text.to_owned()))
    }

    #[test]
    fn a_name_is_small_and_loses_one_dot() {
        assert_eq!(Host::parse("MODEL.Test."), named("model.test"));
        assert_eq!(Host::parse("model.test.."), None);
        assert_eq!(Host::parse("."), None);
        assert_eq!(Host::parse(""), None);
    }

    #[test]
    fn a_name_is_letters_digits_and_hyphens_between_dots() {
        for text in [
            "a b.test",
            "a_b.test",
            "a%2eb",
            "u@model.test",
            "m\0.test",
            "-a.test",
            "a-.test",
            "a..b",
            "\u{e9}.test",
        ] {
            assert_eq!(Host::parse(text), None, "{text:?}");
        }
        assert_eq!(Host::parse("xn--9ca.test"), named("xn--9ca.test"));
        assert_eq!(Host::parse(&"a".repeat(64)), None);
        assert_eq!(Host::parse(&["a"; 127].join(".")), named(&["a"; 127].join(".")));
        assert_eq!(Host::parse(&["a"; 128].join(".")), None);
    }

    #[test]
    fn an_address_is_told_from_a_name_in_its_plain_spelling_and_the_others_are_numeric() {
        assert_eq!(
            Host::parse("127.0.0.1"),
            Some(Host::Address(Ipv4Addr::LOCALHOST.into()))
        );
        assert_eq!(Host::parse("[::1]"), Some(Host::Address(Ipv6Addr::LOCALHOST.into())));
        assert_eq!(Host::parse("[fe80::1%eth0]"), None);
        assert_eq!(Host::parse("::1"), None);
        for text in [
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "127.1",
            "127.0.0.0x1",
            "1.2.3.4.5",
            "0x",
        ] {
            assert!(is_numeric(text), "{text}");
        }
        assert!(!is_numeric("1.model.test") && !is_numeric("0xmodel") && !is_numeric("7z"));
    }

    #[test]
    fn a_port_is_mandatory_and_plain() {
        assert_eq!(split("model.test:443"), Some(("model.test", 443)));
        assert_eq!(split("[::1]:65535"), Some(("[::1]", 65_535)));
        for text in [
            "model.test",
            "model.test:",
            "a:0",
            "a:0443",
            "a:+443",
            "a:65536",
            "a:4 3",
            "a:-1",
        ] {
            assert_eq!(split(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_one_spelling_is_its_own(text in "[a-zA-Z0-9.-]{0,20}") {
            if let Some(Host::Name(name)) = Host::parse(&text) {
                prop_assert_eq!(Host::parse(&name), Some(Host::Name(name)));
            }
        }
    }
}
