//! The user and the server of a connection, and how it is protected.

use mssql_tds::connection::client_context::{ClientContext, IPAddressPreference, TdsAuthenticationMethod};
use mssql_tds::core::{EncryptionOptions, EncryptionSetting};
use mssql_tds::message::login_options::ApplicationIntent;
use plimsoll_engine::target::Secret;

/// A server, by its port or the name of its instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// Name or address.
    pub(crate) host: String,
    /// TCP port; without one the instance's, else 1433.
    pub(crate) port: Option<u16>,
    /// A named instance. If no port is given, SQL Server Browser is asked for it.
    pub(crate) instance: Option<String>,
}

/// How much of the connection is encrypted, by Microsoft's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encrypt {
    /// `Optional`: the log-in only, unless the server wants more.
    Optional,
    /// `Mandatory`: everything from the log-in on.
    Mandatory,
    /// `Strict`: everything from the first byte on (TDS 8.0), and the certificate is always verified.
    Strict,
}

#[derive(Debug, Clone)]
pub(crate) enum Auth {
    /// A log-in of the server's own.
    Password { user: String, password: Secret },
    /// An access token of Microsoft Entra ID for the resource `https://database.windows.net/`.
    Token(Secret),
}

#[derive(Debug, Clone)]
pub(crate) struct Login {
    pub(crate) database: String,
    pub(crate) auth: Auth,
    pub(crate) encrypt: Encrypt,
    pub(crate) trust_server_certificate: bool,
    pub(crate) host_name_in_certificate: Option<String>,
    /// A file with the very certificate that the server must show.
    pub(crate) server_certificate: Option<String>,
    pub(crate) connect_timeout_s: u32,
    /// Seconds that a statement may take; 0 for ever.
    pub(crate) command_timeout_s: u32,
    pub(crate) packet_size: u16,
    pub(crate) multi_subnet_failover: bool,
    pub(crate) read_only: bool,
}

impl Endpoint {
    pub(crate) fn data_source(&self) -> String {
        // It would take the colon of a protocol for one of an IPv6 address.
        let protocol = if self.host.contains(':') { "" } else { "tcp:" };
        match (&self.instance, self.port) {
            (Some(instance), None) => format!("{protocol}{}\\{instance}", self.host),
            (_, port) => format!("{protocol}{},{}", self.host, port.unwrap_or(1433)),
        }
    }
}

impl Login {
    pub(super) fn context(&self, application: &str) -> ClientContext {
        let mut context = ClientContext::default();
        application.clone_into(&mut context.application_name);
        // By default this is the machine's name, which may name a person; the server shows it to everybody.
        "plimsoll".clone_into(&mut context.workstation_id);
        self.database.clone_into(&mut context.database);
        match &self.auth {
            Auth::Password { user, password } => {
                user.clone_into(&mut context.user_name);
                password.expose().clone_into(&mut context.password);
            }
            Auth::Token(token) => {
                context.tds_authentication_method = TdsAuthenticationMethod::AccessToken;
                context.access_token = Some(token.expose().to_owned());
            }
        }
        context.encryption_options = EncryptionOptions {
            mode: match self.encrypt {
                Encrypt::Optional => EncryptionSetting::PreferOff,
                Encrypt::Mandatory => EncryptionSetting::Required,
                Encrypt::Strict => EncryptionSetting::Strict,
            },
            trust_server_certificate: self.trust_server_certificate,
            host_name_in_cert: self.host_name_in_certificate.clone(),
            server_certificate: self.server_certificate.as_ref().map(Into::into),
        };
        context.connect_timeout = self.connect_timeout_s;
        context.login_timeout = Some(self.connect_timeout_s);
        // A connection that was lost is to be seen and counted, not mended behind our back.
        context.connect_retry_count = 0;
        context.packet_size = self.packet_size;
        context.multi_subnet_failover = Some(self.multi_subnet_failover);
        context.ipaddress_preference = IPAddressPreference::UsePlatformDefault;
        if self.read_only {
            context.application_intent = ApplicationIntent::ReadOnly;
        }
        context
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_looked_for_where_no_port_is_named() {
        let endpoint = |port, instance: Option<&str>| {
            Endpoint { host: "h".to_owned(), port, instance: instance.map(str::to_owned) }.data_source()
        };
        assert_eq!(endpoint(None, None), "tcp:h,1433");
        assert_eq!(endpoint(Some(7), Some("I")), "tcp:h,7");
        assert_eq!(endpoint(None, Some("I")), "tcp:h\\I");
    }
}
