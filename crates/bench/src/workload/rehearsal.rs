//! What a request costs our own client by itself: requests without a server.

use std::sync::Arc;

use plimsoll_clock::cpu;
use plimsoll_engine::value::RowSummary;
use plimsoll_engine::{Answer, Cancel, Requester, Result, Row, RowSource, Sampler, Statement, Table, Value};

use super::request::{Workload, at_once};

/// Requests that are made without a server.
const REHEARSED: u64 = 20_000;
/// CPU time after which that is enough.
const REHEARSED_SECONDS: f64 = 0.1;

/// CPU time in nanoseconds of a request without a server, on average.
pub fn rehearse(workload: &dyn Workload) -> Option<f64> {
    let mut generator = workload.generator(0, 0);
    let mut nobody = Nobody;
    let start = cpu::thread_cpu_seconds();
    let mut made = 0;
    while made < REHEARSED && (made % 64 != 0 || cpu::thread_cpu_seconds() - start < REHEARSED_SECONDS) {
        let kind = generator.draw();
        at_once(generator.make(kind, &mut nobody)).ok()?;
        made += 1;
    }
    Some((cpu::thread_cpu_seconds() - start) * 1e9 / made.max(1) as f64)
}

/// Answers nothing, at once.
struct Nobody;

impl Sampler for Nobody {}

impl Requester for Nobody {
    fn ask(&mut self, _: &Statement, parameters: &[Value<'_>]) -> Result<Answer> {
        std::hint::black_box(parameters);
        Ok(Answer::default())
    }

    fn load_batch(&mut self, _: &Table, rows: &mut dyn RowSource) -> Result<RowSummary> {
        let mut row = Row::default();
        while rows.next(&mut row)? {}
        Ok(RowSummary::default())
    }

    fn canceller(&self) -> Arc<dyn Cancel> {
        Arc::new(Nobody)
    }
}

impl Cancel for Nobody {
    fn cancel(&self) {}
}
