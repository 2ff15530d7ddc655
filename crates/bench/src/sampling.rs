//! Looks at the engine and its machine while a step measures, and puts into the record what they said: samples, waits, files, ceilings,
//! and what looking cost.

use std::sync::Arc;

use plimsoll_clock::Clock;
use plimsoll_engine::Database;
use plimsoll_measurement::{Ceiling, FileDelta, Moment, Repetition, Samples, SamplingCost, units};
use plimsoll_telemetry::{Recording, Sources, recording::Recorded, sources, views};

/// The looks of a run.
#[derive(Default)]
pub struct Sampling {
    is_off: bool,
    recording: Option<Recording>,
    seconds: f64,
    cost: SamplingCost,
    /// True if the target works on another machine, so that its disks can't be seen.
    is_remote: bool,
    /// What figures are held against, by all that is known so far.
    pub ceilings: Vec<Ceiling>,
    /// How large the data are.
    data: Option<Ceiling>,
}

impl Sampling {
    /// Looks, unless `is_off`.
    pub fn new(is_off: bool) -> Self {
        Self { is_off, ..Self::default() }
    }

    /// The tables of the run, which all requests are to, have so many bytes.
    pub fn set_data(&mut self, bytes: u64) {
        self.data = Ceiling::new("data", bytes as f64 / units::MB as f64, "size of the run's tables");
    }

    /// A step begins to measure. One that begins again has measured nothing before. Gives what a reader should know.
    pub fn begin(&mut self, database: &dyn Database, clock: &Arc<dyn Clock>) -> Vec<String> {
        self.recording = None;
        if self.is_off {
            return Vec::new();
        }
        let (sources, warnings) = sources(database, clock);
        let own = database.ceilings();
        // An engine that says how large its data are knows better.
        let is_known = own.iter().any(|ceiling| ceiling.resource == "data");
        let data = self.data.clone().filter(|_| !is_known);
        // A modelled CPU has no part of the machine's.
        let is_modelled = own.iter().any(|ceiling| ceiling.resource == "cpu") && database.description().embedded;
        self.add_ceilings(own);
        self.add_ceilings(data.into_iter().collect());
        if !Sources::is_empty(&sources) {
            let recording = Recording::start(clock, sources);
            self.add_ceilings(recording.file_ceilings());
            self.is_remote = !database.description().local;
            if !self.is_remote {
                self.add_ceilings(recording.ceilings());
                self.add_ceilings(recording.machine_cpus().filter(|_| !is_modelled).into_iter().collect());
            }
            // Where the engine works in our own threads its CPU is not told from ours.
            let client = recording.client_cpus().filter(|_| !database.description().embedded);
            self.add_ceilings(client.into_iter().collect());
            self.recording = Some(recording);
        }
        warnings
    }

    /// What was said since the last part, once that is enough to be worth telling.
    pub fn part(&mut self, phase: Option<&str>, from: Moment) -> Option<Samples> {
        let samples = self.recording.as_mut()?.part(from)?;
        Some(self.of_step(samples, phase))
    }

    fn of_step(&self, mut samples: Samples, phase: Option<&str>) -> Samples {
        samples.phase = phase.map(str::to_owned);
        samples.columns.retain(|column| !self.is_remote || column.of.is_none() || column.source == "engine");
        samples
    }

    /// The step has measured since `from`. `workspace` is the name of the run's place. Gives what a reader should know.
    pub fn end(
        &mut self,
        repetition: &mut Repetition,
        phase: Option<&str>,
        workspace: &str,
        from: Moment,
    ) -> Vec<String> {
        let Some(recording) = self.recording.take() else { return Vec::new() };
        let Recorded { samples, looks, cpu_seconds, views: [before, after], files: used, elapsed_seconds } =
            recording.finish(from);
        self.cost.looks += looks;
        self.cost.cpu_seconds += cpu_seconds;
        self.seconds += elapsed_seconds;
        if !samples.is_empty() {
            repetition.samples.push(self.of_step(samples, phase));
        }
        let mut warnings = Vec::new();
        // A step that asks for them itself knows better when to.
        if repetition.waits.is_empty() {
            let waits = views::waits(&before.waits, &after.waits, elapsed_seconds);
            warnings.extend(waits.warning("waits"));
            repetition.waits = waits.rows;
        }
        if repetition.files.is_empty() {
            let files = views::files(&before.files, &after.files, elapsed_seconds, workspace);
            warnings.extend(files.warning("reads and writes"));
            repetition.files = files.rows;
        }
        for (row, used) in used {
            let name = row.name.replace(workspace, "run");
            let is_it =
                |file: &&mut FileDelta| file.file == name && (file.database.is_none() || file.database == row.database);
            if let Some(file) = repetition.files.iter_mut().find(is_it) {
                file.limits = Some(used);
            }
        }
        warnings
    }

    /// What it cost; `None` without a look.
    pub fn cost(&self) -> Option<SamplingCost> {
        let core_percent = 100.0 * self.cost.cpu_seconds / self.seconds;
        (self.cost.looks > 0 && core_percent.is_finite()).then_some(SamplingCost { core_percent, ..self.cost })
    }

    /// A machine and a service may hold the same resource to something: the lower ceiling is the one that is met.
    fn add_ceilings(&mut self, ceilings: Vec<Ceiling>) {
        for ceiling in ceilings {
            match self.ceilings.iter_mut().find(|known| known.resource == ceiling.resource) {
                Some(known) if known.value <= ceiling.value => {}
                Some(known) => *known = ceiling,
                None => self.ceilings.push(ceiling),
            }
        }
    }
}
