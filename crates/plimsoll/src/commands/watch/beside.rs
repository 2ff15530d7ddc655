//! The profiler beside a run: which statements made up its load. It has a thread and a connection of its own, and reads until the run has
//! ended.

use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_bench::Interrupt;
use plimsoll_clock::{Clock, RealClock, Spawned, spawn};
use plimsoll_engine::{Database, Error, ErrorKind};
use plimsoll_report::terminal;
use plimsoll_store::RunStore;
use rustix::process::Signal;

use super::collect;
use super::collector::{Collector, Manner};
use super::filters::Filters;
use super::keeper::Keeper;
use super::news::News;
use super::{names, show};
use crate::failure::Failure;
use crate::printer::Printer;

/// Slots of a run's load: short beside a run of a minute, and few in one of an hour.
const SLOT_US: u64 = 10_000_000;

/// So many statements of a run's load are listed.
const TOP: usize = 10;

/// A server that is watched while something runs there.
pub struct Beside {
    target: String,
    over: Interrupt,
    collector: Arc<Mutex<Option<Collector>>>,
    thread: Spawned,
}

impl Beside {
    /// Reads once, and then goes on in a thread.
    ///
    /// # Errors
    /// If the server shows no statistics of statements, or does not let us read them.
    pub fn begin(
        target: &str,
        database: &dyn Database,
        clock: &Arc<dyn Clock>,
        store: &Arc<RunStore>,
        printer: &Printer,
    ) -> Result<Self, Failure> {
        let sampler = collect::sampler(database, target, true)?;
        let description = database.description();
        // A virtual clock begins anew with each run, so that its slots are at the same times.
        let is_kept = clock.kind() == RealClock::new().kind() && sampler.sees_all();
        let begun = is_kept.then(|| Keeper::begin(store, clock, (target, &description.engine))).transpose()?;
        let (alerts, only) = (Vec::new(), Filters::default());
        let manner = Manner { slot_us: SLOT_US, has_samples: true, listed: TOP, alerts, only, saves: false };
        let mut collector = Collector::of(sampler, clock, description.cpus, begun, manner);
        let first = collector.first(printer)?;
        let (over, watched) = (Interrupt::default(), Arc::new(Mutex::new(None)));
        let (until, back, printer) = (over.clone(), Arc::clone(&watched), printer.clone());
        let work = move || {
            collector.go_on(first, None, &until, &printer, |_| ());
            *back.lock().unwrap_or_else(PoisonError::into_inner) = Some(collector);
        };
        let thread = spawn(clock, "watch", work)
            .map_err(|error| Error::new(ErrorKind::NoResult, format!("no thread for --watch: {error}")))?;
        Ok(Self { target: target.to_owned(), over, collector: watched, thread })
    }

    /// Reads a last time, and says which statements made up the load: as a table, or where the results are read by scripts by a command
    /// that says it.
    pub fn end(self, is_json: bool, printer: &Printer) {
        self.over.trigger(Signal::TERM.as_raw());
        // Who has panicked leaves nothing behind, and has said so.
        let _has_panicked = self.thread.join();
        let watched = self.collector.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut collector) = watched else { return };
        let (unsaved, is_kept) = (collector.unsaved(), collector.keeps());
        let (all, texts, counts) = collector.summed(TOP, printer);
        if is_json && !is_kept {
            printer.remark("--watch: what ran on this target is not kept, so that it is shown without --json alone.");
        } else if is_json {
            printer.remark(&format!("'plimsoll watch show --target {} --json' has the statements.", self.target));
        } else {
            // Each repetition makes its tables anew.
            let all = all.as_one(&names::same_text(texts));
            let report = show::summary(&self.target, &all, texts, TOP, counts, &News::default());
            printer.result(&terminal::report(&report, printer.style));
        }
        if let Some(sentence) = unsaved {
            printer.warning(&sentence);
        }
    }
}
