//! What a repetition consists of. Each step prepares what it needs once, and measures it in every repetition.

mod commits;
mod custom;
mod join;
pub(crate) mod level;
pub(crate) mod memory;
pub(crate) mod moves;
mod read;
mod requests;
pub(crate) mod scan;
pub(crate) mod write;

use std::sync::Arc;
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::transfer::Move;
use plimsoll_engine::{
    Cancel, Cold, ColdFollower, Database, Error, ErrorKind, Lease, RequestAccess, Requester, Result, Row, RowSource,
    Sampler, Session, Table, Workspace, value::RowSummary,
};
use plimsoll_measurement::event::{Gap, Kind, Mark, PhaseEnded, PointMeasured, SamplesTaken, Warning};
use plimsoll_measurement::{Client, ColdStart, Counter, Moment, Phase, Point, Reading, SampleGap, reading::growth};

use crate::events::EventLog;
use crate::generate::Rows;
use crate::interrupt::{CancelGuard, Interrupt};
use crate::load::custom::CustomWorkload;
use crate::load::mix::Mix;
use crate::parameters::Parameters;
use crate::sampling::Sampling;

/// A kind of step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Table scans (reference, 2.9).
    Scan,
    /// Chunked writes (2.10).
    Write,
    /// The CPU ladder (2.11).
    Join,
    /// Memory that can be used (2.13).
    Memory,
    /// Requests from many sessions (2.1 to 2.6, 2.8, 2.12).
    Requests,
    /// Single-row inserts and what they wait for (2.16).
    Commits,
    /// A dump of a whole database and its import (2.14).
    Import,
    /// A copy of a whole database (2.14).
    Copy,
    /// A physical backup of a whole database and its restore (2.14).
    Restore,
    /// Another level of service, and back.
    LevelChange,
}

impl Step {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Scan,
        Self::Write,
        Self::Join,
        Self::Memory,
        Self::Requests,
        Self::Commits,
        Self::Import,
        Self::Copy,
        Self::Restore,
        Self::LevelChange,
    ];

    /// The name in definitions.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scan => "scan",
            Self::Write => "write",
            Self::Join => "join",
            Self::Memory => "memory",
            Self::Requests => "requests",
            Self::Commits => "commits",
            Self::Import => "import",
            Self::Copy => "copy",
            Self::Restore => "restore",
            Self::LevelChange => "level-change",
        }
    }

    /// The step of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.name() == name)
    }

    /// True if whole databases are made, which takes space and may cost money.
    pub fn makes_databases(self) -> bool {
        matches!(self, Self::Import | Self::Copy | Self::Restore)
    }

    /// True if a repetition waits by itself between provisioning and measuring.
    pub fn settles_itself(self, parameters: &Parameters) -> bool {
        self == Self::Requests || (self == Self::Scan && parameters.choice("cache") == "cold")
    }

    /// What the step measures, ready to prepare.
    pub fn measure(self) -> Box<dyn Measure> {
        match self {
            Self::Scan => Box::<scan::Scan>::default(),
            Self::Write => Box::<write::Write>::default(),
            Self::Join => Box::<join::Join>::default(),
            Self::Memory => Box::<memory::Memory>::default(),
            Self::Requests => Box::<requests::Requests>::default(),
            Self::Commits => Box::<commits::Commits>::default(),
            Self::Import => Box::new(moves::Moves::new(Move::Import)),
            Self::Copy => Box::new(moves::Moves::new(Move::Copy)),
            Self::Restore => Box::new(moves::Moves::new(Move::Restore)),
            Self::LevelChange => Box::<level::LevelChange>::default(),
        }
    }

    /// Bytes that the step will take on the target's disk at most, by a generous rule: rows take up to 1.4 times their
    /// content in pages and index, and a transaction its log beside them. `kept` says that the data set is there already.
    pub fn space_bytes(self, parameters: &Parameters, kept: bool) -> u64 {
        let pages = |content: u64| content.saturating_add(content / 10 * 4);
        match self {
            // A log of one table, and for one table at a time a copy to make it cold.
            Self::Scan => {
                let volume = parameters.bytes("volume");
                let tables = scan::tables(parameters);
                let load = if kept { 0 } else { pages(volume) };
                load.saturating_add(pages(volume / tables).saturating_mul(2))
            }
            Self::Write => {
                let chunks = parameters.bytes("volume").max(10 * parameters.bytes("chunk"));
                let logs = parameters.bytes("chunk").saturating_mul(2);
                pages(chunks).saturating_add(pages(logs)).saturating_add(parameters.bytes("source").saturating_mul(2))
            }
            Self::Join => parameters.count("rows").saturating_mul(150),
            // The set grows by doubling until the memory is found: what it starts with is known, the end is not.
            Self::Memory => pages(parameters.bytes("first_set").saturating_mul(8)),
            // How much is inserted is not known: as much again is room for a while.
            // A change of level has probes that write as much again, with their log.
            Self::Requests | Self::LevelChange => pages(parameters.bytes("volume")).saturating_mul(3),
            // All that is moved, and the new database, its log and the dump or backup of the largest on the same disk.
            Self::Import | Self::Copy | Self::Restore => {
                let volumes = moves::volumes(parameters);
                let largest = volumes.iter().copied().max().unwrap_or(0).saturating_mul(3);
                pages(volumes.into_iter().fold(largest, u64::saturating_add))
            }
            // Each commit's log is a page or so, and a log is used again after a few thousand of them.
            Self::Commits => parameters.count("commits").saturating_mul(200).saturating_add(64 << 20),
        }
    }
}

/// Something that can be measured again and again.
pub trait Measure {
    /// Makes and checks the data. Called once.
    fn prepare(&mut self, context: &mut Context<'_>) -> Result<()>;

    /// Measures one repetition. Every finished point goes through [`Context::keep`].
    fn repeat(&mut self, context: &mut Context<'_>) -> Result<()>;

    /// Gives back what it holds at the target beside the run's own place. Called once, whatever happened before.
    ///
    /// # Errors
    /// If something stays there.
    fn finish(&mut self, database: &dyn Database, workspace: &Workspace) -> Result<()> {
        let _ = (database, workspace);
        Ok(())
    }
}

/// What a step works with: the target, the run's place in it, time, and whoever watches.
pub struct Context<'a> {
    /// The target.
    pub database: &'a dyn Database,
    /// The run's own place.
    pub workspace: &'a Workspace,
    /// Leases to renew after a restart of the server.
    pub lease: &'a mut (dyn Lease + 'static),
    /// The parameters as resolved.
    pub parameters: &'a Parameters,
    /// Kinds of requests and their weights; empty for tests that make none.
    pub mix: &'a Mix,
    /// Requests of the definition's own, in place of a mix.
    pub own: Option<&'a CustomWorkload>,
    /// Whether a data set is kept for later runs.
    pub keep_data: bool,
    /// What may be done to make the cache cold.
    pub cold: &'a Cold,
    /// Commands that change the level of a target that can't do so itself.
    pub levels: Option<&'a LevelWords>,
    /// How long to wait between provisioning and measuring.
    pub settle: Duration,
    /// Time.
    pub clock: &'a Arc<dyn Clock>,
    /// Requests to stop.
    pub interrupt: &'a Interrupt,
    /// What happens is told here.
    pub log: &'a mut EventLog,
    /// The repetition that is being measured.
    pub repetition: &'a mut plimsoll_measurement::Repetition,
    /// The run's id.
    pub run_id: &'a str,
    /// Time zero of the repetition: when its first step began to measure.
    pub repetition_start: Moment,
    /// The step's name in points, where a test has several.
    pub phase: Option<&'static str>,
    /// What a reader has to know.
    pub warnings: &'a mut Vec<String>,
    /// What is known of our own client; filled by tests that make requests.
    pub client: &'a mut Option<Client>,
    /// CPUs that the client may use.
    pub cpus: u32,
    /// The same where it depends on the machine that runs a modelled target.
    pub host_warnings: &'a mut Vec<String>,
    /// Looks at the engine and its machine meanwhile.
    pub sampling: &'a mut Sampling,
    /// Facts that turned out during the run and belong to its parameters.
    pub facts: &'a mut std::collections::BTreeMap<String, serde_json::Value>,
}

/// Commands of the user's for the shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelWords {
    /// Asks for the level in `PLIMSOLL_LEVEL`.
    pub command: String,
    /// Prints the level in effect.
    pub check: String,
}

impl<'a> Context<'a> {
    /// The same run and repetition for a step within a step: at another database, with other parameters, or as a phase.
    pub(crate) fn within<'b>(
        &'b mut self,
        database: &'b dyn Database,
        parameters: &'b Parameters,
        phase: Option<&'static str>,
    ) -> Context<'b> {
        Context {
            database,
            parameters,
            phase,
            workspace: self.workspace,
            lease: &mut *self.lease,
            mix: self.mix,
            own: self.own,
            keep_data: self.keep_data,
            cold: self.cold,
            levels: self.levels,
            settle: self.settle,
            clock: self.clock,
            interrupt: self.interrupt,
            log: &mut *self.log,
            repetition: &mut *self.repetition,
            run_id: self.run_id,
            repetition_start: self.repetition_start,
            warnings: &mut *self.warnings,
            client: &mut *self.client,
            cpus: self.cpus,
            host_warnings: &mut *self.host_warnings,
            sampling: &mut *self.sampling,
            facts: &mut *self.facts,
        }
    }

    /// Keeps a finished point: it is on disk before anything else is measured.
    pub fn keep(&mut self, mut point: Point) -> Result<()> {
        point.index = self.repetition.points.len() as u32;
        point.phase = self.phase.map(str::to_owned);
        let repetition = self.repetition.label.clone();
        self.log.tell(Kind::Point(PointMeasured { repetition, point: point.clone() }))?;
        self.repetition.points.push(point);
        self.samples_so_far();
        Ok(())
    }

    /// Keeps a phase of requests that is over.
    pub(crate) fn keep_phase(&mut self, phase: Phase) -> Result<()> {
        let repetition = self.repetition.label.clone();
        let kept = self.log.tell(Kind::Phase(PhaseEnded { repetition, phase: Box::new(phase.clone()) }));
        self.repetition.phases.push(phase);
        kept
    }

    /// Tells what was sampled since the last time, if it is enough: a killed program leaves it.
    pub(crate) fn samples_so_far(&mut self) {
        if !self.log.is_kept() {
            return;
        }
        if let Some(samples) = self.sampling.part(self.phase, self.repetition_start) {
            let repetition = self.repetition.label.clone();
            self.log.note(Kind::Samples(SamplesTaken { repetition, is_part: true, samples }));
        }
    }

    /// Tells something that explains what will be seen in figures.
    pub(crate) fn mark(&mut self, text: String) {
        let seconds = self.seconds_since_start(self.clock.now());
        self.log.note(Kind::Mark(Mark { repetition: self.repetition.label.clone(), seconds, text }));
    }

    /// Tells of a time in which the engine could not be reached.
    pub(crate) fn gap(&mut self, from: Moment, to: Moment, reason: &str) {
        let gap = SampleGap {
            from_seconds: self.seconds_since_start(from),
            to_seconds: self.seconds_since_start(to),
            source: "engine".to_owned(),
            reason: reason.to_owned(),
        };
        self.log.note(Kind::Gap(Gap { repetition: self.repetition.label.clone(), gap }));
    }

    /// A session in the run's place (or another one), whose statements an interrupt cancels.
    pub fn session(&self, workspace: &Workspace) -> Result<(Box<dyn Session>, CancelGuard)> {
        self.interrupt.check()?;
        let session = self.database.session(workspace, self.workspace)?;
        let watched = self.interrupt.watch(session.canceller());
        Ok((session, watched))
    }

    /// The same, for a session that may reach existing tables.
    pub fn session_with(
        &self,
        workspace: &Workspace,
        access: RequestAccess,
    ) -> Result<(Box<dyn Session>, CancelGuard)> {
        self.interrupt.check()?;
        let session = self.database.session_with(workspace, self.workspace, access)?;
        let watched = self.interrupt.watch(session.canceller());
        Ok((session, watched))
    }

    /// Makes sessions in the run's place that make requests, and which an interrupt cancels; also from other threads.
    pub fn requesters(
        &self,
        access: RequestAccess,
    ) -> impl Fn() -> Result<(Box<dyn Requester>, CancelGuard)> + Sync + use<'a> {
        let (database, workspace, interrupt) = (self.database, self.workspace, self.interrupt);
        move || {
            interrupt.check()?;
            let requester = database.requester(workspace, workspace, access)?;
            let watched = interrupt.watch(requester.canceller());
            Ok((requester, watched))
        }
    }

    /// Adds a warning unless it stands there already.
    pub fn warn(&mut self, warning: impl Into<String>) {
        self.add_warning(warning.into(), false);
    }

    /// Adds a warning about the machine that holds the target's files: in virtual time it is no part of the result.
    pub fn warn_of_machine(&mut self, warning: impl Into<String>) {
        self.add_warning(warning.into(), self.clock.kind() == "virtual");
    }

    fn add_warning(&mut self, text: String, is_host: bool) {
        let warnings = if is_host { &mut *self.host_warnings } else { &mut *self.warnings };
        if !warnings.contains(&text) {
            warnings.push(text.clone());
            self.log.note(Kind::Warning(Warning { text, is_host }));
        }
    }

    /// Records how a cold start was made.
    pub fn record_cold(&mut self, cold: ColdStart) {
        self.repetition.cold = Some(cold);
    }

    /// Begins to measure: the engine is looked at, and the repetition's time runs from now on, if it doesn't yet.
    pub fn begin(&mut self) {
        for warning in self.sampling.begin(self.database, self.clock) {
            self.warn_of_machine(warning);
        }
        if self.repetition.points.is_empty() && self.repetition.phases.is_empty() {
            self.repetition_start = self.clock.now();
            self.repetition.started_at = Some(self.log.now());
        }
    }

    /// Has measured.
    pub(crate) fn end(&mut self) {
        let (phase, before) = (self.phase, self.repetition.samples.len());
        for warning in self.sampling.end(self.repetition, phase, self.workspace.name(), self.repetition_start) {
            self.warn(warning);
        }
        for samples in self.repetition.samples.iter().skip(before).cloned() {
            let repetition = self.repetition.label.clone();
            self.log.note(Kind::Samples(SamplesTaken { repetition, is_part: false, samples }));
        }
    }

    /// Seconds since the repetition's start.
    pub fn seconds_since_start(&self, moment: Moment) -> f64 {
        moment.since(self.repetition_start).as_secs_f64()
    }

    /// Loads rows into a table, with progress, and stops between rows when asked to.
    pub fn load(
        &mut self,
        session: &mut dyn Session,
        table: &Table,
        rows: Rows,
        content_bytes: u64,
    ) -> Result<RowSummary> {
        let activity = format!("loading {}", table.name);
        self.log.activity(&activity);
        let mut source = LoadProgress {
            rows,
            seen: 0,
            content_bytes: 0,
            activity: &activity,
            total: content_bytes,
            log: self.log,
            interrupt: self.interrupt,
        };
        session.load(table, &mut source)
    }

    /// Waits, in steps, so that an interrupt ends it.
    pub fn wait(&mut self, wait: Duration) -> Result<()> {
        let end = self.clock.now().after(wait);
        while self.clock.now() < end {
            self.interrupt.check()?;
            let step = end.since(self.clock.now()).min(Duration::from_millis(200));
            self.clock.sleep(step);
        }
        Ok(())
    }
}

/// Lets an interrupt end a cold start, and renews the leases as soon as a restarted server answers.
pub(crate) struct Follower<'a> {
    interrupt: &'a Interrupt,
    watched: Option<CancelGuard>,
    leases: [Option<&'a mut (dyn Lease + 'static)>; 2],
    warnings: Vec<String>,
}

impl<'a> Follower<'a> {
    fn new(interrupt: &'a Interrupt, leases: [Option<&'a mut (dyn Lease + 'static)>; 2]) -> Self {
        Self { interrupt, watched: None, leases, warnings: Vec::new() }
    }

    /// What the run should say of the cold start.
    fn into_warnings(self) -> Vec<String> {
        self.warnings
    }
}

impl ColdFollower for Follower<'_> {
    fn working(&mut self, cancel: Arc<dyn Cancel>) {
        self.watched = Some(self.interrupt.watch(cancel));
    }

    fn check(&mut self) -> Result<()> {
        self.interrupt.check()
    }

    fn restarted(&mut self) -> Result<()> {
        self.leases.iter_mut().flatten().try_for_each(|lease| lease.renew())
    }

    fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }
}

/// Counters of the session and of the engine's processes around something measured.
pub struct Probe {
    process: Option<Box<dyn Sampler>>,
    before: Vec<Reading>,
    after: Vec<Reading>,
    /// True if the memory in use is asked for too.
    memory: bool,
}

impl Probe {
    /// A probe of the engine's processes; sessions are handed in at each reading.
    pub fn new(database: &dyn Database) -> Self {
        Self { process: database.process_sampler(), before: Vec::new(), after: Vec::new(), memory: false }
    }

    /// The same, which also asks how much memory is in use where that takes a question of its own.
    pub fn with_memory(database: &dyn Database) -> Self {
        Self { memory: true, ..Self::new(database) }
    }

    /// Reads the counters before the work.
    pub fn start(&mut self, session: &mut dyn Session) -> Result<()> {
        self.before = self.read(session)?;
        Ok(())
    }

    /// Reads them after it.
    pub fn stop(&mut self, session: &mut dyn Session) -> Result<()> {
        self.after = self.read(session)?;
        Ok(())
    }

    fn read(&mut self, session: &mut dyn Session) -> Result<Vec<Reading>> {
        // The processes' counters go first: where both know a metric, the whole server is meant.
        let mut readings = match &mut self.process {
            Some(process) => process.sample()?,
            None => Vec::new(),
        };
        let memory = if self.memory { session.sample_memory()? } else { None };
        for reading in session.sample()?.into_iter().chain(memory) {
            if !readings.iter().any(|known| known.metric == reading.metric) {
                readings.push(reading);
            }
        }
        Ok(readings)
    }

    /// How much a counter grew; `None` where it isn't known.
    pub fn growth(&self, metric: Counter) -> Option<f64> {
        growth(metric, &self.before, &self.after)
    }

    /// The same as a whole number.
    pub fn count(&self, metric: Counter) -> Option<u64> {
        self.growth(metric).map(|value| value as u64)
    }

    /// Pages that were not in the engine's cache: of a table by its own counter before and after, where the engine counts by
    /// table, else of all that the session did.
    pub fn misses(&self, before: Option<u64>, after: Option<u64>) -> Option<u64> {
        match (before, after) {
            (Some(before), Some(after)) => after.checked_sub(before),
            _ => self.count(Counter::CacheMissPages),
        }
    }

    /// The present value of something that isn't cumulative.
    pub fn now(&self, metric: Counter) -> Option<f64> {
        self.after.iter().find(|reading| reading.metric == metric).map(|reading| reading.value)
    }
}

struct LoadProgress<'a, 'b> {
    rows: Rows,
    seen: u32,
    content_bytes: u64,
    activity: &'a str,
    total: u64,
    log: &'b mut EventLog,
    interrupt: &'a Interrupt,
}

impl RowSource for LoadProgress<'_, '_> {
    fn next(&mut self, row: &mut Row) -> Result<bool> {
        let more = self.rows.fill(row);
        self.seen += 1;
        // Often enough for a person, seldom enough to cost nothing.
        if self.seen.is_multiple_of(4096) {
            self.content_bytes += 4096 * row.content_bytes();
            self.interrupt.check()?;
            self.log.progress(self.activity, self.content_bytes.min(self.total), self.total);
        }
        Ok(more)
    }
}

/// An engine that does not do what the test rests on: the figure would be wrong, so there is none.
pub(crate) fn contradiction(message: String) -> Error {
    Error::new(ErrorKind::Statement, message)
        .hint("this is a fault of the engine's driver or of the engine: please report it")
}
