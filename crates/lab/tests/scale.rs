//! What a scale does: volumes and memory shrink together and rates stay, so the share of reads that the pool serves is
//! the same and the pool is warm sooner by the scale (`docs/LAB.md` shows the figures).
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Bench, load};
use plimsoll_engine::{Telemetry as _, Value};
use plimsoll_measurement::Counter;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// Rows and memory at the largest of the scales that are compared.
const ROWS: u32 = 64_000;
const MEMORY_KIB: u32 = 2_048;

/// Reads single rows, 90 % of them from the last 5 % of the table. Gives the percentage of reads that wait for a device
/// once the pool is full, and the seconds until it is.
fn warm_up(divisor: u32) -> (f64, f64) {
    let rows = ROWS / divisor;
    let bench = Bench::new(&format!(
        "memory = \"{}KiB\"\n[data]\niops = 200\nread_latency = \"5ms\"\n[log]\nwrite_latency = \"4ms\"",
        MEMORY_KIB / divisor
    ));
    let mut session = bench.session();
    load(session.as_mut(), "t", rows as i32, 400);
    let mut sampler = bench.lab.process_sampler().unwrap();
    let mut reading = |metric: Counter| {
        sampler.sample().unwrap().iter().find(|reading| reading.metric == metric).map_or(0.0, |reading| reading.value)
    };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut read = |reads: u32| {
        for _ in 0..reads {
            let draw = random.next_u64();
            let newest = rows / 20;
            let key = if draw % 10 < 9 { rows - (draw >> 8) as u32 % newest } else { 1 + (draw >> 8) as u32 % rows };
            session.query_count("SELECT Number FROM t WHERE RowId = ?1", &[Value::Int(key as i32)]).unwrap();
        }
    };
    while reading(Counter::MemoryPercent) < 99.9 {
        read(100);
    }
    let warm_after = bench.seconds();
    read(10_000);
    let before = reading(Counter::CacheMissPages);
    read(20_000);
    let misses = reading(Counter::CacheMissPages) - before;
    (100.0 * misses / 20_000.0, warm_after)
}

#[test]
fn hit_ratios_stay_and_warm_up_shrinks_with_the_scale() {
    let results = [1, 2, 4].map(warm_up);
    let [(misses, seconds), others @ ..] = results;
    for ((other_misses, other_seconds), divisor) in others.into_iter().zip([2.0, 4.0]) {
        assert!((other_misses - misses).abs() < 1.5, "{results:?}");
        assert!((other_seconds * divisor / seconds - 1.0).abs() < 0.15, "{results:?}");
    }
    assert!((2.0..12.0).contains(&misses), "{results:?}");
}
