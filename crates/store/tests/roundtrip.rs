//! Whatever a record holds, it comes back to the last bit.

mod common;

use plimsoll_measurement::{
    ColdStart, CpuRow, CpuTable, Expected, Metric, Minute, Point, Repetition, RequestKind, RunFailure, RunRecord,
    Seconds, Verdict,
};
use plimsoll_store::RunStore;
use proptest::option::of;
use proptest::prelude::*;

fn number() -> impl Strategy<Value = f64> {
    prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), Just("quotes ' \" and \0 and \u{1f6a2}".to_owned())]
}

fn a_point() -> impl Strategy<Value = Point> {
    let exact = || of(0..1_u64 << 53);
    let measures = (exact(), of(number()), exact(), of(number()));
    (any::<u32>(), of(text()), number(), measures, prop::collection::vec(text(), 0..3)).prop_map(
        |(index, label, seconds, (rows, rate, bytes, cpu_seconds), flags)| {
            Point {
                index,
                phase: label.clone(),
                label,
                started_seconds: seconds / 2.0,
                seconds,
                flags,
                ..Point::default()
            }
            .with(Metric::Rows, rows)
            .with(Metric::MbPerMinute, rate)
            .with(Metric::DeviceBytes, bytes)
            .with(Metric::CpuSeconds, cpu_seconds)
        },
    )
}

fn a_repetition() -> impl Strategy<Value = Repetition> {
    let cold = of((number(), any::<bool>()));
    let minute = (any::<u32>(), any::<u64>(), number());
    (any::<bool>(), number(), cold, prop::collection::vec(a_point(), 0..4), prop::collection::vec(minute, 0..3))
        .prop_map(|(complete, started_seconds, cold, points, minutes)| Repetition {
            label: String::new(),
            complete,
            started_seconds,
            cold: cold.map(|(percent, verified)| ColdStart {
                methods: vec!["restart".into()],
                engine_miss_percent: Some(percent),
                verified,
                ..ColdStart::default()
            }),
            points,
            requests: vec![RequestKind {
                kind: "insert".into(),
                operations: minutes.len() as u64,
                ..RequestKind::default()
            }],
            seconds: Seconds { operations: minutes.iter().map(|minute| minute.1).collect(), ..Seconds::default() },
            minutes: minutes
                .into_iter()
                .map(|(minute, content_bytes, rate)| Minute {
                    minute,
                    seconds: 60.0,
                    content_bytes,
                    mb_per_minute: rate,
                })
                .collect(),
            ..Repetition::default()
        })
}

fn a_record() -> impl Strategy<Value = RunRecord> {
    let words = (text(), of(text()), of(text()), prop::collection::btree_map(text(), text(), 0..3));
    let parts = (prop::collection::vec(a_repetition(), 0..4), number(), any::<u8>(), any::<u64>());
    (words, parts).prop_map(|((target, ended_at, note, environment), (mut repetitions, value, exit_code, whole))| {
        for (repetition, label) in repetitions.iter_mut().zip('a'..) {
            repetition.label = label.into();
            for (point, index) in repetition.points.iter_mut().zip(0..) {
                point.index = index;
            }
        }
        let parameters = [("whole", whole.into()), ("real", value.into()), ("word", note.clone().into())];
        RunRecord {
            target,
            ended_at,
            environment,
            repetitions,
            parameters: parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            cpu_table: Some(CpuTable {
                anchor_dtu: Some(value),
                rows: vec![CpuRow { seconds_range: Some((value, 1.0)), matches: whole, ..CpuRow::default() }],
                ..CpuTable::default()
            }),
            expected: Some(Expected {
                value,
                unit: "MB/min".into(),
                basis: "derived".into(),
                published: true,
                limit: Some("data_io".into()),
                reason: None,
                error_percent: Some(value),
            }),
            verdict: Verdict { limit: note.clone(), utilisation_percent: Some(value), ..Verdict::default() },
            error: note.map(|message| RunFailure { kind: "k".into(), hint: Some(message.clone()), message, exit_code }),
            ..common::finished("run-1")
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, rng_seed: proptest::test_runner::RngSeed::Fixed(8), ..ProptestConfig::default() })]

    #[test]
    fn a_record_is_loaded_as_it_was_stored(run in a_record()) {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("runs.db");
        let store = RunStore::open(&path)?;
        common::keep(&store, &run)?;
        prop_assert_eq!(&RunStore::open(&path)?.record("run-1")?, &run);

        // The same run, kept step by step as it happens.
        let step = RunRecord { run_id: "run-2".into(), ended_at: Some("at last".into()), ..run };
        for event in common::step_by_step(&step) {
            store.append(&[event])?;
        }
        prop_assert_eq!(store.record("run-2")?, step);
    }
}
