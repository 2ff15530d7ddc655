//! A prediction as a run record with the basis *predicted*: of the test of its source, on the target, with a repetition for each set of
//! parameters.

use plimsoll_analysis::DEFAULT_CONFIDENCE;
use plimsoll_measurement::event::Event;
use plimsoll_measurement::run::SCHEMA_VERSION;
use plimsoll_measurement::units::format_significant;
use plimsoll_measurement::{AbsentFigure, Basis, Figure, LatencyHistogramData, Repetition, RunRecord, Subject};

use super::counted::{CPU, Counted, DATA, ELSE, IoCount, LOG, SLOTS};
use super::demand::Demand;
use super::hardware::Hardware;
use super::judged::verdict;
use super::telling::Telling;
use super::usage::resources;
use crate::grid::Replicated;
use crate::record::{About, repetition, told};
use crate::server::{FileFigures, Replication, Resource, Shares};

/// Name of the setting that says from which run a prediction was made.
pub const FROM_RUN: &str = "predicted from run";
/// Name of the setting that says on which target a prediction's source ran.
pub const FROM_TARGET: &str = "predicted from target";

/// A calibration that misses the source by more is warned of, in percent.
const FAR: f64 = 5.0;

/// The events of the predicted run, and its record.
pub fn predicted(about: &About, telling: &Telling<'_>) -> Option<(Vec<Event>, RunRecord)> {
    let Telling { source, calibrated, prediction, .. } = telling;
    let replications: Vec<Replication> =
        prediction.counted.iter().map(|one| replication(&prediction.hardware, one)).collect();
    let replicated = Replicated::new(replications);
    let sessions = calibrated.evidence.load.sessions;
    let begun = RunRecord {
        schema_version: SCHEMA_VERSION.to_owned(),
        run_id: about.run_id.clone(),
        test: source.test.clone(),
        target: telling.target.clone(),
        subject: Subject::Database,
        basis: Basis::Predicted,
        engine: source.engine.clone(),
        engine_version: source.engine_version.clone(),
        clock: "virtual".to_owned(),
        started_at: about.started_at.clone(),
        campaign: about.campaign.clone(),
        parameters: source.parameters.clone(),
        definition: source.definition.clone(),
        catalog_edition: telling.edition.0.clone(),
        catalog_edition_date: telling.edition.1.clone(),
        build: about.build.clone(),
        ceilings: prediction.hardware.spec.ceilings(
            "the target's hardware, ",
            calibrated.hardware.data_bytes.unwrap_or(0.0) as u64,
            1,
        ),
        environment: environment(telling),
        warnings: warnings(telling),
        host: about.host.clone(),
        ..RunRecord::default()
    };
    let repetitions: Vec<Repetition> = replicated
        .replications
        .iter()
        .zip('a'..='z')
        .map(|(one, label)| without_times(repetition(sessions, one, label)))
        .collect();
    let results = figures(telling, &replicated);
    let finished = RunRecord {
        ended_at: Some(about.ended_at.clone()),
        virtual_seconds: Some(replicated.replications.iter().map(|one| one.seconds).sum()),
        result: results.first().cloned(),
        results,
        absent: vec![AbsentFigure { metric: "latency_p99".to_owned(), reason: ALIKE.to_owned() }],
        verdict: verdict(telling, &replicated),
        ..begun.clone()
    };
    told(about, begun, repetitions, finished)
}

/// What was derived from the source, in words: it stands beside the result as settings of a target do.
fn environment(telling: &Telling<'_>) -> std::collections::BTreeMap<String, String> {
    let Telling { source, calibrated, .. } = telling;
    let Demand { statements, pages, reads, read_bytes, commits, log_bytes, writes, write_bytes, other_s, .. } =
        calibrated.derived.demand;
    let whole = calibrated.evidence.whole();
    let shown = format_significant;
    let cpu = whole.each(super::evidence::What::Cpu).map_or_else(
        || "not measured".to_owned(),
        |seconds| format!("{} ms of a core on the source, {} statements", shown(seconds * 1e3), shown(statements)),
    );
    [
        (FROM_RUN, source.run_id.clone()),
        (FROM_TARGET, source.target.clone()),
        (
            "calibration",
            format!(
                "on its own hardware the source is simulated with {} 1/s and was measured with {} 1/s: {:+.1} %",
                shown(calibrated.rate.value),
                shown(calibrated.measured()),
                calibrated.error_percent
            ),
        ),
        ("demand of CPU", cpu),
        ("demand of reads", format!("{} of {} bytes, {} pages", shown(reads), shown(read_bytes), shown(pages))),
        ("demand of log", format!("{} commits of {} bytes", shown(commits), shown(log_bytes))),
        ("demand of data writes", format!("{} of {} bytes", shown(writes), shown(write_bytes))),
        (
            "other waits",
            format!(
                "{} ms, and {} ms that the model misses at the source",
                shown(other_s * 1e3),
                shown(calibrated.missing_s * 1e3)
            ),
        ),
    ]
    .into_iter()
    .map(|(name, text)| (name.to_owned(), text))
    .collect()
}

fn warnings(telling: &Telling<'_>) -> Vec<String> {
    let calibrated = telling.calibrated;
    let place = if telling.target == telling.source.target { "" } else { ", and nothing was measured on this target" };
    let mut warnings = vec![format!(
        "this was predicted from run {}: a model computed it{place}; docs/SIMULATE.md says how far to trust it",
        telling.source.run_id
    )];
    if calibrated.error_percent.abs() > FAR {
        warnings.push(format!(
            "the model misses the source itself by {:+.1} %: what it leaves out matters here, and the interval is that much wider",
            calibrated.error_percent
        ));
    }
    warnings.extend(telling.prediction.unknown.iter().map(|text| format!("the source does not say: {text}")));
    warnings.extend(calibrated.derived.bounds.iter().map(|text| format!("a bound binds: {text}")));
    // What spoils the run spoils what is made of it.
    warnings.extend(telling.source.warnings.iter().map(|text| format!("the source was warned of this: {text}")));
    warnings
}

/// A figure of a set of parameters: its name, its unit, and where it is read.
type Read = (&'static str, &'static str, fn(&Replication) -> Option<f64>);

/// What is told beside the rate, and whether it grows with it.
const BESIDE: [(Read, bool); 2] = [
    (("latency_mean", "ms", |one| Some(one.response_ms)), false),
    (("cpu_used", "%", |one| one.resources.iter().find(|known| known.limit == "cpu").map(Resource::percent)), true),
];

/// Why there are no percentiles.
const ALIKE: &str = "to the model all requests are alike, so it knows their mean and not how they spread";

/// The same without the times of single requests, of which nothing is known.
fn without_times(mut repetition: Repetition) -> Repetition {
    repetition.requests.clear();
    for phase in &mut repetition.phases {
        phase.times = LatencyHistogramData::default();
    }
    repetition
}

fn figures(telling: &Telling<'_>, replicated: &Replicated) -> Vec<Figure> {
    let prediction = telling.prediction;
    let sets = replicated.replications.len() as u32;
    let figure = |metric: &str, unit: &str, value: f64, ends: Option<(f64, f64)>, values: Vec<f64>| Figure {
        metric: metric.to_owned(),
        value,
        unit: unit.to_owned(),
        low: ends.map(|(low, _)| low),
        high: ends.map(|(_, high)| high),
        confidence: DEFAULT_CONFIDENCE,
        values,
        repetitions: sets,
        point_cv_percent: None,
        note: None,
        expected: None,
    };
    let rate = prediction.rate;
    let rates = replicated.values(|one| Some(one.requests_per_s)).unwrap_or_default();
    let note = "The interval has room for one more set of parameters that the run allows, for how far the model misses the run itself, and for what it misses elsewhere.";
    let first = figure("request_rate", "1/s", rate.value, Some((rate.low, rate.high)), rates);
    let mut all = vec![Figure { note: Some(format!("{note} {}", telling.score)), ..first }];
    let over = |of: &dyn Fn(&Replication) -> Option<f64>| -> Option<(f64, (f64, f64), Vec<f64>)> {
        let values = replicated.values(of)?;
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let low = values.iter().copied().fold(mean, f64::min);
        let high = values.iter().copied().fold(mean, f64::max);
        mean.is_finite().then_some((mean, (low, high), values))
    };
    for ((metric, unit, of), grows) in BESIDE {
        // What makes the rate uncertain makes these so by as much.
        let (less, more) = (rate.low / rate.value, rate.high / rate.value);
        let (less, more) = if grows { (less, more) } else { (more.recip(), less.recip()) };
        all.extend(over(&of).map(|(mean, (low, high), values)| {
            let high = if unit == "%" { (high * more).min(100.0) } else { high * more };
            figure(metric, unit, mean, Some((low * less, high.max(mean))), values)
        }));
    }
    all
}

fn replication(hardware: &Hardware, counted: &Counted) -> Replication {
    let requests = counted.requests().max(1) as f64;
    let waited: f64 = counted.waits_ns.iter().map(|ns| *ns as f64).sum();
    let shares = |factor: f64| Shares {
        cpu: counted.waits_ns[CPU] as f64 * factor,
        page: counted.waits_ns[DATA] as f64 * factor,
        log: counted.waits_ns[LOG] as f64 * factor,
        other: counted.waits_ns[ELSE] as f64 * factor,
    };
    let [reads, writes, log] = counted.io;
    let slot = counted.seconds / SLOTS as f64;
    Replication {
        seed: counted.seed,
        events: counted.events,
        seconds: counted.seconds,
        transient_s: 0.0,
        unsteady: None,
        requests_per_s: counted.rate(),
        course: (1..).zip(&counted.answered).map(|(at, count)| (f64::from(at) * slot, *count as f64 / slot)).collect(),
        response_ms: counted.response_ns as f64 / requests / 1e6,
        times: counted.times.clone(),
        present: counted.response_ns as f64 / counted.seconds / 1e9,
        wait_ms: shares(1.0 / requests / 1e6),
        wait_percent: (waited > 0.0).then(|| shares(100.0 / waited)),
        files: vec![
            file("data", reads, writes, counted.seconds),
            file("log", IoCount::default(), log, counted.seconds),
        ],
        resources: resources(hardware, counted),
    }
}

fn file(name: &str, reads: IoCount, writes: IoCount, seconds: f64) -> FileFigures {
    let ms = |count: IoCount| (count.count > 0).then(|| count.ns as f64 / count.count as f64 / 1e6);
    FileFigures {
        name: name.to_owned(),
        files: 1,
        reads_per_s: reads.count as f64 / seconds,
        writes_per_s: writes.count as f64 / seconds,
        read_bytes_per_s: reads.bytes as f64 / seconds,
        write_bytes_per_s: writes.bytes as f64 / seconds,
        read_ms: ms(reads),
        write_ms: ms(writes),
    }
}
