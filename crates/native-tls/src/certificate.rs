//! Certificates in files, as the driver compares them with a server's.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::error::{Error, Result};

/// First byte of a DER sequence, which every certificate is.
const SEQUENCE: u8 = 0x30;

/// A certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate(CertificateDer<'static>);

impl Certificate {
    /// The first certificate of a PEM text.
    pub fn from_pem(text: &[u8]) -> Result<Self> {
        CertificateDer::from_pem_slice(text)
            .map(Self)
            .map_err(|_| Error::text("there is no certificate in the PEM text"))
    }

    /// A certificate in DER.
    pub fn from_der(bytes: &[u8]) -> Result<Self> {
        if bytes.first() == Some(&SEQUENCE) {
            Ok(Self(CertificateDer::from(bytes.to_vec())))
        } else {
            Err(Error::text("this is no certificate in DER"))
        }
    }

    /// The certificate in DER.
    pub fn to_der(&self) -> Result<Vec<u8>> {
        Ok(self.0.to_vec())
    }

    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Self {
        Self(certificate.clone().into_owned())
    }
}
