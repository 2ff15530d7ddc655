//! Records that are odd, on all faces.

use std::path::Path;

use plimsoll_fuzz::Target;
use plimsoll_measurement::RunRecord;
use plimsoll_measurement::version::upgrade_record;
use plimsoll_report::terminal::{self, Style};
use plimsoll_report::{RunSummary, csv, html, in_a_line, json_line, markdown};
use serde_json::Value;

const WIDE: Style = Style { color: false, width: 110, full: false };

/// Cells of each line, by the rules of CSV.
fn widths(text: &str) -> Vec<usize> {
    let (mut widths, mut cells, mut quoted) = (Vec::new(), 1, false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells += 1,
            '\n' if !quoted => {
                widths.push(cells);
                cells = 1;
            }
            _ => {}
        }
    }
    assert!(!quoted, "a cell has no end");
    widths
}

#[test]
fn records() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plimsoll/tests/data/v0.1.0");
    let target = Target::new("records", 40).files(&kept.join("lab"), ".json").files(&kept, "show-killed.json");
    target.files(&kept, "show-failed.json").values(|value: &Value| {
        let mut value = value.clone();
        if upgrade_record(&mut value).is_err() {
            return;
        }
        let Ok(record) = serde_json::from_value::<RunRecord>(value) else { return };
        for style in [Style { color: true, width: 20, full: true }, WIDE] {
            assert!(!terminal::run(&record, style).is_empty());
            assert!(!terminal::runs(&[RunSummary::from(&record)], style).is_empty());
        }
        assert!(!in_a_line(&record).is_empty());
        let records = [record.clone(), record];
        let _ = terminal::side_by_side(&records, WIDE);
        assert!(!markdown::report(&records, |_, _| None).is_empty());
        let page = html::report(&records, |_, _| None, &html::Options { title: "x".into(), generated_at: None });
        assert!(!page.contains("<script>|"), "a text of the record is markup");
        for (rows, ..) in csv::ROWS {
            let widths = widths(&csv::table(&records, rows).expect("a kind of rows"));
            assert!(widths.iter().all(|width| *width == widths[0]), "{rows}: {widths:?}");
        }
        assert!(json_line(&records[0]).is_ok_and(|line| !line.contains('\n')));
    });
}
