//! Instances that hold many databases: how much they may store, and the limits that all of their files share, in dated editions.

use serde::Deserialize;

use crate::parse::{File, Problem, check_name, check_positive, check_text};
use crate::{CatalogError, Date};

/// One dated state of a service of instances.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstanceEdition {
    /// The service: `azure-sql-mi`.
    pub service: String,
    /// The edition's name: `2018-12`.
    #[serde(rename = "edition")]
    pub name: String,
    /// The day for which it stands.
    pub as_of: Date,
    /// One line for people.
    pub description: String,
    /// The publisher.
    pub source: String,
    /// Bytes in a MB of the bandwidths: 10^6 or 2^20.
    pub mb_bytes: u64,
    /// What holds for all tiers.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The tiers of the service.
    pub tiers: Vec<InstanceTier>,
}

/// A tier of service. What is absent was not published for its date.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstanceTier {
    /// Its name: `general-purpose`.
    pub name: String,
    /// As people write it: `General Purpose`.
    pub title: String,
    /// The service of disks whose levels each file has for itself; absent where files have no limits of their own.
    pub file_service: Option<String>,
    /// The most that all files together may take, by size of the instance.
    #[serde(default)]
    pub space: Vec<Space>,
    /// The largest data file, in TiB.
    pub data_file_tib: Option<f64>,
    /// The largest log file, in TiB.
    pub log_file_tib: Option<f64>,
    /// The most files.
    pub files: Option<u32>,
    /// The most that the blobs of all files may take together, in TiB.
    pub blobs_tib: Option<f64>,
    /// The sizes of blobs in GiB, the smallest first, where the limits of files go by other steps.
    #[serde(default)]
    pub blob_gib: Vec<f64>,
    /// The most databases of users.
    pub databases: Option<u32>,
    /// The most that the data files of tempdb may take for each virtual core, in GiB.
    pub tempdb_gib_per_vcore: Option<f64>,
    /// The largest log of tempdb, in GiB.
    pub tempdb_log_gib: Option<f64>,
    /// How fast the log may grow.
    #[serde(default)]
    pub log_rate: Vec<LogRate>,
    /// Limits of I/O that all files share.
    #[serde(default)]
    pub shared_io: Vec<SharedIo>,
}

/// The most that all files of an instance may take.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Space {
    /// The hardware; absent: any.
    pub hardware: Option<String>,
    /// The numbers of virtual cores; none: any.
    #[serde(default)]
    pub vcores: Vec<u32>,
    /// TiB.
    pub tib: f64,
}

/// How fast the log may grow, in the edition's MB a second. The smaller limit counts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogRate {
    /// The hardware; absent: any.
    pub hardware: Option<String>,
    /// For each virtual core.
    pub per_vcore: Option<f64>,
    /// For the instance.
    pub instance: Option<f64>,
    /// For one database: the smallest log file has this ...
    pub database_low: Option<f64>,
    /// ... and the largest this.
    pub database_high: Option<f64>,
}

/// What all files of an instance of this size share.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedIo {
    /// Virtual cores.
    pub vcores: u32,
    /// Operations a second.
    pub iops: f64,
    /// Bandwidth in the edition's MB, where there is such a limit.
    pub mb_per_second: Option<f64>,
}

impl InstanceTier {
    /// The most that all files of an instance may take, in TiB: of those for this number of virtual cores, or of all without one, the
    /// largest.
    pub fn space_tib(&self, vcores: Option<u32>) -> Option<f64> {
        let fits =
            |space: &&Space| vcores.is_none_or(|vcores| space.vcores.is_empty() || space.vcores.contains(&vcores));
        self.space.iter().filter(fits).map(|space| space.tib).reduce(f64::max)
    }

    /// How fast the log of an instance may grow, in the edition's MB a second, where the hardware makes no difference.
    pub fn log_mb_per_second(&self, vcores: Option<u32>) -> Option<f64> {
        let [rate] = self.log_rate.as_slice() else { return None };
        let by_cores = rate.per_vcore.zip(vcores).map(|(each, vcores)| each * f64::from(vcores));
        // Without the cores the limit by them may be the smaller one.
        let is_known = rate.per_vcore.is_none() || vcores.is_some();
        [by_cores, rate.instance].into_iter().flatten().reduce(f64::min).filter(|_| is_known)
    }
}

/// Reads the editions of all files; a pair of service and edition may occur once.
pub(crate) fn editions(files: &[(&str, &str)]) -> Result<Vec<InstanceEdition>, CatalogError> {
    let mut editions: Vec<InstanceEdition> = Vec::with_capacity(files.len());
    for (name, text) in files {
        let file = File { name, text };
        let edition: InstanceEdition = file.read()?;
        let before = editions.iter().map(|known| (&known.service, &known.name));
        file.check_edition([&edition.service, &edition.name, &edition.description, &edition.source], before)?;
        file.check_mb(edition.mb_bytes)?;
        for (tier, at) in edition.tiers.iter().zip(0..) {
            let check = check_tier(tier).map_err(|problem| format!("tier '{}': {problem}", tier.name));
            file.at(&format!("tiers.{at}"), check)?;
        }
        editions.push(edition);
    }
    editions.sort_by(|a, b| (&a.service, a.as_of, &a.name).cmp(&(&b.service, b.as_of, &b.name)));
    Ok(editions)
}

fn check_tier(tier: &InstanceTier) -> Result<(), Problem> {
    check_name("tier", &tier.name)?;
    check_text("title", &tier.title)?;
    let single = [
        ("data_file_tib", tier.data_file_tib),
        ("log_file_tib", tier.log_file_tib),
        ("blobs_tib", tier.blobs_tib),
        ("tempdb_gib_per_vcore", tier.tempdb_gib_per_vcore),
        ("tempdb_log_gib", tier.tempdb_log_gib),
    ];
    if !tier.blob_gib.is_sorted() {
        return Err("blob_gib: the smallest size comes first".into());
    }
    let blobs = tier.blob_gib.iter().map(|gib| ("blob_gib", Some(*gib)));
    let spaces = tier.space.iter().map(|space| ("tib", Some(space.tib)));
    let rates = tier.log_rate.iter().flat_map(|rate| {
        let keys = ["per_vcore", "instance", "database_low", "database_high"];
        keys.into_iter().zip([rate.per_vcore, rate.instance, rate.database_low, rate.database_high])
    });
    let shared = tier.shared_io.iter().flat_map(|io| [("iops", Some(io.iops)), ("mb_per_second", io.mb_per_second)]);
    for (key, amount) in single.into_iter().chain(blobs).chain(spaces).chain(rates).chain(shared) {
        amount.map_or(Ok(()), |amount| check_positive(key, amount))?;
    }
    Ok(())
}
