//! Columns on constructed looks.

use plimsoll_measurement::{Counter, Moment, Reading, Window};

use super::*;

fn at(seconds: f64) -> Moment {
    Moment::from_nanos((seconds * 1e9) as u64)
}

/// The columns of these looks, between which nobody glanced.
fn of_looks(looks: &[Look], from: Moment) -> Samples {
    of(looks, &[], from)
}

/// A look at which the engine said this.
fn said(seconds: f64, values: &[(Counter, f64)]) -> Look {
    let window = Window { start: at(seconds), end: at(seconds) };
    let readings = values.iter().map(|(metric, value)| Reading { metric: *metric, value: *value, window }).collect();
    Look { at: at(seconds), engine: Some(Ok(readings)), seen: Vec::new(), files: None, host: None }
}

fn failed(seconds: f64) -> Look {
    Look {
        at: at(seconds),
        engine: Some(Err("the server did not answer".to_owned())),
        seen: Vec::new(),
        files: None,
        host: None,
    }
}

fn values(samples: &Samples, metric: &str) -> Vec<Option<f64>> {
    samples.column(metric).map(|column| column.values.clone()).unwrap_or_default()
}

#[test]
fn counters_become_rates_sums_become_means_and_gauges_stay() {
    let look = |seconds: f64, reads: f64, stall: f64, memory: f64| {
        let waits = (Counter::LockWaitSeconds, 2.0 * seconds);
        let values =
            [(Counter::DataReads, reads), (Counter::DataReadStallSeconds, stall), (Counter::MemoryPercent, memory)];
        said(seconds, &[values[0], values[1], values[2], waits])
    };
    let samples =
        of_looks(&[look(10.0, 100.0, 1.0, 5.0), look(11.0, 150.0, 1.25, 6.0), look(13.0, 150.0, 1.25, 7.0)], at(10.0));
    assert_eq!((samples.started_seconds, &samples.seconds[..]), (0.0, &[1.0, 3.0][..]));
    assert_eq!(values(&samples, "data_reads"), [Some(50.0), Some(0.0)]);
    // Nothing was read in the second interval, so that no read took any time.
    assert_eq!(values(&samples, "data_read_latency"), [Some(5.0), None]);
    assert_eq!(values(&samples, "memory_percent"), [Some(6.0), Some(7.0)]);
    assert_eq!(values(&samples, "waiting_for_lock"), [Some(2.0), Some(2.0)]);
    assert!(samples.column("data_writes").is_none() && samples.gaps.is_empty());
}

#[test]
fn a_source_that_fails_is_a_gap_and_so_is_one_that_began_anew() {
    let reads = |seconds, reads| said(seconds, &[(Counter::DataReads, reads)]);
    let looks = [
        reads(0.0, 10.0),
        reads(1.0, 20.0),
        failed(2.0),
        failed(3.0),
        reads(4.0, 5.0),
        reads(5.0, 2.0),
        reads(6.0, 3.0),
    ];
    let samples = of_looks(&looks, at(0.0));
    assert_eq!(values(&samples, "data_reads"), [Some(10.0), None, None, None, None, Some(1.0)]);
    let gaps: Vec<(f64, f64)> = samples.gaps.iter().map(|gap| (gap.from_seconds, gap.to_seconds)).collect();
    assert_eq!(gaps, [(1.0, 4.0), (4.0, 5.0)]);
    assert_eq!(samples.gaps[0].reason, "the server did not answer");
    assert!(samples.gaps[1].reason.starts_with("data_reads went backwards: the server was restarted"));
}

#[test]
fn what_is_added_up_is_preferred_to_what_is_of_the_moment() {
    let both =
        |seconds, added| said(seconds, &[(Counter::LockWaitSeconds, added), (Counter::SessionsWaitingForLocks, 9.0)]);
    assert_eq!(values(&of_looks(&[both(0.0, 0.0), both(2.0, 1.0)], at(0.0)), "waiting_for_lock"), [Some(0.5)]);
    let now = |seconds| said(seconds, &[(Counter::SessionsWaitingForLocks, 9.0)]);
    assert_eq!(values(&of_looks(&[now(0.0), now(2.0)], at(0.0)), "waiting_for_lock"), [Some(9.0)]);
}

#[test]
fn looks_before_the_start_and_at_one_moment_have_no_interval() {
    let reads = |seconds, reads| said(seconds, &[(Counter::DataReads, reads)]);
    let looks = [reads(0.0, 0.0), reads(1.0, 1.0), reads(2.5, 4.0), reads(2.5, 4.0)];
    let samples = of_looks(&looks, at(1.5));
    assert_eq!((samples.started_seconds, &samples.seconds[..]), (-0.5, &[1.0][..]));
    assert_eq!(of_looks(&[], at(0.0)), Samples::default());
    assert!(of_looks(&looks[..1], at(0.0)).is_empty());
}

#[test]
fn values_have_six_digits() {
    let said = [1.0 / 3.0, 123_456_789.0, 0.0, -2.0 / 3.0, 1e-300, 1e300].map(|value| format!("{:e}", rounded(value)));
    assert_eq!(said, ["3.33333e-1", "1.23457e8", "0e0", "-6.66667e-1", "1e-300", "1e300"]);
}
