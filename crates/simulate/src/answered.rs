//! Whether requests that come at a rate are all answered. At its capacity a server is no longer steady: its queue grows without end, however
//! slowly, and that the rate keeps its level does not show it.

use plimsoll_measurement::units::format_significant;

use crate::grid::{Replicated, Used};
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
        /// Whether it is seen that fewer are answered, and not only that next to nothing is left.
        is_seen: bool,
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
        // What fills up with all that comes, as a log does that gathers commits, has a queue that stays short.
        let is_growing = is_used_to(FULL_PERCENT) && grows(present, replicated);
        if !is_growing && !is_fewer {
            let is_filled = used.iter().any(|(percent, _)| *percent >= FULL_PERCENT);
            return if is_filled { Self::AllSoFar } else { Self::All };
        }
        Self::Fewer {
            asked,
            rate: found.value,
            ends: found.low.zip(found.high),
            sessions: takes_all.then_some(sessions),
            is_seen: is_fewer || takes_all,
        }
    }

    /// That requests come faster than a server answers them which never became steady: absent where they don't, or where that is not known.
    pub(crate) fn beyond(source: Source, sessions: u32, replicated: &Replicated, used: &[Used]) -> Option<String> {
        let used: Vec<(f64, bool)> = used.iter().map(|used| (used.2, true)).collect();
        let found = Self::of(source, sessions, replicated, &used);
        let is_surely = matches!(found, Self::Fewer { asked, ends: Some((_, high)), .. } if high < asked);
        let text = found.fewer().filter(|_| is_surely)?;
        Some(format!("{text}; there is no steady state to have figures of"))
    }

    /// What is said of it.
    pub(crate) fn sentence(&self) -> Option<String> {
        match self {
            Self::Closed | Self::AllSoFar => None,
            Self::All => Some(
                "Requests are answered at the rate at which they come; a higher limit would shorten response times alone."
                    .to_owned(),
            ),
            Self::Fewer { .. } => {
                let text = self.fewer()?;
                Some(format!("{text}, so the response times are only those of the time that was simulated."))
            }
        }
    }

    /// That fewer are answered than come, and what follows.
    fn fewer(&self) -> Option<String> {
        let Self::Fewer { asked, rate, ends, sessions, is_seen } = self else { return None };
        let shown = format_significant;
        if !is_seen {
            return Some(format!(
                "Requests come at {} a second, which is next to all that the server can do: its queue goes up and down for longer than was simulated",
                shown(*asked)
            ));
        }
        let ends = ends.map_or_else(String::new, |(low, high)| format!(" ({} to {})", shown(low), shown(high)));
        let taken = sessions.map_or_else(String::new, |count| format!(", and all {count} sessions are taken"));
        Some(format!(
            "Requests come at {} a second, and {}{ends} are answered: the queue grows without end{taken}",
            shown(*asked),
            shown(*rate)
        ))
    }
}

/// Whether so many requests under way are those of a queue that grows: at its capacity it has the length of a random walk, the square root of the number of
/// requests that came.
fn grows(present: f64, replicated: &Replicated) -> bool {
    let requests = replicated.figure(|one| Some(one.requests_per_s * (one.seconds + one.transient_s)));
    requests.is_none_or(|requests| present >= GROWS * requests.value.sqrt())
}

/// A fifth of that, as the walk has only begun.
const GROWS: f64 = 0.2;

/// A server whose resources are all used to less than this answers what comes.
const NO_ROOM_PERCENT: f64 = 90.0;
