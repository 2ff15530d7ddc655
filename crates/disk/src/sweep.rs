//! The sweep: ever more operations under way until their rate stops rising, first by the depth of one thread's queue, then by
//! threads. The knee is where as good as all of the rate is there with the fewest under way. Cells of any suite have one where they do
//! the same with enough numbers under way; their steps are coarse, so what is needed lies between two of them.

use std::collections::BTreeSet;
use std::fmt;

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

/// From here on it is as good as all.
const ALL_PERCENT: f64 = 99.5;

/// Cells that were not swept have a knee from so many numbers under way on.
const FEWEST_NUMBERS: usize = 4;

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
    /// The step of a sweep that a point is; `None` for a point of something else.
    pub fn of(point: &Point) -> Option<Self> {
        Self::of_any(point).filter(|_| point.cell.as_ref().is_some_and(is_step))
    }

    /// What was under way at a point of any suite, and its rate.
    pub fn of_any(point: &Point) -> Option<Self> {
        let cell = point.cell.as_ref()?;
        Some(Self { threads: cell.threads, queue_depth: cell.queue_depth, iops: point.get(Metric::Iops)? })
    }

    /// Operations of all threads.
    pub fn under_way(&self) -> u64 {
        u64::from(self.threads) * u64::from(self.queue_depth)
    }

    fn percent_of(&self, highest: Self) -> f64 {
        100.0 * self.iops / highest.iops
    }
}

/// Threads times depth.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {}", self.threads, self.queue_depth)
    }
}

/// True for a cell of a sweep.
pub fn is_step(cell: &Cell) -> bool {
    cell.label == CLASS
}

/// The places of the first work that has a knee, among the points of a repetition: all steps of a sweep, or cells that do the same with
/// four and more numbers under way, each by itself and as fast as it can. Empty where there is none.
pub fn way(points: &[&Point]) -> Vec<usize> {
    let next = |place: usize| points.get(place + 1).and_then(|next| next.cell.as_ref());
    let works: Vec<Option<Cell>> = points.iter().zip(0..).map(|(point, place)| work(point, next(place))).collect();
    let of = |work: &Cell| (0..works.len()).filter(|at| works[*at].as_ref() == Some(work)).collect::<Vec<usize>>();
    let numbers = |places: &[usize]| {
        let steps = places.iter().filter_map(|at| Step::of_any(points[*at]));
        steps.map(|step| step.under_way()).collect::<BTreeSet<u64>>().len()
    };
    let is_swept = |at: usize| points[at].cell.as_ref().is_some_and(is_step);
    let has_knee = |places: &Vec<usize>| is_swept(places[0]) || numbers(places) >= FEWEST_NUMBERS;
    works.iter().flatten().map(of).find(has_knee).unwrap_or_default()
}

/// What a cell does, whatever its class and however much of it is under way; `None` where others hold it back.
fn work(point: &Point, next: Option<&Cell>) -> Option<Cell> {
    let cell = point.cell.as_ref().filter(|cell| !cell.is_among_others(next))?;
    let is_free = point.get(Metric::AskedPerSecond).is_none();
    is_free.then(|| Cell { label: String::new(), threads: 1, queue_depth: 1, ..cell.clone() })
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
    highest_of(steps.iter())
}

fn highest_of<'a>(steps: impl Iterator<Item = &'a Step>) -> Option<Step> {
    steps.copied().max_by(|a, b| a.iops.total_cmp(&b.iops))
}

/// The fewest operations under way that have as good as all of the highest rate.
pub fn knee(steps: &[Step]) -> Option<Step> {
    let enough = highest(steps)?.iops * KNEE_PERCENT / 100.0;
    steps.iter().copied().filter(|step| step.iops >= enough).min_by_key(Step::under_way)
}

/// What a sweep says, in a few words: the knee, the highest rate, and what fewer operations or threads would have hidden.
pub fn findings(steps: &[Step]) -> Option<String> {
    let (knee, highest) = (knee(steps)?, highest(steps)?);
    let mut said = vec![format!(
        "at {knee} (threads x depth), the fewest under way with {KNEE_PERCENT} % of the highest rate, {} IOPS at {highest}",
        format_significant(highest.iops)
    )];
    said.extend(one_at_a_time(steps, highest));
    let thread = highest_of(steps.iter().filter(|step| step.threads == 1)).map_or(0.0, |step| step.percent_of(highest));
    if steps.iter().any(|step| step.threads > 1) {
        said.push(format!("one thread {}, however deep its queue", reaches(thread)));
    }
    Some(said.join("; "))
}

/// What cells of one work say that were not swept: between which numbers under way the knee is. `work` is what they do, in words.
pub fn coarse_findings(steps: &[Step], work: &str) -> Option<String> {
    let (knee, highest) = (knee(steps)?, highest(steps)?);
    let most = steps.iter().map(Step::under_way).max()?;
    let below = steps.iter().map(Step::under_way).filter(|number| *number < knee.under_way()).max();
    let number = knee.under_way();
    let rate = format!("{} IOPS", format_significant(highest.iops));
    let mut said = vec![match below {
        // A rate that rises up to the last step may rise beyond it.
        Some(below) if number == most => format!(
            "{work} needs more than {below} under way, and {number} ({knee}) may not be enough: the rate still rises to {rate} there"
        ),
        below => {
            let more = below.map(|below| format!("more than {below} and ")).unwrap_or_default();
            let there = match knee.percent_of(highest) {
                percent if percent < ALL_PERCENT => {
                    format!("{} of the highest rate, {rate} at {highest}", whole(percent))
                }
                _ => format!("the highest rate, {rate}"),
            };
            format!("{work} needs {more}at most {number} under way ({knee}): there it reaches {there}")
        }
    }];
    said.extend(one_at_a_time(steps, highest).filter(|_| number > 1));
    Some(said.join("; "))
}

/// What one operation at a time would have shown of the highest rate.
fn one_at_a_time(steps: &[Step], highest: Step) -> Option<String> {
    let one = steps.iter().find(|step| step.under_way() == 1)?;
    Some(format!("one operation at a time {}", reaches(one.percent_of(highest))))
}

fn reaches(percent: f64) -> String {
    let hides = if percent < HIDES_PERCENT { " and hides most of the disk" } else { "" };
    format!("reaches {}{hides}", whole(percent))
}

fn whole(percent: f64) -> String {
    format!("{percent:.0} %")
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
    fn coarse_steps_say_between_which_numbers_the_knee_is() {
        let said = |rate: &dyn Fn(f64) -> f64| {
            let step = |(threads, queue_depth): (u32, u32)| {
                let iops = rate(f64::from(threads * queue_depth));
                Step { threads, queue_depth, iops }
            };
            let steps = [(2, 32), (1, 1), (1, 4), (2, 8), (2, 128)].map(step);
            coarse_findings(&steps, "random read 8 KiB").unwrap()
        };
        // Eight under way would do: the steps don't say that.
        assert_eq!(
            said(&|under_way| (under_way * 1000.0).min(8000.0)),
            "random read 8 KiB needs more than 4 and at most 16 under way (2 x 8): there it reaches the highest rate, 8,000 IOPS; one operation at a time \
             reaches 12 % and hides most of the disk"
        );
        assert!(
            said(&|under_way| 10_000.0 * under_way / (under_way + 0.5)).starts_with(
                "random read 8 KiB needs more than 4 and at most 16 under way (2 x 8): there it reaches 97 % of the highest rate, 9,981 IOPS at 2 x 128;"
            )
        );
        assert!(said(&|under_way| under_way * 100.0).starts_with(
            "random read 8 KiB needs more than 64 under way, and 256 (2 x 128) may not be enough: the rate still rises to 25,600 IOPS there;"
        ));
        // A disk of one at a time.
        assert_eq!(
            said(&|_| 150.0),
            "random read 8 KiB needs at most 1 under way (1 x 1): there it reaches the highest rate, 150 IOPS"
        );
    }

    #[test]
    fn cells_of_one_work_have_a_knee_from_four_numbers_under_way_on() {
        let point = |keys: &str| {
            let cell = crate::suite::cell_of(&format!("block = '8KiB'\n{keys}"));
            Point { cell: Some(cell), ..Point::default() }.with(Metric::Iops, 100.0)
        };
        let reads = |depth: u32| point(&format!("operation = 'read'\nqueue_depth = {depth}"));
        let twice = point("operation = 'read'\nthreads = 2\nqueue_depth = 2");
        let write = point("operation = 'write'\nqueue_depth = 16");
        let places = |points: &[Point]| way(&points.iter().collect::<Vec<_>>());
        let four = [reads(64), write.clone(), reads(1), reads(4), twice.clone(), reads(16)];
        assert_eq!(places(&four), [0, 2, 3, 4, 5]);
        assert_eq!(places(&[reads(64), write.clone(), reads(1), reads(4), twice]), [0_usize; 0], "4 and 2 x 2 are one");
        let asked = reads(16).with(Metric::AskedPerSecond, 50.0);
        assert_eq!(places(&[reads(64), reads(1), reads(4), asked]), [0_usize; 0]);
        let mut beside = write;
        let cell = beside.cell.as_mut().unwrap();
        cell.beside = reads(64).cell.map(|cell| cell.label);
        assert_eq!(places(&[reads(64), beside, reads(1), reads(4), reads(16)]), [0_usize; 0], "others held it back");
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
