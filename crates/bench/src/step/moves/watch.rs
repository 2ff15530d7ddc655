//! Makes points of the stages of a move.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_engine::transfer::{COPY, RESTORE, TABLES};
use plimsoll_engine::{Cancel, Error, ErrorKind, Follow, Result, process};
use plimsoll_measurement::{Metric, Moment, Point, units};

use super::evidence::Evidence;
use super::{BACKUP, FREE_RESERVE, Source};
use crate::interrupt::CancelGuard;
use crate::step::Context;

/// A long stage gives a point for each of these.
const MINUTE: Duration = Duration::from_mins(1);

/// How often the size of a growing database is asked for.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Stages whose points have the content that was moved: what is in a dump is counted when it is loaded.
const MOVING: [&str; 4] = [TABLES, COPY, BACKUP, RESTORE];

/// Follows a move.
pub(super) struct Watch<'a, 'b> {
    context: &'a mut Context<'b>,
    /// What labels begin with, where databases of several sizes are moved.
    prefix: String,
    /// Content of all that is moved, and the pages that it took where it was.
    content_bytes: u64,
    page_bytes: u64,
    stage: Option<Stage>,
    watched: Option<CancelGuard>,
    /// When the present stage was last looked at.
    looked: Option<Moment>,
    /// What the log did while rows were loaded.
    evidence: Evidence,
}

struct Stage {
    name: &'static str,
    /// Start of the present minute, its number, and what there was then.
    start: Moment,
    minute: u32,
    bytes_before: Option<u64>,
    /// Content that points of this stage have told of.
    told_content: u64,
}

impl<'a, 'b> Watch<'a, 'b> {
    pub(super) fn new(context: &'a mut Context<'b>, source: &Source) -> Self {
        Self {
            context,
            prefix: source.prefix.clone(),
            content_bytes: source.content_bytes,
            page_bytes: source.page_bytes,
            stage: None,
            watched: None,
            looked: None,
            evidence: Evidence::default(),
        }
    }

    /// So much is moved, as it has turned out.
    pub(super) fn moves(&mut self, content_bytes: u64, page_bytes: u64) {
        (self.content_bytes, self.page_bytes) = (content_bytes, page_bytes.max(1));
    }

    /// The first stage begins.
    pub(super) fn begin(&mut self, name: &'static str) -> Result<()> {
        self.stage(name)
    }

    /// The last stage ends now.
    pub(super) fn end(&mut self) -> Result<()> {
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
        let rest = self.content_bytes.saturating_sub(stage.told_content);
        let share = |grown: u64| (grown as f64 * self.content_bytes as f64 / self.page_bytes as f64) as u64;
        let content = match grown {
            _ if !MOVING.contains(&stage.name) => None,
            _ if is_last => Some(rest),
            grown => grown.map(|grown| share(grown).min(rest)),
        };
        let log_bytes = if stage.name == TABLES { self.evidence.log_bytes(self.context)? } else { None };
        let minute = if stage.minute == 1 && is_last { String::new() } else { format!(", minute {}", stage.minute) };
        self.context.keep(
            Point {
                label: Some(format!("{}{}{minute}", self.prefix, stage.name)),
                started_seconds: self.context.seconds_since_start(stage.start),
                seconds,
                ..Point::default()
            }
            .with(Metric::ContentBytes, content)
            .with(Metric::MbPerMinute, content.and_then(|content| units::mb_per_minute(content, seconds)))
            .with(Metric::PageBytes, grown)
            .with(Metric::LogBytes, log_bytes),
        )?;
        if stage.name == TABLES && is_last { self.evidence.end(self.context) } else { Ok(()) }
    }
}

/// An error if the temporary folder fills up: a backup is not worth a server's life.
fn leave_room() -> Result<()> {
    match process::free_bytes(&std::env::temp_dir()) {
        Some(free) if free < FREE_RESERVE => {
            let message = format!("only {} are free in the temporary folder", units::format_bytes(free));
            Err(Error::new(ErrorKind::DiskFull, message).hint("let TMPDIR name a folder with more room"))
        }
        _ => Ok(()),
    }
}

impl Follow for Watch<'_, '_> {
    fn stage(&mut self, name: &'static str) -> Result<()> {
        self.context.interrupt.check()?;
        self.end()?;
        self.context.log.activity(&format!("moving the database: {}{name}", self.prefix));
        if name == TABLES {
            self.evidence = Evidence::begin(self.context)?;
        }
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
        if self.stage.as_ref().is_some_and(|stage| matches!(stage.name, BACKUP | RESTORE)) {
            leave_room()?;
        }
        let size = bytes();
        let Some(mut stage) = self.stage.take() else { return Ok(()) };
        if let Some(size) = size {
            let activity = format!("moving the database: {}{}", self.prefix, stage.name);
            let done = size.min(self.page_bytes);
            self.context.log.progress(&activity, done, self.page_bytes);
        }
        stage.bytes_before = stage.bytes_before.or(size);
        if now.since(stage.start) >= MINUTE {
            self.keep(&stage, now, size, false)?;
            let told =
                self.context.repetition.points.last().and_then(|point| point.count(Metric::ContentBytes)).unwrap_or(0);
            stage.told_content += told;
            (stage.start, stage.minute, stage.bytes_before) = (now, stage.minute + 1, size);
        }
        self.stage = Some(stage);
        Ok(())
    }
}
