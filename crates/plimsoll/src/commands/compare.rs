//! `plimsoll compare`: runs against a first one, metric by metric, as ratios with an interval.

use std::collections::BTreeSet;

use plimsoll_analysis::DEFAULT_CONFIDENCE;
use plimsoll_analysis::compare::{self, Terms, Verdict};
use plimsoll_bench::figures::{Series, joins_at_common_rungs, series_of};
use plimsoll_measurement::{RunRecord, exit};
use plimsoll_report::terminal::{self, Comparison};

use crate::args::{Compare, FailOn};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;

/// Compares runs.
pub fn compare(options: &Compare, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    let margin = parse_margin(&options.margin)?;
    let store = settings.open_store()?;
    let records = options.runs.iter().map(|id| store.load(id)).collect::<Result<Vec<_>, _>>()?;
    let (base, others) = records.split_first().ok_or_else(|| Failure::usage("nothing to compare"))?;
    if series_of(base).is_empty() {
        let message = format!("run {} has no complete repetition to compare with", base.run_id);
        return Err(Failure { message, hint: Some("name another run first".to_owned()), exit_code: exit::INCOMPLETE });
    }
    let mut rows: Vec<Row> = Vec::new();
    for other in others {
        if let Some(warning) = provenance(base, other, &differences(base, other), printer.is_verbose()) {
            printer.warning(&warning);
        }
        let before = rows.len();
        for (a, b) in pairs(base, other) {
            rows.push(compare_series(base, other, &a, &b, margin));
        }
        if rows.len() == before {
            let (left, right) = (short(&base.run_id), short(&other.run_id));
            let message = format!("{left} ({}) and {right} ({}) have no figure in common", base.test, other.test);
            return Err(Failure::usage(message).hint("compare runs of one test"));
        }
    }
    if options.json {
        for row in &rows {
            printer.result(&json(row).to_string());
        }
    } else {
        let rows: Vec<Comparison> = rows.iter().map(Row::for_people).collect();
        printer.result(&terminal::comparison(&rows, printer.style()));
    }
    let worse = rows.iter().any(|row| row.verdict == Verdict::Worse);
    Ok(if worse && options.fail_on == Some(FailOn::Worse) { exit::NEGATIVE } else { exit::DONE })
}

fn parse_margin(text: &str) -> Result<f64, Failure> {
    let number = text.trim().trim_end_matches('%').trim().parse::<f64>().ok();
    number.filter(|percent| (0.0..100.0).contains(percent)).map(|percent| percent / 100.0).ok_or_else(|| {
        Failure::usage(format!("--margin {text} is not a percentage from 0 to 100")).hint("such as --margin 5%")
    })
}

/// The metrics that two runs share. Ladders are compared at the largest N that both climbed.
fn pairs(base: &RunRecord, other: &RunRecord) -> Vec<(Series, Series)> {
    if base.cpu_table.is_some() && other.cpu_table.is_some() {
        return joins_at_common_rungs(base, other);
    }
    let others = series_of(other);
    let partner = |a: Series| others.iter().find(|b| b.metric == a.metric).map(|b| (a, b.clone()));
    series_of(base).into_iter().filter_map(partner).collect()
}

/// Which run stands on a side of a ratio.
struct RunName {
    run_id: String,
    target: String,
}

impl RunName {
    fn of(record: &RunRecord) -> Self {
        Self { run_id: record.run_id.clone(), target: record.target.clone() }
    }

    fn label(&self) -> String {
        format!("{} {}", short(&self.run_id), self.target)
    }

    fn json(&self) -> serde_json::Value {
        serde_json::json!({"run_id": self.run_id, "target": self.target})
    }
}

/// One metric of two runs.
struct Row {
    metric: &'static str,
    baseline: RunName,
    candidate: RunName,
    outcome: Option<compare::Comparison>,
    verdict: Verdict,
    /// Why there is no ratio or no verdict.
    note: Option<String>,
}

fn compare_series(base: &RunRecord, other: &RunRecord, a: &Series, b: &Series, margin: f64) -> Row {
    // Of response times and of what is waited less is better; every other metric is a rate or a size.
    let terms = Terms { higher_is_better: !matches!(a.unit, "ms" | "s" | "%"), margin, confidence: DEFAULT_CONFIDENCE };
    // A bound is no estimate; a join that did not have its CPUs has a ratio, and it means nothing.
    let bounded = a.bound || b.bound;
    let outcome = (!bounded).then(|| compare::compare(&a.values, &b.values, terms)).flatten();
    let limited = [base, other].into_iter().any(|run| !plimsoll_report::bound(run, a.unit).is_empty());
    let client = limited.then(|| "the client was the limit of a run, so its figure is a bound".to_owned());
    let doubt = a.doubt.as_ref().or(b.doubt.as_ref()).or(client.as_ref());
    let note = |series: &Series| series.note.clone().unwrap_or_default();
    Row {
        metric: a.metric,
        baseline: RunName::of(base),
        candidate: RunName::of(other),
        outcome,
        verdict: outcome.filter(|_| doubt.is_none()).map_or(Verdict::Undecided, |comparison| comparison.verdict),
        note: if bounded { Some(format!("{} against {}", note(a), note(b))) } else { doubt.cloned() },
    }
}

impl Row {
    fn for_people(&self) -> Comparison {
        let verdict = self.verdict.name();
        Comparison {
            metric: self.metric.to_owned(),
            baseline: self.baseline.label(),
            candidate: self.candidate.label(),
            ratio: self.outcome.map(|comparison| comparison.ratio),
            low: self.outcome.and_then(|comparison| comparison.low),
            high: self.outcome.and_then(|comparison| comparison.high),
            confidence: DEFAULT_CONFIDENCE,
            verdict: self.note.as_ref().map_or_else(|| verdict.to_owned(), |note| format!("{verdict}: {note}")),
        }
    }
}

/// Enough of a run id to find it again: its time and a part of its random tail.
pub fn short(run_id: &str) -> &str {
    run_id.get(..16).unwrap_or(run_id)
}

/// Something that differs between two runs beside the target.
struct Difference {
    what: String,
    /// A setting that the target states about itself; there may be dozens.
    is_setting: bool,
    values: [Option<String>; 2],
}

/// What differs between two runs beside the target, so that the ratio isn't taken for more than it is.
fn differences(base: &RunRecord, other: &RunRecord) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut differ = |what: &str, is_setting: bool, a: Option<String>, b: Option<String>| {
        if a != b {
            found.push(Difference { what: what.to_owned(), is_setting, values: [a, b] });
        }
    };
    differ("test", false, Some(base.test.clone()), Some(other.test.clone()));
    differ("engine", false, Some(base.engine.clone()), Some(other.engine.clone()));
    if base.engine == other.engine {
        differ("engine version", false, base.engine_version.clone(), other.engine_version.clone());
    }
    let names: BTreeSet<&String> = base.parameters.keys().chain(other.parameters.keys()).collect();
    for name in names.into_iter().filter(|name| CONDITIONS.contains(&name.as_str())) {
        let value = |run: &RunRecord| run.parameters.get(name).map(ToString::to_string);
        differ(name, false, value(base), value(other));
    }
    differ("client", false, base.host.name.clone(), other.host.name.clone());
    if base.engine == other.engine {
        let names: BTreeSet<&String> = base.environment.keys().chain(other.environment.keys()).collect();
        for name in names {
            differ(name, true, base.environment.get(name).cloned(), other.environment.get(name).cloned());
        }
    }
    found
}

/// Parameters that change what is measured.
const CONDITIONS: [&str; 12] = [
    "volume",
    "tables",
    "seed",
    "chunk",
    "cache",
    "isolation",
    "sessions",
    "rate",
    "think",
    "arrivals",
    "keys",
    "duration",
];

/// One line about what differs, with the values where they are wanted.
fn provenance(base: &RunRecord, other: &RunRecord, differences: &[Difference], in_full: bool) -> Option<String> {
    let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let [left, right] = [base, other].map(|run| short(&run.run_id));
    let full = |one: &Difference| format!("{} ({} against {})", one.what, shown(&one.values[0]), shown(&one.values[1]));
    let named = differences.iter().filter(|one| in_full || !one.is_setting);
    let mut parts: Vec<String> = named.map(|one| if in_full { full(one) } else { one.what.clone() }).collect();
    let settings = differences.iter().filter(|one| one.is_setting).count();
    if settings > 0 && !in_full {
        parts.push(format!("{settings} setting{} of the target", if settings == 1 { "" } else { "s" }));
    }
    let last = parts.pop()?;
    let list = if parts.is_empty() { last } else { format!("{} and {last}", parts.join(", ")) };
    let hint = if in_full { "" } else { "; --verbose shows the values" };
    Some(format!("{left} and {right} differ in {list}{hint}"))
}

fn json(row: &Row) -> serde_json::Value {
    let mut object = serde_json::json!({
        "schema_version": plimsoll_measurement::run::SCHEMA_VERSION,
        "metric": row.metric,
        "baseline": row.baseline.json(),
        "candidate": row.candidate.json(),
        "confidence": DEFAULT_CONFIDENCE,
        "verdict": row.verdict.name(),
    });
    // Unknown is absent, never null.
    if let Some(note) = &row.note {
        object["note"] = note.as_str().into();
    }
    let Some(outcome) = row.outcome else { return object };
    for (key, value) in [("ratio", Some(outcome.ratio)), ("low", outcome.low), ("high", outcome.high)] {
        if let Some(value) = value {
            object[key] = value.into();
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_one_line() {
        let of = |what: &str, is_setting| Difference {
            what: what.to_owned(),
            is_setting,
            values: [Some("1".to_owned()), None],
        };
        let differences = [of("engine version", false), of("fsync", true), of("work_mem", true)];
        let run = |id: &str| RunRecord { run_id: id.to_owned(), ..blank() };
        let say = |differences: &[Difference], in_full| provenance(&run("0195"), &run("0196"), differences, in_full);
        assert_eq!(
            say(&differences, false).unwrap(),
            "0195 and 0196 differ in engine version and 2 settings of the target; --verbose shows the values"
        );
        assert_eq!(
            say(&differences[1..], true).unwrap(),
            "0195 and 0196 differ in fsync (1 against unknown) and work_mem (1 against unknown)"
        );
        assert_eq!(say(&[], false), None);
    }

    fn blank() -> RunRecord {
        let text = r#"{"schema_version": "1.0", "run_id": "", "test": "", "target": "", "engine": "", "clock": "real",
            "started_at": "", "parameters": {}, "definition": {"hash": "", "text": ""}, "build": "", "repetitions": [],
            "verdict": {"limit": null, "evidence": []}, "warnings": [], "host": {"platform": "", "cpus": 1}}"#;
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_margin_is_a_percentage() {
        assert!((parse_margin("5%").unwrap() - 0.05).abs() < 1e-12);
        assert!((parse_margin("2.5").unwrap() - 0.025).abs() < 1e-12);
        for bad in ["", "-1", "100", "five", "NaN"] {
            assert_eq!(parse_margin(bad).unwrap_err().exit_code, exit::USAGE, "{bad}");
        }
    }
}
