//! What was seen at several moments since the last look, as a mean in the place of what the look itself saw.

use std::collections::BTreeMap;

use plimsoll_measurement::Reading;

use super::engine::is_gauge;
use crate::look::Glance;

/// The mean of what was seen at several moments, in place of what the last reading has.
pub(crate) fn averaged(readings: &mut [Reading], glances: &[&Glance]) {
    for reading in readings.iter_mut().filter(|reading| is_gauge(reading.metric)) {
        let of = |glance: &&Glance| Some(glance.readings.iter().find(|one| one.metric == reading.metric)?.value);
        let seen: Vec<f64> = glances.iter().filter_map(of).collect();
        // Looks are at even times, and see what comes at even times too often or never.
        if !seen.is_empty() {
            reading.value = seen.iter().sum::<f64>() / seen.len() as f64;
        }
    }
}

/// The same of waits by name, which are absent where nobody was in them.
pub(crate) fn averaged_waits(last: &[(String, f64)], glances: &[&Glance]) -> Vec<(String, f64)> {
    let looked = glances.iter().filter(|glance| !glance.readings.is_empty()).count();
    if looked == 0 {
        return last.to_vec();
    }
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, sessions) in glances.iter().flat_map(|glance| &glance.seen) {
        *sums.entry(name).or_default() += sessions;
    }
    sums.into_iter().map(|(name, sum)| (name.to_owned(), sum / looked as f64)).collect()
}
