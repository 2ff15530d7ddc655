//! What a request of a definition's own costs the client beside the engine: drawing its parameters and handing them over to
//! a session that answers at once. The bar is 200 ns for a single integer.
//!
//! `cargo bench -p plimsoll-bench --bench own`

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use plimsoll_bench::Definition;
use plimsoll_bench::workload::custom::Ready;
use plimsoll_bench::workload::request::{Workload as _, at_once};
use plimsoll_engine::value::RowSummary;
use plimsoll_engine::{
    Answer, Cancel, ClaimMode, Credentials, Engine as _, Error, ErrorKind, Requester, Result, RowSource, Sampler,
    Statement, Table, Target, Value, Workspace,
};
use plimsoll_sqlite::Sqlite;

const REQUESTS: u32 = 2_000_000;
const ROUNDS: u32 = 5;

/// Answers at once.
struct Nobody;

impl Sampler for Nobody {}

impl Requester for Nobody {
    fn ask(&mut self, statement: &Statement, parameters: &[Value<'_>]) -> Result<Answer> {
        black_box((statement, parameters));
        Ok(Answer { rows: 1, content_bytes: 8 })
    }

    fn load_batch(&mut self, _: &Table, _: &mut dyn RowSource) -> Result<RowSummary> {
        Err(Error::new(ErrorKind::Unsupported, "nobody loads"))
    }

    fn canceller(&self) -> Arc<dyn Cancel> {
        struct Nothing;
        impl Cancel for Nothing {
            fn cancel(&self) {}
        }
        Arc::new(Nothing)
    }
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let target = Target::parse(&format!("sqlite:{}", folder.path().join("x.db").display()))?;
    let clock = Arc::new(plimsoll_clock::RealClock::new());
    let database = Sqlite.open(&target, &Credentials::default(), clock)?;
    let workspace = Workspace::run("bench")?;
    let lease = database.claim(&workspace, ClaimMode::Exclusive)?.ok_or("the place is taken")?;
    let dialect = database.session(&workspace, &workspace)?.dialect();
    for (draw, what) in [
        ("{ uniform = [1, 100000] }", "uniform integer"),
        ("{ newest = [1, 100000] }", "newest integer"),
        ("{ zipf = [1, 100000] }", "zipf integer"),
        ("{ sequence = 1 }", "sequence"),
        ("{ text = 120 }", "text of 120"),
        ("{ pattern = \"###########-###########-###########-###########-###########\" }", "pattern of 59"),
    ] {
        let text = format!(
            "name = \"x\"\nsteps = [\"requests\"]\n[[request]]\nstatements = [\"SELECT :a\"]\n[request.parameters]\na = {draw}\n"
        );
        let definition = Definition::parse("x", &text)?;
        let own = definition.own.ok_or("no requests")?;
        let ready = Ready::new(&own, database.description(), dialect, 1, |_, _| Ok(Vec::new()))?;
        let mut generator = ready.generator(0, 0);
        let mut best = f64::MAX;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            for _ in 0..REQUESTS {
                let kind = generator.draw();
                black_box(at_once(generator.make(kind, &mut Nobody))?);
            }
            best = best.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(REQUESTS));
        }
        println!("{what:<16} {best:6.1} ns a request, best of {ROUNDS}");
    }
    drop(lease);
    Ok(())
}
