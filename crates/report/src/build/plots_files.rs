//! Pictures of files on a storage whose limits follow from their size: where they stand on the staircase of limits, and what they did over time.

use plimsoll_plan::advice::AT_LIMIT_PERCENT;
use plimsoll_plan::rules::used;
use plimsoll_plan::storage::LimitOf;
use plimsoll_plan::{Activity, DatabaseFile, Demand, FileKind, Limits, Storage};

use crate::model::{Axis, Kind, Line, Look, Picture, Spot};

/// Files that are drawn over time; a table has all.
const MOST_DRAWN: usize = 5;

/// The limit that a file comes nearer to, as the part of it that is used over time, of the busiest files.
pub(super) fn used_over_time(files: &[DatabaseFile], limits: &Limits, activity: &[Activity]) -> Option<Picture> {
    let nearest = |at: usize| {
        let (activity, step) = (activity.get(at)?, limits.files.get(at)?.step.as_ref()?);
        let (_, of) = used(&files[at], &limits.files[at])?;
        let (demand, limit) = match of {
            LimitOf::Iops => (&activity.iops, step.iops?),
            LimitOf::Bandwidth => (&activity.mb_per_s, step.mb_per_s?),
        };
        Some((demand, 100.0 / limit))
    };
    let mut busiest: Vec<(f64, usize)> =
        (0..activity.len()).filter_map(|at| Some((used(&files[at], &limits.files[at])?.0, at))).collect();
    busiest.sort_by(|a, b| b.0.total_cmp(&a.0));
    busiest.truncate(MOST_DRAWN);
    let mut lines: Vec<Line> = busiest
        .iter()
        .enumerate()
        .filter_map(|(place, (_, at))| Some(course(files[*at].label(), place, nearest(*at)?)))
        .collect();
    let ends =
        lines.iter().flat_map(|line| &line.spots).map(|spot| spot.x).filter(|x| x.is_finite()).fold(0.0, f64::max);
    let guide = [0.0, ends].map(|x| Spot { x, y: 100.0, ..Spot::default() }).to_vec();
    lines.push(Line { name: "limit".to_owned(), look: Look::Guide, spots: guide });
    let (x, y) = (Axis::new("s", Kind::Elapsed), Axis::new("used of the limit, %", Kind::FromZero));
    (lines.len() > 1).then(|| Picture::lines("How much of its limit each file used", x, y, lines))
}

/// Operations of the busiest over time.
pub(super) fn over_time(all: &[Activity]) -> Option<Picture> {
    let highest = |one: &Activity| one.iops.highest().unwrap_or(0.0);
    let mut busiest: Vec<&Activity> = all.iter().collect();
    busiest.sort_by(|a, b| highest(b).total_cmp(&highest(a)));
    busiest.truncate(MOST_DRAWN);
    let lines = busiest.into_iter().enumerate().map(|(at, one)| course(one.name.clone(), at, (&one.iops, 1.0)));
    let (x, y) = (Axis::new("s", Kind::Elapsed), Axis::new("IOPS", Kind::FromZero));
    let picture = Picture::lines("I/Os a second over time", x, y, lines.collect());
    (!picture.is_empty()).then_some(picture)
}

/// A rate over time as steps; where it is not known the line is broken.
fn course(name: String, place: usize, (demand, scale): (&Demand, f64)) -> Line {
    let spots = demand.intervals.iter().flat_map(|interval| {
        let y = interval.rate.map_or(f64::NAN, |rate| rate * scale);
        [interval.start_s, interval.start_s + interval.seconds].map(|x| Spot { x, y, ..Spot::default() })
    });
    Line { name, look: Look::Measured(place), spots: spots.collect() }
}

/// Operations a second by the size of a file, with the files on it.
pub(super) fn staircase(files: &[DatabaseFile], storage: &Storage<'_>, limits: &Limits) -> Picture {
    let known: Vec<(f64, f64)> = storage.steps.iter().filter_map(|step| Some((step.blob_gb, step.iops?))).collect();
    let smallest = files.iter().map(|file| file.size_gb).fold(32.0_f64, f64::min).max(1.0);
    let begins = std::iter::once(smallest).chain(known.iter().map(|(blob_gb, _)| *blob_gb));
    let stairs = begins.zip(&known).flat_map(|(from, (to, iops))| [(from, *iops), (*to, *iops)]);
    let spot = |(x, y): (f64, f64)| Spot { x, y, ..Spot::default() };
    let mut lines =
        vec![Line { name: "limit by size".to_owned(), look: Look::Guide, spots: stairs.map(spot).collect() }];
    let percent = |at: usize| used(&files[at], &limits.files[at]).map_or(0.0, |(percent, _)| percent);
    let is_at_limit = |at: usize| percent(at) >= AT_LIMIT_PERCENT;
    let line = |name: String, number: usize, places: Vec<usize>| {
        let of = |at: usize| {
            let y = limits.files[at].step.as_ref()?.iops?;
            Some(Spot { x: files[at].size_gb.max(smallest), y, label: files[at].label(), ..Spot::default() })
        };
        let mut spots: Vec<Spot> = places.into_iter().filter_map(of).collect();
        spots.sort_by(|a, b| a.x.total_cmp(&b.x));
        // Files are no course: nothing leads from one to the next.
        let apart = spots.into_iter().flat_map(|spot| {
            let gap = Spot { x: spot.x, y: f64::NAN, ..Spot::default() };
            [spot, gap]
        });
        Line { name, look: Look::Measured(number), spots: apart.collect() }
    };
    let mut all: Vec<(String, Vec<usize>)> = [FileKind::Data, FileKind::Log]
        .map(|kind| {
            let calm = (0..files.len()).filter(|at| files[*at].kind == kind && !is_at_limit(*at));
            (format!("{} files", kind.name()), calm.collect())
        })
        .into();
    let mut busy: Vec<usize> = (0..files.len()).filter(|at| is_at_limit(*at)).collect();
    busy.sort_by(|a, b| percent(*b).total_cmp(&percent(*a)));
    if busy.len() <= MOST_DRAWN {
        all.extend(busy.iter().map(|at| (format!("{}, at a limit", files[*at].label()), vec![*at])));
    } else {
        all.push(("files at a limit".to_owned(), busy));
    }
    lines.extend(all.into_iter().enumerate().map(|(number, (name, places))| line(name, number, places)));
    let (x, y) = (Axis::new("size of the file, GB", Kind::Log), Axis::new("limit, IOPS", Kind::FromZero));
    Picture::lines("What files have by their size", x, y, lines)
}
