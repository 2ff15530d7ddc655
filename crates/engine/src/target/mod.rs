//! Targets by URL, and the secrets that must never be seen: what is shown of a URL has no password in it.

mod redact;

use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

use crate::error::{Error, ErrorKind, Result};
use crate::foreign::hide;
use crate::mark::Intents;

pub use self::redact::{Notation, Pairs, mask_name, mask_urls, register};

/// A text that neither `Debug` nor `Display` ever shows.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// Wraps a text. From now on it is searched in what others say, and hidden there.
    pub fn new(text: impl Into<String>) -> Self {
        let secret = SecretString::from(text.into());
        hide(&secret);
        Self(secret)
    }

    /// Wraps a text that holds a secret among other things.
    fn around(text: &str) -> Self {
        Self(SecretString::from(text.to_owned()))
    }

    /// The text itself, for the driver that needs it.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.expose() == other.expose()
    }
}

impl Eq for Secret {}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// Reads a variable of the environment.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What the program gives to open a target, beside its URL.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    /// From a file, the environment or a prompt. It goes before the engine's own stores and after the URL.
    pub password: Option<Secret>,
    /// A shell command that prints an access token, for engines that take one.
    pub token_command: Option<String>,
    /// Ends the wait for a program that gives one, and for a server that is not ready yet.
    pub check: Check,
    /// Where it is noted what is made at targets. Without a store the notes end with the process.
    pub intents: Intents,
}

/// Asked several times a second while something outside of the program is waited for; an error ends the wait.
#[derive(Clone)]
pub struct Check(Arc<dyn Fn() -> Result<()> + Send + Sync>);

impl Check {
    /// Asks this.
    pub fn new(check: impl Fn() -> Result<()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(check))
    }

    /// Whether to go on.
    ///
    /// # Errors
    /// If the wait is to end.
    pub fn ask(&self) -> Result<()> {
        (self.0)()
    }
}

impl Default for Check {
    /// Waits as long as it takes.
    fn default() -> Self {
        Self::new(|| Ok(()))
    }
}

impl std::fmt::Debug for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Check").finish_non_exhaustive()
    }
}

/// A target as the user named it.
#[derive(Debug, Clone)]
pub struct Target {
    /// What stands before the first colon, in lower case.
    pub scheme: String,
    url: Secret,
    display: String,
    inline_password: bool,
}

impl Target {
    /// Splits off the scheme and hides what must be hidden. Engines read the rest.
    pub fn parse(url: &str) -> Result<Self> {
        if let Some((scheme, pairs)) = redact::pairs_in(url) {
            let (display, inline_password) = redact::redact_pairs(pairs, url);
            return Ok(Self { scheme: scheme.to_owned(), url: Secret::around(url), display, inline_password });
        }
        let usage = |message: String| {
            Error::new(ErrorKind::Usage, message)
                .hint("a target is a URL such as sqlite:file.db or postgres://user@host/database")
        };
        let (scheme, rest) = url.split_once(':').ok_or_else(|| {
            // Without a scheme there may be a password anywhere in it, so it is not repeated.
            usage("the target has no scheme".to_owned())
        })?;
        if scheme.is_empty() || !scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c)) {
            return Err(usage("the target does not start with a scheme".to_owned()));
        }
        if rest.is_empty() {
            return Err(usage(format!("nothing follows '{scheme}:'")));
        }
        let (display, inline_password) = redact::redact(url);
        Ok(Self { scheme: scheme.to_ascii_lowercase(), url: Secret::around(url), display, inline_password })
    }

    /// The URL with everything in it; for drivers only.
    pub fn url(&self) -> &Secret {
        &self.url
    }

    /// The URL as it may be shown and stored.
    pub fn display(&self) -> &str {
        &self.display
    }

    /// True if the URL itself holds a password: worth a warning, since shells and process lists keep it.
    pub fn has_inline_password(&self) -> bool {
        self.inline_password
    }
}

/// Undoes percent-encoding. What is wrong with a text is said without repeating it, as it may be a password.
pub fn unescape(text: &str) -> std::result::Result<String, &'static str> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' {
            let digits = (rest.next(), rest.next());
            let digit = |digit: Option<u8>| digit.and_then(|digit| char::from(digit).to_digit(16));
            match (digit(digits.0), digit(digits.1)) {
                (Some(high), Some(low)) if high + low > 0 => (high * 16 + low) as u8,
                _ => return Err("the URL holds a '%' that two hexadecimal digits don't follow"),
            }
        } else {
            byte
        });
    }
    String::from_utf8(bytes).map_err(|_| "the URL holds bytes that are not UTF-8")
}
