//! What was asked of something over time: rates of intervals, how much of the time is known, and where the source itself could give no
//! more, so that more may have been wanted.

/// A rate over time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Demand {
    /// Its intervals, the earliest first.
    pub intervals: Vec<Interval>,
}

/// A part of the time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// When it began, in seconds since the first look.
    pub start_s: f64,
    /// How long it was, in seconds.
    pub seconds: f64,
    /// The rate; `None` where it is not known, as after a counter began anew.
    pub rate: Option<f64>,
    /// Whether the source stood at a limit of its own, so that the rate is a lower bound of what was wanted.
    pub is_bounded: bool,
}

impl Demand {
    /// Intervals whose rate is known.
    pub fn known(&self) -> impl Iterator<Item = &Interval> {
        self.intervals.iter().filter(|interval| interval.rate.is_some())
    }

    fn rates(&self) -> impl Iterator<Item = f64> {
        self.intervals.iter().filter_map(|interval| interval.rate)
    }

    /// The rate of the busiest interval.
    pub fn highest(&self) -> Option<f64> {
        self.rates().reduce(f64::max)
    }

    /// Seconds from the first look to the last, known or not.
    pub fn window_s(&self) -> f64 {
        self.intervals.iter().map(|interval| interval.seconds).sum()
    }

    /// The part of the window in which the rate is known, in percent; `None` without a window.
    pub fn coverage_percent(&self) -> Option<f64> {
        let window_s = self.window_s();
        let known_s: f64 = self.known().map(|interval| interval.seconds).sum();
        (window_s > 0.0).then(|| (100.0 * known_s / window_s).min(100.0))
    }

    /// The rate that was not exceeded in this part of the known time, in percent.
    pub fn at_percent(&self, percent: f64) -> Option<f64> {
        let mut known: Vec<(f64, f64)> =
            self.intervals.iter().filter_map(|interval| Some((interval.rate?, interval.seconds))).collect();
        known.sort_by(|a, b| a.0.total_cmp(&b.0));
        let all: f64 = known.iter().map(|(_, seconds)| seconds).sum();
        let mut passed = 0.0;
        let reached = known.iter().find(|(_, seconds)| {
            passed += seconds;
            // Sums of many lengths are off by a little.
            passed >= percent / 100.0 * all * (1.0 - 1e-9)
        });
        reached.or(known.last()).map(|(rate, _)| *rate)
    }

    /// Intervals in which the rate was this part of the limit or more, in percent.
    pub fn near(&self, limit: f64, percent: f64) -> usize {
        self.rates().filter(|rate| 100.0 * rate >= percent * limit).count()
    }

    /// Intervals in which the source stood at a limit of its own.
    pub fn bounded(&self) -> usize {
        self.intervals.iter().filter(|interval| interval.is_bounded).count()
    }

    /// Says of intervals in which the rate comes so near to the limit of the source that they are bounded.
    pub fn bound(&mut self, limit: f64, percent: f64) {
        for interval in &mut self.intervals {
            interval.is_bounded |= interval.rate.is_some_and(|rate| 100.0 * rate >= percent * limit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(rates: &[Option<f64>]) -> Demand {
        let interval = |(at, rate): (usize, &Option<f64>)| Interval {
            start_s: at as f64,
            seconds: 1.0,
            rate: *rate,
            is_bounded: false,
        };
        Demand { intervals: rates.iter().enumerate().map(interval).collect() }
    }

    #[test]
    fn what_is_not_known_is_neither_zero_nor_left_unsaid() {
        let of = demand(&[Some(100.0), None, Some(450.0), Some(449.9), None]);
        assert_eq!((of.highest(), of.known().count(), of.near(500.0, 90.0)), (Some(450.0), 3, 1));
        assert_eq!((of.window_s(), of.coverage_percent()), (5.0, Some(60.0)));
        let none = demand(&[None]);
        assert_eq!((none.highest(), none.at_percent(95.0), none.coverage_percent()), (None, None, Some(0.0)));
        assert_eq!(Demand::default().coverage_percent(), None);
    }

    /// An interval counts by its length: one of nine seconds is nine tenths of ten.
    #[test]
    fn percentiles_go_by_time() {
        let mut of = demand(&[Some(10.0), Some(1.0)]);
        of.intervals[1].seconds = 9.0;
        assert_eq!([50.0, 90.0, 91.0, 100.0].map(|percent| of.at_percent(percent)), [1.0, 1.0, 10.0, 10.0].map(Some));
    }

    #[test]
    fn at_a_limit_of_the_source_a_rate_is_a_lower_bound() {
        let mut of = demand(&[Some(89.0), Some(90.0), None]);
        of.bound(100.0, 90.0);
        assert_eq!((of.bounded(), of.intervals[1].is_bounded), (1, true));
    }
}
