//! Slots go into tables of the user's own database as they are told, in a thread of their own: however long that takes, and whatever fails
//! there, the watched server is read on time.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use plimsoll_bench::Interrupt;
use plimsoll_bench::interrupt::CancelGuard;
use plimsoll_clock::{Clock, enter};
use plimsoll_engine::{Database, Error, ErrorKind, Intents, Row, Saving, Value};
use plimsoll_measurement::exit;

use super::collector::Told;
use super::saved::SavedSlot;
use super::tables::Tables;
use crate::args::{Access, WatchSave};
use crate::engines;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::signals;

/// So many rows wait for a database that takes them again, beside those of the last slot: some 20 MB.
const MOST_ROWS: usize = 50_000;

/// So many texts are remembered as being there. More are sent again, and passed over.
const MOST_TEXTS: usize = 20_000;

/// Where slots are to be saved; `None` if nowhere.
///
/// # Errors
/// If the user did not allow it, or named no table.
pub fn place(options: &WatchSave) -> Result<Option<(Tables, &str)>, Failure> {
    let (Some(url), Some(table)) = (&options.save_to, &options.table) else { return Ok(None) };
    if !options.allow_writes {
        return Err(Failure::usage(format!(
            "--save-to adds rows to the table {table}, and this watch does not allow it"
        ))
        .code(exit::SAFETY)
        .hint("add --allow-writes; nothing was changed there"));
    }
    Ok(Some((Tables::named(table)?, url)))
}

/// What saves, as the watching sees it.
pub struct Saver {
    slots: Sender<SavedSlot>,
    thread: JoinHandle<Option<String>>,
    session: String,
    server: String,
    _pulse: Option<CancelGuard>,
}

impl Saver {
    /// Opens the database, makes the tables that are missing, and sees whether rows can be added.
    ///
    /// # Errors
    /// If it can't be done: nothing is watched then.
    pub fn begin(
        (tables, url): (Tables, &str),
        (server, password_file): (&str, Option<PathBuf>),
        settings: &Settings,
        interrupt: &Interrupt,
        printer: &Printer,
    ) -> Result<Self, Failure> {
        let target = engines::parse(url, settings, printer)?;
        let access = Access { password_file, is_second: true, ..Access::default() };
        let opened = engines::open(&target, &access, &Intents::default(), interrupt, printer);
        let clock = Arc::clone(&opened.clock);
        let failed = |error| signals::failure(interrupt, error);
        let database = opened.database.map_err(failed)?;
        let pulse = database.pulse().map(|pulse| interrupt.watch(pulse));
        let place = format!("{} of {}", tables.rows.shown(), target.display());
        let mut work = Work {
            saving: None,
            database,
            tables,
            place: place.clone(),
            waiting: VecDeque::new(),
            kept: BTreeSet::new(),
            given_up: 0,
            why: None,
            printer: printer.clone(),
        };
        work.saving = Some(work.connect().map_err(failed)?);
        let (slots, receiver) = channel();
        let thread = thread::Builder::new().name("save".to_owned()).spawn(move || work.go_on(&clock, &receiver));
        let thread =
            thread.map_err(|error| Error::new(ErrorKind::Statement, format!("cannot start a thread: {error}")))?;
        let session = uuid::Uuid::now_v7().simple().to_string();
        printer.remark(&format!("Each slot is added to {place} as session {session}."));
        Ok(Self { slots, thread, session, server: server.to_owned(), _pulse: pulse })
    }

    /// A slot was told.
    pub fn take(&self, told: &Told<'_>) {
        // The thread ends when nobody sends any more.
        let _ = self.slots.send(SavedSlot::of(told, &self.session, &self.server));
    }

    /// Waits for what is still to be saved. How many slots are not, and why; `None` if all are.
    pub fn end(self) -> Option<String> {
        drop(self.slots);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// What saves, in its thread.
struct Work {
    /// A session, unless the last one failed.
    saving: Option<Saving>,
    database: Box<dyn Database>,
    tables: Tables,
    place: String,
    waiting: VecDeque<SavedSlot>,
    /// Hashes of texts that are there.
    kept: BTreeSet<String>,
    /// Slots that will never be there.
    given_up: usize,
    /// Why the last one could not be saved, until one is.
    why: Option<Error>,
    printer: Printer,
}

impl Work {
    /// Saves slot after slot until nobody sends any, and then once more what is not saved.
    fn go_on(mut self, clock: &Arc<dyn Clock>, slots: &Receiver<SavedSlot>) -> Option<String> {
        let _on_clock = enter(clock, "save");
        while let Ok(slot) = slots.recv() {
            self.waiting.push_back(slot);
            self.waiting.extend(slots.try_iter());
            self.save();
            self.give_up();
        }
        self.save();
        let count = self.given_up + self.waiting.len();
        let slots = if count == 1 { "1 slot is".to_owned() } else { format!("{count} slots are") };
        let why = self.why.map_or_else(|| "they waited too long".to_owned(), |error| error.message);
        (count > 0).then(|| format!("{slots} not in {}: {why}", self.place))
    }

    /// A session with tables that rows can be added to.
    fn connect(&mut self) -> Result<Saving, Error> {
        let unsupported = || {
            Error::new(ErrorKind::Unsupported, format!("nothing can be saved in {}", self.place))
                .hint("name a database of PostgreSQL, MySQL, MariaDB or SQLite: the lab and SQL Server take no rows")
        };
        let mut saving = self.database.saving()?.ok_or_else(unsupported)?;
        saving.begin(&[&self.tables.texts, &self.tables.rows])?;
        // Somebody may have emptied them meanwhile.
        self.kept.clear();
        Ok(saving)
    }

    /// Saves what waits, the oldest first, up to one that can't be.
    fn save(&mut self) {
        while let Some(slot) = self.waiting.pop_front() {
            match self.add(&slot) {
                Ok(()) if self.why.take().is_some() => {
                    self.printer.remark(&format!("{} takes slots again.", self.place));
                }
                Ok(()) => {}
                Err(error) => {
                    self.waiting.push_front(slot);
                    if self.why.is_none() {
                        let text =
                            format!("{}: {error}; watching goes on, and it is tried again with each slot", self.place);
                        self.printer.warning(&text);
                    }
                    self.why = Some(error);
                    return;
                }
            }
        }
    }

    fn add(&mut self, slot: &SavedSlot) -> Result<(), Error> {
        let mut saving = match self.saving.take() {
            Some(saving) => saving,
            None => self.connect()?,
        };
        let new = slot.texts.iter().filter(|(id, _)| !self.kept.contains(*id));
        let row = |(id, text): (&String, &String)| {
            let mut row = Row::default();
            row.push(Value::Text(id));
            row.push(Value::Text(text));
            row
        };
        let texts: Vec<Row> = new.map(row).collect();
        saving.add(&[(&self.tables.texts, &texts), (&self.tables.rows, &slot.rows)])?;
        self.saving = Some(saving);
        if self.kept.len() > MOST_TEXTS {
            self.kept.clear();
        }
        self.kept.extend(slot.texts.keys().cloned());
        Ok(())
    }

    /// The oldest go where too much waits.
    fn give_up(&mut self) {
        let mut rows: usize = self.waiting.iter().map(|slot| slot.rows.len()).sum();
        while rows > MOST_ROWS && self.waiting.len() > 1 {
            rows -= self.waiting.pop_front().map_or(0, |slot| slot.rows.len());
            self.given_up += 1;
        }
    }
}
