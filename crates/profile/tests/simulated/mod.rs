//! Simulated servers, their load, a collector that reads them, and the truth that its figures are held against.

pub mod activity;
pub mod check;
pub mod figures;
pub mod load;
pub mod random;
pub mod server;

use std::collections::HashMap;

use plimsoll_profile::measure::Measure;
use plimsoll_profile::snapshot::{RowId, Snapshot, Source};

use load::World;
use server::S;

/// A slot.
pub const SLOT: i64 = 60 * S;

/// Rows are read in so many parts, one after the other.
pub const PARTS: usize = 4;

/// A read, and what is true of it.
pub struct Reading {
    pub snapshot: Snapshot,
    /// True times of its ends.
    pub start: i64,
    pub end: i64,
    /// True times at which the parts were read.
    pub parts: [i64; PARTS],
    /// The lives of its rows.
    pub lives: HashMap<RowId, usize>,
}

/// Reads the world's server; it takes its time. `own_us` is the collector's clock less the true time.
pub fn read(world: &mut World, own_us: i64) -> Reading {
    let start = world.now;
    let is_slow = world.random.in_thousand(50);
    let step = if is_slow { world.random.between(S / 10, S) } else { world.random.between(1_000, 10_000) };
    // Some reads have a cap on rows, or a filter.
    let left_out = if world.random.in_thousand(25) { world.random.between(100, 700) } else { 0 };
    let first = world.server.edge(world.now);
    let (mut parts, mut rows, mut lives) = ([0; PARTS], Vec::new(), HashMap::new());
    for (place, part) in parts.iter_mut().enumerate() {
        world.run_to(world.now + step);
        if world.random.in_thousand(1) {
            world.strike();
        }
        if world.random.in_thousand(10) {
            world.befall();
        }
        *part = world.now;
        for (row, life) in world.server.rows(&world.log, |text| text % PARTS == place) {
            if !world.random.in_thousand(left_out) {
                rows.push(row);
                lives.insert(row.id, life);
            }
        }
    }
    world.run_to(world.now + step);
    let snapshot = Snapshot {
        source: Source::Queries,
        start: first,
        end: world.server.edge(world.now),
        own_us: Some((world.now + own_us) as u64),
        is_complete: left_out == 0,
        total_of: Measure::ElapsedUs,
        rows,
    };
    Reading { snapshot, start, end: world.now, parts, lives }
}
