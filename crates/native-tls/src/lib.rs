//! TLS for the SQL Server driver, which asks for the crate `native-tls` and with it, on Linux, for OpenSSL.
//!
//! The product has one TLS implementation, rustls, and nothing of it links a C library of the machine. So the workspace
//! puts this crate in the place of the other (`[patch.crates-io]`): the same names, as far as the driver and its
//! asynchronous wrapper use them, with rustls behind. Certificates are verified against the machine's own authorities,
//! and for the host's name, unless a connector is told otherwise; the signatures of a handshake are always verified.

mod certificate;
mod error;
mod stream;

use std::io::{Read, Write};
use std::sync::Arc;

use plimsoll_tls::{Trust, Unusable};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

pub use certificate::Certificate;
pub use error::{Error, Result};
pub use stream::{HandshakeError, MidHandshakeTlsStream, TlsStream};

/// Settings of a connector to be.
#[derive(Debug, Clone, Default)]
pub struct TlsConnectorBuilder {
    any_certificate: bool,
    any_name: bool,
    protocols: Vec<Vec<u8>>,
}

impl TlsConnectorBuilder {
    /// Accepts any certificate, for any name.
    pub fn danger_accept_invalid_certs(&mut self, accept: bool) -> &mut Self {
        self.any_certificate = accept;
        self
    }

    /// Accepts a certificate that is for another name.
    pub fn danger_accept_invalid_hostnames(&mut self, accept: bool) -> &mut Self {
        self.any_name = accept;
        self
    }

    /// Offers these application protocols, the most wanted one first.
    pub fn request_alpns(&mut self, protocols: &[&str]) -> &mut Self {
        self.protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        self
    }

    /// A connector with these settings.
    ///
    /// # Errors
    /// If certificates are to be verified and the machine has no authorities.
    pub fn build(&self) -> Result<TlsConnector> {
        let trust = match (self.any_certificate, self.any_name) {
            (true, _) => Trust::Anybody,
            (false, true) => Trust::Authority,
            (false, false) => Trust::Host,
        };
        let mut config = plimsoll_tls::config(trust, None).map_err(|error| match error {
            Unusable::Setup(error) | Unusable::Certificate(error) => error.into(),
            Unusable::Named(what) => Error::text(&format!("root certificates can't be read: {what}")),
            Unusable::NoAuthority(_) => {
                Error::text("this machine has no root certificates (on Debian: apt-get install ca-certificates)")
            }
        })?;
        config.alpn_protocols.clone_from(&self.protocols);
        Ok(TlsConnector { config: Arc::new(config) })
    }
}

/// Makes the client's side of TLS connections.
#[derive(Debug, Clone)]
pub struct TlsConnector {
    config: Arc<ClientConfig>,
}

impl TlsConnector {
    /// Settings to be changed.
    pub fn builder() -> TlsConnectorBuilder {
        TlsConnectorBuilder::default()
    }

    /// Shakes hands over `stream` with the host of that name.
    ///
    /// # Errors
    /// If the certificate of the other side is not the expected one, or the stream would block; then the handshake can
    /// go on later.
    pub fn connect<S: Read + Write>(
        &self,
        domain: &str,
        stream: S,
    ) -> std::result::Result<TlsStream<S>, HandshakeError<S>> {
        let name = ServerName::try_from(domain.to_owned()).map_err(|_| {
            HandshakeError::Failure(Error::text("the host's name is none that a certificate could have"))
        })?;
        let connection = ClientConnection::new(Arc::clone(&self.config), name)
            .map_err(|error| HandshakeError::Failure(error.into()))?;
        MidHandshakeTlsStream::new(connection, stream).handshake()
    }
}

/// The server's side, which the driver's wrapper names and nobody here makes: there is no way to build one.
#[derive(Debug, Clone)]
pub struct TlsAcceptor(Never);

#[derive(Debug, Clone, Copy)]
enum Never {}

impl TlsAcceptor {
    /// Never called, as there is no acceptor.
    pub fn accept<S: Read + Write>(&self, _: S) -> std::result::Result<TlsStream<S>, HandshakeError<S>> {
        match self.0 {}
    }
}
