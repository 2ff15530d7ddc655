//! `plimsoll watch show --by wait|file|counter`: what the server counted of these in a range of time, from the store, and the latency of
//! files over time.

use std::ops::Range;
use std::path::Path;

use plimsoll_catalog::Catalog;
use plimsoll_measurement::counters::{Measure, Values};
use plimsoll_profile::bucket::Sum;
use plimsoll_profile::{AboutCounted, Counted, Reason, Record, Source, Thing};
use plimsoll_report::model::{
    Axis, Cell, Gap, Kind, Panel, Part, Picture, Rank, Report, Series, Shape, Strip, Table, Tone, number, scaled, text,
};
use plimsoll_report::{html, terminal};
use serde_json::{Map, Value};

use super::counted::{self, FILE_MEANS, Figure};
use super::metrics::Unit;
use super::names;
use super::ranges::shown;
use super::stored::Kept;
use super::sums;
use crate::args::{By, WatchShow};
use crate::commands::report::{made_now, write};
use crate::failure::Failure;
use crate::printer::Printer;

/// So many files have lines of their own.
const DRAWN: usize = 3;

/// So many pieces a chart is drawn in.
const PIECES: usize = 240;

/// How the page is read.
const HOW_TO_READ: [&str; 3] = [
    "Figures are differences of what the server has counted, by wait, file or counter.",
    "A mean time is that of the operations of a slot. A gap in a line is a time without such operations, or of which nothing is known.",
    "What is not known is absent, never zero.",
];

/// What rows are, if they are none of statements.
pub const fn source(by: By) -> Option<Source> {
    match by {
        By::Wait => Some(Source::Waits),
        By::File => Some(Source::Files),
        By::Counter => Some(Source::Counters),
        _ => None,
    }
}

/// What a source's rows are called: one, and several.
const fn words(source: Source) -> (&'static str, &'static str) {
    match source {
        Source::Waits => ("Wait", "waits"),
        Source::Files => ("File", "files"),
        Source::Queries | Source::Counters => ("Counter", "counters"),
    }
}

/// What a row has to be.
enum Filter {
    Text(String),
    Database(String),
    AtLeast(Figure, u64),
}

impl Filter {
    fn parse(source: Source, text: &str) -> Result<Self, Failure> {
        let names: Vec<&str> = counted::figures(source).iter().map(|figure| figure.name).collect();
        let wrong = |message: String| {
            let hint =
                format!("text=PART, database=NAME (files), or METRIC>=N, with one of {} as METRIC", names.join(", "));
            Failure::usage(message).hint(hint)
        };
        if let Some((name, least)) = text.split_once(">=") {
            let least = least.parse().map_err(|_| wrong(format!("--where {text}: '{least}' is no whole number")))?;
            return Ok(Self::AtLeast(figure(source, name)?, least));
        }
        match text.split_once('=') {
            Some(("text", part)) => Ok(Self::Text(part.to_lowercase())),
            Some(("database", name)) if source == Source::Files => Ok(Self::Database(name.to_owned())),
            _ => Err(wrong(format!("--where {text}: {} are not filtered by that", words(source).1))),
        }
    }

    fn takes(&self, thing: &Thing, sum: &Sum) -> bool {
        match self {
            Self::Text(part) => thing.name.to_lowercase().contains(part),
            Self::Database(name) => thing.database == *name,
            Self::AtLeast(figure, least) => sum.values.get(figure.measure).is_some_and(|value| value >= *least),
        }
    }
}

/// A figure by its name, or by its name without the unit.
fn figure(source: Source, name: &str) -> Result<Figure, Failure> {
    let figures = counted::figures(source);
    let is_it = |figure: &&Figure| figure.name == name || figure.name.strip_suffix("_us") == Some(name);
    figures.iter().find(is_it).copied().ok_or_else(|| {
        let names: Vec<&str> = figures.iter().map(|figure| figure.name).collect();
        Failure::usage(format!("no metric of {} is '{name}'", words(source).1))
            .hint(format!("one of {}", names.join(", ")))
    })
}

/// What was counted in a range, added up.
struct Shown<'s> {
    options: &'s WatchShow,
    kept: &'s Kept,
    range: &'s Range<i64>,
    source: Source,
    records: Vec<Record>,
    about: AboutCounted,
    rows: Vec<(Thing, Sum)>,
    all: Counted,
    sort: Option<Figure>,
}

/// Shows what was counted of waits, files or other counters.
pub fn show(
    options: &WatchShow,
    source: Source,
    (kept, range): (&Kept, &Range<i64>),
    printer: &Printer,
) -> Result<(), Failure> {
    let sort = options.sort.as_deref().map(|name| figure(source, name)).transpose()?;
    if options.unit == Unit::Execution {
        let message = format!("{} are not executed", words(source).1);
        return Err(Failure::usage(message).hint("mean times of an operation stand in columns of their own"));
    }
    let filters: Vec<Filter> =
        options.filters.iter().map(|text| Filter::parse(source, text)).collect::<Result<_, _>>()?;
    let records = kept.counted(range)?;
    let (about, all) = summed(&records, source);
    let Some(about) = about else {
        let target = &kept.watched.target;
        if kept.is_reopened() {
            let message = format!("what was exported or saved has statements alone, and no {}", words(source).1);
            return Err(Failure::usage(message).hint("leave out --file or --saved: the store has them"));
        }
        let hint = "waits are counted on MySQL, MariaDB and SQL Server, files also on PostgreSQL, and counters there alone; 'plimsoll watch show' \
                    has what sessions waited for";
        return Err(Failure::usage(format!("nothing is kept of the {} of {target} then", words(source).1)).hint(hint));
    };
    let rank = |sum: &Sum| match sort {
        Some(figure) => (sum.values.get(figure.measure).unwrap_or(0), 0),
        None => counted::rank(&sum.values),
    };
    let is_meant = |(thing, sum): &(&Thing, &Sum)| filters.iter().all(|filter| filter.takes(thing, sum));
    let mut rows: Vec<(Thing, Sum)> =
        all.sums.iter().filter(is_meant).map(|(thing, sum)| (thing.clone(), *sum)).collect();
    rows.sort_by_key(|(_, sum)| std::cmp::Reverse(rank(sum)));
    let shown = Shown { options, kept, range, source, records, about, rows, all, sort };
    if options.json {
        printer.json(&shown.json().to_string());
    } else if options.html.as_deref() != Some(Path::new("-")) {
        printer.result(&terminal::report(&shown.report(), printer.style));
    }
    options.html.as_deref().map_or(Ok(()), |path| shown.write_page(path, printer))
}

/// The sums of a source in these records; no `about` if none has any.
fn summed(records: &[Record], source: Source) -> (Option<AboutCounted>, Counted) {
    let (mut about, mut all): (Option<AboutCounted>, _) = (None, Counted::default());
    for record in records {
        if let Some(more) = record.about.counted.get(&source) {
            about.get_or_insert_default().add(more);
        }
        record.counted.get(&source).into_iter().for_each(|more| all.add(more));
    }
    (about, all)
}

impl Shown<'_> {
    fn top(&self) -> usize {
        self.options.top.into()
    }

    fn span(&self) -> String {
        format!("{} to {}", shown(self.range.start), shown(self.range.end))
    }

    /// Rows that are not listed, and with no filter what the store does not list.
    fn others(&self) -> Option<(u64, Sum)> {
        let none = Counted::default();
        let rest = if self.options.filters.is_empty() { &self.all } else { &none };
        counted::others(self.rows.iter().skip(self.top()).map(|(_, sum)| sum), rest)
    }

    fn write_page(&self, path: &Path, printer: &Printer) -> Result<(), Failure> {
        let report = self.report();
        let page = html::page_read_as(&[report], &self.span(), &HOW_TO_READ, &made_now(&self.title()));
        write(path, &page, printer)
    }

    fn title(&self) -> String {
        format!("The {} of {}", words(self.source).1, self.kept.watched.target)
    }

    fn json(&self) -> Value {
        let mut object = Map::new();
        object.insert("target".to_owned(), self.kept.watched.target.as_str().into());
        object.insert("from".to_owned(), shown(self.range.start).into());
        object.insert("to".to_owned(), shown(self.range.end).into());
        object.append(&mut counted::about_json(&self.about));
        object.insert("unit".to_owned(), self.options.unit.name().into());
        names::put(&mut object, "sort", self.sort.map(|figure| figure.name));
        let rows = self.rows.iter().take(self.top()).map(|(thing, sum)| {
            let mut row = counted::thing_json(thing);
            row.append(&mut self.values(sum));
            Value::from(row)
        });
        object.insert("rows".to_owned(), rows.collect());
        if let Some((count, sum)) = self.others() {
            let mut other = self.values(&sum);
            other.insert("sums".to_owned(), count.into());
            object.insert("other".to_owned(), other.into());
        }
        object.into()
    }

    /// Figures in the unit that is wanted. Mean times and rates are the same in each.
    fn values(&self, sum: &Sum) -> Map<String, Value> {
        let mut object = Map::new();
        counted::figures_json(&mut object, self.source, sum, self.about.covered_us);
        if self.options.unit != Unit::Total {
            let all = counted::all(&self.all);
            for figure in counted::figures(self.source) {
                object.remove(figure.name);
                names::put(&mut object, figure.name, self.in_unit(*figure, &sum.values, &all));
            }
        }
        object
    }

    fn in_unit(&self, figure: Figure, values: &Values, all: &Values) -> Option<f64> {
        self.options.unit.of(figure.measure, values, all, self.about.covered_us)
    }

    fn report(&self) -> Report {
        let mut report = Report::new(self.title());
        report.about.push(self.span());
        if !self.options.filters.is_empty() {
            report.about.push(format!("only {}", self.options.filters.join(", ")));
        }
        let mut answer = Part::of(Rank::Answer);
        answer.say(Tone::Headline, self.headline());
        answer.say(Tone::Plain, known(&self.about, &self.records));
        say_unknown(&mut answer, &self.about);
        let (mut picture, mut table) = (Part::of(Rank::Picture), Part::of(Rank::Table));
        if self.source == Source::Files {
            let drawn: Vec<&Thing> = self.rows.iter().take(DRAWN).map(|(thing, _)| thing).collect();
            picture.pictures(latency(&self.records, self.range, &drawn));
        }
        let by = self.sort.map_or_else(|| "time".to_owned(), |figure| figure.label.to_lowercase());
        table.table(&format!("By {by}"), self.table());
        report.add_all([answer, picture, table]);
        report
    }

    /// What has most.
    fn headline(&self) -> String {
        let Some((thing, sum)) = self.rows.first() else {
            return format!("Nothing was counted of {} in this time.", words(self.source).1);
        };
        let all = counted::all(&self.all);
        let part = |of: u64, whole: u64| names::percent((whole > 0).then(|| 100.0 * of as f64 / whole as f64));
        let ((time, count), (all_time, all_count)) = (counted::rank(&sum.values), counted::rank(&all));
        let name = label(thing);
        match self.source {
            Source::Files if all_time > 0 => {
                format!("'{name}' takes most of the time of files: {}.", part(time, all_time))
            }
            Source::Files => {
                format!("'{name}' is read and written most: {} of all operations.", part(count, all_count))
            }
            Source::Waits => format!("'{name}' is waited for most: {} of the time of all waits.", part(time, all_time)),
            _ => format!("{} counters of the server's work grew.", self.rows.len()),
        }
    }

    fn table(&self) -> Option<Table> {
        let rows: Vec<(String, Option<&Thing>, Sum)> =
            self.rows.iter().take(self.top()).map(|(thing, sum)| (thing.name.clone(), Some(thing), *sum)).collect();
        let others = self.others().filter(|_| !rows.is_empty());
        let others = others.map(|(count, sum)| (format!("{count} others"), None, sum));
        let all = counted::all(&self.all);
        table(self.source, self.options.unit, rows.into_iter().chain(others), &all, self.about.covered_us)
    }
}

/// The name of a row, with its database where it has one.
fn label(thing: &Thing) -> String {
    if thing.database.is_empty() { thing.name.clone() } else { format!("{}, {}", thing.name, thing.database) }
}

/// How much of the time is known, if it is not all.
fn known(about: &AboutCounted, records: &[Record]) -> Option<String> {
    let slots_us = records.iter().fold(0_u64, |sum, record| sum.saturating_add(record.bucket.covered_us));
    // Reads of both are not at one instant.
    let is_less = about.covered_us.saturating_add(about.covered_us / 50) < slots_us;
    let seconds = |us: u64| plimsoll_measurement::units::format_seconds(us as f64 / 1e6);
    is_less.then(|| format!("This is known of {} of {}.", seconds(about.covered_us), seconds(slots_us)))
}

/// Words for what may be missing.
const fn missing(reason: Reason) -> Option<&'static str> {
    match reason {
        Reason::FirstSight => Some("counts of unknown age"),
        Reason::Ended => Some("something that was counted is not listed any more"),
        other => sums::words(other),
    }
}

fn say_unknown(part: &mut Part, about: &AboutCounted) {
    let unknown: Vec<&str> = about.unknown.iter().filter_map(|reason| missing(*reason)).collect();
    if !unknown.is_empty() {
        part.say(Tone::Warning, format!("Some of it may be missing: {}.", unknown.join(", ")));
    }
    let absent = about.absent.as_ref().map(|why| format!("A slot or several could not be read: {why}."));
    part.say(Tone::Warning, absent);
}

/// A table of a source: rows by name, each with its figures.
fn table<'t>(
    source: Source,
    unit: Unit,
    rows: impl Iterator<Item = (String, Option<&'t Thing>, Sum)>,
    all: &Values,
    covered_us: u64,
) -> Option<Table> {
    let per = match unit {
        Unit::Second => "/s",
        Unit::Minute => "/min",
        _ => "",
    };
    let column = |figure: &Figure| {
        let label = format!("{}{per}", figure.label);
        let is_bytes = matches!(figure.measure, Measure::ReadBytes | Measure::WriteBytes);
        let column = match unit {
            Unit::Share => number(label, "%"),
            _ if figure.is_time => scaled(label, "s"),
            _ if is_bytes => scaled(label, "bytes"),
            _ => number(label, ""),
        };
        column.spare(figure.spare)
    };
    let figures = counted::figures(source);
    let mut columns = vec![text(words(source).0)];
    if source == Source::Files {
        columns.push(text("Database").spare(2));
    }
    columns.push(number("Share", "%"));
    for mean in counted::means(source) {
        columns.push(number(mean.1, "ms"));
    }
    columns.extend(figures.iter().map(column));
    if source == Source::Files {
        columns.extend([number("Read rate", "MB/s").spare(1), number("Write rate", "MB/s").spare(1)]);
    }
    columns.push(text("Status"));
    let mut table = Table::with(columns);
    let whole = counted::rank(all);
    for (name, thing, sum) in rows {
        let mut cells: Vec<Cell> = vec![names::short(&name, names::SHORT_TEXT).into()];
        if source == Source::Files {
            cells.push(thing.map(|thing| thing.database.clone()).filter(|name| !name.is_empty()).into());
        }
        cells.push(share(counted::rank(&sum.values), whole, source).into());
        cells.extend(counted::means(source).iter().map(|mean| Cell::from(counted::mean_ms(&sum.values, *mean))));
        cells.extend(figures.iter().map(|figure| {
            let value = unit.of(figure.measure, &sum.values, all, covered_us);
            match value {
                Some(us) if figure.is_time && unit != Unit::Share => Cell::quantity(us / 1e6, "s"),
                value => value.into(),
            }
        }));
        if source == Source::Files {
            let rate = |measure| Cell::from(counted::mb_per_second(&sum.values, measure, covered_us));
            cells.extend([rate(Measure::ReadBytes), rate(Measure::WriteBytes)]);
        }
        cells.push(counted::status(sum.status).into());
        table.row(cells);
    }
    table.compact()
}

/// The part of the time, or of the operations where no times are taken. Counters that stand for themselves are parts of nothing.
fn share((time, count): (u64, u64), (all_time, all_count): (u64, u64), source: Source) -> Option<f64> {
    let (part, whole) = if all_time > 0 { (time, all_time) } else { (count, all_count) };
    (whole > 0 && source != Source::Counters).then(|| 100.0 * part as f64 / whole as f64)
}

/// What stands folded on a page about statements: the latency of files over time, and tables of what the server counted.
pub fn folded(kept: &Kept, range: &Range<i64>, top: usize) -> Result<Option<Part>, Failure> {
    let records = kept.counted(range)?;
    let mut part = Part::detail("Waits and files, as the server counted them");
    let mut has_any = false;
    for source in [Source::Files, Source::Waits, Source::Counters] {
        let (Some(about), all) = summed(&records, source) else { continue };
        let ranked = counted::ranked(&all);
        if source == Source::Files {
            let drawn: Vec<&Thing> = ranked.iter().take(DRAWN).map(|(thing, _)| *thing).collect();
            part.pictures(latency(&records, range, &drawn));
        }
        let whole = counted::all(&all);
        let rows = ranked.iter().take(top).map(|(thing, sum)| (thing.name.clone(), Some(*thing), **sum));
        let others = counted::others(ranked.iter().skip(top).map(|(_, sum)| *sum), &all);
        let others = others.map(|(count, sum)| (format!("{count} others"), None, sum));
        let table = table(source, Unit::Total, rows.chain(others), &whole, about.covered_us);
        has_any |= table.is_some();
        let title = match source {
            Source::Files => "Files, by time",
            Source::Waits => "Waits, by time",
            _ => "The server's work",
        };
        part.table(title, table);
        say_unknown(&mut part, &about);
    }
    Ok(has_any.then_some(part))
}

/// What the catalogue says a read or a write of files of this service takes at most, in milliseconds.
fn limit_ms(things: &[&Thing]) -> Option<f64> {
    let service = &things.first()?.service;
    if service.is_empty() || things.iter().any(|thing| thing.service != *service) {
        return None;
    }
    let edition = Catalog::builtin().ok()?.disk_edition(service, None).ok()?;
    let latency = edition.levels.first()?.latency.as_ref()?;
    [latency.read_ms_high, latency.write_ms_high].into_iter().flatten().reduce(f64::max)
}

/// Mean times of reads, writes and syncs of these files over time. `None` where the server takes no times.
fn latency(records: &[Record], range: &Range<i64>, things: &[&Thing]) -> Option<Picture> {
    let seconds = |us: i64| us.saturating_sub(range.start) as f64 / 1e6;
    let mut records: Vec<&Record> = records.iter().collect();
    records.sort_by_key(|record| record.bucket.start_us);
    let value = |record: &Record, thing: &Thing, at: usize| {
        let sum = record.counted.get(&Source::Files)?.sums.get(thing)?;
        counted::mean_ms(&sum.values, FILE_MEANS[at])
    };
    let series = |(place, thing, at): (usize, &Thing, usize)| {
        let step = |record: &&Record| {
            let (from, to) = (seconds(record.bucket.start_us), seconds(record.about.end_us));
            (from, to, value(record, thing, at).unwrap_or(f64::NAN))
        };
        let steps: Vec<_> = records.iter().map(step).collect();
        let what = ["reads", "writes", "syncs"][at];
        let name = format!("{}: {what}", names::short(&label(thing), 40));
        steps.iter().any(|(.., ms)| !ms.is_nan()).then_some(Series { name, tone: Some(place), variant: at, steps })
    };
    let of_things = things.iter().enumerate();
    let all = of_things.flat_map(|(place, thing)| (0..FILE_MEANS.len()).map(move |at| (place, *thing, at)));
    let series: Vec<Series> = all.filter_map(series).collect();
    let (first, last) = (records.first()?, records.last()?);
    let gaps = records.iter().filter(|record| record.bucket.covered_us == 0).map(|record| Gap {
        from: seconds(record.bucket.start_us),
        to: seconds(record.about.end_us),
        reason: "nothing is known of this time".to_owned(),
    });
    let mark = limit_ms(things);
    let notes = mark.map(|ms| format!("The line at {ms} ms is what the provider says a read or write takes at most."));
    (!series.is_empty()).then(|| {
        Picture::Strips(Panel {
            title: "Latency of files over time: mean time of a read, a write and a sync".to_owned(),
            span: (seconds(first.bucket.start_us), seconds(last.about.end_us)),
            bands: Vec::new(),
            bands_title: String::new(),
            strips: vec![Strip {
                axis: Axis::new("ms", Kind::FromZero),
                shape: Shape::Lines,
                mark,
                series,
                gaps: gaps.filter(|gap| gap.from < gap.to).collect(),
            }],
            pieces: PIECES,
            notes: notes.into_iter().collect(),
        })
    })
}
