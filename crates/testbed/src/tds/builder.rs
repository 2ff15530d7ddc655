//! Settings of a server to be, its start, and what it was asked.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;

use super::login::LoginRequest;
use super::packet;
use super::pipe::Identity;
use super::request::Request;
use super::server::serve;
use super::settings::{Attention, Encryption, Record, Settings, Shared, locked};
use super::token::{Refusal, Reply};
use super::types::Column;
use crate::TestbedError;
use crate::grammar::Grammar;

/// A server that listens; it ends with the process. Dropped, it panics if a text was refused by the grammar and nobody asked for
/// [`TdsServer::refused`]: a client may take the error for something else and go on.
#[derive(Debug)]
pub struct TdsServer {
    port: u16,
    record: Arc<Mutex<Record>>,
}

impl TdsServer {
    /// Settings to be changed.
    pub fn builder() -> TdsBuilder {
        TdsBuilder::default()
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Everything that was asked so far, in its order.
    pub fn requests(&self) -> Vec<Request> {
        locked(&self.record).requests.clone()
    }

    /// Everybody who wanted to log in so far.
    pub fn logins(&self) -> Vec<LoginRequest> {
        locked(&self.record).logins.clone()
    }

    /// Attentions that came so far.
    pub fn attentions(&self) -> usize {
        locked(&self.record).attentions
    }

    /// What the server had against its clients' messages.
    pub fn server_errors(&self) -> Vec<String> {
        locked(&self.record).server_errors.clone()
    }

    /// Texts that the grammar refused since this was asked last, each with what is wrong with it.
    pub fn refused(&self) -> Vec<String> {
        std::mem::take(&mut locked(&self.record).refused)
    }
}

impl Drop for TdsServer {
    fn drop(&mut self) {
        let refused = self.refused();
        assert!(refused.is_empty() || thread::panicking(), "not T-SQL:\n{}", refused.join("\n"));
    }
}

/// Settings of a server to be.
#[derive(Default)]
pub struct TdsBuilder {
    settings: Settings,
    identity: Option<Identity>,
    takes_anything: bool,
}

impl TdsBuilder {
    /// What is encrypted, and the certificate for it.
    #[must_use]
    pub fn encryption(mut self, encryption: Encryption, identity: Identity) -> Self {
        (self.settings.encryption, self.identity) = (encryption, Some(identity));
        self
    }

    /// What becomes of attentions.
    #[must_use]
    pub fn attention(mut self, attention: Attention) -> Self {
        self.settings.attention = attention;
        self
    }

    /// Bytes of a packet with its header.
    #[must_use]
    pub fn packet_bytes(mut self, bytes: usize) -> Self {
        self.settings.cutting.packet_bytes = bytes.clamp(packet::HEADER_BYTES + 1, 32_767);
        self
    }

    /// The first packet of each answer ends after so many bytes.
    #[must_use]
    pub fn first_packet_ends_after(mut self, bytes: usize) -> Self {
        self.settings.cutting.first_bytes = Some(bytes);
        self
    }

    /// Every byte is written by itself.
    #[must_use]
    pub fn trickles(mut self) -> Self {
        self.settings.cutting.trickles = true;
        self
    }

    /// Nothing that was asked is kept, and the rows of bulk loads are not even looked at. This is for loads that are
    /// larger than memory, and where the server is not to be what takes the time.
    #[must_use]
    pub fn forgets(mut self) -> Self {
        self.settings.forgets = true;
        self
    }

    /// A bulk load is let begin, and then its client is not listened to any more.
    #[must_use]
    pub fn stalls_loads(mut self) -> Self {
        self.settings.stalls_loads = true;
        self
    }

    /// Texts are taken as they come. Without this, the server refuses what the [grammar](crate::grammar) refuses.
    #[must_use]
    pub fn takes_anything(mut self) -> Self {
        self.takes_anything = true;
        self
    }

    /// The users that are let in.
    #[must_use]
    pub fn admission(mut self, admit: impl Fn(&LoginRequest) -> Result<(), Refusal> + Send + Sync + 'static) -> Self {
        self.settings.admission = Box::new(admit);
        self
    }

    /// The server that users are sent on to after the log-in.
    #[must_use]
    pub fn sends_on_to(self, host: &str, port: u16) -> Self {
        let next = (host.to_owned(), port);
        self.routes(move |_| Some(next.clone()))
    }

    /// The same, as it is at the time; `None` keeps the user here.
    #[must_use]
    pub fn routes(mut self, routes: impl Fn(&LoginRequest) -> Option<(String, u16)> + Send + Sync + 'static) -> Self {
        self.settings.routes = Box::new(routes);
        self
    }

    /// The columns of tables, by the names under which rows are loaded into them.
    #[must_use]
    pub fn tables(mut self, tables: impl Fn(&str) -> Option<Vec<Column>> + Send + Sync + 'static) -> Self {
        self.settings.tables = Box::new(tables);
        self
    }

    /// Starts a server that answers by a script.
    ///
    /// # Errors
    /// If it can't listen, or the grammar is not there.
    pub fn start(
        self,
        script: impl Fn(&Request, &LoginRequest) -> Reply + Send + Sync + 'static,
    ) -> Result<TdsServer, TestbedError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(TestbedError::io("listen"))?;
        let port = listener.local_addr().map_err(TestbedError::io("listen"))?.port();
        let Self { mut settings, identity, takes_anything } = self;
        if !takes_anything {
            settings.grammar = Some(Grammar::shared()?);
        }
        let is_strict = settings.encryption == Encryption::Strict;
        let tls = identity.map(|identity| identity.config(is_strict)).transpose()?;
        let record = Arc::new(Mutex::new(Record::default()));
        let shared = Arc::new(Shared { settings, tls, script: Box::new(script), record: Arc::clone(&record) });
        let accept = move || {
            for socket in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                // A client that goes away, or says what it should not, ends its own thread.
                let serve = move || {
                    if let Err(error) = serve(&shared, socket) {
                        locked(&shared.record).server_errors.push(error.to_string());
                    }
                };
                let _ = thread::Builder::new().name("tds".to_owned()).spawn(serve);
            }
        };
        thread::Builder::new()
            .name("tds accept".to_owned())
            .spawn(accept)
            .map_err(TestbedError::io("start a server"))?;
        Ok(TdsServer { port, record })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn that_refused(texts: &[&str]) -> TdsServer {
        let refused = texts.iter().map(|text| (*text).to_owned()).collect();
        TdsServer { port: 0, record: Arc::new(Mutex::new(Record { refused, ..Record::default() })) }
    }

    #[test]
    #[should_panic(expected = "not T-SQL:\nSELECT a FROM [t")]
    fn a_refusal_that_nobody_asked_for_fails_a_test() {
        drop(that_refused(&["SELECT a FROM [t"]));
    }

    #[test]
    fn one_that_was_asked_for_does_not() {
        let server = that_refused(&["SELECT a FROM [t"]);
        assert_eq!(server.refused(), ["SELECT a FROM [t"]);
        drop(server);
        drop(that_refused(&[]));
    }
}
