//! Why a difference of two runs may not be the target's: other programs on its machine, and our own client.

use plimsoll_analysis::compare::{self, Verdict};
use plimsoll_measurement::RunRecord;

/// Why a verdict may be that of other programs: they used another part of the server's machine in each run, and with as much of it left the
/// ratio might be on the other side of 1.
pub fn neighbours(runs: [&RunRecord; 2], found: &compare::Comparison, higher_is_better: bool) -> Option<String> {
    let [(a, cores), (b, _)] = runs.map(plimsoll_report::other_cores).map(Option::unwrap_or_default);
    if cores <= 0.0 || (a - b).abs() < OTHERS_PART * cores {
        return None;
    }
    let left = |others: f64| (cores - others).max(LEAST_LEFT * cores);
    // Beside others less is left, and what is left comes later: requests wait for a core in turn, and for the same disks.
    let more = (left(b) / left(a)).powi(2);
    let (low, high) = if higher_is_better { (found.low?, found.high?) } else { (1.0 / found.high?, 1.0 / found.low?) };
    let is_theirs = match found.verdict {
        Verdict::Better => low / more.max(1.0) <= 1.0,
        Verdict::Worse => high / more.min(1.0) >= 1.0,
        _ => false,
    };
    let number = plimsoll_measurement::units::format_significant;
    is_theirs.then(|| {
        format!(
            "other programs used {} of {} cores in the first run and {} in the other, so that the difference may be theirs: run both again in \
             turn",
            number(a),
            number(cores),
            number(b)
        )
    })
}

/// Whether our own client needed about as much CPU for a request in both runs, on one machine.
pub fn needs_alike(base: &RunRecord, other: &RunRecord) -> bool {
    let each = |run: &RunRecord| {
        let all = run.repetitions.iter().flat_map(|repetition| &repetition.phases).map(|phase| phase.operations);
        Some(run.host.client_cpu_seconds? / all.sum::<u64>() as f64).filter(|each| each.is_finite() && *each > 0.0)
    };
    let factor = each(base).zip(each(other)).map(|(a, b)| a.max(b) / a.min(b));
    base.host.name == other.host.name && factor.is_some_and(|factor| factor < MOST_UNLIKE)
}

/// On a machine that the server shares a request costs the client somewhat more the longer it takes.
const MOST_UNLIKE: f64 = 1.5;

/// A part of the machine that other programs use more or less of in one run, from which on it matters.
const OTHERS_PART: f64 = 0.05;
/// So much of a machine is left to a program at least.
const LEAST_LEFT: f64 = 0.05;
