//! Whether our own client held the requests back. A session's time is the target's while it waits for an answer, and ours
//! while it computes or waits for a CPU; the larger our part, the more a faster client would have got.
//!
//! Where the engine works in our own threads, CPU time says nothing of whose it is. There our part is what a request costs
//! on nobody, which is measured at the start.

use plimsoll_measurement::{Client, Times, units};

use crate::worker::Needed;

/// Our part of a session's time from which a rate is a lower bound only...
const LIMIT_PERCENT: f64 = 50.0;
/// ... and from which it should be read with care. Below, a client that took no time would have got a quarter more at most.
const NEAR_PERCENT: f64 = 20.0;
/// Part of the CPUs from which the client had no more to give.
const CPUS_PERCENT: f64 = 90.0;
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
pub struct ClientWatch {
    place: Where,
    idle_ns: Option<f64>,
    busy_percent: f64,
    thread_percent: f64,
    cpu_percent: f64,
    cpu_seconds: f64,
    queue_seconds: Option<f64>,
    session_seconds: f64,
    requests: u64,
    slept: Times,
    pickup: Times,
    /// Bytes sent and received.
    traffic: Option<(u64, u64)>,
}

impl ClientWatch {
    /// A client of which nothing is known but where it works, and what a request costs it on nobody, in nanoseconds.
    pub fn new(place: Where, idle_ns: Option<f64>) -> Self {
        Self { place, idle_ns, ..Self::default() }
    }

    /// Adds what the sessions of a phase needed, which took so many seconds, how late those began that had slept, and how late
    /// answers were picked up.
    pub fn phase(&mut self, needed: &[Needed], seconds: f64, lags: [Option<&Times>; 2]) {
        let seconds = seconds.max(1e-9);
        let cpu: f64 = needed.iter().map(|needed| needed.cpu_seconds).sum();
        let queue: Option<f64> = needed.iter().map(|needed| needed.run_queue_seconds).sum();
        for needed in needed {
            let own = if self.place.is_embedded {
                self.idle_ns.unwrap_or(0.0) / 1e9 * needed.requests as f64
            } else {
                needed.cpu_seconds + needed.run_queue_seconds.unwrap_or(0.0)
            };
            self.busy_percent = self.busy_percent.max((100.0 * own / seconds).min(100.0));
            self.thread_percent = self.thread_percent.max(100.0 * needed.cpu_seconds / seconds);
            self.requests += needed.requests;
        }
        self.cpu_percent = self.cpu_percent.max(100.0 * cpu / seconds / f64::from(self.place.cpus.max(1)));
        self.cpu_seconds += cpu;
        self.session_seconds += seconds * needed.len() as f64;
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

    /// Adds what went over a session's connection: bytes sent and received.
    pub fn traffic(&mut self, traffic: Option<(u64, u64)>) {
        if let Some((sent, received)) = traffic {
            let sum = self.traffic.get_or_insert_default();
            (sum.0, sum.1) = (sum.0 + sent, sum.1 + received);
        }
    }

    /// The client as a record keeps it.
    pub fn client(&self) -> Client {
        if self.place.is_virtual {
            let evidence = vec!["in virtual time the client takes no time".to_owned()];
            return Client { verdict: "free".to_owned(), evidence, ..Client::default() };
        }
        let percent = units::format_significant;
        let mut evidence = Vec::new();
        let full = !self.place.is_embedded && self.cpu_percent >= CPUS_PERCENT;
        let verdict = if self.busy_percent >= LIMIT_PERCENT || full {
            "was-the-limit"
        } else if self.busy_percent >= NEAR_PERCENT {
            "near-its-limit"
        } else {
            "free"
        };
        let busy = percent(self.busy_percent);
        evidence.push(if self.place.is_embedded {
            format!("making requests took {busy} % of the busiest session's time; the engine works in the same thread")
        } else {
            format!("the busiest session computed or waited for a CPU in {busy} % of its time, else it waited for the target")
        });
        if !self.place.is_embedded {
            let cpus = self.place.cpus;
            evidence.push(format!("all sessions used {} % of {cpus} CPUs", percent(self.cpu_percent)));
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
            busy_percent: Some(self.busy_percent),
            cpu_percent: Some(self.cpu_percent),
            thread_cpu_percent: Some(self.thread_percent),
            run_queue_percent: self.queue_seconds.map(|queue| 100.0 * queue / self.session_seconds.max(1e-9)),
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

    fn watched(is_embedded: bool, cpu_seconds: f64, run_queue_seconds: f64) -> Client {
        let place = Where { is_virtual: false, is_embedded, cpus: 2 };
        let mut watch = ClientWatch::new(place, Some(1000.0));
        let idle = Needed { cpu_seconds: 0.1, run_queue_seconds: Some(0.0), requests: 1000 };
        let busy = Needed { cpu_seconds, run_queue_seconds: Some(run_queue_seconds), requests: 1_000_000 };
        let pickup = &mut Times::new();
        (0..2000).for_each(|_| pickup.record(std::time::Duration::from_micros(30)));
        watch.phase(&[idle, busy], 10.0, [None, Some(pickup)]);
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
        let modelled = ClientWatch::new(Where { is_virtual: true, ..Where::default() }, None).client();
        assert_eq!((modelled.verdict.as_str(), modelled.busy_percent), ("free", None));
    }
}
