//! What was exported to a file, or saved in tables of the user's own, as the commands that show it read it: with as much as rows have of it.

mod file;
mod row;
mod session;
mod table;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

use plimsoll_profile::Record;
use serde_json::{Map, Value};

use self::file::SavedFile;
use self::row::{SavedRow, Slots};
use self::session::chosen;
use self::table::SavedTables;
use crate::args::{Access, WatchSource};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;

pub use self::session::{Session, Texts};

/// What rows don't have, by the names that JSON has for it, and why.
const ABSENT: [(&str, &str); 5] = [
    ("plan_changes", "rows are by statement, and not by plan"),
    ("sessions", "what sessions waited for, and who held others up, is in the store alone"),
    ("events", "what happened meanwhile is in the store alone, with the marks"),
    ("unknown", "what may be missing is in the store alone; the status says whether something may be"),
    ("new", "what is new is found with the days before, in the store"),
];
enum Source {
    File(SavedFile),
    Tables(Box<RefCell<SavedTables>>),
}

/// What was opened again.
pub struct Reopened {
    source: Source,
    /// The watchings that are meant, in order.
    sessions: Vec<Session>,
}

/// All watchings of a file or of a table, with what it is called.
pub struct Place {
    source: Source,
    texts: BTreeMap<Option<String>, Texts>,
    sessions: Vec<Session>,
    name: String,
}

impl Place {
    /// What options name; `None` if that is the store.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn open(from: &WatchSource, settings: &Settings, printer: &Printer) -> Result<Option<Self>, Failure> {
        if let Some(path) = &from.file {
            let file = SavedFile::open(path)?;
            let (mut sessions, mut texts) = (BTreeMap::new(), BTreeMap::<Option<String>, Texts>::new());
            // Reads all of it once: what is damaged is said before anything is shown.
            let mut each = |_: Record| {};
            let mut slots = Slots::of(&mut each);
            file.rows(&mut |row| {
                let (from_us, to_us) = (row.slot.start_us, row.slot.end_us);
                let key = (row.slot.session.clone(), row.slot.server.clone());
                let span = sessions.entry(key).or_insert((from_us, to_us));
                *span = (span.0.min(from_us), span.1.max(to_us));
                if let Some(known) = row.known() {
                    let texts = texts.entry(row.slot.server.clone()).or_default();
                    if known.text.is_some() || !texts.contains_key(&known.item) {
                        texts.insert(known.item, known);
                    }
                }
                slots.take(&row)
            })?;
            let session = |((id, server), (from_us, to_us))| Session { id, server, from_us, to_us };
            let sessions = sessions.into_iter().map(session).collect();
            return Ok(Some(Self { source: Source::File(file), texts, sessions, name: path.display().to_string() }));
        }
        if from.saved.is_none() && !from.session.is_empty() {
            return Err(Failure::usage("--session is of what was exported or saved")
                .hint("add --file FILE, or --saved URL --table NAME; the store has one watching of a server"));
        }
        let Some((url, table)) = from.saved.as_deref().zip(from.table.as_deref()) else { return Ok(None) };
        let access = Access { password_file: from.password_file.clone(), ..Access::default() };
        let mut tables = SavedTables::open((url, table), &access, settings, printer)?;
        let sessions = tables.sessions()?;
        let source = Source::Tables(Box::new(RefCell::new(tables)));
        Ok(Some(Self { source, texts: BTreeMap::new(), sessions, name: format!("table {table}") }))
    }

    /// All watchings, the last first.
    pub fn sessions(mut self) -> Vec<Session> {
        self.sessions.sort_by_key(|session| std::cmp::Reverse(session.to_us));
        self.sessions
    }

    /// The watchings of one server that are meant, what it is called, and the texts of its statements.
    ///
    /// # Errors
    /// If there are none.
    pub fn choose(mut self, server: Option<&str>, from: &WatchSource) -> Result<(Reopened, String, Texts), Failure> {
        let list = match &from.file {
            Some(path) => format!("'plimsoll watch list --file {}' lists what is in it", path.display()),
            None => "'plimsoll watch list --saved URL --table NAME' lists what is in it".to_owned(),
        };
        let sessions = chosen(&self.sessions, server, &from.session, &self.name, &list)?;
        let server = sessions.first().and_then(|session| session.server.clone());
        let texts = match &self.source {
            Source::File(_) => self.texts.remove(&server).unwrap_or_default(),
            Source::Tables(tables) => tables.borrow_mut().texts(&sessions)?,
        };
        let name = server.unwrap_or(self.name);
        Ok((Reopened { source: self.source, sessions }, name, texts))
    }
}

impl Reopened {
    /// From when to when there are rows.
    pub fn span_us(&self) -> Range<i64> {
        let from = self.sessions.iter().map(|session| session.from_us).min();
        let to = self.sessions.iter().map(|session| session.to_us).max();
        from.unwrap_or_default()..to.unwrap_or_default()
    }

    /// Each slot of a range.
    ///
    /// # Errors
    /// If rows can't be read, or are damaged.
    pub fn records(&self, range: &Range<i64>, mut each: impl FnMut(Record)) -> Result<(), Failure> {
        let mut each = |record: Record| each(record);
        let mut slots = Slots::of(&mut each);
        let mut take = |row: SavedRow| slots.take(&row);
        match &self.source {
            Source::File(file) => file.rows(&mut |row| {
                let slot = &row.slot;
                let is_of = |session: &Session| session.id == slot.session && session.server == slot.server;
                let is_meant = range.contains(&slot.start_us) && self.sessions.iter().any(is_of);
                if is_meant { take(row) } else { Ok(()) }
            })?,
            Source::Tables(tables) => {
                for id in self.sessions.iter().filter_map(|session| session.id.as_deref()) {
                    tables.borrow_mut().rows(id, range, &mut take)?;
                }
            }
        }
        slots.end();
        Ok(())
    }

    /// Takes out of a JSON object what rows don't have, so that nobody takes it for none, and puts in why.
    pub fn leave_out(object: &mut Map<String, Value>) {
        for name in ABSENT.map(|(name, _)| name).into_iter().chain(["server_events", "evictions"]) {
            object.remove(name);
        }
        let absent: Map<String, Value> =
            ABSENT.into_iter().map(|(name, why)| (name.to_owned(), Value::from(why))).collect();
        object.insert("absent".to_owned(), absent.into());
    }

    /// What rows don't have, in a sentence.
    pub fn absent_in_words() -> String {
        format!("Not in what was read: {}.", ABSENT.map(|(_, why)| why).join("; "))
    }
}
