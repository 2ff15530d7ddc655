//! From files and named disks at a date to a machine description: what the catalogue says of a disk on that day, or what the scenario gives.
//!
//! Where a service sells blobs whose size follows the file's, each file is on one of its own. All other files of a disk share it.

use std::time::Duration;

use plimsoll_catalog::{Catalog, Date, DiskChoice, DiskEdition, DiskLevel};
use plimsoll_hardware::{
    BoughtDisk, Cap, DeviceId, DeviceSpec, Disk, Latency, Limit, LimitHolder, LimitKind, Limits, Origin, PlacedFile,
    Placement, Role, Spec, Volume, known_as,
};
use plimsoll_measurement::{LimitScope, Provenance};

use super::error::ScenarioError;
use super::quantity::Span;
use super::tables::{DiskTable, FileTable, LOG, Tables};

/// Latency as parts of its mean: half of it constant, half drawn from an Erlang distribution of four stages, so that it has a tail and no
/// values near zero. The mean of these quantiles with straight lines between is 1.
const SHAPE: [(f64, f64); 10] = [
    (0.0, 0.4989),
    (0.05, 0.6693),
    (0.25, 0.8151),
    (0.5, 0.9568),
    (0.75, 1.1361),
    (0.9, 1.3321),
    (0.97, 1.5596),
    (0.99, 1.7517),
    (0.999, 2.128),
    (1.0, 2.588),
];

/// Stripes of a volume of several disks.
const STRIPE_BYTES: u64 = 256 << 10;

/// Files of a group, at most.
const MOST_FILES: usize = 1_000;

/// A file at its place.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredFile {
    /// Its group: the name in the scenario.
    pub group: String,
    /// The device.
    pub device: DeviceId,
    /// Its size.
    pub bytes: u64,
    /// Whether the address of an I/O decides which disk it goes to.
    pub is_striped: bool,
}

/// A limit of a group of devices, and whose I/Os count against it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ceiling {
    /// What it is a limit of, for people: `data, IOPS`.
    pub name: String,
    /// The name of such a limit in verdicts.
    pub limit: &'static str,
    /// What it counts.
    pub kind: LimitKind,
    /// I/Os or bytes a second, of all devices of the group together.
    pub per_s: f64,
    /// The files whose I/Os it counts, by their position among [`Storage::files`].
    pub files: Vec<usize>,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// All files, on the machine that has them.
#[derive(Debug, Clone, PartialEq)]
pub struct Storage {
    /// The machine.
    pub spec: Spec,
    /// The data files.
    pub data: Vec<StoredFile>,
    /// The log.
    pub log: StoredFile,
    /// The limits on the way to the files.
    pub ceilings: Vec<Ceiling>,
    /// What each group of files lies on, in a sentence.
    pub described: Vec<String>,
}

impl Storage {
    /// The data files, then the log.
    pub fn files(&self) -> impl Iterator<Item = &StoredFile> {
        self.data.iter().chain([&self.log])
    }
}

/// A file with the name of its device, before there is a machine.
struct Placed {
    group: String,
    device: String,
    bytes: u64,
    is_striped: bool,
}

pub fn of(tables: &Tables) -> Result<Storage, ScenarioError> {
    let mut spec = Spec::unlimited("scenario");
    (spec.devices, spec.placement) = (Vec::new(), Placement::default());
    for (name, cap) in &tables.caps {
        let limits = limits(&format!("caps.{name}"), cap.iops, cap.bandwidth.map(|rate| rate.0))?;
        // What caps hold back here are the disks of a machine or an account; which, the name says.
        let scope = if name.contains("account") { LimitScope::Account } else { LimitScope::Vm };
        spec.caps.push(Cap { name: name.clone(), scope, limits });
    }
    let (mut placed, mut described) = (Vec::new(), Vec::new());
    // The log comes last.
    let (log, data): (Vec<_>, Vec<_>) = tables.files.iter().partition(|(name, _)| name.as_str() == LOG);
    for (name, file) in data.into_iter().chain(log) {
        described.push(place(tables, name, file, &mut spec, &mut placed)?);
    }
    let is_log = |file: &&Placed| file.group == LOG;
    let Some(log) = placed.iter().find(is_log) else {
        return Err(ScenarioError::new("files", "there is no log", "add a table [files.log] with disk and size"));
    };
    let first = placed.iter().find(|file| !is_log(file));
    let reads_or_writes = tables.workload.reads > 0.0 || tables.workload.changes > 0.0;
    if first.is_none() && reads_or_writes {
        let hint = "add a table [files.data] with disk and size, or leave out reads and changes";
        return Err(ScenarioError::new("files", "requests read or change pages, and there is no data file", hint));
    }
    spec.placement.set(Role::Log, log.device.clone());
    spec.placement.set(Role::Data, first.map_or(&log.device, |file| &file.device).clone());
    if let Some(rate) = tables.log.rate_limit {
        if placed.iter().any(|file| file.group != LOG && file.device == log.device) {
            let hint = "place the log on a disk of its own";
            return Err(ScenarioError::new(
                "log.rate_limit",
                "it would hold back data files, which share the log's disk",
                hint,
            ));
        }
        for device in spec.devices.iter_mut().filter(|device| device.name == log.device) {
            device.governor.write_bandwidth = Limit::per_second(rate.0 as f64);
        }
    }
    spec.check()
        .map_err(|error| ScenarioError::new("disks", error.to_string(), error.hint.clone().unwrap_or_default()))?;
    let stored = |file: &Placed| {
        let id = spec.device_of(&PlacedFile::Named(file.device.clone()));
        let (group, bytes, is_striped) = (file.group.clone(), file.bytes, file.is_striped);
        id.map(|device| StoredFile { group, device, bytes, is_striped })
    };
    let mut files: Vec<StoredFile> = placed.iter().filter_map(stored).collect();
    let ceilings = ceilings(&spec, &files, &placed);
    let log = files.pop().ok_or_else(|| ScenarioError::new("files", "there is no file", "add a table [files.log]"))?;
    Ok(Storage { spec, data: files, log, ceilings, described })
}

/// Puts a group of files on its disk. What it lies on, in a sentence.
fn place(
    tables: &Tables,
    group: &str,
    file: &FileTable,
    spec: &mut Spec,
    placed: &mut Vec<Placed>,
) -> Result<String, ScenarioError> {
    let key = format!("files.{group}");
    let count = file.count.unwrap_or(1);
    if file.size.0 == 0 {
        return Err(ScenarioError::new(
            format!("{key}.size"),
            "a file of no size can hold nothing",
            "give its size, such as \"32GB\"",
        ));
    }
    if count == 0 || count > MOST_FILES || (group == LOG && count != 1) {
        let hint = if group == LOG { "a database has one log" } else { "give 1 to 1000" };
        return Err(ScenarioError::new(format!("{key}.count"), format!("{count} files are not possible"), hint));
    }
    let disk_key = format!("disks.{}", file.disk);
    let table = tables.disks.get(&file.disk).ok_or_else(|| {
        let known: Vec<&str> = tables.disks.keys().map(String::as_str).collect();
        ScenarioError::new(
            format!("{key}.disk"),
            format!("unknown disk '{}'", file.disk),
            format!("known: {}", known.join(", ")),
        )
    })?;
    let bought = of_catalog(&disk_key, table, file.size.0)?;
    let disk = disk(&disk_key, table, bought.as_ref().map(|(level, _)| level))?;
    let of_each = bought.as_ref().is_some_and(|(_, snaps_up)| *snaps_up);
    let columns = table.striped.unwrap_or(1);
    if of_each && columns > 1 || columns == 0 || columns > MOST_FILES {
        return Err(ScenarioError::new(
            format!("{disk_key}.striped"),
            "such a volume is not possible",
            "leave it out, or stripe 2 to 1000 disks",
        ));
    }
    let volume = if columns > 1 { Volume::striped(vec![disk; columns], STRIPE_BYTES) } else { Volume::single(disk) };
    for number in 1..=count {
        let device = if !of_each {
            file.disk.clone()
        } else if count == 1 {
            group.to_owned()
        } else {
            format!("{group}-{number}")
        };
        if spec.devices.iter().all(|known| known.name != device) {
            spec.placement.set(PlacedFile::Named(device.clone()), device.clone());
            spec.devices.push(DeviceSpec { name: device.clone(), caps: table.caps.clone(), ..volume.clone().into() });
            if let Some((level, snaps_up)) = &bought {
                let provenance = Provenance {
                    scope: Some(if *snaps_up { LimitScope::File } else { LimitScope::Device }),
                    basis: known_as(level.basis),
                    source: level.source.clone(),
                    date: Some(level.as_of.to_string()),
                };
                spec.origins.push(Origin { holder: LimitHolder::Disks(device.clone()), kind: None, provenance });
            }
        }
        placed.push(Placed { group: group.to_owned(), device, bytes: file.size.0, is_striped: columns > 1 });
    }
    if let (Some((level, false)), None) = (&bought, table.size) {
        let used: u64 = placed.iter().filter(|other| other.device == file.disk).map(|other| other.bytes).sum();
        if used > level.size_bytes * columns as u64 {
            let gib = |bytes: u64| bytes >> 30;
            let problem =
                format!("{} GiB of files do not fit on {} GiB", gib(used), gib(level.size_bytes * columns as u64));
            return Err(ScenarioError::new(format!("{key}.size"), problem, "make them smaller, or take a larger disk"));
        }
    }
    let what = bought.map_or_else(
        || "a disk as given".to_owned(),
        |(level, _)| format!("{}/{}@{} ({level})", level.service, level.name, level.edition),
    );
    let each = if of_each && count > 1 { " each" } else { "" };
    Ok(format!("{group}: {count} x {} GiB on {what}{each}", file.size.0 as f64 / f64::from(1 << 30)))
}

/// What the catalogue says of a disk on the day of the scenario, and whether each file has one of its own.
fn of_catalog(key: &str, table: &DiskTable, file_bytes: u64) -> Result<Option<(DiskLevel, bool)>, ScenarioError> {
    let Some(text) = &table.disk else { return Ok(None) };
    let unknown = |problem: String| {
        ScenarioError::new(format!("{key}.disk"), problem, "'plimsoll catalog' lists disks and their editions")
    };
    let Some(date) = table.date else {
        return Err(ScenarioError::new(key, "the date is missing: limits of a disk change", "add date = 2018-12-18"));
    };
    let catalog = Catalog::builtin().map_err(|error| unknown(error.to_string()))?;
    let (service, name) = text.split_once('/').map_or((text.as_str(), None), |(service, name)| (service, Some(name)));
    catalog.disk_edition(service, None).map_err(|error| unknown(error.to_string()))?;
    let edition = edition_at(catalog, service, date).ok_or_else(|| {
        let dates: Vec<String> = editions(catalog, service).map(|edition| edition.as_of.to_string()).collect();
        let problem = format!("the catalogue knows nothing of {service} on {date}");
        ScenarioError::new(format!("{key}.date"), problem, format!("it has it as of {}", dates.join(", ")))
    })?;
    let Some(name) = name else {
        if !edition.snaps_up {
            return Err(unknown(format!(
                "{service} does not size its disks by files: name one, such as {service}/P30"
            )));
        }
        return edition.snap_up(file_bytes).map(|level| Some((level.clone(), true))).ok_or_else(|| {
            let most = edition.levels.iter().map(|level| level.size_bytes >> 30).max().unwrap_or(0);
            let problem = format!("{service} of {} has no blob for a file of {} GiB", edition.as_of, file_bytes >> 30);
            ScenarioError::new(format!("{key}.disk"), problem, format!("the largest holds {most} GiB"))
        });
    };
    let choice = DiskChoice::default();
    let level = catalog.disk(service, name, Some(&edition.name), choice).map_err(|error| unknown(error.to_string()))?;
    Ok(Some((level, false)))
}

fn editions<'a>(catalog: &'a Catalog, service: &str) -> impl Iterator<Item = &'a DiskEdition> {
    catalog.disk_editions().iter().filter(move |edition| edition.service.eq_ignore_ascii_case(service))
}

/// The newest edition that is not of a later day.
fn edition_at<'a>(catalog: &'a Catalog, service: &str, date: Date) -> Option<&'a DiskEdition> {
    editions(catalog, service).filter(|edition| edition.as_of <= date).max_by_key(|edition| edition.as_of)
}

fn disk(key: &str, table: &DiskTable, bought: Option<&DiskLevel>) -> Result<Disk, ScenarioError> {
    if bought.is_some() && (table.iops.is_some() || table.bandwidth.is_some()) {
        let hint = "leave out disk to give limits of your own, or leave out iops and bandwidth";
        return Err(ScenarioError::new(key, "it has limits of its own beside those of the catalogue", hint));
    }
    let known = bought.map(BoughtDisk::of);
    let mean = |own: Option<Span>, known: Option<f64>, which: &str| {
        let given = own.or(table.latency).map(|Span(ns)| ns as f64 / 1e6);
        given.or(known).filter(|ms| *ms > 0.0 && *ms < 20_000.0).map(spread).ok_or_else(|| {
            ScenarioError::new(
                key,
                format!("there is no {which} latency above 0 and below 20 s"),
                "add latency = \"5ms\"",
            )
        })
    };
    let read_latency = mean(table.read_latency, known.as_ref().map(|known| known.read.ms), "read")?;
    let write_latency = mean(table.write_latency, known.as_ref().map(|known| known.write.ms), "write")?;
    let base = known.map(|known| known.disk);
    let limits = match &base {
        Some(disk) => disk.limits,
        None => limits(key, table.iops, table.bandwidth.map(|rate| rate.0))?,
    };
    let bytes = table.size.map(|size| size.0).or(bought.map(|level| level.size_bytes));
    Ok(Disk { limits, read_latency, write_latency, is_latency_whole: true, bytes, ..base.unwrap_or_default() })
}

/// A distribution with this mean.
fn spread(ms: f64) -> Latency {
    Latency::Quantiles(SHAPE.map(|(share, of)| (share, Duration::from_secs_f64(ms * of / 1e3))).to_vec())
}

fn limits(key: &str, iops: Option<f64>, bytes_per_s: Option<u64>) -> Result<Limits, ScenarioError> {
    let limit = |name: &str, value: Option<f64>| {
        value.map(|value| {
            Limit::per_second(value).ok_or_else(|| {
                ScenarioError::new(
                    format!("{key}.{name}"),
                    format!("{value} a second is no limit"),
                    "give more than 0, or leave it out",
                )
            })
        })
    };
    let iops = limit("iops", iops).transpose()?;
    let bandwidth = limit("bandwidth", bytes_per_s.map(|bytes| bytes as f64)).transpose()?;
    Ok(Limits { iops, bandwidth, ..Limits::default() })
}

/// The limits on the way to the files. Devices of a group count together: their files are alike.
fn ceilings(spec: &Spec, files: &[StoredFile], placed: &[Placed]) -> Vec<Ceiling> {
    let mut all: Vec<(Ceiling, Vec<DeviceId>)> = Vec::new();
    for (number, (file, place)) in files.iter().zip(placed).enumerate() {
        for limit in spec.way(file.device, file.bytes).limits {
            let counts = if limit.kind.is_of_bytes() { "bandwidth" } else { "IOPS" };
            // A disk of one group is called as its files are.
            let shared = placed.iter().any(|other| other.device == place.device && other.group != place.group);
            let is_log = place.group == LOG && !shared;
            let (owner, is_cap) = match &limit.holder {
                LimitHolder::Cap(name) => (name.clone(), true),
                LimitHolder::Governor(_) => (format!("{} rate limit", place.group), false),
                _ => (if shared { place.device.clone() } else { place.group.clone() }, false),
            };
            let name = format!("{owner}, {counts}");
            let position = all.iter().position(|(known, _)| known.name == name && known.kind == limit.kind);
            let at = position.unwrap_or_else(|| {
                let verdict = match (is_log && !is_cap, limit.kind.is_of_bytes()) {
                    (true, _) => "log_write",
                    (false, true) => "data_bandwidth",
                    (false, false) => "data_iops",
                };
                all.push((
                    Ceiling {
                        name,
                        limit: verdict,
                        kind: limit.kind,
                        per_s: 0.0,
                        files: Vec::new(),
                        provenance: limit.provenance.clone(),
                    },
                    Vec::new(),
                ));
                all.len() - 1
            });
            let (ceiling, devices) = &mut all[at];
            ceiling.files.push(number);
            if is_cap {
                ceiling.per_s = limit.per_second;
            } else if !devices.contains(&file.device) {
                ceiling.per_s += limit.per_second;
                devices.push(file.device);
            }
        }
    }
    all.into_iter().map(|(ceiling, _)| ceiling).collect()
}
