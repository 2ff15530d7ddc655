//! A server that answers requests with canned replies, for as many sessions as nobody wants a real one for. It stands in
//! front of a real PostgreSQL, to which it passes whatever is no request of a working session of ours: log-ins of others, leases,
//! questions about the server.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::thread;

use crate::TestbedError;

/// Stack of a thread that answers; there are thousands.
const STACK_BYTES: usize = 64 * 1024;
/// What a client may say before it gives its identity.
const SSL_REQUEST: i32 = 80_877_103;
const CANCEL_REQUEST: i32 = 80_877_102;
/// Name of the sessions that work.
const WORKING: &[u8] = b"application_name\0plimsoll work ";
/// The type of the only parameter and the only column: a 32-bit integer.
const INT4: i32 = 23;

/// A stub that listens; it ends with the process.
#[derive(Debug)]
pub struct Stub {
    port: u16,
}

impl Stub {
    /// A stub in front of the server at this port of the loopback interface, which must let everybody in.
    pub fn start(server: u16) -> Result<Self, TestbedError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(TestbedError::io("listen as a stub"))?;
        let port = listener.local_addr().map_err(TestbedError::io("listen as a stub"))?.port();
        let accept = move || {
            for client in listener.incoming().flatten() {
                // A client that goes away, or says what it should not, ends its own thread.
                let serve = move || drop(Client { stream: client, server }.serve());
                let _ = thread::Builder::new().stack_size(STACK_BYTES).spawn(serve);
            }
        };
        thread::Builder::new().spawn(accept).map_err(TestbedError::io("start a stub"))?;
        Ok(Self { port })
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }
}

struct Client {
    stream: TcpStream,
    server: u16,
}

impl Client {
    fn serve(mut self) -> io::Result<()> {
        self.stream.set_nodelay(true)?;
        let first = loop {
            let packet = packet(&mut self.stream, Vec::new())?;
            match code(&packet) {
                SSL_REQUEST => self.stream.write_all(b"N")?,
                _ => break packet,
            }
        };
        let is_working = first.windows(WORKING.len()).any(|part| part == WORKING);
        if code(&first) == CANCEL_REQUEST || !is_working {
            return self.pass_on(&first, &[], &[]);
        }
        // Log-in is granted, the number of the process is 1, and we are ready.
        self.stream.write_all(b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x01Z\0\0\0\x05I")?;
        let mut said = Vec::new();
        loop {
            let message = self.message()?;
            match message[0] {
                b'Q' => {
                    said.push(message);
                    self.stream.write_all(b"C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I")?;
                }
                // Requests begin with making room for a statement; ordinary sessions don't.
                b'C' => return self.answer(message),
                b'X' => return Ok(()),
                _ => return self.pass_on(&first, &said, &message),
            }
        }
    }

    /// Answers requests for ever.
    fn answer(&mut self, mut message: Vec<u8>) -> io::Result<()> {
        let mut reply = Vec::new();
        loop {
            match message[0] {
                b'C' => reply.extend_from_slice(b"3\0\0\0\x04"),
                b'P' => reply.extend_from_slice(b"1\0\0\0\x04"),
                b'B' => reply.extend_from_slice(b"2\0\0\0\x04"),
                b'D' => {
                    reply.extend_from_slice(b"t\0\0\0\x0a\0\x01");
                    reply.extend_from_slice(&INT4.to_be_bytes());
                    reply.extend_from_slice(b"T\0\0\0\x1a\0\x01c\0\0\0\0\0\0\0");
                    reply.extend_from_slice(&INT4.to_be_bytes());
                    reply.extend_from_slice(b"\0\x04\xff\xff\xff\xff\0\0");
                }
                b'E' => reply.extend_from_slice(b"D\0\0\0\x0b\0\x01\0\0\0\x010C\0\0\0\x0dSELECT 1\0"),
                b'X' => return Ok(()),
                b'S' | b'Q' => {
                    reply.extend_from_slice(b"Z\0\0\0\x05I");
                    self.stream.write_all(&reply)?;
                    reply.clear();
                }
                _ => {}
            }
            message = self.message()?;
        }
    }

    fn message(&mut self) -> io::Result<Vec<u8>> {
        let mut tag = [0];
        self.stream.read_exact(&mut tag)?;
        packet(&mut self.stream, tag.to_vec())
    }

    /// Connects to the real server, says again what was said, and lets both talk.
    fn pass_on(self, first: &[u8], said: &[Vec<u8>], next: &[u8]) -> io::Result<()> {
        let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, self.server))?;
        server.set_nodelay(true)?;
        server.write_all(first)?;
        // Whoever has been answered already must not be answered again.
        if !next.is_empty() {
            ready(&mut server)?;
            for message in said {
                server.write_all(message)?;
                ready(&mut server)?;
            }
            server.write_all(next)?;
        }
        let (mut from_client, mut to_server) = (self.stream.try_clone()?, server.try_clone()?);
        let up = thread::spawn(move || {
            let _ = io::copy(&mut from_client, &mut to_server);
            let _ = to_server.shutdown(Shutdown::Both);
        });
        let _ = io::copy(&mut server, &mut &self.stream);
        let _ = self.stream.shutdown(Shutdown::Both);
        let _ = up.join();
        Ok(())
    }
}

/// Reads a length and what it announces, behind what has been read already.
fn packet(stream: &mut TcpStream, mut read: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    read.extend_from_slice(&length);
    let rest = usize::try_from(i32::from_be_bytes(length)).unwrap_or(0).saturating_sub(4);
    let start = read.len();
    read.resize(start + rest, 0);
    stream.read_exact(&mut read[start..])?;
    Ok(read)
}

/// The number behind the length of a first packet.
fn code(packet: &[u8]) -> i32 {
    packet.get(4..8).and_then(|bytes| bytes.try_into().ok()).map_or(0, i32::from_be_bytes)
}

/// Reads until the server is ready.
fn ready(server: &mut TcpStream) -> io::Result<()> {
    let mut tag = [0];
    loop {
        server.read_exact(&mut tag)?;
        packet(server, Vec::new())?;
        if tag == *b"Z" {
            return Ok(());
        }
    }
}
