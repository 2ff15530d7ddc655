//! One cell: lanes on the load engine for as long as it lasts, first to warm up and then to be measured, without a pause between. What
//! is done beside it is begun and ended with it, and recorded by itself.

mod member;

use std::sync::Arc;
use std::time::Duration;

use plimsoll_bench::step::context::Keep;
use plimsoll_bench::step::kind::unfinished;
use plimsoll_clock::in_threads_while;
use plimsoll_engine::{Result, process};
use plimsoll_load::monitor::{LOOK_EVERY, Monitor};
use plimsoll_load::worker::{Needed, Shared};
use plimsoll_measurement::Moment;
use plimsoll_measurement::event::{Kind, Second};

pub use self::member::{Came, Conditions, misaligned};
use self::member::{Member, Moments, lane_of};
use crate::offsets::parts;
use crate::plan::CellPlan;

/// Time that threads have to start and to make their rings: so much, and so much for each.
const LEAD: Duration = Duration::from_millis(20);
const LEAD_OF_A_THREAD: Duration = Duration::from_micros(100);

/// How often it is looked whether an interrupt ends the cell.
const INTERRUPT_EVERY: Duration = Duration::from_millis(50);

/// What a cell came to, with what was done beside it.
pub struct Ran {
    /// The cell's own operations, and then those beside them in the order of the suite.
    pub members: Vec<Came>,
    /// Of each second, from the first that counts: of the cell's own operations.
    pub percentiles: Vec<(Option<f64>, Option<f64>)>,
    /// CPU time of our whole process while operations counted.
    pub cpu_seconds: f64,
    /// Whether it came to its end.
    pub outcome: Result<()>,
}

/// Runs a cell to its end.
///
/// # Errors
/// If it can't begin. What happens later is the outcome.
pub fn run(keep: &mut Keep<'_>, conditions: &Conditions<'_>, plan: &CellPlan, number: u64) -> Result<Ran> {
    let (from_byte, bytes) = conditions.medium.range();
    let place = keep.number() << 32 | number << 16;
    let plans = plan.members().zip(parts(from_byte, bytes, plan.members().count() as u64)).zip(0..);
    let members = plans.map(|((plan, part), member)| Member::new(conditions, plan, part, place ^ member << 8));
    let mut members = members.collect::<Result<Vec<_>>>()?;
    // What an earlier cell left in memory would be read from there; past the page cache there is nothing in it.
    conditions.medium.drop_cache();
    let clock = Arc::clone(keep.time.clock);
    let threads: usize = members.iter().map(|member| member.starts.len()).sum();
    let begin = clock.now().after(LEAD + LEAD_OF_A_THREAD * threads as u32);
    let from = begin.after(plan.warm_up);
    let moments = Moments { repetition_start: keep.repetition_start, begin, from, end: from.after(plan.duration) };
    // A repetition that met the same arrivals once more would say nothing of their spread.
    let seed = conditions.seed ^ keep.number() << 32;
    members.iter_mut().zip(number..).for_each(|(member, number)| member.begins(moments, seed ^ number));
    let starts: Vec<_> = members.iter_mut().map(|member| std::mem::take(&mut member.starts)).collect();
    let shared: Vec<Shared<'_>> = members.iter().map(|member| member.shared(clock.as_ref(), moments)).collect();
    let mut jobs = Vec::with_capacity(threads);
    for ((member, shared), starts) in members.iter().zip(&shared).zip(starts) {
        for (start, lane) in starts.into_iter().zip(0..) {
            jobs.push((format!("disk {lane}"), move || lane_of(shared, member.plan, start, lane)));
        }
    }
    let phases: Vec<_> = members.iter().map(|member| member.phase(plan.duration)).collect();
    let own = (&phases[0], members[0].recorders.as_slice(), members[0].schedule.as_ref());
    let mut monitor = Monitor::new(own.0, own.1, own.2, (moments.repetition_start, from));
    let (mut watched, mut cpu_seconds) = (Ok(()), 0.0);
    let ended = in_threads_while(&clock, jobs, || {
        watched = watch_over(keep, &shared, moments, &mut monitor, &mut cpu_seconds);
        // What ends one of them ends all.
        if watched.is_err() || is_stopped(&shared) {
            for shared in &shared {
                shared.state.stop();
            }
        }
    });
    let ends = shared.iter().map(|shared| shared.state.ended()).max().unwrap_or(moments.end);
    let stopped = if is_stopped(&shared) { ends.max(from).min(moments.end) } else { moments.end };
    monitor.look(stopped, true);
    let percentiles = monitor.percentiles;
    let mut outcome = watched;
    let mut needed = ended.into_iter().map(|ended| {
        let (of_lane, own) = ended.unwrap_or_else(|why| (Err(unfinished(why)), Needed::default()));
        if outcome.is_ok() {
            outcome = of_lane;
        }
        own
    });
    let ran = members.iter().zip(&phases).map(|(member, phase)| {
        let own = needed.by_ref().take(member.recorders.len()).collect();
        member.came(phase, moments, stopped, own)
    });
    let members = ran.collect();
    drop(needed);
    Ok(Ran { members, percentiles, cpu_seconds, outcome })
}

fn is_stopped(shared: &[Shared<'_>]) -> bool {
    shared.iter().any(|shared| shared.state.is_stopped())
}

/// Shows how the cell goes, looks for an interrupt, and says what the process needed from `from` to `end`.
fn watch_over(
    keep: &mut Keep<'_>,
    shared: &[Shared<'_>],
    Moments { from, end, .. }: Moments,
    monitor: &mut Monitor<'_>,
    cpu_seconds: &mut f64,
) -> Result<()> {
    sleep_until(from, shared, keep)?;
    let before = process::own_cpu_seconds();
    let mut look = from;
    while look < end && !is_stopped(shared) {
        look = look.after(LOOK_EVERY).min(end);
        sleep_until(look, shared, keep)?;
        // Whoever looks at the end counts what is under way twice; the cell does so when all has ended.
        if look < end {
            let (second, _) = monitor.look(look, false);
            let repetition = keep.repetition.label.clone();
            let total_seconds = Some(end.since(from).as_secs_f64());
            keep.log.note(Kind::Second(Second { repetition, total_seconds, ..second }));
        }
    }
    *cpu_seconds = process::own_cpu_seconds() - before;
    Ok(())
}

fn sleep_until(moment: Moment, shared: &[Shared<'_>], keep: &Keep<'_>) -> Result<()> {
    let clock = keep.time.clock;
    while clock.now() < moment && !is_stopped(shared) {
        keep.time.interrupt.check()?;
        clock.sleep_until(clock.now().after(INTERRUPT_EVERY).min(moment));
    }
    keep.time.interrupt.check()
}
