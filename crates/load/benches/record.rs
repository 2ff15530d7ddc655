//! What timing and recording a request cost: readings of the clock (one where the end of a request is the start of the next,
//! two with a schedule), histograms, counts, the second's row. The bar is 50 ns, the clock's readings not counted.
//!
//! `cargo bench -p plimsoll-load --bench record`

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::sync::Mutex;
use std::time::Duration;

use plimsoll_analysis::summary::median;
use plimsoll_clock::cpu::thread_cpu_seconds;
use plimsoll_clock::{Clock as _, RealClock};
use plimsoll_load::lane::Amount;
use plimsoll_load::recorder::{Answered, Recorder};
use plimsoll_measurement::Moment;

const ROUNDS: usize = 21;
const REQUESTS: u32 = 500_000;

fn main() {
    let clock = RealClock::new();
    let empty = rounds(|_| ());
    let clock_cost = rounds(|_| {
        std::hint::black_box(clock.now());
    });
    println!("a reading of the clock: {:.1} ns", median(&clock_cost).unwrap_or_default());
    for (name, scheduled) in [("as fast as answered", false), ("by a schedule", true)] {
        let recorder = Mutex::new(Recorder::new(
            clock.now(),
            Moment::from_nanos(u64::MAX),
            &["select".to_owned(), "update".to_owned()],
            scheduled,
        ));
        let mut last = clock.now();
        let mut all = rounds(|number| {
            let started = if scheduled { clock.now() } else { last };
            // Times over three orders of magnitude, so that they fall into many buckets.
            let intended = started;
            last = clock.now();
            let ended = last.after(Duration::from_nanos(u64::from(number.wrapping_mul(2_654_435_761)) >> 8));
            let made = Amount { rows_examined: 1, rows: 1, content_bytes: 400 };
            let answer = Answered { intended, started, ended, waited: Duration::ZERO, slept: scheduled, amount: made };
            recorder.lock().unwrap_or_else(std::sync::PoisonError::into_inner).answered((number % 2) as usize, &answer);
        });
        all.sort_by(f64::total_cmp);
        let (middle, loop_cost) = (median(&all).unwrap_or_default(), median(&empty).unwrap_or_default());
        println!(
            "{name}: {:.1} ns a request (rounds {:.1} to {:.1}; an empty loop takes {loop_cost:.2})",
            middle - loop_cost,
            all[0],
            all[all.len() - 1]
        );
    }
}

/// CPU time of each call in nanoseconds, of every round but the first.
fn rounds(mut each: impl FnMut(u32)) -> Vec<f64> {
    let round = |each: &mut dyn FnMut(u32)| {
        let start = thread_cpu_seconds();
        (0..REQUESTS).for_each(|number| each(std::hint::black_box(number)));
        (thread_cpu_seconds() - start) * 1e9 / f64::from(REQUESTS)
    };
    (0..=ROUNDS).map(|_| round(&mut each)).skip(1).collect()
}
