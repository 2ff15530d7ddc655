//! The catalogue: editions in the order of time, and how a level is found in them.

use crate::assumptions::{self, Assumptions};
use crate::cap::{self, CapEdition};
use crate::disk::DiskEdition;
use crate::instance::{self, InstanceEdition};
use crate::model::{CpuFit, Edition, Level};
use crate::{CatalogError, disk_parse, parse};
use std::sync::LazyLock;

/// The built-in files by name, embedded so that the program is one file.
const FILES: &[(&str, &str)] = &[
    ("azure-sql-db.v11-2014-07.toml", include_str!("../data/azure-sql-db.v11-2014-07.toml")),
    ("azure-sql-db.v11-2014-11.toml", include_str!("../data/azure-sql-db.v11-2014-11.toml")),
    ("azure-sql-db.v12-preview-2014-12.toml", include_str!("../data/azure-sql-db.v12-preview-2014-12.toml")),
    ("azure-sql-db.v11-2015-01.toml", include_str!("../data/azure-sql-db.v11-2015-01.toml")),
    ("azure-sql-db.v12-ga-2015-01.toml", include_str!("../data/azure-sql-db.v12-ga-2015-01.toml")),
    ("azure-sql-db.v12-ga-2015-02.toml", include_str!("../data/azure-sql-db.v12-ga-2015-02.toml")),
    ("azure-sql-db.v12-retest.toml", include_str!("../data/azure-sql-db.v12-retest.toml")),
];

/// What the lab adds to the editions, one file for each service.
const LAB_FILES: &[(&str, &str)] = &[("azure-sql-db.lab.toml", include_str!("../data/azure-sql-db.lab.toml"))];

/// Disks and blobs, one edition a file.
const DISK_FILES: &[(&str, &str)] = &[
    ("aws-ebs.2023-05.toml", include_str!("../data/aws-ebs.2023-05.toml")),
    ("aws-ebs.2026-11.toml", include_str!("../data/aws-ebs.2026-11.toml")),
    ("azure-managed-disk.2019-03.toml", include_str!("../data/azure-managed-disk.2019-03.toml")),
    ("azure-managed-disk.2026-08.toml", include_str!("../data/azure-managed-disk.2026-08.toml")),
    ("azure-unmanaged-disk.2014-06.toml", include_str!("../data/azure-unmanaged-disk.2014-06.toml")),
    ("gcp-pd.2024-08.toml", include_str!("../data/gcp-pd.2024-08.toml")),
    ("azure-sql-mi-gp.2018-12.toml", include_str!("../data/azure-sql-mi-gp.2018-12.toml")),
    ("azure-sql-mi-gp.2022-06.toml", include_str!("../data/azure-sql-mi-gp.2022-06.toml")),
    ("azure-sql-mi-gp.2026-08.toml", include_str!("../data/azure-sql-mi-gp.2026-08.toml")),
];

/// Limits that disks share, one edition a file.
const CAP_FILES: &[(&str, &str)] = &[
    ("azure-vm.2026-09.toml", include_str!("../data/azure-vm.2026-09.toml")),
    ("azure-storage-account.2014-06.toml", include_str!("../data/azure-storage-account.2014-06.toml")),
];

/// Instances that hold databases, one edition a file.
const INSTANCE_FILES: &[(&str, &str)] = &[
    ("azure-sql-mi.2018-12.toml", include_str!("../data/azure-sql-mi.2018-12.toml")),
    ("azure-sql-mi.2022-06.toml", include_str!("../data/azure-sql-mi.2022-06.toml")),
    ("azure-sql-mi.2026-08.toml", include_str!("../data/azure-sql-mi.2026-08.toml")),
];

static BUILTIN: LazyLock<Result<Catalog, CatalogError>> = LazyLock::new(|| {
    let (disks, caps, instances) = (DISK_FILES, CAP_FILES, INSTANCE_FILES);
    Catalog::read(&Files { editions: FILES, lab: LAB_FILES, disks, caps, instances })
});

/// The texts of a catalogue by kind, each as (name, TOML text).
#[derive(Debug, Clone, Copy, Default)]
pub struct Files<'a> {
    /// One edition each.
    pub editions: &'a [(&'a str, &'a str)],
    /// What the lab adds to the editions, one service each.
    pub lab: &'a [(&'a str, &'a str)],
    /// Disks and blobs, one edition each.
    pub disks: &'a [(&'a str, &'a str)],
    /// Limits that disks share, one edition each.
    pub caps: &'a [(&'a str, &'a str)],
    /// Instances that hold databases, one edition each.
    pub instances: &'a [(&'a str, &'a str)],
}

/// All editions that are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalog {
    /// By service, then oldest first.
    editions: Vec<Edition>,
    assumptions: Vec<Assumptions>,
    /// By service, then oldest first.
    pub(crate) disks: Vec<DiskEdition>,
    /// By service, then oldest first.
    pub(crate) caps: Vec<CapEdition>,
    /// By service, then oldest first.
    pub(crate) instances: Vec<InstanceEdition>,
}

/// A level in the edition it was found in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelAt<'a> {
    /// The edition.
    pub edition: &'a Edition,
    /// The level.
    pub level: &'a Level,
}

impl Catalog {
    /// The catalogue that comes with the program, read once.
    ///
    /// # Errors
    /// [`CatalogError::Invalid`] if an embedded file breaks a rule, which the tests rule out.
    pub fn builtin() -> Result<&'static Self, CatalogError> {
        BUILTIN.as_ref().map_err(Clone::clone)
    }

    /// Reads files given as (name, TOML text), one edition each; the order doesn't matter.
    ///
    /// # Errors
    /// [`CatalogError::Invalid`] with file and line for the first rule that is broken.
    pub fn parse(files: &[(&str, &str)]) -> Result<Self, CatalogError> {
        Self::read(&Files { editions: files, ..Files::default() })
    }

    /// Reads files of all kinds; the order doesn't matter.
    ///
    /// # Errors
    /// [`CatalogError::Invalid`] with file and line for the first rule that is broken.
    pub fn read(files: &Files<'_>) -> Result<Self, CatalogError> {
        let editions = parse::editions(files.editions)?;
        let assumptions = assumptions::assumptions(files.lab, &editions)?;
        let disks = disk_parse::editions(files.disks)?;
        let caps = cap::editions(files.caps)?;
        let instances = instance::editions(files.instances)?;
        Ok(Self { editions, assumptions, disks, caps, instances })
    }

    /// All editions, by service, then oldest first.
    pub fn editions(&self) -> &[Edition] {
        &self.editions
    }

    /// All levels of all editions, in the same order.
    pub fn levels(&self) -> impl Iterator<Item = LevelAt<'_>> {
        self.editions.iter().flat_map(|edition| edition.levels.iter().map(move |level| LevelAt { edition, level }))
    }

    /// An edition of a service by name, case aside.
    ///
    /// # Errors
    /// [`CatalogError::UnknownService`] or [`CatalogError::UnknownEdition`], which list what there is.
    pub fn edition(&self, service: &str, name: &str) -> Result<&Edition, CatalogError> {
        let editions = self.editions_of(service)?;
        editions.iter().find(|edition| edition.name.eq_ignore_ascii_case(name)).copied().ok_or_else(|| {
            let known = editions.iter().map(|edition| edition.name.clone()).collect();
            CatalogError::UnknownEdition { service: service.to_owned(), name: name.to_owned(), known }
        })
    }

    /// A level of a service by name or alias, case aside; without an edition, in the newest that has it.
    ///
    /// # Errors
    /// An unknown service, edition or level, or a level that the edition lacks; each lists what there is.
    pub fn level(&self, service: &str, level: &str, edition: Option<&str>) -> Result<LevelAt<'_>, CatalogError> {
        let asked = edition.map(|name| self.edition(service, name)).transpose()?;
        let all = self.levels_named(service, level)?;
        // `all` is never empty, so its last is the newest.
        let Some(edition) = asked else { return Ok(all[all.len() - 1]) };
        all.iter().find(|found| std::ptr::eq(found.edition, edition)).copied().ok_or_else(|| {
            CatalogError::NotInEdition {
                service: service.to_owned(),
                edition: edition.name.clone(),
                level: level.to_owned(),
                known: level_names(edition),
                elsewhere: all.iter().map(|found| found.edition.name.clone()).collect(),
            }
        })
    }

    /// The anchor of DTU multiples: the newest edition's fit of CPU time at a level of known DTU (reference 3.7).
    ///
    /// # Errors
    /// [`CatalogError::NoDtuAnchor`] if no edition has a fit.
    pub fn dtu_anchor(&self) -> Result<&CpuFit, CatalogError> {
        let fitted = self.editions.iter().filter_map(|edition| Some((edition.as_of, edition.cpu_fit.as_ref()?)));
        fitted.max_by_key(|(as_of, _)| *as_of).map(|(_, fit)| fit).ok_or(CatalogError::NoDtuAnchor)
    }

    /// The editions of a service, oldest first; never none.
    pub(crate) fn editions_of(&self, service: &str) -> Result<Vec<&Edition>, CatalogError> {
        let of_service = |edition: &&Edition| edition.service.eq_ignore_ascii_case(service);
        let editions: Vec<_> = self.editions.iter().filter(of_service).collect();
        if editions.is_empty() {
            let mut known: Vec<_> = self.editions.iter().map(|edition| edition.service.clone()).collect();
            known.dedup();
            return Err(CatalogError::UnknownService { name: service.to_owned(), known });
        }
        Ok(editions)
    }

    /// What the lab adds to the editions of a service.
    pub(crate) fn assumptions_of(&self, service: &str) -> Option<&Assumptions> {
        self.assumptions.iter().find(|file| file.service.eq_ignore_ascii_case(service))
    }

    /// The level in every edition that has it, oldest first; never none.
    fn levels_named(&self, service: &str, name: &str) -> Result<Vec<LevelAt<'_>>, CatalogError> {
        let editions = self.editions_of(service)?;
        let find = |edition| level_named(edition, name).map(|level| LevelAt { edition, level });
        let found: Vec<_> = editions.iter().copied().filter_map(find).collect();
        if found.is_empty() {
            let mut known: Vec<String> = Vec::new();
            for level in editions.iter().copied().flat_map(level_names) {
                if !known.contains(&level) {
                    known.push(level);
                }
            }
            return Err(CatalogError::UnknownLevel { service: service.to_owned(), name: name.to_owned(), known });
        }
        Ok(found)
    }
}

fn level_named<'a>(edition: &'a Edition, name: &str) -> Option<&'a Level> {
    edition.levels.iter().find(|level| level.is_named(name))
}

fn level_names(edition: &Edition) -> Vec<String> {
    edition.levels.iter().map(|level| level.name.clone()).collect()
}
