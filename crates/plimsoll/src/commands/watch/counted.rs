//! What a server counted of waits, files and its other work: the figures of each, by the names that scripts read, and their JSON.

use plimsoll_measurement::counters::{Measure, Values};
use plimsoll_profile::bucket::Sum;
use plimsoll_profile::counted::{operations, time_us};
use plimsoll_profile::{AboutCounted, Counted, Source, Status, Thing};
use serde_json::{Map, Value};

use super::counters::OfSlot;
use super::names::put as put_known;

/// As in the records of runs.
const MB: f64 = (1 << 20) as f64;

/// A figure of a wait, a file or a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figure {
    /// In JSON and on the command line.
    pub name: &'static str,
    /// Above a column.
    pub label: &'static str,
    pub measure: Measure,
    pub is_time: bool,
    /// Which columns go first where there is little room; 0 stays.
    pub spare: u8,
}

const fn figure(name: &'static str, label: &'static str, measure: Measure, spare: u8) -> Figure {
    let is_time =
        matches!(measure, Measure::WaitUs | Measure::SignalUs | Measure::ReadUs | Measure::WriteUs | Measure::SyncUs);
    Figure { name, label, measure, is_time, spare }
}

const WAITS: [Figure; 3] = [
    figure("waits", "Waits", Measure::Waits, 0),
    figure("wait_us", "Time", Measure::WaitUs, 0),
    figure("signal_us", "For a CPU", Measure::SignalUs, 2),
];

const FILES: [Figure; 8] = [
    figure("reads", "Reads", Measure::Reads, 0),
    figure("read_us", "Read time", Measure::ReadUs, 4),
    figure("read_bytes", "Read", Measure::ReadBytes, 6),
    figure("writes", "Writes", Measure::Writes, 0),
    figure("write_us", "Write time", Measure::WriteUs, 3),
    figure("write_bytes", "Written", Measure::WriteBytes, 5),
    figure("syncs", "Syncs", Measure::Syncs, 1),
    figure("sync_us", "Sync time", Measure::SyncUs, 4),
];

const COUNTERS: [Figure; 1] = [figure("count", "Count", Measure::Count, 0)];

/// A mean time of an operation, in milliseconds: its name, what is above its column, time and number.
pub type Mean = (&'static str, &'static str, Measure, Measure);

const WAIT_MEANS: [Mean; 1] = [("wait_ms", "Mean", Measure::WaitUs, Measure::Waits)];

/// Those of reads, of writes and of syncs.
pub const FILE_MEANS: [Mean; 3] = [
    ("read_ms", "Mean read", Measure::ReadUs, Measure::Reads),
    ("write_ms", "Mean write", Measure::WriteUs, Measure::Writes),
    ("sync_ms", "Mean sync", Measure::SyncUs, Measure::Syncs),
];

/// The figures of a source, in the order of columns.
pub const fn figures(source: Source) -> &'static [Figure] {
    match source {
        Source::Queries => &[],
        Source::Waits => &WAITS,
        Source::Files => &FILES,
        Source::Counters => &COUNTERS,
    }
}

/// The mean times of a source.
pub const fn means(source: Source) -> &'static [Mean] {
    match source {
        Source::Waits => &WAIT_MEANS,
        Source::Files => &FILE_MEANS,
        Source::Queries | Source::Counters => &[],
    }
}

/// A mean time of an operation in milliseconds; `None` where the server takes no times, or nothing was done.
pub fn mean_ms(values: &Values, (_, _, time, count): Mean) -> Option<f64> {
    let count = values.get(count).filter(|count| *count > 0)?;
    Some(values.get(time)? as f64 / 1e3 / count as f64)
}

/// Megabytes in a second of the time that is known.
pub fn mb_per_second(values: &Values, measure: Measure, covered_us: u64) -> Option<f64> {
    (covered_us > 0).then_some(values.get(measure)? as f64 / MB / (covered_us as f64 / 1e6))
}

/// What it is ranked by if nobody says by what: time, and operations where no times are taken.
pub fn rank(values: &Values) -> (u64, u64) {
    (time_us(values), operations(values))
}

/// Those with most first.
pub fn ranked(counted: &Counted) -> Vec<(&Thing, &Sum)> {
    let mut ranked: Vec<_> = counted.sums.iter().collect();
    ranked.sort_by_key(|(_, sum)| std::cmp::Reverse(rank(&sum.values)));
    ranked
}

/// The sum of all, listed or not, of each measure that any of them has: a log that is never read has no reads that could be missing.
pub fn all(counted: &Counted) -> Values {
    let sums = counted.sums.values().chain(counted.other.as_ref().map(|other| &other.sum));
    let mut all = Values::default();
    for (measure, value) in sums.flat_map(|sum| sum.values.iter().collect::<Vec<_>>()) {
        all.set(measure, all.get(measure).unwrap_or(0).saturating_add(value));
    }
    all
}

/// Those beyond the first so many of a list, with what was not listed: how many, and their sum.
pub fn others<'s>(more: impl Iterator<Item = &'s Sum>, counted: &Counted) -> Option<(u64, Sum)> {
    let rest = counted.other.map(|other| (other.sums, other.sum));
    more.map(|sum| (1, *sum)).chain(rest).reduce(|(count, all), (more, sum)| {
        let (values, status) = (all.values.plus(&sum.values), all.status | sum.status);
        (count + more, Sum { values, status, longest_us: None })
    })
}

/// How a source is called in JSON.
const fn key(source: Source) -> &'static str {
    match source {
        Source::Queries => "queries",
        Source::Waits => "waits",
        Source::Files => "files",
        Source::Counters => "counters",
    }
}

/// New is exact, as long as nothing else is said.
const fn told(status: Status) -> Status {
    Status::from_bits(status.bits() & !Status::CREDITED.bits())
}

/// How far a sum can be believed.
pub fn status(status: Status) -> String {
    told(status).to_string()
}

/// What is known of a source beside its sums.
pub fn about_json(about: &AboutCounted) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("seconds".to_owned(), (about.covered_us as f64 / 1e6).into());
    object.insert("status".to_owned(), status(about.status).into());
    object.insert("unknown".to_owned(), serde_json::to_value(&about.unknown).unwrap_or_default());
    put_known(&mut object, "absent", about.absent.clone());
    object
}

/// All figures that are known, with mean times and rates.
pub fn figures_json(object: &mut Map<String, Value>, source: Source, sum: &Sum, covered_us: u64) {
    for figure in figures(source) {
        put_known(object, figure.name, sum.values.get(figure.measure));
    }
    for mean in means(source) {
        put_known(object, mean.0, mean_ms(&sum.values, *mean));
    }
    if source == Source::Files {
        let mb = |measure| mb_per_second(&sum.values, measure, covered_us);
        put_known(object, "read_mb_per_second", mb(Measure::ReadBytes));
        put_known(object, "write_mb_per_second", mb(Measure::WriteBytes));
    }
    object.insert("status".to_owned(), status(sum.status).into());
}

/// What a sum is of.
pub fn thing_json(thing: &Thing) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("name".to_owned(), thing.name.as_str().into());
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    put_known(&mut object, "kind", known(&thing.kind));
    put_known(&mut object, "database", known(&thing.database));
    object
}

/// Puts what was counted in a slot, so many of each source and the sum of the others.
pub fn put(object: &mut Map<String, Value>, read: &OfSlot, top: usize) {
    for (source, (about, counted)) in read {
        let mut of_source = about_json(about);
        let ranked = ranked(counted);
        let row = |(thing, sum): &(&Thing, &Sum)| {
            let mut row = thing_json(thing);
            figures_json(&mut row, *source, sum, about.covered_us);
            Value::from(row)
        };
        of_source.insert("rows".to_owned(), ranked.iter().take(top).map(row).collect());
        if let Some((count, sum)) = others(ranked.iter().skip(top).map(|(_, sum)| *sum), counted) {
            let mut other = Map::new();
            other.insert("sums".to_owned(), count.into());
            figures_json(&mut other, *source, &sum, about.covered_us);
            of_source.insert("other".to_owned(), other.into());
        }
        object.insert(key(*source).to_owned(), of_source.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_is_of_one_direction_and_absent_where_nothing_was_done() {
        let values = Values::of([
            (Measure::Reads, 4),
            (Measure::ReadUs, 10_000),
            (Measure::ReadBytes, 8 << 20),
            (Measure::Writes, 0),
            (Measure::WriteUs, 0),
        ]);
        let of = |at: usize| mean_ms(&values, FILE_MEANS[at]);
        assert_eq!((of(0), of(1), of(2)), (Some(2.5), None, None));
        assert_eq!(mb_per_second(&values, Measure::ReadBytes, 2_000_000), Some(4.0));
        assert_eq!(mb_per_second(&values, Measure::ReadBytes, 0), None);
    }

    #[test]
    fn a_source_that_could_not_be_read_says_why() {
        let read = OfSlot::from([(Source::Files, (AboutCounted::absent("no answer".to_owned()), Counted::default()))]);
        let mut object = Map::new();
        put(&mut object, &read, 10);
        assert_eq!((&object["files"]["absent"], &object["files"]["seconds"]), (&"no answer".into(), &0.0.into()));
    }
}
