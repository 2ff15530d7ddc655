//! What files did between looks, held against histories that are known to the last operation: files that come and go, counters that begin
//! anew, looks that miss a file.

#![expect(clippy::print_stdout, reason = "the bar prints its figure")]

use plimsoll_measurement::{FileRow, Files, Moment, Window};
use plimsoll_plan::activity::{Activity, between};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngSeed};

const UNIT: u64 = 256 << 10;
const MB: f64 = (1 << 20) as f64;

/// What a file did in an interval: reads and writes, with the bytes of each one.
#[derive(Debug, Clone, Copy)]
struct Did {
    reads: u64,
    read_bytes: u64,
    writes: u64,
    write_bytes: u64,
}

/// What happened to a file at a look.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Event {
    Nothing,
    /// Its counters began anew: a restart.
    Reset,
    /// The look has no row of it.
    Missed,
}

#[derive(Debug, Clone)]
struct History {
    /// Looks at which it was there.
    there: std::ops::Range<usize>,
    did: Vec<Did>,
    events: Vec<Event>,
    /// What it had counted before the first look.
    before: u64,
    /// Whether the server knows files by handles, which are others after a restart.
    has_handles: bool,
}

fn history(looks: usize) -> impl Strategy<Value = History> {
    let size = prop_oneof![Just(8192_u64), Just(65_536), Just(UNIT), Just(1 << 20)];
    let did = (0..3000_u64, size.clone(), 0..3000_u64, size).prop_map(|(reads, read, writes, write)| Did {
        reads,
        read_bytes: reads * read,
        writes,
        write_bytes: writes * write,
    });
    let event = prop_oneof![8 => Just(Event::Nothing), 1 => Just(Event::Reset), 1 => Just(Event::Missed)];
    let there = (0..looks, 1..=looks).prop_map(move |(from, many)| from..(from + many).min(looks));
    let (did, events) = (prop::collection::vec(did, looks), prop::collection::vec(event, looks));
    // What was counted for long is more than what is counted in a moment, so that a new beginning shows.
    (there, did, events, 1_000_000_000..2_000_000_000_u64, any::<bool>())
        .prop_map(|(there, did, events, before, has_handles)| History { there, did, events, before, has_handles })
}

/// Counters as a server has them after `did`.
fn row(name: &str, counted: Did) -> FileRow {
    FileRow {
        name: name.to_owned(),
        database: Some("shop".to_owned()),
        kind: "data",
        size_bytes: Some(150 << 30),
        reads: Some(counted.reads),
        read_bytes: Some(counted.read_bytes),
        read_stall_seconds: Some(counted.reads as f64 * 0.004),
        writes: Some(counted.writes),
        write_bytes: Some(counted.write_bytes),
        write_stall_seconds: Some(counted.writes as f64 * 0.008),
        ..FileRow::default()
    }
}

/// How long each interval of a file was, and what it did in it; `None` where nobody can know it.
type Truth = Vec<(f64, Option<Did>)>;

/// The looks of a server, and what each file did between them by the history alone: `None` where nobody can know it.
fn replayed(histories: &[History], milliseconds: &[u64]) -> (Vec<Files>, Vec<Truth>) {
    let moments: Vec<u64> = milliseconds
        .iter()
        .scan(7_000, |now, step| {
            *now += step;
            Some(*now)
        })
        .collect();
    let mut looks: Vec<Files> = moments
        .iter()
        .map(|ms| {
            let at = Moment::from_nanos(ms * 1_000_000);
            Files { rows: Vec::new(), window: Window { start: at, end: at } }
        })
        .collect();
    let mut truth = Vec::new();
    for (number, history) in histories.iter().enumerate() {
        let name = format!("file{number}");
        let many = history.before;
        let mut counted = Did { reads: many, read_bytes: many * 8192, writes: many, write_bytes: many * 8192 };
        let (mut known, mut last): (Truth, Option<usize>) = (Vec::new(), None);
        // Whether a counter began anew since the last look that has the file, and what was done since then.
        let mut is_reset = false;
        let mut beginnings = 0;
        for at in history.there.clone() {
            let did = history.did[at];
            let is_first = at == history.there.start;
            // Without handles a second beginning soon after the first may have counted more than that one had: nobody can see it.
            let begins = history.events[at] == Event::Reset && (history.has_handles || beginnings == 0);
            beginnings += u64::from(begins);
            is_reset |= begins;
            let nothing = Did { reads: 0, read_bytes: 0, writes: 0, write_bytes: 0 };
            let start = if begins { nothing } else { counted };
            counted = Did {
                reads: start.reads + did.reads,
                read_bytes: start.read_bytes + did.read_bytes,
                writes: start.writes + did.writes,
                write_bytes: start.write_bytes + did.write_bytes,
            };
            if history.events[at] == Event::Missed && !is_first {
                continue;
            }
            let handle = history.has_handles.then(|| format!("{number}:{beginnings}"));
            looks[at].rows.push(FileRow { handle, ..row(&name, counted) });
            if let Some(before) = last {
                let seconds = (moments[at] - moments[before]) as f64 / 1e3;
                let is_next = before + 1 == at;
                known.push((seconds, (is_next && !is_reset).then_some(did)));
            }
            (last, is_reset) = (Some(at), false);
        }
        truth.push((known, last));
    }
    // Where nobody answers to the end, nothing is known of those that were there before.
    let answered = looks.iter().rposition(|look| !look.rows.is_empty());
    let is_silent = answered.is_some_and(|at| at + 1 < looks.len());
    let truth = truth.into_iter().map(|(mut known, last): (Truth, Option<usize>)| {
        if let Some(at) = last.filter(|last| is_silent && Some(*last) == answered) {
            known.push(((moments[looks.len() - 1] - moments[at]) as f64 / 1e3, None));
        }
        known
    });
    let truth = truth.collect();
    (looks, truth)
}

fn agrees(found: &Activity, truth: &[(f64, Option<Did>)]) {
    assert_eq!(found.iops.intervals.len(), truth.len());
    let mut waited = (0.0, 0.0, 0_u64, 0_u64);
    for ((iops, mb), (seconds, did)) in found.iops.intervals.iter().zip(&found.mb_per_s.intervals).zip(truth) {
        assert!((iops.seconds - seconds).abs() < 1e-9 && (mb.seconds - seconds).abs() < 1e-9);
        let ios = did.map(|did| {
            let as_stored =
                |count: u64, bytes: u64| if count == 0 { 0 } else { count * (bytes / count).div_ceil(UNIT) };
            as_stored(did.reads, did.read_bytes) + as_stored(did.writes, did.write_bytes)
        });
        let near = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => (one - other).abs() < 1e-6 * other.max(1.0),
            (one, other) => one.is_none() && other.is_none(),
        };
        assert!(near(iops.rate, ios.map(|ios| ios as f64 / seconds)), "{iops:?} {did:?}");
        let bytes = did.map(|did| (did.read_bytes + did.write_bytes) as f64 / MB / seconds);
        assert!(near(mb.rate, bytes), "{mb:?} {did:?}");
        if let Some(did) = did {
            waited.0 += did.reads as f64 * 4.0;
            waited.1 += did.writes as f64 * 8.0;
            waited.2 += did.reads;
            waited.3 += did.writes;
        }
    }
    let mean = |all: f64, count: u64| (count > 0).then(|| all / count as f64);
    for (found, wanted) in [(found.read_ms, mean(waited.0, waited.2)), (found.write_ms, mean(waited.1, waited.3))] {
        assert!(
            found.is_some() == wanted.is_some() && (found.unwrap_or(0.0) - wanted.unwrap_or(0.0)).abs() < 1e-3,
            "{found:?} {wanted:?}"
        );
    }
}

#[test]
fn every_figure_is_that_of_the_history() {
    let mut figures = 0;
    let mut unknown = 0;
    let looks = 12;
    let histories = (prop::collection::vec(history(looks), 1..6), prop::collection::vec(100..5000_u64, looks));
    let config = Config { cases: 200, rng_seed: RngSeed::Fixed(58), ..Config::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    for _ in 0..200 {
        let (histories, milliseconds) = histories.new_tree(&mut runner).unwrap().current();
        let (looks, truth) = replayed(&histories, &milliseconds);
        let found = between(&looks, UNIT);
        assert_eq!(found.len(), histories.len());
        for (number, truth) in truth.iter().enumerate() {
            let name = format!("file{number}");
            agrees(found.iter().find(|one| one.name == name).unwrap(), truth);
            figures += truth.len();
            unknown += truth.iter().filter(|(_, did)| did.is_none()).count();
        }
    }
    println!("200 histories: {figures} intervals, {unknown} of them unknown, all as the history has them");
    assert!(figures > 1500 && unknown > 200, "{figures} {unknown}");
}
