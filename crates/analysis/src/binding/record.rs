//! The verdict about a run: each repetition, step and phase by itself, and what most of them say.

use plimsoll_measurement::{Metric, Phase, Repetition, RunRecord, Segment as Told, Verdict};

use super::means::Segment;
use super::{Judged, Load, judge};

/// The name of the verdict that nothing which can be seen bound.
pub const NONE: &str = "none";

/// A stretch shorter than this has no verdict of its own, in seconds.
const SHORTEST_SECONDS: f64 = 2.0;

/// What is left out at the beginning of a stretch, in seconds: sessions begin one after the other, and caches are warmed.
const LEFT_OUT_SECONDS: f64 = 1.0;
/// ... but never more than this part of it.
const LEFT_OUT_PART: f64 = 0.2;

/// A stretch of a repetition with what it came to.
struct Part {
    repetition: String,
    phase: Option<String>,
    between: (f64, f64),
    /// Work a second, by which the phases of a step are ranked.
    rate: f64,
    judged: Judged,
}

impl Part {
    fn limits(&self) -> Option<Vec<&'static str>> {
        self.judged.limits()
    }

    fn told(&self) -> Told {
        let (limit, also, utilisation_percent, evidence) = said(&self.judged);
        let (from_seconds, to_seconds) = self.between;
        let (repetition, phase) = (self.repetition.clone(), self.phase.clone());
        Told { repetition, phase, from_seconds, to_seconds, limit, also, utilisation_percent, evidence }
    }
}

type Said = (Option<String>, Vec<String>, Option<f64>, Vec<String>);

/// A judgement in the words of a record.
fn said(judged: &Judged) -> Said {
    let names = judged.limits();
    let mut names = names.into_iter().flatten().map(str::to_owned);
    let first = names.next();
    let limit = if judged.abstained.is_some() { None } else { first.or_else(|| Some(NONE.to_owned())) };
    let used = judged.found.first().filter(|_| judged.named > 0).and_then(|found| found.used.as_ref());
    let utilisation = used.map(|used| (1000.0 * used.part).round() / 10.0);
    let reason = judged.abstained.iter().map(|reason| format!("not enough evidence: {reason}"));
    (limit, names.collect(), utilisation, reason.chain(judged.evidence.iter().cloned()).collect())
}

/// Which limit bound a run. Nothing is said of one that was not looked at.
pub fn verdict(record: &RunRecord) -> Verdict {
    let client = record.host.client.as_ref().filter(|_| record.clock == "real");
    let client = client.and_then(|client| client.busy_percent).map(|percent| percent / 100.0);
    let parts: Vec<Part> = record.repetitions.iter().flat_map(|repetition| parts(record, repetition, client)).collect();
    // Of what was tried in turn the fastest counts, as it does for the headline.
    let fastest = |part: &&Part| {
        let same = |other: &&Part| other.repetition == part.repetition;
        parts.iter().filter(same).all(|other| other.rate <= part.rate || other.phase.is_none())
    };
    let heard: Vec<&Part> = parts.iter().filter(fastest).collect();
    let Some(first) = parts.first() else { return Verdict::default() };
    let several = parts.iter().any(|part| part.limits() != first.limits() || part.phase.is_some());
    let segments = if several { parts.iter().map(Part::told).collect() } else { Vec::new() };
    let Some(agreed) = agreed(&heard) else {
        let mut reasons: Vec<String> = heard.iter().filter_map(|part| part.judged.abstained.clone()).collect();
        reasons.dedup();
        if reasons.is_empty() {
            reasons.push("the repetitions were held back by different limits".to_owned());
        }
        let evidence = reasons.iter().map(|reason| format!("not enough evidence: {reason}")).collect();
        return Verdict { evidence, segments, ..Verdict::default() };
    };
    let speaks = |part: &&&Part| part.limits().as_ref() == Some(&agreed);
    let Some(spokesman) = heard.iter().find(speaks).or_else(|| heard.first()) else { return Verdict::default() };
    let (_, _, utilisation_percent, evidence) = said(&spokesman.judged);
    let mut names = agreed.into_iter().map(str::to_owned);
    let limit = Some(names.next().unwrap_or_else(|| NONE.to_owned()));
    let (also, gains) = (names.collect(), spokesman.judged.gains());
    let theoretical_gain_percent = spokesman.judged.theoretical_gain_percent();
    Verdict { limit, also, utilisation_percent, theoretical_gain_percent, evidence, gains, segments }
}

/// The limits that more than half of them name, in the order of the first; none if more than half say that nothing bound. `None` if
/// they don't agree.
fn agreed(parts: &[&Part]) -> Option<Vec<&'static str>> {
    let said: Vec<Vec<&'static str>> = parts.iter().filter_map(|part| part.limits()).collect();
    let is_most = |count: usize| 2 * count > parts.len();
    let mut names: Vec<&'static str> = Vec::new();
    for name in said.iter().flatten() {
        if !names.contains(name) && is_most(said.iter().filter(|limits| limits.contains(name)).count()) {
            names.push(name);
        }
    }
    let nothing = said.iter().filter(|limits| limits.is_empty()).count();
    (!names.is_empty() || is_most(nothing)).then_some(names)
}

/// The segments of a repetition.
fn parts(record: &RunRecord, repetition: &Repetition, client: Option<f64>) -> Vec<Part> {
    let mut parts = Vec::new();
    for samples in repetition.samples.iter().filter(|samples| !samples.is_empty()) {
        let makes_requests =
            !repetition.seconds.is_empty() && repetition.phases.iter().any(|phase| phase.seconds > 0.0);
        let seconds =
            if makes_requests { operations(repetition) } else { spread(repetition, samples.phase.as_deref()) };
        let end = samples.seconds.last().copied().unwrap_or(0.0);
        let phases: Vec<&Phase> = repetition.phases.iter().filter(|phase| phase.seconds >= SHORTEST_SECONDS).collect();
        let mut add = |phase: Option<String>, between: (f64, f64), load: Load| {
            let stalls = &repetition.stalls;
            let stretch = Segment { samples, between: settled(between), seconds: &seconds, stalls };
            let judged = judge(&stretch, &record.ceilings, &load);
            let done: f64 = seconds.iter().skip(between.0 as usize).take((between.1 - between.0).ceil() as usize).sum();
            let rate = done / (between.1 - between.0).max(f64::MIN_POSITIVE);
            parts.push(Part { repetition: repetition.label.clone(), phase, between, rate, judged });
        };
        if makes_requests && !phases.is_empty() {
            let several = repetition.phases.len() > 1;
            for phase in phases {
                let between = (phase.started_seconds, phase.started_seconds + phase.seconds);
                let sessions = f64::from(phase.sessions);
                let answers = Some(phase.operations);
                let load = Load { sessions, busy: busy(phase), answers, asked: phase.rate_asked, client };
                add(several.then(|| phase.label.clone()), between, load);
            }
        } else {
            let sessions = repetition.points.iter().filter_map(|point| point.get(Metric::Sessions));
            let sessions = sessions.reduce(f64::max).unwrap_or(1.0);
            let load = Load { sessions, busy: Some(sessions), ..Load::default() };
            add(samples.phase.clone(), (0.0, end), load);
        }
    }
    parts
}

/// Sessions that waited for an answer, on average: the sum of all response times by the time that passed, which is Little's law.
fn busy(phase: &Phase) -> Option<f64> {
    let times = phase.times_uncorrected.as_ref().unwrap_or(&phase.times);
    (times.count > 0 && phase.seconds > 0.0).then(|| times.sum_us / 1e6 / phase.seconds)
}

/// A stretch without its beginning.
fn settled((from, to): (f64, f64)) -> (f64, f64) {
    (from + LEFT_OUT_SECONDS.min(LEFT_OUT_PART * (to - from)), to)
}

/// Requests of each second.
fn operations(repetition: &Repetition) -> Vec<f64> {
    repetition.seconds.operations.iter().map(|count| *count as f64).collect()
}

/// What a step has done, in the order in which it counts.
const WORK: [Metric; 5] = [Metric::ContentBytes, Metric::PageBytes, Metric::Operations, Metric::Rows, Metric::Matches];

/// The points of a step, spread evenly over the seconds that they took: bytes, else rows, else pairs of rows.
fn spread(repetition: &Repetition, phase: Option<&str>) -> Vec<f64> {
    let mut seconds: Vec<f64> = Vec::new();
    for point in repetition.points.iter().filter(|point| point.phase.as_deref() == phase && point.seconds > 0.0) {
        let Some(work) = WORK.iter().find_map(|metric| point.count(*metric)).filter(|work| *work > 0) else { continue };
        let (start, end) = (point.started_seconds.max(0.0), point.started_seconds + point.seconds);
        // Longer than any run: a record that says so is not believed.
        if !(end.is_finite() && end < MOST_SECONDS) {
            continue;
        }
        if seconds.len() <= end as usize {
            seconds.resize(end as usize + 1, 0.0);
        }
        let first = start as usize;
        for (done, second) in seconds[first..=end as usize].iter_mut().zip(first..) {
            let part = (end.min(second as f64 + 1.0) - start.max(second as f64)).max(0.0);
            *done += work as f64 * part / point.seconds;
        }
    }
    seconds
}

const MOST_SECONDS: f64 = 1e7;
