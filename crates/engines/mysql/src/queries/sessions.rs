//! Sessions at work, as the threads of the Performance Schema show them, and values of its rows.

use std::collections::BTreeMap;

use plimsoll_engine::foreign;
use plimsoll_engine::queries::{SeenSession, Wait, WaitClass, without_values};
use plimsoll_measurement::counters::Item;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// The Performance Schema counts picoseconds.
pub(super) const PS_OF_US: u64 = 1_000_000;

/// What sessions wait for, by the beginnings of their states; the first that fits counts. Others work, or wait for what the server does not
/// tell.
const STATES: [(&str, WaitClass); 17] = [
    ("User sleep", WaitClass::Sleep),
    ("User lock", WaitClass::Locks),
    ("Waiting for handler commit", WaitClass::LogWrites),
    ("Waiting for prior transaction to", WaitClass::LogWrites),
    ("Commit", WaitClass::LogWrites),
    ("Updating status", WaitClass::LogWrites),
    ("Starting cleanup", WaitClass::LogWrites),
    ("Writing to net", WaitClass::Client),
    ("Sending to client", WaitClass::Client),
    ("Reading from net", WaitClass::Client),
    ("Table lock", WaitClass::Locks),
    ("Locked", WaitClass::Locks),
    ("Waiting for table", WaitClass::Locks),
    ("Waiting for global", WaitClass::Locks),
    ("Waiting for backup", WaitClass::Locks),
    ("Waiting for schema", WaitClass::Locks),
    ("Waiting", WaitClass::Other),
];

/// What a wait for a row lock is called, which has no state of its own.
const ROW_LOCK: &str = "InnoDB row lock";
/// What a session without a state of waiting does where nobody may see who waits for row locks.
const CPU_OR_ROW_LOCK: &str = "CPU or a row lock";

pub(super) fn text_of(row: &[Option<String>], at: usize) -> Option<&str> {
    row.get(at)?.as_deref()
}

pub(super) fn number(row: &[Option<String>], at: usize) -> Option<u64> {
    text_of(row, at)?.parse().ok()
}

/// A time of the Performance Schema.
pub(super) fn us(row: &[Option<String>], at: usize) -> Option<u64> {
    number(row, at).map(|ps| ps / PS_OF_US)
}

/// The statement of a database and a digest.
pub(super) fn item_of(database: &str, digest: &str) -> Item {
    Item(xxh3_128(format!("{database} {digest}").as_bytes()))
}

/// Which statement of a session, and when it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Begun {
    /// The server's number of it, or else a hash of its text.
    statement: u64,
    is_numbered: bool,
    pub(super) start_us: i64,
}

impl Begun {
    /// Whether another look saw the same execution. A start that follows from seconds differs by as much from look to look.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let is_one = (self.statement, self.is_numbered) == (other.statement, other.is_numbered);
        is_one && (self.is_numbered || self.start_us.abs_diff(other.start_us) < 2_000_000)
    }
}

/// What a session of the statement "sessions at work" executes since when, by the time that this took.
pub(super) fn begun(row: &[Option<String>], clock_us: i64) -> Option<(i64, Begun)> {
    let took_us = us(row, 11).or_else(|| number(row, 6).map(|seconds| seconds.saturating_mul(1_000_000)))?;
    let start_us = clock_us.saturating_sub(i64::try_from(took_us).ok()?);
    let event = number(row, 12);
    let statement = event.unwrap_or_else(|| xxh3_64(text_of(row, 8).unwrap_or_default().as_bytes()));
    let session = i64::try_from(number(row, 2)?).ok()?;
    let is_active = text_of(row, 4) != Some("Sleep");
    is_active.then_some((session, Begun { statement, is_numbered: event.is_some(), start_us }))
}

/// A statement as its client wrote it, without values. Here a text may stand in double quotes, too, and a comment behind `#`: nothing is left
/// from the first of these on, as `ANSI_QUOTES` decides whether it is a name. Nor is it from the first letter beyond ASCII on: the text is in
/// the client's character set, in some of which a backtick or a quote is half a letter.
fn as_written(sql: &str) -> String {
    match sql.find(|c: char| !c.is_ascii() || matches!(c, '"' | '#')) {
        Some(at) => format!("{} ?", without_values(&sql[..at]).trim_end()),
        None => without_values(sql),
    }
}

/// A session of the statement "sessions at work"; `None` for the row that only says that there is none. Without `transactions` it is not
/// known who waits for row locks.
pub(super) fn session_of(
    row: &[Option<String>],
    transactions: Option<&[(i64, bool)]>,
    begun: &BTreeMap<i64, Begun>,
) -> Option<SeenSession> {
    let session = i64::try_from(number(row, 2)?).ok()?;
    let command = text_of(row, 4).unwrap_or_default();
    let is_active = command != "Sleep";
    let waits_for_row = transactions.unwrap_or_default().iter().any(|(of, waits)| *of == session && *waits);
    let state = text_of(row, 5).unwrap_or_default();
    // MySQL writes some of them without a capital.
    let begins = |begin: &str| state.get(..begin.len()).is_some_and(|start| start.eq_ignore_ascii_case(begin));
    let known = STATES.iter().find(|(begin, _)| begins(begin));
    let wait = if waits_for_row {
        Some(Wait { class: WaitClass::Locks, name: ROW_LOCK.to_owned() })
    } else {
        let unseen = || Wait { class: WaitClass::Other, name: CPU_OR_ROW_LOCK.to_owned() };
        let named = known.map(|(_, class)| Wait { class: *class, name: state.to_owned() });
        named.or_else(|| transactions.is_none().then(unseen))
    };
    let digest = text_of(row, 9).filter(|digest| !digest.is_empty());
    Some(SeenSession {
        number: session,
        identity: xxh3_64(format!("{session} {}", text_of(row, 3).unwrap_or_default()).as_bytes()),
        is_active,
        state: if is_active { command.to_owned() } else { "idle in transaction".to_owned() },
        start_us: begun.get(&session).map(|begun| begun.start_us),
        item: digest.map(|digest| item_of(text_of(row, 10).unwrap_or_default(), digest)),
        text: text_of(row, 8).map(as_written),
        database: text_of(row, 7).map(foreign::masked),
        wait: wait.filter(|_| is_active),
        // Here a statement ends behind its commit.
        may_be_counted: false,
        blocked_by: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(texts: &[&str]) -> Vec<Option<String>> {
        texts.iter().map(|text| (!text.is_empty()).then(|| (*text).to_owned())).collect()
    }

    #[test]
    fn texts_in_double_quotes_and_comments_are_no_names() {
        for (sql, shown) in [
            ("UPDATE u SET p = \"a secret\" WHERE n = 'b'", "UPDATE u SET p = ?"),
            ("SELECT 1 # a secret\n, 2", "SELECT ? ?"),
            ("SELECT 1 AS あ`, 'a secret' AS あ`", "SELECT ? AS ?"),
            ("SELECT 'a # b', `c` FROM t", "SELECT ? ?"),
            ("SELECT 'it\\'s a secret', 2", "SELECT ?"),
            ("SELECT `c` FROM t WHERE n = 'b'", "SELECT `c` FROM t WHERE n = ?"),
        ] {
            assert_eq!(as_written(sql), shown, "{sql}");
        }
    }

    #[test]
    fn a_session_has_what_it_waits_for() {
        let texts = [
            "50000000",
            "9",
            "7",
            "30",
            "Query",
            "update",
            "2",
            "shop",
            "UPDATE a SET b = 5",
            "ab",
            "shop",
            "3000000000000",
            "5",
        ];
        let session_of = |row: &[Option<String>], transactions: &[(i64, bool)], clock_us: i64| {
            session_of(row, Some(transactions), &begun(row, clock_us).into_iter().collect())
        };
        let read = session_of(&row(&texts), &[(7, true)], 50_000_000).unwrap();
        assert!(read.is_active && read.start_us == Some(47_000_000));
        assert_eq!(read.wait, Some(Wait { class: WaitClass::Locks, name: ROW_LOCK.to_owned() }));
        assert_eq!((read.item, read.text.as_deref()), (Some(item_of("shop", "ab")), Some("UPDATE a SET b = ?")));
        assert_eq!(session_of(&row(&texts), &[], 50_000_000).unwrap().wait, None, "it works");
        let unseen = super::session_of(&row(&texts), None, &BTreeMap::new()).unwrap();
        assert_eq!(unseen.wait, Some(Wait { class: WaitClass::Other, name: CPU_OR_ROW_LOCK.to_owned() }));
        let mut idle = texts;
        (idle[4], idle[5], idle[8], idle[9], idle[11], idle[12]) = ("Sleep", "", "", "", "", "");
        let idle = session_of(&row(&idle), &[(7, false)], 50_000_000).unwrap();
        assert!(
            !idle.is_active && idle.state == "idle in transaction" && idle.start_us.is_none() && idle.item.is_none()
        );
        let nobody = row(&["50000000", "1", "", "", "", "", "", "", "", "", "", "", ""]);
        assert_eq!(session_of(&nobody, &[], 50_000_000), None);
        // The same execution, looked at again, has its number, or else its text and nearly its start.
        let again = |clock: i64, event: &str| {
            let mut texts = texts;
            texts[12] = event;
            begun(&row(&texts), clock).unwrap().1
        };
        assert!(
            again(50_000_000, "5").is_same(&again(90_000_000, "5"))
                && !again(50_000_000, "5").is_same(&again(50_000_000, "6"))
        );
        assert!(
            again(50_000_000, "").is_same(&again(51_000_000, ""))
                && !again(50_000_000, "").is_same(&again(60_000_000, ""))
        );
    }
}
