//! The gateway: the work speaks plain HTTP to its own loopback, and the key stays out here (SPEC 14.4.5).
//!
//! ```text
//!   work ── POST /v1/... ──> exchange ── TLS, key added ──> the one host
//!        <── answer, as it comes, framed anew ──
//! ```
//!
//! How the two sides of that are read and written is the matter of an [`exchange`](super::exchange).

mod entry;
mod secured;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

pub(crate) use entry::Entry;
pub(super) use secured::Secured;

use super::allow::Scope;
use super::exchange::may_bear;
use super::host::Host;
use crate::zone::plan;

/// Why there is no gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GatewayError {
    /// An entry that means nothing.
    Entry { entry: String, why: &'static str },
    /// There is one key, and it goes to one place.
    Places { one: String, other: String },
    /// A variable has one value.
    Twice { name: String },
    /// The header that bears the key is none, or is not the key's to fill.
    Header { name: String },
    /// The key holds what no header may.
    Key,
    /// Certificates that cannot be read, or of which there are none.
    Roots { path: Option<PathBuf>, why: String },
}

impl fmt::Display for GatewayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry { entry, why } => write!(f, "the gateway `{}`: {why}", entry.escape_debug()),
            Self::Places { one, other } => write!(
                f,
                "gateways lead to {one} and to {other}: there is one key, so name one host and port"
            ),
            Self::Twice { name } => write!(
                f,
                "two gateways are called {name}: a variable leads to one of them only"
            ),
            Self::Header { name } => write!(
                f,
                "`{}` is no header that can bear a key: name one like authorization or x-api-key with --gateway-key-header",
                name.escape_debug()
            ),
            Self::Key => f.write_str("the key of the gateway is empty or holds what no header may: is it a whole key?"),
            Self::Roots { path: Some(path), why } => write!(
                f,
                "{} gives the gateway nobody to believe ({why}): name a file of PEM certificates with --gateway-ca",
                path.display()
            ),
            Self::Roots { path: None, why } => write!(
                f,
                "this machine gives the gateway no certificates to believe ({why}): install ca-certificates, or name a \
                 file with --gateway-ca"
            ),
        }
    }
}

impl std::error::Error for GatewayError {}

/// The one place that requests are passed on to, and what they bear.
pub(super) struct Gateway {
    pub(super) host: Host,
    pub(super) port: u16,
    pub(super) scope: Scope,
    /// Below which of its paths.
    pub(super) paths: Vec<String>,
    pub(super) bears: Option<plan::Bears>,
    tls: Arc<ClientConfig>,
    server: ServerName<'static>,
}

impl Gateway {
    /// Everything that is needed before the first request comes.
    ///
    /// # Errors
    /// What makes it no gateway: then nothing is served.
    pub(super) fn open(planned: &plan::Gateway) -> Result<Self, GatewayError> {
        let entries = read(&planned.entries)?;
        let Some(first) = entries.first() else {
            let (entry, why) = (String::new(), "there is none");
            return Err(GatewayError::Entry { entry, why });
        };
        if let Some(bears) = &planned.bears {
            may_bear(bears)?;
        }
        let server = ServerName::try_from(first.host.text()).map_err(|_| GatewayError::Entry {
            entry: first.host.text(),
            why: "no certificate can name that host",
        })?;
        Ok(Self {
            host: first.host.clone(),
            port: first.port,
            scope: first.scope,
            paths: entries.iter().map(|entry| entry.path.clone()).collect(),
            bears: planned.bears.clone(),
            tls: Arc::new(believing(roots(planned.ca.as_deref())?)?),
            server,
        })
    }

    /// How the host is named in a request.
    pub(super) fn authority(&self) -> String {
        match self.port {
            443 => self.host.text(),
            port => format!("{}:{port}", self.host.text()),
        }
    }
}

/// The variables by which the work finds it.
pub(crate) fn variables(planned: &plan::Gateway, at: SocketAddr) -> Vec<(OsString, OsString)> {
    let entries = planned.entries.iter().filter_map(|entry| Entry::parse(entry).ok());
    entries
        .map(|entry| (entry.name.into(), format!("http://{at}{}", entry.path).into()))
        .collect()
}

/// All entries, which lead to one place.
///
/// # Errors
/// The first that is wrong, or two that lead apart.
pub(crate) fn read(entries: &[String]) -> Result<Vec<Entry>, GatewayError> {
    let parsed = entries.iter().map(|entry| {
        Entry::parse(entry).map_err(|why| GatewayError::Entry {
            entry: entry.clone(),
            why,
        })
    });
    let entries = parsed.collect::<Result<Vec<_>, _>>()?;
    let mut names = BTreeSet::new();
    if let Some(again) = entries.iter().find(|entry| !names.insert(entry.name.as_str())) {
        return Err(GatewayError::Twice {
            name: again.name.clone(),
        });
    }
    for pair in entries.windows(2) {
        if pair[0].place() != pair[1].place() {
            let (one, other) = (pair[0].place(), pair[1].place());
            return Err(GatewayError::Places { one, other });
        }
    }
    Ok(entries)
}

fn roots(file: Option<&Path>) -> Result<RootCertStore, GatewayError> {
    let none = |why: String| GatewayError::Roots {
        path: file.map(Path::to_path_buf),
        why,
    };
    let certificates: Vec<CertificateDer<'static>> = match file {
        Some(file) => CertificateDer::pem_file_iter(file)
            .and_then(Iterator::collect)
            .map_err(|error| none(error.to_string()))?,
        None => {
            let found = rustls_native_certs::load_native_certs();
            let error = found.errors.first().map(ToString::to_string);
            let certificates = found.certs;
            error
                .filter(|_| certificates.is_empty())
                .map_or(Ok(certificates), |error| Err(none(error)))?
        }
    };
    let mut roots = RootCertStore::empty();
    match roots.add_parsable_certificates(certificates) {
        (0, _) => Err(none("no certificate in it can be read".to_owned())),
        _ => Ok(roots),
    }
}

fn believing(roots: RootCertStore) -> Result<ClientConfig, GatewayError> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| GatewayError::Roots {
            path: None,
            why: error.to_string(),
        })?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gateways_have_names_of_their_own_and_one_place() {
        let entries = |all: [&str; 2]| read(&all.map(ToOwned::to_owned)).map(|entries| entries.len());
        assert_eq!(entries(["A=https://m.test/v1", "B=https://m.test/v2"]), Ok(2));
        let twice = Err(GatewayError::Twice { name: "A".into() });
        assert_eq!(entries(["A=https://m.test/v1", "A=https://m.test/v2"]), twice);
        let places = entries(["A=https://m.test", "B=https://n.test"]);
        assert!(matches!(places, Err(GatewayError::Places { .. })), "{places:?}");
    }
}
