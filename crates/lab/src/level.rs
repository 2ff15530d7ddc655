//! From what the catalogue says of a level to hardware. A published figure is MB of data content a minute; a limit is
//! bytes a second at the device. The conversions are these, and nothing is ever fitted to what the lab measures:
//!
//! - data read limit = content rate x [`READ_BYTES_PER_CONTENT`]; log limit = content rate x [`LOG_BYTES_PER_CONTENT`]:
//!   rows of 410 bytes, nine to a page of 4 KiB (a frame of the log has 24 bytes more). The catalogue has divided the
//!   figure by the utilisation at which it was read.
//! - databases that the service moves = the figure, as it counts the size of a database. They go past the data limit, which
//!   a level may have below it: where the service's rate was published it is said to be the same in every tier.
//! - memory = the figure, divided by the scale like all volumes.
//! - CPU: a level has one core; its speed follows the DTU. The catalogue's fit says how many seconds a pair of rows
//!   takes in the loop join at 50 DTU; SQLite takes [`STEPS_PER_PAIR`] steps for it. A page that is read from a device
//!   costs CPU as well. It is the rest of the time that a page took at P1, where CPU held the scan below its data IO
//!   limit, after the [`STEPS_PER_SCANNED_ROW`] steps of each of its rows.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_catalog::{
    Access, Basis, Catalog, CatalogError, DiskChoice, DiskLevel, LabLevel, LatencyQuantiles, NeighbourFigures, Sourced,
};
use plimsoll_engine::{Error, ErrorKind, Result, files};
use plimsoll_hardware::{
    BoughtDisk, CpuSpec, DeviceSpec, Disk, Latency, Limit, LimitHolder, LimitKind, Limits, Neighbour, Origin, Role,
    Spec, known_as,
};
use plimsoll_measurement::units::MB;
use plimsoll_measurement::{LimitBasis, LimitScope, Provenance};

use crate::address::{Address, Subject};
use crate::scale::shrink;
use crate::wal::FRAME_HEADER_BYTES;

/// Rows of the reference table in a page of 4 KiB, and their mean content in bytes.
const ROWS_PER_PAGE: f64 = 9.0;
const ROW_BYTES: f64 = 410.0;
const PAGE_BYTES: f64 = 4096.0;

/// Bytes at the data device for a byte of content.
pub const READ_BYTES_PER_CONTENT: f64 = PAGE_BYTES / (ROWS_PER_PAGE * ROW_BYTES);

/// Bytes at the log device for a byte of content.
pub const LOG_BYTES_PER_CONTENT: f64 = (PAGE_BYTES + FRAME_HEADER_BYTES as f64) / (ROWS_PER_PAGE * ROW_BYTES);

/// Steps of SQLite's virtual machine for one pair of rows in the CPU ladder's join: what grows with the square of the
/// rows in SQLite 3.54.1. A test measures it.
pub const STEPS_PER_PAIR: f64 = 16.0;

/// Steps for one row of the read scan, on average over rows that meet its predicate and those that do not. A test
/// measures it.
pub const STEPS_PER_SCANNED_ROW: f64 = 10.0;

/// Memory of a disk's lab, which has no memory of its own: 8 GiB.
const DISK_MEMORY_BYTES: u64 = 8 << 30;

/// Where that comes from.
const NO_MEMORY: &str = "a disk has none";

/// Hardware with where its numbers come from.
#[derive(Debug, Clone)]
pub struct Level {
    /// The hardware, memory and all volumes divided by the scale.
    pub spec: Spec,
    /// The level's name with its edition, or the file's.
    pub name: String,
    /// The edition of the catalogue.
    pub edition: Option<String>,
    /// The day of the edition.
    pub edition_date: Option<String>,
    /// What the catalogue says, for a level of a database service.
    pub published: Option<LabLevel>,
    /// How the numbers are known, for a disk.
    pub disk: Option<DiskBasis>,
    /// Where each number comes from, in words, by what it is.
    pub provenance: BTreeMap<String, String>,
}

/// How the numbers of a disk are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskBasis {
    /// Its IOPS and its bandwidth.
    pub limits: Basis,
    /// Its mean latency of reads.
    pub read_latency: Basis,
    /// Its mean latency of writes.
    pub write_latency: Basis,
}

/// Finds the hardware of a target, at its scale.
pub fn find(address: &Address) -> Result<Level> {
    let mut level = full(address)?;
    if !address.neighbour {
        let disks = level.spec.devices.iter_mut().flat_map(|device| &mut device.volume.disks);
        disks.for_each(|disk| disk.neighbour = None);
        if let Some(note) = level.provenance.get_mut("neighbour") {
            note.insert_str(0, "switched off: ");
        }
    }
    Ok(Level { spec: shrink(level.spec, address.scale), ..level })
}

fn full(address: &Address) -> Result<Level> {
    match &address.subject {
        Subject::Level { service, level, edition } => {
            let catalog = Catalog::builtin().map_err(|error| unknown(&error))?;
            let edition = edition.as_deref();
            if catalog.disk_levels().any(|disk| disk.service.eq_ignore_ascii_case(service)) {
                let disk = catalog.disk(service, level, edition, address.choice).map_err(|error| unknown(&error))?;
                let edition = catalog.disk_edition(service, Some(&disk.edition)).map_err(|error| unknown(&error))?;
                return Ok(of_disk(&disk, edition.snaps_up));
            }
            if address.choice != DiskChoice::default() {
                let refused =
                    "size_gib, iops and mb_per_s are for disks whose limits follow from their size or are bought apart";
                return Err(Error::new(ErrorKind::Usage, refused).hint("plimsoll catalog aws-ebs lists some"));
            }
            let level = catalog.lab_level(service, level, edition).map_err(|error| unknown(&error))?;
            of_service(catalog, level)
        }
        Subject::File(path) => {
            let text = files::read_text(path, files::SMALL).map_err(|error| {
                Error::new(ErrorKind::Usage, format!("can't read the hardware in {}: {error}", path.display()))
                    .hint("a file of your own hardware ends in .toml; docs/LAB.md shows one")
            })?;
            let name = path.display().to_string();
            let spec = Spec::parse(&name, &text).map_err(|error| {
                let hint = error.hint.clone().unwrap_or_else(|| "docs/LAB.md shows hardware of your own".to_owned());
                Error::new(ErrorKind::Usage, error.to_string()).hint(hint)
            })?;
            if (Spec { name: String::new(), ..spec.clone() }) == Spec::unlimited("") {
                return Err(Error::new(
                    ErrorKind::Usage,
                    format!("{name} limits nothing: there is nothing to measure"),
                )
                .hint("give a limit, such as bandwidth = \"10MiB/s\" under [data]; docs/LAB.md shows more"));
            }
            let provenance = BTreeMap::from([("hardware".to_owned(), format!("as {name} says"))]);
            Ok(Level { spec, name, edition: None, edition_date: None, published: None, disk: None, provenance })
        }
    }
}

fn unknown(error: &CatalogError) -> Error {
    Error::new(ErrorKind::Usage, error.to_string()).hint("'plimsoll catalog' lists services, levels and editions")
}

/// Picoseconds of a step on a level of this DTU, and of a page that is read.
pub fn cpu_costs(catalog: &Catalog, service: &str, dtu: f64) -> Result<(u64, u64)> {
    let anchor = catalog.dtu_anchor().map_err(|error| unknown(&error))?;
    let scan = catalog.scan_mb_per_minute_at_100_dtu(service).map_err(|error| unknown(&error))?;
    let step = anchor.coefficient_seconds / STEPS_PER_PAIR * anchor.dtu / dtu;
    let pages_a_second = scan.value * MB as f64 / 60.0 * READ_BYTES_PER_CONTENT / PAGE_BYTES;
    let page = 100.0 / dtu / pages_a_second - ROWS_PER_PAGE * STEPS_PER_SCANNED_ROW * step;
    Ok(((step * 1e12).round() as u64, (page.max(0.0) * 1e12).round() as u64))
}

fn of_service(catalog: &Catalog, level: LabLevel) -> Result<Level> {
    let bytes = |rate: &Sourced, factor: f64| Limit::per_second(rate.value * MB as f64 / 60.0 * factor);
    let (step_ps, page_ps) = cpu_costs(catalog, &level.service, level.dtu.value)?;
    let data = Disk {
        limits: Limits {
            bandwidth: bytes(&level.read_rate, READ_BYTES_PER_CONTENT),
            iops: level.iops.as_ref().and_then(|iops| Limit::per_second(iops.value)),
            ..Limits::default()
        },
        read_latency: latency(&level.data_read_latency),
        write_latency: latency(&level.data_write_latency),
        neighbour: level.neighbour.as_ref().filter(|n| n.applies_to == Access::Read).map(neighbour),
        ..Disk::default()
    };
    let log = Disk {
        limits: Limits { write_bandwidth: bytes(&level.write_rate, LOG_BYTES_PER_CONTENT), ..Limits::default() },
        write_latency: latency(&level.log_write_latency),
        neighbour: level.neighbour.as_ref().filter(|n| n.applies_to == Access::Write).map(neighbour),
        ..Disk::default()
    };
    let name = format!("{}/{}@{}", level.service, level.level, level.edition);
    let spec = Spec {
        memory: Some((level.memory_mb.value * MB as f64) as u64),
        cpu: CpuSpec { cores: 1.0, step_ps: Some(step_ps), page_ps, statement_ps: 0 },
        origins: origins_of(&level),
        ..Spec::unlimited(name.clone())
    };
    let mut spec = spec.with(Role::Data, DeviceSpec::single(data)).with(Role::Log, DeviceSpec::single(log));
    if let Some(rate) = &level.movement_rate {
        // What the service moves goes past the level's own limits.
        let limits = Limits { bandwidth: bytes(rate, 1.0), ..Limits::default() };
        spec = spec.with(Role::Movement, DeviceSpec::single(Disk { limits, ..Disk::default() }));
    }
    let mut provenance = BTreeMap::new();
    let mut note = |what: &str, value: String, basis: Basis, rule: &str| {
        provenance.insert(what.to_owned(), format!("{value} ({}: {rule})", basis.name()));
    };
    let rates = [("read limit", &level.read_rate, "MB/min"), ("log limit", &level.write_rate, "MB/min")];
    let others = [("memory limit", &level.memory_mb, "MB"), ("cpu", &level.dtu, "DTU")];
    for (what, number, unit) in rates.into_iter().chain(others) {
        note(what, format!("{:.4} {unit}", number.value), number.basis, &number.rule);
    }
    if let Some(rate) = &level.movement_rate {
        note("movement limit", format!("{:.4} MB/min of database", rate.value), rate.basis, &rate.rule);
    }
    if let Some(iops) = &level.iops {
        note("data iops", format!("{:.0}", iops.value), iops.basis, &iops.rule);
    }
    let latencies = [
        ("data read latency", &level.data_read_latency),
        ("data write latency", &level.data_write_latency),
        ("log write latency", &level.log_write_latency),
    ];
    for (what, latency) in latencies {
        note(what, format!("{:.2} ms on average", latency.ms.mean()), latency.basis, &latency.rule);
    }
    if let Some(neighbour) = &level.neighbour {
        let factors = format!("{:.2} and {:.2} of the limit", neighbour.low_factor, neighbour.high_factor);
        note("neighbour", factors, neighbour.basis, &neighbour.rule);
    }
    let (edition, edition_date) = (Some(level.edition.clone()), Some(level.as_of.to_string()));
    Ok(Level { spec, name, edition, edition_date, published: Some(level), disk: None, provenance })
}

/// Where the limits of a level come from; all of them are about one database.
fn origins_of(level: &LabLevel) -> Vec<Origin> {
    let of_role = |role: Role| LimitHolder::Disks(role.name().to_owned());
    let origin = |holder, kind, number: &Sourced| Origin {
        holder,
        kind,
        provenance: Provenance {
            scope: Some(LimitScope::Database),
            basis: known_as(number.basis),
            source: format!("{} ({})", number.rule, number.source),
            date: number.as_of.map(|day| day.to_string()),
        },
    };
    let (bytes, writes) = (Some(LimitKind::Bandwidth), Some(LimitKind::WriteBandwidth));
    let mut origins = vec![
        origin(of_role(Role::Data), bytes, &level.read_rate),
        origin(of_role(Role::Log), writes, &level.write_rate),
        origin(LimitHolder::Memory, None, &level.memory_mb),
        origin(LimitHolder::Cpu, None, &level.dtu),
    ];
    origins.extend(level.iops.as_ref().map(|iops| origin(of_role(Role::Data), Some(LimitKind::Iops), iops)));
    origins.extend(level.movement_rate.as_ref().map(|rate| origin(of_role(Role::Movement), bytes, rate)));
    origins
}

/// A disk of a cloud: database and log each on one of its own, memory as assumed, CPU without limit. Where the size of a file
/// decides which disk it gets, the limits are those of the file.
fn of_disk(disk: &DiskLevel, is_of_a_file: bool) -> Level {
    let BoughtDisk { disk: device, read, write } = BoughtDisk::of(disk);
    let name = format!("{}/{}@{}", disk.service, disk.name, disk.edition);
    let scope = Some(if is_of_a_file { LimitScope::File } else { LimitScope::Device });
    let published = Provenance {
        scope,
        basis: known_as(disk.basis),
        source: disk.source.clone(),
        date: Some(disk.as_of.to_string()),
    };
    let of_role = |role: Role| LimitHolder::Disks(role.name().to_owned());
    let of_disks = |role| Origin { holder: of_role(role), kind: None, provenance: published.clone() };
    let assumed = Provenance { scope: None, basis: LimitBasis::Assumed, source: NO_MEMORY.to_owned(), date: None };
    let of_memory = Origin { holder: LimitHolder::Memory, kind: None, provenance: assumed };
    let origins = vec![of_disks(Role::Data), of_disks(Role::Log), of_memory];
    let spec = Spec { memory: Some(DISK_MEMORY_BYTES), origins, ..Spec::unlimited(name.clone()) };
    let spec = spec.with(Role::Data, DeviceSpec::single(device.clone())).with(Role::Log, DeviceSpec::single(device));
    let basis = disk.basis.name();
    // Not every source means 2^20 bytes.
    let bandwidth = disk.bandwidth_bytes_per_second() / MB as f64;
    let provenance = BTreeMap::from([
        ("iops limit".to_owned(), format!("{} ({basis}: {})", disk.iops, disk.source)),
        ("bandwidth limit".to_owned(), format!("{bandwidth:.2} MB/s ({basis}: {})", disk.source)),
        ("read latency".to_owned(), format!("{} ms ({})", read.ms, read.rule)),
        ("write latency".to_owned(), format!("{} ms ({})", write.ms, write.rule)),
        ("memory limit".to_owned(), "8 GiB (assumed: a disk has none)".to_owned()),
        ("cpu".to_owned(), "without limit (assumed: a disk has none)".to_owned()),
    ]);
    let known = DiskBasis { limits: disk.basis, read_latency: read.basis, write_latency: write.basis };
    let (edition, edition_date) = (Some(disk.edition.clone()), Some(disk.as_of.to_string()));
    Level { spec, name, edition, edition_date, published: None, disk: Some(known), provenance }
}

fn latency(quantiles: &LatencyQuantiles) -> Latency {
    let points = quantiles.ms.points();
    Latency::Quantiles(points.iter().map(|(share, ms)| (*share, Duration::from_secs_f64(ms / 1e3))).collect())
}

fn neighbour(figures: &NeighbourFigures) -> Neighbour {
    let dwell = |seconds: f64| Duration::from_secs_f64(seconds);
    Neighbour::TwoState {
        rates: [figures.low_factor, figures.high_factor],
        dwell: [dwell(figures.low_dwell_seconds), dwell(figures.high_dwell_seconds)],
    }
}
