//! What is run, and on what.

use std::time::Duration;

use plimsoll_analysis::ladder::Anchor;
use plimsoll_engine::{Cold, Database, Description};
use plimsoll_measurement::{Ceiling, Host, Repetition, Subject};

use crate::definition::Definition;
use crate::parameters::Parameters;
use crate::step::context::LevelWords;

/// What to run, and how.
pub struct Plan<'a> {
    /// The test.
    pub definition: &'a Definition,
    /// Its parameters as the user wants them, for full volumes.
    pub parameters: Parameters,
    /// How often to repeat it, 1 to 26.
    pub repetitions: u32,
    /// How long to wait between provisioning and each repetition.
    pub settle: Duration,
    /// What may be done to make the cache cold.
    pub cold: Cold,
    /// Commands that change the level of a target that can't do so itself.
    pub levels: Option<LevelWords>,
    /// Whether to keep the data set.
    pub keep_data: bool,
    /// Whether to leave the engine and its machine unwatched while measuring.
    pub without_samples: bool,
    /// The campaign it belongs to.
    pub campaign: Option<String>,
    /// What its user calls it.
    pub label: Option<String>,
    /// The target's URL without secrets.
    pub target: String,
    /// Run that counts as 1 in the ladder's second block: its id and repetitions.
    pub reference: Option<(String, Vec<Repetition>)>,
    /// What the ladder's third block is anchored to.
    pub anchor: Option<&'a Anchor>,
    /// Edition of the catalogue behind the anchor, if it comes from there.
    pub catalog_edition: Option<String>,
    /// What the figures are held against beside what the target itself says: what was bought.
    pub ceilings: Vec<Ceiling>,
    /// Version of the program.
    pub build: String,
    /// The machine that measures: what is known of it before the run.
    pub host: Host,
}

/// What a run is about.
#[derive(Clone, Copy)]
pub struct On<'a> {
    /// What kind of thing it is.
    pub subject: Subject,
    /// Its description.
    pub description: &'a Description,
    /// The database, if it is one: other things are for steps that need none.
    pub database: Option<&'a dyn Database>,
}

impl<'a> From<&'a dyn Database> for On<'a> {
    fn from(database: &'a dyn Database) -> Self {
        Self { subject: Subject::Database, description: database.description(), database: Some(database) }
    }
}

impl<'a, D: Database> From<&'a D> for On<'a> {
    fn from(database: &'a D) -> Self {
        Self::from(database as &dyn Database)
    }
}
