//! Where a target is and how it is reached: URLs, and connection strings as ADO.NET has them. Both end in the same keys,
//! which are Microsoft's; case and blanks in their names do not matter.

use plimsoll_engine::server::url::{self, Parts, host_and_port, unknown_parameter};
use plimsoll_engine::{Error, ErrorKind, Result, Secret, Target};

use super::ado;
use super::wire::{Encrypt, Endpoint};

/// Parameters that hold no secret.
pub(super) const SHOWN: &str = "applicationIntent commandTimeout connectTimeout database encrypt hostNameInCertificate instance \
                                multiSubnetFailover packetSize trustServerCertificate user";

/// The names of each key of a connection string or parameter of a URL, without blanks and in lower case. The first of each stands
/// for all. Three are ours: `dropcleanbuffers`, consent to emptying the server's cache, and those of bulk loads.
const KEYS: &[&[&str]] = &[
    &["server", "datasource", "address", "addr", "networkaddress"],
    &["instance"],
    &["database", "initialcatalog"],
    &["user", "userid", "uid", "username"],
    &["password", "pwd"],
    &["encrypt"],
    &["trustservercertificate"],
    &["hostnameincertificate"],
    &["servercertificate"],
    &["connecttimeout", "connectiontimeout", "timeout", "logintimeout"],
    &["commandtimeout"],
    &["packetsize"],
    &["multisubnetfailover"],
    &["applicationintent"],
    &["applicationname", "app"],
    &["authentication"],
    &["integratedsecurity", "trustedconnection"],
    &["dropcleanbuffers"],
    &["bulkbatchrows"],
    &["bulktablelock"],
];
/// Keys of the client library that change nothing here.
const IGNORED: &str = "connectretrycount connectretryinterval currentlanguage enlist loadbalancetimeout maxpoolsize minpoolsize \
                       multipleactiveresultsets mars persistsecurityinfo pooling replication typesystemversion workstationid";

/// What a hint lists.
const SHOWN_KEYS: &str = "encrypt, trustServerCertificate, hostNameInCertificate, serverCertificate, instance, database, \
                          user, connectTimeout, commandTimeout, packetSize, multiSubnetFailover, applicationIntent, authentication, \
                          dropCleanBuffers, bulkBatchRows, bulkTableLock";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Authentication {
    /// By password if there is a user, else by token.
    #[default]
    Usual,
    /// By password.
    Password,
    /// By an access token of whatever source.
    Token,
    /// By an access token from a given source: a kind of log-in that we have not got ourselves.
    GivenToken,
}

#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a parameter of its own")]
pub(super) struct Location {
    /// Servers to be tried in turn; there is at least one.
    pub(super) endpoints: Vec<Endpoint>,
    /// Empty: the log-in's own default.
    pub(super) database: String,
    pub(super) user: Option<String>,
    pub(super) password: Option<Secret>,
    /// `None`: mandatory.
    pub(super) encrypt: Option<Encrypt>,
    pub(super) trust_server_certificate: bool,
    pub(super) host_name_in_certificate: Option<String>,
    pub(super) server_certificate: Option<String>,
    pub(super) connect_timeout_s: Option<u32>,
    pub(super) command_timeout_s: u32,
    pub(super) packet_size: Option<u16>,
    pub(super) multi_subnet_failover: bool,
    pub(super) read_only: bool,
    pub(super) authentication: Authentication,
    /// True if the cache of the whole server may be emptied.
    pub(super) drop_clean_buffers: bool,
    /// Rows of a transaction when a table is loaded; 0 for all of them in one.
    pub(super) bulk_batch_rows: u32,
    /// Whether loads lock their whole table; `None`: those do that have it to themselves.
    pub(super) bulk_table_lock: Option<bool>,
    /// What the target asks for and doesn't get.
    pub(super) warning: Option<&'static str>,
}

fn usage(message: impl Into<String>) -> Error {
    url::usage("mssql", message)
}

/// The sentence for `host\INSTANCE`, which is no URL.
fn backslash(instance: &str) -> Error {
    let shown = instance.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_$#".contains(&byte));
    let name = if shown && !instance.is_empty() { instance } else { "NAME" };
    Error::new(ErrorKind::Usage, "a URL can't name an instance by a backslash")
        .hint(format!("write mssql://user@host/database?instance={name}"))
}

impl Location {
    pub(super) fn parse(target: &Target) -> Result<Self> {
        let text = target.url().expose();
        let mut location = Self::default();
        if ado::PAIRS.are_in(text) {
            for (key, value) in ado::pairs(text)? {
                location.set(&key, value, false)?;
            }
        } else {
            location.read_url(text)?;
        }
        if location.endpoints.is_empty() {
            location.endpoints.push(Endpoint { host: "localhost".to_owned(), port: None, instance: None });
        }
        Ok(location)
    }

    fn read_url(&mut self, url: &str) -> Result<()> {
        let parts = Parts::of(url, "a SQL Server target starts with mssql:// or sqlserver://", usage)?;
        self.user = Some(parts.user).filter(|name| !name.is_empty());
        self.password = Some(parts.password).filter(|word| !word.is_empty()).map(Secret::new);
        for host in parts.hosts.split(',').filter(|host| !host.is_empty()) {
            self.endpoints.push(endpoint(host)?);
        }
        let path = parts.path;
        path.clone_into(&mut self.database);
        let mut explicit_database = false;
        let mut instance = None;
        for (key, value) in parts.parameters {
            match known(&key) {
                Some("instance") => instance = Some(value),
                Some("database") => {
                    explicit_database = true;
                    self.database = value;
                }
                Some("server") => return Err(usage("the server stands in front of the '?' of a URL")),
                _ => self.set(&key, value, parts.doubtful)?,
            }
        }
        // The form of the Go driver: the path is the instance where the database has a parameter of its own.
        if explicit_database && instance.is_none() && !path.is_empty() {
            instance = Some(path);
        }
        if let Some(name) = instance {
            for endpoint in &mut self.endpoints {
                endpoint.instance = Some(name.clone());
            }
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: String, doubtful: bool) -> Result<()> {
        match known(name) {
            Some("server") => self.endpoints = vec![ado::server(&value)?],
            Some("database") => self.database = value,
            Some("user") => self.user = Some(value).filter(|name| !name.is_empty()),
            Some("password") => self.password = Some(value).filter(|word| !word.is_empty()).map(Secret::new),
            Some("encrypt") => {
                self.encrypt = Some(match value.to_ascii_lowercase().as_str() {
                    "false" | "no" | "optional" => Encrypt::Optional,
                    "true" | "yes" | "mandatory" => Encrypt::Mandatory,
                    "strict" => Encrypt::Strict,
                    _ => {
                        return Err(Error::new(ErrorKind::Usage, "the value of 'encrypt' is none that exists")
                            .hint("encrypt is true (Mandatory), strict or false (Optional)"));
                    }
                });
            }
            Some("trustservercertificate") => self.trust_server_certificate = flag(name, &value)?,
            Some("hostnameincertificate") => self.host_name_in_certificate = Some(value),
            Some("servercertificate") => self.server_certificate = Some(value),
            Some("connecttimeout") => match number(name, &value)? {
                0 => {
                    return Err(usage("a log-in without a limit of time (0) is not made")
                        .hint("connectTimeout takes seconds from 1; without it a log-in has 15"));
                }
                seconds => self.connect_timeout_s = Some(seconds),
            },
            Some("commandtimeout") => self.command_timeout_s = number(name, &value)?,
            Some("packetsize") => {
                let size = number(name, &value)?;
                let fits = u16::try_from(size).ok().filter(|size| (512..=32_767).contains(size));
                self.packet_size = Some(fits.ok_or_else(|| {
                    Error::new(ErrorKind::Usage, "the packet size is out of range").hint("packetSize is 512 to 32767")
                })?);
            }
            Some("multisubnetfailover") => self.multi_subnet_failover = flag(name, &value)?,
            Some("applicationintent") => self.read_only = value.eq_ignore_ascii_case("readonly"),
            Some("applicationname") => {
                let warning = "the application's name in the target is not used: sessions are named by what they do";
                self.warning = Some(warning);
            }
            Some("authentication") => self.authentication = authentication(&value)?,
            Some("integratedsecurity") => {
                if value.eq_ignore_ascii_case("sspi") || flag(name, &value)? {
                    return Err(no_windows_login());
                }
            }
            Some("dropcleanbuffers") => self.drop_clean_buffers = flag(name, &value)?,
            Some("bulkbatchrows") => self.bulk_batch_rows = number(name, &value)?,
            Some("bulktablelock") => self.bulk_table_lock = Some(flag(name, &value)?),
            Some(IGNORED) => {}
            _ => {
                let is_plain = |byte: u8| byte.is_ascii_alphabetic() || byte == b' ';
                return Err(unknown_parameter(name, doubtful, is_plain, SHOWN_KEYS));
            }
        }
        Ok(())
    }
}

fn no_windows_login() -> Error {
    Error::new(ErrorKind::Unsupported, "a log-in by the Windows account is not supported")
        .hint("use a log-in of SQL Server's own, or an access token of Microsoft Entra ID by --token-command")
}

fn authentication(value: &str) -> Result<Authentication> {
    match plain(value).as_str() {
        "sqlpassword" => Ok(Authentication::Password),
        "activedirectoryintegrated" | "windowsauthentication" => Err(no_windows_login()),
        "activedirectorydefault" => Ok(Authentication::Token),
        token if token.starts_with("activedirectory") => Ok(Authentication::GivenToken),
        _ => Err(Error::new(ErrorKind::Usage, "the value of 'authentication' is none that exists here")
            .hint("authentication is SqlPassword, or ActiveDirectoryDefault with a token by --token-command or az")),
    }
}

/// The first name of a key, or [`IGNORED`].
fn known(name: &str) -> Option<&'static str> {
    let plain = plain(name).replace('_', "");
    let found = KEYS.iter().find(|names| names.contains(&plain.as_str())).map(|names| names[0]);
    found.or_else(|| IGNORED.split(' ').any(|known| known == plain).then_some(IGNORED))
}

/// A word without blanks and in lower case.
fn plain(word: &str) -> String {
    word.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_lowercase()
}

fn flag(name: &str, value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "yes" | "1" => Ok(true),
        "false" | "no" | "0" => Ok(false),
        _ => {
            Err(Error::new(ErrorKind::Usage, format!("'{name}' is neither true nor false")).hint("write true or false"))
        }
    }
}

fn number(name: &str, value: &str) -> Result<u32> {
    value.parse().map_err(|_| {
        Error::new(ErrorKind::Usage, format!("'{name}' is not a number")).hint("seconds and rows are whole numbers")
    })
}

/// `name`, `name:port`, `[address]:port`.
fn endpoint(host: &str) -> Result<Endpoint> {
    // As other tools write it. What stands before may be the start of a password, unless it is a port.
    if let Some((before, instance)) = host.split_once('\\') {
        let is_port = before.split_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        if is_port {
            return Err(backslash(instance));
        }
    }
    let (name, port) = host_and_port(host, usage)?;
    if let Some((_, instance)) = name.split_once('\\') {
        return Err(backslash(instance));
    }
    Ok(Endpoint { host: if name.is_empty() { "localhost".to_owned() } else { name }, port, instance: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_engine::Engine as _;
    use plimsoll_engine::target::register;
    use proptest::prelude::*;

    fn parse(url: &str) -> Result<Location> {
        register(vec![crate::Mssql.notation()]);
        Location::parse(&Target::parse(url).unwrap())
    }

    fn endpoint(host: &str, port: Option<u16>, instance: Option<&str>) -> Endpoint {
        Endpoint { host: host.to_owned(), port, instance: instance.map(str::to_owned) }
    }

    #[test]
    fn urls_are_read() {
        let url = "mssql://us%40er:p%2Fw@db.example:1444/my%20db?encrypt=strict&hostNameInCertificate=x.example&connectTimeout=3";
        let location = parse(url).unwrap();
        assert_eq!(location.endpoints, [endpoint("db.example", Some(1444), None)]);
        assert_eq!((location.user.as_deref(), location.database.as_str()), (Some("us@er"), "my db"));
        assert_eq!(location.password.unwrap().expose(), "p/w");
        assert_eq!(location.encrypt, Some(Encrypt::Strict));
        assert_eq!(location.host_name_in_certificate.as_deref(), Some("x.example"));
        assert_eq!((location.connect_timeout_s, location.trust_server_certificate), (Some(3), false));
        let location = parse("sqlserver://h1,h2:7,[::1]:8/d?trustServerCertificate=true&PacketSize=4096").unwrap();
        assert_eq!(
            location.endpoints,
            [endpoint("h1", None, None), endpoint("h2", Some(7), None), endpoint("::1", Some(8), None)]
        );
        assert!(location.trust_server_certificate && location.packet_size == Some(4096) && location.user.is_none());
        assert!(location.bulk_batch_rows == 0 && location.bulk_table_lock.is_none());
        let loading = parse("mssql://h/d?bulkBatchRows=5000&bulkTableLock=no").unwrap();
        assert_eq!((loading.bulk_batch_rows, loading.bulk_table_lock), (5000, Some(false)));
        assert!(!location.drop_clean_buffers && parse("mssql://h/d?dropCleanBuffers=true").unwrap().drop_clean_buffers);
        assert_eq!(parse("mssql:///d").unwrap().endpoints, [endpoint("localhost", None, None)]);
        assert_eq!(parse("mssql://u:a@b@h/d").unwrap().password.unwrap().expose(), "a@b");
    }

    #[test]
    fn instances_have_a_parameter() {
        let named = endpoint("h", None, Some("SQL2022"));
        assert_eq!(parse("mssql://h/d?instance=SQL2022").unwrap().endpoints, std::slice::from_ref(&named));
        let go = parse("sqlserver://h/SQL2022?database=d").unwrap();
        assert_eq!((go.endpoints, go.database.as_str()), (vec![named], "d"));
        for url in [
            "mssql://u@h\\SQL2022/d",
            "mssql://u@h%5CSQL2022/d",
            "mssql://u@h\\SQL2022:1433/d",
            "mssql://u@h:1433\\SQL2022/d",
        ] {
            let error = parse(url).err().unwrap();
            assert!(error.message.contains("backslash") && error.hint.unwrap().contains("?instance=SQL2022"), "{url}");
        }
    }

    #[test]
    fn what_is_unknown_is_refused_with_what_is_known() {
        let error = parse("mssql://h/d?encryp=true").err().unwrap();
        assert!(error.message.contains("'encryp'") && error.hint.unwrap().contains("trustServerCertificate"));
        for bad in [
            "mssql:h/d",
            "mssql://h/d?encrypt=perhaps",
            "mssql://h:x/d",
            "mssql://h/%zz",
            "mssql://h/d?a",
            "mssql://h/d?packetSize=100",
            "mssql://h/d?trustServerCertificate=maybe",
            "mssql://h/d?dropCleanBuffers=maybe",
            "mssql://h/d?bulkBatchRows=-1",
            "mssql://h/d?bulkTableLock=2",
            "mssql://h/d?authentication=Kerberos",
        ] {
            assert_eq!(parse(bad).err().unwrap().kind, ErrorKind::Usage, "{bad}");
        }
        assert_eq!(parse("mssql://h/d?trusted_connection=yes").err().unwrap().kind, ErrorKind::Unsupported);
    }

    #[test]
    fn names_of_keys_are_without_case_and_double_entries() {
        let all = || KEYS.iter().flat_map(|names| names.iter().copied()).chain(IGNORED.split(' '));
        let names: std::collections::BTreeSet<&str> = all().collect();
        assert_eq!(names.len(), all().count());
        assert!(SHOWN_KEYS.split(", ").all(|shown| known(shown).is_some()));
    }

    proptest! {
        /// Whatever of a password is not escaped, no part of it is ever repeated, nor taken for the name of a host.
        #[test]
        fn no_password_is_repeated(head in "[A-Z]{4}", end in "[A-Z]{4}", sign in "[:/@%?&=\\\\;]{1,3}") {
            register(vec![crate::Mssql.notation()]);
            for url in [
                format!("mssql://user:{head}{sign}{end}@host/db"),
                format!("Server=host;User Id=user;Password={head}{sign}{end};Database=db"),
            ] {
                match Target::parse(&url).and_then(|target| Location::parse(&target)) {
                    Ok(location) => {
                        for endpoint in &location.endpoints {
                            let shown = format!("{endpoint:?}");
                            prop_assert!(!shown.contains(&head) && !shown.contains(&end), "{}", shown);
                        }
                    }
                    Err(error) => {
                        let text = format!("{error:?}");
                        prop_assert!(!text.contains(&head) && !text.contains(&end), "{}", text);
                    }
                }
            }
        }
    }
}
