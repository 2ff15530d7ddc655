//! A target that says something else of itself than it is, and otherwise works as it does.

#![allow(dead_code, reason = "every test file uses its own part of it")]

use std::time::Duration;

use plimsoll_bench::run::Plan;
use plimsoll_bench::{Definition, Interrupt, Parameters};
use plimsoll_engine::{
    ClaimMode, Cold, ColdFollower, Database, Description, Expected, Lease, Moves, RequestAccess, Result, Row, Sampler,
    Session, Sessions, Table, Target, Telemetry, Work, Workspace, WorkspaceStatus, Workspaces,
};
use plimsoll_measurement::Host;

/// A target that is another one but for what is said here.
pub struct Altered {
    pub inner: Box<dyn Database>,
    pub description: Description,
    /// Is interrupted in the moment in which the target is asked what it should show.
    pub when_asked: Option<Interrupt>,
}

impl Altered {
    pub fn new(inner: Box<dyn Database>) -> Self {
        let description = inner.description().clone();
        Self { inner, description, when_asked: None }
    }
}

impl Database for Altered {
    fn description(&self) -> &Description {
        &self.description
    }

    fn expect(&self, work: Work<'_>) -> Result<Option<Expected>> {
        let Some(interrupt) = &self.when_asked else { return Ok(None) };
        interrupt.trigger(2);
        if let Work::Read(mut tables) | Work::Scan(mut tables) = work {
            let mut row = Row::default();
            while tables[0].rows.next(&mut row)? {}
        }
        Ok(None)
    }
}

impl Workspaces for Altered {
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

impl Sessions for Altered {
    fn session_with(&self, workspace: &Workspace, run: &Workspace, access: RequestAccess) -> Result<Box<dyn Session>> {
        self.inner.session_with(workspace, run, access)
    }
}

impl Telemetry for Altered {
    fn process_sampler(&self) -> Option<Box<dyn Sampler>> {
        self.inner.process_sampler()
    }
}

impl Moves for Altered {}

/// A plan of one test, short, of two repetitions.
pub fn plan<'p>(definition: &'p Definition, parameters: Parameters, target: &Target) -> Plan<'p> {
    Plan {
        definition,
        parameters,
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
    }
}
