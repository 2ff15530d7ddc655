//! Samplers at work while something is measured. A thread on the clock reads them at even times and keeps the
//! cumulative readings. At the end they become columns of rates over one time axis.
//!
//! However long it goes on, memory and record stay small: of too many looks every second one is dropped, and the time between
//! two of them doubles. As counters are cumulative, nothing is lost by that but detail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use plimsoll_clock::{Clock, spawn};
use plimsoll_engine::foreign::shown;
use plimsoll_engine::{Sampler, process};
use plimsoll_measurement::{Ceiling, FileRow, FileUse, Moment, PIPE_WAIT, Samples, Views};

use crate::columns::{self, CLIENT, SERVER, averaged, averaged_waits};
use crate::host;
use crate::look::{Glance, Look};
use crate::pulse::{self, Gaps};
use crate::{ceilings, files};

/// How often samplers are read, to begin with.
pub const EVERY: Duration = Duration::from_secs(1);

/// How often between two looks it is seen what sessions do at a moment.
const GLANCES: u32 = 5;

/// Each glance has its own place in its part of the second: those that are exactly as far apart would see all that comes every second,
/// or half a second, at the same moment of it, each time or never. Multiples of the golden ratio fill the places evenly, whatever the
/// period (Knuth, The Art of Computer Programming, 6.4, theorem S).
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// How much is told at a time while it goes on.
const PART_EVERY: Duration = Duration::from_secs(30);

/// From so many looks on every second one is dropped: ten minutes of seconds, or two hours of twelves.
const MOST_LOOKS: usize = 600;

/// The sampler that is asked.
#[derive(Default)]
pub struct Sources {
    /// The whole server, by its views and counters.
    pub engine: Option<Box<dyn Sampler>>,
    /// The machine that we, and perhaps the server, work on.
    pub host: Option<host::Sampler>,
}

impl Sources {
    /// True if there is nobody to ask.
    pub fn is_empty(&self) -> bool {
        self.engine.is_none() && self.host.is_none()
    }

    /// The engine's views, empty where it has none; `None` where it doesn't answer.
    fn views(&mut self) -> Option<Views> {
        let mut views = self.engine.as_mut().map_or_else(|| Ok(Views::default()), |engine| engine.views()).ok()?;
        views.waits.iter_mut().for_each(|wait| wait.name = shown(&wait.name));
        views.files.iter_mut().for_each(|file| file.name = shown(&file.name));
        views.statements.iter_mut().for_each(|statement| statement.text = shown(&statement.text));
        Some(views)
    }
}

/// What a recording came to.
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    /// The samples.
    pub samples: Samples,
    /// How often was looked.
    pub looks: u32,
    /// CPU time of our own threads for that.
    pub cpu_seconds: f64,
    /// The engine's cumulative views, as far as it has some: at the beginning and at the end.
    pub views: [Views; 2],
    /// How far files used limits of their own, by their names.
    pub files: Vec<(FileRow, FileUse)>,
    /// Time between the two.
    pub elapsed_seconds: f64,
}

/// A recording that goes on until it is finished or dropped.
pub struct Recording {
    shared: Arc<Shared>,
    before: Option<Views>,
    start: Moment,
    /// The last look that a part had.
    told: Moment,
}

struct Shared {
    clock: Arc<dyn Clock>,
    over: Arc<AtomicBool>,
    /// When our own program stood still.
    gaps: Gaps,
    state: Mutex<State>,
}

struct State {
    /// Not there while somebody looks: a server may take its time, and nobody waits for the lock meanwhile.
    sources: Option<Sources>,
    looks: Vec<Look>,
    glances: Vec<Glance>,
    every: Duration,
    looked: u32,
    cpu_seconds: f64,
}

impl Recording {
    /// Takes the first look and begins to look again and again. Without a thread for that there is the last one besides.
    pub fn start(clock: &Arc<dyn Clock>, mut sources: Sources) -> Self {
        let (before, start) = (sources.views(), clock.now());
        let state = State {
            sources: Some(sources),
            looks: Vec::new(),
            glances: Vec::new(),
            every: EVERY,
            looked: 0,
            cpu_seconds: 0.0,
        };
        let over = Arc::new(AtomicBool::new(false));
        let gaps = pulse::start(clock, &over);
        let shared = Arc::new(Shared { clock: Arc::clone(clock), over, gaps, state: Mutex::new(state) });
        shared.look();
        let theirs = Arc::clone(&shared);
        // It ends by itself: to wait for it would take time on the clock.
        let _ = spawn(clock, "samples", move || theirs.work());
        Self { shared, before, start, told: start }
    }

    /// What the machine holds the server to, else ourselves where the engine works in our process.
    pub fn ceilings(&self) -> Vec<Ceiling> {
        let state = self.shared.state.lock();
        let Some(snapshot) = state.looks.first().and_then(|look| look.host.as_ref()) else { return Vec::new() };
        let has_server = snapshot.groups.iter().any(|group| group.name == SERVER);
        ceilings::of_group(snapshot, if has_server { SERVER } else { CLIENT })
    }

    /// What files are held to by the catalogue, where each has limits by its size.
    pub fn file_ceilings(&self) -> Vec<Ceiling> {
        let state = self.shared.state.lock();
        state.looks.first().and_then(|look| look.files.as_ref()).map(files::ceilings).unwrap_or_default()
    }

    /// CPUs of the machine that we work on, which all processes share.
    pub fn machine_cpus(&self) -> Option<Ceiling> {
        ceilings::of_machine(self.shared.state.lock().looks.first()?.host.as_ref()?)
    }

    /// CPUs that we may use ourselves.
    pub fn client_cpus(&self) -> Option<Ceiling> {
        let state = self.shared.state.lock();
        let own = ceilings::of_group(state.looks.first()?.host.as_ref()?, CLIENT);
        let cpu = own.into_iter().find(|ceiling| ceiling.resource == "cpu")?;
        Ceiling::new("client_cpu", cpu.value, cpu.source)
    }

    /// The samples since the last part, or since the start; none before [`PART_EVERY`] has passed.
    pub fn part(&mut self, from: Moment) -> Option<Samples> {
        let state = self.shared.state.lock();
        let last = state.looks.last()?.at;
        if last.since(self.told) < PART_EVERY {
            return None;
        }
        let first = state.looks.iter().rposition(|look| look.at <= self.told).unwrap_or(0);
        self.told = last;
        let samples = self.shared.samples(&state.looks[first..], &state.glances, from);
        Some(samples).filter(|samples| !samples.is_empty())
    }

    /// Takes the last look, unless one is under way at a server that doesn't answer; gives the samples since `from`.
    pub fn finish(mut self, from: Moment) -> Recorded {
        self.shared.over.store(true, Ordering::Relaxed);
        self.shared.look();
        let sources = self.shared.state.lock().sources.take();
        let elapsed_seconds = self.shared.clock.now().since(self.start).as_secs_f64();
        // Without an answer at one of the ends nothing has grown, as far as we know.
        let after = sources.and_then(|mut sources| sources.views());
        let (before, after) = self.before.take().zip(after).unwrap_or_default();
        let state = self.shared.state.lock();
        Recorded {
            samples: self.shared.samples(&state.looks, &state.glances, from),
            files: files::used(&state.looks, from),
            looks: state.looked,
            cpu_seconds: state.cpu_seconds,
            views: [before, after],
            elapsed_seconds,
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        // They may hold a connection, which is closed here and outside of the lock.
        let sources = self.shared.state.lock().sources.take();
        drop(sources);
    }
}

impl Shared {
    /// What the looks came to, with when our own program stood still.
    fn samples(&self, looks: &[Look], glances: &[Glance], from: Moment) -> Samples {
        let mut samples = columns::of(looks, glances, from);
        samples.columns.extend(pulse::column(&samples, &self.gaps.lock(), from));
        samples
    }

    fn work(&self) {
        let mut next = self.clock.now();
        let mut place = 0.0;
        while !self.over.load(Ordering::Relaxed) {
            let (every, now) = (self.state.lock().every, self.clock.now());
            let start = next;
            next = next.after(every);
            if next < now {
                // Who takes longer than the pause has the pause all the same.
                next = now.after(every);
            }
            for part in 0..GLANCES {
                place = (place + GOLDEN).fract();
                let at = start.after(every.mul_f64((f64::from(part) + place) / f64::from(GLANCES)));
                if at < self.clock.now() || at >= next {
                    continue;
                }
                self.clock.sleep_until(at);
                if self.over.load(Ordering::Relaxed) || !self.glance() {
                    break;
                }
            }
            self.clock.sleep_until(next);
            if !self.over.load(Ordering::Relaxed) {
                self.look();
            }
        }
    }

    fn look(&self) {
        let Some(mut sources) = self.state.lock().sources.take() else { return };
        let before = process::thread_cpu_seconds();
        let mut look = Look {
            at: self.clock.now(),
            engine: sources.engine.as_mut().map(|engine| engine.sample().map_err(|error| error.message)),
            seen: sources.engine.as_mut().map(|engine| engine.seen()).unwrap_or_default(),
            files: sources.engine.as_mut().and_then(|engine| engine.files()),
            host: sources.host.as_mut().map(host::Sampler::read),
        };
        let cost = process::thread_cpu_seconds() - before;
        let mut state = self.state.lock();
        let last = state.looks.last().map(|look| look.at);
        let since: Vec<&Glance> = state.glances.iter().rev().take_while(|glance| Some(glance.at) > last).collect();
        if let Some(Ok(readings)) = &mut look.engine {
            averaged(readings, &since);
        }
        look.seen = averaged_waits(&look.seen, &since);
        state.looked += 1;
        state.cpu_seconds += cost;
        state.looks.push(look);
        state.sources = Some(sources);
        if state.looks.len() > MOST_LOOKS {
            let mut number = 0;
            state.looks.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            state.every *= 2;
            state.glances.retain(|_| {
                number += 1;
                number % 2 == 1
            });
        }
    }

    /// Sees what sessions do at this moment. False if there is nothing to be seen.
    fn glance(&self) -> bool {
        let Some(mut sources) = self.state.lock().sources.take() else { return true };
        let before = process::thread_cpu_seconds();
        let at = self.clock.now();
        // The machine answers at once; a server that is stopped does not.
        let stopped = sources.host.as_mut().and_then(|host| host.is_stopped(SERVER));
        let in_pipe = sources.host.as_mut().and_then(|host| host.in_pipe(SERVER)).filter(|processes| *processes > 0);
        let seen = sources.engine.as_mut().and_then(|engine| Some((engine.glance()?, engine.seen())));
        let cost = process::thread_cpu_seconds() - before;
        let mut state = self.state.lock();
        state.cpu_seconds += cost;
        let is_there = seen.is_some();
        if let Some((readings, mut seen)) = seen {
            seen.extend(in_pipe.map(|processes| (PIPE_WAIT.to_owned(), f64::from(processes))));
            state.glances.push(Glance { at, readings: readings.unwrap_or_default(), seen, stopped });
        }
        state.sources = Some(sources);
        is_there
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_clock::{RealClock, VirtualClock, enter, windowed};
    use plimsoll_engine::Result;
    use plimsoll_measurement::{Counter, Reading};

    use super::*;

    /// An engine that reads so many pages a second, and takes so long for its answer.
    struct Engine {
        clock: Arc<dyn Clock>,
        takes: Duration,
    }

    impl Sampler for Engine {
        fn sample(&mut self) -> Result<Vec<Reading>> {
            let ((), window) = windowed(self.clock.as_ref(), || self.clock.sleep(self.takes));
            Ok(vec![Reading { metric: Counter::DataReads, value: 7.0 * window.end.as_nanos() as f64 / 1e9, window }])
        }
    }

    fn record(lasts: Duration, takes: Duration) -> Recorded {
        let clock: Arc<dyn Clock> = Arc::new(VirtualClock::new());
        let _on_clock = enter(&clock, "test");
        let engine: Box<dyn Sampler> = Box::new(Engine { clock: Arc::clone(&clock), takes });
        let start = clock.now();
        let recording = Recording::start(&clock, Sources { engine: Some(engine), host: None });
        clock.sleep(lasts);
        recording.finish(start)
    }

    #[test]
    fn it_looks_every_second_and_at_the_end() {
        let recorded = record(Duration::from_millis(3500), Duration::ZERO);
        assert_eq!(recorded.samples.seconds, [1.0, 2.0, 3.0, 3.5]);
        let reads = recorded.samples.column("data_reads").unwrap();
        assert_eq!(reads.values, [Some(7.0); 4]);
        assert_eq!((recorded.looks, recorded.elapsed_seconds), (5, 3.5));
    }

    /// An engine of whose sessions two wait for a lock at times: for 0.4 of each period.
    struct Holding {
        clock: Arc<dyn Clock>,
        period: f64,
        begin: f64,
    }

    impl Sampler for Holding {
        fn sample(&mut self) -> Result<Vec<Reading>> {
            self.glance().unwrap()
        }

        fn glance(&mut self) -> Option<Result<Vec<Reading>>> {
            let is_held = |at: f64| (at / self.period - self.begin).rem_euclid(1.0) < 0.4;
            let (waiting, window) = windowed(self.clock.as_ref(), || is_held(self.clock.now().as_nanos() as f64 / 1e9));
            let value = if waiting { 2.0 } else { 0.0 };
            Some(Ok(vec![Reading { metric: Counter::SessionsWaitingForLocks, value, window }]))
        }

        fn seen(&mut self) -> Vec<(String, f64)> {
            vec![("Lock/tuple".to_owned(), 2.0)]
        }
    }

    #[test]
    fn what_comes_every_second_is_seen_as_often_as_it_is_there() {
        for period in [0.2, 0.25, 0.5, 1.0, 2.0, 5.0] {
            for begin in [0.0, 0.3, 0.6] {
                let clock: Arc<dyn Clock> = Arc::new(VirtualClock::new());
                let _on_clock = enter(&clock, "test");
                let engine: Box<dyn Sampler> = Box::new(Holding { clock: Arc::clone(&clock), period, begin });
                let start = clock.now();
                let recording = Recording::start(&clock, Sources { engine: Some(engine), host: None });
                clock.sleep(Duration::from_secs(100));
                let samples = recording.finish(start).samples;
                assert_eq!(samples.seconds[..3], [1.0, 2.0, 3.0]);
                let locks = samples.column("waiting_for_lock").unwrap();
                let mean = locks.values.iter().flatten().sum::<f64>() / locks.values.len() as f64;
                assert!(locks.momentary && (mean - 0.8).abs() <= 0.1, "every {period} s from {begin}: {mean}");
                assert_eq!(samples.moments.seconds.len(), 100 * GLANCES as usize);
                assert_eq!(samples.moments.columns[0].metric, "waiting_for_lock");
                let by_name = samples.columns.iter().find(|column| column.of.as_deref() == Some("Lock/tuple")).unwrap();
                assert!(by_name.values.iter().all(|value| (value.unwrap() - 2.0).abs() < 1e-6), "{by_name:?}");
            }
        }
    }

    #[test]
    fn a_long_recording_keeps_its_rates_and_stays_small() {
        let recorded = record(Duration::from_hours(3), Duration::ZERO);
        let samples = &recorded.samples;
        assert!((MOST_LOOKS / 2..=MOST_LOOKS).contains(&samples.seconds.len()), "{}", samples.seconds.len());
        assert_eq!((samples.started_seconds, samples.seconds.last()), (0.0, Some(&10_800.0)));
        assert!(samples.column("data_reads").unwrap().values.iter().all(|value| *value == Some(7.0)));
        let longest = samples.intervals().map(|(from, to)| to - from).fold(0.0, f64::max);
        assert!(longest <= 64.0, "{longest}");
    }

    #[test]
    fn parts_are_told_meanwhile_and_make_up_the_whole() {
        let clock: Arc<dyn Clock> = Arc::new(VirtualClock::new());
        let _on_clock = enter(&clock, "test");
        let engine: Box<dyn Sampler> = Box::new(Engine { clock: Arc::clone(&clock), takes: Duration::ZERO });
        let start = clock.now();
        let mut recording = Recording::start(&clock, Sources { engine: Some(engine), host: None });
        let mut parts = Samples::default();
        for _ in 0..100 {
            clock.sleep(Duration::from_secs(1));
            recording.part(start).into_iter().for_each(|part| parts.append(&part));
        }
        let whole = recording.finish(start).samples;
        assert_eq!(parts.seconds, whole.seconds[..90], "three parts of thirty seconds");
        assert_eq!(parts.column("data_reads").unwrap().values, whole.column("data_reads").unwrap().values[..90]);
    }

    #[test]
    fn who_answers_slowly_is_asked_less_often() {
        let recorded = record(Duration::from_secs(20), Duration::from_secs(3));
        assert!((4..=6).contains(&recorded.looks), "{}", recorded.looks);
    }

    #[test]
    fn the_machine_is_looked_at_in_real_time() {
        let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
        let mut host = host::Sampler::new(Arc::clone(&clock));
        host.watch(CLIENT, &[std::process::id()]);
        let start = clock.now();
        let recording = Recording::start(&clock, Sources { engine: None, host: Some(host) });
        let cpu = recording.ceilings().into_iter().find(|ceiling| ceiling.resource == "cpu").expect("CPUs are known");
        assert!(cpu.value > 0.0, "{cpu:?}");
        clock.sleep(Duration::from_millis(50));
        let recorded = recording.finish(start);
        assert!(recorded.samples.column("machine_cpu").is_some() && recorded.samples.column("client_cpu").is_some());
        assert!(recorded.cpu_seconds > 0.0 && recorded.looks >= 2);
    }
}
