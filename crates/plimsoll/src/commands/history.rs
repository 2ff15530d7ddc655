//! `plimsoll history`: a figure over all stored runs of a test on a target. Has it got slower, when, and what changed then?

use plimsoll_analysis::history::{self, Shift, Terms};
use plimsoll_bench::figures::{Series, joins_at_common_rungs, series_of};
use plimsoll_engine::Target;
use plimsoll_measurement::{Basis, RunRecord, exit};
use plimsoll_report::history::{FEWEST_RUNS, History, Run};
use plimsoll_report::html;
use plimsoll_report::terminal::{self, Style};
use plimsoll_store::{Filter, RunStore, RunSummary};
use serde_json::json;

use super::compare::conditions::{self, Weight, differences, known};
use super::compare::{is_higher_better, knees, short};
use super::report::{made_now, write};
use crate::args::{self, FailOn};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;

/// Shows the history of a test on a target.
pub fn history(options: &args::History, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    let store = settings.read_store()?;
    let found = Chosen::choose(options, store.as_ref())?;
    let told = found.told();
    if let Some(path) = &options.html {
        let title = format!("Has {} got slower?", found.reference.test);
        write(path, &html::page(&[told.report()], &format!("{} runs", told.runs.len()), &made_now(&title)), printer)?;
    }
    if options.json {
        printer.json(&found.json(&told).to_string());
    } else if options.html.as_deref() != Some(std::path::Path::new("-")) {
        printer.result(&terminal::report(&told.report(), Style { full: true, ..printer.style }));
        if found.runs.len() < FEWEST_RUNS && !found.left_out.is_empty() && options.like.is_none() {
            let newest = short(&found.reference.run_id);
            printer.remark(&format!("these runs match run {newest}; --like RUN selects those that match another run"));
        }
    }
    let is_negative = options.fail_on == Some(FailOn::Worse) && told.is_worse();
    Ok(if is_negative { exit::NEGATIVE } else { exit::DONE })
}

/// The runs that measured the same on one target, in the order in which they were made.
struct Chosen {
    /// What the others have to be like.
    reference: RunRecord,
    metric: String,
    unit: String,
    /// Each with its values.
    runs: Vec<(RunRecord, Series)>,
    /// Each with the reason.
    left_out: Vec<(String, String)>,
}

impl Chosen {
    fn choose(options: &args::History, store: &RunStore) -> Result<Self, Failure> {
        let summaries = candidates(options, store)?;
        let reference = match &options.like {
            Some(id) => store.record(id)?,
            None => newest_usable(&summaries, options.metric.as_deref(), store)?,
        };
        if reference.test != options.test {
            let message = format!("run {} is a {}, not a {}", short(&reference.run_id), reference.test, options.test);
            return Err(Failure::usage(message).hint("name a run of the test with --like"));
        }
        let own = series_of(&reference);
        let wanted = options.metric.clone().or_else(|| reference.result.as_ref().map(|figure| figure.metric.clone()));
        let wanted = wanted.or_else(|| own.first().map(|series| series.metric.clone())).unwrap_or_default();
        let Some(series) = own.iter().find(|series| series.metric == wanted) else {
            let known: Vec<&str> = own.iter().map(|series| series.metric.as_str()).collect();
            let message = format!("run {} has no figure '{wanted}'", short(&reference.run_id));
            return Err(Failure::usage(message).hint(format!("it has {}", known.join(", "))));
        };
        let mut chosen = Self {
            metric: wanted,
            unit: series.unit.clone(),
            reference: reference.clone(),
            runs: Vec::new(),
            left_out: Vec::new(),
        };
        // A figure may be stated under another URL; the fingerprint tells the server.
        for summary in summaries.iter().rev() {
            let mut run = store.record(&summary.run_id)?;
            match chosen.values(&run) {
                Ok(values) => {
                    // Its conditions are enough from here on, and a run may have many seconds.
                    run.repetitions.clear();
                    chosen.runs.push((run, values));
                }
                Err(why) => chosen.left_out.push((run.run_id, why)),
            }
        }
        Ok(chosen)
    }

    /// The run's values if it measured what the reference did, else why not.
    fn values(&self, run: &RunRecord) -> Result<Series, String> {
        if self.reference.basis != run.basis {
            return Err(format!("it was {}", run.basis.name()));
        }
        if self.reference.target_fingerprint != run.target_fingerprint {
            return Err("another server or database answered at this URL".to_owned());
        }
        if let Some(list) = conditions::refusal(&self.reference, run) {
            return Err(format!("it differs in {list}"));
        }
        let all = if run.cpu_table.is_some() && self.reference.cpu_table.is_some() {
            // Only equal N compare.
            let own = joins_at_common_rungs(&self.reference, &self.reference);
            let pairs = joins_at_common_rungs(&self.reference, run).into_iter();
            let is_top = |a: &Series| own.iter().any(|(top, _)| top.metric == a.metric && top.values == a.values);
            pairs.filter(|(a, _)| is_top(a)).map(|(_, b)| b).collect()
        } else {
            series_of(run)
        };
        let series = all.into_iter().find(|series| series.metric == self.metric && series.unit == self.unit);
        let series = series.ok_or("it has no complete repetition with this figure")?;
        let [own, place] = [&self.reference, run].map(|run| knees::place(run, &self.metric));
        if let Some((own, place)) = own.zip(place).filter(|(own, place)| own != place) {
            return Err(format!("its knee is {place}, and not {own}"));
        }
        if is_doubtful(&series, run) {
            return Err("its figure is only a bound, or is in doubt".to_owned());
        }
        if history::Run::of(&series.values).is_none() {
            return Err("its figure is not above zero".to_owned());
        }
        Ok(series)
    }

    fn told(&self) -> History {
        let judged: Vec<history::Run> =
            self.runs.iter().filter_map(|(_, series)| history::Run::of(&series.values)).collect();
        let found = history::history(&judged, Terms::new(is_higher_better(&self.unit)));
        let run = |(run, series): &(RunRecord, Series)| {
            let figure = series.figure();
            Run {
                run_id: short(&run.run_id).to_owned(),
                at: moment_of(run),
                value: figure.as_ref().map_or(f64::NAN, |figure| figure.value),
                interval: figure.as_ref().and_then(|figure| figure.low.zip(figure.high)),
                repetitions: series.values.len(),
                version: run.engine_version.clone(),
            }
        };
        let shifts = found.iter().flat_map(|found| &found.shifts);
        let beside = shifts
            .map(|shift| {
                conditions::listed(&self.beside(shift), |weight| matches!(weight, Weight::Warns | Weight::Setting))
            })
            .collect();
        let left_out = self.left_out.iter().map(|(id, why)| format!("{}: {why}", short(id)));
        History {
            test: self.reference.test.clone(),
            target: self.reference.target.clone(),
            metric: self.metric.clone(),
            unit: self.unit.clone(),
            runs: self.runs.iter().map(run).collect(),
            found,
            beside,
            left_out: left_out.collect(),
        }
    }

    /// What differs between the last run on the old level and the first one on the new.
    fn beside(&self, shift: &Shift) -> Vec<conditions::Difference> {
        let before = shift.index.checked_sub(1).and_then(|before| self.runs.get(before));
        before.zip(self.runs.get(shift.index)).map_or_else(Vec::new, |(a, b)| differences(&a.0, &b.0))
    }

    fn json(&self, told: &History) -> serde_json::Value {
        let found = told.found.as_ref();
        let full_id = |at: usize| self.runs.get(at).map(|(run, _)| run.run_id.as_str());
        let at = |at: usize| told.runs.get(at).map(|run| run.at.as_str());
        let run = |(index, run): (usize, &Run)| {
            let is_odd = found.is_some_and(|found| found.outliers.contains(&index));
            let (low, high) = run.interval.unzip();
            known(json!({"run_id": full_id(index), "at": run.at, "value": run.value, "low": low, "high": high,
                "repetitions": run.repetitions, "outlier": is_odd, "engine_version": run.version}))
        };
        let shift = |shift: &Shift| {
            json!({"run_id": full_id(shift.index), "at": at(shift.index), "ratio": shift.ratio, "low": shift.low,
                "high": shift.high, "verdict": shift.verdict.name(), "differences": conditions::json(&self.beside(shift))})
        };
        let segment = |one: &history::Segment| json!({"from": at(one.from), "to": at(one.to - 1), "runs": one.to - one.from, "value": one.value});
        let left_out = self.left_out.iter().map(|(id, why)| json!({"run_id": id, "why": why}));
        let overall =
            |one: Shift| json!({"ratio": one.ratio, "low": one.low, "high": one.high, "verdict": one.verdict.name()});
        known(json!({
            "schema_version": plimsoll_measurement::run::SCHEMA_VERSION,
            "test": told.test,
            "target": told.target,
            "metric": told.metric,
            "unit": told.unit,
            "higher_is_better": is_higher_better(&self.unit),
            "verdict": told.verdict(),
            "minimum_runs": FEWEST_RUNS,
            "runs": told.runs.iter().enumerate().map(run).collect::<Vec<_>>(),
            "levels": found.map_or_else(Vec::new, |found| found.segments.iter().map(segment).collect()),
            "changes": found.map_or_else(Vec::new, |found| found.shifts.iter().map(shift).collect()),
            "left_out": left_out.collect::<Vec<_>>(),
            "overall": found.and_then(|found| found.overall).map(overall),
        }))
    }
}

/// The runs of the test on the target, the newest first.
fn candidates(options: &args::History, store: &RunStore) -> Result<Vec<RunSummary>, Failure> {
    let target = options.target.as_deref().map(Target::parse).transpose()?.map(|target| target.display().to_owned());
    // What a model says of a target is none of its history.
    let runs_on = |target: Option<String>| -> Result<Vec<RunSummary>, Failure> {
        let mut runs = store.summaries(&Filter { test: Some(options.test.clone()), target, ..Filter::default() })?;
        runs.retain(|run| !matches!(run.basis, Basis::Simulated | Basis::Predicted));
        Ok(runs)
    };
    let found = runs_on(target.clone())?;
    let Some(first) = found.first() else {
        let message = match &target {
            // Without what is behind it: no engine has looked at that, and there may be a secret in it.
            Some(target) => {
                let name = target.split(['?', '#']).next().unwrap_or_default();
                format!("no run of {} on {name} is stored", options.test)
            }
            None => format!("no run of {} is stored", options.test),
        };
        return Err(Failure::usage(message).hint("'plimsoll runs' lists the stored runs"));
    };
    if target.is_none() && found.iter().any(|run| run.target != first.target) {
        let mut targets: Vec<&str> = found.iter().map(|run| run.target.as_str()).collect();
        targets.sort_unstable();
        targets.dedup();
        let message = format!("{} has runs on {} targets", options.test, targets.len());
        return Err(Failure::usage(message).hint(format!("name one with --target: {}", targets.join(", "))));
    }
    // The same server under other URLs.
    let Some(fingerprint) = first.target_fingerprint.clone() else { return Ok(found) };
    let mut all = found;
    all.extend(runs_on(Some(fingerprint))?);
    all.sort_by(|a, b| b.run_id.cmp(&a.run_id));
    all.dedup_by(|a, b| a.run_id == b.run_id);
    Ok(all)
}

/// The newest run that has a figure, and one that is neither a bound nor in doubt if there is such a run.
fn newest_usable(summaries: &[RunSummary], metric: Option<&str>, store: &RunStore) -> Result<RunRecord, Failure> {
    let mut newest = None;
    for summary in summaries {
        let run = store.record(&summary.run_id)?;
        let all = series_of(&run);
        let Some(series) = all.iter().find(|series| metric.is_none_or(|metric| series.metric == metric)) else {
            continue;
        };
        if !is_doubtful(series, &run) {
            return Ok(run);
        }
        newest.get_or_insert(run);
    }
    newest.ok_or_else(|| {
        let what = metric.map_or_else(String::new, |metric| format!(" with a figure '{metric}'"));
        let message = format!("none of {} stored runs has a complete repetition{what}", summaries.len());
        Failure::usage(message).code(exit::INCOMPLETE).hint("'plimsoll show RUN' has the figures of a run")
    })
}

/// Whether a figure is a bound, or there is a doubt about it.
fn is_doubtful(series: &Series, run: &RunRecord) -> bool {
    series.bound || series.doubt.is_some() || plimsoll_report::bound(run, &series.unit).is_some()
}

/// When the run was made. Virtual time says when the model was, so there the id tells, which begins with the moment.
fn moment_of(run: &RunRecord) -> String {
    let real = || {
        let milliseconds = i64::from_str_radix(run.run_id.get(..12)?, 16).ok()?;
        let moment = jiff::Timestamp::from_millisecond(milliseconds).ok()?;
        Some(format!("{moment:.0}"))
    };
    if run.clock == "virtual" { real().unwrap_or_else(|| run.started_at.clone()) } else { run.started_at.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_of_knees_is_one_of_knees_at_the_same_place() {
        let figure = |metric: &str, note: Option<&str>| {
            let text =
                r#"{"metric": "", "value": 9, "unit": "1/s", "confidence": 0.95, "values": [9, 9], "repetitions": 2}"#;
            let figure: plimsoll_measurement::Figure = serde_json::from_str(text).unwrap();
            plimsoll_measurement::Figure { metric: metric.to_owned(), note: note.map(str::to_owned), ..figure }
        };
        let run = |place: &str| {
            let results =
                vec![figure("a_iops", None), figure("knee_iops", None), figure("knee_latency_p50", Some(place))];
            RunRecord { results, ..RunRecord::default() }
        };
        let chosen = |metric: &str| Chosen {
            reference: run("at 1 x 4"),
            metric: metric.to_owned(),
            unit: "1/s".to_owned(),
            runs: Vec::new(),
            left_out: Vec::new(),
        };
        let why = |metric: &str, place: &str| chosen(metric).values(&run(place)).err();
        assert_eq!((why("knee_iops", "at 1 x 4"), why("a_iops", "at 1 x 8")), (None, None));
        assert_eq!(why("knee_iops", "at 1 x 8").as_deref(), Some("its knee is at 1 x 8, and not at 1 x 4"));
    }

    #[test]
    fn a_run_in_virtual_time_is_dated_by_its_id() {
        let text = r#"{"schema_version": "2.0", "subject": "database", "basis": "measured", "run_id": "01a20423cd507202b5128d6c67cd0781", "test": "", "target": "",
            "engine": "", "clock": "virtual", "started_at": "2015-01-31T00:00:00.000Z", "parameters": {},
            "definition": {"hash": "", "text": ""}, "build": "", "repetitions": [],
            "verdict": {"limit": null, "evidence": []}, "warnings": [], "host": {"platform": "", "cpus": 1}}"#;
        let mut run: RunRecord = serde_json::from_str(text).unwrap();
        assert!(moment_of(&run).starts_with("2026-11-22T16:"), "{}", moment_of(&run));
        run.run_id = "mine".to_owned();
        assert_eq!(moment_of(&run), run.started_at);
        run.clock = "real".to_owned();
        assert_eq!(moment_of(&run), run.started_at);
    }
}
