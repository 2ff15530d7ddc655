//! The service objective of a database in Azure: which is in effect, and asking for another.

use std::sync::Arc;

use super::connect::Connector;
use super::place::{CONTROL, Control};
use super::sql;
use crate::error::{Error, ErrorKind, Result};
use crate::level::Levels;

/// Changes the level of the target's database.
pub(super) struct MssqlLevels {
    connector: Arc<Connector>,
    /// The database by the name that it has.
    home: String,
}

impl MssqlLevels {
    pub(super) fn new(connector: &Arc<Connector>, home: &str) -> Self {
        Self { connector: Arc::clone(connector), home: home.to_owned() }
    }
}

impl Levels for MssqlLevels {
    /// By a new connection: those that were open are cut when the level changes.
    fn current(&mut self) -> Result<Option<String>> {
        let mut control = Control::connect(&self.connector, CONTROL)?;
        Ok(control.names(sql::LEVEL, &[])?.into_iter().next())
    }

    fn ask(&mut self, level: &str) -> Result<()> {
        let is_name = !level.is_empty() && level.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_name || level.len() > 60 {
            return Err(Error::new(ErrorKind::Usage, "the level is not the name of a service objective")
                .hint("service objectives are called S3, P1, GP_Gen5_4 and so on"));
        }
        let mut control = Control::connect(&self.connector, CONTROL)?;
        control.run(&sql::ask_for_level(&self.home, level)).map(drop)
    }
}
