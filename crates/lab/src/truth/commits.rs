//! Single-row inserts, a transaction each, as the log has them. A commit writes the last leaf, and when it is full a
//! new one with what is above it and the first page of the file.
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
    let (mut tree, mut frames) = (Tree::new(page_bytes), Vec::new());
    for key in 1..=count {
        tree.append(key, PAYLOAD_BYTES);
        frames.push(tree.take_frames());
    }
    Chunks { frames, pages: tree.pages(), rows: count, content_bytes: 0, steps_per_row: 0 }
}

/// CPU time that is paid while the log is written; where it is not much shorter than that the truth is not known.
pub fn hidden_seconds(spec: &Spec, count: u64) -> f64 {
    cpu_seconds(spec, (count * MOST_STEPS) as f64, 0.0)
}
