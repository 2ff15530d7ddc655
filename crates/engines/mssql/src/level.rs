//! The service objective of a database in Azure: which is in effect, and asking for another.

use std::sync::Arc;

use plimsoll_engine::{Error, ErrorKind, Levels, Result};

use super::connect::Connector;
use super::control::{Control, text_of, whole};
use super::sql;
use plimsoll_engine::server::place::CONTROL;

/// What a database in an elastic pool says its level is.
const POOLED: &str = "ElasticPool";

/// Changes the level of the target's database.
pub(super) struct MssqlLevels {
    connector: Arc<Connector>,
    /// The database by the name that it has.
    home: String,
    /// The level at the beginning, with the largest size in bytes that the database had then.
    first: Option<(String, Option<u64>)>,
    /// True once another level was asked for.
    asked: bool,
    /// True once one of another edition was.
    across: bool,
}

impl MssqlLevels {
    pub(super) fn new(connector: &Arc<Connector>, home: &str) -> Self {
        let connector = Arc::clone(connector);
        Self { connector, home: home.to_owned(), first: None, asked: false, across: false }
    }
}

impl Levels for MssqlLevels {
    /// By a new connection: those that were open are cut when the level changes. Whoever waits for the change looks again by itself.
    fn current(&mut self) -> Result<Option<String>> {
        let mut control = if self.asked {
            Control::connect(&self.connector.at_once(), CONTROL)?
        } else {
            Control::connect(&self.connector, CONTROL)?
        };
        let rows = control.rows(sql::LEVEL, &[])?;
        let Some(level) = rows.first().and_then(|row| text_of(row, 0)) else { return Ok(None) };
        if is_pooled(&level) {
            return Err(pooled());
        }
        let max_bytes = rows.first().and_then(|row| whole(row, 1)).and_then(|bytes| u64::try_from(bytes).ok());
        self.first.get_or_insert_with(|| (level.clone(), max_bytes));
        Ok(Some(level))
    }

    fn ask(&mut self, level: &str) -> Result<()> {
        if !is_name(level) {
            return Err(Error::new(ErrorKind::Usage, "the level is not the name of a service objective")
                .hint("service objectives are called S3, P1, GP_Gen5_4 and so on"));
        }
        if is_pooled(level) {
            return Err(pooled());
        }
        if self.first.is_none() {
            self.current()?;
        }
        let Some((first, max_bytes)) = &self.first else {
            return Err(Error::new(ErrorKind::Unsupported, "the database does not say at which level it is"));
        };
        if sql::is_hyperscale(first) != sql::is_hyperscale(level) {
            let message =
                format!("a change from {first} to {level} converts the database, and there may be no way back");
            return Err(Error::new(ErrorKind::Unsupported, message)
                .hint("ask for a level on the same side of Hyperscale (HS_...)"));
        }
        if !self.asked && first == level {
            return Ok(());
        }
        self.asked = true;
        self.across |= sql::edition_of(first) != sql::edition_of(level);
        let text = sql::ask_for_level(&self.home, level, self.across, *max_bytes);
        Control::connect(&self.connector, CONTROL)?.run(&text).map(drop)
    }
}

/// True for what can stand between quotes as the name of a level or an edition.
pub(super) fn is_name(level: &str) -> bool {
    let of_a_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !level.is_empty() && level.len() <= 60 && level.bytes().all(of_a_name)
}

/// True if that says that the level is a pool's.
pub(super) fn is_pooled(level: &str) -> bool {
    level.eq_ignore_ascii_case(POOLED)
}

/// Out of the pool it would go, and nobody here could bring it back.
fn pooled() -> Error {
    Error::new(ErrorKind::Unsupported, "a database in an elastic pool has no level of its own")
        .hint("measure a change of level at a database outside of pools")
}
