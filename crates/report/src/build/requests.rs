//! What a record says about requests, as tables: kinds, phases, waits, files, and whether the client held them back.

use plimsoll_analysis::summary;
use plimsoll_measurement::histogram::LEAST_BEYOND;
use plimsoll_measurement::units::MB;
use plimsoll_measurement::{FileDelta, FileUse, LatencyHistogramData, Phase, Repetition, RunRecord, WaitDelta};

use super::kinds::{Kind, by_kind, mean_percentile_ms, of_all};
use super::order::grouped;
use super::words::{WAS_THE_LIMIT, bound, bound_by};
use crate::model::format::{self, plain, quantity};
use crate::model::{Bound, Cell, Table, Value, number, scaled, text};

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / MB as f64
}

/// Rows: kinds of requests over all repetitions, and all of them together. Columns where nothing happened say nothing.
pub fn mix(record: &RunRecord) -> Option<Table> {
    let kinds = by_kind(record);
    let together = (kinds.len() > 1).then(|| of_all(record));
    let all = together.as_ref().map(|all| all.operations as f64).filter(|all| *all > 0.0);
    let examined = kinds.iter().any(|kind| kind.rows_examined != kind.rows);
    let ms = |percent: f64| move |kind: &&Kind| kind.ms(percent, |kind| Some(&kind.times)).into();
    let real = |kind: &Kind| kind.ms(99.0, |kind| kind.times_uncorrected.as_ref());
    let without_waits = |kind: &Kind| {
        kind.times_without_waits.as_ref()?;
        kind.ms(99.0, |kind| kind.times_without_waits.as_ref().or(Some(&kind.times)))
    };
    let failed = |kind: &Kind| {
        let classes = kind.errors.iter().map(|(class, count)| format!("{} {count}", plain(class)));
        Some(classes.collect::<Vec<_>>().join(", "))
            .filter(|classes| !classes.is_empty())
            .unwrap_or_else(|| "0".to_owned())
    };
    Table::of(
        kinds.iter().chain(&together),
        &[
            (text("Request"), &|kind| plain(&kind.kind).into()),
            (number("Share", "%"), &|kind| all.map(|all| 100.0 * kind.operations as f64 / all).into()),
            (number("Answered", ""), &|kind| kind.operations.into()),
            (number("Answered after the end", "").unless_zero().spare(6), &|kind| kind.drained.into()),
            (number("Rows examined", "").unless_zero().spare(8), &|kind| examined.then_some(kind.rows_examined).into()),
            (number("Rows", "").unless_zero().spare(3), &|kind| kind.rows.into()),
            // What a written statement carries is counted for our own kinds alone: 0 is unknown.
            (number("Content", "MB").spare(2), &|kind| {
                Some(megabytes(kind.content_bytes)).filter(|mb| *mb > 0.0).into()
            }),
            (number("p50", "ms").page("STATISTICS.md"), &ms(50.0)),
            (number("p90", "ms").spare(4), &ms(90.0)),
            (number("p99", "ms"), &ms(99.0)),
            (number("p99.9", "ms").spare(1), &ms(99.9)),
            (number("p99.99", "ms").spare(5), &ms(99.99)),
            (number("Longest", "ms"), &ms(100.0)),
            (number("p99, real start", "ms"), &|kind| real(kind).into()),
            (number("p99, no retry waits", "ms"), &|kind| without_waits(kind).into()),
            (number("Retries", "").unless_zero(), &|kind| kind.retries.into()),
            (text("Failed").unless_zero(), &|kind| failed(kind).into()),
        ],
    )
}

/// Requests of all kinds that were answered.
fn answered(repetition: &Repetition) -> u64 {
    repetition.requests.iter().map(|kind| kind.operations).fold(0, u64::saturating_add)
}

/// How exact the percentiles are, for below the table of kinds.
pub fn exactness(record: &RunRecord) -> Option<String> {
    let kinds = record.repetitions.iter().flat_map(|repetition| &repetition.requests);
    let error = kinds.map(|kind| kind.times.relative_error_percent).reduce(f64::max)?;
    let real = record.repetitions.iter().flat_map(|r| &r.requests).any(|kind| kind.times_uncorrected.is_some());
    let from = if real {
        " Response times count from the start that the schedule intended. Times from the real start leave out how long \
         requests waited to be sent."
    } else {
        ""
    };
    let of_one_phase = |repetition: &Repetition| {
        let answered = answered(repetition);
        repetition.phases.iter().any(|phase| phase.holds == Some(true) && phase.operations == answered)
    };
    let which = if record.repetitions.iter().any(of_one_phase) {
        ", each with the requests at the highest rate that met the goal in all tries"
    } else {
        ""
    };
    let absent: Vec<String> = record.absent.iter().map(|figure| plain(&figure.reason)).collect();
    let absent =
        if absent.is_empty() { String::new() } else { format!(" Some figures are absent: {}.", absent.join("; ")) };
    Some(format!(
        "Counts are those of all repetitions together{which}, and percentiles are the means of those of the repetitions, or of all \
         together where one has too few requests. They come from histograms and are exact to {} %. A percentile is left out if fewer than \
         {LEAST_BEYOND} requests are beyond it.{absent}{from}",
        format::number(error)?.trim_end_matches('0').trim_end_matches('.')
    ))
}

/// What was tried in a phase, and how often in its repetition before: labels are for people alone.
type Coordinates = (u32, Option<u64>, Option<u64>, usize);

/// A phase in all repetitions, with their names and its place in each.
type Group<'a> = Vec<(&'a Phase, &'a str, usize)>;

/// Phases with the same coordinates in all repetitions, in order of appearance. What a repetition tried twice stays apart.
fn alike(record: &RunRecord) -> Vec<Group<'_>> {
    let mut all = Vec::new();
    for repetition in &record.repetitions {
        let mut seen: Vec<Coordinates> = Vec::new();
        for (place, phase) in repetition.phases.iter().enumerate() {
            let mut coordinates = (phase.sessions, phase.rate_asked.map(f64::to_bits), phase.batch_rows, 0);
            while seen.contains(&coordinates) {
                coordinates.3 += 1;
            }
            seen.push(coordinates);
            all.push((coordinates, (phase, repetition.label.as_str(), place)));
        }
    }
    grouped(all).into_iter().map(|(_, group)| group).collect()
}

/// On which side of the rate of a phase the target's own lies: where needs are known by phase its own counts.
fn bound_of(record: &RunRecord, group: &Group<'_>) -> Option<Bound> {
    let needs = record.host.client.iter().flat_map(|client| &client.phases);
    let is_own = |label: &str, phase: u32| group.iter().any(|(_, of, at)| *of == label && *at == phase as usize);
    let mut own = needs.filter(|need| is_own(&need.repetition, need.phase)).peekable();
    if own.peek().is_none() {
        return bound(record, "1/s");
    }
    let limited = own.any(|need| need.was_the_limit).then_some(WAS_THE_LIMIT);
    bound_by(std::iter::empty(), limited, "1/s")
}

/// Rows: what was tried, over all repetitions; `None` where there was nothing to choose.
pub fn phases(record: &RunRecord) -> Option<Table> {
    let groups = alike(record);
    let is_choice = groups.len() > 1;
    let repeated = groups.iter().any(|group| group.len() > 1);
    let mean = |part: fn(&Phase) -> Option<f64>| {
        move |group: &Group<'_>| {
            summary::mean(&group.iter().filter_map(|(phase, ..)| part(phase)).collect::<Vec<f64>>()).into()
        }
    };
    let ms = |percent: f64, part: fn(&Phase) -> Option<&LatencyHistogramData>| {
        move |group: &Group<'_>| {
            let known = group.iter().filter(|(phase, ..)| phase.operations > 0 || phase.drained > 0);
            let each = known.map(|(phase, ..)| part(phase)).collect::<Option<Vec<_>>>();
            each.and_then(|each| mean_percentile_ms(&each, percent)).into()
        }
    };
    let rate = |group: &Group<'_>| {
        let rates: Vec<f64> = group.iter().map(|(phase, ..)| phase.rate).collect();
        let (low, high) = summary::range(&rates).filter(|_| group.len() > 1).unzip();
        // A rate that was asked for and answered is what it is, whoever would have been the limit beyond it.
        let kept_up = group.iter().all(|(phase, ..)| phase.rate_asked.is_some_and(|asked| phase.rate >= 0.99 * asked));
        let bound = if kept_up { None } else { bound_of(record, group) };
        summary::mean(&rates).map(|value| Value { value, low, high, bound, ..Value::default() })
    };
    let failed = |group: &Group<'_>| group.iter().map(|(phase, ..)| phase.errors).fold(0, u64::saturating_add);
    Table::of(
        groups.into_iter().filter(|_| is_choice),
        &[
            (text("Phase"), &|group| plain(&group[0].0.label).into()),
            (number("Asked", "1/s"), &mean(|phase| phase.rate_asked)),
            (number(if repeated { "Answered (range)" } else { "Answered" }, "1/s"), &|group| rate(group).into()),
            (number("Content", "MB/min"), &mean(|phase| phase.mb_per_minute)),
            (number("p50", "ms").page("STATISTICS.md"), &ms(50.0, |phase| Some(&phase.times))),
            (number("p99", "ms"), &ms(99.0, |phase| Some(&phase.times))),
            (number("p99.9", "ms").spare(1), &ms(99.9, |phase| Some(&phase.times))),
            (number("p99, real start", "ms").spare(1), &ms(99.0, |phase| phase.times_uncorrected.as_ref())),
            (number("Start lag p99", "ms").spare(6), &ms(99.0, |phase| phase.start_lag.as_ref())),
            (number("Backlog", ""), &|group| group.iter().map(|(phase, ..)| phase.backlog).max().flatten().into()),
            (number("Failed", "").unless_zero(), &|group| failed(group).into()),
            (text("Goal met"), &|group| holds(group).into()),
        ],
    )
}

/// What a search for the highest rate went by and found: the goal, the rate that met it in all tries, and the lowest above it that did not.
pub fn searched(record: &RunRecord) -> Option<String> {
    let goal = quantity(1e3 * record.parameters.get("goal")?.as_f64().filter(|goal| *goal > 0.0)?, "ms");
    let percentile = plain(record.parameters.get("goal_at")?.as_str()?);
    let phases = record.repetitions.iter().filter(|one| one.complete).flat_map(|one| &one.phases);
    let mut tried: Vec<(f64, bool)> = phases.filter_map(|phase| Some((phase.rate_asked?, phase.holds?))).collect();
    tried.sort_by(|a, b| a.0.total_cmp(&b.0));
    let missed = tried.iter().find(|(_, holds)| !holds).map(|(rate, _)| *rate);
    let met =
        tried.iter().map(|(rate, _)| *rate).take_while(|rate| missed.is_none_or(|missed| *rate < missed)).last()?;
    let of = |rate: f64| quantity(rate, "1/s");
    Some(match missed {
        Some(missed) => {
            format!(
                "The goal was {percentile} of {goal} or less: {} met it, and {} did not in all tries.",
                of(met),
                of(missed)
            )
        }
        None => {
            format!("The goal was {percentile} of {goal} or less: all rates that were tried met it, up to {}.", of(met))
        }
    })
}

/// In how many repetitions the goal was met.
fn holds(group: &Group<'_>) -> Option<String> {
    let known: Vec<bool> = group.iter().filter_map(|(phase, ..)| phase.holds).collect();
    let met = known.iter().filter(|holds| **holds).count();
    Some(match (met, known.len()) {
        (_, 0) => return None,
        (met, all) if met == all => "yes".to_owned(),
        (0, _) => "no".to_owned(),
        (met, all) => format!("{met} of {all}"),
    })
}

/// Rows: repetitions and what their session waited for, the longest first.
pub fn waits(record: &RunRecord) -> Option<Table> {
    let all = record.repetitions.iter().flat_map(|one| one.waits.iter().map(move |wait| (one, wait)));
    let mean = |wait: &WaitDelta| Some(wait.seconds / wait.count.filter(|count| *count > 0)? as f64 * 1e3);
    Table::of(
        all,
        &[
            (text("Rep."), &|(one, _)| plain(&one.label).into()),
            (text("Wait"), &|(_, wait)| plain(&wait.wait).into()),
            (scaled("Waited", "s"), &|(_, wait)| wait.seconds.into()),
            (number("Times", ""), &|(_, wait)| wait.count.into()),
            (number("Mean", "ms"), &|(_, wait)| mean(wait).into()),
            (number("Longest so far", "ms"), &|(_, wait)| wait.longest_seconds.map(|seconds| 1e3 * seconds).into()),
            (scaled("Signal", "s"), &|(_, wait)| wait.signal_seconds.into()),
            (number("Of the elapsed time", "%").page("VERDICTS.md"), &|(_, wait)| wait.elapsed_percent.into()),
        ],
    )
}

fn all_files(record: &RunRecord) -> impl Iterator<Item = (&Repetition, &FileDelta)> {
    record.repetitions.iter().flat_map(|one| one.files.iter().map(move |file| (one, file)))
}

/// Mean size of a read or a write.
fn each_kb(bytes: Option<u64>, count: Option<u64>) -> Option<f64> {
    Some(bytes? as f64 / count.filter(|count| *count > 0)? as f64 / 1024.0)
}

/// Rows: repetitions and files of the engine, what was read from and written to them.
pub fn files(record: &RunRecord) -> Option<Table> {
    Table::of(
        all_files(record),
        &[
            (text("Rep."), &|(one, _)| plain(&one.label).into()),
            (text("File"), &|(_, file)| plain(&file.file).into()),
            (text("Database"), &|(_, file)| file.database.as_deref().map(plain).into()),
            (number("Reads", "").within("Reads"), &|(_, file)| file.reads.into()),
            (number("Read", "MB").within("Reads"), &|(_, file)| file.read_bytes.map(megabytes).into()),
            (number("Rate", "MB/s").within("Reads"), &|(_, file)| file.read_mb_per_second.into()),
            (number("Each", "KB").within("Reads"), &|(_, file)| each_kb(file.read_bytes, file.reads).into()),
            (number("Mean read", "ms").within("Reads"), &|(_, file)| file.read_latency_ms.into()),
            (number("Writes", "").within("Writes"), &|(_, file)| file.writes.into()),
            (number("Written", "MB").within("Writes"), &|(_, file)| file.write_bytes.map(megabytes).into()),
            (number("Rate", "MB/s").within("Writes"), &|(_, file)| file.write_mb_per_second.into()),
            (number("Each", "KB").within("Writes"), &|(_, file)| each_kb(file.write_bytes, file.writes).into()),
            (number("Mean write", "ms").within("Writes"), &|(_, file)| file.write_latency_ms.into()),
            (text("Path").spare(13), &|(_, file)| file.path.as_deref().map(plain).into()),
        ],
    )
}

/// Rows: repetitions and files that have limits of their own: the busiest interval, and in how many the file was near its limits.
pub fn file_limits(record: &RunRecord) -> Option<Table> {
    const IOPS: &str = "I/Os a second";
    const RATE: &str = "MB a second";
    let near = |intervals: u64, used: &FileUse| Cell::from(format!("{intervals} of {}", used.intervals));
    let gigabytes = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    Table::of(
        all_files(record).filter_map(|(one, file)| Some((one, file, file.limits.as_ref()?))),
        &[
            (text("Rep."), &|(one, ..)| plain(&one.label).into()),
            (text("File"), &|(_, file, _)| plain(&file.file).into()),
            (number("Size", "GB"), &|(.., used)| used.size_bytes.map(gigabytes).into()),
            (number("Highest IOPS", "1/s").within(IOPS), &|(.., used)| used.highest_iops.into()),
            (number("Limit", "1/s").within(IOPS), &|(.., used)| used.limit_iops.into()),
            (number("Intervals at 90 %", "").within(IOPS), &|(.., used)| near(used.intervals_near_iops, used)),
            (number("Highest rate", "MB/s").within(RATE), &|(.., used)| used.highest_mb_per_second.into()),
            (number("Limit", "MB/s").within(RATE), &|(.., used)| used.limit_mb_per_second.into()),
            (number("Intervals at 90 %", "").within(RATE), &|(.., used)| near(used.intervals_near_mb_per_second, used)),
            (text("Source").spare(13), &|(.., used)| plain(&used.source).into()),
        ],
    )
}
