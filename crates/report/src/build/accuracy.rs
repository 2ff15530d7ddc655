//! How exact the lab is: what each test should show on each level, and what it showed.

use serde::Serialize;

use crate::model::format::{count, plain, title};
use crate::model::{Part, Rank, Report, Table, Tone, number, text};

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
/// service.
pub fn report(rows: &[Accuracy]) -> Report {
    let mut report = Report::new("Accuracy of the lab");
    let (mut answer, mut published, mut completed) =
        (Part::of(Rank::Answer), Part::of(Rank::Table), Part::detail("Levels completed by rule"));
    let within = rows.iter().filter(|row| row.verdict() == "ok").count();
    answer.say(
        Tone::Headline,
        match rows.len() {
            0 => "Nothing was measured.".to_owned(),
            all => format!("{within} of {} lie within their bars.", count(all, "measurement")),
        },
    );
    published.table("Levels as published", grid(rows.iter().filter(|row| row.published)));
    completed.table("Levels completed by rule", grid(rows.iter().filter(|row| !row.published)));
    report.add_all([answer, published, completed]);
    report
}

/// Rows: the measurements, as they were made.
fn grid<'a>(rows: impl Iterator<Item = &'a Accuracy>) -> Option<Table> {
    Table::of(
        rows,
        &[
            (text("Level"), &|row| format!("{}@{}", plain(&row.level), plain(&row.edition)).into()),
            (text("Figure"), &|row| format!("{}, {}", title(&row.metric), plain(&row.unit)).into()),
            (number("Row", "bytes"), &|row| row.row_bytes.into()),
            (number("Expected", "").page("ACCURACY.md"), &|row| row.truth.into()),
            (number("Measured", ""), &|row| row.measured.into()),
            (number("Off by", "%").signed(), &|row| row.error_percent.into()),
            (text("Limit"), &|row| row.limit.as_deref().map(title).into()),
            (text("Basis"), &|row| plain(&row.basis).into()),
            (text("Verdict"), &|row| row.verdict().into()),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Block;

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
        let report = report(&rows);
        let tables: Vec<&Table> = report
            .parts
            .iter()
            .flat_map(|part| &part.blocks)
            .filter_map(|block| match block {
                Block::Table(table) => Some(table),
                _ => None,
            })
            .collect();
        let levels = |table: &Table| table.rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>();
        assert_eq!(tables[0].title, "Levels as published");
        assert_eq!(levels(tables[0]), ["A@one".into(), "C@one".into()]);
        assert_eq!(levels(tables[1]), ["B@one".into()]);
        assert_eq!([&rows[0], &rows[1], &rows[2]].map(Accuracy::verdict), ["unknown", "ok", "beyond"]);
    }
}
