//! Sessions at work, as the server shows them, and what their waits mean.

use plimsoll_engine::foreign;
use plimsoll_engine::queries::{SeenSession, Wait, WaitClass, without_values};
use plimsoll_measurement::counters::Item;
use xxhash_rust::xxh3::xxh3_64;

use super::Texts;

/// Which waits are of which class: by type of the wait, and by the begin of its name. The first that fits counts. Of two names for one
/// wait one is that of an earlier version.
const CLASSES: [(&str, &str, WaitClass); 24] = [
    ("IO", "DataFileRead", WaitClass::DataReads),
    ("IO", "DataFilePrefetch", WaitClass::DataReads),
    ("IO", "AioIo", WaitClass::DataReads),
    ("IO", "DataFile", WaitClass::DataWrites),
    ("IO", "BufFile", WaitClass::Temporary),
    ("IO", "WAL", WaitClass::LogWrites),
    ("IO", "Wal", WaitClass::LogWrites),
    ("IO", "ControlFile", WaitClass::LogWrites),
    ("LWLock", "WAL", WaitClass::LogWrites),
    ("LWLock", "BufferIO", WaitClass::DataReads),
    ("IPC", "BufferIO", WaitClass::DataReads),
    ("IPC", "BufferIo", WaitClass::DataReads),
    ("IPC", "SyncRep", WaitClass::Replication),
    ("IPC", "Checkpoint", WaitClass::LogWrites),
    ("Timeout", "CheckpointWriteDelay", WaitClass::LogWrites),
    ("Timeout", "SpinDelay", WaitClass::InternalLocks),
    ("Timeout", "Vacuum", WaitClass::Sleep),
    ("Timeout", "", WaitClass::Sleep),
    ("Lock", "", WaitClass::Locks),
    ("BufferPin", "", WaitClass::Locks),
    ("Buffer", "", WaitClass::InternalLocks),
    ("LWLock", "", WaitClass::InternalLocks),
    ("Client", "", WaitClass::Client),
    ("IO", "", WaitClass::Other),
];

/// What a session waits for in its commit, when its statement has been counted already; or before, as a statement writes the log, too.
const COMMITS: [WaitClass; 2] = [WaitClass::LogWrites, WaitClass::Replication];

/// A session of the statement "sessions at work"; `None` for the row that only says that there is none.
pub(super) fn of_row(row: &Texts) -> Option<SeenSession> {
    let number: i64 = row.get(3)?;
    let identity = format!("{number} {}", row.text(4).unwrap_or_default());
    let state = row.text(6)?;
    let wait = row.text(9).map(|kind| wait(kind, row.text(10).unwrap_or_default()));
    let statement = row.get::<u32>(7).zip(row.get::<i64>(8));
    Some(SeenSession {
        number,
        identity: xxh3_64(identity.as_bytes()),
        is_active: matches!(state, "active" | "fastpath function call"),
        state: state.to_owned(),
        start_us: row.get(5),
        item: statement.map(|(database, number)| Item(u128::from(database) << 64 | u128::from(number.cast_unsigned()))),
        text: row.text(12).map(without_values),
        database: row.text(13).map(foreign::masked),
        may_be_counted: wait.as_ref().is_some_and(|wait| COMMITS.contains(&wait.class)),
        wait,
        blocked_by: row.text(11).unwrap_or_default().split(' ').filter_map(|number| number.parse().ok()).collect(),
    })
}

fn wait(kind: &str, name: &str) -> Wait {
    let known = CLASSES.iter().find(|(of, begin, _)| *of == kind && name.starts_with(begin));
    Wait { class: known.map_or(WaitClass::Other, |(.., class)| *class), name: format!("{kind} {name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_read_with_what_is_not_known_left_out() {
        let texts =
            ["9", "3", "100", "71", "5", "6", "active", "2", "-1", "Lock", "tuple", "72 0", "SELECT 5", "sales"];
        let row = |texts: [&str; 14]| Texts(texts.map(|text| (!text.is_empty()).then(|| text.to_owned())).to_vec());
        let read = of_row(&row(texts)).unwrap();
        assert!(read.is_active && read.start_us == Some(6) && read.blocked_by == [72, 0]);
        assert_eq!(read.item, Some(Item(2 << 64 | u128::from(u64::MAX))));
        assert_eq!(read.wait, Some(Wait { class: WaitClass::Locks, name: "Lock tuple".to_owned() }));
        assert_eq!((read.text.as_deref(), read.database.as_deref()), (Some("SELECT ?"), Some("sales")));
        let mut other = texts;
        (other[4], other[6], other[8], other[9], other[10], other[11]) = ("8", "idle in transaction", "", "", "", "");
        let read_other = of_row(&row(other)).unwrap();
        assert!(read_other.identity != read.identity && !read_other.is_active && read_other.item.is_none());
        assert!(read_other.wait.is_none() && read_other.blocked_by.is_empty());
        other[3] = "";
        assert_eq!(of_row(&row(other)), None);
    }

    #[test]
    fn waits_have_the_class_of_what_would_lift_them() {
        let class = |kind, name| wait(kind, name).class;
        assert_eq!(class("IO", "DataFileRead"), WaitClass::DataReads);
        assert_eq!(class("IO", "DataFileExtend"), WaitClass::DataWrites);
        assert_eq!((class("IO", "WALSync"), class("LWLock", "WALWrite")), (WaitClass::LogWrites, WaitClass::LogWrites));
        assert_eq!(
            (class("IO", "WalSync"), class("LWLock", "ProcArray")),
            (WaitClass::LogWrites, WaitClass::InternalLocks)
        );
        assert_eq!(
            (class("IPC", "SyncRep"), class("Extension", "Extension")),
            (WaitClass::Replication, WaitClass::Other)
        );
    }
}
