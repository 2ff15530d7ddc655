//! How long a server may take over what we ask of it for ourselves, and how much it may answer. What a test measures has no such
//! end: it lasts as long as its data is large, and nothing of it is kept.

use std::io;
use std::mem::size_of;
use std::time::Duration;

use super::inbox::too_much;

/// A question about the server may take so many times what a log-in may.
const QUESTION: u32 = 30;
/// An order that works on objects of ours, such as to remove them.
pub const ORDER: Duration = Duration::from_hours(1);
/// Bytes of memory that the rows of an answer to a question may take.
const MOST_KEPT: usize = 16 * 1024 * 1024;
/// Bytes that are read and passed over in an answer where none are expected: rows of an order, notices.
const MOST_PASSED_OVER: usize = 64 * 1024 * 1024;

/// How long a question about the server may take where a log-in may take so long.
pub fn question(log_in: Duration) -> Duration {
    log_in.saturating_mul(QUESTION)
}

/// Counts what an answer brings, and ends one that brings too much.
#[derive(Debug)]
pub struct Allowance {
    left: usize,
    most: usize,
    what: &'static str,
}

impl Allowance {
    /// For rows that are kept.
    pub const fn kept() -> Self {
        Self { left: MOST_KEPT, most: MOST_KEPT, what: "the answer to a question" }
    }

    /// For what is passed over.
    pub const fn passed_over() -> Self {
        Self { left: MOST_PASSED_OVER, most: MOST_PASSED_OVER, what: "what comes beside an answer" }
    }

    /// Takes so many bytes.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] where that is too much.
    pub fn take(&mut self, bytes: usize) -> io::Result<()> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| too_much(self.what, self.most))?;
        Ok(())
    }

    /// Takes a row of so many texts, which came in so many bytes: an empty one takes memory as well.
    ///
    /// # Errors
    /// Those of [`Allowance::take`].
    pub fn take_row(&mut self, texts: usize, bytes: usize) -> io::Result<()> {
        self.take(bytes + size_of::<Vec<String>>() + texts * size_of::<Option<String>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_rows_without_end_come_to_an_end() {
        let mut allowance = Allowance::kept();
        let rows = (0..1_000_000).find(|_| allowance.take_row(0, 0).is_err()).unwrap_or_default();
        assert!(rows > 10_000 && rows * size_of::<Vec<String>>() <= MOST_KEPT, "{rows}");
        let error = allowance.take(MOST_KEPT).unwrap_err();
        assert_eq!(error.to_string(), "the answer to a question would take more than 16 MB");
    }
}
