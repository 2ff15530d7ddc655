//! What came over a line and was not yet taken: few reads for many messages, in a buffer that is kept.

use std::io;
use std::ops::Range;

/// Bytes of a buffer that a session keeps: as much as servers send at once.
pub const KEPT_BYTES: usize = 8 * 1024;

/// The buffer.
#[derive(Debug)]
pub struct Inbox {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl Default for Inbox {
    fn default() -> Self {
        Self { buffer: vec![0; KEPT_BYTES], start: 0, end: 0 }
    }
}

impl Inbox {
    /// What is there.
    #[inline]
    pub fn held(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Takes the first `length` bytes of what is there; where they are in [`Inbox::at`] until the next fill.
    #[inline]
    pub fn take(&mut self, length: usize) -> Range<usize> {
        let from = self.start;
        self.start += length;
        from..self.start
    }

    /// Bytes that were taken.
    #[inline]
    pub fn at(&self, taken: Range<usize>) -> &[u8] {
        &self.buffer[taken]
    }

    /// Puts `whole` before what is there, as taken, and says where it is.
    pub fn put_before(&mut self, mut whole: Vec<u8>) -> Range<usize> {
        let length = whole.len();
        whole.extend_from_slice(self.held());
        (self.start, self.end) = (length, whole.len());
        self.buffer = whole;
        0..length
    }

    /// Reads on, at least a byte of a message of `wanted` bytes. What was taken is gone. The buffer grows as bytes come, and not
    /// by what a length promises.
    ///
    /// # Errors
    /// `read`'s own; [`io::ErrorKind::UnexpectedEof`] at the end.
    #[inline]
    pub fn fill(&mut self, wanted: usize, mut read: impl FnMut(&mut [u8]) -> io::Result<usize>) -> io::Result<()> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.start + wanted > self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            if self.end == self.buffer.len() {
                self.buffer.resize(wanted.min(2 * self.end), 0);
            }
        }
        let count = loop {
            match read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        if count == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed it"));
        }
        self.end += count;
        Ok(())
    }

    /// Gives memory back that a large answer took.
    #[inline]
    pub fn shrink(&mut self) {
        if self.buffer.len() > KEPT_BYTES && self.start == self.end {
            *self = Self::default();
        }
    }
}
