//! The environment of a check: what is fixed in it, and what is withheld from it (SPEC 6.7.1); and where one that is
//! declared hermetic may reach (`reach`), and how far it was shown to be (`tiers`).
//!
//! A check that reads the time zone, the language, a hash seed or somebody's token gives another verdict on another
//! machine, or at another hour. What the contract names in `pass_env` is left as the user has it.

pub mod reach;
pub mod tiers;

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::event::id::Stamp;
use crate::event::policy::Oracle;

/// Variables that are the same for every check.
pub const FIXED: &[(&str, &str)] = &[("LC_ALL", "C.UTF-8"), ("PYTHONHASHSEED", "0"), ("TZ", "UTC")];

/// Variables by which git takes a date: that of t0, in UTC.
pub const DATED: &[&str] = &["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"];

/// Names, and ends of names, of what lets its bearer in somewhere.
const CREDENTIALS: &[&str] = &[
    "ACCESS_KEY",
    "ACCESS_KEY_ID",
    "API_KEY",
    "APIKEY",
    "AUTH_TOKEN",
    "CREDENTIALS",
    "PASSWD",
    "PASSWORD",
    "PRIVATE_KEY",
    "SECRET",
    "SECRET_KEY",
    "TOKEN",
];

/// Names that are withheld as they are: ways to somebody's keys, to a display, and to a proxy.
const WITHHELD: &[&str] = &[
    "ALL_PROXY",
    "AWS_PROFILE",
    "DISPLAY",
    "DOCKER_AUTH_CONFIG",
    "FTP_PROXY",
    "GPG_AGENT_INFO",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "KUBECONFIG",
    "NO_PROXY",
    "SSH_AGENT_PID",
    "SSH_AUTH_SOCK",
    "WAYLAND_DISPLAY",
];

/// Whether a check does not get this variable.
pub fn is_withheld(oracle: &Oracle, secrets: &[String], name: &str) -> bool {
    if passes(oracle, name) {
        return false;
    }
    let upper = name.to_ascii_uppercase();
    let ends = |end: &str| {
        upper
            .strip_suffix(end)
            .is_some_and(|start| start.is_empty() || start.ends_with('_'))
    };
    secrets.iter().any(|secret| secret == name)
        || WITHHELD.contains(&upper.as_str())
        || CREDENTIALS.iter().any(|end| ends(end))
}

/// What every check of this run finds set, whatever the user has.
pub fn fixed(oracle: &Oracle, t0: Stamp) -> Vec<(String, String)> {
    let seconds = t0.wall_ms / 1000;
    let dated = DATED.iter().map(|name| (*name, format!("@{seconds} +0000")));
    let epoch = [("SOURCE_DATE_EPOCH", format!("{seconds}"))];
    let fixed = FIXED.iter().map(|(name, value)| (*name, (*value).to_owned()));
    fixed
        .chain(dated)
        .chain(epoch)
        .filter(|(name, _)| !passes(oracle, name))
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The mask under which a check makes files. By `UMASK` in `pass_env` it is the user's.
pub fn umask(oracle: &Oracle) -> Option<u32> {
    (!passes(oracle, "UMASK")).then_some(0o022)
}

/// The contract lets the check have it as it is.
fn passes(oracle: &Oracle, name: &str) -> bool {
    oracle.pass_env.iter().any(|passed| passed == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passing(names: &[&str]) -> Oracle {
        Oracle {
            pass_env: names.iter().map(|name| (*name).to_owned()).collect(),
            ..Oracle::default()
        }
    }

    #[test]
    fn what_lets_its_bearer_in_is_withheld_unless_the_contract_passes_it_on() {
        let (nothing, secrets) = (Oracle::default(), ["HOUSE".to_owned()]);
        for name in [
            "GITHUB_TOKEN",
            "OPENAI_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "PASSWORD",
            "http_proxy",
            "DISPLAY",
            "HOUSE",
        ] {
            assert!(is_withheld(&nothing, &secrets, name), "{name}");
            assert!(!is_withheld(&passing(&[name]), &secrets, name), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "TOKENIZERS_PARALLELISM",
            "DATABASE_URL",
            "MONKEY",
            "CARGO_HOME",
            "COMPASS_TOKENS",
        ] {
            assert!(!is_withheld(&nothing, &secrets, name), "{name}");
        }
    }

    #[test]
    fn place_language_seeds_and_dates_are_those_of_the_run() {
        let t0 = Stamp {
            wall_ms: 1_700_000_000_999,
            mono_ms: 5,
        };
        let set = fixed(&passing(&["TZ"]), t0);
        let of = |name: &str| {
            set.iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.as_str())
        };
        assert_eq!(of("TZ"), None, "the contract passes it on");
        assert_eq!(of("LC_ALL"), Some("C.UTF-8"));
        assert_eq!(of("PYTHONHASHSEED"), Some("0"));
        assert_eq!(of("SOURCE_DATE_EPOCH"), Some("1700000000"));
        assert_eq!(of("GIT_COMMITTER_DATE"), Some("@1700000000 +0000"));
    }
}
