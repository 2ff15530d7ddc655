//! Requests that are under way and that the server does not work on: they are on the network, in a proxy or in the queue of a pool. By
//! Little's law the sessions that have a request under way are the request rate times the response time; those that the server computes for
//! or that wait inside it are seen there, and what the client needs by itself is measured. The rest is between the two.

use super::judged::Load;
use super::means::Means;
use super::rules::{TABLE_LOCKS, WRITES};

/// What sessions wait for inside the server.
pub(super) const INSIDE: [&str; 10] = [
    "waiting_for_data_read",
    WRITES,
    "waiting_for_log_write",
    "waiting_for_log_governor",
    "waiting_for_lock",
    TABLE_LOCKS,
    "waiting_for_turn",
    "waiting_for_worker",
    "sleeping",
    "waiting_for_others",
];

/// Seconds of each request that may be lost on the way without a word: two hand-overs by the kernel on a busy machine.
const HAND_OVER: f64 = 200e-6;

/// Sessions with a request that is between client and server, on average. `None` where it is not known what the server's threads do, or
/// what the client needs: then a busy server can't be told from a slow network.
pub(super) fn sessions(means: &Means<'_>, load: &Load, rate: f64) -> Option<f64> {
    let busy = load.busy?.min(load.sessions);
    let queued = means.column("server_cpu_queue")?;
    let computing = means.column("on_cpu")?.max(means.column("server_cpu")? + queued);
    let inside = means.sum(&INSIDE)?;
    let client = load.client? * load.sessions + means.column("client_cpu_queue").unwrap_or(0.0);
    let outside = busy - computing - inside - client;
    (outside >= HAND_OVER * rate).then_some(outside)
}
