//! The bench crate.
