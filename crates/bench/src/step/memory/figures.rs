//! The memory that a repetition's sets show.

use plimsoll_analysis::memory::{Memory, SetMisses, knee, slope};
use plimsoll_measurement::{Metric, Point, units};

use crate::figures::series::{Measured, Series};

fn mb(bytes: u64) -> f64 {
    bytes as f64 / units::MB as f64
}

/// The estimate of a repetition from its points, in pages of this size; settings have no way into it.
fn estimate(points: &[&Point], page_bytes: u64) -> Option<Memory> {
    let sets: Vec<SetMisses> = points
        .iter()
        .filter_map(|point| {
            let set_bytes = point.count(Metric::SetBytes)?;
            Some(SetMisses {
                set_bytes,
                miss_pages: point.count(Metric::CacheMissPages)?,
                set_pages: set_bytes.div_ceil(page_bytes),
            })
        })
        .collect();
    knee(&sets)
}

/// Usable memory in MB by the knee of the misses, and by the slope of the engine's own percentage where it reports one.
pub(super) fn memory(measured: &Measured<'_>) -> Vec<Series> {
    let repetitions = &measured.points;
    let estimates: Vec<Memory> =
        repetitions.iter().filter_map(|points| estimate(points, measured.page_bytes)).collect();
    let slopes = repetitions.iter().filter_map(|points| {
        let reported = points
            .iter()
            .filter_map(|point| Some((mb(point.count(Metric::SetBytes)?), point.get(Metric::MemoryPercent)?)));
        slope(&reported.collect::<Vec<_>>())
    });
    let slopes = Series {
        note: Some("slope of the percentage that the engine reports".to_owned()),
        ..Series::new("memory_by_slope", "MB", slopes.collect())
    };
    [by_knee(&estimates), slopes].into_iter().map(|series| series.at_full_volume(measured.scale)).collect()
}

/// A knee from every repetition, or only a bound where some repetition saw none.
fn by_knee(estimates: &[Memory]) -> Series {
    let (mut found, mut least, mut most, mut disturbed) = (Vec::new(), None, None, false);
    for estimate in estimates {
        match estimate {
            Memory::Found(knee) => {
                found.push(mb(knee.bytes));
                disturbed |= !knee.clean_below;
            }
            Memory::AtLeast(bytes) => least = least.max(Some(*bytes)),
            Memory::AtMost(bytes) => most = Some(most.map_or(*bytes, |most: u64| most.min(*bytes))),
        }
    }
    let (values, note) = match (least, most) {
        (None, None) if disturbed => (found, "knee of the misses; some sets below it missed pages too"),
        (None, None) => (found, "knee of the misses"),
        (Some(bytes), _) => (vec![mb(bytes)], "at least: every set fitted"),
        (None, Some(bytes)) => (vec![mb(bytes)], "at most: no set fitted"),
    };
    let bound = least.or(most).is_some();
    let repetitions = estimates.len() as u32;
    Series { note: Some(note.to_owned()), bound, repetitions, ..Series::new("memory", "MB", values) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_a_bound_when_no_set_missed() {
        let set = |mb: u64, misses: u64, percent: f64| {
            Point { seconds: 1.0, ..Point::default() }
                .with(Metric::SetBytes, mb * units::MB)
                .with(Metric::CacheMissPages, misses)
                .with(Metric::MemoryPercent, percent)
        };
        let sets = [set(8, 0, 8.0), set(16, 0, 16.0)];
        let figures = |scale| -> Vec<_> {
            let points = vec![sets.iter().collect()];
            let measured = Measured { repetitions: Vec::new(), points, page_bytes: 8192, scale };
            memory(&measured).iter().filter_map(Series::figure).collect()
        };
        let made = figures(1);
        assert_eq!((made[0].value, made[0].note.as_deref()), (16.0, Some("at least: every set fitted")));
        assert_eq!(made[1].metric, "memory_by_slope");
        assert!((made[1].value - 100.0).abs() < 1e-6);
        let full = figures(64);
        assert!((full[0].value - 1024.0).abs() < 1e-9);
        assert_eq!(full[0].note.as_deref(), Some("at least: every set fitted, measured at scale 1/64"));
    }
}
