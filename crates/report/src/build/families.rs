//! Runs that can stand side by side: those with the same figure as headline.

use plimsoll_measurement::{Figure, RunRecord};

use crate::model::format::{marked_basis, moment, plain};

/// Runs with one figure in common, and that figure.
pub type Family<'a> = Vec<(&'a RunRecord, &'a Figure)>;

/// Runs with the same figure in the same unit as headline, in order of appearance; none of a single run. Where several
/// tests share a figure on several targets, each test is a family of its own: a campaign's question is the target.
pub fn families(records: &[RunRecord]) -> Vec<Family<'_>> {
    let mut families: Vec<Family<'_>> = Vec::new();
    for record in records {
        let Some(figure) = &record.result else { continue };
        let same = |family: &&mut Family<'_>| family[0].1.metric == figure.metric && family[0].1.unit == figure.unit;
        match families.iter_mut().find(same) {
            Some(family) => family.push((record, figure)),
            None => families.push(vec![(record, figure)]),
        }
    }
    let mut families: Vec<Family<'_>> = families.into_iter().flat_map(by_test).collect();
    families.retain(|family| family.len() > 1);
    families
}

/// The family by its tests, if both tests and targets differ in it.
fn by_test(family: Family<'_>) -> Vec<Family<'_>> {
    let differs = |of: fn(&RunRecord) -> &str| family.iter().any(|(run, _)| of(run) != of(family[0].0));
    if !differs(|run| &run.test) || !differs(|run| &run.target) {
        return vec![family];
    }
    let mut tests: Vec<Family<'_>> = Vec::new();
    for (run, figure) in family {
        match tests.iter_mut().find(|family| family[0].0.test == run.test) {
            Some(family) => family.push((run, figure)),
            None => tests.push(vec![(run, figure)]),
        }
    }
    tests
}

/// What tells the runs apart: the target, then the test and the start (or the run itself) where they are needed.
pub fn labels(runs: &[&RunRecord]) -> Vec<String> {
    let tests_differ = runs.iter().any(|run| run.test != runs[0].test);
    let label = |run: &&RunRecord| {
        let mut label = format!("{}{}", plain(&run.target), marked_basis(run.basis));
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
    runs.iter().map(label).collect()
}
