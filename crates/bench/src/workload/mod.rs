//! Requests as a database is asked them: on rows of our own tables, or from a definition, and the sessions that make them.

pub mod custom;
pub(crate) mod many;
pub mod mix;
pub(crate) mod rehearsal;
pub mod request;
pub(crate) mod rows;
pub(crate) mod session;
pub(crate) mod thread;
