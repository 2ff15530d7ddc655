//! Whether requests that come at a rate are all answered. At its capacity a server is no longer steady: its queue grows without end, however
//! slowly, and that the rate keeps its level does not show it.

use plimsoll_measurement::units::format_significant;

use crate::grid::Replicated;
use crate::scenario::Source;

/// A resource that is used to so much of its limit has nothing left for what waits.
const FULL_PERCENT: f64 = 99.0;

/// What becomes of the requests of a load.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answered {
    /// Sessions ask, and wait for the answer.
    Closed,
    /// As many as come.
    All,
    /// As many as come so far as is seen, while work in the background has filled a resource.
    AllSoFar,
    /// Fewer than come, or so nearly as many as the server can do that nothing is left for a queue.
    Fewer {
        /// Requests that come a second.
        asked: f64,
        /// Requests that are answered a second, with the interval where there is one.
        rate: f64,
        ends: Option<(f64, f64)>,
        /// Whether all sessions are taken.
        sessions: Option<u32>,
    },
}

impl Answered {
    /// Of what was simulated, with the use of its resources in percent and whether requests wait for each.
    pub(crate) fn of(source: Source, sessions: u32, replicated: &Replicated, used: &[(f64, bool)]) -> Self {
        let Source::Open { per_s: asked } = source else { return Self::Closed };
        let Some(found) = replicated.figure(|one| Some(one.requests_per_s)) else { return Self::All };
        let present = replicated.figure(|one| Some(one.present)).map_or(0.0, |found| found.value);
        let is_used_to = |least: f64| used.iter().any(|(percent, is_felt)| *is_felt && *percent >= least);
        let takes_all = present >= f64::from(sessions);
        // By chance fewer come than were asked for in one of forty intervals: a server with room has answered them all the same.
        let is_fewer = found.high.is_some_and(|high| high < asked) && (is_used_to(NO_ROOM_PERCENT) || takes_all);
        if !is_used_to(FULL_PERCENT) && !is_fewer {
            let is_filled = used.iter().any(|(percent, _)| *percent >= FULL_PERCENT);
            return if is_filled { Self::AllSoFar } else { Self::All };
        }
        Self::Fewer {
            asked,
            rate: found.value,
            ends: found.low.zip(found.high),
            sessions: takes_all.then_some(sessions),
        }
    }

    /// What is said of it.
    pub(crate) fn sentence(&self) -> Option<String> {
        match self {
            Self::Closed | Self::AllSoFar => None,
            Self::All => Some(
                "Requests are answered at the rate at which they come; a higher limit would shorten response times alone."
                    .to_owned(),
            ),
            Self::Fewer { asked, rate, ends, sessions } => {
                let shown = format_significant;
                let ends = ends.map_or_else(String::new, |(low, high)| format!(" ({} to {})", shown(low), shown(high)));
                let taken = sessions.map_or_else(String::new, |count| format!(", and all {count} sessions are taken"));
                Some(format!(
                    "Requests come at {} a second, and {}{ends} are answered: the queue grows without end{taken}, so the response times are only \
                     those of the time that was simulated.",
                    shown(*asked),
                    shown(*rate)
                ))
            }
        }
    }
}

/// A server whose resources are all used to less than this answers what comes.
const NO_ROOM_PERCENT: f64 = 90.0;
