//! Several replications as one result, with intervals: independent seeds give independent values.

use plimsoll_analysis::interval::{Interval, interval, interval_with_zeros};
use plimsoll_analysis::{DEFAULT_CONFIDENCE, summary};

use crate::scenario::Scenario;
use crate::server::Replication;

/// The use of a resource: name, verdict name, percent, a ceiling in words.
pub(crate) type Used = (String, &'static str, f64, String);

/// The replications of a scenario.
#[derive(Debug, Clone)]
pub struct Replicated {
    /// One for each seed, in their order.
    pub replications: Vec<Replication>,
}

impl Replicated {
    /// Replications of one scenario. Whoever runs them decides on how many threads: their order is that of the seeds.
    pub const fn new(replications: Vec<Replication>) -> Self {
        Self { replications }
    }

    /// The mean of a figure over the replications, with its interval; absent where a replication has no such figure.
    pub fn figure(&self, of: impl Fn(&Replication) -> Option<f64>) -> Option<Interval> {
        let values = self.values(of)?;
        interval(&values, DEFAULT_CONFIDENCE).or_else(|| interval_with_zeros(&values, DEFAULT_CONFIDENCE)).or_else(
            || {
                // Zero in all of them.
                let value = summary::mean(&values)?;
                Some(Interval { value, low: None, high: None, confidence: DEFAULT_CONFIDENCE })
            },
        )
    }

    /// A figure of each replication; absent where one has no such figure.
    pub fn values(&self, of: impl Fn(&Replication) -> Option<f64>) -> Option<Vec<f64>> {
        self.replications.iter().map(of).collect()
    }

    /// Why the result is not enough evidence: more than half of the replications never became steady, or one was too short.
    pub fn unsteady(&self) -> Option<String> {
        if self.replications.iter().any(|one| one.requests_per_s <= 0.0) {
            return Some("no request ended in the simulated time".to_owned());
        }
        let reasons: Vec<&str> = self.replications.iter().filter_map(|one| Some(one.unsteady?.reason())).collect();
        let all = self.replications.len();
        (reasons.len() * 2 > all || all == 0).then(|| {
            let first = reasons.first().copied().unwrap_or("there is none");
            format!("{} of {all} replications never became steady: {first}", reasons.len())
        })
    }

    /// The mean use of a resource in percent.
    pub fn used_percent(&self, resource: &str) -> Option<Interval> {
        self.figure(|one| {
            one.resources.iter().find(|known| known.name == resource).map(crate::server::Resource::percent)
        })
    }
}

/// Requests a second by the interactive response time law, from the mean response time that was simulated: what a closed system must show.
/// `None` for an open one.
pub fn rate_by_law(scenario: &Scenario, replication: &Replication) -> Option<f64> {
    let crate::scenario::Source::Closed { think_ns } = scenario.source else { return None };
    Some(crate::analytic::closed_rate(f64::from(scenario.sessions), replication.response_ms / 1e3, think_ns / 1e9))
}
