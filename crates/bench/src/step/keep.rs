//! What is kept of a repetition while it is measured: points, phases, what a reader has to know.

use std::collections::BTreeMap;

use plimsoll_engine::foreign::shown;
use plimsoll_engine::value::RowSummary;
use plimsoll_engine::{Database, Error, Lease, Result, Row, RowSource, Session, Table};
use plimsoll_measurement::event::{Gap, Kind, Mark, PhaseEnded, PointMeasured, SamplesTaken, Warning};
use plimsoll_measurement::{Moment, Phase, Point, Repetition, SampleGap, TimedMark};

use super::time::Time;
use crate::events::EventLog;
use crate::generate::Rows;
use crate::sampling::Sampling;

/// Said of a lease that was lost while the run's sessions went on.
const LEASE_LOST: &str = "the server ended the session with this run's lease, which was taken again: until then another 'plimsoll clean' \
                          might have ended its sessions";

/// Keeps what a step measures.
pub struct Keep<'a> {
    /// Time, and requests to stop.
    pub time: Time<'a>,
    /// What happens is told here.
    pub log: &'a mut EventLog,
    /// The repetition that is being measured.
    pub repetition: &'a mut Repetition,
    /// Time zero of the repetition: when its first step began to measure.
    pub repetition_start: Moment,
    /// The step's name in points, where a test has several.
    pub phase: Option<&'static str>,
    /// What a reader has to know.
    pub warnings: &'a mut Vec<String>,
    /// The same where it depends on the machine that runs a modelled target.
    pub host_warnings: &'a mut Vec<String>,
    /// Facts that turned out during the run and belong to its parameters.
    pub facts: &'a mut BTreeMap<String, serde_json::Value>,
    /// What of ours on this machine could not be removed.
    pub(crate) left: &'a mut Option<Error>,
    pub(crate) sampling: &'a mut Sampling,
}

impl Keep<'_> {
    /// Keeps a finished point: it is on disk before anything else is measured.
    pub fn point(&mut self, mut point: Point) -> Result<()> {
        point.index = self.repetition.points.len() as u32;
        point.phase = self.phase.map(str::to_owned);
        let repetition = self.repetition.label.clone();
        self.log.tell(Kind::Point(PointMeasured { repetition, point: point.clone() }))?;
        self.repetition.points.push(point);
        self.samples_so_far();
        Ok(())
    }

    /// Keeps a phase of requests that is over.
    pub fn phase(&mut self, phase: Phase) -> Result<()> {
        let repetition = self.repetition.label.clone();
        let kept = self.log.tell(Kind::Phase(PhaseEnded { repetition, phase: Box::new(phase.clone()) }));
        self.repetition.phases.push(phase);
        kept
    }

    /// Points that are measured meanwhile are of another phase.
    pub(crate) fn within<T>(&mut self, phase: &'static str, work: impl FnOnce(&mut Self) -> T) -> T {
        let own = self.phase.replace(phase);
        let outcome = work(self);
        self.phase = own;
        outcome
    }

    /// Tells what was sampled since the last time, if it is enough: a killed program leaves it.
    pub(crate) fn samples_so_far(&mut self) {
        if !self.log.is_kept() {
            return;
        }
        if let Some(samples) = self.sampling.part(self.phase, self.repetition_start) {
            let repetition = self.repetition.label.clone();
            self.log.note(Kind::Samples(SamplesTaken { repetition, is_part: true, samples }));
        }
    }

    /// Tells something that explains what will be seen in figures.
    pub(crate) fn mark(&mut self, text: String) {
        let seconds = self.seconds_since_start(self.time.clock.now());
        let mark = TimedMark { seconds, text };
        self.log.note(Kind::Mark(Mark { repetition: self.repetition.label.clone(), mark }));
    }

    /// Tells of a time in which the engine could not be reached.
    pub(crate) fn gap(&mut self, from: Moment, to: Moment, reason: &str) {
        let gap = SampleGap {
            from_seconds: self.seconds_since_start(from),
            to_seconds: self.seconds_since_start(to),
            source: "engine".to_owned(),
            reason: reason.to_owned(),
        };
        self.log.note(Kind::Gap(Gap { repetition: self.repetition.label.clone(), gap }));
    }

    /// Keeps a fact that turned out.
    pub fn fact(&mut self, name: &str, value: impl Into<serde_json::Value>) {
        self.facts.insert(name.to_owned(), value.into());
    }

    /// Says that the lease was lost and taken again meanwhile.
    ///
    /// # Errors
    /// If somebody else has it now, or the place has gone.
    pub fn tell_losses(&mut self, lease: &mut dyn Lease) -> Result<()> {
        if lease.losses()? > 0 {
            self.warn(LEASE_LOST);
        }
        Ok(())
    }

    /// Adds a warning unless it stands there already.
    pub fn warn(&mut self, warning: impl Into<String>) {
        self.add_warning(&warning.into(), false);
    }

    /// Adds each of these.
    pub fn warn_all(&mut self, warnings: Vec<String>) {
        for warning in warnings {
            self.warn(warning);
        }
    }

    /// Adds a warning about the machine that holds the target's files: in virtual time it is no part of the result.
    pub fn warn_of_machine(&mut self, warning: impl Into<String>) {
        self.add_warning(&warning.into(), self.time.is_virtual());
    }

    fn add_warning(&mut self, text: &str, is_host: bool) {
        // It may repeat what a server says.
        let text = shown(text);
        let warnings = if is_host { &mut *self.host_warnings } else { &mut *self.warnings };
        if !warnings.contains(&text) {
            warnings.push(text.clone());
            self.log.note(Kind::Warning(Warning { text, is_host }));
        }
    }

    /// Begins to measure, at a database if there is one: it is looked at, and the repetition's time runs from now on, if it
    /// doesn't yet.
    pub fn begin(&mut self, database: Option<&dyn Database>) {
        if let Some(database) = database {
            for warning in self.sampling.begin(database, self.time.clock) {
                self.warn_of_machine(warning);
            }
        }
        if self.repetition.points.is_empty() && self.repetition.phases.is_empty() {
            self.repetition_start = self.time.clock.now();
            self.repetition.started_at = Some(self.log.now());
        }
    }

    /// Has measured, in a place of this name.
    pub(crate) fn end(&mut self, workspace: &str) {
        let (phase, before) = (self.phase, self.repetition.samples.len());
        let warnings = self.sampling.end(self.repetition, phase, workspace, self.repetition_start);
        self.warn_all(warnings);
        for samples in self.repetition.samples.iter().skip(before).cloned() {
            let repetition = self.repetition.label.clone();
            self.log.note(Kind::Samples(SamplesTaken { repetition, is_part: false, samples }));
        }
    }

    /// Seconds since the repetition's start.
    pub fn seconds_since_start(&self, moment: Moment) -> f64 {
        moment.since(self.repetition_start).as_secs_f64()
    }

    /// A point of what took from one moment to another.
    pub fn from_to(&self, label: impl Into<String>, start: Moment, end: Moment) -> Point {
        Point {
            label: Some(label.into()),
            started_seconds: self.seconds_since_start(start),
            seconds: end.since(start).as_secs_f64(),
            ..Point::default()
        }
    }

    /// A number that tells the repetition from the others.
    pub fn number(&self) -> u64 {
        self.repetition.label.bytes().next().map_or(0, u64::from)
    }

    /// Loads rows into a table, with progress, and stops between rows when asked to.
    pub fn load(
        &mut self,
        session: &mut dyn Session,
        table: &Table,
        rows: Rows,
        content_bytes: u64,
    ) -> Result<RowSummary> {
        let activity = format!("loading {}", table.name);
        self.log.activity(&activity);
        let total = content_bytes;
        session.load(table, &mut LoadProgress { rows, seen: 0, content_bytes: 0, activity, total, keep: self })
    }
}

struct LoadProgress<'a, 'b> {
    rows: Rows,
    seen: u32,
    content_bytes: u64,
    activity: String,
    total: u64,
    keep: &'a mut Keep<'b>,
}

impl RowSource for LoadProgress<'_, '_> {
    fn next(&mut self, row: &mut Row) -> Result<bool> {
        let more = self.rows.fill(row);
        self.seen += 1;
        // Often enough for a person, seldom enough to cost nothing.
        if self.seen.is_multiple_of(4096) {
            self.content_bytes += 4096 * row.content_bytes();
            self.keep.time.interrupt.check()?;
            self.keep.log.progress(&self.activity, self.content_bytes.min(self.total), self.total);
        }
        Ok(more)
    }
}
