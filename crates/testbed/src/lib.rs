//! The testbed crate.
