//! What an operation came to.

/// What an operation that completed moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// Rows that the target looked at for it, as far as the operation says.
    pub rows_examined: u64,
    /// Rows that came back or were changed.
    pub rows: u64,
    /// Their data content.
    pub content_bytes: u64,
}
