//! The shape of a fact: edition, level, figure. Plain values that serialise as they stand.

use crate::Date;
use serde::Deserialize;
use std::fmt;
use strum::IntoStaticStr;

/// One dated state of a service.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edition {
    /// The service, as targets name it: `azure-sql-db`.
    pub service: String,
    /// The edition's name, as targets name it: `v12-ga-2015-01`.
    #[serde(rename = "edition")]
    pub name: String,
    /// The generation of the service: `v11`. What one generation delivered says little about the next.
    pub generation: Option<String>,
    /// The day for which the figures stand.
    pub as_of: Date,
    /// Why the day is not exact, where the source doesn't state it.
    pub as_of_note: Option<String>,
    /// One line for people.
    pub description: String,
    /// The author of the measurement or publication, and the place.
    pub source: String,
    /// What holds for all levels.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The levels, in the order of the file.
    pub levels: Vec<Level>,
    /// The fit of CPU time that anchors DTU multiples, if this edition has one.
    pub cpu_fit: Option<CpuFit>,
}

/// One level that could be bought.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Its name, as targets name it: `S2`.
    pub name: String,
    /// Other names by which it is found: `W/B`, `Business`.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The tier it belongs to: `basic`, `standard`, `premium`, `web-business`.
    pub tier: String,
    /// Its capacity in the vendor's unit; absent where none is stated for that date.
    pub dtu: Option<Dtu>,
    /// Statements that carry no number, and what a reader should know.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The figures, in the order of the file.
    #[serde(default)]
    pub figures: Vec<Figure>,
}

impl Level {
    /// Whether `name` is this level's name or one of its aliases, case aside.
    pub fn is_named(&self, name: &str) -> bool {
        std::iter::once(&self.name).chain(&self.aliases).any(|own| own.eq_ignore_ascii_case(name))
    }

    /// All figures of a metric: several where runs or cases are kept apart.
    pub fn figures_of(&self, metric: Metric) -> impl Iterator<Item = &Figure> {
        self.figures.iter().filter(move |figure| figure.metric == metric)
    }

    /// The first figure of a metric, which the files put in front as the main one.
    pub fn figure(&self, metric: Metric) -> Option<&Figure> {
        self.figures_of(metric).next()
    }
}

/// A capacity in DTU. It belongs to a level at a date: P1 had 100, then 125.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dtu {
    /// How many.
    pub value: f64,
    /// How it is known.
    pub basis: Basis,
    /// Where it is stated.
    pub source: String,
    /// What a reader should know.
    pub note: Option<String>,
}

/// One published or derived number. Exactly one of `value`, `low` with `high`, and `at_least` is given.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// What it is.
    pub metric: Metric,
    /// The test that measured it: `read-scan`, `write-chunk`, `bulk-load`...
    pub test: String,
    /// Which run or case, where a level has several figures of one metric.
    pub label: Option<String>,
    /// Rows joined with as many rows; for `cpu_seconds` only.
    pub join_rows: Option<u64>,
    /// The one value, in the metric's unit.
    pub value: Option<f64>,
    /// Lower end of a range.
    pub low: Option<f64>,
    /// Upper end of a range.
    pub high: Option<f64>,
    /// A lower bound of which no more is known.
    pub at_least: Option<f64>,
    /// `MB/min`, `MB` (of 2^20 bytes) or `s`: always the metric's own unit.
    pub unit: String,
    /// What the source prints, where that isn't the value in this unit.
    pub printed: Option<String>,
    /// The source says "about".
    #[serde(default)]
    pub approximate: bool,
    /// Sessions that worked at once, where stated.
    pub sessions: Option<u32>,
    /// What is counted.
    pub counts: Counts,
    /// How far the limit was used while the figure was read, in percent as the service reported it.
    pub utilisation_percent: Option<f64>,
    /// How it is known.
    pub basis: Basis,
    /// The source: author and publication.
    pub source: String,
    /// What a reader should know.
    pub note: Option<String>,
}

/// The amount as a person reads it: `550 MB/min`, `~550 to 580 MB/min`, `>= 5120 MB`.
impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = if self.approximate { "~" } else { "" };
        match (self.value, self.low, self.high, self.at_least) {
            (Some(value), ..) => write!(f, "{about}{value} {}", self.unit),
            (_, Some(low), Some(high), _) => write!(f, "{about}{low} to {high} {}", self.unit),
            (.., Some(bound)) => write!(f, ">= {bound} {}", self.unit),
            _ => write!(f, "unknown"),
        }
    }
}

/// What a figure says about a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Metric {
    /// Reads from storage, cold.
    ReadRate,
    /// Reads from storage at the weakest isolation (NOLOCK).
    WeakReadRate,
    /// What the read rate would be with the limit fully used: rate / utilisation.
    TheoreticalReadRate,
    /// Reads through to a client outside the server.
    ClientReadRate,
    /// Writes, bound by the log.
    WriteRate,
    /// Load of a logical dump, tables only.
    ImportRate,
    /// Restore from a backup.
    RestoreRate,
    /// The most memory a database can use for cached data.
    Memory,
    /// Time of the forced loop join of N with N rows.
    CpuSeconds,
}

impl Metric {
    /// The name in files and for scripts.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The one unit its figures are in, so that they can be compared without conversion.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Memory => "MB",
            Self::CpuSeconds => "s",
            _ => "MB/min",
        }
    }
}

/// How a number is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Basis {
    /// Stands in the source, at most converted to the unit.
    Printed,
    /// Arithmetic on printed figures.
    Derived,
    /// A choice.
    Assumed,
}

impl Basis {
    /// The name in files and for scripts.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counts {
    /// Sum of the sizes of the values: no pages, no log overhead.
    DataContent,
    /// The stated size of the database.
    Database,
    /// Bytes at the device.
    Device,
    /// Memory in use for cached data.
    Memory,
    /// Time from request to answer.
    ElapsedTime,
}

/// CPU time of the forced loop join at a level of known DTU: T(N) = coefficient x N^2. Other levels and machines are
/// expressed in DTU against it (reference 2.11, 3.7).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuFit {
    /// Seconds per pair of rows.
    pub coefficient_seconds: f64,
    /// Capacity of the level.
    pub dtu: f64,
    /// The level.
    pub level: String,
    /// Its service.
    #[serde(skip)]
    pub service: String,
    /// The edition.
    #[serde(skip)]
    pub edition: String,
    /// How it is known.
    pub basis: Basis,
    /// Where it is stated.
    pub source: String,
}

impl CpuFit {
    /// Seconds the anchor level takes to join `join_rows` with `join_rows` rows.
    pub fn seconds(&self, join_rows: u64) -> f64 {
        self.coefficient_seconds * (join_rows as f64).powi(2)
    }

    /// What `seconds` for the same join are worth in DTU: anchor DTU x T(N) / seconds. `None` if no time has passed.
    pub fn dtu_of(&self, join_rows: u64, seconds: f64) -> Option<f64> {
        (seconds > 0.0).then(|| self.dtu * self.seconds(join_rows) / seconds)
    }
}
