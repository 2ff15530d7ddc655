//! `plimsoll watch show`: what cost most in a range of time, from the store.

use std::ops::Range;
use std::path::Path;

use plimsoll_measurement::counters::{Item, Measure, Values};
use plimsoll_measurement::exit;
use plimsoll_report::model::{Cell, Part, Picture, Rank, Report, Table, Tone, number, text};
use plimsoll_report::{html, terminal};
use plimsoll_store::Happened;
use serde_json::{Map, Value, json};

use super::chart;
use super::files;
use super::filters::Filters;
use super::limits;
use super::metrics::{self, BY_COMPLETION, METRICS, Metric};
use super::names::{self, measures, put};
use super::news::News;
use super::plans::{self, Changed};
use super::ranges::{self, shown};
use super::reopened::Reopened;
use super::rows::{self, Row, rows};
use super::show;
use super::stored::Kept;
use super::sums::{Sum, Sums};
use crate::args::{By, Chart, WatchShow};
use crate::commands::report::{made_now, write};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;

/// The range that is shown if nobody says which.
const HOUR_US: i64 = 3_600_000_000;

pub fn show(options: &WatchShow, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    if let Some(source) = files::source(options.by) {
        let kept = Kept::find(options.target.as_deref(), settings)?;
        let range = range(options, &kept)?;
        files::show(options, source, (&kept, &range), printer)?;
        return Ok(exit::DONE);
    }
    let wanted = options.sort.as_deref().map(metric).transpose()?;
    let filters = Filters::parse("--where", &options.filters)?;
    let kept = Kept::open(options.target.as_deref(), &options.source, settings, printer)?;
    let range = range(options, &kept)?;
    looked_at(options, &kept, &range, (wanted, &filters), |shown| {
        if options.json {
            printer.json(&shown.json().to_string());
        } else if options.html.is_none() || options.html.as_deref() != Some(Path::new("-")) {
            printer.result(&terminal::report(&shown.report(&filters, false)?, printer.style));
        }
        options.html.as_deref().map_or(Ok(()), |path| shown.write_page(path, &filters, printer))
    })?;
    Ok(exit::DONE)
}

/// Writes the page of what was watched in a range.
pub fn page(
    target: &str,
    range: &Range<i64>,
    top: u16,
    path: &Path,
    settings: &Settings,
    printer: &Printer,
) -> Result<(), Failure> {
    let options = WatchShow { target: Some(target.to_owned()), top, ..WatchShow::default() };
    let (kept, filters) = (Kept::find(Some(target), settings)?, Filters::default());
    looked_at(&options, &kept, range, (None, &filters), |shown| shown.write_page(path, &filters, printer))
}

/// Adds a range up, and does something with what is shown of it.
fn looked_at<T>(
    options: &WatchShow,
    kept: &Kept,
    range: &Range<i64>,
    (wanted, filters): (Option<Metric>, &Filters),
    with: impl FnOnce(&Shown<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let (sums, plans) = kept.sums(range, |item| filters.takes(item, &kept.texts))?;
    // What looks at sessions say is not known by plan.
    let best = if options.by == By::Plan { BY_COMPLETION } else { sums.best_metric() };
    let sort = wanted.unwrap_or(best);
    let news = News::of(kept, range, &sums)?;
    let rows = rows(options.by, kept, (&sums, &plans), (filters, sort), &news)?;
    let (events, changes) = (kept.events(range)?, plans.changes(&sums));
    let is_planned = !plans.sums.is_empty();
    with(&Shown {
        options,
        kept,
        range,
        sums: &sums,
        rows: &rows,
        sort,
        events: &events,
        news: &news,
        changes: &changes,
        is_planned,
    })
}

/// How the page is read.
const HOW_TO_READ: [&str; 3] = [
    "Figures are differences of what the server has counted, by statement.",
    "A statement that ended counts in the slot in which it ended. A gap in a chart is a time of which nothing is known.",
    "What is not known is absent, never zero.",
];

/// A metric by its name.
pub fn metric(name: &str) -> Result<Metric, Failure> {
    metrics::by_name(name)
        .ok_or_else(|| Failure::usage(format!("no metric is '{name}'")).hint(format!("one of {}", metrics::names())))
}

fn range(options: &WatchShow, kept: &Kept) -> Result<Range<i64>, Failure> {
    let end = kept.whole.end;
    let to = options.to.as_deref().map_or(Ok(end), |text| kept.moment(text))?;
    let from = options.from.as_deref().map_or(Ok(to.saturating_sub(HOUR_US)), |text| kept.moment(text))?;
    ranges::checked(from..to, "the range")
}

/// What is shown.
struct Shown<'s> {
    options: &'s WatchShow,
    kept: &'s Kept,
    range: &'s Range<i64>,
    sums: &'s Sums,
    rows: &'s [Row],
    sort: Metric,
    events: &'s [Happened],
    news: &'s News,
    changes: &'s [Changed],
    /// Whether the server tells plans.
    is_planned: bool,
}

impl Shown<'_> {
    fn write_page(&self, path: &Path, filters: &Filters, printer: &Printer) -> Result<(), Failure> {
        let title = format!("The workload of {}", self.kept.watched.target);
        let page = html::page_read_as(&[self.report(filters, true)?], &self.span(), &HOW_TO_READ, &made_now(&title));
        write(path, &page, printer)
    }

    fn top(&self) -> usize {
        self.options.top.into()
    }

    /// Rows that are not listed, and what the store does not list.
    fn rest(&self) -> Option<(u64, Sum)> {
        let more = self.rows.iter().skip(self.top()).filter(|row| !row.is_nested).map(|row| (1, row.sum));
        let all = more.chain(self.sums.rest.filter(|_| self.options.filters.is_empty()));
        all.reduce(|(count, all), (more, sum)| (count + more, all.plus(&sum)))
    }

    /// What shares are of: of time that of the database, where the server counts it, and of looks all that found somebody at work.
    fn whole(&self) -> Values {
        let mut all = self.sums.all().values;
        for (measure, us) in
            [(Measure::ElapsedUs, self.sums.database_us()), (Measure::SampledUs, limits::seen_us(self.sums))]
        {
            if all.get(measure).is_some_and(|known| known < us) {
                all.set(measure, us);
            }
        }
        all
    }

    fn span(&self) -> String {
        names::span(self.sums, self.range)
    }

    fn json(&self) -> Value {
        let (sums, options) = (self.sums, self.options);
        let mut object = Map::new();
        object.insert("target".to_owned(), self.kept.watched.target.as_str().into());
        object.insert("from".to_owned(), shown(self.range.start).into());
        object.insert("to".to_owned(), shown(self.range.end).into());
        object.insert("seconds".to_owned(), (sums.covered_us as f64 / 1e6).into());
        object.insert("slots".to_owned(), sums.about.slots.into());
        object.insert("status".to_owned(), sums.status.to_string().into());
        put(&mut object, "coverage_percent", sums.coverage_percent());
        put(&mut object, "active_sessions", sums.active_sessions());
        put(&mut object, "database_us", sums.explained.map(|_| sums.database_us()));
        put(&mut object, "evictions", sums.about.evictions);
        object.insert("unknown".to_owned(), serde_json::to_value(&sums.about.unknown).unwrap_or_default());
        object.insert("server_events".to_owned(), serde_json::to_value(&sums.about.events).unwrap_or_default());
        let events = self.events.iter().map(|event| {
            json!({"from": shown(event.from_us), "to": shown(event.to_us), "kind": event.kind, "note": event.note})
        });
        object.insert("events".to_owned(), events.collect());
        object.insert("unit".to_owned(), options.unit.name().into());
        object.insert("sort".to_owned(), self.sort.name.into());
        object.insert("own_us".to_owned(), sums.own_us().into());
        put(&mut object, "sessions", limits::json(sums, &self.kept.texts));
        let before = self.news.before.as_ref();
        put(&mut object, "day_before", before.map(|time| json!({"from": shown(time.start), "to": shown(time.end)})));
        let changes = || self.changes.iter().map(|change| change.json(&self.kept.texts)).collect::<Vec<_>>();
        put(&mut object, "plan_changes", self.is_planned.then(changes));
        let rows = self.rows.iter().take(self.top()).map(|row| self.json_row(row));
        object.insert("rows".to_owned(), rows.collect());
        if let Some((count, sum)) = self.rest() {
            let mut other = self.json_values(&sum);
            other.insert("sums".to_owned(), count.into());
            object.insert("other".to_owned(), other.into());
        }
        if self.kept.is_reopened() {
            Reopened::leave_out(&mut object);
        }
        object.into()
    }

    fn json_values(&self, sum: &Sum) -> Map<String, Value> {
        let mut object = Map::new();
        if self.options.unit == metrics::Unit::Total {
            measures(&mut object, sum);
            return object;
        }
        for metric in METRICS {
            let value = self.options.unit.of(metric.measure, &sum.values, &self.whole(), self.sums.covered_us);
            put(&mut object, metric.name, value);
        }
        object.insert("status".to_owned(), sum.status.to_string().into());
        object
    }

    fn json_row(&self, row: &Row) -> Value {
        let mut object = row.json(self.options.by, self.kept);
        object.append(&mut self.json_values(&row.sum));
        object.into()
    }

    fn report(&self, filters: &Filters, is_page: bool) -> Result<Report, Failure> {
        let texts = &self.kept.texts;
        let mut report = Report::new(format!("The workload of {}", self.kept.watched.target));
        report.about.push(self.span());
        let also = [self.news.sentence.clone(), plans::sentence(self.changes, texts)];
        // Statements of one text are one in the answer, where they are in the table.
        let by_text = (self.options.by == By::Text).then(|| self.sums.as_one(&names::same_text(texts)));
        let of = by_text.as_ref().unwrap_or(self.sums);
        let mut answer = show::answer(of, texts, &show::slots(self.sums.about.slots), also);
        answer.say(Tone::Quiet, self.kept.is_reopened().then(Reopened::absent_in_words));
        let (mut picture, mut table) = (Part::of(Rank::Picture), Part::of(Rank::Table));
        let (open, mut folded) = self.charts(filters)?;
        picture.pictures(open);
        table.table(&format!("By {}", self.sort.label.to_lowercase()), self.table());
        if !filters.is_empty() {
            report.about.push(format!("only {}", self.options.filters.join(", ")));
        }
        let mut waits = Part::of(Rank::Table);
        waits.table("Plans that changed", plans::table(self.changes, texts, self.top()));
        waits.table("What sessions waited for", limits::waits(self.sums, self.top()));
        waits.table("Who held others up", limits::blockers(self.sums, texts));
        waits.table("What happened", events(self.events));
        folded.table("Executions and their mean time", chart::means(self.rows, self.top()));
        report.add_all([answer, picture, table, waits]);
        if is_page {
            let counted = files::folded(self.kept, self.range, self.top())?;
            report.add_all([Some(folded), counted].into_iter().flatten());
        }
        Ok(report)
    }

    /// The chart that stands open, and the others.
    fn charts(&self, filters: &Filters) -> Result<(Option<Picture>, Part), Failure> {
        let mut order: Vec<Item> = Vec::new();
        for item in self.rows.iter().filter(|row| !row.is_nested).filter_map(|row| row.item) {
            if order.len() < chart::TOP && !order.contains(&item) {
                order.push(item);
            }
        }
        let stacked =
            if order.is_empty() { None } else { chart::over_time(self.kept, self.range, self.sort, &order, filters)? };
        let rest = self.rest();
        let bars = chart::bars(&self.rows[..self.top().min(self.rows.len())], rest.as_ref(), self.sort);
        let scatter = chart::scatter(self.rows, &order);
        let mut charts = [(Chart::Stacked, stacked), (Chart::Bars, bars), (Chart::Scatter, scatter)];
        let open = charts.iter_mut().find(|(kind, _)| *kind == self.options.chart).and_then(|(_, chart)| chart.take());
        let mut folded = Part::detail("More charts");
        folded.pictures(charts.into_iter().filter_map(|(_, chart)| chart));
        Ok((open, folded))
    }

    fn table(&self) -> Option<Table> {
        let (unit, covered_us) = (self.options.unit, self.sums.covered_us);
        let all = self.whole();
        let listed: Vec<&Row> = self.rows.iter().take(self.top()).collect();
        let has_any =
            |metric: &Metric| listed.iter().any(|row| row.sum.values.get(metric.measure).is_some_and(|us| us > 0));
        let metrics: Vec<Metric> = METRICS.into_iter().filter(has_any).collect();
        let share = |values: &Values| metrics::Unit::Share.of(self.sort.measure, values, &all, covered_us);
        let by = self.options.by;
        let mut columns = rows::columns(by);
        let named = columns.len();
        columns.push(number("Share", "%"));
        columns.extend(metrics.iter().map(|metric| metric.column(unit)));
        columns.push(text("Status"));
        let cells = |mut cells: Vec<Cell>, sum: &Sum, status: String| {
            cells.resize_with(named, Cell::default);
            cells.push(share(&sum.values).into());
            cells.extend(metrics.iter().map(|metric| metric.cell(unit, &sum.values, &all, covered_us)));
            cells.push(status.into());
            cells
        };
        let mut table = Table::with(columns);
        for row in &listed {
            let status = names::status(row.sum.status, row.is_nested, row.since.is_some());
            table.row(cells(row.cells(by), &row.sum, status));
        }
        if let Some((count, sum)) = self.rest().filter(|_| !listed.is_empty()) {
            let status = names::status(sum.status, false, false);
            table.row(cells(vec![format!("{count} others").into()], &sum, status));
        }
        table.compact()
    }
}

fn events(events: &[Happened]) -> Option<Table> {
    Table::of(
        events.iter(),
        &[
            (text("From"), &|event| Cell::time(&shown(event.from_us))),
            (text("To"), &|event| Cell::time(&shown(event.to_us))),
            (text("What"), &|event| event.kind.as_str().into()),
            (text("Note"), &|event| event.note.as_str().into()),
        ],
    )
}
