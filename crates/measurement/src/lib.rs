//! The words every crate uses: units, moments and windows, readings, run records and their events. Pure: no I/O, no clock.

pub mod event;
pub mod exit;
pub mod fold;
pub mod histogram;
pub mod reading;
pub mod requests;
pub mod run;
pub mod samples;
pub mod units;
pub mod views;

pub use event::Event;
pub use fold::Fold;
pub use histogram::{Times, TimesData};
pub use reading::{Metric, Moment, Reading, Window};
pub use requests::{FileDelta, FileUse, Phase, RequestKind, Seconds, Silence, WaitDelta};
pub use run::{
    Client, ColdStart, CpuRow, CpuTable, Definition, Figure, Host, Lift, Minute, Point, Repetition, RunFailure,
    RunRecord, SamplingCost, Stretch, Truth, Verdict,
};
pub use samples::{Ceiling, SampleColumn, SampleGap, Samples};
pub use views::{FileLimit, FileRow, Files, ResourceRow, StatementRow, Views, WaitRow};
