//! The truth and what the tests of the product measure on the lab, in virtual time.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod running;

use std::sync::Arc;

use plimsoll_clock::{Clock, VirtualClock, enter};
use plimsoll_engine::{Database as _, Work};
use plimsoll_lab::LabDatabase;
use plimsoll_measurement::{Expected, RunRecord};
use running::{on_hardware, run};

/// Figure and truth.
fn both(record: &RunRecord) -> (f64, Expected) {
    let figure = record.results.first().unwrap();
    (figure.value, figure.expected.clone().unwrap())
}

/// Runs a test and holds its figure against the truth, which it gives back with the figure.
fn hold(hardware: &str, test: &str, set: &[(&str, &str)], limit: &str, percent: f64) -> (f64, f64) {
    let (value, truth) = both(&on_hardware(hardware, test, set));
    let error = 100.0 * (value / truth.value - 1.0);
    assert!(error.abs() < percent, "{error} %: {value} and {truth:?} for {test} {set:?}");
    assert_eq!(truth.limit.as_deref(), Some(limit), "{truth:?}");
    assert_eq!((truth.basis.as_str(), truth.published), ("given", false));
    (value, truth.value)
}

/// Something like S2: data at `read`, log at `write`, in KiB a second.
fn s2(read: u32, write: u32) -> String {
    format!(
        "memory = \"32MiB\"\n\
         [cpu]\nstep_time = \"54ns\"\npage_time = \"100us\"\n\
         [data]\nbandwidth = \"{read}KiB/s\"\niops = 500\nread_latency = \"5ms\"\nwrite_latency = \"10ms\"\n\
         [log]\nwrite_bandwidth = \"{write}KiB/s\"\nwrite_latency = {{ min = \"2ms\", p50 = \"3ms\", max = \"9ms\" }}\n"
    )
}

const SCAN: [(&str, &str); 2] = [("volume", "16MiB"), ("tables", "10")];
const CHUNKS: [(&str, &str); 3] = [("volume", "16MiB"), ("chunk", "1600KiB"), ("at_least", "0s")];

/// Also with rows of another width, and with a limit that is 10 % higher: truth and measurement move together, and what
/// is measured on other hardware than the truth was computed for is told apart from it.
#[test]
fn rates_are_those_of_the_limits_at_two_widths_and_move_with_them() {
    for row in ["410", "900"] {
        for (test, set, limit, raised) in [
            ("read-scan", SCAN.as_slice(), "data_io", s2(11_000, 800)),
            ("write-chunk", CHUNKS.as_slice(), "log_write", s2(10_000, 880)),
        ] {
            let set: Vec<_> = set.iter().copied().chain([("row", row)]).collect();
            let (value, truth) = hold(&s2(10_000, 800), test, &set, limit, 1.0);
            let (more, true_more) = hold(&raised, test, &set, limit, 1.0);
            for factor in [more / value, true_more / truth] {
                assert!((1.09..1.11).contains(&factor), "{factor} for {test} with rows of {row}");
            }
            assert!(100.0 * (more / truth - 1.0) > 5.0, "a governor that lets 10 % more through goes unnoticed");
        }
    }
}

#[test]
fn a_scan_that_the_cpu_holds_back_says_so() {
    let slow = "memory = \"16MiB\"\n[cpu]\nstep_time = \"2us\"\npage_time = \"400us\"\n\
                [data]\nbandwidth = \"30MiB/s\"\nread_latency = \"2ms\"\n";
    hold(slow, "read-scan", &SCAN, "cpu", 0.5);
}

#[test]
fn inner_pages_far_ahead_are_waited_for_in_the_truth_too() {
    // One large table: most of its inner pages lie further ahead than is read.
    let hardware = "[data]\nbandwidth = \"20MiB/s\"\nread_latency = \"10ms\"\n";
    hold(hardware, "read-scan", &[("volume", "24MiB"), ("tables", "1")], "data_io", 0.1);
}

#[test]
fn a_window_covers_only_so_much_latency() {
    let hardware = "[data]\nbandwidth = \"200MiB/s\"\nread_latency = \"20ms\"\n";
    hold(hardware, "read-scan", &SCAN, "latency", 1.0);
}

#[test]
fn operations_a_second_hold_a_scan_back() {
    hold("[data]\niops = 40\nread_latency = \"1ms\"\n", "read-scan", &SCAN, "data_iops", 1.0);
}

#[test]
fn checkpoints_hold_chunks_back_where_data_is_as_slow_as_log() {
    let hardware = "memory = \"64MiB\"\n[data]\nbandwidth = \"1MiB/s\"\n[log]\nwrite_bandwidth = \"2MiB/s\"\n";
    let set: Vec<_> = CHUNKS.iter().copied().chain([("volume", "48MiB")]).collect();
    let (value, truth) = both(&on_hardware(hardware, "write-chunk", &set));
    assert_eq!(truth.limit.as_deref(), Some("data_io"), "{truth:?}");
    assert!((value / truth.value - 1.0).abs() < 0.1, "{value} {truth:?}");
}

/// A level of the catalogue: rates at its scale, the join by its DTU, and its memory at full size.
#[test]
fn a_level_shows_what_was_published() {
    let level = "lab:azure-sql-db/S2@v12-ga-2015-01?seed=1";
    let open = |clock| LabDatabase::open(level, clock).unwrap();
    let (value, truth) = both(&run(open, "read-scan", 1, &[]));
    assert!((value / truth.value - 1.0).abs() < 0.01, "{value} {truth:?}");
    assert_eq!((truth.limit.as_deref(), truth.published), (Some("data_io"), true));
    let (value, truth) = both(&run(open, "cpu-join", 1, &[("stop_after", "1s"), ("rows", "2000")]));
    assert!((value / truth.value - 1.0).abs() < 0.005, "{value} {truth:?}");
    assert_eq!((truth.basis.as_str(), truth.published), ("printed", true));
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::new());
    let _on_clock = enter(&clock, "test");
    let lab = open(Arc::clone(&clock));
    let memory = lab.expect(Work::Memory).unwrap().unwrap();
    let published = lab.level().published.as_ref().unwrap().memory_mb.value;
    assert!((memory.value / published - 1.0).abs() < 1e-6, "{memory:?} {published}");
}
