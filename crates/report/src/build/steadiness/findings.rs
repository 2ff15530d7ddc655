//! What is found of a repetition over time.

/// What a repetition did over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Steadiness {
    /// The repetition: `a`, `b`, `c`...
    pub repetition: String,
    /// The step or the phase, where the repetition has several.
    pub phase: Option<String>,
    /// What the values are: `rate`, `request_rate`, `latency_p50`.
    pub metric: &'static str,
    /// Their unit.
    pub unit: &'static str,
    /// Values in the series.
    pub points: usize,
    /// Start of the first one, seconds after the repetition's start.
    pub from_seconds: f64,
    /// End of the last one.
    pub to_seconds: f64,
    /// What they do: `none`, `outliers-only`, `undecided`, `step`, `drift`, `two-level`, `warm-up`.
    pub pattern: &'static str,
    /// Levels in the order of time, of two-level series the lower first. A single one where the level was kept; none while
    /// it rises or falls all the time.
    pub levels: Vec<Level>,
    /// Times at which a level changed for good, seconds after the repetition's start.
    pub changes_seconds: Vec<f64>,
    /// How it rises or falls all the time.
    pub drift: Option<Drift>,
    /// Seconds until the level was reached at which it settled.
    pub warm_up_seconds: Option<f64>,
    /// Single points that are far off.
    pub outliers: usize,
    /// Lowest and highest of the rolling means of ten points; absent where there are not more than ten.
    pub rolling: Option<(f64, f64)>,
    /// The part that kept its level, seconds after the repetition's start; absent where it never did.
    pub steady_seconds: Option<(f64, f64)>,
    /// Why it never did: it drifts, flips, or changed or settled too late.
    pub unsteady: Option<&'static str>,
    /// The mean of the steady part, and what it is worth.
    pub steady: Option<Mean>,
    /// The same in words, each sentence by itself.
    pub sentences: Vec<String>,
}

/// A level that a series keeps for a while.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// Its mean, in the unit of the series.
    pub value: f64,
    /// Part of the time that was spent there, in percent.
    pub share_percent: f64,
    /// Lengths of its stays, in order. Those at the ends of the series may have been longer.
    pub dwell_seconds: Vec<f64>,
}

/// A rise or fall by so much a minute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// In the unit of the series.
    pub per_minute: f64,
    /// In percent of the mean.
    pub percent_per_minute: f64,
    /// Lower end of the 95 % interval, in percent of the mean.
    pub low_percent: f64,
    /// Upper end of that interval.
    pub high_percent: f64,
}

/// A mean of points that follow each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    /// In the unit of the series.
    pub value: f64,
    /// Ends of its 95 % interval, what the points follow each other counted in. Of this repetition only: repetitions differ by
    /// more, so it is no interval of the run's figure.
    pub interval: (f64, f64),
    /// Independent points that would say as much.
    pub effective_points: f64,
}

impl Steadiness {
    /// False if no part of it, long enough, kept its level: it drifts, flips, or changed or settled too late.
    pub const fn is_steady(&self) -> bool {
        self.steady_seconds.is_some()
    }
}
