//! Asking a server something of ours: texts and what comes of them.

use std::cell::Cell;

use plimsoll_engine::server::bounds::ORDER;
use plimsoll_engine::{Error, ErrorKind, Result, Row, Value};

use super::connect::Connector;
use super::error::Errors;
use super::patience::Patience;
use super::sql::{self, Text};
use super::wire::{Fault, Outcome, Wire};

/// A connection, with what its errors are made by.
pub(super) struct Control {
    pub(super) wire: Box<dyn Wire>,
    pub(super) errors: Errors,
    patience: Patience,
    /// Seconds that a question about the server may take.
    question_s: u32,
    /// Set when it is lost, which counts once.
    is_lost: Cell<bool>,
}

impl Control {
    pub(super) fn connect(connector: &Connector, name: &str) -> Result<Self> {
        let mut control = Self::on(connector.connect(name)?, connector);
        match control.set(sql::PATIENCE.sql()) {
            Err(error) if matches!(error.kind, ErrorKind::Lost | ErrorKind::Cancelled) => Err(error),
            // A server without that setting has its own patience.
            _ => Ok(control),
        }
    }

    pub(super) fn on(wire: Box<dyn Wire>, connector: &Connector) -> Self {
        let (errors, patience) = (connector.errors.clone(), connector.patience.clone());
        Self { wire, errors, patience, question_s: connector.question_s(), is_lost: Cell::new(false) }
    }

    /// What came of something on the line.
    pub(super) fn done<T>(&self, outcome: Outcome<T>) -> Result<T> {
        outcome.map_err(|fault| self.met(fault))
    }

    /// What a fault of the line means.
    pub(super) fn met(&self, fault: Fault) -> Error {
        let is_dead = self.wire.is_dead();
        if fault.is_cut(is_dead) && !self.is_lost.replace(true) {
            self.errors.seen.cut();
        }
        self.errors.running(fault, is_dead)
    }

    /// Asks something, and again after a pause where the server refuses it for a reason that passes.
    pub(super) fn patiently<T>(&mut self, mut work: impl FnMut(&mut dyn Wire) -> Outcome<T>) -> Result<T> {
        let patience = self.patience.clone();
        // What is lost can't be asked again here.
        patience.again(
            |error| error.kind == ErrorKind::Busy,
            || {
                let outcome = work(self.wire.as_mut());
                self.done(outcome)
            },
        )
    }

    /// Sets something of the session, which a server does at once.
    pub(super) fn set(&mut self, sql: &str) -> Result<u64> {
        self.within(self.question_s, |wire| wire.run(sql))
    }

    /// Runs a statement of ours. It has an hour.
    pub(super) fn run(&mut self, sql: &str) -> Result<u64> {
        self.within(ORDER.as_secs() as u32, |wire| wire.run(sql))
    }

    /// Asks something that has to be answered within so many seconds.
    fn within<T>(&mut self, seconds: u32, mut work: impl FnMut(&mut dyn Wire) -> Outcome<T>) -> Result<T> {
        self.patiently(|wire| {
            wire.hurry(Some(seconds));
            let done = work(wire);
            wire.hurry(None);
            done
        })
    }

    /// Runs a statement of ours with these words in its gaps.
    pub(super) fn run_filled(&mut self, text: Text, words: &[(&str, &str)]) -> Result<u64> {
        self.run(&text.filled(words))
    }

    /// The rows of a statement of ours.
    pub(super) fn rows(&mut self, text: Text, values: &[Value<'_>]) -> Result<Vec<Row>> {
        self.within(self.question_s, |wire| wire.rows(text.sql(), values, &text.columns()))
    }

    /// The rows of a statement of ours with these words in its gaps.
    pub(super) fn rows_filled(&mut self, text: Text, words: &[(&str, &str)]) -> Result<Vec<Row>> {
        self.within(self.question_s, |wire| wire.rows(&text.filled(words), &[], &text.columns()))
    }

    /// The whole number that a statement with these words answers with; `None` for no row or NULL.
    pub(super) fn answer(&mut self, text: Text, words: &[(&str, &str)]) -> Result<Option<i64>> {
        Ok(self.rows_filled(text, words)?.first().and_then(|row| whole(row, 0)))
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
