//! Simulated cases side by side: how the rate goes from the first case to the best, a bar for each, and a table with what was published
//! beside what was simulated.

use plimsoll_measurement::{Figure, RunRecord};

use super::words;
use crate::model::format::{count, plain, quantity};
use crate::model::{Bar, BarChart, Cell, Part, Picture, Rank, Report, Table, Tone, Value, number, text};

/// The name of the row of what was published.
const PUBLISHED: &str = "  published";

/// The report of several cases of a scenario, with sentences that say what they have in common.
pub fn simulated(records: &[RunRecord], remarks: &[String]) -> Report {
    let basis = records.first().map(|record| record.basis).unwrap_or_default();
    let (scenario, _) = records.first().map_or(("no scenario", ""), parts);
    let title = format!("{}: {}", plain(scenario), count(records.len(), "case"));
    let mut report = Report { basis, ..Report::new(title) };
    report.add_all([answer(records, remarks), picture(records), table(records)]);
    report
}

/// The scenario, and which of its cases a record is.
fn parts(record: &RunRecord) -> (&str, &str) {
    record.target.split_once('/').unwrap_or((&record.target, ""))
}

fn figure<'a>(record: &'a RunRecord, metric: &str) -> Option<&'a Figure> {
    record.results.iter().find(|figure| figure.metric == metric)
}

fn answer(records: &[RunRecord], remarks: &[String]) -> Part {
    let mut part = Part::of(Rank::Answer);
    let known: Vec<(&RunRecord, &Figure)> =
        records.iter().filter_map(|record| Some((record, record.result.as_ref()?))).collect();
    let best = known.iter().max_by(|one, other| one.1.value.total_cmp(&other.1.value));
    if let (Some((first, rate)), Some((best, best_rate))) = (known.first(), best) {
        let shown = |figure: &Figure| quantity(figure.value, &figure.unit);
        let case = |record: &RunRecord| plain(parts(record).1);
        part.say(
            Tone::Headline,
            if best_rate.value <= rate.value {
                format!("No case gives more than the first ({}): {}.", case(first), shown(rate))
            } else {
                let factor = best_rate.value / rate.value;
                let (from, to) = (case(first), case(best));
                format!(
                    "From {from} to {to} the rate goes from {} to {}: x {factor:.2}.",
                    shown(rate),
                    shown(best_rate)
                )
            },
        );
        let of_best = if records.len() > 1 { format!("Of {}: ", case(best)) } else { String::new() };
        part.say(Tone::Plain, words::bottleneck(&best.verdict).map(|sentence| format!("{of_best}{sentence}")));
        for sentence in best.verdict.evidence.iter().take(3) {
            part.say(Tone::Evidence, sentence.clone());
        }
    }
    for remark in remarks {
        part.say(Tone::Plain, remark.clone());
    }
    let unknown = records.len() - known.len();
    if unknown > 0 {
        let sentence =
            format!("{} did not become steady: there is not enough evidence for figures.", count(unknown, "case"));
        part.say(Tone::Warning, sentence);
    }
    let mut warnings: Vec<&String> = Vec::new();
    for warning in records.iter().flat_map(|record| &record.warnings) {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    for warning in warnings {
        part.say(Tone::Warning, warning.clone());
    }
    part
}

fn picture(records: &[RunRecord]) -> Part {
    let bars = records.iter().filter_map(|record| {
        let figure = record.result.as_ref()?;
        let expected = figure.expected.as_ref().map(|expected| expected.value);
        Some(Bar { label: plain(parts(record).1), value: words::value(record, figure), expected })
    });
    let mut part = Part::of(Rank::Picture);
    part.pictures([Picture::Bars(BarChart::plain("Requests a second", "requests/s".to_owned(), bars))]);
    part
}

/// Rows: the cases, each with what was published of it below.
fn table(records: &[RunRecord]) -> Part {
    const FIGURES: [(&str, &str, &str); 7] = [
        ("request_rate", "Requests", "1/s"),
        ("latency_p99", "p99", "ms"),
        ("cpu_used", "CPU", "%"),
        ("log_wait_share", "Log wait", "%"),
        ("page_wait_share", "Page wait", "%"),
        ("data_write_latency", "Data write", "ms"),
        ("log_write_latency", "Log write", "ms"),
    ];
    let columns = FIGURES.iter().map(|(_, label, unit)| number(*label, *unit));
    let mut table = Table::with([text("Case")].into_iter().chain(columns).chain([text("Bottleneck")]));
    for record in records {
        let simulated = FIGURES.iter().map(|(metric, ..)| {
            let value = figure(record, metric).map(|figure| words::value(record, figure));
            value.map(|value| Value { low: None, high: None, ..value }).into()
        });
        let limit = words::limit_in_a_cell(record.verdict.limit.as_deref(), &record.verdict.also);
        let name: Cell = plain(parts(record).1).into();
        table.row([name].into_iter().chain(simulated).chain([limit.into()]).collect());
        let published = FIGURES.map(|(metric, ..)| Some(figure(record, metric)?.expected.as_ref()?.value));
        if published.iter().any(Option::is_some) {
            let published = published.into_iter().map(Cell::from);
            table.row([Cell::from(PUBLISHED)].into_iter().chain(published).chain([Cell::default()]).collect());
        }
    }
    let mut part = Part::of(Rank::Table);
    part.table("", Some(table));
    part
}

#[cfg(test)]
mod tests {
    use plimsoll_measurement::{Basis, Expected};

    use super::*;
    use crate::model::Block;

    fn record(case: &str, rate: Option<f64>) -> RunRecord {
        let figure = rate.map(|value| Figure {
            metric: "request_rate".to_owned(),
            value,
            unit: "1/s".to_owned(),
            low: Some(value * 0.9),
            high: Some(value * 1.1),
            confidence: 0.95,
            values: vec![value; 3],
            repetitions: 3,
            point_cv_percent: None,
            note: None,
            expected: Some(Expected {
                value: 1_000.0,
                unit: "1/s".to_owned(),
                basis: "printed".to_owned(),
                published: true,
                limit: None,
                reason: None,
                error_percent: None,
            }),
        });
        RunRecord {
            run_id: case.to_owned(),
            target: format!("scenario:x/{case}"),
            basis: Basis::Simulated,
            result: figure.clone(),
            results: figure.into_iter().collect(),
            ..RunRecord::default()
        }
    }

    fn sentences(report: &Report) -> Vec<String> {
        let blocks = report.parts.iter().flat_map(|part| &part.blocks);
        let text =
            |block: &Block| if let Block::Sentence(sentence) = block { Some(sentence.text.clone()) } else { None };
        blocks.filter_map(text).collect()
    }

    #[test]
    fn the_answer_goes_from_the_first_case_to_the_best_and_says_what_is_unknown() {
        let report = simulated(
            &[record("small", Some(500.0)), record("large", Some(1_250.0)), record("wild", None)],
            &["Both are alike.".to_owned()],
        );
        assert!(report.heading().contains("(simulated)"), "{}", report.heading());
        let said = sentences(&report);
        assert!(said[0].contains("From small to large") && said[0].contains("x 2.50"), "{said:?}");
        assert!(said.contains(&"Both are alike.".to_owned()));
        assert!(said.iter().any(|text| text.starts_with("1 case did not become steady")), "{said:?}");
        let report = simulated(&[record("small", Some(500.0)), record("large", Some(400.0))], &[]);
        assert!(sentences(&report)[0].starts_with("No case gives more than the first (small)"));
        let report = simulated(&[record("small", Some(0.0)), record("large", Some(0.0))], &[]);
        assert!(sentences(&report)[0].starts_with("No case gives more than the first (small)"));
    }

    #[test]
    fn what_was_published_stands_beside_what_was_simulated() {
        let report = simulated(&[record("small", Some(500.0)), record("wild", None)], &[]);
        let table = report.parts.iter().flat_map(|part| &part.blocks).find_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        });
        let rows = &table.unwrap().rows;
        assert_eq!(rows.len(), 3);
        assert_eq!((&rows[1][0], &rows[1][1]), (&Cell::from(PUBLISHED), &Cell::quantity(1_000.0, "1/s")));
        assert_eq!(rows[2][1], Cell::default());
    }
}
