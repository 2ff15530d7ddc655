//! Disks and blobs: published limits by size, in dated editions of their own.

use crate::Date;
use crate::burst::Burst;
use crate::model::Basis;
use crate::provisioned::Provisioned;
use serde::Deserialize;
use std::fmt;

/// One dated state of a service that sells disks.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskEdition {
    /// The service: `azure-managed-disk`.
    pub service: String,
    /// The edition's name: `2026-08`.
    pub name: String,
    /// The day for which it stands; a class may be older.
    pub as_of: Date,
    /// One line for people.
    pub description: String,
    /// The publisher.
    pub source: String,
    /// Whether a file takes the smallest level that holds it and has that level's limits.
    pub snaps_up: bool,
    /// What holds for all levels.
    pub notes: Vec<String>,
    /// The kinds of disks, in the order of the file.
    pub classes: Vec<DiskClass>,
    /// The levels by class, in the order of the file.
    pub levels: Vec<DiskLevel>,
}

/// A kind of disk, with what holds for all of its sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskClass {
    /// Its name: `premium-ssd`.
    pub name: String,
    /// What it is made of.
    pub medium: Option<Medium>,
    /// Whether a machine can boot from it.
    pub os_disk: Option<bool>,
    /// What the publisher means it for.
    pub intended_use: Option<String>,
    /// The most that a disk of this kind can have, where it was published.
    pub most: Option<Most>,
    /// What is said of its latency.
    pub latency: Option<DiskLatency>,
    /// The rule for disks whose limits follow from their size or are bought apart.
    pub provisioned: Option<Provisioned>,
    /// The day for which the numbers stand.
    pub as_of: Date,
    /// How the numbers are known.
    pub basis: Basis,
    /// The publisher.
    pub source: String,
    /// An I/O above this size counts as several.
    pub io_unit_bytes: Option<u64>,
    /// Sizes in GiB that can be had, and whose limits nobody published.
    pub unknown_gib: Vec<u64>,
    /// Bytes in a MB of its bandwidths: 10^6 or 2^20.
    pub mb_bytes: u64,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// What a disk is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Medium {
    /// Flash.
    Ssd,
    /// Spinning disks.
    Hdd,
}

impl Medium {
    /// As people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ssd => "SSD",
            Self::Hdd => "HDD",
        }
    }
}

/// The most that a disk of a class can have.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Most {
    /// Size in GiB.
    pub size_gib: u64,
    /// Operations a second.
    pub iops: f64,
    /// Bandwidth, in the class's MB.
    pub mb_per_second: f64,
}

/// A disk, or a blob, that can be had.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskLevel {
    /// The service.
    pub service: String,
    /// The edition.
    pub edition: String,
    /// The kind of disk: `premium-ssd`.
    pub class: String,
    /// Its name: `P30`.
    pub name: String,
    /// Other names by which it is found.
    pub aliases: Vec<String>,
    /// The smallest size in bytes, where all sizes from there to `size_bytes` have the same limits.
    pub size_min_bytes: Option<u64>,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Operations a second.
    pub iops: f64,
    /// Bandwidth in MB/s of `mb_bytes` each, as printed.
    pub bandwidth_mb_per_second: f64,
    /// Bytes in a MB of this level's bandwidths: 10^6 or 2^20.
    pub mb_bytes: u64,
    /// What it reaches above its limits.
    pub burst: Option<Burst>,
    /// An I/O above this size counts as several.
    pub io_unit_bytes: Option<u64>,
    /// What is said of its latency.
    pub latency: Option<DiskLatency>,
    /// The day for which the numbers stand.
    pub as_of: Date,
    /// How the numbers are known.
    pub basis: Basis,
    /// The publisher.
    pub source: String,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// What is said of a latency. Bounds are in milliseconds and absent where not stated.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskLatency {
    /// The publisher's words.
    pub claim: String,
    /// Reads take at least this.
    pub read_ms_low: Option<f64>,
    /// Reads take at most this.
    pub read_ms_high: Option<f64>,
    /// Writes take at least this.
    pub write_ms_low: Option<f64>,
    /// Writes take at most this.
    pub write_ms_high: Option<f64>,
    /// Mean of small writes as somebody measured it.
    pub measured_write_ms: Option<f64>,
    /// Seconds that 50,000 inserts of a row took in the same measurement, each committed before the next, with the log on this disk.
    pub measured_inserts_s: Option<f64>,
    /// The author of the measurement, and the machine.
    pub measured_source: Option<String>,
}

impl DiskLevel {
    /// Whether `name` is this level's name or one of its aliases, case aside.
    pub fn is_named(&self, name: &str) -> bool {
        std::iter::once(&self.name).chain(&self.aliases).any(|own| own.eq_ignore_ascii_case(name))
    }

    /// Bandwidth in bytes a second.
    pub fn bandwidth_bytes_per_second(&self) -> f64 {
        self.bandwidth_mb_per_second * self.mb_bytes as f64
    }

    /// Bandwidth of the burst in bytes a second.
    pub fn burst_bytes_per_second(&self) -> Option<f64> {
        self.burst.map(|burst| burst.mb_per_second * self.mb_bytes as f64)
    }
}

/// As a person reads it: `1024 GiB, 5000 IOPS, 200 MB/s, burst 30000 IOPS and 1000 MB/s on demand`.
impl fmt::Display for DiskLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gib = |bytes: u64| bytes >> 30;
        if let Some(smallest) = self.size_min_bytes {
            write!(f, "{} to ", gib(smallest))?;
        }
        let mb = if self.mb_bytes == 1 << 20 { "MiB" } else { "MB" };
        write!(f, "{} GiB, {} IOPS, {} {mb}/s", gib(self.size_bytes), self.iops, self.bandwidth_mb_per_second)?;
        let Some(burst) = &self.burst else { return Ok(()) };
        write!(f, ", burst {} IOPS and {} {mb}/s", burst.iops, burst.mb_per_second)?;
        match burst.seconds {
            Some(seconds) => write!(f, " for {} min", seconds / 60.0),
            None => write!(f, " on demand"),
        }
    }
}

impl DiskEdition {
    /// The level that gives the limits of a file of this size: the smallest that holds it, upper bound included. `None`
    /// if the service does not size disks by their files, or if the file is larger than any level.
    pub fn snap_up(&self, file_bytes: u64) -> Option<&DiskLevel> {
        let fitting = self.levels.iter().filter(|level| self.snaps_up && level.size_bytes >= file_bytes);
        fitting.min_by_key(|level| level.size_bytes)
    }
}
