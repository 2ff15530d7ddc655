//! A noisy neighbour: a limit that flips between two states shows as two rates in the series of a scan, table by table, as
//! in the published figures of Business Edition.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking, and shows its figures")]

mod common;

use common::{Bench, load, table};

const HARDWARE: &str = r#"
memory = "64MiB"
[data]
bandwidth = "10MiB/s"
read_latency = "500us"
neighbour = { rates = [0.25, 1.0], dwell = "8s" }
[log]
write_latency = "4ms"
"#;

/// MB/s of one table after the other.
fn series(hardware: &str, seed: u64, tables: usize) -> Vec<f64> {
    let bench = Bench::with(hardware, &format!("lab:test.toml?scale=1&seed={seed}"));
    let mut session = bench.session();
    load(session.as_mut(), "t", 4500, 400);
    let bytes = session.table_size(&table("t")).unwrap().unwrap().table_bytes;
    (0..tables)
        .map(|_| {
            bench.lab.server().state().pool.clear();
            let start = bench.seconds();
            session.query_count("SELECT count(*) FROM t WHERE Number > 0", &[]).unwrap();
            bytes as f64 / f64::from(1 << 20) / (bench.seconds() - start)
        })
        .collect()
}

#[test]
fn two_states_of_a_neighbour_are_two_rates_in_the_series_of_a_scan() {
    let rates = series(HARDWARE, 1, 400);
    let near = |rate: f64| rates.iter().filter(|seen| (**seen / rate - 1.0).abs() < 0.04).count();
    let (low, high) = (near(2.5), near(10.0));
    println!("{low} tables at the low rate, {high} at the high rate, {} between", rates.len() - low - high);
    // The others were being scanned when the state changed.
    assert!(low > 40 && high > 200 && low + high > 360, "{low} {high}");
    let between = rates.iter().all(|rate| (2.4..10.1).contains(rate));
    assert!(between, "{rates:?}");
    // A state lasts: the rate of a table is mostly that of the one before.
    let flips = rates.windows(2).filter(|pair| (pair[0] < 5.0) != (pair[1] < 5.0)).count();
    assert!((6..60).contains(&flips), "{flips}");
    assert_ne!(rates, series(HARDWARE, 2, 400));
}

#[test]
fn without_a_neighbour_there_is_one_rate() {
    let hardware: String =
        HARDWARE.lines().filter(|line| !line.starts_with("neighbour")).collect::<Vec<_>>().join("\n");
    let rates = series(&hardware, 1, 20);
    assert!(rates.iter().all(|rate| (rate / 10.0 - 1.0).abs() < 0.04), "{rates:?}");
}
