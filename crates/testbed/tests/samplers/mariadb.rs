//! MariaDB, or MySQL where tests run on it.

use std::sync::OnceLock;

use plimsoll_engine::{Credentials, Engine as _, ErrorKind, Secret, Target};
use plimsoll_measurement::reading::growth;
use plimsoll_measurement::{FileRow, WaitClass};
use plimsoll_mysql::MySql;
use plimsoll_testbed::{MariaDb, Product};

use super::*;

/// One server for all tests that leave it as it is.
fn server() -> &'static MariaDb {
    static SERVER: OnceLock<MariaDb> = OnceLock::new();
    SERVER.get_or_init(|| MariaDb::builder().buffer_pool_mb(64).start().unwrap())
}

fn open_as(url: &str, password: Option<&str>) -> Box<dyn Database> {
    let credentials = Credentials { password: password.map(Secret::new), ..Credentials::default() };
    MySql.open(&Target::parse(url).unwrap(), &credentials, clock()).unwrap()
}

pub(super) fn open(server: &MariaDb) -> Box<dyn Database> {
    open_as(&server.socket_url("test"), None)
}

pub(super) fn sampler_of(database: &dyn Database) -> Box<dyn Sampler> {
    database.server_sampler().unwrap().unwrap()
}

/// Makes a table of rows that fill this many pages or so.
pub(super) fn fill(session: &mut dyn Session, pages: u32) {
    session.execute("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(500)) ENGINE = InnoDB", &[]).unwrap();
    let digits: Vec<String> = (0..10).map(|digit| format!("SELECT {digit} AS n")).collect();
    let sql = format!(
        "INSERT INTO t WITH d AS ({}) SELECT 1 + a.n + 10 * b.n + 100 * c.n + 1000 * e.n + 10000 * f.n AS k, repeat('x', 500) \
         FROM d a, d b, d c, d e, d f HAVING k <= {} ORDER BY k",
        digits.join(" UNION ALL "),
        pages * 28
    );
    session.execute(&sql, &[]).unwrap();
}

#[test]
fn sessions_are_seen_at_what_they_do() {
    let database = open(server());
    let (_lease, [mut holder, row, table, sleeper, worker]) = sessions(&*database, "sampledsessions");
    fill(&mut *holder, 1);
    for sql in ["BEGIN", "UPDATE t SET b = 'y' WHERE a = 1"] {
        holder.execute(sql, &[]).unwrap();
    }
    let mut sampler = sampler_of(&*database);
    let _row = Busy::with(row, "UPDATE t SET b = 'z' WHERE a = 1");
    let rows =
        until(&mut *sampler, "a row lock", |readings| value(readings, Counter::SessionsWaitingForLocks) >= Some(1.0));
    assert!(value(&rows, Counter::SessionsWaitingForClients) >= Some(1.0));
    // A wait that goes on is not counted yet, and so left out.
    until(&mut *sampler, "lateness", |readings| value(readings, Counter::LockWaitSeconds).is_none());
    let _table = Busy::with(table, "ALTER TABLE t ADD c INT");
    let _sleeper = Busy::with(sleeper, "DO SLEEP(600)");
    let _worker = Busy::with(worker, "DO BENCHMARK(1000000000000, SHA2('x', 256))");
    for metric in [
        Counter::SessionsWaitingForLocks,
        // The time of waits for locks is that of rows alone.
        Counter::SessionsWaitingForTableLocks,
        Counter::SessionsAsleep,
        Counter::SessionsOnCpu,
    ] {
        let readings = until(&mut *sampler, metric.name(), |readings| value(readings, metric) >= Some(1.0));
        assert!(GAUGES.iter().all(|gauge| value(&readings, *gauge).is_some()));
        assert!(readings.iter().all(|reading| reading.window.end >= reading.window.start));
    }
    holder.execute("ROLLBACK", &[]).unwrap();
    until(&mut *sampler, "its end", |readings| value(readings, Counter::LockWaitSeconds) > Some(0.0));
}

#[test]
fn it_is_seen_whose_row_locks_ours_wait_for() {
    let server = MariaDb::builder().buffer_pool_mb(16).start().unwrap();
    let database = open(&server);
    server
        .sql("CREATE TABLE test.held (a INT PRIMARY KEY) ENGINE = InnoDB; INSERT INTO test.held VALUES (1), (2)")
        .unwrap();
    let (_lease, [mut holder, waiter, second]) = sessions(&*database, "sampledholders");
    for sql in ["BEGIN", "SELECT a FROM test.held WHERE a = 1 FOR UPDATE"] {
        holder.execute(sql, &[]).unwrap();
    }
    let mut sampler = sampler_of(&*database);
    let blocked = |readings: &[Reading]| value(readings, Counter::SessionsBlockedByOthers);
    assert_eq!(blocked(&sampler.sample().unwrap()), Some(0.0));
    let _waiter = Busy::with(waiter, "SELECT a FROM test.held WHERE a = 1 FOR UPDATE");
    let waiting = |readings: &[Reading]| value(readings, Counter::SessionsWaitingForLocks);
    let of_ours = until(&mut *sampler, "a wait", |readings| waiting(readings) == Some(1.0));
    assert_eq!(blocked(&of_ours), Some(0.0), "we hold it ourselves");
    assert!(sampler.seen().contains(&("InnoDB row lock".to_owned(), 1.0)));
    thread::scope(|scope| {
        let hold = "BEGIN; SELECT a FROM test.held WHERE a = 2 FOR UPDATE; DO SLEEP(600)";
        let stranger = scope.spawn(|| server.sql(hold));
        until(&mut *sampler, "a stranger", |readings| {
            value(readings, Counter::SessionsOfOthers) == Some(0.0) && {
                let slept = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'DO SLEEP%'";
                server.sql(slept).unwrap().trim() == "1"
            }
        });
        let _second = Busy::with(second, "SELECT a FROM test.held WHERE a = 2 FOR UPDATE");
        let both = until(&mut *sampler, "two waits", |readings| waiting(readings) == Some(2.0));
        assert_eq!(blocked(&both), Some(1.0), "one of two holders is not ours");
        let kill = "SELECT CONCAT('KILL ', ID) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'DO SLEEP%'";
        server.sql(server.sql(kill).unwrap().trim()).unwrap();
        stranger.join().unwrap().unwrap_err();
    });
    holder.execute("ROLLBACK", &[]).unwrap();
}

/// Sessions in the queue look idle in the list of sessions, so the time would be taken for the network's.
#[test]
fn sessions_in_the_queue_of_a_pool_of_threads_wait_for_workers() {
    let pool = MariaDb::builder().buffer_pool_mb(16).setting("thread_handling", "pool-of-threads");
    let server = pool.setting("thread_pool_size", "1").start();
    // MySQL has none in its free edition and does not start with the settings.
    let Ok(server) = server else { return assert_eq!(self::server().product(), Product::MySql) };
    let database = open(&server);
    let (_lease, sessions) = sessions::<6>(&*database, "sampledpool");
    let mut sampler = sampler_of(&*database);
    let is_over = &AtomicBool::new(false);
    thread::scope(|scope| {
        for mut session in sessions {
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    session.execute("DO BENCHMARK(20000, MD5('a'))", &[]).unwrap();
                }
            });
        }
        let stops = Stops(is_over);
        let readings = until(&mut *sampler, "a queue", |readings| {
            value(readings, Counter::SessionsWaitingForWorkers).is_some_and(|sessions| sessions >= 2.0)
        });
        let seen = sampler.seen();
        drop(stops);
        let queued = value(&readings, Counter::SessionsWaitingForWorkers);
        assert_eq!(seen.iter().find(|(wait, _)| wait == "queue of the thread pool").map(|(_, count)| *count), queued);
    });
    drop(database);
    let without = sampler_of(&*open(self::server())).sample().unwrap();
    assert_eq!(value(&without, Counter::SessionsWaitingForWorkers), None);
}

/// They look as if they worked, so the time would be taken for the CPU's.
#[test]
fn sessions_in_front_of_innodb_wait_for_workers() {
    let server = MariaDb::builder().buffer_pool_mb(16).setting("innodb_thread_concurrency", "1").start();
    // MariaDB has done without the setting since 10.6, and does not start with it.
    let Ok(server) = server else { return assert_eq!(self::server().product(), Product::MariaDb) };
    if server.product() == Product::MariaDb {
        return;
    }
    let database = open(&server);
    let rows =
        "SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6";
    let many = format!("({rows}) a, ({rows}) b, ({rows}) c, ({rows}) d, ({rows}) e");
    server.sql("CREATE TABLE test.scanned (a INT PRIMARY KEY AUTO_INCREMENT) ENGINE = InnoDB").unwrap();
    server.sql(&format!("INSERT INTO test.scanned SELECT NULL FROM {many}")).unwrap();
    let (_lease, sessions) = sessions::<6>(&*database, "sampledinnodb");
    let mut sampler = sampler_of(&*database);
    let is_over = &AtomicBool::new(false);
    thread::scope(|scope| {
        for mut session in sessions {
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    session.execute("SELECT SUM(a) FROM test.scanned", &[]).unwrap();
                }
            });
        }
        let stops = Stops(is_over);
        let readings = until(&mut *sampler, "a queue", |readings| {
            value(readings, Counter::SessionsWaitingForWorkers).is_some_and(|sessions| sessions >= 2.0)
        });
        let seen = sampler.seen();
        drop(stops);
        let queued = value(&readings, Counter::SessionsWaitingForWorkers);
        let named = seen.iter().find(|(wait, _)| wait == "queue of innodb_thread_concurrency");
        assert_eq!(named.map(|(_, count)| *count), queued);
        assert!(value(&readings, Counter::SessionsOnCpu) <= queued.map(|queued| 6.0 - queued), "{readings:?}");
    });
}

#[test]
fn a_table_that_a_stranger_locks_is_a_lock_and_mysql_says_whose() {
    let server = MariaDb::builder().buffer_pool_mb(16).start().unwrap();
    let database = open(&server);
    server.sql("CREATE TABLE test.held (a INT PRIMARY KEY) ENGINE = InnoDB").unwrap();
    let (_lease, [waiter]) = sessions(&*database, "sampledtables");
    let mut sampler = sampler_of(&*database);
    thread::scope(|scope| {
        let stranger = scope.spawn(|| server.sql("LOCK TABLES test.held WRITE; DO SLEEP(600)"));
        let slept = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'DO SLEEP%'";
        until(&mut *sampler, "a stranger", |_| server.sql(slept).unwrap().trim() == "1");
        let _waiter = Busy::with(waiter, "SELECT a FROM test.held");
        let readings = until(&mut *sampler, "a lock of a table", |readings| {
            value(readings, Counter::SessionsWaitingForTableLocks) == Some(1.0)
        });
        assert_eq!(value(&readings, Counter::SessionsWaitingForLocks), Some(0.0), "{readings:?}");
        let known = if server.product() == Product::MySql { 1.0 } else { 0.0 };
        assert_eq!(value(&readings, Counter::SessionsBlockedByOthers), Some(known), "{readings:?}");
        let kill = "SELECT CONCAT('KILL ', ID) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'DO SLEEP%'";
        server.sql(server.sql(kill).unwrap().trim()).unwrap();
        stranger.join().unwrap().unwrap_err();
    });
}

#[test]
fn sessions_of_others_are_none_of_ours() {
    let server = MariaDb::builder().buffer_pool_mb(16).start().unwrap();
    let database = open(&server);
    let (_lease, [session]) = sessions(&*database, "sampledstrangers");
    let mut sampler = sampler_of(&*database);
    let work = "DO BENCHMARK(1000000000000, SHA2('x', 256))";
    let seen = |readings: &[Reading]| [Counter::SessionsOnCpu, Counter::SessionsOfOthers].map(|of| value(readings, of));
    thread::scope(|scope| {
        let other = scope.spawn(|| server.sql(work));
        let beside =
            until(&mut *sampler, "a stranger", |readings| value(readings, Counter::SessionsOfOthers) > Some(0.0));
        assert_eq!(seen(&beside), [Some(0.0), Some(1.0)], "{beside:?}");
        let _ours = Busy::with(session, work);
        let both = until(&mut *sampler, "ours", |readings| value(readings, Counter::SessionsOnCpu) > Some(0.0));
        assert_eq!(seen(&both), [Some(1.0), Some(1.0)], "{both:?}");
        let id = "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE 'DO BENCHMARK%' AND DB = 'test'";
        let id = server.sql(id).unwrap();
        server.sql(&format!("KILL {id}")).unwrap();
        other.join().unwrap().unwrap_err();
    });
}

#[test]
fn counters_grow_by_what_was_done_and_not_by_looking() {
    // Nobody else is there.
    let server = MariaDb::builder().buffer_pool_mb(16).setting("performance_schema", "OFF");
    // With it each change is counted twice by the server.
    let server = server.setting("log_bin", "binlog").start().unwrap();
    let database = open(&server);
    assert_eq!(database.server_pids(), [server.pid().unwrap()]);
    let ceilings: Vec<(String, f64)> =
        database.ceilings().into_iter().map(|known| (known.resource, known.value)).collect();
    assert_eq!(ceilings, [("memory".to_owned(), 16.0), ("sessions".to_owned(), 400.0)]);
    let mut sampler = sampler_of(&*database);
    let first = sampler.sample().unwrap();
    let second = sampler.sample().unwrap();
    assert_eq!(growth(Counter::Commits, &first, &second), Some(0.0));
    let idle: Vec<Option<f64>> = GAUGES.iter().map(|gauge| value(&second, *gauge)).collect();
    assert_eq!(idle, [Some(0.0); 7]);

    let (_lease, [mut session]) = sessions(&*database, "sampledcounters");
    fill(&mut *session, 2_000);
    session.execute("SELECT sum(length(b)) FROM t", &[]).unwrap();
    let before = sampler.sample().unwrap();
    for key in 1..=50 {
        session.execute(&format!("UPDATE t SET b = 'y' WHERE a = {key}"), &[]).unwrap();
    }
    let after = sampler.sample().unwrap();
    assert_eq!(growth(Counter::Commits, &before, &after), Some(50.0));
    assert!(growth(Counter::LogWrites, &before, &after) >= Some(50.0));
    assert!(growth(Counter::LogWriteBytes, &second, &after) > Some(20e6));
    for metric in [Counter::CacheMissPages, Counter::DataReads, Counter::DataWrites, Counter::DeviceReadBytes] {
        assert!(growth(metric, &second, &after) > Some(0.0), "{}", metric.name());
    }
    assert!(growth(Counter::CacheLookupPages, &second, &after) > Some(2_000.0));
    // In transactions nobody knows how many there were, and none that was undone is one.
    for end in ["COMMIT", "ROLLBACK"] {
        for sql in ["BEGIN", "UPDATE t SET b = 'z' WHERE a = 1", "UPDATE t SET b = 'z' WHERE a = 2", end] {
            session.execute(sql, &[]).unwrap();
        }
        assert_eq!(value(&sampler.sample().unwrap(), Counter::Commits), None, "{end}");
    }
    // Nobody takes the times.
    assert_eq!(value(&after, Counter::DataReadStallSeconds), None);
    let views = sampler.views().unwrap();
    assert!(views.waits.is_empty() && views.files.iter().any(|file| file.name == "redo log writes"));
}

#[test]
fn times_are_there_where_the_performance_schema_is() {
    let server = MariaDb::builder().buffer_pool_mb(16).setting("performance_schema", "ON");
    // Rights are told with other quotes then.
    let server = server.setting("log_bin", "binlog").setting("sql_mode", "ANSI_QUOTES").start().unwrap();
    let database = open(&server);
    assert!(database.capabilities().iter().all(|known| known.works));
    let mut sampler = sampler_of(&*database);
    let before = sampler.sample().unwrap();
    let (_lease, [mut session]) = sessions(&*database, "sampledtimes");
    fill(&mut *session, 2_000);
    session.execute("SELECT sum(length(b)) FROM t", &[]).unwrap();
    session.checkpoint().unwrap();
    for metric in
        [Counter::DataReads, Counter::DataReadStallSeconds, Counter::DataWrites, Counter::DataWriteStallSeconds]
    {
        until(&mut *sampler, metric.name(), |readings| growth(metric, &before, readings) > Some(0.0));
    }
    let views = sampler.views().unwrap();
    let table = views.files.iter().find(|file| file.name == "plimsoll_run_sampledtimes/t.ibd").unwrap();
    assert!(table.writes > Some(0) && table.write_stall_seconds > Some(0.0) && table.kind == "data");
    assert!(views.waits.iter().any(|wait| wait.name == "io/file/innodb/innodb_data_file" && wait.seconds > 0.0));
    // Each log is one file, although more was written than one of the redo log's files holds.
    let mut logs: Vec<&FileRow> = views.files.iter().filter(|file| file.kind == "log").collect();
    logs.sort_by(|one, other| one.name.cmp(&other.name));
    assert!(logs.iter().all(|file| file.writes > Some(0)), "{logs:?}");
    let names: Vec<&str> = logs.iter().map(|file| file.name.as_str()).collect();
    let of_log = views.waits.iter().find(|wait| wait.name == "io/file/sql/binlog").map(|wait| wait.class);
    if server.product() == Product::MySql {
        assert_eq!((names, of_log), (vec!["binary log", "redo log"], Some(Some(WaitClass::LogWrite))));
    } else {
        // It does not count the redo log's waits, so nobody may take a part of the log's for all.
        assert_eq!((names[0], names[1], of_log), ("binary log", "redo log writes", Some(None)));
    }

    // Each commit syncs the binary log once where that is asked for.
    server.sql("SET GLOBAL sync_binlog = 1").unwrap();
    session.execute("CREATE TABLE s (i int)", &[]).unwrap();
    let before = sampler.sample().unwrap();
    for _ in 0..20 {
        session.execute("INSERT INTO s VALUES (1)", &[]).unwrap();
    }
    let after = sampler.sample().unwrap();
    assert_eq!(growth(Counter::BinaryLogSyncs, &before, &after), Some(20.0));
    assert!(growth(Counter::BinaryLogSyncStallSeconds, &before, &after) > Some(0.0));

    // Who may not see it has the counts alone.
    server.sql("CREATE USER poor@localhost").unwrap();
    let poor = open_as(&server.socket_url("").replacen("plimsoll@", "poor@", 1), None);
    let missing: Vec<&str> = poor.capabilities().iter().filter(|known| !known.works).map(|known| known.name).collect();
    assert!(missing.contains(&"SELECT on performance_schema") && !missing.contains(&"performance_schema"));
    let mut sampler = sampler_of(&*poor);
    let readings = sampler.sample().unwrap();
    assert!(
        value(&readings, Counter::DataReadStallSeconds).is_none() && value(&readings, Counter::DataReads) > Some(0.0)
    );
    assert!(sampler.views().unwrap().waits.is_empty());
}

/// What grows while somebody inserts can't be asked for twice in one moment, so each of our figures lies between two of the server's own.
#[test]
fn views_lie_between_two_of_the_servers_own_counts() {
    const FILES: &str = "SELECT SUM(COUNT_READ), SUM(SUM_NUMBER_OF_BYTES_READ), SUM(COUNT_WRITE), SUM(SUM_NUMBER_OF_BYTES_WRITE) FROM \
                         performance_schema.file_summary_by_event_name WHERE EVENT_NAME IN ('wait/io/file/innodb/innodb_data_file', \
                         'wait/io/file/innodb/innodb_dblwr_file')";
    const WAITS: &str = "SELECT COUNT_STAR, SUM_TIMER_WAIT DIV 1 FROM performance_schema.events_waits_summary_global_by_event_name WHERE \
                         EVENT_NAME = 'wait/io/file/innodb/innodb_data_file'";
    let server = MariaDb::builder().buffer_pool_mb(16).setting("performance_schema", "ON").start().unwrap();
    let database = open(&server);
    let mut sampler = sampler_of(&*database);
    let (_lease, [mut session]) = sessions(&*database, "sampledviews");
    fill(&mut *session, 2_000);
    let counts = |sql: &str| -> Vec<f64> {
        let row = server.sql(sql).unwrap();
        row.split_whitespace().map(|count| count.parse().unwrap()).collect()
    };
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let busy = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                session.execute("UPDATE t SET b = repeat('y', 500) WHERE a % 97 = 0", &[]).unwrap();
                session.execute("SELECT sum(length(b)) FROM t", &[]).unwrap();
            }
        });
        let stops = Stops(&is_over);
        let start = counts(FILES);
        for _ in 0..5 {
            let before = [counts(FILES), counts(WAITS)].concat();
            let views = sampler.views().unwrap();
            let after = [counts(FILES), counts(WAITS)].concat();
            let data: Vec<&FileRow> = views.files.iter().filter(|file| file.kind == "data").collect();
            let sum = |of: fn(&FileRow) -> Option<u64>| data.iter().filter_map(|file| of(file)).sum::<u64>() as f64;
            let wait = views.waits.iter().find(|wait| wait.name == "io/file/innodb/innodb_data_file").unwrap();
            let ours = [
                sum(|file| file.reads),
                sum(|file| file.read_bytes),
                sum(|file| file.writes),
                sum(|file| file.write_bytes),
                wait.count as f64,
                wait.seconds * 1e12,
            ];
            for ((ours, before), after) in ours.iter().zip(&before).zip(&after) {
                // A picosecond more or less is lost on the way to seconds.
                assert!(*before <= ours + ours * 1e-9 && *ours <= after + after * 1e-9, "{views:?} {before} {after}");
            }
        }
        drop(stops);
        busy.join().unwrap();
        assert!(counts(FILES).iter().zip(&start).all(|(end, start)| end > start), "nothing grew");
    });
}

#[test]
fn who_may_not_see_others_counts_no_sessions() {
    let server = MariaDb::builder().buffer_pool_mb(16).start().unwrap();
    server.sql("CREATE USER poor@localhost").unwrap();
    let database = open_as(&server.socket_url("").replacen("plimsoll@", "poor@", 1), None);
    assert!(database.capabilities().iter().any(|known| known.name == "PROCESS" && !known.works));
    let mut sampler = sampler_of(&*database);
    // As long as nobody else is there, there is nobody who can't be seen; but idle transactions never are.
    let alone = until(&mut *sampler, "solitude", |readings| value(readings, Counter::SessionsOnCpu).is_some());
    for gauge in GAUGES {
        let expected = if gauge == Counter::SessionsWaitingForClients { None } else { Some(0.0) };
        assert_eq!(value(&alone, gauge), expected, "{}", gauge.name());
    }
    let other = open(&server);
    let (_lease, [_session]) = sessions(&*other, "sampledothers");
    let beside = sampler.sample().unwrap();
    assert!(GAUGES.iter().all(|gauge| value(&beside, *gauge).is_none()), "{beside:?}");
    assert!(value(&beside, Counter::CacheLookupPages).is_some() && value(&beside, Counter::LogWriteBytes).is_some());
}

#[test]
fn a_reset_and_a_restart_leave_gaps_and_no_more() {
    let server = MariaDb::builder().buffer_pool_mb(16).start().unwrap();
    let database = open(&server);
    let mut sampler = sampler_of(&*database);
    let (lease, [mut session]) = sessions(&*database, "sampledreset");
    fill(&mut *session, 100);
    let before = sampler.sample().unwrap();
    server.sql("FLUSH STATUS").unwrap();
    let after = sampler.sample().unwrap();
    for reading in &after {
        let grown = growth(reading.metric, &before, &after);
        assert!(grown.is_none_or(|grown| grown >= 0.0), "{}", reading.metric.name());
    }
    drop((lease, session));

    server.kill().unwrap();
    for _ in 0..3 {
        let error = fails(&mut *sampler);
        assert!(matches!(error.kind, ErrorKind::Lost | ErrorKind::Connect), "{error:?}");
    }
    server.restart().unwrap();
    let back = recovers(&mut *sampler);
    assert!(GAUGES.iter().all(|gauge| value(&back, *gauge).is_some()));
    // Its lookups were more than those of a server that has just begun.
    assert_eq!(growth(Counter::CacheLookupPages, &before, &back), None);
    // An orderly end is one as well.
    server.restart().unwrap();
    fails(&mut *sampler);
    recovers(&mut *sampler);
}

#[test]
fn a_server_that_stops_to_answer_is_given_up() {
    let server = MariaDb::builder().buffer_pool_mb(16).start().unwrap();
    let database = open(&server);
    let mut sampler = sampler_of(&*database);
    sampler.sample().unwrap();
    let pid = server.pid().unwrap().to_string();
    stop(&pid, true);
    assert_eq!(fails(&mut *sampler).kind, ErrorKind::Lost);
    assert_eq!(fails(&mut *sampler).kind, ErrorKind::Connect);
    stop(&pid, false);
    recovers(&mut *sampler);
}

#[test]
fn a_password_that_is_wrong_by_now_is_told_to_nobody() {
    server().sql(&format!("CREATE USER turncoat@'127.0.0.1' IDENTIFIED BY '{PLANTED}'")).unwrap();
    let url = format!("mariadb://turncoat@127.0.0.1:{}/", server().port());
    let database = open_as(&url, Some(PLANTED));
    let mut sampler = sampler_of(&*database);
    sampler.sample().unwrap();
    server().sql("ALTER USER turncoat@'127.0.0.1' IDENTIFIED BY 'another'").unwrap();
    let theirs = server().sql("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'turncoat'").unwrap();
    for id in theirs.lines() {
        // One that is gone by now is none to be ended.
        let _ = server().sql(&format!("KILL {id}"));
    }
    assert_eq!(fails(&mut *sampler).kind, ErrorKind::Lost);
    assert_eq!(fails(&mut *sampler).kind, ErrorKind::Authenticate);
}
