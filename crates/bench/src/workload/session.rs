//! What sessions have in common, whether each has a thread of its own or one thread serves many. A session makes a request again
//! after errors that pass. If it loses the server, it comes back as soon as that answers again: a gap in the series, not the end of
//! it.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::{Error, ErrorKind, Requester, Result};
use plimsoll_load::lane::{Amount, Outcome};
use plimsoll_load::worker::State;
use plimsoll_measurement::Moment;

use super::request::{RequestGenerator, at_once};
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

/// Where a session rests: its thread sleeps, or serves others meanwhile.
pub(super) trait Rest {
    /// Ready once it is this late.
    fn poll_rest(&self, context: &mut Context<'_>, until: Moment) -> Poll<()>;
}

impl dyn Rest + '_ {
    async fn until(&self, moment: Moment) {
        poll_fn(|context| self.poll_rest(context, moment)).await;
    }
}

/// What became of a request, with all its attempts.
pub(super) struct Attempted {
    pub answer: Result<Option<Amount>>,
    pub retries: u32,
    pub waited: Duration,
}

impl Sessions<'_> {
    /// Makes a request of this kind, again and again as long as the error passes.
    pub(super) async fn attempt(
        &self,
        state: &State,
        generator: &mut (dyn RequestGenerator + '_),
        kind: usize,
        requester: &mut dyn Requester,
        rest: &dyn Rest,
    ) -> Attempted {
        let (mut back_off, mut waited, mut retries) = (FIRST_BACK_OFF, Duration::ZERO, 0);
        let answer = loop {
            match generator.make(kind, requester).await {
                Err(error) if error.kind == ErrorKind::Busy && retries < MOST_RETRIES => {
                    match error.retry_after {
                        None => rest.until(self.clock.now().after(back_off)).await,
                        Some(least) => {
                            back_off = longer(least, retries);
                            if !self.wait(state, back_off, rest).await {
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
        Attempted { answer, retries, waited }
    }

    /// How a request ended, and its error if it failed.
    pub(super) fn outcome(&self, answer: Result<Option<Amount>>) -> (Outcome, Option<Error>) {
        match answer {
            Ok(Some(amount)) => {
                let failures = &self.losses.failures_in_a_row;
                if failures.load(Ordering::Relaxed) > 0 {
                    failures.store(0, Ordering::Relaxed);
                }
                (Outcome::Answered(amount), None)
            }
            Ok(None) => (Outcome::Nothing, None),
            Err(error) => (Outcome::Failed(error.kind.name()), Some(error)),
        }
    }

    /// What becomes of a session after a request that failed for good: it goes on, or it has lost the server by this error, or an
    /// error is the end of the work.
    pub(super) fn lost_by(&self, error: Error) -> Result<Option<Error>> {
        self.interrupt.check()?;
        match error.kind {
            ErrorKind::Internal | ErrorKind::Usage | ErrorKind::Cancelled | ErrorKind::DiskFull => return Err(error),
            ErrorKind::Lost => return Ok(Some(error)),
            _ => {}
        }
        let in_a_row = self.losses.failures_in_a_row.fetch_add(1, Ordering::Relaxed) + 1;
        if in_a_row < MOST_FAILURES_IN_A_ROW {
            return Ok(None);
        }
        // In the midst of a run this is no longer a question of what was asked for.
        let message = format!("{in_a_row} requests in a row failed, the last with: {}", error.message);
        let hint = error.hint.unwrap_or_else(|| {
            "see what the last error says of the target or of the definition, then run the test again".to_owned()
        });
        Err(Error::new(ErrorKind::Statement, message).hint(hint))
    }

    /// A session has lost the server; the number of the loss.
    pub(super) fn lose(&self) -> u64 {
        self.losses.lost.fetch_add(1, Ordering::Relaxed);
        self.losses.count.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Connects again after a loss, and again until the phase ends. No session writes before the lease is ours again. `None` if the
    /// work was stopped meanwhile.
    pub(super) fn come_back(&self, state: &State, loss: u64) -> Result<Slot> {
        let Self { clock, interrupt, connect, end, losses, .. } = self;
        let (mut pause, mut tries) = (FIRST_RECONNECT, 0);
        let outcome = loop {
            if let Err(interrupted) = interrupt.check() {
                break Err(interrupted);
            }
            let error = match connect() {
                Ok(session) => break Ok(Some(session)),
                Err(error) => error,
            };
            match error.retry_after {
                Some(least) if clock.now() < *end => {
                    self.sleep(state, longer(least, tries));
                    tries += 1;
                    if state.is_stopped() {
                        break Ok(None);
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
                || state.is_stopped()
                || interrupt.check().is_err()
                || clock.now() >= *end
        };
        while outcome.is_ok() && !may_go_on() {
            clock.sleep(FIRST_RECONNECT);
        }
        losses.lost.fetch_sub(1, Ordering::Relaxed);
        outcome
    }

    /// Waits so long in the calling thread; false if the phase ends before, is stopped or interrupted.
    pub(super) fn sleep(&self, state: &State, pause: Duration) -> bool {
        at_once(async { Ok(self.wait(state, pause, &InThread(self.clock)).await) }).unwrap_or(false)
    }

    async fn wait(&self, state: &State, pause: Duration, rest: &dyn Rest) -> bool {
        let until = self.clock.now().after(pause);
        loop {
            let now = self.clock.now();
            if now >= self.end || state.is_stopped() || self.interrupt.check().is_err() {
                return false;
            }
            if now >= until {
                return true;
            }
            rest.until(until.min(self.end).min(now.after(GLANCE))).await;
        }
    }

    /// The error of a workload that has run out of rows.
    pub(super) fn nothing_left(&self, kind: usize, in_a_row: u32) -> Error {
        let kind = self.kinds.get(kind).map_or("", String::as_str);
        let message = format!("{in_a_row} requests in a row found no row to be made of, the last of kind '{kind}'");
        Error::new(ErrorKind::Statement, message)
            .hint("begin with more rows by 'volume', make requests for a shorter time, or let the mix insert more than it deletes")
    }
}

/// A thread that sleeps.
pub(super) struct InThread<'a>(pub &'a dyn Clock);

impl Rest for InThread<'_> {
    fn poll_rest(&self, _: &mut Context<'_>, until: Moment) -> Poll<()> {
        self.0.sleep_until(until);
        Poll::Ready(())
    }
}

/// The pause before a try, of which there were so many before.
fn longer(least: Duration, tries: u32) -> Duration {
    least.saturating_mul(1 << tries.min(16)).min(LONGEST_PAUSE)
}
