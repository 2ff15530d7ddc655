//! Whose certificate is accepted.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::error::{Error, Result};

/// What is let through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Trust {
    pub(crate) any_certificate: bool,
    pub(crate) any_name: bool,
}

/// Checks certificates as far as asked, and the handshake's signatures always.
#[derive(Debug)]
pub(crate) struct Verifier {
    algorithms: WebPkiSupportedAlgorithms,
    any_name: bool,
    /// `None` where any certificate will do.
    authority: Option<Arc<WebPkiServerVerifier>>,
}

impl Verifier {
    /// A verifier that asks the machine's authorities, unless any certificate will do.
    pub(crate) fn new(provider: &Arc<CryptoProvider>, trust: Trust) -> Result<Self> {
        let mut authority = None;
        if !trust.any_certificate {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build();
            authority = Some(verifier.map_err(|_| {
                Error::text("this machine has no root certificates (on Debian: apt-get install ca-certificates)")
            })?);
        }
        Ok(Self { algorithms: provider.signature_verification_algorithms, any_name: trust.any_name, authority })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        let Some(authority) = &self.authority else { return Ok(ServerCertVerified::assertion()) };
        match authority.verify_server_cert(certificate, intermediates, name, ocsp_response, now) {
            // The chain is checked before the name.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.any_name => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
