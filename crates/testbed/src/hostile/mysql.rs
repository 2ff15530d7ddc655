//! MySQL's packets ("Client/Server Protocol").

use super::bytes::Speech;

/// A packet: a length of three bytes, a number, and what belongs to it.
pub(super) fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_le_bytes();
    [&length[..3], &[number], body].concat()
}

/// The greeting of a server of this version. It has TLS or not.
pub(super) fn greeting(version: &str, has_tls: bool) -> Vec<u8> {
    let mut flags: u32 = 1 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 7 | 1 << 9 | 1 << 13 | 1 << 15 | 1 << 17 | 1 << 19;
    flags |= 1 << 20 | 1 << 24 | if has_tls { 1 << 11 } else { 0 };
    let (low, high) = (flags as u16, (flags >> 16) as u16);
    let mut body = vec![10];
    body.extend_from_slice(version.as_bytes());
    body.extend_from_slice(b"\0\x07\0\0\0abcdefgh\0");
    body.extend_from_slice(&low.to_le_bytes());
    body.extend_from_slice(&[45, 2, 0]);
    body.extend_from_slice(&high.to_le_bytes());
    body.push(21);
    body.extend_from_slice(&[0; 10]);
    body.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
    packet(0, &body)
}

pub(super) const OK: &[u8] = &[7, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0];

pub(super) struct MySql;

impl MySql {
    fn plugin(name: &str) -> Vec<u8> {
        packet(2, &[&[0xfe], name.as_bytes(), b"\0aaaaaaaaaaaaaaaaaaaa\0"].concat())
    }
}

impl Speech for MySql {
    fn notice(&self, text: &str) -> Vec<u8> {
        // More data of a plugin before the log-in, and a row of a column of text after it.
        packet(2, &[&[1], text.as_bytes()].concat())
    }

    fn error(&self, text: &str) -> Vec<u8> {
        let body = [&[0xff, 0x48, 0x04], &b"#HY000"[..], text.as_bytes()].concat();
        let mut out = Vec::new();
        let pieces = body.chunks(0xff_ffff);
        pieces.for_each(|piece| out.extend(packet(1, piece)));
        out
    }

    fn setting(&self, text: &str) -> Vec<u8> {
        greeting(text, false)
    }

    fn round(&self) -> Vec<u8> {
        Self::plugin("mysql_native_password")
    }

    fn strange_proof(&self, name: &str) -> Vec<u8> {
        Self::plugin(name)
    }

    fn largest(&self) -> Vec<u8> {
        vec![0xff, 0xff, 0xff, 0]
    }

    fn smallest(&self) -> Vec<u8> {
        vec![0, 0, 0, 0]
    }

    fn result(&self) -> Vec<u8> {
        let mut column = b"\x03def\0\0\0\x04name\x04name\x0c\x21\0".to_vec();
        column.extend_from_slice(&[0xff, 0, 0, 0, 0xfd, 0, 0, 0, 0, 0]);
        [packet(1, &[1]), packet(2, &column)].concat()
    }

    fn row(&self, text: &str) -> Vec<u8> {
        packet(3, &[&[0xfd], &(text.len() as u32).to_le_bytes()[..3], text.as_bytes()].concat())
    }

    fn empty_row(&self) -> Vec<u8> {
        packet(3, &[0xfb])
    }

    fn largest_row(&self) -> Vec<u8> {
        [&[0xff, 0xff, 0xff, 3, 0xfe], &u64::MAX.to_le_bytes()[..]].concat()
    }

    fn end(&self) -> Vec<u8> {
        // More results follow.
        packet(4, &[0xfe, 0, 0, 0x0a, 0, 0, 0])
    }

    fn columns(&self) -> Vec<u8> {
        packet(1, &[0xfc, 0xff, 0xff])
    }

    fn wants_rows(&self) -> Vec<u8> {
        packet(1, b"\xfb/etc/passwd")
    }
}
