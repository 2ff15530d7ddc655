//! PostgreSQL.

use std::sync::OnceLock;

use plimsoll_engine::{Credentials, Engine as _, ErrorKind, Secret, Target};
use plimsoll_measurement::reading::growth;
use plimsoll_postgres::Postgres as Engine;
use plimsoll_testbed::Postgres;

use super::*;

/// One server for all tests that leave it as it is.
fn server() -> &'static Postgres {
    static SERVER: OnceLock<Postgres> = OnceLock::new();
    SERVER.get_or_init(|| Postgres::builder().shared_buffers_mb(64).start().unwrap())
}

fn open_as(url: &str, password: Option<&str>) -> Box<dyn Database> {
    let credentials = Credentials { password: password.map(Secret::new), ..Credentials::default() };
    Engine.open(&Target::parse(url).unwrap(), &credentials, clock()).unwrap()
}

/// A database of its own, whose counts are nobody else's.
pub fn separate(server: &Postgres, name: &str) -> Box<dyn Database> {
    server.psql(&format!("CREATE DATABASE {name}")).unwrap();
    open_as(&server.socket_url(name), None)
}

pub fn sampler_of(database: &dyn Database) -> Box<dyn Sampler> {
    database.server_sampler().unwrap().unwrap()
}

#[test]
fn a_transaction_may_last_longer_than_the_server_lets_others() {
    let database = separate(server(), "impatient");
    let of_timeout = |database: &dyn Database| {
        let warnings = database.description().warnings.iter();
        warnings.filter(|text| text.contains("transaction_timeout of 300 ms is set aside")).count()
    };
    assert_eq!(of_timeout(&*database), 0);
    let set = "ALTER DATABASE impatient SET transaction_timeout = '300ms'";
    if server().psql(set).is_err() {
        // Version 17 brought it.
        return;
    }
    let database = open_as(&server().socket_url("impatient"), None);
    assert_eq!(of_timeout(&*database), 1);
    let (_lease, [mut session]) = sessions(&*database, "sampledpatience");
    for sql in ["BEGIN", "SELECT pg_sleep(0.4)", "SELECT pg_sleep(0.1)", "COMMIT"] {
        session.execute(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

#[test]
fn sessions_are_seen_at_what_they_do() {
    let database = open_as(&server().socket_url("postgres"), None);
    let (_lease, [mut holder, waiter, sleeper, worker]) = sessions(&*database, "sampledsessions");
    for sql in ["CREATE TABLE one (a int)", "BEGIN", "LOCK TABLE one"] {
        holder.execute(sql, &[]).unwrap();
    }
    let _waiter = Busy::with(waiter, "SELECT a FROM one");
    let _sleeper = Busy::with(sleeper, "SELECT pg_sleep(600)");
    let _worker = Busy::with(worker, "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b");
    let mut sampler = sampler_of(&*database);
    for metric in [
        Counter::SessionsWaitingForLocks,
        Counter::SessionsAsleep,
        Counter::SessionsWaitingForClients,
        Counter::SessionsOnCpu,
    ] {
        let readings = until(&mut *sampler, metric.name(), |readings| value(readings, metric) >= Some(1.0));
        assert!(GAUGES.iter().all(|gauge| value(&readings, *gauge).is_some()));
        assert!(readings.iter().all(|reading| reading.window.end >= reading.window.start));
    }
    let names =
        server().psql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'plimsoll sampler'").unwrap();
    assert!(names.trim() != "0");
    holder.execute("ROLLBACK", &[]).unwrap();
}

/// A stranger holds one of two locks; a session of ours the other, and it waits for the stranger's too.
#[test]
fn it_is_seen_whose_locks_ours_wait_for() {
    let database = open_as(&server().socket_url("postgres"), None);
    let (_lease, [mut holder, waiter, second]) = sessions(&*database, "sampledholders");
    for sql in ["CREATE TABLE held (a int)", "BEGIN", "LOCK TABLE held"] {
        holder.execute(sql, &[]).unwrap();
    }
    let mut sampler = sampler_of(&*database);
    let blocked = |readings: &[Reading]| value(readings, Counter::SessionsBlockedByOthers);
    let waiting = |readings: &[Reading]| value(readings, Counter::SessionsWaitingForLocks);
    assert_eq!(blocked(&sampler.sample().unwrap()), Some(0.0));
    let _waiter = Busy::with(waiter, "SELECT a FROM held");
    let of_ours = until(&mut *sampler, "a wait", |readings| waiting(readings) == Some(1.0));
    assert_eq!(blocked(&of_ours), Some(0.0), "we hold it ourselves");
    assert!(sampler.seen().contains(&("Lock/relation".to_owned(), 1.0)));
    thread::scope(|scope| {
        let stranger = scope.spawn(|| server().psql("SELECT pg_advisory_lock(77), pg_sleep(600)"));
        until(&mut *sampler, "a stranger", |_| {
            server()
                .psql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 77 AND granted")
                .unwrap()
                .trim()
                == "1"
        });
        // Now our holder waits as well, so that all wait for the stranger in the end.
        let _second = Busy::with(second, "SELECT pg_advisory_lock(77)");
        let both = until(&mut *sampler, "two waits", |readings| waiting(readings) == Some(2.0));
        assert_eq!(blocked(&both), Some(1.0), "one of two holders is not ours");
        let _holder = Busy::with(holder, "SELECT pg_advisory_lock(77)");
        let all = until(&mut *sampler, "three waits", |readings| waiting(readings) == Some(3.0));
        assert_eq!(blocked(&all), Some(3.0), "{all:?}");
        assert!(sampler.seen().contains(&("Lock/advisory".to_owned(), 2.0)));
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_advisory_lock(77), pg_sleep%' AND pid <> pg_backend_pid()";
        server().psql(end).unwrap();
        stranger.join().unwrap().unwrap_err();
    });
}

#[test]
fn a_local_server_says_where_its_data_and_its_log_are() {
    let folders = open_as(&server().socket_url("postgres"), None).folders();
    // Who may not look into the cluster's folder is told of none.
    if let Some(data) = folders.data {
        assert!(data.join("PG_VERSION").is_file() && folders.log.unwrap().is_dir());
    }
}

#[test]
fn sessions_of_others_are_none_of_ours_and_parallel_workers_are_parts_of_one() {
    let server = Postgres::builder().shared_buffers_mb(16).start().unwrap();
    let database = open_as(&server.socket_url("postgres"), None);
    let (_lease, [mut session]) = sessions(&*database, "sampledstrangers");
    session.execute("CREATE TABLE t AS SELECT a FROM generate_series(1, 200000) a", &[]).unwrap();
    for (setting, value) in [
        ("parallel_setup_cost", "0"),
        ("parallel_tuple_cost", "0"),
        ("min_parallel_table_scan_size", "0"),
        ("max_parallel_workers_per_gather", "2"),
    ] {
        session.execute(&format!("SET {setting} = {value}"), &[]).unwrap();
    }
    let mut sampler = sampler_of(&*database);
    let work = "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b";
    let seen = |readings: &[Reading]| [Counter::SessionsOnCpu, Counter::SessionsOfOthers].map(|of| value(readings, of));
    thread::scope(|scope| {
        let other = scope.spawn(|| server.psql(work));
        let beside =
            until(&mut *sampler, "a stranger", |readings| value(readings, Counter::SessionsOfOthers) > Some(0.0));
        assert_eq!(seen(&beside), [Some(0.0), Some(1.0)], "{beside:?}");
        let _ours = Busy::with(session, "SELECT sum(length(repeat(md5(a::text), 10000))) FROM t");
        let workers = "SELECT count(*) >= 2 FROM pg_stat_activity WHERE backend_type = 'parallel worker'";
        while server.psql(workers).unwrap().trim() != "t" {}
        let both = until(&mut *sampler, "parallel workers", |readings| {
            value(readings, Counter::SessionsOnCpu).is_some_and(|sessions| sessions > 0.0)
        });
        // It is one session, whatever works for it.
        let [ours, others] = seen(&both);
        assert!(ours <= Some(1.0) && others == Some(1.0), "{both:?}");
        let end =
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT count(*) FROM generate%'";
        server.psql(end).unwrap();
        other.join().unwrap().unwrap_err();
    });
}

#[test]
fn counters_grow_by_what_was_done_and_not_by_looking() {
    let database = separate(server(), "counted");
    let mut sampler = sampler_of(&*database);
    let first = sampler.sample().unwrap();
    let second = sampler.sample().unwrap();
    assert_eq!(growth(Counter::Commits, &first, &second), Some(0.0));
    let (_lease, [mut session]) = sessions(&*database, "sampledcounters");
    session.execute("CREATE TABLE t AS SELECT a, repeat('x', 500) b FROM generate_series(1, 20000) a", &[]).unwrap();
    session.execute("CHECKPOINT", &[]).unwrap();
    for _ in 0..50 {
        session.execute("SELECT count(*) FROM t", &[]).unwrap();
    }
    drop(session);
    let grown = |metric, readings: &[Reading]| growth(metric, &second, readings);
    let last = until(&mut *sampler, "counts", |readings| {
        grown(Counter::Commits, readings) >= Some(50.0) && grown(Counter::CacheLookupPages, readings) >= Some(50_000.0)
    });
    assert!(grown(Counter::Commits, &last) < Some(200.0));
    assert!(grown(Counter::LogWriteBytes, &last) > Some(10e6));
    for metric in [Counter::CacheMissPages, Counter::DataReads, Counter::DataWrites, Counter::LogWrites] {
        assert!(grown(metric, &last).is_some(), "{}", metric.name());
    }
    // Nobody takes the times.
    assert_eq!(value(&last, Counter::DataReadStallSeconds), None);
    assert_eq!(value(&last, Counter::LogWriteStallSeconds), None);
    let files = sampler.views().unwrap().files;
    let checkpoints = files.iter().find(|file| file.name == "data files by checkpoints").unwrap();
    assert!(checkpoints.writes.unwrap() > 1_000);
    assert!(files.iter().any(|file| file.name == "WAL writes" && file.write_bytes.unwrap() > 10_000_000));
}

/// What grows while somebody inserts can't be asked for twice in one moment, so each of our figures lies between two of the server's own.
#[test]
fn views_lie_between_two_of_the_servers_own_counts() {
    let server = Postgres::builder().shared_buffers_mb(16).start().unwrap();
    let database = open_as(&server.socket_url("postgres"), None);
    let mut sampler = sampler_of(&*database);
    let (_lease, [mut session]) = sessions(&*database, "sampledviews");
    let version: u32 = server.psql("SHOW server_version_num").unwrap().trim().parse().unwrap();
    // Version 18 moved the first two, and 17 moved the third.
    let log = if version >= 180_000 {
        "SELECT sum(writes), sum(write_bytes) FROM pg_stat_io WHERE object = 'wal' AND context = 'normal'"
    } else {
        "SELECT wal_write, wal_bytes FROM pg_stat_wal"
    };
    let pages = if version >= 170_000 {
        "SELECT buffers_written FROM pg_stat_checkpointer"
    } else {
        "SELECT buffers_checkpoint FROM pg_stat_bgwriter"
    };
    let counts = || -> Vec<u64> {
        let rows = [log, pages].map(|sql| server.psql(sql).unwrap());
        rows.join("|").split(['|', '\n']).filter_map(|count| count.trim().parse().ok()).collect()
    };
    session.execute("CREATE TABLE t (a int, b text)", &[]).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let busy = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                session
                    .execute("INSERT INTO t SELECT a, repeat('x', 100) FROM generate_series(1, 2000) a", &[])
                    .unwrap();
                session.execute("CHECKPOINT", &[]).unwrap();
            }
        });
        let stops = Stops(&is_over);
        let start = counts();
        assert_eq!(start.len(), 3, "{start:?}");
        let mut grown = false;
        while !grown {
            let before = counts();
            let files = sampler.views().unwrap().files;
            let after = counts();
            let file = |name: &str| files.iter().find(|file| file.name == name).unwrap();
            let (log, pages) = (file("WAL writes"), file("data files by checkpoints"));
            let ours = [log.writes, log.write_bytes, pages.writes].map(Option::unwrap);
            for ((ours, before), after) in ours.iter().zip(&before).zip(&after) {
                assert!(before <= ours && ours <= after, "{files:?} {before:?} {after:?}");
            }
            // Counts of a session come when it has been idle or has worked for a second.
            grown = after.iter().zip(&start).all(|(end, start)| end > start);
        }
        drop(stops);
        busy.join().unwrap();
    });
}

#[test]
fn times_are_there_where_the_server_takes_them() {
    let server =
        Postgres::builder().shared_buffers_mb(16).setting("track_io_timing", "on").setting("track_wal_io_timing", "on");
    let server = server.start().unwrap();
    let database = open_as(&server.socket_url("postgres"), None);
    let missing = |database: &dyn Database| -> Vec<&str> {
        database.capabilities().into_iter().filter(|known| !known.works).map(|known| known.name).collect()
    };
    assert_eq!(missing(&*database), Vec::<&str>::new());
    let mut sampler = sampler_of(&*database);
    let before = sampler.sample().unwrap();
    let (_lease, [mut session]) = sessions(&*database, "sampledtimes");
    session.execute("CREATE TABLE t AS SELECT a, repeat('x', 500) b FROM generate_series(1, 100000) a", &[]).unwrap();
    session.execute("SELECT count(*) FROM t", &[]).unwrap();
    drop(session);
    for metric in [Counter::DataReads, Counter::DataReadStallSeconds, Counter::LogWrites, Counter::LogWriteStallSeconds]
    {
        until(&mut *sampler, metric.name(), |readings| growth(metric, &before, readings) > Some(0.0));
    }
    // Without them they are absent.
    server.psql("ALTER SYSTEM SET track_io_timing = off").unwrap();
    server.psql("ALTER SYSTEM SET track_counts = off").unwrap();
    server.psql("SELECT pg_reload_conf()").unwrap();
    let without = until(&mut *sampler, "no counts", |readings| value(readings, Counter::Commits).is_none());
    assert!(value(&without, Counter::CacheMissPages).is_none() && value(&without, Counter::LogWriteBytes).is_some());
    assert_eq!(missing(&*database), ["track_counts", "track_io_timing"]);
}

#[test]
fn counts_of_a_long_statement_are_left_out_until_it_publishes_them() {
    let database = separate(server(), "late");
    let mut sampler = sampler_of(&*database);
    let (_lease, [session, mut idle]) = sessions(&*database, "sampledlate");
    let busy = Busy::with(session, "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b");
    let late = until(&mut *sampler, "lateness", |readings| value(readings, Counter::CacheLookupPages).is_none());
    assert!(value(&late, Counter::LogWriteBytes).is_some() && value(&late, Counter::Commits).is_some());
    drop(busy);
    until(&mut *sampler, "its end", |readings| value(readings, Counter::CacheLookupPages).is_some());
    // In a transaction of many statements it is the same, unless nothing is done in it any more.
    idle.execute("BEGIN", &[]).unwrap();
    let start = Instant::now();
    while value(&sampler.sample().unwrap(), Counter::CacheLookupPages).is_some() {
        assert!(start.elapsed() < PATIENCE, "a transaction at work is never late");
        idle.execute("SELECT 1", &[]).unwrap();
    }
    until(&mut *sampler, "idleness", |readings| value(readings, Counter::CacheLookupPages).is_some());
    idle.execute("ROLLBACK", &[]).unwrap();
}

#[test]
fn who_may_not_see_others_counts_no_sessions() {
    let server = Postgres::builder().shared_buffers_mb(16).start().unwrap();
    server.psql("CREATE ROLE plain LOGIN").unwrap();
    let database = open_as(&server.socket_url("postgres").replacen(server.superuser(), "plain", 1), None);
    assert!(database.capabilities().iter().any(|known| known.name == "sessions of others" && !known.works));
    let mut sampler = sampler_of(&*database);
    // As long as nobody else is there, there is nobody who can't be seen.
    let alone = until(&mut *sampler, "solitude", |readings| value(readings, Counter::SessionsOnCpu).is_some());
    assert!(GAUGES.iter().all(|gauge| value(&alone, *gauge) == Some(0.0)), "{alone:?}");
    // Of a stranger that can't be seen it isn't known what he does; what we do is.
    thread::scope(|scope| {
        let other = scope.spawn(|| server.psql("SELECT pg_sleep(600)"));
        let beside =
            until(&mut *sampler, "a stranger", |readings| value(readings, Counter::SessionsOfOthers).is_none());
        assert!(GAUGES.iter().all(|gauge| value(&beside, *gauge) == Some(0.0)), "{beside:?}");
        server
            .psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'")
            .unwrap();
        other.join().unwrap().unwrap_err();
    });
    let other = open_as(&server.socket_url("postgres"), None);
    let (_lease, [_session]) = sessions(&*other, "sampledothers");
    let beside = sampler.sample().unwrap();
    assert!(GAUGES.iter().all(|gauge| value(&beside, *gauge).is_none()), "{beside:?}");
    assert!(value(&beside, Counter::CacheLookupPages).is_some() && value(&beside, Counter::LogWriteBytes).is_some());
    server
        .psql(
            "REVOKE EXECUTE ON FUNCTION pg_current_wal_lsn() FROM public; REVOKE SELECT ON pg_stat_wal FROM public; \
             DO $$ BEGIN IF to_regclass('pg_stat_io') IS NOT NULL THEN REVOKE SELECT ON pg_stat_io FROM public; END IF; END $$",
        )
        .unwrap();
    let forbidden = sampler.sample().unwrap();
    assert!(value(&forbidden, Counter::LogWriteBytes).is_none() && value(&forbidden, Counter::LogWrites).is_none());
    assert!(value(&forbidden, Counter::CacheLookupPages).is_some());
    server.psql("GRANT pg_read_all_stats TO plain").unwrap();
    until(&mut *sampler, "permission", |readings| value(readings, Counter::SessionsOnCpu).is_some());
}

#[test]
fn a_reset_and_a_restart_leave_gaps_and_no_more() {
    let server = Postgres::builder().shared_buffers_mb(16).start().unwrap();
    let database = open_as(&server.socket_url("postgres"), None);
    assert_eq!(database.server_pids(), [server.pid().unwrap()]);
    let ceilings: Vec<(String, f64)> =
        database.ceilings().into_iter().map(|known| (known.resource, known.value)).collect();
    let connections: f64 = server.psql("SHOW max_connections").unwrap().trim().parse().unwrap();
    assert_eq!(ceilings, [("memory".to_owned(), 16.0), ("sessions".to_owned(), connections - 3.0)]);
    let mut sampler = sampler_of(&*database);
    // More than the sessions need that reset the counts and look at them.
    server
        .psql("SELECT sum(c) FROM generate_series(1, 1000) n, LATERAL (SELECT count(*) c FROM pg_class WHERE oid::int8 <> n) x")
        .unwrap();
    // Of the session itself nothing is counted.
    let before = until(&mut *sampler, "quiet", |readings| {
        value(readings, Counter::SessionsOnCpu) == Some(0.0)
            && value(readings, Counter::CacheLookupPages) > Some(10_000.0)
    });
    server.psql("SELECT pg_stat_reset()").unwrap();
    let after = until(&mut *sampler, "the reset", |readings| {
        value(readings, Counter::CacheLookupPages) < value(&before, Counter::CacheLookupPages)
    });
    assert_eq!(growth(Counter::CacheLookupPages, &before, &after), None);
    assert!(growth(Counter::LogWriteBytes, &before, &after).is_some());

    server.stop_immediate().unwrap();
    for _ in 0..3 {
        let error = fails(&mut *sampler);
        assert!(matches!(error.kind, ErrorKind::Lost | ErrorKind::Connect), "{error:?}");
    }
    server.restart().unwrap();
    let back = recovers(&mut *sampler);
    assert!(GAUGES.iter().all(|gauge| value(&back, *gauge).is_some()));
    assert!(growth(Counter::LogWriteBytes, &before, &back).is_some());
    // An orderly end is one as well.
    server.restart().unwrap();
    fails(&mut *sampler);
    recovers(&mut *sampler);
}

#[test]
fn a_server_that_stops_to_answer_is_given_up() {
    let database = separate(server(), "silent");
    let mut sampler = sampler_of(&*database);
    sampler.sample().unwrap();
    let sql = "SELECT pid FROM pg_stat_activity WHERE application_name = 'plimsoll sampler' AND datname = 'silent'";
    let pid = server().psql(sql).unwrap();
    stop(pid.trim(), true);
    let error = fails(&mut *sampler);
    stop(pid.trim(), false);
    assert_eq!(error.kind, ErrorKind::Lost);
    recovers(&mut *sampler);
}

#[test]
fn a_password_that_is_wrong_by_now_is_told_to_nobody() {
    server().psql(&format!("CREATE ROLE turncoat LOGIN PASSWORD '{PLANTED}'")).unwrap();
    let url = format!("postgres://turncoat@127.0.0.1:{}/postgres", server().port());
    let database = open_as(&url, Some(PLANTED));
    let mut sampler = sampler_of(&*database);
    sampler.sample().unwrap();
    server().psql("ALTER ROLE turncoat PASSWORD 'another'").unwrap();
    server().psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'turncoat'").unwrap();
    assert_eq!(fails(&mut *sampler).kind, ErrorKind::Lost);
    assert_eq!(fails(&mut *sampler).kind, ErrorKind::Authenticate);
}
