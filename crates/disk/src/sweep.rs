//! The sweep: ever more operations under way until their rate stops rising, first by the depth of one thread's queue, then by
//! threads. The knee is where as good as all of the rate is there with the fewest under way.

use plimsoll_measurement::units::format_significant;
use plimsoll_measurement::{Cell, Metric, Point};

/// The class of a sweep's cells, by which its points are known.
pub const CLASS: &str = "sweep";

/// A rate counts as risen if it is so much higher than the highest before.
const RISES_PERCENT: f64 = 5.0;

/// So many steps in a row without a rise end the way: one may be bad luck.
const STEPS_WITHOUT_RISE: usize = 2;

/// The knee has so much of the highest rate.
const KNEE_PERCENT: f64 = 95.0;

/// Below this part of the highest rate, one operation at a time or one thread hides most of the device.
const HIDES_PERCENT: f64 = 50.0;

/// How far a sweep goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sweep {
    /// Threads at most.
    pub most_threads: u32,
    /// Operations that each has under way at most.
    pub most_queue_depth: u32,
}

/// A step: what was under way, and the operations a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Threads.
    pub threads: u32,
    /// Operations that each has under way.
    pub queue_depth: u32,
    /// Operations a second of all of them.
    pub iops: f64,
}

impl Step {
    /// The step that a point is; `None` for a point of something else.
    pub fn of(point: &Point) -> Option<Self> {
        let cell = point.cell.as_ref().filter(|cell| is_step(cell))?;
        Some(Self { threads: cell.threads, queue_depth: cell.queue_depth, iops: point.get(Metric::Iops)? })
    }

    fn under_way(&self) -> u64 {
        u64::from(self.threads) * u64::from(self.queue_depth)
    }
}

/// True for a cell of a sweep.
pub fn is_step(cell: &Cell) -> bool {
    cell.label == CLASS
}

impl Sweep {
    /// Threads and depth of the next step after these; `None` at the end.
    pub fn next(&self, done: &[Step]) -> Option<(u32, u32)> {
        let Some(last) = done.last() else { return Some((1, 1)) };
        let of_one_thread: Vec<Step> = done.iter().copied().filter(|step| step.threads == 1).collect();
        let deeper = last.queue_depth.saturating_mul(2);
        if last.threads == 1 && deeper <= self.most_queue_depth && is_rising(done) {
            return Some((1, deeper));
        }
        let depth = knee(&of_one_thread)?.queue_depth;
        let more = last.threads.saturating_mul(2);
        // How one thread came to its end says nothing of two.
        let from_one_thread = of_one_thread.len() - 1;
        let goes_on = last.threads == 1 || is_rising(&done[from_one_thread..]);
        (more <= self.most_threads && goes_on).then_some((more, depth))
    }
}

/// True unless the last steps did not rise above the highest before them.
fn is_rising(steps: &[Step]) -> bool {
    let Some(before) = steps.len().checked_sub(STEPS_WITHOUT_RISE).filter(|before| *before > 0) else { return true };
    let (early, late) = steps.split_at(before);
    let highest = highest(early).map_or(0.0, |step| step.iops);
    late.iter().any(|step| step.iops > highest * (1.0 + RISES_PERCENT / 100.0))
}

fn highest(steps: &[Step]) -> Option<Step> {
    steps.iter().copied().max_by(|a, b| a.iops.total_cmp(&b.iops))
}

/// The fewest operations under way that have as good as all of the highest rate.
pub fn knee(steps: &[Step]) -> Option<Step> {
    let enough = highest(steps)?.iops * KNEE_PERCENT / 100.0;
    steps.iter().copied().filter(|step| step.iops >= enough).min_by_key(Step::under_way)
}

/// What a sweep says, in a few words: the knee, the highest rate, and what fewer operations or threads would have hidden.
pub fn findings(steps: &[Step]) -> Option<String> {
    let (knee, highest) = (knee(steps)?, highest(steps)?);
    let percent = |iops: f64| 100.0 * iops / highest.iops;
    let whole = |percent: f64| format!("{percent:.0} %");
    let at = |step: Step| format!("{} x {}", step.threads, step.queue_depth);
    let mut said = vec![format!(
        "at {} (threads x depth), the fewest under way with {KNEE_PERCENT} % of the highest rate, {} IOPS at {}",
        at(knee),
        format_significant(highest.iops),
        at(highest)
    )];
    let one = steps.iter().find(|step| step.under_way() == 1).map(|step| percent(step.iops));
    if let Some(one) = one {
        let hides = if one < HIDES_PERCENT { " and hides most of the disk" } else { "" };
        said.push(format!("one operation at a time reaches {}{hides}", whole(one)));
    }
    let thread = steps.iter().filter(|step| step.threads == 1).map(|step| percent(step.iops)).fold(0.0, f64::max);
    if steps.iter().any(|step| step.threads > 1) {
        let hides = if thread < HIDES_PERCENT { " and hides most of the disk" } else { "" };
        said.push(format!("one thread reaches {}{hides}, however deep its queue", whole(thread)));
    }
    Some(said.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWEEP: Sweep = Sweep { most_threads: 64, most_queue_depth: 256 };

    /// Sweeps a device whose rate is a function of what is under way.
    fn swept(iops: impl Fn(u32, u32) -> f64) -> Vec<Step> {
        let mut done: Vec<Step> = Vec::new();
        while let Some((threads, queue_depth)) = SWEEP.next(&done) {
            done.push(Step { threads, queue_depth, iops: iops(threads, queue_depth) });
            assert!(done.len() < 50, "it ends");
        }
        done
    }

    fn at(step: Step) -> (u32, u32) {
        (step.threads, step.queue_depth)
    }

    #[test]
    fn a_device_with_a_cap_has_its_knee_where_the_cap_is_reached() {
        // 1 ms an operation, and 8,000 a second at most: by Little's law eight under way reach it.
        let steps = swept(|threads, depth| (f64::from(threads * depth) * 1000.0).min(8000.0));
        assert_eq!(at(knee(&steps).unwrap()), (1, 8));
        let path: Vec<(u32, u32)> = steps.iter().copied().map(at).collect();
        assert_eq!(path, [(1, 1), (1, 2), (1, 4), (1, 8), (1, 16), (1, 32), (2, 8), (4, 8)]);
        let said = findings(&steps).unwrap();
        let expected = "at 1 x 8 (threads x depth), the fewest under way with 95 % of the highest rate, 8,000 IOPS at ";
        assert!(said.starts_with(expected), "{said}");
        assert!(said.contains("one operation at a time reaches 12 % and hides most of the disk"), "{said}");
        assert!(said.ends_with("one thread reaches 100 %, however deep its queue"), "{said}");
    }

    #[test]
    fn a_volume_that_serves_each_thread_by_itself_needs_threads() {
        // Sixteen disks of 500; a thread comes to 1,000 alone.
        let steps = swept(|threads, depth| (f64::from(threads) * (f64::from(depth) * 100.0).min(1000.0)).min(8000.0));
        let found = knee(&steps).unwrap();
        assert_eq!(at(found), (8, 16));
        assert!(
            findings(&steps)
                .unwrap()
                .ends_with("one thread reaches 12 % and hides most of the disk, however deep its queue")
        );
    }

    #[test]
    fn one_unlucky_step_does_not_end_the_way() {
        let steps = swept(|threads, depth| {
            let rate = (f64::from(threads * depth) * 1000.0).min(32_000.0);
            if (threads, depth) == (1, 8) { rate / 2.0 } else { rate }
        });
        assert_eq!(at(knee(&steps).unwrap()), (1, 32));
        assert_eq!((knee(&[]), findings(&[])), (None, None));
    }
}
