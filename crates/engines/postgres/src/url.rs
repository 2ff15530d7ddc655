//! Connection URLs in libpq's forms (PostgreSQL manual, 34.1.1.2), taken apart here. The driver takes the first
//! `@` for the end of the password. It would then repeat the rest of it as the name of a host.

use plimsoll_engine::server::tls::Protection;
use plimsoll_engine::server::url::{Parts, host_and_port, unknown_parameter};
use plimsoll_engine::{Error, ErrorKind, Result, Target};

/// Parameters that the driver understands as libpq does, and `pooler`.
const KNOWN: &str = "user, password, dbname, host, hostaddr, port, options, connect_timeout, tcp_user_timeout, keepalives, \
                     keepalives_idle, keepalives_interval, keepalives_retries, target_session_attrs, channel_binding, \
                     load_balance_hosts, sslnegotiation, pooler";

/// libpq's names of [`Protection`].
pub(super) const SSL_MODES: [&str; 5] = ["disable", "prefer", "require", "verify-ca", "verify-full"];

pub(super) struct Location {
    /// What the driver is told, in order; it holds the password if the URL does, so it has no `Debug`.
    pub(super) parameters: Vec<(String, String)>,
    pub(super) ssl_mode: Option<Protection>,
    pub(super) ssl_root_cert: Option<String>,
    pub(super) passfile: Option<String>,
    /// True if the URL names its sessions itself, which is not heeded.
    pub(super) named: bool,
}

fn usage(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, message).hint(
        "write postgres://user@host:port/database?parameter=value, with '/', '?', '@', '&' and '%' of a user or password as %2F, %3F, %40, %26 and %25",
    )
}

impl Location {
    pub(super) fn parse(target: &Target) -> Result<Self> {
        let url = target.url().expose();
        let parts = Parts::of(url, "a PostgreSQL target starts with postgres://", usage)?;
        let mut location =
            Self { parameters: Vec::new(), ssl_mode: None, ssl_root_cert: None, passfile: None, named: false };
        location.push("user", parts.user);
        location.push("password", parts.password);
        location.push_hosts(parts.hosts)?;
        location.push("dbname", parts.path);
        for (key, value) in parts.parameters {
            location.parameter(&key, value, parts.doubtful)?;
        }
        Ok(location)
    }

    /// The value of a parameter; the last one of a name counts.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.parameters.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    fn push(&mut self, key: &str, value: String) {
        if !value.is_empty() {
            self.parameters.retain(|(name, _)| name != key);
            self.parameters.push((key.to_owned(), value));
        }
    }

    fn push_hosts(&mut self, hosts: &str) -> Result<()> {
        let (mut names, mut ports) = (Vec::new(), Vec::new());
        for host in hosts.split(',').filter(|host| !host.is_empty()) {
            let (name, port) = host_and_port(host, usage)?;
            names.push(name);
            ports.push(port.unwrap_or(5432).to_string());
        }
        // A host that is only a port (`:5433`) leaves the name to the parameters.
        if names.iter().any(|name| !name.is_empty()) {
            self.push("host", names.join(","));
        }
        self.push("port", ports.join(","));
        Ok(())
    }

    fn parameter(&mut self, key: &str, value: String, doubtful: bool) -> Result<()> {
        match key {
            "sslmode" => {
                self.ssl_mode = Some(Protection::of(&value, &SSL_MODES).ok_or_else(|| {
                    Error::new(ErrorKind::Usage, "the URL's sslmode is none that exists here")
                        .hint("sslmode is disable, prefer, require, verify-ca or verify-full")
                })?);
            }
            "sslrootcert" => self.ssl_root_cert = Some(value),
            "passfile" => self.passfile = Some(value),
            "application_name" => self.named = true,
            known if KNOWN.split(", ").any(|name| name == known) => self.push(known, value),
            other => {
                let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
                let known = format!("sslmode, sslrootcert, passfile, {KNOWN}");
                return Err(unknown_parameter(other, doubtful, is_plain, &known));
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
    fn the_forms_of_libpq_are_read() {
        let location =
            parse("postgresql://us%40er:p%2Fw@db.example:5433/my%20db?connect_timeout=3&sslmode=verify-ca").unwrap();
        let get = |key: &str| location.get(key);
        assert_eq!((get("user"), get("password")), (Some("us@er"), Some("p/w")));
        assert_eq!((get("host"), get("port"), get("dbname")), (Some("db.example"), Some("5433"), Some("my db")));
        assert_eq!((get("connect_timeout"), location.ssl_mode), (Some("3"), Some(Protection::Authority)));
        let location = parse("postgres://u@/d?host=/tmp/x&port=6000&passfile=/p").unwrap();
        assert_eq!((location.get("host"), location.get("port")), (Some("/tmp/x"), Some("6000")));
        assert_eq!(location.passfile.as_deref(), Some("/p"));
        let location = parse("postgres://[::1]:7,h2/d").unwrap();
        assert_eq!((location.get("host"), location.get("port")), (Some("::1,h2"), Some("7,5432")));
        assert_eq!(parse("postgres://u:a@b@h/d").unwrap().get("password"), Some("a@b"));
    }

    #[test]
    fn what_is_unknown_is_refused_with_what_is_known() {
        let error = parse("postgres://h/d?sslmod=require").err().unwrap();
        assert_eq!(error.kind, ErrorKind::Usage);
        assert!(error.message.contains("'sslmod'") && error.hint.unwrap().contains("sslmode"));
        for bad in
            ["postgres:h/d", "postgres://h/d?sslmode=allow", "postgres://h:x/d", "postgres://h/%zz", "postgres://h/d?a"]
        {
            assert_eq!(parse(bad).err().unwrap().kind, ErrorKind::Usage, "{bad}");
        }
    }

    proptest! {
        /// Whatever of a password is not escaped, no part of it is ever repeated, nor taken for the name of a host.
        #[test]
        fn no_password_is_repeated(head in "[A-Z]{4}", end in "[A-Z]{4}", sign in "[:/@%?&=]{1,3}") {
            let url = format!("postgres://user:{head}{sign}{end}@host/db");
            match parse(&url) {
                Ok(location) => {
                    let host = location.get("host").unwrap_or_default();
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
