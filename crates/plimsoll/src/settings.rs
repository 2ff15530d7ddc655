//! What was typed, and what it means: flags before environment before defaults.

use std::path::PathBuf;
use std::sync::Arc;

use etcetera::BaseStrategy as _;
use plimsoll_store::RunStore;

use crate::failure::Failure;

/// Every environment variable that the program reads, with a sentence.
pub const ENVIRONMENT: &[(&str, &str)] = &[
    ("PLIMSOLL_STORE", "Result store, like --store."),
    ("PLIMSOLL_HOME", "Directory for all files of Plimsoll, in place of the system's data directory."),
    ("PLIMSOLL_PASSWORD", "Password of the target, if neither the URL nor --password-file gives one."),
    ("PGPASSWORD, PGPASSFILE", "PostgreSQL's own variables: the password, or the path of the password file."),
    ("XDG_DATA_HOME", "Data directory; the store is plimsoll/runs.db in it."),
    ("NO_COLOR, CLICOLOR_FORCE, TERM=dumb", "Whether output is coloured."),
    ("CI", "Prints progress as plain lines."),
    ("COLUMNS", "Width of tables."),
];

/// A path from the environment; an empty one counts as unset.
fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Settings in force.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Name of the result store.
    pub store: PathBuf,
}

impl Settings {
    /// Those with this store, if one was typed.
    pub fn of(store: Option<PathBuf>) -> Result<Self, Failure> {
        let home = || variable("PLIMSOLL_HOME");
        let named = || variable("PLIMSOLL_STORE");
        let data = || etcetera::choose_base_strategy().ok().map(|base| base.data_dir().join("plimsoll"));
        let store = store.or_else(named).or_else(|| Some(home().or_else(data)?.join("runs.db")));
        let store = store.ok_or_else(|| {
            Failure::usage("there is no home directory to keep results in").hint("name a store with --store FILE")
        })?;
        Ok(Self { store })
    }

    /// Opens the result store, making it if it isn't there.
    pub fn open_store(&self) -> Result<Arc<RunStore>, Failure> {
        Ok(Arc::new(RunStore::open(&self.store)?))
    }

    /// Opens the result store for its runs to be read: nothing is made, and no right to write is needed.
    pub fn read_store(&self) -> Result<Arc<RunStore>, Failure> {
        Ok(Arc::new(RunStore::open_to_read(&self.store)?))
    }
}
