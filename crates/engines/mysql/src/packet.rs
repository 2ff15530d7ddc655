//! The parts that packets are made of (MySQL internals, "Protocol Basics").

use std::io;

#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

/// What says that a packet is not as it should be.
pub(super) fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the server sent what is no answer")
}

impl<'a> Reader<'a> {
    pub(super) fn bytes(&mut self, count: usize) -> io::Result<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count).ok_or_else(malformed)?;
        self.0 = rest;
        Ok(head)
    }

    pub(super) fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk().ok_or_else(malformed)?;
        self.0 = rest;
        Ok(*head)
    }

    pub(super) fn u8(&mut self) -> io::Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> io::Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> io::Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// An integer; its first byte tells how long it is.
    pub(super) fn length(&mut self) -> io::Result<u64> {
        Ok(match self.u8()? {
            0xfc => self.u16()?.into(),
            0xfd => {
                let [a, b, c] = self.array()?;
                u32::from_le_bytes([a, b, c, 0]).into()
            }
            0xfe => u64::from_le_bytes(self.array()?),
            byte @ 0..=0xfa => byte.into(),
            _ => return Err(malformed()),
        })
    }

    /// Bytes with their length in front.
    pub(super) fn text(&mut self) -> io::Result<&'a [u8]> {
        let length = self.length()?;
        self.bytes(usize::try_from(length).map_err(|_| malformed())?)
    }

    /// Bytes up to a zero, or to the packet's end.
    pub(super) fn until_zero(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0);
        let (text, rest) = end.map_or((self.0, &[][..]), |end| (&self.0[..end], &self.0[end + 1..]));
        self.0 = rest;
        text
    }
}

/// Appends bytes with their length in front.
pub(super) fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    match text.len() {
        length @ 0..=0xfa => out.push(length as u8),
        length @ 0..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(length as u16).to_le_bytes());
        }
        length @ 0..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&(length as u32).to_le_bytes()[..3]);
        }
        length => {
            out.push(0xfe);
            out.extend_from_slice(&(length as u64).to_le_bytes());
        }
    }
    out.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_of_every_length_come_back() {
        for length in [0, 1, 250, 251, 65_535, 65_536, 0xff_ffff, 0x100_0000] {
            let (text, mut out) = (vec![b'x'; length], Vec::new());
            put_text(&mut out, &text);
            let mut reader = Reader(&out);
            assert_eq!(reader.text().unwrap().len(), length);
            assert!(reader.0.is_empty());
        }
    }

    proptest! {
        #[test]
        fn strange_bytes_do_no_harm(bytes: Vec<u8>) {
            let mut reader = Reader(&bytes);
            while reader.text().is_ok() && !reader.0.is_empty() {}
            let _ = reader.until_zero();
        }
    }
}
