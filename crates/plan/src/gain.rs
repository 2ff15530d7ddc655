//! What a larger file brings, as an interval: from nothing, where nothing more was wanted, to all that the limits and the operations under
//! way allow (Little's law: operations under way = rate x time).

use crate::file::{DatabaseFile, FileKind};
use crate::storage::{LimitOf, Step};

/// Up to here a time is no longer than the least, in percent of it.
const NO_LONGER_PERCENT: f64 = 101.0;

/// What a file would do with other limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Brings {
    /// By how much its rate would grow at most, in percent; 0 is the least.
    pub most_percent: f64,
    /// What keeps it from growing by more.
    pub bound: Bound,
    /// How long an operation takes now, and the least and the most that it would take with as many under way; absent where nobody took times.
    pub ms: Option<[f64; 3]>,
}

/// What keeps a rate from growing by more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// The new limit that it stands at now.
    Limit,
    /// The other limit.
    Other(LimitOf),
    /// What is under way makes no more at the best time of an operation.
    UnderWay,
    /// How fast a log may grow.
    LogRate,
    /// How much sessions wait for such files.
    Waits,
    /// Other files of its filegroup, which stand at their limits then.
    Neighbours,
}

/// How many times as much is done at most, and why: what bounds it more.
pub fn nearest(one: (f64, Bound), other: (f64, Bound)) -> (f64, Bound) {
    if other.0 < one.0 { other } else { one }
}

/// How long an operation takes below its limits, in ms.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Unthrottled {
    /// At best, as it is published, or as it was seen where nothing holds operations up, if that is less.
    pub least: f64,
    /// At most, as it is published.
    pub most: f64,
}

/// What the limits of `step` bring a file that stands at this limit, where an operation takes so long below it, and the file can do `most_times`
/// what it does, whatever its size. `None` where they have no more of it.
pub fn brings(
    file: &DatabaseFile,
    of: LimitOf,
    step: &Step,
    unthrottled_ms: Unthrottled,
    most_times: (f64, Bound),
) -> Option<Brings> {
    let (seen, limit) = match of {
        LimitOf::Iops => (file.iops?, step.iops?),
        LimitOf::Bandwidth => (file.mb_per_s?, step.mb_per_s?),
    };
    if seen <= 0.0 || limit <= seen {
        return None;
    }
    // Where the work grows, its I/Os and its bytes grow alike: the other limit bounds it as well.
    let other = match of {
        LimitOf::Iops => file.mb_per_s.filter(|mb| *mb > 0.0).zip(step.mb_per_s),
        LimitOf::Bandwidth => file.iops.filter(|iops| *iops > 0.0).zip(step.iops),
    };
    let by_other = other.map_or(f64::INFINITY, |(seen, limit)| limit / seen);
    let other_limit = if of == LimitOf::Iops { LimitOf::Bandwidth } else { LimitOf::Iops };
    let by_limits = nearest((limit / seen, Bound::Limit), (by_other, Bound::Other(other_limit)));
    let of_file = seen * by_limits.0.max(1.0);
    let (times, bound) = nearest(by_limits, most_times);
    let limit = seen * times.max(1.0);
    let Unthrottled { least, most } = unthrottled_ms;
    let times = || file.read_ms.into_iter().chain(file.write_ms).filter(|ms| *ms > 0.0);
    // Reads or writes that take no longer than the least at a limit say that the least is less: nothing follows from the times of such a file.
    let is_longer = times().all(|ms| 100.0 * ms > NO_LONGER_PERCENT * least);
    let now = times().reduce(f64::max).filter(|_| is_longer);
    // As many under way as now make so much at the best time of an operation.
    let rate = now.map_or(limit, |now| (seen * now / least).clamp(seen, limit));
    let bound = if rate < limit { Bound::UnderWay } else { bound };
    // What holds sessions back elsewhere says nothing of the time at the file.
    let ms = now.filter(|_| limit >= of_file).map(|now| {
        // No more than the limit lets through: with as many under way each takes its part of that time.
        let shortest = (now * seen / limit).max(least).min(now);
        let longest = (now * seen / limit).max(most).min(now.max(least));
        [now, shortest, longest]
    });
    Some(Brings { most_percent: 100.0 * (rate / seen - 1.0), bound, ms })
}

/// The limits of so many equal files together, of which the busiest does so many times what they do on average.
pub fn all_of(step: &Step, files: usize, imbalance: f64) -> Step {
    let busier = if files > 1 { imbalance } else { 1.0 };
    let all = |limit: Option<f64>| limit.map(|limit| limit * files as f64 / busier);
    Step { iops: all(step.iops), mb_per_s: all(step.mb_per_s), ..step.clone() }
}

/// How long an operation takes on average in files over which rows are spread, each with the slower of its reads and writes, by how much it
/// does.
pub fn mean_ms(files: &[&DatabaseFile]) -> Option<f64> {
    let known = files.iter().filter_map(|file| {
        let ms = file.read_ms.into_iter().chain(file.write_ms).reduce(f64::max).filter(|ms| *ms > 0.0)?;
        Some((file.iops.or(file.mb_per_s).filter(|rate| *rate > 0.0)?, ms))
    });
    let (under_way, rate) = known.fold((0.0, 0.0), |(all, rates), (rate, ms)| (all + rate * ms, rates + rate));
    (rate > 0.0).then(|| under_way / rate)
}

/// The shortest time of reads or writes of some files.
pub fn fastest_ms(files: &[&DatabaseFile]) -> Option<f64> {
    let times = files.iter().flat_map(|file| file.read_ms.into_iter().chain(file.write_ms));
    times.filter(|ms| *ms > 0.0).reduce(f64::min)
}

/// The same as [`brings`], of all data files over which rows are spread, as if they were one.
pub fn brings_all(
    files: &[&DatabaseFile],
    of: LimitOf,
    step: &Step,
    unthrottled_ms: Unthrottled,
    most_times: (f64, Bound),
) -> Option<Brings> {
    let sum = |of: fn(&DatabaseFile) -> Option<f64>| {
        Some(files.iter().filter_map(|file| of(file)).sum::<f64>()).filter(|rate| *rate > 0.0)
    };
    let together = DatabaseFile {
        iops: sum(|file| file.iops),
        mb_per_s: sum(|file| file.mb_per_s),
        read_ms: mean_ms(files),
        write_ms: fastest_ms(files),
        ..DatabaseFile::new("", "", FileKind::Data, 0.0)
    };
    brings(&together, of, step, unthrottled_ms, most_times)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDLESS: (f64, Bound) = (f64::INFINITY, Bound::Limit);
    const TIMES: Unthrottled = Unthrottled { least: 2.0, most: 10.0 };

    fn step(iops: f64) -> Step {
        Step { name: None, blob_gb: 0.0, iops: Some(iops), mb_per_s: Some(150.0) }
    }

    fn file(iops: f64, ms: Option<f64>) -> DatabaseFile {
        DatabaseFile { iops: Some(iops), write_ms: ms, ..DatabaseFile::new("shop", "a", FileKind::Data, 32.0) }
    }

    #[test]
    fn more_is_bounded_by_the_limit_and_by_what_is_under_way() {
        let of = |file: &DatabaseFile, limit| brings(file, LimitOf::Iops, &step(limit), TIMES, ENDLESS);
        let found = of(&file(500.0, None), 2300.0).unwrap();
        assert_eq!((found.most_percent.round(), found.ms), (360.0, None));
        // Two under way make 1,000 at 2 ms each, however high the limit is.
        let few = of(&file(500.0, Some(4.0)), 2300.0).unwrap();
        assert_eq!((few.most_percent, few.ms), (100.0, Some([4.0, 2.0, 4.0])));
        assert_eq!(of(&file(2300.0, None), 2300.0), None);
        assert_eq!(of(&file(0.0, None), 2300.0), None);
        // What was seen to be faster than the best refutes the best.
        let fast = of(&file(500.0, Some(1.5)), 2300.0).unwrap();
        assert_eq!((fast.most_percent.round(), fast.ms), (360.0, None));
        // So do reads that are, whatever writes take; unless it was seen elsewhere how fast they can be.
        let reads = |least: f64| {
            let file = DatabaseFile { read_ms: Some(1.5), ..file(500.0, Some(4.0)) };
            brings(&file, LimitOf::Iops, &step(2300.0), Unthrottled { least, ..TIMES }, ENDLESS).unwrap()
        };
        assert_eq!((reads(2.0).most_percent.round(), reads(2.0).bound), (360.0, Bound::Limit));
        assert_eq!((reads(1.0).most_percent.round(), reads(1.0).bound), (300.0, Bound::UnderWay));
        // The other limit bounds it, too.
        let both = DatabaseFile { mb_per_s: Some(100.0), ..file(500.0, None) };
        assert_eq!(of(&both, 2300.0).map(|brings| brings.most_percent.round()), Some(50.0));
        // Twenty under way at 550 a second take 36 ms each, however fast one alone would be.
        let many = of(&file(500.0, Some(40.0)), 550.0).unwrap();
        assert_eq!((many.most_percent.round(), many.ms.map(|ms| ms.map(f64::round))), (10.0, Some([40.0, 36.0, 36.0])));
        // What no size changes bounds it, too, and so does a longer time at best.
        let capped = brings(&file(500.0, None), LimitOf::Iops, &step(2300.0), TIMES, (1.5, Bound::LogRate)).unwrap();
        assert_eq!(Some(capped.most_percent), Some(50.0));
        let later = Unthrottled { least: 5.0, most: 10.0 };
        let slow = brings(&file(500.0, Some(10.0)), LimitOf::Iops, &step(2300.0), later, ENDLESS).unwrap();
        assert_eq!((slow.most_percent, slow.ms), (100.0, Some([10.0, 5.0, 10.0])));
    }

    /// Published enlargements (reference, 3.10), by the limits of 2018: the time of a write afterwards.
    #[test]
    fn published_enlargements_took_the_times_that_are_said() {
        let said = |iops, now, then| {
            let file = file(iops, Some(now));
            brings(&file, LimitOf::Iops, &step(then), TIMES, ENDLESS).unwrap().ms.unwrap()
        };
        // The log from 32 to 512 GB: 4.5 ms. Data files from 512 GB to 1.1 TB: 49 ms.
        assert_eq!(said(500.0, 16.0, 2300.0).map(|ms| ms as u32), [16, 3, 10]);
        // It did a few percent less then.
        let [_, least, most] = said(2300.0, 165.0, 7500.0);
        assert!(49.0 < most && most < 51.0 && least <= most, "{least} to {most}");
        // Data files from 32 to 256 GB took 155 ms: that much more was done that half as many again were under way.
        let [_, _, most] = said(500.0, 477.0, 2300.0);
        assert!(most < 155.0 && 155.0 < 1.5 * most, "{most}");
    }
}
