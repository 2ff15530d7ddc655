//! A line to the server on which we write and read messages ourselves: one write for a request, few reads for its answer,
//! in buffers that are kept.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::PoisonError;
use std::time::Duration;

use plimsoll_engine::database::Cancel;
use plimsoll_engine::error::{Error, Result};
use plimsoll_engine::request::Traffic;
use plimsoll_engine::server::inbox::{Inbox, KEPT_BYTES};
use plimsoll_engine::server::socket::{Address, Breaker, KeepAlive, Socket};
use postgres_protocol::message::backend::{DATA_ROW_TAG, Header, Message, READY_FOR_QUERY_TAG};
use postgres_protocol::message::frontend;
use postgres_types::private::BytesMut;
use tokio_postgres::config::{Host, LoadBalanceHosts, TargetSessionAttrs};
use tokio_postgres::{CancelToken, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::blocking::{Keeper, Lent, Tls, finish};
use super::error::Errors;
use super::session::CANCEL_PATIENCE;

/// How long a server may take to hear that we go.
const FAREWELL: Duration = Duration::from_secs(1);

enum Stream {
    Plain(Socket),
    Protected(Tls, Lent),
}

/// A line after the log-in.
pub(super) struct WireConnection {
    stream: Stream,
    /// What the next [`WireConnection::send`] sends.
    pub(super) out: BytesMut,
    inbox: Inbox,
}

/// Connects to the first host that lets us in.
pub(super) fn connect(
    config: &Config,
    tls: &MakeRustlsConnect,
    timeout: Duration,
    errors: &Errors,
) -> Result<(WireConnection, WireCancel)> {
    let count = config.get_hosts().len().max(config.get_hostaddrs().len());
    let first = match config.get_load_balance_hosts() {
        LoadBalanceHosts::Random => RandomState::new().build_hasher().finish() as usize % count.max(1),
        _ => 0,
    };
    let mut failed = errors.unreachable("no host is named");
    for index in (0..count).map(|index| (index + first) % count) {
        let host = match (config.get_hosts().get(index), config.get_hostaddrs().get(index)) {
            (Some(Host::Tcp(name)), _) => name.clone(),
            (_, Some(address)) => address.to_string(),
            _ => String::new(),
        };
        let addresses = match addresses_of(config, index) {
            Ok(addresses) => addresses,
            Err(error) => {
                failed = errors.unreachable(&error.to_string());
                continue;
            }
        };
        for address in addresses {
            match log_in(config, tls, timeout, errors, (&address, &host)) {
                Ok((mut line, token, breaker)) => match line.is_wanted(config.get_target_session_attrs()) {
                    Ok(true) => return Ok((line, WireCancel { token, tls: tls.clone(), address, host, breaker })),
                    Ok(false) => {
                        failed = errors.unreachable("the server is not one of the target_session_attrs asked for");
                    }
                    Err(error) => failed = errors.lost(&error.to_string()),
                },
                Err(error) => failed = error,
            }
        }
    }
    Err(failed)
}

/// The addresses of the host at `index`; its name may have several.
fn addresses_of(config: &Config, index: usize) -> io::Result<Vec<Address>> {
    let ports = config.get_ports();
    let port = ports.get(index).or(ports.first()).copied().unwrap_or(5432);
    if let Some(address) = config.get_hostaddrs().get(index) {
        return Ok(vec![Address::Tcp(SocketAddr::new(*address, port))]);
    }
    match config.get_hosts().get(index) {
        Some(Host::Tcp(name)) => Ok((name.as_str(), port).to_socket_addrs()?.map(Address::Tcp).collect()),
        Some(Host::Unix(folder)) => Ok(vec![Address::Unix(folder.join(format!(".s.PGSQL.{port}")))]),
        None => Err(io::Error::new(io::ErrorKind::InvalidInput, "no host is named")),
    }
}

fn log_in(
    config: &Config,
    tls: &MakeRustlsConnect,
    timeout: Duration,
    errors: &Errors,
    (address, host): (&Address, &str),
) -> Result<(WireConnection, CancelToken, Breaker)> {
    let broken = |error: io::Error| match error.kind() {
        io::ErrorKind::TimedOut => errors.too_slow(timeout.as_secs()),
        _ => errors.unreachable(&error.to_string()),
    };
    let socket = Socket::connect(address, timeout).map_err(broken)?;
    let keep_alive = config.get_keepalives().then(|| KeepAlive {
        idle: config.get_keepalives_idle(),
        interval: config.get_keepalives_interval(),
        retries: config.get_keepalives_retries(),
    });
    socket.keep_alive(keep_alive, config.get_tcp_user_timeout().copied()).map_err(broken)?;
    let breaker = socket.breaker();
    let socket = Lent::new(socket);
    let (keeper, kept) = Keeper::new(tls, host);
    let connected = finish(&socket, config.connect_raw(socket.clone(), keeper)).map_err(broken)?;
    let (client, connection) = connected.map_err(|error| errors.connecting(&error))?;
    let token = client.cancel_token();
    drop((client, connection));
    socket.lock().clear_timeout().map_err(broken)?;
    let protected = kept.lock().unwrap_or_else(PoisonError::into_inner).take();
    let stream = match protected {
        Some(tls) => Stream::Protected(tls, socket),
        None => Stream::Plain(socket.into_inner().ok_or_else(|| errors.unreachable("the driver kept the socket"))?),
    };
    let line = WireConnection { stream, out: BytesMut::new(), inbox: Inbox::default() };
    Ok((line, token, breaker))
}

impl WireConnection {
    /// Whether the server writes, or does not, as the URL wants it.
    fn is_wanted(&mut self, wanted: TargetSessionAttrs) -> io::Result<bool> {
        let read_only = match wanted {
            TargetSessionAttrs::ReadWrite => false,
            TargetSessionAttrs::ReadOnly => true,
            _ => return Ok(true),
        };
        frontend::query("SHOW transaction_read_only", &mut self.out)?;
        self.send()?;
        let mut is_read_only = None;
        loop {
            match self.receive()? {
                (DATA_ROW_TAG, row) => is_read_only = Some(row.ends_with(b"on")),
                (READY_FOR_QUERY_TAG, _) => return Ok(is_read_only == Some(read_only)),
                _ => {}
            }
        }
    }

    /// Sends what has been put into `out`.
    pub(super) fn send(&mut self) -> io::Result<()> {
        let sent = match &mut self.stream {
            Stream::Plain(socket) => socket.write_all(&self.out),
            Stream::Protected(tls, socket) => tls.write_all(socket, &self.out),
        };
        self.out.clear();
        sent
    }

    /// The next message: its tag, and all of it with the tag and the length in front.
    pub(super) fn receive(&mut self) -> io::Result<(u8, &[u8])> {
        let (tag, length) = loop {
            let held = self.inbox.held();
            let wanted = match Header::parse(held)? {
                Some(header) => {
                    let length = header.len() as usize + 1;
                    if held.len() >= length {
                        break (header.tag(), length);
                    }
                    length
                }
                None => 5,
            };
            let stream = &mut self.stream;
            self.inbox.fill(wanted, |room| match stream {
                Stream::Plain(socket) => socket.read(room),
                Stream::Protected(tls, socket) => tls.read(socket, room),
            })?;
        };
        let message = self.inbox.take(length);
        Ok((tag, self.inbox.at(message)))
    }

    /// From now on nothing is waited for longer than this.
    pub(super) fn set_timeout(&mut self, patience: Duration) -> io::Result<()> {
        match &mut self.stream {
            Stream::Plain(socket) => socket.set_timeout(Some(patience)),
            Stream::Protected(_, socket) => socket.lock().set_timeout(Some(patience)),
        }
    }

    /// Gives memory back that a large answer or load took.
    pub(super) fn shrink(&mut self) {
        self.inbox.shrink();
        if self.out.capacity() > KEPT_BYTES && self.out.is_empty() {
            self.out = BytesMut::new();
        }
    }

    /// What went over it.
    pub(super) fn traffic(&self) -> Traffic {
        match &self.stream {
            Stream::Plain(socket) => socket.traffic(),
            Stream::Protected(_, socket) => socket.lock().traffic(),
        }
    }
}

impl Drop for WireConnection {
    fn drop(&mut self) {
        // The server would notice anyhow, and say so in its log.
        self.out.clear();
        frontend::terminate(&mut self.out);
        let _ = self.set_timeout(FAREWELL).and_then(|()| self.send());
    }
}

/// A message that is rare enough to be taken apart by the library.
pub(super) fn parse(message: &[u8]) -> io::Result<Message> {
    Message::parse(&mut BytesMut::from(message))?.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Cancels over a connection of its own, protected like the line.
pub(super) struct WireCancel {
    token: CancelToken,
    tls: MakeRustlsConnect,
    address: Address,
    host: String,
    breaker: Breaker,
}

impl Cancel for WireCancel {
    fn cancel(&self) {
        // A server that can't be reached has nothing to cancel, or will notice by itself that we are gone.
        let Ok(socket) = Socket::connect(&self.address, CANCEL_PATIENCE) else { return };
        let socket = Lent::new(socket);
        let (keeper, _) = Keeper::new(&self.tls, &self.host);
        if let Ok(Ok(())) = finish(&socket, self.token.cancel_query_raw(socket.clone(), keeper)) {
            // It closes the connection when it has passed the request on.
            let mut rest = [0; 64];
            while socket.lock().read(&mut rest).is_ok_and(|count| count > 0) {}
        }
    }

    fn sever(&self) {
        self.breaker.shut();
    }
}

/// What the server said of an error: SQLSTATE, message, hint and the place in its source.
pub(super) struct ServerError {
    pub(super) code: String,
    pub(super) routine: String,
    message: String,
    hint: Option<String>,
}

impl ServerError {
    /// Takes an `ErrorResponse` apart.
    pub(super) fn of(message: &[u8]) -> io::Result<Self> {
        use postgres::fallible_iterator::FallibleIterator as _;
        let mut server_error = Self { code: String::new(), routine: String::new(), message: String::new(), hint: None };
        if let Message::ErrorResponse(body) = parse(message)? {
            let mut fields = body.fields();
            while let Some(field) = fields.next()? {
                let text = String::from_utf8_lossy(field.value_bytes()).into_owned();
                match field.type_() {
                    b'C' => server_error.code = text,
                    b'M' => server_error.message = text,
                    b'H' => server_error.hint = Some(text),
                    b'R' => server_error.routine = text,
                    _ => {}
                }
            }
        }
        Ok(server_error)
    }

    /// As an error of ours.
    pub(super) fn error(&self, errors: &Errors) -> Error {
        errors.answered(&self.code, &self.message, self.hint.as_deref())
    }
}
