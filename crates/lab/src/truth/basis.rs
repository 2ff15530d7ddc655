//! Where an expectation comes from: the basis of the limit that it rests on, and who disturbs it.

use plimsoll_catalog::Sourced;
use plimsoll_engine::Expected;

use super::device::Device;
use crate::level::Level;

/// Where a limit of a service comes from: the basis of its number, and whether that was printed for this very level.
pub(super) fn basis(level: &Level, number: impl Fn(&plimsoll_catalog::LabLevel) -> &Sourced) -> (String, bool) {
    match &level.published {
        Some(published) => {
            let number = number(published);
            (number.basis.name().to_owned(), number.published_here)
        }
        None => ("given".to_owned(), false),
    }
}

/// The basis of a limit that a test of reads or of writes met.
pub(super) fn basis_of_limit(level: &Level, limit: &str, reads: bool) -> (String, bool) {
    if let Some(disk) = level.disk {
        let known = match limit {
            "latency" if reads => disk.read_latency,
            "latency" => disk.write_latency,
            _ => disk.limits,
        };
        return (known.name().to_owned(), false);
    }
    if level.published.is_none() {
        return basis(level, |level| &level.dtu);
    }
    match limit {
        "data_io" => {
            let (name, published) = basis(level, |level| &level.read_rate);
            // What was published is how fast reads are.
            (name, published && reads)
        }
        "log_write" => basis(level, |level| &level.write_rate),
        // The cost of a page comes from another figure, and only that of a step from the level's own.
        "cpu" => ("derived".to_owned(), false),
        _ => ("assumed".to_owned(), false),
    }
}

/// What reads or writes of a level should show at a device, held back by this limit.
pub(super) fn by_limit(
    level: &Level,
    device: &Device<'_>,
    metric: &'static str,
    value: f64,
    (limit, reads): (&'static str, bool),
    reason: String,
) -> Expected {
    let (basis, published) = basis_of_limit(level, limit, reads);
    on_device(device, Expected { metric, value, basis, limit, reason, published })
}

/// What a device should show. What a neighbour takes from it is said, and was not published.
pub(super) fn on_device(device: &Device<'_>, expected: Expected) -> Expected {
    let Some(factor) = device.neighbour() else { return expected };
    let reason = format!("{}; a neighbour leaves {factor:.2} of the limit on average over time", expected.reason);
    Expected { reason, published: false, ..expected }
}
