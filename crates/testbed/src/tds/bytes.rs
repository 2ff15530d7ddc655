//! Reading and writing the numbers and texts that messages are made of. All but packet headers are little endian.

use std::io;

/// What a message should not have.
pub(super) fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Takes a message apart from front to back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, count: usize) -> io::Result<&'a [u8]> {
        if self.0.len() < count {
            return Err(bad("a message ends too early"));
        }
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(super) fn u8(&mut self) -> io::Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn u16(&mut self) -> io::Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(super) fn u32(&mut self) -> io::Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> io::Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A text of so many UTF-16 units.
    pub(super) fn wide(&mut self, units: usize) -> io::Result<String> {
        wide(self.take(units * 2)?)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A text in UTF-16.
pub(super) fn wide(bytes: &[u8]) -> io::Result<String> {
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16(&units).map_err(|_| bad("a text is not UTF-16"))
}

/// A text as UTF-16.
pub(super) fn put_wide(out: &mut Vec<u8>, text: &str) {
    out.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
}

/// A text behind its length in one byte, in UTF-16 units (`B_VARCHAR`).
pub(super) fn put_short_text(out: &mut Vec<u8>, text: &str) {
    out.push(text.encode_utf16().count() as u8);
    put_wide(out, text);
}

/// A text behind its length in two bytes (`US_VARCHAR`).
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(&(text.encode_utf16().count() as u16).to_le_bytes());
    put_wide(out, text);
}
