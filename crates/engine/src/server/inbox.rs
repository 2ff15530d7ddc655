//! What came over a line and was not yet taken: few reads for many messages, in a buffer that is kept.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of a buffer that a session keeps: as much as servers send at once.
pub const KEPT_BYTES: usize = 8 * 1024;
/// Bytes of a message before we know who is there.
pub const MOST_FROM_A_STRANGER: usize = 64 * 1024;
/// Bytes of a message after the log-in.
pub const MOST_OF_A_MESSAGE: usize = 64 * 1024 * 1024;
/// Bytes by which the buffers of all sessions together may grow.
const MOST_OF_ALL: usize = 128 * 1024 * 1024;

/// By how much all buffers together have grown.
static GROWN: AtomicUsize = AtomicUsize::new(0);

/// The buffer.
#[derive(Debug)]
pub struct Inbox {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes of a message that are taken.
    most: usize,
    growth: Growth,
}

impl Default for Inbox {
    /// For a peer that has proved nothing yet.
    fn default() -> Self {
        Self { buffer: vec![0; KEPT_BYTES], start: 0, end: 0, most: MOST_FROM_A_STRANGER, growth: Growth(0) }
    }
}

/// Bytes by which a buffer has grown, among those of all.
#[derive(Debug)]
struct Growth(usize);

impl Growth {
    /// From now on it is so many.
    fn becomes(&mut self, bytes: usize) -> io::Result<()> {
        let before = GROWN.fetch_add(bytes, Ordering::Relaxed);
        GROWN.fetch_sub(std::mem::replace(&mut self.0, bytes), Ordering::Relaxed);
        if before.saturating_add(bytes) > MOST_OF_ALL && bytes > MOST_FROM_A_STRANGER {
            return Err(too_much("answers to all sessions together", MOST_OF_ALL));
        }
        Ok(())
    }
}

impl Drop for Growth {
    fn drop(&mut self) {
        GROWN.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// The error on more bytes than we take.
#[cold]
pub fn too_much(what: &str, most: usize) -> io::Error {
    let most = if most >= 1 << 20 { format!("{} MB", most >> 20) } else { format!("{} kB", most >> 10) };
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} would take more than {most}"))
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

    /// The peer has logged us in: from now on its messages may be as large as rows are.
    pub fn trust(&mut self) {
        self.most = MOST_OF_A_MESSAGE;
    }

    /// An error if a message of so many bytes is more than we take.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`].
    #[inline]
    pub fn admit(&self, bytes: usize) -> io::Result<()> {
        if bytes > self.most { Err(too_much("a message", self.most)) } else { Ok(()) }
    }

    /// Puts `whole` before what is there, as taken, and says where it is.
    ///
    /// # Errors
    /// If that is more than we keep.
    pub fn put_before(&mut self, mut whole: Vec<u8>) -> io::Result<Range<usize>> {
        let length = whole.len();
        whole.extend_from_slice(self.held());
        self.growth.becomes(whole.len().saturating_sub(KEPT_BYTES))?;
        (self.start, self.end) = (length, whole.len());
        self.buffer = whole;
        Ok(0..length)
    }

    /// Reads on, at least a byte of a message of `wanted` bytes. What was taken is gone. The buffer grows as bytes come, and not
    /// by what a length promises.
    ///
    /// # Errors
    /// `read`'s own; [`io::ErrorKind::UnexpectedEof`] at the end; [`io::ErrorKind::InvalidData`] for a message that is larger than
    /// we take.
    #[inline]
    pub fn fill(&mut self, wanted: usize, mut read: impl FnMut(&mut [u8]) -> io::Result<usize>) -> io::Result<()> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        self.admit(wanted)?;
        if self.start + wanted > self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            if self.end == self.buffer.len() {
                let bytes = wanted.min(2 * self.end);
                self.growth.becomes(bytes - KEPT_BYTES)?;
                self.buffer.reserve_exact(bytes - self.buffer.len());
                self.buffer.resize(bytes, 0);
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
            *self = Self { most: self.most, ..Self::default() };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use super::*;

    /// What all buffers together take is one for all tests.
    static ALONE: Mutex<()> = Mutex::new(());

    /// Reads a message of so many bytes from a peer that always has more.
    fn take(inbox: &mut Inbox, bytes: usize) -> io::Result<()> {
        while inbox.held().len() < bytes {
            inbox.fill(bytes, |room| Ok(room.len()))?;
        }
        inbox.take(bytes);
        Ok(())
    }

    #[test]
    fn a_stranger_may_say_little_and_a_server_more() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut inbox = Inbox::default();
        take(&mut inbox, MOST_FROM_A_STRANGER).unwrap();
        let error = take(&mut Inbox::default(), MOST_FROM_A_STRANGER + 1).unwrap_err();
        assert_eq!(error.to_string(), "a message would take more than 64 kB");
        let mut inbox = Inbox::default();
        inbox.trust();
        take(&mut inbox, 1 << 20).unwrap();
        // What is promised takes no memory.
        assert!(inbox.fill(1 << 31, |_| Ok(1)).is_err() && inbox.buffer.len() <= 1 << 20);
        inbox.shrink();
        assert!(inbox.fill(1 << 20, |_| Ok(1)).is_ok());
    }

    #[test]
    fn all_sessions_together_have_their_limit() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut inboxes = Vec::new();
        let error = loop {
            let mut inbox = Inbox::default();
            inbox.trust();
            match take(&mut inbox, MOST_OF_A_MESSAGE / 2) {
                Ok(()) => inboxes.push(inbox),
                Err(error) => break error,
            }
        };
        assert_eq!(error.to_string(), "answers to all sessions together would take more than 128 MB");
        assert!(inboxes.len() <= 4);
        inboxes.clear();
        let mut inbox = Inbox::default();
        inbox.trust();
        take(&mut inbox, MOST_OF_A_MESSAGE / 2).unwrap();
    }
}
