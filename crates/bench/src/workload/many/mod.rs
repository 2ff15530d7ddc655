//! Many sessions that one thread serves: it sends their requests and waits for all their answers at once. Thousands of threads would
//! cost the machine more than the requests do.

mod waiting;

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use plimsoll_engine::{Error, ErrorKind, Requester, Result};
use plimsoll_load::lane::{Completion, Lane};
use plimsoll_load::worker::State;
use plimsoll_measurement::Moment;

use self::waiting::Waiting;
use super::request::{Making, RequestGenerator};
use super::session::{Attempted, Rest, Sessions, Slot};
use crate::interrupt::CancelGuard;

/// A session that can't send all of a request at once tries again after so long.
const SOON: Duration = Duration::from_millis(1);
/// How often it is looked whether a session that lost the server is back.
const LATER: Duration = Duration::from_millis(20);

/// What a request needs, and gives back when it is over.
struct Tools<'a> {
    requester: Box<dyn Requester>,
    guard: CancelGuard,
    generator: Box<dyn RequestGenerator + 'a>,
}

/// Where a session is.
enum Stage<'a> {
    Free(Tools<'a>),
    /// In a request of this kind.
    Busy(usize, Making<'a, (Tools<'a>, Attempted)>),
    Lost(Box<dyn RequestGenerator + 'a>),
    /// On the way from one to another.
    Between,
}

/// Sessions that lost the server, for a thread that connects them again: others go on meanwhile.
#[derive(Default)]
pub struct Returns {
    /// Their numbers, those of their losses, and how long the server wants to be left alone.
    lost: Mutex<VecDeque<(usize, u64, Duration)>>,
    back: Mutex<Vec<(usize, Result<Slot>)>>,
}

impl Returns {
    /// Connects sessions again as long as any work goes on.
    pub fn serve(&self, sessions: &Sessions<'_>, state: &State) {
        while state.is_working() {
            let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some((number, loss, least)) = lost else {
                sessions.clock.sleep(LATER);
                continue;
            };
            if !least.is_zero() {
                sessions.sleep(state, least);
            }
            let back = sessions.come_back(state, loss);
            self.back.lock().unwrap_or_else(PoisonError::into_inner).push((number, back));
        }
    }
}

/// When the rests of sessions end, by their numbers.
type Rests = Rc<RefCell<BinaryHeap<Reverse<(Moment, usize)>>>>;

/// Where a session rests while others go on.
struct Aside<'a> {
    sessions: &'a Sessions<'a>,
    rests: Rests,
    number: usize,
}

impl Rest for Aside<'_> {
    fn poll_rest(&self, _: &mut Context<'_>, until: Moment) -> Poll<()> {
        if self.sessions.clock.now() >= until {
            return Poll::Ready(());
        }
        self.rests.borrow_mut().push(Reverse((until, self.number)));
        Poll::Pending
    }
}

/// What wakes a session that wants to be asked again soon.
struct Again {
    number: usize,
    all: Arc<Mutex<Vec<usize>>>,
}

impl Wake for Again {
    fn wake(self: Arc<Self>) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).push(self.number);
    }
}

/// Sessions at work.
pub struct ManyLane<'a> {
    sessions: &'a Sessions<'a>,
    state: &'a State,
    returns: &'a Returns,
    slots: &'a mut [Slot],
    stages: Vec<Stage<'a>>,
    /// Sessions of which something may be unread, such as that the server is gone: nothing more may come that wakes them.
    have_news: Vec<bool>,
    wakers: Vec<Waker>,
    again: Arc<Mutex<Vec<usize>>>,
    rests: Rests,
    waiting: Waiting<'a>,
    completed: VecDeque<Completion>,
    /// What ends the work.
    end: Option<Error>,
}

/// True if one thread can wait for the answers to all of these.
pub fn can_serve(slots: &[Slot]) -> bool {
    slots.iter().flatten().all(|(requester, _)| requester.descriptor().is_some())
}

impl<'a> ManyLane<'a> {
    /// The sessions of these slots, each with what makes its requests.
    ///
    /// # Errors
    /// If the system lets nobody wait for them.
    pub fn new(
        sessions: &'a Sessions<'a>,
        state: &'a State,
        returns: &'a Returns,
        slots: &'a mut [Slot],
        generator: impl Fn(usize) -> Box<dyn RequestGenerator + 'a>,
    ) -> Result<Self> {
        let waiting = Waiting::new(sessions.clock)?;
        let mut stages = Vec::with_capacity(slots.len());
        for (number, slot) in slots.iter_mut().enumerate() {
            let generator = generator(number);
            stages.push(match slot.take() {
                Some((requester, guard)) => {
                    waiting.add(requester.as_ref(), number)?;
                    Stage::Free(Tools { requester, guard, generator })
                }
                None => Stage::Lost(generator),
            });
        }
        let again = Arc::default();
        let waker = |number| Waker::from(Arc::new(Again { number, all: Arc::clone(&again) }));
        let wakers = (0..stages.len()).map(waker).collect();
        Ok(Self {
            sessions,
            state,
            returns,
            slots,
            have_news: vec![false; stages.len()],
            stages,
            wakers,
            again,
            rests: Rests::default(),
            waiting,
            completed: VecDeque::new(),
            end: None,
        })
    }

    /// Goes on with a session's request as far as that goes.
    fn poll(&mut self, number: usize) {
        let Stage::Busy(kind, request) = &mut self.stages[number] else { return };
        let kind = *kind;
        let Poll::Ready((tools, attempted)) = request.as_mut().poll(&mut Context::from_waker(&self.wakers[number]))
        else {
            return;
        };
        let ended = self.sessions.clock.now();
        let (outcome, failure) = self.sessions.outcome(attempted.answer);
        self.stages[number] = match failure.map(|failure| self.sessions.lost_by(failure)) {
            None | Some(Ok(None)) => Stage::Free(tools),
            Some(Ok(Some(error))) => {
                let lost = (number, self.sessions.lose(), error.retry_after.unwrap_or_default());
                self.returns.lost.lock().unwrap_or_else(PoisonError::into_inner).push_back(lost);
                Stage::Lost(tools.generator)
            }
            Some(Err(error)) => {
                self.end.get_or_insert(error);
                Stage::Free(tools)
            }
        };
        let (retries, waited) = (attempted.retries, attempted.waited);
        let pickup_lag = self.waiting.late().filter(|_| retries == 0);
        self.completed.push_back(Completion { slot: number, kind, outcome, ended, retries, waited, pickup_lag });
    }

    /// Sessions that are back go on.
    fn welcome(&mut self) -> Result<()> {
        let back = std::mem::take(&mut *self.returns.back.lock().unwrap_or_else(PoisonError::into_inner));
        for (number, back) in back {
            let Some((requester, guard)) = back? else { continue };
            let stage = std::mem::replace(&mut self.stages[number], Stage::Between);
            self.stages[number] = match stage {
                Stage::Lost(generator) => {
                    self.waiting.add(requester.as_ref(), number)?;
                    self.have_news[number] = false;
                    Stage::Free(Tools { requester, guard, generator })
                }
                stage => stage,
            };
        }
        Ok(())
    }

    /// Takes those whose rest is over by now; when the next one's is.
    fn rested(&self, now: Moment) -> (Vec<usize>, Option<Moment>) {
        let mut rested = Vec::new();
        let mut rests = self.rests.borrow_mut();
        while let Some(Reverse((until, number))) = rests.peek().copied() {
            if until > now {
                return (rested, Some(until));
            }
            rests.pop();
            rested.push(number);
        }
        (rested, None)
    }
}

/// A request, with what it needs.
async fn request<'a>(
    sessions: &'a Sessions<'a>,
    state: &'a State,
    kind: usize,
    mut tools: Tools<'a>,
    aside: Aside<'a>,
) -> (Tools<'a>, Attempted) {
    let Tools { generator, requester, .. } = &mut tools;
    let attempted = sessions.attempt(state, generator.as_mut(), kind, requester.as_mut(), &aside).await;
    (tools, attempted)
}

impl Lane for ManyLane<'_> {
    type Error = Error;

    fn slots(&self) -> usize {
        self.stages.len()
    }

    fn check(&self) -> Result<()> {
        self.sessions.interrupt.check()
    }

    fn ready(&mut self, number: usize) -> Result<Option<Moment>> {
        if let Some(error) = self.end.take() {
            return Err(error);
        }
        if !matches!(self.stages[number], Stage::Lost(_)) {
            return Ok(None);
        }
        self.welcome()?;
        let (now, end) = (self.sessions.clock.now(), self.sessions.end);
        let is_over = now >= end || self.state.is_stopped();
        Ok((matches!(self.stages[number], Stage::Lost(_)) && !is_over).then(|| now.after(LATER).min(end)))
    }

    fn submit(&mut self, number: usize, _: Moment) -> Result<()> {
        let Stage::Free(mut tools) = std::mem::replace(&mut self.stages[number], Stage::Between) else {
            return Err(Error::new(ErrorKind::Internal, "a request was made of a session that was lost or at work"));
        };
        let kind = tools.generator.draw();
        let aside = Aside { sessions: self.sessions, rests: Rc::clone(&self.rests), number };
        self.stages[number] = Stage::Busy(kind, Box::pin(request(self.sessions, self.state, kind, tools, aside)));
        self.poll(number);
        if std::mem::take(&mut self.have_news[number]) {
            self.poll(number);
        }
        Ok(())
    }

    fn reap(&mut self, until: Moment) -> Result<Option<Completion>> {
        loop {
            if let Some(completion) = self.completed.pop_front() {
                return Ok(Some(completion));
            }
            if let Some(error) = self.end.take() {
                return Err(error);
            }
            let now = self.sessions.clock.now();
            let (rested, next) = self.rested(now);
            let again = std::mem::take(&mut *self.again.lock().unwrap_or_else(PoisonError::into_inner));
            let soon = (!again.is_empty()).then(|| now.after(SOON));
            let next = [next, soon].into_iter().flatten().fold(until, Moment::min);
            self.waiting.until(if rested.is_empty() { next } else { now })?;
            for number in rested.into_iter().chain(again) {
                self.poll(number);
            }
            while let Some((number, is_the_last)) = self.waiting.heard() {
                // An answer is read to its end and not beyond it.
                self.have_news[number] = is_the_last || !matches!(self.stages[number], Stage::Busy(..));
                self.poll(number);
            }
            if self.completed.is_empty() && self.sessions.clock.now() >= until {
                return Ok(None);
            }
        }
    }

    fn nothing_left(&mut self, kind: usize, in_a_row: u32) -> Error {
        self.sessions.nothing_left(kind, in_a_row)
    }
}

impl Drop for ManyLane<'_> {
    /// The next phase goes on with the same sessions. One that is still at work has come to its end.
    fn drop(&mut self) {
        for (slot, stage) in self.slots.iter_mut().zip(self.stages.drain(..)) {
            if let Stage::Free(Tools { requester, guard, .. }) = stage {
                *slot = Some((requester, guard));
            }
        }
    }
}
