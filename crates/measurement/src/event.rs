//! Events of a run: what happened, in the order in which a source tells it. The record of a run is a pure fold of them
//! ([`crate::fold`]); what follows a run, keeps it or joins parts of it reads them and nothing else.
//!
//! A source numbers its events from 0. Numbers of events that are no longer needed may be missing in what is kept.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, from_str};

use crate::point::Point;
use crate::requests::Phase;
use crate::run::{Repetition, RunRecord};
use crate::samples::{SampleGap, Samples, TimedMark};
use crate::version::{upgrade_point, upgrade_record, upgrade_repetition};

/// The source that a run has where one program measures alone.
pub const MAIN: &str = "main";

/// Something that happened in a run. Source and sequence number say which it is: one that comes twice counts once.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The run's id.
    pub run_id: String,
    /// The source of the event.
    pub source: String,
    /// Its number among those of the source, from 0.
    pub sequence: u64,
    /// When it was told, on the run's clock: RFC 3339 in UTC.
    pub at: String,
    /// What happened.
    pub kind: Kind,
}

/// Declares the kinds of events: each with its document, its name, and how that document is read.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident($what:ty) = $name:literal, $read:path;)*) => {
        /// What happened, with all that belongs to it.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Kind {
            $($(#[$doc])* $kind($what),)*
            /// A kind of a later release. It is kept and changes no record.
            Other {
                /// Its name.
                name: String,
                /// What belongs to it.
                document: Value,
            },
        }

        impl Kind {
            /// Its name in documents.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$kind(_) => $name,)*
                    Self::Other { name, .. } => name,
                }
            }

            /// What belongs to it, as JSON.
            ///
            /// # Errors
            /// If it could not be read back: JSON has no number that is infinite or none.
            pub fn document(&self) -> serde_json::Result<String> {
                match self {
                    $(Self::$kind(document) => written(document),)*
                    Self::Other { document, .. } => written(document),
                }
            }

            /// Reads what [`Kind::name`] and [`Kind::document`] gave, in this release or an earlier one. A name that isn't
            /// known here is no error.
            ///
            /// # Errors
            /// If the document is none of that kind, or of a record that a later release has written.
            pub fn read(name: &str, document: &str) -> serde_json::Result<Self> {
                Ok(match name {
                    $($name => Self::$kind($read(document)?),)*
                    other => Self::Other { name: other.to_owned(), document: from_str(document)? },
                })
            }
        }
    };
}

kinds! {
    /// The run exists: its record without repetitions.
    Begun(Box<RunRecord>) = "begun", read_record;
    /// Something else is done now, or it has come further.
    Activity(Activity) = "activity", from_str;
    /// A repetition has begun, goes on or is over: the newest tells all of it but points, phases and samples.
    Repetition(Box<Repetition>) = "repetition", read_repetition;
    /// A phase of requests is over.
    Phase(PhaseEnded) = "phase", from_str;
    /// A point is measured.
    Point(PointMeasured) = "point", read_point;
    /// A second of requests has passed, or a part of one: what is told of one second is added.
    Second(Second) = "second", from_str;
    /// What the engine and its machine said of themselves.
    Samples(SamplesTaken) = "samples", from_str;
    /// Something that explains what is seen in figures.
    Mark(Mark) = "mark", from_str;
    /// A time of which a source says nothing.
    Gap(Gap) = "gap", from_str;
    /// What a reader has to know before trusting the figures.
    Warning(Warning) = "warning", from_str;
    /// The run is over: its record with all that its end computed, without repetitions.
    Finished(Box<RunRecord>) = "finished", read_record;
}

/// What is being done.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Activity {
    /// In a few words: `loading table3`.
    pub text: String,
    /// Bytes that are done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_bytes: Option<u64>,
    /// Bytes in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<u64>,
}

/// A point of a repetition. Its index says which: of two with one index the later counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointMeasured {
    /// Label of the repetition.
    pub repetition: String,
    /// The point.
    pub point: Point,
}

/// A phase of a repetition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseEnded {
    /// Label of the repetition.
    pub repetition: String,
    /// The phase.
    pub phase: Box<Phase>,
}

/// Samples of a step of a repetition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SamplesTaken {
    /// Label of the repetition.
    pub repetition: String,
    /// True for a part that follows those before it; all samples of the step then take the place of its parts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_part: bool,
    /// The samples.
    pub samples: Samples,
}

/// What requests came to since the last second, as far as it was known at its end.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Second {
    /// Label of the repetition.
    pub repetition: String,
    /// Which second of the repetition, from 0.
    pub second: u32,
    /// What is tried: `200/s`, `4 sessions`; empty where there is nothing to choose.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// Seconds of the phase that have passed.
    pub elapsed_seconds: f64,
    /// Seconds that it lasts; absent where that isn't known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_seconds: Option<f64>,
    /// Requests that were answered.
    pub operations: u64,
    /// Rows that the target had to look at, as far as requests say.
    pub rows_examined: u64,
    /// Rows that came back or were changed.
    pub rows: u64,
    /// Their data content.
    pub content_bytes: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Requests of the phase that have failed so far.
    pub errors_so_far: u64,
    /// Answers a second.
    pub rate: f64,
    /// Response time in microseconds that half of the requests did not exceed; absent if none was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_us_p50: Option<f64>,
    /// The same for 99 in 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_us_p99: Option<f64>,
    /// Requests that are due and not begun; absent without a schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog: Option<u64>,
    /// Sessions that have lost the server at the moment.
    #[serde(default)]
    pub lost_sessions: u64,
}

/// Something of a repetition that explains what is seen in figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Label of the repetition.
    pub repetition: String,
    /// When, and what happened.
    #[serde(flatten)]
    pub mark: TimedMark,
}

/// A time of a repetition of which a source says nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// Label of the repetition.
    pub repetition: String,
    /// From when to when, which source, and why.
    pub gap: SampleGap,
}

/// A sentence for readers of the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// The sentence.
    pub text: String,
    /// True if it is about the real machine of the client.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_host: bool,
}

impl Kind {
    /// True if a loss of it would lose something measured or the run itself: it has to be kept before anything else is done.
    pub fn is_urgent(&self) -> bool {
        matches!(
            self,
            Self::Begun(_)
                | Self::Repetition(_)
                | Self::Phase(_)
                | Self::Point(_)
                | Self::Warning(_)
                | Self::Finished(_)
        )
    }
}

fn written<T: Serialize + DeserializeOwned>(document: &T) -> serde_json::Result<String> {
    let text = serde_json::to_string(document)?;
    // A number that JSON has not would stand there as null.
    from_str::<T>(&text)?;
    Ok(text)
}

/// Reads a document of this release or an earlier one.
fn upgraded<T: DeserializeOwned>(document: &str, upgrade: impl FnOnce(&mut Value)) -> serde_json::Result<T> {
    let mut document = from_str(document)?;
    upgrade(&mut document);
    serde_json::from_value(document)
}

fn read_record(document: &str) -> serde_json::Result<Box<RunRecord>> {
    let mut document = from_str(document)?;
    upgrade_record(&mut document).map_err(serde_json::Error::custom)?;
    serde_json::from_value(document)
}

fn read_repetition(document: &str) -> serde_json::Result<Box<Repetition>> {
    upgraded(document, upgrade_repetition)
}

fn read_point(document: &str) -> serde_json::Result<PointMeasured> {
    upgraded(document, |measured| measured.get_mut("point").into_iter().for_each(upgrade_point))
}

/// A record without its repetitions, as the first and the last event of a run have it.
pub fn head(record: &RunRecord) -> RunRecord {
    RunRecord { repetitions: Vec::new(), ..record.clone() }
}

/// A repetition without what has events of its own.
pub fn repetition_head(repetition: &Repetition) -> Repetition {
    Repetition { points: Vec::new(), phases: Vec::new(), samples: Vec::new(), ..repetition.clone() }
}

/// Events that a whole record is the fold of; for records that were not measured event by event and do not grow any more.
pub fn events_of(record: &RunRecord, source: &str) -> Vec<Event> {
    let mut kinds = Vec::new();
    let is_over = record.ended_at.is_some();
    let whole = Box::new(head(record));
    kinds.extend((!is_over).then(|| Kind::Begun(whole.clone())));
    for repetition in &record.repetitions {
        let label = || repetition.label.clone();
        kinds.push(Kind::Repetition(Box::new(repetition_head(repetition))));
        let points = repetition.points.iter().cloned();
        kinds.extend(points.map(|point| Kind::Point(PointMeasured { repetition: label(), point })));
        let phases = repetition.phases.iter().cloned().map(Box::new);
        kinds.extend(phases.map(|phase| Kind::Phase(PhaseEnded { repetition: label(), phase })));
        let samples = repetition.samples.iter().cloned();
        kinds.extend(
            samples.map(|samples| Kind::Samples(SamplesTaken { repetition: label(), is_part: false, samples })),
        );
    }
    kinds.extend(is_over.then_some(Kind::Finished(whole)));
    let event = |(sequence, kind)| Event {
        run_id: record.run_id.clone(),
        source: source.to_owned(),
        sequence,
        at: record.started_at.clone(),
        kind,
    };
    (0..).zip(kinds).map(event).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_a_later_release_is_kept_as_it_is() {
        let kind = Kind::read("tide", r#"{"metres":2.5}"#).unwrap();
        assert_eq!((kind.name(), kind.document().unwrap().as_str()), ("tide", r#"{"metres":2.5}"#));
        assert!(!kind.is_urgent());
    }

    #[test]
    fn what_could_not_be_read_again_has_no_document() {
        let second = |rate: f64| Kind::Second(Second { rate, ..Second::default() });
        let text = second(0.1 + 0.2).document().unwrap();
        assert_eq!(Kind::read("second", &text).unwrap(), second(0.1 + 0.2));
        for rate in [f64::NAN, f64::INFINITY] {
            second(rate).document().unwrap_err();
        }
        Kind::read("second", "{}").unwrap_err();
    }
}
