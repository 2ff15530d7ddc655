//! What was bought of a volume, and how much of it came.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use plimsoll_measurement::cell::size_of_block;
use plimsoll_measurement::{Ceiling, Cell, RunRecord};

use super::cells::{Row, rows};
use super::limits::{BURST_PERCENT, Limits};
use super::steadiness::{bursts, steadiness};
use crate::model::format::{listed, plain, quantity, rounded};

/// What was done in cells of one class, with one or several numbers under way.
struct Work {
    class: String,
    /// How much of what was bought it delivered with that number under way which brought most.
    percent: f64,
    /// The most that it had under way.
    under_way: u64,
    /// Whether it could not do all that the disk can.
    is_held: bool,
}

impl Work {
    /// The works of these cells; `None` where there are no limits.
    fn of(rows: &[Row<'_>], limits: &Limits<'_>) -> Option<Vec<Self>> {
        let mut works: Vec<((Cell, bool), BTreeMap<u64, f64>)> = Vec::new();
        for row in rows {
            let percent = row.percent_of(limits)?;
            let work = (Cell { threads: 1, queue_depth: 1, ..row.cell.clone() }, row.is_held());
            let at = works.iter().position(|(known, _)| *known == work).unwrap_or_else(|| {
                works.push((work, BTreeMap::new()));
                works.len() - 1
            });
            // The same cell again may show a burst that has ended.
            let known = works[at].1.entry(row.under_way()).or_insert(percent);
            *known = known.min(percent);
        }
        let of = |((cell, is_held), percents): ((Cell, bool), BTreeMap<u64, f64>)| Self {
            class: plain(&cell.label),
            percent: percents.values().copied().fold(0.0, f64::max),
            under_way: percents.keys().copied().max().unwrap_or(1),
            is_held,
        };
        Some(works.into_iter().map(of).collect())
    }
}

/// Each class with the least and the most that its works delivered.
fn classes<'a>(works: &[&'a Work]) -> Vec<(&'a str, f64, f64)> {
    let mut classes: Vec<(&str, f64, f64)> = Vec::new();
    for Work { class, percent, .. } in works {
        match classes.iter_mut().find(|(known, ..)| known == class) {
            Some((_, low, high)) => (*low, *high) = (low.min(*percent), high.max(*percent)),
            None => classes.push((class, *percent, *percent)),
        }
    }
    classes
}

/// What was bought and how much of it came, by class, with what is below what somebody expects; `None` without limits.
pub fn bought(record: &RunRecord) -> Option<String> {
    let limits = Limits::of(record);
    let rows = rows(record);
    // A database has limits as well, and no cells.
    rows.first()?;
    let works = Work::of(&rows, &limits)?;
    let (held, free): (Vec<&Work>, Vec<&Work>) = works.iter().partition(|work| work.is_held);
    let (alone, works_judged): (Vec<&Work>, Vec<&Work>) = free.into_iter().partition(|work| work.under_way == 1);
    let (held, alone) = (classes(&held), classes(&alone));
    let judged = classes(&works_judged);
    let range = |(name, low, high): &(&str, f64, f64)| {
        let [low, high] = [low, high].map(|percent| told(*percent, limits.expected));
        if low == high { format!("{name} {low} %") } else { format!("{name} {low} to {high} %") }
    };
    let list = |classes: &[(&str, f64, f64)]| classes.iter().map(range).collect::<Vec<String>>().join(", ");
    let limit: Vec<String> = limits.told().into_iter().flatten().collect();
    let parts = [
        (!judged.is_empty()).then(|| list(&judged)),
        // Nobody fills a disk so, whatever disk it is.
        (!alone.is_empty()).then(|| format!("measured only one at a time, which fills no disk: {}", list(&alone))),
        (!held.is_empty()).then(|| format!("at a rate that was asked for or beside others: {}", list(&held))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let mut sentence = format!("Of the limit of {}: {}.", limit.join(" or "), parts.join("; "));
    if works.iter().any(|work| work.percent > BURST_PERCENT) {
        sentence.push_str(
            " What is above 100 % may be a burst, which ends, a cache that answers, or I/Os that count as fewer than reckoned here.",
        );
    }
    if let Some(ceiling) = limits.iops.filter(|_| rows.iter().any(|row| limits.pieces(row.cell) > 1)) {
        let cut = ceiling.stripe.map(|stripe| (stripe.unit_bytes, "fall on several disks, and count on each"));
        let counted = ceiling.io_bytes.map(|bytes| (bytes, "count as several"));
        for (bytes, words) in
            cut.into_iter().chain(counted).filter(|(bytes, _)| rows.iter().any(|row| row.cell.block_bytes > *bytes))
        {
            let _ = write!(sentence, " I/Os of more than {} {words}.", size_of_block(bytes));
        }
    }
    if let Some(expected) = limits.expected {
        let all_below = || works_judged.iter().filter(|work| work.percent < expected);
        let mut below: Vec<String> =
            all_below().map(|work| format!("{} ({} under way)", work.class, work.under_way)).collect();
        below.dedup();
        let most = works.iter().map(|work| work.under_way).max().unwrap_or(1);
        let may_be_more = all_below().any(|work| work.under_way < most);
        let more = if may_be_more { " More under way may bring more." } else { "" };
        let all = match (alone.is_empty(), held.is_empty()) {
            (true, true) => "All",
            (false, true) => "All with more under way",
            (_, false) => "All others",
        };
        let judged = match (judged.as_slice(), below.as_slice()) {
            ([], _) => format!(
                " Nothing was measured by itself with more under way, so nothing is held against the expected {expected} %."
            ),
            (_, []) => format!(" {all} are at {expected} % or above, as expected."),
            _ => format!(" Below the expected {expected} %: {}.{more}", below.join(", ")),
        };
        sentence.push_str(&judged);
    }
    Some(sentence)
}

/// From this share of a limit on it is the limit that held operations back, in percent.
const FULL_PERCENT: f64 = 95.0;

/// Works that are named in a sentence.
const MOST_WORKS: usize = 2;

/// Which of its limits held a volume back; `None` where the run is of something else.
pub fn held_back(record: &RunRecord) -> Option<String> {
    let limits = Limits::of(record);
    let rows = rows(record);
    rows.first()?;
    let told = limits.told();
    if told.iter().all(Option::is_none) {
        return Some("not known, as nobody said which disk was bought (--as)".to_owned());
    }
    // One operation at a time fills no disk, and the same cell again may show a burst that has ended.
    let mut shares: Vec<(&Cell, [Option<f64>; 2])> = Vec::new();
    for row in rows.iter().filter(|row| row.under_way() > 1 && !row.is_held()) {
        let own = row.percents_of(&limits);
        match shares.iter_mut().find(|(known, _)| *known == row.cell) {
            Some((_, known)) => *known = [0, 1].map(|at| known[at].zip(own[at]).map(|(a, b)| a.min(b))),
            None => shares.push((row.cell, own)),
        }
    }
    let most = shares.iter().flat_map(|(_, share)| share).copied().flatten().reduce(f64::max);
    // Which works came to a limit, and to no more than that.
    let full = [0, 1].into_iter().filter_map(|at| {
        let is_full = |percent: f64| (FULL_PERCENT..BURST_PERCENT).contains(&percent);
        let mut works: Vec<String> = Vec::new();
        for (cell, _) in shares.iter().filter(|(_, share)| share[at].is_some_and(is_full)) {
            let work = plain(&cell.label);
            if !works.contains(&work) {
                works.push(work);
            }
        }
        (!works.is_empty()).then_some(())?;
        Some(format!("{} ({})", told[at].as_deref()?, listed(&works, MOST_WORKS)))
    });
    let full: Vec<String> = full.collect();
    // What stood at one limit was held by that, however much it made of the other.
    let is_at_limit = |share: &[Option<f64>; 2]| {
        share.iter().flatten().any(|percent| (FULL_PERCENT..BURST_PERCENT).contains(percent))
    };
    let others = shares.iter().filter(|(_, share)| !is_at_limit(share)).flat_map(|(_, share)| share);
    let above = others.copied().flatten().reduce(f64::max).filter(|most| *most >= BURST_PERCENT);
    let has_ended = || !bursts(record, &steadiness(record)).is_empty();
    let held = match (full.as_slice(), most) {
        ([], Some(_)) if above.is_some() && has_ended() => {
            let all: Vec<&str> = told.iter().flatten().map(String::as_str).collect();
            format!("its limit of {}, once its burst had ended", all.join(" or of "))
        }
        ([], Some(most)) if above.is_some() => {
            format!(
                "no limit that lasts: {most:.0} % of what was bought came, as in a burst, which ends, or from a cache"
            )
        }
        ([], Some(most)) => format!("no limit of what was bought, of which at most {most:.0} % came"),
        ([], None) => "not known, as nothing was measured by itself with more than one under way".to_owned(),
        (full, _) => {
            let more = above.map_or_else(String::new, |most| {
                format!(
                    ", and none elsewhere: up to {most:.0} % of one came, as in a burst, which ends, or from a cache"
                )
            });
            format!("its limit of {}{more}", full.join(" and of "))
        }
    };
    // The headline is that of the first.
    let first = rows.first().filter(|row| row.under_way() == 1 && !shares.is_empty());
    Some(match first {
        Some(row) => {
            let work = plain(&row.cell.label);
            format!("in {work}, with one under way at a time, how long each takes; elsewhere {held}")
        }
        None => held,
    })
}

/// Where these limits come from, a sentence each.
pub fn limits(record: &RunRecord) -> Vec<String> {
    let known = record.ceilings.iter().filter(|ceiling| ceiling.resource.starts_with("data_"));
    let sentence = |ceiling: &Ceiling| {
        let date = ceiling.date.as_ref().map(|date| format!(", as of {date}")).unwrap_or_default();
        let is_rate = ceiling.unit == "1/s";
        let value = if is_rate { format!("{} IOPS", rounded(ceiling.value)) } else { quantity(ceiling.value, "MB/s") };
        format!("Limit of {value}: {}{date}.", plain(&ceiling.source))
    };
    if rows(record).is_empty() { Vec::new() } else { known.map(sentence).collect() }
}

/// A percentage in whole numbers; in tenths, and none too high, where it is below what is expected and would be rounded up to that.
fn told(percent: f64, expected: Option<f64>) -> String {
    if expected.is_some_and(|expected| percent < expected && percent.round() >= expected) {
        format!("{:.1}", (10.0 * percent).floor() / 10.0)
    } else {
        format!("{percent:.0}")
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_measurement::{Metric, Operation, Point, Repetition, Stripe, SyncMode};

    use super::super::cells::tests::{cell, record};
    use super::*;

    #[test]
    fn a_database_has_limits_and_nothing_that_was_bought() {
        let ceiling = Ceiling { resource: "data_iops".to_owned(), value: 320.0, ..Default::default() };
        let mut record = record(2);
        record.ceilings = vec![ceiling];
        assert!(bought(&record).is_some_and(|told| told.starts_with("Of the limit of 320 IOPS")));
        assert_eq!(limits(&record).len(), 1);
        record.repetitions.iter_mut().flat_map(|one| &mut one.points).for_each(|point| point.cell = None);
        assert_eq!((bought(&record), limits(&record)), (None, Vec::new()));
    }

    #[test]
    fn a_percentage_below_what_is_expected_is_not_rounded_up_to_it() {
        let all = [(97.5, Some(98.0)), (97.99, Some(98.0)), (98.2, Some(98.0)), (97.5, None)].map(|(a, b)| told(a, b));
        assert_eq!(all, ["97.5", "97.9", "98", "98"]);
    }

    #[test]
    fn the_limit_that_was_reached_held_a_volume_back() {
        let ceiling =
            |resource: &str, value: f64| Ceiling { resource: resource.to_owned(), value, ..Default::default() };
        // 10,000 and 20,000 I/Os of 8 KiB a second.
        let mut record = record(1);
        let mut held = |iops: f64, mb_per_s: f64| {
            record.ceilings = vec![ceiling("data_iops", iops), ceiling("data_bandwidth", mb_per_s)];
            held_back(&record).unwrap()
        };
        assert_eq!(held(20_000.0, 200.0), "its limit of 20,000 IOPS (OR)");
        assert_eq!(held(20_500.0, 157.0), "its limit of 20,500 IOPS (OR) and of 157 MB/s (OR)");
        assert_eq!(held(40_000.0, 157.0), "its limit of 157 MB/s (OR)");
        assert_eq!(held(40_000.0, 313.0), "no limit of what was bought, of which at most 50 % came");
        assert_eq!(
            held(5_000.0, 1e6),
            "no limit that lasts: 400 % of what was bought came, as in a burst, which ends, or from a cache"
        );
        // After the burst the same cell makes what was bought.
        let again: Vec<Point> = record.repetitions[0]
            .points
            .iter()
            .map(|point| {
                Point { index: point.index + 2, ..point.clone() }
                    .with(Metric::Iops, 5_000.0)
                    .with(Metric::BytesPerS, 5_000.0 * 8192.0)
            })
            .collect();
        record.repetitions[0].points.extend(again);
        assert_eq!(held_back(&record).unwrap(), "its limit of 5,000 IOPS (OR)");
        record.repetitions[0].points.iter_mut().filter_map(|point| point.cell.as_mut()).for_each(|cell| {
            (cell.threads, cell.queue_depth) = (1, 1);
        });
        assert!(
            held_back(&record).unwrap().starts_with("not known, as nothing was measured"),
            "one at a time fills no disk"
        );
        record.ceilings.clear();
        assert!(held_back(&record).unwrap().starts_with("not known, as nobody said"));
        record.repetitions.clear();
        assert_eq!(held_back(&record), None, "of a database other sentences tell");
    }

    #[test]
    fn what_is_cut_counts_as_several_and_more_than_all_is_a_burst() {
        let ceiling = |resource: &str, value: f64, io_bytes: Option<u64>| Ceiling {
            resource: resource.to_owned(),
            value,
            io_bytes,
            ..Default::default()
        };
        let mut record = record(1);
        // 10,000 and 20,000 I/Os of 8 KiB a second.
        record.ceilings = vec![ceiling("data_iops", 40_000.0, None), ceiling("data_bandwidth", 1e6, None)];
        let said = |record: &RunRecord| bought(record).unwrap();
        // Of both numbers under way the higher rate is what the disk delivers.
        assert_eq!(said(&record), "Of the limit of 40,000 IOPS or 1,000,000 MB/s: OR 50 %.");
        record.ceilings[0].stripe = Some(Stripe { columns: 2, unit_bytes: 4096 });
        let over_two = " I/Os of more than 4 KiB fall on several disks, and count on each.";
        assert!(said(&record).ends_with(&format!("OR 100 %.{over_two}")), "{}", said(&record));
        record.ceilings[0].stripe = None;
        record.ceilings[0].io_bytes = Some(4096);
        assert!(said(&record).ends_with("OR 100 %. I/Os of more than 4 KiB count as several."), "{}", said(&record));
        record.ceilings[0].value = 20_000.0;
        assert!(
            said(&record).contains("OR 200 %. What is above 100 % may be a burst, which ends, a cache that answers, or I/Os that count as fewer than reckoned here."),
            "{}",
            said(&record)
        );
    }

    #[test]
    fn a_disk_is_held_to_what_it_delivers_with_enough_under_way() {
        let log =
            Cell { operation: Operation::Write.into(), sync: SyncMode::ODsync.into(), queue_depth: 1, ..cell("", 1) };
        let log = Cell { label: log.work(), ..log };
        let read = |threads: u32, queue_depth: u32| {
            let read = Cell { queue_depth, ..cell("", threads) };
            Cell { label: read.work(), ..read }
        };
        let run = |cells: &[(Cell, f64)]| {
            let point = |(index, (cell, iops)): (u32, &(Cell, f64))| {
                Point { index, cell: Some(cell.clone()), ..Point::default() }.with(Metric::Iops, *iops)
            };
            let points = (0..).zip(cells).map(point).collect();
            let ceiling = Ceiling { resource: "data_iops".to_owned(), value: 5_000.0, ..Default::default() };
            let mut record = RunRecord { ceilings: vec![ceiling], ..RunRecord::default() };
            record.repetitions = vec![Repetition { points, ..Repetition::default() }];
            record.parameters.insert("expect".to_owned(), 75.into());
            bought(&record).unwrap()
        };
        let (one, full) = ((read(1, 1), 100.0), (read(2, 32), 5_000.0));
        assert_eq!(
            run(&[full.clone(), one.clone(), (log.clone(), 200.0)]),
            "Of the limit of 5,000 IOPS: random read 8 KiB 100 %; measured only one at a time, which fills no disk: random write 8 KiB \
             o_dsync 4 %. All with more under way are at 75 % or above, as expected."
        );
        let below = run(&[(read(2, 32), 3_000.0), one.clone()]);
        assert!(
            below.ends_with("random read 8 KiB 60 %. Below the expected 75 %: random read 8 KiB (64 under way)."),
            "{below}"
        );
        // The same again, once its burst is over.
        let again = run(&[full.clone(), (read(2, 32), 1_000.0)]);
        assert!(again.ends_with("Below the expected 75 %: random read 8 KiB (64 under way)."), "{again}");
        let large = Cell { block_bytes: 65_536, ..read(2, 8) };
        let few = run(&[full.clone(), (Cell { label: large.work(), ..large }, 1_000.0)]);
        assert!(few.ends_with("random read 64 KiB (16 under way). More under way may bring more."), "{few}");
        // Whoever asks for 500 a second gets no more.
        let asked = {
            let mut record = RunRecord::default();
            let ceiling = Ceiling { resource: "data_iops".to_owned(), value: 5_000.0, ..Default::default() };
            record.ceilings = vec![ceiling];
            let point = Point { cell: Some(read(2, 32)), ..Point::default() };
            let points = vec![point.with(Metric::Iops, 500.0).with(Metric::AskedPerSecond, 500.0)];
            record.repetitions = vec![Repetition { points, ..Repetition::default() }];
            record.parameters.insert("expect".to_owned(), 75.into());
            bought(&record).unwrap()
        };
        assert!(asked.contains("at a rate that was asked for or beside others: random read 8 KiB 10 %"), "{asked}");
        assert!(asked.ends_with("so nothing is held against the expected 75 %."), "{asked}");
        // Neither what ran beside a cell nor that cell had the disk for itself.
        let beside = Cell { beside: Some(read(2, 32).label), ..read(1, 32) };
        let shared = run(&[(read(2, 32), 500.0), (beside, 400.0)]);
        assert!(
            shared.contains("at a rate that was asked for or beside others: random read 8 KiB 8 to 10 %"),
            "{shared}"
        );
        assert!(shared.ends_with("so nothing is held against the expected 75 %."), "{shared}");
        let alone = run(&[(log, 200.0)]);
        assert!(alone.contains("so nothing is held against the expected 75 %"), "{alone}");
    }
}
