//! Predictions held against runs that were made of the same test on the target they are for.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_analysis::summary;
use plimsoll_lab::Address;
use plimsoll_measurement::units::format_significant;
use plimsoll_measurement::{Basis, Figure, RunRecord};
use plimsoll_report::plain;
use plimsoll_simulate::calibrate::{FROM_RUN, FROM_TARGET};
use plimsoll_store::{Filter, RunStore, StoreError};

use super::conditions;

/// A prediction with a run that shows what is true.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Checked<'a> {
    predicted: &'a Figure,
    measured: &'a Figure,
    limits: [Option<&'a str>; 2],
}

impl<'a> Checked<'a> {
    /// `None` unless the first was predicted, the other measured, and both have the figure.
    fn of(prediction: &'a RunRecord, run: &'a RunRecord) -> Option<Self> {
        if (prediction.basis, run.basis) != (Basis::Predicted, Basis::Measured) || !is_of(prediction, run) {
            return None;
        }
        let predicted = prediction.result.as_ref()?;
        let measured =
            run.results.iter().find(|one| (&one.metric, &one.unit) == (&predicted.metric, &predicted.unit))?;
        let limits = [prediction, run].map(|one| one.verdict.limit.as_deref());
        (measured.value > 0.0).then_some(Self { predicted, measured, limits })
    }

    /// How far the prediction is above the run, in percent of it.
    fn error_percent(&self) -> f64 {
        100.0 * (self.predicted.value / self.measured.value - 1.0)
    }

    fn is_inside(&self) -> bool {
        let ends = self.predicted.low.zip(self.predicted.high);
        ends.is_some_and(|(low, high)| (low..=high).contains(&self.measured.value))
    }

    fn names_the_limit(&self) -> Option<bool> {
        self.limits[0].zip(self.limits[1]).map(|(predicted, measured)| predicted == measured)
    }

    fn sentence(&self) -> String {
        let shown = |value: Option<f64>| value.map_or_else(|| "unknown".to_owned(), format_significant);
        let (error, Figure { value, unit, low, high, .. }) = (self.error_percent(), self.predicted);
        format!(
            "The prediction is {} {unit} ({} to {}), {} % {} than the measured {} {unit}, which {} inside this interval.",
            format_significant(*value),
            shown(*low),
            shown(*high),
            format_significant(error.abs()),
            if error < 0.0 { "less" } else { "more" },
            format_significant(self.measured.value),
            if self.is_inside() { "lies" } else { "does not lie" },
        )
    }
}

/// Whether a run is of what was predicted: of a target of that name, with the same limits. A real server may be said to be hardware of a file.
fn is_of(prediction: &RunRecord, run: &RunRecord) -> bool {
    let is_named = is_same_target(&prediction.target, &run.target) || prediction.target.starts_with("hardware:");
    is_named && other_limit(prediction, run).is_none()
}

/// Whether two names are of one target: what an address has by itself need not be named.
fn is_same_target(one: &str, other: &str) -> bool {
    let is_lab = |name: &str| name.starts_with("lab:");
    one == other
        || is_lab(one)
            && is_lab(other)
            && Address::parse(one).is_ok_and(|one| Address::parse(other).is_ok_and(|other| one == other))
}

/// A limit that the hardware of a prediction and that of a run have different values of, in words.
fn other_limit(prediction: &RunRecord, run: &RunRecord) -> Option<String> {
    let limit = |name: &str| run.ceilings.iter().find(|ceiling| ceiling.resource == name);
    // How large the data are is no limit of the hardware.
    let limits = prediction.ceilings.iter().filter(|ceiling| ceiling.resource != "data");
    let mut known = limits.filter_map(|ceiling| Some((ceiling, limit(&ceiling.resource)?.value)));
    let (ceiling, real) = known.find(|(ceiling, real)| (ceiling.value / real - 1.0).abs() > SAME)?;
    let (name, value, unit) = (plain(&ceiling.resource), format_significant(ceiling.value), &ceiling.unit);
    Some(format!("{name} of {value} {unit}, and the run had {}", format_significant(real)))
}

/// Why a run on a target of the prediction's name is no test of it: what is named may leave the rest of a machine open, as a disk does.
fn no_test(one: &RunRecord, other: &RunRecord) -> Option<String> {
    let is_pair =
        (one.basis, other.basis) == (Basis::Predicted, Basis::Measured) && is_same_target(&one.target, &other.target);
    let limit = is_pair.then(|| other_limit(one, other))??;
    Some(format!("The run is no test of the prediction, whose hardware is another: it has {limit}."))
}

/// Limits that differ by less are the same.
const SAME: f64 = 0.01;

/// How near a prediction came, if one of the two is one and the other was measured.
pub fn sentence(base: &RunRecord, other: &RunRecord) -> Option<String> {
    let checked = Checked::of(base, other).or_else(|| Checked::of(other, base)).map(|checked| checked.sentence());
    checked.or_else(|| no_test(base, other)).or_else(|| no_test(other, base))
}

/// What this program predicts is right so often by its own bar (docs/SIMULATE.md): said until a store knows it of its own.
const BY_THE_BAR: &str = "Of 40 pairs of hardware on the lab, the measured rate was inside the interval of 38, and its limit was named by 37; on other \
                          servers less is known (docs/SIMULATE.md)";

/// How often the predictions of a store were right, as far as a run of the same test was made on their target, or that none was checked. An engine is
/// told how many of them were made from its runs.
///
/// # Errors
/// Those of the store.
pub fn score(store: &RunStore, engine: Option<&str>) -> Result<String, StoreError> {
    let runs = store.summaries(&Filter::default())?;
    let (mut errors, mut inside, mut named) = (Vec::new(), 0, [0; 2]);
    let mut engines: BTreeMap<String, usize> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for summary in runs.iter().filter(|run| run.basis == Basis::Predicted) {
        let prediction = store.record(&summary.run_id)?;
        // What is predicted of a run's own hardware was seen before.
        if prediction.environment.get(FROM_TARGET) == Some(&prediction.target) {
            continue;
        }
        // The newest of those that say the same counts.
        if !seen.insert((prediction.environment.get(FROM_RUN).cloned(), prediction.target.clone())) {
            continue;
        }
        let is_of_it = |run: &&plimsoll_store::RunSummary| {
            run.basis == Basis::Measured
                && run.complete
                && run.test == prediction.test
                && is_same_target(&run.target, &prediction.target)
        };
        for run in runs.iter().filter(is_of_it) {
            let run = store.record(&run.run_id)?;
            if conditions::refusal(&prediction, &run).is_some() {
                continue;
            }
            let Some(checked) = Checked::of(&prediction, &run) else { continue };
            errors.push(checked.error_percent().abs());
            inside += u32::from(checked.is_inside());
            if let Some(is_right) = checked.names_the_limit() {
                named = [named[0] + u32::from(is_right), named[1] + 1];
            }
            *engines.entry(prediction.engine.clone()).or_default() += 1;
            break;
        }
    }
    Ok(told(&errors, (inside, named), &engines, engine))
}

fn told(
    errors: &[f64],
    (inside, [named, both]): (u32, [u32; 2]),
    engines: &BTreeMap<String, usize>,
    engine: Option<&str>,
) -> String {
    let Some(median) = summary::median(errors) else {
        return format!("No prediction of this store has been checked by a run yet. {BY_THE_BAR}.");
    };
    let from: Vec<String> = engines.iter().map(|(engine, count)| format!("{count} from {engine}")).collect();
    let none = engine.filter(|engine| !engines.contains_key(*engine));
    let none = none.map_or_else(String::new, |engine| format!(", none from {engine}"));
    // Where one of the two says that its limit is open nothing is wrong.
    let named = if both == 0 {
        String::new()
    } else {
        format!(" its limit is named by {named} of the {both} where both name one,")
    };
    format!(
        "Predictions in this store whose target was measured: {} ({}{none}). The measured rate is inside the interval of {inside},{named} and the \
         median miss is {} %.",
        errors.len(),
        from.join(", "),
        format_significant(median)
    )
}

/// The ratio of two figures, one of them predicted, with the interval that the two intervals make: an end of a ratio goes as far as both sides' ends
/// together, by the root of the sum of their squares. `None` where a figure is missing or is nothing.
pub fn ratio(figures: [Option<&Figure>; 2]) -> Option<(f64, f64, f64)> {
    let [a, b] = [figures[0]?, figures[1]?];
    let has_interval = |one: &Figure| one.low.zip(one.high).is_some_and(|(low, _)| low > 0.0);
    if a.value <= 0.0 || b.value <= 0.0 || !(has_interval(a) || has_interval(b)) {
        return None;
    }
    let down = |one: &Figure| one.low.filter(|low| *low > 0.0).map_or(0.0, |low| (one.value / low).ln());
    let up = |one: &Figure| one.high.map_or(0.0, |high| (high / one.value).ln());
    let ratio = b.value / a.value;
    Some((ratio, ratio * (-down(b).hypot(up(a))).exp(), ratio * up(b).hypot(down(a)).exp()))
}

/// The figure that a predicted run says itself: how far its sets of parameters lie apart is not how far it may miss.
pub fn own_figure(run: &RunRecord, metric: &str, unit: &str) -> Option<Figure> {
    let found = run.results.iter().find(|one| one.metric == metric && one.unit == unit);
    found.filter(|_| run.basis == Basis::Predicted).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(basis: Basis, value: f64, ends: Option<(f64, f64)>) -> RunRecord {
        let text = r#"{"metric": "request_rate", "value": 0, "unit": "1/s", "confidence": 0.95, "values": [], "repetitions": 20}"#;
        let figure: Figure = serde_json::from_str(text).unwrap();
        let figure = Figure { value, low: ends.map(|ends| ends.0), high: ends.map(|ends| ends.1), ..figure };
        RunRecord { basis, result: Some(figure.clone()), results: vec![figure], ..RunRecord::default() }
    }

    #[test]
    fn a_prediction_is_held_against_what_was_measured() {
        let prediction = run(Basis::Predicted, 110.0, Some((95.0, 120.0)));
        let measured = run(Basis::Measured, 100.0, None);
        let said = sentence(&measured, &prediction).unwrap();
        assert_eq!(
            said,
            "The prediction is 110 1/s (95.0 to 120), 10.0 % more than the measured 100 1/s, which lies inside this interval."
        );
        let far = sentence(&prediction, &run(Basis::Measured, 125.0, None)).unwrap();
        assert!(far.contains("12.0 % less than the measured 125 1/s, which does not lie"), "{far}");
        let with = |run: &RunRecord, memory: f64| {
            let ceiling = plimsoll_measurement::Ceiling::new("memory", memory, "x".to_owned()).unwrap();
            RunRecord { ceilings: vec![ceiling], ..run.clone() }
        };
        let other = sentence(&with(&prediction, 64.0), &with(&measured, 1024.0)).unwrap();
        let expected = "The run is no test of the prediction, whose hardware is another: it has memory of 64.0 MB, and the run had 1,024.";
        assert_eq!(other, expected);
        assert!(sentence(&with(&prediction, 64.0), &with(&measured, 64.0)).unwrap().starts_with("The prediction is"));
        assert_eq!(sentence(&measured, &measured), None);
        assert_eq!(sentence(&prediction, &prediction), None);
    }

    #[test]
    fn a_target_is_the_same_with_its_defaults() {
        let is_same = |other: &str| is_same_target("lab:azure-sql-db/S2", other);
        assert!(is_same("lab:azure-sql-db/S2?scale=1/64") && !is_same("lab:azure-sql-db/S2?scale=1/16"));
        assert!(!is_same("lab:azure-sql-db/S3") && !is_same("sqlite:x.db"));
    }

    #[test]
    fn a_score_says_from_which_engines_it_comes_or_that_nothing_was_checked() {
        let none = told(&[], (0, [0; 2]), &BTreeMap::new(), Some("lab"));
        assert!(none.starts_with("No prediction of this store has been checked by a run yet. Of 40 pairs"), "{none}");
        let engines = BTreeMap::from([("lab".to_owned(), 3)]);
        let said = told(&[1.0, 3.0, 9.0], (2, [1, 2]), &engines, Some("postgresql"));
        let expected = "measured: 3 (3 from lab, none from postgresql). The measured rate is inside the interval of 2, its limit is named by 1 of the 2 where both name one,";
        assert!(said.contains(expected), "{said}");
        assert!(said.ends_with("the median miss is 3.00 %."), "{said}");
    }

    #[test]
    fn a_ratio_has_the_room_of_the_predictions_own_interval() {
        let predicted = run(Basis::Predicted, 456.0, Some((382.0, 544.0)));
        let measured = run(Basis::Measured, 354.0, None);
        let of = |run: &RunRecord| own_figure(run, "request_rate", "1/s");
        assert_eq!((of(&predicted).unwrap().low, of(&measured)), (Some(382.0), None));
        let (ratio, low, high) = ratio([predicted.result.as_ref(), measured.result.as_ref()]).unwrap();
        assert!((ratio - 0.776).abs() < 1e-3 && (low - 0.651).abs() < 1e-3 && (high - 0.927).abs() < 1e-3);
        let bare = run(Basis::Predicted, 456.0, None);
        assert_eq!(super::ratio([bare.result.as_ref(), measured.result.as_ref()]), None);
    }
}
