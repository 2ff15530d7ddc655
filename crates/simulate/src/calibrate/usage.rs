//! How far the limits of hardware were used by what was simulated on it.

use plimsoll_hardware::{LimitKind, Role};
use plimsoll_measurement::units::format_seconds;

use super::counted::{Counted, IoCount, SLOTS};
use super::hardware::{Hardware, RoleLimit};
use crate::server::Resource;

/// How far each resource was used, the most used first.
pub(super) fn resources(hardware: &Hardware, counted: &Counted) -> Vec<Resource> {
    let spec = &hardware.spec;
    let mut all = Vec::new();
    let mut add = |name: &str, unit, limit, used: f64, ceiling: f64| {
        all.push(Resource {
            name: name.to_owned(),
            unit,
            limit,
            used: used / counted.seconds,
            ceiling,
            waited_percent: None,
        });
    };
    if spec.cpu.is_limited() {
        add("CPU", "cores", "cpu", counted.cpu_ns / 1e9, spec.cpu.cores);
    }
    if let Some(client) = spec.client {
        add("the client's CPU", "cores", "client", counted.client_ns / 1e9, client.cores);
    }
    for (role, name) in [(Role::Data, "data"), (Role::Log, "log")] {
        // What both share is told once.
        for one in hardware.limits(role).into_iter().filter(|limit| role == Role::Data || !limit.is_shared) {
            let name = if one.is_shared { "data and log" } else { name };
            let (counts, unit) = if one.kind.is_of_bytes() { ("bandwidth", "bytes/s") } else { ("IOPS", "I/Os/s") };
            let limit = match (role, one.kind.is_of_bytes()) {
                (Role::Log, _) => "log_write",
                (_, true) => "data_bandwidth",
                (_, false) => "data_iops",
            };
            add(&format!("{name}, {counts}"), unit, limit, used(counted, role, one), one.per_s);
        }
    }
    all.sort_by(|one, other| other.percent().total_cmp(&one.percent()));
    all
}

/// A limit that is used to more than this has work that was not done in the time.
pub(super) const OVERFULL: f64 = 1.1;

/// How far the most used resource is used, as a part of its limit.
pub(super) fn largest_use(hardware: &Hardware, counted: &Counted) -> f64 {
    resources(hardware, counted).first().map_or(0.0, |resource| resource.percent() / 100.0)
}

/// What is not known of a burst: what comes after it, or that it ends within the time.
pub(super) fn burst_on(target: &Hardware, counted: &[Counted]) -> Option<String> {
    let carried_s = counted.iter().filter_map(|one| burst_s(target, one)).fold(f64::INFINITY, f64::min);
    let simulated_s = counted.first()?.seconds;
    if carried_s < simulated_s {
        let [carried, simulated] = [carried_s, simulated_s].map(format_seconds);
        return Some(format!(
            "what it gets in another time than the run's: the target's burst carries the load for {carried} with a full credit, and the rate is the mean of \
             {simulated}"
        ));
    }
    let is_beyond = target.bursts() && counted.iter().any(|one| largest_use(target, one) > OVERFULL);
    is_beyond.then(|| {
        let carried =
            if carried_s.is_finite() { format!(", {} with a full credit", format_seconds(carried_s)) } else { String::new() };
        format!("what it gets once the target's burst is used up: the prediction is for as long as that carries the load{carried}")
    })
}

/// Seconds for which a full credit carries the load of the simulation's beginning; absent where no burst is used.
fn burst_s(hardware: &Hardware, counted: &Counted) -> Option<f64> {
    let slots = &counted.answered[..BEGINNING];
    // What was used in the beginning is to the whole as the requests are.
    let share = slots.iter().sum::<u64>() as f64 / counted.requests().max(1) as f64 * SLOTS as f64 / BEGINNING as f64;
    let limits = [Role::Data, Role::Log]
        .into_iter()
        .flat_map(|role| hardware.limits(role).into_iter().map(move |one| (role, one)));
    let carried = limits.filter_map(|(role, one)| {
        let more = share * used(counted, role, one) / counted.seconds - one.per_s;
        one.credit.filter(|_| more > 0.0).map(|credit| credit / more)
    });
    carried.min_by(f64::total_cmp)
}

/// Slots of which the load of the beginning is taken.
const BEGINNING: usize = 2;

/// I/Os or bytes of a limit that were used.
fn used(counted: &Counted, role: Role, limit: RoleLimit) -> f64 {
    let [reads, writes, log] = counted.io;
    let (reads, writes) = match (role, limit.is_shared) {
        (_, true) => (vec![reads], vec![writes, log]),
        (Role::Log, false) => (Vec::new(), vec![log]),
        (_, false) => (vec![reads], vec![writes]),
    };
    let all = match limit.kind {
        LimitKind::Iops | LimitKind::Bandwidth => [reads, writes].concat(),
        LimitKind::ReadIops | LimitKind::ReadBandwidth => reads,
        LimitKind::WriteIops | LimitKind::WriteBandwidth => writes,
    };
    all.iter().map(|count: &IoCount| if limit.kind.is_of_bytes() { count.bytes } else { count.units } as f64).sum()
}
