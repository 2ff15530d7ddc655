//! What the analysis makes of series whose pattern is known: false alarms, steps found, levels recovered.

use std::collections::BTreeMap;

use plimsoll_analysis::segments::{Pattern, Segments, Terms, segments};

use super::series::{COEFFICIENTS, KINDS, Series, Truth, noise, series, three_percent};
use super::{Count, table};

/// What came out of a set of series.
#[derive(Debug, Default)]
pub struct Patterns {
    /// How often each truth was called what.
    pub called: BTreeMap<(&'static str, &'static str), usize>,
    /// Series with changes that aren't there, of all series.
    pub false_alarms: Count,
    /// The same of those without any change (noise, with and without outliers).
    pub false_alarms_in_noise: Count,
    /// Steps that were found within a tenth of the series, and were called one step.
    pub steps: Count,
    /// The same by size in standard errors: 5 to 7, 7 to 10, 10 to 15.
    pub steps_by_size: [Count; 3],
    /// Two-level series with both levels within 2 % and shares within 5 points.
    pub two_level: Count,
    /// Largest error of a level in percent among those found.
    pub worst_level_percent: f64,
    /// The same against the mean of the points that were drawn there, which is all that a series says of its level.
    pub worst_of_points_percent: f64,
    /// Largest error of a share in points among those found.
    pub worst_share_points: f64,
}

/// Judges `share` (up to 1) of the 500 series.
pub fn patterns(seed: u64, share: f64) -> Patterns {
    let mut result = Patterns::default();
    for (kind, count) in KINDS {
        for case in 0..(count as f64 * share) as usize {
            let series = series(seed, kind, case);
            let found = segments(&series.values, Terms::default()).expect("enough points");
            result.add(&series, &found);
        }
    }
    result
}

impl Patterns {
    fn add(&mut self, series: &Series, found: &Segments) {
        *self.called.entry((series.truth.name(), found.pattern.name())).or_default() += 1;
        let alarm = is_false_alarm(&series.truth, &found.pattern);
        self.false_alarms.add(alarm);
        match &series.truth {
            Truth::None | Truth::Outliers => self.false_alarms_in_noise.add(alarm),
            Truth::Step(at, size) => {
                let hit = is_found(&found.pattern, *at, series.values.len());
                self.steps.add(hit);
                self.steps_by_size[usize::from(*size >= 7.0) + usize::from(*size >= 10.0)].add(hit);
            }
            Truth::TwoLevel(levels, drawn, low_share) => {
                let Pattern::TwoLevel(two) = &found.pattern else { return self.two_level.add(false) };
                let means = [two.low.mean, two.high.mean];
                let off = |levels: &[f64; 2]| {
                    let errors = means.iter().zip(levels).map(|(mean, level)| 100.0 * (mean / level - 1.0).abs());
                    errors.fold(0.0, f64::max)
                };
                let level_error = off(levels);
                self.worst_of_points_percent = self.worst_of_points_percent.max(off(drawn));
                let share_error = 100.0 * (two.low.share - low_share).abs();
                self.worst_level_percent = self.worst_level_percent.max(level_error);
                self.worst_share_points = self.worst_share_points.max(share_error);
                self.two_level.add(level_error <= 2.0 && share_error <= 5.0);
            }
            Truth::Drift | Truth::WarmUp => {}
        }
    }

    /// The confusion matrix and the bars, as Markdown.
    pub fn markdown(&self) -> String {
        const CALLED: [&str; 7] = ["none", "outliers-only", "undecided", "step", "drift", "two-level", "warm-up"];
        let head: Vec<&str> = std::iter::once("Truth \\ called").chain(CALLED).collect();
        let rows: Vec<Vec<String>> = KINDS
            .iter()
            .map(|(kind, _)| {
                let cell = |called: &str| match self.called.get(&(*kind, called)) {
                    Some(count) => count.to_string(),
                    None => "·".to_owned(),
                };
                std::iter::once((*kind).to_owned()).chain(CALLED.map(cell)).collect()
            })
            .collect();
        let [small, middle, large] = self.steps_by_size.map(Count::cell);
        let bars = [
            ("False alarms, all series", self.false_alarms.cell(), "at most 5 %"),
            ("False alarms, noise with and without outliers", self.false_alarms_in_noise.cell(), "at most 5 %"),
            ("Steps of 5 to 15 standard errors found", self.steps.cell(), "at least 95 %"),
            ("… of 5 to 7", small, "–"),
            ("… of 7 to 10", middle, "–"),
            ("… of 10 to 15", large, "–"),
            ("Two levels recovered", self.two_level.cell(), "all"),
            ("… largest error of a level", format!("{:.2} %", self.worst_level_percent), "2 %"),
            ("… of the mean of its points", format!("{:.2} %", self.worst_of_points_percent), "–"),
            ("… largest error of a share", format!("{:.2} points", self.worst_share_points), "5 points"),
        ];
        let bars = bars.map(|(what, result, bar)| vec![what.to_owned(), result, bar.to_owned()]);
        table(&head, &rows) + "\n" + &table(&["What", "Result", "Bar"], &bars)
    }
}

/// A claim that the series doesn't bear out: anything in noise, more than one change where there is one, changes or flips
/// where the series moves smoothly, one pattern for another.
fn is_false_alarm(truth: &Truth, called: &Pattern) -> bool {
    match (truth, called) {
        (_, Pattern::None | Pattern::OutliersOnly | Pattern::Undecided) => false,
        (Truth::Step(..), Pattern::Step(changes)) => changes.len() > 1,
        (truth, called) => truth.name() != called.name(),
    }
}

fn is_found(called: &Pattern, at: usize, points: usize) -> bool {
    matches!(called, Pattern::Step(changes) if changes.len() == 1 && changes[0].index.abs_diff(at) * 10 <= points)
}

/// Steps of 3 % in 60 points with noise of 1 %, by coefficient: found, and what the others were called.
pub fn three_percent_steps(seed: u64, cases: usize) -> Vec<(f64, Count, String)> {
    let tried = |coefficient: f64| {
        let (mut count, mut others) = (Count::default(), BTreeMap::<&str, usize>::new());
        for case in 0..cases {
            let (values, at) = three_percent(seed, coefficient, case);
            let found = segments(&values, Terms::default()).expect("enough points");
            let hit = is_found(&found.pattern, at, values.len());
            count.add(hit);
            if !hit {
                *others.entry(found.pattern.name()).or_default() += 1;
            }
        }
        let others: Vec<String> = others.iter().map(|(name, count)| format!("{name} {count}")).collect();
        (coefficient, count, others.join(", "))
    };
    [0.0, 0.3, 0.6].map(tried).to_vec()
}

/// False alarms in noise by length and coefficient, as Markdown.
pub fn alarms_in_noise(seed: u64, lengths: &[usize], cases: usize) -> Vec<Vec<String>> {
    let row = |points: &usize| {
        let cell = |coefficient: f64| {
            let alarm = |case: usize| {
                let found =
                    segments(&noise(seed, *points, coefficient, case), Terms::default()).expect("enough points");
                is_false_alarm(&Truth::None, &found.pattern)
            };
            // Long series take long, and have fewer alarms.
            let cases = if *points >= 600 { cases / 5 } else { cases };
            (0..cases).map(alarm).collect::<Count>().cell()
        };
        std::iter::once(points.to_string()).chain(COEFFICIENTS.map(cell)).collect()
    };
    lengths.iter().map(row).collect()
}
