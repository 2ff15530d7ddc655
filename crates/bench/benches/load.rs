//! Loading PostgreSQL against `psql \copy` of the same rows from a binary file: interleaved pairs in ABBA order, the same
//! empty logged table with its primary key in place, the same server. We make the rows while loading; psql reads its file
//! from a warm cache. The bar is a ratio of at most 1.0, with equal WAL.
//!
//! `cargo bench -p plimsoll-bench --bench load -- [PAIRS] [MB]`; 10 pairs of 1024 MB take about five minutes.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use plimsoll_analysis::compare::{Terms, compare};
use plimsoll_analysis::summary;
use plimsoll_bench::generate::{Family, Rows};
use plimsoll_bench::schema::{self, Width};
use plimsoll_clock::RealClock;
use plimsoll_engine::{ClaimMode, Credentials, Engine as _, Session, Target, Workspace};
use plimsoll_postgres::Postgres as Engine;
use plimsoll_testbed::Postgres;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let mut numbers = std::env::args().skip(1).filter_map(|word| word.parse::<u64>().ok());
    let (pairs, megabytes) = (numbers.next().unwrap_or(10), numbers.next().unwrap_or(1024));
    let rows = (megabytes << 20) / Width::Seeds.row_bytes();
    let server = Postgres::builder().shared_buffers_mb(256).start()?;
    let target = Target::parse(&server.socket_url("postgres"))?;
    let database = Engine.open(&target, &Credentials::default(), Arc::new(RealClock::new()))?;
    let workspace = Workspace::run("loadbench")?;
    let lease = database.claim(&workspace, ClaimMode::Exclusive)?.ok_or("the place is taken")?;
    let mut session = database.session(&workspace, &workspace)?;
    let session = session.as_mut();

    // psql's file: written by the server from a table that we loaded, so that it holds the very same rows.
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("rows.bin");
    let table = schema::family("rows", Width::Seeds);
    ours(session, rows)?;
    psql(&server, &format!("\\copy {workspace}.{} to '{}' (format binary)", table.name, file.display()))?;
    let expected = session.query_count(&session.dialect().count_rows(&table), &[])?;

    let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
    let mut wal_ratios = Vec::new();
    for pair in 0..pairs {
        let mut wal = [0.0; 2];
        for turn in 0..2 {
            let is_ours = (pair + turn).is_multiple_of(2);
            let before = log_position(session)?;
            let seconds = if is_ours { ours(session, rows)? } else { theirs(&server, session, &workspace, &file)? };
            wal[usize::from(is_ours)] = log_position(session)? - before;
            assert_eq!(session.query_count("SELECT count(*) FROM rows", &[])?, expected);
            if is_ours { &mut our_times } else { &mut their_times }.push(seconds);
        }
        wal_ratios.push(wal[1] / wal[0]);
        let (us, them) = (our_times[our_times.len() - 1], their_times[their_times.len() - 1]);
        println!("pair {:>2}: plimsoll {us:.2} s, psql {them:.2} s, ratio {:.3}", pair + 1, us / them);
    }
    let ratios: Vec<f64> = our_times.iter().zip(&their_times).map(|(us, them)| us / them).collect();
    let terms = Terms { higher_is_better: false, margin: 0.05, confidence: 0.95 };
    let comparison = compare(&their_times, &our_times, terms).ok_or("too few pairs")?;
    println!(
        "time ratio plimsoll / psql over {pairs} pairs of {megabytes} MB: median {:.3}, mean {:.3} ({:.3} to {:.3}); WAL ratio {:.4}",
        summary::median(&ratios).unwrap_or_default(),
        comparison.ratio,
        comparison.low.unwrap_or_default(),
        comparison.high.unwrap_or_default(),
        summary::median(&wal_ratios).unwrap_or_default(),
    );
    drop(lease);
    Ok(())
}

fn empty_table(session: &mut dyn Session) -> Outcome<()> {
    session.execute("DROP TABLE IF EXISTS rows", &[])?;
    session.create_table(&schema::family("rows", Width::Seeds))?;
    session.checkpoint()?;
    Ok(())
}

fn ours(session: &mut dyn Session, rows: u64) -> Outcome<f64> {
    empty_table(session)?;
    let mut source = Rows::new(Family::Typed(Width::Seeds), 1, 0, 1, rows);
    let start = Instant::now();
    session.load(&schema::family("rows", Width::Seeds), &mut source)?;
    Ok(start.elapsed().as_secs_f64())
}

fn theirs(server: &Postgres, session: &mut dyn Session, workspace: &Workspace, file: &Path) -> Outcome<f64> {
    empty_table(session)?;
    let command = format!("\\copy {workspace}.rows from '{}' (format binary)", file.display());
    let start = Instant::now();
    psql(server, &command)?;
    Ok(start.elapsed().as_secs_f64())
}

fn psql(server: &Postgres, command: &str) -> Outcome<()> {
    let url = server.socket_url("postgres");
    let status = Command::new("psql").args(["-X", "-q", "-d", &url, "-c", command]).stdin(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err("psql failed".into()) }
}

fn log_position(session: &mut dyn Session) -> Outcome<f64> {
    let readings = session.sample()?;
    let log = readings.iter().find(|reading| reading.metric == plimsoll_measurement::Counter::LogWriteBytes);
    Ok(log.ok_or("no WAL position")?.value)
}
