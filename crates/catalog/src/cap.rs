//! Limits that disks share: those of the machine that has them, and of the account that they are in.

use serde::Deserialize;

use crate::parse::{File, Problem, check_name, check_positive, check_text};
use crate::{CatalogError, Date};

/// One dated state of a service whose limits disks share.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapEdition {
    /// The service: `azure-vm`.
    pub service: String,
    /// The edition's name: `2026-09`.
    #[serde(rename = "edition")]
    pub name: String,
    /// The day for which it stands; a class may be older.
    pub as_of: Date,
    /// One line for people.
    pub description: String,
    /// The publisher.
    pub source: String,
    /// Bytes in a MB of the bandwidths: 10^6 or 2^20.
    pub mb_bytes: u64,
    /// How long a full bucket lasts at the full burst, in seconds; absent where nothing bursts.
    pub burst_seconds: Option<f64>,
    /// What holds for all of them.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Families of sizes.
    pub classes: Vec<CapClass>,
}

/// A family of sizes with one source.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapClass {
    /// Its name: `Ebdsv5`.
    pub name: String,
    /// The day for which its numbers stand.
    pub as_of: Date,
    /// The publisher.
    pub source: String,
    /// What a reader should know.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The sizes.
    pub sizes: Vec<CapSize>,
}

/// A machine's size, or a kind of account, with what all its disks together may have.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapSize {
    /// Its name: `Standard_E8bds_v5`.
    pub name: String,
    /// Virtual CPUs.
    pub cpus: Option<u32>,
    /// Memory in GiB.
    pub memory_gib: Option<f64>,
    /// How many data disks it can have.
    pub data_disks: Option<u32>,
    /// Of Premium and Standard disks, without the host's cache.
    pub premium: Option<SharedLimit>,
    /// Of Ultra and Premium SSD v2 disks.
    pub ultra_v2: Option<SharedLimit>,
    /// Of disks that use the host's cache.
    pub cached: Option<SharedLimit>,
    /// Of all disks, whatever they are.
    pub all: Option<SharedLimit>,
}

/// A limit of all disks together.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedLimit {
    /// Operations a second.
    pub iops: f64,
    /// Bandwidth in the edition's MB, where one is stated.
    pub mb_per_second: Option<f64>,
    /// Operations a second while the burst lasts.
    pub burst_iops: Option<f64>,
    /// Bandwidth while the burst lasts.
    pub burst_mb_per_second: Option<f64>,
}

/// A size in its class and edition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CapAt<'a> {
    /// The edition.
    pub edition: &'a CapEdition,
    /// The class.
    pub class: &'a CapClass,
    /// The size.
    pub size: &'a CapSize,
}

impl CapSize {
    /// Whether `name` is this size's, with or without `Standard_`, case aside.
    pub fn is_named(&self, name: &str) -> bool {
        let bare = self.name.strip_prefix("Standard_").unwrap_or(&self.name);
        self.name.eq_ignore_ascii_case(name) || bare.eq_ignore_ascii_case(name)
    }

    /// The limit of disks of this class. Where a page has no limit of its own for Ultra and v2, it is that of the others.
    pub fn limit_of(&self, disk_class: &str) -> Option<SharedLimit> {
        let own = matches!(disk_class, "ultra" | "premium-ssd-v2").then_some(self.ultra_v2).flatten();
        own.or(self.premium).or(self.all)
    }
}

/// Reads the editions of all files; a pair of service and edition may occur once.
pub(crate) fn editions(files: &[(&str, &str)]) -> Result<Vec<CapEdition>, CatalogError> {
    let mut editions: Vec<CapEdition> = Vec::with_capacity(files.len());
    for (name, text) in files {
        let file = File { name, text };
        let edition: CapEdition = file.read()?;
        let before = editions.iter().map(|known| (&known.service, &known.name));
        file.check_edition([&edition.service, &edition.name, &edition.description, &edition.source], before)?;
        file.check_mb(edition.mb_bytes)?;
        for (class, at) in edition.classes.iter().zip(0..) {
            file.at(&format!("classes.{at}"), check_text("source", &class.source))?;
            for (size, index) in class.sizes.iter().zip(0..) {
                let path = format!("classes.{at}.sizes.{index}");
                file.at(&path, check_size(size).map_err(|problem| format!("size '{}': {problem}", size.name)))?;
            }
        }
        editions.push(edition);
    }
    editions.sort_by(|a, b| (&a.service, a.as_of, &a.name).cmp(&(&b.service, b.as_of, &b.name)));
    Ok(editions)
}

fn check_size(size: &CapSize) -> Result<(), Problem> {
    check_name("size", &size.name)?;
    let limits = [size.premium, size.ultra_v2, size.cached, size.all];
    if limits.iter().all(Option::is_none) {
        return Err("it limits nothing".to_owned());
    }
    for limit in limits.into_iter().flatten() {
        check_positive("iops", limit.iops)?;
        limit.mb_per_second.map_or(Ok(()), |rate| check_positive("mb_per_second", rate))?;
        let bursts = [(limit.burst_iops, Some(limit.iops)), (limit.burst_mb_per_second, limit.mb_per_second)];
        for (burst, base) in bursts {
            if burst.is_some_and(|burst| base.is_none_or(|base| burst < base)) {
                return Err("a burst is below its limit".to_owned());
            }
        }
    }
    Ok(())
}
