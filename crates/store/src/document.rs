//! The parts of a record as JSON documents: head, repetitions, points. Each is stored apart, so that a point can be added
//! without touching what is there.

use plimsoll_measurement::version::{VersionError, upgrade_point, upgrade_record, upgrade_repetition};
use plimsoll_measurement::{Point, Repetition, RunRecord};
use serde::Serialize;
use serde::de::{DeserializeOwned, Error as _};
use serde_json::Value;

use crate::StoreError;

/// A part of a record that is a document of its own.
pub(crate) trait Part: Serialize + DeserializeOwned {
    /// What it is called in errors.
    const NAME: &'static str;

    /// Brings a document of an earlier release to this one's version.
    fn upgrade(document: &mut Value) -> Result<(), VersionError>;
}

impl Part for RunRecord {
    const NAME: &'static str = "head";

    fn upgrade(document: &mut Value) -> Result<(), VersionError> {
        upgrade_record(document)
    }
}

impl Part for Repetition {
    const NAME: &'static str = "repetition";

    fn upgrade(document: &mut Value) -> Result<(), VersionError> {
        upgrade_repetition(document);
        Ok(())
    }
}

impl Part for Point {
    const NAME: &'static str = "point";

    fn upgrade(document: &mut Value) -> Result<(), VersionError> {
        upgrade_point(document);
        Ok(())
    }
}

/// Writes a part as JSON. JSON knows no NaN and no infinity and would hold null in their place; such a document is refused,
/// as it could never be loaded.
pub(crate) fn write<T: Part>(run_id: &str, part: &T) -> Result<String, StoreError> {
    let refuse = |source| StoreError::Document { what: T::NAME, run_id: run_id.to_owned(), source };
    let text = serde_json::to_string(part).map_err(refuse)?;
    serde_json::from_str::<T>(&text).map_err(refuse)?;
    Ok(text)
}

/// Reads a part, of this release or an earlier one.
pub(crate) fn read<T: Part>(run_id: &str, text: &str) -> Result<T, StoreError> {
    let refuse = |source| StoreError::Document { what: T::NAME, run_id: run_id.to_owned(), source };
    let mut document = serde_json::from_str(text).map_err(refuse)?;
    T::upgrade(&mut document).map_err(|source| match source {
        VersionError::Newer { .. } => StoreError::Version { run_id: run_id.to_owned(), source },
        VersionError::Unknown { .. } => refuse(serde_json::Error::custom(source)),
    })?;
    serde_json::from_value(document).map_err(refuse)
}

/// A record without its repetitions.
pub(crate) fn head(run: &RunRecord) -> RunRecord {
    RunRecord { repetitions: Vec::new(), ..run.clone() }
}

/// A repetition without its points.
pub(crate) fn without_points(repetition: &Repetition) -> Repetition {
    Repetition { points: Vec::new(), ..repetition.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_read_again_is_not_written() {
        let point = |seconds: f64| Point { seconds, ..Point::default() };
        let text = write("r1", &point(0.1 + 0.2)).unwrap();
        assert_eq!(read::<Point>("r1", &text).unwrap(), point(0.1 + 0.2));
        for seconds in [f64::NAN, f64::INFINITY] {
            let error = write("r1", &point(seconds)).unwrap_err();
            assert_eq!(error.to_string(), "the point of run r1 is no valid document");
        }
    }

    #[test]
    fn documents_of_the_first_release_are_read_and_those_of_a_later_one_are_refused() {
        let point = read::<Point>("r1", r#"{"index": 3, "started_seconds": 0.5, "seconds": 2.0, "rows": 7}"#).unwrap();
        assert_eq!((point.index, point.count(plimsoll_measurement::Metric::Rows)), (3, Some(7)));
        let error = read::<RunRecord>("r1", r#"{"schema_version": "3.0"}"#).unwrap_err();
        assert!(matches!(&error, StoreError::Version { .. }), "{error}");
    }
}
