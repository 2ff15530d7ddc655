//! Rates of a volume that fell to a lower level for good, as where the credit of a burst runs out.

use plimsoll_analysis::segments::Pattern;
use plimsoll_measurement::{Metric, Point, RunRecord};

use super::findings::{Level, Steadiness};
use super::sentences::subject;
use crate::build::limits::{BURST_PERCENT, Limits};
use crate::model::format::{quantity, seconds};

/// A rate that falls to more than this part of what it was may be a neighbour's work, unless it falls to what was bought.
const BASE_OF_BURST: f64 = 0.8;

/// Percent of what was bought between which a rate is that of the disk for ever.
const BOUGHT_PERCENT: std::ops::RangeInclusive<f64> = 97.0..=103.0;

/// A rate that only fell, at the greatest of its falls.
struct Fall {
    /// When, in seconds after the repetition's start.
    at: f64,
    /// The mean rate before it.
    first: f64,
    /// The mean rate behind it.
    base: f64,
}

impl Fall {
    /// `None` of response times, and of a rate that ever rose.
    fn of(one: &Steadiness) -> Option<Self> {
        let is_rate = one.series.metric != "latency_p50";
        if !(is_rate && matches!(one.found.pattern, Pattern::Step(_))) {
            return None;
        }
        let levels = one.levels();
        let falls: Vec<f64> = levels.windows(2).map(|pair| pair[1].value / pair[0].value).collect();
        let (place, _) = falls.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1))?;
        // Disks of a stripe use up their credits one after another: of several falls the greatest counts.
        let (before, behind) = levels.split_at(place + 1);
        let at = *one.changes_seconds().get(place)?;
        falls.iter().all(|part| *part < 1.0).then(|| Self { at, first: mean(before), base: mean(behind) })
    }

    /// What the rate behind it is: `None` where it may be chance.
    fn behind(&self, record: &RunRecord, limits: &Limits<'_>, point: Option<&Point>) -> Option<&'static str> {
        let is_bought = point
            .and_then(|point| {
                let cell = point.cell.as_ref()?;
                let bytes = point.get(Metric::BytesPerS).zip(point.get(Metric::Iops).filter(|iops| *iops > 0.0));
                limits.percent_of(cell, self.base, bytes.map(|(bytes, iops)| self.base * bytes / iops))
            })
            .is_some_and(|percent| BOUGHT_PERCENT.contains(&percent));
        let is_far = self.base < BASE_OF_BURST * self.first;
        let is_clear = is_bought && self.first > BURST_PERCENT / 100.0 * self.base;
        match (is_far || is_clear, is_bought || record.clock == "virtual") {
            (false, _) => None,
            (true, true) => Some("this is how a burst ends, and the second is the base rate"),
            // Nobody else works with a modelled disk.
            (true, false) => {
                Some("a burst that ends looks so, and so does other work that began on the disk: a second run tells")
            }
        }
    }
}

/// Each level counts for as long as it lasted.
fn mean(levels: &[Level]) -> f64 {
    let time: f64 = levels.iter().map(|level| level.share_percent).sum();
    levels.iter().map(|level| level.value * level.share_percent).sum::<f64>() / time
}

/// What was done while the series began, where it had the disk for itself: labels of phases may be the same, and what runs beside a cell
/// has its times.
fn alone<'a>(record: &'a RunRecord, one: &Steadiness) -> Option<&'a Point> {
    let (start, _) = one.span();
    let repetition = record.repetitions.iter().find(|repetition| repetition.label == one.series.repetition)?;
    let holds = |point: &&Point| (point.started_seconds..point.started_seconds + point.seconds).contains(&start);
    let mut held = repetition.points.iter().filter(holds);
    held.next().filter(|_| held.next().is_none())
}

/// A sentence for each; of many the first ones, and how many more there are.
pub(super) fn sentences(record: &RunRecord, all: &[Steadiness], most: usize) -> Vec<String> {
    let limits = Limits::of(record);
    let fell = |one: &Steadiness| {
        let fall = Fall::of(one)?;
        let behind = fall.behind(record, &limits, alone(record, one))?;
        let ((start, end), rate) = (one.span(), |rate: f64| quantity(rate, "IOPS"));
        Some(format!(
            "{} made {} for {}, then {} for the other {}: {behind}.",
            subject(&one.series),
            rate(fall.first),
            seconds(fall.at - start),
            rate(fall.base),
            seconds(end - fall.at)
        ))
    };
    let fallen: Vec<String> = all.iter().filter_map(fell).collect();
    let more = fallen.len().saturating_sub(most);
    let more = (more > 0).then(|| format!("{more} more of these series fell so."));
    fallen.into_iter().take(most).chain(more).collect()
}
