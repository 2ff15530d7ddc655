//! A kind of step that nothing of the program knows: a modelled device with 32 operations under way on one thread, which complete
//! out of order, in virtual time. It needs no database.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_bench::figures::series::{Measured, Series, percentile_ms};
use plimsoll_bench::parameters::shared::{DAY, SEED};
use plimsoll_bench::parameters::{Kind, Parameter, Parameters};
use plimsoll_bench::step::context::Keep;
use plimsoll_bench::step::kind::{Alone, Ask, Asked, Measures, Ran, StepKind};
use plimsoll_clock::{Clock, in_threads_while};
use plimsoll_engine::work::Expected;
use plimsoll_engine::{Error, ErrorKind, Result};
use plimsoll_load::lane::{Amount, Completion, Lane, Outcome};
use plimsoll_load::monitor::{LOOK_EVERY, Monitor};
use plimsoll_load::phases::Phase;
use plimsoll_load::recorder::Recorder;
use plimsoll_load::schedule::Arrivals;
use plimsoll_load::think::Think;
use plimsoll_load::worker::{Shared, State, work};
use plimsoll_measurement::{Moment, Phase as PhaseRecord};

const IN_FLIGHT: Parameter =
    Parameter::new("in_flight", Kind::Count(1, 1024), "Operations under way at a time, on one thread.").or("32");
const LASTS: Parameter =
    Parameter::new("lasts", Kind::Duration(Duration::from_secs(1), DAY), "How long a repetition reads.");

/// Reads of a modelled device.
pub const KIND: StepKind = StepKind {
    expects,
    ..StepKind::new("modelled-device", &[&IN_FLIGHT, &LASTS, &SEED], || Measures::Alone(Box::new(Reads)), figures)
};

fn figures(measured: &Measured<'_>) -> Vec<Series> {
    let phases = || measured.repetitions.iter().flat_map(|repetition| &repetition.phases);
    vec![
        Series::new("iops", "1/s", phases().map(|phase| phase.rate).collect()),
        percentile_ms("latency_p50", 50.0, phases().map(|phase| phase.times.percentile(50.0))),
        percentile_ms("latency_p99", 99.0, phases().map(|phase| phase.times.percentile(99.0))),
    ]
}

/// As many under way as the rate times the mean time (Little).
#[expect(clippy::unnecessary_wraps, reason = "a step may fail to know")]
fn expects(ran: &Ran<'_>, _: Ask<'_>) -> Result<Vec<Expected>> {
    let (in_flight, ms) = (ran.parameters.count("in_flight"), mean_ms(ran.parameters));
    Ok(vec![Expected {
        metric: "iops",
        value: in_flight as f64 * 1e3 / ms,
        basis: "given".to_owned(),
        limit: "latency",
        reason: format!("{in_flight} operations under way take {ms} ms each on average"),
        published: false,
    }])
}

/// The seed is the device: of an odd one an operation takes 1 to 19 ms, of an even one twice as long.
fn slowness(parameters: &Parameters) -> u64 {
    2 - parameters.count("seed") % 2
}

fn mean_ms(parameters: &Parameters) -> f64 {
    10.0 * slowness(parameters) as f64
}

struct Reads;

impl Alone for Reads {
    fn repeat(&mut self, asked: &Asked<'_>, keep: &mut Keep<'_>) -> Result<()> {
        let (time, parameters) = (keep.time, asked.parameters);
        keep.begin(None);
        let (clock, kinds) = (Arc::clone(time.clock), ["read".to_owned()]);
        let start = keep.repetition_start;
        let end = start.after(parameters.duration("lasts"));
        let recorders = [Mutex::new(Recorder::new(start, end, &kinds, false))];
        let think = Think { mean: Duration::ZERO, arrivals: Arrivals::Constant, seed: parameters.count("seed") };
        let state = State::of(1);
        let shared = Shared { clock: clock.as_ref(), schedule: None, think, start, end, recorders: &recorders, state };
        let phase = Phase { label: None, sessions: 1, rate: None, batch_rows: 1, lasts: Duration::from_secs(1) };
        let mut monitor = Monitor::new(&phase, &recorders, None, (start, start));
        let mut device = Device {
            clock: Arc::clone(&clock),
            slots: parameters.count("in_flight") as usize,
            slowness: slowness(parameters),
            begun: keep.number() << 32,
            under_way: BinaryHeap::new(),
        };
        let jobs = vec![("device".to_owned(), || work(&shared, &mut device, 0).0)];
        let mut kept = Ok(());
        let ended = in_threads_while(&clock, jobs, || {
            let mut look = start.after(LOOK_EVERY);
            while look < end && kept.is_ok() {
                clock.sleep_until(look);
                kept =
                    time.interrupt.check().and_then(|()| monitor.look(look, false).1.map_or(Ok(()), |p| keep.point(p)));
                look = look.after(LOOK_EVERY);
            }
            if kept.is_err() {
                shared.state.stop();
            }
        });
        clock.sleep_until(end);
        kept?;
        monitor.look(end, true).1.map_or(Ok(()), |point| keep.point(point))?;
        for ended in ended {
            ended.unwrap_or_else(|_| Err(Error::new(ErrorKind::Internal, "the device broke")))?;
        }
        let recorder = recorders[0].lock().unwrap_or_else(PoisonError::into_inner);
        keep.repetition.requests = recorder.kinds();
        keep.repetition.seconds = recorder.seconds(&monitor.percentiles);
        let record: PhaseRecord = phase.record(&recorder, 0.0, end.since(start).as_secs_f64(), None);
        keep.phase(record)
    }
}

/// Serves all that is under way at the same time. How long each takes follows from its number.
struct Device {
    clock: Arc<dyn Clock>,
    slots: usize,
    slowness: u64,
    begun: u64,
    under_way: BinaryHeap<Reverse<(Moment, u64, usize)>>,
}

impl Lane for Device {
    type Error = Error;

    fn slots(&self) -> usize {
        self.slots
    }

    fn submit(&mut self, slot: usize, _: Moment) -> Result<()> {
        let number = self.begun;
        self.begun += 1;
        let takes = Duration::from_millis(self.slowness * (1 + number.wrapping_mul(2_654_435_761) % 19));
        self.under_way.push(Reverse((self.clock.now().after(takes), number, slot)));
        Ok(())
    }

    fn reap(&mut self, until: Moment) -> Result<Option<Completion>> {
        let Some(Reverse((ended, _, slot))) = self.under_way.peek().copied().filter(|next| next.0.0 <= until) else {
            self.clock.sleep_until(until);
            return Ok(None);
        };
        self.under_way.pop();
        self.clock.sleep_until(ended);
        let outcome = Outcome::Answered(Amount { rows_examined: 0, rows: 1, content_bytes: 8192 });
        Ok(Some(Completion { slot, kind: 0, outcome, ended, retries: 0, waited: Duration::ZERO, pickup_lag: None }))
    }

    fn nothing_left(&mut self, _: usize, _: u32) -> Error {
        Error::new(ErrorKind::Internal, "a device always has something to read")
    }
}
