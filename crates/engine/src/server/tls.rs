//! TLS by rustls, with as much verification as is asked for.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::error::{Error, ErrorKind, Result};

/// Whose certificate is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Anybody's: the line is encrypted and nothing is verified.
    Anybody,
    /// One that a trusted authority signed.
    Authority,
    /// That, and it has to be for the host that was asked for.
    Host,
}

/// The TLS side of connections. Authorities come from the file `root_cert`, else from this machine; `parameter` is the name
/// under which users of the engine know that file.
pub fn config(trust: Trust, root_cert: Option<&str>, parameter: &str) -> Result<ClientConfig> {
    let internal =
        |what: &dyn std::fmt::Display| Error::new(ErrorKind::Internal, format!("TLS can't be set up: {what}"));
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| internal(&error))?;
    let (mut authority, mut pinned) = (None, Vec::new());
    if trust != Trust::Anybody {
        let mut roots = RootCertStore::empty();
        match root_cert.filter(|path| *path != "system") {
            Some(path) => {
                pinned = certificates(path).map_err(|error| unreadable(path, parameter, &error))?;
                for certificate in &pinned {
                    roots.add(certificate.clone()).map_err(|error| unreadable(path, parameter, &error))?;
                }
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
        authority = Some(verifier.map_err(|error| {
            Error::new(ErrorKind::Connect, format!("no root certificate can be used: {error}"))
                .hint(format!("name a file of root certificates by {parameter}"))
        })?);
    }
    let verifier = Arc::new(Verifier { provider, trust, authority, pinned });
    Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

/// The certificates of a PEM file.
fn certificates(path: &str) -> std::result::Result<Vec<CertificateDer<'static>>, rustls::pki_types::pem::Error> {
    CertificateDer::pem_file_iter(path)?.collect()
}

fn unreadable(path: &str, parameter: &str, error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Usage, format!("the root certificates in {path} can't be read: {error}"))
        .hint(format!("{parameter} names a PEM file, or 'system' for the certificates of this machine"))
}

/// Checks certificates as far as asked; the handshake's signatures always.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    trust: Trust,
    authority: Option<Arc<WebPkiServerVerifier>>,
    /// Certificates the user named. A server may show one of them itself: self-signed ones usually call themselves an
    /// authority, which webpki refuses in a server and the servers' own clients accept.
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
