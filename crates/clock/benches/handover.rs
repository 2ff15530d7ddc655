//! What it costs to hand the turn of a virtual clock from thread to thread, on one core.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_clock::{Clock, VirtualClock, in_threads};

const TURNS: u32 = 400_000;
const ROUNDS: usize = 5;

/// Microseconds per call: every thread waits for the next microsecond, so that with several each call is a hand-over.
fn micros_per_sleep(threads: u32) -> f64 {
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::new());
    let job = || {
        for _ in 0..TURNS / threads {
            clock.sleep(Duration::from_micros(1));
        }
    };
    let start = Instant::now();
    let ended = in_threads(&clock, (0..threads).map(|number| (format!("thread {number}"), job)).collect());
    assert!(ended.iter().all(Result::is_ok));
    start.elapsed().as_secs_f64() * 1e6 / f64::from(TURNS / threads * threads)
}

fn main() {
    for threads in [1, 2, 8, 64] {
        let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| micros_per_sleep(threads)).collect();
        rounds.sort_by(f64::total_cmp);
        let (low, median, high) = (rounds[0], rounds[ROUNDS / 2], rounds[ROUNDS - 1]);
        let what = if threads == 1 { "jump" } else { "hand-over" };
        println!("{threads:>2} threads: {median:.2} us per {what} ({low:.2} to {high:.2}, {ROUNDS} rounds of {TURNS})");
    }
}
