//! What servers, and others outside of the program, say: it is searched for the secrets in use, and made fit to be shown, before
//! anybody sees it. Every error passes here, and so does whatever else of a target is printed or kept.

use std::sync::{PoisonError, RwLock};

use plimsoll_measurement::foreign::{plain, without};
use secrecy::{ExposeSecret, SecretString};

/// Secrets that are remembered. An access token is replaced every few minutes, and an old one is of no use any more.
const MOST_SECRETS: usize = 256;

/// The secrets in use: passwords and access tokens, in the order in which they came.
static SECRETS: RwLock<Vec<SecretString>> = RwLock::new(Vec::new());

/// From now on nobody sees this text.
pub(crate) fn hide(secret: &SecretString) {
    let mut secrets = SECRETS.write().unwrap_or_else(PoisonError::into_inner);
    let is_known = secrets.iter().any(|known| known.expose_secret() == secret.expose_secret());
    if !is_known && !secret.expose_secret().is_empty() {
        if secrets.len() >= MOST_SECRETS {
            secrets.remove(0);
        }
        secrets.push(secret.clone());
    }
}

/// A text without the secrets in use, in whatever form they stand in it.
pub fn masked(text: &str) -> String {
    let secrets = SECRETS.read().unwrap_or_else(PoisonError::into_inner);
    secrets.iter().fold(text.to_owned(), |text, secret| without(&text, secret.expose_secret()).unwrap_or(text))
}

/// A text as it may be shown and kept: without secrets, in one line, without characters that drive a terminal, and not too long.
pub fn shown(text: &str) -> String {
    plain(&masked(text))
}

#[cfg(test)]
mod tests {
    use crate::error::{Error, ErrorKind};
    use crate::target::Secret;

    #[test]
    fn no_error_holds_a_secret_or_drives_a_terminal() {
        let _secret = Secret::new("planted/secret 1");
        let said = "no entry for 'planted/secret 1' or planted%2Fsecret%201\u{2028}\u{1b}[2J";
        let error = Error::new(ErrorKind::Authenticate, said).hint(said).code(said);
        for text in [Some(error.message), error.hint, error.code] {
            assert_eq!(text.unwrap(), "no entry for '***' or ***\u{fffd}\u{fffd}[2J");
        }
        let long = Error::new(ErrorKind::Statement, "x".repeat(10 << 20));
        assert!(long.message.len() < 5_000 && long.message.ends_with("(cut: 10485760 characters)"));
    }
}
