//! From TOML text to editions of disks, refusing whatever breaks a rule, with file and line.

use crate::disk::{Burst, BurstKind, DiskEdition, DiskLatency, DiskLevel};
use crate::model::Basis;
use crate::parse::{File, Problem, check_name, check_positive, check_text};
use crate::{CatalogError, Date};
use serde::Deserialize;
use std::collections::HashSet;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditionText {
    service: String,
    edition: String,
    as_of: Date,
    description: String,
    source: String,
    mb_bytes: u64,
    #[serde(default)]
    snaps_up: bool,
    #[serde(default)]
    notes: Vec<String>,
    classes: Vec<ClassText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassText {
    name: String,
    as_of: Date,
    basis: Basis,
    source: String,
    io_unit_kib: Option<u64>,
    #[serde(default)]
    notes: Vec<String>,
    latency: Option<DiskLatency>,
    levels: Vec<LevelText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LevelText {
    name: String,
    #[serde(default)]
    aliases: Vec<String>,
    size_min_gib: Option<u64>,
    size_gib: u64,
    iops: f64,
    mb_per_second: f64,
    burst: Option<Burst>,
}

/// Reads the editions of all files; a pair of service and edition may occur once.
pub(crate) fn editions(files: &[(&str, &str)]) -> Result<Vec<DiskEdition>, CatalogError> {
    let mut editions: Vec<DiskEdition> = Vec::with_capacity(files.len());
    for (name, text) in files {
        let file = File { name, text };
        let EditionText { service, edition: name, as_of, description, source, mb_bytes, snaps_up, notes, classes } =
            file.read()?;
        let before = editions.iter().map(|known| (&known.service, &known.name));
        file.check_edition([&service, &name, &description, &source], before)?;
        if ![1_000_000, 1 << 20].contains(&mb_bytes) {
            file.at("mb_bytes", Err(format!("mb_bytes {mb_bytes} is neither 1000000 nor 1048576")))?;
        }
        let mut edition =
            DiskEdition { service, name, as_of, description, source, snaps_up, notes, levels: Vec::new() };
        let mut names = HashSet::new();
        for (class, at) in classes.iter().zip(0..) {
            file.at(&format!("classes.{at}"), check_class(class))?;
            if let Some(latency) = &class.latency {
                file.at(&format!("classes.{at}.latency"), check_latency(latency))?;
            }
            for (level, index) in class.levels.iter().zip(0..) {
                file.at(&format!("classes.{at}.levels.{index}"), check_level(level, &mut names))?;
                edition.levels.push(disk_level(&edition, class, level, mb_bytes));
            }
        }
        editions.push(edition);
    }
    editions.sort_by(|a, b| (&a.service, a.as_of, &a.name).cmp(&(&b.service, b.as_of, &b.name)));
    Ok(editions)
}

fn disk_level(edition: &DiskEdition, class: &ClassText, level: &LevelText, mb_bytes: u64) -> DiskLevel {
    DiskLevel {
        service: edition.service.clone(),
        edition: edition.name.clone(),
        class: class.name.clone(),
        name: level.name.clone(),
        aliases: level.aliases.clone(),
        size_min_bytes: level.size_min_gib.map(|gib| gib << 30),
        size_bytes: level.size_gib << 30,
        iops: level.iops,
        bandwidth_mb_per_second: level.mb_per_second,
        mb_bytes,
        burst: level.burst,
        io_unit_bytes: class.io_unit_kib.map(|kib| kib << 10),
        latency: class.latency.clone(),
        as_of: class.as_of,
        basis: class.basis,
        source: class.source.clone(),
        notes: class.notes.clone(),
    }
}

fn check_class(class: &ClassText) -> Result<(), Problem> {
    check_name("class", &class.name)?;
    check_text("source", &class.source)?;
    if class.io_unit_kib.is_some_and(|kib| !(1..=LARGEST_IO_KIB).contains(&kib)) {
        return Err(format!("io_unit_kib is not from 1 to {LARGEST_IO_KIB}"));
    }
    Ok(())
}

/// 1 GiB: more is a slip of the pen.
const LARGEST_IO_KIB: u64 = 1 << 20;

/// 1 PiB, far above any disk; keeps the size in bytes within 64 bits.
const LARGEST_GIB: u64 = 1 << 20;

fn check_level(level: &LevelText, names: &mut HashSet<String>) -> Result<(), Problem> {
    for name in std::iter::once(&level.name).chain(&level.aliases) {
        check_name("level", name)?;
        if !names.insert(name.to_ascii_lowercase()) {
            return Err(format!("duplicate level '{name}'"));
        }
    }
    check_limits(level).map_err(|problem| format!("level '{}': {problem}", level.name))
}

fn check_limits(level: &LevelText) -> Result<(), Problem> {
    if !(1..=LARGEST_GIB).contains(&level.size_gib) {
        return Err(format!("size_gib {} is not from 1 to {LARGEST_GIB}", level.size_gib));
    }
    if level.size_min_gib.is_some_and(|smallest| !(1..=level.size_gib).contains(&smallest)) {
        return Err("size_min_gib is not from 1 to size_gib".to_owned());
    }
    check_positive("iops", level.iops)?;
    check_positive("mb_per_second", level.mb_per_second)?;
    let Some(burst) = &level.burst else { return Ok(()) };
    if let Some(seconds) = burst.seconds {
        check_positive("seconds of burst", seconds)?;
    }
    for (key, burst, limit) in
        [("iops", burst.iops, level.iops), ("mb_per_second", burst.mb_per_second, level.mb_per_second)]
    {
        check_positive(&format!("{key} of burst"), burst)?;
        if burst < limit {
            return Err(format!("{key} of burst {burst} is below the limit {limit}"));
        }
    }
    match (burst.kind, burst.seconds) {
        (BurstKind::Credit, None) => Err("a credit burst needs its seconds".to_owned()),
        (BurstKind::OnDemand, Some(_)) => Err("an on-demand burst has no end, so no seconds".to_owned()),
        _ => Ok(()),
    }
}

fn check_latency(latency: &DiskLatency) -> Result<(), Problem> {
    check_text("claim", &latency.claim)?;
    for (key, amount) in [
        ("read_ms_low", latency.read_ms_low),
        ("read_ms_high", latency.read_ms_high),
        ("write_ms_low", latency.write_ms_low),
        ("write_ms_high", latency.write_ms_high),
        ("measured_write_ms", latency.measured_write_ms),
    ] {
        amount.map_or(Ok(()), |amount| check_positive(key, amount))?;
    }
    for (low, high) in [(latency.read_ms_low, latency.read_ms_high), (latency.write_ms_low, latency.write_ms_high)] {
        if let (Some(low), Some(high)) = (low, high)
            && low > high
        {
            return Err(format!("latency {low} is above {high}"));
        }
    }
    match (latency.measured_write_ms, &latency.measured_source) {
        (Some(_), Some(source)) => check_text("measured_source", source),
        (None, None) => Ok(()),
        _ => Err("measured_write_ms and measured_source belong together".to_owned()),
    }
}
