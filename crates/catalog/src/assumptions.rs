//! What the lab adds to the editions of a service: the shape of its file, and the rules it has to keep.

use crate::CatalogError;
use crate::lab_level::{Access, Quantity};
use crate::model::{Basis, Edition, Metric};
use crate::parse::{File, Problem, check_positive, check_text, check_texts};
use crate::sourced::QuantilesMs;
use serde::Deserialize;

/// The additions for one service; see the head of the file in `data/`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Assumptions {
    pub service: String,
    pub scan_cpu: Option<ScanCpu>,
    #[serde(default)]
    pub statements: Vec<Statement>,
    #[serde(default)]
    pub values: Vec<Assumption>,
    #[serde(default)]
    pub in_place: Vec<InPlace>,
    #[serde(default)]
    pub neighbours: Vec<Neighbour>,
    pub tiers: Vec<TierAssumption>,
}

/// The figure that gives the CPU cost of reading.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScanCpu {
    pub edition: String,
    pub level: String,
    pub rule: String,
}

/// A note of an edition turned into a number.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Statement {
    pub edition: String,
    pub level: String,
    pub quantity: Quantity,
    pub factor: f64,
    pub of: Place,
    pub basis: Basis,
    pub rule: String,
    pub source: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place {
    pub edition: String,
    pub level: String,
}

/// One number for a level or a tier.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Assumption {
    pub level: Option<String>,
    pub tier: Option<String>,
    pub quantity: Quantity,
    pub value: f64,
    pub rule: String,
    pub source: String,
}

/// A change of tier for which no data moves.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InPlace {
    pub generation: String,
    pub from: String,
    pub to: String,
    pub rule: String,
    pub source: String,
}

/// A level that others disturb.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Neighbour {
    pub level: String,
    pub edition: String,
    pub metric: Metric,
    pub label: String,
    pub applies_to: Access,
    pub low_dwell_seconds: f64,
    pub high_dwell_seconds: f64,
    pub rule: String,
}

/// What holds for all levels of some tiers.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TierAssumption {
    pub tiers: Vec<String>,
    pub rule: String,
    pub source: String,
    pub data_read_ms: QuantilesMs,
    pub data_write_ms: QuantilesMs,
    pub log_write_ms: QuantilesMs,
    pub iops_per_dtu: Option<IopsPerDtu>,
}

/// How many operations a second a DTU is worth.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IopsPerDtu {
    pub value: f64,
    pub rule: String,
}

impl Assumptions {
    pub fn tier(&self, tier: &str) -> Option<&TierAssumption> {
        self.tiers.iter().find(|entry| entry.tiers.iter().any(|name| name == tier))
    }
}

/// Reads the additions of all files; whatever they name has to be in `editions`, and a service may occur once.
pub(crate) fn assumptions(files: &[(&str, &str)], editions: &[Edition]) -> Result<Vec<Assumptions>, CatalogError> {
    let mut all: Vec<Assumptions> = Vec::with_capacity(files.len());
    for (name, text) in files {
        let file = File { name, text };
        let read: Assumptions = file.read()?;
        if all.iter().any(|known| known.service == read.service) {
            return Err(file.invalid(0, format!("duplicate service '{}'", read.service)));
        }
        check(&file, &read, editions)?;
        all.push(read);
    }
    Ok(all)
}

fn check(file: &File<'_>, read: &Assumptions, editions: &[Edition]) -> Result<(), CatalogError> {
    let of_service: Vec<_> = editions.iter().filter(|edition| edition.service == read.service).collect();
    if of_service.is_empty() {
        return Err(file.invalid(0, format!("no edition of service '{}'", read.service)));
    }
    if let Some(scan) = &read.scan_cpu {
        file.at("scan_cpu", check_scan(scan, &of_service))?;
    }
    check_all(file, "statements", &read.statements, |statement| check_statement(statement, &of_service))?;
    check_all(file, "values", &read.values, |assumption| check_assumption(assumption, &of_service))?;
    check_all(file, "in_place", &read.in_place, |change| check_in_place(change, &of_service))?;
    check_all(file, "neighbours", &read.neighbours, |neighbour| check_neighbour(neighbour, &of_service))?;
    check_all(file, "tiers", &read.tiers, check_tier)
}

fn check_all<T>(
    file: &File<'_>,
    key: &str,
    all: &[T],
    check: impl Fn(&T) -> Result<(), Problem>,
) -> Result<(), CatalogError> {
    all.iter().zip(0..).try_for_each(|(one, at)| file.at(&format!("{key}.{at}"), check(one)))
}

fn level_at<'a>(editions: &[&'a Edition], edition: &str, level: &str) -> Result<&'a crate::Level, Problem> {
    let edition = editions
        .iter()
        .find(|known| known.name == edition)
        .ok_or_else(|| format!("names edition '{edition}', which the service does not have"))?;
    edition
        .levels
        .iter()
        .find(|known| known.name == level)
        .ok_or_else(|| format!("names level '{level}', which edition '{}' does not have", edition.name))
}

fn check_scan(scan: &ScanCpu, editions: &[&Edition]) -> Result<(), Problem> {
    check_text("rule", &scan.rule)?;
    let level = level_at(editions, &scan.edition, &scan.level)?;
    match (&level.dtu, level.figure(Metric::ReadRate).and_then(|figure| figure.value)) {
        (Some(_), Some(_)) => Ok(()),
        _ => Err(format!("level '{}' of edition '{}' lacks a read rate or its DTU", scan.level, scan.edition)),
    }
}

fn check_statement(statement: &Statement, editions: &[&Edition]) -> Result<(), Problem> {
    check_positive("factor", statement.factor)?;
    check_texts(&[("rule", &statement.rule), ("source", &statement.source)])?;
    let metric = statement.quantity.metric().ok_or("a DTU is not stated but assumed")?;
    if level_at(editions, &statement.edition, &statement.level)?.figure(metric).is_some() {
        return Err(format!("level '{}' has a figure, which a statement must not replace", statement.level));
    }
    if level_at(editions, &statement.of.edition, &statement.of.level)?.figure(metric).is_none() {
        return Err(format!("level '{}' of edition '{}' has no such figure", statement.of.level, statement.of.edition));
    }
    Ok(())
}

fn check_assumption(assumption: &Assumption, editions: &[&Edition]) -> Result<(), Problem> {
    check_positive("value", assumption.value)?;
    check_texts(&[("rule", &assumption.rule), ("source", &assumption.source)])?;
    let mut levels = editions.iter().flat_map(|edition| &edition.levels);
    match (&assumption.level, &assumption.tier) {
        (Some(name), None) if levels.any(|level| level.name == *name) => Ok(()),
        (None, Some(tier)) if levels.any(|level| level.tier == *tier) => Ok(()),
        (Some(name), None) | (None, Some(name)) => Err(format!("no edition of the service has '{name}'")),
        _ => Err("expected either level or tier".to_owned()),
    }
}

fn check_in_place(change: &InPlace, editions: &[&Edition]) -> Result<(), Problem> {
    check_texts(&[("rule", &change.rule), ("source", &change.source)])?;
    let generation = |edition: &&&Edition| edition.generation.as_deref() == Some(&change.generation);
    let levels: Vec<_> = editions.iter().filter(generation).flat_map(|edition| &edition.levels).collect();
    match [&change.from, &change.to].into_iter().find(|tier| levels.iter().all(|level| level.tier != **tier)) {
        Some(tier) => Err(format!("no edition of generation '{}' has tier '{tier}'", change.generation)),
        None if change.from == change.to => Err("expected two tiers".to_owned()),
        None => Ok(()),
    }
}

fn check_neighbour(neighbour: &Neighbour, editions: &[&Edition]) -> Result<(), Problem> {
    check_positive("low_dwell_seconds", neighbour.low_dwell_seconds)?;
    check_positive("high_dwell_seconds", neighbour.high_dwell_seconds)?;
    check_text("rule", &neighbour.rule)?;
    let level = level_at(editions, &neighbour.edition, &neighbour.level)?;
    let labelled = |figure: &crate::Figure| figure.label.as_deref() == Some(&neighbour.label) && figure.low.is_some();
    if level.figures_of(neighbour.metric).any(labelled) && level.figure(neighbour.metric).is_some_and(|f| !labelled(f))
    {
        Ok(())
    } else {
        Err(format!("level '{}' has no main figure and none with two rates '{}'", neighbour.level, neighbour.label))
    }
}

fn check_tier(tier: &TierAssumption) -> Result<(), Problem> {
    check_texts(&[("rule", &tier.rule), ("source", &tier.source)])?;
    for (key, quantiles) in [
        ("data_read_ms", tier.data_read_ms),
        ("data_write_ms", tier.data_write_ms),
        ("log_write_ms", tier.log_write_ms),
    ] {
        check_quantiles(quantiles).map_err(|problem| format!("{key}: {problem}"))?;
    }
    if let Some(iops) = &tier.iops_per_dtu {
        check_positive("iops_per_dtu", iops.value)?;
        check_text("rule of iops_per_dtu", &iops.rule)?;
    }
    Ok(())
}

/// All positive and rising.
pub(crate) fn check_quantiles(quantiles: QuantilesMs) -> Result<(), Problem> {
    let points = quantiles.points();
    points.iter().try_for_each(|(share, ms)| check_positive(&format!("p{}", share * 100.0), *ms))?;
    if points.windows(2).all(|pair| pair[0].1 <= pair[1].1) { Ok(()) } else { Err("quantiles fall".to_owned()) }
}
