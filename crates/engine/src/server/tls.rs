//! The TLS side of connections, with a sentence for what is wrong with it.

use std::path::Path;

use plimsoll_tls::Unusable;
use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{Error as PemError, PemObject};

use crate::error::{Error, ErrorKind, Result};
use crate::files;

pub use plimsoll_tls::{NO_TLS, Trust};

/// How much a connection is to be protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// No TLS.
    Off,
    /// TLS if the server has it; nothing is verified.
    IfPossible,
    /// TLS; nothing is verified.
    Encrypted,
    /// TLS with a certificate from a trusted authority.
    Authority,
    /// That, and the certificate is for this host.
    Host,
}

impl Protection {
    /// The one that has this name among an engine's names, which go from the least to the most.
    pub fn of(name: &str, names: &[&str; 5]) -> Option<Self> {
        let all = [Self::Off, Self::IfPossible, Self::Encrypted, Self::Authority, Self::Host];
        names.iter().position(|known| *known == name).map(|place| all[place])
    }

    /// Verified by default. On this machine there is nobody in between, and a server there seldom has a certificate.
    pub const fn usual(is_loopback: bool) -> Self {
        if is_loopback { Self::IfPossible } else { Self::Host }
    }

    /// The certificates that are accepted.
    pub const fn trust(self) -> Trust {
        match self {
            Self::Host => Trust::Host,
            Self::Authority => Trust::Authority,
            Self::Off | Self::IfPossible | Self::Encrypted => Trust::Anybody,
        }
    }
}

/// The TLS side of connections. Authorities come from the file `root_cert`, else from this machine; `parameter` is the name
/// under which users of the engine know that file.
pub fn config(trust: Trust, root_cert: Option<&str>, parameter: &str) -> Result<ClientConfig> {
    let unreadable = |error: &dyn std::fmt::Display| {
        let path = root_cert.unwrap_or_default();
        Error::new(ErrorKind::Usage, format!("the root certificates in {path} can't be read: {error}"))
            .hint(format!("{parameter} names a PEM file, or 'system' for the certificates of this machine"))
    };
    let file = root_cert.filter(|path| trust != Trust::Anybody && *path != "system");
    let pinned = file.map(certificates).transpose().map_err(|error| unreadable(&error))?;
    plimsoll_tls::config(trust, pinned).map_err(|error| match error {
        Unusable::Setup(error) => Error::new(ErrorKind::Internal, format!("TLS can't be set up: {error}")),
        Unusable::Certificate(error) => unreadable(&error),
        Unusable::Named(what) => Error::new(ErrorKind::Usage, format!("root certificates can't be read: {what}"))
            .hint(format!("let the variable name PEM files, or name a file by {parameter}")),
        Unusable::NoAuthority(error) => {
            Error::new(ErrorKind::Connect, format!("no root certificate can be used: {error}"))
                .hint(format!("name a file of root certificates by {parameter}"))
        }
    })
}

/// The certificates of a PEM file.
fn certificates(path: &str) -> std::result::Result<Vec<CertificateDer<'static>>, PemError> {
    let text = files::read(Path::new(path), files::SMALL).map_err(PemError::Io)?;
    CertificateDer::pem_slice_iter(&text).collect()
}
