//! The CPU ladder: times of a forced loop join of N with N rows, as multiples of a reference machine and of an anchor
//! with known DTU. Reference: sections 2.11 and 3.7, choices A14 and A15.
//!
//! Compare along a row (same N), never down a column: the work grows with the square of N. That growth is the check of
//! the plan: a step with an exponent far from 2 did not do the same work in the same way.

use std::collections::BTreeMap;

use plimsoll_measurement::{CpuRow, CpuTable, Metric, Point, Repetition};

use crate::summary;

/// Rungs up to this N are too short to compare: the plan may differ and time outside of the CPU weighs more.
pub const SHORT_UP_TO_ROWS: u64 = 2000;

/// Growth exponents that the same plan can have; in theory it is 2.
pub const SAME_PLAN_EXPONENTS: std::ops::RangeInclusive<f64> = 1.5..=2.5;

/// CPU use below which a rung was not bound by the CPU, in percent.
pub const LOW_CPU_PERCENT: f64 = 90.0;

/// What the DTU multiples are anchored to.
#[derive(Debug, Clone, PartialEq)]
pub struct Anchor {
    /// How the anchor is called in the table: a run's id, or the name of a fit.
    pub name: String,
    /// DTU that the anchor has by definition.
    pub dtu: f64,
    /// The anchor's times.
    pub times: AnchorTimes,
}

/// Where an anchor's times come from. Both are times of the whole machine.
#[derive(Debug, Clone, PartialEq)]
pub enum AnchorTimes {
    /// A measured ladder.
    Measured(Vec<Repetition>),
    /// T(N) = c N^2 with this c in seconds, as [`fit_square`] gives it.
    Square(f64),
}

/// The ladder of `own` as a table, ordered by N and sessions.
///
/// Points of all repetitions with the same N and sessions are one row; a point without `sessions` had one. `reference`
/// (a run's id and its repetitions) gives reference multiples, `anchor` DTU multiples; without them, and where they
/// lack the rung, the multiples are absent. The largest number of sessions of a run is its whole machine, which is
/// compared with the whole machine of the other, however many sessions that takes. A single session is otherwise
/// compared with a single session, and DTU belong to whole machines only.
///
/// Flags of a row: `plan-change` (exponent outside of [`SAME_PLAN_EXPONENTS`], both rungs long enough; which of the two
/// has the better plan their CPU use tells), `low-cpu`, `short`, `match-count-differs` (two timings of the same N
/// disagree on the matches: one of the joins is wrong) and `match-count-unknown`.
pub fn cpu_table(own: &[Repetition], reference: Option<(&str, &[Repetition])>, anchor: Option<&Anchor>) -> CpuTable {
    let ladder = Ladder::of(own);
    let reference_ladder = reference.map(|(_, repetitions)| Ladder::of(repetitions));
    let anchor_ladder = anchor.and_then(|anchor| match &anchor.times {
        AnchorTimes::Measured(repetitions) => Some(Ladder::of(repetitions)),
        AnchorTimes::Square(_) => None,
    });
    let anchor_seconds = |times: &AnchorTimes, join_rows: u64| match times {
        AnchorTimes::Measured(_) => {
            anchor_ladder.as_ref().and_then(|ladder| ladder.seconds(join_rows, ladder.whole_machine))
        }
        AnchorTimes::Square(factor) => Some(factor * square(join_rows)),
    };

    let rows = ladder.rungs.iter().filter_map(|(&(join_rows, sessions), rung)| {
        let mut row = ladder.row(join_rows, sessions, rung)?;
        let whole = sessions == ladder.whole_machine;
        row.reference_multiple = reference_ladder.as_ref().and_then(|other| {
            let theirs = if whole { other.whole_machine } else { sessions };
            let comparable = whole || sessions == 1;
            comparable.then(|| other.seconds(join_rows, theirs))?.map(|seconds| seconds / row.seconds)
        });
        row.dtu_multiple = anchor
            .filter(|_| whole)
            .and_then(|anchor| Some(anchor.dtu * anchor_seconds(&anchor.times, join_rows)? / row.seconds));
        Some(row)
    });
    CpuTable {
        reference_run: reference.map(|(run_id, _)| run_id.to_owned()),
        anchor: anchor.map(|anchor| anchor.name.clone()),
        anchor_dtu: anchor.map(|anchor| anchor.dtu),
        rows: rows.collect(),
    }
}

/// Fits T(N) = c N^2 to points (N, seconds) and returns c in seconds. It is the mean of T/N^2, which is the
/// least-squares fit for errors in proportion to the time, as timings have them. (Plain least squares would listen to
/// the last rung only.) `None` without a point, or with a point that has an N or a time that is not positive.
pub fn fit_square(points: &[(u64, f64)]) -> Option<f64> {
    let usable = points.iter().all(|(join_rows, seconds)| *join_rows > 0 && *seconds > 0.0);
    let shares: Vec<f64> = points.iter().map(|(join_rows, seconds)| seconds / square(*join_rows)).collect();
    summary::mean(&shares).filter(|_| usable)
}

fn square(join_rows: u64) -> f64 {
    (join_rows as f64).powi(2)
}

/// The timings of a run by N and sessions.
#[derive(Default)]
struct Ladder {
    rungs: BTreeMap<(u64, u32), Rung>,
    /// The largest number of sessions.
    whole_machine: u32,
}

#[derive(Default)]
struct Rung {
    seconds: Vec<f64>,
    matches: Vec<u64>,
    cpu_percent: Vec<f64>,
}

impl Ladder {
    fn of(repetitions: &[Repetition]) -> Self {
        let mut ladder = Self::default();
        repetitions.iter().flat_map(|repetition| &repetition.points).for_each(|point| ladder.add(point));
        ladder
    }

    fn add(&mut self, point: &Point) {
        let Some(join_rows) =
            point.count(Metric::JoinRows).filter(|_| point.seconds.is_finite() && point.seconds > 0.0)
        else {
            return;
        };
        let sessions = point.count(Metric::Sessions).unwrap_or(1) as u32;
        self.whole_machine = self.whole_machine.max(sessions);
        let rung = self.rungs.entry((join_rows, sessions)).or_default();
        rung.seconds.push(point.seconds);
        rung.matches.extend(point.count(Metric::Matches));
        rung.cpu_percent.extend(point.get(Metric::CpuPercent));
    }

    /// Median time of a rung.
    fn seconds(&self, join_rows: u64, sessions: u32) -> Option<f64> {
        summary::median(&self.rungs.get(&(join_rows, sessions))?.seconds)
    }

    /// The next lower N with the same number of sessions, and its time.
    fn below(&self, join_rows: u64, sessions: u32) -> Option<(u64, f64)> {
        let lower =
            self.rungs.range(..(join_rows, 0)).rev().find(|((_, their_sessions), _)| *their_sessions == sessions);
        let ((lower_rows, _), rung) = lower?;
        Some((*lower_rows, summary::median(&rung.seconds)?))
    }

    /// The row of a rung, without its multiples.
    fn row(&self, join_rows: u64, sessions: u32, rung: &Rung) -> Option<CpuRow> {
        let seconds = summary::median(&rung.seconds)?;
        let below = self.below(join_rows, sessions);
        let growth_exponent = below.map(|(rows, time)| (seconds / time).ln() / (join_rows as f64 / rows as f64).ln());
        let growth_exponent = growth_exponent.filter(|exponent| exponent.is_finite());
        let cpu_percent = summary::median(&rung.cpu_percent);

        let long = |rows: u64| rows > SHORT_UP_TO_ROWS;
        let both_long = long(join_rows) && below.is_some_and(|(rows, _)| long(rows));
        let odd = growth_exponent.is_some_and(|exponent| !SAME_PLAN_EXPONENTS.contains(&exponent));
        let flags = [
            ("plan-change", both_long && odd),
            ("low-cpu", cpu_percent.is_some_and(|percent| percent < LOW_CPU_PERCENT)),
            ("short", !long(join_rows)),
            ("match-count-differs", self.matches_differ(join_rows)),
            ("match-count-unknown", rung.matches.is_empty()),
        ];
        Some(CpuRow {
            join_rows,
            sessions,
            seconds,
            seconds_mean: summary::mean(&rung.seconds)?,
            seconds_range: summary::range(&rung.seconds).filter(|_| rung.seconds.len() > 1),
            timings: rung.seconds.len() as u32,
            matches: rung.matches.first().copied().unwrap_or_default(),
            reference_multiple: None,
            dtu_multiple: None,
            growth_exponent,
            cpu_percent,
            flags: flags.iter().filter(|(_, raised)| *raised).map(|(flag, _)| (*flag).to_owned()).collect(),
        })
    }

    /// True if timings of the same N disagree, whatever their sessions: the join is the same.
    fn matches_differ(&self, join_rows: u64) -> bool {
        let rungs = self.rungs.range((join_rows, 0)..=(join_rows, u32::MAX));
        let mut matches = rungs.flat_map(|(_, rung)| &rung.matches);
        matches.next().is_some_and(|first| matches.any(|other| other != first))
    }
}

#[cfg(test)]
mod tests;
