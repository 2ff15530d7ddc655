//! `--reference` and `--anchor`: what the CPU ladder is held against.

use plimsoll_analysis::ladder::{Anchor, AnchorTimes, cpu_table};
use plimsoll_catalog::Catalog;
use plimsoll_measurement::{Repetition, RunRecord};
use plimsoll_store::RunStore;

use crate::args::Multiples;
use crate::failure::Failure;

/// The word that stands for the catalogue's fit.
const CATALOG: &str = "catalog";

/// The runs behind the multiples, loaded.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Run that counts as 1.
    pub reference: Option<(String, Vec<Repetition>)>,
    /// What has a known DTU.
    pub anchor: Option<Anchor>,
    /// Edition of the catalogue that the anchor's fit is from.
    pub catalog_edition: Option<String>,
}

impl Loaded {
    /// Loads what the options name.
    pub fn load(options: &Multiples, store: &RunStore) -> Result<Self, Failure> {
        let reference = match &options.reference {
            Some(id) => Some(ladder_of(store.record(id)?)?),
            None => None,
        };
        let loaded = Self { reference, ..Self::default() };
        Ok(match options.anchor.as_deref() {
            None => loaded,
            Some(CATALOG) => {
                let fit = Catalog::builtin()?.dtu_anchor()?;
                let name = format!("{}/{}@{}, {}", fit.service, fit.level, fit.edition, fit.basis.name());
                let times = AnchorTimes::Square(fit.coefficient_seconds);
                let catalog_edition = Some(format!("{}@{}", fit.service, fit.edition));
                Self { anchor: Some(Anchor { name, dtu: fit.dtu, times }), catalog_edition, ..loaded }
            }
            Some(text) => {
                let parts = text.split_once('=').and_then(|(id, dtu)| Some((id, dtu.parse::<f64>().ok()?)));
                let (id, dtu) = parts.filter(|(_, dtu)| dtu.is_finite() && *dtu > 0.0).ok_or_else(|| {
                    Failure::usage(format!("--anchor {text} is not of the form RUN=DTU"))
                        .hint("such as --anchor latest=50, or --anchor catalog for the published fit")
                })?;
                let (name, repetitions) = ladder_of(store.record(id)?)?;
                let anchor = Anchor { name, dtu, times: AnchorTimes::Measured(repetitions) };
                Self { anchor: Some(anchor), ..loaded }
            }
        })
    }
}

/// Puts the multiples into the ladders of stored runs, if any were asked for.
pub fn apply(options: &Multiples, store: &RunStore, records: &mut [RunRecord]) -> Result<(), Failure> {
    if options.reference.is_none() && options.anchor.is_none() {
        return Ok(());
    }
    let loaded = Loaded::load(options, store)?;
    for record in records.iter_mut().filter(|record| record.cpu_table.is_some()) {
        let reference = loaded.reference.as_ref().map(|(id, repetitions)| (id.as_str(), repetitions.as_slice()));
        record.cpu_table = Some(cpu_table(&record.repetitions, reference, loaded.anchor.as_ref()));
        record.catalog_edition = loaded.catalog_edition.clone().or(record.catalog_edition.take());
    }
    Ok(())
}

fn ladder_of(record: RunRecord) -> Result<(String, Vec<Repetition>), Failure> {
    if record.cpu_table.is_none() {
        let message = format!("run {} is of the test {} and has no CPU ladder", record.run_id, record.test);
        return Err(Failure::usage(message).hint("name a run of cpu-join"));
    }
    Ok((record.run_id, record.repetitions))
}
