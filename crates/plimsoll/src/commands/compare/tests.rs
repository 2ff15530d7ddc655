//! What a pair of runs says of a figure.

use super::*;

impl Row {
    fn sentence(&self) -> String {
        let verdict = self.verdict.name();
        self.why().map_or_else(|| verdict.to_owned(), |why| format!("{verdict}: {why}"))
    }
}

fn empty() -> RunRecord {
    let text = r#"{"schema_version": "2.0", "subject": "database", "basis": "measured", "run_id": "", "test": "", "target": "", "engine": "", "clock": "real",
        "started_at": "", "parameters": {}, "definition": {"hash": "", "text": ""}, "build": "", "repetitions": [],
        "verdict": {"limit": null, "evidence": []}, "warnings": [], "host": {"platform": "", "cpus": 1}}"#;
    serde_json::from_str(text).unwrap()
}

fn row(a: &[f64], b: &[f64], margin: f64) -> Row {
    let run = empty();
    let series = |values: &[f64]| Series::new("read_rate", "MB/min", values.to_vec());
    Row::of(&run, &run, &series(a), &series(b), margin)
}

#[test]
fn figures_of_knees_at_two_places_are_not_judged() {
    let time = |place: &str| {
        let text = r#"{"metric": "knee_latency_p50", "value": 1, "unit": "ms", "confidence": 0.95, "values": [1], "repetitions": 1}"#;
        let figure: Figure = serde_json::from_str(text).unwrap();
        RunRecord { results: vec![Figure { note: Some(place.to_owned()), ..figure }], ..empty() }
    };
    let judged = |metric: &str, place: &str| {
        let series = |ms: f64| Series::new(metric, "ms", vec![ms, 1.01 * ms, 0.99 * ms]);
        Row::of(&time("at 1 x 4"), &time(place), &series(1.0), &series(2.0), 0.05)
    };
    assert_eq!(judged("knee_latency_p99", "at 1 x 4").verdict, Verdict::Worse);
    assert_eq!(judged("other_latency_p99", "at 1 x 8").verdict, Verdict::Worse);
    assert_eq!(judged("knee_iops", "at 1 x 4").verdict, Verdict::Worse);
    for metric in ["knee_latency_p99", "knee_iops"] {
        let unlike = judged(metric, "at 1 x 8");
        assert_eq!((unlike.verdict, unlike.p_value), (Verdict::Undecided, None), "{metric}");
        let said = "undecided: the knee is at 1 x 4 in the first run and at 1 x 8 in the other: compare the cells";
        assert_eq!(unlike.sentence(), said);
    }
}

#[test]
fn what_is_undecided_says_how_many_repetitions_would_tell() {
    let few = row(&[100.0, 104.0, 97.0], &[106.0, 109.0, 101.0], 0.01);
    let count = few.repetitions_to_decide.expect("a number");
    assert!((4..=26).contains(&count), "{count}");
    assert_eq!(few.sentence(), format!("undecided: about {count} repetitions per side would decide; there are 3"));
    let uneven = row(&[100.0, 104.0, 97.0], &[106.0, 109.0, 101.0, 108.0], 0.01).sentence();
    assert!(uneven.ends_with("; there are 3 and 4"), "{uneven}");
    let many = row(&[100.0, 104.0, 97.0], &[102.0, 105.0, 100.0], 0.01).sentence();
    assert!(many.contains("more than a run can have (26)"), "{many}");
    let hopeless = row(&[100.0, 150.0, 60.0], &[101.0, 151.0, 59.0], 0.0);
    assert_eq!(hopeless.repetitions_to_decide, None);
    assert!(hopeless.sentence().starts_with("undecided: more than 100 repetitions"), "{}", hopeless.sentence());
    let single = row(&[100.0], &[106.0, 109.0], 0.01);
    assert!(single.sentence().starts_with("undecided: a single repetition shows no spread"));
    assert_eq!(row(&[100.0, 100.0], &[200.0, 200.0], 0.05).sentence(), "better");
    assert_eq!(row(&[100.0, 100.0], &[0.0, 200.0], 0.05).sentence(), "undecided", "a rate of zero has no ratio");
}

/// With a faster client the run that it held back would only be better.
#[test]
fn a_bound_is_no_doubt_where_it_lies_on_the_far_side() {
    let limited = |values: &[f64]| {
        let doubt = Some(CLIENT_WAS_THE_LIMIT.to_owned());
        Series { doubt, ..Series::new("request_rate", "1/s", values.to_vec()) }
    };
    let free = |values: &[f64]| Series::new("request_rate", "1/s", values.to_vec());
    let (high, low) = ([2700.0, 2710.0, 2690.0], [360.0, 362.0, 358.0]);
    let run = empty();
    let verdict = |a: &Series, b: &Series| Row::of(&run, &run, a, b, 0.05).verdict;
    assert_eq!(verdict(&limited(&high), &free(&low)), Verdict::Worse);
    assert_eq!(verdict(&free(&low), &limited(&high)), Verdict::Better);
    assert_eq!(verdict(&free(&high), &limited(&low)), Verdict::Undecided);
    assert_eq!(verdict(&limited(&high), &limited(&low)), Verdict::Undecided);
    let said = Row::of(&run, &run, &limited(&high), &free(&low), 0.05).why();
    assert_eq!(said.as_deref(), Some("the client limited the better run, so the difference is at least that"));
}

#[test]
fn one_of_many_metrics_that_is_worse_by_chance_is_no_failure() {
    // One in twenty-two by itself (p = 0.046): among five metrics that happens in one family of five.
    let chance = || row(&[100.0, 104.0, 97.0], &[92.0, 90.0, 96.0], 0.0);
    let same = || row(&[100.0, 104.0, 97.0], &[101.0, 97.0, 103.0], 0.0);
    let run = empty();
    let family = |rows: Vec<Row>| {
        let unsteady = [Vec::new(), Vec::new()];
        let mut pairs = [Pair { base: &run, other: &run, differences: Vec::new(), rows, rounds: None, unsteady }];
        let count = judge_together(&mut pairs);
        let row = &pairs[0].rows[0];
        (row.verdict, row.is_certain(), told(&pairs, count))
    };
    let (verdict, certain, _) = family(vec![chance()]);
    assert_eq!((verdict, certain), (Verdict::Worse, true));
    let (verdict, certain, said) = family(vec![chance(), same(), same(), same(), same()]);
    assert_eq!((verdict, certain), (Verdict::Undecided, false), "beside others it is no verdict, and does not fail");
    assert!(
        said.starts_with("--fail-on worse: 5 comparisons together raise a false alarm in at most 5 of 100"),
        "{said}"
    );
    assert!(said.contains("worse by: read_rate ") && said.ends_with(" %. That is of repetitions: two runs of the same may differ by more, and several of each under one label count that"), "{said}");
    // A difference far beyond the spread fails in any company.
    let clear = row(&[100.0, 101.0, 99.0], &[70.0, 70.5, 69.5], 0.0);
    assert!(family(vec![clear, same(), same(), same(), same()]).1);
    assert!(told(&[], 0).contains("cannot fail"));
}

#[test]
fn a_margin_is_a_percentage() {
    assert!((parse_margin("5%").unwrap() - 0.05).abs() < 1e-12);
    assert!((parse_margin("2.5").unwrap() - 0.025).abs() < 1e-12);
    for bad in ["", "-1", "100", "five", "NaN", "1e9", "-0.0001%", "inf"] {
        assert_eq!(parse_margin(bad).unwrap_err().exit_code, exit::USAGE, "{bad}");
    }
}
