//! How a self-test goes on: what has been found, how long there is, and whether it is to stop.

use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::{Database, Error, ErrorKind};
use plimsoll_measurement::{Check, CheckResult, Moment};

use crate::interrupt::Interrupt;
use crate::run::next_step;

/// Why something is left out after an interrupt.
pub(super) const INTERRUPTED: &str = "it was interrupted";

/// A self-test while it goes on.
pub(super) struct Course<'a> {
    pub database: &'a dyn Database,
    pub clock: &'a dyn Clock,
    pub interrupt: &'a Interrupt,
    /// Longest time of a statement.
    pub patience: Duration,
    /// When nothing more is begun.
    pub end: Moment,
    /// Hears what is done.
    pub tell: &'a mut dyn FnMut(&str),
    /// What was found.
    pub checks: Vec<Check>,
    /// For each of these the words of ours that were sent.
    pub own: Vec<String>,
    /// Why nothing can be sent any more.
    pub lost: Option<&'static str>,
    /// Why something was left out that was to be tried.
    pub cut_short: Option<&'static str>,
}

impl Course<'_> {
    /// Why the next one is not tried.
    pub fn stopped(&self) -> Option<&'static str> {
        if self.interrupt.signal().is_some() {
            return Some(INTERRUPTED);
        }
        self.lost.or_else(|| (self.clock.now() >= self.end).then_some("the time was over"))
    }

    /// True if an error is our own end and says nothing of the target.
    pub fn was_interrupted(&self, error: &Error) -> bool {
        self.interrupt.signal().is_some() && matches!(error.kind, ErrorKind::Cancelled | ErrorKind::Lost)
    }

    /// Keeps what was found, with the words that were sent.
    pub fn keep(&mut self, check: Check, own: &str) {
        self.checks.push(check);
        self.own.push(own.to_owned());
    }

    /// Keeps one that was not tried.
    pub fn skip(&mut self, check: Check, why: &str) {
        self.keep(Check { result: CheckResult::NotSent, detail: Some(why.to_owned()), ..check }, "");
    }

    /// Keeps one that would have been tried if that had not come in between.
    pub fn cut(&mut self, check: Check, why: &'static str) {
        self.cut_short = Some(why);
        self.skip(check, why);
    }

    /// Milliseconds since then.
    pub fn ms_since(&self, start: Moment) -> f64 {
        self.clock.now().since(start).as_secs_f64() * 1e3
    }
}

/// The check with what an error says of it.
pub(super) fn failed(check: Check, error: &Error, late: bool) -> Check {
    let result = match error.kind {
        _ if late => CheckResult::TimedOut,
        ErrorKind::Permission => CheckResult::NeedsRight,
        _ => CheckResult::Refused,
    };
    let is_passing = matches!(error.kind, ErrorKind::Connect | ErrorKind::Lost | ErrorKind::Busy | ErrorKind::DiskFull);
    let next = || is_passing.then(|| next_step(error.kind).to_owned());
    let (detail, hint, code) = (Some(error.message.clone()), error.hint.clone().or_else(next), error.code.clone());
    Check { result, class: Some(error.kind.name()), code, detail, hint, ..check }
}
