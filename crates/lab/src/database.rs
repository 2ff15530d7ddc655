//! A lab as a target: the SQLite driver on a modelled server, and what that server says about itself.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_catalog::DiskChoice;
use plimsoll_clock::Clock;
use plimsoll_engine::{
    ClaimMode, Cold, ColdFollower, Database, Description, Error, ErrorKind, Expected, Intents, Lease, Levels, Moves,
    QuerySampler, RequestAccess, Result, Sampler, Session, Sessions, Table, Telemetry, Transfer, Work, Workspace,
    WorkspaceKind, WorkspaceStatus, Workspaces,
};
use plimsoll_hardware::Spec;
use plimsoll_measurement::Ceiling;
use plimsoll_sqlite::SqliteDatabase;
use plimsoll_sqlite::modelled::Modelled;

use crate::address::{Address, Subject};
use crate::fault::Faults;
use crate::fingerprint;
use crate::home::{Home, remove_leftovers};
use crate::level::{self, Level};
use crate::levels::{Changes, LabLevels};
use crate::sampler::ServerSampler;
use crate::scenario::Scenario;
use crate::server::Server;
use crate::session::{Hardware, PRIVATE_PAGES};
use crate::transfer::LabTransfer;
use crate::truth;
use crate::vfs::Registered;

/// An opened lab.
#[derive(Debug)]
pub struct LabDatabase {
    inner: SqliteDatabase,
    hardware: Arc<Hardware>,
    level: Level,
    address: Address,
    changes: Arc<Changes>,
    description: Description,
    /// It goes last: files are in it.
    home: Option<Home>,
}

impl LabDatabase {
    /// Opens a lab by its URL.
    pub fn open(url: &str, clock: Arc<dyn Clock>) -> Result<Self> {
        let address = Address::parse(url)?;
        let level = level::find(&address)?;
        Self::on(level, &address, clock)
    }

    /// Opens the lab of a scenario.
    pub fn scenario(scenario: &Scenario, clock: Arc<dyn Clock>) -> Result<Self> {
        // Without its limits a scenario would go on and on in no time.
        Spec::parse(&scenario.spec.name, &scenario.hardware).map_err(|error| {
            Error::new(ErrorKind::Internal, format!("a scenario's hardware can't be read: {error}"))
        })?;
        let name = scenario.spec.name.clone();
        let provenance = [("hardware".to_owned(), format!("drawn for the scenario {name}"))].into();
        let spec = scenario.spec.clone();
        let subject = Subject::File(format!("{name}.toml").into());
        let address = Address {
            subject,
            is_virtual: clock.kind() == "virtual",
            scale: 1,
            seed: scenario.luck,
            choice: DiskChoice::default(),
            neighbour: true,
            file: None,
            faults: scenario.faults.clone(),
        };
        Self::on(
            Level { spec, name, edition: None, edition_date: None, published: None, disk: None, provenance },
            &address,
            clock,
        )
    }

    /// Opens a lab on this hardware.
    pub fn on(level: Level, address: &Address, clock: Arc<dyn Clock>) -> Result<Self> {
        let home = if address.file.is_some() { None } else { Some(Home::make()?) };
        let file = address.file.clone().or_else(|| home.as_ref().map(Home::file)).unwrap_or_default();
        let faults = Faults::new(address.faults.clone(), address.seed, Arc::clone(&clock));
        let server = Arc::new(Server::new(level.spec.clone(), address.seed, Arc::clone(&clock), faults));
        let vfs = Registered::new(Arc::clone(&server))
            .ok_or_else(|| Error::new(ErrorKind::Unsupported, "SQLite has no file system layer to build the lab on"))?;
        Registered::seed_randomness(address.seed);
        let hardware = Arc::new(Hardware { vfs, server });
        let modelled: Arc<dyn Modelled> = Arc::clone(&hardware) as _;
        let inner =
            SqliteDatabase::modelled(&file, level.spec.page_bytes, clock, modelled).map_err(in_words_of_the_lab)?;
        let description = describe(&level, address, inner.description());
        let changes = Arc::new(Changes::new(&level));
        Ok(Self { inner, hardware, level, address: address.clone(), changes, description, home })
    }

    /// The same, with what it makes noted there.
    #[must_use]
    pub fn noting(mut self, intents: &Intents) -> Self {
        self.inner = self.inner.clone().noting(intents);
        self
    }

    /// The level it is built on.
    pub fn level(&self) -> &Level {
        &self.level
    }

    /// The server's statistics.
    pub fn server(&self) -> &Arc<Server> {
        &self.hardware.server
    }
}

/// What SQLite's driver says of a path, with what there is to do about it here.
fn in_words_of_the_lab(error: Error) -> Error {
    match error.kind {
        ErrorKind::Usage | ErrorKind::Missing | ErrorKind::Permission => {
            error.hint("give the target ?file=PATH: a name for files of ours in a folder that exists and is writable")
        }
        _ => error,
    }
}

/// Pages of memory below which read-ahead, checkpoints and the tests get into each other's way.
const FEWEST_PAGES: u64 = 768;

fn describe(level: &Level, address: &Address, sqlite: &Description) -> Description {
    let mut settings = level.provenance.clone();
    let scale = if address.scale == 1 { "1".to_owned() } else { format!("1/{}", address.scale) };
    settings.insert("scale".to_owned(), scale);
    settings.insert("seed".to_owned(), address.seed.to_string());
    let pages = level.spec.memory.map(|bytes| bytes / level.spec.page_bytes);
    let limit = pages.map_or("without limit".to_owned(), |pages| pages.to_string());
    settings.insert("buffer pool pages".to_owned(), limit);
    settings.insert("private cache pages of a session".to_owned(), PRIVATE_PAGES.to_string());
    for name in ["journal_mode", "synchronous", "page_size", "threadsafe"] {
        if let Some(value) = sqlite.settings.get(name) {
            settings.insert(name.to_owned(), value.clone());
        }
    }
    let mut warnings = Vec::new();
    if let Some(pages) = pages.filter(|pages| *pages < FEWEST_PAGES) {
        warnings.push(format!(
            "the memory is only {pages} pages at this scale, and figures suffer below {FEWEST_PAGES}: a larger scale such as \
             ?scale=1/{} has more",
            (address.scale * pages / FEWEST_PAGES).max(1)
        ));
    }
    if !address.faults.is_empty() {
        let faults: Vec<String> = address.faults.iter().map(ToString::to_string).collect();
        warnings.push(format!("faults are injected: {}", faults.join(", ")));
    }
    let subject = match &address.subject {
        Subject::Level { .. } => level.name.clone(),
        Subject::File(path) => {
            let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            format!("{name}-{:016x}", fingerprint::of(&level.spec))
        }
    };
    Description {
        engine: "lab".to_owned(),
        relative: Some("sqlite"),
        version: format!("SQLite {}", sqlite.version),
        settings,
        page_bytes: level.spec.page_bytes,
        local: true,
        embedded: true,
        cpus: Some(level.spec.cpu.cores.ceil() as u32),
        weak_isolation: sqlite.weak_isolation.clone(),
        fingerprint: format!("lab-{subject}"),
        warnings,
        scale: address.scale,
        edition: level.edition.clone(),
        edition_date: level.edition_date.clone(),
        rest_before_reuse: Duration::ZERO,
        memory_report_age: Duration::ZERO,
    }
}

impl Drop for LabDatabase {
    /// Files that are kept after the power was lost become what the disk would hold.
    fn drop(&mut self) {
        self.changes.stop();
        let server = &self.hardware.server;
        let is_in_use = || server.state().files.iter().any(|file| file.shared.sessions > 0);
        if self.home.is_none() && server.faults.is_dark() && !is_in_use() {
            // Nobody is left to hear that a file can't be written.
            let _ = server.power_on();
        }
    }
}

impl Database for LabDatabase {
    fn description(&self) -> &Description {
        &self.description
    }

    fn expect(&self, work: Work<'_>) -> Result<Option<Expected>> {
        match work {
            Work::LevelChange(level) => Ok(self.changes.expect(&self.level, level)),
            work => truth::expect(&self.level, self.description.scale, work),
        }
    }
}

impl Workspaces for LabDatabase {
    fn claim(&self, workspace: &Workspace, mode: ClaimMode) -> Result<Option<Box<dyn Lease>>> {
        if self.home.is_some() && workspace.kind() == WorkspaceKind::Run {
            remove_leftovers();
        }
        self.inner.claim(workspace, mode)
    }

    fn workspaces(&self) -> Result<Vec<WorkspaceStatus>> {
        self.inner.workspaces()
    }

    fn end_orphans(&self) -> Result<u32> {
        self.inner.end_orphans()
    }

    fn remove(&self, workspace: &Workspace) -> Result<bool> {
        let removed = self.inner.remove(workspace)?;
        if removed {
            self.hardware.server.forget(&self.inner.path(workspace));
        }
        Ok(removed)
    }

    fn free_bytes(&self) -> Option<u64> {
        self.inner.free_bytes()
    }

    /// Empties the log and then the memory, as a restart of the server does.
    fn make_cold(
        &self,
        workspace: &Workspace,
        run: &Workspace,
        _tables: &[Table],
        cold: &Cold,
        follower: &mut dyn ColdFollower,
    ) -> Result<Vec<String>> {
        if cold.restart_command.is_some() {
            return Err(Error::new(ErrorKind::Usage, "the lab runs in this process, there is no server to restart")
                .hint("leave out the command that restarts it; the lab empties its memory by itself"));
        }
        follower.check()?;
        let mut session = self.session(workspace, run)?;
        follower.working(session.canceller());
        session.checkpoint()?;
        drop(session);
        follower.check()?;
        self.hardware.server.state().pool.clear();
        Ok(vec!["restart".to_owned()])
    }
}

impl Sessions for LabDatabase {
    fn session_with(&self, workspace: &Workspace, run: &Workspace, access: RequestAccess) -> Result<Box<dyn Session>> {
        access.refuse_existing(&self.description.engine)?;
        self.inner.session_with(workspace, run, access)
    }
}

impl Telemetry for LabDatabase {
    fn server_sampler(&self) -> Result<Option<Box<dyn Sampler>>> {
        Ok(self.process_sampler())
    }

    fn query_sampler(&self) -> Result<Option<Box<dyn QuerySampler>>> {
        self.inner.query_sampler()
    }

    /// Those of the level in effect.
    fn ceilings(&self) -> Vec<Ceiling> {
        let state = self.hardware.server.state();
        state.spec.ceilings("the lab's hardware, ", state.file_bytes(), self.description.scale)
    }

    fn process_sampler(&self) -> Option<Box<dyn Sampler>> {
        Some(Box::new(ServerSampler(Arc::clone(&self.hardware.server))))
    }
}

impl Moves for LabDatabase {
    fn transfer(&self, run: &Workspace) -> Result<Option<Box<dyn Transfer>>> {
        Ok(Some(Box::new(LabTransfer::new(self.inner.clone(), Arc::clone(&self.hardware), run))))
    }

    /// Of a level of a service; hardware of one's own and disks have none.
    fn levels(&self) -> Result<Option<Box<dyn Levels>>> {
        let levels = || {
            let (inner, server) = (self.inner.clone(), Arc::clone(&self.hardware.server));
            let (address, changes) = (self.address.clone(), Arc::clone(&self.changes));
            Box::new(LabLevels { inner, server, address, changes }) as Box<dyn Levels>
        };
        Ok(self.level.published.is_some().then(levels))
    }
}
