//! The memory test finds what an engine can cache while the setting is hidden from it: the target lies about it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::sync::Arc;

use common::{Altered, plan};
use plimsoll_bench::{Interrupt, Sinks, definition, execute};
use plimsoll_clock::{Clock, RealClock};
use plimsoll_engine::{Credentials, Engine, Target};
use plimsoll_postgres::Postgres;
use plimsoll_sqlite::Sqlite;

/// What the memory test finds, in MB, with what the record says of the setting.
fn found(engine: &dyn Engine, url: &str, setting: &str) -> (f64, String) {
    let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
    let target = Target::parse(url).unwrap();
    let mut database = Altered::new(engine.open(&target, &Credentials::default(), Arc::clone(&clock)).unwrap());
    // Wrong by a factor of a hundred.
    for setting in ["shared_buffers", "cache_size", "effective_cache_size"] {
        database.description.settings.insert(setting.to_owned(), "3GB".to_owned());
    }
    let definition = definition::find_builtin("memory").unwrap();
    let plan = plan(&definition, definition.parameters(true), &target);
    let record = execute(&plan, &database, &clock, &Interrupt::default(), Sinks::default());
    assert!(record.is_complete(), "{:?}", record.error);
    (record.result.unwrap().value, record.environment[setting].clone())
}

#[test]
fn sqlite_by_the_cache_size() {
    let folder = tempfile::tempdir().unwrap();
    for megabytes in [8, 24] {
        let url = format!("sqlite:{}?cache_size=-{}", folder.path().join("m.db").display(), megabytes * 1024);
        let (value, said) = found(&Sqlite, &url, "cache_size");
        assert_eq!(said, "3GB", "the wrong setting is printed");
        assert!((value / f64::from(megabytes) - 1.0).abs() <= 0.1, "{value} of {megabytes} MB");
    }
}

#[test]
fn postgresql_by_shared_buffers() {
    for megabytes in [24, 64] {
        let server = plimsoll_testbed::Postgres::builder().shared_buffers_mb(megabytes).start().unwrap();
        let (value, said) = found(&Postgres, &server.socket_url("postgres"), "shared_buffers");
        assert_eq!(said, "3GB", "the wrong setting is printed");
        assert!((value / f64::from(megabytes) - 1.0).abs() <= 0.1, "{value} of {megabytes} MB");
    }
}
