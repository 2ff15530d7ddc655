//! How long a list of 10,000 runs takes: `cargo bench -p plimsoll-store --bench list`.

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use common::finished;
use plimsoll_measurement::event::events_of;
use plimsoll_store::{Filter, RunStore};

#[expect(clippy::print_stdout, reason = "a benchmark says what it found")]
fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = RunStore::open(folder.path().join("runs.db")).expect("a store");
    for hundred in 0..100 {
        let runs = (0..100).map(|n| finished(&format!("0190-{hundred:03}-{n:03}")));
        store.append(&runs.flat_map(|run| events_of(&run, "main")).collect::<Vec<_>>()).expect("an append");
    }
    let mut took: Vec<_> = (0..11)
        .map(|_| {
            let begun = Instant::now();
            assert_eq!(store.summaries(&Filter::default()).expect("a list").len(), 10_000);
            begun.elapsed()
        })
        .collect();
    took.sort();
    println!("10,000 runs are listed in {:?} ({:?} to {:?}), median of {}", took[5], took[0], took[10], took.len());
}
