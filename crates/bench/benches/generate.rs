//! How fast rows are made: content and checksum, on one core. The bar is 400 MB of data content a second.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::time::Instant;

use plimsoll_analysis::summary;
use plimsoll_bench::generate::{Family, Rows};
use plimsoll_bench::schema::Width;
use plimsoll_engine::Row;
use plimsoll_engine::value::RowSummary;

const ROWS: u64 = 500_000;
const ROUNDS: u64 = 9;

fn main() {
    let mut rates: Vec<(f64, f64)> = Vec::new();
    for round in 0..ROUNDS {
        let (mut row, mut content, mut row_summary) = (Row::default(), 0, RowSummary::default());
        let start = Instant::now();
        let mut rows = Rows::new(Family::Typed(Width::Seeds), round, 0, 1, ROWS);
        while rows.fill(&mut row) {
            content += row.content_bytes();
        }
        let alone = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let mut rows = Rows::new(Family::Typed(Width::Seeds), round, 0, 1, ROWS);
        while rows.fill(&mut row) {
            row_summary.add(&mut row);
        }
        let with_checksum = start.elapsed().as_secs_f64();
        assert_eq!(row_summary.content_bytes, content);
        let megabytes = content as f64 / f64::from(1 << 20);
        rates.push((megabytes / alone, megabytes / with_checksum));
    }
    for (name, rates) in [
        ("rows", rates.iter().map(|(alone, _)| *alone).collect::<Vec<_>>()),
        ("rows and their checksum", rates.iter().map(|(_, both)| *both).collect()),
    ] {
        let median = summary::median(&rates).unwrap_or_default();
        let (low, high) = summary::range(&rates).unwrap_or_default();
        println!("{name}: {median:.0} MB/s per core ({low:.0} to {high:.0}, {ROUNDS} rounds of {ROWS} rows)");
    }
}
