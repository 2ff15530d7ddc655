//! Peers that mean harm, or are broken: they speak a protocol as a server does up to some stage of it, and then do something that
//! no server does. What they do is data ([`Act`]), so that each is tried at each stage of each protocol.

mod acts;
mod bytes;
mod lead;
mod mysql;
mod postgres;
mod tds;

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

pub use rustls::ServerConfig as Tls;

pub use self::acts::{Case, cases};
pub use self::bytes::encoded;
use crate::TestbedError;
use crate::tds::Pipe;

/// Between two bytes of a peer that lets itself be waited for.
const TRICKLE: Duration = Duration::from_millis(20);
/// Bytes that are written at once by a peer that never stops.
const PORTION: usize = 256 * 1024;

/// What a peer seems to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// PostgreSQL's.
    Postgres,
    /// That of MySQL and MariaDB.
    MySql,
    /// SQL Server's.
    Tds,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Postgres, Self::MySql, Self::Tds];
}

/// How far a peer behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Not at all.
    First,
    /// It has promised TLS.
    Handshake,
    /// It knows who wants to log in.
    Authentication,
    /// It has begun to let us in.
    LogIn,
    /// It has let us in, and was asked something.
    Answer,
}

impl Stage {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::First, Self::Handshake, Self::Authentication, Self::LogIn, Self::Answer];
}

/// What a peer does from some stage on.
#[derive(Debug, Clone)]
pub enum Act {
    /// Nothing, for ever.
    Silence,
    /// It goes.
    Close,
    /// It breaks the connection.
    Reset,
    /// It says this, and nothing more.
    Once(Vec<u8>),
    /// It says this, and goes.
    Last(Vec<u8>),
    /// It says this, byte after byte and again and again.
    Trickle(Vec<u8>),
    /// It says the first once and then the second without end.
    Endless(Vec<u8>, Vec<u8>),
    /// It says this to everything that it hears.
    Reply(Vec<u8>),
    /// It says what makes no sense, without end.
    Noise(u64),
}

/// A peer that listens; it ends with the process.
#[derive(Debug)]
pub struct Peer {
    port: u16,
}

impl Peer {
    /// A peer that does this at that stage, under TLS if it has a certificate.
    ///
    /// # Errors
    /// If it can't listen.
    pub fn start(case: &Case, tls: Option<Arc<Tls>>) -> Result<Self, TestbedError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(TestbedError::io("listen as a peer"))?;
        let port = listener.local_addr().map_err(TestbedError::io("listen as a peer"))?.port();
        let case = Arc::new(case.clone());
        let accept = move || {
            for client in listener.incoming().flatten() {
                let (case, tls) = (Arc::clone(&case), tls.clone());
                // A client that goes ends its own thread.
                thread::spawn(move || drop(meet(client, &case, tls.as_ref())));
            }
        };
        thread::Builder::new().spawn(accept).map_err(TestbedError::io("start a peer"))?;
        Ok(Self { port })
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }
}

fn meet(client: TcpStream, case: &Case, tls: Option<&Arc<Tls>>) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut pipe = lead::lead(client, case.protocol, case.stage, tls)?;
    play(&mut pipe, &case.act)
}

fn play(pipe: &mut Pipe, act: &Act) -> io::Result<()> {
    match act {
        Act::Silence => listen(pipe),
        Act::Close => Ok(()),
        Act::Reset => {
            rustix::net::sockopt::set_socket_linger(pipe.socket(), Some(Duration::ZERO))?;
            Ok(())
        }
        Act::Once(bytes) => {
            say(pipe, bytes)?;
            listen(pipe)
        }
        Act::Last(bytes) => say(pipe, bytes),
        Act::Trickle(bytes) => {
            for byte in bytes.iter().cycle() {
                say(pipe, &[*byte])?;
                thread::sleep(TRICKLE);
            }
            Ok(())
        }
        Act::Endless(first, then) => {
            say(pipe, first)?;
            let portion = then.repeat((PORTION / then.len()).max(1));
            loop {
                say(pipe, &portion)?;
            }
        }
        Act::Reply(bytes) => loop {
            say(pipe, bytes)?;
            if pipe.read(&mut vec![0; 64 * 1024])? == 0 {
                return Ok(());
            }
        },
        Act::Noise(seed) => {
            let mut state = *seed | 1;
            loop {
                let noise: Vec<u8> =
                    std::iter::repeat_with(|| bytes::next_random(&mut state)).take(64 * 1024).collect();
                say(pipe, &noise)?;
            }
        }
    }
}

fn say(pipe: &mut Pipe, bytes: &[u8]) -> io::Result<()> {
    pipe.write_all(bytes)?;
    pipe.flush()
}

/// Hears the client until it goes.
fn listen(pipe: &mut Pipe) -> io::Result<()> {
    while pipe.read(&mut [0; 4096])? > 0 {}
    Ok(())
}
