//! What the lab's tests share: a lab on given hardware in virtual time, a table, rows.
#![allow(dead_code, clippy::unwrap_used, reason = "tests; every file of them uses a part of it")]

use std::sync::Arc;

use plimsoll_clock::{Clock, OnClock, VirtualClock, enter};
use plimsoll_engine::{
    ClaimMode, ColumnType, Lease, Result, Row, RowSource, Session, Sessions as _, Table, Value, Workspace,
    Workspaces as _,
};
use plimsoll_hardware::Spec;
use plimsoll_lab::level::Level;
use plimsoll_lab::{Address, LabDatabase};

/// A lab with the calling thread on its clock.
pub struct Bench {
    pub lab: LabDatabase,
    pub workspace: Workspace,
    lease: Option<Box<dyn Lease>>,
    pub clock: Arc<dyn Clock>,
    _on_clock: OnClock,
}

impl Bench {
    /// A lab on hardware as TOML describes it.
    pub fn new(hardware: &str) -> Self {
        Self::with(hardware, "lab:test.toml?scale=1")
    }

    /// The same, with options.
    pub fn with(hardware: &str, url: &str) -> Self {
        Self::on(hardware, url, Arc::new(VirtualClock::new()))
    }

    /// The same, on a clock.
    pub fn on(hardware: &str, url: &str, clock: Arc<dyn Clock>) -> Self {
        let spec = Spec::parse("test.toml", hardware).unwrap();
        let level = Level {
            spec,
            name: "test".into(),
            edition: None,
            edition_date: None,
            published: None,
            disk: None,
            provenance: [].into(),
        };
        let address = Address::parse(url).unwrap();
        let on_clock = enter(&clock, "test");
        let lab = LabDatabase::on(level, &address, Arc::clone(&clock)).unwrap();
        let workspace = Workspace::run("test").unwrap();
        let lease = lab.claim(&workspace, ClaimMode::Exclusive).unwrap();
        assert!(lease.is_some());
        Self { lab, workspace, lease, clock, _on_clock: on_clock }
    }

    pub fn session(&self) -> Box<dyn Session> {
        self.lab.session(&self.workspace, &self.workspace).unwrap()
    }

    pub fn seconds(&self) -> f64 {
        self.clock.now().as_nanos() as f64 / 1e9
    }

    /// Forgets the lease, as a crash does.
    pub fn drop_lease(&mut self) {
        self.lease = None;
    }
}

/// A table of a key and texts of this many bytes in all.
pub fn table(name: &str) -> Table {
    Table::new(name, &[("RowId", ColumnType::Int), ("Number", ColumnType::BigInt), ("Text", ColumnType::Text(2000))])
}

/// Rows with keys from `next` to `last`, each with a text of `bytes`.
pub struct Rows {
    pub next: i32,
    pub last: i32,
    pub bytes: usize,
}

impl RowSource for Rows {
    fn next(&mut self, row: &mut Row) -> Result<bool> {
        if self.next > self.last {
            return Ok(false);
        }
        row.push(Value::Int(self.next));
        row.push(Value::BigInt(i64::MAX - i64::from(self.next)));
        row.push(Value::Text(&"x".repeat(self.bytes)));
        self.next += 1;
        Ok(true)
    }
}

/// Makes a table with rows 1 to `rows`.
pub fn load(session: &mut dyn Session, name: &str, rows: i32, bytes: usize) -> Table {
    let table = table(name);
    session.create_table(&table).unwrap();
    session.load(&table, &mut Rows { next: 1, last: rows, bytes }).unwrap();
    session.settle_table(&table).unwrap();
    table
}
