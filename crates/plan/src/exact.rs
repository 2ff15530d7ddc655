//! How exact a list is: looks of a second or so that go beyond a limit, and whether the limits that a list says are the ones that held.

use crate::advice::{ABOVE_PERCENT, AT_LIMIT_PERCENT};
use crate::file::DatabaseFile;
use crate::limits::{FileLimits, Limits};
use crate::storage::LimitOf;

/// A look of a second or so is no more exact than this: a file that stands at its limit may be seen to do so many times of it.
const MOST_TIMES: f64 = 1.5;
/// Intervals from which on it is no chance that a file stopped at a limit.
const NO_CHANCE: u64 = 5;

/// A file that was seen above its limit and is taken for standing at it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settled {
    /// The file, by its place in the list.
    pub file: usize,
    /// Which limit.
    pub of: LimitOf,
    /// What was seen.
    pub seen: f64,
    /// The limit.
    pub limit: f64,
}

/// Takes what was seen of files somewhat above their limits for the limits: by whoever counted intervals there only for a moment.
pub fn settle(files: &mut [DatabaseFile], limits: &Limits) -> Vec<Settled> {
    let mut all = Vec::new();
    for (at, (file, of)) in files.iter_mut().zip(&limits.files).enumerate() {
        let Some(step) = &of.step else { continue };
        let are_same = [(file.said[0], step.iops), (file.said[1], step.mb_per_s)]
            .iter()
            .all(|(said, here)| said.zip(*here).is_none_or(|(said, here)| (said - here).abs() <= 0.5));
        let is_rare = file
            .at_limit
            .is_none_or(|seen| seen.intervals > 0 && seen.above.is_none_or(|above| 2 * above <= seen.intervals));
        if !are_same || !is_rare {
            continue;
        }
        let pairs =
            [(&mut file.iops, step.iops, LimitOf::Iops), (&mut file.mb_per_s, step.mb_per_s, LimitOf::Bandwidth)];
        for (rate, limit, of) in pairs {
            let Some((seen, limit)) =
                rate.zip(limit).filter(|(seen, limit)| seen > limit && *seen < MOST_TIMES * limit)
            else {
                continue;
            };
            *rate = Some(limit);
            all.push(Settled { file: at, of, seen, limit });
        }
    }
    all
}

/// What files say of limits that their list has and this day has not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OfList {
    /// Files that stopped at the limits of the list, in so many intervals that it is no chance.
    pub stopped: Vec<usize>,
    /// Files that did far more than those limits.
    pub beyond: Vec<usize>,
}

/// Which files speak for the limits of their list, where these are others than those of the day, and which against them.
pub fn held(files: &[DatabaseFile], limits: &Limits) -> OfList {
    let mut held = OfList::default();
    for (at, (file, of)) in files.iter().zip(&limits.files).enumerate() {
        let percents: Vec<f64> = of_list(file, of).into_iter().flatten().collect();
        let Some(most) = percents.into_iter().reduce(f64::max) else { continue };
        if most >= 100.0 * MOST_TIMES {
            held.beyond.push(at);
        } else if (AT_LIMIT_PERCENT..ABOVE_PERCENT).contains(&most)
            && file.at_limit.is_some_and(|seen| seen.intervals >= NO_CHANCE)
        {
            held.stopped.push(at);
        }
    }
    held
}

/// How much of its list's limits a file did, in percent, where these are others than those of the day.
fn of_list(file: &DatabaseFile, of: &FileLimits) -> [Option<f64>; 2] {
    let step = of.step.as_ref();
    let percent = |said: Option<f64>, here: Option<f64>, seen: Option<f64>| {
        let (said, seen) = (said?, seen?);
        ((here? - said).abs() > 0.5).then_some(100.0 * seen / said)
    };
    [
        percent(file.said[0], step.and_then(|step| step.iops), file.iops),
        percent(file.said[1], step.and_then(|step| step.mb_per_s), file.mb_per_s),
    ]
}

#[cfg(test)]
mod tests {
    use plimsoll_catalog::Catalog;

    use super::*;
    use crate::file::{AtLimit, FileKind};
    use crate::limits::limits;
    use crate::storage::{Storage, Wishes};

    fn file(iops: f64) -> DatabaseFile {
        DatabaseFile { iops: Some(iops), ..DatabaseFile::new("shop", "a", FileKind::Data, 100.0) }
    }

    #[test]
    fn a_moment_above_a_limit_is_the_limit() {
        let storage = Storage::on(Catalog::builtin().unwrap(), Wishes::default()).unwrap();
        let of = |file: DatabaseFile| {
            let mut files = [file];
            let found = limits(&files, &storage);
            (settle(&mut files, &found).len(), files[0].iops)
        };
        assert_eq!(of(file(561.0)), (1, Some(500.0)));
        assert_eq!(of(file(800.0)), (0, Some(800.0)), "that is another limit");
        assert_eq!(of(file(480.0)), (0, Some(480.0)));
        let seen = |intervals, above| Some(AtLimit { intervals, of: Some(30), above });
        assert_eq!(of(DatabaseFile { at_limit: seen(20, Some(3)), ..file(561.0) }), (1, Some(500.0)));
        assert_eq!(of(DatabaseFile { at_limit: seen(20, Some(15)), ..file(561.0) }), (0, Some(561.0)));
    }

    #[test]
    fn what_stops_at_the_limits_of_its_list_speaks_for_them() {
        let storage = Storage::on(Catalog::builtin().unwrap(), Wishes::default()).unwrap();
        let of = |iops: f64, intervals| {
            let at_limit = Some(AtLimit { intervals, of: None, above: None });
            let file = DatabaseFile { said: [Some(400.0), None], at_limit, ..file(iops) };
            let files = [file];
            held(&files, &limits(&files, &storage))
        };
        assert_eq!(of(404.0, 21), OfList { stopped: vec![0], beyond: vec![] });
        assert_eq!(of(404.0, 2), OfList::default());
        // So it does where the list has more than the day.
        let at_limit = Some(AtLimit { intervals: 22, of: None, above: None });
        let more = [DatabaseFile { said: [Some(12_500.0), None], at_limit, ..file(12_400.0) }];
        assert_eq!(held(&more, &limits(&more, &storage)), OfList { stopped: vec![0], beyond: vec![] });
        assert_eq!(of(700.0, 21), OfList { stopped: vec![], beyond: vec![0] });
    }
}
