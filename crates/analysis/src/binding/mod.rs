//! Which limit bound: from what the engine and the machine said of themselves while somebody worked.
//!
//! A limit *binds* if more of it would raise the rate. That is asked of a model: the [`network`] of queues that delivers the measured
//! rate with the measured utilisations. Each of the [`rules`] changes it in its own way, and who raises its rate is named. So two
//! limits may bind together, and a resource at 90 % that is hidden behind another one isn't named.
//!
//! What isn't enough for that is said: no rate, no samples, time of sessions that nobody accounts for, a gain too close to call.

pub mod means;
pub mod network;
pub mod record;
pub mod rules;
mod words;

use plimsoll_measurement::{Ceiling, Lift};

use crate::maximum::{Maximum, theoretical_maximum};
use crate::summary;
use means::{Means, Stretch, ceiling};
use network::Network;
use rules::{Change, Counts, MORE, NAMED_PERCENT, RULES, Rule, Station, Use};

/// What is known of a stretch of time beside its samples.
#[derive(Debug, Clone, Default)]
pub struct Load {
    /// Sessions that worked.
    pub sessions: f64,
    /// Requests a second that a schedule asked for; `None` where each follows the last answer.
    pub asked: Option<f64>,
    /// Part of the sessions' time that our own client needed, from 0 to 1, where that was measured beside the samples.
    pub client: Option<f64>,
}

/// What was found of a limit.
#[derive(Debug, Clone)]
pub struct Found {
    /// The limit.
    pub rule: &'static Rule,
    /// How far it was used, from 0 to 1.
    pub used: Option<Used>,
    /// Sessions that waited for it on average.
    pub waiting: Option<f64>,
    /// How much higher the rate would be with what the rule changes, in percent.
    pub gain_percent: f64,
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
    /// Sentences a person can check.
    pub evidence: Vec<String>,
    /// What the first of those that are named would do if it were used to the full, where it wasn't.
    pub maximum: Option<Maximum>,
}

impl Judged {
    fn abstain(reason: &str) -> Self {
        Self { found: Vec::new(), named: 0, abstained: Some(reason.to_owned()), evidence: Vec::new(), maximum: None }
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

    /// What each limit would bring.
    pub fn lifts(&self) -> Vec<Lift> {
        let lift = |found: &Found| Lift {
            limit: found.rule.limit.to_owned(),
            change: found.rule.lift.to_owned(),
            gain_percent: (found.gain_percent * 10.0).round() / 10.0,
        };
        self.found.iter().filter(|found| found.gain_percent >= 0.05).map(lift).collect()
    }
}

/// Judges a stretch of time.
pub fn judge(stretch: &Stretch<'_>, ceilings: &[Ceiling], load: &Load) -> Judged {
    let means = Means::of(stretch, |still| standing_still_is_the_devices(stretch, ceilings, still, load));
    if means.intervals() == 0 {
        return Judged::abstain("nobody looked at the server and its machine meanwhile");
    }
    let Some(rate) = means.rate().filter(|rate| *rate > 0.0) else {
        return Judged::abstain("it is not known how much was done in which second");
    };
    let Some(model) = Model::fitted(&means, ceilings, load, rate) else {
        return Judged::abstain("the rate can't be brought together with what the sessions did");
    };
    let mut found: Vec<Found> = RULES.iter().filter_map(|rule| model.found(rule)).collect();
    found.sort_by(|a, b| b.gain_percent.total_cmp(&a.gain_percent));
    // Whoever does all that is asked has no limit yet.
    let all_done = load.asked.is_some_and(|asked| rate * (1.0 - means.still) >= ALL_DONE * asked);
    // What brings much less than the first is not what one would change.
    let least = found.first().map_or(0.0, |first| SECOND_PART * first.gain_percent).max(NAMED_PERCENT);
    let named = if all_done { 0 } else { found.iter().take_while(|found| found.gain_percent >= least).count() };
    if all_done {
        // More of anything would bring nothing: no more is asked for.
        for found in &mut found {
            found.gain_percent = 0.0;
        }
    }
    let abstained = if all_done { None } else { unseen(&means, load).or_else(|| doubts(&found)) };
    let maximum = model.maximum(&found[..named]);
    let evidence = words::evidence(&model, &found, named, all_done, maximum);
    Judged { found, named, abstained, evidence, maximum }
}

/// Whether those who had no answer for this part of the time waited for a device then, and not for each other, or for a limit that
/// comes in pieces, as quotas of CPU and of I/Os do: of that, more would have been used in the rest of the time than there is.
fn standing_still_is_the_devices(stretch: &Stretch<'_>, ceilings: &[Ceiling], still: f64, load: &Load) -> bool {
    let plain = Means::plain(stretch);
    let waited = plain.sum(&rules::DEVICES).unwrap_or(0.0);
    // Of limits of rates: memory that is full stays so.
    let rates = RULES.iter().filter(|rule| rule.station().is_some()).filter_map(|rule| highest(&plain, ceilings, rule));
    let most = rates.filter(|used| used.ceiling.is_some()).map(|used| used.part).fold(0.0, f64::max);
    waited >= FOR_DEVICES * still * load.sessions && most / (1.0 - still) <= MOST_USED
}

/// Part of what a schedule asks for that counts as all of it.
const ALL_DONE: f64 = 0.98;

/// The network that was fitted to a stretch of time, and where its parts come from.
#[derive(Debug)]
struct Model<'a> {
    means: &'a Means<'a>,
    ceilings: &'a [Ceiling],
    load: &'a Load,
    rate: f64,
    network: Network,
}

impl<'a> Model<'a> {
    fn fitted(means: &'a Means<'a>, ceilings: &'a [Ceiling], load: &'a Load, rate: f64) -> Option<Self> {
        let used = |station: Station| part_of_station(means, ceilings, station).unwrap_or(0.0);
        let network = Network::fitted(load.sessions, &Station::ALL.map(used), rate)?;
        Some(Self { means, ceilings, load, rate, network })
    }

    fn used(&self, rule: &Rule) -> Option<Used> {
        highest(self.means, self.ceilings, rule)
    }

    /// Sessions that wait on average.
    fn waiting(&self, rule: &Rule) -> Option<f64> {
        self.means.sum(rule.waits)
    }

    /// In how many of the intervals in which its use is known a limit was used by [`NEARLY_FULL`] or more.
    fn nearly_full(&self, rule: &Rule) -> (usize, usize) {
        let parts = self.means.each().filter_map(|one| highest(&one, self.ceilings, rule)).map(|used| used.part);
        parts.fold((0, 0), |(full, all), part| (full + usize::from(part >= NEARLY_FULL), all + 1))
    }

    /// How long an operation takes at a limit, and how long while the limit was hardly used: milliseconds, with what it is in words.
    fn latency(&self, rule: &Rule) -> Option<(&'static str, f64, Option<f64>)> {
        let (column, words) = *rule.latency.iter().find(|(column, _)| self.means.column(column).is_some())?;
        let is_at_ease = |one: &Means<'_>| {
            highest(one, self.ceilings, rule).is_some_and(|used| used.part > 0.0 && used.part <= AT_EASE)
        };
        let at_ease: Vec<f64> = self
            .means
            .each_of_all()
            .filter(is_at_ease)
            .filter_map(|one| one.column(column))
            .filter(|ms| *ms > 0.0)
            .collect();
        let unthrottled = summary::median(&at_ease).filter(|_| at_ease.len() >= LEAST_AT_EASE);
        Some((words, self.means.column(column)?, unthrottled))
    }

    /// What is known of a limit; `None` if nothing is.
    fn found(&self, rule: &'static Rule) -> Option<Found> {
        let known = |other: &&Rule| other.station() == rule.station() && other.limit != rule.limit;
        if rule.last_resort && RULES.iter().filter(known).any(|other| self.used(other).is_some()) {
            return None;
        }
        let (used, waiting) = (self.used(rule), self.waiting(rule));
        let gain_percent = match rule.change {
            Change::More(station) => self.with_more(rule, station, used.as_ref()?),
            Change::Faster(station) => self.with_faster(station, waiting?)?,
            Change::Cheaper(station) => self.with_cheaper(station, waiting)?,
            Change::Memory => self.with_memory(used.as_ref(), waiting)?,
            Change::Without(rest) => {
                let each = waiting? * (1.0 - rest) / self.rate;
                self.network.gain_percent(self.network.demands.clone(), self.network.elsewhere - each)
            }
            Change::Unfrozen => {
                if self.means.still <= 0.0 {
                    return None;
                }
                100.0 * (1.0 / (1.0 - self.means.still) - 1.0)
            }
        };
        gain_percent.is_finite().then_some(Found { rule, used, waiting, gain_percent })
    }

    /// The rate at full use of a device's limit that bound without being used to the full (reference 2.9 and A33).
    fn maximum(&self, bound: &[Found]) -> Option<Maximum> {
        let devices = [Some(Station::Data), Some(Station::Log)];
        let first = bound.first().filter(|found| devices.contains(&found.rule.station()))?;
        let used = first.used.as_ref().filter(|used| used.part < USED_TO_THE_FULL)?;
        let cpu = part_of_station(self.means, self.ceilings, Station::Cpu);
        theoretical_maximum(self.rate, 100.0 * used.part, cpu.map(|part| 100.0 * part))
    }

    /// More of what a station can do: of the limit alone, as the station's other limits stay.
    fn with_more(&self, rule: &Rule, station: Station, used: &Used) -> f64 {
        // What counts only where nothing better is known says nothing of another limit.
        let is_other = |other: &&Rule| other.limit != rule.limit && other.change == rule.change && !other.last_resort;
        let others = RULES.iter().filter(is_other);
        let rest = others.filter_map(|other| Some(self.used(other)?.part)).fold(0.0, f64::max);
        let mut demands = self.network.demands.clone();
        // Nothing is used by more than there is: what is above that is how it was counted.
        demands[station as usize] = (used.part.min(1.0) / MORE).max(rest.min(1.0)) / self.rate;
        self.network.gain_percent(demands, self.network.elsewhere)
    }

    /// Shorter waits at a station of which nobody knows what it can do.
    fn with_faster(&self, station: Station, waiting: f64) -> Option<f64> {
        if part_of_station(self.means, self.ceilings, station).is_some() {
            return None;
        }
        let each = waiting * (1.0 - 1.0 / MORE) / self.rate;
        Some(self.network.gain_percent(self.network.demands.clone(), self.network.elsewhere - each))
    }

    /// What a request costs at a station, less a fifth.
    fn with_cheaper(&self, station: Station, waiting: Option<f64>) -> Option<f64> {
        let less = 1.0 - 1.0 / MORE_COST;
        let mut demands = self.network.demands.clone();
        let queued = demands[station as usize];
        // All that a request needs there: of our own client as it was measured, else what its sessions spend there without the queue.
        let each = match (self.load.client, self.means.column("client_cpu").filter(|_| queued > 0.0), waiting) {
            (Some(part), ..) => part * self.load.sessions / self.rate,
            (None, Some(cpu), _) => cpu / self.rate,
            (None, None, Some(waiting)) => waiting / self.rate,
            _ => return None,
        };
        demands[station as usize] *= 1.0 - less;
        Some(self.network.gain_percent(demands, self.network.elsewhere - less * (each - queued).max(0.0)))
    }

    /// More memory: a part of the reads is not made.
    fn with_memory(&self, used: Option<&Used>, waiting: Option<f64>) -> Option<f64> {
        let (misses, lookups) = (self.means.column("cache_misses")?, self.means.column("cache_lookups")?);
        if used.is_some_and(|used| used.part < FULL) || misses <= 0.0 || lookups <= misses {
            return None;
        }
        let size = |resource| ceiling(self.ceilings, resource).map(|ceiling| ceiling.value);
        // Of data of a known size that part is in memory, at least; else by what was found of what was looked for.
        let hits = match size("memory").zip(size("data")) {
            Some((memory, data)) => (memory / data).min(1.0),
            None => 1.0 - misses / (lookups - ABOVE * self.rate * self.means.moving).max(misses),
        };
        // Of equally likely pages so many more are there with more memory.
        let saved = ((MORE - 1.0) * hits / (1.0 - hits).max(0.01)).min(1.0);
        let mut demands = self.network.demands.clone();
        let column = |metric| self.means.column(metric).unwrap_or(0.0);
        let (reads, writes) = (column("data_reads"), column("data_writes"));
        let of_reads = if writes > 0.0 { reads / (reads + writes) } else { 1.0 };
        demands[Station::Data as usize] *= 1.0 - saved * of_reads;
        // What a read takes beside the device's limits: its latency.
        let limited = self.network.time_at(Station::Data as usize);
        let each = waiting.map_or(0.0, |waiting| (waiting / self.rate - limited).max(0.0));
        let each = each.min(self.network.elsewhere);
        Some(self.network.gain_percent(demands, self.network.elsewhere - saved * each))
    }
}

/// Why there is not enough evidence for what is named, or for nothing: gains that are too close to call.
fn doubts(found: &[Found]) -> Option<String> {
    let is_within = |(low, high): (f64, f64), found: &Found| (low..high).contains(&found.gain_percent);
    let first = found.first().filter(|first| is_within(rules::DOUBT_PERCENT, first));
    // What brings much less than the first would not be changed first anyway.
    let least = found.first().map_or(0.0, |first| SECOND_DOUBT_PART * first.gain_percent);
    let mut others = found.iter().skip(1).filter(|other| other.gain_percent >= least);
    let doubtful = first.or_else(|| others.find(|other| is_within(rules::SECOND_DOUBT_PERCENT, other)))?;
    let (lift, gain) = (doubtful.rule.lift, doubtful.gain_percent);
    Some(format!("{lift} would bring about {gain:.1} %, which is too close to call"))
}

/// Why there is not enough evidence where most sessions wait for others of whom nothing is seen.
fn unseen(means: &Means<'_>, load: &Load) -> Option<String> {
    rules::UNSEEN.iter().find_map(|(column, words, part)| {
        let waiting = means.column(column).filter(|waiting| *waiting >= part * load.sessions)?;
        Some(format!("{waiting:.1} of {:.0} sessions wait {words}", load.sessions))
    })
}

/// The part of a limit from which on an interval is counted (reference, 5.6).
const NEARLY_FULL: f64 = 0.9;
/// Intervals in which at most this part of a limit is used show what it does unthrottled, if there are so many of them.
const AT_EASE: f64 = 0.5;
const LEAST_AT_EASE: usize = 2;
/// A limit that is used from this part on is used to the full.
const USED_TO_THE_FULL: f64 = 0.98;
/// A limit that brings less than this part of what the first one brings is not named beside it.
const SECOND_PART: f64 = 0.1;
/// ... and that it may bind too is a doubt only where it brings this part.
const SECOND_DOUBT_PART: f64 = 0.25;
/// In the time in which something moved no more than this part of a limit can have been used, with what is counted late.
const MOST_USED: f64 = 1.1;
/// A cost less 20 % is this part of what it was, seen the other way round.
const MORE_COST: f64 = 1.0 / 0.8;
/// When everything stands still for the device's sake, so large a part of the sessions at least waits for it.
const FOR_DEVICES: f64 = 0.8;
/// Memory that is used from this part on is full.
const FULL: f64 = 0.95;
/// Pages that a request looks up on the way to those that may be missing: what is above them in their tree is always there.
const ABOVE: f64 = 2.0;

/// The highest use of a station by all limits that lie there.
fn part_of_station(means: &Means<'_>, ceilings: &[Ceiling], station: Station) -> Option<f64> {
    let own = RULES.iter().filter(|rule| rule.station() == Some(station));
    let uses = own.filter_map(|rule| highest(means, ceilings, rule));
    let network = rules::NETWORK.iter().filter(|_| station == Station::Network);
    let network = network.filter_map(|of| used(means, ceilings, of));
    uses.chain(network).map(|used| used.part).reduce(f64::max)
}

/// The highest use of a limit that is known.
fn highest(means: &Means<'_>, ceilings: &[Ceiling], rule: &Rule) -> Option<Used> {
    let is_first = || {
        let own = means.sum(rule.waits).unwrap_or(0.0);
        RULES.iter().all(|other| {
            let is_shared = other.uses.iter().any(|of| of.counts == Counts::WhereMostWait);
            let differs = is_shared && other.waits != rule.waits;
            !differs || means.sum(other.waits).unwrap_or(0.0) <= own
        })
    };
    let among = |counts: &dyn Fn(Counts) -> bool| {
        let known = rule.uses.iter().filter(|of| counts(of.counts)).filter_map(|of| used(means, ceilings, of));
        known.max_by(|a, b| a.part.total_cmp(&b.part))
    };
    let of_ours = |counts| counts == Counts::Always || (counts == Counts::WhereMostWait && is_first());
    among(&of_ours).or_else(|| among(&|counts| counts == Counts::WithoutBetter))
}

/// How far a ceiling is used, where both are known.
fn used(means: &Means<'_>, ceilings: &[Ceiling], of: &Use) -> Option<Used> {
    let value = (means.sum(of.columns)? - means.sum(of.less).unwrap_or(0.0)).max(0.0);
    if of.ceiling.is_empty() {
        return Some(Used { value, ceiling: None, part: value / 100.0 });
    }
    let ceiling = ceiling(ceilings, of.ceiling)?.clone();
    // What stood still for a part of the time was used for the rest of it.
    let part = value / means.moving / ceiling.value;
    Some(Used { value, ceiling: Some(ceiling), part })
}

#[cfg(test)]
mod tests;
