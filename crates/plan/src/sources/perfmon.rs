//! CSV of Windows' performance counters, as `typeperf` and `relog` write it: a row for each moment, a column for each counter, with the mean
//! since the row before.

use jiff::civil::DateTime;

use crate::sheet::{ListError, Sheet, line_of, shown};

use super::series::{Disks, Figures, MOST_INTERVALS, Series, busy};

const PROGRAM: &str = "PerfMon";
const MS: f64 = 1e3;

/// Counters of a disk, in Windows' own words, and where their values belong.
const COUNTERS: [(&str, Put); 8] = [
    ("Disk Reads/sec", |to, value| to.reads = value),
    ("Disk Writes/sec", |to, value| to.writes = value),
    ("Disk Transfers/sec", |to, value| to.ios = value),
    ("Disk Read Bytes/sec", |to, value| to.read_bytes = value),
    ("Disk Write Bytes/sec", |to, value| to.write_bytes = value),
    ("Disk Bytes/sec", |to, value| to.bytes = value),
    ("Avg. Disk sec/Read", |to, value| to.read_ms = value.map(|seconds| seconds * MS)),
    ("Avg. Disk sec/Write", |to, value| to.write_ms = value.map(|seconds| seconds * MS)),
];

type Put = fn(&mut Figures, Option<f64>);

/// Whether it is one.
pub(super) fn is_one(text: &str) -> bool {
    text.trim_start_matches('"').starts_with("(PDH-")
}

/// A column of a counter.
struct Column {
    at: usize,
    disk: usize,
    put: Put,
}

pub(super) fn read(text: &str, unit_bytes: u64) -> Result<Disks, ListError> {
    let sheet = Sheet::read(text, MOST_INTERVALS)?;
    let mut remarks = Vec::new();
    let paths = || sheet.headers.iter().enumerate().filter_map(|(at, header)| Some((at, counter(header)?)));
    let of_volumes = paths().any(|(_, path)| path.object.eq_ignore_ascii_case("LogicalDisk"));
    let first_host = paths().next().map(|(_, path)| path.host);
    let is_of_many = paths().any(|(_, path)| Some(path.host) != first_host);
    let object = if of_volumes { "LogicalDisk" } else { "PhysicalDisk" };
    if of_volumes && paths().any(|(_, path)| path.object.eq_ignore_ascii_case("PhysicalDisk")) {
        remarks.push("It has volumes and the disks below them; the volumes count.".to_owned());
    }
    let (mut names, mut columns): (Vec<String>, Vec<Column>) = (Vec::new(), Vec::new());
    for (at, path) in paths().filter(|(_, path)| path.object.eq_ignore_ascii_case(object)) {
        let Some((_, put)) = COUNTERS.iter().find(|(name, _)| name.eq_ignore_ascii_case(path.counter)) else {
            continue;
        };
        let disk = if is_of_many { format!("{} {}", path.host, path.disk) } else { path.disk.to_owned() };
        let place = names.iter().position(|name| *name == disk).unwrap_or_else(|| {
            names.push(disk);
            names.len() - 1
        });
        columns.push(Column { at, disk: place, put: *put });
    }
    if columns.is_empty() {
        let needed =
            "such as \\LogicalDisk(*)\\Disk Reads/sec, Disk Writes/sec, Disk Read Bytes/sec and Disk Write Bytes/sec";
        return Err(ListError::at(1, format!("it has no counter of a disk by its English name, {needed}")));
    }
    if sheet.rows.len().saturating_mul(names.len()) > MOST_INTERVALS {
        return Err(ListError::whole(format!("it has more than {MOST_INTERVALS} values of disks")));
    }
    let mut all: Vec<Series> = names.iter().map(|name| Series::new(name, unit_bytes)).collect();
    let mut before: Option<f64> = None;
    let mut origin = None;
    let mut backwards = 0;
    for record in &sheet.rows {
        let line = line_of(record);
        let moment = record.get(0).unwrap_or_default();
        let at = seconds(moment).ok_or_else(|| {
            ListError::at(line, format!("'{}' is no time such as 11/28/2026 09:15:00.000", shown(moment)))
        })?;
        let mut figures = vec![Figures::default(); names.len()];
        for column in &columns {
            let text = record.get(column.at).unwrap_or_default();
            // A counter that was not there yet, and one that failed.
            let text = if text == "-1" { "" } else { text };
            // Bytes a second are more than any other number.
            let value = sheet.large(text);
            let value = value.map_err(|problem| {
                ListError::at(line, format!("{} {problem}", shown(sheet.headers.get(column.at).unwrap_or_default())))
            })?;
            (column.put)(&mut figures[column.disk], value);
        }
        // The first row has nothing before it.
        let Some(start) = before.replace(at) else {
            origin = Some(at);
            continue;
        };
        if at <= start {
            backwards += 1;
            continue;
        }
        for (series, figures) in all.iter_mut().zip(&figures) {
            series.add(start - origin.unwrap_or(start), at - start, figures);
        }
    }
    if backwards > 0 {
        remarks.push(format!("Rows whose time is not behind the one before are left out: {backwards}."));
    }
    if sheet.rows.len() < 2 {
        return Err(ListError::whole("it has one row at most: an interval lies between two"));
    }
    busy(all, PROGRAM, remarks)
}

/// What a counter is of.
struct Path<'a> {
    /// The machine; empty where it is left out.
    host: &'a str,
    object: &'a str,
    disk: &'a str,
    counter: &'a str,
}

/// The parts of a path such as `\\HOST\LogicalDisk(D:)\Disk Reads/sec`; sums over all disks are left out.
fn counter(path: &str) -> Option<Path<'_>> {
    let (before, counter) = path.rsplit_once('\\')?;
    let open = before.find('(')?;
    let disk = before[open + 1..].strip_suffix(')')?;
    let (host, object) = before[..open].rsplit_once('\\').unwrap_or(("", &before[..open]));
    let host = host.trim_start_matches('\\');
    (disk != "_Total").then_some(Path { host, object, disk, counter })
}

/// Seconds since the beginning of the calendar of a time such as `11/28/2026 09:15:00.000`.
fn seconds(text: &str) -> Option<f64> {
    let moment = DateTime::strptime("%m/%d/%Y %H:%M:%S%.f", text.replace(',', ".")).ok()?;
    Some(moment.duration_since(DateTime::ZERO).as_secs_f64())
}
