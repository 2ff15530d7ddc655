//! `plimsoll doctor`: what works on this machine, and what a target allows. Each line says what is lost without it.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_bench::run::needs;
use plimsoll_bench::run::place::{ANSWER_PATIENCE, give_back, remove_own};
use plimsoll_bench::{Definition, Interrupt, definition};
use plimsoll_clock::{Clock, RealClock};
use plimsoll_engine::{
    Capability, ClaimMode, Database, Error, Need, Result, WeakIsolation, Workspace, WorkspaceStatus, process,
};
use plimsoll_measurement::{Counter, exit, units};

use super::self_test::self_test;
use crate::args::Doctor;
use crate::engines;
use crate::failure::Failure;
use crate::intents::known;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::signals;

/// Checks the machine, and the target if there is one.
pub fn doctor(options: &Doctor, settings: &Settings, printer: &Printer) -> std::result::Result<u8, Failure> {
    if let Some(url) = options.target.as_deref().filter(|_| options.self_test) {
        return self_test(url, options, settings, printer);
    }
    let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
    let mut findings = Findings::default();
    findings.machine(&clock);
    let store = store(settings);
    let otherwise = "results cannot be stored: choose another file with --store";
    findings.line(store.is_ok(), "result store", store.as_deref().unwrap_or_default(), otherwise);
    printer.result(&findings.text());
    // The store's own error has its exit code and says more than a line here.
    store?;
    if let Some(url) = &options.target {
        let target = engines::parse(url, settings, printer)?;
        let interrupt = Interrupt::default();
        signals::listen(&interrupt, printer)?;
        let opened = engines::open(&target, &options.access, &known(settings, printer), &interrupt, printer);
        let database = opened.database.map_err(|error| signals::failure(&interrupt, error))?;
        let mut findings = Findings::default();
        // Whatever is asked from here on ends soon after an interrupt.
        let pulse = database.pulse().map(|pulse| interrupt.watch(pulse));
        let outcome = findings.target(database.as_ref(), &interrupt, clock.as_ref());
        drop(pulse);
        printer.result(&format!("\n{}\n{}", target.display(), findings.text()));
        // What is missing has a line already.
        for warning in database.description().warnings.iter().filter(|warning| !findings.said.contains(*warning)) {
            printer.warning(warning);
        }
        if let Some(code) = signals::exit_code(&interrupt) {
            if let Some(owed) = interrupt.owed() {
                printer.warning(&owed);
            }
            return Ok(code);
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

/// Something that was looked at.
struct Line {
    works: bool,
    what: String,
    /// What it is, where it works.
    detail: String,
    /// What is lost, where it does not.
    otherwise: String,
    /// Values that stand below it.
    values: String,
}

/// What was found, each thing once.
#[derive(Default)]
struct Findings {
    lines: Vec<Line>,
    /// Warnings of the engine that a line says as well.
    said: Vec<String>,
}

impl Findings {
    fn text(&self) -> String {
        let mut text = String::new();
        for Line { works, what, detail, otherwise, values } in &self.lines {
            let (sign, rest) = if *works { ("ok", detail) } else { ("--", otherwise) };
            let _ = write!(text, "{sign}  {what:<22} {rest}\n{values}");
        }
        text
    }

    /// What was found by trying. Of what the engine has said already, the trial decides; the engine knows better what is lost.
    fn line(&mut self, works: bool, what: &str, detail: &str, otherwise: &str) {
        match self.lines.iter_mut().find(|line| line.what == what) {
            Some(line) => {
                line.works = works;
                if works {
                    detail.clone_into(&mut line.detail);
                } else if line.otherwise.is_empty() {
                    otherwise.clone_into(&mut line.otherwise);
                }
            }
            None => self.lines.push(Line {
                works,
                what: what.to_owned(),
                detail: detail.to_owned(),
                otherwise: otherwise.to_owned(),
                values: String::new(),
            }),
        }
    }

    /// What the engine found out about itself: what a missing thing costs, what would give it, and the tests that it stops. Of what was
    /// looked at before, a value is kept.
    fn capability(&mut self, capability: &Capability, met: &[Need]) {
        self.said.extend(capability.warning());
        let Capability { name, works, cost, remedy, gives } = capability;
        let unmet: Vec<Need> = gives.iter().copied().filter(|need| !met.contains(need)).collect();
        let remedy = remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
        let otherwise = format!("{cost}{}{remedy}", stopped(&unmet));
        match self.lines.iter_mut().find(|line| line.what == *name) {
            Some(line) => {
                line.works &= works;
                line.otherwise = otherwise;
            }
            None => self.line(*works, name, "available", &otherwise),
        }
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

    fn target(&mut self, database: &dyn Database, interrupt: &Interrupt, clock: &dyn Clock) -> Result<()> {
        let description = database.description();
        self.line(true, "server", &format!("{} {}", description.engine, description.version), "");
        if let Some(server) = self.lines.last_mut() {
            for (name, value) in &description.settings {
                let _ = writeln!(server.values, "      {name} = {value}");
            }
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
        let workspaces = database.workspaces()?;
        let ours = workspaces.iter().filter(|status| status.not_ours.is_none());
        let (leftovers, in_use): (Vec<_>, Vec<_>) = ours.partition(|status| status.is_left());
        let others = workspaces.len() - leftovers.len() - in_use.len();
        let more = if others > 0 { format!(", {others} not ours") } else { String::new() };
        let detail = format!("{} without a lease, {} in use{more}", leftovers.len(), in_use.len());
        self.line(true, "workspaces", &detail, "");
        let capabilities = database.capabilities();
        let tried = try_workspace(database, interrupt, clock);
        let met = tried.as_ref().map_or(&[][..], |tried| &tried.met);
        for capability in &capabilities {
            self.capability(capability, met);
        }
        let otherwise = "no test can run, as each makes tables in a workspace of its own";
        self.line(tried.is_ok(), "making workspaces", "allowed", otherwise);
        let tried = tried?;
        for (need, otherwise) in [
            (Need::Counted(Counter::CacheMissPages), "not counted: a cold start cannot be proved"),
            (
                Need::Counted(Counter::DeviceReadBytes),
                "not visible from here: the operating system's cache may serve reads unnoticed",
            ),
            (
                Need::Counted(Counter::EngineCpuSeconds),
                "not visible from here: low CPU use in the CPU ladder is not noticed",
            ),
            (Need::Counted(Counter::LogWriteBytes), "not counted: log bytes are left out"),
            (Need::TableSizes, "not visible: pages are left out"),
        ] {
            let is_met = tried.met.contains(&need);
            // The engine's line about what gives it says as much.
            if !capabilities.iter().any(|it| it.gives.contains(&need) && (is_met || !it.works)) {
                let otherwise = format!("{otherwise}{}", stopped(&[need]));
                self.line(is_met, &need.words(), "known", &otherwise);
            }
        }
        let otherwise = "not allowed: dirty pages of a load may be written during a test";
        self.line(tried.checkpoint, "checkpoint", "allowed", otherwise);
        Ok(())
    }
}

/// The built-in tests that can't do without one of these, as a part of a sentence.
fn stopped(needs: &[Need]) -> String {
    let is_stopped =
        |test: &Definition| test.steps.iter().any(|step| step.needs.iter().any(|need| needs.contains(need)));
    let tests: Vec<String> = definition::builtin().into_iter().filter(is_stopped).map(|test| test.name).collect();
    if tests.is_empty() { String::new() } else { format!("; {} can't run", tests.join(", ")) }
}

/// What a session in a workspace of our own found.
struct Tried {
    met: Vec<Need>,
    /// Whether it may ask for a checkpoint.
    checkpoint: bool,
}

/// The proof that runs are possible: makes a workspace, and removes it again. What stays after an interrupt is owed.
fn try_workspace(database: &dyn Database, interrupt: &Interrupt, clock: &dyn Clock) -> Result<Tried> {
    interrupt.check()?;
    let workspace = Workspace::run(&uuid::Uuid::now_v7().simple().to_string())?;
    let owed = format!("what was made at the target ({workspace}) is not removed; 'plimsoll clean' does it later");
    interrupt.owe(Some(owed));
    let (lease, tried) = match database.claim(&workspace, ClaimMode::Exclusive) {
        Ok(lease) => (lease, try_session(database, &workspace, interrupt)),
        // What it made before it failed may be there.
        Err(error) => (None, Err(error)),
    };
    let is_silent = interrupt.settle_silence(|| database.answers(ANSWER_PATIENCE));
    interrupt.shield();
    if let Some(lease) = lease {
        give_back(lease, is_silent);
    }
    let Err(kept) = remove_own(database, &workspace, interrupt, clock) else {
        interrupt.owe(None);
        return tried;
    };
    let is_there = |all: Vec<WorkspaceStatus>| all.iter().any(|status| status.workspace == workspace);
    match tried {
        // After a signal nothing more is asked of a server that may be silent.
        Err(error) if interrupt.signal().is_none() && database.workspaces().is_ok_and(|all| !is_there(all)) => {
            Err(error)
        }
        tried => {
            let error = tried.err().unwrap_or(kept);
            let message = format!("{}; what was made at the target ({workspace}) may not be removed", error.message);
            Err(Error { message, ..error }.hint("'plimsoll clean' with this target removes it"))
        }
    }
}

fn try_session(database: &dyn Database, workspace: &Workspace, interrupt: &Interrupt) -> Result<Tried> {
    use Counter::{CacheMissPages, DeviceReadBytes, EngineCpuSeconds, LogWriteBytes};
    let mut session = database.session(workspace, workspace)?;
    let _watched = interrupt.watch(session.canceller());
    interrupt.check()?;
    let counters = [CacheMissPages, DeviceReadBytes, EngineCpuSeconds, LogWriteBytes].map(Need::Counted);
    let met = needs::met(database, session.as_mut(), &[&counters[..], &[Need::TableSizes]].concat())?;
    Ok(Tried { met, checkpoint: session.checkpoint()? })
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
