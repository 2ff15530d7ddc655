//! `plimsoll lab verify`: every test on every level about which something was printed, held against what the limits say it
//! should show. Nothing is kept in the store.

use plimsoll_bench::figures::joins_at_common_rungs;
use plimsoll_bench::run::{Plan, next_step};
use plimsoll_bench::schema::Width;
use plimsoll_bench::{Interrupt, Sinks, definition, execute};
use plimsoll_catalog::{Catalog, LabLevel};
use plimsoll_engine::{ErrorKind, Intents, Target};
use plimsoll_measurement::{Figure, Host, RunRecord, exit, units};
use plimsoll_report::accuracy::{self, Accuracy};
use plimsoll_report::markdown;
use plimsoll_report::terminal::{self, Style};

use super::report::{try_path, write};
use super::run::{plan, this_machine};
use crate::args::{Access, ClockKind, Verify};
use crate::engines::{self, Opened};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::signals;

/// The level that the CPU of the others is a multiple of.
const REFERENCE: &str = "S2";

/// Levels that are tried in real time, where nobody wants to wait for all.
const REAL_LEVELS: [&str; 3] = ["S0", "S1", "S2"];

/// A test, what is set in it, and how far off it may be.
struct Case {
    test: &'static str,
    sets: &'static [(&'static str, &'static str)],
    /// Whether rows of another width may show something else.
    has_rows: bool,
    bar_percent: f64,
}

/// The test that needs another level to change to.
const CHANGE: &str = "level-change";

/// A third of the usual volume, in tables of the usual size.
const READ_SETS: &[(&str, &str)] = &[("volume", "12GiB")];

/// From this rate on (MB/min) a scan is so short that the latencies drawn for its first pages show: it needs the usual
/// volume for them to average out.
const FAST_SCAN: f64 = 5000.0;

/// Databases that are moved: small, as nothing but the volume grows with it.
const MOVED_SETS: &[(&str, &str)] = &[("volume", "512MiB"), ("tables", "3")];

/// On fast devices the latency of the last page would show in them.
const FAST_MOVED_SETS: &[(&str, &str)] = &[("volume", "16GiB"), ("tables", "3")];

/// The level that is asked for is another for each.
const CHANGE_SETS: &[(&str, &str)] = &[("volume", "640MiB"), ("chunk", "64MiB"), ("poll", "10ms")];

const VIRTUAL: [Case; 7] = [
    Case { test: "read-scan", sets: READ_SETS, has_rows: true, bar_percent: 1.0 },
    Case { test: "write-chunk", sets: &[("volume", "4GiB")], has_rows: true, bar_percent: 1.0 },
    Case { test: "memory", sets: &[], has_rows: false, bar_percent: 3.0 },
    Case { test: "import", sets: MOVED_SETS, has_rows: true, bar_percent: 1.0 },
    Case { test: "copy", sets: MOVED_SETS, has_rows: false, bar_percent: 1.0 },
    Case { test: "restore", sets: MOVED_SETS, has_rows: false, bar_percent: 1.0 },
    Case { test: CHANGE, sets: CHANGE_SETS, has_rows: false, bar_percent: 1.0 },
];

/// In real time volumes have to be small.
const REAL: [Case; 2] = [
    Case { test: "read-scan", sets: &[("volume", "1GiB")], has_rows: true, bar_percent: 3.0 },
    Case { test: "write-chunk", sets: &[("volume", "256MiB"), ("chunk", "25MiB")], has_rows: true, bar_percent: 3.0 },
];

/// A ladder that is long enough: in virtual time nothing but the CPU counts, however short a rung is.
const LADDER: &[(&str, &str)] = &[("rows", "2000")];

/// How far a level's CPU may be off as a multiple of another's, in percent.
const MULTIPLE_BAR_PERCENT: f64 = 2.0;

/// Measures and compares.
pub fn verify(options: &Verify, printer: &Printer) -> Result<u8, Failure> {
    let levels = levels(options)?;
    if let Some(path) = &options.markdown {
        try_path(path)?;
    }
    let interrupt = Interrupt::default();
    let bench = Bench { options, printer, host: this_machine(), interrupt: interrupt.clone() };
    signals::listen(&interrupt, printer)?;
    let mut rows = Vec::new();
    let outcome = bench.all(&levels, &mut rows);
    if !options.json {
        printer.result(&terminal::report(&accuracy::report(&rows), Style { full: true, ..printer.style }));
    }
    if let Some(path) = &options.markdown {
        write(path, &markdown::tables(&accuracy::report(&rows)), printer)?;
    }
    if let Some(code) = signals::exit_code(&interrupt) {
        return Ok(code);
    }
    outcome?;
    let count = |verdict: &str| rows.iter().filter(|row| row.verdict() == verdict).count();
    printer.remark(&format!("{} ok, {} beyond, {} unknown", count("ok"), count("beyond"), count("unknown")));
    Ok(match (count("beyond"), count("unknown")) {
        (0, 0) => exit::DONE,
        (0, _) => exit::INCOMPLETE,
        _ => exit::NEGATIVE,
    })
}

/// The levels that are asked for, oldest edition first.
fn levels(options: &Verify) -> Result<Vec<LabLevel>, Failure> {
    let catalog = Catalog::builtin()?;
    let is_real = options.clock == ClockKind::Real;
    let mut names: Vec<&str> = options.level.iter().map(String::as_str).collect();
    if names.is_empty() && is_real {
        names.extend(REAL_LEVELS);
    }
    let printed: Vec<_> = catalog.lab_levels().collect();
    // An unknown name is an error that lists what there is.
    let services: Vec<&str> = printed.iter().map(|at| at.edition.service.as_str()).collect();
    let known = |service: &&&str, name: &str| catalog.level(service, name, options.edition.as_deref()).is_ok();
    for name in names.iter().copied() {
        if !services.iter().any(|service| known(&service, name)) {
            catalog.level(services.first().copied().unwrap_or_default(), name, options.edition.as_deref())?;
        }
    }
    let mut chosen = Vec::new();
    for at in &printed {
        let (level, edition) = (at.level, at.edition);
        let named = names.is_empty() || names.iter().any(|name| level.is_named(name));
        let dated = options.edition.as_ref().is_none_or(|name| edition.name.eq_ignore_ascii_case(name));
        let newest = || printed.iter().rfind(|other| other.level.name == level.name).map(|other| &other.edition.name);
        if named && dated && (!is_real || options.edition.is_some() || newest() == Some(&edition.name)) {
            chosen.push(catalog.lab_level(&edition.service, &level.name, Some(&edition.name))?);
        }
    }
    if chosen.is_empty() {
        let mut editions: Vec<&str> = printed.iter().map(|at| at.edition.name.as_str()).collect();
        editions.dedup();
        return Err(Failure::usage("no figure was printed for such a level")
            .hint(format!("editions with printed figures are {}", editions.join(", "))));
    }
    Ok(chosen)
}

/// The first level of the edition to which a database has to move; `None` if there is none.
fn of_another_tier(level: &LabLevel) -> Result<Option<String>, Failure> {
    let catalog = Catalog::builtin()?;
    let mut others =
        catalog.levels().filter(|at| at.edition.service == level.service && at.edition.name == level.edition);
    Ok(others.find(|at| at.level.tier != level.tier).map(|at| at.level.name.clone()))
}

/// What all measurements share.
struct Bench<'a> {
    options: &'a Verify,
    printer: &'a Printer,
    host: Host,
    interrupt: Interrupt,
}

impl Bench<'_> {
    /// Measures the levels; what is finished is in `rows` also when something fails.
    fn all(&self, levels: &[LabLevel], rows: &mut Vec<Accuracy>) -> Result<(), Failure> {
        let is_real = self.options.clock == ClockKind::Real;
        let cases: &[Case] = if is_real { &REAL } else { &VIRTUAL };
        let mut reference: Option<(String, RunRecord, f64)> = None;
        for level in levels {
            let name = format!("{}/{}@{}", level.service, level.level, level.edition);
            let another = of_another_tier(level)?;
            for case in cases {
                if case.test == CHANGE && another.is_none() {
                    continue;
                }
                let widths = Width::NAMES.into_iter().filter(|_| case.has_rows);
                let widths = widths.filter(|width| self.options.row.as_deref().is_none_or(|row| row == *width));
                let widths: Vec<Option<&str>> = if case.has_rows { widths.map(Some).collect() } else { vec![None] };
                for width in widths {
                    let is_fast = !is_real && level.read_rate.value > FAST_SCAN;
                    let sets = match case.test {
                        "read-scan" if is_fast => &[],
                        "copy" | "restore" if is_fast => FAST_MOVED_SETS,
                        _ => case.sets,
                    };
                    let level_set = another.as_deref().filter(|_| case.test == CHANGE).map(|name| ("level", name));
                    let sets = sets.iter().copied().chain(width.map(|width| ("row", width))).chain(level_set);
                    let record = self.measure(&name, case.test, &sets.collect::<Vec<_>>())?;
                    let figure = headline(&record)?;
                    self.keep(rows, row_of(level, width, case.bar_percent, figure));
                }
            }
            if is_real {
                continue;
            }
            if reference.as_ref().is_none_or(|(service, ..)| *service != level.service) {
                let dtu = Catalog::builtin()?.lab_level(&level.service, REFERENCE, None)?.dtu.value;
                let record = self.measure(&format!("{}/{REFERENCE}", level.service), "cpu-join", LADDER)?;
                reference = Some((level.service.clone(), record, dtu));
            }
            let Some((_, base, base_dtu)) = &reference else { continue };
            let record = self.measure(&name, "cpu-join", LADDER)?;
            let row = multiple(level, &record, base).map(|row| row.against(level.dtu.value / base_dtu));
            self.keep(rows, row.ok_or_else(|| incomplete(format!("{name}: no rung in common with {REFERENCE}")))?);
        }
        Ok(())
    }

    fn keep(&self, rows: &mut Vec<Accuracy>, row: Accuracy) {
        let width = row.row_bytes.map_or_else(String::new, |bytes| format!(" with rows of {bytes} bytes"));
        let error = row.error_percent.map_or_else(|| "no truth".to_owned(), |error| format!("{error:+.2} %"));
        let measured = units::format_significant(row.measured);
        self.printer.remark(&format!(
            "{}@{} {}{width}: {measured} {}, {error}, {}",
            row.level,
            row.edition,
            row.metric,
            row.unit,
            row.verdict()
        ));
        if self.options.json {
            let mut line = serde_json::json!(row);
            line["verdict"] = row.verdict().into();
            self.printer.json(&line.to_string());
        }
        rows.push(row);
    }

    /// Runs a test on a lab of its own. Neighbours are switched off: what they leave of a limit has a mean over hours,
    /// and no run is as long.
    fn measure(&self, level: &str, test: &str, sets: &[(&str, &str)]) -> Result<RunRecord, Failure> {
        let clock = if self.options.clock == ClockKind::Real { "real" } else { "virtual" };
        let target = Target::parse(&format!("lab:{level}?clock={clock}&neighbour=off"))?;
        let Opened { database, clock, .. } =
            &engines::open(&target, &Access::default(), &Intents::default(), &self.interrupt, self.printer);
        let database = database.as_ref().map_err(|error| Failure::from(error.clone()))?;
        let run = |test: &str, sets: &[(&str, &str)], keep_data: bool| -> Result<RunRecord, Failure> {
            let definition = definition::find_builtin(test).map_err(Failure::usage)?;
            let mut parameters = definition.parameters_at(false, database.description().scale);
            for (key, value) in sets {
                parameters.set(key, value, &definition.steps).map_err(Failure::usage)?;
            }
            let plan = Plan { keep_data, ..plan(&definition, parameters, target.display(), &self.host) };
            Ok(execute(&plan, database.as_ref(), clock, &self.interrupt, Sinks::default()))
        };
        if test == CHANGE {
            // Something that has to move: of the test's own there is nothing when the level changes.
            run("read-scan", MOVED_SETS, true)?;
        }
        let record = run(test, sets, false)?;
        match &record.error {
            None => Ok(record),
            Some(error) => {
                Err(Failure { message: format!("{test} on {level}: {}", error.message), ..Failure::from(error) })
            }
        }
    }
}

fn incomplete(message: String) -> Failure {
    Failure::usage(message).code(exit::INCOMPLETE).hint(next_step(ErrorKind::Internal))
}

fn headline(record: &RunRecord) -> Result<&Figure, Failure> {
    record.result.as_ref().ok_or_else(|| incomplete(format!("{} on {} has no result", record.test, record.target)))
}

fn row_of(level: &LabLevel, width: Option<&str>, bar_percent: f64, figure: &Figure) -> Accuracy {
    let truth = figure.expected.as_ref();
    let row = Accuracy {
        service: level.service.clone(),
        level: level.level.clone(),
        edition: level.edition.clone(),
        metric: figure.metric.clone(),
        row_bytes: width.and_then(|width| width.parse().ok()),
        unit: figure.unit.clone(),
        truth: None,
        basis: truth.map(|truth| truth.basis.clone()).unwrap_or_default(),
        published: truth.is_some_and(|truth| truth.published),
        limit: truth.and_then(|truth| truth.limit.clone()),
        measured: figure.value,
        error_percent: None,
        bar_percent,
    };
    match truth {
        Some(truth) => row.against(truth.value),
        None => row,
    }
}

/// How many times as fast as the reference a level joins, at the largest N that both have.
fn multiple(level: &LabLevel, record: &RunRecord, base: &RunRecord) -> Option<Accuracy> {
    let pairs = joins_at_common_rungs(record, base);
    let (own, theirs) = pairs.first()?;
    let figure = Figure {
        metric: "cpu_multiple".to_owned(),
        value: own.figure()?.value / theirs.figure()?.value,
        unit: format!("x {REFERENCE}"),
        values: Vec::new(),
        expected: None,
        ..own.figure()?
    };
    Some(Accuracy {
        basis: level.dtu.basis.name().to_owned(),
        published: level.dtu.published_here,
        limit: Some("cpu".to_owned()),
        ..row_of(level, None, MULTIPLE_BAR_PERCENT, &figure)
    })
}
