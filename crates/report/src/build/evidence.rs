//! What stands behind a verdict, as tables: its segments, and the ceilings that figures were held against.

use crate::model::format::seconds as format_seconds;
use plimsoll_measurement::{Gain, Repetition, RunRecord, SampleGap, Segment};

use super::order::grouped;
use super::sampled::{NEAR_PERCENT, series, utilisation};
use super::words::{is_worth_a_row, limits};
use crate::model::format::{self, count, percent, plain, title, whole};
use crate::model::{Cell, Series, Table, number, scaled, text};

/// Rows: segments of the repetitions with a verdict of their own.
pub fn segments(record: &RunRecord) -> Option<Table> {
    let evidence = |all: &[String]| all.iter().map(|sentence| plain(sentence)).collect::<Vec<_>>().join("; ");
    Table::of(
        &record.verdict.segments,
        &[
            (text("Rep."), &|one| plain(&one.repetition).into()),
            (text("Phase"), &|one| one.phase.as_deref().map(title).into()),
            (scaled("From", "s"), &|one| one.from_seconds.into()),
            (scaled("To", "s"), &|one| one.to_seconds.into()),
            (text("Bottleneck"), &|one| limits(one.limit.as_deref(), &one.also).into()),
            (number("Used to", "%"), &|one| one.utilisation_percent.filter(|_| one.limit.is_some()).into()),
            (text("Evidence").spare(20), &|one| Some(evidence(&one.evidence)).filter(|text| !text.is_empty()).into()),
        ],
    )
}

/// Rows: the limits of all segments, with the time that each bound; the longest first.
pub fn time_by_limit(record: &RunRecord) -> Option<Table> {
    let time = |segment: &Segment| {
        let seconds = (segment.to_seconds - segment.from_seconds).max(0.0);
        (limits(segment.limit.as_deref(), &segment.also), seconds)
    };
    let times = grouped(record.verdict.segments.iter().map(time)).into_iter();
    let mut times: Vec<(String, f64)> = times.map(|(limit, seconds)| (limit, seconds.iter().sum())).collect();
    times.sort_by(|one, other| other.1.total_cmp(&one.1));
    let all: f64 = times.iter().map(|(_, seconds)| seconds).sum();
    Table::of(
        times,
        &[
            (text("Bottleneck"), &|(limit, _)| limit.as_str().into()),
            (scaled("Time", "s"), &|(_, seconds)| (*seconds).into()),
            (number("Share", "%"), &|(_, seconds)| (seconds / all * 100.0).into()),
        ],
    )
}

/// Seconds of a course in which its value is as wanted.
fn seconds_of(series: &Series, is_wanted: impl Fn(f64) -> bool) -> f64 {
    series.steps.iter().filter(|(.., value)| is_wanted(*value)).map(|(from, to, _)| to - from).sum()
}

/// Rows: resources with known use, over all repetitions.
pub fn used(record: &RunRecord) -> Option<Table> {
    let all = record.repetitions.iter().flat_map(|repetition| &repetition.samples);
    let uses = joined(
        all.flat_map(|samples| utilisation(record, samples)).map(|one| ((one.ceiling, one.said_by), one.series)),
    );
    let near = |one: &Series| seconds_of(one, |value| value >= NEAR_PERCENT) / seconds_of(one, f64::is_finite) * 100.0;
    Table::of(
        uses.into_iter().filter_map(|(kind, series)| Some((kind, series.summary()?, series))),
        &[
            (text("Resource"), &|(.., series)| series.name.as_str().into()),
            (number("Ceiling", ""), &|((ceiling, _), ..)| ceiling.clone().into()),
            (number("Mean", "%"), &|(_, (mean, ..), _)| (*mean).into()),
            (number("Highest", "%"), &|(_, (.., highest), _)| highest_of_a_ceiling(*highest)),
            (number(format!("Time at {NEAR_PERCENT:.0} % or more"), "%"), &|(.., series)| near(series).into()),
            (text("Source").spare(13), &|((_, said_by), ..)| said_by.as_str().into()),
        ],
    )
}

/// Nothing is used by more than there is: a figure far above that was counted when it was begun, and done later.
fn highest_of_a_ceiling(percent: f64) -> Cell {
    if percent > MOST_PERCENT { "over 100".into() } else { percent.into() }
}

/// A burst within a second, and how exact a second is.
const MOST_PERCENT: f64 = 110.0;

/// Rows: all columns that were sampled, over all repetitions.
pub fn columns(record: &RunRecord) -> Option<Table> {
    let all = record.repetitions.iter().flat_map(|repetition| &repetition.samples);
    let columns = all.flat_map(|samples| samples.columns.iter().map(move |column| (samples, column)));
    let columns = joined(
        columns.map(|(samples, column)| ((plain(&column.unit), plain(&column.source)), series(samples, column))),
    );
    let known = |one: &Series| seconds_of(one, f64::is_finite) / seconds_of(one, |_| true) * 100.0;
    Table::of(
        columns,
        &[
            (text("What"), &|(_, series)| series.name.as_str().into()),
            (text("Unit"), &|((unit, _), _)| unit.as_str().into()),
            (text("Said by"), &|((_, source), _)| source.as_str().into()),
            (number("Mean", ""), &|(_, series)| series.summary().map(|(mean, ..)| mean).into()),
            (number("Lowest", ""), &|(_, series)| series.summary().map(|(_, low, _)| low).into()),
            (number("Highest", ""), &|(_, series)| series.summary().map(|(.., high)| high).into()),
            (number("Known of the time", "%"), &|(_, series)| known(series).into()),
        ],
    )
}

/// Courses of the same name and kind as one, in order of appearance.
fn joined<K: PartialEq>(all: impl Iterator<Item = (K, Series)>) -> Vec<(K, Series)> {
    let joined = grouped(all.map(|(kind, series)| ((kind, series.name.clone()), series)));
    let one = |((kind, name), parts): ((K, String), Vec<Series>)| {
        (kind, Series { name, steps: parts.into_iter().flat_map(|part| part.steps).collect(), ..Series::default() })
    };
    joined.into_iter().map(one).collect()
}

/// What was raised in vain, by the largest of the changes that were tried.
pub fn in_vain(record: &RunRecord) -> Option<String> {
    let gains = &record.verdict.gains;
    let mut limits: Vec<&str> = gains.iter().map(|gain| gain.limit.as_str()).collect();
    limits.sort_unstable();
    limits.dedup();
    let of = |limit: &str| gains.iter().filter(|gain| gain.limit == limit).collect::<Vec<&Gain>>();
    let tried = limits.into_iter().map(of).filter(|all| !all.iter().any(|gain| is_worth_a_row(gain)));
    let largest = |all: Vec<&Gain>| {
        let percent = |gain: &&Gain| gain.change.split(' ').next().and_then(|word| word.parse::<u32>().ok());
        all.into_iter().max_by_key(percent).map(|gain| plain(&gain.change))
    };
    let names: Vec<String> = tried.filter_map(largest).collect();
    (!names.is_empty()).then(|| format!("Next to nothing comes of {}.", names.join(", ")))
}

/// Rows: what would raise the rate, by a model of what was measured.
pub fn gains(record: &RunRecord) -> Option<Table> {
    Table::of(
        record.verdict.gains.iter().filter(|gain| is_worth_a_row(gain)),
        &[
            (text("With"), &|gain| plain(&gain.change).into()),
            (number("Higher rate", "%").page("VERDICTS.md"), &|gain| format::gain(gain.gain_percent).into()),
            (text("Interval"), &|gain| {
                let ends = gain.gain_percent_low.zip(gain.gain_percent_high);
                ends.and_then(|(low, high)| format::ends(gain.gain_percent, low, high)).into()
            }),
        ],
    )
}

/// Rows: ceilings that figures were compared with, and their sources.
pub fn ceilings(record: &RunRecord) -> Option<Table> {
    Table::of(
        &record.ceilings,
        &[
            (text("Resource"), &|one| title(&one.resource).into()),
            (number("Ceiling", ""), &|one| Cell::quantity(one.value, plain(&one.unit))),
            (text("Source").spare(13), &|one| plain(&one.source).into()),
        ],
    )
}

/// Rows: times in which somebody said nothing, and why.
pub fn gaps(record: &RunRecord) -> Option<Table> {
    let samples = record.repetitions.iter().flat_map(|one| one.samples.iter().map(move |samples| (one, samples)));
    Table::of(
        samples.flat_map(|(one, samples)| samples.gaps.iter().map(move |gap| (one, gap))),
        &[
            (text("Rep."), &|(one, _)| plain(&one.label).into()),
            (scaled("From", "s"), &|(_, gap)| gap.from_seconds.into()),
            (scaled("To", "s"), &|(_, gap)| gap.to_seconds.into()),
            (text("Not known from"), &|(_, gap)| plain(&gap.source).into()),
            (text("Reason"), &|(_, gap)| plain(&gap.reason).into()),
        ],
    )
}

/// Rows: what happened during the repetitions and explains what is seen in figures.
pub fn marks(record: &RunRecord) -> Option<Table> {
    Table::of(
        record.repetitions.iter().flat_map(|one| one.marks.iter().map(move |mark| (one, mark))),
        &[
            (text("Rep."), &|(one, _)| plain(&one.label).into()),
            (scaled("At", "s"), &|(_, mark)| mark.seconds.into()),
            (text("What happened"), &|(_, mark)| plain(&mark.text).into()),
        ],
    )
}

/// More spans without data than this are counted only.
const MOST_SPANS: usize = 4;

/// Sentences: which spans of the repetitions have no data, and why.
pub fn without_data(record: &RunRecord) -> Vec<String> {
    let all = || record.repetitions.iter().flat_map(|one| one.gaps.iter().map(move |gap| (one, gap)));
    let sentence = |(one, gap): (&Repetition, &SampleGap)| {
        let (from, to) = (format_seconds(gap.from_seconds), format_seconds(gap.to_seconds));
        format!("Repetition {} has no data from {from} to {to}: {}.", plain(&one.label), plain(&gap.reason))
    };
    let more = all().count().saturating_sub(MOST_SPANS);
    let more = (more > 0).then(|| format!("{} without data are not listed here.", count(more, "more span")));
    all().take(MOST_SPANS).map(sentence).chain(more).collect()
}

/// What it cost to look at the target and the machine; `None` where nobody looked.
pub fn sampling(record: &RunRecord) -> Option<String> {
    let cost = record.host.sampling?;
    let core = percent(cost.core_percent)?;
    let looks = whole(cost.looks.into());
    Some(format!("{looks} looks, {} of our CPU time, {core} of one core", format_seconds(cost.cpu_seconds)))
}
