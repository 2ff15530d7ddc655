//! Specifications: what a machine consists of, from a catalogue's level or from a user's TOML file.

mod description;
mod error;
mod raised;
mod read;
mod table;
mod value;

pub use description::Spec;
pub use error::SpecError;
pub use raised::Raise;
