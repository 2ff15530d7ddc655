//! Which threads make the requests of a phase: one for each session, or few that serve all.

use plimsoll_engine::Result;
use plimsoll_load::phases::Phase;
use plimsoll_load::worker::{Needed, Shared, work};

use super::conditions::Conditions;
use crate::workload::many::{self, ManyLane, Returns};
use crate::workload::request::RequestGenerator;
use crate::workload::session::{Sessions, Slot};
use crate::workload::thread::SessionLane;

/// From so many sessions on a thread serves many: below, a thread for each needs no more CPU and begins more requests in time.
const MANY: u64 = 1000;
/// So many CPUs have one such thread.
const CPUS_A_THREAD: u64 = 4;

type Job<'a> = Box<dyn FnOnce() -> (Result<()>, Needed) + Send + 'a>;

/// Threads that serve all sessions of a phase; `None` if each has a thread of its own.
pub(super) fn threads(conditions: &Conditions<'_>, phase: &Phase, slots: &[Slot], is_real: bool) -> Option<u64> {
    let is_wanted = match conditions.parameters.choice("threads") {
        "few" => true,
        "usual" => phase.sessions >= MANY,
        _ => false,
    };
    let can = is_real && !conditions.moves_tables && cfg!(target_os = "linux") && many::can_serve(slots);
    let of_cpus = u64::from(conditions.cpus).div_ceil(CPUS_A_THREAD).max(1);
    // As many as have sessions, if each has as many as any.
    (is_wanted && can).then(|| phase.sessions.div_ceil(phase.sessions.div_ceil(of_cpus)))
}

/// The work of each thread. Where there are `returns`, so many threads serve all sessions, and as many connect those again that were
/// lost.
pub(super) fn jobs<'a>(
    shared: &'a Shared<'a>,
    sessions: &'a Sessions<'a>,
    slots: &'a mut [Slot],
    returns: &'a [Returns],
    generator: &'a (dyn Fn(u64) -> Box<dyn RequestGenerator + 'a> + Sync),
) -> Vec<(String, Job<'a>)> {
    let mut jobs: Vec<(String, Job<'a>)> = Vec::new();
    if returns.is_empty() {
        for (slot, session) in slots.iter_mut().zip(0..) {
            let make = move || {
                let mut lane = SessionLane::new(sessions, &shared.state, generator(session), slot);
                work(shared, &mut lane, session)
            };
            jobs.push((format!("session {session}"), Box::new(make)));
        }
        return jobs;
    }
    let mut first = 0;
    for (slots, returns) in slots.chunks_mut(slots.len().div_ceil(returns.len())).zip(returns) {
        let last = first + slots.len() as u64;
        let serve = move || {
            let generator = |slot| generator(first + slot as u64);
            match ManyLane::new(sessions, &shared.state, returns, slots, generator) {
                Ok(mut lane) => work(shared, &mut lane, first),
                Err(error) => {
                    shared.state.no_lane();
                    (Err(error), Needed::default())
                }
            }
        };
        jobs.push((format!("sessions {first} to {}", last - 1), Box::new(serve)));
        first = last;
    }
    for returns in returns {
        let serve = move || {
            returns.serve(sessions, &shared.state);
            (Ok(()), Needed::default())
        };
        jobs.push(("sessions that come back".to_owned(), Box::new(serve)));
    }
    jobs
}
