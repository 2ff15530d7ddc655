//! The bytes of which peers' messages are made.

use std::fmt::Write as _;

/// The next byte of a row that looks like chance (xorshift).
pub(super) fn next_random(state: &mut u64) -> u8 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 24) as u8
}

/// A text of so many bytes.
pub(super) fn long(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// Everything that should never reach a terminal, around a text.
pub(super) fn wild(text: &str) -> String {
    format!("\u{1b}[2J\u{1b}]0;{text}\u{7}\u{9b}31m\u{202e}{text}\u{2028}\u{2029}\u{85}\u{200f}\u{feff}\r\n{text}")
}

/// A text with each byte percent-encoded.
pub fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "%{byte:02X}");
        out
    })
}

/// The messages that each protocol has, in its own form.
pub(super) trait Speech {
    /// Something that nobody asked for.
    fn notice(&self, text: &str) -> Vec<u8>;
    /// A refusal.
    fn error(&self, text: &str) -> Vec<u8>;
    /// Something that holds for the session, or the like of it.
    fn setting(&self, text: &str) -> Vec<u8>;
    /// Asks for one more proof.
    fn round(&self) -> Vec<u8>;
    /// Asks for a proof of which nobody has heard.
    fn strange_proof(&self, name: &str) -> Vec<u8>;
    /// Begins a message of the largest length that there is.
    fn largest(&self) -> Vec<u8>;
    /// Begins a message of the smallest length that can be written, which is none.
    fn smallest(&self) -> Vec<u8>;
    /// Begins a result with one column of text.
    fn result(&self) -> Vec<u8>;
    /// A row of such a result.
    fn row(&self, text: &str) -> Vec<u8>;
    /// A row without a value.
    fn empty_row(&self) -> Vec<u8>;
    /// Begins a row with a value of the largest length that there is.
    fn largest_row(&self) -> Vec<u8>;
    /// Ends a result, after which more come.
    fn end(&self) -> Vec<u8>;
    /// Begins a result with as many columns as can be written.
    fn columns(&self) -> Vec<u8>;
    /// Wants rows or a file where nobody gives any.
    fn wants_rows(&self) -> Vec<u8>;
}
