//! Packets (MS-TDS 2.2.3): a header of eight bytes, and a message in as many of them as it takes.

use std::io::{self, Read, Write};

use super::bytes::bad;

pub(super) const HEADER_BYTES: usize = 8;

/// What a message is.
pub(super) mod kind {
    pub(in super::super) const BATCH: u8 = 0x01;
    pub(in super::super) const RPC: u8 = 0x03;
    pub(in super::super) const RESPONSE: u8 = 0x04;
    pub(in super::super) const ATTENTION: u8 = 0x06;
    pub(in super::super) const BULK: u8 = 0x07;
    pub(in super::super) const TRANSACTION: u8 = 0x0E;
    pub(in super::super) const LOGIN: u8 = 0x10;
    pub(in super::super) const PRELOGIN: u8 = 0x12;
}

/// The last packet of a message.
const END_OF_MESSAGE: u8 = 0x01;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) kind: u8,
    pub(super) body: Vec<u8>,
}

/// Reads a packet; `None` at the end of the stream.
fn read_packet(stream: &mut dyn Read) -> io::Result<Option<(u8, u8, Vec<u8>)>> {
    let mut header = [0; HEADER_BYTES];
    match stream.read(&mut header[..1])? {
        0 => return Ok(None),
        _ => stream.read_exact(&mut header[1..])?,
    }
    let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let mut body = vec![0; length.checked_sub(HEADER_BYTES).ok_or_else(|| bad("a packet is shorter than its header"))?];
    stream.read_exact(&mut body)?;
    Ok(Some((header[0], header[1], body)))
}

/// Reads a message; `None` at the end of the stream. An attention may come in the middle of another message, which ends it.
pub(super) fn read(stream: &mut dyn Read) -> io::Result<Option<Message>> {
    read_keeping(stream, |_| true)
}

/// Reads a message; of those kinds that are not to be kept, nothing but that they came.
pub(super) fn read_keeping(stream: &mut dyn Read, keeps: impl Fn(u8) -> bool) -> io::Result<Option<Message>> {
    let mut whole: Option<Message> = None;
    loop {
        let Some((of, status, body)) = read_packet(stream)? else { return Ok(None) };
        if of == kind::ATTENTION {
            return Ok(Some(Message { kind: of, body }));
        }
        let message = whole.get_or_insert_with(|| Message { kind: of, body: Vec::new() });
        if keeps(of) {
            message.body.extend_from_slice(&body);
        }
        if status & END_OF_MESSAGE != 0 {
            return Ok(whole);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cutting {
    /// Most bytes of a packet with its header.
    pub(super) packet_bytes: usize,
    /// The first packet ends after so many bytes of the message.
    pub(super) first_bytes: Option<usize>,
    /// Every byte is written by itself.
    pub(super) trickles: bool,
}

impl Cutting {
    /// As servers cut.
    pub(super) const PLAIN: Self = Self { packet_bytes: 4096, first_bytes: None, trickles: false };
}

/// Writes messages that may be longer than memory: packets go out as they fill.
pub(super) struct Writer<'a> {
    stream: &'a mut dyn Write,
    kind: u8,
    cutting: Cutting,
    pending: Vec<u8>,
    number: u8,
}

impl<'a> Writer<'a> {
    pub(super) fn new(stream: &'a mut dyn Write, kind: u8, cutting: Cutting) -> Self {
        Self { stream, kind, cutting, pending: Vec::new(), number: 0 }
    }

    fn most(&self) -> usize {
        let usual = self.cutting.packet_bytes - HEADER_BYTES;
        self.cutting.first_bytes.filter(|_| self.number == 0).map_or(usual, |first| first.clamp(1, usual))
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.pending.extend_from_slice(bytes);
        // A full packet waits until something follows: it may be the last.
        while self.pending.len() > self.most() {
            self.send(false)?;
        }
        Ok(())
    }

    pub(super) fn end(mut self) -> io::Result<()> {
        self.send(true)?;
        self.stream.flush()
    }

    /// Sends what there is as one that is not the last; for clients that are about to be cut off.
    pub(super) fn break_off(mut self) -> io::Result<()> {
        if !self.pending.is_empty() {
            self.send(false)?;
        }
        self.stream.flush()
    }

    fn send(&mut self, is_last: bool) -> io::Result<()> {
        let count = self.pending.len().min(self.most());
        self.number = self.number.wrapping_add(1);
        let mut packet = vec![self.kind, u8::from(is_last)];
        packet.extend_from_slice(&((count + HEADER_BYTES) as u16).to_be_bytes());
        packet.extend_from_slice(&[0, 0, self.number, 0]);
        packet.extend(self.pending.drain(..count));
        if self.cutting.trickles {
            for byte in &packet {
                self.stream.write_all(std::slice::from_ref(byte))?;
                self.stream.flush()?;
            }
            return Ok(());
        }
        self.stream.write_all(&packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Cutting = Cutting { packet_bytes: 4096, first_bytes: None, trickles: false };

    fn written(body: &[u8], cutting: Cutting) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, kind::RESPONSE, cutting);
        writer.put(body).unwrap();
        writer.end().unwrap();
        out
    }

    #[test]
    fn messages_come_back_however_they_are_cut() {
        let body: Vec<u8> = (0..50).collect();
        for packet_bytes in 9..60 {
            for first_bytes in [None, Some(1), Some(7)] {
                let out = written(&body, Cutting { packet_bytes, first_bytes, trickles: false });
                let read = read(&mut out.as_slice()).unwrap().unwrap();
                assert_eq!((read.kind, read.body), (kind::RESPONSE, body.clone()));
            }
        }
        assert_eq!(read(&mut [].as_slice()).unwrap(), None);
    }

    /// MS-TDS 4.10.
    #[test]
    fn an_attention_is_the_documents() {
        let message = read(&mut [0x06, 0x01, 0x00, 0x08, 0x00, 0x00, 0x01, 0x00].as_slice()).unwrap().unwrap();
        assert_eq!(message, Message { kind: kind::ATTENTION, body: Vec::new() });
        assert_eq!(written(&[1], WHOLE)[..8], [4, 1, 0, 9, 0, 0, 1, 0]);
    }
}
