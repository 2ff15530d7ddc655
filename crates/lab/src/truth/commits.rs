//! Single-row inserts, a transaction each, as the log has them. A commit costs the record of its row. Pages that a
//! checkpoint copies are the last leaf, and when it is full a new one with what is above it and the first page of the file.
//!
//! The steps of an insert are left out: they are paid while its log is written.

use plimsoll_hardware::Spec;

use super::steps::cpu_seconds;
use super::tree::Tree;
use super::write::Chunks;

/// The record of a single small integer: the header's length and a type that says the value.
const PAYLOAD_BYTES: u64 = 2;

/// Steps of an insert at most.
const MOST_STEPS: u64 = 20;

pub fn commits(count: u64, page_bytes: u64) -> Chunks {
    let (mut tree, mut made) = (Tree::new(page_bytes), Chunks { rows: count, ..Chunks::default() });
    for key in 1..=count {
        tree.append(key, PAYLOAD_BYTES);
        made.add(&mut tree);
    }
    Chunks { pages: tree.pages(), ..made }
}

/// CPU time that is paid while the log is written; where it is not much shorter than that the truth is not known.
pub fn hidden_seconds(spec: &Spec, count: u64) -> f64 {
    cpu_seconds(spec, (count * MOST_STEPS) as f64, 0.0)
}
