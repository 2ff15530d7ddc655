//! The sampler of the whole server, driven by a script.

use plimsoll_engine::database::{Sampler, Telemetry as _};
use plimsoll_measurement::{FileLimit, Reading};

use super::*;
use crate::database::MssqlDatabase;

const WAITS: &str = "dm_db_wait_stats";
const SESSIONS: &str = "open_transaction_count";
const NEWEST: &str = "CONVERT(nvarchar(23), r.end_time";

fn rows(rows: &[&[Value<'static>]]) -> Said {
    Said::Rows(rows.iter().map(|row| row.to_vec()).collect())
}

/// Files as they were counted at this time of the server's.
fn files(milliseconds: i64, reads: i64) -> Said {
    let data = [
        Text("sales"),
        BigInt(0),
        BigInt(reads),
        BigInt(reads * 8_192),
        BigInt(2 * reads),
        BigInt(7),
        BigInt(0),
        BigInt(0),
        BigInt(milliseconds),
        BigInt(1 << 24),
        BigInt(1),
        Text("sales"),
        // Of files of all databases alone.
        BigInt(1 << 11),
        BigInt(5),
    ];
    let mut log = data;
    (log[0], log[1], log[2], log[3]) = (Text("sales_log"), BigInt(1), BigInt(0), BigInt(0));
    rows(&[&data, &log])
}

fn sampled() -> Script {
    let newest = |end, ago| rows(&[&[Text(end), BigInt(ago), Float(12.5), Float(80.0), Null, Float(40.0)]]);
    azure()
        .on("sample_ms", [files(5_000, 100), files(6_000, 350), files(7_000, 600)])
        .on(
            WAITS,
            [rows(&[
                &[Text("LCK_M_X"), BigInt(5), BigInt(900), BigInt(1), BigInt(9)],
                &[Text("PAGEIOLATCH_EX"), BigInt(2), BigInt(60), BigInt(1), BigInt(9)],
                &[Text("PAGEIOLATCH_SH"), BigInt(12), BigInt(340), BigInt(1), BigInt(9)],
                &[Text("POOL_LOG_RATE_GOVERNOR"), BigInt(1), BigInt(1_000), BigInt(1), BigInt(9)],
                &[Text("SOS_WORK_DISPATCHER"), BigInt(9), BigInt(99_000), BigInt(1), BigInt(9)],
            ])],
        )
        .on(
            SESSIONS,
            [
                rows(&[
                    &[Text("running"), Null, BigInt(2), Null, BigInt(1), Text("running")],
                    &[Text("suspended"), Text("LCK_M_X"), BigInt(1), BigInt(20), BigInt(1), Text("running")],
                    &[Text("suspended"), Text("PAGEIOLATCH_SH"), BigInt(3), BigInt(10), BigInt(1), Text("running")],
                    // A transaction that is open, and no request.
                    &[Null, Null, BigInt(1), Null, BigInt(1), Text("sleeping")],
                    &[Text("running"), Null, BigInt(4), Null, BigInt(0), Text("running")],
                    &[Text("suspended"), Text("WAITFOR"), BigInt(5), BigInt(10), BigInt(0), Text("running")],
                ]),
                rows(&[&[Text("suspended"), Text("LCK_M_X"), BigInt(1), BigInt(1_020), BigInt(1), Null]]),
                rows(&[]),
            ],
        )
        .on(NEWEST, [newest("a", 4_000), newest("a", 5_000), newest("b", 1_000)])
}

fn sampler(script: &Script, clock: &Arc<dyn Clock>) -> Box<dyn Sampler> {
    let database = MssqlDatabase::open(script.connector(URL, clock)).unwrap();
    database.server_sampler().unwrap().unwrap()
}

fn find(readings: &[Reading], metric: Counter) -> Option<&Reading> {
    readings.iter().find(|reading| reading.metric == metric)
}

fn value(readings: &[Reading], metric: Counter) -> Option<f64> {
    find(readings, metric).map(|reading| reading.value)
}

#[test]
fn counters_waits_sessions_and_resources_are_read() {
    let (_, clock) = clock();
    let script = sampled();
    let mut sampler = sampler(&script, &clock);
    let first = sampler.sample().unwrap();
    clock.sleep(Duration::from_millis(1_700));
    let second = sampler.sample().unwrap();
    let third = sampler.sample().unwrap();
    assert_eq!(script.names().last().map(String::as_str), Some("plimsoll sampler"));

    // By the server's time a second has passed.
    let reads = [&first, &second].map(|readings| find(readings, Counter::DataReads).unwrap());
    assert_eq!(reads.map(|reading| Some(reading.value)), [Some(100.0), Some(350.0)]);
    assert_eq!(reads[1].window.end.since(reads[0].window.end), Duration::from_secs(1));
    assert_eq!(value(&first, Counter::DataReadStallSeconds), Some(0.2));

    assert_eq!(value(&first, Counter::DataReadWaitSeconds), Some(0.4));
    assert_eq!(value(&first, Counter::LogRateGovernorWaitSeconds), Some(1.0));
    // Nobody has waited for that yet.
    assert_eq!(value(&first, Counter::WorkerWaitSeconds), Some(0.0));
    // A wait that still goes on is not counted, so its kind is not known.
    let locks = [&first, &second, &third].map(|readings| value(readings, Counter::LockWaitSeconds));
    assert_eq!(locks, [Some(0.9), None, Some(0.9)]);

    // Of others it is counted how many are at work.
    let gauges = [
        Counter::SessionsOnCpu,
        Counter::SessionsReadingData,
        Counter::SessionsWaitingForLocks,
        Counter::SessionsWaitingForClients,
        Counter::SessionsAsleep,
        Counter::SessionsOfOthers,
    ];
    assert_eq!(gauges.map(|gauge| value(&first, gauge)), [2.0, 3.0, 1.0, 1.0, 0.0, 4.0].map(Some));
    assert_eq!(gauges.map(|gauge| value(&third, gauge)), [Some(0.0); 6]);

    // A row is seen once, in its own interval.
    let percents = [&first, &second, &third].map(|readings| value(readings, Counter::DataIoPercent));
    assert_eq!(percents, [Some(80.0), None, Some(80.0)]);
    assert_eq!(value(&first, Counter::LogWritePercent), None);
    let window = find(&first, Counter::CpuPercent).unwrap().window;
    assert_eq!(window.end.since(window.start), Duration::from_secs(15));
    assert!(window.end < find(&first, Counter::DataReads).unwrap().window.end);
}

/// Each file of a managed instance that has an URL for a path is a blob; a database in Azure has none of its own, whatever its paths.
#[test]
fn files_of_an_instance_have_limits_by_their_sizes() {
    let (_, clock) = clock();
    let instance = |is_blob: i64| {
        let said = |milliseconds: i64, reads: i64| {
            let Said::Rows(mut rows) = files(milliseconds, reads) else { panic!("rows") };
            rows[0][10] = BigInt(is_blob);
            Said::Rows(rows)
        };
        let version = [
            Text("12.0.2000.8"),
            Text("SQL Azure"),
            BigInt(8),
            Text("Azure"),
            Text("srv"),
            Text("sales"),
            Text("READ_WRITE"),
        ];
        everything().row("EngineEdition", &version).on("sample_ms", [said(5_000, 100), said(6_000, 350)])
    };
    let mut on_blobs = sampler(&instance(1), &clock);
    assert_eq!(on_blobs.files(), None, "nothing was read yet");
    on_blobs.sample().unwrap();
    let first = on_blobs.files().unwrap();
    on_blobs.sample().unwrap();
    let second = on_blobs.files().unwrap();
    let limit = Some(FileLimit::BySize("azure-sql-mi-gp"));
    assert!(first.rows.iter().all(|row| row.limit == limit && row.size_bytes == Some(128 << 30)), "{first:?}");
    let data = [&first, &second].map(|files| (files.rows[0].name.as_str(), files.rows[0].kind, files.rows[0].reads));
    assert_eq!(data, [("sales", "data", Some(100)), ("sales", "data", Some(350))]);
    assert_eq!(second.window.end.since(first.window.end), Duration::from_secs(1));

    let mut on_disk = sampler(&instance(0), &clock);
    on_disk.sample().unwrap();
    assert_eq!(on_disk.files().unwrap().rows.len(), 1, "only its log is a blob");
    let mut database = sampler(&sampled(), &clock);
    database.sample().unwrap();
    assert_eq!(database.files(), None);
}

/// Files of all databases, by the server's clock: those that are blobs have limits, and those on the instance's own disk have no counts.
#[test]
fn files_of_all_databases_are_looked_at_by_the_servers_clock() {
    let row = |database: &'static str, id: i64, path: &'static str, ms: i64, reads: i64| {
        let counts = [reads, reads * 8_192, 4 * reads, 0, 0, 0].map(BigInt);
        let place = [Text(database), Text(path), Text("a handle"), BigInt(ms), BigInt(1 << 17), BigInt(id)];
        [vec![Text("rows"), BigInt(0)], counts.into(), place.into()].concat()
    };
    let said = |ms: i64, reads: i64| {
        let blob = "https://x.blob.core.windows.net/a/rows.mdf";
        let mut all = vec![row("sales", 7, blob, ms, reads), row("on a disk", 8, "F:\\rows.mdf", ms, reads)];
        for (database, id) in [("tempdb", 2), ("replicatedmaster", 32_760), ("model", 32_763)] {
            all.push(row(database, id, "C:\\rows.mdf", ms, reads));
        }
        Said::Rows(all)
    };
    let (_, clock) = clock();
    let script = everything().on("v.database_id AS int", [said(5_000, 100), said(7_500, 350)]);
    let mut sampler = sampler(&script, &clock);
    let [first, second] = [(); 2].map(|()| sampler.all_files().unwrap().unwrap());
    assert_eq!(second.window.end.since(first.window.end), Duration::from_millis(2_500));
    let seen: Vec<_> =
        second.rows.iter().map(|file| (file.database.as_deref().unwrap(), file.reads, file.limit)).collect();
    let limit = Some(FileLimit::BySize("azure-sql-mi-gp"));
    let wanted = [
        ("sales", Some(350), limit),
        ("on a disk", Some(350), None),
        ("tempdb", None, None),
        ("replicatedmaster", None, None),
        ("model", None, None),
    ];
    assert_eq!(seen, wanted);
    assert!(second.rows.iter().all(|file| file.size_bytes == Some(1 << 30) && file.handle.is_some()));
}

#[test]
fn what_is_refused_is_absent_and_a_broken_line_is_made_again() {
    let (_, clock) = clock();
    let lost = || Said::Fault(Fault::Closed("reset".to_owned()));
    // The first answer is for whoever asks what may be seen.
    let waits = [rows(&[]), Said::Fault(refusal(300)), rows(&[])];
    let script = sampled().on(WAITS, waits).on("sample_ms", [files(5_000, 1), lost(), files(6_000, 2)]);
    let mut sampler = sampler(&script, &clock);
    let refused = sampler.sample().unwrap();
    assert!(value(&refused, Counter::LockWaitSeconds).is_none() && value(&refused, Counter::DataReads) == Some(1.0));
    assert_eq!(sampler.sample().unwrap_err().kind, ErrorKind::Lost);
    let _ = script.clone().login_fails(refusal(18_456));
    let error = sampler.sample().unwrap_err();
    assert!(error.kind == ErrorKind::Authenticate && !format!("{error:?}").contains("pl4nted"), "{error:?}");
    assert_eq!(value(&sampler.sample().unwrap(), Counter::DataReads), Some(2.0));
    assert_eq!(script.names().iter().filter(|name| *name == "plimsoll sampler").count(), 3);
}

#[test]
fn views_have_the_waits_of_all_and_five_minutes_where_master_is_open() {
    let (_, clock) = clock();
    let script = sampled().row("sys.resource_stats", &[BigInt(300), Float(50.0), Float(60.0), Float(70.0), Null]);
    let views = sampler(&script, &clock).views().unwrap();
    let locks = views.waits.iter().find(|wait| wait.name == "LCK_M_X");
    assert_eq!(locks.map(|wait| (wait.count, wait.seconds)), Some((5, 0.9)));
    assert_eq!(locks.and_then(|wait| wait.longest_seconds), Some(0.009));
    // Threads that wait for work are nobody's waits.
    assert!(!views.waits.iter().any(|wait| wait.name == "SOS_WORK_DISPATCHER"));
    assert_eq!((views.files.len(), views.resources_15_s.len()), (2, 1));
    assert_eq!(views.resources_5_min[0].data_io_percent, Some(60.0));
    assert_eq!(clock.now().since(views.resources_5_min[0].end), Duration::from_mins(5));
    // By the name that the database says it has, also where the target names none.
    let script = sampled();
    let mut sampler = {
        let database = MssqlDatabase::open(script.connector("mssql://ann:pl4nted@h", &clock)).unwrap();
        database.server_sampler().unwrap().unwrap()
    };
    sampler.views().unwrap();
    assert_eq!(script.values(), "[Text(\"sales\")]");
    let closed = sampled().refuses("sys.resource_stats", 297);
    assert!(self::sampler(&closed, &clock).views().unwrap().resources_5_min.is_empty());
}

#[test]
fn ceilings_are_those_in_force() {
    let said = |script: &Script| -> Vec<(String, f64)> {
        let (_, clock) = clock();
        let database = MssqlDatabase::open(script.connector(URL, &clock)).unwrap();
        database.ceilings().into_iter().map(|ceiling| (ceiling.resource, ceiling.value)).collect()
    };
    let named = |list: &[(&str, f64)]| -> Vec<(String, f64)> {
        list.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    };
    // Of a DTU level nobody says how many CPUs it has, and its server has more.
    let level = [("sessions", 1_200.0), ("workers", 120.0), ("log_bandwidth", 2.5), ("data_iops", 640.0)];
    assert_eq!(said(&azure()), named(&level));
    assert_eq!(said(&everything()), named(&[("cpu", 8.0)]));
}

#[test]
fn who_may_see_nothing_has_no_sampler() {
    let (_, clock) = clock();
    let poor = everything()
        .refuses("dm_io_virtual_file_stats", 300)
        .refuses("dm_os_wait_stats", 300)
        .row("HAS_PERMS_BY_NAME", &[BigInt(0); 8]);
    let database = MssqlDatabase::open(poor.connector(URL, &clock)).unwrap();
    assert!(database.server_sampler().unwrap().is_none() && database.server_pids().is_empty());
}
