//! Shows how a run goes: a bar on a terminal, a line every ten seconds elsewhere. It reads the run's events in a thread of its
//! own: a terminal that takes nothing for a while holds no run up.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plimsoll_bench::Keeper;
use plimsoll_engine::{Error, ErrorKind, Result};
use plimsoll_measurement::event::{Activity, Event, Kind, Second};
use plimsoll_measurement::{Cell, Metric, Point, Subject, units};
use plimsoll_store::{RunStore, StoreError};

use crate::outlet::Terminal;
use crate::printer::Printer;

const LINE_EVERY: Duration = Duration::from_secs(10);

/// Keeps a run's events in the result store.
pub struct InStore(pub Arc<RunStore>);

impl Keeper for InStore {
    fn keep(&mut self, events: &[Event]) -> Result<()> {
        self.0.append(events).map(drop).map_err(|error| {
            let kind = if matches!(error, StoreError::Full { .. }) { ErrorKind::DiskFull } else { ErrorKind::Store };
            Error::new(kind, format!("the result could not be stored: {error}"))
                .hint("name another store with --store FILE")
        })
    }
}

/// Shows the progress of one run.
pub struct Progress {
    printer: Printer,
    name: String,
    /// What is made: requests, or operations on a disk.
    made: &'static str,
    bar: Option<ProgressBar>,
    activity: String,
    began: Instant,
    last_line: Instant,
    /// Of how many repetitions, which of them goes on, and when the first began.
    repetitions: u32,
    repetition: u32,
    first_began: Option<Instant>,
}

impl Progress {
    /// The progress of a run of this name, of so many repetitions.
    pub fn new(printer: &Printer, name: String, subject: Subject, repetitions: u32) -> Self {
        let bar = (!printer.quiet && Printer::is_interactive()).then(|| {
            let bar = ProgressBar::with_draw_target(
                None,
                ProgressDrawTarget::term_like_with_hz(Box::new(Terminal::default()), 10),
            );
            bar.enable_steady_tick(Duration::from_millis(200));
            bar.set_style(style(SPINNER));
            bar.set_prefix(name.clone());
            bar
        });
        let now = Instant::now();
        let made = if subject == Subject::Volume { "operations" } else { "requests" };
        Self {
            printer: printer.clone(),
            name,
            made,
            bar,
            activity: String::new(),
            began: now,
            last_line: now,
            repetitions,
            repetition: 0,
            first_began: None,
        }
    }

    /// Shows what is being done.
    pub fn says(&mut self, text: &str) {
        self.activity(Activity { text: text.to_owned(), done_bytes: None, total_bytes: None });
    }

    /// Shows what comes until nothing comes any more.
    pub fn follow(mut self, events: Receiver<Event>) {
        for event in events {
            match event.kind {
                Kind::Activity(activity) => self.activity(activity),
                Kind::Repetition(repetition) => self.repetition(&repetition.label),
                Kind::Second(second) => self.second(&second),
                Kind::Point(measured) => self.point(&measured.repetition, &measured.point),
                _ => {}
            }
        }
    }

    /// One more repetition goes on, where it is a new one.
    fn repetition(&mut self, label: &str) {
        let number = label.bytes().next().map_or(1, |letter| u32::from(letter.saturating_sub(b'a')) + 1);
        if number == self.repetition {
            return;
        }
        self.repetition = number;
        let first_began = *self.first_began.get_or_insert_with(Instant::now);
        let left = left_after(first_began.elapsed(), number - 1, self.repetitions);
        if let Some(bar) = &self.bar {
            bar.set_prefix(format!("{}, {}{left}", self.name, self.which()));
        } else if !left.is_empty() {
            self.line(&format!("{}{left}", self.which()));
        }
    }

    /// Which repetition goes on.
    fn which(&self) -> String {
        format!("repetition {} of {}", self.repetition, self.repetitions.max(self.repetition))
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

    fn activity(&mut self, activity: Activity) {
        if let (Some(done), Some(total)) = (activity.done_bytes, activity.total_bytes) {
            return self.progress(&activity.text, done, total);
        }
        self.began = Instant::now();
        if let Some(bar) = &self.bar {
            bar.set_style(style(SPINNER));
            bar.set_message(activity.text.clone());
        }
        self.line(&activity.text);
        self.activity = activity.text;
    }

    fn progress(&mut self, activity: &str, done: u64, total: u64) {
        if let Some(bar) = &self.bar {
            if bar.length() != Some(total) || bar.position() > done {
                bar.set_style(style(LOADING));
                bar.reset();
                bar.set_length(total);
            }
            bar.set_message(activity.to_owned());
            bar.set_position(done);
        } else {
            let seconds = self.began.elapsed().as_secs_f64();
            let rate = done as f64 / seconds.max(1e-3);
            let left = total.saturating_sub(done) as f64 / rate.max(1.0);
            self.line(&format!(
                "{activity}: {} of {}, {}/s, {} left",
                units::format_bytes(done),
                units::format_bytes(total),
                units::format_bytes(rate as u64),
                units::format_seconds(left),
            ));
        }
    }

    fn second(&mut self, second: &Second) {
        if let Some(bar) = &self.bar {
            // Tenths of a second: a short repetition moves the bar, too.
            let tenths = |seconds: f64| (seconds * 10.0).max(0.0) as u64;
            match second.total_seconds {
                Some(total) => {
                    bar.set_style(style(REQUESTING));
                    bar.set_length(tenths(total));
                    bar.set_position(tenths(second.elapsed_seconds));
                }
                None => bar.set_style(style(SPINNER)),
            }
            bar.set_message(format!("{}\n  {}", when(second), figures(self.made, second)));
        } else {
            let which = if self.repetitions > 1 { format!("{}, ", self.which()) } else { String::new() };
            self.line(&(which + &live_line(self.made, second)));
        }
    }

    fn point(&mut self, repetition: &str, point: &Point) {
        let cell = point.cell.as_ref().map(Cell::name);
        let label = cell.as_deref().or(point.label.as_deref()).unwrap_or("point");
        let figure = match (
            point.get(Metric::MbPerMinute).or_else(|| point.get(Metric::Iops)),
            point.count(Metric::JoinRows),
            point.count(Metric::CacheMissPages),
        ) {
            (Some(rate), ..) => {
                let unit = if point.cell.is_some() { "IOPS" } else { "MB/min" };
                format!("{} {unit}", units::format_significant(rate))
            }
            (None, None, Some(misses)) => format!("{misses} misses"),
            _ => units::format_seconds(point.seconds),
        };
        let text = format!("{label}: {figure}");
        if let Some(bar) = &self.bar {
            bar.set_style(style(SPINNER));
            bar.set_message(format!("{}  {text}", self.activity));
        }
        let line = format!("repetition {repetition}, {text}");
        if self.printer.verbose {
            self.tell(&line);
        } else {
            self.line(&line);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// How long the repetitions that are left will take together, by those that are done.
fn left_after(elapsed: Duration, done: u32, all: u32) -> String {
    if done == 0 || all <= done {
        return String::new();
    }
    let each = elapsed.as_secs_f64() / f64::from(done);
    format!(", about {} left in all", units::format_seconds(each * f64::from(all - done)))
}

const SPINNER: &str = "{spinner} {prefix}  {msg}  {elapsed}";
const LOADING: &str =
    "{spinner} {prefix}  {msg}  [{bar:24}] {binary_bytes}/{binary_total_bytes}  {binary_bytes_per_sec}  {eta} left";
/// Tells of requests: the bar is the time, and what they come to has a line of its own.
const REQUESTING: &str = "{spinner} {prefix}  [{bar:24}]  {msg}";

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// How requests go, in one line: `12 of 60 s: 1,234 requests a second, p50 0.8 ms, p99 4.1 ms, 0 failed`.
fn live_line(made: &str, second: &Second) -> String {
    format!("{}: {}", when(second), figures(made, second))
}

/// What is tried, and how much of the time has passed.
fn when(second: &Second) -> String {
    let phase = if second.phase.is_empty() { String::new() } else { format!("{}, ", second.phase) };
    format!("{phase}{}", passed(second.elapsed_seconds, second.total_seconds))
}

/// What requests come to at the moment.
fn figures(made: &str, second: &Second) -> String {
    let latency = |name: &str, us: Option<f64>| us.map(|us| format!("{name} {}", milliseconds(us / 1e3)));
    let lost = |sessions: u64| format!("{sessions} session{} lost", if sessions == 1 { "" } else { "s" });
    let parts = [
        Some(format!("{} {made} a second", whole(second.rate.round()))),
        latency("p50", second.latency_us_p50),
        latency("p99", second.latency_us_p99),
        Some(format!("{} failed", whole(second.errors_so_far as f64))),
        second.backlog.filter(|backlog| *backlog > 0).map(|backlog| format!("{} waiting", whole(backlog as f64))),
        Some(second.lost_sessions).filter(|sessions| *sessions > 0).map(lost),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// How much of the time has passed: in seconds, or in minutes where these are many.
fn passed(elapsed_seconds: f64, total_seconds: Option<f64>) -> String {
    let is_long = total_seconds.unwrap_or(elapsed_seconds) >= 600.0;
    let shown = |seconds: f64| if is_long { format!("{:.1}", seconds / 60.0) } else { format!("{seconds:.0}") };
    let shown = |seconds: f64| shown(seconds).trim_end_matches(".0").to_owned();
    let unit = if is_long { "min" } else { "s" };
    match total_seconds {
        Some(total) => format!("{} of {} {unit}", shown(elapsed_seconds.min(total)), shown(total)),
        None => format!("{} {unit}", shown(elapsed_seconds)),
    }
}

/// A response time that changes every second: two digits of it are as much as anybody reads.
fn milliseconds(ms: f64) -> String {
    match ms {
        ms if ms >= 1000.0 => format!("{:.1} s", ms / 1000.0),
        ms if ms >= 9.95 => format!("{ms:.0} ms"),
        ms if ms >= 0.0995 => format!("{ms:.1} ms"),
        ms => format!("{:.0} us", ms * 1000.0),
    }
}

/// A count with every digit.
fn whole(count: f64) -> String {
    if count < 100.0 { format!("{count:.0}") } else { units::format_significant(count) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_how_requests_go() {
        let live = Second {
            elapsed_seconds: 12.03,
            total_seconds: Some(60.0),
            rate: 1234.4,
            latency_us_p50: Some(812.3),
            latency_us_p99: Some(4100.0),
            ..Second::default()
        };
        assert_eq!(
            live_line("requests", &live),
            "12 of 60 s: 1,234 requests a second, p50 0.8 ms, p99 4.1 ms, 0 failed"
        );
        let worse = Second {
            phase: "2000/s".to_owned(),
            latency_us_p50: Some(42.0),
            latency_us_p99: Some(2.345e6),
            errors_so_far: 17,
            backlog: Some(4321),
            lost_sessions: 2,
            elapsed_seconds: 751.0,
            total_seconds: Some(7200.0),
            ..live.clone()
        };
        assert_eq!(
            live_line("operations", &worse),
            "2000/s, 12.5 of 120 min: 1,234 operations a second, p50 42 us, p99 2.3 s, 17 failed, 4,321 waiting, \
             2 sessions lost"
        );
    }

    #[test]
    fn what_is_left_follows_from_what_is_done() {
        assert_eq!(left_after(Duration::from_mins(1), 0, 3), "");
        assert_eq!(left_after(Duration::from_mins(4), 2, 3), ", about 2 min 00 s left in all");
        assert_eq!(left_after(Duration::from_mins(4), 3, 3), "");
    }

    #[test]
    fn nothing_answered_has_no_response_time() {
        let live = Second { elapsed_seconds: 3.0, backlog: Some(0), lost_sessions: 1, ..Second::default() };
        assert_eq!(live_line("requests", &live), "3 s: 0 requests a second, 0 failed, 1 session lost");
    }
}
