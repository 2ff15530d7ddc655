//! Output of `iostat -x`, as text and as JSON. The first report of each is of the time since the machine was started, and is left out.
//! Neither says how long an interval was, so each counts as one second.

use serde_json::Value;

use crate::sheet::{ListError, shown};

use super::series::{Disks, Figures, MOST_INTERVALS, Series, busy};

const PROGRAM: &str = "iostat";
const FIRST: &str = "The first report is left out, as iostat makes it of the time since the machine was started. With -y it does not, and an \
                     interval is missing here.";
const KB: f64 = 1024.0;
/// A sector of the kernel's statistics.
const SECTOR: f64 = 512.0;

type Put = fn(&mut Figures, f64);

/// Columns of all versions, and where their values belong.
const COLUMNS: [(&str, Put); 11] = [
    ("r/s", |to, value| to.reads = Some(value)),
    ("w/s", |to, value| to.writes = Some(value)),
    ("rkB/s", |to, value| to.read_bytes = Some(value * KB)),
    ("wkB/s", |to, value| to.write_bytes = Some(value * KB)),
    ("rMB/s", |to, value| to.read_bytes = Some(value * KB * KB)),
    ("wMB/s", |to, value| to.write_bytes = Some(value * KB * KB)),
    ("rsec/s", |to, value| to.read_bytes = Some(value * SECTOR)),
    ("wsec/s", |to, value| to.write_bytes = Some(value * SECTOR)),
    ("r_await", |to, value| to.read_ms = Some(value)),
    ("w_await", |to, value| to.write_ms = Some(value)),
    // Versions before 10 know no more than both together.
    ("await", |to, value| {
        to.read_ms = to.read_ms.or(Some(value));
        to.write_ms = to.write_ms.or(Some(value));
    }),
];

/// Whether it is one: a line has the word, and names a rate.
pub(super) fn is_one(text: &str) -> bool {
    let has_rates = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ends = [words.first(), words.last()];
        let names_device = ends.into_iter().flatten().any(|word| is_device(word));
        names_device && words.iter().any(|word| matches!(*word, "r/s" | "tps" | "%util"))
    };
    text.lines().any(has_rates)
}

fn is_device(word: &str) -> bool {
    matches!(word, "Device" | "Device:")
}

fn is_header(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next().is_some_and(is_device) && words.any(|word| word == "r/s")
}

/// Reports as they come.
#[derive(Default)]
struct Reports {
    unit_bytes: u64,
    all: Vec<Series>,
    /// Reports of intervals.
    count: usize,
    /// Whether the next report is the first of a run, and whether this one is.
    is_new: bool,
    is_first: bool,
    values: usize,
}

impl Reports {
    fn begin(&mut self) {
        // The first report is not of an interval.
        self.is_first = std::mem::take(&mut self.is_new);
        self.count += usize::from(!self.is_first);
    }

    fn add(&mut self, disk: &str, figures: &Figures) -> Result<(), String> {
        if self.is_first {
            return Ok(());
        }
        let at = self.count - 1;
        self.values += 1;
        if self.values > MOST_INTERVALS {
            return Err(format!("it has more than {MOST_INTERVALS} values of disks"));
        }
        let place = self.all.iter().position(|series| series.activity.name == disk).unwrap_or_else(|| {
            self.all.push(Series::new(disk, self.unit_bytes));
            self.all.len() - 1
        });
        self.all[place].add(at as f64, 1.0, figures);
        Ok(())
    }

    fn done(self) -> Result<Disks, ListError> {
        if self.count == 0 {
            let problem =
                "it has no report but that of the time since the machine was started: 'iostat -x 1 30' makes 29";
            return Err(ListError::whole(problem));
        }
        busy(self.all, PROGRAM, vec![FIRST.to_owned()])
    }
}

pub(super) fn of_text(text: &str, unit_bytes: u64) -> Result<Disks, ListError> {
    let mut reports = Reports { unit_bytes, is_new: true, ..Reports::default() };
    let mut columns: Option<Vec<&str>> = None;
    if !text.lines().any(is_header) {
        return Err(ListError::whole(
            "it is of iostat, without the columns Device, r/s and w/s: take 'iostat -x', without -s and -h",
        ));
    }
    for (line, number) in text.lines().zip(1_u64..) {
        // Each run of the program begins with the kernel's name, and has a first report of its own.
        if line.starts_with("Linux ") {
            reports.is_new = true;
        }
        if is_header(line) {
            reports.begin();
            columns = Some(line.split_whitespace().collect());
            continue;
        }
        if line.trim().is_empty() {
            columns = None;
        }
        let Some(columns) = &columns else { continue };
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.len() != columns.len() {
            let problem = format!("a disk has {} values, and the header {}", words.len(), columns.len());
            return Err(ListError::at(number, problem));
        }
        let mut figures = Figures::default();
        for (name, put) in COLUMNS {
            let Some(at) = columns.iter().position(|column| *column == name) else { continue };
            // Where the comma is the decimal sign it writes commas.
            let value =
                words[at].replace(',', ".").parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0);
            let problem = || ListError::at(number, format!("{name} '{}' is no number", shown(words[at])));
            put(&mut figures, value.ok_or_else(problem)?);
        }
        reports.add(words[0], &figures).map_err(|problem| ListError::at(number, problem))?;
    }
    reports.done()
}

pub(super) fn of_json(text: &str, unit_bytes: u64) -> Result<Disks, ListError> {
    let wrong = |problem: &str| ListError::whole(format!("it is JSON, and not that of iostat -x -o JSON: {problem}"));
    let root: Value = serde_json::from_str(text).map_err(|error| {
        // A program that was stopped leaves its last bracket out.
        ListError { line: Some(error.line() as u64), problem: format!("it is no whole JSON: {error}") }
    })?;
    let hosts = root["sysstat"]["hosts"].as_array().ok_or_else(|| wrong("it has no sysstat.hosts"))?;
    let mut reports = Reports { unit_bytes, is_new: true, ..Reports::default() };
    for report in hosts.iter().filter_map(|host| host["statistics"].as_array()).flatten() {
        let Some(disks) = report["disk"].as_array() else { continue };
        reports.begin();
        for disk in disks {
            let name = disk["disk_device"].as_str().ok_or_else(|| wrong("a disk has no disk_device"))?;
            let mut figures = Figures::default();
            for (column, put) in COLUMNS {
                let value = match &disk[column] {
                    Value::Null => continue,
                    other => other.as_f64().filter(|value| *value >= 0.0),
                };
                put(&mut figures, value.ok_or_else(|| wrong(&format!("{column} of {} is no number", shown(name))))?);
            }
            if figures.reads.or(figures.writes).is_none() {
                return Err(wrong("it has no r/s and w/s, which -x adds"));
            }
            reports.add(name, &figures).map_err(|problem| wrong(&problem))?;
        }
    }
    if reports.is_new {
        return Err(wrong("it has no disks"));
    }
    reports.done()
}
