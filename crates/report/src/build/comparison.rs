//! Runs against a first one: which is better and by how much, what held each back, what differs between them, and each figure of both.

use std::collections::BTreeSet;

use plimsoll_analysis::DEFAULT_CONFIDENCE;
use plimsoll_measurement::{Figure, Gain, RequestKind, RunRecord, Subject};

use super::bought::held_back;
use super::kinds::{Kind, by_kind};
use super::order::grouped;
use super::{waited, words, work};
use crate::model::format::{self, confidence, ends, listed, moment, name, plain, title};
use crate::model::{Bar, BarChart, Cell, Part, Picture, Rank, Report, Table, Tone, Value, number, text};

/// A run against the first one, which is called A.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared<'a> {
    /// What counts as 1.
    pub baseline: &'a RunRecord,
    /// What is held against it.
    pub candidate: &'a RunRecord,
    /// The figures that both have, the headline first.
    pub figures: Vec<Comparison>,
    /// What differs beside what was measured.
    pub differences: Vec<Differs>,
    /// What has to be known of either before a ratio is trusted.
    pub notes: [Vec<String>; 2],
}

/// A setting or a condition that differs between two runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differs {
    /// Its name.
    pub what: String,
    /// Its values in both; absent where it is not known.
    pub values: [Option<String>; 2],
}

/// One figure of a run against the same figure of another.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What is compared: `read_rate`, ...
    pub metric: String,
    /// The figure in both; absent where a run has none.
    pub figures: [Option<Figure>; 2],
    /// Candidate over baseline; absent if either side has no figure.
    pub ratio: Option<f64>,
    /// Lower end of the ratio's interval.
    pub low: Option<f64>,
    /// Upper end of the ratio's interval.
    pub high: Option<f64>,
    /// Confidence of the interval, 0.95 for 95 %.
    pub confidence: f64,
    /// What it means, in a word: `better`, `worse`, `equivalent` or `undecided`.
    pub verdict: String,
    /// Why there is no verdict, or what would give one.
    pub why: Option<String>,
    /// Whether there is none as the figures are not to be judged, however clear the ratio is.
    pub is_withheld: bool,
}

/// Figures that are better or worse are named up to this number; the table has all.
const MOST_FIGURES: usize = 6;

/// More reasons than these for figures without a verdict stand by themselves.
const MOST_WHYS: usize = 4;
const WHAT_WOULD_DECIDE: &str = "What would decide";

/// So many figures without a difference have one that seems to differ, at 95 %.
const MANY: usize = 20;

/// More differences than this stand in the table alone.
const MOST_DIFFERENCES: usize = 6;

/// A kind of request whose time is this many times another is worth a sentence.
const WORTH_A_SENTENCE: f64 = 1.25;

/// A report for each candidate: the first is B.
pub fn comparison(all: &[Compared<'_>]) -> Vec<Report> {
    all.iter().enumerate().map(|(at, one)| pair(one, &letter(at + 1))).collect()
}

/// The name of a run by its place: A to Z, and then A2, B2, ...
fn letter(at: usize) -> String {
    let letter = char::from(b'A' + (at % 26) as u8);
    match at / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{}", round + 1),
    }
}

/// So much of a run's id is no other's.
const SHORT_ID: usize = 16;
/// What differs between runs without anybody's doing.
const CLIENT_LOAD: &str = "client's load";

fn pair(one: &Compared<'_>, b: &str) -> Report {
    let about = |letter: &str, run: &RunRecord| {
        let called = run.label.as_deref().map(|label| format!("{}, ", plain(label))).unwrap_or_default();
        // Enough of it to name the run.
        let id: String = plain(&run.run_id).chars().take(SHORT_ID).collect();
        format!("{letter}  {id}  {called}{}, {}", moment(&run.started_at), words::target(run))
    };
    let mut report = Report::new(format!("{b} against A: {}", plain(&one.baseline.test)));
    report.about = vec![about("A", one.baseline), about(b, one.candidate)];
    report.more = Some("--verbose".to_owned());
    let mut picture = Part::of(Rank::Picture);
    picture.pictures(one.figures.first().map(|first| bars(one, first, b)));
    let mut figures = Part::of(Rank::Table);
    figures.table("", table(one, b));
    let mut requests = Part::detail("Kinds of requests");
    requests.table("", kinds(one, b));
    let mut differs = Part::detail("What differs");
    let value = |one: &Differs, at: usize| one.values[at].as_deref().map(plain).into();
    let rows = Table::of(
        &one.differences,
        &[
            (text("What"), &|one| plain(&one.what).into()),
            (text("A"), &|one| value(one, 0)),
            (text(b), &|one| value(one, 1)),
        ],
    );
    differs.table("", rows);
    let mut whys = Part::detail(WHAT_WOULD_DECIDE);
    let all = unjudged(one);
    if all.len() > MOST_WHYS {
        for why in all {
            whys.say(Tone::Evidence, why);
        }
    }
    report.add_all([answer(one, b), picture, figures, requests, differs, whys]);
    report
}

fn answer(one: &Compared<'_>, b: &str) -> Part {
    let mut part = Part::of(Rank::Answer);
    let mut chance = None;
    if let Some(first) = one.figures.first() {
        // Of many figures some differ by chance.
        let judged = one.figures.iter().filter(|figure| figure.verdict != "undecided").count();
        let differing =
            one.figures.iter().filter(|figure| ["better", "worse"].contains(&figure.verdict.as_str())).count();
        let may_be_chance = differing > 0 && judged >= MANY && differing <= judged / MANY;
        let is_all = differing == 0 || may_be_chance;
        if may_be_chance {
            let share = confidence(DEFAULT_CONFIDENCE);
            chance = Some(format!(
                "{differing} of {judged} figures may differ by chance alone: at {share} one of {MANY} does."
            ));
        }
        part.say(Tone::Headline, sentence(first, b, is_all) + &names(one, b));
    }
    for verdict in ["better", "worse"] {
        let others =
            one.figures.iter().skip(1).filter(|figure| figure.verdict == verdict && is_of_its_own(one, figure));
        let said = others.filter_map(|figure| {
            let [a, b] = [0, 1].map(|at| figure.figures[at].as_ref().and_then(|one| format::number(one.value)));
            let unit = figure.figures[1].as_ref().map(|one| plain(&one.unit)).unwrap_or_default();
            Some(format!("{} ({} → {} {unit})", name(&figure.metric), a?, b?))
        });
        let said: Vec<String> = said.collect();
        part.say(
            Tone::Plain,
            (!said.is_empty()).then(|| format!("{b} is {verdict} in: {}.", listed(&said, MOST_FIGURES))),
        );
    }
    part.say(Tone::Plain, chance);
    part.say(
        Tone::Plain,
        match (limit(one.baseline), limit(one.candidate)) {
            (one, other) if one == other => format!("What held both back: {one}."),
            (one, other) => format!("What held A back: {one}. What held {b} back: {other}."),
        },
    );
    part.say(Tone::Plain, gains(one, b));
    part.say(Tone::Plain, changed(one, b));
    for (name, own, other) in [("A", one.baseline, one.candidate), (b, one.candidate, one.baseline)] {
        part.say(Tone::Plain, warned_alone(name, own, other));
    }
    part.say(Tone::Plain, work::changed([one.baseline, one.candidate], b));
    part.say(Tone::Plain, slowest(one, b));
    part.say(Tone::Plain, failures(one, b));
    part.say(Tone::Quiet, conditions(one, b));
    let whys = unjudged(one);
    if whys.len() <= MOST_WHYS {
        for why in whys {
            part.say(Tone::Evidence, why);
        }
    } else {
        let count = one.figures.iter().filter(|figure| is_known(figure) && figure.why.is_some()).count();
        part.say(
            Tone::Evidence,
            format!("{count} figures have no verdict: '{WHAT_WOULD_DECIDE}' says why, and what would give one"),
        );
    }
    for (letter, notes) in ["A", b].into_iter().zip(&one.notes) {
        for note in notes {
            part.say(Tone::Warning, format!("{letter}: {note}"));
        }
    }
    part
}

/// Why figures have no verdict, or what would give one.
fn unjudged(one: &Compared<'_>) -> Vec<String> {
    let known = || one.figures.iter().filter(|figure| is_known(figure));
    let groups = grouped(known().filter_map(|figure| Some((figure.why.as_deref()?, figure))));
    let sentence = |(why, figures): (&str, Vec<&Comparison>)| {
        let names: Vec<String> = figures.iter().map(|figure| title(&figure.metric)).collect();
        let of = if figures.len() == known().count() { String::new() } else { format!("{}: ", names.join(", ")) };
        format!("{of}{why}")
    };
    groups.into_iter().map(sentence).collect()
}

/// Whether a figure says more than the first one: bytes and rows of the same requests grow with their rate.
fn is_of_its_own(one: &Compared<'_>, figure: &Comparison) -> bool {
    let of_rate = ["content_rate", "row_rate"].contains(&figure.metric.as_str());
    let first = one.figures.first().and_then(|first| first.ratio);
    let is_same = first.zip(figure.ratio).is_some_and(|(first, ratio)| (ratio / first - 1.0).abs() < SAME_RATIO);
    !(of_rate && is_same)
}

/// Ratios nearer than this are the same.
const SAME_RATIO: f64 = 0.005;

/// What both are called, where their users said it.
fn names(one: &Compared<'_>, b: &str) -> String {
    match (&one.baseline.label, &one.candidate.label) {
        (Some(baseline), Some(candidate))
            if baseline != candidate && (baseline.as_str(), candidate.as_str()) != ("A", b) =>
        {
            format!(" A is {}, and {b} is {}.", plain(baseline), plain(candidate))
        }
        _ => String::new(),
    }
}

fn times(ratio: f64) -> Option<String> {
    format::number(ratio).filter(|_| ratio.is_finite())
}

/// Whether a run has the figure.
fn is_known(one: &Comparison) -> bool {
    one.figures.iter().any(Option::is_some)
}

/// An interval whose ends are so many times apart says nothing.
const MOST_APART: f64 = 100.0;

/// The ends of the interval of a ratio that are told.
fn told(one: &Comparison) -> Option<(f64, f64)> {
    one.low.zip(one.high).filter(|(low, high)| *high <= MOST_APART * low)
}

/// Which is better, and by how much.
fn sentence(one: &Comparison, b: &str, is_all: bool) -> String {
    let (figure, verdict) = (name(&one.metric), plain(&one.verdict));
    let begin = match verdict.as_str() {
        "better" | "worse" => format!("{b} is {verdict}"),
        "equivalent" if is_all => format!("A and {b} are equivalent"),
        "equivalent" => format!("A and {b} are equivalent in their first figure, and not in all"),
        _ => "Which is better is undecided".to_owned(),
    };
    let Some((ratio, shown)) = one.ratio.and_then(|ratio| Some((ratio, times(ratio)?))) else {
        return format!("{begin}: there is no ratio of the {figure}.");
    };
    let ends = told(one).and_then(|(low, high)| ends(ratio, low, high));
    let none = if one.low.is_some() { "too few repetitions for an interval" } else { "no interval" };
    let interval =
        ends.map_or_else(|| none.to_owned(), |ends| format!("{} interval {ends}", confidence(one.confidence)));
    // A ratio that is beyond doubt, and of which something else keeps better and worse from following.
    let is_clear = told(one).is_some_and(|(low, high)| low > 1.0 || high < 1.0);
    match one.why.as_deref().filter(|_| one.is_withheld && is_clear) {
        Some(why) => {
            format!(
                "The {figure} of {b} is {shown} times that of A ({interval}). Better or worse it is not called, as {}.",
                plain(why)
            )
        }
        None => format!("{begin}: the {figure} of {b} is {shown} times that of A ({interval})."),
    }
}

/// How the sentences of a verdict without a limit begin that say why, and what to do: the others say what is known all the same.
const NOT_KNOWN: [&str; 2] = ["not enough evidence", "what would settle it"];

/// What the first sentence of a verdict without a limit says of sessions that something else held up.
const HELD: [&str; 2] = [" sessions slept, ", " sessions waited inside the server for "];

/// What would raise each run's rate most, by its model, and what comes near to that.
fn gains(one: &Compared<'_>, b: &str) -> Option<String> {
    let of = |run: &RunRecord, letter: &str| {
        run.verdict.limit.as_ref()?;
        let mut all: Vec<&Gain> = run.verdict.gains.iter().filter(|gain| gain.gain_percent > 0.0).collect();
        all.sort_by(|one, other| other.gain_percent.total_cmp(&one.gain_percent));
        let least = all.first()?.gain_percent * NEARLY;
        let all = all.into_iter().take_while(|gain| gain.gain_percent >= least).take(2);
        let said = all.map(|gain| {
            let digits = usize::from(gain.gain_percent < 10.0);
            let percent = plimsoll_measurement::units::format_decimals(gain.gain_percent, digits);
            format!("{} by {percent} %", plain(&gain.change))
        });
        let said: Vec<String> = said.collect();
        Some(format!("{} in {letter}", said.join(" or ")))
    };
    let all: Vec<String> = [of(one.baseline, "A"), of(one.candidate, b)].into_iter().flatten().collect();
    let of_locks = [one.baseline, one.candidate].iter().any(|run| run.verdict.limits().any(|limit| limit == "locks"));
    let proviso =
        if of_locks { " Without locks sessions come to what they would wait for next, which nobody sees." } else { "" };
    (!all.is_empty()).then(|| format!("What would raise the rate, by a model: {}.{proviso}", all.join("; ")))
}

/// A gain that is so large a part of the largest is told as well.
const NEARLY: f64 = 0.5;

/// What a verdict without a limit says of times: that of one core, and of what sessions waited for.
const ONE_CORE: &str = "uses one core at a time";
const WAITED: &str = " sessions waited for ";

/// What held a run back, with how far it was used; without a limit what is known of it.
fn limit(run: &RunRecord) -> String {
    if let Some(held) = held_back(run) {
        return held;
    }
    let verdict = &run.verdict;
    match verdict.limit.as_deref() {
        None => {
            let is_known = |sentence: &&String| NOT_KNOWN.iter().all(|begin| !sentence.starts_with(begin));
            let known = verdict.evidence.iter().find(is_known).map(|known| format!(" ({})", plain(known)));
            format!("not known for want of evidence{}", known.unwrap_or_default())
        }
        Some("none") => {
            let is_held = |sentence: &&String| HELD.iter().any(|part| sentence.contains(part));
            let of = |begin: &str| verdict.evidence.iter().find(|sentence| sentence.contains(begin));
            // Times decide where no limit does: those of one core, or of what sessions wait for.
            let told = verdict.evidence.first().filter(is_held).or_else(|| of(ONE_CORE)).or_else(|| of(WAITED));
            let told = told.map(|told| told.split(", and ").next().unwrap_or(told));
            let told = told.map(|told| format!(" ({})", plain(told)));
            format!("no limit that was watched{}", told.unwrap_or_default())
        }
        limit => {
            let said = words::limits_used(limit, &verdict.also, verdict.utilisation_percent.and_then(words::used));
            // Names begin with a capital there, and stand in a sentence here.
            let mut rest = said.chars();
            let said: String = match rest.next().filter(|_| !said.starts_with("CPU")) {
                Some(first) => first.to_lowercase().chain(rest).collect(),
                None => said,
            };
            let beside = waited::beside(run)
                .map(|(what, percent)| format!("; sessions waited for {what} in {percent:.0} % of their time"));
            said + &beside.unwrap_or_default()
        }
    }
}

fn changed(one: &Compared<'_>, b: &str) -> String {
    // How busy our client was follows from the rate.
    let differences: Vec<&Differs> = one.differences.iter().filter(|one| one.what != CLIENT_LOAD).collect();
    if differences.is_empty() {
        return format!("No setting that the runs record differs between A and {b}.{}", unrecorded(one));
    }
    // Where a value comes from stands among the details.
    let short = |value: &str| match plain(value).split_once(" (") {
        Some((begin, _)) if !begin.is_empty() => begin.to_owned(),
        _ => plain(value),
    };
    let shown = |value: &Option<String>| value.as_deref().map_or_else(|| "unknown".to_owned(), short);
    let said = differences.iter().take(MOST_DIFFERENCES);
    let said = said.map(|one| format!("{} {} → {}", plain(&one.what), shown(&one.values[0]), shown(&one.values[1])));
    let said: Vec<String> = said.collect();
    let rest = differences.len().saturating_sub(MOST_DIFFERENCES);
    let rest = if rest > 0 { format!("; and {rest} more") } else { String::new() };
    format!("Changed from A to {b}: {}{rest}.{}", said.join("; "), unrecorded(one))
}

/// What may differ and is in no record. Of a volume there is none of it.
fn unrecorded(one: &Compared<'_>) -> &'static str {
    if one.baseline.subject == Subject::Volume { "" } else { " Indexes and plans are not recorded." }
}

/// Under which conditions both were measured, as far as they are the same.
fn conditions(one: &Compared<'_>, b: &str) -> Option<String> {
    let of = |run: &RunRecord| {
        let complete = run.repetitions.iter().filter(|repetition| repetition.complete);
        let count = complete.clone().count();
        let seconds: f64 = complete.flat_map(|repetition| &repetition.phases).map(|phase| phase.seconds).sum();
        let each = (count > 0 && seconds > 0.0).then(|| format!(" of {}", format::seconds(seconds / count as f64)));
        let sessions = run.parameters.get("sessions").and_then(serde_json::Value::as_u64);
        let sessions = sessions
            .map(|sessions| format!("{}, ", format::count(usize::try_from(sessions).unwrap_or(usize::MAX), "session")))
            .unwrap_or_default();
        let data = run.ceilings.iter().find(|ceiling| ceiling.resource == "data" && ceiling.unit == "MB");
        let data =
            data.and_then(|data| Some(format!(", {} MB of data", format::number(data.value)?))).unwrap_or_default();
        let version =
            run.engine_version.as_deref().and_then(|version| plain(version).split(" (").next().map(str::to_owned));
        let version = version.map(|version| format!(", {} {version}", plain(&run.engine))).unwrap_or_default();
        let repetitions = format::count(count, "repetition");
        format!("{sessions}{repetitions}{}{data}{version}", each.unwrap_or_default())
    };
    if one.baseline.subject == Subject::Volume {
        return None;
    }
    let (of_a, of_b) = (of(one.baseline), of(one.candidate));
    Some(if of_a == of_b { format!("Both: {of_a}.") } else { format!("A: {of_a}. {b}: {of_b}.") })
}

/// What one of two runs alone was warned of, such as commits that a crash loses: what a better figure may cost. The same warning with other
/// numbers is the same.
fn warned_alone(name: &str, own: &RunRecord, other: &RunRecord) -> Option<String> {
    let words = |text: &String| text.replace(|letter: char| letter.is_ascii_digit(), "");
    let known: BTreeSet<String> = other.warnings.iter().map(words).collect();
    let alone: Vec<String> =
        own.warnings.iter().filter(|text| !known.contains(&words(text))).map(|text| plain(text)).collect();
    let rest = alone.len().saturating_sub(MOST_WARNINGS);
    let rest = if rest > 0 { format!("; and {rest} more") } else { String::new() };
    let said = alone.iter().take(MOST_WARNINGS).map(|text| text.trim_end_matches('.')).collect::<Vec<_>>().join("; ");
    (!said.is_empty()).then(|| format!("Of {name} alone: {said}{rest}."))
}

/// More warnings than this stand with their run alone.
const MOST_WARNINGS: usize = 2;

/// The two runs side by side in what was asked for.
fn bars(one: &Compared<'_>, first: &Comparison, b: &str) -> Picture {
    let runs = [("A", one.baseline), (b, one.candidate)].into_iter().zip(&first.figures);
    let bars = runs.filter_map(|((letter, run), figure)| {
        Some(Bar { label: letter.to_owned(), value: words::value(run, figure.as_ref()?), expected: None })
    });
    let unit = first.figures.iter().flatten().next().map(|figure| plain(&figure.unit)).unwrap_or_default();
    let axis = format!("{}, {unit}", title(&first.metric));
    Picture::Bars(BarChart::plain(title(&first.metric), axis, bars))
}

fn table(one: &Compared<'_>, b: &str) -> Option<Table> {
    // The interval of the ratio is what counts.
    let alone = |run: &RunRecord, figure: &Option<Figure>| -> Cell {
        let figure = figure.as_ref().map(|figure| Value { low: None, high: None, ..words::value(run, figure) });
        figure.into()
    };
    let ratio = |one: &Comparison| Value {
        value: one.ratio.unwrap_or(f64::NAN),
        low: told(one).map(|ends| ends.0),
        high: told(one).map(|ends| ends.1),
        ..Value::default()
    };
    let share = one.figures.first().map_or(DEFAULT_CONFIDENCE, |first| first.confidence);
    let heading = number(format!("{b} / A, {} interval", confidence(share)), "").page("STATISTICS.md");
    Table::of(
        one.figures
            .iter()
            .enumerate()
            .filter(|(at, figure)| is_known(figure) && (*at == 0 || is_of_its_own(one, figure)))
            .map(|(_, figure)| figure),
        &[
            (text("Figure"), &|figure| title(&figure.metric).into()),
            (number("A", ""), &|figure| alone(one.baseline, &figure.figures[0])),
            (number(b, ""), &|figure| alone(one.candidate, &figure.figures[1])),
            (heading, &|figure| ratio(figure).into()),
            (text("Verdict"), &|figure| plain(&figure.verdict).into()),
        ],
    )
}

/// The kinds of requests that both runs made, and what they came to in each.
fn shared_kinds(one: &Compared<'_>) -> Vec<[Kind; 2]> {
    let others = by_kind(one.candidate);
    let partner = |kind: Kind| others.iter().find(|other| other.kind == kind.kind).cloned().map(|other| [kind, other]);
    by_kind(one.baseline).into_iter().filter_map(partner).collect()
}

/// How many times as long requests of a kind take in the second run, at a percentile.
fn ratio_at([a, b]: &[Kind; 2], percent: f64) -> Option<f64> {
    let [a, b] = [a, b].map(|kind| kind.ms(percent, |kind| Some(&kind.times)));
    Some(b? / a.filter(|a| *a > 0.0)?).filter(|ratio| ratio.is_finite())
}

/// The kind of request whose time changed most, where there are several.
fn slowest(one: &Compared<'_>, b: &str) -> Option<String> {
    // What a volume does is one figure each, with a verdict.
    if one.baseline.subject == Subject::Volume {
        return None;
    }
    let kinds = shared_kinds(one);
    // The median of few answers is steadier than what is rare among them. What many requests wait for counts more than what few do.
    let made = |at: usize| kinds.iter().map(|pair| pair[at].operations).sum::<u64>().max(1) as f64;
    let totals = [made(0), made(1)];
    let time = |pair: &[Kind; 2]| {
        let [a, b] = [0, 1].map(|at| pair[at].ms(50.0, |kind| Some(&kind.times)));
        let part = (pair[0].operations as f64 / totals[0]).max(pair[1].operations as f64 / totals[1]);
        Some((b? - a?).abs() * part)
    };
    let all = kinds.iter().filter_map(|pair| Some((pair, ratio_at(pair, 50.0)?, time(pair)?)));
    let (pair, ratio, _) = all.max_by(|one, other| one.2.total_cmp(&other.2))?;
    (kinds.len() > 1 && ratio.max(ratio.recip()) >= WORTH_A_SENTENCE).then(|| {
        let shown = times(ratio).unwrap_or_default();
        let p99 = ratio_at(pair, 99.0).and_then(times).map(|times| format!(", and its p99 {times} times"));
        format!(
            "Of the requests, {} changed most: its latency p50 in {b} is {shown} times that in A{}.",
            plain(&pair[0].kind),
            p99.unwrap_or_default()
        )
    })
}

/// That no request failed, where requests were made.
fn failures(one: &Compared<'_>, b: &str) -> Option<String> {
    let of = |run: &RunRecord| {
        let kinds = || run.repetitions.iter().flat_map(|repetition| &repetition.requests);
        (kinds().next().is_some()).then(|| kinds().flat_map(|kind| kind.errors.values()).sum::<u64>())
    };
    match (of(one.baseline)?, of(one.candidate)?) {
        (0, 0) => Some("No request failed in either.".to_owned()),
        (in_a, in_b) => Some(format!("Requests failed: {in_a} in A, {in_b} in {b}.")),
    }
}

fn kinds(one: &Compared<'_>, b: &str) -> Option<Table> {
    let all = shared_kinds(one);
    let percentile =
        |at: usize, percent: f64| move |pair: &&[Kind; 2]| pair[at].ms(percent, |kind| Some(&kind.times)).into();
    let failed = |kind: &RequestKind| kind.errors.values().sum::<u64>();
    let rows = |kind: &RequestKind| (kind.operations > 0).then(|| kind.rows as f64 / kind.operations as f64);
    Table::of(
        &all,
        &[
            (text("Request"), &|pair| plain(&pair[0].kind).into()),
            (number("Answered, A", ""), &|pair| pair[0].operations.into()),
            (number(format!("Answered, {b}"), ""), &|pair| pair[1].operations.into()),
            (number("p50, A", "ms"), &percentile(0, 50.0)),
            (number(format!("p50, {b}"), "ms"), &percentile(1, 50.0)),
            (number("p99, A", "ms"), &percentile(0, 99.0)),
            (number(format!("p99, {b}"), "ms"), &percentile(1, 99.0)),
            (number(format!("p99, {b} / A"), ""), &|pair| ratio_at(pair, 99.0).into()),
            (number("Rows each, A", "").spare(3), &|pair| rows(&pair[0]).into()),
            (number(format!("Rows each, {b}"), "").spare(3), &|pair| rows(&pair[1]).into()),
            (number("Failed, A", "").unless_zero(), &|pair| failed(&pair[0]).into()),
            (number(format!("Failed, {b}"), "").unless_zero(), &|pair| failed(&pair[1]).into()),
        ],
    )
}

#[cfg(test)]
mod tests;
