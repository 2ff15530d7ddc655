//! Runs that can stand side by side: those with the same figure as headline.

use plimsoll_measurement::{Figure, RunRecord};

use super::order::{distinct, grouped};
use super::short::shortened;
use crate::model::format::{marked_basis, moment, plain};

/// Runs with one figure in common, and that figure.
pub type Family<'a> = Vec<(&'a RunRecord, &'a Figure)>;

/// Runs with the same figure in the same unit as headline, in order of appearance; none of a single run. Where several
/// tests share a figure on several targets, each test is a family of its own: a campaign's question is the target.
pub fn families(records: &[RunRecord]) -> Vec<Family<'_>> {
    let known = records.iter().filter_map(|record| Some((record, record.result.as_ref()?)));
    let families = grouped(known.map(|(record, figure)| ((&figure.metric, &figure.unit), (record, figure))));
    let families = families.into_iter().flat_map(|(_, family)| by_test(family));
    families.filter(|family| family.len() > 1).collect()
}

/// The family by its tests, if both tests and targets differ in it.
fn by_test(family: Family<'_>) -> Vec<Family<'_>> {
    let differs = |of: fn(&RunRecord) -> &str| family.iter().any(|(run, _)| of(run) != of(family[0].0));
    if !differs(|run| &run.test) || !differs(|run| &run.target) {
        return vec![family];
    }
    grouped(family.into_iter().map(|one| (&one.0.test, one))).into_iter().map(|(_, family)| family).collect()
}

/// What tells the runs of a family apart.
pub fn names(family: &Family<'_>) -> Vec<String> {
    labels(&family.iter().map(|(record, _)| *record).collect::<Vec<_>>())
}

/// What tells the runs apart: the labels where all have one of their own, else the target, then the test and the start (or the run itself) where they are needed.
pub fn labels(runs: &[&RunRecord]) -> Vec<String> {
    let called: Vec<String> = runs.iter().filter_map(|run| run.label.as_deref().map(plain)).collect();
    if called.len() == runs.len() && distinct(called.iter()).len() == called.len() {
        return called;
    }
    let tests_differ = runs.iter().any(|run| run.test != runs[0].test);
    let targets = shortened(&runs.iter().map(|run| plain(&run.target)).collect::<Vec<_>>());
    let label = |(run, target): (&&RunRecord, String)| {
        let mut label = format!("{target}{}", marked_basis(run.basis));
        if tests_differ {
            label = format!("{label}, {}", plain(&run.test));
        }
        let same = || runs.iter().filter(|other| other.target == run.target && other.test == run.test);
        if same().count() > 1 {
            let alone = |part: fn(&RunRecord) -> &str| same().filter(|other| part(other) == part(run)).count() == 1;
            // Virtual time begins at the same moment in every run.
            let own = match run.engine_version.as_deref() {
                Some(version) if alone(|run| run.engine_version.as_deref().unwrap_or_default()) => plain(version),
                _ if alone(|run| &run.started_at) => moment(&run.started_at),
                _ => plain(&run.run_id),
            };
            label = format!("{label}, {own}");
        }
        label
    };
    runs.iter().zip(targets).map(label).collect()
}
