//! Snapshots of what a server has counted that a job at the server makes, where nobody may poll: in which tables they are, which of them come
//! next, and whether they are whole. Nothing is made by us: whoever looks after the server installs the job.

use std::collections::{BTreeSet, VecDeque};

use plimsoll_measurement::counters::{Edge, Item, Measure, Row, Snapshot, Source};

use crate::error::{Error, ErrorKind, Result};
use crate::mark;
use crate::queries::{Counting, QuerySampler, QueryText, Waiting};
use crate::table_name;

/// The version of what is in the tables. Each snapshot has it.
pub const FORMAT: u32 = 1;

/// What the marks of the tables name in place of a workspace.
const MAKER: &str = "plimsoll watch job";

/// Servers take 63 bytes for a name, and the longest ending has nine.
const LONGEST: usize = 54;

const NO_SESSIONS: &str =
    "a job looks at no sessions: nothing is known of what they waited for, nor of statements that have not ended";

/// Why a snapshot is not that of all statements.
const LEFT_OUT: &str = "settings of the server left some out when a snapshot was made";

/// A column of such a table, with its type in the server's words.
pub type SnapshotColumn = (&'static str, &'static str);

/// The tables of a job: snapshots by their two ends, their rows, and the texts of statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotTables {
    /// The schema that they are in; `None` for the engine's usual one.
    pub schema: Option<String>,
    /// What their names begin with: that of the first table.
    pub name: String,
}

impl SnapshotTables {
    /// Those that a user means by `name` or `schema.name`.
    ///
    /// # Errors
    /// If it is no such thing.
    pub fn parse(text: &str) -> Result<Self> {
        let (schema, name) = table_name::parse(text, LONGEST)?;
        Ok(Self { schema, name })
    }

    /// The names of the tables: of snapshots, rows and texts.
    pub fn names(&self) -> [String; 3] {
        ["", "_rows", "_texts"].map(|ending| format!("{}{ending}", self.name))
    }

    /// The name of what makes a snapshot.
    pub fn job(&self) -> String {
        format!("{}_snapshot", self.name)
    }

    /// The name of the first one, as the user wrote it.
    pub fn shown(&self) -> String {
        self.schema.as_ref().map_or_else(|| self.name.clone(), |schema| format!("{schema}.{}", self.name))
    }

    /// What a table of this name is marked with.
    pub fn mark(name: &str) -> String {
        mark::of_part("table", name, MAKER)
    }

    /// Holds what was found of a table against what it should be: the name of each column, its type, and what the table is marked with.
    ///
    /// # Errors
    /// If it isn't there, isn't ours, or has other columns.
    pub fn check(&self, name: &str, found: &[[String; 3]], wanted: &[SnapshotColumn]) -> Result<()> {
        if found.is_empty() {
            let message = format!("the table {name} of snapshots is not there, or the user may not see it");
            return Err(Error::new(ErrorKind::ToolMissing, message).hint(format!(
                "'plimsoll watch job URL --table {}' prints what makes it, and the right to read it",
                self.shown()
            )));
        }
        let is_marked = found.iter().all(|[_, _, found]| *found == Self::mark(name));
        let is_same =
            |([name, kind, _], wanted): (&[String; 3], &SnapshotColumn)| (name.as_str(), kind.as_str()) == *wanted;
        let problem = match () {
            () if !is_marked => "was not made by what 'plimsoll watch job' prints",
            () if found.len() != wanted.len() || !found.iter().zip(wanted).all(is_same) => {
                "has other columns than this version of Plimsoll reads"
            }
            () => return Ok(()),
        };
        Err(Error::new(ErrorKind::Safety, format!("the table {name} {problem}"))
            .hint("name the table of a job with --snapshots, or install the job anew under another name"))
    }
}

/// A job that is to be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotJob {
    /// Where its snapshots go.
    pub tables: SnapshotTables,
    /// From one snapshot to the next, in seconds: fewer than 60, or whole minutes of which an hour has a whole number.
    pub every_s: u64,
    /// How long snapshots are kept, in seconds.
    pub keep_s: u64,
}

/// A snapshot that has its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptSnapshot {
    /// Its number: later ones have higher ones.
    pub number: i64,
    /// The version of what is in the tables.
    pub format: u32,
    /// From one to the next, as the job was asked for.
    pub every_us: u64,
    /// How many rows it has.
    pub rows: u64,
    /// When it ended, by the server's clock.
    pub end_us: i64,
}

/// What is in a snapshot.
#[derive(Debug)]
pub struct SnapshotContent {
    /// Before the first row.
    pub start: Edge,
    /// After the last row.
    pub end: Edge,
    /// Whether all statements were counted then, as far as settings say.
    pub counts_all: bool,
    /// Its rows; `None` for one that the server hid from the job.
    pub rows: Vec<Option<Row>>,
    /// Statements of the job, and of those who read it.
    pub own: Vec<Item>,
}

/// What reads the tables of an engine, and connects again after a loss.
pub trait SnapshotSource: Send {
    /// The snapshots that are there, the oldest first.
    ///
    /// # Errors
    /// If the server is lost, or the tables are not what they should be.
    fn made(&mut self) -> Result<Vec<KeptSnapshot>>;

    /// The snapshot of this number; `None` if it is there no more.
    ///
    /// # Errors
    /// If the server is lost, or it can't be read.
    fn read(&mut self, number: i64) -> Result<Option<SnapshotContent>>;

    /// Texts of some of its statements.
    ///
    /// # Errors
    /// If the server is lost.
    fn texts(&mut self, items: &[Item]) -> Result<Vec<QueryText>>;
}

/// Those that come after the one that ended at this moment. A clock that was set back puts later ones before it, which their numbers tell.
fn after(made: &[KeptSnapshot], read_us: Option<i64>) -> Vec<KeptSnapshot> {
    let Some(read_us) = read_us else { return made.to_vec() };
    match made.iter().rposition(|one| one.end_us == read_us) {
        Some(at) => made[at + 1..].to_vec(),
        None => made.iter().filter(|one| one.end_us > read_us).copied().collect(),
    }
}

/// Reads one snapshot after the other.
pub struct SnapshotReader {
    source: Box<dyn SnapshotSource>,
    name: String,
    waiting: VecDeque<KeptSnapshot>,
    /// The last one that was read, or passed over.
    passed: i64,
    every_us: Option<u64>,
    own: BTreeSet<Item>,
    counting: Counting,
    has_hidden: bool,
}

impl SnapshotReader {
    /// Reads these tables from a source.
    pub fn of(source: Box<dyn SnapshotSource>, tables: &SnapshotTables) -> Self {
        Self {
            source,
            name: tables.shown(),
            waiting: VecDeque::new(),
            passed: i64::MIN,
            every_us: None,
            own: BTreeSet::new(),
            counting: Counting::default(),
            has_hidden: false,
        }
    }
}

impl QuerySampler for SnapshotReader {
    /// The next one. One that is not whole is passed over with an error, and the next covers its time as well.
    fn snapshot(&mut self) -> Result<Snapshot> {
        let next = self.waiting.front().copied();
        let made = next.ok_or_else(|| Error::new(ErrorKind::NoResult, "no snapshot waits to be read"))?;
        let read = self.source.read(made.number);
        if !read.as_ref().is_err_and(|error| matches!(error.kind, ErrorKind::Lost | ErrorKind::Connect)) {
            self.waiting.pop_front();
            self.passed = made.number;
        }
        let damaged = |problem: String| {
            let message = format!("the snapshot {} of {} is damaged: {problem}", made.number, self.name);
            Error::new(ErrorKind::NoResult, message)
        };
        let read = read?.ok_or_else(|| damaged("it has not both its ends".to_owned()))?;
        let SnapshotContent { mut start, mut end, counts_all, rows, own } = read;
        if rows.len() as u64 != made.rows {
            return Err(damaged(format!("{} of its {} rows are there", rows.len(), made.rows)));
        }
        let is_counted = self.counting.read((!counts_all).then(|| LEFT_OUT.to_owned()));
        if !is_counted {
            // What is not counted by statement may not be in the sum of all of them either.
            (start.total, end.total) = (None, None);
        }
        self.own.extend(own);
        let is_complete = is_counted && rows.iter().all(Option::is_some);
        self.has_hidden |= rows.iter().any(Option::is_none);
        let rows = rows.into_iter().flatten().collect();
        let (source, total_of) = (Source::Queries, Measure::ElapsedUs);
        // Whoever made it had no clock but the server's.
        Ok(Snapshot { source, start, end, own_us: None, is_complete, total_of, rows })
    }

    fn own(&self) -> Vec<Item> {
        self.own.iter().copied().collect()
    }

    fn warnings(&self) -> Vec<String> {
        let hidden = "some statements are hidden from whoever runs the job, so what they cost is not known: GRANT pg_read_all_stats to that user";
        let hidden = self.has_hidden.then_some(hidden);
        [NO_SESSIONS].into_iter().chain(hidden).map(str::to_owned).chain(self.counting.warning()).collect()
    }

    fn texts(&mut self, items: &[Item]) -> Result<Vec<QueryText>> {
        self.source.texts(items)
    }

    fn waiting(&mut self, read_us: Option<i64>) -> Result<Option<Waiting>> {
        if self.waiting.is_empty() {
            let made = self.source.made()?;
            let new = after(&made, read_us).into_iter().filter(|one| one.number > self.passed);
            self.waiting = new.collect();
            if let Some(other) = self.waiting.iter().find(|one| one.format != FORMAT) {
                let message = format!(
                    "snapshots of {} are of format {}, and this version of Plimsoll reads format {FORMAT}",
                    self.name, other.format
                );
                return Err(Error::new(ErrorKind::Safety, message)
                    .hint("read them with the version that printed the job, or install the job of this one under another name"));
            }
            self.every_us = made.last().map(|last| last.every_us).or(self.every_us);
        }
        Ok(Some(Waiting { count: self.waiting.len(), every_us: self.every_us }))
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_measurement::counters::{Evictions, RowId, Server, Values};

    use super::*;

    fn made(number: i64, end_us: i64, rows: u64) -> KeptSnapshot {
        KeptSnapshot { number, format: FORMAT, every_us: 60_000_000, rows, end_us }
    }

    #[test]
    fn what_comes_next_is_known_by_where_the_last_one_ended() {
        let numbers =
            |made: &[KeptSnapshot], read_us| after(made, read_us).iter().map(|one| one.number).collect::<Vec<_>>();
        let all = [made(3, 100, 0), made(4, 160, 0), made(5, 220, 0)];
        assert_eq!(numbers(&all, None), [3, 4, 5]);
        assert_eq!((numbers(&all, Some(160)), numbers(&all, Some(220)).len()), (vec![5], 0));
        // The last one is there no more, or was none of these.
        assert_eq!((numbers(&all, Some(90)), numbers(&all, Some(130))), (vec![3, 4, 5], vec![4, 5]));
        let set_back = [made(3, 100, 0), made(4, 160, 0), made(5, 20, 0), made(6, 80, 0)];
        assert_eq!((numbers(&set_back, Some(160)), numbers(&set_back, Some(20))), (vec![5, 6], vec![6]));
    }

    /// Each with one row fewer than the next.
    struct Fake(Vec<KeptSnapshot>);

    impl SnapshotSource for Fake {
        fn made(&mut self) -> Result<Vec<KeptSnapshot>> {
            Ok(self.0.clone())
        }

        fn read(&mut self, number: i64) -> Result<Option<SnapshotContent>> {
            let Some(made) = self.0.iter().find(|made| made.number == number && number > 1) else { return Ok(None) };
            let server = Server { identity: String::new(), version: String::new(), started_us: 0 };
            let edge = Edge {
                clock_us: made.end_us,
                server,
                reset_us: None,
                are_stamps_derived: false,
                evictions: Evictions::Never,
                total: None,
            };
            let row = |id| Row {
                id: RowId(id),
                item: Item(id),
                plan: None,
                created_us: None,
                values: Values::default(),
                longest_us: None,
                is_nested: false,
            };
            let rows = (0..number as u128).map(|id| Some(row(id))).collect();
            Ok(Some(SnapshotContent {
                start: edge.clone(),
                end: edge,
                counts_all: number != 4,
                rows,
                own: vec![Item(7)],
            }))
        }

        fn texts(&mut self, _: &[Item]) -> Result<Vec<QueryText>> {
            Ok(Vec::new())
        }
    }

    fn reader(made: Vec<KeptSnapshot>) -> SnapshotReader {
        SnapshotReader::of(Box::new(Fake(made)), &SnapshotTables::parse("own.taken").unwrap())
    }

    #[test]
    fn a_snapshot_that_is_not_whole_is_passed_over_and_not_read_as_fewer_rows() {
        let mut reader = reader(vec![
            made(1, 10, 1),
            made(2, 20, 2),
            made(3, 30, 4),
            made(4, 40, 4),
            made(5, 50, 5),
            made(6, 60, 6),
        ]);
        let count = |reader: &mut SnapshotReader| reader.waiting(Some(0)).unwrap().unwrap().count;
        assert_eq!(count(&mut reader), 6);
        let read: Vec<_> = (0..6)
            .map(|_| reader.snapshot().map(|one| (one.rows.len(), one.is_complete)).map_err(|error| error.to_string()))
            .collect();
        assert!(read[0].as_ref().is_err_and(|error| error.contains("not both its ends")), "{read:?}");
        assert!(read[2].as_ref().is_err_and(|error| error.contains("3 of its 4 rows")), "{read:?}");
        assert_eq!(read[1], Ok((2, true)));
        // Not all statements were counted at one of its ends, and at the beginning of the next.
        assert_eq!((&read[3], &read[4], &read[5]), (&Ok((4, false)), &Ok((5, false)), &Ok((6, true))));
        // What was passed over is not looked at again, wherever the last one that could be read ended.
        assert_eq!((count(&mut reader), reader.own()), (0, vec![Item(7)]));
        assert_eq!(reader.snapshot().unwrap_err().kind, ErrorKind::NoResult);
    }

    #[test]
    fn another_format_is_refused() {
        let mut reader = reader(vec![made(2, 20, 2), KeptSnapshot { format: FORMAT + 1, ..made(3, 30, 3) }]);
        let error = reader.waiting(None).unwrap_err();
        assert!(error.kind == ErrorKind::Safety && error.to_string().contains("format 2"), "{error}");
    }

    #[test]
    fn a_table_is_ours_by_its_mark_and_its_columns() {
        let tables = SnapshotTables::parse("own.taken").unwrap();
        assert_eq!(tables.names(), ["taken", "taken_rows", "taken_texts"]);
        let wanted = [("a", "bigint"), ("b", "text")];
        let of = |mark: &str, kind: &str| [["a", "bigint", mark], ["b", kind, mark]].map(|row| row.map(str::to_owned));
        // Part of the contract between versions: by it a table is known as ours.
        let mark = "plimsoll: table taken_rows of plimsoll watch job";
        let check = |found: &[[String; 3]]| tables.check("taken_rows", found, &wanted).map_err(|error| error.kind);
        assert_eq!(check(&of(mark, "text")), Ok(()));
        assert_eq!(check(&[]), Err(ErrorKind::ToolMissing));
        assert_eq!(check(&of("", "text")), Err(ErrorKind::Safety));
        assert_eq!(check(&of(mark, "bigint")), Err(ErrorKind::Safety));
        assert_eq!(check(&of(mark, "text")[..1]), Err(ErrorKind::Safety));
    }
}
