//! The verdict on a prediction: what binds there by the model, what it would bring to raise it, and what the model cannot say.

use plimsoll_measurement::units::format_significant;
use plimsoll_measurement::{Gain, Verdict};

use super::predict::shares_cpus;
use super::rate::LimitGain;
use super::telling::Telling;
use crate::grid::{Replicated, Used};
use crate::record::{first_and_second, used};
use crate::server::Shares;

/// The limit whose gain the model cannot know on a machine that the server shares.
const CPU: &str = "cpu";

/// A rate that was asked for is met if so much of it is answered.
const MET: f64 = 0.99;

/// CPUs that differ by less are as many.
const SAME: f64 = 0.01;

/// The verdict, with gains that were asked for, or else those by which it was found.
pub(super) fn verdict(telling: &Telling<'_>, replicated: &Replicated) -> Verdict {
    let Telling { calibrated, prediction, gains, .. } = telling;
    let used = used(replicated);
    let source = calibrated.measured();
    let shared = shared_cpu(telling);
    // How far to trust it stands where it is read.
    let mut evidence = vec![format!(
        "This is {} times what the run was measured with, {} requests a second. Simulated on its own hardware, the source misses its measured rate by \
         {:+.1} %{}.",
        format_significant(prediction.rate.value / source),
        format_significant(source),
        calibrated.error_percent,
        fitted(telling),
    )];
    let (limit, also) = if let Some(both) = prediction.undecided() {
        let words = both.map(|gain| {
            let [low, high] = [gain.percent.low, gain.percent.high].map(rounded);
            format!("{} would raise the rate by {low} to {high} %", gain.change)
        });
        let text = "Which limit comes first there is open. A run on hardware that is nearer to it would tell.";
        evidence.insert(0, format!("{text} By the model, {}.", words.join(", and ")));
        (None, Vec::new())
    } else {
        let mut bottlenecks = prediction.bottlenecks().into_iter();
        (Some(bottlenecks.next().unwrap_or("none")), bottlenecks.collect())
    };
    // The run itself was bound by what the model leaves out: it says nothing against that.
    let (limit, also) = if shared.is_some() { (None, Vec::new()) } else { (limit, also) };
    evidence.extend(shared.clone());
    if shared.is_none() && limit == Some("none") {
        let asked = calibrated.evidence.load.asked_per_s().filter(|asked| prediction.rate.value >= MET * asked);
        let reason = match asked {
            Some(_) => {
                "Requests are answered at the rate that was asked for, and a higher limit would shorten their times alone: they"
            }
            None => "Times decide there, and no limit: requests",
        };
        evidence
            .extend(both_full(&used).filter(|_| asked.is_none()).or_else(|| longest_wait(reason, telling, replicated)));
    }
    evidence.extend(first_and_second(&used));
    let is_known = |gain: &&LimitGain| shared.is_none() || gain.limit != CPU;
    for gain in prediction.fifths.iter().filter(is_known).take(2) {
        evidence.push(format!(
            "By the model, {} would raise the rate by {:.1} %.",
            gain.change,
            gain.percent.value.max(0.0)
        ));
    }
    let told = if gains.is_empty() { &prediction.fifths[..] } else { gains };
    // How far memory is used nobody counts, and the use of another limit is none of it.
    let percent = |limit: &str| used.iter().find(|(_, name, ..)| *name == limit).map(|used| used.2);
    Verdict {
        limit: limit.map(str::to_owned),
        also: also.into_iter().map(str::to_owned).collect(),
        utilisation_percent: match limit {
            None | Some("none") => used.first().map(|used| used.2),
            Some(limit) => percent(limit),
        },
        evidence,
        gains: told.iter().filter(is_known).map(gain).collect(),
        ..Verdict::default()
    }
}

/// That the error is small because something was fitted to make it so.
fn fitted(telling: &Telling<'_>) -> String {
    let calibrated = telling.calibrated;
    let response_s = f64::from(calibrated.evidence.load.sessions) / calibrated.measured();
    let part = calibrated.missing_s / response_s;
    if part < WORTH_A_WORD {
        return String::new();
    }
    format!(", as {:.0} % of a request's time were added to meet it", 100.0 * part)
}

/// From this part of a request's time on what was fitted is told.
const WORTH_A_WORD: f64 = 0.1;

/// That the run was bound by the CPU of a machine that its server shares, on which the prediction is as well.
fn shared_cpu(telling: &Telling<'_>) -> Option<String> {
    let Telling { source, calibrated, prediction, .. } = telling;
    let [own, there] = [&calibrated.hardware, &prediction.hardware].map(|one| one.spec.cpu.cores);
    let is_bound = source.verdict.limits().any(|limit| limit == CPU);
    if !is_bound || !shares_cpus(source) || (there / own - 1.0).abs() > SAME || prediction.bottlenecks().contains(&CPU)
    {
        return None;
    }
    let by_run = source.verdict.gains.iter().find(|gain| gain.limit == CPU);
    let by_run = by_run.map_or_else(String::new, |gain| {
        format!(" The run's own verdict is that {} would raise its rate by {:.1} %.", gain.change, gain.gain_percent)
    });
    Some(format!(
        "The run was bound by the CPU of a machine that its server shares with the client and other programs. The model leaves them out, so what more \
         CPU brings is not known.{by_run}"
    ))
}

/// What is waited for, and where its share is read.
type Share = (&'static str, fn(&Shares) -> f64);

/// Limits of which two are used to so much of it hold the rate together.
const BOTH_FULL_PERCENT: f64 = 90.0;

/// That two limits are reached at once, so that more of one of them brings little.
fn both_full(used: &[Used]) -> Option<String> {
    let [(one, _, first, _), (other, _, second, _), ..] = used else { return None };
    (*second >= BOTH_FULL_PERCENT).then(|| {
        format!(
            "Two limits are reached there together, {one} used to {first:.0} % and {other} to {second:.0} %: more of one of them alone brings little, as the \
             other holds then."
        )
    })
}

/// What requests wait for where no limit binds: then times decide, and not what there is of anything.
fn longest_wait(reason: &str, telling: &Telling<'_>, replicated: &Replicated) -> Option<String> {
    let mean = |of: fn(&Shares) -> f64| {
        let all = replicated.values(|one| one.wait_percent.as_ref().map(of))?;
        Some(all.iter().sum::<f64>() / all.len().max(1) as f64)
    };
    let demand = &telling.calibrated.derived.demand;
    let is_locks = demand.lock_s > demand.other_s / 2.0;
    let shares: [Share; 4] = [
        ("the log", |shares| shares.log),
        ("reads of data", |shares| shares.page),
        ("the CPU, their own use of it included", |shares| shares.cpu),
        (if is_locks { "locks of other sessions" } else { "what the run does not name" }, |shares| shares.other),
    ];
    let mut shares: Vec<(&str, f64)> = shares.into_iter().filter_map(|(what, of)| Some((what, mean(of)?))).collect();
    shares.sort_by(|one, other| other.1.total_cmp(&one.1));
    let (first, second) = (shares.first()?, shares.get(1)?);
    let also = if second.1 >= 10.0 { format!(", and for {} in {:.0} %", second.0, second.1) } else { String::new() };
    Some(format!("{reason} wait for {} in {:.0} % of their time{also}.", first.0, first.1))
}

fn gain(gain: &LimitGain) -> Gain {
    Gain {
        limit: gain.limit.to_owned(),
        change: gain.change.clone(),
        gain_percent: rounded(gain.percent.value),
        gain_percent_low: Some(rounded(gain.percent.low)),
        gain_percent_high: Some(rounded(gain.percent.high)),
    }
}

fn rounded(percent: f64) -> f64 {
    // Nothing that is a little below zero is no "-0".
    (percent * 10.0).round() / 10.0 + 0.0
}
