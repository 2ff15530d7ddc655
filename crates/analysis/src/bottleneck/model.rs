//! The network of queues that was fitted to a stretch of time, and what each rule's change would bring in it.

mod memory;
mod times;

use plimsoll_measurement::Ceiling;

use super::judged::{Found, Load, Used};
use super::means::{Means, ceiling};
use super::neighbours;
use super::network::Network;
use super::outside;
use super::rules::{
    BETWEEN, Change, Counts, DEVICES, FASTER_CORES, HARDLY, LOCK_LIMIT, LOCKS, Locks, MACHINE_CPU, MORE,
    NOBODY_LOCKS_TABLES, OTHERS_LET_GO, RULES, Rule, Station, TABLE_LOCKS, TABLES, Use, WORKERS,
};
use super::usage::{highest, part_of_station, used};
use crate::maximum::{Maximum, theoretical_maximum};

/// The network, and where its parts come from.
#[derive(Debug)]
pub(super) struct Model<'a> {
    pub means: &'a Means<'a>,
    pub ceilings: &'a [Ceiling],
    pub load: &'a Load,
    /// Requests a second while something moved.
    pub rate: f64,
    pub network: Network,
    /// CPUs that the server and our client share with everybody, where they do.
    shared: Option<Shared>,
}

/// CPUs of a machine on which both server and client work.
#[derive(Debug, Clone, Copy)]
struct Shared {
    /// CPUs.
    cpus: f64,
    /// CPUs at work for our client.
    client: f64,
}

impl<'a> Model<'a> {
    /// `None` if no network delivers this rate.
    pub fn fitted(means: &'a Means<'a>, ceilings: &'a [Ceiling], load: &'a Load, rate: f64) -> Option<Self> {
        let shared = shared(means, ceilings);
        let used = |station: Station| match station {
            // The client queues for the same CPUs then.
            Station::Client if shared.is_some() => 0.0,
            Station::Cpu if has_core_each(means, ceilings, load) => 0.0,
            station => part_of_station(means, ceilings, station).unwrap_or(0.0),
        };
        let network = Network::fitted(load.sessions, &Station::ALL.map(used), rate)?;
        Some(Self { means, ceilings, load, rate, network, shared })
    }

    /// How far a limit was used.
    pub fn used(&self, rule: &Rule) -> Option<Used> {
        highest(self.means, self.ceilings, rule)
    }

    /// Sessions that wait on average. A session with a new request is seen waiting for its client until it gets a CPU.
    /// So on a full machine, or under a quota, fewer sessions are seen to compute than there are cores at work for the server, or far fewer
    /// than must queue for them: that is no count of them.
    pub fn waiting(&self, rule: &Rule) -> Option<f64> {
        if rule.limit == BETWEEN {
            return outside::sessions(self.means, self.load, self.rate);
        }
        let waiting = self.means.sum(rule.waits)?;
        if rule.waits.iter().all(|wait| DEVICES.contains(wait)) && !rule.waits.is_empty() {
            let all = self.means.sum(&DEVICES).unwrap_or(0.0);
            let hidden = neighbours::hidden(self.means, self.ceilings, self.load).min(all);
            return Some(if all > 0.0 { waiting * (1.0 - hidden / all) } else { waiting });
        }
        if rule.station() == Some(Station::Client) {
            return Some(waiting * self.part_at_client());
        }
        if rule.station() != Some(Station::Cpu) {
            return Some(waiting);
        }
        let at_work = self.means.column("server_cpu").unwrap_or(0.0).min(self.load.sessions);
        let ready = self.threads_at_cpu().unwrap_or(0.0).min(self.load.sessions);
        (waiting >= at_work.max(EXPLAINED * self.computing()).max(MOST_READY * ready)).then_some(waiting)
    }

    /// Threads of the server that had a core or waited for one, on average: its background's among them. `None` where the kernel does not say.
    pub fn threads_at_cpu(&self) -> Option<f64> {
        Some(self.means.column("server_cpu")? + self.means.column("server_cpu_queue")?)
    }

    /// Which part of the sessions that are seen to wait for the client do; the others wait for a CPU.
    pub fn part_at_client(&self) -> f64 {
        let seen = self.means.column("waiting_for_client").filter(|seen| *seen > 0.0);
        let hidden = neighbours::hidden_from_client(self.means, self.ceilings, self.load);
        // No more than our client was seen to need, where that was measured: the rest is on the network, or without a CPU.
        let most = self.load.client.map_or(f64::INFINITY, |part| part * self.load.sessions);
        seen.map_or(1.0, |seen| (seen - hidden).min(most) / seen)
    }

    /// In how many of the intervals in which its use is known a limit was used by [`NEARLY_FULL`] or more.
    pub fn nearly_full(&self, rule: &Rule) -> (usize, usize) {
        let parts = self.means.each().filter_map(|one| highest(&one, self.ceilings, rule)).map(|used| used.part);
        parts.fold((0, 0), |(full, all), part| (full + usize::from(part >= NEARLY_FULL), all + 1))
    }

    /// Sessions that the server calls active, without a wait, and that neither compute nor wait for a core: what they do is not seen, such
    /// as a write to a pipe. `None` where nobody knows what the server's threads do, or where they are few.
    pub fn unnamed(&self) -> Option<f64> {
        outside::unnamed(self.means)
    }

    /// What is known of a limit; `None` if nothing is.
    pub fn found(&self, rule: &'static Rule) -> Option<Found> {
        let known = |other: &&Rule| other.station() == rule.station() && other.limit != rule.limit;
        if rule.last_resort && RULES.iter().filter(known).any(|other| self.used(other).is_some()) {
            return None;
        }
        let (used, waiting) = (self.used(rule), self.waiting(rule));
        if rule.station() == Some(Station::Cpu) && self.cores_are_full() {
            let gain_percent = self.with_faster_cores()?;
            return Some(Found { rule, lift: FASTER_CORES, used, waiting, gain_percent, is_guessed: false });
        }
        let gain_percent = self.gain(rule, used.as_ref(), waiting)?;
        let lift =
            if rule.limit == LOCK_LIMIT { self.locks().map_or(rule.lift, |(_, lift, _)| lift) } else { rule.lift };
        let is_guessed = self.is_guessed(rule, waiting);
        Some(Found { rule, lift, used, waiting, gain_percent, is_guessed })
    }

    /// Whether a gain is a guess: of memory without the sizes, and of threads for which few sessions wait, as nobody knows what those that are let
    /// in would wait for next.
    fn is_guessed(&self, rule: &Rule, waiting: Option<f64>) -> bool {
        match rule.change {
            Change::Memory => self.is_guess_of_memory(),
            Change::Without(_) if rule.limit == WORKERS => {
                waiting.is_some_and(|waiting| waiting < MANY_OUTSIDE * self.load.sessions)
            }
            _ => false,
        }
    }

    /// The kind of locks for which most sessions wait, what would free them, and the part of the waits that is left then. `None` where the engine does
    /// not say which locks they are.
    pub fn locks(&self) -> Option<(&'static str, &'static str, f64)> {
        let waits = self.means.each_of("waiting");
        let of = |locks: &Locks| -> f64 {
            let is_one = |name: &str| locks.waits.iter().any(|begin| name.starts_with(begin));
            waits.iter().filter(|(name, _)| is_one(name)).map(|(_, sessions)| sessions).sum()
        };
        let most = LOCKS.iter().max_by(|a, b| of(a).total_cmp(&of(b))).filter(|locks| of(locks) > 0.0)?;
        let (lift, rest) = match self.blocked() {
            Some((blocked, waiting)) if blocked >= waiting / 2.0 => (OTHERS_LET_GO, HARDLY),
            None if most.words == TABLES => (NOBODY_LOCKS_TABLES, HARDLY),
            _ => (most.lift, most.rest),
        };
        Some((most.words, lift, rest))
    }

    /// Sessions that wait for locks of others' sessions, of those that wait for locks.
    pub fn blocked(&self) -> Option<(f64, f64)> {
        let of_tables = self.means.column(TABLE_LOCKS).unwrap_or(0.0);
        let waiting = self.means.column("waiting_for_lock")? + of_tables;
        let blocked = self.means.column("blocked_by_others")?.min(waiting);
        // An engine may not see who holds a table.
        (waiting > 0.0 && (blocked > 0.0 || of_tables < waiting / 2.0)).then_some((blocked, waiting))
    }

    /// What a rule's change would bring, in percent, with this use and so many sessions that wait.
    fn gain(&self, rule: &Rule, used: Option<&Used>, waiting: Option<f64>) -> Option<f64> {
        let gain_percent = match rule.change {
            Change::More(Station::Cpu) => {
                let gain = self.with_more(rule, Station::Cpu, used?).max(self.without_neighbours());
                // Nobody gains more than what he waited for.
                neighbours::most_gain_percent(self.means, self.ceilings, self.load).map_or(gain, |most| gain.min(most))
            }
            Change::More(station) => self.with_more(rule, station, used?),
            Change::Faster(station) => self.with_faster(station, waiting?)?,
            Change::Cheaper(station) => self.with_cheaper(station, waiting)?,
            Change::Memory => self.with_memory(used, waiting)?,
            Change::Without(rest) => {
                let of_kind = self.locks().filter(|_| rule.limit == LOCK_LIMIT).map(|(.., rest)| rest);
                self.less_elsewhere(waiting? * (1.0 - of_kind.unwrap_or(rest)))
            }
            Change::Unfrozen => {
                if self.means.still <= 0.0 {
                    return None;
                }
                100.0 * (1.0 / (1.0 - self.means.still) - 1.0)
            }
        };
        // A fifth more of one thing brings a fifth at most, and a fifth less of a cost a quarter.
        let most = match rule.change {
            Change::More(_) | Change::Faster(_) => MORE,
            Change::Cheaper(_) => MORE_COST,
            Change::Memory | Change::Without(_) | Change::Unfrozen => f64::INFINITY,
        };
        gain_percent.is_finite().then_some(gain_percent.min(100.0 * (most - 1.0)))
    }

    /// What it would bring if so many sessions more waited than were seen.
    pub fn gain_with(&self, found: &Found, more: f64) -> Option<f64> {
        // Of more sessions than there are nobody waits.
        let waiting = found.waiting.map(|waiting| (waiting + more).clamp(0.0, self.load.sessions));
        if found.lift == FASTER_CORES { None } else { self.gain(found.rule, found.used.as_ref(), waiting) }
    }

    /// The rate at full use of a device's limit that bound without being used to the full (reference 2.9 and A33).
    pub fn maximum(&self, bound: &[Found]) -> Option<Maximum> {
        let devices = [Some(Station::Data), Some(Station::Log)];
        let first = bound.first().filter(|found| devices.contains(&found.rule.station()))?;
        let used = first.used.as_ref().filter(|used| used.part < USED_TO_THE_FULL)?;
        let cpu = part_of_station(self.means, self.ceilings, Station::Cpu);
        theoretical_maximum(self.rate, 100.0 * used.part, cpu.map(|part| 100.0 * part))
    }

    /// CPUs at work for processes that are neither the server's nor ours, with all there are, where the server's CPUs are not its own.
    pub fn others(&self) -> Option<(f64, f64)> {
        Some((self.means.whole().column("other_cpu")?, ceiling(self.ceilings, MACHINE_CPU)?.value))
    }

    /// Sessions of others that were at work on the server.
    pub fn strangers(&self) -> Option<f64> {
        self.means.column("sessions_of_others")
    }

    /// Sessions that compute on average, or wait for CPU.
    pub fn computing(&self) -> f64 {
        let beside_queue = self.highest_of(Station::Cpu).and_then(|used| self.beside_queue(&used)).unwrap_or(0.0);
        self.rate * self.network.time_at(Station::Cpu as usize) + beside_queue
    }

    /// Whether anything is known of the CPU that sessions use.
    pub fn sees_cpu(&self) -> bool {
        self.highest_of(Station::Cpu).is_some()
    }

    /// Cores at work for the sessions beside the queue for them.
    fn beside_queue(&self, used: &Used) -> Option<f64> {
        let cores = cores(used)?;
        let all = used.part.min(1.0) * cores;
        if self.network.demands[Station::Cpu as usize] > 0.0 {
            return Some(all * beside(cores));
        }
        let is_shared = used.ceiling.as_ref().is_some_and(|ceiling| ceiling.resource == MACHINE_CPU);
        let others = self.means.column("other_cpu").filter(|_| is_shared).unwrap_or(0.0);
        Some((all - others).max(0.0))
    }

    /// What more cores bring beside other programs: waits for a core that are a fifth shorter, of those that are not of the sessions' own
    /// queue for it.
    fn without_neighbours(&self) -> f64 {
        if !neighbours::are_measured(self.means, self.ceilings) {
            return 0.0;
        }
        let at_cpu = self.rate * self.network.time_at(Station::Cpu as usize);
        let computing = self.means.sum(&["server_cpu", "client_cpu"]).unwrap_or(0.0);
        let beyond = neighbours::queued(self.means, self.ceilings).unwrap_or(0.0) - (at_cpu - computing).max(0.0);
        self.less_elsewhere((beyond * (1.0 - 1.0 / MORE)).max(0.0))
    }

    /// The gain if so many sessions less were elsewhere, beside the stations.
    pub fn less_elsewhere(&self, sessions: f64) -> f64 {
        self.network.gain_percent(self.network.demands.clone(), self.network.elsewhere - sessions / self.rate)
    }

    /// The highest use of a station.
    fn highest_of(&self, station: Station) -> Option<Used> {
        highest_of(self.means, self.ceilings, station)
    }

    /// Whether next to nothing is left of the CPUs, whoever uses them.
    pub fn cpus_are_full(&self) -> bool {
        self.highest_of(Station::Cpu).is_some_and(|used| used.part >= FULL_CPU)
    }

    /// Whether each session has a core, and that is full: the limit is the speed of a core then, and not how many there are.
    fn cores_are_full(&self) -> bool {
        let have_one_each = self.network.demands[Station::Cpu as usize] <= 0.0;
        have_one_each && self.computing() >= FULL_CORE * self.load.sessions
    }

    /// What cores would bring that are a fifth faster, where it is known how many there are: not only queues for them get shorter.
    pub fn with_faster_cores(&self) -> Option<f64> {
        let used = self.highest_of(Station::Cpu)?;
        let mut demands = self.network.demands.clone();
        demands[Station::Cpu as usize] /= MORE;
        // Work that overlaps takes no more of the sessions' time than there is: no more than the cores' own speed is gained.
        let queued = self.rate * self.network.time_at(Station::Cpu as usize);
        let computing = self.beside_queue(&used)?.min((self.load.sessions - queued).max(0.0));
        let shorter = computing * (1.0 - 1.0 / MORE) / self.rate;
        Some(self.network.gain_percent(demands, self.network.elsewhere - shorter))
    }

    /// More of what a station can do: of the limit alone, as the station's other limits stay.
    fn with_more(&self, rule: &Rule, station: Station, used: &Used) -> f64 {
        // What counts only where nothing better is known says nothing of another limit.
        let is_other = |other: &&Rule| other.limit != rule.limit && other.change == rule.change && !other.last_resort;
        let others = RULES.iter().filter(is_other);
        let rest = others.filter_map(|other| Some(self.used(other)?.part)).fold(0.0, f64::max);
        let mut demands = self.network.demands.clone();
        if demands[station as usize] <= 0.0 {
            return 0.0;
        }
        // Nothing is used by more than there is: what is above that is how it was counted.
        let part = used.part.min(1.0);
        let cores = cores(used).filter(|_| station == Station::Cpu && parallel(self.means, self.load).is_none());
        demands[station as usize] = (part / MORE).max(rest.min(1.0)) / self.rate;
        let longer = cores.map_or(0.0, |cores| part * cores / self.rate * (beside(MORE * cores) - beside(cores)));
        let shorter = self.network.demands[station as usize] - demands[station as usize];
        let hidden = shorter * self.part_in_latency(station);
        self.network.gain_percent(demands, self.network.elsewhere + longer + hidden)
    }

    /// The part of the log's own transfers that passes within the latency of its writes, where the server says how long the limit held them back. A
    /// limit holds back what comes too fast: of writes that do not it is as good as none, however far they use it.
    fn part_in_latency(&self, station: Station) -> f64 {
        let transfer = self.rate * self.network.demands[station as usize];
        let held = self.means.column("waiting_for_log_governor").filter(|_| station == Station::Log && transfer > 0.0);
        let at_limit = self.rate * self.network.time_at(station as usize);
        held.map_or(0.0, |held| ((at_limit - held) / transfer).clamp(0.0, 1.0))
    }

    /// Shorter waits at a station of which nobody knows what it can do.
    fn with_faster(&self, station: Station, waiting: f64) -> Option<f64> {
        if part_of_station(self.means, self.ceilings, station).is_some() {
            return None;
        }
        let at_device = if station == Station::Log { self.flushed().unwrap_or(1.0) } else { 1.0 };
        Some(self.less_elsewhere(waiting * at_device * (1.0 - 1.0 / MORE)))
    }

    /// What a request costs at a station, less a fifth.
    fn with_cheaper(&self, station: Station, waiting: Option<f64>) -> Option<f64> {
        let less = 1.0 - 1.0 / MORE_COST;
        let mut demands = self.network.demands.clone();
        if let Some(shared) = self.shared {
            // What our client needs less of the CPUs of both is there for the server, unless the server has a limit of its own.
            let of_server = |of: &&Use| of.ceiling != MACHINE_CPU && of.counts == Counts::Always;
            let uses = RULES.iter().filter(|rule| rule.station() == Some(Station::Cpu)).flat_map(|rule| rule.uses);
            let own = uses.filter(of_server).filter_map(|of| used(self.means, self.ceilings, of));
            let own = own.map(|used| used.part.min(1.0)).fold(0.0, f64::max);
            let (saved, before) = (less * shared.client / self.rate, demands[Station::Cpu as usize]);
            let after = (before - saved / shared.cpus).max(own / self.rate).min(before);
            demands[Station::Cpu as usize] = after;
            let beside = (saved - (before - after)).max(0.0);
            return Some(self.network.gain_percent(demands, self.network.elsewhere - beside));
        }
        let queued = demands[station as usize];
        // All that a request needs there: of our own client as it was measured, else what its sessions spend there without the queue.
        let each = match (self.load.client, self.means.column("client_cpu").filter(|_| queued > 0.0), waiting) {
            (Some(part), ..) => part * self.load.sessions / self.rate,
            (None, Some(cpu), _) => cpu / self.rate,
            (None, None, Some(waiting)) => waiting / self.rate,
            _ => return None,
        };
        demands[station as usize] *= 1.0 - less;
        Some(self.network.gain_percent(demands, self.network.elsewhere - less * (each - queued).max(0.0)))
    }
}

/// The highest use of a station by any of its limits.
fn highest_of(means: &Means<'_>, ceilings: &[Ceiling], station: Station) -> Option<Used> {
    let own = RULES.iter().filter(|rule| rule.station() == Some(station));
    own.filter_map(|rule| highest(means, ceilings, rule)).max_by(|a, b| a.part.total_cmp(&b.part))
}

/// Cores that a part of is used; `None` where only a percentage is known.
fn cores(used: &Used) -> Option<f64> {
    used.ceiling.as_ref().map(|ceiling| ceiling.value)
}

/// What part of the work at so many cores passes beside the queue: a session computes on one core at a time, which is seen as a queue
/// that all cores serve together, and a rest of the time that passes whatever the load (Seidmann, Schweitzer and Shalev-Oren,
/// Computerized closed queueing network models of flexible manufacturing systems, Large Scale Systems 12 (1987) 91-107).
fn beside(cores: f64) -> f64 {
    (1.0 - 1.0 / cores).max(0.0)
}

/// Cores that the sessions are seen to use, if they are more than the sessions: by how much more of them they would go faster is not
/// known then. A session that waits for its server does not compute: if the shares of server and client come to more, they overlap.
pub(super) fn parallel(means: &Means<'_>, load: &Load) -> Option<f64> {
    // Nobody computes while all wait for storage. A server has some work beside them.
    let stalled = means.column("io_stall").unwrap_or(0.0) / 100.0;
    let server = means.column("server_cpu")?;
    let both = server + means.column("client_cpu").unwrap_or(0.0);
    (server > PARALLEL * load.sessions * (1.0 - stalled) || both > PARALLEL * load.sessions).then_some(both)
}

/// Whether there is a core for each session, so that nobody queues: sessions compute on one core each unless they are seen to use more,
/// and others leave them alone.
fn has_core_each(means: &Means<'_>, ceilings: &[Ceiling], load: &Load) -> bool {
    let Some(used) = highest_of(means, ceilings, Station::Cpu) else { return false };
    let others = means.column("other_cpu").unwrap_or(0.0);
    // A trifle that others do is no queue.
    cores(&used).is_some_and(|cores| load.sessions + others <= ENOUGH * cores) && parallel(means, load).is_none()
}

/// The CPUs that server and client share: those of a machine, where the client is not held to fewer of them. Of an engine that works in
/// our own threads nobody knows what is the client's.
fn shared(means: &Means<'_>, ceilings: &[Ceiling]) -> Option<Shared> {
    let cpus = ceiling(ceilings, MACHINE_CPU)?.value;
    let of_client = ceiling(ceilings, "client_cpu")?.value;
    Some(Shared { cpus, client: means.column("client_cpu")? }).filter(|_| of_client >= cpus)
}

/// The part of a limit from which on an interval is counted (reference, 5.6).
const NEARLY_FULL: f64 = 0.9;
/// The part of sessions' waits for a device, or of what it carries, from which its own times are told; and that of sessions at a CPU from which
/// on they are counted.
const EXPLAINED: f64 = 0.5;
/// Sessions that wait for a thread are what holds the others up from this part of all on.
const MANY_OUTSIDE: f64 = 0.25;
/// The part of the server's threads at the CPUs from which on sessions that are seen there are all that are.
const MOST_READY: f64 = 0.8;
/// Cores are enough for so many that work, as a part of them.
const ENOUGH: f64 = 1.05;
/// Cores for each session from which on it works in parallel.
const PARALLEL: f64 = 1.1;
/// A session that computes for this part of the time fills its core.
const FULL_CORE: f64 = 0.9;
/// CPUs of which this part is used are full.
pub(super) const FULL_CPU: f64 = 0.9;
/// A limit that is used from this part on is used to the full.
const USED_TO_THE_FULL: f64 = 0.98;
/// A cost less 20 % is this part of what it was, seen the other way round.
const MORE_COST: f64 = 1.0 / 0.8;
