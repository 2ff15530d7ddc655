//! The load engine over a lane that is no session: a modelled device with 32 operations under way on one thread, which
//! complete out of order, in virtual time.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_clock::{Clock, VirtualClock, in_threads};
use plimsoll_load::lane::{Amount, Completion, Lane, Outcome};
use plimsoll_load::recorder::Recorder;
use plimsoll_load::schedule::{Arrivals, Rate, Schedule};
use plimsoll_load::think::Think;
use plimsoll_load::worker::{Shared, State, work};
use plimsoll_measurement::Moment;

const SLOTS: usize = 32;
const START: Moment = Moment::from_nanos(1_000_000);
const SECONDS: u64 = 10;
/// Of operations that take 1 to 19 ms, all alike often.
const MEAN_SECONDS: f64 = 0.010;

/// Serves all that is under way at the same time. How long each takes follows from its number.
struct Device {
    clock: Arc<dyn Clock>,
    begun: u64,
    under_way: BinaryHeap<Reverse<(Moment, u64, usize)>>,
    most: usize,
    overtaken: u64,
    last: u64,
}

impl Lane for Device {
    type Error = Infallible;

    fn slots(&self) -> usize {
        SLOTS
    }

    fn submit(&mut self, slot: usize, _: Moment) -> Result<(), Infallible> {
        let number = self.begun;
        self.begun += 1;
        let takes = Duration::from_millis(1 + number.wrapping_mul(2_654_435_761) % 19);
        self.under_way.push(Reverse((self.clock.now().after(takes), number, slot)));
        self.most = self.most.max(self.under_way.len());
        Ok(())
    }

    fn reap(&mut self, until: Moment) -> Result<Option<Completion>, Infallible> {
        let Some(Reverse((ended, number, slot))) = self.under_way.peek().copied().filter(|next| next.0.0 <= until)
        else {
            self.clock.sleep_until(until);
            return Ok(None);
        };
        self.under_way.pop();
        self.clock.sleep_until(ended);
        self.overtaken += u64::from(number < self.last);
        self.last = self.last.max(number);
        let outcome = if number % 1000 == 999 {
            Outcome::Failed("device")
        } else {
            Outcome::Answered(Amount { rows_examined: 0, rows: 1, content_bytes: 8192 })
        };
        Ok(Some(Completion { slot, kind: 0, outcome, ended, retries: 0, waited: Duration::ZERO, pickup_lag: None }))
    }

    fn nothing_left(&mut self, _: usize, _: u32) -> Infallible {
        unreachable!("a device always has something to read")
    }
}

/// Finds nothing that it could make an operation of.
struct Empty {
    tried: u32,
    /// From when on the work is to end.
    stops: Moment,
    clock: Arc<dyn Clock>,
}

impl Lane for Empty {
    type Error = String;

    fn check(&self) -> Result<(), String> {
        if self.clock.now() >= self.stops { Err("stopped".to_owned()) } else { Ok(()) }
    }

    fn slots(&self) -> usize {
        1
    }

    fn submit(&mut self, _: usize, _: Moment) -> Result<(), String> {
        self.tried += 1;
        Ok(())
    }

    fn reap(&mut self, _: Moment) -> Result<Option<Completion>, String> {
        let (outcome, ended) = (Outcome::Nothing, self.clock.now());
        Ok(Some(Completion { slot: 0, kind: 3, outcome, ended, retries: 0, waited: Duration::ZERO, pickup_lag: None }))
    }

    fn nothing_left(&mut self, kind: usize, in_a_row: u32) -> String {
        format!("nothing left of {kind} after {in_a_row}")
    }
}

struct Ran {
    recorder: Recorder,
    device: Device,
    backlog: Option<u64>,
    requests: u64,
    ended: Moment,
}

fn run(rate: Option<f64>, think: Duration) -> Ran {
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::new());
    let lasts = Duration::from_secs(SECONDS);
    let schedule = rate.map(|rate| Schedule::new(START, lasts, Rate::constant(rate), Arrivals::Constant, 1));
    let recorders = [Mutex::new(Recorder::new(START, START.after(lasts), &["read".to_owned()], schedule.is_some()))];
    let shared = Shared {
        clock: clock.as_ref(),
        schedule: schedule.as_ref(),
        think: Think { mean: think, arrivals: Arrivals::Constant, seed: 1 },
        start: START,
        end: START.after(lasts),
        recorders: &recorders,
        state: State::of(1),
    };
    let mut device =
        Device { clock: Arc::clone(&clock), begun: 0, under_way: BinaryHeap::new(), most: 0, overtaken: 0, last: 0 };
    let job = || work(&shared, &mut device, 0);
    let (outcome, needed) = in_threads(&clock, vec![("device".to_owned(), job)]).remove(0).unwrap();
    outcome.unwrap();
    assert!(!shared.state.is_working() && device.under_way.is_empty(), "nothing is left under way");
    let backlog = schedule.as_ref().map(|schedule| schedule.backlog(shared.end));
    let ended = shared.state.ended();
    let [recorder] = recorders;
    Ran { recorder: recorder.into_inner().unwrap(), device, backlog, requests: needed.requests, ended }
}

fn ms(ran: &Ran, percent: f64) -> f64 {
    ran.recorder.times().times.percentile(percent).unwrap().as_secs_f64() * 1e3
}

#[test]
fn as_fast_as_it_completes_all_slots_are_busy() {
    let ran = run(None, Duration::ZERO);
    let sums = ran.recorder.sums();
    // Little's law: as many under way as the rate times the mean time.
    let expected = SLOTS as f64 * SECONDS as f64 / MEAN_SECONDS;
    assert!(((sums.answered + sums.drained + sums.failed) as f64 / expected - 1.0).abs() < 0.01, "{sums:?}");
    assert_eq!(
        (ran.device.most, sums.answered + sums.drained + sums.failed, sums.failed),
        (SLOTS, ran.requests, ran.requests / 1000)
    );
    // What was under way at the end drains, and is no part of the rate.
    assert!(sums.drained >= SLOTS as u64 - 1, "{sums:?}");
    assert!(ran.device.overtaken > ran.requests / 3, "{} of {}", ran.device.overtaken, ran.requests);
    assert!((ms(&ran, 50.0) - 10.0).abs() < 0.2 && (ms(&ran, 100.0) - 19.0).abs() < 0.2);
    // The same again: nothing but the seed decides.
    let again = run(None, Duration::ZERO).recorder;
    assert_eq!((again.kinds(), again.seconds(&[])), (ran.recorder.kinds(), ran.recorder.seconds(&[])));
}

#[test]
fn a_schedule_is_kept_from_one_thread() {
    let ran = run(Some(1000.0), Duration::ZERO);
    assert_eq!((ran.requests, ran.backlog), (1000 * SECONDS, Some(0)));
    // Each starts when it is due, whatever else is under way: what is late is the device alone.
    let lag = ran.recorder.lag.as_ref().unwrap();
    assert!(lag.all.percentile(100.0).unwrap() < Duration::from_micros(1));
    assert!((8..=19).contains(&ran.device.most), "{}", ran.device.most);
    assert!((ms(&ran, 100.0) - 19.0).abs() < 0.2);
}

#[test]
fn a_device_that_is_too_slow_has_a_backlog_and_its_times_say_so() {
    let ran = run(Some(5000.0), Duration::ZERO);
    let capacity = SLOTS as f64 / MEAN_SECONDS;
    let left = (5000.0 - capacity) * SECONDS as f64;
    let backlog = ran.backlog.unwrap() as f64;
    assert!((backlog / left - 1.0).abs() < 0.02, "{backlog} of {left}");
    // The last one was due a third of the time before it began.
    let longest = ms(&ran, 100.0) / 1e3;
    assert!((longest - left / 5000.0).abs() < 0.1, "{longest}");
    let uncorrected = ran.recorder.times().uncorrected.unwrap();
    assert!(uncorrected.percentile(100.0).unwrap() < Duration::from_millis(20));
}

#[test]
fn every_slot_pauses_by_itself() {
    let ran = run(None, Duration::from_millis(90));
    let expected = SLOTS as f64 * SECONDS as f64 / (MEAN_SECONDS + 0.090);
    assert!((ran.requests as f64 / expected - 1.0).abs() < 0.02, "{} of {expected}", ran.requests);
}

/// Longer than the time to work in.
#[test]
fn a_long_pause_ends_with_the_time() {
    let ran = run(None, Duration::from_hours(1));
    assert_eq!((ran.requests, ran.ended), (SLOTS as u64, START.after(Duration::from_secs(SECONDS))));
}

#[test]
fn a_long_pause_ends_where_the_work_is_to() {
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::new());
    let (hour, second) = (Duration::from_hours(1), Duration::from_secs(1));
    let recorders = [Mutex::new(Recorder::new(Moment::default(), Moment::default().after(hour), &[], false))];
    let shared = Shared {
        clock: clock.as_ref(),
        schedule: None,
        think: Think { mean: hour, arrivals: Arrivals::Constant, seed: 1 },
        start: Moment::default(),
        end: Moment::default().after(hour),
        recorders: &recorders,
        state: State::of(1),
    };
    let mut lane = Empty { tried: 0, stops: Moment::default().after(second), clock: Arc::clone(&clock) };
    let job = || work(&shared, &mut lane, 0).0;
    let outcome = in_threads(&clock, vec![("empty".to_owned(), job)]).remove(0).unwrap();
    assert_eq!(outcome.unwrap_err(), "stopped");
    assert!(
        lane.tried == 1 && shared.state.ended() <= Moment::default().after(2 * second),
        "{:?}",
        shared.state.ended()
    );
}

#[test]
fn where_nothing_is_left_time_does_not_stand_still() {
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::new());
    let recorders = [Mutex::new(Recorder::new(Moment::default(), Moment::from_nanos(1), &[], false))];
    let shared = Shared {
        clock: clock.as_ref(),
        schedule: None,
        think: Think { mean: Duration::ZERO, arrivals: Arrivals::Constant, seed: 1 },
        start: Moment::default(),
        end: Moment::from_nanos(1),
        recorders: &recorders,
        state: State::of(1),
    };
    let mut lane = Empty { tried: 0, stops: Moment::from_nanos(u64::MAX), clock: Arc::clone(&clock) };
    let job = || work(&shared, &mut lane, 0).0;
    let outcome = in_threads(&clock, vec![("empty".to_owned(), job)]).remove(0).unwrap();
    assert_eq!((outcome, lane.tried), (Err("nothing left of 3 after 1000".to_owned()), 1000));
    assert!(shared.state.is_stopped(), "the others end as well");
}
