//! Managed Instance against disks that all files share: where each breaks first, of cases that can be computed by hand.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use plimsoll_catalog::{Catalog, Date};
use plimsoll_plan::against::{Against, Bottleneck, Breaks, Pool, Shared, against};
use plimsoll_plan::demand::Interval;
use plimsoll_plan::limits::limits;
use plimsoll_plan::storage::LimitOf;
use plimsoll_plan::{Activity, DatabaseFile, Demand, FileKind, Storage, Wishes};

fn pool(iops: f64, mb_per_s: f64) -> Pool {
    let shared = |limit: f64| Some(Shared { limit, source: "a test".to_owned(), io_bytes: None });
    Pool { name: "disks".to_owned(), iops: shared(iops), mb_per_s: shared(mb_per_s), holds_gb: Some(100.0) }
}

fn file(name: &str, size_gb: f64, iops: f64, mb_per_s: f64) -> DatabaseFile {
    let kind = if name == "log" { FileKind::Log } else { FileKind::Data };
    DatabaseFile { iops: Some(iops), mb_per_s: Some(mb_per_s), ..DatabaseFile::new("shop", name, kind, size_gb) }
}

fn held(files: &[DatabaseFile], activity: &[Activity], pool: &Pool) -> Against {
    let day = Some(Date { year: 2018, month: 12, day: 18 });
    let storage = Storage::on(Catalog::builtin().unwrap(), Wishes { day, ..Wishes::default() }).unwrap();
    against(files, activity, (&storage, &limits(files, &storage)), pool)
}

const fn breaks(factor: f64, what: Bottleneck) -> Breaks {
    Breaks { factor, what }
}

#[test]
fn each_side_breaks_at_its_nearest_limit() {
    // P15 has 1,100 IOPS and 125 MB/s, P10 500 and 100; the log may grow by 22 MB/s.
    let files = [file("a", 200.0, 550.0, 25.0), file("b", 100.0, 100.0, 80.0), file("log", 100.0, 100.0, 5.0)];
    let found = held(&files, &[], &pool(3000.0, 165.0));
    assert_eq!(found.instance, Some(breaks(1.25, Bottleneck::File(1, LimitOf::Bandwidth))));
    assert_eq!(found.pool, Some(breaks(1.5, Bottleneck::Shared(LimitOf::Bandwidth))));
    assert_eq!(found.pool_as_seen, None, "nobody sampled");
    let small = held(&files, &[], &pool(600.0, 1e9));
    assert_eq!(small.pool, Some(breaks(0.8, Bottleneck::Shared(LimitOf::Iops))), "it does not carry it");
    // A stripe cuts 80 MB in 100 operations into 1,280 of 64 KB, and 25 MB in 550 into none more: 1,280 + 550 + 100.
    let mut striped = pool(1930.0, 1e9);
    striped.iops = striped.iops.map(|shared| Shared { io_bytes: Some(64 << 10), ..shared });
    assert_eq!(held(&files, &[], &striped).pool, Some(breaks(1.0, Bottleneck::Shared(LimitOf::Iops))));
    let log = [file("a", 200.0, 10.0, 1.0), file("log", 600.0, 10.0, 44.0)];
    assert_eq!(held(&log, &[], &pool(1e9, 1e9)).instance, Some(breaks(0.5, Bottleneck::LogRate)));
    let tempdb = DatabaseFile { database: "tempdb".to_owned(), ..file("t", 10.0, 1e6, 1e6) };
    assert_eq!(held(&[files.to_vec(), vec![tempdb]].concat(), &[], &pool(3000.0, 165.0)), found);
    assert!((found.files_gb - files.iter().map(|file| file.size_gb).sum::<f64>()).abs() < 1e-9, "{found:?}");
    let nothing = [DatabaseFile::new("shop", "a", FileKind::Data, 10.0)];
    assert_eq!(held(&nothing, &[], &pool(1.0, 1.0)), Against { files_gb: 10.0, ..Against::default() });
}

/// Two files that are busy in turn want half of what both want at once.
#[test]
fn peaks_that_do_not_coincide_take_less() {
    let demand = |rates: [Option<f64>; 3]| Demand {
        intervals: rates
            .into_iter()
            .enumerate()
            .map(|(at, rate)| Interval { start_s: at as f64, seconds: 1.0, rate, is_bounded: false })
            .collect(),
    };
    let activity = |iops: [Option<f64>; 3]| {
        let mb_per_s = demand(iops.map(|rate| rate.map(|_| 0.0)));
        Activity { iops: demand(iops), mb_per_s, ..Activity::default() }
    };
    let files = [file("a", 200.0, 1000.0, 1.0), file("b", 200.0, 1000.0, 1.0)];
    let seen = [
        activity([Some(1000.0), Some(200.0), Some(1000.0)]),
        // What both did at the end is not known.
        activity([Some(250.0), Some(1000.0), None]),
    ];
    // Nor what both did while one was not seen for two looks.
    let mut missed = seen.clone();
    missed[1].iops.intervals[0] = Interval { seconds: 2.0, rate: None, ..missed[1].iops.intervals[0] };
    missed[1].iops.intervals.remove(1);
    missed[1].mb_per_s = missed[1].iops.clone();
    assert_eq!(held(&files, &missed, &pool(2500.0, 1e9)).pool_as_seen, None);
    let found = held(&files, &seen, &pool(2500.0, 1e9));
    assert_eq!(found.pool, Some(breaks(1.25, Bottleneck::Shared(LimitOf::Iops))));
    assert_eq!(found.pool_as_seen, Some(breaks(2.0, Bottleneck::Shared(LimitOf::Iops))));
}
