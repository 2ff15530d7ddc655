//! How exact the lab is: what each test should show on each level, and what it showed.

use serde::Serialize;

use crate::grid::Grid;
use crate::words::{number, plain, title};

/// A measurement held against what is known to be true.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Accuracy {
    /// Service of the catalogue.
    pub service: String,
    /// Level.
    pub level: String,
    /// Edition.
    pub edition: String,
    /// The figure: `read_rate`, `cpu_multiple`, ...
    pub metric: String,
    /// Mean data content of a row in bytes, where rows matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_bytes: Option<u32>,
    /// Unit of truth and measurement.
    pub unit: String,
    /// What it should be; absent where nothing could be computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truth: Option<f64>,
    /// How the limit is known: `printed`, `derived`, `assumed`.
    pub basis: String,
    /// True if it rests on a figure that was printed for this very level and edition.
    pub published: bool,
    /// The limit that binds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// What was measured.
    pub measured: f64,
    /// (measured - true) / true in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_percent: Option<f64>,
    /// How large the error may be.
    pub bar_percent: f64,
}

impl Accuracy {
    /// The same with its error, now that the truth is known.
    #[must_use]
    pub fn against(mut self, truth: f64) -> Self {
        self.truth = Some(truth);
        self.error_percent = (truth > 0.0).then(|| 100.0 * (self.measured - truth) / truth);
        self
    }

    /// `ok`, `beyond` or, where there is no truth, `unknown`.
    pub fn verdict(&self) -> &'static str {
        match self.error_percent {
            Some(error) if error.abs() <= self.bar_percent => "ok",
            Some(_) => "beyond",
            None => "unknown",
        }
    }
}

/// Rows: the measurements, as they were made.
pub(crate) fn grid(rows: &[Accuracy]) -> Option<Grid> {
    let mut grid = Grid::default()
        .text("Level")
        .text("Figure")
        .number("Row")
        .number("Truth")
        .number("Measured")
        .number("Error, %")
        .text("Limit")
        .text("Basis")
        .text("Published")
        .text("Verdict");
    for row in rows {
        grid.row(vec![
            format!("{}@{}", plain(&row.level), plain(&row.edition)).into(),
            format!("{}, {}", title(&row.metric), plain(&row.unit)).into(),
            row.row_bytes.map(|bytes| bytes.to_string()).into(),
            row.truth.and_then(number).into(),
            number(row.measured).into(),
            row.error_percent.map(|error| format!("{error:+.2}")).into(),
            row.limit.as_deref().map(title).into(),
            plain(&row.basis).into(),
            (if row.published { "yes" } else { "no" }).into(),
            row.verdict().into(),
        ]);
    }
    grid.compact()
}
