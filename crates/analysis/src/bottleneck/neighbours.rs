//! Other programs on the server's machine, and whether they held it up. What they use of the CPUs says little: a build at the lowest
//! priority fills all that is left and costs the server nothing. What the server's own threads waited for a CPU says it.

use plimsoll_measurement::Ceiling;

use super::judged::Load;
use super::means::{Means, ceiling};
use super::outside::INSIDE;
use super::rules::{MACHINE_CPU, NAMED_PERCENT};

/// Part of the CPUs from which it is worth a word that others use them.
const OTHERS_PART: f64 = 0.1;

/// CPUs at work for processes that are neither the server's nor ours, with all there are, where it is worth a word.
pub(super) fn at_work(means: &Means<'_>, ceilings: &[Ceiling]) -> Option<(f64, f64)> {
    let (cores, all) = (means.whole().column("other_cpu")?, ceiling(ceilings, MACHINE_CPU)?.value);
    (cores >= OTHERS_PART * all).then_some((cores, all))
}

/// Threads of the server and of our client that were ready to run and had no CPU, on average. What the machine's own host took is a wait
/// as well, which the machine's kernel does not see: it hits whoever runs. A client that is held to fewer CPUs than there are waits for its own
/// quota, which is none of the server's waits.
pub(super) fn queued(means: &Means<'_>, ceilings: &[Ceiling]) -> Option<f64> {
    let means = means.whole();
    let cpus = |resource| ceiling(ceilings, resource).map(|ceiling| ceiling.value);
    let of_client = means.column("client_cpu_queue");
    let (own, waited) = match means.column("server_cpu") {
        Some(server) => {
            let is_held = cpus("client_cpu").zip(cpus(MACHINE_CPU)).is_some_and(|(own, all)| own < all);
            let of_client = of_client.filter(|_| !is_held).unwrap_or(0.0);
            (server + means.column("client_cpu")?, means.column("server_cpu_queue")? + of_client)
        }
        // An engine that works in our own threads has no limit of the client beside its own.
        None if cpus("client_cpu").is_none() => (means.column("client_cpu")?, of_client?),
        None => return None,
    };
    let busy = own + means.sum(&["other_cpu", "kernel_cpu"]).unwrap_or(0.0);
    let stolen = means.column("stolen_cpu").unwrap_or(0.0);
    Some(waited + if busy > 0.0 { stolen * own / busy } else { 0.0 })
}

/// Threads of the server and of our client that ran or were ready to, on average.
pub(super) fn runnable(means: &Means<'_>) -> Option<f64> {
    let of_client = ["client_cpu", "client_cpu_queue"].iter().filter_map(|column| means.column(column)).sum::<f64>();
    Some(means.column("server_cpu")? + means.column("server_cpu_queue")? + of_client)
}

/// Sessions that are seen to wait for something and were ready to run: a call that reads from the system's cache, or that has returned
/// meanwhile, is shown as a wait until its thread gets a CPU. They are those by which waits, work and threads without a CPU are more than
/// the sessions.
pub(super) fn hidden(means: &Means<'_>, ceilings: &[Ceiling], load: &Load) -> f64 {
    among(0.0, means, ceilings, load)
}

/// The same of sessions that are seen to wait for the client: MySQL and MariaDB call a thread so from its answer on until its next state, and
/// it is the client that gets its CPU then.
pub(super) fn hidden_from_client(means: &Means<'_>, ceilings: &[Ceiling], load: &Load) -> f64 {
    let waiting = means.column("waiting_for_client").unwrap_or(0.0);
    among(waiting, means, ceilings, load).min(waiting)
}

fn among(others: f64, means: &Means<'_>, ceilings: &[Ceiling], load: &Load) -> f64 {
    let seen = others + INSIDE.iter().filter_map(|column| means.column(column)).sum::<f64>();
    let runnable = queued(means, ceilings).map_or(0.0, |queued| queued + means.column("server_cpu").unwrap_or(0.0));
    (seen + runnable - load.sessions).max(0.0).min(runnable)
}

/// Whether others are at work there, and it is known what threads waited for.
pub(super) fn are_measured(means: &Means<'_>, ceilings: &[Ceiling]) -> bool {
    at_work(means, ceilings).is_some() && queued(means, ceilings).is_some()
}

/// What would be gained if sessions waited for so many threads less.
fn without(waited: f64, load: &Load) -> f64 {
    100.0 * (load.sessions / (load.sessions - waited).max(f64::MIN_POSITIVE) - 1.0)
}

/// Whether they gave way: without them hardly anything would be gained, as next to nobody waited.
pub(super) fn gave_way(means: &Means<'_>, ceilings: &[Ceiling], load: &Load) -> bool {
    queued(means, ceilings).is_some_and(|waited| without(waited, load) < NAMED_PERCENT)
}

/// What 20 % more cores bring at most: half of the waits for them. `None` where nobody says what threads waited. Of a queue in which all
/// sessions stand this is more than the model says, which counts then; beside other programs it is less, as these take new cores too.
pub(super) fn most_gain_percent(means: &Means<'_>, ceilings: &[Ceiling], load: &Load) -> Option<f64> {
    queued(means, ceilings).map(|waited| without(waited / 2.0, load))
}
