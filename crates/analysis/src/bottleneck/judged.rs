//! What is asked about a stretch of time, and what is answered.

use plimsoll_measurement::{Ceiling, Gain};

use super::rules::{BETWEEN, CPU, FASTER_CORES, Rule};
use crate::maximum::Maximum;

/// What is known of a stretch of time beside its samples.
#[derive(Debug, Clone, Default)]
pub struct Load {
    /// Sessions that worked.
    pub sessions: f64,
    /// Sessions that waited for an answer on average; `None` where that is not known.
    pub busy: Option<f64>,
    /// Requests that were answered; `None` where something else was done.
    pub answers: Option<u64>,
    /// Requests a second that a schedule asked for; `None` where each follows the last answer.
    pub asked: Option<f64>,
    /// Part of the sessions' time that our own client needed, from 0 to 1, where that was measured beside the samples.
    pub client: Option<f64>,
    /// Part of the requests' time that passed between two attempts, as after a conflict, from 0 to 1.
    pub between_attempts: f64,
    /// Attempts that were made again, for each request.
    pub made_again: f64,
    /// The setting with its value that makes commits wait for others on purpose, where one is on.
    pub commit_delay: Option<String>,
    /// Whether the engine works in our own threads, and no server is there to be asked.
    pub embedded: bool,
}

impl Load {
    /// Sessions that waited on average before they tried a request again.
    pub(super) fn retrying(&self) -> f64 {
        let part = self.between_attempts.clamp(0.0, 1.0);
        // Those that wait for an answer have the rest of the requests' time.
        let all = self.busy.filter(|_| part < 1.0).map_or(self.sessions, |busy| busy / (1.0 - part));
        part * all.min(self.sessions)
    }
}

/// Sessions fewer than this are not worth a sentence.
pub(super) const LEAST_WAITING: f64 = 0.05;

/// What was found of a limit.
#[derive(Debug, Clone)]
pub struct Found {
    /// The limit.
    pub rule: &'static Rule,
    /// What would be changed, in words.
    pub lift: &'static str,
    /// How far it was used, from 0 to 1.
    pub used: Option<Used>,
    /// Sessions that waited for it on average.
    pub waiting: Option<f64>,
    /// How much higher the rate would be with what the rule changes, in percent.
    pub gain_percent: f64,
    /// Whether that rests on what is not known, so that it is no promise.
    pub is_guessed: bool,
}

/// The use of a ceiling.
#[derive(Debug, Clone)]
pub struct Used {
    /// What was used, in the ceiling's unit.
    pub value: f64,
    /// Of what; `None` where the engine says a percentage.
    pub ceiling: Option<Ceiling>,
    /// The same as a part, from 0 to 1 and a little more.
    pub part: f64,
    /// The samples' columns that it is the sum of.
    pub columns: &'static [&'static str],
}

/// What holds sessions up that no limit stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    /// They sleep, as their statements requested.
    Asleep,
    /// They wait for what the server or its machine has a name for: a standby, a pipe, an extension.
    Named,
    /// They wait at our client, before they try a request again that failed in a conflict.
    Retrying,
}

/// What a stretch of time came to.
#[derive(Debug, Clone)]
pub struct Judged {
    /// All limits of which something is known, those with the highest gain first.
    pub found: Vec<Found>,
    /// Those that are named, by their place; empty if nothing that can be seen bound, or if there is not enough evidence.
    pub named: usize,
    /// Why there is not enough evidence.
    pub abstained: Option<String>,
    /// What would settle it then: one thing to do.
    pub remedy: Option<&'static str>,
    /// Sentences a person can check.
    pub evidence: Vec<String>,
    /// What the first of those that are named would do if it were used to the full, where it wasn't.
    pub maximum: Option<Maximum>,
    /// What no limit stands for, and how many sessions it held up, where that held the rate back more than any limit.
    pub beyond: Option<(Beyond, f64)>,
    /// Whether sessions wait for locks of each other first of all: what a holder waits for meanwhile counts for all of them, and no gain that is
    /// computed by itself is true.
    pub in_locks: bool,
    /// How much higher the rate would be with faster cores where more of them would not do, in percent, if that is worth a word.
    pub faster_cores: Option<f64>,
}

impl Judged {
    pub(super) fn abstain(reason: &str, remedy: &'static str) -> Self {
        let (abstained, remedy, evidence) = (Some(reason.to_owned()), Some(remedy), Vec::new());
        Self {
            found: Vec::new(),
            named: 0,
            abstained,
            remedy,
            evidence,
            maximum: None,
            beyond: None,
            in_locks: false,
            faster_cores: None,
        }
    }

    /// The names of those that bound; `None` if there is not enough evidence.
    pub fn limits(&self) -> Option<Vec<&'static str>> {
        self.abstained.is_none().then(|| self.found[..self.named].iter().map(|found| found.rule.limit).collect())
    }

    /// How much more the rate would be if the limit were used to the full, where nothing is to be held against that.
    pub fn theoretical_gain_percent(&self) -> Option<f64> {
        let used = self.found.first()?.used.as_ref()?;
        self.maximum.filter(|maximum| maximum.reservation.is_none())?;
        Some((1000.0 * (1.0 / used.part - 1.0)).round() / 10.0)
    }

    /// What each limit would bring, the highest first.
    pub fn gains(&self) -> Vec<Gain> {
        let is_in_locks = |found: &&Found| {
            let is_of_holders = found.rule.station().is_some() || found.rule.limit == BETWEEN;
            self.in_locks && is_of_holders
        };
        let of_limits = self.found.iter().filter(|found| !found.is_guessed && !is_in_locks(found));
        let of_limits = of_limits.map(|found| (found.rule.limit, found.lift, found.gain_percent));
        let of_cores = self.faster_cores.map(|gain| (CPU, FASTER_CORES, gain));
        let mut all: Vec<_> = of_limits.chain(of_cores).filter(|(_, _, gain)| is_shown(*gain)).collect();
        all.sort_by(|a, b| b.2.total_cmp(&a.2));
        let lift = |(limit, change, gain): (&str, &str, f64)| Gain {
            limit: limit.to_owned(),
            change: change.to_owned(),
            gain_percent: (gain * 10.0).round() / 10.0,
            ..Gain::default()
        };
        all.into_iter().map(lift).collect()
    }
}

/// Whether a gain in percent is more than nothing in tenths, to which gains are told.
pub(super) fn is_shown(gain_percent: f64) -> bool {
    gain_percent >= 0.05
}
