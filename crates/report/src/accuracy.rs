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

/// What was published is apart from what the catalogue completed: only the first tells how close the lab comes to a
/// service. Each table has its title.
pub(crate) fn tables(rows: &[Accuracy]) -> [(&'static str, Option<Grid>); 2] {
    [("Levels as published", true), ("Levels completed by rule", false)]
        .map(|(title, published)| (title, grid(rows.iter().filter(|row| row.published == published))))
}

/// Rows: the measurements, as they were made.
fn grid<'a>(rows: impl Iterator<Item = &'a Accuracy>) -> Option<Grid> {
    let mut grid = Grid::default()
        .text("Level")
        .text("Figure")
        .number("Row")
        .number("Truth")
        .number("Measured")
        .number("Error, %")
        .text("Limit")
        .text("Basis")
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
            row.verdict().into(),
        ]);
    }
    grid.compact()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_published_and_what_was_completed_stand_apart() {
        let row = |level: &str, published| Accuracy {
            service: "cloud-db".to_owned(),
            level: level.to_owned(),
            edition: "one".to_owned(),
            metric: "read_rate".to_owned(),
            row_bytes: None,
            unit: "MB/min".to_owned(),
            truth: None,
            basis: "derived".to_owned(),
            published,
            limit: None,
            measured: 99.0,
            error_percent: None,
            bar_percent: 2.0,
        };
        let rows = [row("A", true), row("B", false).against(100.0), row("C", true).against(90.0)];
        let names = tables(&rows).map(|(title, grid)| {
            let rows = grid.map_or_else(Vec::new, |grid| grid.rows);
            (title, rows.iter().map(|row| row[0].marked()).collect::<Vec<_>>())
        });
        assert_eq!(names[0], ("Levels as published", vec!["A@one".to_owned(), "C@one".to_owned()]));
        assert_eq!(names[1], ("Levels completed by rule", vec!["B@one".to_owned()]));
        assert_eq!([&rows[0], &rows[1], &rows[2]].map(Accuracy::verdict), ["unknown", "ok", "beyond"]);
        assert!(tables(&rows[..1])[1].1.is_none());
    }
}
