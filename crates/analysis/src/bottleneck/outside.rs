//! Requests that are under way and that the server does not work on: they are on the network, in a proxy or in the queue of a pool. By
//! Little's law the sessions that have a request under way are the request rate times the response time; those that the server computes for
//! or that wait inside it are seen there, and what the client needs by itself is measured. The rest is between the two.

use plimsoll_measurement::PIPE_WAIT;

use super::judged::{Beyond, Load};
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
    let inside = means.sum(&INSIDE)? + in_pipe(means);
    let client = load.client? * load.sessions + means.column("client_cpu_queue").unwrap_or(0.0);
    let outside = busy - computing - inside - client;
    // Where the server's own list shows sessions at work that nobody sees working, the rest may be the same.
    // And between two looks at the queue of a pool of threads it is longer or shorter than it was seen.
    let in_pool = means.column("waiting_for_worker").unwrap_or(0.0);
    let is_doubtful = unnamed(means).unwrap_or(0.0).max(in_pool) >= MOST_UNNAMED * outside;
    (outside >= HAND_OVER * rate && !is_doubtful).then_some(outside)
}

/// Sessions of which the machine says that the server's process waits to write to a pipe.
pub(super) fn in_pipe(means: &Means<'_>) -> f64 {
    means.each_of("waiting").iter().filter(|(name, _)| *name == PIPE_WAIT).map(|(_, sessions)| sessions).sum()
}

/// What holds most sessions up that no limit stands for, and how many.
pub(super) fn beyond_limits(means: &Means<'_>, load: &Load) -> Option<(Beyond, f64)> {
    let named = means.column("waiting_for_others").unwrap_or(0.0) + in_pipe(means);
    let all = [
        (Beyond::Retrying, load.retrying()),
        (Beyond::Named, named),
        (Beyond::Asleep, means.column("sleeping").unwrap_or(0.0)),
    ];
    all.into_iter().filter(|(_, sessions)| *sessions > 0.0).max_by(|one, other| one.1.total_cmp(&other.1))
}

/// Sessions that the server calls active, without a wait, beyond those that compute or wait for a core.
pub(super) fn unnamed(means: &Means<'_>) -> Option<f64> {
    let active = means.column("on_cpu")?;
    let beyond = active - means.column("server_cpu")? - means.column("server_cpu_queue")?;
    (beyond >= LEAST_UNNAMED && beyond >= MOSTLY * active).then_some(beyond)
}

/// A part of what is outside of the server, by our count, from which on it may be inside as well.
const MOST_UNNAMED: f64 = 0.15;
/// Fewer sessions than this are seen to be active by chance.
const LEAST_UNNAMED: f64 = 0.5;
/// Part of the active sessions from which on it is not chance what they do.
const MOSTLY: f64 = 0.5;
