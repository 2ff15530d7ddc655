//! Tests of single series that are easy to judge by eye; how often the judgement errs is measured by the experiments.

use proptest::prelude::*;

use super::*;

/// Sixty points around 100 without trend or correlation, by less than one.
fn calm(points: usize) -> Vec<f64> {
    (0..points).map(|index| 100.0 + (index * 37 % 19) as f64 / 19.0 + (index * 11 % 7) as f64 / 14.0).collect()
}

fn judged(values: &[f64]) -> Segments {
    segments(values, Terms::default()).unwrap()
}

#[test]
fn a_calm_series_is_steady() {
    let found = judged(&calm(60));
    assert_eq!((found.pattern, found.steady), (Pattern::None, Steady::Reached { from: 0, to: 60 }));
    assert_eq!(judged(&[7.0; 20]).pattern, Pattern::None);
}

#[test]
fn a_spike_is_no_change() {
    let mut values = calm(60);
    values[30] = 10.0;
    let found = judged(&values);
    assert_eq!((found.pattern, found.outliers), (Pattern::OutliersOnly, vec![30]));
    assert_eq!(found.steady, Steady::Reached { from: 0, to: 60 });
}

#[test]
fn a_step_is_where_it_is() {
    let mut values = calm(60);
    for value in &mut values[20..] {
        *value *= 0.9;
    }
    let found = judged(&values);
    let Pattern::Step(changes) = &found.pattern else { panic!("{found:?}") };
    assert_eq!((changes.len(), changes[0].index), (1, 20));
    assert!((changes[0].after / changes[0].before - 0.9).abs() < 0.005, "{changes:?}");
    assert!(changes[0].low < -10.0 && changes[0].high > -10.2 && changes[0].high < -9.0, "{changes:?}");
    assert_eq!(found.steady, Steady::Reached { from: 20, to: 60 });
    values.reverse();
    assert_eq!(judged(&values).steady, Steady::Reached { from: 40, to: 60 });
    assert_eq!(judged(&values[..55]).steady, Steady::Never(Unsteady::ChangesLate));
}

#[test]
fn steps_of_a_series_without_noise_are_found_exactly() {
    let starts = |second: f64| {
        let values = [vec![5.0; 30], vec![second; 30], vec![4.0; 40]].concat();
        let Pattern::Step(changes) = judged(&values).pattern else { panic!() };
        changes.iter().map(|change| change.index).collect::<Vec<_>>()
    };
    assert_eq!(starts(5.1), [30, 60]);
    // One in five thousand is as certain here, and matters to nobody.
    assert_eq!(starts(5.001), [60]);
    let settles = |from: f64| -> Vec<f64> {
        (0..100).map(|at| 8_000.0 + (from - 8_000.0) * (-f64::from(at) / 10.0).exp()).collect()
    };
    assert!(matches!(judged(&settles(7_950.0)).pattern, Pattern::None | Pattern::OutliersOnly));
    let found = judged(&settles(7_000.0)).pattern;
    assert!(matches!(&found, Pattern::WarmUp(warm_up) if warm_up.from < 7_200.0), "{found:?}");
}

#[test]
fn a_long_series_is_cut_to_the_point() {
    let mut values = calm(3600);
    for value in &mut values[1234..] {
        *value += 5.0;
    }
    let Pattern::Step(changes) = judged(&values).pattern else { panic!() };
    assert_eq!(changes.iter().map(|change| change.index).collect::<Vec<_>>(), [1234]);
}

#[test]
fn a_slope_is_a_drift_and_a_small_one_is_steady() {
    let slope =
        |by: f64| calm(60).iter().enumerate().map(|(index, value)| value + by * index as f64).collect::<Vec<_>>();
    let found = judged(&slope(-0.1));
    let Pattern::Drift(drift) = found.pattern else { panic!("{found:?}") };
    assert!(drift.low < -0.1 && drift.high > -0.1 && drift.high < 0.0, "{drift:?}");
    assert_eq!(found.steady, Steady::Never(Unsteady::Drifts));
    let small = segments(&slope(0.03), Terms { tolerance: 0.03, ..Terms::default() }).unwrap();
    assert!(matches!(small.pattern, Pattern::Drift(_)), "{small:?}");
    assert_eq!(small.steady, Steady::Reached { from: 0, to: 60 });
}

#[test]
fn a_warm_up_settles() {
    let warm = |points: usize, speed: f64| {
        let values = calm(points).into_iter().enumerate();
        values.map(|(index, value)| value - 40.0 * (-(index as f64) / speed).exp()).collect::<Vec<_>>()
    };
    let found = judged(&warm(120, 8.0));
    let Pattern::WarmUp(warm_up) = found.pattern else { panic!("{found:?}") };
    assert!((warm_up.level - 100.7).abs() < 0.5 && (warm_up.points - 8.0).abs() < 2.0, "{warm_up:?}");
    // 40 exp(-t / 8) is lost in noise of about a third after 40 points or so.
    assert!((25..60).contains(&warm_up.settled), "{warm_up:?}");
    assert_eq!(found.steady, Steady::Reached { from: warm_up.settled, to: 120 });
    assert_eq!(judged(&warm(120, 28.0)).steady, Steady::Never(Unsteady::SettlesLate));
}

#[test]
fn flips_are_two_levels() {
    let mut values = calm(60);
    for at in [(10..18), (30..36), (50..60)].into_iter().flatten() {
        values[at] += 300.0;
    }
    let found = judged(&values);
    let Pattern::TwoLevel(levels) = &found.pattern else { panic!("{found:?}") };
    assert_eq!(levels.high.dwells, [8, 6, 10]);
    assert_eq!(levels.low.dwells, [10, 12, 14]);
    assert!((levels.low.share - 0.6).abs() < 1e-12 && (levels.high.mean / 400.7 - 1.0).abs() < 0.01);
    assert_eq!(found.steady, Steady::Never(Unsteady::Flips));
    assert_eq!((found.pattern.name(), Unsteady::Flips.reason()), ("two-level", "it flips between two levels"));
}

#[test]
fn what_has_no_information_is_not_judged() {
    assert_eq!(segments(&calm(11), Terms::default()), None);
    assert_eq!(segments(&[f64::NAN; 60], Terms::default()), None);
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 48, ..crate::fixed_cases() })]

    #[test]
    fn the_unit_does_not_matter(values in prop::collection::vec(1.0_f64..2.0, 12..80), step in 0.0_f64..3.0, unit in 1e-3_f64..1e3) {
        let half = values.len() / 2;
        let stepped: Vec<f64> = values.iter().enumerate().map(|(i, v)| if i < half { *v } else { v + step }).collect();
        let scaled: Vec<f64> = stepped.iter().map(|value| value * unit).collect();
        let (one, other) = (judged(&stepped), judged(&scaled));
        prop_assert_eq!(one.pattern.name(), other.pattern.name());
        prop_assert_eq!(one.steady, other.steady);
    }
}
