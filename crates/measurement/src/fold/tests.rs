//! The same events make the same record, however they come.

use proptest::prelude::*;
use proptest::sample::subsequence;

use super::*;
use crate::event::{Activity, Gap, MAIN, Mark, PhaseEnded, PointMeasured, events_of, head, repetition_head};
use crate::samples::{SampleColumn, SampleGap, TimedMark};

fn begun() -> RunRecord {
    let record = serde_json::json!({
        "schema_version": "2.0", "subject": "database", "basis": "measured", "run_id": "run-1", "test": "mix-a", "target": "sqlite:a.db", "engine": "sqlite",
        "clock": "real", "started_at": "2026-01-02T03:04:05.000Z", "parameters": {},
        "definition": {"hash": "", "text": ""}, "build": "test", "repetitions": [],
        "verdict": {"limit": null, "evidence": []}, "warnings": ["the first"],
        "host": {"platform": "linux", "cpus": 2},
    });
    serde_json::from_value(record).unwrap()
}

fn numbered(kinds: Vec<Kind>, source: &str) -> Vec<Event> {
    let event = |(sequence, kind)| Event {
        run_id: "run-1".into(),
        source: source.into(),
        sequence,
        at: "2026-01-02T03:04:05.000Z".into(),
        kind,
    };
    (0..).zip(kinds).map(event).collect()
}

fn samples(seconds: &[f64], metric: &str) -> Samples {
    let column = SampleColumn {
        metric: metric.into(),
        values: seconds.iter().map(|at| Some(at * 2.0)).collect(),
        ..SampleColumn::default()
    };
    Samples { seconds: seconds.to_vec(), columns: vec![column], ..Samples::default() }
}

fn second(repetition: &str, number: u32, operations: u64) -> Kind {
    Kind::Second(Second {
        repetition: repetition.into(),
        second: number,
        operations,
        latency_us_p50: Some(1.5),
        ..Second::default()
    })
}

fn part(repetition: &str, at: &[f64], metric: &str) -> Kind {
    Kind::Samples(SamplesTaken { repetition: repetition.into(), is_part: true, samples: samples(at, metric) })
}

/// A run of this many repetitions of this many seconds, with all kinds of events.
fn a_run(repetitions: u8, seconds: u32) -> Vec<Event> {
    let mut kinds = vec![Kind::Begun(Box::new(begun()))];
    for label in (b'a'..).take(repetitions.into()).map(|label| char::from(label).to_string()) {
        let begun = Repetition { label: label.clone(), started_seconds: 2.5, ..Repetition::default() };
        let activity = Activity { text: "loading".into(), ..Activity::default() };
        kinds.extend([Kind::Activity(activity), Kind::Repetition(Box::new(begun.clone()))]);
        let mut counted = Seconds::default();
        for number in 0..seconds {
            kinds.push(second(&label, number, 7));
            counted.answered(number as usize, 1, 1, 100);
            if number % 3 == 2 {
                let index = number / 3;
                let point = Point { index, seconds: f64::from(number) / 7.0, ..Point::default() };
                kinds.push(Kind::Point(PointMeasured { repetition: label.clone(), point }));
                kinds.push(part(&label, &[f64::from(number)], if number % 2 == 0 { "cpu" } else { "memory" }));
            }
        }
        let phase = Box::new(Phase { label: "all".into(), operations: 7, ..Phase::default() });
        kinds.push(Kind::Phase(PhaseEnded { repetition: label.clone(), phase }));
        let mark = TimedMark { seconds: 1.0, text: "restart".into() };
        kinds.push(Kind::Mark(Mark { repetition: label.clone(), mark }));
        let gap = Gap { repetition: label.clone(), gap: SampleGap::default() };
        kinds.extend([Kind::Gap(gap), Kind::Other { name: "tide".into(), document: 1.into() }]);
        let whole = samples(&[1.0, 2.0], "cpu");
        kinds.push(Kind::Samples(SamplesTaken { repetition: label.clone(), is_part: false, samples: whole }));
        kinds.push(Kind::Warning(Warning { text: format!("of {label}"), is_host: repetitions == 1 }));
        kinds.push(Kind::Repetition(Box::new(Repetition { complete: true, seconds: counted, ..begun })));
    }
    let end = RunRecord { ended_at: Some("2026-01-02T04:00:00.000Z".into()), ..begun() };
    kinds.push(Kind::Finished(Box::new(end)));
    numbered(kinds, MAIN)
}

fn fold(events: impl IntoIterator<Item = Event>) -> Fold {
    Fold::of("run-1", events)
}

fn record(events: &[Event]) -> Option<RunRecord> {
    fold(events.iter().cloned()).record()
}

#[test]
fn a_run_comes_out_as_it_was_told() {
    let events = a_run(2, 9);
    let whole = record(&events).unwrap();
    assert_eq!(whole.ended_at.as_deref(), Some("2026-01-02T04:00:00.000Z"));
    assert_eq!(whole.warnings, ["the first", "of a", "of b"]);
    let labels: Vec<_> = whole.repetitions.iter().map(|repetition| repetition.label.as_str()).collect();
    assert_eq!(labels, ["a", "b"]);
    let first = &whole.repetitions[0];
    assert_eq!((first.points.len(), first.phases.len(), first.complete), (3, 1, true));
    assert_eq!(first.samples, [samples(&[1.0, 2.0], "cpu")], "the parts are in the whole");
    assert_eq!((first.marks[0].text.as_str(), first.gaps.as_slice()), ("restart", &[SampleGap::default()][..]));
    assert_eq!(first.seconds.operations, [1; 9], "what was counted in the end, not what was seen meanwhile");

    // The same run, killed in the middle of its first repetition.
    let killed = record(&events[..13]).unwrap();
    assert_eq!((killed.ended_at, killed.repetitions.len()), (None, 1));
    let first = &killed.repetitions[0];
    assert_eq!((first.complete, first.seconds.operations.as_slice()), (false, &[7; 6][..]));
    assert_eq!(first.seconds.latency_us_p50, [Some(1.5); 6]);
    assert_eq!(first.samples[0].seconds, [2.0, 5.0]);
    let [cpu, memory] = &first.samples[0].columns[..] else { panic!("{:?}", first.samples) };
    assert_eq!((cpu.values.as_slice(), memory.values.as_slice()), (&[Some(4.0), None][..], &[None, Some(10.0)][..]));
}

#[test]
fn events_of_another_run_change_nothing() {
    let mut fold = fold(a_run(1, 3));
    let before = fold.record();
    let mut other = a_run(2, 4).pop().unwrap();
    other.run_id = "run-2".into();
    assert!(!fold.apply(other));
    assert_eq!(fold.record(), before);
}

#[test]
fn seconds_of_two_sources_are_added_and_a_damaged_one_takes_no_memory() {
    let one = numbered(vec![Kind::Begun(Box::new(begun())), second("a", 0, 3), second("a", u32::MAX, 1)], "one");
    let two = numbered(vec![second("a", 0, 4), second("a", 1, 5)], "two");
    let both = record(&[one, two].concat()).unwrap();
    assert_eq!(both.repetitions[0].seconds.operations, [7, 5]);
    assert_eq!(both.repetitions[0].seconds.latency_us_p50, [None, Some(1.5)]);
}

#[test]
fn a_record_is_the_fold_of_its_events() {
    for cut in [20, 45] {
        let told = record(&a_run(2, 9)[..cut.min(a_run(2, 9).len())]).unwrap();
        assert_eq!(record(&events_of(&told, MAIN)).unwrap(), told);
    }
    assert_eq!(head(&record(&a_run(1, 3)).unwrap()).repetitions, []);
    assert_eq!(repetition_head(&record(&a_run(1, 3)).unwrap().repetitions[0]).points, []);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, rng_seed: proptest::test_runner::RngSeed::Fixed(18), ..ProptestConfig::default() })]

    /// Cut anywhere, as by a kill; told twice; told late; kept without what is not needed: the record is the same.
    #[test]
    fn the_same_events_make_the_same_record(
        (repetitions, seconds) in (1_u8..4, 0_u32..40),
        cut in any::<prop::sample::Index>(),
        twice in subsequence((0..600_usize).collect::<Vec<_>>(), 0..80),
        order in any::<u64>(),
    ) {
        let all = a_run(repetitions, seconds);
        let events = &all[..=cut.index(all.len())];
        let expected = record(events);
        prop_assert!(expected.is_some());

        let again = twice.iter().filter_map(|at| events.get(*at));
        let mut shuffled: Vec<Event> = events.iter().chain(again).cloned().collect();
        let key = |event: &Event| (event.sequence ^ order).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        shuffled.sort_by_key(key);
        prop_assert_eq!(&record(&shuffled), &expected);

        let folded = fold(events.iter().cloned());
        let kept: Vec<Event> = events.iter().filter(|event| folded.needs(event)).cloned().collect();
        prop_assert_eq!(&record(&kept), &expected, "without what nobody needs");
        // What is dropped now is not missed when the rest comes, and changes nothing when it comes again.
        let rest = &all[events.len()..];
        prop_assert_eq!(&record(&[&kept, rest].concat()), &record(&all));
        prop_assert_eq!(&record(&[rest, &kept, events].concat()), &record(&all));

        let through_json: Vec<Event> = events.iter().map(|event| {
            let document = event.kind.document().unwrap();
            Event { kind: Kind::read(event.kind.name(), &document).unwrap(), ..event.clone() }
        }).collect();
        prop_assert_eq!(&record(&through_json), &expected);
    }
}
