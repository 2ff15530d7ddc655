//! TLS by rustls, with as much verification as libpq's sslmode of the same name.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::url::SslMode;
use crate::error::{Error, ErrorKind, Result};

/// Makes the TLS side of connections. A root certificate makes `require` verify the authority, as in libpq.
pub(super) fn connector(mode: SslMode, root_cert: Option<&str>) -> Result<MakeRustlsConnect> {
    let internal =
        |what: &dyn std::fmt::Display| Error::new(ErrorKind::Internal, format!("TLS can't be set up: {what}"));
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| internal(&error))?;
    let trust = match (mode, root_cert) {
        (SslMode::VerifyFull, _) => Trust::Host,
        (SslMode::VerifyCa, _) | (SslMode::Require, Some(_)) => Trust::Authority,
        (SslMode::Require | SslMode::Prefer | SslMode::Disable, _) => Trust::Anybody,
    };
    let (mut authority, mut pinned) = (None, Vec::new());
    if trust != Trust::Anybody {
        let mut roots = RootCertStore::empty();
        match root_cert.filter(|path| *path != "system") {
            Some(path) => {
                pinned = certificates(path)?;
                for certificate in &pinned {
                    roots.add(certificate.clone()).map_err(|error| unreadable(path, &error))?;
                }
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
        authority = Some(verifier.map_err(|error| {
            Error::new(ErrorKind::Connect, format!("no root certificate can be used: {error}"))
                .hint("name a file of root certificates by sslrootcert")
        })?);
    }
    let verifier = Arc::new(Verifier { provider, trust, authority, pinned });
    let config = builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// The certificates of a PEM file.
fn certificates(path: &str) -> Result<Vec<CertificateDer<'static>>> {
    let certificates = CertificateDer::pem_file_iter(path).map_err(|error| unreadable(path, &error))?;
    certificates.collect::<std::result::Result<_, _>>().map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &str, error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Usage, format!("the root certificates in {path} can't be read: {error}"))
        .hint("sslrootcert names a PEM file, or 'system' for the certificates of this machine")
}

/// Whose certificate is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    Anybody,
    Authority,
    Host,
}

/// Checks certificates as far as asked; the handshake's signatures always.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    trust: Trust,
    authority: Option<Arc<WebPkiServerVerifier>>,
    /// Certificates the user named. A server may show one of them itself: self-signed ones usually call themselves an
    /// authority, which webpki refuses in a server and libpq accepts.
    pinned: Vec<CertificateDer<'static>>,
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
        if self.pinned.iter().any(|pinned| pinned == certificate) {
            if self.trust == Trust::Host {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
            }
            return Ok(ServerCertVerified::assertion());
        }
        match authority.verify_server_cert(certificate, intermediates, name, ocsp_response, now) {
            // The chain is checked before the name.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.trust == Trust::Authority => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let schemes = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, schemes)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let schemes = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, schemes)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
