//! The buffer pool is one, and exact: what many sessions warm is read from the device once, memory holds what it should
//! and no page more, and a page that was just written or copied is in it.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking, and shows its figures")]

mod common;

use common::{Bench, load, table};
use plimsoll_clock::in_threads;
use plimsoll_engine::{Session, Value};

const PAGE_BYTES: u64 = 4096;

/// With memory of so many pages.
fn hardware(pages: u64) -> String {
    format!(
        r#"
memory = "{}KiB"
[data]
bandwidth = "20MiB/s"
iops = 2000
read_latency = "2ms"
write_latency = "2ms"
[log]
write_bandwidth = "8MiB/s"
write_latency = "1ms"
"#,
        pages * 4
    )
}

fn scan(session: &mut dyn Session) -> u64 {
    session.query_count("SELECT count(*) FROM t WHERE Number > 0", &[]).unwrap()
}

fn read(session: &mut dyn Session, row: i32) -> u64 {
    session.query_count("SELECT Number FROM t WHERE RowId = ?1", &[Value::Int(row)]).unwrap()
}

fn pages_read(bench: &Bench) -> u64 {
    bench.lab.server().state().counters.pages_read
}

fn table_pages(session: &mut dyn Session) -> u64 {
    session.table_size(&table("t")).unwrap().unwrap().table_bytes / PAGE_BYTES
}

/// Lets eight sessions work on the same table at once.
fn eight(bench: &Bench, work: impl Fn(u64, &mut dyn Session) + Sync) {
    let work = &work;
    let jobs = (0..8).map(|number| {
        let mut session = bench.session();
        (format!("session {number}"), move || work(number, session.as_mut()))
    });
    for outcome in in_threads(&bench.clock, jobs.collect()) {
        outcome.unwrap();
    }
}

#[test]
fn eight_sessions_that_scan_one_set_read_it_once_and_then_never() {
    let bench = Bench::new(&hardware(4000));
    let mut session = bench.session();
    load(session.as_mut(), "t", 20_000, 400);
    let pages = table_pages(session.as_mut());
    assert!(pages > 2000, "{pages}");
    eight(&bench, |_, session| assert_eq!(scan(session), 20_000));
    let first = pages_read(&bench);
    // The schema's page is read too.
    assert!((pages..=pages + 1).contains(&first), "{first} of {pages}");
    let start = bench.seconds();
    eight(&bench, |_, session| assert_eq!(scan(session), 20_000));
    assert_eq!(pages_read(&bench), first);
    assert!(bench.seconds() - start < 1e-9);
}

#[test]
fn eight_sessions_that_read_rows_in_different_orders_read_each_page_once() {
    let bench = Bench::new(&hardware(4000));
    load(bench.session().as_mut(), "t", 9000, 400);
    let pages = table_pages(bench.session().as_mut());
    let all = |number: u64, session: &mut dyn Session| {
        for step in 0..9000_u64 {
            // Steps prime to the number of rows.
            read(session, (step * (number * 2 + 1) * 1009 % 9000) as i32 + 1);
        }
    };
    let rows = |number: u64, session: &mut dyn Session| match number {
        // Multiples of 3 and 5 would leave rows out.
        1 | 2 | 4 | 7 => all(8, session),
        number => all(number, session),
    };
    eight(&bench, rows);
    let first = pages_read(&bench);
    assert!((pages..=pages + 1).contains(&first), "{first} of {pages}");
    eight(&bench, rows);
    assert_eq!(pages_read(&bench), first);
}

/// How many pages of a set of so many parts of memory are read from the device when it is scanned again.
fn misses(pages: u64, rows: i32) -> (f64, u64, u64) {
    let bench = Bench::new(&hardware(pages));
    let mut session = bench.session();
    load(session.as_mut(), "t", rows, 400);
    let size = table_pages(session.as_mut());
    for _ in 0..2 {
        scan(session.as_mut());
    }
    let before = pages_read(&bench);
    scan(session.as_mut());
    let held = bench.lab.server().state().pool.pages() as u64;
    assert!(held <= pages);
    (size as f64 / pages as f64, pages_read(&bench) - before, size)
}

#[test]
fn the_limit_of_memory_is_exact() {
    for (rows, fits) in [(9000, true), (9030, true), (9216, false), (9300, false), (10_000, false)] {
        // Nine rows are a page, and there are a few inner ones.
        let (share, missed, size) = misses(1024, rows);
        println!("{share:.4} of memory: {missed} of {size} pages missed");
        if fits {
            assert!(share < 1.0);
            assert_eq!(missed, 0, "{share}");
        } else {
            // Least recently used first: whoever goes round in a set that is a page too large misses all of it.
            assert!(share >= 1.0 && missed * 100 >= size * 95, "{share}: {missed} of {size}");
        }
    }
    let (share, missed, _) = misses(1024, 9020);
    assert!((0.98..1.0).contains(&share) && missed == 0, "{share}: {missed}");
}

#[test]
fn a_page_just_written_and_one_just_copied_are_there() {
    let bench = Bench::new(&hardware(4000));
    let (mut writer, mut reader) = (bench.session(), bench.session());
    load(writer.as_mut(), "t", 9000, 400);
    scan(reader.as_mut());
    // The file's first page is looked at when somebody else has written.
    writer.execute("UPDATE t SET Number = 3 WHERE RowId = 1", &[]).unwrap();
    scan(reader.as_mut());
    let warm = pages_read(&bench);
    let held = bench.lab.server().state().pool.pages();
    // More than the 1,000 frames at which a checkpoint begins.
    for round in 1..=3 {
        for row in (1..9000).step_by(9) {
            let parameters = [Value::BigInt(i64::from(row) * round), Value::Int(row)];
            writer.execute("UPDATE t SET Number = ?1 WHERE RowId = ?2", &parameters).unwrap();
            assert_eq!(read(reader.as_mut(), row), u64::from(row.unsigned_abs()) * round as u64);
        }
    }
    let copied = bench.lab.server().state().counters.data_writes;
    assert!(copied.bytes > 1000 * PAGE_BYTES, "{copied:?}");
    scan(reader.as_mut());
    assert_eq!(pages_read(&bench), warm);
    // A page in the log and in the file is one page.
    assert_eq!(bench.lab.server().state().pool.pages(), held);
}

#[test]
fn the_page_of_an_older_snapshot_is_read_and_counts() {
    let bench = Bench::new(&hardware(4000));
    let (mut writer, mut reader) = (bench.session(), bench.session());
    load(writer.as_mut(), "t", 9000, 400);
    scan(writer.as_mut());
    // The file's first page is looked at when somebody else has written.
    for number in [3, 4] {
        writer.execute("UPDATE t SET Number = ?1 WHERE RowId = 1", &[Value::BigInt(number)]).unwrap();
        scan(reader.as_mut());
    }
    reader.execute("BEGIN", &[]).unwrap();
    let old = read(reader.as_mut(), 5000);
    let (warm, held) = (pages_read(&bench), bench.lab.server().state().pool.pages());
    writer.execute("UPDATE t SET Number = 7 WHERE RowId = 5000", &[]).unwrap();
    assert_eq!(read(writer.as_mut(), 5000), 7);
    assert_eq!((pages_read(&bench), bench.lab.server().state().pool.pages()), (warm, held));
    // The reader's private pages are taken by others, then it comes back to its own version.
    let elsewhere = |reader: &mut dyn Session| {
        for row in [1, 1000, 8000, 3000] {
            read(reader, row);
        }
    };
    elsewhere(reader.as_mut());
    assert_eq!(read(reader.as_mut(), 5000), old);
    assert_eq!((pages_read(&bench), bench.lab.server().state().pool.pages()), (warm + 1, held + 1));
    elsewhere(reader.as_mut());
    assert_eq!(read(reader.as_mut(), 5000), old);
    assert_eq!(pages_read(&bench), warm + 1);
    reader.execute("COMMIT", &[]).unwrap();
    assert_eq!(read(reader.as_mut(), 5000), 7);
    assert_eq!(pages_read(&bench), warm + 1);
}
