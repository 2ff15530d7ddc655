//! From a figure to the limit behind it.

use crate::Date;
use crate::model::{Basis, Figure, Metric};
use crate::sourced::Sourced;

/// The limit that a figure of a level in an edition of this day shows: figure / utilisation at which it was read. `None` for a figure without an
/// amount, which no file can have.
pub(crate) fn limit(figure: &Figure, as_of: Date) -> Option<Sourced> {
    let (amount, how, basis) = match (figure.value, figure.low, figure.high, figure.at_least) {
        (Some(value), ..) => (value, "", Basis::Printed),
        (_, Some(low), Some(high), _) => (f64::midpoint(low, high), ", the middle of the range", Basis::Derived),
        (.., Some(bound)) => (bound, ", a lower bound taken as the value", Basis::Assumed),
        _ => return None,
    };
    let resource = match figure.metric {
        // What the service moves is bound by no limit of the level.
        Metric::Memory | Metric::RestoreRate => None,
        Metric::WriteRate => Some("log write"),
        _ => Some("data IO"),
    };
    let (percent, corrected, used) = match (resource, figure.utilisation_percent) {
        (None, _) => (100.0, Basis::Printed, String::new()),
        (Some(resource), Some(percent)) => {
            let corrected = if percent < 100.0 { Basis::Derived } else { Basis::Printed };
            (percent, corrected, format!(" at {percent} % {resource}"))
        }
        (Some(resource), None) => (100.0, Basis::Assumed, format!("; {resource} not stated, 100 % assumed")),
    };
    let label = figure.label.as_ref().map(|label| format!(" ({label})")).unwrap_or_default();
    let known = if figure.basis == Basis::Printed { String::new() } else { format!(", {}", figure.basis.name()) };
    Some(Sourced {
        value: amount * 100.0 / percent,
        basis: [basis, corrected].into_iter().fold(figure.basis, weaker),
        rule: format!("{figure}{label}{known}{used}{how}"),
        source: figure.source.clone(),
        as_of: Some(as_of),
        // A bound was published, and not the value.
        published_here: figure.basis == Basis::Printed && basis != Basis::Assumed,
    })
}

/// The one that is known less well.
const fn weaker(a: Basis, b: Basis) -> Basis {
    match (a, b) {
        (Basis::Assumed, _) | (_, Basis::Assumed) => Basis::Assumed,
        (Basis::Derived, _) | (_, Basis::Derived) => Basis::Derived,
        _ => Basis::Printed,
    }
}

/// To one decimal, as a rule's sentence shows a number.
pub(crate) fn amount(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
