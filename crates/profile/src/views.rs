//! Waits, files and other counters that a server shows of itself, as rows that can be compared, with what each is called.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use plimsoll_measurement::{CounterRow, FileLimit, FileRow, Views, WaitRow};

use crate::measure::{Measure, Values};
use crate::snapshot::{Item, Row, RowId, Source};

/// What a sum is of: a wait, a file, or a counter that stands for itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Thing {
    /// The server's name for it.
    pub name: String,
    /// What it is: the class of a wait, `data` or `log` of a file; empty where nobody says it.
    pub kind: String,
    /// The database of a file; empty where nobody says it.
    pub database: String,
    /// The service of the catalogue that holds a file of its own size to limits; empty for none.
    pub service: String,
}

/// The rows of a source, and what their items are called.
pub fn rows(source: Source, views: &Views) -> (Vec<Row>, BTreeMap<Item, Thing>) {
    let rows: Vec<(Row, Thing)> = match source {
        Source::Queries => Vec::new(),
        Source::Waits => views.waits.iter().map(wait).collect(),
        Source::Files => views.files.iter().map(file).collect(),
        Source::Counters => views.counters.iter().map(counter).collect(),
    };
    let things = rows.iter().map(|(row, thing)| (row.item, thing.clone())).collect();
    (rows.into_iter().map(|(row, _)| row).collect(), things)
}

/// What a source's times are a measure of.
pub const fn time_of(source: Source) -> Measure {
    match source {
        Source::Queries => Measure::ElapsedUs,
        Source::Waits => Measure::WaitUs,
        Source::Files => Measure::ReadUs,
        Source::Counters => Measure::Count,
    }
}

/// A number for texts that are the same as long as the program runs: nothing is kept by it.
fn identity(parts: &[&str]) -> u128 {
    let half = |seed: u8| {
        let mut hasher = DefaultHasher::new();
        seed.hash(&mut hasher);
        parts.hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}

fn us(seconds: Option<f64>) -> Option<u64> {
    seconds.filter(|seconds| *seconds >= 0.0).map(|seconds| (seconds * 1e6).round() as u64)
}

fn row<const N: usize>(
    thing: Thing,
    own: Option<&str>,
    created_us: Option<i64>,
    values: [(Measure, Option<u64>); N],
) -> (Row, Thing) {
    let item = identity(&[&thing.name, &thing.kind, &thing.database]);
    let known = values.into_iter().filter_map(|(measure, value)| Some((measure, value?)));
    let row = Row {
        id: RowId(own.map_or(item, |own| identity(&[own]))),
        item: Item(item),
        plan: None,
        created_us,
        values: Values::of(known),
        longest_us: None,
        is_nested: false,
    };
    (row, thing)
}

fn wait(wait: &WaitRow) -> (Row, Thing) {
    let kind = wait.class.map(|class| class.name().to_owned()).unwrap_or_default();
    let values = [
        (Measure::Waits, Some(wait.count)),
        (Measure::WaitUs, us(Some(wait.seconds))),
        (Measure::SignalUs, us(wait.signal_seconds)),
    ];
    row(Thing { name: wait.name.clone(), kind, ..Thing::default() }, None, None, values)
}

/// A file is the same as long as its handle is, where it has one; under its name it is the same whatever the handle.
fn file(file: &FileRow) -> (Row, Thing) {
    let thing = Thing {
        name: file.name.clone(),
        kind: file.kind.to_owned(),
        database: file.database.clone().unwrap_or_default(),
        service: match file.limit {
            Some(FileLimit::BySize(service)) => service.to_owned(),
            _ => String::new(),
        },
    };
    let values = [
        (Measure::Reads, file.reads),
        (Measure::ReadBytes, file.read_bytes),
        (Measure::ReadUs, us(file.read_stall_seconds)),
        (Measure::Writes, file.writes),
        (Measure::WriteBytes, file.write_bytes),
        (Measure::WriteUs, us(file.write_stall_seconds)),
        (Measure::Syncs, file.syncs),
        (Measure::SyncUs, us(file.sync_stall_seconds)),
    ];
    row(thing, file.handle.as_deref(), file.began_us, values)
}

fn counter(counter: &CounterRow) -> (Row, Thing) {
    let thing = Thing { name: counter.name.clone(), ..Thing::default() };
    row(thing, None, counter.began_us, [(Measure::Count, Some(counter.count))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_another_handle_is_another_row_of_the_same_name() {
        let of = |handle: &str| FileRow {
            name: "sales".to_owned(),
            kind: "data",
            handle: Some(handle.to_owned()),
            reads: Some(7),
            read_stall_seconds: Some(0.25),
            ..FileRow::default()
        };
        let views = Views { files: vec![of("5:1:0x1"), of("5:1:0x2")], ..Views::default() };
        let (rows, things) = rows(Source::Files, &views);
        assert!(rows[0].id != rows[1].id && rows[0].item == rows[1].item && things.len() == 1);
        assert_eq!(rows[0].values, Values::of([(Measure::Reads, 7), (Measure::ReadUs, 250_000)]));
    }

    #[test]
    fn a_wait_has_its_class_and_no_time_that_nobody_takes() {
        let wait = WaitRow { name: "WRITELOG".to_owned(), count: 3, seconds: 1.5, ..WaitRow::default() };
        let (rows, things) = rows(Source::Waits, &Views { waits: vec![wait], ..Views::default() });
        assert_eq!(rows[0].values, Values::of([(Measure::Waits, 3), (Measure::WaitUs, 1_500_000)]));
        assert_eq!(things[&rows[0].item].name, "WRITELOG");
    }
}
