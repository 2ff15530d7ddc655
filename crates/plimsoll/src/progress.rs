//! Watches a run: every finished point goes to the store, progress to standard error (a bar on a terminal, a line every
//! ten seconds elsewhere).

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plimsoll_bench::{Observer, Progress};
use plimsoll_engine::{Error, ErrorKind, Result};
use plimsoll_measurement::{Point, Repetition, RunRecord, units};
use plimsoll_store::{Store, StoreError};

use crate::printer::Printer;

const LINE_EVERY: Duration = Duration::from_secs(10);

/// The observer of the command line.
pub struct Watcher<'a> {
    store: &'a mut dyn Store,
    printer: &'a Printer,
    name: String,
    bar: Option<ProgressBar>,
    activity: String,
    began: Instant,
    last_line: Instant,
}

impl<'a> Watcher<'a> {
    /// Watches one run.
    pub fn new(store: &'a mut dyn Store, printer: &'a Printer, name: String) -> Self {
        let bar = (!printer.is_quiet() && Printer::is_interactive()).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar.set_style(spinner());
            bar.set_prefix(name.clone());
            bar
        });
        let now = Instant::now();
        Self { store, printer, name, bar, activity: String::new(), began: now, last_line: now }
    }

    /// A plain line, at most one in ten seconds.
    fn line(&mut self, text: &str) {
        if self.bar.is_none() && self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            self.tell(text);
        }
    }

    /// A line now, above the bar if there is one.
    fn tell(&self, text: &str) {
        let line = format!("{}: {text}", self.name);
        match &self.bar {
            Some(bar) => bar.suspend(|| self.printer.remark(&line)),
            None => self.printer.remark(&line),
        }
    }
}

impl Drop for Watcher<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn spinner() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {prefix}  {msg}  {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
}

fn loading() -> ProgressStyle {
    let template =
        "{spinner} {prefix}  {msg}  [{bar:24}] {binary_bytes}/{binary_total_bytes}  {binary_bytes_per_sec}  {eta} left";
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn stored(outcome: std::result::Result<(), StoreError>) -> Result<()> {
    outcome.map_err(|error| {
        let kind =
            if matches!(error, StoreError::DiskFull { .. }) { ErrorKind::DiskFull } else { ErrorKind::Statement };
        Error::new(kind, format!("the result could not be stored: {error}"))
            .hint("name another store with --store FILE")
    })
}

impl Observer for Watcher<'_> {
    fn run_started(&mut self, run: &RunRecord) -> Result<()> {
        stored(self.store.begin(run))
    }

    fn activity(&mut self, text: &str) {
        text.clone_into(&mut self.activity);
        self.began = Instant::now();
        if let Some(bar) = &self.bar {
            bar.set_style(spinner());
            bar.set_message(text.to_owned());
        }
        self.line(text);
    }

    fn progress(&mut self, progress: &Progress<'_>) {
        if let Some(bar) = &self.bar {
            if bar.length() != Some(progress.total) || bar.position() > progress.done {
                bar.set_style(loading());
                bar.reset();
                bar.set_length(progress.total);
            }
            bar.set_message(progress.activity.to_owned());
            bar.set_position(progress.done);
        } else {
            let seconds = self.began.elapsed().as_secs_f64();
            let rate = progress.done as f64 / seconds.max(1e-3);
            let left = (progress.total.saturating_sub(progress.done)) as f64 / rate.max(1.0);
            self.line(&format!(
                "{}: {} of {}, {}/s, {} left",
                progress.activity,
                units::format_bytes(progress.done),
                units::format_bytes(progress.total),
                units::format_bytes(rate as u64),
                units::format_seconds(left),
            ));
        }
    }

    fn repetition(&mut self, run_id: &str, repetition: &Repetition) -> Result<()> {
        if let Some(bar) = &self.bar {
            bar.set_prefix(format!("{} {}", self.name, repetition.label));
        }
        stored(self.store.repetition(run_id, repetition))
    }

    fn point(&mut self, run_id: &str, repetition: &str, point: &Point) -> Result<()> {
        stored(self.store.point(run_id, repetition, point))?;
        let label = point.label.as_deref().unwrap_or("point");
        let figure = match (point.mb_per_minute, point.join_rows, point.cache_miss_pages) {
            (Some(rate), ..) => format!("{} MB/min", units::format_significant(rate)),
            (None, None, Some(misses)) => format!("{misses} misses"),
            _ => units::format_seconds(point.seconds),
        };
        let text = format!("{label}: {figure}");
        if let Some(bar) = &self.bar {
            bar.set_style(spinner());
            bar.set_message(format!("{}  {text}", self.activity));
        }
        let line = format!("repetition {repetition}, {text}");
        if self.printer.is_verbose() {
            self.tell(&line);
        } else {
            self.line(&line);
        }
        Ok(())
    }

    fn run_finished(&mut self, run: &RunRecord) -> Result<()> {
        stored(self.store.finish(run))
    }
}
