//! `plimsoll run`: tests on targets, one run for each pair.

mod ahead;
mod chosen;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_bench::run::{self, Plan};
use plimsoll_bench::step::LevelWords;
use plimsoll_bench::step::kind::Consent;
use plimsoll_bench::{Definition, Interrupt, On, Parameters, Sinks, definition, execute, feed};
use plimsoll_clock::Clock;
use plimsoll_engine::{Cold, ErrorKind, Target, files};
use plimsoll_measurement::{Host, RunFailure, RunRecord, exit, units};
use plimsoll_report::terminal;
use plimsoll_store::RunStore;

use self::chosen::Chosen;
use super::multiples::Loaded;
use super::thresholds::{Outcome, Threshold};
use super::watch::Beside;
use crate::args::Run;
use crate::engines::{self, Opened};
use crate::failure::Failure;
use crate::intents::noted_in;
use crate::outlet::{self, Patience};
use crate::printer::Printer;
use crate::progress::{InStore, Progress};
use crate::settings::Settings;
use crate::signals;

const MOST_OF_A_LABEL: usize = 40;

/// How long a search for the highest rate tries each.
const SEARCH_STEP: &str = "10s";

/// Runs every test on every target.
pub fn run(options: &Run, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    // Everything that can be wrong with the call is found before anything is touched.
    let chosen = choose(options)?;
    let label = label(options.label.as_deref())?;
    let thresholds = options.fail_if.iter().map(|text| Threshold::parse(text)).collect::<Result<Vec<_>, _>>()?;
    thresholds.iter().try_for_each(|one| one.check(chosen.iter().map(|test| &test.definition)))?;
    let settle = units::parse_duration(&options.settle)
        .map_err(|error| Failure::usage(format!("--settle: {error}")).hint("such as --settle 5m"))?;
    let targets: Vec<Target> =
        options.target.iter().map(|url| engines::parse(url, settings, printer)).collect::<Result<_, _>>()?;
    let store = settings.open_store()?;
    let multiples = Loaded::load(&options.multiples, store.as_ref())?;
    let interrupt = Interrupt::default();
    signals::listen(&interrupt, printer)?;
    let _hurries = interrupt.watch(Arc::new(signals::Hurries(Arc::clone(&store))));
    let host = this_machine();
    let words = options.level_command.clone().zip(options.level_check.clone());

    let runs = targets.len() * chosen.len();
    let repetitions = |test: &Chosen| options.repetitions.unwrap_or(test.definition.repetitions);
    let asked = |(target, test)| ahead::Asked { test, repetitions: repetitions(test), target };
    let pairs = targets.iter().flat_map(|target| chosen.iter().map(move |test| (target, test)));
    printer.remark(&ahead::said(&pairs.map(asked).collect::<Vec<_>>(), settle, &store));
    let mut codes = Vec::new();
    'targets: for target in &targets {
        let opened = engines::open(target, &options.access, &noted_in(&store), &interrupt, printer);
        let scale = opened.database.as_ref().map_or(1, |database| database.description().scale);
        for test in &chosen {
            let parameters = test.parameters(scale)?;
            let common = plan(&test.definition, parameters, target.display(), &host);
            let plan = Plan {
                repetitions: repetitions(test),
                settle,
                cold: Cold { restart_command: options.restart_command.clone(), shared: false },
                levels: words.clone().map(|(command, check)| LevelWords { command, check }),
                keep_data: options.keep_data,
                without_samples: options.looks.no_samples,
                campaign: options.campaign.clone(),
                label: label.clone(),
                reference: multiples.reference.clone(),
                anchor: multiples.anchor.as_ref(),
                catalog_edition: multiples.catalog_edition.clone(),
                ..common
            };
            if runs > 1 {
                let (number, test) = (codes.len() + 1, &test.definition.name);
                printer.remark(&format!(
                    "run {number} of {runs}: {test} on {}, {} repetitions",
                    target.display(),
                    plan.repetitions
                ));
            }
            let watched = options.looks.watch.then(|| beside(target, &opened, &store, printer)).flatten();
            let record = measure(&plan, target, &opened, &store, &interrupt, printer)?;
            present(&record, options.json, printer)?;
            if let Some(watched) = watched {
                watched.end(options.json, printer);
            }
            let failure = record.error.as_ref().or(record.left_behind.as_ref());
            codes
                .push(failure.map_or_else(|| held_against(&thresholds, &record, printer), |failure| failure.exit_code));
            if let Some(code) = signals::exit_code(&interrupt) {
                // Also when this run was complete: others were not begun.
                if codes.len() < runs {
                    codes.push(code);
                }
                break 'targets;
            }
        }
    }
    Ok(exit_code(&codes))
}

/// The profiler beside a run. A run of which it can't say anything goes on without it.
fn beside(target: &Target, opened: &Opened, store: &Arc<RunStore>, printer: &Printer) -> Option<Beside> {
    let database = opened.database.as_ref().ok()?;
    let begun = Beside::begin(target.display(), database.as_ref(), &opened.clock, store, printer);
    begun
        .map_err(|failure| {
            let hint = failure.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
            printer.warning(&format!("--watch: {}{hint}; the run goes on without it", failure.message));
        })
        .ok()
}

/// A label, which has to fit into tables and sentences.
pub fn label(given: Option<&str>) -> Result<Option<String>, Failure> {
    let Some(text) = given.map(str::trim) else { return Ok(None) };
    let count = text.chars().count();
    if count == 0 || count > MOST_OF_A_LABEL || text.chars().any(char::is_control) {
        return Err(Failure::usage(format!("--label has 1 to {MOST_OF_A_LABEL} characters in one line"))
            .hint("such as --label 'fsync off'"));
    }
    if text == plimsoll_store::LATEST {
        return Err(
            Failure::usage("--label latest: that is the last run, whatever it is called").hint("choose another name")
        );
    }
    Ok(Some(text.to_owned()))
}

/// Holds a complete run against the thresholds of figures that its test has, says how it stands, and gives the code to end with.
fn held_against(thresholds: &[Threshold], record: &RunRecord, printer: &Printer) -> u8 {
    let definition = Definition::parse("stored definition", &record.definition.text);
    let is_of_test = |one: &&Threshold| definition.as_ref().map_or(true, |definition| one.check([definition]).is_ok());
    let outcomes: Vec<Outcome> = thresholds.iter().filter(is_of_test).map(|one| one.judge(record)).collect();
    for outcome in &outcomes {
        match outcome {
            Outcome::Holds(said) => printer.remark(&format!("--fail-if {said}")),
            Outcome::Fails(said) | Outcome::Unknown(said) => printer.warning(&format!("--fail-if {said}")),
        }
    }
    if outcomes.iter().any(|one| matches!(one, Outcome::Fails(_))) {
        exit::NEGATIVE
    } else if outcomes.iter().any(|one| matches!(one, Outcome::Unknown(_))) {
        exit::INCOMPLETE
    } else {
        exit::DONE
    }
}

/// One run: of a database that could be opened, or the record of why it could not.
pub fn measure(
    plan: &Plan<'_>,
    target: &Target,
    opened: &Opened,
    store: &Arc<RunStore>,
    interrupt: &Interrupt,
    printer: &Printer,
) -> Result<RunRecord, Failure> {
    let database = match &opened.database {
        Ok(database) => database.as_ref(),
        Err(error) => {
            let engine = engines::engine_of(target)?.products()[0];
            return Ok(run::not_started(plan, engine, &opened.clock, interrupt, error));
        }
    };
    Ok(execute_shown(plan, On::from(database), &opened.clock, store, interrupt, printer))
}

/// One run, kept in the store and shown as it goes.
pub fn execute_shown(
    plan: &Plan<'_>,
    on: On<'_>,
    clock: &Arc<dyn Clock>,
    store: &Arc<RunStore>,
    interrupt: &Interrupt,
    printer: &Printer,
) -> RunRecord {
    let (feed, events) = feed();
    let sinks = Sinks { keeper: Some(Box::new(InStore(Arc::clone(store)))), feeds: vec![feed] };
    let progress = Progress::new(printer, plan.definition.name.clone(), on.subject, plan.repetitions);
    // Without a thread for it nothing is shown, and the run goes on.
    let shown = outlet::told().ok().and_then(|(told, end)| {
        let thread = std::thread::Builder::new().name("progress".to_owned());
        let follow = move || {
            progress.follow(events);
            drop(end);
        };
        thread.spawn(follow).ok().map(|_| told)
    });
    let mut record = execute(plan, on, clock, interrupt, sinks);
    if record.error.is_none() {
        record.error = lost(store, &record.run_id);
    }
    signals::leave_in_time(interrupt);
    if let Some(told) = shown {
        told.wait(Patience::UntilSignal);
    }
    record
}

/// What is to be said of a run that was kept and can't be read from the store.
fn lost(store: &RunStore, run_id: &str) -> Option<RunFailure> {
    let error = store.record(run_id).err()?;
    Some(RunFailure {
        kind: ErrorKind::Store.name().to_owned(),
        message: format!("the run was measured, and the store does not give it back: {}", Failure::from(error).message),
        hint: Some("see who changed the store's files meanwhile; then name another store with --store FILE".to_owned()),
        exit_code: exit::INCOMPLETE,
    })
}

/// Shows a run: the record as one line of JSON, or a table.
pub fn present(record: &RunRecord, json: bool, printer: &Printer) -> Result<(), Failure> {
    if json {
        let line = plimsoll_report::json_line(record).map_err(|error| Failure::usage(error.to_string()))?;
        printer.json(&line);
    } else if !record.repetitions.is_empty() || record.error.is_none() {
        printer.result(&terminal::run(record, printer.style));
    }
    if let Some(failure) = record.error.as_ref().or(record.left_behind.as_ref()) {
        printer.failure(&Failure::from(failure));
    }
    if let Some(left) = record.left_behind.as_ref().filter(|_| record.error.is_some()) {
        let hint = left.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        printer.warning(&format!("{}{hint}", left.message));
    }
    if record.error.is_none() && !json {
        let id = &record.run_id;
        printer.remark(&format!("kept as run {id}; 'plimsoll report {id} --html report.html' draws it"));
    }
    Ok(())
}

/// One code for several runs: an interrupt counts most; runs that fail alike give their own code; a mixture is
/// incomplete.
fn exit_code(codes: &[u8]) -> u8 {
    let interrupted = codes.iter().find(|code| matches!(**code, exit::HUNG_UP | exit::INTERRUPTED | exit::TERMINATED));
    match (interrupted, codes.first()) {
        (Some(code), _) => *code,
        (None, Some(first)) if codes.iter().all(|code| code == first) => *first,
        (None, Some(_)) => exit::INCOMPLETE,
        (None, None) => exit::DONE,
    }
}

fn choose(options: &Run) -> Result<Vec<Chosen>, Failure> {
    let group = options.group.as_deref().map(definition::find_group).transpose();
    let group = group.map_err(|problem| Failure::usage(problem).hint("'plimsoll tests' lists the groups"))?;
    let tests = group.as_ref().filter(|_| options.tests.is_empty()).map_or(&options.tests, |group| &group.tests);
    let mut definitions = tests.iter().map(|test| find(test)).collect::<Result<Vec<_>, _>>()?;
    if let Some(group) = &group {
        let hint = "'plimsoll tests show GROUP' lists the tests of a group";
        for definition in &mut definitions {
            group.apply(definition).map_err(|problem| Failure::usage(problem).hint(hint))?;
        }
    }
    let pairs = options
        .set
        .iter()
        .map(|pair| {
            let split = pair.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
            split.ok_or_else(|| {
                Failure::usage(format!("--set {pair} is not of the form key=value")).hint("such as --set volume=500MiB")
            })
        })
        .collect::<Result<BTreeMap<_, _>, _>>()?;
    let mut pairs = pairs;
    if let Some(goal) = &options.find_knee {
        let (percentile, time) = goal.split_once('=').ok_or_else(|| {
            Failure::usage(format!("--find-knee {goal} is not of the form PERCENTILE=TIME"))
                .hint("such as --find-knee p99=20ms")
        })?;
        let is_time = time.trim().ends_with(|c: char| c.is_ascii_alphabetic());
        if !is_time || units::parse_duration(time.trim()).is_ok_and(|time| time.is_zero()) {
            return Err(Failure::usage(format!("--find-knee {goal}: {time} is not a time with a unit"))
                .hint("such as --find-knee p99=20ms"));
        }
        pairs.extend([("goal_at", percentile.trim()), ("goal", time.trim())]);
        // Full lengths are for one rate, and a search tries a dozen.
        pairs.entry("duration").or_insert(SEARCH_STEP);
    }
    if let Some(how) = &options.cold {
        pairs.insert("cold_by", how);
    }
    // With several tests a key has to mean something to one of them at least.
    for (key, value) in &pairs {
        let errors: Vec<String> = definitions
            .iter_mut()
            .filter_map(|definition| {
                let error = definition.set(&mut definition.parameters(options.short), key, value).err();
                error
                    .or_else(|| (!definition.heeds(key)).then(|| format!("{key}: {} does not use it", definition.name)))
            })
            .collect();
        if let Some(error) = errors.first()
            && errors.len() == definitions.len()
        {
            if options.cold.is_some() && *key == "cold_by" {
                return Err(Failure::usage("--cold: none of these tests scans tables from a cold cache")
                    .hint("read-scan and read-scan-weak do"));
            }
            return Err(
                Failure::usage(format!("--set: {error}")).hint("'plimsoll tests show TEST' lists the parameters")
            );
        }
    }
    let chosen = definitions.into_iter().map(|definition| {
        let known = definition.parameters(options.short);
        // A key of another test among them, or of a variable, has been accepted above.
        let sets = pairs.iter().filter(|(key, _)| known.contains(key) && definition.heeds(key));
        let sets = sets.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let chosen = Chosen { definition, short: options.short, sets };
        let parameters = chosen.parameters(1)?;
        chosen.definition.check(&parameters).map_err(|problem| {
            Failure::usage(format!("{}: {problem}", chosen.definition.name))
                .hint("'plimsoll tests show TEST' lists the parameters")
        })?;
        consent(&chosen.definition, &parameters, options)?;
        Ok(chosen)
    });
    chosen.collect()
}

/// Whoever writes to tables that are there has to say so in the definition and in the call.
fn consent(definition: &Definition, parameters: &Parameters, options: &Run) -> Result<(), Failure> {
    let refused = |message: String| Failure::usage(message).code(exit::SAFETY);
    for consent in definition.steps.iter().filter_map(|step| (step.consent)(parameters)) {
        match consent {
            Consent::Databases { backups } if !options.consent.allow_create_database => {
                let message = format!("{} creates databases, and this run does not allow it", definition.name);
                let backups = if backups {
                    "; TMPDIR holds a backup and the restored files, on PostgreSQL and MariaDB those of the whole server"
                } else {
                    ""
                };
                return Err(refused(message).hint(format!(
                    "their names begin with plimsoll_copy_, they take twice the volume, and the run removes them{backups}; a cloud service may \
                     bill each like any database as long as it is there; add \
                     --allow-create-database, and set their size by --set volume=... or --set sizes=..."
                )));
            }
            Consent::Level if !options.consent.allow_level_change => {
                let message =
                    format!("{} requests another level of service, and this run does not allow it", definition.name);
                return Err(refused(message).hint(
                    "this may cost money and end sessions at the target; the run requests the old level again at its end, \
                     unless the program is killed: add --allow-level-change",
                ));
            }
            _ => {}
        }
    }
    if !definition.own.as_ref().is_some_and(|own| own.writes) || options.consent.allow_writes {
        return Ok(());
    }
    Err(refused(format!("{} writes to existing tables, and this run does not allow it", definition.name))
        .hint("read its statements, then add --allow-writes; the run has changed nothing at the target"))
}

fn find(test: &str) -> Result<Definition, Failure> {
    let is_file = Path::new(test).extension().is_some_and(|extension| extension == "toml");
    if !is_file {
        return definition::find_builtin(test)
            .map_err(|problem| Failure::usage(problem).hint("'plimsoll tests' lists them; a file must end in .toml"));
    }
    let text = files::read_text(Path::new(test), files::LARGE).map_err(|error| {
        Failure::usage(format!("cannot read the definition {test}: {error}"))
            .hint("'plimsoll tests show read-scan' prints a definition as an example")
    })?;
    let own = Definition::parse_for(test, &text, &engines::products()).map_err(|error| {
        Failure::usage(error.to_string()).hint("'plimsoll tests keys' lists every key and parameter")
    })?;
    // Stored runs are found by the name of their test: two tests must not share one.
    let differs = |builtin: &Definition| (&builtin.steps, &builtin.title) != (&own.steps, &own.title);
    if definition::find_builtin(&own.name).is_ok_and(|builtin| differs(&builtin)) {
        let message = format!("{test}: '{}' is the name of a built-in test", own.name);
        return Err(Failure::usage(message).hint("choose another name"));
    }
    Ok(own)
}

/// A plan as the definition has it, with nothing special about it.
pub fn plan<'a>(definition: &'a Definition, parameters: Parameters, target: &str, host: &Host) -> Plan<'a> {
    Plan {
        definition,
        parameters,
        repetitions: definition.repetitions,
        settle: Duration::ZERO,
        cold: Cold::default(),
        levels: None,
        keep_data: false,
        without_samples: false,
        campaign: None,
        label: None,
        target: target.to_owned(),
        ceilings: Vec::new(),
        reference: None,
        anchor: None,
        catalog_edition: None,
        build: build(),
        host: host.clone(),
    }
}

/// This program, as records name it.
pub fn build() -> String {
    format!("plimsoll {}", env!("CARGO_PKG_VERSION"))
}

/// This machine, as runs keep it. To be asked before the thread boards a clock, which may bind it to one CPU.
pub fn this_machine() -> Host {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Host {
        name: (!name.is_empty()).then_some(name),
        platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        cpus: std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32),
        ..Host::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_code_stands_for_several_runs() {
        assert_eq!(exit_code(&[0, 0]), exit::DONE);
        assert_eq!(exit_code(&[4, 4]), exit::CANNOT_CONNECT);
        assert_eq!(exit_code(&[0, 4]), exit::INCOMPLETE);
        assert_eq!([129, 130, 143].map(|code| exit_code(&[0, code])), [129, 130, 143]);
    }
}
