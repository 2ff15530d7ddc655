//! Who runs when: order of wake-ups, jumps, parking and waking in virtual time.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_clock::{Clock, VirtualClock, Waiter, enter, in_threads};
use plimsoll_measurement::Moment;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

type Job<'a, T> = (String, Box<dyn FnOnce() -> T + Send + 'a>);

fn virtual_clock() -> Arc<dyn Clock> {
    Arc::new(VirtualClock::new())
}

fn job<'a, T>(name: &str, work: impl FnOnce() -> T + Send + 'a) -> Job<'a, T> {
    (name.to_owned(), Box::new(work))
}

fn at(micros: u64) -> Moment {
    Moment::from_nanos(micros * 1000)
}

/// What happened, in order.
#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl Log {
    fn note(&self, clock: &dyn Clock, what: &str) {
        self.0.lock().expect("no panic").push(format!("{} {what}", clock.now().as_nanos() / 1000));
    }

    fn lines(self) -> Vec<String> {
        self.0.into_inner().expect("no panic")
    }
}

#[test]
fn the_earliest_comes_first_and_equals_in_the_order_of_queueing() {
    let (clock, log) = (virtual_clock(), Log::default());
    let sleeper = |name: &'static str, until: &'static [u64]| {
        let (clock, log) = (&clock, &log);
        job(name, move || {
            log.note(&**clock, name);
            for moment in until {
                clock.sleep_until(at(*moment));
                log.note(&**clock, name);
            }
        })
    };
    // b is queued for 20 before c is; at 30 a was queued last, for it slept until 25 in between.
    let jobs = vec![sleeper("a", &[10, 25, 30]), sleeper("b", &[20, 30]), sleeper("c", &[20, 30])];
    assert!(in_threads(&clock, jobs).iter().all(Result::is_ok));
    let expected = ["0 a", "0 b", "0 c", "10 a", "20 b", "20 c", "25 a", "30 b", "30 c", "30 a"];
    assert_eq!(log.lines(), expected);
    assert_eq!(clock.now(), at(30));
}

#[test]
fn nobody_precedes_so_the_turn_is_kept() {
    let (clock, log) = (virtual_clock(), Log::default());
    let hasty = || {
        for _ in 0..3 {
            clock.sleep(Duration::from_micros(3));
            log.note(&*clock, "hasty");
        }
        // The other was queued for this moment before.
        clock.sleep_until(at(10));
        log.note(&*clock, "hasty");
    };
    let lazy = || {
        clock.sleep_until(at(10));
        log.note(&*clock, "lazy");
        // Nobody precedes, or the moment has passed.
        clock.sleep_until(at(9));
        clock.sleep_until(Moment::default());
        log.note(&*clock, "lazy");
    };
    in_threads(&clock, vec![job("hasty", hasty), job("lazy", lazy)]);
    assert_eq!(log.lines(), ["3 hasty", "6 hasty", "9 hasty", "10 lazy", "10 lazy", "10 hasty"]);
}

#[test]
fn waiting_for_no_time_lets_the_others_of_this_moment_go_first() {
    let (clock, log) = (virtual_clock(), Log::default());
    let polite = |name: &'static str| {
        let (clock, log) = (&clock, &log);
        job(name, move || {
            for _ in 0..2 {
                log.note(&**clock, name);
                clock.sleep(Duration::ZERO);
            }
        })
    };
    in_threads(&clock, vec![polite("a"), polite("b"), polite("c")]);
    assert_eq!(log.lines(), ["0 a", "0 b", "0 c", "0 a", "0 b", "0 c"]);
}

#[test]
fn the_woken_are_queued_behind_those_of_the_present_moment() {
    let (clock, log) = (virtual_clock(), Log::default());
    let parked = Mutex::new(None);
    let sleeper = || {
        *parked.lock().unwrap() = Some(clock.waiter());
        clock.park();
        log.note(&*clock, "woken");
    };
    let waker = || {
        clock.sleep_until(at(10));
        parked.lock().unwrap().as_ref().unwrap().wake();
        log.note(&*clock, "waker");
        clock.sleep_until(at(20));
    };
    let third = || {
        clock.sleep_until(at(10));
        log.note(&*clock, "third");
    };
    in_threads(&clock, vec![job("sleeper", sleeper), job("waker", waker), job("third", third)]);
    assert_eq!(log.lines(), ["10 waker", "10 third", "10 woken"]);
}

#[test]
fn one_wake_before_park_is_remembered() {
    let (clock, log) = (virtual_clock(), Log::default());
    let first = || {
        let own = clock.waiter();
        own.wake();
        own.wake();
        clock.park();
        log.note(&*clock, "passed");
        let other = own.clone();
        let wake_later = || {
            clock.sleep_until(at(5));
            other.wake();
        };
        in_threads(&clock, vec![job("later", wake_later)]);
        // Waiting for the other has not used the permit up.
        clock.park();
        log.note(&*clock, "passed");
        own
    };
    let mut waiters = in_threads(&clock, vec![job("first", first)]);
    waiters.remove(0).unwrap().wake();
    assert_eq!(log.lines(), ["0 passed", "5 passed"]);
}

/// Two hundred threads that sleep, park and wake each other at random: who was where, when.
fn trace(seed: u64) -> Vec<(Moment, u64)> {
    const THREADS: u64 = 200;
    let (clock, trace) = (virtual_clock(), Mutex::new(Vec::new()));
    let (parked, ended) = (Mutex::new(VecDeque::new()), AtomicU64::new(0));
    let wake_one = || {
        let first: Option<Waiter> = parked.lock().expect("no panic").pop_front();
        first.is_some_and(|first| {
            first.wake();
            true
        })
    };
    let restless = |number: u64| {
        let (clock, trace, parked, ended) = (&clock, &trace, &parked, &ended);
        job(&number.to_string(), move || {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ number);
            for _ in 0..50 {
                match random.next_u64() % 12 {
                    8 | 9 => {
                        parked.lock().expect("no panic").push_back(clock.waiter());
                        clock.park();
                    }
                    10 | 11 => drop(wake_one()),
                    // Coarse, so that many wake at the same moment.
                    micros => clock.sleep(Duration::from_micros(micros)),
                }
                trace.lock().expect("no panic").push((clock.now(), number));
            }
            ended.fetch_add(1, Ordering::Relaxed);
        })
    };
    let sweeps = || {
        while ended.load(Ordering::Relaxed) < THREADS {
            clock.sleep(Duration::from_micros(20));
            while wake_one() {}
        }
    };
    let jobs = (0..THREADS).map(restless).chain([job("sweeps", sweeps)]).collect();
    assert!(in_threads(&clock, jobs).iter().all(Result::is_ok));
    trace.into_inner().expect("no panic")
}

#[test]
fn two_hundred_threads_of_one_seed_leave_the_same_trace() {
    let first = trace(7);
    assert_eq!(first.len(), 200 * 50);
    assert!(first.is_sorted_by_key(|(moment, _)| *moment));
    assert_eq!(first, trace(7));
    assert_ne!(first, trace(8));
}

#[test]
fn the_epoch_is_fixed() {
    let clock = virtual_clock();
    assert_eq!(clock.now(), Moment::default());
    assert_eq!(clock.timestamp(clock.now()).to_string(), "2015-01-31T00:00:00Z");
    let _on_clock = enter(&clock, "main");
    clock.sleep(Duration::from_hours(24));
    assert_eq!(clock.timestamp(clock.now()).to_string(), "2015-02-01T00:00:00Z");
    assert_eq!(clock.kind(), "virtual");
}
