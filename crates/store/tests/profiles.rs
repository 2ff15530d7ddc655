//! What was watched is kept once, gets coarser as it gets older, and outlives a kill.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use plimsoll_profile::{
    AboutCounted, Blocker, Counted, Edge, Evictions, Item, Known, Measure, Reason, Record, Row, RowId, Server,
    Snapshot, Source, Status, Sum, Thing, Total, Values, diff,
};
use plimsoll_store::{Happened, Keep, ProfileStore, RunStore, Save, StoreError, Text};

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
/// A whole hour.
const BEGIN: i64 = 1_700_000_000 / 3_600 * HOUR;

/// A server whose statements were executed so often, read at a moment.
fn read(at_us: i64, executions: &[u64]) -> Snapshot {
    let edge = |clock_us| Edge {
        clock_us,
        server: Server { identity: "one".to_owned(), version: "17".to_owned(), started_us: 1 },
        reset_us: Some(2),
        are_stamps_derived: false,
        evictions: Evictions::Counted(0),
        total: Some(Total { us: executions.iter().sum::<u64>() * 1_000, began_us: Some(2) }),
    };
    let row = |(at, count): (usize, &u64)| Row {
        id: RowId(at as u128 + 100),
        item: Item(at as u128 + 1),
        plan: None,
        created_us: Some(3),
        values: Values::of([(Measure::Executions, *count), (Measure::ElapsedUs, *count * 1_000)]),
        longest_us: Some(1_000),
        is_nested: false,
    };
    Snapshot {
        source: Source::Queries,
        start: edge(at_us),
        end: edge(at_us + 10),
        own_us: None,
        is_complete: true,
        total_of: Measure::ElapsedUs,
        rows: executions.iter().enumerate().map(row).collect(),
    }
}

fn open(path: &Path) -> ProfileStore {
    ProfileStore::of(Arc::new(RunStore::open(path).unwrap()))
}

fn save(store: &ProfileStore, number: i64, known: &mut Known, before: u64, records: &[Record], keep: Keep) {
    let changes = known.changes();
    let save =
        Save { reads_before: before, reads: known.reads(), changes: &changes, records, texts: &[], events: &[], keep };
    store.save(number, &save).unwrap();
    known.was_kept();
}

fn all(store: &ProfileStore, number: i64) -> Vec<Record> {
    let mut records = Vec::new();
    store.records(number, (i64::MIN, i64::MAX), |record| records.push(record)).unwrap();
    records
}

fn executions(records: &[Record]) -> u64 {
    records.iter().filter_map(|record| record.bucket.sum(Measure::Executions)).sum()
}

#[test]
fn what_is_kept_comes_back_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let store = open(&path);
    let (number, mut known) = store.begin("postgres://db/sales", "postgresql").unwrap();
    assert_eq!(known.reads(), 0);
    let mut kept = Vec::new();
    for at in 0..4 {
        let slot =
            diff(&mut known, &read(BEGIN + at * MINUTE, &[at as u64 * 5, 7 + at as u64]), 60 * 1_000_000).unwrap();
        let mut record = Record::of(&slot, &[], 60 * 1_000_000);
        record.waits.insert((Some(Item(1)), "IO DataFileRead".to_owned()), 12);
        record.waits.insert((None, "Lock tuple".to_owned()), 3);
        let state = "idle in transaction".to_owned();
        record.about.block(&[Blocker { item: Some(Item(2)), state, blocked_us: 7, most_blocked: 2, at_us: 5 }]);
        kept.push(record);
    }
    let text = |item, object: Option<&str>| Text {
        item: Item(item),
        database: Some("sales".to_owned()),
        text: Some("SELECT $1".to_owned()),
        object: object.map(str::to_owned),
    };
    let texts = [text(1, Some("dbo.place_order")), text(2, None)];
    let event = Happened { from_us: BEGIN, to_us: BEGIN + 5, kind: "start".to_owned(), note: String::new() };
    let changes = known.changes();
    let events = [event.clone()];
    let one = Save {
        reads_before: 0,
        reads: 4,
        changes: &changes,
        records: &kept,
        texts: &texts,
        events: &events,
        keep: Keep::default(),
    };
    store.save(number, &one).unwrap();
    // Who was not there for the last save can't save.
    assert!(matches!(store.save(number, &one), Err(StoreError::Overtaken(_))));
    drop(store);
    let store = open(&path);
    let (same, again) = store.begin("postgres://db/sales", "postgresql").unwrap();
    assert_eq!((same, again.reads(), again.rows()), (number, 4, 2));
    assert_eq!(all(&store, number), kept);
    let mut known_texts = store.texts(number).unwrap();
    known_texts.sort_by_key(|text| text.item);
    assert_eq!(known_texts, texts);
    // The first read has nothing to subtract from.
    let mut first = store.first_seen(number).unwrap();
    first.sort_unstable();
    assert_eq!(first.iter().map(|(item, _)| *item).collect::<Vec<_>>(), [Item(1), Item(2)]);
    assert!(first.iter().all(|(_, us)| (BEGIN..BEGIN + 3 * MINUTE).contains(us)), "{first:?}");
    assert_eq!(store.events(number, (BEGIN + 5, BEGIN + 9)).unwrap(), [event]);
    let watched = store.watched().unwrap();
    assert_eq!((watched.len(), watched[0].target.as_str(), watched[0].statements), (1, "postgres://db/sales", 2));
    assert_eq!(watched[0].span_us, Some((BEGIN, BEGIN + 3 * MINUTE + 10)));
    let connection = rusqlite::Connection::open(&path).unwrap();
    let texts: i64 = connection.query_row("SELECT count(*) FROM watched_text", [], |row| row.get(0)).unwrap();
    assert_eq!(texts, 1, "a text is kept once");
}

/// What is counted of files and waits comes back, and an hour has the exact sum of all its slots.
#[test]
fn what_a_server_counted_itself_is_rolled_up_with_nothing_lost() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("runs.db"));
    let (number, mut known) = store.begin("postgres://db/sales", "postgresql").unwrap();
    let mut kept = Vec::new();
    for at in 0..61_u64 {
        let slot = diff(&mut known, &read(BEGIN + at.cast_signed() * MINUTE, &[at]), 60 * 1_000_000).unwrap();
        let mut record = Record::of(&slot, &[], 60 * 1_000_000);
        let sum = |reads| Sum {
            values: Values::of([(Measure::Reads, reads), (Measure::ReadUs, 10 * reads)]),
            status: Status::EXACT,
            longest_us: None,
        };
        let files = (0..40).map(|file| {
            let name = format!("file {file}");
            let (kind, database, service) = ("data".to_owned(), "sales".to_owned(), String::new());
            (Thing { name, kind, database, service }, sum(file + at))
        });
        let mut counted = Counted { sums: files.collect(), other: None };
        counted.cut(8);
        record.counted.insert(Source::Files, counted);
        let about = AboutCounted { covered_us: 60_000_000, ..AboutCounted::default() };
        record.about.counted.insert(Source::Files, about);
        record.about.counted.insert(Source::Waits, AboutCounted::absent("no answer".to_owned()));
        kept.push(record);
    }
    save(&store, number, &mut known, 0, &kept, Keep::default());
    let range = (BEGIN, BEGIN + HOUR);
    assert_eq!(store.counted(number, range).unwrap()[7].counted, kept[7].counted);
    // Only the hour is kept by now, and what began after it.
    let keep = Keep { us: [0, 0, 0, 400 * 24 * HOUR], ..Keep::default() };
    let before = known.reads();
    let late = read(BEGIN + 2 * HOUR + MINUTE, &[90]);
    let slot = diff(&mut known, &late, 60 * 1_000_000).unwrap();
    save(&store, number, &mut known, before, &[Record::of(&slot, &[], 60 * 1_000_000)], keep);
    let hours = store.counted(number, range).unwrap();
    let [hour] = &hours[..] else { panic!("{} records", hours.len()) };
    let files = &hour.counted[&Source::Files];
    let sums = files.sums.values().chain(files.other.as_ref().map(|other| &other.sum));
    let reads: u64 = sums.filter_map(|sum| sum.values.get(Measure::Reads)).sum();
    assert_eq!(reads, (0..61).map(|at| (0..40).map(|file| file + at).sum::<u64>()).sum::<u64>());
    assert!(files.other.is_some() && files.sums.len() <= 32);
    assert_eq!(hour.about.counted[&Source::Files].covered_us, 61 * 60_000_000);
    assert_eq!(hour.about.counted[&Source::Waits].absent.as_deref(), Some("no answer"));
}

/// Watches for some hours without a server, and saves now and then.
fn watch(store: &ProfileStore, hours: i64, slot: i64, keep: Keep) -> (i64, u64) {
    let (number, mut known) = store.begin("postgres://db/sales", "postgresql").unwrap();
    let (mut records, mut before, mut counts) = (Vec::new(), 0, vec![0_u64; 30]);
    for at in 0..=hours * HOUR / slot {
        for (number, count) in counts.iter_mut().enumerate() {
            *count += (at as u64 + number as u64) % 3;
        }
        let read = diff(&mut known, &read(BEGIN + at * slot, &counts), slot as u64).unwrap();
        records.push(Record::of(&read, &[], slot as u64));
        if records.len() == 240 {
            save(store, number, &mut known, before, &records, keep);
            (before, records) = (known.reads(), Vec::new());
        }
    }
    save(store, number, &mut known, before, &records, keep);
    let first: u64 = (0..30).map(|number| number % 3).sum();
    (number, counts.iter().sum::<u64>() - first)
}

#[test]
fn old_slots_get_coarser_and_no_execution_is_lost_or_counts_twice() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("runs.db"));
    let keep = Keep { us: [2 * HOUR, 5 * HOUR, 9 * HOUR, 400 * HOUR], top: 10, ..Keep::default() };
    let (number, total) = watch(&store, 14, 15 * SECOND, keep);
    let records = all(&store, number);
    assert_eq!(executions(&records), total);
    let mut lengths: BTreeMap<u64, usize> = BTreeMap::new();
    for record in &records {
        *lengths.entry(record.bucket.length_us / 1_000_000).or_default() += 1;
    }
    assert_eq!(lengths[&3_600], 5, "{lengths:?}");
    assert_eq!(lengths[&900], 4 * 4, "{lengths:?}");
    assert!(lengths[&60] >= 3 * 60 && lengths[&15] >= 2 * 240, "{lengths:?}");
    let covered: u64 = records.iter().map(|record| record.bucket.covered_us).sum();
    assert_eq!(covered, 14 * HOUR as u64);
    assert!(records.iter().any(|record| record.bucket.other.is_some()), "only the top of an hour is listed");
    // A part of the time is the part of the sum.
    let half = BEGIN + 7 * HOUR;
    let mut parts = [0_u64; 2];
    for (part, range) in parts.iter_mut().zip([(i64::MIN, half), (half, i64::MAX)]) {
        store.records(number, range, |record| *part += record.bucket.sum(Measure::Executions).unwrap()).unwrap();
    }
    assert_eq!(parts.iter().sum::<u64>(), total);
}

#[test]
fn a_servers_clock_that_is_ahead_for_a_while_makes_nothing_old() {
    const YEARS: i64 = 3 * 365 * 24 * HOUR;
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("runs.db"));
    let (number, mut known) = store.begin("postgres://db/sales", "postgresql").unwrap();
    let mut total = 0;
    for (minute, ahead) in (1..=40).map(|minute| (minute, if (20..24).contains(&minute) { YEARS } else { 0 })) {
        let (at, before) = (BEGIN + minute * MINUTE, known.reads());
        let slot = diff(&mut known, &read(at + ahead, &[minute as u64 * 100]), MINUTE as u64).unwrap();
        let record = Record::of(&slot, &[], MINUTE as u64);
        total += record.bucket.sum(Measure::Executions).unwrap();
        save(&store, number, &mut known, before, &[record], Keep { now_us: at, ..Keep::default() });
    }
    assert_eq!(executions(&all(&store, number)), total);
    assert!(total > 3_000, "{total}");
}

#[test]
fn a_cap_drops_the_finest_and_oldest_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let store = open(&path);
    let keep = Keep { us: [400 * HOUR; 4], most_bytes: 2 << 20, top: 10, ..Keep::default() };
    let (number, _) = watch(&store, 24, 30 * SECOND, keep);
    let records = all(&store, number);
    let oldest = |seconds: u64| {
        let of = records.iter().filter(|record| record.bucket.length_us == seconds * 1_000_000);
        of.map(|record| record.bucket.start_us).min()
    };
    assert!(oldest(60) == Some(BEGIN) || oldest(900) == Some(BEGIN), "the beginning is kept in some way");
    assert!(oldest(30).unwrap() > BEGIN + HOUR);
    let covered: u64 = records.iter().map(|record| record.bucket.covered_us).sum();
    assert_eq!(covered, 24 * HOUR as u64);
    // The estimate of a row is near to the truth.
    drop(store);
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE); VACUUM").unwrap();
    let bytes = std::fs::metadata(&path).unwrap().len();
    let sum = "SELECT sum(sums) * 64 + count(*) * 400 FROM watched_slot";
    let estimate: i64 = connection.query_row(sum, [], |row| row.get(0)).unwrap();
    let ratio = bytes as f64 / estimate as f64;
    assert!((0.5..1.5).contains(&ratio), "{bytes} bytes, about {estimate}");
}

/// Watches until it is killed: a statement is executed a hundred times in each minute, whoever looks.
#[test]
#[ignore = "the process that is killed by the test below"]
fn watching() {
    let store = open(Path::new(&std::env::var("WATCHED_STORE").unwrap()));
    let mut minute: i64 = std::env::var("WATCHED_FROM").unwrap().parse().unwrap();
    let (number, mut known) = store.begin("postgres://db/sales", "postgresql").unwrap();
    loop {
        let before = known.reads();
        let slot = diff(&mut known, &read(BEGIN + minute * MINUTE, &[minute as u64 * 100]), MINUTE as u64).unwrap();
        save(&store, number, &mut known, before, &[Record::of(&slot, &[], MINUTE as u64)], Keep::default());
        minute += 1;
        // Whoever kills it waits for some lines.
        std::io::Write::write_all(&mut std::io::stderr(), format!("{minute}\n").as_bytes()).unwrap();
    }
}

#[test]
fn a_kill_at_any_moment_leaves_a_gap_of_its_true_length() {
    const KILLS: usize = 50;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let mut minute = 0;
    for kill in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "watching", "--ignored", "--nocapture"])
            .env("WATCHED_STORE", &path)
            .env("WATCHED_FROM", minute.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut told = lines.map_while(Result::ok).filter_map(|line| line.parse::<i64>().ok());
        // It is killed while it reads, subtracts or saves: after some minutes of it, and some work of ours.
        let told_last = told.nth(1 + kill % 4).unwrap();
        (0..kill * 20_000).for_each(|step| _ = std::hint::black_box(step));
        child.kill().unwrap();
        child.wait().unwrap();
        // It may have saved one minute more than it said. The next one begins some minutes later.
        minute = told.last().unwrap_or(told_last) + 3 + (kill as i64 % 5);
    }
    let store = open(&path);
    let (number, mut known) = store.begin("postgres://db/sales", "postgresql").unwrap();
    let before = known.reads();
    let slot = diff(&mut known, &read(BEGIN + minute * MINUTE, &[minute as u64 * 100]), MINUTE as u64).unwrap();
    save(&store, number, &mut known, before, &[Record::of(&slot, &[], MINUTE as u64)], Keep::default());
    let mut records = all(&store, number);
    records.sort_by_key(|record| record.bucket.start_us);
    assert_eq!(executions(&records), minute as u64 * 100, "none is lost, none is there twice");
    let first = records.remove(0);
    assert!(first.about.events.contains(&Reason::First) && first.bucket.covered_us == 0);
    let mut end = first.about.end_us;
    let mut gaps = 0;
    for record in &records {
        assert_eq!(record.bucket.start_us, end, "each begins where the one before ended");
        end = record.about.end_us;
        let minutes = (end - record.bucket.start_us) / MINUTE;
        assert_eq!(record.bucket.covered_us, (end - record.bucket.start_us) as u64);
        assert_eq!(record.bucket.sum(Measure::Executions), Some(minutes as u64 * 100), "no spike: {record:?}");
        let is_gap = record.bucket.status.has(Status::GAP);
        assert_eq!(is_gap, minutes > 1, "{record:?}");
        gaps += usize::from(is_gap);
    }
    assert_eq!(gaps, KILLS);
}
