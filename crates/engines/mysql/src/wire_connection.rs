//! A line to the server: packets of up to 16 MB, each with its length and a number in front. One write for a request,
//! few reads for its answer, in buffers that are kept.

use std::io::{self, Read, Write};
use std::ops::Range;
use std::sync::Arc;

use plimsoll_engine::server::errors::words;
use plimsoll_engine::server::inbox::{Gathered, Inbox, KEPT_BYTES};
use plimsoll_engine::server::link::Line;
use plimsoll_engine::server::socket::Socket;
use plimsoll_engine::server::stream::Stream;
use rustls::ClientConfig;

use super::packet::{Reader, malformed};

/// Bytes of a packet that is followed by more of the same.
const FULL: usize = 0xff_ffff;
/// A packet's header: three bytes of length and one of number.
const HEADER: usize = 4;

/// First bytes of answers.
pub(super) const OK: u8 = 0x00;
pub(super) const LOCAL_INFILE: u8 = 0xfb;
pub(super) const END: u8 = 0xfe;
pub(super) const ERROR: u8 = 0xff;

/// The command that ends a session.
const QUIT: u8 = 0x01;

pub(super) struct WireConnection {
    pub(super) stream: Stream,
    /// What the next [`WireConnection::send`] sends: room for a header, then the packet.
    out: Vec<u8>,
    inbox: Inbox,
    number: u8,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerError {
    pub(super) code: u16,
    pub(super) message: String,
}

impl ServerError {
    pub(super) fn of(packet: &[u8]) -> io::Result<Self> {
        let mut reader = Reader(packet.get(1..).ok_or_else(malformed)?);
        let code = reader.u16()?;
        // Before the log-in there is no SQLSTATE.
        if reader.0.first() == Some(&b'#') {
            reader.bytes(6)?;
        }
        Ok(Self { code, message: words(reader.0) })
    }
}

impl Line for WireConnection {
    fn stream(&self) -> &Stream {
        &self.stream
    }

    fn leave(&mut self) -> io::Result<()> {
        self.command(QUIT);
        self.send()
    }
}

impl WireConnection {
    pub(super) fn new(socket: Socket) -> Self {
        Self { stream: Stream::new(socket), out: Vec::with_capacity(512), inbox: Inbox::default(), number: 0 }
    }

    pub(super) fn protect(&mut self, config: &Arc<ClientConfig>, host: &str) -> io::Result<()> {
        // What came before the encryption began may be anybody's.
        if self.inbox.held().is_empty() { self.stream.protect(config, host) } else { Err(malformed()) }
    }

    /// Begins a packet that is the first of an exchange.
    pub(super) fn command(&mut self, tag: u8) -> &mut Vec<u8> {
        self.number = 0;
        let out = self.packet();
        out.push(tag);
        out
    }

    /// Begins a packet that answers one of the server.
    pub(super) fn packet(&mut self) -> &mut Vec<u8> {
        self.out.clear();
        self.out.extend_from_slice(&[0; HEADER]);
        &mut self.out
    }

    /// Sends the packet that was begun, in as many pieces as it takes.
    pub(super) fn send(&mut self) -> io::Result<()> {
        let mut out = std::mem::take(&mut self.out);
        let mut from = 0;
        let sent = loop {
            let length = (out.len() - from - HEADER).min(FULL);
            out[from..from + 3].copy_from_slice(&(length as u32).to_le_bytes()[..3]);
            out[from + 3] = self.number;
            self.number = self.number.wrapping_add(1);
            let packet = &out[from..from + HEADER + length];
            if let Err(error) = self.stream.write_all(packet).and_then(|()| self.stream.flush()) {
                break Err(error);
            }
            // The next header takes the place of bytes that have gone.
            from += length;
            if length < FULL {
                break Ok(());
            }
        };
        out.clear();
        self.out = out;
        sent
    }

    pub(super) fn receive(&mut self) -> io::Result<&[u8]> {
        let piece = self.piece()?;
        if piece.len() < FULL {
            return Ok(self.inbox.at(piece));
        }
        // All pieces in one, before what has come already.
        let mut whole = Gathered::default();
        whole.add(&self.inbox, piece)?;
        loop {
            let piece = self.piece()?;
            let is_last = piece.len() < FULL;
            whole.add(&self.inbox, piece)?;
            if is_last {
                break;
            }
        }
        let whole = self.inbox.put_before(whole)?;
        Ok(self.inbox.at(whole))
    }

    fn piece(&mut self) -> io::Result<Range<usize>> {
        loop {
            let held = self.inbox.held();
            let wanted = match held.first_chunk::<HEADER>() {
                Some([a, b, c, number]) => {
                    let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
                    if held.len() >= HEADER + length {
                        self.number = number.wrapping_add(1);
                        self.inbox.take(HEADER);
                        return Ok(self.inbox.take(length));
                    }
                    HEADER + length
                }
                None => HEADER,
            };
            let stream = &mut self.stream;
            self.inbox.fill(wanted, |room| stream.read(room))?;
        }
    }

    /// The server has let us in: its packets may be as large as rows are.
    pub(super) fn trust(&mut self) {
        self.inbox.trust();
    }

    /// Gives memory back that a large answer or load took.
    pub(super) fn shrink(&mut self) {
        self.inbox.shrink();
        if self.out.capacity() > KEPT_BYTES && self.out.is_empty() {
            self.out = Vec::new();
        }
    }
}
