//! The analysis crate.
