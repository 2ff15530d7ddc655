//! A record of a run made of what another tool measured: figures with the basis *imported*, told by the same events as a run of ours.

use plimsoll_bench::figures::series;
use plimsoll_bench::figures::series::Series;
use plimsoll_engine::target::mask_name;
use plimsoll_measurement::event::{Event, Kind, MAIN, PointMeasured};
use plimsoll_measurement::run::SCHEMA_VERSION;
use plimsoll_measurement::units::format_given;
use plimsoll_measurement::{
    AbsentFigure, Basis, Ceiling, Definition, Fold, Metric, Point, Repetition, RunRecord, Subject,
};

use super::result::{Beside, ImportError, Imported, Tool};
use crate::plan::CellPlan;
use crate::step;
use crate::suite::{self, foreign};
use crate::volume::SCHEME;

/// What is known of the import itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct About {
    /// Id of the run.
    pub run_id: String,
    /// What the volume is called, if the user says so; else its path in the file.
    pub target: Option<String>,
    /// When the results were written, RFC 3339 in UTC.
    pub written_at: String,
    /// Version of this program.
    pub build: String,
    /// What the figures are held against.
    pub ceilings: Vec<Ceiling>,
    /// How much of that the user expects, in percent; 0 where nothing is said of it.
    pub expected_percent: u64,
    /// What else a reader has to know.
    pub warnings: Vec<String>,
    /// The campaign that the run belongs to.
    pub campaign: Option<String>,
    /// What the user calls the run.
    pub label: Option<String>,
}

/// The events of a run with these repetitions, each of which has the results of a file, and the record that they come to.
///
/// # Errors
/// If the files don't have the same cells in the same order, or if a suite can't have them.
pub fn run(about: &About, tool: Tool, files: &[Vec<Imported>]) -> Result<(Vec<Event>, RunRecord), ImportError> {
    let refused = |problem: String| ImportError { line: None, problem };
    let first = files.first().ok_or_else(|| refused("there is no file to import".to_owned()))?;
    let text = foreign::of_results(tool, first);
    if let Some(other) = files.iter().position(|file| cells(file) != cells(first)) {
        let problem =
            format!("file {} has other cells than the first, so they are no repetitions of one run", other + 1);
        return Err(refused(problem));
    }
    let twin = (1..files.len()).find_map(|at| Some((files[..at].iter().position(|file| *file == files[at])?, at)));
    if let Some((first, second)) = twin {
        let problem = format!(
            "files {} and {} have the very same results, so they are one repetition and not two",
            first + 1,
            second + 1
        );
        return Err(refused(problem));
    }
    let suite = suite::of_results(&text).map_err(refused)?;
    let definition = step::definition(&suite).map_err(|error| refused(error.to_string()))?;
    let repetitions: Vec<Repetition> = files
        .iter()
        .zip('a'..='z')
        .map(|(file, label)| {
            let plans = suite.cells.iter().flat_map(CellPlan::members);
            let points = file.iter().zip(plans).zip(0..).scan((0.0, 0.0_f64), |(begin, end), ((run, plan), index)| {
                *begin = if run.is_beside() { *begin } else { *end };
                *end = end.max(*begin + run.seconds);
                let point = point(run, index, *begin);
                Some(Point { cell: Some(plan.cell.clone()), label: Some(plan.cell.to_string()), ..point })
            });
            Repetition { label: label.to_string(), complete: true, points: points.collect(), ..Repetition::default() }
        })
        .collect();
    if repetitions.len() < files.len() {
        return Err(refused(format!("a run has at most 26 repetitions, not {}", files.len())));
    }
    let path = first.iter().find_map(|run| run.path.clone()).unwrap_or_else(|| "unknown".to_owned());
    let begun = RunRecord {
        schema_version: SCHEMA_VERSION.to_owned(),
        run_id: about.run_id.clone(),
        test: suite.name.clone(),
        // Whoever named it may have named a share with its password.
        target: format!("{SCHEME}:{}", mask_name(about.target.as_ref().unwrap_or(&path))),
        subject: Subject::Volume,
        basis: Basis::Imported,
        engine: tool.name().to_lowercase(),
        clock: "real".to_owned(),
        started_at: about.written_at.clone(),
        campaign: about.campaign.clone(),
        label: about.label.clone(),
        environment: cache(first).into_iter().map(|cache| ("cache of the system".to_owned(), cache)).collect(),
        parameters: [("page_bytes".to_owned(), 4096.into()), ("expect".to_owned(), about.expected_percent.into())]
            .into(),
        definition: Definition { hash: definition.hash(), text: definition.text.clone() },
        build: about.build.clone(),
        ceilings: about.ceilings.clone(),
        warnings: warnings(tool, first)
            .into_iter()
            .chain(files.iter().flatten().filter_map(failed))
            .chain(about.warnings.clone())
            .collect(),
        ..RunRecord::default()
    };
    let all = series(&definition.steps, &repetitions, (4096, 1));
    let figures: Vec<_> = all.iter().filter_map(Series::figure).collect();
    let absent = all.iter().filter_map(|series| {
        let reason = series.absent.clone()?;
        Some(AbsentFigure { metric: series.metric.clone(), reason })
    });
    let finished = RunRecord {
        ended_at: Some(about.written_at.clone()),
        result: figures.first().cloned(),
        results: figures,
        absent: absent.collect(),
        ..begun.clone()
    };
    let mut kinds = vec![Kind::Begun(Box::new(begun))];
    for repetition in repetitions {
        let measured =
            |point: &Point| Kind::Point(PointMeasured { repetition: repetition.label.clone(), point: point.clone() });
        kinds.push(Kind::Repetition(Box::new(Repetition { points: Vec::new(), ..repetition.clone() })));
        kinds.extend(repetition.points.iter().map(measured));
    }
    kinds.push(Kind::Finished(Box::new(finished)));
    let event = |(sequence, kind)| Event {
        run_id: about.run_id.clone(),
        source: MAIN.to_owned(),
        sequence,
        at: about.written_at.clone(),
        kind,
    };
    let events: Vec<Event> = (0..).zip(kinds).map(event).collect();
    let record = Fold::of(&about.run_id, events.iter().cloned()).record();
    let record = record.ok_or_else(|| refused("the results make no run".to_owned()))?;
    Ok((events, record))
}

/// Whether operations went through the system's cache, where that is known of all.
fn cache(file: &[Imported]) -> Option<String> {
    let known: Vec<bool> = file.iter().map(|run| run.is_direct).collect::<Option<_>>()?;
    let used = known.iter().filter(|is_direct| !**is_direct).count();
    Some(match used {
        0 => "left out".to_owned(),
        _ if used == known.len() => "used".to_owned(),
        _ => "used by some".to_owned(),
    })
}

/// What was done, without what came of it.
fn cells(file: &[Imported]) -> Vec<impl PartialEq + use<>> {
    let cell = |run: &Imported| {
        let asked = (run.rate_per_s.map(f64::to_bits), run.held_back_by, run.is_beside());
        let asked = (asked, run.unsaid.clone(), run.is_direct);
        (run.read_percent, run.is_random, run.block_bytes, run.threads, run.queue_depth, run.sync, asked)
    };
    file.iter().map(cell).collect()
}

fn point(run: &Imported, index: u32, started_seconds: f64) -> Point {
    let bytes = run.bytes_per_second;
    Point { index, started_seconds, seconds: run.seconds, ..Point::default() }
        .with(Metric::AskedPerSecond, asked(run))
        .with(Metric::Iops, run.iops)
        .with(Metric::BytesPerS, bytes)
        .with(Metric::Operations, run.operations() as u64)
        .with(Metric::Errors, (run.errors > 0).then_some(run.errors))
        .with(Metric::LatencyUsMean, run.latency.mean_us)
        .with(Metric::LatencyUsP50, run.latency.percentile_us(50.0))
        .with(Metric::LatencyUsP99, run.latency.percentile_us(99.0))
}

/// Operations a second beyond which it would not go: those that were asked for, or what its pauses left.
fn asked(run: &Imported) -> Option<f64> {
    run.rate_per_s.or(run.held_back_by.map(|_| run.iops))
}

/// What failed in any repetition: a rate is no less for it.
fn failed(run: &Imported) -> Option<String> {
    let [errors, operations] = [run.errors as f64, run.operations()].map(format_given);
    (run.errors > 0)
        .then(|| format!("{errors} of {operations} I/Os of '{}' failed, and its rate counts them", run.label))
}

/// A rate of which less than this part was made is missed.
const MISSED_PART: f64 = 0.95;

/// Shorter runs say little.
const SHORT_SECONDS: f64 = 1.0;

/// Less than this part of what was asked for under way on average is worth a sentence.
const FEW_PART: f64 = 0.5;

/// That fewer operations were under way on average, by Little's law, than the depth of the queue says.
fn few_under_way(run: &Imported) -> Option<String> {
    let asked = f64::from(run.threads) * f64::from(run.queue_depth);
    // SQLIO's times are in whole milliseconds, and say too little.
    let is_exact = run.latency.histogram_percent.is_empty();
    let is_free = is_exact && run.rate_per_s.is_none() && run.held_back_by.is_none() && run.sync.is_none();
    let on_average = run.iops * run.latency.mean_us.filter(|_| is_free && run.writes_per_sync.is_none())? / 1e6;
    (on_average < FEW_PART * asked).then(|| {
        format!(
            "'{}' had {on_average:.1} of {asked} operations under way on average, by its rate and mean time",
            run.label
        )
    })
}

/// What a reader has to know of results of this tool.
fn warnings(tool: Tool, runs: &[Imported]) -> Vec<String> {
    let mut all = vec![format!(
        "{} measured this: the time of the run is that of its file, and nothing is known of the machine",
        tool.name()
    )];
    if runs.iter().any(|run| !run.latency.histogram_percent.is_empty()) {
        all.push(
            "response times are in whole milliseconds, and a percentile is the end of the millisecond in which it lies"
                .to_owned(),
        );
    }
    if runs.iter().any(|run| run.writes_per_sync.is_some() || matches!(run.sync, Some("fsync" | "fdatasync"))) {
        all.push(
            "fio takes the times of writes without the syncs behind them, so they are left out; the rates have both"
                .to_owned(),
        );
    }
    for (label, writes) in runs.iter().filter_map(|run| Some((&run.label, run.writes_per_sync?))) {
        all.push(format!("'{label}' made a sync after {writes} writes, which its cell does not say"));
    }
    // Before what is said of each alone: what it made is to be read with that in mind.
    let together = runs.chunk_by(|_, next| next.is_beside()).filter(|runs| runs.len() > 1);
    all.extend(together.map(|runs| {
        let labels: Vec<String> = runs.iter().map(|run| format!("'{}'", run.label)).collect();
        let is_any = |beside: Beside| runs.iter().any(|run| run.beside == beside);
        let how = if is_any(Beside::Reckoned) {
            ", since all jobs took less time than one after another"
        } else if is_any(Beside::Partly) {
            " for a part of it, and their rates are those of all of it"
        } else {
            ""
        };
        format!("{} ran at the same time{how}: each had a part of what the disk can do", labels.join(", "))
    }));
    let asked = runs.iter().filter_map(|run| Some((&run.label, run.rate_per_s?, run.iops, run.free_side)));
    all.extend(asked.map(|(label, rate, iops, free)| match free {
        Some(free) => {
            let asked = if free == "reads" { "writes" } else { "reads" };
            format!("'{label}' was asked for a rate of its {asked}, and for none of its {free}")
        }
        None if iops < MISSED_PART * rate => {
            format!("'{label}' was asked for {rate} operations a second, and made {iops:.0}: as many as it could")
        }
        None => format!("'{label}' was asked for {rate} operations a second, and not for as many as it could make"),
    }));
    all.extend(runs.iter().filter(|run| run.seconds < SHORT_SECONDS).map(|run| {
        format!("'{}' ran for {} s alone, which says little of a disk", run.label, format_given(run.seconds))
    }));
    all.extend(runs.iter().filter_map(few_under_way));
    let held_back = runs.iter().filter_map(|run| Some((&run.label, run.held_back_by?)));
    all.extend(
        held_back.map(|(label, by)| format!("'{label}' was held back by its option {by}, and could have made more")),
    );
    let unsaid = runs.iter().filter(|run| !run.unsaid.is_empty());
    all.extend(unsaid.map(|run| {
        let options = run.unsaid.join(", ");
        format!("'{}' did other work than its cell says: {options}", run.label)
    }));
    let cached: Vec<String> =
        runs.iter().filter(|run| run.is_direct == Some(false)).map(|run| format!("'{}'", run.label)).collect();
    if !cached.is_empty() {
        let of = if cached.len() == runs.len() { String::new() } else { format!(" of {}", cached.join(", ")) };
        all.push(format!("operations{of} went through the system's cache"));
    }
    all
}
