//! The words every crate uses: units, moments and windows, readings, run records and their events. Pure: no I/O, no clock.

pub mod cell;
pub mod counters;
pub mod event;
pub mod exit;
pub mod fold;
pub mod foreign;
pub mod growth;
pub mod histogram;
pub mod limit;
pub mod metric;
pub mod point;
pub mod reading;
pub mod requests;
pub mod run;
pub mod samples;
pub mod self_test;
pub mod units;
pub mod verdict;
pub mod version;
pub mod views;
pub mod vocabulary;

pub use cell::{Access, Cell, Offsets, Operation, SyncMode};
pub use event::Event;
pub use fold::Fold;
pub use growth::FileGrowth;
pub use histogram::{LatencyHistogram, LatencyHistogramData};
pub use limit::{LimitBasis, LimitScope, Provenance};
pub use metric::{Metric, Metrics};
pub use point::{Minute, Point};
pub use reading::{Counter, Moment, Reading, Window};
pub use requests::{FileDelta, FileUse, Phase, RequestKind, Seconds, Stall, WaitDelta};
pub use run::{
    AbsentFigure, Basis, Client, ClientPhase, ColdStart, CpuRow, CpuTable, Definition, Expected, Figure, Host,
    Repetition, RunFailure, RunRecord, SamplingCost, Subject,
};
pub use samples::{Ceiling, Moments, PIPE_WAIT, SampleColumn, SampleGap, Samples, Stripe, TimedMark};
pub use self_test::{Check, CheckKind, CheckResult, SelfTestRecord};
pub use verdict::{Gain, Segment, Verdict};
pub use views::{CounterRow, FileLimit, FileRow, Files, ResourceRow, StatementRow, Views, WaitClass, WaitRow};
pub use vocabulary::Name;
