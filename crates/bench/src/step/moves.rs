//! Whole databases on the move (reference, 2.14): a dump and its import by the engine's own tools, and copies by the server.
//! The time that counts for an import is that of loading rows; making indexes comes after and is a stage of its own.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_engine::mover::{COPY, Move, TABLES};
use plimsoll_engine::{Cancel, Database, Error, ErrorKind, Follow, Mover, Place, Result, Table, process, value::Tally};
use plimsoll_measurement::{Moment, Point, units};

use super::{Context, Measure, contradiction, scan};
use crate::dataset::{self, Wanted};
use crate::interrupt::Watched;

/// Stage that an import begins with: the dump is written.
pub(crate) const DUMP: &str = "dump";

/// A long stage gives a point for each of these.
const MINUTE: Duration = Duration::from_mins(1);

/// How often the size of a growing database is asked for.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What is moved, and how.
pub(super) struct Moves {
    imports: bool,
    source: Option<Source>,
}

struct Source {
    mover: Box<dyn Mover>,
    wanted: Wanted,
    place: Place,
    target: Place,
    content_bytes: u64,
    page_bytes: u64,
}

impl Moves {
    /// Dumps and imports.
    pub(super) fn importing() -> Self {
        Self { imports: true, source: None }
    }

    /// Copies.
    pub(super) fn copying() -> Self {
        Self { imports: false, source: None }
    }
}

impl Measure for Moves {
    fn prepare(&mut self, context: &mut Context<'_>) -> Result<()> {
        let engine = &context.database.description().engine;
        let mut mover = context.database.mover(context.place)?.ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, format!("whole databases can't be moved on '{engine}' yet"))
                .hint("PostgreSQL, MariaDB and SQLite can")
        })?;
        if self.imports {
            guard_dump(context)?;
            context.facts.insert("tools".to_owned(), mover.find_tools(Move::Import)?.join(", ").into());
        }
        let way = context.parameters.choice("way");
        if !self.imports && way != "usual" && !mover.ways().contains(&way) {
            let ways = mover.ways().join(", ");
            return Err(Error::new(ErrorKind::Usage, format!("way = {way}: '{engine}' copies by {ways}"))
                .hint("leave it out for the usual way"));
        }
        let wanted = scan::wanted(context.parameters, context.database.description().page_bytes);
        let (place, target) = (context.place.copy('a'), context.place.copy('b'));
        mover.make(&place)?;
        let empty = mover.bytes(&place).unwrap_or(0);
        let source = self.source.insert(Source { mover, wanted, place, target, content_bytes: 0, page_bytes: 0 });
        let tables = dataset::load(context, &source.place, wanted)?;
        source.content_bytes = content(&tables);
        source.page_bytes = if self.imports {
            // Indexes are made after the rows have come in.
            let (mut session, _watched) = context.session(&source.place)?;
            let sizes = tables.iter().map(|(table, _)| session.table_size(table).map(|size| size.table_bytes));
            sizes.sum::<Result<u64>>()?
        } else {
            source.mover.bytes(&source.place).unwrap_or(0).saturating_sub(empty)
        };
        source.page_bytes = source.page_bytes.max(1);
        context.facts.insert("tables".to_owned(), wanted.tables.into());
        context.facts.insert("content_bytes".to_owned(), source.content_bytes.into());
        Ok(())
    }

    fn repeat(&mut self, context: &mut Context<'_>) -> Result<()> {
        let unready = || contradiction("a database was moved before it was made".to_owned());
        let source = self.source.as_mut().ok_or_else(unready)?;
        context.repetition_start = context.clock.now();
        let outcome = if self.imports { import(context, source) } else { copy(context, source) };
        let checked = outcome.and_then(|()| {
            context.observer.activity("comparing the new database with the first");
            match dataset::verify(context, &source.target, source.wanted)? {
                Some(_) => Ok(()),
                None => Err(contradiction("the new database does not hold what the first one does".to_owned())),
            }
        });
        let removed = source.mover.remove(&source.target);
        checked.and(removed)
    }

    fn finish(&mut self, _: &dyn Database, _: &Place) -> Result<()> {
        let Some(mut source) = self.source.take() else { return Ok(()) };
        let target = source.mover.remove(&source.target);
        source.mover.remove(&source.place).and(target)
    }
}

/// A dump is made on this machine, where texts take more room than rows.
fn guard_dump(context: &Context<'_>) -> Result<()> {
    let folder = std::env::temp_dir();
    let needed = context.parameters.bytes("volume").saturating_mul(2);
    match process::free_bytes(&folder) {
        Some(free) if free < needed => Err(Error::new(
            ErrorKind::Safety,
            format!(
                "the dump may take {}, and {} has only {} free",
                units::format_bytes(needed),
                folder.display(),
                units::format_bytes(free)
            ),
        )
        .hint("let TMPDIR name a folder with more room, or move less with --set volume=...")),
        _ => Ok(()),
    }
}

fn content(tables: &[(Table, Tally)]) -> u64 {
    tables.iter().map(|(_, tally)| tally.content_bytes).sum()
}

fn import(context: &mut Context<'_>, source: &mut Source) -> Result<()> {
    // It has no name, so nothing of it is left whatever happens.
    let file = tempfile::tempfile().map_err(|error| {
        Error::new(ErrorKind::Permission, format!("no file for the dump can be made: {error}"))
            .hint("TMPDIR names the folder in which it is made")
    })?;
    let (from, into) = (source.place.clone(), source.target.clone());
    let mut watch = Watch::new(context, source.content_bytes, source.page_bytes);
    watch.stage(DUMP)?;
    source.mover.dump(&from, &file, &mut watch)?;
    // A dump that is still in memory is none yet.
    file.sync_data().map_err(|error| Error::new(ErrorKind::DiskFull, format!("the dump can't be kept: {error}")))?;
    source.mover.import(&file, &into, &mut watch)?;
    watch.end()
}

fn copy(context: &mut Context<'_>, source: &mut Source) -> Result<()> {
    let asked = context.parameters.choice("way");
    let way = if asked == "usual" { source.mover.ways()[0] } else { asked };
    context.facts.insert("way".to_owned(), way.into());
    let (from, to) = (source.place.clone(), source.target.clone());
    let mut watch = Watch::new(context, source.content_bytes, source.page_bytes);
    source.mover.copy(&from, &to, way, &mut watch)?;
    watch.end()
}

/// Makes points of the stages of a move.
struct Watch<'a, 'b> {
    context: &'a mut Context<'b>,
    /// Content of all that is moved, and the pages that it took where it was.
    content_bytes: u64,
    page_bytes: u64,
    stage: Option<Stage>,
    watched: Option<Watched>,
    /// When the present stage was last looked at.
    looked: Option<Moment>,
}

struct Stage {
    name: &'static str,
    /// Start of the present minute, its number, and what there was then.
    start: Moment,
    minute: u32,
    bytes_before: Option<u64>,
    /// Pages and content that points of this stage have told of.
    told_content: u64,
}

impl<'a, 'b> Watch<'a, 'b> {
    fn new(context: &'a mut Context<'b>, content_bytes: u64, page_bytes: u64) -> Self {
        Self { context, content_bytes, page_bytes, stage: None, watched: None, looked: None }
    }

    /// The last stage ends now.
    fn end(&mut self) -> Result<()> {
        let now = self.context.clock.now();
        self.watched = None;
        match self.stage.take() {
            Some(stage) => self.keep(&stage, now, None, true),
            None => Ok(()),
        }
    }

    /// A point from the stage's present minute. Content moved so far is known by its share of the pages; at the end it is
    /// all of it.
    fn keep(&mut self, stage: &Stage, now: Moment, bytes: Option<u64>, is_last: bool) -> Result<()> {
        let seconds = now.since(stage.start).as_secs_f64();
        let grown = bytes.zip(stage.bytes_before).map(|(now, before)| now.saturating_sub(before));
        let rest = self.content_bytes - stage.told_content;
        let share = |grown: u64| (grown as f64 * self.content_bytes as f64 / self.page_bytes as f64) as u64;
        let content = match grown {
            // What is in the dump is counted when it is loaded.
            _ if !matches!(stage.name, TABLES | COPY) => None,
            _ if is_last => Some(rest),
            grown => grown.map(|grown| share(grown).min(rest)),
        };
        let label = if stage.minute == 1 && is_last {
            stage.name.to_owned()
        } else {
            format!("{}, minute {}", stage.name, stage.minute)
        };
        self.context.keep(Point {
            label: Some(label),
            started_seconds: self.context.seconds_since_start(stage.start),
            seconds,
            content_bytes: content,
            mb_per_minute: content.and_then(|content| units::mb_per_minute(content, seconds)),
            page_bytes: grown,
            ..Point::default()
        })
    }
}

impl Follow for Watch<'_, '_> {
    fn stage(&mut self, name: &'static str) -> Result<()> {
        self.context.interrupt.check()?;
        self.end()?;
        self.context.observer.activity(&format!("moving the database: {name}"));
        let start = self.context.clock.now();
        self.stage = Some(Stage { name, start, minute: 1, bytes_before: None, told_content: 0 });
        self.looked = None;
        Ok(())
    }

    fn working(&mut self, cancel: Arc<dyn Cancel>) {
        self.watched = Some(self.context.interrupt.watch(cancel));
    }

    fn look(&mut self, bytes: &mut dyn FnMut() -> Option<u64>) -> Result<()> {
        self.context.interrupt.check()?;
        let now = self.context.clock.now();
        // The first look of a stage sees what was there before it.
        if self.looked.is_some_and(|looked| now.since(looked) < LOOK_EVERY) {
            return Ok(());
        }
        self.looked = Some(now);
        let size = bytes();
        let Some(mut stage) = self.stage.take() else { return Ok(()) };
        if let Some(size) = size {
            let activity = format!("moving the database: {}", stage.name);
            let done = size.min(self.page_bytes);
            self.context.observer.progress(&crate::observer::Progress {
                activity: &activity,
                done,
                total: self.page_bytes,
            });
        }
        stage.bytes_before = stage.bytes_before.or(size);
        if now.since(stage.start) >= MINUTE {
            self.keep(&stage, now, size, false)?;
            let told = self.context.repetition.points.last().and_then(|point| point.content_bytes).unwrap_or(0);
            stage.told_content += told;
            (stage.start, stage.minute, stage.bytes_before) = (now, stage.minute + 1, size);
        }
        self.stage = Some(stage);
        Ok(())
    }
}
