//! What tasks and the repository's own tests both know of its sources.

pub mod shape;
