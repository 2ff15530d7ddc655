//! The same seed gives the same rows on every engine: what is read back has one checksum, the generator's.
//!
//! `PLIMSOLL_CHECKSUM_ROWS=5200000 cargo test -p plimsoll-bench --test checksums` does it with 2 GB a table.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use plimsoll_bench::dataset::checksum;
use plimsoll_bench::generate::{Family, Rows};
use plimsoll_bench::schema::{self, Width};
use plimsoll_clock::RealClock;
use plimsoll_engine::value::RowSummary;
use plimsoll_engine::{ClaimMode, Credentials, Engine, Table, Target, Workspace};
use plimsoll_mysql::MySql;
use plimsoll_postgres::Postgres;
use plimsoll_sqlite::Sqlite;

/// Rows of each table: enough for every length and sign, unless more are asked for.
fn rows() -> u64 {
    std::env::var("PLIMSOLL_CHECKSUM_ROWS").ok().and_then(|rows| rows.parse().ok()).unwrap_or(20_000)
}

/// Loads rows of a seed and reads them back.
fn read_back(engine: &dyn Engine, url: &str, family: Family, table: &Table) -> RowSummary {
    let target = Target::parse(url).unwrap();
    let database = engine.open(&target, &Credentials::default(), Arc::new(RealClock::new())).unwrap();
    let workspace = Workspace::run("checksums").unwrap();
    let lease = database.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
    let mut session = database.session(&workspace, &workspace).unwrap();
    session.create_table(table).unwrap();
    let loaded = session.load(table, &mut Rows::new(family, 3, 1, 1, rows())).unwrap();
    let read = checksum(session.as_mut(), table, 1, rows()).unwrap();
    assert_eq!(loaded, read, "what was loaded is what is there");
    drop(session);
    drop(lease);
    assert!(database.remove(&workspace).unwrap());
    read
}

#[test]
fn all_engines_have_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = format!("sqlite:{}", folder.path().join("c.db").display());
    let server = plimsoll_testbed::Postgres::builder().start().unwrap();
    let mariadb = plimsoll_testbed::MariaDb::builder().start().unwrap();
    for (family, table) in
        [(Family::Typed(Width::Seeds), schema::family("checked", Width::Seeds)), (Family::Cpu, schema::cpu("checked"))]
    {
        let one = read_back(&Sqlite, &sqlite, family, &table);
        let two = read_back(&Postgres, &server.socket_url("postgres"), family, &table);
        let three = read_back(&MySql, &mariadb.socket_url("test"), family, &table);
        assert_eq!((one, one), (two, three));
        assert_eq!(one.rows, rows());
    }
}
