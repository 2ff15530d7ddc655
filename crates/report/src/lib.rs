//! The report crate.
