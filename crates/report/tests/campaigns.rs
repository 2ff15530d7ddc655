//! Campaigns over versions and dates, and pages of histories.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "faces.rs uses all of it")]
mod samples;

use plimsoll_analysis::history::{self, Terms};
use plimsoll_measurement::RunRecord;
use plimsoll_report::history::{History, Run};
use plimsoll_report::terminal::{self, Style};
use plimsoll_report::{RunSummary, html, in_a_line, markdown};

/// A run at a rate that is exact to 2 %.
fn run(test: &str, target: &str, version: &str, started_at: &str, rate: f64) -> RunRecord {
    let mut record =
        if test == "read-scan" { samples::read_scan(target, 1.0) } else { samples::write_chunk(target, 12) };
    record.engine = "postgresql".into();
    record.engine_version = Some(version.into());
    record.clock = "real".into();
    record.started_at = started_at.into();
    let figure = record.result.as_mut().unwrap();
    (figure.value, figure.low, figure.high) = (rate, Some(rate / 1.02), Some(rate * 1.02));
    record
}

const TARGET: &str = "postgres://db.example/shop";
const MARCH: &str = "2026-03-01T10:00:00Z";
const APRIL: &str = "2026-04-01T10:00:00Z";

/// What is said between two headings.
fn tables(records: &[RunRecord]) -> String {
    let text = markdown::report(records, |_, _| None);
    let start = text.find("## Tests by target").expect("the table is there");
    let end = start + 3 + text[start + 3..].find("\n## ").expect("the runs follow");
    text[start..end].to_owned()
}

#[test]
fn versions_of_one_target_are_columns() {
    let runs = [
        run("read-scan", TARGET, "15.3", MARCH, 500.0),
        run("write-chunk", TARGET, "15.3", MARCH, 100.0),
        run("read-scan", TARGET, "15.4", MARCH, 450.0),
        run("write-chunk", TARGET, "15.4", MARCH, 130.0),
    ];
    let text = tables(&runs);
    assert!(text.contains("| Test | Figure | postgresql 15.3 | Bottleneck | postgresql 15.4 | Bottleneck |"), "{text}");
    // Welch's t on the logarithms of three and three: half as wide again as that of one side.
    assert!(text.contains("| Read rate, % | 90.0 (88.") && text.contains("| Write rate, % | 130 (12"), "{text}");
    let page = html::report(&runs, |_, _| None, &html::Options::default());
    assert!(page.contains("<figcaption>In percent of postgresql 15.3"));
    assert!(page.contains("write-chunk: postgresql 15.4"));
}

#[test]
fn what_bound_stands_beside_what_was_delivered() {
    let bound_by = |mut record: RunRecord, limit: Option<&str>, also: &[&str]| {
        record.verdict.limit = limit.map(str::to_owned);
        record.verdict.also = also.iter().map(|name| (*name).to_owned()).collect();
        record
    };
    let read = |target, version| run("read-scan", target, version, MARCH, 500.0);
    let write = |target, version| run("write-chunk", target, version, MARCH, 100.0);
    let runs = [
        bound_by(read("a:", "1"), Some("data_bandwidth"), &["cpu"]),
        bound_by(write("a:", "1"), Some("none"), &[]),
        bound_by(read("b:", "2"), None, &[]),
        bound_by(write("b:", "2"), Some("log_write"), &[]),
    ];
    let text = tables(&runs);
    assert!(text.contains("| postgresql 1 | Bottleneck | postgresql 2 | Bottleneck |"), "{text}");
    assert!(text.contains(" | data bandwidth and CPU | 500 (490 to 510) | – |"), "{text}");
    assert!(text.contains(" | none | 100 (98.0 to 102.0) | log write |"), "{text}");
    let page = html::report(&runs, |_, _| None, &html::Options::default());
    let first = page.find("Each run by itself").unwrap();
    assert!(page[..first].contains(">data bandwidth and CPU</td>"), "before anything is unfolded");
    let style = Style { color: false, width: 100, full: true };
    let beside = terminal::side_by_side(&runs, style);
    assert!(beside.contains("Bottleneck") && beside.contains("log write"), "{beside}");
    assert!(in_a_line(&runs[3]).contains("bottleneck: log write"));
    let list: Vec<RunSummary> = runs.iter().map(RunSummary::from).collect();
    let [narrow, wide] = [60, 140].map(|width| terminal::runs(&list, Style { width, ..style }));
    assert!(wide.contains("log write") && wide.contains("State"), "{wide}");
    assert!(!narrow.contains("log write") && !narrow.contains("State"), "{narrow}");
    assert!(terminal::runs(&list, style).contains("log write"), "it stays before what is the same of all");
    // Where it is known of no run of a column there is no room for it.
    let unknown = runs.map(|record| bound_by(record, None, &[]));
    assert!(!tables(&unknown).contains("Bottleneck"), "{}", tables(&unknown));
}

#[test]
fn of_a_search_it_is_said_which_requests_are_told_of() {
    let mut record = samples::requests::ladder("lab:x");
    let said = |record: &RunRecord| {
        markdown::report(std::slice::from_ref(record), |_, _| None).contains("met the goal in all tries")
    };
    assert!(!said(&record), "requests of all phases");
    for repetition in &mut record.repetitions {
        let found = repetition.phases.iter().find(|phase| phase.holds == Some(true)).unwrap().operations;
        repetition.requests[0].operations = found;
    }
    assert!(said(&record), "requests of one");
}

#[test]
fn days_are_columns_where_a_test_was_run_on_several() {
    let mut runs = vec![
        run("read-scan", TARGET, "15.3", MARCH, 500.0),
        run("write-chunk", TARGET, "15.3", MARCH, 100.0),
        run("read-scan", TARGET, "15.3", APRIL, 450.0),
        run("write-chunk", TARGET, "15.3", APRIL, 130.0),
    ];
    let text = tables(&runs);
    assert!(text.contains("| postgresql 15.3, 2026-03-01 | Bottleneck | postgresql 15.3, 2026-04-01 |"), "{text}");
    // Different tests on different days are one column still, and virtual time has no days.
    for (at, record) in runs.iter_mut().enumerate() {
        record.clock = "virtual".into();
        record.target = format!("{TARGET}{}", at / 2);
    }
    assert!(tables(&runs).contains("| shop0 | Bottleneck | shop1 |"));
}

#[test]
fn what_is_held_against_a_bound_has_no_percentage() {
    let limited = |mut record: RunRecord| {
        let client = plimsoll_measurement::Client { verdict: "was-the-limit".into(), ..Default::default() };
        record.host.client = Some(client);
        record
    };
    let base = [run("read-scan", "a:", "1", MARCH, 500.0), run("write-chunk", "a:", "1", MARCH, 100.0)];
    let other = [run("read-scan", "b:", "2", MARCH, 450.0), run("write-chunk", "b:", "2", MARCH, 130.0)];
    let bounded: Vec<RunRecord> = base.iter().cloned().map(limited).chain(other.iter().cloned()).collect();
    assert!(!tables(&bounded).contains("In percent"));
    let above: Vec<RunRecord> = base.iter().cloned().chain(other.iter().cloned().map(limited)).collect();
    assert!(tables(&above).contains("at least 90.0 (88."), "{}", tables(&above));
}

fn slower() -> History {
    let values = [500.0, 502.0, 497.0, 501.0, 499.0, 503.0, 500.0, 450.0, 448.0, 452.0, 451.0, 449.0];
    let run = |(at, value): (usize, &f64)| Run {
        run_id: format!("0195{at:02}"),
        at: format!("2026-03-{:02}T10:00:00Z", at * 2 + 1),
        value: *value,
        interval: Some((value * 0.98, value * 1.02)),
        repetitions: 3,
        version: Some(if at < 7 { "15.3" } else { "15.4" }.into()),
    };
    let judged: Vec<history::Run> =
        values.iter().map(|value| history::Run { value: *value, log_error: None }).collect();
    History {
        test: "read-scan".into(),
        target: TARGET.into(),
        metric: "read_rate".into(),
        unit: "MB/min".into(),
        runs: values.iter().enumerate().map(run).collect(),
        found: history::history(&judged, Terms::new(true)),
        beside: vec![Some("engine version (15.3 against 15.4)".into())],
        left_out: vec!["0194: it differs in volume (1 against 2)".into()],
    }
}

#[test]
fn a_history_is_an_answer_levels_and_runs() {
    insta::assert_snapshot!(
        "terminal_history",
        terminal::report(&slower().report(), Style { color: false, width: 100, full: true })
    );
    let narrow = terminal::report(&slower().report(), Style { color: false, width: 64, full: true });
    let runs = &narrow[narrow.find("RUNS\n").unwrap()..];
    assert!(runs.contains("Date (UTC)") && !runs.contains("Repetitions"), "{runs}");
    let page = html::page(&[slower().report()], "12 runs", &html::Options { title: "<b>".into(), generated_at: None });
    assert!(!page.contains("<b>") && page.contains("It has got worse") && page.contains("level 2"));
    for (open, close) in [("<svg", "</svg>"), ("<path", "</path>"), ("<table", "</table>")] {
        assert_eq!(page.matches(open).count(), page.matches(close).count(), "{open}");
    }
}

/// The titles, levels and values of the page's grouped bars, from top to bottom.
fn bars(records: &[RunRecord]) -> Vec<String> {
    let page = html::report(records, |_, _| None, &html::Options::default());
    let labels = page.split("aria-label=\"read-scan: read rate. ").skip(1);
    labels.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

fn of_campaign(target: &str, campaign: &str, rate: f64) -> RunRecord {
    RunRecord { campaign: Some(campaign.to_owned()), ..run("read-scan", target, "3", MARCH, rate) }
}

#[test]
fn campaigns_stand_side_by_side_and_levels_far_apart_have_scales_of_their_own() {
    let runs = [
        of_campaign("lab:db/S2@a", "july", 160.0),
        of_campaign("lab:db/P1@a", "july", 2_000.0),
        of_campaign("lab:db/S2@b", "ga", 580.0),
        of_campaign("lab:db/P1@b", "ga", 4_800.0),
        of_campaign("lab:db/S3@b", "ga", 590.0),
        of_campaign("lab:db/S2@b", "ga", 550.0),
    ];
    // The last run of a level in a campaign counts; S3 is just below an eighth of P1.
    let both = ["S2: july 160", "S3: ga 590", "P1: july 2,000"];
    let charts = bars(&runs);
    assert_eq!(charts.len(), 2, "{charts:?}");
    assert!(
        charts[0].starts_with(both[0]) && charts[0].contains("ga 550") && charts[0].contains(both[1]),
        "{charts:?}"
    );
    assert!(charts[1].starts_with(both[2]), "{charts:?}");
}

#[test]
fn without_campaigns_editions_tell_apart_and_one_value_each_is_no_comparison() {
    let of = |target: &str| run("read-scan", target, "3", MARCH, 100.0);
    let (a, b, other) = (of("lab:db/S2@a?scale=1"), of("lab:db/S2@b"), of("lab:db/S3@b"));
    assert_eq!(bars(&[a.clone(), b.clone(), other]).len(), 1);
    assert_eq!(bars(&[a, b]), Vec::<String>::new());
    assert_eq!(bars(&[of("postgres://a.example/x"), of("postgres://b.example/x")]), Vec::<String>::new());
}

#[test]
fn runs_that_did_not_measure_the_same_have_no_headline_and_no_bars_in_common() {
    let runs = ["a", "b"].map(|target| samples::read_scan(target, 354.0));
    let all = |refusal| [markdown::report(&runs, refusal), html::report(&runs, refusal, &html::Options::default())];
    let [plain, page] = all(|_, _| None);
    assert!(plain.contains("in all 2 runs") && page.contains("in all 2 runs"));
    let [refused, refused_page] = all(|a, b| (a.run_id != b.run_id || a.target != b.target).then(|| "goal".to_owned()));
    for text in [&refused, &refused_page] {
        assert!(text.contains("a and b did not measure the same: they differ in goal."), "{text}");
        assert!(!text.contains("in all 2 runs"));
    }
    assert!(refused_page.matches("<svg").count() < page.matches("<svg").count());
}

#[test]
fn a_run_with_any_warning_shown_is_counted() {
    let mut runs = ["a", "b"].map(|target| samples::read_scan(target, 354.0));
    for run in &mut runs {
        run.warnings.clear();
        run.host.warnings.clear();
    }
    let text = markdown::report(&runs, |_, _| None);
    assert!(!text.contains("**Warning:**"), "{text}");
    // What stands in the run's own list and what is seen in its course count alike.
    for run in &mut runs {
        run.clock = "real".to_owned();
    }
    runs[0].warnings.push("it rains".to_owned());
    runs[1].host.warnings.push("busy".to_owned());
    let text = markdown::report(&runs, |_, _| None);
    assert!(text.contains("2 of 2 runs have warnings."), "{text}");
}
