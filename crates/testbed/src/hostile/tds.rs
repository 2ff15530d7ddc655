//! SQL Server's tokens, each in a packet of its own that does not end its message (MS-TDS 2.2.3 and 2.2.7).

use super::bytes::Speech;

/// Kind of a packet that answers.
const RESPONSE: u8 = 4;

/// Packets with this in them; the last ends the message or not.
pub(super) fn packets(body: &[u8], is_end: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut pieces = body.chunks(4088).peekable();
    while let Some(piece) = pieces.next() {
        let is_last = is_end && pieces.peek().is_none();
        out.extend_from_slice(&[RESPONSE, u8::from(is_last)]);
        out.extend_from_slice(&(piece.len() as u16 + 8).to_be_bytes());
        out.extend_from_slice(&[0, 0, 1, 0]);
        out.extend_from_slice(piece);
    }
    out
}

fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn counted(token: u8, body: &[u8]) -> Vec<u8> {
    [&[token], &(body.len() as u16).to_le_bytes()[..], body].concat()
}

fn said(token: u8, text: &str) -> Vec<u8> {
    // Of a longer text the length could not be written.
    let text: String = text.chars().take(30_000).collect();
    let units = text.encode_utf16().count() as u16;
    let mut body = vec![0x14, 0x48, 0, 0, 1, if token == 0xAA { 14 } else { 0 }];
    body.extend_from_slice(&units.to_le_bytes());
    body.extend(wide(&text));
    body.extend_from_slice(&[0, 0, 1, 0, 0, 0]);
    counted(token, &body)
}

fn change(kind: u8, new: &str) -> Vec<u8> {
    let new: String = new.chars().take(200).collect();
    counted(0xE3, &[&[kind, new.encode_utf16().count() as u8], &wide(&new)[..], &[0]].concat())
}

/// `DONE`, with this state.
fn done(state: u8) -> Vec<u8> {
    [&[0xFD, state, 0], &[0; 10][..]].concat()
}

/// The answer to PRELOGIN: this encryption, by its number.
pub(super) fn prelogin(encryption: u8) -> Vec<u8> {
    let body = [&[0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xFF], &[16, 0, 0x10, 0, 0, 0, encryption][..]].concat();
    packets(&body, true)
}

/// What a log-in that is granted begins with.
pub(super) fn let_in() -> Vec<u8> {
    let name = "Microsoft SQL Server";
    let mut body = vec![1, 0x74, 0, 0, 4, name.len() as u8];
    body.extend(wide(name));
    body.extend_from_slice(&[16, 0, 0x10, 0]);
    let collation = [0xE3, 8, 0, 7, 5, 9, 4, 0xD0, 0, 0x34, 0];
    [change(1, "master"), collation.to_vec(), counted(0xAD, &body), change(4, "4096")].concat()
}

/// The end of a log-in that is granted.
pub(super) fn ready() -> Vec<u8> {
    packets(&done(0), true)
}

pub(super) struct Tds;

impl Speech for Tds {
    fn notice(&self, text: &str) -> Vec<u8> {
        packets(&said(0xAB, text), false)
    }

    fn error(&self, text: &str) -> Vec<u8> {
        packets(&[said(0xAA, text), done(2)].concat(), true)
    }

    fn setting(&self, text: &str) -> Vec<u8> {
        packets(&change(1, text), false)
    }

    fn round(&self) -> Vec<u8> {
        packets(&counted(0xED, &[0; 32]), true)
    }

    fn strange_proof(&self, name: &str) -> Vec<u8> {
        let text = wide(name);
        let mut body = 1_u32.to_le_bytes().to_vec();
        body.push(2);
        body.extend_from_slice(&(text.len() as u32).to_le_bytes());
        body.extend_from_slice(&13_u32.to_le_bytes());
        body.extend(text);
        packets(&[&[0xEE], &(body.len() as u32).to_le_bytes()[..], &body[..]].concat(), true)
    }

    fn largest(&self) -> Vec<u8> {
        vec![RESPONSE, 0, 0xff, 0xff, 0, 0, 1, 0]
    }

    fn smallest(&self) -> Vec<u8> {
        vec![RESPONSE, 0, 0, 0, 0, 0, 1, 0]
    }

    fn result(&self) -> Vec<u8> {
        // One column: nvarchar(max), which comes in pieces.
        let mut body = vec![0x81, 1, 0, 0, 0, 0, 0, 9, 0, 0xE7, 0xff, 0xff, 9, 4, 0xD0, 0, 0x34, 4];
        body.extend(wide("name"));
        packets(&body, false)
    }

    fn row(&self, text: &str) -> Vec<u8> {
        let text = wide(text);
        let mut body = vec![0xD1];
        body.extend_from_slice(&(text.len() as u64).to_le_bytes());
        body.extend_from_slice(&(text.len() as u32).to_le_bytes());
        body.extend(text);
        body.extend_from_slice(&[0; 4]);
        packets(&body, false)
    }

    fn empty_row(&self) -> Vec<u8> {
        packets(&[0xD1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], false)
    }

    fn largest_row(&self) -> Vec<u8> {
        let mut body = vec![0xD1];
        body.extend_from_slice(&0xffff_ffff_ffff_fffe_u64.to_le_bytes());
        body.extend_from_slice(&0x7fff_fffe_u32.to_le_bytes());
        packets(&body, false)
    }

    fn end(&self) -> Vec<u8> {
        packets(&done(1), false)
    }

    fn columns(&self) -> Vec<u8> {
        packets(&[0x81, 0xfe, 0xff], false)
    }

    fn wants_rows(&self) -> Vec<u8> {
        // A value that a procedure returns.
        packets(&[0x79, 1, 0, 0, 0], false)
    }
}
