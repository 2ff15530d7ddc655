//! Tests of the CPU ladder against the fixtures of the reference (3.7, 3.11-5) and by hand.

use plimsoll_measurement::Metric;

use super::*;

/// Times of S2 in the reference; 50 DTU by definition.
const S2: [(u64, f64); 3] = [(5000, 22.0), (7500, 49.0), (10_000, 86.0)];

fn timing(join_rows: u64, sessions: u32, seconds: f64) -> Point {
    Point { seconds, ..Point::default() }
        .with(Metric::JoinRows, join_rows)
        .with(Metric::Sessions, u64::from(sessions))
        .with(Metric::Matches, join_rows / 100)
        .with(Metric::CpuPercent, 99.0)
}

fn repetition(points: Vec<Point>) -> Repetition {
    Repetition { label: "a".into(), complete: true, points, ..Repetition::default() }
}

fn run(times: &[(u64, u32, f64)]) -> Vec<Repetition> {
    vec![repetition(times.iter().map(|(rows, sessions, seconds)| timing(*rows, *sessions, *seconds)).collect())]
}

fn near(value: Option<f64>, expected: f64, tolerance: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() <= tolerance)
}

fn s2_fit() -> Anchor {
    Anchor { name: "S2 fit".into(), dtu: 50.0, times: AnchorTimes::Square(fit_square(&S2).unwrap()) }
}

#[test]
fn the_square_fits_the_reference_times() {
    assert!(near(fit_square(&S2).map(|c| c * 1e7), 8.70, 0.005));
    for (point, expected) in S2.iter().zip([8.80, 8.71, 8.60]) {
        assert!(near(fit_square(&[*point]).map(|c| c * 1e7), expected, 0.005), "{point:?}");
    }
    assert_eq!(fit_square(&[]), None);
    assert_eq!(fit_square(&[(0, 1.0)]), None);
    assert_eq!(fit_square(&[(1000, 1.0), (2000, 0.0)]), None);
}

#[test]
fn dtu_multiples_of_the_reference() {
    for (rows, seconds, dtu, tolerance) in
        [(3000, 34.0, 11.5, 0.05), (7500, 24.0, 102.0, 0.5), (15_000, 64.0, 153.0, 0.5), (17_500, 66.0, 202.0, 0.5)]
    {
        let table = cpu_table(&run(&[(rows, 4, seconds)]), None, Some(&s2_fit()));
        assert!(near(table.rows[0].dtu_multiple, dtu, tolerance), "{table:?}");
        assert_eq!((table.anchor.as_deref(), table.anchor_dtu), (Some("S2 fit"), Some(50.0)));
        assert_eq!((table.reference_run, table.rows[0].reference_multiple), (None, None));
    }
}

/// The reference machine: 4.9 s at 7,500 rows are its 500 DTU, ten times S2 and about five times S3 (reference 3.7).
#[test]
fn the_reference_machine_has_its_dtu() {
    let machine = run(&[(7500, 8, 4.9)]);
    let table = cpu_table(&machine, None, Some(&s2_fit()));
    assert!(near(table.rows[0].dtu_multiple, 500.0, 2.0), "{table:?}");
    let s3 = cpu_table(&run(&[(7500, 4, 24.0)]), Some(("i7", &machine)), None);
    assert!(near(s3.rows[0].reference_multiple, 0.2, 0.01), "{s3:?}");
}

#[test]
fn a_measured_anchor_serves_the_rungs_it_has() {
    let s2 = run(&S2.map(|(rows, seconds)| (rows, 2, seconds)));
    let anchor = Anchor { name: "run-s2".into(), dtu: 50.0, times: AnchorTimes::Measured(s2.clone()) };
    let table = cpu_table(&run(&[(7500, 4, 24.0), (12_500, 4, 67.0)]), None, Some(&anchor));
    assert!(near(table.rows[0].dtu_multiple, 50.0 * 49.0 / 24.0, 1e-9), "{table:?}");
    assert_eq!(table.rows[1].dtu_multiple, None);
    // Anchored to itself, a run has the anchor's DTU.
    let itself = cpu_table(&s2, None, Some(&anchor));
    assert!(itself.rows.iter().all(|row| near(row.dtu_multiple, 50.0, 1e-9)), "{itself:?}");
}

#[test]
fn the_flat_step_of_p2_is_a_change_of_plan() {
    let table = cpu_table(&run(&[(15_000, 4, 64.0), (17_500, 4, 66.0)]), None, None);
    assert_eq!((table.rows[0].growth_exponent, table.rows[0].flags.len()), (None, 0));
    assert!(near(table.rows[1].growth_exponent, 0.20, 0.005), "{table:?}");
    assert_eq!(table.rows[1].flags, ["plan-change"]);
    let steady = cpu_table(&run(&S2.map(|(rows, seconds)| (rows, 2, seconds))), None, None);
    assert!(steady.rows.iter().all(|row| row.flags.is_empty()), "{steady:?}");
}

#[test]
fn short_rungs_and_idle_cpus_are_flagged() {
    let mut own = run(&[(1000, 1, 0.5), (2000, 1, 0.6), (3000, 1, 0.7), (4000, 1, 1.3)]);
    own[0].points[3].metrics.set(Metric::CpuPercent, 70.0);
    let table = cpu_table(&own, None, None);
    let flags: Vec<_> = table.rows.iter().map(|row| row.flags.join(" ")).collect();
    assert_eq!(flags, ["short", "short", "", "low-cpu"]);
    assert_eq!(table.rows[3].cpu_percent, Some(70.0));
}

#[test]
fn timings_of_all_repetitions_make_one_row() {
    let mut repetitions = [10.0, 16.0, 11.0].map(|seconds| repetition(vec![timing(5000, 4, seconds)]));
    repetitions[1].points[0].metrics.set(Metric::CpuPercent, 60.0);
    let table = cpu_table(&repetitions, None, None);
    assert_eq!(table.rows.len(), 1);
    let row = &table.rows[0];
    assert_eq!((row.join_rows, row.sessions, row.timings, row.matches), (5000, 4, 3, 50));
    assert_eq!((row.seconds, row.seconds_range), (11.0, Some((10.0, 16.0))));
    assert_eq!((row.cpu_percent, row.flags.len()), (Some(99.0), 0));
    assert!(near(Some(row.seconds_mean), 37.0 / 3.0, 1e-9), "{row:?}");
    assert_eq!(cpu_table(&repetitions[..1], None, None).rows[0].seconds_range, None, "of one timing");
}

#[test]
fn the_growth_of_a_rung_is_that_of_its_own_sessions() {
    let own = run(&[(4000, 1, 10.0), (4000, 8, 2.0), (5000, 8, 3.125), (8000, 1, 40.0), (8000, 8, 8.0)]);
    let table = cpu_table(&own, None, None);
    let exponents: Vec<_> = table.rows.iter().map(|row| (row.sessions, row.growth_exponent)).collect();
    assert_eq!((exponents[0], exponents[1]), ((1, None), (8, None)));
    assert!(exponents[2..].iter().all(|(_, exponent)| near(*exponent, 2.0, 1e-9)), "{exponents:?}");
}

#[test]
fn wrong_matches_are_noticed_across_repetitions_and_sessions() {
    let mut own = run(&[(3000, 1, 4.0), (3000, 4, 1.0), (4000, 4, 1.8)]);
    own[0].points[1].metrics.set(Metric::Matches, 29);
    let table = cpu_table(&own, None, None);
    assert_eq!(table.rows[0].flags, ["match-count-differs"]);
    assert_eq!(table.rows[1].flags, ["match-count-differs"]);
    assert!(table.rows[2].flags.is_empty(), "{table:?}");
    own[0].points[2].metrics.set(Metric::Matches, None::<f64>);
    assert_eq!(cpu_table(&own, None, None).rows[2].flags, ["match-count-unknown"]);
}

#[test]
fn whole_machines_and_single_sessions_are_compared_with_their_like() {
    let reference = run(&[(7500, 1, 20.0), (7500, 2, 11.0), (7500, 8, 4.9)]);
    let own = run(&[(7500, 1, 40.0), (7500, 2, 30.0), (7500, 4, 24.5), (10_000, 4, 43.0)]);
    let table = cpu_table(&own, Some(("run-i7", &reference)), Some(&s2_fit()));
    assert_eq!(table.reference_run.as_deref(), Some("run-i7"));
    let multiples: Vec<_> = table.rows.iter().map(|row| row.reference_multiple).collect();
    assert!(near(multiples[0], 0.5, 1e-9) && near(multiples[2], 0.2, 1e-9), "{multiples:?}");
    assert_eq!((multiples[1], multiples[3]), (None, None));
    let whole: Vec<_> = table.rows.iter().map(|row| row.dtu_multiple.is_some()).collect();
    assert_eq!(whole, [false, false, true, true]);
}

#[test]
fn points_that_are_no_rungs_are_passed_over() {
    let other = Point { seconds: 3.0, ..Point::default() };
    let own = [repetition(vec![other, timing(3000, 1, 0.0), timing(3000, 1, f64::NAN)])];
    assert_eq!(cpu_table(&own, None, None), CpuTable::default());
}
