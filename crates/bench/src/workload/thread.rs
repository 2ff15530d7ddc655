//! A session with a thread of its own, as a lane of one slot: to submit a request is to make it.

use std::time::Duration;

use plimsoll_clock::cpu::RunQueue;
use plimsoll_engine::{Error, ErrorKind, Result};
use plimsoll_load::lane::{Completion, Lane};
use plimsoll_load::worker::State;
use plimsoll_measurement::Moment;

use super::request::{RequestGenerator, Waits, at_once};
use super::session::{InThread, Sessions, Slot};

/// How late answers are picked up is looked at so often: a look takes a few microseconds.
const PICKUP_EVERY: Duration = Duration::from_millis(25);

/// A session at work.
pub struct SessionLane<'a> {
    sessions: &'a Sessions<'a>,
    state: &'a State,
    generator: Box<dyn RequestGenerator + 'a>,
    slot: &'a mut Slot,
    completed: Option<Completion>,
    failure: Option<Error>,
    /// What the session's thread waits for a CPU: one that could run has its answer.
    queue: Option<RunQueue>,
    last_ended: Moment,
    last_pickup: Moment,
}

impl<'a> SessionLane<'a> {
    /// A session of the calling thread that makes these requests; `state` says when no more are to be begun.
    pub fn new(
        sessions: &'a Sessions<'a>,
        state: &'a State,
        generator: Box<dyn RequestGenerator + 'a>,
        slot: &'a mut Slot,
    ) -> Self {
        let queue = if sessions.waits_for_answers { RunQueue::of_this_thread() } else { None };
        let (last_ended, last_pickup) = (Moment::default(), Moment::default());
        Self { sessions, state, generator, slot, completed: None, failure: None, queue, last_ended, last_pickup }
    }
}

impl Lane for SessionLane<'_> {
    type Error = Error;

    fn slots(&self) -> usize {
        1
    }

    fn check(&self) -> Result<()> {
        self.sessions.interrupt.check()
    }

    fn ready(&mut self, _: usize) -> Result<Option<Moment>> {
        if let Some(error) = self.failure.take()
            && let Some(lost) = self.sessions.lost_by(error)?
        {
            // The new session has no use for what the old one's end may still hold up.
            *self.slot = None;
            if let Some(least) = lost.retry_after {
                self.sessions.sleep(self.state, least);
            }
        }
        if self.slot.is_none() {
            *self.slot = self.sessions.come_back(self.state, self.sessions.lose())?;
        }
        Ok(None)
    }

    fn submit(&mut self, slot: usize, _: Moment) -> Result<()> {
        let Some((requester, _)) = self.slot else {
            return Err(Error::new(ErrorKind::Internal, "a request was made of a session that was lost"));
        };
        let queue = self.queue.as_ref().filter(|_| self.last_ended.since(self.last_pickup) >= PICKUP_EVERY);
        let waited_before = queue.and_then(RunQueue::waited);
        let kind = self.generator.draw();
        let (generator, rest) = (self.generator.as_mut(), InThread(self.sessions.clock));
        let mut requester = Waits(requester.as_mut());
        let attempt = self.sessions.attempt(self.state, generator, kind, &mut requester, &rest);
        let attempted = at_once(async { Ok(attempt.await) })?;
        let ended = self.sessions.clock.now();
        self.last_ended = ended;
        let mut pickup_lag = None;
        if let Some((queue, before)) = self.queue.as_ref().zip(waited_before) {
            self.last_pickup = ended;
            // While it is waited between attempts the thread sleeps for another reason.
            pickup_lag = queue.waited().map(|after| after.saturating_sub(before)).filter(|_| attempted.retries == 0);
        }
        let (outcome, failure) = self.sessions.outcome(attempted.answer);
        self.failure = failure;
        let (retries, waited) = (attempted.retries, attempted.waited);
        self.completed = Some(Completion { slot, kind, outcome, ended, retries, waited, pickup_lag });
        Ok(())
    }

    fn reap(&mut self, _: Moment) -> Result<Option<Completion>> {
        Ok(self.completed.take())
    }

    fn nothing_left(&mut self, kind: usize, in_a_row: u32) -> Error {
        self.sessions.nothing_left(kind, in_a_row)
    }
}

#[cfg(test)]
mod tests;
