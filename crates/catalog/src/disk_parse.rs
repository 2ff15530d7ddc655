//! From TOML text to editions of disks, refusing whatever breaks a rule, with file and line.

use crate::burst::{Burst, BurstKind};
use crate::disk::{DiskClass, DiskEdition, DiskLatency, DiskLevel, Medium, Most};
use crate::model::Basis;
use crate::parse::{File, Problem, check_name, check_positive, check_text};
use crate::provisioned::{Limits, Provisioned};
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
    unknown_gib: Vec<u64>,
    #[serde(default)]
    notes: Vec<String>,
    latency: Option<DiskLatency>,
    medium: Option<Medium>,
    os_disk: Option<bool>,
    intended_use: Option<String>,
    most: Option<Most>,
    provisioned: Option<Provisioned>,
    #[serde(default)]
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
        file.check_mb(mb_bytes)?;
        let mut edition = DiskEdition {
            service,
            name,
            as_of,
            description,
            source,
            snaps_up,
            notes,
            classes: Vec::new(),
            levels: Vec::new(),
        };
        let mut names = HashSet::new();
        for (class, at) in classes.into_iter().zip(0..) {
            file.at(&format!("classes.{at}"), check_class(&class))?;
            if let Some(latency) = &class.latency {
                file.at(&format!("classes.{at}.latency"), check_latency(latency))?;
            }
            if let Some(rule) = &class.provisioned {
                file.at(&format!("classes.{at}.provisioned"), rule.check())?;
            }
            let known = disk_class(&class, mb_bytes);
            for (level, index) in class.levels.iter().zip(0..) {
                file.at(&format!("classes.{at}.levels.{index}"), check_level(level, &mut names))?;
                let (name, aliases) = (&level.name, &level.aliases);
                edition.levels.push(disk_level(&edition, &known, name, aliases, limits_of(level)));
            }
            edition.classes.push(known);
        }
        editions.push(edition);
    }
    editions.sort_by(|a, b| (&a.service, a.as_of, &a.name).cmp(&(&b.service, b.as_of, &b.name)));
    Ok(editions)
}

fn disk_class(class: &ClassText, mb_bytes: u64) -> DiskClass {
    DiskClass {
        name: class.name.clone(),
        medium: class.medium,
        os_disk: class.os_disk,
        intended_use: class.intended_use.clone(),
        most: class.most,
        latency: class.latency.clone(),
        provisioned: class.provisioned.clone(),
        as_of: class.as_of,
        basis: class.basis,
        source: class.source.clone(),
        io_unit_bytes: class.io_unit_kib.map(|kib| kib << 10),
        unknown_gib: class.unknown_gib.clone(),
        mb_bytes,
        notes: class.notes.clone(),
    }
}

fn limits_of(level: &LevelText) -> Limits {
    let &LevelText { size_min_gib, size_gib, iops, mb_per_second, burst, .. } = level;
    Limits { size_min_gib, size_gib, iops, mb_per_second, burst }
}

/// A disk of a class with these limits.
pub(crate) fn disk_level(
    edition: &DiskEdition,
    class: &DiskClass,
    name: &str,
    aliases: &[String],
    limits: Limits,
) -> DiskLevel {
    DiskLevel {
        service: edition.service.clone(),
        edition: edition.name.clone(),
        class: class.name.clone(),
        name: name.to_owned(),
        aliases: aliases.to_vec(),
        size_min_bytes: limits.size_min_gib.map(|gib| gib << 30),
        size_bytes: limits.size_gib << 30,
        iops: limits.iops,
        bandwidth_mb_per_second: limits.mb_per_second,
        mb_bytes: class.mb_bytes,
        burst: limits.burst,
        io_unit_bytes: class.io_unit_bytes,
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
    let known = |size: &u64| class.levels.iter().any(|level| level.size_gib == *size);
    if let Some(size) = class.unknown_gib.iter().find(|size| !(1..=LARGEST_GIB).contains(*size) || known(size)) {
        return Err(format!("unknown_gib {size} is not from 1 to {LARGEST_GIB}, or has a level"));
    }
    if class.levels.is_empty() && class.provisioned.is_none() {
        return Err("a class has levels, or a rule 'provisioned'".to_owned());
    }
    class.intended_use.as_ref().map_or(Ok(()), |text| check_text("intended_use", text))?;
    let Some(most) = class.most else { return Ok(()) };
    check_positive("iops of most", most.iops)?;
    check_positive("mb_per_second of most", most.mb_per_second)
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
        ("measured_inserts_s", latency.measured_inserts_s),
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
    if latency.measured_inserts_s.is_some() && latency.measured_write_ms.is_none() {
        return Err("measured_inserts_s needs the measured_write_ms of the same measurement".to_owned());
    }
    match (latency.measured_write_ms, &latency.measured_source) {
        (Some(_), Some(source)) => check_text("measured_source", source),
        (None, None) => Ok(()),
        _ => Err("measured_write_ms and measured_source belong together".to_owned()),
    }
}
