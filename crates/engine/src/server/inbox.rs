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
/// Bytes up to which a buffer doubles.
const SMALL: usize = 256 * 1024;
/// Bytes of a buffer for more than that: a little more than the largest piece of memory that the C library keeps for the next one when
/// it is given back (32 MiB, `M_MMAP_THRESHOLD` of mallopt(3)). Only what comes in takes memory of it.
const LARGE: usize = 33 * 1024 * 1024;
/// Bytes that are read beyond a message that is waited for.
const AHEAD: usize = 64 * 1024;
/// Bytes that the buffers of all sessions together may hold.
const MOST_OF_ALL: usize = 128 * 1024 * 1024;

/// What all buffers together hold or have held since they were last given back.
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
        Self { buffer: vec![0; KEPT_BYTES], start: 0, end: 0, most: MOST_FROM_A_STRANGER, growth: Growth::default() }
    }
}

/// Bytes that a buffer has held, among those of all.
#[derive(Debug, Default)]
struct Growth(usize);

impl Growth {
    /// It holds so many.
    #[inline]
    fn reaches(&mut self, bytes: usize) -> io::Result<()> {
        if bytes <= KEPT_BYTES.max(self.0) {
            return Ok(());
        }
        let more = bytes - self.0;
        let before = GROWN.fetch_add(more, Ordering::Relaxed);
        self.0 = bytes;
        if before.saturating_add(more) > MOST_OF_ALL && bytes > MOST_FROM_A_STRANGER {
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

/// A message that comes in pieces, put together.
#[derive(Debug, Default)]
pub struct Gathered {
    bytes: Vec<u8>,
    growth: Growth,
}

impl Gathered {
    /// Adds what was taken from an inbox.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if that is more than we take.
    pub fn add(&mut self, inbox: &Inbox, taken: Range<usize>) -> io::Result<()> {
        inbox.admit(self.bytes.len() + taken.len())?;
        self.put(inbox.at(taken))
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let length = self.bytes.len() + bytes.len();
        self.growth.reaches(length)?;
        if length > self.bytes.capacity() {
            self.bytes.reserve_exact(length.max(LARGE) - self.bytes.len());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
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
    pub fn put_before(&mut self, mut whole: Gathered) -> io::Result<Range<usize>> {
        let length = whole.bytes.len();
        whole.put(self.held())?;
        let Gathered { bytes, growth } = whole;
        (self.start, self.end) = (length, bytes.len());
        (self.buffer, self.growth) = (bytes, growth);
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
        // Neither is a large buffer filled to its end for the sake of small messages.
        let is_late = self.start >= SMALL && self.end - self.start <= SMALL;
        if is_late || self.start + wanted > self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            if self.end == self.buffer.len() {
                let bytes = if self.end < SMALL { wanted.min(2 * self.end) } else { wanted.max(LARGE) };
                let mut buffer = vec![0; bytes];
                buffer[..self.end].copy_from_slice(&self.buffer);
                self.buffer = buffer;
            }
        }
        let room = (self.start + wanted).max(self.end + AHEAD).min(self.buffer.len());
        let count = loop {
            match read(&mut self.buffer[self.end..room]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        if count == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed it"));
        }
        self.end += count;
        self.growth.reaches(self.end)
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
        assert!(inbox.fill(1 << 31, |_| Ok(1)).is_err() && inbox.growth.0 <= 1 << 20);
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
        drop(inbox);
        assert_eq!(GROWN.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_message_in_pieces_counts_once() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut inbox = Inbox::default();
        inbox.trust();
        let mut whole = Gathered::default();
        for number in 1..=3_u8 {
            while inbox.held().len() < 16 << 20 {
                let more = (16 << 20) - inbox.held().len();
                let read = |room: &mut [u8]| {
                    room.fill(number);
                    Ok(room.len().min(more))
                };
                inbox.fill(16 << 20, read).unwrap();
            }
            let taken = inbox.take(16 << 20);
            whole.add(&inbox, taken).unwrap();
        }
        let all = inbox.put_before(whole).unwrap();
        let ends: Vec<u8> = [0, 16 << 20, (48 << 20) - 1].into_iter().map(|at| inbox.at(all.clone())[at]).collect();
        assert_eq!((all.len(), ends), (48 << 20, vec![1, 2, 3]));
        assert!(GROWN.load(Ordering::Relaxed) < 70 << 20);
        inbox.shrink();
        assert_eq!(GROWN.load(Ordering::Relaxed), 0);
    }
}
