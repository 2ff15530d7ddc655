//! The memory test finds what an engine can cache while the setting is hidden from it: the target lies about it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use plimsoll_bench::run::Plan;
use plimsoll_bench::{Interrupt, Sinks, definition, execute};
use plimsoll_clock::{Clock, RealClock};
use plimsoll_engine::{
    ClaimMode, Cold, ColdFollower, Credentials, Database, Description, Engine, Lease, Moves, RequestAccess, Result,
    Sampler, Session, Sessions, Table, Target, Telemetry, Workspace, WorkspaceStatus, Workspaces,
};
use plimsoll_measurement::Host;
use plimsoll_postgres::Postgres;
use plimsoll_sqlite::Sqlite;

/// A target whose settings are wrong by a factor of a hundred.
struct Lying {
    inner: Box<dyn Database>,
    description: Description,
}

impl Lying {
    fn new(inner: Box<dyn Database>) -> Self {
        let mut description = inner.description().clone();
        for setting in ["shared_buffers", "cache_size", "effective_cache_size"] {
            description.settings.insert(setting.to_owned(), "3GB".to_owned());
        }
        Self { inner, description }
    }
}

impl Database for Lying {
    fn description(&self) -> &Description {
        &self.description
    }
}

impl Workspaces for Lying {
    fn claim(&self, workspace: &Workspace, mode: ClaimMode) -> Result<Option<Box<dyn Lease>>> {
        self.inner.claim(workspace, mode)
    }
    fn workspaces(&self) -> Result<Vec<WorkspaceStatus>> {
        self.inner.workspaces()
    }
    fn end_orphans(&self) -> Result<u32> {
        self.inner.end_orphans()
    }
    fn remove(&self, workspace: &Workspace) -> Result<bool> {
        self.inner.remove(workspace)
    }
    fn free_bytes(&self) -> Option<u64> {
        self.inner.free_bytes()
    }
    fn make_cold(
        &self,
        workspace: &Workspace,
        run: &Workspace,
        tables: &[Table],
        cold: &Cold,
        follower: &mut dyn ColdFollower,
    ) -> Result<Vec<String>> {
        self.inner.make_cold(workspace, run, tables, cold, follower)
    }
}

impl Sessions for Lying {
    fn session_with(&self, workspace: &Workspace, run: &Workspace, access: RequestAccess) -> Result<Box<dyn Session>> {
        self.inner.session_with(workspace, run, access)
    }
}

impl Telemetry for Lying {
    fn process_sampler(&self) -> Option<Box<dyn Sampler>> {
        self.inner.process_sampler()
    }
}

impl Moves for Lying {}

/// What the memory test finds, in MB, with what the record says of the setting.
fn found(engine: &dyn Engine, url: &str, setting: &str) -> (f64, String) {
    let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
    let target = Target::parse(url).unwrap();
    let database = Lying::new(engine.open(&target, &Credentials::default(), Arc::clone(&clock)).unwrap());
    let definition = definition::find_builtin("memory").unwrap();
    let plan = Plan {
        definition: &definition,
        parameters: definition.parameters(true),
        repetitions: 2,
        settle: Duration::ZERO,
        cold: Cold::default(),
        levels: None,
        keep_data: false,
        without_samples: false,
        campaign: None,
        label: None,
        target: target.display().to_owned(),
        ceilings: Vec::new(),
        reference: None,
        anchor: None,
        catalog_edition: None,
        build: "test".to_owned(),
        host: Host::default(),
    };
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
