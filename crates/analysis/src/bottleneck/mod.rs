//! Which limit bound: from what the engine and the machine said of themselves while somebody worked.
//!
//! A limit *binds* if more of it would raise the rate. That is asked of a model: the [`network`] of queues that
//! delivers the measured rate with the measured utilisations. Each of the [`rules`] changes it in its own way, and a
//! limit is named if the change raises the rate. So two limits may bind together, and a resource at 90 % that is hidden
//! behind another one isn't named.
//!
//! What isn't enough for that is said: no rate, no samples, time of sessions that nobody accounts for, a gain too close to call.

mod conflicts;
mod doubt;
mod judged;
pub mod means;
mod model;
mod neighbours;
pub mod network;
mod outside;
pub mod record;
pub mod rules;
mod usage;
mod words;
mod work;

use plimsoll_measurement::Ceiling;

pub use judged::{Beyond, Found, Judged, Load, Used};
use means::{Means, Segment};
use model::Model;
use rules::{LOCK_LIMIT, MORE, NAMED_PERCENT, RULES, Station};
use usage::highest;

/// Judges a stretch of time.
pub fn judge(stretch: &Segment<'_>, ceilings: &[Ceiling], load: &Load) -> Judged {
    let means = Means::of(stretch, |still| standing_still_is_the_devices(stretch, ceilings, still, load));
    if means.intervals() == 0 {
        return match stretch.samples.seconds.len() {
            0 => Judged::abstain("the server and its machine were not sampled", doubt::SAMPLE),
            looks => {
                Judged::abstain(&format!("none of {looks} looks at the server fell into this time"), doubt::LONGER)
            }
        };
    }
    // What they cost is known by what threads waited for; how full they made the machine says nothing then.
    let means = if neighbours::are_measured(&means, ceilings) { means.without("other_cpu") } else { means };
    let Some(rate) = means.rate() else {
        return Judged::abstain("the work done in each second is unknown", doubt::LONGER);
    };
    if rate <= 0.0 {
        let (from, to) = stretch.between;
        return Judged::abstain(&format!("nobody was answered from second {from:.1} to second {to:.1}"), doubt::LONGER);
    }
    if let Some(answers) = load.answers.filter(|answers| (*answers as f64) < LEAST_ANSWERS * load.sessions) {
        let few = format!(
            "{answers} answers for {:.0} sessions are too few: the ends of the segment may cut off as many requests",
            load.sessions
        );
        return Judged::abstain(&few, doubt::LONGER);
    }
    let Some(model) = Model::fitted(&means, ceilings, load, rate) else {
        return Judged::abstain("the rate does not agree with the recorded work of the sessions", doubt::LONGER);
    };
    let mut found: Vec<Found> = RULES.iter().filter_map(|rule| model.found(rule)).collect();
    found.sort_by(|a, b| b.gain_percent.total_cmp(&a.gain_percent));
    found.sort_by_key(|one| one.is_guessed);
    // Whoever does all that is asked has no limit yet.
    let all_done = load.asked.is_some_and(|asked| rate * (1.0 - means.still) >= ALL_DONE * asked);
    // What brings much less than the first is not what one would change.
    let least = found.first().map_or(0.0, |first| SECOND_PART * first.gain_percent).max(NAMED_PERCENT);
    // Nor is it what one would change where many sessions are held up by what no limit stands for.
    let beyond = outside::beyond_limits(&means, load).filter(|(_, sessions)| {
        let less = model.less_elsewhere(sessions * (1.0 - 1.0 / MORE));
        let is_less = |first: &Found| match first.rule.limit {
            // Others wait for the locks that somebody has who sleeps.
            LOCK_LIMIT => first.waiting.is_some_and(|waiting| waiting < *sessions),
            _ => first.gain_percent < less,
        };
        !all_done && *sessions >= BEYOND_PART * load.sessions && found.first().is_none_or(is_less)
    });
    let named = if all_done || beyond.is_some() {
        0
    } else {
        found.iter().take_while(|found| !found.is_guessed && found.gain_percent >= least).count()
    };
    if all_done {
        // More of anything would bring nothing: no more is asked for.
        for found in &mut found {
            found.gain_percent = 0.0;
        }
    }
    let (named, open) = doubt::certain(&model, &found, named);
    let doubt = if all_done {
        None
    } else if beyond.is_some() {
        doubt::of_sessions(&model)
    } else {
        doubt::of(&model, &found, named)
    };
    let (abstained, remedy) = doubt.map(|doubt| (doubt.reason, doubt.remedy)).unzip();
    let maximum = model.maximum(&found[..named]);
    let names_cpu = found[..named].iter().any(|found| found.rule.station() == Some(Station::Cpu));
    let faster_cores = model.with_faster_cores().filter(|gain| !all_done && !names_cpu && *gain >= NAMED_PERCENT);
    let in_locks = found[..named].first().is_some_and(|first| first.rule.limit == LOCK_LIMIT)
        && model.blocked().is_none_or(|(blocked, waiting)| blocked < waiting / 2.0);
    let faster_cores = faster_cores.filter(|_| !in_locks);
    let mut judged =
        Judged { found, named, abstained, remedy, evidence: Vec::new(), maximum, beyond, in_locks, faster_cores };
    judged.evidence = match judged.abstained {
        None => {
            let guess = doubt::guess(&judged.found).filter(|_| !all_done);
            words::evidence(&model, &judged, all_done).into_iter().chain(open).chain(guess).collect()
        }
        Some(_) => words::known(&model, &judged.found),
    };
    judged
}

/// Whether sessions without an answer for this part of the time waited for a device. They may also have waited for each
/// other, or for a limit that comes in pieces, as quotas of CPU and of I/Os do. Of such a limit, more would have been
/// used in the rest of the time than there is. A device that did I/Os meanwhile did not stand still either: it had
/// others to serve, as in a checkpoint. And a group commit answers all its sessions at once, so that there are silences
/// about as long as a request takes.
fn standing_still_is_the_devices(stretch: &Segment<'_>, ceilings: &[Ceiling], still: f64, load: &Load) -> bool {
    let plain = Means::plain(stretch);
    // Who waits for the log because he was told to waits for no device.
    if load.commit_delay.is_some() || is_rhythm_of_commits(&plain, still, load) {
        return false;
    }
    // Where somebody looked into a silence, that decides; else all of the time does.
    let waited = match plain.seen_in_silence(&rules::DEVICES) {
        Some(seen) => seen * still,
        None => plain.sum(&rules::DEVICES).unwrap_or(0.0),
    };
    // Of limits of rates: memory that is full stays so.
    let rates = RULES.iter().filter(|rule| rule.station().is_some()).filter_map(|rule| highest(&plain, ceilings, rule));
    let most = rates.filter(|used| used.ceiling.is_some()).map(|used| used.part).fold(0.0, f64::max);
    let at_work = plain.io_in_silence().is_some_and(|part| part >= means::STILL_IO);
    waited >= FOR_DEVICES * still * load.sessions && most / (1.0 - still) <= MOST_USED && !at_work
}

/// Whether silences are no longer than some requests take, most of which wait for the log.
fn is_rhythm_of_commits(plain: &Means<'_>, still: f64, load: &Load) -> bool {
    let waits = |columns: &[&str]| plain.sum(columns).unwrap_or(0.0);
    let (Some(usual_stall), Some(rate)) = (plain.usual_stall(), plain.rate()) else { return false };
    let request = load.busy.unwrap_or(load.sessions) * (1.0 - still) / rate;
    usual_stall <= RHYTHM * request && waits(&rules::LOG_WAITS) >= MOSTLY_LOG * waits(&rules::DEVICES)
}

/// A silence so many times as long as a request is no part of a group commit's rhythm: this waits for the group before
/// it and for its own.
const RHYTHM: f64 = 3.0;
/// Part of the waits for devices that are waits for the log where commits are the rhythm.
const MOSTLY_LOG: f64 = 0.8;

/// Sessions that are held up by what no limit stands for are the first thing to be said from this part of all sessions on.
const BEYOND_PART: f64 = 0.25;

/// Requests for each session from which on those at the ends don't matter.
const LEAST_ANSWERS: f64 = 5.0;
/// Part of what a schedule asks for that counts as all of it.
const ALL_DONE: f64 = 0.98;

/// A limit that brings less than this part of what the first one brings is not named beside it.
const SECOND_PART: f64 = 0.1;
/// In the time in which something moved no more than this part of a limit can have been used, with what is counted late.
const MOST_USED: f64 = 1.1;
/// When everything stands still for the device's sake, so large a part of the sessions at least waits for it.
const FOR_DEVICES: f64 = 0.8;

#[cfg(test)]
mod tests;
