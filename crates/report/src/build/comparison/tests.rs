//! What is said of two runs.

use super::*;

#[test]
fn any_number_of_runs_has_names() {
    assert_eq!([0, 1, 25, 26, 53].map(letter), ["A", "B", "Z", "A2", "B3"]);
}

#[test]
fn a_limit_of_any_name_stands_in_a_sentence() {
    let of = |name: &str| {
        let mut run = RunRecord::default();
        run.verdict.limit = Some(name.to_owned());
        limit(&run)
    };
    assert_eq!(["cpu", "log_write", "none"].map(of), ["CPU", "log write", "no limit that was watched"]);
    let mut run = RunRecord::default();
    run.verdict.limit = Some("none".to_owned());
    run.verdict.evidence = vec![
        "by the model, no known limit would raise the rate by 3.3 % or more".to_owned(),
        "a session uses one core at a time: by the model, faster cores would raise the rate by about 12 %, and more cores would not".to_owned(),
        "1.5 of 2 sessions waited for a read of data on average".to_owned(),
    ];
    let begin = "no limit that was watched (";
    assert_eq!(
        limit(&run),
        format!(
            "{begin}a session uses one core at a time: by the model, faster cores would raise the rate by about 12 %)"
        )
    );
    run.verdict.evidence.remove(1);
    assert_eq!(limit(&run), format!("{begin}1.5 of 2 sessions waited for a read of data on average)"));
    assert_eq!(of("Ölpumpe"), "ölpumpe");
    assert_eq!(of(""), "");
}

fn figure(metric: &str, verdict: &str, low: f64, high: f64) -> Comparison {
    Comparison {
        metric: metric.to_owned(),
        figures: [None, None],
        ratio: Some(f64::midpoint(low, high)),
        low: Some(low),
        high: Some(high),
        confidence: DEFAULT_CONFIDENCE,
        verdict: verdict.to_owned(),
        why: None,
        is_withheld: false,
    }
}

#[test]
fn a_headline_says_what_is_equivalent_and_what_is_not_judged() {
    let same = figure("request_rate", "equivalent", 0.98, 1.02);
    assert!(sentence(&same, "B", (true, false)).starts_with("A and B are equivalent: the request rate of B is 1"));
    assert!(
        sentence(&same, "B", (false, false))
            .starts_with("A and B are equivalent in their first figure, and not in all")
    );
    let why = Some("it was held to 1 a second".to_owned());
    let clear = Comparison { why, is_withheld: true, ..figure("knee_iops", "undecided", 3.0, 5.0) };
    let said = sentence(&clear, "B", (true, false));
    assert!(said.contains("of B is 4 times that of A") || said.contains("of B is 4.00 times that of A"), "{said}");
    assert!(said.ends_with("Better or worse it is not called, as it was held to 1 a second."), "{said}");
    // More repetitions would decide this one.
    let open = Comparison { is_withheld: false, ..clear };
    assert!(sentence(&open, "B", (true, false)).starts_with("Which is better is undecided"));
}

#[test]
fn so_small_a_difference_as_runs_of_the_same_have_only_seems_one() {
    let run = |clock: &str| RunRecord { clock: clock.to_owned(), ..RunRecord::default() };
    let said = |clock: &str, (low, high): (f64, f64), runs: [usize; 2]| {
        let (a, b) = (run(clock), run(clock));
        let of = |values: &[f64]| {
            let figure = serde_json::json!({
                "metric": "request_rate", "value": 100.0, "unit": "1/s", "confidence": 0.95, "repetitions": 2, "values": values,
            });
            Some(serde_json::from_value(figure).unwrap())
        };
        let figures = [of(&[99.0, 101.0]), of(&[110.0, 112.0])];
        let figure = Comparison { figures, ..figure("request_rate", "better", low, high) };
        let compared = Compared {
            baseline: &a,
            candidate: &b,
            figures: vec![figure],
            differences: Vec::new(),
            notes: [Vec::new(), Vec::new()],
            rounds: runs.map(|count| vec![&a; count]),
        };
        format!("{:?}", answer(&compared, "B"))
    };
    let one = [1, 1];
    let small = said("real", (1.04, 1.18), one);
    assert!(small.contains("B seems better: ") && small.contains("run both again in turn"), "{small}");
    assert!(small.contains("varies by 1.41 % in A") && small.contains("from run to run is not known"), "{small}");
    for (clock, ends, runs) in
        [("real", (1.3, 1.5), one), ("virtual", (1.04, 1.18), one), ("real", (1.04, 1.18), [3, 4])]
    {
        assert!(said(clock, ends, runs).contains("B is better: "), "{clock} {ends:?} {runs:?}");
    }
    assert!(said("real", (1.04, 1.18), [3, 4]).contains("Each of 3 runs of A and 4 of B counts once"));
    assert!(!said("virtual", (1.04, 1.18), one).contains("from run to run"));
}

#[test]
fn as_many_figures_as_may_differ_by_chance_are_said_to() {
    let run = RunRecord::default();
    let told = |differing: usize, all: usize| {
        let one = |at: usize| {
            figure(&format!("m{at}"), if at > 0 && at <= differing { "worse" } else { "equivalent" }, 0.98, 1.02)
        };
        let figures = (0..all).map(one).collect();
        let compared = Compared {
            baseline: &run,
            candidate: &run,
            figures,
            differences: Vec::new(),
            notes: Default::default(),
            rounds: [vec![&run], vec![&run]],
        };
        let part = answer(&compared, "B");
        format!("{part:?}")
    };
    assert!(told(2, 40).contains("2 of 40 figures may differ by chance alone: at 95 % one of 20 does."));
    assert!(!told(3, 40).contains("by chance") && told(3, 40).contains("and not in all"));
    assert!(!told(1, 10).contains("by chance") && !told(0, 40).contains("not in all"));
}
