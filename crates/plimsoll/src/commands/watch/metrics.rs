//! What a statement is measured by, by the names that scripts read, and the units that it is shown in.

use clap::ValueEnum;
use plimsoll_measurement::counters::{Measure, Values};
use plimsoll_report::model::{Cell, Column, number, scaled};

/// A figure of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// In JSON, in CSV and on the command line.
    pub name: &'static str,
    /// Above a column.
    pub label: &'static str,
    pub measure: Measure,
    /// Which columns go first where there is little room; 0 stays.
    spare: u8,
}

const fn metric(name: &'static str, label: &'static str, measure: Measure, spare: u8) -> Metric {
    Metric { name, label, measure, spare }
}

/// All of them, in the order of columns.
pub const METRICS: [Metric; 13] = [
    metric("executions", "Calls", Measure::Executions, 0),
    metric("elapsed_us", "Time", Measure::ElapsedUs, 0),
    metric("active_us", "Active", Measure::ActiveUs, 2),
    metric("sampled_us", "Seen", Measure::SampledUs, 0),
    metric("unseen_us", "Ended unseen", Measure::UnseenUs, 1),
    metric("rows", "Rows", Measure::Rows, 3),
    metric("reads", "Page reads", Measure::PhysicalReadPages, 1),
    metric("writes", "Page writes", Measure::LogicalWritePages, 4),
    metric("cache_lookups", "Lookups", Measure::LogicalReadPages, 8),
    metric("temp_pages", "Temp. pages", Measure::TempPages, 6),
    metric("log_bytes", "Log", Measure::LogBytes, 5),
    metric("io_read_us", "Read time", Measure::IoReadUs, 7),
    metric("io_write_us", "Write time", Measure::IoWriteUs, 9),
];

/// The metric that statements are ranked by if nobody says which.
pub const BY_COMPLETION: Metric = METRICS[1];

/// The metric that statements are ranked by where their own counts explain little.
pub const BY_SAMPLES: Metric = METRICS[3];

/// A metric by its name, or by the name of its column.
pub fn by_name(name: &str) -> Option<Metric> {
    let is_it = |metric: &Metric| {
        metric.name == name || metric.name.strip_suffix("_us") == Some(name) || metric.label.eq_ignore_ascii_case(name)
    };
    METRICS.into_iter().find(is_it)
}

/// All names, for an error.
pub fn names() -> String {
    METRICS.map(|metric| metric.name).join(", ")
}

/// In which unit figures are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Unit {
    /// Of the whole range.
    #[default]
    Total,
    /// Per second of the time that is known.
    Second,
    /// Per minute of the time that is known.
    Minute,
    /// Per execution.
    Execution,
    /// In percent of all statements.
    Share,
}

impl Unit {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Execution => "execution",
            Self::Share => "share",
        }
    }

    /// The one after this, and the first after the last.
    #[must_use]
    pub fn next(self) -> Self {
        let all = Self::value_variants();
        let place = all.iter().position(|unit| *unit == self).unwrap_or(0);
        all[(place + 1) % all.len()]
    }

    /// A measure in this unit; `None` where it is not known.
    pub fn of(self, measure: Measure, values: &Values, all: &Values, covered_us: u64) -> Option<f64> {
        let value = values.get(measure)? as f64;
        let per = |divisor: f64| (divisor > 0.0).then(|| value / divisor);
        match self {
            Self::Total => Some(value),
            Self::Second => per(covered_us as f64 / 1e6),
            Self::Minute => per(covered_us as f64 / 60e6),
            Self::Execution => per(values.get(Measure::Executions)? as f64),
            Self::Share => per(all.get(measure)? as f64 / 100.0),
        }
    }
}

impl Metric {
    pub const fn is_time(self) -> bool {
        matches!(
            self.measure,
            Measure::ElapsedUs
                | Measure::ActiveUs
                | Measure::SampledUs
                | Measure::UnseenUs
                | Measure::IoReadUs
                | Measure::IoWriteUs
        )
    }

    /// Its column.
    pub fn column(self, unit: Unit) -> Column {
        let per = match unit {
            Unit::Total | Unit::Share => "",
            Unit::Second => "/s",
            Unit::Minute => "/min",
            Unit::Execution => "/call",
        };
        let label = format!("{}{per}", self.label);
        let column = match (self.measure, unit) {
            (_, Unit::Share) => number(label, "%"),
            (Measure::LogBytes, Unit::Total) => scaled(label, "bytes"),
            (Measure::LogBytes, _) => number(label, "bytes"),
            _ if self.is_time() => scaled(label, "s"),
            _ => number(label, ""),
        };
        column.spare(self.spare)
    }

    /// Its cell in a row.
    pub fn cell(self, unit: Unit, values: &Values, all: &Values, covered_us: u64) -> Cell {
        match unit.of(self.measure, values, all, covered_us) {
            None => Cell::default(),
            Some(_) if unit == Unit::Total && !self.is_time() => values.get(self.measure).into(),
            Some(us) if self.is_time() && unit != Unit::Share => Cell::quantity(us / 1e6, "s"),
            Some(value) => Cell::from(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_divide_by_what_is_known() {
        let values = Values::of([(Measure::Executions, 4), (Measure::ElapsedUs, 2_000_000)]);
        let all = Values::of([(Measure::Executions, 8), (Measure::ElapsedUs, 8_000_000)]);
        let of = |unit: Unit, measure| unit.of(measure, &values, &all, 20_000_000);
        assert_eq!(of(Unit::Second, Measure::ElapsedUs), Some(100_000.0));
        assert_eq!(of(Unit::Minute, Measure::Executions), Some(12.0));
        assert_eq!(of(Unit::Execution, Measure::ElapsedUs), Some(500_000.0));
        assert_eq!((of(Unit::Share, Measure::Executions), of(Unit::Share, Measure::Rows)), (Some(50.0), None));
        assert_eq!(Unit::Second.of(Measure::Executions, &values, &all, 0), None);
        assert_eq!((by_name("elapsed"), by_name("nothing")), (Some(BY_COMPLETION), None));
        assert_eq!(
            (by_name("seen"), by_name("Page reads").map(|metric| metric.name)),
            (Some(BY_SAMPLES), Some("reads"))
        );
    }
}
