//! What a server refuses for a while, in virtual time: requests and connections wait as long as the server asks for, and no longer
//! than the phase.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use plimsoll_clock::{Clock, VirtualClock, in_threads};
use plimsoll_engine::database::Cancel;
use plimsoll_engine::value::RowSummary;
use plimsoll_engine::{Answer, Requester, RowSource, Sampler, Statement, Table, Value};
use plimsoll_load::lane::{Amount, Outcome};
use plimsoll_measurement::{Reading, Views};

use super::*;
use crate::interrupt::Interrupt;
use crate::workload::request::Making;
use crate::workload::session::Losses;

/// A session that the generator asks nothing of.
struct Nobody;

impl Cancel for Nobody {
    fn cancel(&self) {}
}

impl Sampler for Nobody {
    fn sample(&mut self) -> Result<Vec<Reading>> {
        Ok(Vec::new())
    }

    fn views(&mut self) -> Result<Views> {
        Ok(Views::default())
    }
}

impl Requester for Nobody {
    fn ask(&mut self, _: &Statement, _: &[Value<'_>]) -> Result<Answer> {
        Ok(Answer::default())
    }

    fn load_batch(&mut self, _: &Table, _: &mut dyn RowSource) -> Result<RowSummary> {
        Ok(RowSummary::default())
    }

    fn canceller(&self) -> Arc<dyn Cancel> {
        Arc::new(Self)
    }
}

/// Errors in their order, and answers after them.
struct Planned<'a>(&'a Mutex<VecDeque<Error>>);

impl RequestGenerator for Planned<'_> {
    fn draw(&mut self) -> usize {
        0
    }

    fn make<'a>(&'a mut self, _: usize, _: &'a mut dyn Requester) -> Making<'a, Result<Option<Amount>>> {
        let next = self.0.lock().unwrap().pop_front().map_or(Ok(Some(Amount::default())), Err);
        Box::pin(std::future::ready(next))
    }
}

fn error(kind: ErrorKind, pause_s: u64) -> Error {
    Error::new(kind, "refused").retry_after(Duration::from_secs(pause_s))
}

/// What became of one request, and the seconds until a session was ready for the next one.
fn played(requests: Vec<Error>, connections: Vec<Error>, lasts_s: u64) -> (Completion, Result<()>, u64) {
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::new());
    let (requests, connections) = (Mutex::new(VecDeque::from(requests)), Mutex::new(VecDeque::from(connections)));
    let interrupt = Interrupt::default();
    let open = || match connections.lock().unwrap().pop_front() {
        Some(error) => Err(error),
        None => Ok((Box::new(Nobody) as Box<dyn Requester>, interrupt.watch(Arc::new(Nobody)))),
    };
    let start = clock.now();
    let losses = Losses::default();
    // Nobody looks after the lease here.
    losses.renewed(u64::MAX);
    let sessions = Sessions {
        clock: clock.as_ref(),
        interrupt: &interrupt,
        connect: &open,
        end: start.after(Duration::from_secs(lasts_s)),
        kinds: &["read".to_owned()],
        waits_for_answers: false,
        losses,
    };
    let state = State::of(1);
    let mut slot: Slot = Some((Box::new(Nobody), interrupt.watch(Arc::new(Nobody))));
    let work = || {
        let mut lane = SessionLane::new(&sessions, &state, Box::new(Planned(&requests)), &mut slot);
        lane.submit(0, start).unwrap();
        let completion = lane.reap(start).unwrap().unwrap();
        let ready = lane.ready(0).map(drop);
        (completion, ready, clock.now().since(start).as_secs())
    };
    in_threads(&clock, vec![("session".to_owned(), work)]).remove(0).unwrap()
}

#[test]
fn a_request_waits_as_long_as_the_server_asks_for() {
    let busy = |times: usize| vec![error(ErrorKind::Busy, 10); times];
    let (completion, ready, seconds) = played(busy(2), Vec::new(), 600);
    assert_eq!((completion.retries, completion.waited, seconds), (2, Duration::from_secs(30), 30));
    assert!(matches!(completion.outcome, Outcome::Answered(_)) && ready.is_ok());
    // 10, 20, 40, and then always a minute.
    let (completion, _, seconds) = played(busy(9), Vec::new(), 600);
    assert_eq!((completion.retries, completion.outcome, seconds), (5, Outcome::Failed("busy"), 190));
    // Not beyond the end of the phase.
    let (completion, ready, seconds) = played(busy(9), Vec::new(), 25);
    assert_eq!((completion.retries, completion.outcome, seconds), (1, Outcome::Failed("busy"), 25));
    assert!(ready.is_ok());
    // What a lock refuses is tried again at once, as ever.
    let lock = || Error::new(ErrorKind::Busy, "locked");
    let (completion, ..) = played(vec![lock(), lock()], Vec::new(), 600);
    assert_eq!((completion.retries, completion.waited), (2, Duration::from_millis(15)));
}

#[test]
fn a_session_comes_back_when_the_server_lets_it() {
    let lost = |pause_s| vec![error(ErrorKind::Lost, pause_s)];
    let away = |times: usize| vec![error(ErrorKind::Connect, 5); times];
    let (completion, ready, seconds) = played(lost(5), away(2), 600);
    assert_eq!((completion.retries, completion.outcome), (0, Outcome::Failed("connection-lost")));
    // The first new connection after five seconds, the others five and ten after that.
    assert!(ready.is_ok() && seconds == 20, "{ready:?} {seconds}");
    // A line that was cut is made anew at once.
    let cut = vec![Error::new(ErrorKind::Lost, "reset")];
    let (_, ready, seconds) = played(cut.clone(), Vec::new(), 600);
    assert!(ready.is_ok() && seconds == 0, "{ready:?} {seconds}");
    // It is tried for the last time at the end.
    let (_, ready, seconds) = played(cut.clone(), away(3), 30);
    assert!(ready.is_ok() && seconds == 30, "{ready:?} {seconds}");
    let (_, ready, seconds) = played(cut, away(9), 30);
    let error = ready.unwrap_err();
    assert_eq!((error.kind, seconds), (ErrorKind::Lost, 30));
    assert!(error.message.contains("did not come back before the end: refused"), "{error:?}");
}
