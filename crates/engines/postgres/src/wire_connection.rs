//! A line to the server on which we write and read messages ourselves: one write for a request, few reads for its answer,
//! in buffers that are kept.

use std::io::{self, Read, Write};

use plimsoll_engine::server::inbox::{Inbox, KEPT_BYTES};
use plimsoll_engine::server::link::Line;
use plimsoll_engine::server::stream::Stream;
use postgres_protocol::message::backend::Header;
use postgres_protocol::message::frontend;
use postgres_types::private::BytesMut;

pub(super) struct WireConnection {
    pub(super) stream: Stream,
    /// What the next [`WireConnection::send`] sends.
    pub(super) out: BytesMut,
    inbox: Inbox,
}

impl WireConnection {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, out: BytesMut::new(), inbox: Inbox::default() }
    }

    /// Sends what has been put into `out`.
    pub(super) fn send(&mut self) -> io::Result<()> {
        let sent = self.stream.write_all(&self.out).and_then(|()| self.stream.flush());
        self.out.clear();
        sent
    }

    /// Sends of it what there is room for; false if that isn't all.
    pub(super) fn send_now(&mut self) -> io::Result<bool> {
        let socket = self.stream.plain().ok_or_else(has_to_wait)?;
        while !self.out.is_empty() {
            match socket.write_now(&self.out) {
                // Cleared, it keeps its memory.
                Ok(count) if count == self.out.len() => self.out.clear(),
                Ok(count) => drop(self.out.split_to(count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// The next message: its tag, and all of it with the tag and the length in front.
    pub(super) fn receive(&mut self) -> io::Result<(u8, &[u8])> {
        self.receive_by(Stream::read)
    }

    /// The same of what is there: [`io::ErrorKind::WouldBlock`] if that is no whole message.
    pub(super) fn receive_now(&mut self) -> io::Result<(u8, &[u8])> {
        self.receive_by(|stream, room| stream.plain().ok_or_else(has_to_wait)?.read_now(room))
    }

    #[inline]
    fn receive_by(&mut self, read: impl Fn(&mut Stream, &mut [u8]) -> io::Result<usize>) -> io::Result<(u8, &[u8])> {
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
                None => HEADER,
            };
            let stream = &mut self.stream;
            self.inbox.fill(wanted, |room| read(stream, room))?;
        };
        let message = self.inbox.take(length);
        Ok((tag, self.inbox.at(message)))
    }

    /// The server has let us in: its messages may be as large as rows are.
    pub(super) fn trust(&mut self) {
        self.inbox.trust();
    }

    /// Gives memory back that a large answer or load took.
    pub(super) fn shrink(&mut self) {
        self.inbox.shrink();
        if self.out.capacity() > KEPT_BYTES && self.out.is_empty() {
            self.out = BytesMut::new();
        }
    }
}

impl Line for WireConnection {
    fn stream(&self) -> &Stream {
        &self.stream
    }

    fn leave(&mut self) -> io::Result<()> {
        self.out.clear();
        frontend::terminate(&mut self.out);
        self.send()
    }
}

/// Bytes of a message's tag and length.
pub(super) const HEADER: usize = 5;

/// A message, taken apart from its beginning on.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// What is behind the tag and the length.
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self(message.get(HEADER..).unwrap_or_default())
    }

    pub(super) fn bytes(&mut self, length: usize) -> io::Result<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length).ok_or_else(malformed)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or_else(malformed)?;
        self.0 = rest;
        Ok(*bytes)
    }

    pub(super) fn u8(&mut self) -> io::Result<u8> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    pub(super) fn u16(&mut self) -> io::Result<u16> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub(super) fn u32(&mut self) -> io::Result<u32> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// A text up to a zero.
    pub(super) fn text(&mut self) -> io::Result<&'a [u8]> {
        let length = self.0.iter().position(|byte| *byte == 0).ok_or_else(malformed)?;
        let text = self.bytes(length)?;
        self.u8().map(|_| text)
    }

    /// A value with its length in front; `None` for NULL.
    pub(super) fn value(&mut self) -> io::Result<Option<&'a [u8]>> {
        match usize::try_from(self.u32()? as i32) {
            Ok(length) => self.bytes(length).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// All that is left.
    pub(super) fn rest(self) -> &'a [u8] {
        self.0
    }
}

fn has_to_wait() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "a line under TLS waits by itself")
}

pub(super) fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a message is not as it should be")
}
