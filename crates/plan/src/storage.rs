//! Managed Instance General Purpose on a day: the steps of its blobs, and what all files of an instance share.

use plimsoll_catalog::{Catalog, CatalogError, Date, DiskEdition, InstanceEdition, InstanceTier};

/// The service and the tier whose files are blobs, each with limits of its own.
const SERVICE: &str = "azure-sql-mi";
const TIER: &str = "general-purpose";

/// How long an operation takes below its limits where the edition does not say it (the article of 2018-12-18: 2 to 10 ms).
const UNTHROTTLED_MS: [f64; 2] = [2.0, 10.0];

/// GB in a TB.
pub(crate) const GB_OF_TB: f64 = 1024.0;

/// Which instance it is about.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Wishes {
    /// The day whose limits count; absent: the newest.
    pub day: Option<Date>,
    /// Its virtual cores.
    pub vcores: Option<u32>,
    /// The space that it was given, in GB; absent: the most it can have.
    pub space_gb: Option<f64>,
}

/// What was published of such an instance.
#[derive(Debug, Clone, PartialEq)]
pub struct Storage<'a> {
    /// The edition of the limits by file.
    pub files: &'a DiskEdition,
    /// The edition of what files share.
    pub instance: &'a InstanceEdition,
    /// Its tier.
    pub tier: &'a InstanceTier,
    /// What was wished.
    pub wishes: Wishes,
    /// The sizes of blobs, the smallest first.
    pub steps: Vec<Step>,
}

/// A size of blobs. All files that it is the smallest for have its limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its name, where it has one of its own: `P10`.
    pub name: Option<String>,
    /// The largest file that has these limits, in GB. Where the edition names blobs, it is the size of one.
    pub blob_gb: f64,
    /// Reads and writes a second; absent where nobody published it.
    pub iops: Option<f64>,
    /// MB read and written a second, as printed; absent where nobody published it.
    pub mb_per_s: Option<f64>,
}

/// What more virtual cores bring the log of an instance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cores {
    /// Nothing, by this edition.
    Nothing,
    /// How many there are is not known, and its rate goes by them.
    Unknown,
    /// So many let it grow by so many MB a second.
    Faster(u32, f64),
    /// Nothing: the log of one database has nearly all of it, and may grow by so many MB a second at any number of them.
    OneLog(f64),
}

/// Where more fits.
#[derive(Debug, Clone, PartialEq)]
pub struct Elsewhere {
    /// The tier; absent where it is the same.
    pub title: Option<String>,
    /// On which hardware, where that makes a difference.
    pub hardware: Option<String>,
    /// From how many virtual cores on, where that makes a difference.
    pub vcores: Option<u32>,
    /// The most that all files may take with so many, in GB.
    pub most_gb: f64,
}

/// A limit of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitOf {
    /// Reads and writes a second.
    Iops,
    /// MB a second.
    Bandwidth,
}

impl LimitOf {
    /// As people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Iops => "IOPS",
            Self::Bandwidth => "MB/s",
        }
    }
}

/// Why an instance can't be as it was wished.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StorageError {
    /// Nothing is known of the day.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// There is no such number of virtual cores.
    #[error("{title} of {day} has no instance of {vcores} vCores; it has those of {}", list(.known))]
    Vcores {
        /// The tier.
        title: String,
        /// The edition.
        day: String,
        /// What was wished.
        vcores: u32,
        /// What there is.
        known: Vec<u32>,
    },
    /// An instance can't have so much space.
    #[error("{title} of {day}{} has {most_gb} GB at most, so not {space_gb}", .vcores.map(|all| format!(" with {all} vCores")).unwrap_or_default())]
    Space {
        /// The tier.
        title: String,
        /// The edition.
        day: String,
        /// The cores that were wished.
        vcores: Option<u32>,
        /// What was wished.
        space_gb: f64,
        /// What it can have.
        most_gb: f64,
    },
}

fn list(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

impl<'a> Storage<'a> {
    /// What was published of the instance that was wished.
    ///
    /// # Errors
    /// If there is none such.
    pub fn on(catalog: &'a Catalog, wishes: Wishes) -> Result<Self, StorageError> {
        let instance = catalog.instances_on(SERVICE, wishes.day)?;
        let known = || instance.tiers.iter().map(|tier| tier.name.clone()).collect();
        let tier = instance.tiers.iter().find(|tier| tier.name == TIER).ok_or_else(|| CatalogError::UnknownLevel {
            service: SERVICE.to_owned(),
            name: TIER.to_owned(),
            known: known(),
        })?;
        let files = catalog.disks_on(tier.file_service.as_deref().unwrap_or_default(), wishes.day)?;
        let mut steps: Vec<Step> = files.levels.iter().map(Step::of).collect();
        let unknown = files.classes.iter().flat_map(|class| &class.unknown_gib);
        steps.extend(unknown.map(|size| Step { name: None, blob_gb: *size as f64, iops: None, mb_per_s: None }));
        steps.sort_by(|a, b| a.blob_gb.total_cmp(&b.blob_gb));
        let storage = Self { files, instance, tier, wishes, steps };
        storage.check()?;
        Ok(storage)
    }

    /// Where files and blobs of so many GB fit that are too much here: this tier with more virtual cores, and other tiers of the day, whose files
    /// share IOPS and MB/s, with as many as carry these.
    pub fn elsewhere(&self, [files_gb, blobs_gb]: [f64; 2], [iops, mb_per_s]: [f64; 2]) -> Vec<Elsewhere> {
        let of = |tier: &InstanceTier| {
            let has_blobs = tier.blobs_tib.is_none_or(|tib| tib * GB_OF_TB >= blobs_gb);
            let carries = |vcores: Option<u32>| {
                let mut shared =
                    tier.shared_io.iter().filter(|shared| vcores.is_none_or(|cores| cores == shared.vcores));
                tier.shared_io.is_empty()
                    || shared.any(|shared| shared.iops >= iops && shared.mb_per_second.is_none_or(|mb| mb >= mb_per_s))
            };
            let all = tier.space.iter().filter(|space| has_blobs && space.tib * GB_OF_TB >= files_gb);
            let each = all.flat_map(|space| {
                let cores = space.vcores.iter().copied().map(Some).chain(space.vcores.is_empty().then_some(None));
                cores.filter(|cores| carries(*cores)).map(move |cores| (cores, space))
            });
            let (vcores, space) = each.min_by_key(|(cores, _)| *cores)?;
            let title = (tier.name != TIER).then(|| tier.title.clone());
            Some(Elsewhere { title, hardware: space.hardware.clone(), vcores, most_gb: space.tib * GB_OF_TB })
        };
        self.instance.tiers.iter().filter_map(of).collect()
    }

    fn check(&self) -> Result<(), StorageError> {
        let Wishes { vcores, space_gb, .. } = self.wishes;
        let (title, day) = (self.tier.title.clone(), self.instance.as_of.to_string());
        let mut known: Vec<u32> = self.tier.space.iter().flat_map(|space| space.vcores.iter().copied()).collect();
        known.sort_unstable();
        known.dedup();
        if let Some(vcores) = vcores.filter(|vcores| !known.is_empty() && !known.contains(vcores)) {
            return Err(StorageError::Vcores { title, day, vcores, known });
        }
        match (space_gb, self.most_gb()) {
            (Some(space_gb), Some(most_gb)) if space_gb > most_gb => {
                Err(StorageError::Space { title, day, vcores, space_gb, most_gb })
            }
            _ => Ok(()),
        }
    }

    /// The most space that such an instance can have, in GB.
    pub fn most_gb(&self) -> Option<f64> {
        self.tier.space_tib(self.wishes.vcores).map(|tib| tib * GB_OF_TB)
    }

    /// The space that all files have, in GB: what was given, or the most.
    pub fn space_gb(&self) -> Option<f64> {
        self.wishes.space_gb.or_else(|| self.most_gb())
    }

    /// By how much the space can be raised, in GB.
    pub fn raise_gb(&self) -> Option<f64> {
        Some(self.most_gb()? - self.space_gb()?)
    }

    /// What the blobs of all files may take together, in GB.
    pub fn blobs_gb(&self) -> Option<f64> {
        self.tier.blobs_tib.map(|tib| tib * GB_OF_TB)
    }

    /// The blob of a file of this size, in GB: of those that were published, or else the largest; where none were, the step itself. `None` if
    /// none holds it.
    pub fn blob_gb(&self, size_gb: f64) -> Option<f64> {
        let step = self.step(size_gb)?;
        let named = &self.tier.blob_gib;
        let above = if named.is_empty() { step } else { self.steps.last()? };
        Some(named.iter().copied().find(|gib| size_gb <= *gib).unwrap_or(above.blob_gb))
    }

    /// How long a read or write takes below its limits, in ms, from the least to the most.
    pub fn unthrottled_ms(&self) -> [f64; 2] {
        let latency = self.files.classes.iter().find_map(|class| class.latency.as_ref());
        let said = latency.and_then(|all| Some([all.read_ms_low?, all.read_ms_high?]));
        said.unwrap_or(UNTHROTTLED_MS)
    }

    /// The most that the data files of tempdb may take, and its log, in GB.
    pub fn tempdb_gb(&self) -> [Option<f64>; 2] {
        let most_cores = self.tier.space.iter().flat_map(|space| space.vcores.iter().copied()).max();
        let vcores = self.wishes.vcores.or(most_cores).map(f64::from);
        let data = self.tier.tempdb_gib_per_vcore.zip(vcores).map(|(each, vcores)| each * vcores);
        [data, self.tier.tempdb_log_gib]
    }

    /// What more virtual cores bring the log.
    pub fn cores(&self) -> Cores {
        if self.tier.log_rate.iter().all(|rate| rate.per_vcore.is_none()) {
            return Cores::Nothing;
        }
        let Some((vcores, now)) = self.wishes.vcores.zip(self.tier.log_mb_per_second(self.wishes.vcores)) else {
            return Cores::Unknown;
        };
        let known = self.tier.space.iter().flat_map(|space| space.vcores.iter().copied());
        let rate = |cores: u32| Some((cores, self.tier.log_mb_per_second(Some(cores))?));
        let more = known.filter(|cores| *cores > vcores).filter_map(rate).filter(|(_, rate)| *rate > now);
        more.min_by_key(|(cores, _)| *cores).map_or(Cores::Nothing, |(cores, rate)| Cores::Faster(cores, rate))
    }

    /// The fastest that the log of one database may grow, in MB/s: the instance's own rate, or that of databases, the smaller counts.
    pub fn log_of_database_mb_per_s(&self) -> Option<f64> {
        let of_instance = self.tier.log_mb_per_second(self.wishes.vcores);
        let [rate] = self.tier.log_rate.as_slice() else { return of_instance };
        [of_instance, rate.instance, rate.database_high].into_iter().flatten().reduce(f64::min)
    }

    /// From which size on a read or write counts as several; where nobody published it, each counts as one.
    pub fn unit_bytes(&self) -> u64 {
        self.files.levels.iter().find_map(|level| level.io_unit_bytes).unwrap_or(u64::MAX)
    }

    /// The smallest step that has so much, and the smallest size in whole GB with it.
    pub fn carries(&self, iops: f64, mb_per_s: f64) -> Option<(&Step, f64)> {
        let has = |limit: Option<f64>, wanted: f64| limit.is_some_and(|limit| limit >= wanted);
        let step = self.steps.iter().find(|step| has(step.iops, iops) && has(step.mb_per_s, mb_per_s))?;
        Some((step, self.begins_gb(step)))
    }

    /// The step of a file of this size; `None` if no blob holds it.
    pub fn step(&self, size_gb: f64) -> Option<&Step> {
        self.steps.iter().find(|step| size_gb <= step.blob_gb)
    }

    /// The smallest size in whole GB that has the limits of this step.
    pub fn begins_gb(&self, step: &Step) -> f64 {
        let is_like = |other: &Step| other.iops == step.iops && other.mb_per_s == step.mb_per_s;
        let first = self.steps.iter().position(is_like).unwrap_or(0);
        first.checked_sub(1).map_or(1.0, |below| self.steps[below].blob_gb.floor() + 1.0)
    }

    /// The next step above one that has more of something, and the size at which it begins: the one below it ends there.
    pub(crate) fn next(&self, step: &Step) -> Option<(&Step, f64)> {
        let has_more = |more: Option<f64>, now: Option<f64>| more.zip(now).is_some_and(|(more, now)| more > now);
        let above = self.steps.iter().position(|next| next.blob_gb > step.blob_gb)?;
        let gains = |next: &Step| has_more(next.iops, step.iops) || has_more(next.mb_per_s, step.mb_per_s);
        let at = (above..self.steps.len()).find(|at| gains(&self.steps[*at]))?;
        Some((&self.steps[at], self.steps[at - 1].blob_gb))
    }
}

impl Step {
    fn of(level: &plimsoll_catalog::DiskLevel) -> Self {
        // Where no blob is named, the catalogue has the size for a name.
        let has_name = !level.name.ends_with("GiB");
        Self {
            name: has_name.then(|| level.name.clone()),
            blob_gb: (level.size_bytes >> 30) as f64,
            iops: Some(level.iops),
            mb_per_s: Some(level.bandwidth_mb_per_second),
        }
    }
}
