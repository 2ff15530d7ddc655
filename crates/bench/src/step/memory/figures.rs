//! The memory that a repetition's sets show.

use plimsoll_analysis::bottleneck::record::NONE;
use plimsoll_analysis::memory::{Memory, Set, SetMisses, fall, knee, slope};
use plimsoll_measurement::{Metric, Point, Verdict, units};

use crate::figures::series::{Measured, Series};

fn mb(bytes: u64) -> f64 {
    bytes as f64 / units::MB as f64
}

/// What the sets of a repetition show, in pages of this size; settings have no way into it.
fn sets(points: &[&Point], page_bytes: u64) -> Vec<SetMisses> {
    let set = |point: &&Point| {
        let set_bytes = point.count(Metric::SetBytes)?;
        let miss_pages = point.count(Metric::CacheMissPages)?;
        Some(SetMisses { set_bytes, miss_pages, set_pages: set_bytes.div_ceil(page_bytes) })
    };
    points.iter().filter_map(set).collect()
}

/// What the repetitions say, and why those say nothing that were disturbed.
struct Seen {
    found: Vec<Memory>,
    disturbed: Vec<String>,
}

impl Seen {
    fn of(measured: &Measured<'_>) -> Self {
        let (mut found, mut disturbed) = (Vec::new(), Vec::new());
        for points in &measured.points {
            let sets = sets(points, measured.page_bytes);
            match fall(&sets) {
                Some(sets) => disturbed.push(told(sets, measured.scale)),
                None => found.extend(knee(&sets)),
            }
        }
        Self { found, disturbed }
    }

    /// Why there is no figure: most repetitions were disturbed.
    fn doubt(&self) -> Option<&str> {
        let is_most = self.disturbed.len() > self.found.len();
        self.disturbed.first().filter(|_| is_most).map(String::as_str)
    }
}

fn told((smaller, larger): (Set, Set), scale: u64) -> String {
    let size = |set: Set| units::format_bytes(set.bytes.saturating_mul(scale));
    format!(
        "{:.0} % of a set of {} was missed and only {:.0} % of a larger one of {}, so something else used the cache; measure \
         again while nobody else works there",
        100.0 * smaller.ratio,
        size(smaller),
        100.0 * larger.ratio,
        size(larger)
    )
}

/// Memory is what the test finds, so no limit of storage is named, although pages that don't fit are read from there.
pub(super) fn verdict(measured: &Measured<'_>) -> Option<Verdict> {
    let seen = Seen::of(measured);
    if let Some(doubt) = seen.doubt() {
        return Some(Verdict { evidence: vec![format!("not enough evidence: {doubt}")], ..Verdict::default() });
    }
    let size = |bytes: u64| units::format_bytes(bytes.saturating_mul(measured.scale));
    let (limit, evidence) = match seen.found.first()? {
        Memory::Found(knee) => {
            let (low, high) = (size(knee.low), size(knee.high));
            (
                "memory",
                format!(
                    "a set of {low} stayed in memory, and of one of {high} pages were still missed in the last pass"
                ),
            )
        }
        Memory::AtLeast(bytes) => (NONE, format!("all of the largest set, {}, stayed in memory", size(*bytes))),
        Memory::AtMost(bytes) => ("memory", format!("pages of even the smallest set, {}, were missed", size(*bytes))),
    };
    Some(Verdict { limit: Some(limit.to_owned()), evidence: vec![evidence], ..Verdict::default() })
}

/// Usable memory in MB by the knee of the misses, and by the slope of the engine's own percentage where it reports one.
pub(super) fn memory(measured: &Measured<'_>) -> Vec<Series> {
    let slopes = measured.points.iter().filter_map(|points| {
        let reported = points
            .iter()
            .filter_map(|point| Some((mb(point.count(Metric::SetBytes)?), point.get(Metric::MemoryPercent)?)));
        slope(&reported.collect::<Vec<_>>())
    });
    let slopes = Series {
        note: Some("slope of the percentage that the engine reports".to_owned()),
        ..Series::new("memory_by_slope", "MB", slopes.collect())
    };
    [by_knee(&Seen::of(measured)), slopes].into_iter().map(|series| series.at_full_volume(measured.scale)).collect()
}

/// A knee from every repetition, or only a bound where some repetition saw none.
fn by_knee(seen: &Seen) -> Series {
    let estimates = &seen.found;
    if let Some(doubt) = seen.doubt() {
        return Series { absent: Some(doubt.to_owned()), ..Series::new("memory", "MB", Vec::new()) };
    }
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

    #[test]
    fn memory_is_what_was_found_and_a_curve_that_falls_is_no_evidence() {
        let set = |mb: u64, percent: u64| {
            let pages = mb * units::MB / 8192;
            Point { seconds: 1.0, ..Point::default() }
                .with(Metric::SetBytes, mb * units::MB)
                .with(Metric::CacheMissPages, pages * percent / 100)
        };
        let of = |repetitions: &[&[Point]]| {
            let points = repetitions.iter().map(|points| points.iter().collect()).collect();
            let measured = Measured { repetitions: Vec::new(), points, page_bytes: 8192, scale: 1 };
            let series = memory(&measured).remove(0);
            (verdict(&measured).unwrap(), series.values.len(), series.absent)
        };
        let (calm, fallen) = ([set(8, 0), set(16, 0), set(20, 20)], [set(8, 0), set(16, 40), set(20, 20)]);
        let (verdict, figures, absent) = of(&[&calm, &calm, &fallen]);
        assert_eq!((verdict.limit.as_deref(), figures, absent), (Some("memory"), 2, None));
        assert!(verdict.evidence[0].starts_with("a set of 16.0 MB stayed in memory"), "{verdict:?}");
        let (verdict, figures, absent) = of(&[&calm, &fallen, &fallen]);
        assert_eq!((verdict.limit, figures), (None, 0));
        let reason = "40 % of a set of 16.0 MB was missed and only 20 % of a larger one of 20.0 MB";
        assert!(absent.unwrap().starts_with(reason) && verdict.evidence[0].contains(reason), "{:?}", verdict.evidence);
    }
}
