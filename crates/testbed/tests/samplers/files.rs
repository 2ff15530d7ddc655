//! What MariaDB, or MySQL where tests run on it, counts of each file.

use plimsoll_measurement::FileRow;
use plimsoll_plan::Demand;
use plimsoll_plan::activity::between;
use plimsoll_testbed::MariaDb;

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
