//! What a day of watching takes: a minute a slot, 200 of 1,000 statements active in each. Bytes, how long a minute takes to be written, and
//! how long the last hour and the whole day take to be read: `cargo bench -p plimsoll-store --bench watched`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_profile::bucket::together;
use plimsoll_profile::{
    Edge, Evictions, Item, Known, Measure, Record, Row, RowId, Server, Snapshot, Source, Total, Values, diff,
};
use plimsoll_store::{Keep, ProfileStore, RunStore, Save, Text};

const MINUTE_US: u64 = 60_000_000;
const MINUTES: usize = 24 * 60;
const STATEMENTS: usize = 1_000;
const ACTIVE: usize = 200;
const TOP: usize = 20;

/// 1,700,000,000 is in the middle of a minute; this is a whole one.
const BEGIN_US: i64 = 1_700_000_040_000_000;

/// Measures that a PostgreSQL counts of each statement, with about what an execution adds.
const MEASURES: [(Measure, u64); 8] = [
    (Measure::Executions, 1),
    (Measure::ElapsedUs, 800),
    (Measure::Rows, 12),
    (Measure::LogicalReadPages, 40),
    (Measure::PhysicalReadPages, 3),
    (Measure::LogicalWritePages, 2),
    (Measure::TempPages, 0),
    (Measure::LogBytes, 250),
];

/// Chance that is the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// What the server has counted so far.
struct Counted {
    chance: Chance,
    rows: Vec<[u64; MEASURES.len()]>,
}

impl Counted {
    fn minute(&mut self) {
        for _ in 0..ACTIVE {
            let at = self.chance.below(STATEMENTS as u64) as usize;
            let executions = 1 + self.chance.below(5_000);
            for (counted, (_, each)) in self.rows[at].iter_mut().zip(MEASURES) {
                *counted += executions * each + self.chance.below(each + 1);
            }
        }
    }

    fn read(&self, at_us: i64) -> Snapshot {
        let total: u64 = self.rows.iter().map(|row| row[1]).sum();
        let edge = |clock_us| Edge {
            clock_us,
            server: Server { identity: "one".to_owned(), version: "17".to_owned(), started_us: 1 },
            reset_us: Some(2),
            are_stamps_derived: false,
            evictions: Evictions::Counted(0),
            total: Some(Total { us: total, began_us: Some(2) }),
        };
        let row = |(at, counted): (usize, &[u64; MEASURES.len()])| Row {
            id: RowId(at as u128 + 100),
            item: Item(at as u128 + 1),
            plan: None,
            created_us: Some(3),
            values: Values::of(std::array::from_fn::<_, { MEASURES.len() }, _>(|at| (MEASURES[at].0, counted[at]))),
            longest_us: Some(9_000),
            is_nested: false,
        };
        Snapshot {
            source: Source::Queries,
            start: edge(at_us),
            end: edge(at_us + 10_000),
            own_us: None,
            is_complete: true,
            total_of: Measure::ElapsedUs,
            rows: self.rows.iter().enumerate().map(row).collect(),
        }
    }
}

#[expect(clippy::print_stdout, reason = "a benchmark says what it found")]
fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs.db");
    let runs = Arc::new(RunStore::open(&path).expect("a store"));
    let store = ProfileStore::of(Arc::clone(&runs));
    let (number, mut known) = store.begin("postgres://db/sales", "postgresql").expect("a begin");
    let mut server = Counted { chance: Chance(7), rows: vec![[1; MEASURES.len()]; STATEMENTS] };
    let mut took = Vec::new();
    for minute in 0..=MINUTES {
        server.minute();
        let at_us = BEGIN_US + minute as i64 * MINUTE_US as i64;
        let slot = diff(&mut known, &server.read(at_us), MINUTE_US).expect("a slot");
        let record = Record::of(&slot, &[], MINUTE_US);
        let text = |at: usize| Text {
            item: Item(at as u128 + 1),
            database: Some("sales".to_owned()),
            text: Some(format!(
                "SELECT c{at}, sum(amount) FROM orders WHERE customer = $1 AND placed > $2 GROUP BY {at}"
            )),
            object: None,
        };
        let texts: Vec<Text> = if minute == 0 { (0..STATEMENTS).map(text).collect() } else { Vec::new() };
        let begun = Instant::now();
        save(&store, number, &mut known, &record, &texts);
        // The first one has all texts and rows.
        took.extend((minute > 0).then(|| begun.elapsed()));
    }
    let end_us = BEGIN_US + MINUTES as i64 * MINUTE_US as i64 + 1;
    let hour = median((0..11).map(|_| top(&store, number, end_us - 60 * MINUTE_US as i64, end_us)).collect());
    let day = median((0..11).map(|_| top(&store, number, i64::MIN, end_us)).collect());
    drop((store, runs));
    let bytes = std::fs::metadata(&path).expect("a file").len();
    println!(
        "a day of minutes with {ACTIVE} of {STATEMENTS} statements: {:.1} MB; a minute is written in {:?} (median; p99 {:?}); \
         the top {TOP} of the last hour are read in {hour:?}, of the day in {day:?} (medians of 11)",
        bytes as f64 / f64::from(1 << 20),
        median(took.clone()),
        percentile(took, 99)
    );
}

fn save(store: &ProfileStore, number: i64, known: &mut Known, record: &Record, texts: &[Text]) {
    let changes = known.changes();
    let save = Save {
        reads_before: known.reads() - 1,
        reads: known.reads(),
        changes: &changes,
        records: std::slice::from_ref(record),
        texts,
        events: &[],
        keep: Keep::default(),
    };
    store.save(number, &save).expect("a save");
    known.was_kept();
}

/// How long it takes to add a range up and to find the statements that cost most.
fn top(store: &ProfileStore, number: i64, from_us: i64, to_us: i64) -> Duration {
    let begun = Instant::now();
    let mut sums: BTreeMap<Item, (Values, plimsoll_profile::Status)> = BTreeMap::new();
    let each = |record: Record| {
        for (key, sum) in &record.bucket.sums {
            let more = (sum.values, sum.status);
            sums.entry(key.item).and_modify(|all| *all = together(*all, more)).or_insert(more);
        }
    };
    store.records(number, (from_us, to_us), each).expect("records");
    let mut ranked: Vec<_> = sums.into_iter().collect();
    ranked.sort_by_key(|(_, (values, _))| std::cmp::Reverse(values.get(Measure::ElapsedUs)));
    ranked.truncate(TOP);
    assert_eq!(ranked.len(), TOP);
    begun.elapsed()
}

fn median(took: Vec<Duration>) -> Duration {
    percentile(took, 50)
}

fn percentile(mut took: Vec<Duration>, percent: usize) -> Duration {
    took.sort();
    took[(took.len() - 1) * percent / 100]
}
