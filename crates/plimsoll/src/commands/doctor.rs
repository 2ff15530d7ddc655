//! `plimsoll doctor`: what works on this machine, and what a target allows. Each line says what is lost without it.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_bench::Interrupt;
use plimsoll_clock::{Clock, RealClock};
use plimsoll_engine::{ClaimMode, ColumnType, Database, Result, Table, WeakIsolation, Workspace, process};
use plimsoll_measurement::{Counter, exit, units};

use super::self_test::self_test;
use crate::args::Doctor;
use crate::engines;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;

/// Checks the machine, and the target if there is one.
pub fn doctor(options: &Doctor, settings: &Settings, printer: &Printer) -> std::result::Result<u8, Failure> {
    if let Some(url) = options.target.as_deref().filter(|_| options.self_test) {
        return self_test(url, options, printer);
    }
    let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
    let mut findings = Findings::default();
    findings.machine(&clock);
    let store = store(settings);
    let otherwise = "results cannot be stored: choose another file with --store";
    findings.line(store.is_ok(), "result store", store.as_deref().unwrap_or_default(), otherwise);
    printer.result(&findings.text);
    // The store's own error has its exit code and says more than a line here.
    store?;
    if let Some(url) = &options.target {
        let target = engines::parse(url, printer)?;
        let opened = engines::open(&target, &options.access, &Interrupt::default(), printer);
        let database = opened.database?;
        let mut findings = Findings::default();
        let _ = writeln!(findings.text, "\n{}", target.display());
        let outcome = findings.target(database.as_ref());
        printer.result(&findings.text);
        for warning in &database.description().warnings {
            printer.warning(warning);
        }
        outcome?;
    }
    Ok(exit::DONE)
}

/// Where results are kept, or will be: a store that isn't there is not made to look at it.
fn store(settings: &Settings) -> std::result::Result<String, Failure> {
    let path = settings.store.display();
    if settings.store.exists() {
        return settings.open_store().map(|_| path.to_string());
    }
    let folder = settings.store.ancestors().skip(1).find(|folder| folder.exists() || folder.as_os_str().is_empty());
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    tempfile::tempfile_in(folder).map_err(|error| {
        Failure::usage(format!("{path} can't be made: {}", std::io::Error::from(error.kind())))
            .code(exit::INCOMPLETE)
            .hint("name another store with --store FILE or PLIMSOLL_STORE")
    })?;
    Ok(format!("{path} (the first run creates it)"))
}

#[derive(Default)]
struct Findings {
    text: String,
}

impl Findings {
    fn line(&mut self, works: bool, what: &str, detail: &str, otherwise: &str) {
        let (sign, rest) = if works { ("ok", detail) } else { ("--", otherwise) };
        let _ = writeln!(self.text, "{sign}  {what:<22} {rest}");
    }

    fn machine(&mut self, clock: &Arc<dyn Clock>) {
        let cpus = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
        self.line(cpus > 0, "CPUs", &format!("{cpus} may be used"), "the number of CPUs is unknown");
        let (step, cost) = clock_steps(clock.as_ref());
        let detail = format!("step {} ns, reading it costs {cost:.0} ns", step.as_nanos());
        self.line(
            step < Duration::from_micros(10),
            "clock",
            &detail,
            "too coarse for short points: use larger volumes",
        );
        let oversleep = oversleep(clock.as_ref());
        let detail = format!("a sleep of 1 ms ends {} late", units::format_seconds(oversleep.as_secs_f64()));
        self.line(
            oversleep < Duration::from_millis(5),
            "timers",
            &detail,
            "this machine wakes threads late, because it is busy",
        );
        let io = process::this_thread().is_some();
        self.line(io, "device bytes", "counted by the system", "not counted here: a cold start cannot be proved");
        let free = process::free_bytes(&std::env::temp_dir());
        let detail =
            free.map(|free| format!("{} free in {}", units::format_bytes(free), std::env::temp_dir().display()));
        let enough = free.is_some_and(|free| free > 1 << 30);
        self.line(enough, "temporary files", &detail.unwrap_or_default(), "less than 1 GB: the demo needs that much");
    }

    /// What the engine found out about itself, with what each missing thing costs and what would give it.
    fn capabilities(&mut self, database: &dyn Database) {
        for capability in database.capabilities() {
            let remedy = capability.remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
            let otherwise = format!("{}{remedy}", capability.cost);
            self.line(capability.works, capability.name, "available", &otherwise);
        }
    }

    fn target(&mut self, database: &dyn Database) -> Result<()> {
        let description = database.description();
        self.line(true, "server", &format!("{} {}", description.engine, description.version), "");
        for (name, value) in &description.settings {
            let _ = writeln!(self.text, "      {name} = {value}");
        }
        let cpus = description.cpus.map(|cpus| cpus.to_string());
        let otherwise = "unknown for a remote server: cpu-join finds by trial how many sessions help";
        self.line(cpus.is_some(), "CPUs of the server", &cpus.unwrap_or_default(), otherwise);
        let free = database.free_bytes().map(units::format_bytes);
        let otherwise = "not visible: a volume that is too large is noticed only when the disk is full";
        self.line(free.is_some(), "free space", &free.unwrap_or_default(), otherwise);
        match &description.weak_isolation {
            WeakIsolation::Effective(name) => self.line(true, "weakest isolation", name, ""),
            WeakIsolation::NoEffect(reason) => {
                self.line(false, "weakest isolation", "", &format!("no effect: {reason}"));
            }
        }
        self.capabilities(database);
        let workspaces = database.workspaces()?;
        let leftovers = workspaces.iter().filter(|status| !status.leased).count();
        let detail = format!("{leftovers} without a lease, {} in use", workspaces.len() - leftovers);
        self.line(true, "workspaces", &detail, "");
        // The proof that runs are possible: make a place, check who may write a checkpoint, remove it again.
        // Another doctor at the same target has another process.
        let workspace = Workspace::run(&format!("doctor{:x}", std::process::id()))?;
        let lease = database.claim(&workspace, ClaimMode::Exclusive)?;
        let tried = try_session(database, &workspace);
        drop(lease);
        database.remove(&workspace)?;
        let (counters, checkpoint) = tried?;
        self.line(true, "making tables", "allowed", "");
        for (metric, otherwise) in [
            (Counter::CacheMissPages, "not counted: the memory test cannot run, and a cold start cannot be proved"),
            (Counter::DeviceReadBytes, "not visible from here: the operating system's cache may serve reads unnoticed"),
            (Counter::EngineCpuSeconds, "not visible from here: low CPU use in the CPU ladder is not noticed"),
            (Counter::LogWriteBytes, "not counted: log bytes are left out"),
        ] {
            self.line(counters.contains(&metric), metric.name(), "counted", otherwise);
        }
        let otherwise =
            "no permission for a checkpoint: dirty pages of a load may be written during a test (GRANT pg_checkpoint)";
        self.line(checkpoint, "checkpoint", "allowed", otherwise);
        Ok(())
    }
}

/// What a session in a place of our own can count, and whether it may ask for a checkpoint.
fn try_session(database: &dyn Database, workspace: &Workspace) -> Result<(Vec<Counter>, bool)> {
    let mut session = database.session(workspace, workspace)?;
    session.create_table(&Table::new("doctor", &[("RowId", ColumnType::Int)]))?;
    let mut readings = session.sample()?;
    if let Some(mut processes) = database.process_sampler() {
        readings.extend(processes.sample()?);
    }
    Ok((readings.iter().map(|reading| reading.metric).collect(), session.checkpoint()?))
}

/// The smallest step seen between two readings of the clock, and the mean cost of one in nanoseconds.
fn clock_steps(clock: &dyn Clock) -> (Duration, f64) {
    const READINGS: u32 = 20_000;
    let start = clock.now();
    let (mut last, mut step) = (start, Duration::MAX);
    for _ in 0..READINGS {
        let now = clock.now();
        if now > last {
            step = step.min(now.since(last));
        }
        last = now;
    }
    (step, last.since(start).as_nanos() as f64 / f64::from(READINGS))
}

fn oversleep(clock: &dyn Clock) -> Duration {
    const SLEEP: Duration = Duration::from_millis(1);
    let late = (0..5).map(|_| {
        let start = clock.now();
        clock.sleep(SLEEP);
        clock.now().since(start).saturating_sub(SLEEP)
    });
    late.max().unwrap_or_default()
}
