//! A session as a lane of one slot. It makes a request again after errors that pass. If it loses the server, it comes back as
//! soon as that answers again: a gap in the series, not the end of it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_clock::cpu::RunQueue;
use plimsoll_engine::{Error, ErrorKind, Requester, Result};
use plimsoll_load::lane::{Amount, Completion, Lane, Outcome};
use plimsoll_load::worker::State;
use plimsoll_measurement::Moment;

use super::request::RequestGenerator;
use crate::interrupt::{CancelGuard, Interrupt};

/// How often a request is tried again after an error that passes, and how long is waited before the first time; the
/// wait doubles.
const MOST_RETRIES: u32 = 5;
const FIRST_BACK_OFF: Duration = Duration::from_millis(5);

/// How long a session that lost the server waits between two attempts to come back, at first and at most.
const FIRST_RECONNECT: Duration = Duration::from_millis(50);
const LAST_RECONNECT: Duration = Duration::from_secs(1);

/// A pause that a server asks for becomes twice as long with each try, up to this.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// How often it is looked during such a pause whether the wait is to end.
const GLANCE: Duration = Duration::from_secs(1);

/// So many failures without an answer of any session end the work: what they say will not pass.
const MOST_FAILURES_IN_A_ROW: u64 = 1000;

/// How late answers are picked up is looked at so often: a look takes a few microseconds.
const PICKUP_EVERY: Duration = Duration::from_millis(25);

/// What the sessions of a phase share.
pub struct Sessions<'a> {
    pub clock: &'a dyn Clock,
    pub interrupt: &'a Interrupt,
    pub connect: &'a (dyn Fn() -> Result<(Box<dyn Requester>, CancelGuard)> + Sync),
    pub end: Moment,
    pub kinds: &'a [String],
    /// True where answers come from elsewhere, so that a session may pick them up late.
    pub waits_for_answers: bool,
    pub losses: Losses,
}

/// Sessions that lost the server, and failures of all.
#[derive(Debug, Default)]
pub struct Losses {
    lost: AtomicU64,
    count: AtomicU64,
    /// Losses after which the lease was taken again.
    renewed: AtomicU64,
    failures_in_a_row: AtomicU64,
}

impl Losses {
    /// Sessions that have lost the server at the moment.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// After so many losses the lease is ours again, and sessions that came back may go on.
    pub fn renewed(&self, losses: u64) {
        self.renewed.store(losses, Ordering::Relaxed);
    }
}

/// A session, with what lets an interrupt cancel it; `None` after it was lost and before there is a new one.
pub type Slot = Option<(Box<dyn Requester>, CancelGuard)>;

/// A session at work: to submit a request is to make it.
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

    fn ready(&mut self, _: usize) -> Result<()> {
        if let Some(error) = self.failure.take() {
            self.failed(error)?;
        }
        if self.slot.is_none() { self.come_back() } else { Ok(()) }
    }

    fn submit(&mut self, slot: usize, _: Moment) -> Result<()> {
        self.sessions.interrupt.check()?;
        let Some((requester, _)) = self.slot else {
            return Err(Error::new(ErrorKind::Internal, "a request was made of a session that was lost"));
        };
        let queue = self.queue.as_ref().filter(|_| self.last_ended.since(self.last_pickup) >= PICKUP_EVERY);
        let waited_before = queue.and_then(RunQueue::waited);
        let kind = self.generator.draw();
        let (mut back_off, mut waited, mut retries) = (FIRST_BACK_OFF, Duration::ZERO, 0);
        let answer = loop {
            match self.generator.make(kind, requester.as_mut()) {
                Err(error) if error.kind == ErrorKind::Busy && retries < MOST_RETRIES => {
                    match error.retry_after {
                        None => self.sessions.clock.sleep(back_off),
                        Some(least) => {
                            back_off = longer(least, retries);
                            if !wait(self.sessions, self.state, back_off) {
                                break Err(error);
                            }
                        }
                    }
                    retries += 1;
                    waited += back_off;
                    back_off *= 2;
                }
                answer => break answer,
            }
        };
        let ended = self.sessions.clock.now();
        self.last_ended = ended;
        let mut pickup_lag = None;
        if let Some((queue, before)) = self.queue.as_ref().zip(waited_before) {
            self.last_pickup = ended;
            // While it is waited between attempts the thread sleeps for another reason.
            pickup_lag = queue.waited().map(|after| after.saturating_sub(before)).filter(|_| retries == 0);
        }
        let outcome = self.outcome(answer);
        self.completed = Some(Completion { slot, kind, outcome, ended, retries, waited, pickup_lag });
        Ok(())
    }

    fn reap(&mut self, _: Moment) -> Result<Option<Completion>> {
        Ok(self.completed.take())
    }

    fn nothing_left(&mut self, kind: usize, in_a_row: u32) -> Error {
        let kind = self.sessions.kinds.get(kind).map_or("", String::as_str);
        let message = format!("{in_a_row} requests in a row found no row to be made of, the last of kind '{kind}'");
        Error::new(ErrorKind::Statement, message)
            .hint("begin with more rows by 'volume', make requests for a shorter time, or let the mix insert more than it deletes")
    }
}

impl SessionLane<'_> {
    fn outcome(&mut self, answer: Result<Option<Amount>>) -> Outcome {
        match answer {
            Ok(Some(amount)) => {
                let failures = &self.sessions.losses.failures_in_a_row;
                if failures.load(Ordering::Relaxed) > 0 {
                    failures.store(0, Ordering::Relaxed);
                }
                Outcome::Answered(amount)
            }
            Ok(None) => Outcome::Nothing,
            Err(error) => Outcome::Failed(self.failure.insert(error).kind.name()),
        }
    }

    /// What becomes of the session after a request that failed for good: an error if it is its end.
    fn failed(&mut self, error: Error) -> Result<()> {
        self.sessions.interrupt.check()?;
        match error.kind {
            ErrorKind::Internal | ErrorKind::Usage | ErrorKind::Cancelled | ErrorKind::DiskFull => return Err(error),
            ErrorKind::Lost => {
                // The new session has no use for what the old one's end may still hold up.
                *self.slot = None;
                if let Some(least) = error.retry_after {
                    wait(self.sessions, self.state, least);
                }
                return Ok(());
            }
            _ => {}
        }
        let in_a_row = self.sessions.losses.failures_in_a_row.fetch_add(1, Ordering::Relaxed) + 1;
        if in_a_row < MOST_FAILURES_IN_A_ROW {
            return Ok(());
        }
        // In the midst of a run this is no longer a question of what was asked for.
        let message = format!("{in_a_row} requests in a row failed, the last with: {}", error.message);
        let hint = error.hint.unwrap_or_else(|| {
            "see what the last error says of the target or of the definition, then run the test again".to_owned()
        });
        Err(Error::new(ErrorKind::Statement, message).hint(hint))
    }

    /// Connects again, and again until the phase ends. No session writes before the lease is ours again.
    fn come_back(&mut self) -> Result<()> {
        let Sessions { clock, interrupt, connect, end, losses, .. } = self.sessions;
        let loss = losses.count.fetch_add(1, Ordering::Relaxed) + 1;
        losses.lost.fetch_add(1, Ordering::Relaxed);
        let (mut pause, mut tries) = (FIRST_RECONNECT, 0);
        let outcome = loop {
            if let Err(interrupted) = interrupt.check() {
                break Err(interrupted);
            }
            let error = match connect() {
                Ok(session) => {
                    *self.slot = Some(session);
                    break Ok(());
                }
                Err(error) => error,
            };
            match error.retry_after {
                Some(least) if clock.now() < *end => {
                    wait(self.sessions, self.state, longer(least, tries));
                    tries += 1;
                    if self.state.is_stopped() {
                        break Ok(());
                    }
                }
                None if clock.now().after(pause) < *end => {
                    clock.sleep(pause);
                    pause = (pause * 2).min(LAST_RECONNECT);
                }
                _ => {
                    let message =
                        format!("the server was lost and did not come back before the end: {}", error.message);
                    break Err(
                        Error::new(ErrorKind::Lost, message).hint("see why the server ended, then run the test again")
                    );
                }
            }
        };
        let may_go_on = || {
            losses.renewed.load(Ordering::Relaxed) >= loss
                || self.state.is_stopped()
                || interrupt.check().is_err()
                || clock.now() >= *end
        };
        while outcome.is_ok() && !may_go_on() {
            clock.sleep(FIRST_RECONNECT);
        }
        losses.lost.fetch_sub(1, Ordering::Relaxed);
        outcome
    }
}

/// The pause before a try, of which there were so many before.
fn longer(least: Duration, tries: u32) -> Duration {
    least.saturating_mul(1 << tries.min(16)).min(LONGEST_PAUSE)
}

/// Waits so long; false if the phase ends before, is stopped or interrupted.
fn wait(sessions: &Sessions<'_>, state: &State, pause: Duration) -> bool {
    let Sessions { clock, interrupt, end, .. } = sessions;
    let until = clock.now().after(pause);
    loop {
        let now = clock.now();
        if now >= *end || state.is_stopped() || interrupt.check().is_err() {
            return false;
        }
        if now >= until {
            return true;
        }
        clock.sleep_until(until.min(*end).min(now.after(GLANCE)));
    }
}

#[cfg(test)]
mod tests;
