//! Comparison of two sets of repetitions: by which factor B differs from A, and whether that means anything.
//!
//! Method: Welch's t on the logarithms, so the difference of means is the logarithm of a ratio and the two sides may
//! vary differently. Sources: Welch, The generalization of Student's problem, Biometrika 34 (1947) 28-35; degrees of
//! freedom by Satterthwaite, Biometrics Bulletin 2 (1946) 110-114; logarithms as in Bland and Altman, The use of
//! transformation when comparing two means, BMJ 312 (1996) 1153. Equivalence is judged by inclusion of the interval in
//! the margin, as in Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987) 657-680. That nothing was
//! found is not a proof that nothing is there.

use crate::logs::{LogSample, t_above, t_quantile};

/// What a comparison says about B.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The interval lies on the better side of 1.
    Better,
    /// The interval lies on the worse side of 1.
    Worse,
    /// The whole interval lies within the margin around 1.
    Equivalent,
    /// The repetitions can't tell: too few, or too far apart.
    Undecided,
}

impl Verdict {
    /// The verdict as scripts see it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Equivalent => "equivalent",
            Self::Undecided => "undecided",
        }
    }
}

/// B against A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Geometric mean of B over geometric mean of A.
    pub ratio: f64,
    /// Lower end of the ratio's interval; absent where a side has a single repetition.
    pub low: Option<f64>,
    /// Upper end of the ratio's interval.
    pub high: Option<f64>,
    /// What it means.
    pub verdict: Verdict,
}

/// How values are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// True for rates, false for times.
    pub higher_is_better: bool,
    /// Ratios from 1 - margin to 1 + margin count as equal, such as 0.05.
    pub margin: f64,
    /// Confidence of the interval, between 0 and 1.
    pub confidence: f64,
}

/// Compares the repetitions `b` with the repetitions `a`.
///
/// An interval within the margin is [`Verdict::Equivalent`] even where it excludes 1: a difference that is certain but
/// too small to matter. With fewer than two repetitions on a side the ratio stands alone and is [`Verdict::Undecided`].
/// `None` if a side is empty, has a value that is not positive and finite, or if the confidence isn't between 0 and 1.
pub fn compare(a: &[f64], b: &[f64], terms: Terms) -> Option<Comparison> {
    compare_samples(LogSample::of(a)?, LogSample::of(b)?, terms)
}

/// A side of a comparison of which no more is left than its figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Geometric mean of the repetitions; positive.
    pub value: f64,
    /// Upper end of its interval, by Student's t on logarithms; absent with a single repetition.
    pub high: Option<f64>,
    /// Confidence of that interval, between 0 and 1.
    pub confidence: f64,
    /// Repetitions behind it.
    pub repetitions: u32,
}

/// The same as [`compare`] from figures alone: an interval of known confidence gives the spread back.
pub fn compare_summaries(a: Summary, b: Summary, terms: Terms) -> Option<Comparison> {
    compare_samples(a.sample()?, b.sample()?, terms)
}

impl Summary {
    fn sample(&self) -> Option<LogSample> {
        let count = f64::from(self.repetitions);
        let spread = |high: f64| {
            let half = (high / self.value).ln();
            let error = half / t_quantile(self.confidence, count - 1.0)?;
            (half.is_finite() && half >= 0.0).then_some(error * error * count)
        };
        let variance = self.high.filter(|_| self.repetitions > 1).and_then(spread);
        let is_usable = self.value.is_finite() && self.value > 0.0 && self.repetitions > 0;
        is_usable.then_some(LogSample { first: self.value, mean: 0.0, variance, count })
    }
}

fn compare_samples(a: LogSample, b: LogSample, terms: Terms) -> Option<Comparison> {
    let scale = b.first / a.first;
    let difference = b.mean - a.mean;
    let ratio = scale * difference.exp();
    let has_confidence = terms.confidence > 0.0 && terms.confidence < 1.0;
    if !(has_confidence && ratio.is_finite() && ratio > 0.0) {
        return None;
    }
    let ends = half_width(a, b, terms.confidence)
        .map(|half| (scale * (difference - half).exp(), scale * (difference + half).exp()))
        .filter(|ends| ends.1.is_finite());
    let verdict = ends.map_or(Verdict::Undecided, |ends| judge(ends, terms));
    Some(Comparison { ratio, low: ends.map(|ends| ends.0), high: ends.map(|ends| ends.1), verdict })
}

fn judge((low, high): (f64, f64), terms: Terms) -> Verdict {
    if low >= 1.0 - terms.margin && high <= 1.0 + terms.margin {
        Verdict::Equivalent
    } else {
        direction((low, high), terms.higher_is_better)
    }
}

/// Which side of 1 an interval lies on.
pub(crate) fn direction((low, high): (f64, f64), higher_is_better: bool) -> Verdict {
    if low <= 1.0 && high >= 1.0 {
        Verdict::Undecided
    } else if (low > 1.0) == higher_is_better {
        Verdict::Better
    } else {
        Verdict::Worse
    }
}

/// Standard error of the difference of mean logarithms, and its degrees of freedom; without any spread there are none.
fn welch(a: LogSample, b: LogSample) -> Option<(f64, f64)> {
    let (error_a, error_b) = (a.variance? / a.count, b.variance? / b.count);
    let error = error_a + error_b;
    let (share_a, share_b) = (error_a / error, error_b / error);
    let freedom = 1.0 / (share_a.powi(2) / (a.count - 1.0) + share_b.powi(2) / (b.count - 1.0));
    Some((error.sqrt(), freedom))
}

/// Half the width of the interval of the difference of mean logarithms.
fn half_width(a: LogSample, b: LogSample, confidence: f64) -> Option<f64> {
    match welch(a, b)? {
        (0.0, _) => Some(0.0),
        (error, freedom) => Some(t_quantile(confidence, freedom)? * error),
    }
}

/// How probable a ratio this far from 1, to either side, would be if nothing had changed. `None` where a side has fewer than two
/// repetitions, or a value that is not positive and finite.
pub fn p_value(a: &[f64], b: &[f64]) -> Option<f64> {
    let (a, b) = (LogSample::of(a)?, LogSample::of(b)?);
    let difference = (b.first / a.first).ln() + b.mean - a.mean;
    match welch(a, b)? {
        (0.0, _) => Some(if difference == 0.0 { 1.0 } else { 0.0 }),
        (error, freedom) => Some(2.0 * t_above(difference.abs() / error, freedom)?),
    }
}

/// The p-values of a family of comparisons, adjusted so that rejecting those up to 0.05 is wrong about any of them in
/// at most 5 of 100 such families, however they depend on each other (Holm, A simple sequentially rejective multiple
/// test procedure, Scandinavian Journal of Statistics 6 (1979) 65-70).
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|one, other| p_values[*one].total_cmp(&p_values[*other]));
    let (mut adjusted, mut least) = (vec![1.0; p_values.len()], 0.0_f64);
    for (rank, at) in order.into_iter().enumerate() {
        least = least.max(p_values[at] * (p_values.len() - rank) as f64).min(1.0);
        adjusted[at] = least;
    }
    adjusted
}

/// The factor by which B would have to differ from A to be found in eight of ten such comparisons, with spreads as they seem. By a
/// shifted quantile, as [`repetitions_to_decide`].
pub fn detectable_ratio(a: &[f64], b: &[f64], confidence: f64) -> Option<f64> {
    /// Two-sided confidence with a quantile that leaves two estimates in ten on the wrong side.
    const RESERVE: f64 = 0.6;
    let (a, b) = (LogSample::of(a)?, LogSample::of(b)?);
    let ratio = (half_width(a, b, confidence)? + half_width(a, b, RESERVE)?).exp();
    ratio.is_finite().then_some(ratio)
}

/// How many repetitions a side, those that are there included, would probably decide a comparison that is undecided.
///
/// If ratio and spreads are what they seem, at least nine in ten experiments of that size would end with better or worse,
/// or about eight in ten with equivalent. They seldom are quite that from three repetitions, so it is an estimate: what
/// share is decided is measured in docs/STATISTICS.md. The power of a t-test as in Cohen, Statistical power analysis for
/// the behavioral sciences (2nd edition, 1988), by shifting the quantile instead of the noncentral distribution.
///
/// `None` where the comparison is decided or can't be made, where a side has a single repetition (no spread is known), and
/// where more than [`MOST_REPETITIONS`] would be needed.
pub fn repetitions_to_decide(a: &[f64], b: &[f64], terms: Terms) -> Option<usize> {
    if compare(a, b, terms)?.verdict != Verdict::Undecided {
        return None;
    }
    let (sample_a, sample_b) = (LogSample::of(a)?, LogSample::of(b)?);
    let difference = (sample_b.first / sample_a.first).ln() + sample_b.mean - sample_a.mean;
    let (lowest, highest) = ((1.0 - terms.margin).ln(), terms.margin.ln_1p());
    let decides = |count: usize| {
        let of = |sample: LogSample| LogSample { count: sample.count.max(count as f64), ..sample };
        let half = half_width(of(sample_a), of(sample_b), terms.confidence)?;
        let reserve = half_width(of(sample_a), of(sample_b), RESERVE)?;
        let reach = half + reserve;
        let is_equivalent = difference - reach >= lowest && difference + reach <= highest;
        Some(difference.abs() > reach || is_equivalent)
    };
    let least = a.len().min(b.len()) + 1;
    (least..=MOST_REPETITIONS).find(|count| decides(*count) == Some(true))
}

/// Beyond this many repetitions a side another experiment is asked for, not more of the same.
pub const MOST_REPETITIONS: usize = 100;

/// Two-sided confidence with a quantile that leaves one estimate in ten on the wrong side.
const RESERVE: f64 = 0.8;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RATES: Terms = Terms { higher_is_better: true, margin: 0.05, confidence: 0.95 };
    const TIMES: Terms = Terms { higher_is_better: false, margin: 0.05, confidence: 0.95 };

    fn verdict(a: &[f64], b: &[f64], terms: Terms) -> Verdict {
        compare(a, b, terms).unwrap().verdict
    }

    /// Worked by hand on logarithms 0, 1, 2 and 3, 5, 7: variances 1 and 4, errors 1/3 and 4/3, 2.9412 degrees of freedom.
    #[test]
    fn welch_by_hand() {
        let a = [0.0_f64, 1.0, 2.0].map(f64::exp);
        let b = [3.0_f64, 5.0, 7.0].map(f64::exp);
        let result = compare(&a, &b, RATES).unwrap();
        assert!((result.ratio.ln() - 4.0).abs() < 1e-12, "{result:?}");
        let half = t_quantile(0.95, 25.0 / 8.5).unwrap() * (5.0_f64 / 3.0).sqrt();
        assert!((result.high.unwrap().ln() - 4.0 - half).abs() < 1e-9, "{result:?}");
        assert!((4.0 - half - result.low.unwrap().ln()).abs() < 1e-9, "{result:?}");
        // Between the tabled quantiles of 2 and 3 degrees of freedom, near the latter.
        assert!((3.182 * 1.29..3.3 * 1.30).contains(&half), "{half}");
    }

    #[test]
    fn a_family_is_wrong_about_any_of_its_comparisons_in_one_of_twenty() {
        assert_eq!(holm(&[0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02]);
        assert_eq!((holm(&[0.7, 0.6]), holm(&[])), (vec![1.0, 1.0], vec![]));
        // The interval excludes 1 exactly where the p-value is below 0.05.
        let (a, b) = ([100.0, 104.0, 97.0], [93.0, 90.0, 95.5]);
        let found = compare(&a, &b, Terms { margin: 0.0, ..RATES }).unwrap();
        let p = p_value(&a, &b).unwrap();
        assert_eq!(found.verdict == Verdict::Worse, p < 0.05, "{found:?} {p}");
        assert_eq!((p_value(&[5.0; 3], &[5.0; 3]), p_value(&[5.0; 3], &[4.0; 3])), (Some(1.0), Some(0.0)));
        assert_eq!(p_value(&[5.0], &[4.0, 5.0]), None);
        // Ten metrics of runs in which nothing changed, 400 times: by hand, from a fixed sequence of normal deviates.
        let mut state = 1_u64;
        let mut unit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        };
        let mut value = || {
            let (radius, angle) = ((-2.0 * unit().ln()).sqrt(), std::f64::consts::TAU * unit());
            (4.6 + 0.03 * radius * angle.cos()).exp()
        };
        let (mut alone, mut family) = (0, 0);
        for _ in 0..400 {
            let p_values: Vec<f64> = (0..10)
                .map(|_| {
                    let side: Vec<f64> = (0..10).map(|_| value()).collect();
                    p_value(&side[..5], &side[5..]).unwrap()
                })
                .collect();
            alone += u32::from(p_values.iter().any(|p| *p <= 0.05));
            family += u32::from(holm(&p_values).iter().any(|p| *p <= 0.05));
        }
        // Of 400: about 160 alone, at most 20 and chance together.
        assert!(alone > 120 && family <= 30, "{alone} {family}");
    }

    #[test]
    fn what_could_be_found_grows_with_the_spread_and_the_family() {
        let (a, b) = ([100.0, 102.0, 98.0, 101.0], [100.5, 99.0, 101.5, 100.0]);
        let alone = detectable_ratio(&a, &b, 0.95).unwrap();
        let family = detectable_ratio(&a, &b, 0.995).unwrap();
        assert!(1.01 < alone && alone < family && family < 1.2, "{alone} {family}");
        assert_eq!(detectable_ratio(&[5.0; 3], &[5.0; 3], 0.95), Some(1.0));
        assert_eq!(detectable_ratio(&[5.0], &[5.0; 3], 0.95), None);
    }

    #[test]
    fn figures_compare_as_their_repetitions_do() {
        let (a, b) = ([100.0, 104.0, 97.0], [120.0, 131.0, 118.0, 125.0]);
        let summary = |values: &[f64]| {
            let interval = crate::interval::interval(values, 0.95).unwrap();
            let repetitions = values.len() as u32;
            Summary { value: interval.value, high: interval.high, confidence: 0.95, repetitions }
        };
        let (exact, found) =
            (compare(&a, &b, RATES).unwrap(), compare_summaries(summary(&a), summary(&b), RATES).unwrap());
        let near = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-9;
        assert!(near(exact.ratio, found.ratio) && near(exact.low.unwrap(), found.low.unwrap()), "{exact:?} {found:?}");
        assert!(near(exact.high.unwrap(), found.high.unwrap()) && exact.verdict == found.verdict);
        let single = compare_summaries(summary(&a[..1]), summary(&b), RATES).unwrap();
        assert_eq!((single.low, single.verdict), (None, Verdict::Undecided));
        assert_eq!(compare_summaries(Summary { value: 0.0, ..summary(&a) }, summary(&b), RATES), None);
    }

    #[test]
    fn the_direction_depends_on_what_is_good() {
        let (slow, fast) = ([100.0, 101.0, 99.0], [150.0, 151.0, 149.0]);
        assert_eq!(verdict(&slow, &fast, RATES), Verdict::Better);
        assert_eq!(verdict(&fast, &slow, RATES), Verdict::Worse);
        assert_eq!(verdict(&slow, &fast, TIMES), Verdict::Worse);
        assert_eq!(verdict(&fast, &slow, TIMES), Verdict::Better);
    }

    #[test]
    fn certain_but_small_is_equivalent_and_wide_is_undecided() {
        assert_eq!(verdict(&[100.0, 100.1, 99.9], &[102.0, 102.1, 101.9], RATES), Verdict::Equivalent);
        assert_eq!(verdict(&[100.0, 130.0, 70.0], &[102.0, 132.0, 72.0], RATES), Verdict::Undecided);
        // No spread at all, as on a deterministic target: the ratio is the interval.
        assert_eq!(verdict(&[100.0; 3], &[104.0; 3], RATES), Verdict::Equivalent);
        assert_eq!(verdict(&[100.0; 3], &[106.0; 3], RATES), Verdict::Better);
    }

    #[test]
    fn more_repetitions_are_asked_for_where_they_would_do() {
        let more = |a: &[f64], b: &[f64], margin: f64| repetitions_to_decide(a, b, Terms { margin, ..RATES });
        let (a, b) = ([100.0, 101.0, 99.0], [102.0, 101.2, 100.4]);
        assert_eq!(verdict(&a, &b, Terms { margin: 0.0, ..RATES }), Verdict::Undecided);
        let few = more(&a, &b, 0.0).unwrap();
        assert!((5..15).contains(&few), "{few}");
        // Twice the noise about the same difference: about four times as many.
        let (wide_a, wide_b) = ([100.0, 102.0, 98.0], [102.8, 101.2, 99.6]);
        let many = more(&wide_a, &wide_b, 0.0).unwrap();
        assert!((3 * few..6 * few).contains(&many), "{few} {many}");
        // Hardly a difference: nothing proves it, but a margin around it can be.
        assert_eq!(more(&wide_a, &[100.1, 102.0, 98.0], 0.0), None);
        assert!(more(&wide_a, &[100.1, 102.0, 98.0], 0.03).is_some_and(|count| count < 20));
        // Decided already, and a side whose spread is not known.
        assert_eq!(more(&a, &[150.0, 151.0, 149.0], 0.0), None);
        assert_eq!(more(&a, &[150.0], 0.0), None);
    }

    #[test]
    fn one_repetition_gives_a_ratio_and_no_verdict() {
        let expected = Comparison { ratio: 2.0, low: None, high: None, verdict: Verdict::Undecided };
        assert_eq!(compare(&[50.0], &[100.0, 100.0], RATES), Some(expected));
        assert_eq!(compare(&[50.0, 50.0], &[100.0], RATES), Some(expected));
        assert_eq!(compare(&[], &[100.0], RATES), None);
        assert_eq!(compare(&[50.0], &[0.0], RATES), None);
        assert_eq!(compare(&[50.0], &[50.0], Terms { confidence: 0.0, ..RATES }), None);
    }

    proptest! {
        #![proptest_config(crate::fixed_cases())]

        #[test]
        fn the_inverse_comparison_has_the_inverse_ratio(
            a in prop::collection::vec(10.0_f64..100.0, 2..8), b in prop::collection::vec(10.0_f64..100.0, 2..8),
        ) {
            let forth = compare(&a, &b, RATES).unwrap();
            let back = compare(&b, &a, RATES).unwrap();
            prop_assert!((forth.ratio * back.ratio - 1.0).abs() < 1e-9);
            if let (Some(low), Some(high)) = (forth.low, back.high) {
                prop_assert!((low * high - 1.0).abs() < 1e-6, "{} {}", low, high);
                prop_assert!(low <= forth.ratio && forth.ratio <= forth.high.unwrap());
            }
        }

        #[test]
        fn better_for_rates_is_worse_for_times(
            a in prop::collection::vec(80.0_f64..100.0, 2..8), b in prop::collection::vec(80.0_f64..120.0, 2..8),
        ) {
            let expected = match verdict(&a, &b, RATES) {
                Verdict::Better => Verdict::Worse,
                Verdict::Worse => Verdict::Better,
                same => same,
            };
            prop_assert_eq!(verdict(&a, &b, TIMES), expected);
        }
    }
}
