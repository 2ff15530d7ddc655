//! Runs that were made again under one name, in turn with others. Each of them is one observation then, so that an interval has in it what
//! differs from run to run.

use std::collections::BTreeMap;

use plimsoll_bench::figures::{Series, series_of};
use plimsoll_measurement::{Basis, RunRecord};
use plimsoll_store::{Filter, RunStore, StoreError};

use super::conditions::differences;

/// What may differ between two rounds without a change of what is measured.
const BY_ITSELF: [&str; 4] = ["client's load", "data_reused", "settle_seconds", "seed"];

/// The complete runs before a named one that have the same name and measured the same under the same settings, by the named one's id.
#[derive(Debug, Default)]
pub struct Rounds {
    earlier: BTreeMap<String, Vec<RunRecord>>,
    /// How many earlier runs of a name measured something else.
    others: BTreeMap<String, usize>,
}

impl Rounds {
    /// Those of the runs that were asked for by name.
    pub fn of(store: &RunStore, asked: &[String], records: &[RunRecord]) -> Result<Self, StoreError> {
        let mut rounds = Self::default();
        for (asked, run) in asked.iter().zip(records) {
            let named = run.label.as_deref().filter(|label| *label == asked.trim() && run.run_id != *asked);
            // In virtual time another round is the same run.
            let Some(label) = named.filter(|_| run.clock != "virtual" && run.basis == Basis::Measured) else {
                continue;
            };
            let filter = Filter { label: Some(label.to_owned()), after: Some(run.run_id.clone()), ..Filter::default() };
            let (mut same, mut others) = (Vec::new(), 0);
            for summary in store.summaries(&filter)?.iter().filter(|summary| summary.complete) {
                let earlier = store.record(&summary.run_id)?;
                if differences(run, &earlier).iter().all(|one| BY_ITSELF.contains(&one.what.as_str())) {
                    same.push(earlier);
                } else {
                    others += 1;
                }
            }
            rounds.earlier.insert(run.run_id.clone(), same);
            rounds.others.insert(run.run_id.clone(), others);
        }
        Ok(rounds)
    }

    fn all<'r>(&'r self, run: &'r RunRecord) -> Vec<&'r RunRecord> {
        std::iter::once(run).chain(self.earlier.get(&run.run_id).into_iter().flatten()).collect()
    }

    /// All rounds of two sides, the newest first, where each has two or more. Of one round alone nobody knows what differs from run to run.
    pub fn both<'r>(&'r self, sides: [&'r RunRecord; 2]) -> Option<[Vec<&'r RunRecord>; 2]> {
        let all = sides.map(|run| self.all(run));
        all.iter().all(|runs| runs.len() > 1).then_some(all)
    }

    /// Runs of the same name that do not count, and why.
    pub fn left_out(&self, sides: [&RunRecord; 2]) -> Option<String> {
        let said = sides.iter().filter_map(|run| {
            let label = run.label.as_deref()?;
            let others = self.others.get(&run.run_id).copied().unwrap_or_default();
            let same = self.earlier.get(&run.run_id).map_or(0, Vec::len);
            let is_alone = self.both(sides).is_none();
            let of_others = (others > 0).then(|| format!("{others} with other settings or parameters"));
            let of_alone = (is_alone && same > 0).then(|| format!("{same} like it, as the other side has one run"));
            let all: Vec<String> = of_others.into_iter().chain(of_alone).collect();
            (!all.is_empty()).then(|| {
                format!("'{label}' is the newest run of that name; earlier ones do not count: {}", all.join(", "))
            })
        });
        let said: Vec<String> = said.collect();
        (!said.is_empty()).then(|| said.join(". "))
    }
}

/// A series with a value for each round instead of each repetition; `None` if a round has no figure.
pub fn pooled(series: &Series, rounds: &[&RunRecord]) -> Option<Series> {
    let of = |run: &&RunRecord| {
        let all = series_of(run);
        let found = all.into_iter().find(|one| one.metric == series.metric && one.unit == series.unit)?;
        let value = found.figure().filter(|_| !found.bound)?.value;
        Some((value, found.doubt))
    };
    let all: Vec<(f64, Option<String>)> = rounds.iter().map(of).collect::<Option<_>>()?;
    let doubt = all.iter().find_map(|(_, doubt)| doubt.clone());
    let values: Vec<f64> = all.into_iter().map(|(value, _)| value).collect();
    Some(Series { doubt, ..Series::new(&*series.metric, &*series.unit, values) })
}
