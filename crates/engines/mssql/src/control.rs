//! Asking a server something of ours: texts and what comes of them.

use plimsoll_engine::{ErrorKind, Result, Row, Value};

use super::connect::Connector;
use super::error::Errors;
use super::sql::{self, Text};
use super::wire::{Outcome, Wire};

/// A connection, with what its errors are made by.
pub(super) struct Control {
    pub(super) wire: Box<dyn Wire>,
    pub(super) errors: Errors,
}

impl Control {
    pub(super) fn connect(connector: &Connector, name: &str) -> Result<Self> {
        let mut control = Self::on(connector.connect(name)?, connector);
        match control.run(sql::PATIENCE.sql()) {
            Err(error) if matches!(error.kind, ErrorKind::Lost | ErrorKind::Cancelled) => Err(error),
            // A server without that setting has its own patience.
            _ => Ok(control),
        }
    }

    pub(super) fn on(wire: Box<dyn Wire>, connector: &Connector) -> Self {
        Self { wire, errors: connector.errors.clone() }
    }

    /// What came of something on the line.
    pub(super) fn done<T>(&self, outcome: Outcome<T>) -> Result<T> {
        outcome.map_err(|fault| self.errors.running(fault, self.wire.is_dead()))
    }

    pub(super) fn run(&mut self, sql: &str) -> Result<u64> {
        let outcome = self.wire.run(sql);
        self.done(outcome)
    }

    /// Runs a statement of ours with these words in its gaps.
    pub(super) fn run_filled(&mut self, text: Text, words: &[(&str, &str)]) -> Result<u64> {
        self.run(&text.filled(words))
    }

    /// The rows of a statement of ours.
    pub(super) fn rows(&mut self, text: Text, values: &[Value<'_>]) -> Result<Vec<Row>> {
        let outcome = self.wire.rows(text.sql(), values, &text.columns());
        self.done(outcome)
    }

    /// The whole number that a statement with these words answers with; `None` for no row or NULL.
    pub(super) fn answer(&mut self, text: Text, words: &[(&str, &str)]) -> Result<Option<i64>> {
        let outcome = self.wire.rows(&text.filled(words), &[], &text.columns());
        Ok(self.done(outcome)?.first().and_then(|row| whole(row, 0)))
    }

    /// The first whole number of a statement of ours; `None` for no row or NULL.
    pub(super) fn number(&mut self, text: Text, values: &[Value<'_>]) -> Result<Option<i64>> {
        Ok(self.rows(text, values)?.first().and_then(|row| whole(row, 0)))
    }

    /// The texts of its first column.
    pub(super) fn names(&mut self, text: Text, values: &[Value<'_>]) -> Result<Vec<String>> {
        let rows = self.rows(text, values)?;
        Ok(rows.iter().filter_map(|row| text_of(row, 0)).collect())
    }
}

/// A whole number of a row; `None` for NULL.
pub(super) fn whole(row: &Row, index: usize) -> Option<i64> {
    row.get(index).whole()
}

/// A text of a row; `None` for NULL.
pub(super) fn text_of(row: &Row, index: usize) -> Option<String> {
    match row.get(index) {
        Value::Text(text) => Some(text.to_owned()),
        _ => None,
    }
}
