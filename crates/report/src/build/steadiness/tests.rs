//! Series of the seeds' kind: flips between 200 and 500 MB a minute, a drift, a warm-up, a step, and what has no series.

use std::collections::BTreeMap;

use plimsoll_measurement::units::MB;
use plimsoll_measurement::{
    Basis, Ceiling, Definition, Host, Metric, Metrics, Phase, Point, Repetition, RunRecord, Seconds, Subject, Verdict,
};

use super::*;
use crate::build::cells::tests::cell;

fn record(repetitions: Vec<Repetition>) -> RunRecord {
    RunRecord {
        schema_version: "2.0".into(),
        subject: Subject::Database,
        basis: Basis::Measured,
        run_id: "0195".into(),
        test: "t".into(),
        target: "lab:x".into(),
        engine: "lab".into(),
        engine_version: None,
        clock: "virtual".into(),
        started_at: String::new(),
        ended_at: None,
        virtual_seconds: None,
        campaign: None,
        label: None,
        parameters: BTreeMap::new(),
        definition: Definition { hash: String::new(), text: String::new() },
        target_fingerprint: None,
        environment: BTreeMap::new(),
        catalog_edition: None,
        catalog_edition_date: None,
        build: String::new(),
        ceilings: Vec::new(),
        repetitions,
        result: None,
        results: Vec::new(),
        absent: Vec::new(),
        cpu_table: None,
        expected: None,
        verdict: Verdict::default(),
        warnings: Vec::new(),
        error: None,
        left_behind: None,
        host: Host::default(),
    }
}

/// Between -1 and 1.
fn noise(at: usize) -> f64 {
    f64::from((at as u32 + 1).wrapping_mul(2_654_435_761) >> 16) / 32_768.0 - 1.0
}

/// Chunks of 100 MB at these rates, one after the other.
fn chunks(rates: impl IntoIterator<Item = f64>) -> Repetition {
    let mut now = 0.0;
    let points = rates.into_iter().enumerate().map(|(index, rate)| {
        let seconds = 6000.0 / rate;
        now += seconds;
        Point { index: index as u32, started_seconds: now - seconds, seconds, ..Point::default() }
            .with(Metric::ContentBytes, 100 * MB)
            .with(Metric::MbPerMinute, rate)
    });
    Repetition { label: "a".into(), complete: true, points: points.collect(), ..Repetition::default() }
}

fn pattern(found: &Steadiness) -> &'static str {
    found.found.pattern.name()
}

fn only(repetition: Repetition) -> Steadiness {
    let mut all = steadiness(&record(vec![repetition]));
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[test]
fn flips_have_levels_shares_of_the_time_and_stays() {
    // Twelve chunks at 500 take as long as five at 200 nearly: shares are of the time, not of the points.
    let rate = |at: usize| if at % 20 < 12 { 500.0 } else { 200.0 };
    let found = only(chunks((0..80).map(|at| rate(at) * (1.0 + 0.02 * noise(at)))));
    assert_eq!((pattern(&found), found.steady_seconds(), found.steady_mean()), ("two-level", None, None));
    let [low, high] = &found.levels()[..] else { panic!("{found:?}") };
    assert!((low.value / 200.0 - 1.0).abs() < 0.02 && (high.value / 500.0 - 1.0).abs() < 0.02, "{found:?}");
    // 32 chunks of 30 s against 48 of 12 s.
    assert!((low.share_percent - 62.5).abs() < 1.0 && (low.share_percent + high.share_percent - 100.0).abs() < 1e-6);
    assert_eq!((low.dwell_seconds.len(), high.dwell_seconds.len()), (4, 4));
    assert!((low.dwell_seconds[0] - 240.0).abs() < 8.0 && (high.dwell_seconds[1] - 144.0).abs() < 5.0, "{found:?}");
    let text = sentences::of(&found).join(" ");
    assert!(text.contains("flips between") && text.contains("7 flips") && text.contains("never"), "{text}");
}

#[test]
fn a_drift_is_so_much_a_minute() {
    // 60 chunks of about 12 s each, 0.2 % slower each: about 1 % a minute.
    let found = only(chunks((0..60).map(|at| 500.0 * (1.0 - 0.002 * at as f64) * (1.0 + 0.005 * noise(at)))));
    let [percent, low, high] = found.drift().expect("a drift");
    assert_eq!((pattern(&found), found.steady_seconds()), ("drift", None));
    assert!(percent < -0.9 && percent > -1.1, "{percent}");
    assert!(low < percent && percent < high);
    assert_eq!(
        unsteady(std::slice::from_ref(&found)),
        ["1 of 1 repetition never reached a steady state: it drifts to its end"]
    );
    let said = sentences::of(&found);
    assert!(said[0].starts_with("Repetition a falls all the time, by -"), "{said:?}");
}

#[test]
fn a_change_is_dated_and_what_comes_after_is_steady() {
    let found = only(chunks((0..60).map(|at| (if at < 30 { 300.0 } else { 600.0 }) * (1.0 + 0.01 * noise(at)))));
    assert_eq!(pattern(&found), "step");
    let changed = found.changes_seconds()[0];
    assert!((changed - 600.0).abs() < 25.0, "{found:?}");
    assert!((found.levels()[0].share_percent - 66.7).abs() < 3.0, "{found:?}");
    let (from, to) = found.steady_seconds().expect("a steady part");
    assert!((from - changed).abs() < 1e-9 && (to - found.span().1).abs() < 1e-9);
    assert!((found.steady_mean().unwrap().mean / 600.0 - 1.0).abs() < 0.01);
    let said = &sentences::of(&found)[0];
    assert!(said.contains("from 300 to ") && said.contains(" after "), "{said}");
}

/// Requests a second at these rates, in phases.
fn seconds(operations: Vec<u64>, phases: Vec<Phase>) -> Repetition {
    let seconds = Seconds {
        latency_us_p50: operations.iter().map(|count| (*count > 0).then(|| 1e6 / *count as f64)).collect(),
        content_bytes: operations.iter().map(|count| count * 1000).collect(),
        operations,
        ..Seconds::default()
    };
    Repetition { label: "b".into(), complete: true, seconds, phases, ..Repetition::default() }
}

fn phase(label: &str, started_seconds: f64, seconds: f64) -> Phase {
    Phase { label: label.into(), started_seconds, seconds, ..Phase::default() }
}

#[test]
fn a_warm_up_lasts_until_the_level_is_reached() {
    let rate = |at: usize| 2000.0 * (1.0 - 0.5 * (-(at as f64) / 12.0).exp()) * (1.0 + 0.01 * noise(at));
    let found = only(seconds((0..200).map(|at| rate(at) as u64).collect(), vec![phase("all", 0.0, 200.0)]));
    assert_eq!((pattern(&found), found.series.phase.as_deref()), ("warm-up", None));
    assert_eq!((found.series.unit, found.points()), ("1/s", 199));
    let warm_up = found.warm_up_seconds().expect("a warm-up");
    assert!((25.0..75.0).contains(&warm_up), "{warm_up}");
    assert!(found.steady_seconds().is_some_and(|(from, _)| from >= warm_up));
}

#[test]
fn phases_are_judged_by_themselves_and_asked_rates_by_their_response_times() {
    let counts = (0..121).map(|at| ((if at < 60 { 400.0 } else { 800.0 }) * (1.0 + 0.03 * noise(at))) as u64).collect();
    let asked = |phase: Phase| Phase { rate_asked: Some(800.0), ..phase };
    let phases = vec![phase("1 session", 0.0, 60.0), asked(phase("800/s", 60.0, 60.0))];
    let all = steadiness(&record(vec![seconds(counts, phases)]));
    let seen: Vec<_> =
        all.iter().map(|one| (one.series.phase.as_deref().unwrap(), one.series.metric, pattern(one))).collect();
    assert_eq!(seen, [("1 session", "request_rate", "none"), ("800/s", "latency_p50", "none")]);
    assert!(all[1].span() == (60.0, 120.0));
}

#[test]
fn rare_requests_are_counted_over_several_seconds() {
    let every_other = |length: u64| (0..length).map(|at| at % 2).collect();
    // Half a request a second: twenty seconds at a time.
    let found = only(seconds(every_other(601), Vec::new()));
    assert_eq!((found.points(), pattern(&found), found.levels()[0].value), (30, "none", 0.5));
    assert_eq!(steadiness(&record(vec![seconds(every_other(121), Vec::new())])), [], "six values are too few");
}

#[test]
fn what_is_no_series_is_not_judged() {
    let few = chunks(vec![100.0; 11]);
    let mut rungs = chunks(vec![100.0; 20]);
    for point in &mut rungs.points {
        point.metrics = Metrics::default();
    }
    let mut broken = chunks(vec![f64::NAN; 20]);
    broken.points.iter_mut().for_each(|point| point.seconds = f64::INFINITY);
    let silent = seconds(vec![0; 60], vec![phase("all", 0.0, 60.0)]);
    let outside = seconds(vec![100; 60], vec![phase("all", 100.0, 60.0), phase("none", 5.0, f64::NAN)]);
    let nothing = Repetition::default();
    assert_eq!(steadiness(&record(vec![few, rungs, broken, silent, outside, nothing])), []);
}

#[test]
fn sessions_that_read_at_once_are_judged_by_the_minute() {
    let mut at_once = chunks((0..40).map(|at| 100.0 + noise(at)));
    at_once.points.iter_mut().for_each(|point| point.started_seconds = 0.0);
    assert_eq!(steadiness(&record(vec![at_once.clone()])), []);
    let minute = |minute: u32| plimsoll_measurement::Minute {
        minute,
        seconds: 60.0,
        content_bytes: 400 * MB,
        mb_per_minute: 400.0 + noise(minute as usize),
    };
    at_once.minutes = (0..20).map(minute).collect();
    let found = only(at_once);
    assert_eq!((found.points(), pattern(&found)), (20, "none"));
}

/// A repetition whose disk makes so many a second for so many seconds each, one level after the other.
fn levels(levels: &[(f64, usize)]) -> Repetition {
    let rate = |at: usize, level: f64| (level * (1.0 + 0.002 * noise(at))).round() as u64;
    let rates = levels.iter().flat_map(|(level, length)| std::iter::repeat_n(*level, *length));
    let operations: Vec<u64> = rates.enumerate().map(|(at, level)| rate(at, level)).collect();
    let length = operations.len() as f64;
    let point = Point { cell: Some(cell("OR", 1)), seconds: length, ..Point::default() };
    let point = point.with(Metric::Iops, 100.0).with(Metric::BytesPerS, 100.0 * 8192.0);
    Repetition { points: vec![point], ..seconds(operations, vec![phase("OR", 0.0, length)]) }
}

fn said_of(repetitions: Vec<Repetition>, bought: &[(&str, f64)]) -> Vec<String> {
    let ceiling =
        |(resource, value): &(&str, f64)| Ceiling { resource: (*resource).into(), value: *value, ..Ceiling::default() };
    let record = RunRecord { ceilings: bought.iter().map(ceiling).collect(), ..record(repetitions) };
    bursts(&record, &steadiness(&record))
}

#[test]
fn a_burst_that_ends_at_what_was_bought_is_named_however_small_it_is() {
    let small = || vec![levels(&[(600.0, 60), (500.0, 60)])];
    assert_eq!(said_of(small(), &[]), [] as [&str; 0], "a shared disk changes by as much");
    assert_eq!(said_of(small(), &[("data_iops", 450.0)]), [] as [&str; 0]);
    let said = said_of(small(), &[("data_iops", 500.0)]);
    let [only] = &said[..] else { panic!("{said:?}") };
    assert!(
        only.starts_with("Repetition b made 600 IOPS for 60.0 s, then 500 IOPS for the other 59.0 s: this"),
        "{only}"
    );
    // By bytes as well: 500 of 8 KiB are 3.90625 MB/s.
    assert_eq!(said_of(small(), &[("data_bandwidth", 3.906)]).len(), 1);
    assert_eq!(said_of(vec![levels(&[(510.0, 60), (500.0, 60)])], &[("data_iops", 500.0)]), [] as [&str; 0]);
    // Of what ran beside another nobody knows how much of the limit was left to it.
    let mut shared = levels(&[(600.0, 60), (500.0, 60)]);
    shared.points.push(Point { index: 1, ..shared.points[0].clone() });
    assert_eq!(said_of(vec![shared], &[("data_iops", 500.0)]), [] as [&str; 0]);
    assert_eq!(said_of(vec![levels(&[(3000.0, 60), (300.0, 60)])], &[]).len(), 1, "and so is one that ends far below");
}

/// Somebody else may have begun to work with a disk in real time.
#[test]
fn a_fall_of_a_real_disk_may_be_other_work_unless_it_ends_at_what_was_bought() {
    let on = |clock: &str, bought: Option<f64>| {
        let ceiling = |value| Ceiling { resource: "data_iops".into(), value, ..Ceiling::default() };
        let fallen = vec![levels(&[(28_585.0, 60), (3_999.0, 60)])];
        let record = RunRecord {
            clock: clock.to_owned(),
            ceilings: bought.map(ceiling).into_iter().collect(),
            ..record(fallen)
        };
        bursts(&record, &steadiness(&record)).remove(0)
    };
    assert!(on("real", None).ends_with("so does other work that began on the disk: a second run tells."));
    for sure in [on("virtual", None), on("real", Some(4_000.0))] {
        assert!(sure.ends_with("this is how a burst ends, and the second is the base rate."), "{sure}");
    }
}

#[test]
fn of_several_falls_the_greatest_ends_the_burst() {
    let said = said_of(vec![levels(&[(10_600.0, 60), (9_900.0, 30), (1_200.0, 60)])], &[]);
    let [only] = &said[..] else { panic!("{said:?}") };
    // Each level before it counts for as long as it lasted.
    assert!(only.contains("made 10,367 IOPS for 90.0 s, then 1,200 IOPS for the other 59.0 s: this"), "{only}");
    let up_and_down = vec![levels(&[(3000.0, 60), (300.0, 60), (3000.0, 60)])];
    assert_eq!(said_of(up_and_down, &[]), [] as [&str; 0]);
}

#[test]
fn of_many_bursts_the_first_are_named_and_the_others_counted() {
    let said = said_of((0..6).map(|_| levels(&[(3000.0, 60), (300.0, 60)])).collect(), &[]);
    assert_eq!((said.len(), said.last().map(String::as_str)), (5, Some("2 more of these series fell so.")));
}
