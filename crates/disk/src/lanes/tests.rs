//! Lanes on the load engine: what they do to a file, and what becomes of operations that fail.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_clock::{Clock, RealClock};
use plimsoll_load::lane::{Lane, Outcome};
use plimsoll_load::recorder::Recorder;
use plimsoll_load::schedule::Arrivals;
use plimsoll_load::think::Think;
use plimsoll_load::worker::{Shared, State, work};
use plimsoll_measurement::{Cell, Moment};

use super::*;
use crate::buffer::Buffers;
use crate::offsets::{Draw, Region};
use crate::suite::cell_of;

const BLOCKS: u64 = 64;

fn file() -> File {
    let file = tempfile::tempfile().unwrap();
    file.write_all_at(&vec![0; BLOCKS as usize * 4096], 0).unwrap();
    file
}

fn draw(cell: &Cell) -> Draw {
    Draw::new(cell, Region::of(cell, 0, BLOCKS * 4096).unwrap().remove(0), 1)
}

/// Works until so many operations have ended, and says how each did.
fn operations<L: Lane<Error = Error>>(lane: &mut L, count: usize) -> Result<Vec<Outcome>, Error> {
    let mut ended = Vec::new();
    (0..lane.slots()).try_for_each(|slot| lane.submit(slot, Moment::default()))?;
    while ended.len() < count {
        let Some(completion) = lane.reap(Moment::from_nanos(u64::MAX))? else { continue };
        ended.push(completion.outcome);
        lane.submit(completion.slot, Moment::default())?;
    }
    Ok(ended)
}

/// What all lanes of this cell come to, each by itself.
fn each(cell: &Cell, file: &File, count: usize) -> Vec<Result<Vec<Outcome>, Error>> {
    let clock = RealClock::new();
    let own = || file.try_clone().unwrap();
    let buffers = |slots: u32| Buffers::new(slots as usize, cell.operation_bytes() as usize, 1);
    let mut pool = PoolLane::new(&clock, cell, Arc::new(own()), buffers(1), draw(cell));
    let mut all = vec![operations(&mut pool, count)];
    #[cfg(target_os = "linux")]
    if crate::ring::probe().is_ok() {
        let mut ring = UringLane::new(&clock, cell, own(), buffers(cell.queue_depth), draw(cell)).unwrap();
        all.push(operations(&mut ring, count));
    }
    all
}

fn blocks_written(file: &File) -> usize {
    let mut content = vec![0; BLOCKS as usize * 4096];
    file.read_exact_at(&mut content, 0).unwrap();
    content.chunks(4096).filter(|block| block.iter().any(|byte| *byte != 0)).count()
}

#[test]
fn every_block_of_a_region_is_written_before_one_is_written_again() {
    for sync in ["none", "fdatasync", "fsync", "sync_file_range"] {
        let cell = cell_of(&format!(
            "operation = 'write'\naccess = 'sequential'\nblock = '4KiB'\nqueue_depth = 8\nsync = '{sync}'"
        ));
        let whole = Outcome::Answered(Amount { rows_examined: 0, rows: 0, content_bytes: 4096 });
        for number in 0..each(&cell, &file(), 1).len() {
            let file = file();
            let outcomes = each(&cell, &file, BLOCKS as usize).remove(number).unwrap();
            assert!(outcomes.iter().all(|outcome| *outcome == whole), "{sync}");
            assert_eq!(blocks_written(&file), BLOCKS as usize, "{sync}");
        }
    }
}

#[test]
fn an_operation_of_several_writes_counts_once_with_all_its_bytes() {
    let cell = cell_of(
        "operation = 'write'\naccess = 'sequential'\nblock = '4KiB'\nqueue_depth = 2\nsync = 'fsync'\nwrites_per_sync = 8",
    );
    let whole = Outcome::Answered(Amount { rows_examined: 0, rows: 0, content_bytes: 8 * 4096 });
    for number in 0..each(&cell, &file(), 1).len() {
        let file = file();
        let outcomes = each(&cell, &file, 4).remove(number).unwrap();
        assert!(outcomes.iter().all(|outcome| *outcome == whole), "{outcomes:?}");
        // A ring has begun more than it was asked for.
        assert!(blocks_written(&file) >= 32);
    }
    let cut = File::open("/dev/null").unwrap();
    for outcomes in each(&cell, &cut, 4) {
        assert!(outcomes.unwrap().iter().all(|outcome| *outcome == Outcome::Failed("device")));
    }
}

#[test]
fn reads_beyond_the_end_are_short_and_what_can_not_be_written_fails() {
    let cell = cell_of("operation = 'read'\nblock = '4KiB'\nqueue_depth = 4");
    let cut = file();
    cut.set_len(4).unwrap();
    for outcomes in each(&cell, &cut, 20) {
        assert!(outcomes.unwrap().iter().all(|outcome| *outcome == Outcome::Failed("short")));
    }
    let cell = cell_of("operation = 'write'\nblock = '4KiB'\nqueue_depth = 4\nsync = 'fdatasync'");
    let read_only = File::open("/dev/null").unwrap();
    for outcomes in each(&cell, &read_only, 20) {
        assert!(outcomes.unwrap().iter().all(|outcome| *outcome == Outcome::Failed("device")));
    }
}

#[test]
fn reads_and_writes_of_a_mixture_are_counted_apart() {
    let cell = cell_of("label = 'mix'\noperation = 'mixed'\nread_percent = 50\nblock = '4KiB'\nqueue_depth = 4");
    assert_eq!(kinds(&cell), ["mix: read", "mix: write"]);
    let (clock, file) = (RealClock::new(), file());
    let start = clock.now();
    let end = start.after(Duration::from_millis(50));
    let recorders = [Mutex::new(Recorder::new(start, end, &kinds(&cell), false))];
    let shared = Shared {
        clock: &clock,
        schedule: None,
        think: Think { mean: Duration::ZERO, arrivals: Arrivals::Constant, seed: 1 },
        start,
        end,
        recorders: &recorders,
        state: State::of(1),
    };
    let buffers = Buffers::new(1, 4096, 1);
    let mut lane = PoolLane::new(&clock, &cell, Arc::new(file.try_clone().unwrap()), buffers, draw(&cell));
    // However slow the machine is: one operation is made at least.
    let needed = work(&shared, &mut lane, 0).1;
    let counted = recorders[0].lock().unwrap().kinds();
    let made: u64 = counted.iter().map(|kind| kind.operations + kind.drained).sum();
    assert_eq!((counted.len(), made), (2, needed.requests));
    assert_eq!(blocks_written(&file) > 0, counted[1].operations + counted[1].drained > 0);
}
