//! A part of the experiments with a known truth, small enough for every build. With so few cases the bars of
//! docs/STATISTICS.md are held with some room.

#![expect(clippy::print_stdout, reason = "a bar shows its figures")]

mod experiments;

use experiments::{DEVELOPING, histories, means, patterns, ratios, table};

#[test]
fn patterns_are_told_apart() {
    let found = patterns::patterns(DEVELOPING, 0.08);
    let text = found.markdown();
    assert_eq!(found.false_alarms.of, 40, "{text}");
    assert!(found.false_alarms.percent() <= 5.5, "{text}");
    assert!(found.steps.percent() >= 85.0, "{text}");
    assert!(found.two_level.percent() >= 100.0, "{text}");
}

#[test]
fn steps_of_three_percent_are_found() {
    for (coefficient, count, others) in patterns::three_percent_steps(DEVELOPING, 40) {
        assert!(count.percent() >= 90.0, "{coefficient}: {}, {others}", count.cell());
    }
}

#[test]
fn noise_of_a_minute_raises_no_alarm() {
    let rows = patterns::alarms_in_noise(DEVELOPING, &[60], 50);
    let text = table(&["Points", "0", "0.3", "0.6", "0.9"], &rows);
    for cell in &rows[0][1..] {
        let percent: f64 = cell.split(' ').next().unwrap().parse().unwrap();
        assert!(percent <= 8.0, "{text}");
    }
}

#[test]
fn intervals_of_means_and_drifts_cover() {
    for (points, counts) in means::coverage(DEVELOPING, &[60, 300], 300) {
        for count in &counts[..3] {
            assert!((90.0..=99.0).contains(&count.percent()), "{points}: {}", count.cell());
        }
    }
    let drift = means::drift_coverage(DEVELOPING, 60, 0.3, 40);
    assert!(drift.of >= 36 && drift.percent() >= 85.0, "{}", drift.cell());
}

#[test]
fn intervals_of_ratios_cover() {
    for repetitions in [3, 5, 10] {
        let coverage = ratios::coverage(DEVELOPING, repetitions, 0.0, 400, false).product;
        assert!((92.0..=98.0).contains(&coverage.percent()), "{repetitions}: {}", coverage.cell());
        let itself = ratios::against_itself(DEVELOPING, repetitions, 400);
        assert!(itself.percent() <= 7.0, "{repetitions}: {}", itself.cell());
    }
}

/// Why there is no bootstrap in the product.
#[test]
fn percentiles_of_three_repetitions_do_not_cover() {
    let coverage = ratios::coverage(DEVELOPING, 3, 0.0, 100, true);
    assert!(coverage.percentile.percent() < 90.0, "{}", coverage.percentile.cell());
    assert!(coverage.bootstrap_t.of == 100 && coverage.product.percent() >= 91.0, "{}", coverage.product.cell());
}

#[test]
fn as_many_repetitions_as_asked_for_mostly_decide() {
    let advice = ratios::advice(DEVELOPING, 5, 300);
    assert!(advice.given.percent() >= 75.0, "{advice:?}");
    assert!(advice.decided.percent() >= 50.0 && advice.mean_asked > 5.0, "{advice:?}");
}

#[test]
fn histories_of_noise_raise_no_alarm_and_changes_are_found() {
    for runs in [6, 30] {
        let alarms = histories::alarms(DEVELOPING, runs, 300);
        assert!(alarms.percent() <= 2.5, "{runs}: {}", alarms.cell());
    }
    let (hits, covered) = histories::found(DEVELOPING, 30, 0.95, 60);
    assert!(hits.percent() >= 90.0 && covered.percent() >= 85.0, "{} {}", hits.cell(), covered.cell());
}

/// The bar of `compare --fail-on worse`: six metrics of runs with seven repetitions, which depend on each other as metrics of a run do.
#[test]
fn six_metrics_raise_few_alarms_and_find_what_got_worse() {
    let found = ratios::six_metrics(DEVELOPING, 1_000);
    println!(
        "alarms: {} of 1,000 pairs without a difference (bar 64); 3 % worse at 1 % noise: found in {} of 1,000 (bar 950)",
        found.alarms, found.found
    );
    assert!(found.alarms <= 64 && found.alarms >= 5, "{}", found.alarms);
    assert!(found.found >= 950, "{}", found.found);
}
