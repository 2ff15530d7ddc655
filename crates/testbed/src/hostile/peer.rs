//! A peer that listens, and what it does to whoever comes.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustls::ServerConfig as Tls;

use super::what::{Act, Case};
use super::{bytes, lead};
use crate::TestbedError;
use crate::tds::Pipe;

/// Between two bytes of a peer that lets itself be waited for.
const TRICKLE: Duration = Duration::from_millis(20);
/// Bytes that are written at once by a peer that never stops.
const PORTION: usize = 256 * 1024;

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
        Act::Nothing => listen(pipe),
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
