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

use crate::CatalogError;
use crate::assumptions::TierAssumption;
use crate::catalog::{Catalog, LevelAt};
use crate::completion::Completion;
use crate::lab_level::{LabLevel, Quantity};
use crate::model::{Basis, Figure, Metric};
use crate::sourced::{LatencyQuantiles, QuantilesMs, Sourced};

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
        Ok(LabLevel {
            service: at.edition.service.clone(),
            level: at.level.name.clone(),
            edition: at.edition.name.clone(),
            as_of: at.edition.as_of,
            tier: at.level.tier.clone(),
            read_rate: completion.complete(at, Quantity::ReadRate)?,
            write_rate: completion.complete(at, Quantity::WriteRate)?,
            memory_mb: completion.complete(at, Quantity::Memory)?,
            movement_rate: completion.movement_rate(at),
            in_place: self.in_place(at),
            data_read_latency: tier.latency(tier.data_read_ms),
            data_write_latency: tier.latency(tier.data_write_ms),
            log_write_latency: tier.latency(tier.log_write_ms),
            iops: tier.iops(&dtu),
            neighbour: completion.neighbour(at),
            dtu,
        })
    }

    fn in_place(&self, at: LevelAt<'_>) -> Vec<String> {
        let known = self.assumptions_of(&at.edition.service).into_iter().flat_map(|all| &all.in_place);
        let from_here = known.filter(|change| {
            at.edition.generation.as_ref() == Some(&change.generation) && change.from == at.level.tier
        });
        from_here.map(|change| change.to.clone()).collect()
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
            let edition = editions.iter().find(|edition| edition.name == scan.edition)?;
            let level = edition.levels.iter().find(|level| level.name == scan.level)?;
            let (figure, dtu) = (level.figure(Metric::ReadRate)?, level.dtu.as_ref()?);
            let rule = format!("{figure} at {} DTU ({} {}): {}", dtu.value, level.name, edition.name, scan.rule);
            let value = figure.value? * 100.0 / dtu.value;
            Some(Sourced::of(value, Basis::Derived, rule, &figure.source, Some(edition.as_of)))
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
        let rule = format!("{} DTU x {}", dtu.value, per_dtu.rule);
        Some(Sourced::of(per_dtu.value * dtu.value, Basis::Assumed, rule, &self.source, None))
    }
}
