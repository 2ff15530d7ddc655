//! What a kind of step is: a folder below this one that implements [`StepKind`], and a line in a registry.

use std::fmt;
use std::ops::Deref;

use plimsoll_analysis::ladder::Anchor;
use plimsoll_engine::work::{Expected, Work};
use plimsoll_engine::{Database, Error, ErrorKind, Result, Workspace};
use plimsoll_measurement::{CpuTable, Repetition, RunRecord};

use super::context::{Context, Course};
use crate::figures::series::{Measured, Series};
use crate::parameters::{Known, Parameter, Parameters};

/// A kind of step.
pub trait StepKind: Sync {
    /// The name in definitions.
    fn name(&self) -> &'static str;

    /// The parameters that it knows.
    fn parameters(&self) -> &'static [&'static Parameter];

    /// What it measures with; what that gets is what the kind needs.
    fn measure(&self) -> Measures;

    /// The figures of what it measured, the headline first.
    fn figures(&self, measured: &Measured<'_>) -> Vec<Series>;

    /// Why repetitions that all came to their end are no result.
    fn invalid(&self, parameters: &Parameters, repetitions: &[Repetition]) -> Option<Error> {
        let _ = (parameters, repetitions);
        None
    }

    /// What the figures should be, where the target or the step knows: `ask` is the target, which knows its own limits.
    fn expects(&self, ran: &Ran<'_>, ask: Ask<'_>) -> Result<Vec<Expected>> {
        let _ = (ran, ask);
        Ok(Vec::new())
    }

    /// Bytes that it will take on the target's disk at most, by a generous rule: rows take up to 1.4 times their content in
    /// pages and index, and a transaction its log beside them. `kept` says that its data set is there already.
    fn space_bytes(&self, parameters: &Parameters, kept: bool) -> u64 {
        let _ = (parameters, kept);
        0
    }

    /// Where a data set may lie that an earlier run kept for it.
    fn kept_data(&self, parameters: &Parameters, page_bytes: u64) -> Option<Workspace> {
        let _ = (parameters, page_bytes);
        None
    }

    /// Checks what parameters mean together.
    fn check(&self, parameters: &Parameters) -> std::result::Result<(), String> {
        let _ = parameters;
        Ok(())
    }

    /// True if a repetition waits by itself between provisioning and measuring.
    fn settles_itself(&self, parameters: &Parameters) -> bool {
        let _ = parameters;
        false
    }

    /// What the user has to allow.
    fn consent(&self) -> Option<Consent> {
        None
    }

    /// True if a definition says which requests are made.
    fn makes_requests(&self) -> bool {
        false
    }

    /// True if its figures are rates that stand beside each other whatever the volume.
    fn compares_volumes(&self) -> bool {
        false
    }

    /// The table of CPU multiples, of a step that has one.
    fn cpu_table(
        &self,
        own: &[Repetition],
        reference: Option<(&str, &[Repetition])>,
        anchor: Option<&Anchor>,
    ) -> Option<CpuTable> {
        let _ = (own, reference, anchor);
        None
    }

    /// Removes what killed runs left on this machine.
    fn tidy_machine(&self) {}
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

/// Measures without a database.
pub trait Alone {
    /// Makes what is measured. Called once.
    fn prepare(&mut self, course: &mut Course<'_, '_>) -> Result<()>;

    /// Measures one repetition. Every finished point and phase goes to [`Course::keep`].
    fn repeat(&mut self, course: &mut Course<'_, '_>) -> Result<()>;
}

/// Measures at a database.
pub trait Measure {
    /// Makes and checks the data. Called once.
    fn prepare(&mut self, context: &mut Context<'_, '_>) -> Result<()> {
        let _ = context;
        Ok(())
    }

    /// Measures one repetition. Every finished point goes to [`Context::keep`].
    fn repeat(&mut self, context: &mut Context<'_, '_>) -> Result<()>;

    /// Gives back what it holds at the target beside the run's own place. Called once, whatever happened before.
    fn finish(&mut self, database: &dyn Database, workspace: &Workspace) -> Result<()> {
        let _ = (database, workspace);
        Ok(())
    }
}

/// A kind of step as a definition names it.
pub type Step = &'static dyn StepKind;

impl PartialEq for dyn StepKind {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl fmt::Debug for dyn StepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
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
    for parameter in steps.iter().flat_map(|step| step.parameters().iter().copied()) {
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

/// An engine that does not do what the test rests on: the figure would be wrong, so there is none.
pub fn contradiction(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Statement, message)
        .hint("this is a fault of the engine's driver or of the engine: please report it")
}
