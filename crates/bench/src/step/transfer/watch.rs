//! Makes points of the stages of a move.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_engine::transfer::{COPY, RESTORE, TABLES};
use plimsoll_engine::{Cancel, Error, ErrorKind, Follow, Result, process};
use plimsoll_measurement::{Metric, Moment, Point, units};

use super::evidence::Evidence;
use super::source::{FREE_RESERVE, Size, Source};
use crate::interrupt::CancelGuard;
use crate::step::context::{Keep, Target};

/// Stage that a restore begins with: the backup is made.
pub(crate) const BACKUP: &str = "backup";

/// A long stage gives a point for each of these.
const MINUTE: Duration = Duration::from_mins(1);

/// How often the size of a growing database is asked for.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Stages with the moved content in their points: what is in a dump is counted when it is loaded.
const MOVING: [&str; 4] = [TABLES, COPY, BACKUP, RESTORE];

pub(crate) struct Watch<'a, 'b, 'c> {
    target: &'a Target<'b>,
    keep: &'a mut Keep<'c>,
    /// Which database it is, where several are moved.
    size: Option<Size>,
    /// Content of all that is moved, and the pages that it took where it was.
    content_bytes: u64,
    page_bytes: Option<u64>,
    stage: Option<Stage>,
    watched: Option<CancelGuard>,
    /// When the present stage was last looked at.
    looked: Option<Moment>,
    /// What the log did while rows were loaded.
    evidence: Option<Evidence>,
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

impl<'a, 'b, 'c> Watch<'a, 'b, 'c> {
    pub(crate) fn new(target: &'a Target<'b>, keep: &'a mut Keep<'c>, source: &Source) -> Self {
        Self {
            target,
            keep,
            size: source.size.clone(),
            content_bytes: source.content_bytes,
            page_bytes: source.page_bytes,
            stage: None,
            watched: None,
            looked: None,
            evidence: None,
        }
    }

    /// So much is moved, as it has turned out.
    pub(crate) fn moves(&mut self, content_bytes: u64, page_bytes: u64) {
        (self.content_bytes, self.page_bytes) = (content_bytes, Some(page_bytes).filter(|bytes| *bytes > 0));
    }

    pub(crate) fn end(&mut self) -> Result<()> {
        let now = self.keep.time.clock.now();
        self.watched = None;
        match self.stage.take() {
            Some(stage) => self.keep(&stage, now, None, true),
            None => Ok(()),
        }
    }

    fn activity(&self, stage: &str) -> String {
        format!("moving the database: {}", Size::label(self.size.as_ref(), stage))
    }

    /// A point from the stage's present minute. Content moved so far is known by its share of the pages, if those are known;
    /// at the end it is all of it.
    fn keep(&mut self, stage: &Stage, now: Moment, bytes: Option<u64>, is_last: bool) -> Result<()> {
        let seconds = now.since(stage.start).as_secs_f64();
        let grown = bytes.zip(stage.bytes_before).map(|(now, before)| now.saturating_sub(before));
        let rest = self.content_bytes.saturating_sub(stage.told_content);
        let share = |grown: u64| Some((grown as f64 * self.content_bytes as f64 / self.page_bytes? as f64) as u64);
        let content = match grown {
            _ if !MOVING.contains(&stage.name) => None,
            _ if is_last => Some(rest),
            grown => grown.and_then(share).map(|content| content.min(rest)),
        };
        let evidence = self.evidence.as_mut().filter(|_| stage.name == TABLES);
        let log_bytes = evidence.map_or(Ok(None), Evidence::log_bytes)?;
        let minute = if stage.minute == 1 && is_last { String::new() } else { format!(", minute {}", stage.minute) };
        let label = Size::label(self.size.as_ref(), &format!("{}{minute}", stage.name));
        let point = Point {
            stage: Some(stage.name.to_owned()),
            volume_bytes: self.size.as_ref().map(|size| size.bytes),
            ..self.keep.from_to(label, stage.start, now)
        };
        self.keep.point(
            point
                .with(Metric::ContentBytes, content)
                .with(Metric::MbPerMinute, content.and_then(|content| units::mb_per_minute(content, seconds)))
                .with(Metric::PageBytes, grown)
                .with(Metric::LogBytes, log_bytes),
        )?;
        match self.evidence.take_if(|_| stage.name == TABLES && is_last) {
            Some(evidence) => evidence.end(self.keep),
            None => Ok(()),
        }
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

impl Follow for Watch<'_, '_, '_> {
    fn stage(&mut self, name: &'static str) -> Result<()> {
        self.keep.time.interrupt.check()?;
        self.end()?;
        self.keep.log.activity(&self.activity(name));
        if name == TABLES {
            self.evidence = Some(Evidence::begin(self.target, self.keep)?);
        }
        let start = self.keep.time.clock.now();
        self.stage = Some(Stage { name, start, minute: 1, bytes_before: None, told_content: 0 });
        self.looked = None;
        Ok(())
    }

    fn working(&mut self, cancel: Arc<dyn Cancel>) {
        self.watched = Some(self.keep.time.interrupt.watch(cancel));
    }

    fn look(&mut self, bytes: &mut dyn FnMut() -> Option<u64>) -> Result<()> {
        self.keep.time.interrupt.check()?;
        let now = self.keep.time.clock.now();
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
        if let Some((size, whole)) = size.zip(self.page_bytes) {
            let activity = self.activity(stage.name);
            self.keep.log.progress(&activity, size.min(whole), whole);
        }
        stage.bytes_before = stage.bytes_before.or(size);
        if now.since(stage.start) >= MINUTE {
            self.keep(&stage, now, size, false)?;
            let told =
                self.keep.repetition.points.last().and_then(|point| point.count(Metric::ContentBytes)).unwrap_or(0);
            stage.told_content += told;
            (stage.start, stage.minute, stage.bytes_before) = (now, stage.minute + 1, size);
        }
        self.stage = Some(stage);
        Ok(())
    }
}
