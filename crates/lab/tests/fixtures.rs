//! What the reference derives from the imports and restores of July 2014 (3.2, 3.11-2, 3.11-3), by our own arithmetic on the
//! catalogue's figures.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use plimsoll_catalog::{Catalog, Metric};
use plimsoll_measurement::units::{self, MB};

const GB: u64 = 1024 * MB;

fn rate(level: &str, metric: Metric) -> f64 {
    let at = Catalog::builtin().unwrap().level("azure-sql-db", level, Some("v11-2014-07")).unwrap();
    at.level.figure(metric).unwrap().value.unwrap()
}

fn hours(gigabytes: f64, rate: f64) -> f64 {
    units::seconds_at((gigabytes * GB as f64) as u64, rate).unwrap() / 3600.0
}

/// To as many digits after the point as the source prints.
fn to(digits: i32, value: f64) -> f64 {
    (value * 10_f64.powi(digits)).round() / 10_f64.powi(digits)
}

#[test]
fn import_rates_by_the_second_are_those_printed_but_for_one() {
    for (level, a_minute, a_second) in [("WB", 114.0, 1.90), ("S1", 21.8, 0.36), ("P1", 54.4, 0.91)] {
        let rate = rate(level, Metric::ImportRate);
        assert!((rate - a_minute).abs() < 1e-9, "{level}");
        assert!((to(2, units::mb_per_second(rate)) - a_second).abs() < 1e-9, "{level}");
    }
    // Printed as 0.17: the MB a minute are the datum.
    assert!((to(2, units::mb_per_second(rate("Basic", Metric::ImportRate))) - 0.16).abs() < 1e-9);
    // What is moved at a rate for its time gives the rate again.
    let seconds = units::seconds_at(36 * GB, 21.8).unwrap();
    assert!((units::mb_per_minute(36 * GB, seconds).unwrap() - 21.8).abs() < 1e-9);
    assert_eq!(units::seconds_at(GB, 0.0), None);
}

#[test]
fn shares_of_web_and_business_are_those_printed() {
    let whole = rate("WB", Metric::ImportRate);
    for (level, digits, percent) in [("Basic", 1, 8.5), ("S1", 0, 19.0), ("P1", 0, 48.0)] {
        let share = 100.0 * rate(level, Metric::ImportRate) / whole;
        assert!((to(digits, share) - percent).abs() < 1e-9, "{level}: {share}");
    }
    // P1 is printed as 47 %, the share of the 54 MB/min that the source's table rounds to.
    assert!((to(0, 100.0 * 54.0 / whole) - 47.0).abs() < 1e-9);
}

#[test]
fn times_follow_from_the_rates() {
    let import = |level| rate(level, Metric::ImportRate);
    for (gigabytes, rate, digits, expected) in [
        (36.0, import("WB"), 1, 5.4),
        (36.0, import("P1"), 1, 11.3),
        (36.0, import("S1"), 1, 28.2),
        (2.0, import("Basic"), 1, 3.5),
        (36.0, rate("S1", Metric::RestoreRate), 1, 4.1),
    ] {
        let hours = hours(gigabytes, rate);
        assert!((to(digits, hours) - expected).abs() < 1e-9, "{gigabytes} GB at {rate}: {hours} h and not {expected}");
    }
    // Printed as almost seven days.
    assert!((to(1, hours(200.0, import("S1")) / 24.0) - 6.5).abs() < 1e-9);
}

/// 1.5 GB in 4 h 50 min into Standard and 1 h 05 min into Business; the size of the file cancels out.
#[test]
fn what_a_reader_saw_has_a_ratio_of_four_and_a_half() {
    let seen = |minutes: f64| units::mb_per_minute(3 << 29, 60.0 * minutes).unwrap();
    assert!((to(1, seen(65.0) / seen(290.0)) - 4.5).abs() < 1e-9);
    // By the measured rates it is 5.2.
    assert!((to(1, rate("WB", Metric::ImportRate) / rate("S1", Metric::ImportRate)) - 5.2).abs() < 1e-9);
}

/// Where the sources disagree, a lab's log has one limit, and the other figure is there to compare with: S1 loaded 19 MB/min in
/// bulk and imported 21.8.
#[test]
fn the_log_limit_of_july_2014_is_the_bulk_loads() {
    let level = Catalog::builtin().unwrap().lab_level("azure-sql-db", "S1", Some("v11-2014-07")).unwrap();
    assert!((level.write_rate.value - rate("S1", Metric::WriteRate)).abs() < 1e-9);
    assert!((rate("S1", Metric::ImportRate) / level.write_rate.value - 1.15).abs() < 0.01);
}
