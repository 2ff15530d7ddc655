//! What tests do in a workspace, each thing once: with the statements that the engine's dialect makes, over the ways that tests take.

use std::sync::Arc;

use plimsoll_engine::{Cancel, ErrorKind, RequestAccess, Requester, Result, Session, Workspace};
use plimsoll_measurement::{Check, CheckKind, CheckResult};

use super::course::{Course, INTERRUPTED, failed};
use super::patience::within;
use crate::interrupt::CancelGuard;

/// What came of an operation that the server did not refuse.
pub(super) enum Found {
    /// It did what it should.
    Fine,
    /// The same, and this is to be known.
    Said(String),
    /// It came to something else.
    Differs(String),
    /// It takes a capability of this name, which is missing.
    Lacks(&'static str),
    /// The engine has nothing of the kind.
    NotHere(&'static str),
}

impl Found {
    /// Fine if both are the same.
    pub fn equal<T: PartialEq + std::fmt::Debug>(seen: &T, expected: &T) -> Self {
        if seen == expected { Self::Fine } else { Self::Differs(format!("{seen:?} instead of {expected:?}")) }
    }
}

/// Connections that work in a workspace.
pub(super) struct Operations<'c, 'a> {
    pub course: &'c mut Course<'a>,
    workspace: &'c Workspace,
    session: Option<(Box<dyn Session>, Option<CancelGuard>)>,
    requester: Option<(Box<dyn Requester>, Option<CancelGuard>)>,
    /// What failed that all that follows needs.
    broken: Option<&'static str>,
}

impl<'c, 'a> Operations<'c, 'a> {
    /// In this workspace.
    pub fn new(course: &'c mut Course<'a>, workspace: &'c Workspace) -> Self {
        Self { course, workspace, session: None, requester: None, broken: None }
    }

    /// Does something with a session.
    pub fn with_session(
        &mut self,
        name: &str,
        purpose: &str,
        work: impl FnOnce(&mut dyn Session) -> Result<Found>,
    ) -> bool {
        let Some(check) = self.begin(name, purpose) else { return false };
        let (database, workspace) = (self.course.database, self.workspace);
        let mut opened = match self.session.take() {
            Some(session) => Ok(session),
            None => database.session(workspace, workspace).map(|session| {
                let watched = self.course.interrupt.watch(session.canceller());
                (session, Some(watched))
            }),
        };
        let cancel = opened.as_ref().ok().map(|(session, _)| session.canceller());
        let (is_lost, worked) = self.conclude(check, cancel, || match &mut opened {
            Ok((session, _)) => work(session.as_mut()),
            Err(error) => Err(error.clone()),
        });
        self.session = opened.ok().filter(|_| !is_lost);
        worked
    }

    /// Does something with one of the lean sessions that make requests.
    pub fn with_requester(
        &mut self,
        name: &str,
        purpose: &str,
        work: impl FnOnce(&mut dyn Requester) -> Result<Found>,
    ) -> bool {
        let Some(check) = self.begin(name, purpose) else { return false };
        let (database, workspace) = (self.course.database, self.workspace);
        let mut opened = match self.requester.take() {
            Some(requester) => Ok(requester),
            None => database.requester(workspace, workspace, RequestAccess::OWN).map(|requester| {
                let watched = self.course.interrupt.watch(requester.canceller());
                (requester, Some(watched))
            }),
        };
        let cancel = opened.as_ref().ok().map(|(requester, _)| requester.canceller());
        let (is_lost, worked) = self.conclude(check, cancel, || match &mut opened {
            Ok((requester, _)) => work(requester.as_mut()),
            Err(error) => Err(error.clone()),
        });
        self.requester = opened.ok().filter(|_| !is_lost);
        worked
    }

    /// Does something with the database itself.
    pub fn at_database(&mut self, name: &str, purpose: &str, work: impl FnOnce() -> Result<Found>) -> bool {
        let Some(check) = self.begin(name, purpose) else { return false };
        let pulse = self.course.database.pulse();
        self.conclude(check, pulse, work).1
    }

    /// What follows can't be tried, for this reason unless there is an earlier one.
    pub fn break_off(&mut self, why: &'static str) {
        self.broken.get_or_insert(why);
    }

    fn begin(&mut self, name: &str, purpose: &str) -> Option<Check> {
        let (name, purpose) = (name.to_owned(), purpose.to_owned());
        (self.course.tell)(&name);
        let check = Check { kind: CheckKind::Operation, name, purpose, ..Check::default() };
        match (self.course.stopped(), self.broken) {
            (None, None) => return Some(check),
            (Some(why), _) => self.course.cut(check, why),
            (None, Some(why)) => self.course.skip(check, why),
        }
        None
    }

    /// Works within the time that there is, and keeps what came of it. True says that the connection is of no use any more; the second
    /// that all was well.
    fn conclude(
        &mut self,
        check: Check,
        cancel: Option<Arc<dyn Cancel>>,
        work: impl FnOnce() -> Result<Found>,
    ) -> (bool, bool) {
        let course = &mut *self.course;
        let start = course.clock.now();
        let (outcome, late) = within(course.patience, cancel, work);
        let check = Check { ms: Some(course.ms_since(start)), ..check };
        let is_lost = outcome.as_ref().is_err_and(|error| matches!(error.kind, ErrorKind::Lost | ErrorKind::Connect));
        let said = |result, detail: String| Check { result, detail: Some(detail), ..check.clone() };
        let check = match outcome {
            Err(error) if course.was_interrupted(&error) => {
                course.cut(check, INTERRUPTED);
                return (is_lost, false);
            }
            Err(error) => failed(check, &error, late),
            Ok(Found::Fine) => Check { result: CheckResult::Worked, ..check },
            Ok(Found::Said(what)) => said(CheckResult::Worked, what),
            Ok(Found::Differs(how)) => said(CheckResult::WrongResult, how),
            Ok(Found::NotHere(why)) => said(CheckResult::NotInEdition, why.to_owned()),
            Ok(Found::Lacks(name)) => {
                let known = course.database.capabilities().into_iter().find(|capability| capability.name == name);
                Check { result: CheckResult::NeedsRight, hint: known.and_then(|known| known.remedy), ..check }
            }
        };
        let worked = check.result == CheckResult::Worked;
        course.keep(check, "");
        (is_lost, worked)
    }
}
