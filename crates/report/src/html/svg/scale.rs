//! Scales: from values to places in the drawing, with round ticks.

use crate::model::format::number;
use crate::model::{Kind, LARGEST};

/// Where values lie nearer to each other than numbers are exact, ticks end here.
const MOST_TICKS: f64 = 100.0;

/// An axis that knows its range and its place.
#[derive(Debug, Clone)]
pub struct Scale {
    kind: Kind,
    low: f64,
    high: f64,
    start: f64,
    end: f64,
    step: f64,
}

impl Scale {
    /// A scale that has a place for all values, from `start` to `end` in the drawing. `None` without usable values.
    pub fn covering(kind: Kind, values: impl Iterator<Item = f64>, (start, end): (f64, f64)) -> Option<Self> {
        let usable = values.filter(|value| kind.has_place(*value));
        let (low, high) = usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        if low > high {
            return None;
        }
        let (low, high, step) = match kind {
            Kind::Index if low >= high => (low - 0.5, high + 0.5, 1.0),
            Kind::Index => (low, high, round_step((high - low) / 10.0).max(1.0)),
            Kind::Date if low >= high => (low - 0.5, high + 0.5, 0.5),
            Kind::Date => (low, high, date_step((high - low) / 8.0)),
            Kind::Elapsed => (0.0, if high > 0.0 { high } else { 1.0 }, round_step(high / 10.0)),
            Kind::FromZero => {
                let (low, high) = (low.min(0.0), if high > 0.0 || low < 0.0 { high.max(0.0) } else { 1.0 });
                let step = round_step((high - low) / 5.0);
                ((low / step).floor() * step, (high / step).ceil() * step, step)
            }
            Kind::Log => (round_below(low), round_above(high), 0.0),
            Kind::Tail => (1.0, high.max(2.0), 0.0),
        };
        let high = if kind == Kind::Log && low >= high { high * 10.0 } else { high };
        Some(Self { kind, low, high, start, end, step })
    }

    /// A scale from `low` to `high`, from `start` to `end` in the drawing. `None` if there is nothing between them.
    pub fn spanning(low: f64, high: f64, (start, end): (f64, f64)) -> Option<Self> {
        let step = round_step((high - low) / 10.0);
        (low.is_finite() && high.is_finite() && low < high).then_some(Self {
            kind: Kind::Elapsed,
            low,
            high,
            start,
            end,
            step,
        })
    }

    /// The place of a value; `None` where the axis has none.
    pub fn at(&self, value: f64) -> Option<f64> {
        if !value.is_finite() || value.abs() > LARGEST {
            return None;
        }
        let share = match self.kind {
            kind if !kind.has_place(value) => return None,
            kind if kind.is_logarithmic() => (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln()),
            _ => (value - self.low) / (self.high - self.low),
        };
        Some(self.start + share * (self.end - self.start))
    }

    /// Round values along the axis, about five to ten.
    pub fn ticks(&self) -> Vec<f64> {
        match self.kind {
            Kind::Log => log_ticks(self.low, self.high),
            Kind::Tail => [1.0, 2.0]
                .into_iter()
                .chain((1..12).map(|nines| 10_f64.powi(nines)))
                .filter(|tick| *tick <= self.high)
                .collect(),
            Kind::Index | Kind::Date | Kind::Elapsed | Kind::FromZero => {
                let first = (self.low / self.step - 1e-9).ceil();
                let count = (self.high / self.step + 1e-9).floor() - first;
                let inside = |value: &f64| *value >= self.low - 1e-9 && *value <= self.high + 1e-9;
                (0..=count.clamp(0.0, MOST_TICKS) as usize)
                    .map(|at| (first + at as f64) * self.step)
                    .filter(inside)
                    .collect()
            }
        }
    }
}

impl Kind {
    /// What is written at a tick.
    pub fn tick_text(self, tick: f64) -> String {
        if self == Self::Date {
            return date_text(tick);
        }
        if self != Self::Tail {
            return tick_text(tick);
        }
        // 1,000 stands for 99.9: as many digits behind the point as there are nines beyond the first two.
        let digits = (tick.log10().round() as usize).saturating_sub(2);
        format!("{:.digits$}", 100.0 - 100.0 / tick)
    }
}

/// Lengths that calendars and clocks are divided into, in days.
const DATE_STEPS: [f64; 18] = [
    1.0 / 86_400.0,
    5.0 / 86_400.0,
    15.0 / 86_400.0,
    1.0 / 1440.0,
    2.0 / 1440.0,
    5.0 / 1440.0,
    15.0 / 1440.0,
    30.0 / 1440.0,
    1.0 / 24.0,
    3.0 / 24.0,
    6.0 / 24.0,
    12.0 / 24.0,
    1.0,
    2.0,
    7.0,
    14.0,
    28.0,
    91.0,
];

/// The smallest of them that is not below `step`, or a round number of years.
fn date_step(step: f64) -> f64 {
    DATE_STEPS.into_iter().find(|round| *round >= step).unwrap_or_else(|| 365.0 * round_step(step / 365.0))
}

/// The date, or the time of the day where it isn't midnight.
fn date_text(days: f64) -> String {
    let seconds = (days * 86_400.0).round() as i64;
    let format = match seconds {
        midnight if midnight % 86_400 == 0 => "%Y-%m-%d",
        minute if minute % 60 == 0 => "%m-%d %H:%M",
        _ => "%H:%M:%S",
    };
    jiff::Timestamp::from_second(seconds).map_or_else(
        |_| tick_text(days),
        |moment| moment.to_zoned(jiff::tz::TimeZone::UTC).strftime(format).to_string(),
    )
}

/// A tick's value without needless zeros.
pub fn tick_text(value: f64) -> String {
    let text = number(value).unwrap_or_default();
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The smallest of 1, 2, 5 times a power of ten that is not below `step`.
fn round_step(step: f64) -> f64 {
    round_above(step.max(f64::MIN_POSITIVE))
}

fn round_above(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0, 10.0].iter().map(|m| m * power).find(|round| *round >= value * (1.0 - 1e-9)).unwrap_or(value)
}

fn round_below(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    [5.0, 2.0, 1.0].iter().map(|m| m * power).find(|round| *round <= value * (1.0 + 1e-9)).unwrap_or(power)
}

/// 1, 2, 5 in each decade; powers of ten alone where those would be too many, and only some of them beyond that.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let inside = |value: &f64| *value >= low * (1.0 - 1e-9) && *value <= high * (1.0 + 1e-9);
    let powers = |every: usize| (first..=last).step_by(every).map(|power| 10_f64.powi(power));
    let fine: Vec<f64> = powers(1).flat_map(|power| [power, 2.0 * power, 5.0 * power]).filter(inside).collect();
    if fine.len() <= 10 {
        return fine;
    }
    powers(1 + (last - first) as usize / 10).filter(inside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(kind: Kind, values: &[f64]) -> Scale {
        Scale::covering(kind, values.iter().copied(), (0.0, 100.0)).unwrap()
    }

    #[test]
    fn the_smallest_numbers_have_no_place_on_a_logarithmic_axis() {
        assert!(Scale::covering(Kind::Log, [1e-320].into_iter(), (0.0, 100.0)).is_none());
        let wide = scale(Kind::Log, &[1e-320, 1e-299, 1e299]);
        assert!(wide.ticks().len() <= 12 && wide.at(1e-320).is_none(), "{:?}", wide.ticks());
    }

    #[test]
    fn heights_start_at_zero_and_ticks_are_round() {
        let rates = scale(Kind::FromZero, &[130.0, 146.0]);
        assert_eq!(rates.at(0.0), Some(0.0));
        assert_eq!(rates.ticks(), [0.0, 50.0, 100.0, 150.0]);
        assert_eq!(scale(Kind::FromZero, &[0.0]).ticks().last(), Some(&1.0));
    }

    #[test]
    fn positions_are_whole_and_one_position_has_room() {
        assert_eq!(scale(Kind::Index, &[0.0, 3.0]).ticks(), [0.0, 1.0, 2.0, 3.0]);
        let one = scale(Kind::Index, &[7.0]);
        assert_eq!((one.at(7.0), one.ticks()), (Some(50.0), vec![7.0]));
        assert!(scale(Kind::Index, &[0.0, 5_000.0]).ticks().len() <= 11);
    }

    #[test]
    fn time_begins_at_zero_and_ends_with_what_is_known() {
        let time = scale(Kind::Elapsed, &[0.5, 59.5]);
        assert_eq!((time.at(0.0), time.at(59.5)), (Some(0.0), Some(100.0)));
        assert_eq!(time.ticks(), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
    }

    #[test]
    fn dates_have_ticks_at_midnight_or_round_times() {
        let texts = |low: f64, high: f64| -> Vec<String> {
            scale(Kind::Date, &[low, high]).ticks().into_iter().map(|tick| Kind::Date.tick_text(tick)).collect()
        };
        assert_eq!(
            texts(20_513.4, 20_516.9),
            ["03-01 12:00", "2026-03-02", "03-02 12:00", "2026-03-03", "03-03 12:00", "2026-03-04", "03-04 12:00"]
        );
        assert_eq!(texts(20_513.0, 20_513.0), ["02-28 12:00", "2026-03-01", "03-01 12:00"]);
        assert!(texts(16_000.0, 20_513.0).len() <= 10);
        assert_eq!(texts(20_513.500, 20_513.502), ["03-01 12:00", "03-01 12:01", "03-01 12:02"]);
        // Runs of one minute.
        let second = 1.0 / 86_400.0;
        assert_eq!(
            texts(20_513.5 - 3.0 * second, 20_513.5 + 22.0 * second),
            ["03-01 12:00", "12:00:05", "12:00:10", "12:00:15", "12:00:20"]
        );
        assert!(texts(20_513.5, 20_513.5 + 9.0 / 1440.0).len() >= 4);
    }

    #[test]
    fn a_logarithmic_axis_has_no_place_for_zero() {
        let times = scale(Kind::Log, &[0.0, 2.0, 190.0]);
        assert_eq!(times.at(0.0), None);
        assert_eq!(times.ticks(), [2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0]);
        assert_eq!(times.at(200.0), Some(100.0));
        assert!(scale(Kind::Log, &[3.0, 3.0]).at(3.0).unwrap().is_finite());
    }

    #[test]
    fn what_is_larger_than_anything_has_no_place() {
        let wide = scale(Kind::FromZero, &[f64::MAX, -f64::MAX, 1e300]);
        assert_eq!((wide.at(f64::MAX), wide.at(1e300)), (None, Some(100.0)));
        assert_eq!(wide.ticks().len(), 6);
        assert!(scale(Kind::Log, &[1e-300, 1e300, f64::INFINITY]).ticks().len() <= 11);
    }

    #[test]
    fn nothing_usable_is_no_scale() {
        assert!(Scale::covering(Kind::Log, [0.0, f64::NAN].into_iter(), (0.0, 1.0)).is_none());
        assert!(Scale::covering(Kind::FromZero, std::iter::empty(), (0.0, 1.0)).is_none());
    }

    #[test]
    fn percentiles_are_spread_by_what_is_beyond_them() {
        let tail = scale(Kind::Tail, &[1.0, 40_000.0]);
        let texts: Vec<String> = tail.ticks().iter().map(|tick| Kind::Tail.tick_text(*tick)).collect();
        assert_eq!(texts, ["0", "50", "90", "99", "99.9", "99.99"]);
        let step = |from: f64, to: f64| tail.at(to).unwrap() - tail.at(from).unwrap();
        assert!((step(10.0, 100.0) - step(100.0, 1000.0)).abs() < 1e-9);
    }

    #[test]
    fn ticks_have_no_needless_zeros() {
        assert_eq!([0.5, 1.0, 25.0, 1500.0].map(tick_text), ["0.5", "1", "25", "1,500"]);
        assert_eq!(tick_text(100.0), "100");
    }
}
