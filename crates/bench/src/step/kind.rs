//! What a kind of step is: a folder below this one with a [`StepKind`], and a line in a registry.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use plimsoll_analysis::ladder::Anchor;
use plimsoll_engine::work::{Expected, Work};
use plimsoll_engine::{Database, Error, ErrorKind, Need, Result, Workspace};
use plimsoll_measurement::{Client, CpuTable, Repetition, RunRecord, Verdict};

use super::context::{Context, Keep};
use crate::figures::series::{Measured, Series};
use crate::interrupt::Interrupt;
use crate::parameters::{Known, Parameter, Parameters};

/// A kind of step: what definitions, runs and comparisons have to know of it. [`StepKind::new`] has what is usual.
pub struct StepKind {
    /// The name in definitions.
    pub name: &'static str,
    /// The parameters that it knows.
    pub parameters: &'static [&'static Parameter],
    /// What it measures with; what that gets is what the kind needs.
    pub measure: fn() -> Measures,
    /// The figures of what it measured, the headline first.
    pub figures: fn(&Measured<'_>) -> Vec<Series>,
    /// What bound, of a step that looks for one limit and finds it in its points.
    pub verdict: fn(&Measured<'_>) -> Option<Verdict>,
    /// Why repetitions that all came to their end are no result.
    pub invalid: fn(&Parameters, &[Repetition]) -> Option<Error>,
    /// What the figures should be, where the target or the step knows: [`Ask`] is the target, which knows its own limits.
    pub expects: fn(&Ran<'_>, Ask<'_>) -> Result<Vec<Expected>>,
    /// Bytes that it will take on the target's disk at most, by a generous rule: rows take up to 1.4 times their content, and a
    /// transaction its log beside them. True says that its data set is there already.
    pub space_bytes: fn(&Parameters, bool) -> u64,
    /// Where a data set may lie that an earlier run kept for it, in pages of so many bytes.
    pub kept_data: fn(&Parameters, u64) -> Option<Workspace>,
    /// Checks what parameters mean together.
    pub check: fn(&Parameters) -> std::result::Result<(), String>,
    /// True if a repetition waits by itself between provisioning and measuring.
    pub settles_itself: fn(&Parameters) -> bool,
    /// For how long a repetition measures, where its parameters say it.
    pub lasts: fn(&Parameters) -> Option<Duration>,
    /// What the user has to allow.
    pub consent: fn(&Parameters) -> Option<Consent>,
    /// What it can't do without; where the target lacks it, nothing is begun.
    pub needs: &'static [Need],
    /// True if a definition says which requests are made.
    pub makes_requests: bool,
    /// True if its figures are rates that stand beside each other whatever the volume.
    pub compares_volumes: bool,
    /// The table of CPU multiples, of a step that has one.
    pub cpu_table: MakeCpuTable,
    /// Removes what killed runs left on this machine.
    pub tidy_machine: fn(),
}

/// Where the target's free space can be seen, requests end before less is left: nobody knows how much they insert.
pub const LEAST_FREE_BYTES: u64 = 256 << 20;

/// Makes a table of CPU multiples of a run's repetitions, those of a reference with its id, and an anchor.
pub type MakeCpuTable = fn(&[Repetition], Option<(&str, &[Repetition])>, Option<&Anchor>) -> Option<CpuTable>;

impl StepKind {
    /// A kind that takes no space, expects nothing, and asks for nothing.
    pub const fn new(
        name: &'static str,
        parameters: &'static [&'static Parameter],
        measure: fn() -> Measures,
        figures: fn(&Measured<'_>) -> Vec<Series>,
    ) -> Self {
        Self {
            name,
            parameters,
            measure,
            figures,
            verdict: |_| None,
            invalid: |_, _| None,
            expects: |_, _| Ok(Vec::new()),
            space_bytes: |_, _| 0,
            kept_data: |_, _| None,
            check: |_| Ok(()),
            settles_itself: |_| false,
            lasts: |_| None,
            consent: |_| None,
            needs: &[],
            makes_requests: false,
            compares_volumes: false,
            cpu_table: |_, _, _| None,
            tidy_machine: || (),
        }
    }
}

/// What a user has to allow before a step may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// Databases of its own are made, which takes space and may cost money; with backups of them on this machine.
    Databases {
        /// Whether there are backups.
        backups: bool,
    },
    /// The target changes its level of service.
    Level,
}

/// A run, as far as it is known when its figures are.
pub struct Ran<'a> {
    /// Its parameters.
    pub parameters: &'a Parameters,
    /// Its record so far.
    pub record: &'a RunRecord,
    /// Size of the target's pages.
    pub page_bytes: u64,
}

/// Asks the target what work should show.
pub type Ask<'a> = &'a mut dyn FnMut(Work<'_>) -> Result<Option<Expected>>;

/// Something that can be measured again and again.
pub enum Measures {
    /// By itself: no database takes part.
    Alone(Box<dyn Alone>),
    /// At a database, in a place of our own.
    AtDatabase(Box<dyn Measure>),
}

/// What a step without a database is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The parameters as resolved.
    pub parameters: &'a Parameters,
    /// The definition's text, for a kind that has keys of its own in it.
    pub definition: &'a str,
    /// The target's URL.
    pub target: &'a str,
    /// Whether to keep what it makes.
    pub keep_data: bool,
    /// CPUs that the client may use.
    pub cpus: u32,
}

/// Measures without a database.
pub trait Alone {
    /// Makes what is measured. Called once.
    fn prepare(&mut self, _: &Asked<'_>, _: &mut Keep<'_>) -> Result<()> {
        Ok(())
    }

    /// Measures one repetition. Every finished point and phase is kept.
    fn repeat(&mut self, asked: &Asked<'_>, keep: &mut Keep<'_>) -> Result<()>;

    /// What is known of our own client so far.
    fn client(&self) -> Option<Client> {
        None
    }

    /// Removes what it made. Called once, whatever happened before.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Measures at a database.
pub trait Measure {
    /// Makes and checks the data. Called once.
    fn prepare(&mut self, _: &mut Context<'_, '_>) -> Result<()> {
        Ok(())
    }

    /// Measures one repetition. Every finished point goes to [`Context::keep`].
    fn repeat(&mut self, context: &mut Context<'_, '_>) -> Result<()>;

    /// Gives back what it holds at the target beside the run's own place. Called once, whatever happened before.
    fn finish(&mut self, _: &dyn Database, _: &Workspace, _: &Interrupt) -> Result<()> {
        Ok(())
    }
}

/// A kind of step as a definition names it.
pub type Step = &'static StepKind;

impl PartialEq for StepKind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for StepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Kinds of steps that definitions may name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kinds(pub &'static [Step]);

impl Kinds {
    /// Every parameter that one of them knows, each once.
    pub fn parameters(self) -> Vec<&'static Parameter> {
        known(self.0)
    }
}

fn known(steps: &[Step]) -> Vec<&'static Parameter> {
    let mut found: Vec<&'static Parameter> = Vec::new();
    for parameter in steps.iter().flat_map(|step| step.parameters.iter().copied()) {
        if !found.iter().any(|known| known.name == parameter.name) {
            found.push(parameter);
        }
    }
    found
}

/// The steps of a test, in order, of the kinds that there are.
#[derive(Debug, Clone, PartialEq)]
pub struct Steps {
    /// What a repetition does.
    pub steps: Vec<Step>,
    /// What it might do.
    pub kinds: Kinds,
}

impl Deref for Steps {
    type Target = [Step];

    fn deref(&self) -> &[Step] {
        &self.steps
    }
}

impl Known for Steps {
    fn own(&self) -> Vec<&'static Parameter> {
        known(self)
    }

    fn all(&self) -> Vec<&'static Parameter> {
        self.kinds.parameters()
    }
}

/// Pages that hold this much content.
pub fn pages(content: u64) -> u64 {
    content.saturating_add(content / 10 * 4)
}

/// Why a session's thread has no result: the reason, if there is one, as for a thread that could not be started.
pub fn unfinished(why: Box<dyn Any + Send>) -> Error {
    match why.downcast::<String>() {
        Ok(why) => Error::new(ErrorKind::Statement, format!("the sessions could not work: {why}")).hint(
            "ask for fewer sessions with --set sessions=..., or see 'ulimit -u' and the limit of the container's tasks",
        ),
        Err(_) => contradiction("a session ended unexpectedly"),
    }
}

/// An engine that does not do what the test rests on: the figure would be wrong, so there is none.
pub fn contradiction(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Statement, message)
        .hint("this is a fault of the engine's driver or of the engine: please report it")
}
