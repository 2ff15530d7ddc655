//! The verdict about a run: each repetition, step and phase by itself, and what most of them say.

use plimsoll_measurement::units::tenths;
use plimsoll_measurement::{Client, Metric, Phase, Repetition, RunRecord, Segment as Told, Verdict};

use super::means::Segment;
use super::work::{busy, made_again, need, of_target, operations, spread};
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
    /// The step, where there are several.
    step: Option<String>,
    /// Step or phase, as people read it.
    phase: Option<String>,
    between: (f64, f64),
    /// Work a second, by which the phases of one step are ranked; steps are never ranked, as their work differs in kind.
    rate: f64,
    /// False of a try in a search that did not hold, or was not judged.
    counts: bool,
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
    (limit, names.collect(), utilisation, sentences(&[judged]))
}

/// What is said of judgements: of those without a verdict first why, then what would settle it, and then what is known all the same.
fn sentences(judged: &[&Judged]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    // Of repetitions that differ in their numbers alone the first one speaks for all.
    let shape = |text: &str| text.replace(|sign: char| sign.is_ascii_digit() || sign == '.', "");
    let mut shapes = Vec::new();
    for reason in judged.iter().filter_map(|one| one.abstained.as_ref()) {
        if !shapes.contains(&shape(reason)) {
            shapes.push(shape(reason));
            all.push(format!("not enough evidence: {reason}"));
        }
    }
    let remedies = judged.iter().filter_map(|one| one.remedy);
    all.extend(remedies.map(|remedy| format!("what would settle it: {remedy}")));
    all.extend(judged.first().into_iter().flat_map(|one| one.evidence.iter().cloned()));
    let mut told = Vec::new();
    all.retain(|sentence| {
        !told.contains(sentence) && {
            told.push(sentence.clone());
            true
        }
    });
    all
}

/// Which limit bound a run. Nothing is said of one that was not looked at.
pub fn verdict(record: &RunRecord) -> Verdict {
    let client = record.host.client.as_ref().filter(|_| record.clock == "real");
    let parts: Vec<Part> = record.repetitions.iter().flat_map(|repetition| parts(record, repetition, client)).collect();
    // The headline is the first step's. Of what was tried in turn there the fastest counts, of a search the fastest that held.
    let is_headline = |part: &&Part| parts.first().is_some_and(|first| first.step == part.step);
    let fastest = |part: &&Part| {
        let rivals =
            parts.iter().filter(is_headline).filter(|other| other.repetition == part.repetition && other.counts);
        part.counts && rivals.into_iter().all(|other| other.rate <= part.rate)
    };
    let mut heard: Vec<&Part> = parts.iter().filter(is_headline).filter(fastest).collect();
    if heard.is_empty() {
        heard = parts.iter().filter(is_headline).collect();
    }
    let Some(first) = parts.first() else { return without_parts(record) };
    let several = parts.iter().any(|part| part.limits() != first.limits() || part.phase.is_some());
    let segments = if several { parts.iter().map(Part::told).collect() } else { Vec::new() };
    let Some(agreed) = agreed(&heard) else {
        let silent: Vec<&Judged> =
            heard.iter().map(|part| &part.judged).filter(|one| one.abstained.is_some()).collect();
        let evidence = if silent.is_empty() { disagreed(&heard) } else { sentences(&silent) };
        return Verdict { evidence, segments, ..Verdict::default() };
    };
    let speaks = |part: &Part| part.limits().as_ref() == Some(&agreed);
    let begins = |part: &Part| part.limits().is_some_and(|limits| limits.first() == agreed.first());
    let spokesman = middle(&heard, speaks).or_else(|| middle(&heard, begins)).or_else(|| middle(&heard, |_| true));
    let Some(spokesman) = spokesman else { return Verdict::default() };
    let (_, _, utilisation_percent, mut evidence) = said(&spokesman.judged);
    let (alike, all, label) = (heard.iter().filter(|part| begins(part)).count(), heard.len(), &spokesman.repetition);
    evidence.splice(..0, named_elsewhere(&heard, spokesman, &agreed));
    if alike < all {
        evidence.push(format!("{alike} of {all} repetitions say so; these figures are those of {label}"));
    } else if all > 1 {
        let which = match all {
            2 => "the slower of the 2 repetitions".to_owned(),
            _ => format!("the one of the {all} repetitions in the middle by its rate"),
        };
        evidence.push(format!("these figures are those of {label}, {which}"));
    }
    let mut names = agreed.into_iter().map(str::to_owned);
    let limit = Some(names.next().unwrap_or_else(|| NONE.to_owned()));
    let (also, gains) = (names.collect(), spokesman.judged.gains());
    let theoretical_gain_percent = spokesman.judged.theoretical_gain_percent();
    Verdict { limit, also, utilisation_percent, theoretical_gain_percent, evidence, gains, segments }
}

/// What is named and was found in other repetitions than the one that speaks: its figures do not show why.
fn named_elsewhere(heard: &[&Part], spokesman: &Part, agreed: &[&'static str]) -> Vec<String> {
    let own = spokesman.limits().unwrap_or_default();
    let of = |name: &&'static str| {
        let other = heard.iter().find(|part| part.limits().is_some_and(|limits| limits.contains(name)))?;
        let found = other.judged.found.iter().find(|found| found.rule.limit == *name)?;
        let (words, lift, gain) = (found.rule.words, found.lift, tenths(found.gain_percent));
        let label = &other.repetition;
        Some(format!(
            "repetition {label} names {words}: there, by the model, {lift} would raise the rate by about {gain} %"
        ))
    };
    agreed.iter().filter(|name| !own.contains(name)).filter_map(of).collect()
}

/// Of those that say so the one whose rate is in the middle; of two the slower one. The first repetition often differs from the others, as caches
/// are not warm yet, so that it is a bad one to speak for all.
fn middle<'a>(heard: &[&'a Part], says_so: impl Fn(&Part) -> bool) -> Option<&'a Part> {
    let mut alike: Vec<&Part> = heard.iter().copied().filter(|part| says_so(part)).collect();
    alike.sort_by(|one, other| one.rate.total_cmp(&other.rate));
    alike.get(alike.len().saturating_sub(1) / 2).copied()
}

/// What is said of a run of which no stretch of time can be judged: nothing, unless somebody looked.
fn without_parts(record: &RunRecord) -> Verdict {
    let looks = record.host.sampling.as_ref().map_or(0, |cost| cost.looks);
    if looks == 0 || record.clock != "real" {
        return Verdict::default();
    }
    let few = format!("not enough evidence: {looks} looks at the server are too few to see what bound");
    Verdict { evidence: vec![few, format!("what would settle it: {}", super::doubt::LONGER)], ..Verdict::default() }
}

/// What each of them named, where they don't agree.
fn disagreed(parts: &[&Part]) -> Vec<String> {
    let each = |part: &&Part| {
        let limits = part.limits().unwrap_or_default();
        format!("{}: {}", part.repetition, if limits.is_empty() { NONE.to_owned() } else { limits.join(" and ") })
    };
    let each: Vec<String> = parts.iter().map(each).collect();
    vec![
        format!("not enough evidence: the repetitions had different bottlenecks ({})", each.join("; ")),
        format!("what would settle it: {}", super::doubt::LONGER),
    ]
}

/// The limits that more than half of them name, and beside these what half of them name first; first what most of them name first. None if more
/// than half say that nothing bound. `None` if they don't agree.
fn agreed(parts: &[&Part]) -> Option<Vec<&'static str>> {
    let said: Vec<Vec<&'static str>> = parts.iter().filter_map(|part| part.limits()).collect();
    let is_most = |count: usize| 2 * count > parts.len();
    let mut names: Vec<&'static str> = Vec::new();
    for name in said.iter().flatten() {
        if !names.contains(name) && is_most(said.iter().filter(|limits| limits.contains(name)).count()) {
            names.push(name);
        }
    }
    let firsts = |name: &&str| said.iter().filter(|limits| limits.first() == Some(name)).count();
    if !names.is_empty() {
        for name in said.iter().filter_map(|limits| limits.first()) {
            if !names.contains(name) && 2 * firsts(name) >= parts.len() {
                names.push(name);
            }
        }
    }
    names.sort_by_key(|name| std::cmp::Reverse(firsts(name)));
    let nothing = said.iter().filter(|limits| limits.is_empty()).count();
    (!names.is_empty() || is_most(nothing)).then_some(names)
}

/// The segments of a repetition.
fn parts(record: &RunRecord, repetition: &Repetition, client: Option<&Client>) -> Vec<Part> {
    let mut parts = Vec::new();
    let is_search = record.repetitions.iter().flat_map(|one| &one.phases).any(|phase| phase.holds.is_some());
    for samples in repetition.samples.iter().filter(|samples| !samples.is_empty()) {
        let makes_requests =
            !repetition.seconds.is_empty() && repetition.phases.iter().any(|phase| phase.seconds > 0.0);
        let seconds =
            if makes_requests { operations(repetition) } else { spread(repetition, samples.phase.as_deref()) };
        let end = samples.seconds.last().copied().unwrap_or(0.0);
        let phases = || repetition.phases.iter().enumerate().filter(|(_, phase)| phase.seconds >= SHORTEST_SECONDS);
        let batches = repetition.phases.iter().any(|phase| phase.batch_rows.is_some());
        let mut add = |phase: Option<String>, between: (f64, f64), load: Load, of: Option<&Phase>| {
            let stalls = &repetition.stalls;
            let stretch = Segment { samples, between: settled(between), seconds: &seconds, stalls };
            let judged = judge(&stretch, &record.ceilings, &load);
            let done: f64 = seconds.iter().skip(between.0 as usize).take((between.1 - between.0).ceil() as usize).sum();
            let rate = match of.and_then(|phase| phase.mb_per_minute).filter(|_| batches) {
                Some(rate) => rate,
                None => done / (between.1 - between.0).max(f64::MIN_POSITIVE),
            };
            let (label, step) = (repetition.label.clone(), samples.phase.clone());
            let counts = of.is_none_or(|phase| !is_search || phase.holds == Some(true));
            parts.push(Part { repetition: label, step, phase, between, rate, counts, judged });
        };
        if makes_requests && phases().next().is_some() {
            let several = repetition.phases.len() > 1;
            for (place, phase) in phases() {
                let between = (phase.started_seconds, phase.started_seconds + phase.seconds);
                let sessions = f64::from(phase.sessions);
                let answers = Some(phase.operations);
                let client = client.and_then(|client| need(client, &repetition.label, place));
                let busy = busy(phase);
                let (asked, made_again) = (phase.rate_asked, made_again(repetition));
                let load = Load { sessions, busy, answers, asked, client, made_again, ..of_target(record, phase) };
                add(several.then(|| phase.label.clone()), between, load, Some(phase));
            }
        } else {
            let sessions = repetition.points.iter().filter_map(|point| point.get(Metric::Sessions));
            let sessions = sessions.reduce(f64::max).unwrap_or(1.0);
            let load = Load { sessions, busy: Some(sessions), ..Load::default() };
            add(samples.phase.clone(), (0.0, end), load, None);
        }
    }
    parts
}

/// A stretch without its beginning.
fn settled((from, to): (f64, f64)) -> (f64, f64) {
    (from + LEFT_OUT_SECONDS.min(LEFT_OUT_PART * (to - from)), to)
}

#[cfg(test)]
mod tests {
    use plimsoll_measurement::{Ceiling, ClientPhase, LatencyHistogramData, Point, SampleColumn, Samples};

    use super::*;

    fn samples(step: Option<&str>, seconds: u32, columns: &[(&str, f64)]) -> Samples {
        let column = |(metric, value): &(&str, f64)| SampleColumn {
            metric: (*metric).to_owned(),
            source: "engine".to_owned(),
            values: vec![Some(*value); seconds as usize],
            ..SampleColumn::default()
        };
        Samples {
            phase: step.map(str::to_owned),
            seconds: (1..=seconds).map(f64::from).collect(),
            columns: columns.iter().map(column).collect(),
            ..Samples::default()
        }
    }

    fn record(repetition: Repetition) -> RunRecord {
        let mut record = RunRecord { clock: "real".to_owned(), ..RunRecord::default() };
        let ceilings = [("data_iops", 500.0), ("cpu", 2.0)];
        record.ceilings =
            ceilings.iter().map(|(resource, value)| Ceiling::new(resource, *value, "the test").unwrap()).collect();
        record.repetitions = vec![repetition];
        record
    }

    #[test]
    fn between_two_attempts_no_answer_is_under_way() {
        let times = |sum_us: f64| LatencyHistogramData { count: 100, sum_us, ..LatencyHistogramData::default() };
        let phase = Phase { seconds: 10.0, times: times(80e6), ..Phase::default() };
        assert_eq!(busy(&phase), Some(8.0));
        let again = Phase { times_without_waits: Some(times(30e6)), ..phase };
        assert_eq!(busy(&again), Some(3.0));
    }

    fn repetition(label: &str, columns: &[(&str, f64)]) -> Repetition {
        let done = Point { seconds: 10.0, ..Point::default() };
        let points = vec![done.with(Metric::Rows, 1_000_u64).with(Metric::Sessions, 8_u64)];
        let samples = vec![samples(None, 10, columns)];
        Repetition { label: label.to_owned(), points, samples, ..Repetition::default() }
    }

    #[test]
    fn the_evidence_says_how_many_repetitions_it_is_of() {
        let disk = [("data_reads", 499.0), ("waiting_for_data_read", 7.0), ("cpu", 0.1)];
        let cpu = [("data_reads", 1.0), ("waiting_for_data_read", 0.0), ("cpu", 2.0)];
        let told = |third: &[(&str, f64)]| {
            let mut record = record(repetition("a", third));
            record.repetitions.extend([repetition("b", &disk), repetition("c", &disk)]);
            let verdict = verdict(&record);
            assert_eq!(verdict.limit.as_deref(), Some("data_iops"));
            verdict.evidence.last().unwrap().clone()
        };
        assert_eq!(told(&cpu), "2 of 3 repetitions say so; these figures are those of b");
        assert_eq!(told(&disk), "these figures are those of b, the one of the 3 repetitions in the middle by its rate");
    }

    #[test]
    fn the_repetition_in_the_middle_speaks() {
        let of = |label: &str, reads: f64, rows: u64| {
            let mut one = repetition(label, &[("data_reads", reads), ("waiting_for_data_read", 7.0), ("cpu", 0.1)]);
            one.points = one.points.into_iter().map(|point| point.with(Metric::Rows, rows)).collect();
            one
        };
        let mut record = record(of("first", 475.0, 800));
        record.repetitions.extend([of("second", 499.0, 1_200), of("third", 490.0, 1_000)]);
        assert_eq!(verdict(&record).utilisation_percent, Some(98.0));
    }

    #[test]
    fn what_half_of_the_repetitions_name_first_is_named_as_well() {
        let one = [("data_reads", 499.0), ("waiting_for_data_read", 7.0), ("cpu", 0.1)];
        let both =
            [("data_reads", 460.0), ("waiting_for_data_read", 3.4), ("waiting_for_log_write", 4.4), ("cpu", 0.1)];
        let part = |label, columns| {
            let record = record(repetition(label, columns));
            parts(&record, &record.repetitions[0], None).remove(0)
        };
        let (first, mut second) = (part("a", &one[..]), part("b", &both[..]));
        second.judged.found.swap(0, 1);
        let said = [first.limits(), second.limits()];
        assert_eq!(said, [Some(vec!["data_iops"]), Some(vec!["log_write", "data_iops"])]);
        assert_eq!(agreed(&[&first, &second]), Some(vec!["data_iops", "log_write"]));
        let told = named_elsewhere(&[&first, &second], &first, &["data_iops", "log_write"]);
        assert!(told.len() == 1 && told[0].starts_with("repetition b names writes of the log: there"), "{told:?}");
        assert!(named_elsewhere(&[&first, &second], &second, &["data_iops", "log_write"]).is_empty());
    }

    #[test]
    fn repetitions_that_differ_in_their_numbers_alone_speak_once() {
        let of =
            |sessions: f64| [("on_cpu", 0.1), ("data_reads", 1.0), ("cpu", 0.1), ("waiting_for_data_read", sessions)];
        let mut both = record(repetition("a", &of(0.9)));
        both.repetitions.push(repetition("b", &of(1.0)));
        let evidence = verdict(&both).evidence;
        let reasons = evidence.iter().filter(|one| one.starts_with("not enough evidence")).count();
        assert_eq!(reasons, 1, "{evidence:#?}");
    }

    #[test]
    fn the_verdict_is_the_headline_steps_and_steps_are_not_ranked() {
        // The first step did few large things at a full device, the second many small ones with full CPUs.
        let point = |step: &str, rows: u64| {
            Point { phase: Some(step.to_owned()), seconds: 10.0, ..Point::default() }
                .with(Metric::Rows, rows)
                .with(Metric::Sessions, 8_u64)
        };
        let disk = [("data_reads", 499.0), ("waiting_for_data_read", 7.0), ("cpu", 0.1)];
        let cpu = [("data_reads", 1.0), ("waiting_for_data_read", 0.0), ("cpu", 2.0)];
        let of = |first: &str, second: &str| {
            record(Repetition {
                label: "a".to_owned(),
                points: vec![point(first, 100), point(second, 100_000_000)],
                samples: vec![samples(Some(first), 10, &disk), samples(Some(second), 10, &cpu)],
                ..Repetition::default()
            })
        };
        assert_eq!(verdict(&of("write", "memory")).limit.as_deref(), Some("data_iops"));
        assert_eq!(verdict(&of("memory", "write")).limit.as_deref(), Some("data_iops"));
    }

    #[test]
    fn the_clients_need_is_each_phases_own() {
        let phase = |started_seconds: f64, rate: f64| Phase {
            started_seconds,
            seconds: 10.0,
            sessions: 8,
            operations: (rate * 10.0) as u64,
            rate,
            ..Phase::default()
        };
        let mut one = Repetition { label: "a".to_owned(), ..Repetition::default() };
        one.phases = vec![phase(0.0, 900.0), phase(10.0, 400.0)];
        one.seconds.operations = [vec![900; 10], vec![400; 10]].concat();
        one.samples = vec![samples(None, 20, &[("cpu", 0.2)])];
        let mut run = record(one);
        let need = |phase: u32, busy_percent: f64| ClientPhase {
            repetition: "a".to_owned(),
            phase,
            busy_percent,
            ..ClientPhase::default()
        };
        let phases = vec![need(0, 5.0), need(1, 90.0)];
        run.host.client = Some(Client { busy_percent: Some(90.0), phases, ..Client::default() });
        assert_eq!(verdict(&run).limit.as_deref(), Some(NONE), "the fastest phase left the client idle");
        // As it was: the need of the other phase was held against all.
        run.host.client.as_mut().unwrap().phases.clear();
        assert_eq!(verdict(&run).limit.as_deref(), Some("client"));
    }

    #[test]
    fn a_try_of_a_search_that_was_not_judged_is_no_rival() {
        let phase = |started_seconds: f64, rate: f64, holds: Option<bool>| Phase {
            started_seconds,
            seconds: 10.0,
            sessions: 8,
            operations: (rate * 10.0) as u64,
            rate,
            holds,
            ..Phase::default()
        };
        let mut one = Repetition { label: "a".to_owned(), ..Repetition::default() };
        // The first rate held at a full device. The second had too few response times for the goal, and full CPUs.
        one.phases = vec![phase(0.0, 400.0, Some(true)), phase(10.0, 900.0, None)];
        one.seconds.operations = [vec![400; 10], vec![900; 10]].concat();
        let columns = [("data_reads", [499.0, 1.0]), ("waiting_for_data_read", [7.0, 0.0]), ("cpu", [0.1, 2.0])];
        let mut both = samples(None, 20, &columns.map(|(metric, _)| (metric, 0.0)));
        for (column, (_, [first, second])) in both.columns.iter_mut().zip(columns) {
            column.values = [[Some(first); 10], [Some(second); 10]].concat();
        }
        one.samples = vec![both];
        let mut run = record(one);
        assert_eq!(verdict(&run).limit.as_deref(), Some("data_iops"), "the fastest that held");
        run.repetitions[0].phases[0].holds = None;
        assert_eq!(verdict(&run).limit.as_deref(), Some("cpu"), "where nothing is sought the fastest counts");
    }
}
