//! Two programs compared in interleaved pairs, in ABBA order, so that what the machine does meanwhile meets both alike.

use plimsoll_analysis::summary;

/// Runs both sides `pairs` times after a pair that warms up and does not count. Which side goes first takes turns. `done` hears of
/// each pair, the one that does not count being 0.
pub fn interleaved<T>(
    pairs: u32,
    mut run: impl FnMut(bool) -> Result<T, String>,
    mut done: impl FnMut(u32, &T, &T),
) -> Result<(Vec<T>, Vec<T>), String> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for pair in 0..=pairs {
        let (our, their) = if pair % 2 == 0 {
            let our = run(true)?;
            (our, run(false)?)
        } else {
            let their = run(false)?;
            (run(true)?, their)
        };
        done(pair, &our, &their);
        if pair > 0 {
            ours.push(our);
            theirs.push(their);
        }
    }
    Ok((ours, theirs))
}

/// Median of the ratios of pairs, and the ranks between which it lies with 95 % confidence, whatever their distribution.
#[derive(Debug, Clone, Copy)]
pub struct Ratio {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl Ratio {
    /// Ours to theirs, pair by pair; `None` without pairs.
    pub fn of(ours: &[f64], theirs: &[f64]) -> Option<Self> {
        let mut ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
        let median = summary::median(&ratios)?;
        ratios.sort_by(f64::total_cmp);
        let rank = outer_rank(ratios.len());
        Some(Self { median, low: ratios[rank], high: ratios[ratios.len() - 1 - rank] })
    }

    /// As comparisons are judged: by the median, or by an interval that contains the bar and is narrow enough.
    pub fn meets(self, bar: f64) -> Judgement {
        let is_narrow = (self.high - self.low) / 2.0 <= 0.05 * self.median;
        if self.median <= bar {
            Judgement::Holds
        } else if is_narrow && self.low <= bar && self.median <= bar * 1.05 {
            Judgement::WithinInterval
        } else {
            Judgement::Missed
        }
    }

    /// The median with its interval.
    pub fn words(self, digits: usize) -> String {
        format!("{:.digits$} ({:.digits$} to {:.digits$})", self.median, self.low, self.high)
    }
}

/// Whether a bar holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// The median meets it.
    Holds,
    /// The median is near it, in a narrow interval that contains it.
    WithinInterval,
    /// Neither.
    Missed,
}

impl Judgement {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::WithinInterval => "holds within the interval",
            Self::Missed => "missed",
        }
    }
}

/// How many values may be left out at each end, so that the median lies between the rest with 95 % confidence: by the
/// binomial distribution of the number of values below it.
fn outer_rank(count: usize) -> usize {
    let (mut probability, mut below) = (0.5_f64.powi(count as i32), 0.0);
    for rank in 0..count / 2 {
        below += probability;
        if below > 0.025 {
            return rank.saturating_sub(1);
        }
        probability *= (count - rank) as f64 / (rank + 1) as f64;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values left out at each end by the tables of the sign test at 5 %: 0 for 6 to 8, 1 for 9 to 11, 2 for 12 to 14.
    #[test]
    fn ranks_are_those_of_the_sign_test() {
        assert_eq!([2, 6, 8, 9, 11, 12, 14, 20].map(outer_rank), [0, 0, 0, 1, 1, 2, 2, 5]);
    }

    #[test]
    fn bars_are_met_by_the_median_or_by_a_narrow_interval() {
        let ratio = |low: f64, median: f64, high: f64| Ratio { median, low, high };
        assert_eq!(ratio(0.5, 0.9, 1.5).meets(0.95), Judgement::Holds);
        assert_eq!(ratio(0.94, 0.97, 1.0).meets(0.95), Judgement::WithinInterval);
        assert_eq!(ratio(0.8, 0.97, 1.2).meets(0.95), Judgement::Missed);
        assert_eq!(ratio(0.96, 0.97, 0.98).meets(0.95), Judgement::Missed);
    }

    #[test]
    fn sides_take_turns_and_the_first_pair_does_not_count() {
        let mut order = String::new();
        let mut number = 0.0;
        let (ours, theirs) = interleaved(
            3,
            |is_ours| {
                order.push(if is_ours { 'A' } else { 'B' });
                number += 1.0;
                Ok(number)
            },
            |_, _: &f64, _| (),
        )
        .unwrap();
        assert_eq!(order, "ABBAABBA");
        assert_eq!((ours, theirs), (vec![4.0, 5.0, 8.0], vec![3.0, 6.0, 7.0]));
        assert!(interleaved(2, |_| Err::<f64, _>("broken".to_owned()), |_, _, _| ()).is_err());
    }
}
