//! Proofs that we know a password (MySQL internals, "Authentication Method").

use ring::digest::{Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};

/// A password's hash XOR the hash of what `salted` makes of its double hash.
fn proof(algorithm: &'static Algorithm, password: &str, salted: impl FnOnce(&[u8]) -> Vec<u8>) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = digest(algorithm, password.as_bytes());
    let twice = digest(algorithm, once.as_ref());
    let mask = digest(algorithm, &salted(twice.as_ref()));
    once.as_ref().iter().zip(mask.as_ref()).map(|(byte, mask)| byte ^ mask).collect()
}

/// `mysql_native_password`: SHA1(password) XOR SHA1(nonce, SHA1(SHA1(password))).
pub(super) fn native(password: &str, nonce: &[u8]) -> Vec<u8> {
    proof(&SHA1_FOR_LEGACY_USE_ONLY, password, |twice| [nonce, twice].concat())
}

/// `caching_sha2_password`: SHA256(password) XOR SHA256(SHA256(SHA256(password)), nonce).
pub(super) fn caching_sha2(password: &str, nonce: &[u8]) -> Vec<u8> {
    proof(&SHA256, password, |twice| [twice, nonce].concat())
}

/// A password as it is, for a line that nobody can read along.
pub(super) fn clear(password: &str) -> Vec<u8> {
    [password.as_bytes(), &[0]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        use std::fmt::Write as _;
        bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    /// Worked out by the formulas with another implementation of the hashes.
    #[test]
    fn proofs_follow_their_formulas() {
        let nonce: Vec<u8> = (1..=20).collect();
        assert_eq!(hex(&native("secret", &nonce)), "b32bb3a583e1340c0a1108d58b1be49781ad8c2f");
        assert_eq!(
            hex(&caching_sha2("secret", &nonce)),
            "746ebe205d56a0707acb3e796e834e0dd7b1d61743b26bd5202c7a623230c7c9"
        );
        assert!(native("", &nonce).is_empty() && caching_sha2("", &nonce).is_empty());
        assert_eq!(clear("a"), b"a\0");
    }
}
