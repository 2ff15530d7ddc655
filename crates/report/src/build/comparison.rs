//! Runs against a baseline: the ratio of each figure, its interval, and what it means.

use crate::model::format::{self, confidence, ends, name, plain, signed_percent, title};
use crate::model::{Part, Rank, Report, Table, Tone, Value, number, text};

/// One figure of a run against the same figure of another.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What is compared: `read_rate`, ...
    pub metric: String,
    /// What counts as 1.
    pub baseline: String,
    /// What is held against it.
    pub candidate: String,
    /// Candidate over baseline; absent if either side has no figure.
    pub ratio: Option<f64>,
    /// Lower end of the ratio's interval.
    pub low: Option<f64>,
    /// Upper end of the ratio's interval.
    pub high: Option<f64>,
    /// Confidence of the interval, 0.95 for 95 %.
    pub confidence: f64,
    /// What it means, in a word.
    pub verdict: String,
    /// Why there is no verdict, or what would give one.
    pub why: Option<String>,
    /// What has to be known of the runs before the ratio is trusted.
    pub notes: Vec<String>,
}

/// A report for each candidate and its baseline.
pub fn comparison(all: &[Comparison]) -> Vec<Report> {
    all.chunk_by(|one, other| (&one.baseline, &one.candidate) == (&other.baseline, &other.candidate))
        .map(pair)
        .collect()
}

fn pair(figures: &[Comparison]) -> Report {
    let first = &figures[0];
    let mut report = Report::new("Candidate against baseline");
    report.about =
        vec![format!("baseline   {}", plain(&first.baseline)), format!("candidate  {}", plain(&first.candidate))];
    let mut answer = Part::of(Rank::Answer);
    for one in figures {
        answer.say(Tone::Headline, sentence(one));
        answer.say(Tone::Evidence, one.why.clone());
    }
    for note in figures.iter().flat_map(|one| &one.notes) {
        answer.say(Tone::Warning, note.clone());
    }
    let ratio = |one: &Comparison| Value {
        value: one.ratio.unwrap_or(f64::NAN),
        low: one.low,
        high: one.high,
        ..Value::default()
    };
    let heading = number(format!("Ratio, {} interval", confidence(first.confidence)), "").page("STATISTICS.md");
    let table = Table::of(
        figures,
        &[
            (text("Figure"), &|one| title(&one.metric).into()),
            (heading, &|one| ratio(one).into()),
            (number("Change", "%").signed(), &|one| one.ratio.map(|ratio| (ratio - 1.0) * 100.0).into()),
            (text("Verdict"), &|one| plain(&one.verdict).into()),
        ],
    );
    let mut shown = Part::of(Rank::Table);
    shown.table("", table);
    report.add_all([answer, shown]);
    report
}

fn sentence(one: &Comparison) -> String {
    let (figure, verdict) = (name(&one.metric), plain(&one.verdict));
    let Some(ratio) = one.ratio.filter(|ratio| ratio.is_finite()) else {
        return format!("The {figure} has no ratio to the baseline: {verdict}.");
    };
    let change = signed_percent((ratio - 1.0) * 100.0).unwrap_or_default();
    let ends = one.low.zip(one.high).and_then(|(low, high)| ends(ratio, low, high));
    let interval =
        ends.map_or_else(|| "no interval".to_owned(), |ends| format!("{} interval {ends}", confidence(one.confidence)));
    let ratio = format::number(ratio).unwrap_or_default();
    format!("The {figure} is {ratio} times that of the baseline ({change}, {interval}): {verdict}.")
}
