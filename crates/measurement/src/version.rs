//! Reads records of earlier major versions: pure functions on JSON that bring a document, or a part that a store keeps of it, to the
//! version of this release. Upgrading twice changes nothing.

use serde_json::{Map, Value};

use crate::metric::Metric;
use crate::run::SCHEMA_VERSION;
use crate::units;
use crate::vocabulary::Vocabulary;

/// The major version of records that this release writes.
const MAJOR: u32 = 2;

/// Why a record can't be read by this release.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// A later release has written it.
    #[error(
        "the record has version {found} of the schema, and this release reads versions up to {SCHEMA_VERSION}: read it with the \
         release that wrote it"
    )]
    Newer {
        /// What it says.
        found: String,
    },
    /// It says no version, or none that could be.
    #[error("the record says no version of the schema that could be: {found}")]
    Unknown {
        /// What it says.
        found: String,
    },
}

/// Brings a whole record, or one without its repetitions, to this release's version.
///
/// # Errors
/// If a later release has written it, or that is not known.
pub fn upgrade_record(record: &mut Value) -> Result<(), VersionError> {
    let said = record.get("schema_version").cloned().unwrap_or_default();
    let major = said.as_str().and_then(|said| said.split('.').next()?.parse().ok());
    match major {
        Some(1) => {}
        Some(MAJOR) => return Ok(()),
        Some(major) if major > MAJOR => {
            return Err(VersionError::Newer { found: said.as_str().unwrap_or_default().to_owned() });
        }
        _ => return Err(VersionError::Unknown { found: said.to_string() }),
    }
    let Some(fields) = record.as_object_mut() else { return Ok(()) };
    fields.insert("schema_version".to_owned(), SCHEMA_VERSION.into());
    fields.insert("subject".to_owned(), "database".into());
    fields.insert("basis".to_owned(), "measured".into());
    rename(fields, "truth", "expected");
    if let Some(Value::Object(verdict)) = fields.get_mut("verdict") {
        rename(verdict, "lifts", "gains");
        rename(verdict, "stretches", "segments");
    }
    let figures = fields.get_mut("results").and_then(Value::as_array_mut).into_iter().flatten();
    for figure in figures.filter_map(Value::as_object_mut) {
        rename(figure, "truth", "expected");
    }
    if let Some(Value::Object(figure)) = fields.get_mut("result") {
        rename(figure, "truth", "expected");
    }
    fields.get_mut("repetitions").and_then(Value::as_array_mut).into_iter().flatten().for_each(upgrade_repetition);
    Ok(())
}

/// Brings a repetition to this release's version, with its points if they are in it.
pub fn upgrade_repetition(repetition: &mut Value) {
    let Some(fields) = repetition.as_object_mut() else { return };
    rename(fields, "silences", "stalls");
    if let Some(Value::Object(seconds)) = fields.get_mut("seconds") {
        for (old, new) in LATENCIES {
            if let Some(mut column) = seconds.remove(old) {
                column.as_array_mut().into_iter().flatten().for_each(microseconds);
                seconds.insert(new.name().to_owned(), column);
            }
        }
    }
    fields.get_mut("points").and_then(Value::as_array_mut).into_iter().flatten().for_each(upgrade_point);
}

/// Brings a point to this release's version: its measured fields become metrics.
pub fn upgrade_point(point: &mut Value) {
    let Some(fields) = point.as_object_mut().filter(|fields| !fields.contains_key("metrics")) else { return };
    let mut metrics = Map::new();
    for metric in Metric::ALL {
        let old = old_name(*metric);
        if let Some(mut value) = fields.remove(old).filter(|value| !value.is_null()) {
            if old != metric.name() && LATENCIES.iter().any(|(latency, _)| *latency == old) {
                microseconds(&mut value);
            }
            metrics.insert(metric.name().to_owned(), value);
        }
    }
    fields.insert("metrics".to_owned(), metrics.into());
    // Version 1 had these in the label alone: `2.0 GB: tables, minute 1`.
    let label = fields.get("label").and_then(Value::as_str).unwrap_or_default().to_owned();
    let (size, part) = label.split_once(": ").map_or((None, label.as_str()), |(size, part)| (Some(size), part));
    if let Some(bytes) = size.and_then(|size| units::parse_bytes(size.split(" of ").next()?).ok()) {
        fields.insert("volume_bytes".to_owned(), bytes.into());
    }
    let stage = part.split_once(", minute ").map_or(part, |(stage, _)| stage);
    if STAGES.contains(&stage) {
        fields.insert("stage".to_owned(), stage.into());
    }
}

/// The stages of version 1.
const STAGES: [&str; 11] = [
    "dump",
    "definitions",
    "tables",
    "indexes",
    "copy",
    "backup",
    "restore",
    "start",
    "level change",
    "level change back",
    "scan",
];

/// Response times in milliseconds, which are in microseconds now.
const LATENCIES: [(&str, Metric); 2] =
    [("latency_ms_p50", Metric::LatencyUsP50), ("latency_ms_p99", Metric::LatencyUsP99)];

/// What version 1 called the field of a metric.
fn old_name(metric: Metric) -> &'static str {
    match metric {
        Metric::AskedPerSecond => "rate_asked",
        Metric::LatencyUsP50 => "latency_ms_p50",
        Metric::LatencyUsP99 => "latency_ms_p99",
        other => other.name(),
    }
}

/// Microseconds of milliseconds. Version 1 made its milliseconds of whole nanoseconds, so that these give the same again.
fn microseconds(value: &mut Value) {
    if let Some(ms) = value.as_f64() {
        *value = ((ms * 1e6).round() / 1e3).into();
    }
}

fn rename(fields: &mut Map<String, Value>, old: &str, new: &str) {
    if let Some(value) = fields.remove(old) {
        fields.insert(new.to_owned(), value);
    }
}
