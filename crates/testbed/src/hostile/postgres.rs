//! PostgreSQL's messages (manual, "Message Formats").

use super::bytes::Speech;

/// A tag, a length, and what belongs to it.
fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[tag], &length[..], body].concat()
}

fn said(tag: u8, text: &str) -> Vec<u8> {
    message(tag, &[b"SERROR\0C42000\0M", text.as_bytes(), b"\0H", text.as_bytes(), b"\0\0"].concat())
}

pub(super) const LET_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0";
pub(super) const READY: &[u8] = b"K\0\0\0\x0c\0\0\0\x01\0\0\0\x01Z\0\0\0\x05I";

pub(super) struct Postgres;

impl Speech for Postgres {
    fn notice(&self, text: &str) -> Vec<u8> {
        said(b'N', text)
    }

    fn error(&self, text: &str) -> Vec<u8> {
        said(b'E', text)
    }

    fn setting(&self, text: &str) -> Vec<u8> {
        message(b'S', &[b"server_version\0", text.as_bytes(), b"\0"].concat())
    }

    fn round(&self) -> Vec<u8> {
        message(b'R', &[0, 0, 0, 5, 1, 2, 3, 4])
    }

    fn strange_proof(&self, name: &str) -> Vec<u8> {
        message(b'R', &[&[0, 0, 0, 10], name.as_bytes(), b"\0\0"].concat())
    }

    fn largest(&self) -> Vec<u8> {
        vec![b'S', 0x7f, 0xff, 0xff, 0xff]
    }

    fn smallest(&self) -> Vec<u8> {
        vec![b'S', 0xff, 0xff, 0xff, 0xff]
    }

    fn result(&self) -> Vec<u8> {
        let column = [b"name\0".as_slice(), &[0; 6], &25_u32.to_be_bytes(), &[0xff; 2], &[0xff; 4], &[0; 2]].concat();
        [message(b'1', &[]), message(b'2', &[]), message(b'T', &[&[0, 1], &column[..]].concat())].concat()
    }

    fn row(&self, text: &str) -> Vec<u8> {
        message(b'D', &[&[0, 1], &(text.len() as u32).to_be_bytes()[..], text.as_bytes()].concat())
    }

    fn empty_row(&self) -> Vec<u8> {
        message(b'D', &[0, 0])
    }

    fn largest_row(&self) -> Vec<u8> {
        vec![b'D', 0x7f, 0xff, 0xff, 0xff, 0, 1, 0x7f, 0xff, 0xff, 0xf0]
    }

    fn end(&self) -> Vec<u8> {
        message(b'C', b"SELECT 1\0")
    }

    fn columns(&self) -> Vec<u8> {
        message(b't', &[&[0xff, 0xff], &[0, 0, 0, 25].repeat(0xffff)[..]].concat())
    }

    fn wants_rows(&self) -> Vec<u8> {
        message(b'G', &[0, 0, 0])
    }
}
