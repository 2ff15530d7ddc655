//! What a call of `plimsoll run` is about to do, and how long that takes, as far as it is known before.

use std::time::Duration;

use plimsoll_engine::Target;
use plimsoll_measurement::units::format_seconds;
use plimsoll_store::{Filter, RunStore};

use super::chosen::Chosen;
use crate::engines;

/// So many earlier runs of a test are looked at for one with the same parameters.
const MOST_LOOKED_AT: u32 = 5;

/// From here on it is said that there is a short form, in seconds.
const LONG_S: f64 = 300.0;

/// Less is not said.
const SHORTEST_S: f64 = 1.0;

/// A test on a target.
pub(super) struct Asked<'a> {
    pub test: &'a Chosen,
    pub repetitions: u32,
    pub target: &'a Target,
}

/// How long all takes.
#[derive(Default)]
struct Time {
    /// By earlier runs, and by what requests are to take.
    seconds: f64,
    /// Data are loaded, for a time that nobody knows.
    loads: bool,
    /// Nothing is known of some test.
    is_open: bool,
}

/// A sentence: how many tests, on how many targets, how often, and how long all of it takes.
pub(super) fn said(all: &[Asked<'_>], settle: Duration, store: &RunStore) -> String {
    let mut time = Time::default();
    for one in all {
        let times = f64::from(one.repetitions);
        if let Some(each) = earlier_s(one, store) {
            time.seconds += each * times;
        } else if let Some(each) = asked_s(one) {
            time.seconds += each * times + settle.as_secs_f64() * (times - 1.0).max(0.0);
            time.loads = true;
        } else {
            time.is_open = true;
        }
    }
    let repetitions: u32 = all.iter().map(|one| one.repetitions).sum();
    let count = |count: u64, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let runs = count(all.len() as u64, "run");
    let repetitions = count(u64::from(repetitions), "repetition");
    let shorter = if all.iter().any(|one| !one.test.short) { "; --short takes less" } else { "" };
    format!("{runs}, {repetitions} in all: {}", time.words(shorter))
}

impl Time {
    fn words(&self, shorter: &str) -> String {
        let seconds = format_seconds(self.seconds);
        match (self.seconds >= SHORTEST_S, self.is_open, self.loads) {
            (false, true, _) => format!("how long is known after the first{shorter}"),
            (false, false, _) => "a moment".to_owned(),
            (true, true, _) => format!("{seconds} or more{shorter}"),
            (true, false, loads) => {
                let loads = if loads { " and the time to load data" } else { ", as earlier runs took" };
                let shorter = if self.seconds >= LONG_S { shorter } else { "" };
                format!("about {seconds}{loads}{shorter}")
            }
        }
    }
}

/// Seconds that a repetition took the last time, with all that belongs to it.
fn earlier_s(one: &Asked<'_>, store: &RunStore) -> Option<f64> {
    let filter = Filter {
        test: Some(one.test.definition.name.clone()),
        target: Some(one.target.display().to_owned()),
        limit: Some(MOST_LOOKED_AT),
        ..Filter::default()
    };
    let runs = store.summaries(&filter).ok()?;
    runs.iter().filter(|run| run.complete).find_map(|run| {
        let record = store.record(&run.run_id).ok()?;
        let scale = record.parameters.get("scale").and_then(serde_json::Value::as_u64).unwrap_or(1);
        let own = one.test.parameters(scale).ok()?.scaled(scale);
        let is_same = own.iter().all(|(name, value)| record.parameters.get(name) == Some(&value.to_json()));
        let repetitions = record.repetitions.iter().filter(|repetition| repetition.complete).count();
        let seconds = record.host.real_seconds.filter(|_| is_same && repetitions > 0)?;
        Some(seconds / repetitions as f64)
    })
}

/// Seconds for which a repetition makes requests, where nothing else is measured and that time is real.
fn asked_s(one: &Asked<'_>) -> Option<f64> {
    let is_real = engines::engine_of(one.target).is_ok_and(|engine| engine.products() != ["lab"]);
    let parameters = one.test.parameters(1).ok().filter(|_| is_real)?;
    let steps = one.test.definition.steps.iter();
    steps.map(|step| (step.lasts)(&parameters).map(|lasts| lasts.as_secs_f64())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_said_as_well_as_it_is_known() {
        let said = |seconds, loads, is_open| Time { seconds, loads, is_open }.words("; --short takes less");
        assert_eq!(said(0.0, false, true), "how long is known after the first; --short takes less");
        assert_eq!(said(0.2, false, false), "a moment");
        assert_eq!(said(180.0, true, false), "about 3 min 00 s and the time to load data");
        assert_eq!(said(600.0, false, false), "about 10 min 00 s, as earlier runs took; --short takes less");
        assert_eq!(said(600.0, true, true), "10 min 00 s or more; --short takes less");
    }
}
