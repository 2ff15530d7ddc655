//! Targets by URL, and the secrets that must never be seen: what is shown of a URL has no password in it.

use secrecy::{ExposeSecret, SecretString};

use crate::error::{Error, ErrorKind, Result};

/// A text that neither `Debug` nor `Display` ever shows.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(SecretString::from(text.into()))
    }

    /// The text itself, for the driver that needs it.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// What the program found of passwords outside the URL.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    /// From a file, the environment or a prompt. It goes before the engine's own stores and after the URL.
    pub password: Option<Secret>,
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
        let (display, inline_password) = redact(url);
        Ok(Self { scheme: scheme.to_ascii_lowercase(), url: Secret::new(url), display, inline_password })
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

/// Replaces the password of the user part and of every query key that sounds like one.
fn redact(url: &str) -> (String, bool) {
    let mut found = false;
    let Some((scheme, rest)) = url.split_once("://") else { return (url.to_owned(), false) };
    // A password may hold '/', '?' or '@' unescaped: the last '@' decides, so that rather too much is hidden than too little.
    let user_end = rest.rfind('@');
    let (user, after) = match user_end {
        Some(at) => (Some(&rest[..at]), &rest[at + 1..]),
        None => (None, rest),
    };
    let mut shown = format!("{scheme}://");
    if let Some(user) = user {
        let name = user.split_once(':').map_or(user, |(name, _)| {
            found = true;
            name
        });
        shown.push_str(name);
        shown.push_str(if found { ":***@" } else { "@" });
    }
    let (path, query) = after.split_once('?').map_or((after, None), |(path, query)| (path, Some(query)));
    shown.push_str(path);
    for (index, pair) in query.iter().flat_map(|query| query.split('&')).enumerate() {
        shown.push(if index == 0 { '?' } else { '&' });
        let key = pair.split('=').next().unwrap_or_default();
        let lower = key.to_ascii_lowercase();
        if ["pass", "pwd", "token", "secret"].iter().any(|word| lower.contains(word)) && lower != "passfile" {
            found = true;
            shown.push_str(key);
            shown.push_str("=***");
        } else {
            shown.push_str(pair);
        }
    }
    (shown, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(url: &str) -> String {
        Target::parse(url).unwrap().display().to_owned()
    }

    #[test]
    fn passwords_are_hidden_wherever_they_stand() {
        assert_eq!(
            shown("postgres://u:s3cret@h:5432/db?sslmode=require"),
            "postgres://u:***@h:5432/db?sslmode=require"
        );
        assert_eq!(shown("postgres://h/db?user=u&password=s3cret"), "postgres://h/db?user=u&password=***");
        assert_eq!(shown("postgres://u:p/a@ss@h/db"), "postgres://u:***@h/db");
        assert_eq!(shown("postgres://u@h/db?passfile=/home/u/.pgpass"), "postgres://u@h/db?passfile=/home/u/.pgpass");
        assert_eq!(shown("sqlite:some dir/file.db"), "sqlite:some dir/file.db");
        let target = Target::parse("postgres://u:s3cret@h/db").unwrap();
        assert!(!format!("{target:?}").contains("s3cret"));
        assert!(target.has_inline_password() && !Target::parse("postgres://u@h/db").unwrap().has_inline_password());
    }

    #[test]
    fn what_is_no_url_is_refused_without_repeating_it() {
        for bad in ["", "file.db", ":x", "sqlite:", "a b:c"] {
            let error = Target::parse(bad).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Usage);
        }
    }

    proptest! {
        #[test]
        fn no_password_survives(password in "[a-zA-Z0-9:/@#%!?=&]{12,20}", query in "[a-z]{0,5}") {
            let target = Target::parse(&format!("postgres://user:{password}@host/db?{query}")).unwrap();
            prop_assert!(!target.display().contains(&password), "{}", target.display());
        }

        #[test]
        fn parsing_never_panics(text in "\\PC{0,60}") {
            let _ = Target::parse(&text);
        }
    }
}
