//! How far limits were used.

use plimsoll_measurement::Ceiling;

use super::judged::Used;
use super::means::{Means, ceiling};
use super::rules::{CPU, Counts, NETWORK, RULES, Rule, Station, Use};

/// The highest use of a station by all limits that lie there; by those of the last resort only where there is no other.
pub(super) fn part_of_station(means: &Means<'_>, ceilings: &[Ceiling], station: Station) -> Option<f64> {
    let own = |last_resort: bool| {
        let rules = RULES.iter().filter(move |rule| rule.station() == Some(station) && rule.last_resort == last_resort);
        rules.filter_map(|rule| highest(means, ceilings, rule)).collect::<Vec<_>>()
    };
    let uses = Some(own(false)).filter(|uses| !uses.is_empty()).unwrap_or_else(|| own(true)).into_iter();
    let network = NETWORK.iter().filter(|_| station == Station::Network);
    let network = network.filter_map(|of| used(means, ceilings, of));
    uses.chain(network).map(|used| used.part).reduce(f64::max)
}

/// The highest use of a limit that is known.
pub(super) fn highest(means: &Means<'_>, ceilings: &[Ceiling], rule: &Rule) -> Option<Used> {
    let is_first = || {
        let own = means.sum(rule.waits).unwrap_or(0.0);
        RULES.iter().all(|other| {
            let is_shared = other.uses.iter().any(|of| of.counts == Counts::WhereMostWait);
            let differs = is_shared && other.waits != rule.waits;
            !differs || means.sum(other.waits).unwrap_or(0.0) <= own
        })
    };
    let among = |counts: &dyn Fn(Counts) -> bool| {
        let uses = rule.uses.iter().filter(|of| counts(of.counts) && is_about(means, of));
        let known = uses.filter_map(|of| used(means, ceilings, of));
        known.reduce(|first, next| if first.part >= ALIKE * next.part || is_held(means, &first) { first } else { next })
    };
    let of_ours = |counts| counts == Counts::Always || (counts == Counts::WhereMostWait && is_first());
    among(&of_ours).or_else(|| among(&|counts| counts == Counts::WithoutBetter))
}

/// Of uses that differ by no more than this, the one that is listed first counts. It is nearest to the server: a limit
/// of its own is not hidden behind a machine that is full as well.
const ALIKE: f64 = 0.97;

/// Whether a quota of the server's own held it back, whatever the machine did for others meanwhile.
fn is_held(means: &Means<'_>, used: &Used) -> bool {
    let is_own = used.ceiling.as_ref().is_some_and(|ceiling| ceiling.resource == CPU);
    is_own && means.column("server_throttled").is_some_and(|percent| percent >= HELD_PERCENT)
}

/// Periods in which a quota of CPU was used up, in percent of those in which somebody wanted to run, from which on it held him back.
const HELD_PERCENT: f64 = 25.0;

/// Whether a use is about what the rule is about.
fn is_about(means: &Means<'_>, of: &Use) -> bool {
    of.unless.is_empty() || means.column(of.unless).is_none()
}

/// How far a ceiling is used, where both are known.
pub(super) fn used(means: &Means<'_>, ceilings: &[Ceiling], of: &Use) -> Option<Used> {
    let value = (means.sum(of.columns)? - means.sum(of.less).unwrap_or(0.0)).max(0.0);
    if of.ceiling.is_empty() {
        return Some(Used { value, ceiling: None, part: value / 100.0, columns: of.columns });
    }
    let ceiling = ceiling(ceilings, of.ceiling)?.clone();
    // What stood still for a part of the time was used for the rest of it.
    let part = value / means.moving / ceiling.value;
    Some(Used { value, ceiling: Some(ceiling), part, columns: of.columns })
}
