//! Records as bad input: huge, negative, missing and absurd numbers, empty lists and thousands of points are drawn or left out by every
//! face, without a panic.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "faces.rs uses all of it")]
mod samples;

use plimsoll_measurement::RunRecord;
use plimsoll_report::terminal::{self, Style};
use plimsoll_report::{RunSummary, build, csv, html, markdown};
use proptest::prelude::*;
use serde_json::Value;

/// Every face of these records.
fn drawn(records: &[RunRecord]) {
    let mut texts =
        vec![html::report(records, |_, _| None, &html::Options::default()), markdown::report(records, |_, _| None)];
    texts.extend(csv::ROWS.map(|(rows, ..)| csv::table(records, rows).unwrap()));
    for full in [false, true] {
        let style = Style { color: true, width: 90, full };
        texts.extend(records.iter().map(|record| terminal::run(record, style)));
        texts.push(terminal::side_by_side(records, style));
    }
    let list: Vec<RunSummary> = records.iter().map(RunSummary::from).collect();
    texts.push(terminal::runs(&list, Style { color: false, width: 60, full: false }));
    for report in build::report(records, |_, _| None) {
        assert!(!report.title.is_empty() && report.parts.iter().all(|part| !part.blocks.is_empty()));
    }
    for text in texts {
        for word in ["NaN", "inf", "None", "Some"] {
            let found = text.match_indices(word).map(|(at, _)| at);
            let is_word = |at: usize| {
                let ends = [text[..at].chars().next_back(), text[at + word.len()..].chars().next()];
                ends.into_iter().flatten().all(|letter| !letter.is_alphanumeric())
            };
            let around =
                found.filter(|at| is_word(*at)).map(|at| text[..at].chars().rev().take(120).collect::<String>());
            let around: Option<String> = around.map(|text| text.chars().rev().collect()).next();
            assert!(around.is_none(), "{word} behind {around:?}");
        }
    }
}

/// Numbers that a record may hold and that nobody measures.
fn absurd(whole: bool) -> BoxedStrategy<Value> {
    if whole {
        prop::sample::select(vec![0_u64, 1, 1 << 53, u64::MAX - 1, u64::MAX]).prop_map(Value::from).boxed()
    } else {
        let values = vec![0.0, -0.0, -1.0, 1e-300, 1e15, -1e300, 1e300, f64::MAX, f64::MIN, f64::MIN_POSITIVE];
        prop::sample::select(values).prop_map(Value::from).boxed()
    }
}

/// Places of a record's numbers and lists.
fn workspaces(value: &Value, at: &str, found: &mut Vec<(String, bool, bool)>) {
    match value {
        Value::Number(number) => found.push((at.to_owned(), false, number.is_u64())),
        Value::Array(items) => {
            // Pairs of numbers are no lists.
            if items.len() != 2 || !items[0].is_number() {
                found.push((at.to_owned(), true, false));
            }
            // Long lists are alike all along.
            items
                .iter()
                .enumerate()
                .take(6)
                .for_each(|(index, item)| workspaces(item, &format!("{at}/{index}"), found));
        }
        Value::Object(fields) => {
            for (name, field) in fields.iter().filter(|(name, _)| *name != "definition") {
                workspaces(field, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        _ => {}
    }
}

/// The largest number that a field holds: counters are longer than numbers of sessions and the like.
fn largest(at: &str) -> u64 {
    let small =
        ["index", "sessions", "repetitions", "timings", "passes", "cpus", "minute", "looks", "exit_code", "threads"];
    match at.rsplit('/').next() {
        Some("exit_code") => 255,
        Some(name) if small.contains(&name) => u32::MAX.into(),
        _ => u64::MAX,
    }
}

fn kinds() -> Vec<Value> {
    let target = "lab:azure-sql-db/S2@v12-ga-2015-01";
    let mut records = vec![
        samples::read_scan(target, 354.0),
        samples::cpu_join(target, 1.0),
        samples::memory(target),
        samples::requests::mix(target, 30),
        samples::requests::ladder(target),
        samples::requests::scale(target),
        samples::sampled::import(target),
    ];
    let mut sampled = samples::sampled::mix(target, 30);
    sampled.repetitions.truncate(2);
    records.push(sampled);
    records.iter().map(|record| serde_json::to_value(record).unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn generated_records_are_drawn_by_every_face(
        kind in 0_usize..8,
        changes in prop::collection::vec((any::<prop::sample::Index>(), absurd(false), absurd(true)), 1..60),
    ) {
        let mut value = kinds()[kind].clone();
        let mut found = Vec::new();
        workspaces(&value, "", &mut found);
        for (index, real, whole) in changes {
            let (at, is_list, is_whole) = index.get(&found);
            let Some(workspace) = value.pointer_mut(at) else { continue };
            *workspace = match (is_list, is_whole) {
                (true, _) => Value::Array(Vec::new()),
                (_, true) => whole.as_u64().unwrap().min(largest(at)).into(),
                _ => real,
            };
        }
        let record: RunRecord = serde_json::from_value(value).unwrap();
        let other = RunRecord { target: "lab:other".to_owned(), ..record.clone() };
        drawn(&[record, other]);
    }
}

#[test]
fn every_number_at_its_largest_is_drawn() {
    for (real, most) in [(Value::from(f64::MAX), u64::MAX), (Value::from(-1e300), u64::MAX - 1), (Value::from(0.0), 0)]
    {
        for mut value in kinds() {
            let mut found = Vec::new();
            workspaces(&value, "", &mut found);
            for (at, _, is_whole) in found.iter().filter(|(_, is_list, _)| !is_list) {
                *value.pointer_mut(at).unwrap() = if *is_whole { most.min(largest(at)).into() } else { real.clone() };
            }
            let record: RunRecord = serde_json::from_value(value).unwrap();
            drawn(&[record.clone(), record]);
        }
    }
}

#[test]
fn ten_thousand_points_and_nothing_at_all_are_drawn() {
    drawn(&[]);
    let mut many = samples::write_chunk("lab:x", 10_000);
    let phases = samples::requests::ladder("lab:x");
    let phase = phases.repetitions[0].phases[0].clone();
    many.repetitions[0].phases = (0..300)
        .map(|at| plimsoll_measurement::Phase {
            label: format!("{at}/s"),
            rate_asked: Some(f64::from(at)),
            ..phase.clone()
        })
        .collect();
    drawn(&[many]);
    let mut none = samples::sampled::mix("lab:x", 30);
    none.repetitions.clear();
    none.results.clear();
    drawn(&[none.clone(), none]);
}
