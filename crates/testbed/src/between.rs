//! A peer in front of a real server: it passes on what both sides say until it turns. From then on it lets each connection have a few
//! answers, so that everybody is let in, and then it says nothing more, or the same for ever.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, OnceLock};
use std::thread;

use crate::TestbedError;

/// Bytes that are passed on at once.
const PORTION: usize = 64 * 1024;

/// What it does instead of passing on.
#[derive(Debug, Clone)]
pub enum Manner {
    /// It says nothing.
    Nothing,
    /// It says this without end.
    Endless(Vec<u8>),
}

/// A peer that listens; it ends with the process.
#[derive(Debug)]
pub struct Between {
    port: u16,
    turn: Arc<OnceLock<Manner>>,
}

impl Between {
    /// In front of the server at this port of the loopback interface. Once it has turned, a connection has so many answers in all.
    ///
    /// # Errors
    /// If it can't listen.
    pub fn start(server: u16, answers: usize) -> Result<Self, TestbedError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(TestbedError::io("listen in between"))?;
        let port = listener.local_addr().map_err(TestbedError::io("listen in between"))?.port();
        let turn = Arc::new(OnceLock::new());
        let turned = Arc::clone(&turn);
        let accept = move || {
            for client in listener.incoming().flatten() {
                let turned = Arc::clone(&turned);
                // A client that goes ends its own thread.
                thread::spawn(move || drop(serve(client, server, answers, &turned)));
            }
        };
        thread::Builder::new().spawn(accept).map_err(TestbedError::io("start a peer in between"))?;
        Ok(Self { port, turn })
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// It turns, once and for ever.
    pub fn turn(&self, turn: Manner) {
        let _ = self.turn.set(turn);
    }
}

fn serve(mut client: TcpStream, server: u16, answers: usize, turned: &OnceLock<Manner>) -> io::Result<()> {
    let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, server))?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_server);
        // The server learns that the client has gone, and this side too.
        let _ = to_server.shutdown(Shutdown::Both);
    });
    let (mut portion, mut given) = (vec![0; PORTION], 0);
    loop {
        let count = server.read(&mut portion)?;
        if count == 0 {
            return client.shutdown(Shutdown::Both);
        }
        given += 1;
        match turned.get().filter(|_| given > answers) {
            None => client.write_all(&portion[..count])?,
            Some(Manner::Nothing) => {}
            Some(Manner::Endless(words)) => loop {
                client.write_all(words)?;
            },
        }
    }
}
