//! What measured values mean: estimates with their spread, comparisons, the consistency of a run, and the limits that
//! can be read from it. Pure: input -> output, no I/O, no clock, no randomness.
//!
//! Input that carries no information (no values, values that are not finite, rates that are not positive) gives `None`,
//! never a number.

pub mod autocorrelation;
mod autoregression;
pub mod bottleneck;
pub mod compare;
pub mod consistency;
pub mod history;
pub mod interval;
pub mod ladder;
mod logs;
pub mod maximum;
pub mod memory;
mod partition;
pub mod rounds;
pub mod segments;
pub mod summary;

/// The confidence of published intervals.
pub const DEFAULT_CONFIDENCE: f64 = 0.95;

/// Property tests run the same cases every time.
#[cfg(test)]
fn fixed_cases() -> proptest::test_runner::Config {
    use proptest::test_runner::{Config, RngSeed};
    Config { rng_seed: RngSeed::Fixed(1876), failure_persistence: None, ..Config::default() }
}
