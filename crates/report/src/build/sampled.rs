//! What the samples of a repetition say. They say how far each resource was used of its ceiling, what sessions waited
//! for, how long reads and writes took, and the rest by unit.

use plimsoll_analysis::bottleneck::means::ceiling;
use plimsoll_analysis::bottleneck::rules::{NETWORK, RULES, Use as Seen};
use plimsoll_measurement::{RunRecord, SampleColumn, Samples};

use super::order::grouped;
use crate::model::format::{plain, title};
use crate::model::{Cell, Color, Series};

/// Time at or above this part of a ceiling counts as near it, in percent.
pub const NEAR_PERCENT: f64 = 90.0;

/// Colour and variant by what occurs in a name; the first that does counts. A limit, its use and its waits have one colour.
const LOOKS: [(&str, Color, usize); 20] = [
    ("none", None, 0),
    ("sleeping", None, 0),
    ("client", Some(5), 1),
    ("network", Some(5), 0),
    ("log_governor", Some(2), 1),
    ("log_write_rate", Some(2), 1),
    ("log_bandwidth", Some(2), 0),
    ("log", Some(2), 0),
    ("lock", Some(3), 0),
    ("worker", Some(3), 1),
    ("session", Some(3), 2),
    ("memory", Some(4), 0),
    ("cache", Some(4), 1),
    ("data_write", Some(1), 1),
    ("bandwidth", Some(1), 1),
    ("data", Some(1), 0),
    ("disk", Some(1), 2),
    ("device", Some(1), 3),
    ("machine", Some(0), 2),
    ("cpu", Some(0), 0),
];

/// Reasons of sessions in the order in which they are stacked; others stand above them.
const REASONS: [&str; 10] = [
    "on_cpu",
    "waiting_for_data_read",
    "waiting_for_data_write",
    "waiting_for_log_write",
    "waiting_for_log_governor",
    "waiting_for_lock",
    "waiting_for_table_lock",
    "waiting_for_worker",
    "waiting_for_client",
    "sleeping",
];

/// Unit of the reasons.
const SESSIONS: &str = "sessions";

/// Sessions that are none of ours, and so no part of these.
const STRANGERS: &str = "sessions_of_others";

/// How what has this name is drawn.
pub fn look(name: &str) -> (Color, usize) {
    let known = LOOKS.iter().find(|(part, ..)| name.contains(part));
    known.map_or((None, 0), |(_, tone, variant)| (*tone, *variant))
}

/// A resource's use in percent of its ceiling.
pub struct Use {
    /// The resource: `data_iops`, or what a column is called.
    pub resource: String,
    /// What is 100 %; absent where it is the engine that says how many percent.
    pub ceiling: Option<Cell>,
    /// The source.
    pub said_by: String,
    /// The owner of the columns that it is read from: `engine` or `host`.
    pub source: String,
    /// The percentages.
    pub series: Series,
}

/// How far each resource was used, seen as the verdict's rules see it. It is the use of its ceiling where that is
/// known, else by what the engine or the machine says of itself.
pub fn utilisation(record: &RunRecord, samples: &Samples) -> Vec<Use> {
    let mut uses: Vec<Use> = Vec::new();
    for seen in RULES.iter().flat_map(|rule| rule.uses).filter(|seen| !seen.ceiling.is_empty()) {
        if uses.iter().all(|one| one.resource != seen.ceiling) {
            uses.extend(of_ceiling(record, samples, seen, seen.ceiling));
        }
    }
    // A network's ceiling holds in each direction.
    uses.extend(NETWORK.iter().filter_map(|seen| of_ceiling(record, samples, seen, seen.columns.first()?)));
    for seen in RULES.iter().flat_map(|rule| rule.uses).filter(|seen| seen.ceiling.is_empty()) {
        let stated = seen.columns.first().and_then(|metric| samples.column(metric)).filter(|column| column.unit == "%");
        let Some(column) = stated else { continue };
        // A percentage says the same again where something with its colour is known.
        let stated = series(samples, column);
        if uses.iter().any(|one| one.series.tone == stated.tone) {
            continue;
        }
        let name = of_name(&title(column.metric.strip_suffix("_percent").unwrap_or(&column.metric)), column);
        uses.push(Use {
            resource: column.metric.clone(),
            ceiling: None,
            said_by: format!("the {} itself", plain(&column.source)),
            source: column.source.clone(),
            series: Series { name, ..stated },
        });
    }
    tell_apart(uses.iter_mut().map(|one| &mut one.series));
    uses
}

/// A use of a ceiling under this name; `None` where the ceiling or all its columns are not known.
fn of_ceiling(record: &RunRecord, samples: &Samples, seen: &Seen, name: &str) -> Option<Use> {
    let ceiling = ceiling(&record.ceilings, seen.ceiling)?;
    let columns = |names: &[&str]| -> Vec<&SampleColumn> {
        let known = names.iter().filter_map(|name| samples.column(name));
        known.filter(|column| column.unit == ceiling.unit).collect()
    };
    let (counted, less) = (columns(seen.columns), columns(seen.less));
    let source = counted.first()?.source.clone();
    let sum = |columns: &[&SampleColumn], at: usize| -> Option<f64> {
        columns.iter().map(|column| column.values.get(at).copied().flatten()).sum()
    };
    let used = |at: usize| Some((sum(&counted, at)? - sum(&less, at)?).max(0.0) / ceiling.value * 100.0);
    let (tone, variant) = look(name);
    // The machine's, which has others' work in it, may stand beside it.
    let name = if seen.columns == ["server_cpu"] { "server_cpu" } else { name };
    Some(Use {
        resource: seen.ceiling.to_owned(),
        ceiling: Some(Cell::quantity(ceiling.value, plain(&ceiling.unit))),
        said_by: plain(&ceiling.source),
        source,
        series: Series { name: title(name), tone, variant, steps: steps(samples, used) },
    })
}

/// Percentages that are none of these uses, nor the same again: of the machine, of its disks, of the time in which a server
/// was throttled.
pub fn percentages<'a>(samples: &'a Samples, uses: &[Use]) -> Vec<(&'a SampleColumn, Series)> {
    let drawn = |metric: &str| uses.iter().any(|one| one.resource == metric) || metric.ends_with("_percent");
    all_of(samples, |column| column.unit == "%" && !drawn(&column.metric))
}

/// Sessions by what they did or waited for, in the order in which they are stacked.
pub fn sessions(samples: &Samples) -> Vec<(&SampleColumn, Series)> {
    let mut reasons = all_of(samples, |column| column.unit == SESSIONS && column.metric != STRANGERS);
    let place = |metric: &str| REASONS.iter().position(|reason| *reason == metric).unwrap_or(REASONS.len());
    reasons.sort_by_key(|(column, _)| place(&column.metric));
    for (column, series) in &mut reasons {
        let reason = match column.metric.strip_prefix("waiting_for_").unwrap_or(&column.metric) {
            "turn" => "writer_lock",
            reason => reason,
        };
        series.name = of_name(&title(reason), column);
    }
    reasons
}

/// How long reads and writes took.
pub fn latencies(samples: &Samples) -> Vec<(&SampleColumn, Series)> {
    let mut all = all_of(samples, |column| column.unit == "ms");
    for (column, series) in &mut all {
        series.name = of_name(&title(column.metric.strip_suffix("_latency").unwrap_or(&column.metric)), column);
    }
    all
}

/// All columns by unit, in the order of the columns, but those of the units that have strips of their own.
pub fn others(samples: &Samples) -> Vec<(&str, Vec<(&str, Series)>)> {
    let is_elsewhere = |column: &SampleColumn| match column.unit.as_str() {
        "%" | "ms" => true,
        // Mostly there are none.
        SESSIONS => column.metric != STRANGERS || column.values.iter().flatten().all(|value| *value <= 0.0),
        _ => false,
    };
    let all = all_of(samples, |column| !is_elsewhere(column)).into_iter();
    grouped(all.map(|(column, series)| (column.unit.as_str(), (column.source.as_str(), series))))
}

fn all_of(samples: &Samples, wanted: impl Fn(&SampleColumn) -> bool) -> Vec<(&SampleColumn, Series)> {
    let columns = samples.columns.iter().filter(|column| wanted(column));
    let mut all: Vec<(&SampleColumn, Series)> = columns.map(|column| (column, series(samples, column))).collect();
    tell_apart(all.iter_mut().map(|(_, series)| series));
    all
}

/// A column as it is.
pub fn series(samples: &Samples, column: &SampleColumn) -> Series {
    let (tone, variant) = look(&column.metric);
    let steps = steps(samples, |at| column.values.get(at).copied().flatten());
    Series { name: of_name(&title(&column.metric), column), tone, variant, steps }
}

fn of_name(name: &str, column: &SampleColumn) -> String {
    column.of.as_deref().map_or_else(|| name.to_owned(), |of| format!("{name}, {}", plain(of)))
}

/// An interval shorter than this part of the usual one says more of its ends than of the time. What waited long is
/// counted in the moment in which it ends.
const SHORTEST_PART: f64 = 0.25;

/// The intervals with their values; what is no number is not known.
fn steps(samples: &Samples, value: impl Fn(usize) -> Option<f64>) -> Vec<(f64, f64, f64)> {
    let mut lengths: Vec<f64> =
        samples.intervals().map(|(from, to)| to - from).filter(|length| length.is_finite() && *length > 0.0).collect();
    lengths.sort_by(f64::total_cmp);
    let shortest = lengths.get(lengths.len() / 2).map_or(0.0, |usual| usual * SHORTEST_PART);
    let counts = |(from, to): &(f64, f64)| to - from >= shortest && to > from && to.is_finite();
    let intervals = samples.intervals().enumerate().filter(|(_, interval)| counts(interval));
    let value = |at: usize| value(at).filter(|value| value.is_finite()).unwrap_or(f64::NAN);
    intervals.map(|(at, (from, to))| (from, to, value(at))).collect()
}

/// No two series of a strip are drawn alike while there are variants left.
fn tell_apart<'a>(all: impl Iterator<Item = &'a mut Series>) {
    let mut taken: Vec<(Color, usize)> = Vec::new();
    for series in all {
        let free =
            (0..5).map(|more| (series.variant + more) % 5).find(|variant| !taken.contains(&(series.tone, *variant)));
        series.variant = free.unwrap_or(series.variant);
        taken.push((series.tone, series.variant));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_measurement::Ceiling;

    fn column(metric: &str, unit: &str, values: &[Option<f64>]) -> SampleColumn {
        let (metric, source, unit) = (metric.into(), "engine".into(), unit.into());
        SampleColumn { metric, source, unit, values: values.to_vec(), ..SampleColumn::default() }
    }

    fn record(ceilings: &[(&str, f64)]) -> RunRecord {
        let value = serde_json::json!({
            "schema_version": "2.0", "subject": "database", "basis": "measured", "run_id": "r", "test": "t", "target": "x", "engine": "e", "clock": "real",
            "started_at": "", "parameters": {}, "definition": {"hash": "", "text": ""}, "build": "", "repetitions": [],
            "verdict": {"limit": null, "evidence": []}, "warnings": [], "host": {"platform": "", "cpus": 1}
        });
        let mut record: RunRecord = serde_json::from_value(value).unwrap();
        record.ceilings = ceilings.iter().map(|(name, value)| Ceiling::new(name, *value, "s").unwrap()).collect();
        record
    }

    fn samples(columns: Vec<SampleColumn>) -> Samples {
        Samples { started_seconds: 1.0, seconds: vec![2.0, 4.0], columns, ..Samples::default() }
    }

    #[test]
    fn use_is_the_sum_of_columns_against_the_ceiling_and_unknown_where_one_of_them_is() {
        let samples = samples(vec![
            column("data_reads", "1/s", &[Some(100.0), Some(50.0)]),
            column("data_writes", "1/s", &[Some(60.0), None]),
            column("data_io_percent", "%", &[Some(1.0), Some(1.0)]),
            column("cpu_percent", "%", &[None, Some(30.0)]),
        ]);
        let uses = utilisation(&record(&[("data_iops", 320.0)]), &samples);
        assert_eq!(uses.iter().map(|one| one.series.name.as_str()).collect::<Vec<_>>(), ["Data IOPS", "CPU"]);
        assert_eq!((uses[0].ceiling.clone(), uses[0].said_by.as_str()), (Some(Cell::quantity(320.0, "1/s")), "s"));
        assert_eq!(uses[0].series.steps[0], (1.0, 2.0, 50.0));
        assert!(uses[0].series.steps[1].2.is_nan() && uses[1].series.steps[0].2.is_nan());
        // Without a ceiling it is what the engine says.
        let stated = utilisation(&record(&[]), &samples);
        assert_eq!(stated.iter().map(|one| one.series.name.as_str()).collect::<Vec<_>>(), ["CPU", "Data IO"]);
    }

    #[test]
    fn a_ceiling_in_another_unit_is_no_ceiling_of_the_column() {
        let samples = samples(vec![column("cpu", "s", &[Some(1.0), Some(1.0)])]);
        assert!(utilisation(&record(&[("cpu", 2.0)]), &samples).is_empty());
    }

    #[test]
    fn every_resource_that_has_a_ceiling_has_a_colour() {
        for (name, _) in Ceiling::RESOURCES {
            assert_ne!(look(name).0, None, "{name}");
        }
    }

    #[test]
    fn a_network_has_two_directions_and_the_log_is_no_data() {
        let samples = samples(vec![
            column("network_sent", "MB/s", &[Some(5.0), Some(1.0)]),
            column("network_received", "MB/s", &[Some(2.0), Some(2.0)]),
            column("device_write_rate", "MB/s", &[Some(8.0), Some(3.0)]),
            column("log_write_rate", "MB/s", &[Some(3.0), Some(4.0)]),
        ]);
        let uses = utilisation(&record(&[("network", 10.0), ("data_bandwidth", 10.0)]), &samples);
        let shown: Vec<_> = uses.iter().map(|one| (one.series.name.as_str(), one.series.steps[0].2)).collect();
        assert_eq!(shown, [("Data bandwidth", 50.0), ("Network sent", 50.0), ("Network received", 20.0)]);
        assert!(uses[0].series.steps[1].2.abs() < 1e-9, "never below nothing");
    }

    #[test]
    fn intervals_that_are_none_are_left_out_and_columns_may_be_short() {
        let mut all = samples(vec![column("x", "u", &[Some(1.0)])]);
        all.seconds = vec![2.0, 1.5, f64::NAN, 7.0];
        let steps = series(&all, &all.columns[0]).steps;
        assert_eq!(steps.len(), 1);
        assert_eq!(others(&all)[0].0, "u");
    }

    #[test]
    fn a_rest_of_an_interval_is_no_interval() {
        let mut all = samples(vec![column("x", "u", &[Some(1.0), Some(1.0), Some(40.0)])]);
        all.seconds = vec![2.0, 3.0, 3.05];
        assert_eq!(series(&all, &all.columns[0]).steps, [(1.0, 2.0, 1.0), (2.0, 3.0, 1.0)]);
    }

    #[test]
    fn lines_of_one_colour_differ() {
        let columns = (0..4).map(|at| column(&format!("unknown_{at}"), "u", &[Some(1.0), None])).collect();
        let all = samples(columns);
        let variants: Vec<usize> = others(&all)[0].1.iter().map(|(_, series)| series.variant).collect();
        assert_eq!(variants, [0, 1, 2, 3]);
    }
}
