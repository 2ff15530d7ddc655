//! `plimsoll watch URL`: a server is watched, a line is told of each slot, and at the end what costs most.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_bench::Interrupt;
use plimsoll_clock::Clock;
use plimsoll_engine::snapshots::SnapshotTables;
use plimsoll_engine::{Database, Error, ErrorKind, Intents, QuerySampler};
use plimsoll_measurement::{exit, units};
use plimsoll_store::RunStore;

use super::alerts::Alert;
use super::collector::{Collector, Manner, Told};
use super::filters::Filters;
use super::keeper::Keeper;
use super::live::{self, Live, LiveView, Mark, Setup};
use super::news::News;
use super::saver::{self, Saver};
use super::{job, marked, show, shown};
use crate::args::Watch;
use crate::commands::report::try_path;
use crate::engines;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::signals;

/// The longest slot, and the longest time to watch.
const LONGEST_SLOT: Duration = Duration::from_hours(1);
const LONGEST: Duration = Duration::from_hours(24 * 366);

/// How long a slot is if nobody says it; whoever looks on wants to see more.
const SLOT: &str = "60s";
const SLOT_OF_LIVE: &str = "10s";

/// So many texts are asked for in a slot where whoever looks on may sort by anything.
const LISTED_OF_LIVE: usize = 100;

/// What is said where a job has made nothing to tell.
const NO_SLOT: &str = "No snapshot is new since the last one that was read. A slot lies between two of them: the very first one only begins it.";

/// How long and how often.
#[derive(Debug, Clone, Copy)]
struct Pace {
    slot: Duration,
    time: Option<Duration>,
}

/// Watches until the time is over or somebody interrupts, and then says what costs most.
pub fn watch(url: &str, options: &Watch, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    let pace = pace(options)?;
    if options.live {
        live::check()?;
    }
    let alerts = options.fail_if.iter().map(|text| Alert::parse(text)).collect::<Result<_, _>>()?;
    let only = Filters::parse("--only", &options.only)?;
    let place = saver::place(&options.save)?;
    let tables = options.snapshots.as_deref().map(SnapshotTables::parse).transpose()?;
    let target = engines::parse(url, settings, printer)?;
    options.html.as_deref().map_or(Ok(()), try_path)?;
    // A store that can't be used is said before anything is read.
    let store = if options.no_store { None } else { Some(settings.open_store()?) };
    let interrupt = Interrupt::default();
    signals::listen(&interrupt, printer)?;
    let opened = engines::open(&target, &options.access, &Intents::default(), &interrupt, printer);
    let clock = opened.clock.clone();
    let database = opened.database.map_err(|error| signals::failure(&interrupt, error))?;
    let pulse = database.pulse().map(|pulse| interrupt.watch(pulse));
    let failed = |error| signals::failure(&interrupt, error);
    let open = || match &tables {
        Some(tables) => job::reader(database.as_ref(), target.display(), tables).map_err(failed),
        None => sampler(database.as_ref(), target.display(), false).map_err(failed),
    };
    let mut sampler = open()?;
    let password_file = options.save.save_password_file.clone();
    let begin = |place| Saver::begin(place, (target.display(), password_file), settings, &interrupt, printer);
    let saver = place.map(begin).transpose()?;
    if saver.is_some() {
        // A sampler looks for statements of ours when it begins: now those that save are among them.
        sampler = open()?;
    }
    let engine = database.description().engine.clone();
    let begun = store.as_ref().map(|store| Keeper::begin(store, &clock, (target.display(), &engine))).transpose()?;
    // A line has the name of the statement with most.
    let listed = match (options.json, options.live) {
        (true, _) => usize::from(options.top),
        (false, true) => LISTED_OF_LIVE,
        (false, false) => 1,
    };
    let read_us = begun.as_ref().and_then(|(_, known)| known.read_us());
    let waiting = sampler.waiting(read_us).map_err(failed)?;
    // Slots are as long as the job makes them.
    let slot_us = waiting.and_then(|waiting| waiting.every_us).unwrap_or(pace.slot.as_micros() as u64);
    let (has_samples, saves) = (!options.no_samples && waiting.is_none(), saver.is_some());
    let manner = Manner { slot_us, has_samples, listed, alerts, only, saves };
    let mut collector = Collector::of(sampler, &clock, database.description().cpus, begun, manner);
    let telling = Telling { options, listed, saver, printer };
    let (range, is_asked) = if waiting.is_some() {
        (read(&mut collector, options, pace, &telling, (&clock, &interrupt))?, false)
    } else {
        poll(&mut collector, (target.display(), pace), (store, &clock), &telling, &interrupt)?
    };
    let unsaved: Vec<String> = collector.unsaved().into_iter().chain(telling.saver.and_then(Saver::end)).collect();
    match &range {
        Some(range) => summary(&mut collector, options, (target.display(), range), settings, printer),
        None => printer.remark(NO_SLOT),
    }
    drop(pulse);
    for sentence in &unsaved {
        printer.warning(sentence);
    }
    if let Some((path, range)) = options.html.as_ref().zip(range) {
        shown::page(target.display(), &range, options.top, path, settings, printer)?;
    }
    for alert in collector.alerts() {
        printer.remark(&format!("{}.", alert.summary(collector.slots())));
    }
    let is_negative = collector.alerts().iter().any(|alert| alert.slots() > 0);
    let code = match (collector.is_lost() || !unsaved.is_empty(), is_negative) {
        (true, _) => exit::INCOMPLETE,
        (false, true) => exit::NEGATIVE,
        (false, false) => exit::DONE,
    };
    Ok(signals::exit_code(&interrupt).filter(|_| !is_asked).unwrap_or(code))
}

/// Where what is told of a slot goes.
struct Telling<'t> {
    options: &'t Watch,
    listed: usize,
    saver: Option<Saver>,
    printer: &'t Printer,
}

impl Telling<'_> {
    fn tell(&self, told: &Told<'_>, live: Option<&Live>) {
        let printer = self.printer;
        match live {
            Some(live) => live.take(told),
            None if self.options.json => {
                printer.json(&show::json(told.slot, told.sums, told.texts, told.counted, (self.listed, told.alerts)));
            }
            None => printer.result(&show::line(told.slot, told.sums, told.texts, printer.style.width)),
        }
        if let Some(saver) = &self.saver {
            saver.take(told);
        }
    }
}

/// Reads the server slot after slot. Gives the time that was watched, and whether whoever looked on asked for the end.
fn poll(
    collector: &mut Collector,
    (target, pace): (&str, Pace),
    (store, clock): (Option<Arc<RunStore>>, &Arc<dyn Clock>),
    telling: &Telling<'_>,
    interrupt: &Interrupt,
) -> Result<(Option<Range<i64>>, bool), Failure> {
    let (options, printer) = (telling.options, telling.printer);
    let begin = clock.now();
    // The first reading is what the first slot begins with. Without it there is nothing to watch.
    let first = collector.first(printer).map_err(|error| signals::failure(interrupt, error))?;
    let from_us = first.server_us;
    if !options.json && !options.live {
        let stored =
            if collector.keeps() { "'plimsoll watch show' shows what is stored." } else { "Nothing is stored." };
        printer.remark(&format!("A line is printed for each slot; Ctrl-C ends it with the summary. {stored}"));
    }
    let show = || begin_live(target, options, pace, (store, clock), collector, (interrupt, printer));
    let live = options.live.then(show).transpose()?;
    let end = pace.time.map(|time| begin.after(time));
    let server = collector.go_on(first, end, interrupt, printer, |told| telling.tell(told, live.as_ref()));
    let is_asked = live.is_some_and(Live::end);
    Ok((Some(from_us..server.server_us.max(from_us) + 1), is_asked))
}

/// Reads the snapshots that a job has made since the last time, and goes on where it was asked to.
fn read(
    collector: &mut Collector,
    options: &Watch,
    pace: Pace,
    telling: &Telling<'_>,
    (clock, interrupt): (&Arc<dyn Clock>, &Interrupt),
) -> Result<Option<Range<i64>>, Failure> {
    let end = pace.time.map(|time| clock.now().after(time));
    let follows = options.follow || end.is_some();
    let read = collector.read_made((follows, end), interrupt, telling.printer, |told| telling.tell(told, None));
    let range = read.map_err(|error| signals::failure(interrupt, error))?;
    Ok(range.map(|range| range.start..range.end.max(range.start) + 1))
}

/// Shows the live view, in which the present moment can be marked if slots are kept.
fn begin_live(
    target: &str,
    options: &Watch,
    pace: Pace,
    (store, clock): (Option<Arc<RunStore>>, &Arc<dyn Clock>),
    collector: &Collector,
    (interrupt, printer): (&Interrupt, &Printer),
) -> Result<Live, Failure> {
    let clock = Arc::clone(clock);
    let mark = store.zip(collector.number()).map(|(store, number)| -> Mark {
        Box::new(move |text| marked::note(Arc::clone(&store), number, &marked::name(text)?, clock.as_ref()))
    });
    let mut view = LiveView::of(Setup {
        target: target.to_owned(),
        slot: units::format_seconds(pace.slot.as_secs_f64()),
        top: options.top.into(),
        keeps: mark.is_some(),
        has_colors: printer.style.color,
    });
    collector.said().iter().for_each(|warning| view.say(&format!("warning: {warning}")));
    Live::begin(view, mark, interrupt, printer)
}

/// What reads the statistics of a server. `beside` says that the load is one of our own.
///
/// # Errors
/// If it has none that we read, or does not let us read them.
pub fn sampler(database: &dyn Database, target: &str, beside: bool) -> Result<Box<dyn QuerySampler>, Error> {
    let message = format!("{target} shows no statistics of statements that Plimsoll reads");
    let unsupported = Error::new(ErrorKind::Unsupported, message);
    match database.query_sampler()? {
        Some(sampler) if beside || sampler.sees_all() => Ok(sampler),
        Some(_) => {
            Err(unsupported.hint("what other programs do there nobody counts; 'plimsoll run --watch' says it of a run"))
        }
        None => Err(unsupported.hint(
            "'plimsoll watch' reads PostgreSQL from version 14 on, MySQL, MariaDB and SQL Server (docs/WATCH.md)",
        )),
    }
}

fn pace(options: &Watch) -> Result<Pace, Failure> {
    let of = |option: &str, text: &str, [low, high]: [Duration; 2]| {
        let wrong = |problem: String| {
            Failure::usage(format!("{option} {text}: {problem}")).hint("such as --every 60s --for 2h")
        };
        let time = units::parse_duration(text).map_err(|error| wrong(error.to_string()))?;
        if time < low || time > high {
            let [low, high] = [low, high].map(|time| units::format_seconds(time.as_secs_f64()));
            return Err(wrong(format!("it is from {low} to {high}")));
        }
        Ok(time)
    };
    let every = options.every.as_deref().unwrap_or(if options.live { SLOT_OF_LIVE } else { SLOT });
    let slot = of("--every", every, [Duration::from_secs(1), LONGEST_SLOT])?;
    let time = options.time.as_deref().map(|text| of("--for", text, [Duration::from_secs(1), LONGEST])).transpose()?;
    Ok(Pace { slot, time })
}

/// What costs most over the whole time, and what it cost to find out.
fn summary(
    collector: &mut Collector,
    options: &Watch,
    (target, range): (&str, &Range<i64>),
    settings: &Settings,
    printer: &Printer,
) {
    let (keeps, top) = (collector.keeps(), usize::from(options.top));
    let (all, texts, counts) = collector.summed(if options.json { 0 } else { top }, printer);
    if options.json {
        printer.remark(&show::own_cost(all));
        return;
    }
    let news = if keeps { News::of_target(target, range, all, settings) } else { News::default() };
    let report = show::summary(target, all, texts, top, counts, &news);
    printer.result(&plimsoll_report::terminal::report(&report, printer.style));
    if keeps {
        printer.remark("What changed since an earlier time: plimsoll watch compare FROM..TO, such as -2h..-1h");
    }
}
