//! Connection URLs: `mysql://user@host:port/database?parameter=value`, with the parameters named as the long options of the
//! servers' own clients.

use std::time::Duration;

use plimsoll_engine::server::tls::Protection;
use plimsoll_engine::server::url::{self, Parts, host_and_port, unknown_parameter};
use plimsoll_engine::{Error, ErrorKind, Result, Secret, Target};

const KNOWN: &str = "ssl-mode, ssl-ca, socket, connect-timeout, defaults-file";

/// The names of [`Protection`] in the client's `--ssl-mode`.
const SSL_MODES: [&str; 5] = ["DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"];

#[derive(Debug, Default)]
pub(super) struct Location {
    pub(super) user: Option<String>,
    pub(super) password: Option<Secret>,
    pub(super) host: Option<String>,
    pub(super) port: Option<u16>,
    pub(super) database: Option<String>,
    pub(super) socket: Option<String>,
    pub(super) ssl_mode: Option<Protection>,
    pub(super) ssl_ca: Option<String>,
    pub(super) connect_timeout: Option<Duration>,
    pub(super) defaults_file: Option<String>,
}

fn usage(message: impl Into<String>) -> Error {
    url::usage("mysql", message)
}

impl Location {
    pub(super) fn parse(target: &Target) -> Result<Self> {
        let url = target.url().expose();
        let start = "a MySQL target starts with mysql://, a MariaDB target with mariadb://";
        let parts = Parts::of(url, start, usage)?;
        let mut location = Self::default();
        let filled = |text: String| Some(text).filter(|text| !text.is_empty());
        location.user = filled(parts.user);
        location.password = filled(parts.password).map(Secret::new);
        let (host, port) = host_and_port(parts.hosts, usage)?;
        (location.host, location.port) = (filled(host), port);
        location.database = filled(parts.path);
        for (key, value) in parts.parameters {
            location.parameter(&key, value, parts.doubtful)?;
        }
        Ok(location)
    }

    fn parameter(&mut self, key: &str, value: String, doubtful: bool) -> Result<()> {
        match key {
            "ssl-mode" => {
                let name = value.to_ascii_uppercase().replace('-', "_");
                self.ssl_mode = Some(Protection::of(&name, &SSL_MODES).ok_or_else(|| {
                    Error::new(ErrorKind::Usage, "the URL's ssl-mode is none that exists")
                        .hint("ssl-mode is DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY")
                })?);
            }
            "ssl-ca" => self.ssl_ca = Some(value),
            "socket" => self.socket = Some(value),
            "connect-timeout" => {
                let seconds = value.parse().ok().filter(|seconds| (1..=86_400).contains(seconds));
                let seconds = seconds.ok_or_else(|| usage("the URL's connect-timeout is not a number of seconds"))?;
                self.connect_timeout = Some(Duration::from_secs(seconds));
            }
            "defaults-file" => self.defaults_file = Some(value),
            other => {
                let is_plain = |byte: u8| byte.is_ascii_lowercase() || b"_-".contains(&byte);
                return Err(unknown_parameter(other, doubtful, is_plain, KNOWN));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(url: &str) -> Result<Location> {
        Location::parse(&Target::parse(url).unwrap())
    }

    #[test]
    fn a_url_is_taken_apart() {
        let location =
            parse("mysql://us%40er:p%2Fw@db.example:3307/my%20db?connect-timeout=3&ssl-mode=verify_ca").unwrap();
        assert_eq!((location.user.as_deref(), location.host.as_deref()), (Some("us@er"), Some("db.example")));
        assert_eq!(location.password.unwrap().expose(), "p/w");
        assert_eq!((location.port, location.database.as_deref()), (Some(3307), Some("my db")));
        assert_eq!(location.connect_timeout, Some(Duration::from_secs(3)));
        assert_eq!(location.ssl_mode, Some(Protection::Authority));
        let location = parse("mariadb://u@/?socket=/tmp/x&ssl-ca=/c&defaults-file=/d").unwrap();
        assert_eq!((location.host, location.database, location.socket.as_deref()), (None, None, Some("/tmp/x")));
        assert_eq!((location.ssl_ca.as_deref(), location.defaults_file.as_deref()), (Some("/c"), Some("/d")));
        let location = parse("mysql://[::1]:7").unwrap();
        assert_eq!((location.host.as_deref(), location.port, location.user), (Some("::1"), Some(7), None));
        assert_eq!(parse("mysql://u:a@b@h/d").unwrap().password.unwrap().expose(), "a@b");
    }

    #[test]
    fn what_is_unknown_is_refused_with_what_is_known() {
        let error = parse("mysql://h/d?sslmode=require").err().unwrap();
        assert!(error.kind == ErrorKind::Usage && error.message.contains("'sslmode'"));
        assert!(error.hint.unwrap().contains("ssl-mode"));
        for bad in [
            "mysql:h/d",
            "mysql://h/d?ssl-mode=allow",
            "mysql://h:x/d",
            "mysql://h/%zz",
            "mysql://h/d?a",
            "mysql://h/d?connect-timeout=0",
        ] {
            assert_eq!(parse(bad).err().unwrap().kind, ErrorKind::Usage, "{bad}");
        }
    }

    proptest! {
        /// Whatever of a password is not escaped, no part of it is ever repeated, nor taken for the name of a host.
        #[test]
        fn no_password_is_repeated(head in "[A-Z]{4}", end in "[A-Z]{4}", sign in "[:/@%?&=]{1,3}") {
            let url = format!("mysql://user:{head}{sign}{end}@host/db");
            match parse(&url) {
                Ok(location) => {
                    let host = location.host.unwrap_or_default();
                    prop_assert!(!host.contains(&head) && !host.contains(&end), "{}", host);
                }
                Err(error) => {
                    let text = format!("{error:?}");
                    prop_assert!(!text.contains(&head) && !text.contains(&end), "{}", text);
                }
            }
        }
    }
}
