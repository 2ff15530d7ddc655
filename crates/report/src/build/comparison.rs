//! Runs against a first one: which is better and by how much, what held each back, what differs between them, and each figure of both.

mod why;

use std::collections::BTreeSet;

use plimsoll_analysis::DEFAULT_CONFIDENCE;
use plimsoll_measurement::{Figure, RequestKind, RunRecord};

use self::why::{changed, conditions, failures, gains, limit, slowest, spread};
use super::compared::{Compared, Comparison, Differs, is_real, ratio_at, shared_kinds, times};
use super::kinds::Kind;
use super::order::grouped;
use super::{words, work};
use crate::model::format::{self, confidence, ends, listed, moment, name, plain, title};
use crate::model::{Bar, BarChart, Cell, Part, Picture, Rank, Report, Table, Tone, Value, number, text};

/// Figures that are better or worse are named up to this number; the table has all.
const MOST_FIGURES: usize = 6;

/// More reasons than these for figures without a verdict stand by themselves.
const MOST_WHYS: usize = 4;
const WHAT_WOULD_DECIDE: &str = "What would decide";

/// So many figures without a difference have one that seems to differ, at 95 %.
const MANY: usize = 20;

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
        part.say(Tone::Headline, sentence(first, b, (is_all, is_small(one, first))) + &names(one, b));
    }
    for verdict in ["better", "worse"] {
        let others = one
            .figures
            .iter()
            .skip(1)
            .filter(|figure| figure.verdict == verdict && is_of_its_own(one, figure) && !is_small(one, figure));
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
    part.say(Tone::Plain, work::changed(one.rounds.each_ref(), b));
    part.say(Tone::Plain, slowest(one, b));
    part.say(Tone::Plain, failures(one, b));
    part.say(Tone::Quiet, spread(one, b));
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
        part.say(Tone::Evidence, whys.into_iter().next());
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

/// What repetitions of one run don't show.
const FROM_RUN_TO_RUN: &str = " So small a difference may also be one from run to run, which repetitions within a run don't show: run both again in turn under the same labels, and all of them count.";

/// Factors up to which two runs of a real machine may differ though nothing was changed: five runs of the same were up to 11 % apart in their
/// rates, and pairs of others up to 8 % in their p99 and 1.4 times in their p99.9.
const RUN_TO_RUN: [(&str, f64); 3] = [("latency_p99.", 1.5), ("latency_p99", 1.25), ("", 1.15)];

/// Whether a difference may be that. In virtual time nothing differs from run to run, and several runs of each side show it.
fn is_small(one: &Compared<'_>, figure: &Comparison) -> bool {
    let factor =
        RUN_TO_RUN.iter().find(|(begin, _)| figure.metric.starts_with(begin)).map_or(1.0, |(_, factor)| *factor);
    let is_small = figure.ratio.is_some_and(|ratio| ratio.max(ratio.recip()) < factor);
    is_real(one) && !one.has_rounds() && is_small
}

/// The verdict on a figure in a word or two.
fn word(one: &Compared<'_>, figure: &Comparison) -> String {
    let verdict = plain(&figure.verdict);
    let seems = ["better", "worse"].contains(&verdict.as_str()) && is_small(one, figure);
    if seems { format!("seems {verdict}") } else { verdict }
}

/// Which is better, and by how much.
fn sentence(one: &Comparison, b: &str, (is_all, is_small): (bool, bool)) -> String {
    let (figure, verdict) = (name(&one.metric), plain(&one.verdict));
    let begin = match verdict.as_str() {
        "better" | "worse" if is_small => format!("{b} seems {verdict}"),
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
    if let Some(why) = one.why.as_deref().filter(|_| one.is_withheld && is_clear) {
        let why = plain(why);
        return format!(
            "The {figure} of {b} is {shown} times that of A ({interval}). Better or worse it is not called, as {why}."
        );
    }
    let hedge = if is_small && ["better", "worse"].contains(&verdict.as_str()) { FROM_RUN_TO_RUN } else { "" };
    format!("{begin}: the {figure} of {b} is {shown} times that of A ({interval}).{hedge}")
}

/// What one of two runs alone was warned of, such as commits that a crash loses: what a better figure may cost. The same warning with other
/// numbers is the same.
fn warned_alone(name: &str, own: &RunRecord, other: &RunRecord) -> Option<String> {
    let words = |text: &String| text.replace(|letter: char| letter.is_ascii_digit(), "");
    let known: BTreeSet<String> = other.warnings.iter().map(words).collect();
    // What is a bound says so where it stands.
    let is_bound = |text: &&String| text.contains(": at least: ") || text.contains(": at most: ");
    let own = own.warnings.iter().filter(|text| !known.contains(&words(text)) && !is_bound(text));
    let alone: Vec<String> = own.map(|text| plain(text)).collect();
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
        // The user's own name says more than a letter.
        let label =
            run.label.as_deref().map_or_else(|| letter.to_owned(), |label| format!("{letter}, {}", plain(label)));
        Some(Bar { label, value: words::value(run, figure.as_ref()?), expected: None })
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
            (text("Verdict"), &|figure| word(one, figure).into()),
        ],
    )
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
