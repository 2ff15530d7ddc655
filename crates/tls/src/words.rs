//! Why a line could not be protected, in sentences.

use rustls::CertificateError::{
    BadEncoding, BadSignature, Expired, ExpiredContext, InvalidPurpose, InvalidPurposeContext, NotValidForName,
    NotValidForNameContext, NotValidYet, NotValidYetContext, Other, Revoked, UnknownIssuer,
};
use rustls::Error;

/// webpki's word for a certificate that calls itself an authority, which is how self-signed ones are often made.
const AUTHORITY_S_OWN: &str = "CaUsedAsEndEntity";

/// What is said of a peer whose bytes are none of TLS: a server of another kind, or one without it.
pub const NO_TLS: &str = "it does not speak TLS";

/// What is wrong, as a sentence without a full stop. What is not about the server's certificate is in rustls's words.
pub fn sentence(error: &Error) -> String {
    let error = match error {
        Error::InvalidCertificate(error) => error,
        Error::InvalidMessage(_) => return NO_TLS.to_owned(),
        error => return error.to_string(),
    };
    let what = match error {
        Expired | ExpiredContext { .. } => "has expired".to_owned(),
        NotValidYet | NotValidYetContext { .. } => "is not valid yet: compare the clocks of both machines".to_owned(),
        UnknownIssuer => "is self-signed, or its authority is none that this machine trusts".to_owned(),
        NotValidForName => "is for another host".to_owned(),
        NotValidForNameContext { expected, presented } => {
            format!("is not for {} but for {}", expected.to_str(), names(presented))
        }
        Revoked => "has been revoked".to_owned(),
        BadEncoding => "can't be read".to_owned(),
        BadSignature => "has a signature that its authority did not make".to_owned(),
        InvalidPurpose | InvalidPurposeContext { .. } => "was not made for servers".to_owned(),
        Other(other) if other.to_string().contains(AUTHORITY_S_OWN) => {
            "is self-signed: it calls itself an authority".to_owned()
        }
        error => format!("can't be accepted ({error})"),
    };
    format!("the server's certificate {what}")
}

/// The names of a certificate, as rustls gives them: `DnsName("db.example")`, or the address.
fn names(presented: &[String]) -> String {
    let bare = |name: &String| name.split('"').nth(1).unwrap_or(name).to_owned();
    let names: Vec<String> = presented.iter().map(bare).collect();
    if names.is_empty() { "no host".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::ServerName;
    use rustls::{CertificateError, OtherError};

    use super::*;

    #[test]
    fn certificates_are_spoken_of_in_sentences() {
        let of = |error: CertificateError| sentence(&Error::InvalidCertificate(error));
        assert_eq!(of(Expired), "the server's certificate has expired");
        assert_eq!(
            of(UnknownIssuer),
            "the server's certificate is self-signed, or its authority is none that this machine trusts"
        );
        let other_host = NotValidForNameContext {
            expected: ServerName::try_from("db.example").unwrap(),
            presented: vec!["DnsName(\"localhost\")".to_owned(), "127.0.0.1".to_owned()],
        };
        assert_eq!(of(other_host), "the server's certificate is not for db.example but for localhost, 127.0.0.1");
        let own = Other(OtherError(std::sync::Arc::new(std::io::Error::other(AUTHORITY_S_OWN))));
        assert_eq!(of(own), "the server's certificate is self-signed: it calls itself an authority");
        assert_eq!(sentence(&Error::HandshakeNotComplete), Error::HandshakeNotComplete.to_string());
        assert_eq!(sentence(&Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType)), NO_TLS);
    }
}
