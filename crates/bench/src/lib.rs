//! The tests: their data, their definitions, and the life cycle that runs them on a target.
//!
//! [`definition`] says what a test is, [`run`] executes one, [`step`] holds what is measured, [`dataset`] and
//! [`generate`] make the rows. Nothing here prints, and nothing here knows which engine it talks to.

pub mod dataset;
pub mod definition;
pub mod events;
pub mod figures;
pub mod generate;
pub mod interrupt;
pub mod parameters;
pub mod run;
mod sampling;
pub mod schema;
pub mod scratch;
pub mod self_test;
pub mod step;
pub mod workload;

pub use definition::{Definition, DefinitionError};
pub use events::{EventLog, Feed, Keeper, Sinks, feed};
pub use interrupt::Interrupt;
pub use parameters::{ParameterValue, Parameters};
pub use run::{On, Plan, execute};
