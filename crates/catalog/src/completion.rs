//! The rules that complete a level, one function each; [`crate::lab`] says them in words.

use crate::CatalogError;
use crate::assumptions::{Assumptions, Statement, TierAssumption};
use crate::catalog::{Catalog, LevelAt};
use crate::lab_level::{NeighbourFigures, Quantity};
use crate::limit::{amount, limit};
use crate::model::{Basis, Edition, Level, Metric};
use crate::sourced::Sourced;
use std::cmp::Reverse;

/// The rules over the editions of one service.
pub(crate) struct Completion<'a> {
    editions: Vec<&'a Edition>,
    assumptions: Option<&'a Assumptions>,
}

impl<'a> Completion<'a> {
    /// For the levels of the service that has `edition`.
    pub fn new(catalog: &'a Catalog, edition: &Edition) -> Self {
        let editions = catalog.editions().iter().filter(|other| other.service == edition.service).collect();
        Self { editions, assumptions: catalog.assumptions_of(&edition.service) }
    }

    /// A number of a level by the first rule that gives it.
    pub fn complete(&self, at: LevelAt<'_>, quantity: Quantity) -> Result<Sourced, CatalogError> {
        let scaled = || if quantity == Quantity::Dtu { None } else { self.scaled(at, quantity) };
        self.own(at, quantity)
            .or_else(|| self.carried_over(at, quantity, true))
            .or_else(scaled)
            .or_else(|| self.assumed(at, quantity))
            .or_else(|| self.carried_over(at, quantity, false))
            .ok_or_else(|| incomplete(at, quantity.name()))
    }

    /// How fast the service moves databases, as far as that was published of this generation.
    pub fn movement_rate(&self, at: LevelAt<'_>) -> Option<Sourced> {
        self.own(at, Quantity::MovementRate).or_else(|| self.carried_over(at, Quantity::MovementRate, true))
    }

    /// What is assumed for all levels of the level's tier.
    pub fn tier(&self, at: LevelAt<'_>) -> Result<&'a TierAssumption, CatalogError> {
        let tier = self.assumptions.and_then(|assumptions| assumptions.tier(&at.level.tier));
        tier.ok_or_else(|| incomplete(at, "latencies"))
    }

    /// Rules 1 and 2: what the edition itself says.
    fn own(&self, at: LevelAt<'_>, quantity: Quantity) -> Option<Sourced> {
        let Some(metric) = quantity.metric() else { return own_dtu(at) };
        at.level
            .figure(metric)
            .and_then(|figure| limit(figure, at.edition.as_of))
            .or_else(|| self.stated(at, quantity, metric))
    }

    /// Rule 2. The statement's base is a figure, never another statement, as the file is checked for.
    fn stated(&self, at: LevelAt<'_>, quantity: Quantity, metric: Metric) -> Option<Sourced> {
        let applies = |statement: &&Statement| {
            statement.quantity == quantity && statement.edition == at.edition.name && statement.level == at.level.name
        };
        let Statement { factor, of, basis, rule, source, .. } = self.assumptions?.statements.iter().find(applies)?;
        let edition = self.editions.iter().find(|edition| edition.name == of.edition)?;
        let base = limit(edition.levels.iter().find(|level| level.name == of.level)?.figure(metric)?, edition.as_of)?;
        let rule = format!("{rule}: {factor} x {} {} ({} {})", amount(base.value), metric.unit(), of.level, of.edition);
        Some(Sourced::of(base.value * factor, *basis, rule, source, Some(at.edition.as_of)))
    }

    /// Rules 3 and 6: the level in the nearest edition of the same generation, or of the others.
    fn carried_over(&self, at: LevelAt<'_>, quantity: Quantity, same_generation: bool) -> Option<Sourced> {
        let today = at.edition.as_of.day_number();
        let candidates = self.editions.iter().filter_map(|edition| {
            let wanted =
                edition.name != at.edition.name && (edition.generation == at.edition.generation) == same_generation;
            let level = edition.levels.iter().find(|level| wanted && level.name == at.level.name)?;
            Some((*edition, self.own(LevelAt { edition, level }, quantity)?))
        });
        // Of two at the same distance the later, since what changed stays changed.
        let distance = |edition: &Edition| {
            let day = edition.as_of.day_number();
            (edition.as_of_note.is_some(), (day - today).abs(), Reverse(day))
        };
        let (edition, found) = candidates.min_by_key(|(edition, _)| distance(edition))?;
        Some(Sourced {
            basis: Basis::Assumed,
            rule: format!("carried over from {}: {}", edition.name, found.rule),
            published_here: false,
            ..found
        })
    }

    /// Rule 4: by DTU from the other levels of the edition.
    fn scaled(&self, at: LevelAt<'_>, quantity: Quantity) -> Option<Sourced> {
        let dtu = self.complete(at, Quantity::Dtu).ok()?.value;
        let mut known: Vec<_> =
            at.edition.levels.iter().filter_map(|level| self.rung(at.edition, level, quantity)).collect();
        if known.iter().any(|rung| rung.level.tier == at.level.tier) {
            known.retain(|rung| rung.level.tier == at.level.tier);
        }
        let below = known.iter().filter(|rung| rung.dtu <= dtu).max_by(|a, b| a.dtu.total_cmp(&b.dtu));
        let above = known.iter().filter(|rung| rung.dtu > dtu).min_by(|a, b| a.dtu.total_cmp(&b.dtu));
        let unit = quantity.metric()?.unit();
        let (value, rule, source) = match (below, above) {
            (Some(low), Some(high)) => (
                low.value + (high.value - low.value) * (dtu - low.dtu) / (high.dtu - low.dtu),
                format!("scaled by DTU between {} and {}", low.describe(unit), high.describe(unit)),
                format!("{}; {}", low.source, high.source),
            ),
            (Some(only), None) | (None, Some(only)) => (
                only.value * dtu / only.dtu,
                format!("scaled by DTU from {}", only.describe(unit)),
                only.source.clone(),
            ),
            (None, None) => return None,
        };
        Some(Sourced::of(value, Basis::Assumed, rule, &source, Some(at.edition.as_of)))
    }

    fn rung<'b>(&self, edition: &Edition, level: &'b Level, quantity: Quantity) -> Option<Rung<'b>> {
        let at = LevelAt { edition, level };
        let known = self.own(at, quantity).or_else(|| self.carried_over(at, quantity, true))?;
        let dtu = self.complete(at, Quantity::Dtu).ok()?.value;
        Some(Rung { level, dtu, value: known.value, source: known.source })
    }

    /// Rule 5: what the file assumes for the level, else for its tier.
    fn assumed(&self, at: LevelAt<'_>, quantity: Quantity) -> Option<Sourced> {
        let values = self.assumptions.iter().flat_map(|file| &file.values);
        let all = || values.clone().filter(|entry| entry.quantity == quantity);
        let of_level = all().find(|entry| entry.level.as_ref() == Some(&at.level.name));
        let found = of_level.or_else(|| all().find(|entry| entry.tier.as_ref() == Some(&at.level.tier)))?;
        Some(Sourced::of(found.value, Basis::Assumed, found.rule.clone(), &found.source, None))
    }

    /// The neighbours that disturb the level: seen in one edition, taken for all that have the level. The factors are
    /// the two rates over the mean of that edition.
    pub fn neighbour(&self, at: LevelAt<'_>) -> Option<NeighbourFigures> {
        let seen = self.assumptions?.neighbours.iter().find(|entry| entry.level == at.level.name)?;
        let edition = self.editions.iter().find(|edition| edition.name == seen.edition)?;
        let level = edition.levels.iter().find(|level| level.name == seen.level)?;
        let mean = limit(level.figure(seen.metric)?, edition.as_of)?.value;
        let rates = level.figures_of(seen.metric).find(|figure| figure.label.as_deref() == Some(&seen.label))?;
        let here = edition.name == at.edition.name;
        Some(NeighbourFigures {
            low_factor: rates.low? / mean,
            high_factor: rates.high? / mean,
            low_dwell_seconds: seen.low_dwell_seconds,
            high_dwell_seconds: seen.high_dwell_seconds,
            applies_to: seen.applies_to,
            basis: Basis::Assumed,
            rule: if here {
                format!("{rates}: {}", seen.rule)
            } else {
                format!("carried over from {}: {rates}: {}", edition.name, seen.rule)
            },
            source: rates.source.clone(),
        })
    }
}

/// A level of an edition with a known number and capacity.
struct Rung<'a> {
    level: &'a Level,
    dtu: f64,
    value: f64,
    source: String,
}

impl Rung<'_> {
    fn describe(&self, unit: &str) -> String {
        format!("{} ({} {unit} at {} DTU)", self.level.name, amount(self.value), self.dtu)
    }
}

/// The DTU that the edition gives a level. They count as published if printed, and also if the level's CPU time is,
/// on which they then rest.
fn own_dtu(at: LevelAt<'_>) -> Option<Sourced> {
    let level = at.level;
    let dtu = level.dtu.as_ref()?;
    let has_time = level.figures_of(Metric::CpuSeconds).any(|figure| figure.basis == Basis::Printed);
    let rule = match (&dtu.note, dtu.basis) {
        (Some(note), _) => format!("{} DTU, {}: {}", dtu.value, dtu.basis.name(), note.trim_end_matches('.')),
        (None, basis) => format!("{} DTU, {}", dtu.value, basis.name()),
    };
    Some(Sourced {
        value: dtu.value,
        basis: dtu.basis,
        rule,
        source: dtu.source.clone(),
        as_of: Some(at.edition.as_of),
        published_here: dtu.basis == Basis::Printed || has_time,
    })
}

fn incomplete(at: LevelAt<'_>, missing: &str) -> CatalogError {
    CatalogError::Incomplete {
        service: at.edition.service.clone(),
        edition: at.edition.name.clone(),
        level: at.level.name.clone(),
        missing: missing.to_owned(),
    }
}
