//! The client's side of TLS by rustls, with as much verification as is asked for: of the drivers, and of the crate that stands in
//! for `native-tls`.

mod words;

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{VerifierBuilderError, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

pub use words::{NO_TLS, sentence};

/// The certificates that are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Anybody's: the line is encrypted and nothing is verified.
    Anybody,
    /// One that a trusted authority signed.
    Authority,
    /// That, and it has to be for the host that was asked for.
    Host,
}

/// Why there is no configuration.
#[derive(Debug)]
pub enum Unusable {
    /// rustls can't be set up.
    Setup(rustls::Error),
    /// One of the certificates that were given can't be an authority's.
    Certificate(rustls::Error),
    /// There is no authority at all.
    NoAuthority(VerifierBuilderError),
    /// The environment names something that is no file of certificates: what it is.
    Named(String),
}

/// Bytes of a file of certificates.
const MOST: u64 = 4 << 20;

/// What the environment names has to be files: a device may never end, and a pipe may never begin.
fn check_named() -> Result<(), Unusable> {
    let check = |variable: &str, path: &Path| {
        let why = match std::fs::metadata(path) {
            Ok(there) if !there.is_file() => "is no regular file".to_owned(),
            Ok(there) if there.len() > MOST => format!("has more than {} MB", MOST >> 20),
            // What is not there holds nobody up.
            _ => return Ok(()),
        };
        Err(Unusable::Named(format!("{variable} names {}, which {why}", path.display())))
    };
    if let Some(file) = std::env::var_os("SSL_CERT_FILE") {
        check("SSL_CERT_FILE", Path::new(&file))?;
    }
    let folders = std::env::var_os("SSL_CERT_DIR").unwrap_or_default();
    for folder in std::env::split_paths(&folders) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if !entry.path().is_dir() {
                check("SSL_CERT_DIR", &entry.path())?;
            }
        }
    }
    Ok(())
}

/// A configuration. Authorities are those of the machine unless certificates are `pinned`.
///
/// # Errors
/// If one of them can't be used, or there is none and one is needed.
pub fn config(trust: Trust, pinned: Option<Vec<CertificateDer<'static>>>) -> Result<ClientConfig, Unusable> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(Unusable::Setup)?;
    let mut authority = None;
    if trust != Trust::Anybody {
        let mut roots = RootCertStore::empty();
        if let Some(pinned) = &pinned {
            pinned.iter().try_for_each(|it| roots.add(it.clone())).map_err(Unusable::Certificate)?;
        } else {
            check_named()?;
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
        authority = Some(verifier.map_err(Unusable::NoAuthority)?);
    }
    let verifier = Arc::new(Verifier { provider, trust, authority, pinned: pinned.unwrap_or_default() });
    Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
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
    ) -> Result<ServerCertVerified, rustls::Error> {
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
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let schemes = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, schemes)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let schemes = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, schemes)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
