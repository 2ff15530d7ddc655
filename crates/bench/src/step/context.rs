//! What a step works with, in parts: its functions take the parts that they need.

use plimsoll_measurement::Client;

pub use super::keep::Keep;
pub use super::target::Target;
pub use super::time::Time;
use crate::parameters::Parameters;
use crate::workload::custom::CustomWorkload;
use crate::workload::mix::Mix;

/// What a step gets that works at a database.
pub struct Context<'a, 'b> {
    /// The database, and the run's place in it.
    pub target: Target<'a>,
    /// The parameters as resolved.
    pub parameters: &'a Parameters,
    /// What was measured goes there.
    pub keep: &'a mut Keep<'b>,
    /// Kinds of requests and their weights; empty for tests that make none.
    pub mix: &'a Mix,
    /// Requests of the definition's own, in place of a mix.
    pub own: Option<&'a CustomWorkload>,
    /// CPUs that the client may use.
    pub cpus: u32,
    /// What is known of our own client; filled by tests that make requests.
    pub client: &'a mut Option<Client>,
    /// For steps that change levels: commands for a target that can't do so itself.
    pub levels: Option<&'a LevelWords>,
}

/// Commands of the user's for the shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelWords {
    /// Asks for the level in `PLIMSOLL_LEVEL`.
    pub command: String,
    /// Prints the level in effect.
    pub check: String,
}
