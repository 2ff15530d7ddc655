//! Tables read whole into the client (reference, 2.8): one session or several, each takes the next table that is not
//! begun, in no order of its rows.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_clock::{Clock, in_threads_while};
use plimsoll_engine::value::RowSummary;
use plimsoll_engine::{RequestAccess, Requester, Result, Session, Statement, Table, TableSize};
use plimsoll_measurement::reading::growth;
use plimsoll_measurement::{Counter, Metric, Moment};

use super::proof::Sums;
use crate::dataset::Dataset;
use crate::interrupt::Interrupt;
use crate::step::context::{Keep, Target};
use crate::step::kind::{contradiction, unfinished};
use crate::step::probe::Probe;

/// How often finished tables are looked for, to keep them.
const LOOK_EVERY: Duration = Duration::from_millis(200);

pub(super) struct Read<'a> {
    pub dataset: &'a Dataset,
    pub sizes: &'a [Option<TableSize>],
    pub readers: u64,
}

struct Readers<'a> {
    clock: &'a dyn Clock,
    interrupt: &'a Interrupt,
    tables: &'a [(Table, RowSummary)],
    statements: &'a [Statement],
    next: AtomicUsize,
    working: AtomicU64,
    finished: Mutex<Vec<Finished>>,
}

struct Finished {
    table: usize,
    start: Moment,
    end: Moment,
    missed_pages: Option<u64>,
    device_bytes: Option<u64>,
}

impl Read<'_> {
    /// Reads all tables; gives what was missed of them.
    pub fn repeat(&self, target: &Target<'_>, keep: &mut Keep<'_>) -> Result<Sums> {
        let time = keep.time;
        let (mut control, _watched) = target.session(&self.dataset.workspace)?;
        // In the data set's place, which may be one that is kept.
        let connect = target.requesters(&self.dataset.workspace, RequestAccess::OWN);
        let mut requesters = (0..self.readers).map(|_| connect()).collect::<Result<Vec<_>>>()?;
        let statement = |((table, _), number): (&(Table, RowSummary), u32)| Statement {
            number,
            sql: control.dialect().read_all(table),
            columns: Some(table.types()),
        };
        let statements: Vec<Statement> = self.dataset.tables.iter().zip(0..).map(statement).collect();
        let missed_before = self.misses(control.as_mut())?;
        let mut probe = Probe::new(target.database);
        probe.start(control.as_mut())?;

        keep.log.activity("reading into the client");
        let clock = Arc::clone(time.clock);
        keep.begin(Some(target.database));
        let shared = &Readers {
            clock: clock.as_ref(),
            interrupt: time.interrupt,
            tables: &self.dataset.tables,
            statements: &statements,
            next: AtomicUsize::new(0),
            working: AtomicU64::new(self.readers),
            finished: Mutex::default(),
        };
        let jobs = requesters.iter_mut().zip(1..).map(|((requester, _), number)| {
            (format!("reader {number}"), move || {
                let outcome = shared.read(requester.as_mut());
                shared.working.fetch_sub(1, Ordering::Relaxed);
                outcome
            })
        });
        let mut sums = Sums::default();
        let mut kept = Ok(());
        let ended = in_threads_while(&clock, jobs.collect(), || {
            while shared.working.load(Ordering::Relaxed) > 0 {
                clock.sleep(LOOK_EVERY);
                kept = std::mem::replace(&mut kept, Ok(()))
                    .and_then(|()| self.keep(keep, target.page_bytes(), &shared.finished, &mut sums));
                if kept.is_err() {
                    shared.next.store(usize::MAX / 2, Ordering::Relaxed);
                }
            }
        });
        kept?;
        self.keep(keep, target.page_bytes(), &shared.finished, &mut sums)?;
        for outcome in ended {
            outcome.unwrap_or_else(|why| Err(unfinished(why)))?;
        }
        drop(requesters);
        probe.stop(control.as_mut())?;
        sums.device = probe.count(Counter::DeviceReadBytes).or(sums.device);
        // Where neither tables nor the readers are counted, the whole server is.
        let whole = probe.count(Counter::CacheMissPages).map(|pages| pages * target.page_bytes());
        sums.missed = sums.missed.or(whole);
        if let Some(before) = missed_before {
            let missed =
                time.until_still(|| self.misses(control.as_mut()))?.and_then(|after| after.checked_sub(before));
            sums.missed = missed.map(|pages| pages * target.page_bytes());
        }
        Ok(sums)
    }

    /// Keeps a point for each table that was read since it was called before.
    fn keep(
        &self,
        keep: &mut Keep<'_>,
        page_bytes: u64,
        finished: &Mutex<Vec<Finished>>,
        sums: &mut Sums,
    ) -> Result<()> {
        let finished = std::mem::take(&mut *finished.lock().unwrap_or_else(PoisonError::into_inner));
        for done in finished {
            let (table, row_summary) = &self.dataset.tables[done.table];
            let pages = self.sizes[done.table].map(|size| size.table_bytes);
            sums.add(pages, done.missed_pages.map(|pages| pages * page_bytes), done.device_bytes);
            keep.point(
                keep.from_to(&*table.name, done.start, done.end)
                    .with(Metric::Rows, row_summary.rows)
                    .with_content(row_summary.content_bytes)
                    .with(Metric::PageBytes, pages)
                    .with(Metric::DeviceBytes, done.device_bytes)
                    .with(Metric::CacheMissPages, done.missed_pages)
                    .with(Metric::Sessions, self.readers),
            )?;
        }
        Ok(())
    }

    /// Pages of the tables that the engine did not have in its cache, where it counts by table.
    fn misses(&self, session: &mut dyn Session) -> Result<Option<u64>> {
        let mut sum = Some(0);
        for (table, _) in &self.dataset.tables {
            sum = sum.zip(session.table_misses(table)?).map(|(sum, misses)| sum + misses);
            if sum.is_none() {
                break;
            }
        }
        Ok(sum)
    }
}

impl Readers<'_> {
    fn read(&self, requester: &mut dyn Requester) -> Result<()> {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(((table, row_summary), statement)) = self.tables.get(number).zip(self.statements.get(number))
            else {
                return Ok(());
            };
            self.interrupt.check()?;
            let before = requester.sample()?;
            let start = self.clock.now();
            let answer = requester.ask(statement, &[])?;
            let end = self.clock.now();
            let after = requester.sample()?;
            if answer.rows != row_summary.rows {
                let text = format!("{} has {} rows and {} came back", table.name, row_summary.rows, answer.rows);
                return Err(contradiction(text));
            }
            let count = |metric| growth(metric, &before, &after).map(|value| value as u64);
            self.finished.lock().unwrap_or_else(PoisonError::into_inner).push(Finished {
                table: number,
                start,
                end,
                missed_pages: count(Counter::CacheMissPages),
                device_bytes: count(Counter::DeviceReadBytes),
            });
        }
    }
}
