//! Runs all experiments with a known truth and writes their results as Markdown, as they stand in docs/STATISTICS.md:
//! `cargo run --release -p plimsoll-analysis --example experiments [developing|held-out]`.

#[path = "../tests/experiments/mod.rs"]
mod experiments;

use std::io::Write as _;

use experiments::{DEVELOPING, histories, means, patterns, ratios, table};

/// The seed that was left alone until the methods were done; chosen before the first run like the other one.
const HELD_OUT: u64 = 20_260_301;

/// Cases of the bars on ratios.
const RATIOS: usize = 2000;

/// Cases of everything else that isn't given by the 500 series.
const CASES: usize = 500;

fn main() -> std::io::Result<()> {
    let seeds = match std::env::args().nth(1).as_deref() {
        Some("developing") => vec![("developing", DEVELOPING)],
        Some("held-out") => vec![("held out", HELD_OUT)],
        _ => vec![("developing", DEVELOPING), ("held out", HELD_OUT)],
    };
    let mut out = std::io::stdout().lock();
    for (name, seed) in seeds {
        write!(out, "## Seed {seed} ({name})\n\n### Patterns of 500 series\n\n{}", series(seed))?;
        write!(out, "\n### Means of series\n\n{}", of_means(seed))?;
        write!(out, "\n### Ratios of repetitions\n\n{}", of_ratios(seed))?;
        write!(out, "\n### Histories of runs\n\n{}\n", of_histories(seed))?;
    }
    Ok(())
}

fn series(seed: u64) -> String {
    let steps = patterns::three_percent_steps(seed, CASES);
    let steps: Vec<Vec<String>> = steps
        .iter()
        .map(|(coefficient, count, others)| vec![coefficient.to_string(), count.cell(), others.clone()])
        .collect();
    let alarms = patterns::alarms_in_noise(seed, &[20, 60, 120, 300, 600, 3600], CASES);
    patterns::patterns(seed, 1.0).markdown()
        + "\nSteps of 3 % in 60 points with noise of 1 % (bar: at least 95 %):\n\n"
        + &table(&["Autocorrelation", "Found", "Others called"], &steps)
        + "\nFalse alarms in noise by length and autocorrelation:\n\n"
        + &table(&["Points", "0", "0.3", "0.6", "0.9"], &alarms)
}

fn of_means(seed: u64) -> String {
    let rows = means::coverage(seed, &[20, 60, 120, 300, 600, 3600], CASES);
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|(points, counts)| {
            std::iter::once(points.to_string()).chain(counts.map(experiments::Count::cell)).collect()
        })
        .collect();
    let drifts = [(60, 0.0), (60, 0.6), (300, 0.6), (300, 0.9)].map(|(points, coefficient)| {
        let count = means::drift_coverage(seed, points, coefficient, CASES);
        vec![points.to_string(), coefficient.to_string(), count.cell()]
    });
    "95 % intervals that cover the mean, by points and autocorrelation:\n\n".to_owned()
        + &table(&["Points", "0", "0.3", "0.6", "0.9"], &rows)
        + "\n95 % intervals that cover a drift of ten standard errors, of the drifts found:\n\n"
        + &table(&["Points", "Autocorrelation", "Covered"], &drifts)
}

fn of_ratios(seed: u64) -> String {
    let mut rows = Vec::new();
    for repetitions in [3, 5, 10] {
        for (label, unequal) in [("1 to 6 times", 0.0), ("equal", 1.0), ("2 times", 2.0), ("5 times", 5.0)] {
            let coverage = ratios::coverage(seed, repetitions, unequal, RATIOS, true);
            let cells = [coverage.product, coverage.bootstrap_t, coverage.percentile].map(experiments::Count::cell);
            rows.push([vec![repetitions.to_string(), label.to_owned()], cells.to_vec()].concat());
        }
    }
    let itself = [3, 5, 10].map(|n| vec![n.to_string(), ratios::against_itself(seed, n, RATIOS).cell()]);
    let advice = [3, 5].map(|repetitions| {
        let advice = ratios::advice(seed, repetitions, RATIOS);
        let asked = format!("{:.1}", advice.mean_asked);
        vec![repetitions.to_string(), advice.given.cell(), asked, advice.decided.cell()]
    });
    let six = ratios::six_metrics(seed, 1_000);
    let family = vec![vec![format!("{} of 1,000", six.alarms), format!("{} of 1,000", six.found)]];
    "95 % intervals that cover the ratio (bar: 93 to 97 %):\n\n".to_owned()
        + &table(&["Repetitions", "Spreads differ", "Welch's t on logarithms", "Bootstrap-t", "Percentile"], &rows)
        + "\nA target against itself, called better or worse (bar: at most 6 %):\n\n"
        + &table(&["Repetitions", "Called"], &itself)
        + "\nAdvice on more repetitions:\n\n"
        + &table(&["Repetitions", "Number given", "Mean number", "Then decided"], &advice)
        + "\n`--fail-on worse` of six metrics with seven repetitions a side and 1 % noise (bars: at most 64 alarms, 950 found):\n\n"
        + &table(&["Alarms without a difference", "3 % worse, found"], &family)
}

fn of_histories(seed: u64) -> String {
    let alarms = [6, 12, 30, 60].map(|runs| vec![runs.to_string(), histories::alarms(seed, runs, RATIOS).cell()]);
    let found = [(12, 0.95), (30, 0.95), (30, 0.97), (30, 1.03), (60, 0.97)].map(|(runs, ratio)| {
        let (hits, covered) = histories::found(seed, runs, ratio, CASES);
        vec![runs.to_string(), format!("{:+.0} %", (ratio - 1.0) * 100.0), hits.cell(), covered.cell()]
    });
    "Histories without a change in which one is claimed (1 % nominal):\n\n".to_owned()
        + &table(&["Runs", "Claimed"], &alarms)
        + "\nOne change in the last third, runs that scatter by 1 %:\n\n"
        + &table(&["Runs", "Change", "Found", "Interval covers"], &found)
}
