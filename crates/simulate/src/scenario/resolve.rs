//! From tables to what the model runs.

use super::error::ScenarioError;
use super::quantity::Span;
use super::tables::{Tables, Workload};
use super::{LogSpec, PoolSpec, Request, RunLength, Scenario, Source, storage};

/// What the model runs, if the tables agree. `stem` is its name where the tables have none.
pub fn resolve(tables: &Tables, stem: &str) -> Result<Scenario, ScenarioError> {
    tables.check()?;
    let storage = storage::of(tables)?;
    let Workload { sessions, think_time, rate, cpu_time, reads, read_size, changes, log_size, other_wait } =
        tables.workload;
    let ns = |span: Option<Span>| span.map_or(0.0, |Span(ns)| ns as f64);
    let pool = &tables.buffer_pool;
    let writer = &tables.background_writer;
    Ok(Scenario {
        name: tables.name.clone().unwrap_or_else(|| stem.to_owned()),
        sessions,
        source: rate.map_or(Source::Closed { think_ns: ns(think_time) }, |per_s| Source::Open { per_s }),
        request: Request {
            cpu_ns: ns(Some(cpu_time)),
            reads,
            read_bytes: read_size.unwrap_or(pool.page_size).0,
            changes,
            other_ns: ns(other_wait),
        },
        cores: tables.cpu.cores,
        pool: PoolSpec {
            pages: pool.pages,
            page_bytes: pool.page_size.0,
            skew: pool.skew,
            dirty_share: writer.dirty_share,
            hysteresis: writer.hysteresis,
            pages_per_write: writer.pages_per_write,
            writes_in_flight: writer.writes_in_flight,
        },
        log: LogSpec {
            writes_in_flight: tables.log.writes_in_flight,
            block_bytes: tables.log.block_size.0,
            commit_bytes: log_size.0,
        },
        storage,
        run: RunLength {
            warm_up_ns: tables.run.warm_up.0,
            duration_ns: tables.run.duration.0,
            seeds: (0..u64::from(tables.run.replications)).map(|n| tables.run.seed.wrapping_add(n)).collect(),
        },
    })
}
