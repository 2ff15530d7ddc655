//! Time that sessions waited, by reason, in the classes that cloud databases report.

use std::time::Duration;

use plimsoll_measurement::{Counter, Reading, WaitClass, WaitRow, Window};
use strum::{IntoStaticStr, VariantArray};

/// Why a session waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Wait {
    /// For a page to come from a device, or for a temporary file's device to take one.
    DataRead,
    /// For the log to be durable: the device's latency.
    LogWrite,
    /// For the log to be durable: the governor let no more bytes through.
    LogRateGovernor,
    /// For others' locks.
    Lock,
    /// For the right to write, which one session has at a time.
    #[strum(serialize = "write_turn")]
    WriterLock,
    /// For CPU, its own work included.
    Cpu,
}

impl Wait {
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its name in the server's views.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What it is for, in the classes of all engines.
    const fn class(self) -> WaitClass {
        match self {
            Self::DataRead => WaitClass::DataRead,
            Self::LogWrite => WaitClass::LogWrite,
            Self::LogRateGovernor => WaitClass::LogRateGovernor,
            Self::Lock | Self::WriterLock => WaitClass::Lock,
            Self::Cpu => WaitClass::Cpu,
        }
    }

    /// The counter under which samplers give it.
    pub const fn metric(self) -> Counter {
        match self {
            Self::DataRead => Counter::DataReadWaitSeconds,
            Self::LogWrite => Counter::LogWriteWaitSeconds,
            Self::LogRateGovernor => Counter::LogRateGovernorWaitSeconds,
            Self::Lock => Counter::LockWaitSeconds,
            Self::WriterLock => Counter::WriteTurnWaitSeconds,
            Self::Cpu => Counter::CpuWaitSeconds,
        }
    }
}

/// Number and time of the waits of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waits([(u64, Duration); Wait::ALL.len()]);

impl Waits {
    pub fn add(&mut self, reason: Wait, time: Duration) {
        if !time.is_zero() {
            let (count, sum) = &mut self.0[reason as usize];
            *count += 1;
            *sum += time;
        }
    }

    /// Counts those of another too.
    pub fn add_all(&mut self, more: &Self) {
        for (sum, more) in self.0.iter_mut().zip(more.0) {
            sum.0 += more.0;
            sum.1 += more.1;
        }
    }

    pub fn total(&self) -> Duration {
        self.0.iter().map(|(_, time)| *time).sum()
    }

    /// All of them as views show them.
    pub fn rows(&self) -> Vec<WaitRow> {
        let row = |wait: &Wait| {
            let (count, time) = self.of(*wait);
            WaitRow {
                name: wait.name().to_owned(),
                class: Some(wait.class()),
                count,
                seconds: time.as_secs_f64(),
                ..WaitRow::default()
            }
        };
        Wait::ALL.iter().map(row).collect()
    }

    /// The same as readings in this window.
    pub fn readings(&self, window: Window) -> impl Iterator<Item = Reading> {
        let reading =
            move |wait: &Wait| Reading { metric: wait.metric(), value: self.of(*wait).1.as_secs_f64(), window };
        Wait::ALL.iter().map(reading)
    }

    /// How often and how long was waited for this reason.
    pub fn of(&self, reason: Wait) -> (u64, Duration) {
        self.0[reason as usize]
    }
}
