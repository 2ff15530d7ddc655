//! The outputs of sample records: snapshots of the texts, and what must hold of the page.

mod samples;

use plimsoll_measurement::RunRecord;
use plimsoll_report::terminal::{self, Comparison, RunSummary, Style};
use plimsoll_report::{csv, html, json_line, markdown};

const PLAIN: Style = Style { color: false, width: 100 };

fn page(records: &[RunRecord]) -> String {
    let options = html::Options { title: "Sample".into(), generated_at: Some("2026-03-02T08:00:00Z".into()) };
    html::report(records, &options)
}

#[test]
fn terminal_shows_each_kind_of_run() {
    let s2 = "lab:azure-sql-db/S2@v12-ga-2015-01";
    let runs = [
        ("read_scan", samples::read_scan(s2, 354.0)),
        ("write_chunk", samples::write_chunk(s2, 12)),
        ("cpu_join", samples::cpu_join(s2, 1.0)),
        ("memory", samples::memory(s2)),
        ("failed", samples::failed()),
        ("single", samples::single()),
        ("empty", samples::empty()),
    ];
    for (name, record) in runs {
        insta::assert_snapshot!(format!("terminal_{name}"), terminal::run(&record, PLAIN));
    }
}

#[test]
fn terminal_lists_and_compares() {
    let list: Vec<RunSummary> = samples::all().iter().map(RunSummary::from).collect();
    insta::assert_snapshot!("terminal_list", terminal::runs(&list, Style { color: false, width: 140 }));
    let comparison = Comparison {
        metric: "read_rate".into(),
        baseline: "lab:azure-sql-db/S1".into(),
        candidate: "lab:azure-sql-db/S2".into(),
        ratio: Some(2.19),
        low: Some(2.1),
        high: Some(2.28),
        confidence: 0.95,
        verdict: "better".into(),
    };
    let unknown = Comparison { ratio: None, low: None, high: None, verdict: "undecided".into(), ..comparison.clone() };
    insta::assert_snapshot!("terminal_comparison", terminal::comparison(&[comparison, unknown], PLAIN));
    let ladder = samples::cpu_join("x", 1.0).cpu_table.unwrap();
    insta::assert_snapshot!("terminal_cpu", terminal::cpu_table(&ladder, PLAIN));
    assert_eq!(terminal::runs(&[], PLAIN), "No runs.\n");
}

#[test]
fn terminal_stays_within_its_width_and_colour_adds_no_words() {
    for record in samples::all() {
        let text = terminal::run(&record, Style { color: false, width: 80 });
        let tables = text.lines().filter(|line| line.starts_with(['─', '═', ' ']));
        for line in tables {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(!text.contains('\u{1b}'), "{text}");
        for word in ["Exponent", "incomplete", "MB/min", "reports"] {
            let whole = terminal::run(&record, PLAIN).contains(word);
            assert_eq!(text.contains(word), whole, "{word} is broken in\n{text}");
        }
        let coloured = terminal::run(&record, Style { color: true, width: 80 });
        let mut stripped = coloured.clone();
        for code in ["1", "2", "31", "33", "0"] {
            stripped = stripped.replace(&format!("\u{1b}[{code}m"), "");
        }
        assert_ne!(coloured, stripped);
        assert_eq!(stripped, text);
    }
}

#[test]
fn markdown_reports_all_runs() {
    let s2 = "lab:azure-sql-db/S2@v12-ga-2015-01";
    let mut scan = samples::read_scan(s2, 354.0);
    scan.repetitions.iter_mut().for_each(|repetition| repetition.minutes.truncate(2));
    let records = [scan, samples::cpu_join(s2, 1.0), samples::memory(s2), samples::failed(), samples::single()];
    let text = markdown::report(&records);
    assert!(!text.contains("<script") && !text.contains("<b>"));
    insta::assert_snapshot!("markdown", text);
}

#[test]
fn csv_has_a_row_for_each_point() {
    let records = [samples::failed(), samples::memory("lab:x"), samples::empty()];
    let text = csv::points(&records);
    let points: usize = records.iter().flat_map(|record| &record.repetitions).map(|r| r.points.len()).sum();
    assert_eq!(text.matches("\r\n").count(), points + 1);
    assert!(text.starts_with("run_id,test,target,repetition,index,label,"));
    insta::assert_snapshot!("csv", text.replace("\r\n", "\n"));
}

#[test]
fn json_lines_are_lines_and_come_back() {
    for record in samples::all() {
        let line = json_line(&record).unwrap();
        assert!(!line.contains('\n'));
        let back: RunRecord = serde_json::from_str(&line).unwrap();
        assert!(back.run_id == record.run_id && back.warnings == record.warnings && back.error == record.error);
        let points = |run: &RunRecord| run.repetitions.iter().map(|r| r.points.len()).collect::<Vec<_>>();
        assert_eq!(points(&back), points(&record));
    }
}

#[test]
fn page_fetches_nothing_and_runs_nothing() {
    let mut records = samples::all();
    for record in &mut records {
        record.target = record.target.replace("postgres://", "postgres:");
    }
    let page = page(&records);
    for forbidden in
        ["http:", "https:", "<script", "<link", "<img", "<iframe", "@import", "url(", "onload", "<b>tables"]
    {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert!(page.contains("&lt;script&gt;alert('x')&lt;/script&gt;"));
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn no_page_shows_what_is_not_a_number() {
    let mut broken = samples::read_scan("lab:x", 100.0);
    for point in &mut broken.repetitions[0].points {
        point.mb_per_minute = Some(f64::NAN);
    }
    broken.result.as_mut().unwrap().value = f64::INFINITY;
    let mut records = samples::all();
    records.push(broken);
    let texts = [page(&records), markdown::report(&records), csv::points(&records)];
    for text in texts.into_iter().chain(records.iter().map(|record| terminal::run(record, PLAIN))) {
        let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
        for word in ["NaN", "inf", "None", "Some"] {
            assert!(!words.contains(&word), "{word}");
        }
    }
}

#[test]
fn every_chart_says_what_it_is_and_links_lead_somewhere() {
    let page = page(&samples::all());
    let charts = page.matches("<figure class=\"chart\">").count();
    assert_eq!(charts, page.matches("role=\"img\" aria-label=\"").count());
    // Bars of the two figures with several runs, rates of 5 scans and a write, two ladders, one memory.
    assert_eq!(charts, 2 + 6 + 2 + 1);
    for at in 1..=samples::all().len() {
        assert!(page.contains(&format!("href=\"#run-{at}\"")) && page.contains(&format!("id=\"run-{at}\"")));
    }
    for (open, close) in [("<svg", "</svg>"), ("<path", "</path>"), ("<table", "</table>"), ("<div", "</div>")] {
        assert_eq!(page.matches(open).count(), page.matches(close).count(), "{open}");
    }
}

#[test]
fn page_of_thousands_of_points_stays_small() {
    let record = samples::write_chunk("lab:x", 10_000);
    let page = page(&[record]);
    assert!(page.len() < 250_000, "{} bytes", page.len());
}

#[test]
fn what_is_unknown_is_no_zero() {
    let text = terminal::run(&samples::empty(), PLAIN);
    assert!(text.contains("No result") && !text.contains("MB/min"), "{text}");
    let page = page(&[samples::empty()]);
    assert!(!page.contains("figure class=\"chart\"") && page.contains("No result"));
}
