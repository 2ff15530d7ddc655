//! Whether our own client held the requests back. A session's time is the target's while it waits for an answer, and
//! ours while it computes or waits for a CPU. The larger our part, the more a faster client would have got.
//!
//! Where the engine works in our own threads, CPU time does not show which part is ours. There our part is what a
//! request costs without a server, which is measured at the start.

use plimsoll_measurement::{Client, ClientPhase, LatencyHistogram, units};

use crate::worker::Needed;

/// Our part of a session's time from which a rate is a lower bound only...
const LIMIT_PERCENT: f64 = 50.0;
/// ... and from which it should be read with care. Below, a client that took no time would have got a quarter more at most.
const NEAR_PERCENT: f64 = 20.0;
/// Part of the CPUs from which the client had no more to give.
const CPUS_PERCENT: f64 = 90.0;
/// Part of its time that a thread of many sessions is busy from which it had no more to give, and from which that was near.
const THREAD_PERCENT: f64 = 95.0;
const THREAD_NEAR_PERCENT: f64 = 80.0;

/// Where a client works.
#[derive(Debug, Clone, Copy, Default)]
pub struct Where {
    /// True in virtual time, where the client takes no time.
    pub is_virtual: bool,
    /// True if the engine works in the sessions' threads.
    pub is_embedded: bool,
    /// CPUs that the client may use.
    pub cpus: u32,
}

/// What is known of the client.
#[derive(Debug, Default)]
pub struct ClientMonitor {
    place: Where,
    idle_ns: Option<f64>,
    phases: Vec<Need>,
    cpu_seconds: f64,
    queue_seconds: Option<f64>,
    thread_seconds: f64,
    /// Sessions, or operations under way, of one thread.
    most_slots: u64,
    requests: u64,
    slept: LatencyHistogram,
    pickup: LatencyHistogram,
    traffic: Option<(u64, u64)>,
}

/// A phase with a known need.
#[derive(Debug, Clone)]
pub struct Told {
    /// The repetition.
    pub repetition: String,
    /// Its place in the repetition, from 0.
    pub phase: usize,
    /// How long it took.
    pub seconds: f64,
    /// By what phases are ranked for the headline.
    pub rank: f64,
    /// Of a search: whether the rate held in all its tries.
    pub held: Option<bool>,
    /// CPU time of the whole process for each operation, where it was looked at.
    pub cpu_us_per_operation: Option<f64>,
}

/// Part of a session's time that is ours where its thread is busy with so many sessions in `busy` of its time: what is done for it,
/// and what is done for others first. Of answers that come when they like so many are with the thread on average (M/D/1: Pollaczek
/// and Khinchine).
fn part_of_a_session(busy: f64, sessions: u64) -> f64 {
    if sessions <= 1 {
        return busy;
    }
    let with_us = if busy < 1.0 { busy + busy * busy / (2.0 * (1.0 - busy)) } else { f64::INFINITY };
    (with_us / sessions as f64).min(1.0)
}

#[derive(Debug)]
struct Need {
    of: Told,
    busy_percent: f64,
    /// Of the busiest thread that serves many.
    shared_percent: f64,
    thread_percent: f64,
    cpu_percent: f64,
}

impl ClientMonitor {
    /// A client by the place where it works, and by what a request costs it without a server, in nanoseconds.
    pub fn new(place: Where, idle_ns: Option<f64>) -> Self {
        Self { place, idle_ns, ..Self::default() }
    }

    /// Adds what the sessions of a phase needed, how late those began that had slept, and how late answers were picked up.
    pub fn phase(&mut self, told: Told, needed: &[Needed], lags: [Option<&LatencyHistogram>; 2]) {
        let seconds = told.seconds.max(1e-9);
        let cpu: f64 = needed.iter().map(|needed| needed.cpu_seconds).sum();
        let queue: Option<f64> = needed.iter().map(|needed| needed.run_queue_seconds).sum();
        let own = |needed: &Needed| match self.idle_ns {
            idle_ns if self.place.is_embedded => idle_ns.unwrap_or(0.0) / 1e9 * needed.requests as f64,
            _ => needed.cpu_seconds + needed.run_queue_seconds.unwrap_or(0.0),
        };
        let most = |part: &dyn Fn(&Needed) -> f64| needed.iter().map(part).fold(0.0, f64::max) * 100.0 / seconds;
        let of_session = |needed: &Needed| part_of_a_session(own(needed) / seconds, needed.slots) * seconds;
        self.phases.push(Need {
            of: told,
            busy_percent: most(&of_session).min(100.0),
            shared_percent: most(&|needed| if needed.slots > 1 { own(needed) } else { 0.0 }),
            thread_percent: most(&|needed| needed.cpu_seconds),
            cpu_percent: 100.0 * cpu / seconds / f64::from(self.place.cpus.max(1)),
        });
        self.requests += needed.iter().map(|needed| needed.requests).sum::<u64>();
        self.cpu_seconds += cpu;
        self.thread_seconds += seconds * needed.len() as f64;
        self.most_slots = needed.iter().map(|needed| needed.slots).fold(self.most_slots, u64::max);
        self.queue_seconds = match (self.queue_seconds, queue) {
            (Some(sum), Some(queue)) => Some(sum + queue),
            (None, queue) => queue,
            (sum, None) => sum,
        };
        for (sum, lag) in [&mut self.slept, &mut self.pickup].into_iter().zip(lags) {
            if let Some(lag) = lag {
                sum.merge(lag);
            }
        }
    }

    /// What each phase needed, where there are several, or where it was looked at by itself.
    fn told(&self) -> Vec<ClientPhase> {
        let told = |need: &Need| ClientPhase {
            repetition: need.of.repetition.clone(),
            phase: need.of.phase as u32,
            busy_percent: need.busy_percent,
            cpu_percent: need.cpu_percent,
            was_the_limit: self.is_limit(need.busy_percent, need.cpu_percent, need.shared_percent),
            cpu_us_per_operation: need.of.cpu_us_per_operation,
        };
        let is_told = |need: &Need| need.of.phase > 0 || need.of.cpu_us_per_operation.is_some();
        if self.phases.iter().any(is_told) { self.phases.iter().map(told).collect() } else { Vec::new() }
    }

    /// Adds what went over a session's connection: bytes sent and received.
    pub fn traffic(&mut self, traffic: Option<(u64, u64)>) {
        if let Some((sent, received)) = traffic {
            let sum = self.traffic.get_or_insert_default();
            (sum.0, sum.1) = (sum.0 + sent, sum.1 + received);
        }
    }

    /// The phases that the headline is from: of a search the highest rate of each repetition that held in all its tries, else what
    /// was best over the repetitions.
    fn headline(&self) -> Vec<&Need> {
        if self.phases.iter().any(|need| need.of.held.is_some()) {
            let held = |need: &&Need| need.of.held == Some(true);
            let is_best = |need: &&Need| {
                let mut others =
                    self.phases.iter().filter(held).filter(|other| other.of.repetition == need.of.repetition);
                others.all(|other| other.of.rank <= need.of.rank)
            };
            return self.phases.iter().filter(held).filter(is_best).collect();
        }
        let sum = |phase: usize| -> f64 {
            self.phases.iter().map(|need| &need.of).filter(|of| of.phase == phase).map(|of| of.rank).sum()
        };
        let best = self.phases.iter().map(|need| need.of.phase).max_by(|a, b| sum(*a).total_cmp(&sum(*b)));
        self.phases.iter().filter(|need| Some(need.of.phase) == best).collect()
    }

    fn is_limit(&self, busy_percent: f64, cpu_percent: f64, shared_percent: f64) -> bool {
        busy_percent >= LIMIT_PERCENT
            || shared_percent >= THREAD_PERCENT
            || (!self.place.is_embedded && cpu_percent >= CPUS_PERCENT)
    }

    /// The client as a record keeps it.
    pub fn client(&self) -> Client {
        if self.place.is_virtual {
            let evidence = vec!["in virtual time the client takes no time".to_owned()];
            return Client { verdict: "free".to_owned(), evidence, ..Client::default() };
        }
        let percent = units::format_significant;
        let mut evidence = Vec::new();
        let headline = self.headline();
        let most = |part: fn(&Need) -> f64| headline.iter().map(|need| part(need)).fold(0.0, f64::max);
        let (busy_percent, cpu_percent) = (most(|need| need.busy_percent), most(|need| need.cpu_percent));
        let shared_percent = most(|need| need.shared_percent);
        let verdict = if self.is_limit(busy_percent, cpu_percent, shared_percent) {
            "was-the-limit"
        } else if busy_percent >= NEAR_PERCENT || shared_percent >= THREAD_NEAR_PERCENT {
            "near-its-limit"
        } else {
            "free"
        };
        let busy = percent(busy_percent);
        if shared_percent > 0.0 {
            let (shared, most) = (percent(shared_percent), self.most_slots);
            evidence
                .push(format!("a thread with up to {most} operations under way was busy in {shared} % of its time"));
        }
        evidence.push(if self.place.is_embedded {
            format!("making requests took {busy} % of the busiest session's time; the engine works in the same thread")
        } else {
            format!("the busiest session computed or waited for a CPU in {busy} % of its time, else it waited for the target")
        });
        if !self.place.is_embedded {
            let cpus = if self.place.cpus == 1 { "one CPU".to_owned() } else { format!("{} CPUs", self.place.cpus) };
            evidence.push(format!("all sessions used {} % of {cpus}", percent(cpu_percent)));
        }
        let late = self.slept.percentile(99.0).map(|late| late.as_nanos() as f64 / 1e3);
        if let Some(late) = late {
            evidence.push(format!("99 of 100 sessions that had slept began within {} us of their time", percent(late)));
        }
        let pickup = self.pickup.percentile(99.0).map(|late| late.as_nanos() as f64 / 1e3);
        if let Some(late) = pickup {
            evidence.push(format!("99 of 100 answers were picked up within {} us of their arrival", percent(late)));
        }
        Client {
            verdict: verdict.to_owned(),
            evidence,
            busy_percent: Some(busy_percent),
            cpu_percent: Some(cpu_percent),
            thread_cpu_percent: Some(most(|need| need.thread_percent)),
            phases: self.told(),
            sessions_per_thread: (self.most_slots > 1).then_some(self.most_slots),
            run_queue_percent: self.queue_seconds.map(|queue| 100.0 * queue / self.thread_seconds.max(1e-9)),
            wake_lag_us_p99: late,
            pickup_lag_us_p99: pickup,
            cpu_us_per_request: (self.requests > 0).then(|| 1e6 * self.cpu_seconds / self.requests as f64),
            idle_ns_per_request: self.idle_ns,
            sent_bytes: self.traffic.map(|(sent, _)| sent),
            received_bytes: self.traffic.map(|(_, received)| received),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(phase: usize, rank: f64) -> Told {
        Told { repetition: "a".to_owned(), phase, seconds: 10.0, rank, held: None, cpu_us_per_operation: None }
    }

    #[test]
    fn the_need_is_each_phases_own() {
        let mut watch = ClientMonitor::new(Where { is_virtual: false, is_embedded: false, cpus: 8 }, None);
        let need = |cpu_seconds| [Needed { cpu_seconds, run_queue_seconds: Some(0.0), requests: 1000, slots: 1 }];
        // The fastest phase needed little; another that was slower needed nearly all of its time.
        watch.phase(told(0, 500.0), &need(1.0), [None; 2]);
        watch.phase(told(1, 400.0), &need(9.0), [None; 2]);
        let client = watch.client();
        assert_eq!((client.verdict.as_str(), client.busy_percent), ("free", Some(10.0)), "{client:?}");
        let limits: Vec<(u32, bool)> = client.phases.iter().map(|need| (need.phase, need.was_the_limit)).collect();
        assert_eq!(limits, [(0, false), (1, true)]);
        // Of a search what held counts, though what did not was faster.
        let mut watch = ClientMonitor::new(Where { is_virtual: false, is_embedded: false, cpus: 8 }, None);
        watch.phase(Told { held: Some(true), ..told(0, 400.0) }, &need(3.0), [None; 2]);
        watch.phase(Told { held: Some(false), ..told(1, 500.0) }, &need(9.0), [None; 2]);
        assert_eq!(watch.client().verdict, "near-its-limit");
    }

    #[test]
    fn a_thread_of_many_sessions_is_judged_by_theirs() {
        let watched = |cpu_seconds, slots| {
            let mut watch = ClientMonitor::new(Where { is_virtual: false, is_embedded: false, cpus: 8 }, None);
            let needed = Needed { cpu_seconds, run_queue_seconds: Some(0.0), requests: 1000, slots };
            watch.phase(told(0, 500.0), &[needed], [None; 2]);
            watch.client()
        };
        // Half of its time busy: of one session that is half of its time, of a thousand next to nothing.
        assert_eq!(watched(5.0, 1).verdict, "was-the-limit");
        let many = watched(5.0, 1000);
        assert_eq!((many.verdict.as_str(), many.sessions_per_thread), ("free", Some(1000)));
        assert!((many.busy_percent.unwrap() - 0.075).abs() < 1e-9, "{many:?}");
        assert_eq!(watched(8.5, 1000).verdict, "near-its-limit");
        let full = watched(9.9, 1000);
        assert_eq!(full.verdict, "was-the-limit");
        assert!(
            full.evidence.iter().any(|said| said.contains("1000 operations under way was busy in 99.0 %")),
            "{full:?}"
        );
        // Two sessions of one thread: 0.9 + 0.81 / 0.2 are more than both.
        assert_eq!(watched(9.0, 2).busy_percent, Some(100.0));
    }

    fn watched(is_embedded: bool, cpu_seconds: f64, run_queue_seconds: f64) -> Client {
        let place = Where { is_virtual: false, is_embedded, cpus: 2 };
        let mut watch = ClientMonitor::new(place, Some(1000.0));
        let idle = Needed { cpu_seconds: 0.1, run_queue_seconds: Some(0.0), requests: 1000, slots: 1 };
        let busy = Needed { cpu_seconds, run_queue_seconds: Some(run_queue_seconds), requests: 1_000_000, slots: 1 };
        let pickup = &mut LatencyHistogram::new();
        (0..2000).for_each(|_| pickup.record(std::time::Duration::from_micros(30)));
        watch.phase(told(0, 1.0), &[idle, busy], [None, Some(pickup)]);
        watch.client()
    }

    #[test]
    fn the_verdict_is_that_of_the_busiest_session() {
        assert_eq!(watched(false, 1.0, 0.5).verdict, "free");
        assert_eq!(watched(false, 1.0, 1.5).verdict, "near-its-limit");
        assert_eq!(watched(false, 2.0, 3.0).verdict, "was-the-limit");
        let late = watched(false, 1.0, 0.5);
        assert!((29.5..30.5).contains(&late.pickup_lag_us_p99.unwrap()) && late.wake_lag_us_p99.is_none(), "{late:?}");
        assert!(late.evidence.iter().any(|said| said.contains("picked up within 30")), "{late:?}");
        // An engine in our own thread may take all of it: ours is a million times a microsecond.
        let embedded = watched(true, 9.9, 0.1);
        assert_eq!((embedded.verdict.as_str(), embedded.busy_percent), ("free", Some(10.0)));
        assert!((embedded.cpu_us_per_request.unwrap() - 10.0).abs() < 0.1);
        let modelled = ClientMonitor::new(Where { is_virtual: true, ..Where::default() }, None).client();
        assert_eq!((modelled.verdict.as_str(), modelled.busy_percent), ("free", None));
    }
}
