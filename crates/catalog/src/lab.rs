//! A level as the lab builds it: every number there, each with where it comes from.
//!
//! The editions leave gaps, and a lab level must have none. The rules that fill them, in this order:
//!
//! 1. *Own figure.* What this edition has for the level. The limit is figure / utilisation at which it was read; if the
//!    utilisation isn't stated, 100 % is assumed. Of a range the middle, of a lower bound the bound, of several runs
//!    the first.
//! 2. *Statement.* A sentence of the edition ("writes nearly 3 x v11") turned into a factor on another level's figure.
//! 3. *Carried over.* The level in the nearest edition by date of the same generation; an edition without an exact day
//!    is asked last.
//! 4. *Scaled by DTU* from the levels of the same edition (of the same tier if one of them has the number). It is
//!    linear between the neighbours on both sides, proportional where there is one on one side only. A level that has
//!    the number from rule 1 to 3 counts.
//! 5. *Assumption* for the level, else for its tier.
//! 6. *Another generation*: as 3, of other generations. It comes last since v11 and v12 differ by a factor of ten.
//!
//! Capacity in DTU follows 1, 3, 5 and 6. It is published here if the edition prints it or a CPU time of the level. The
//! rate at which the service moves whole databases follows 1 to 3 only: it goes with the service and not with a level's
//! capacity. Where nobody published one, a level's devices are all there is. Latencies and IOPS are assumptions of the
//! tier. What comes from rule 1 with a printed figure that is no mere bound is [`Sourced::published_here`], and nothing
//! else is; where the utilisation is assumed, so is the limit.

use crate::assumptions::{Access, TierAssumption};
use crate::catalog::{Catalog, LevelAt};
use crate::completion::Completion;
use crate::model::{Basis, Figure, Metric};
use crate::sourced::{LatencyQuantiles, QuantilesMs, Sourced};
use crate::{CatalogError, Date};
use serde::{Deserialize, Serialize};

/// What the lab needs of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Data content read a minute with data IO at its limit.
    ReadRate,
    /// Data content written a minute with the log at its limit.
    WriteRate,
    /// Memory for cached data.
    Memory,
    /// CPU capacity.
    Dtu,
    /// How much of a database the service moves a minute: restores and changes of level.
    MovementRate,
}

impl Quantity {
    /// The metric of its figures; DTU are an attribute of a level, not a figure.
    pub(crate) const fn metric(self) -> Option<Metric> {
        match self {
            Self::ReadRate => Some(Metric::ReadRate),
            Self::WriteRate => Some(Metric::WriteRate),
            Self::Memory => Some(Metric::Memory),
            Self::Dtu => None,
            Self::MovementRate => Some(Metric::RestoreRate),
        }
    }

    /// The name in files and errors.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadRate => "read_rate",
            Self::WriteRate => "write_rate",
            Self::Memory => "memory",
            Self::Dtu => "dtu",
            Self::MovementRate => "movement_rate",
        }
    }
}

/// A complete level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabLevel {
    /// The service, as targets name it.
    pub service: String,
    /// The level's own name, also where an alias was asked for.
    pub level: String,
    /// The edition it was found in.
    pub edition: String,
    /// The day of the edition.
    pub as_of: Date,
    /// The level's tier.
    pub tier: String,
    /// MB of data content a minute at 100 % of the data IO limit.
    pub read_rate: Sourced,
    /// The read figure of this level and edition with its utilisation, for display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_figure: Option<Figure>,
    /// MB of data content a minute at 100 % of the log limit.
    pub write_rate: Sourced,
    /// The write figure of this level and edition with its utilisation, for display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_figure: Option<Figure>,
    /// MB of memory for cached data.
    pub memory_mb: Sourced,
    /// CPU capacity relative to 50 for S2.
    pub dtu: Sourced,
    /// MB of database a minute that the service moves when it restores one or gives it another level; absent where nobody
    /// has published that of this generation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub movement_rate: Option<Sourced>,
    /// Reads of data files.
    pub data_read_latency: LatencyQuantiles,
    /// Writes of data files.
    pub data_write_latency: LatencyQuantiles,
    /// Writes of the log.
    pub log_write_latency: LatencyQuantiles,
    /// Operations a second on data files; absent where the tier has no such rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iops: Option<Sourced>,
    /// The neighbours that disturb the level, if that was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbour: Option<NeighbourFigures>,
}

/// A neighbour that switches a limit between two rates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NeighbourFigures {
    /// Share of the limit while the neighbour works.
    pub low_factor: f64,
    /// Share of the limit while it does not; above 1, since the limit stands for the mean.
    pub high_factor: f64,
    /// How long the low state lasts on average, at full volumes: whoever scales volumes scales this as well.
    pub low_dwell_seconds: f64,
    /// How long the high state lasts on average, at full volumes.
    pub high_dwell_seconds: f64,
    /// Which limit it disturbs.
    pub applies_to: Access,
    /// How it is known.
    pub basis: Basis,
    /// How it came about, in one sentence.
    pub rule: String,
    /// The source of what it rests on.
    pub source: String,
}

impl Catalog {
    /// A level with every number the lab needs, by the rules of this module; without an edition, in the newest that
    /// has the level.
    ///
    /// # Errors
    /// As [`Catalog::level`]; [`CatalogError::Incomplete`] if a number is neither known nor assumed, which the tests
    /// rule out for the built-in catalogue.
    pub fn lab_level(&self, service: &str, level: &str, edition: Option<&str>) -> Result<LabLevel, CatalogError> {
        let at = self.level(service, level, edition)?;
        let completion = Completion::new(self, at.edition);
        let tier = completion.tier(at)?;
        let dtu = completion.complete(at, Quantity::Dtu)?;
        let own = |metric| at.level.figure(metric).cloned();
        Ok(LabLevel {
            service: at.edition.service.clone(),
            level: at.level.name.clone(),
            edition: at.edition.name.clone(),
            as_of: at.edition.as_of,
            tier: at.level.tier.clone(),
            read_rate: completion.complete(at, Quantity::ReadRate)?,
            read_figure: own(Metric::ReadRate),
            write_rate: completion.complete(at, Quantity::WriteRate)?,
            write_figure: own(Metric::WriteRate),
            memory_mb: completion.complete(at, Quantity::Memory)?,
            movement_rate: completion.movement_rate(at),
            data_read_latency: tier.latency(tier.data_read_ms),
            data_write_latency: tier.latency(tier.data_write_ms),
            log_write_latency: tier.latency(tier.log_write_ms),
            iops: tier.iops(&dtu),
            neighbour: completion.neighbour(at),
            dtu,
        })
    }

    /// Every level with at least one printed figure of what the lab measures: read rate, write rate, memory or CPU
    /// time. In the order of [`Catalog::levels`].
    pub fn lab_levels(&self) -> impl Iterator<Item = LevelAt<'_>> {
        let measured = [Metric::ReadRate, Metric::WriteRate, Metric::Memory, Metric::CpuSeconds];
        let printed = move |figure: &Figure| figure.basis == Basis::Printed && measured.contains(&figure.metric);
        self.levels().filter(move |at| at.level.figures.iter().any(printed))
    }

    /// MB of data content a minute that 100 DTU's worth of CPU can scan. At one level of a service the scan ran below
    /// its data IO limit. What is not that limit is taken to be CPU, which gives the CPU cost of a page read.
    ///
    /// # Errors
    /// [`CatalogError::UnknownService`], or [`CatalogError::Incomplete`] if the service has no such figure.
    pub fn scan_mb_per_minute_at_100_dtu(&self, service: &str) -> Result<Sourced, CatalogError> {
        let editions = self.editions_of(service)?;
        let scan = self.assumptions_of(service).and_then(|assumptions| assumptions.scan_cpu.as_ref());
        let found = scan.and_then(|scan| {
            let scan = scan.get_ref();
            let edition = editions.iter().find(|edition| edition.name == scan.edition)?;
            let level = edition.levels.iter().find(|level| level.name == scan.level)?;
            let (figure, dtu) = (level.figure(Metric::ReadRate)?, level.dtu.as_ref()?);
            Some(Sourced {
                value: figure.value? * 100.0 / dtu.value,
                basis: Basis::Derived,
                rule: format!("{figure} at {} DTU ({} {}): {}", dtu.value, level.name, edition.name, scan.rule),
                source: figure.source.clone(),
                as_of: Some(edition.as_of),
                published_here: false,
            })
        });
        found.ok_or_else(|| CatalogError::Incomplete {
            service: service.to_owned(),
            edition: editions[editions.len() - 1].name.clone(),
            level: "any".to_owned(),
            missing: "CPU cost of a scan".to_owned(),
        })
    }
}

impl TierAssumption {
    fn latency(&self, ms: QuantilesMs) -> LatencyQuantiles {
        LatencyQuantiles { ms, basis: Basis::Assumed, rule: self.rule.clone(), source: self.source.clone() }
    }

    fn iops(&self, dtu: &Sourced) -> Option<Sourced> {
        let per_dtu = self.iops_per_dtu.as_ref()?;
        Some(Sourced {
            value: per_dtu.value * dtu.value,
            basis: Basis::Assumed,
            rule: format!("{} DTU x {}", dtu.value, per_dtu.rule),
            source: self.source.clone(),
            as_of: None,
            published_here: false,
        })
    }
}
