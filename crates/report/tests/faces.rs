//! The outputs of sample records: snapshots of the texts, and what must hold of the page.

mod samples;

use plimsoll_measurement::{Client, Metric, Phase, Repetition, RunRecord, SampleColumn, SampleGap, Samples, TimedMark};
use plimsoll_report::terminal::{self, Style};
use plimsoll_report::{Compared, Comparison, Differs, RunSummary, csv, html, in_a_line, json_line, markdown};

const PLAIN: Style = Style { color: false, width: 100, full: false };
const FULL: Style = Style { full: true, ..PLAIN };

fn page(records: &[RunRecord]) -> String {
    let options = html::Options { title: "Sample".into(), generated_at: Some("2026-03-02T08:00:00Z".into()) };
    html::report(records, |_, _| None, &options)
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
    let requests = [
        ("mix", samples::requests::mix(s2, 600)),
        ("ladder", samples::requests::ladder("postgres://db.example/shop")),
        ("scale", samples::requests::scale(s2)),
        ("batches", samples::requests::batches("postgres://db.example/shop")),
        ("insert_latency", samples::requests::insert_latency("lab:disk.toml")),
        ("sampled", samples::sampled::mix(s2, 600)),
    ];
    for (name, record) in runs.into_iter().chain(requests) {
        insta::assert_snapshot!(format!("terminal_{name}"), terminal::run(&record, PLAIN));
    }
    insta::assert_snapshot!("terminal_in_full", terminal::run(&samples::sampled::mix(s2, 600), FULL));
}

#[test]
fn terminal_lists_and_compares() {
    let list: Vec<RunSummary> = samples::all().iter().map(RunSummary::from).collect();
    insta::assert_snapshot!("terminal_list", terminal::runs(&list, Style { width: 140, ..PLAIN }));
    let [one, other] = [samples::requests::all().remove(0), samples::requests::all().remove(1)];
    let figure = |run: &RunRecord| run.result.clone();
    let rate = Comparison {
        metric: "request_rate".into(),
        figures: [figure(&one), figure(&other)],
        ratio: Some(2.19),
        low: Some(2.1),
        high: Some(2.28),
        confidence: 0.95,
        verdict: "better".into(),
        why: None,
        is_withheld: false,
    };
    let unknown = Comparison {
        metric: "latency_p99".into(),
        figures: [None, None],
        ratio: None,
        low: None,
        high: None,
        verdict: "undecided".into(),
        why: Some("single repetitions show no spread; use at least 3 per side".into()),
        is_withheld: false,
        ..rate.clone()
    };
    let worse = Comparison { metric: "latency_p50".into(), verdict: "worse".into(), ..rate.clone() };
    let differs = |what: &str, a: Option<&str>, b: &str| Differs {
        what: what.to_owned(),
        values: [a.map(str::to_owned), Some(b.to_owned())],
    };
    let compared = Compared {
        baseline: &one,
        candidate: &other,
        figures: vec![rate.clone(), worse, unknown.clone()],
        differences: vec![differs("synchronous_commit", Some("on"), "off"), differs("shared_buffers", None, "1GB")],
        notes: [vec!["2 of 3 series never reached a steady state: it flips between two levels".into()], Vec::new()],
        rounds: [vec![&one], vec![&other]],
    };
    insta::assert_snapshot!("terminal_comparison", terminal::comparison(std::slice::from_ref(&compared), FULL));
    let warned =
        |texts: &[&str]| RunRecord { warnings: texts.iter().map(|text| (*text).to_owned()).collect(), ..other.clone() };
    let safe = warned(&["3 samples were late"]);
    let risky = warned(&["12 samples were late", "fsync is off: a crash can ruin the database"]);
    let text = terminal::comparison(&[Compared { baseline: &safe, candidate: &risky, ..compared.clone() }], PLAIN);
    assert!(
        text.contains("Of B alone: fsync is off: a crash can ruin the database.") && !text.contains("samples were"),
        "{text}"
    );
    let bare = Compared {
        figures: vec![Comparison { verdict: "equivalent".into(), ..rate }, unknown],
        differences: Vec::new(),
        notes: Default::default(),
        ..compared
    };
    insta::assert_snapshot!("terminal_comparison_of_equals", terminal::comparison(&[bare], PLAIN));
    assert_eq!(terminal::runs(&[], PLAIN), "No runs.\n");
}

#[test]
fn terminal_stays_within_its_width_and_colour_adds_no_words() {
    for record in samples::all().into_iter().chain(samples::requests::all()) {
        let narrow = Style { width: 80, ..FULL };
        let text = terminal::run(&record, narrow);
        let tables = text.lines().filter(|line| line.starts_with(['─', '═', ' ']));
        for line in tables {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(!text.contains('\u{1b}'), "{text}");
        for word in ["Exponent", "incomplete", "MB/min", "reports"] {
            let whole = terminal::run(&record, FULL).contains(word);
            assert_eq!(text.contains(word), whole, "{word} is broken in\n{text}");
        }
        let coloured = terminal::run(&record, Style { color: true, ..narrow });
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
    let records = [
        scan,
        samples::cpu_join(s2, 1.0),
        samples::memory(s2),
        samples::failed(),
        samples::single(),
        samples::sampled::mix(s2, 120),
    ];
    let text = markdown::report(&records, |_, _| None);
    assert!(!text.contains("<script") && !text.contains("<b>"));
    insta::assert_snapshot!("markdown", text);
}

#[test]
fn csv_has_a_row_for_each_point() {
    let records = [samples::failed(), samples::memory("lab:x"), samples::empty()];
    let text = csv::table(&records, "points").unwrap();
    let points: usize = records.iter().flat_map(|record| &record.repetitions).map(|r| r.points.len()).sum();
    assert_eq!(text.matches("\r\n").count(), points + 1);
    assert!(text.starts_with("run_id,test,target,repetition,index,label,"));
    insta::assert_snapshot!("csv", text.replace("\r\n", "\n"));
}

#[test]
fn csv_has_all_that_requests_recorded() {
    let records = [
        samples::requests::mix("lab:x", 20),
        samples::requests::ladder("lab:x"),
        samples::requests::insert_latency("lab:x"),
    ];
    let rows = |rows: &str| csv::table(&records, rows).unwrap();
    assert_eq!(rows("seconds").matches("\r\n").count(), 1 + 3 * 20 + 2 * 60 + 36);
    assert_eq!(rows("phases").matches("\r\n").count(), 1 + 2 * 6);
    let counted = |row: &str| row.rsplit(',').next().and_then(|count| count.parse::<u64>().ok()).unwrap();
    let histograms = rows("histograms");
    let inserts = histograms.lines().filter(|row| row.contains("insert-latency,lab:x,a,kind,insert,times,"));
    assert_eq!(inserts.map(counted).sum::<u64>(), 50_000);
    let of =
        |wanted: &str, from: &str| rows(wanted).lines().filter(|row| row.contains(from)).collect::<Vec<_>>().join("\n");
    let seconds = of("seconds", "mix-b,lab:x,b,1");
    let others = ["requests", "phases", "waits", "files"].map(rows);
    insta::assert_snapshot!("csv_requests", format!("{seconds}\n{}", others.join("\n")).replace("\r\n", "\n"));
}

#[test]
fn csv_has_every_sample() {
    let text = csv::table(&[samples::sampled::mix("lab:x", 20)], "samples").unwrap();
    assert_eq!(text.matches("\r\n").count(), 1 + 3 * 22 * 20);
    assert!(text.starts_with(
        "run_id,test,target,repetition,phase,source,metric,of,unit,from_seconds,to_seconds,value,momentary\r\n"
    ));
    let rows = |from: &str| text.lines().filter(|row| row.contains(from)).collect::<Vec<_>>();
    assert_eq!(
        rows(",b,,engine,cpu,")[10..13],
        [
            "0195-mix-b,mix-b,lab:x,b,,engine,cpu,,cores,10,11,0.919921728515625,false",
            "0195-mix-b,mix-b,lab:x,b,,engine,cpu,,cores,11,12,,false",
            "0195-mix-b,mix-b,lab:x,b,,engine,cpu,,cores,12,13,0.9728786561547259,false",
        ]
    );
    assert!(rows(",host,temperature,").iter().all(|row| row.ends_with(",,false")), "what is not known is empty");
}

#[test]
fn json_lines_are_lines_and_come_back() {
    for record in samples::all() {
        let line = json_line(&record).unwrap();
        assert!(!line.contains('\n'));
        let back: RunRecord = serde_json::from_str(&line).unwrap();
        assert!(back.run_id == record.run_id && back.error == record.error);
        assert!(back.warnings.starts_with(&record.warnings));
        let text = terminal::run(&record, Style { width: 10_000, ..FULL });
        for warning in &back.warnings {
            assert!(text.contains(&format!("! {}", plimsoll_report::plain(warning))), "{warning} is not in\n{text}");
        }
        let points = |run: &RunRecord| run.repetitions.iter().map(|r| r.points.len()).collect::<Vec<_>>();
        assert_eq!(points(&back), points(&record));
    }
}

#[test]
fn json_has_the_warnings_that_only_a_report_adds() {
    let mut record = samples::requests::mix("postgres://db.example/shop", 60);
    let operations = &mut record.repetitions[0].seconds.operations;
    operations.iter_mut().enumerate().for_each(|(at, count)| *count = if at < 30 { 4000 } else { 1000 });
    record.host.client = Some(Client { verdict: "was-the-limit".into(), ..Client::default() });
    let back: RunRecord = serde_json::from_str(&json_line(&record).unwrap()).unwrap();
    let added = &back.warnings[record.warnings.len()..];
    let (text, has) = (terminal::run(&record, Style { width: 10_000, ..FULL }), |word: &str| {
        added.iter().any(|one| one.contains(word))
    });
    assert!(has("rates are lower bounds") && has("moved to another value"), "{added:?}");
    assert!(added.iter().all(|one| text.contains(&format!("! {one}"))), "{added:?}\n{text}");
}

#[test]
fn marks_and_times_without_data_are_on_every_face() {
    let mut record = samples::requests::mix("lab:x", 60);
    let mark = |seconds| TimedMark { seconds, text: "level S3 was asked for".into() };
    record.repetitions[1].marks = vec![mark(12.0), mark(15.5)];
    let (source, reason) = ("engine".into(), "sessions lost the server".into());
    record.repetitions[1].gaps = vec![SampleGap { from_seconds: 20.0, to_seconds: 24.0, source, reason }];
    let said = "Repetition b has no data from 20.0 s to 24.0 s: sessions lost the server.";
    let records = [record];
    for text in [page(&records), markdown::report(&records, |_, _| None), terminal::run(&records[0], FULL)] {
        assert!(text.contains(said) && text.contains("15.5 s"), "{text}");
        assert_eq!(text.matches("level S3 was asked for").count(), 2);
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
        point.metrics.set(Metric::MbPerMinute, f64::NAN);
    }
    broken.result.as_mut().unwrap().value = f64::INFINITY;
    let mut records = samples::all();
    records.extend(samples::requests::all());
    records.extend(samples::sampled::all());
    let mut seconds = samples::requests::mix("lab:x", 60);
    seconds.repetitions[0].seconds.latency_us_p99[3] = Some(f64::NAN);
    seconds.repetitions[1].seconds.latency_us_p50.clear();
    records.extend([broken, seconds]);
    let texts = [page(&records), markdown::report(&records, |_, _| None), csv::table(&records, "points").unwrap()];
    for text in texts.into_iter().chain(records.iter().map(|record| terminal::run(record, FULL))) {
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
    // Bars of the campaign, of the two figures with several runs, rates of 5 scans and a write, two ladders, one memory: of several runs none
    // has the charts of its details.
    assert_eq!(charts, 1 + 2 + 6 + 2 + 1);
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

/// Charts by their captions.
fn captions(page: &str) -> Vec<&str> {
    page.split("<figcaption>").skip(1).filter_map(|rest| rest.split('<').next()).collect()
}

#[test]
fn requests_have_charts_of_what_there_is_to_see() {
    let mix = page(&[samples::requests::mix("lab:x", 7200)]);
    let [rate, latency, errors, minutes, distribution] = captions(&mix)[..] else { panic!("{:?}", captions(&mix)) };
    assert_eq!(rate, "Requests a second in every repetition, means of 20 s");
    assert_eq!(latency, "Response times by second in every repetition; of 20 s each, the mean p50 and the worst p99");
    assert!(
        errors.starts_with("Failed requests a second") && distribution.starts_with("Response times as a distribution")
    );
    assert!(minutes.starts_with("Rate of each minute"));
    assert!(mix.len() < 250_000, "{} bytes", mix.len());

    let mut short = samples::requests::mix("lab:x", 20);
    short.repetitions[1].seconds = short.repetitions[0].seconds.clone();
    assert_eq!(captions(&page(&[short])).len(), 3, "no errors and too few minutes are no charts");

    let ladder = page(&[samples::requests::ladder("lab:x")]);
    let expected =
        ["Answers a second over the rate asked for", "Response times over the rate", "Requests that were due"];
    for (caption, expected) in captions(&ladder).iter().zip(expected) {
        assert!(caption.starts_with(expected), "{caption}");
    }
    assert!(ladder.contains(">3,000/s holds</text>") && ladder.contains("real start</text>"));
    let scale = page(&[samples::requests::scale("lab:x")]);
    assert_eq!(captions(&scale)[0], "Answers a second over the number of sessions");
    assert_eq!(scale.matches("class=\"spread c0\"").count(), 4, "the spread of repetitions at each number of sessions");
}

#[test]
fn a_grid_of_two_axes_has_a_line_for_each_value_of_the_second() {
    let mut record = samples::requests::ladder("lab:x");
    for repetition in &mut record.repetitions {
        let fewer: Vec<Phase> = repetition.phases.iter().map(|one| Phase { sessions: 2, ..one.clone() }).collect();
        repetition.phases.extend(fewer);
    }
    let sessions = record.repetitions[0].phases[0].sessions;
    let page = page(&[record]);
    assert!(
        captions(&page)[0].starts_with("Answers a second over the rate asked for, a line for each number of sessions")
    );
    for of in ["answered", "p50", "p99", "p99, real start"] {
        for sessions in [sessions, 2] {
            assert!(page.contains(&format!(">{of}, {sessions} sessions</text>")), "{of} of {sessions} sessions");
        }
    }
}

#[test]
fn every_face_tells_the_story_in_order() {
    let mut record = samples::sampled::scan("lab:x", 114.0);
    record.verdict.limit = Some("data_io".into());
    record.verdict.evidence = vec!["as counted".into()];
    let records = [record];
    // The headline, what bound it, what would raise it, the one table, then the details.
    let story = ["95 % interval", "the bottleneck", "as counted", "Slowest", "drop-os-cache"];
    for text in [page(&records), markdown::report(&records, |_, _| None), terminal::run(&records[0], FULL)] {
        let workspaces: Vec<usize> = story.iter().map(|word| text.find(word).expect(word)).collect();
        assert!(workspaces.is_sorted(), "{workspaces:?}");
    }
    let page = page(&records);
    let parts = page.split("<details class=\"part\"><summary>").skip(1).filter_map(|rest| rest.split('<').next());
    assert_eq!(parts.collect::<Vec<_>>(), ["What bound it", "How steady it was", "Under which conditions"]);
    let open = page.split("<details").next().unwrap();
    assert_eq!((open.matches("<figure").count(), open.matches("<table").count()), (1, 1), "one picture, one table");
}

/// Paths of a class in a chart whose description begins so.
fn paths<'a>(page: &'a str, chart: &str, class: &str) -> Vec<&'a str> {
    let chart =
        page.split(&format!("aria-label=\"{chart}")).nth(1).expect(chart).split("</svg>").next().unwrap_or_default();
    chart
        .split(&format!("class=\"{class}"))
        .skip(1)
        .filter_map(|rest| rest.split("d=\"").nth(1)?.split('"').next())
        .collect()
}

#[test]
fn samples_are_a_panel_with_gaps_and_the_limit_that_bound() {
    let page = page(&[samples::sampled::mix("lab:x", 100)]);
    let panel = |label: &str| format!("What was delivered, used and waited for in repetition {label}");
    for label in ["a", "b", "c"] {
        let captions = captions(&page).into_iter().filter(|caption| **caption == panel(label)).count();
        assert_eq!(captions, 1, "{label}");
    }
    // The engine's lines are broken where it was away, the machine's are not; what adds up is broken as well.
    let of_b =
        |class: &str| paths(&page, &panel("b"), class).iter().map(|path| path.matches('M').count()).collect::<Vec<_>>();
    assert_eq!(of_b("line c2 d0"), [2, 1, 2, 1], "log bandwidth and latency, each with its sign beside the name");
    assert_eq!(of_b("line c5 d1"), [1, 1], "CPU of the client");
    assert_eq!(of_b("area f2 c2 p1")[0], 2);
    assert!(page.contains("Not known: the server was away: &lt;connection&gt; reset"));
    assert!(
        page.contains("100 % is: CPU 2.00 cores (cgroup cpu.max); Data IOPS 320 1/s (catalogue, S2 of v12-ga-2015-01)")
    );
    let bands = page.matches("class=\"band f2\"").count();
    assert_eq!(
        (bands, page.matches("class=\"band fx\"").count()),
        (4 * 2, 4 * 2),
        "in both panels of three repetitions"
    );
    // Whatever is not known of columns is listed, and what nobody knows the name of is drawn by its unit.
    assert!(page.contains("<td>Temperature</td><td>°C</td>") && page.contains(">hits/s</text>"));
    assert!(!page.contains("<b>cache"));
}

#[test]
fn segments_are_summed_up_by_bottleneck() {
    let mut record = samples::sampled::mix("lab:x", 100);
    let again = record.verdict.segments.clone();
    record.verdict.segments.extend(again);
    let text = terminal::run(&record, FULL);
    let sums = text.split("Time by bottleneck").nth(1).expect("the sums").lines().skip(4).take(3);
    let sums: Vec<String> = sums.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let expected = ["Log write 7 min 50 s 78.3", "No limit seen 2 min 00 s 20.0", "Not enough evidence 10.0 s 1.67"];
    assert_eq!(sums, expected);
    assert!(markdown::report(&[record], |_, _| None).contains("| b | 60.0 s | 1 min 40 s | Log write |"));
}

#[test]
fn use_is_drawn_by_table_and_by_run() {
    let runs = [samples::sampled::scan("lab:S2", 354.0), samples::sampled::scan("lab:S3", 702.0)];
    let page = page(&runs);
    let caption = "Data IO: how far it was used at each table";
    let of = |what: &str| captions(&page).iter().filter(|one| **one == format!("{caption} {what}")).count();
    // Each run has its own in its own report.
    assert_eq!((of("of read-scan, means of the repetitions"), of("in every repetition")), (1, 0));
    let lines = paths(&page, &format!("{caption} of read-scan"), "line c0 d0");
    assert_eq!(lines[0].matches(['M', 'L']).count(), 20, "a point for each table: {}", lines[0]);
    assert!(!self::page(&[samples::read_scan("lab:S2", 354.0)]).contains(caption), "nothing was sampled");
    let mut short = samples::sampled::scan("lab:S2", 354.0);
    short.repetitions.iter_mut().flat_map(|one| &mut one.samples).for_each(|samples| samples.columns.clear());
    assert!(!self::page(&[short]).contains(caption));
}

#[test]
fn moves_of_several_sizes_are_drawn_over_the_size() {
    let page = page(&[samples::sampled::import("lab:x")]);
    for caption in
        ["Time of each stage over the size of the database", "Rate of each stage over the size of the database"]
    {
        assert!(captions(&page).contains(&caption), "{:?}", captions(&page));
        assert_eq!(paths(&page, caption, "line c")[0].matches('L').count(), 2, "three sizes");
    }
}

#[test]
fn samples_of_any_length_and_size_are_drawn_or_left_out() {
    let watched = samples::sampled::mix("lab:x", 60);
    let with = |change: &dyn Fn(&mut Samples)| {
        let mut record = watched.clone();
        // What the requests themselves tell is tested elsewhere.
        record.repetitions.iter_mut().for_each(|repetition| repetition.requests.clear());
        record.repetitions.iter_mut().flat_map(|repetition| &mut repetition.samples).for_each(change);
        let page = page(std::slice::from_ref(&record));
        let texts = [page.clone(), terminal::run(&record, PLAIN), markdown::report(&[record], |_, _| None)];
        for text in texts {
            let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
            assert!(!words.iter().any(|word| ["NaN", "inf", "None"].contains(word)), "{text}");
        }
        page
    };
    let panels =
        |page: &str| captions(page).iter().filter(|caption| caption.starts_with("What was delivered, used")).count();
    let of_length = |length: usize| {
        with(&|samples| {
            samples.seconds.truncate(length);
            samples.columns.iter_mut().for_each(|column| column.values.truncate(length));
        })
    };
    assert_eq!(panels(&of_length(0)), 0);
    assert_eq!(panels(&of_length(1)), 3);
    let no_columns = with(&|samples| samples.columns.clear());
    assert_eq!(panels(&no_columns), 3, "what was delivered is known");
    let nulls = with(&|samples| samples.columns.iter_mut().for_each(|column| column.values.fill(None)));
    assert!(!nulls.contains("Used, % of the ceiling") && nulls.contains("What was sampled, in numbers"));
    let huge = with(&|samples| samples.columns.iter_mut().for_each(|column| column.values.fill(Some(f64::MAX))));
    assert_eq!(panels(&huge), 3);
    let mixed = with(&|samples| {
        for (at, value) in samples.columns.iter_mut().flat_map(|column| column.values.iter_mut().enumerate()) {
            *value =
                [Some(1e300), Some(-5.0), None, Some(0.0), Some(f64::NAN), Some(f64::INFINITY), Some(1e-300)][at % 7];
        }
    });
    assert_eq!(panels(&mixed), 3);
    with(&|samples| samples.seconds.iter_mut().for_each(|second| *second = -*second));
    with(&|samples| samples.seconds.iter_mut().step_by(3).for_each(|second| *second = f64::NAN));
    with(&|samples| samples.columns.iter_mut().step_by(2).for_each(|column| column.values.truncate(7)));
    let hostile = with(&|samples| {
        for column in &mut samples.columns {
            column.metric = "</title><script>alert('x')</script>\u{1b}[31m".into();
            column.of = Some("\"><img src=x>".into());
            column.unit = "<b>".into();
        }
        samples.phase = Some("\" onload=\"x".into());
    });
    assert!(!hostile.contains("<script") && !hostile.contains("<img") && !hostile.contains("\" onload"));
}

#[test]
fn page_of_many_watched_repetitions_stays_readable() {
    let mut record = samples::sampled::mix("lab:x", 600);
    let mut repetition = record.repetitions.remove(0);
    repetition.seconds = plimsoll_measurement::Seconds::default();
    let columns = repetition.samples[0].columns.clone();
    let more = columns
        .iter()
        .take(18)
        .map(|column| SampleColumn { metric: format!("{}_too", column.metric), ..column.clone() });
    repetition.samples[0].columns.extend(more);
    assert_eq!(repetition.samples[0].columns.len(), 40);
    record.repetitions = ('a'..='z').map(|label| Repetition { label: label.into(), ..repetition.clone() }).collect();
    let page = page(&[record]);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
}

#[test]
fn seconds_without_answers_are_a_gap() {
    let page = page(&[samples::requests::mix("lab:x", 120)]);
    let chart = page.split("aria-label=\"Response times by second").nth(1).unwrap().split("</svg>").next().unwrap();
    let gap = chart.split("class=\"line c1 d1\" d=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(gap.matches('M').count(), 2, "{gap}");
}

#[test]
fn figures_of_a_limited_client_are_bounds_wherever_they_stand() {
    let mut record = samples::requests::ladder("lab:x");
    let bounded = |record: &RunRecord| {
        let texts = [
            terminal::run(record, PLAIN),
            markdown::report(std::slice::from_ref(record), |_, _| None),
            page(std::slice::from_ref(record)),
        ];
        let texts = texts.into_iter().chain([in_a_line(record)]);
        texts
            .map(|text| (text.contains("at least 3,000"), text.contains("The client was the limit")))
            .collect::<Vec<_>>()
    };
    assert_eq!(bounded(&record), [(true, true), (true, true), (true, true), (true, false)]);
    let client = record.host.client.as_mut().unwrap();
    (client.busy_percent, client.run_queue_percent) = (Some(60.0), Some(50.0));
    assert!(terminal::run(&record, PLAIN).contains("The client waited for a CPU that others used"));
    record.clock = "virtual".into();
    assert!(bounded(&record).iter().all(|(at_least, _)| !at_least), "virtual time knows no client");
}

#[test]
fn a_campaign_is_one_table_of_tests_by_targets() {
    let elsewhere = |mut record: RunRecord, rate: f64| {
        record.target = "postgres://db.example/shop".into();
        record.engine = "postgresql".into();
        record.engine_version = Some("15.18".into());
        if let Some(figure) = &mut record.result {
            figure.value = rate;
        }
        record
    };
    let s2 = "lab:azure-sql-db/S2@v12-ga-2015-01";
    let (scan, write) = (samples::read_scan(s2, 354.0), samples::write_chunk(s2, 12));
    let runs =
        [scan.clone(), write.clone(), elsewhere(scan.clone(), 1.0), elsewhere(scan, 708.0), elsewhere(write, 0.0)];
    let text = markdown::report(&runs, |_, _| None);
    let start = text.find("## Tests by target").expect("the table is there");
    let end = start + 3 + text[start + 3..].find("\n## ").expect("the runs follow");
    insta::assert_snapshot!("markdown_campaign", &text[start..end]);
    let html = page(&runs);
    assert!(html.contains("Tests by target") && html.contains("postgresql 15.18"));
    // One test on two targets is said by its bars already.
    assert!(
        !page(&runs[..1]).contains("Tests by target")
            && !page(&[runs[0].clone(), runs[2].clone()]).contains("Tests by target")
    );
}

#[test]
fn a_basis_other_than_measured_is_marked_on_every_face() {
    let mut record = samples::read_scan("lab:x", 354.0);
    record.basis = plimsoll_measurement::Basis::Simulated;
    let measured = samples::read_scan("lab:x", 354.0);
    let texts = |record: &RunRecord| {
        let one = std::slice::from_ref(record);
        [page(one), markdown::report(one, |_, _| None), terminal::run(record, PLAIN), in_a_line(record)]
    };
    assert!(texts(&record).iter().all(|text| text.contains("(simulated)")));
    assert!(texts(&measured).iter().all(|text| !text.contains("simulated)")));
    let beside = terminal::side_by_side(&[record, measured], PLAIN);
    assert!(beside.contains("lab:x (simulated)"), "{beside}");
}
