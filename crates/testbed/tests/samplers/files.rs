//! What MariaDB, or MySQL where tests run on it, counts of each file, and PostgreSQL of all data files.

use plimsoll_measurement::{FileRow, Files};
use plimsoll_plan::activity::between;
use plimsoll_plan::{Activity, Demand};
use plimsoll_testbed::{MariaDb, Postgres};

use super::mariadb::{fill, open, sampler_of};
use super::*;

/// A counter that somebody switched off stands still, which is not 0 of anything.
#[test]
fn files_that_nobody_counts_are_absent() {
    let server = MariaDb::builder().buffer_pool_mb(16).setting("performance_schema", "ON").start().unwrap();
    let database = open(&server);
    let (_lease, [mut session]) = sessions(&*database, "sampledoff");
    fill(&mut *session, 500);
    let table = |sampler: &mut dyn Sampler| -> Option<FileRow> {
        let files = sampler.all_files().unwrap()?;
        files.rows.into_iter().find(|file| file.name.contains("sampledoff"))
    };
    let switch = |what: &str| {
        let name = "'wait/io/file/innodb/innodb_data_file'";
        server.sql(&format!("UPDATE performance_schema.setup_instruments SET {what} WHERE NAME = {name}")).unwrap();
    };
    let seen = table(&mut *sampler_of(&*database)).unwrap();
    assert!(seen.writes > Some(0) && seen.write_stall_seconds > Some(0.0), "{seen:?}");
    switch("TIMED = 'NO'");
    let untimed = table(&mut *sampler_of(&*database)).unwrap();
    assert!(untimed.writes > Some(0) && untimed.write_stall_seconds.is_none(), "{untimed:?}");
    switch("ENABLED = 'NO'");
    let mut sampler = sampler_of(&*database);
    assert_eq!(table(&mut *sampler), None);
    assert_eq!(value(&sampler.sample().unwrap(), Counter::DataReadStallSeconds), None);
}

/// Reads of a file between looks come to what the server itself counted, and nothing else was done to it.
#[test]
#[expect(clippy::print_stdout, reason = "the bar prints its figure")]
fn what_a_file_did_between_looks_is_what_the_server_counted() {
    let server = MariaDb::builder().buffer_pool_mb(16).setting("performance_schema", "ON").start().unwrap();
    let database = open(&server);
    let mut sampler = sampler_of(&*database);
    let (lease, [mut session]) = sessions(&*database, "sampledfiles");
    fill(&mut *session, 3_000);
    // What is dirty goes to the file now, and not while somebody looks.
    for sql in ["FLUSH TABLES t FOR EXPORT", "UNLOCK TABLES"] {
        session.execute(sql, &[]).unwrap();
    }
    let counted = || -> Vec<f64> {
        let row = server
            .sql(
                "SELECT COUNT_READ, SUM_NUMBER_OF_BYTES_READ, COUNT_WRITE FROM performance_schema.file_summary_by_instance WHERE FILE_NAME \
                 LIKE '%sampledfiles%/t.ibd'",
            )
            .unwrap();
        row.split_whitespace().map(|count| count.parse().unwrap()).collect()
    };
    let mut look = || sampler.all_files().unwrap().unwrap();
    let (before, mut looks) = (counted(), vec![look()]);
    for _ in 0..3 {
        session.execute("SELECT sum(length(b)) FROM t", &[]).unwrap();
        looks.push(look());
    }
    let after = counted();
    let activity = between(&looks, u64::MAX);
    let file = activity.iter().find(|one| one.name.ends_with("/t.ibd") && one.name.contains("sampledfiles")).unwrap();
    let all = |demand: &Demand| demand.known().map(|one| one.rate.unwrap() * one.seconds).sum::<f64>();
    let grown: Vec<f64> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
    let [reads, bytes, writes] = grown[..] else { panic!("{grown:?}") };
    let (ios, mb) = (all(&file.iops), all(&file.mb_per_s));
    println!("{reads} reads of {bytes} bytes by the server, {ios:.2} of {mb:.3} MB by us");
    assert!(reads > 1_000.0 && writes == 0.0, "{grown:?}");
    assert!(
        (ios / reads - 1.0).abs() < 0.01 && (mb * f64::from(1 << 20) / bytes - 1.0).abs() < 0.01,
        "{ios} {mb} {grown:?}"
    );
    drop(lease);
}

/// Pages that statements read by the server's own account are those that the sampler counts.
#[test]
#[expect(clippy::print_stdout, reason = "the bar prints its figure")]
fn what_data_files_did_between_looks_is_what_the_server_counted() {
    let server = Postgres::builder().shared_buffers_mb(16).setting("autovacuum", "off").start().unwrap();
    let database = postgres::separate(&server, "sampledfiles");
    let psql = |sql: &str| server.psql_in("sampledfiles", sql).unwrap();
    let version: u32 = psql("SHOW server_version_num").trim().parse().unwrap();
    psql("CREATE TABLE t AS SELECT n, repeat('x', 1000) b FROM generate_series(1, 80000) n");
    psql("VACUUM ANALYZE t");
    psql("CHECKPOINT");
    let mut sampler = postgres::sampler_of(&*database);
    let mut look = || sampler.all_files().unwrap().unwrap();
    let data = |look: &Files| look.rows.iter().find(|row| row.name == "data files").cloned().unwrap();
    // Sessions publish what they counted when they end, which may be a little after their client is gone; a server of version 14 tells it
    // later still.
    let left = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'psql' AND pid <> pg_backend_pid()";
    until("sessions of before are gone", || psql(left).trim() == "0");
    let reset = if version < 160_000 { "SELECT pg_stat_reset()" } else { "SELECT pg_stat_reset_shared('io')" };
    let begun = data(&look());
    psql(reset);
    let mut looks = Vec::new();
    until("counts begin anew", || {
        looks = vec![look()];
        data(&looks[0]).handle != begun.handle
    });
    // What counts anew is another counter: nothing is known of the time between.
    assert!(!begun.is_same(&data(&looks[0])));
    // A scan of more than a quarter of the shared buffers goes through a ring, and leaves nothing behind.
    let explain = "SET max_parallel_workers_per_gather = 0; EXPLAIN (ANALYZE, BUFFERS) SELECT sum(length(b)) FROM t";
    let pages = |line: &str| line.rsplit_once("read=").and_then(|(_, pages)| pages.trim().parse::<f64>().ok());
    let scan = || -> f64 {
        let said = psql(explain);
        // Each node says what those below it read, too.
        let nodes = said.lines().filter(|line| line.contains("Buffers: shared")).filter_map(pages);
        nodes.fold(0.0, f64::max)
    };
    let read: f64 = (0..3).map(|_| scan()).sum();
    let all = |looks: &[Files]| -> [f64; 2] {
        let activity = between(looks, u64::MAX);
        let file: &Activity = activity.iter().find(|one| one.name == "data files").unwrap();
        [&file.iops, &file.mb_per_s].map(|of| of.known().map(|one| one.rate.unwrap() * one.seconds).sum())
    };
    until("all is published", || {
        looks.push(look());
        all(&looks)[1] * 128.0 >= read
    });
    let [ios, mb] = all(&looks);
    println!("{read} pages by the statements, {ios:.2} reads of {mb:.2} MB by us");
    assert!(read > 20_000.0 && (mb * 128.0 / read - 1.0).abs() < 0.01, "{mb} {read}");
    let log = look().rows.into_iter().find(|row| row.kind == "log").unwrap();
    // It is written in pages.
    assert!(log.writes > Some(0) && log.write_bytes >= log.writes.map(|writes| writes * 8192), "{log:?}");
    // From version 18 on a read may be one of several pages.
    let is_read = if version < 180_000 { (ios / read - 1.0).abs() < 0.01 } else { ios > 0.0 && ios < 1.01 * read };
    assert!(is_read, "{ios} {read}");
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what}: never");
        thread::sleep(Duration::from_millis(20));
    }
}
