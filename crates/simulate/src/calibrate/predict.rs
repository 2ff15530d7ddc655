//! From a run to what the same requests would get on other hardware: sets of parameters that the run allows, each simulated.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll_measurement::RunRecord;

use super::counted::Counted;
use super::demand::{Demand, Derived, Manner, Unknown, derive};
use super::error::CalibrationError;
use super::evidence::Evidence;
use super::hardware::{Hardware, Prices};
use super::memory::is_all_alike;
use super::missing::LogRest;
use super::rate::{LimitGain, Rate};
use super::replay::{MOST_EVENTS, Span, replay};
use super::sets::{Set, sets};
use super::usage::{OVERFULL, largest_use};

/// The quantile of Student's t of 19 degrees of freedom for an interval of 95 %.
const T_95: f64 = 2.093;

/// From this gain on a limit binds that is raised by a fifth, as for what is measured (docs/VERDICTS.md).
pub(super) const BINDS: f64 = 0.033;
const FIFTH: f64 = 1.2;

/// Simulated seconds at least and at most, whatever the run took.
const SECONDS: (f64, f64) = (1.0, 60.0);

/// Requests that a simulation should have at the most: more show nothing new.
const MOST_REQUESTS: f64 = 60_000.0;

/// So many times as many where a burst may end in the run's time.
const MOST_IN_BURST: f64 = 5.0;

/// So many requests are simulated at least, in an hour at most.
const LEAST_REQUESTS: u64 = 50;
const LONGEST_S: f64 = 3600.0;

/// The part of the writes of data that may be left at the end.
pub(super) const PILED_UP: f64 = 0.25;

/// The rate of the source is met if it differs by less, or if its other waits can't help.
const MET: f64 = 0.005;
const TRIES: usize = 3;

/// Sets by which it is found how many changes of the source met.
const SETS_OF_WRITES: usize = 5;

/// Writes of a request that differ by less are the same.
const GATHERED: f64 = 0.03;

/// Of the change that is predicted for a real server an interval has room for so much: a rule of thumb. With nothing beside the server
/// `cargo xtask foretold` misses a third of it at most, beside other programs more than half.
const MISSED_CHANGE: f64 = 0.5;

/// What the model misses on the lab where the source showed nothing of it, as a part of the rate: on pairs of hardware whose runs write it was up to
/// 3.3 % faster than the run (stalls of a device and commits that a checkpoint holds back come with another limit), on others within 0.6 %.
/// `docs/SIMULATE.md` has the pairs.
const ERROR_OF_WRITES: f64 = 0.04;
const ERROR_OF_READS: f64 = 0.01;

/// A model that misses the run itself by more is none of it.
const TOO_FAR_PERCENT: f64 = 25.0;

/// Resources that are used to less than this leave the rate to the times of a request.
const AT_EASE: f64 = 0.85;

/// A run that was made a source of predictions.
#[derive(Debug, Clone)]
pub struct Calibrated {
    /// What the run says.
    pub evidence: Evidence,
    /// Its hardware.
    pub hardware: Hardware,
    /// How its server works.
    pub manner: Manner,
    /// The demand of the whole run, with bounds that bind and what is not known.
    pub derived: Derived,
    /// Sets of parameters.
    pub sets: Vec<Set>,
    /// The rate that the sets give on the source's own hardware.
    pub rate: Rate,
    /// How far that is from what was measured, in percent.
    pub error_percent: f64,
    /// Seconds of a request that the model misses at the source.
    pub missing_s: f64,
    /// What of it the run spent waiting for its log.
    pub log_rest: LogRest,
    /// Whether requests choose all rows alike.
    pub(super) all_alike: bool,
    span: Span,
    done: Arc<AtomicU64>,
}

/// What is predicted.
#[derive(Debug, Clone)]
pub struct Prediction {
    /// The hardware.
    pub hardware: Hardware,
    /// One for each set of parameters.
    pub counted: Vec<Counted>,
    /// Requests a second.
    pub rate: Rate,
    /// What each limit gives if it is raised by a fifth, the largest first: what binds.
    pub fifths: Vec<LimitGain>,
    /// What the run does not say about this hardware.
    pub unknown: Vec<String>,
}

impl Calibrated {
    /// Derives the demand of a run and holds it against the run. Each simulation that is done is counted in `done`, now and later.
    ///
    /// # Errors
    /// If the run is no measurement of requests or says too little, or if the model does not even give the run itself.
    pub fn of(
        record: &RunRecord,
        evidence: Evidence,
        hardware: Hardware,
        done: &Arc<AtomicU64>,
    ) -> Result<Self, CalibrationError> {
        let done = Arc::clone(done);
        let whole = evidence.whole();
        let derived = derive(&whole, &evidence, &hardware, 0.5);
        let manner = Manner::of(&record.engine);
        let measured = geometric_mean(&evidence.rates);
        let span = span(&evidence, &hardware, measured);
        let sets = sets(&evidence, &hardware, manner);
        let rate = Rate { value: measured, low: measured, high: measured };
        let all_alike = is_all_alike(record);
        let (error_percent, missing_s, log_rest) = (0.0, 0.0, LogRest::default());
        let mut calibrated = Self {
            evidence,
            hardware,
            manner,
            derived,
            sets,
            rate,
            error_percent,
            missing_s,
            log_rest,
            all_alike,
            span,
            done,
        };
        calibrated.derived.unknown.extend(shared_cpus(record));
        calibrated.meet_writes();
        let simulated = calibrated.meet(measured);
        let Self { evidence, hardware, derived, missing_s, .. } = &calibrated;
        calibrated.log_rest = LogRest::of(evidence, hardware, &derived.demand, *missing_s, &simulated);
        if calibrated.error_percent.abs() > TOO_FAR_PERCENT {
            let problem = format!(
                "simulated on its own hardware, the run misses its measured rate by {:+.0} %, so the model says nothing of it elsewhere",
                calibrated.error_percent
            );
            let hint = "docs/SIMULATE.md lists what a prediction needs and what the model leaves out: see with plimsoll show RUN --full what was sampled";
            return Err(CalibrationError::not_enough(problem, hint));
        }
        Ok(calibrated)
    }

    /// Requests a second that were measured, as the run states them.
    pub fn measured(&self) -> f64 {
        geometric_mean(&self.evidence.rates)
    }

    /// Has the source write as often as it did: passes that a device and other work hold up write more than a set takes them to.
    fn meet_writes(&mut self) {
        if !self.manner.has_passes {
            return;
        }
        let mut aim = 1.0;
        for _ in 0..TRIES {
            let (mut due, mut made) = (0.0, 0.0);
            for set in &self.sets[..SETS_OF_WRITES] {
                let counted = self.run(&self.hardware, set, self.span);
                due += set.demand.writes * counted.requests() as f64;
                made += counted.io[1].count as f64;
            }
            if made <= 0.0 || (made / due - 1.0).abs() < GATHERED {
                return;
            }
            aim *= due / made;
            let (hardware, rate) = (&self.hardware, self.measured());
            for set in &mut self.sets {
                set.gather(hardware, rate, aim);
            }
        }
    }

    /// Simulates the source. Where its limits leave room, what a request waits otherwise makes up for what is missing.
    fn meet(&mut self, measured: f64) -> Vec<Counted> {
        for _ in 0..TRIES {
            let counted = self.simulated();
            let miss = self.error_percent / 100.0;
            let has_room = counted.first().is_some_and(|one| largest_use(&self.hardware, one) < AT_EASE);
            if miss.abs() < MET || self.evidence.load.asked_per_s().is_some() || !has_room {
                return counted;
            }
            let sessions = f64::from(self.evidence.load.sessions);
            let missing_s = sessions / measured - sessions / self.rate.value;
            let before = self.missing_s;
            self.missing_s = (before + missing_s).max(-self.derived.demand.other_s);
            if self.missing_s.to_bits() == before.to_bits() {
                return counted;
            }
        }
        self.simulated()
    }

    /// The source on its own hardware, which says how far the model misses it.
    fn simulated(&mut self) -> Vec<Counted> {
        let counted = self.all(&self.hardware, self.span);
        for (set, counted) in self.sets.iter_mut().zip(&counted) {
            set.rest_s = Some(counted.response_s() - set.demand.lock_s);
        }
        self.rate = spread(&counted);
        self.error_percent = 100.0 * (self.rate.value / self.measured() - 1.0);
        counted
    }

    /// Predicts the run on other hardware.
    ///
    /// # Errors
    /// If the run says nothing of a resource that the target limits, or if the model has no steady state there.
    pub fn predict(&self, target: &Hardware) -> Result<Prediction, CalibrationError> {
        if target.spec.cpu.is_limited() && !self.hardware.spec.cpu.is_limited() {
            let problem = "CPU takes no time on the source's hardware, so the run does not say how much a request needs on the target's";
            return Err(CalibrationError::not_enough(problem, "predict from a run on hardware whose CPU is limited"));
        }
        let span = self.span_on(target)?;
        let counted = self.all(target, span);
        // What may be had for a while is more than for ever.
        let is_full = |one: &Counted| !target.bursts() && largest_use(target, one) > OVERFULL;
        // In passes changes meet the more, the longer a pass takes, and commits wait for the last of a pass; a server that writes at once has to hold
        // requests back by itself.
        if !self.manner.has_passes && (counted.iter().any(is_full) || piled_up(&counted) > PILED_UP) {
            let problem = "the disk makes fewer writes of data there than come to be due, and how far a server holds requests back for them is not in the model";
            return Err(CalibrationError::not_enough(problem, "measure it there"));
        }
        // What the model misses at the source it misses here as well, as far as anybody knows: by none to twice as much.
        let counted: Vec<Counted> = counted.into_iter().map(|one| one.slowed(self.too_fast())).collect();
        let plain = spread(&counted);
        let missed = self.missed();
        let missed = missed.max(1.0 + self.room_of_change() * (plain.value / self.measured() - 1.0).abs());
        let missed = missed * (1.0 + self.model_error());
        let rate = Rate { low: plain.low / missed, high: plain.high * missed, ..plain };
        let most = [self.evidence.load.most_per_s(), most_by_cpu(target, &counted).map(|most| most * missed)];
        let high = most.into_iter().flatten().fold(rate.high, f64::min).max(rate.value);
        let rate = Rate { high, ..rate };
        let fifths = self.gains(target, &[FIFTH]);
        let unknown = self.unknown_on(target, &counted);
        Ok(Prediction { hardware: target.clone(), counted, rate, fifths, unknown })
    }

    /// By what the model is faster than the source was.
    fn too_fast(&self) -> f64 {
        1.0 + self.error_percent / 100.0
    }

    /// The same to whichever side: the room for what the model leaves out, of which the source shows how much it is at least.
    pub(super) fn missed(&self) -> f64 {
        self.too_fast().ln().abs().exp()
    }

    /// The part of a predicted change by which its interval goes further than the sets show: none on hardware that is the model itself.
    pub(super) fn room_of_change(&self) -> f64 {
        if self.hardware.prices == Prices::Nanoseconds { MISSED_CHANGE } else { 0.0 }
    }

    /// What a model of devices leaves out that the source may not have shown: a part of the rate.
    fn model_error(&self) -> f64 {
        if self.derived.demand.commits > 0.0 { ERROR_OF_WRITES } else { ERROR_OF_READS }
    }

    /// All sets on some hardware.
    fn all(&self, on: &Hardware, span: Span) -> Vec<Counted> {
        self.sets.iter().map(|set| self.run(on, set, span)).collect()
    }

    /// How long is simulated on some hardware, so that there are requests enough to count.
    ///
    /// # Errors
    /// Where an hour has too few, or where nothing takes any time.
    pub(super) fn span_on(&self, on: &Hardware) -> Result<Span, CalibrationError> {
        let hint = "see whether the hardware is meant: its limits, and the unit of each";
        let mut span = if on.bursts() { span(&self.evidence, on, self.measured()) } else { self.span };
        loop {
            let Some(set) = self.sets.first() else {
                return Err(CalibrationError::not_enough("there is no set of parameters", hint));
            };
            let counted = self.run(on, set, span);
            if counted.events >= MOST_EVENTS {
                let problem = "requests would take next to no time there: nothing of that hardware holds them up";
                return Err(CalibrationError::not_enough(problem, hint));
            }
            if counted.requests() >= LEAST_REQUESTS {
                // Much faster hardware answers as many in less time. Where a burst ends some of the time is after it.
                let most = if on.bursts() { MOST_IN_BURST * MOST_REQUESTS } else { MOST_REQUESTS };
                let part = (most / counted.requests() as f64).min(1.0);
                return Ok(Span { warm_up_s: part * span.warm_up_s, seconds: part * span.seconds });
            }
            if span.seconds >= LONGEST_S {
                let problem = format!("fewer than {LEAST_REQUESTS} requests would be answered there in an hour");
                return Err(CalibrationError::not_enough(problem, hint));
            }
            let seconds = (8.0 * span.seconds).min(LONGEST_S);
            span = Span { warm_up_s: span.warm_up_s * seconds / span.seconds, seconds };
        }
    }

    pub(super) fn run(&self, on: &Hardware, set: &Set, span: Span) -> Counted {
        let demand = self.on_memory(set, &on.spec);
        let log_s = self.log_rest.gone_s(set.of_log, on);
        let other_s = (demand.other_s + self.missing_s * set.missing - log_s).max(0.0);
        let mut demand = Demand { other_s, ..demand };
        // Requests that come at a rate come by the run's clock, in which the model is too fast by so much: whoever has room answers them all.
        let load = self.evidence.load.quickened(self.too_fast());
        let each = |demand: &Demand| replay(on, demand, self.manner, load, span, set.seed);
        let mut counted = each(&demand);
        for _ in 0..TRIES {
            let writes = set.demand.writes * self.gathered(set, counted.rate());
            let lock_s = set.locks_s(demand.lock_s, &counted);
            let is_met = (writes - demand.writes).abs() <= GATHERED * demand.writes
                && (lock_s - demand.lock_s).abs() <= GATHERED * counted.response_s();
            if is_met || counted.events >= MOST_EVENTS {
                break;
            }
            let changes = if self.manner.has_passes { demand.changes } else { writes };
            let other_s = (demand.other_s + lock_s - demand.lock_s).max(0.0);
            demand = Demand { writes, changes, other_s, lock_s, ..demand };
            counted = each(&demand);
        }
        self.done.fetch_add(1, Ordering::Relaxed);
        counted.with_log_waits((self.log_rest.seconds * set.missing - log_s).min(other_s))
    }

    /// By what the writes of a request change at another rate. A page that is changed again before it is written is written once: the more
    /// changes come in a second, the more of them meet. How many do, a run at one rate does not say.
    /// In passes they meet in the simulation itself.
    fn gathered(&self, set: &Set, rate: f64) -> f64 {
        if self.manner.has_passes {
            return 1.0;
        }
        let faster = rate / self.measured();
        if faster > 0.0 && faster.is_finite() { faster.powf(-set.gathers) } else { 1.0 }
    }
}

impl Prediction {
    /// The limits between which the sets do not decide: the first may give little, and the second more than that.
    pub fn undecided(&self) -> Option<[&LimitGain; 2]> {
        let [first, second, ..] = &self.fifths[..] else { return None };
        let binds = |percent: f64| percent >= 100.0 * BINDS;
        let is_open = binds(first.percent.value) && !binds(first.percent.low) && binds(second.percent.high);
        is_open.then_some([first, second])
    }

    /// What binds, the first one first; nothing where no limit gives much.
    pub fn bottlenecks(&self) -> Vec<&'static str> {
        // What may as well lower the rate by so much binds nothing.
        let binds = |gain: &&LimitGain| gain.percent.value >= 100.0 * BINDS && gain.percent.value > -gain.percent.low;
        self.fifths.iter().filter(binds).map(|gain| gain.limit).collect()
    }
}

/// Whether client and server use the CPUs of one machine, and no quota holds the server to a part of them.
pub(super) fn shares_cpus(record: &RunRecord) -> bool {
    let of = |resource: &str| record.ceilings.iter().find(|one| one.resource == resource).map(|one| one.value);
    let machine = of("machine_cpu").filter(|_| of("client_cpu").is_some());
    machine.is_some_and(|machine| of("cpu").is_none_or(|own| own >= SAME_CPU * machine))
}

/// A quota of so much of a machine's CPU is all of it.
const SAME_CPU: f64 = 0.99;

/// That nobody knows what more CPU would bring where client and server use those of one machine.
fn shared_cpus(record: &RunRecord) -> Option<Unknown> {
    shares_cpus(record).then(|| Unknown {
        text: "how client and server share the CPUs of one machine: the server is taken to have all of them".to_owned(),
    })
}

/// How long is simulated: no longer than enough requests take, but of a disk that gives more for a while as long as the run took, from a full
/// credit on.
fn span(evidence: &Evidence, hardware: &Hardware, measured: f64) -> Span {
    let seconds = evidence.seconds.clamp(SECONDS.0, SECONDS.1);
    if hardware.bursts() {
        let seconds = seconds.min((MOST_IN_BURST * MOST_REQUESTS / measured).clamp(SECONDS.0, SECONDS.1));
        return Span { warm_up_s: 0.0, seconds };
    }
    let seconds = seconds.min((MOST_REQUESTS / measured).clamp(SECONDS.0, SECONDS.1));
    Span { warm_up_s: (seconds * 0.1).max(0.5), seconds }
}

/// Writes of data that were left at the end, as a part of all, the most of the sets.
pub(super) fn piled_up(counted: &[Counted]) -> f64 {
    counted.iter().map(|one| one.piled_up).fold(0.0, f64::max)
}

/// Requests a second that take all of a limited CPU, by the set whose requests need least of it.
fn most_by_cpu(on: &Hardware, counted: &[Counted]) -> Option<f64> {
    let each = counted.iter().map(|one| one.cpu_ns / 1e9 / one.requests().max(1) as f64);
    let least_s = each.filter(|seconds| *seconds > 0.0).min_by(f64::total_cmp)?;
    on.spec.cpu.is_limited().then(|| on.spec.cpu.cores / least_s)
}

/// The mean of rates over the sets, and where the next one would lie.
fn spread(counted: &[Counted]) -> Rate {
    let logs: Vec<f64> = counted.iter().map(|one| one.rate().max(1e-9).ln()).collect();
    let (middle, count) = (mean(&logs), logs.len() as f64);
    let variance = logs.iter().map(|log| (log - middle).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    let half = T_95 * (variance * (1.0 + 1.0 / count)).sqrt();
    let lowest = logs.iter().copied().fold(middle, f64::min);
    let highest = logs.iter().copied().fold(middle, f64::max);
    Rate { value: middle.exp(), low: (middle - half).min(lowest).exp(), high: (middle + half).max(highest).exp() }
}

fn geometric_mean(values: &[f64]) -> f64 {
    mean(&values.iter().map(|value| value.max(1e-9).ln()).collect::<Vec<f64>>()).exp()
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
