//! Service latency: what a disk takes for an I/O beside its limits.
//!
//! A distribution is given by quantiles and is linear between them (inverse transform sampling: the quantile function
//! at a uniform draw). Below the lowest quantile given it is constant, above the highest too: no value is invented.
//! Left out: any dependence of the latency on load (that is the queue's work), size, or the draw before.

use std::time::Duration;

use rand_xoshiro::rand_core::Rng;
use serde::{Deserialize, Serialize};

use crate::time::{Ps, from_duration};

/// The longest latency: one minute.
pub(crate) const LONGEST: Duration = Duration::from_mins(1);
/// Bits of a uniform draw; a quantile in these is exact for an `f64`.
const BITS: u32 = 53;

/// How long a disk takes for an I/O that no limit holds back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Latency {
    /// Always the same.
    Constant(Duration),
    /// Pairs of quantile (0 to 1, strictly rising) and latency (never falling), linear between them.
    Quantiles(Vec<(f64, Duration)>),
}

impl Default for Latency {
    fn default() -> Self {
        Self::Constant(Duration::ZERO)
    }
}

impl Latency {
    /// The mean in seconds: the exact integral of the quantile function.
    pub fn mean(&self) -> f64 {
        let points = match self {
            Self::Constant(latency) => return latency.as_secs_f64(),
            Self::Quantiles(points) => points,
        };
        let (Some(first), Some(last)) = (points.first(), points.last()) else { return 0.0 };
        let between = points.windows(2).map(|pair| {
            let (from, to) = (pair[0], pair[1]);
            (to.0 - from.0) * (from.1.as_secs_f64() + to.1.as_secs_f64()) / 2.0
        });
        first.0 * first.1.as_secs_f64() + between.sum::<f64>() + (1.0 - last.0) * last.1.as_secs_f64()
    }

    /// Whether it is never more than nothing.
    pub fn is_zero(&self) -> bool {
        match self {
            Self::Constant(latency) => latency.is_zero(),
            Self::Quantiles(points) => points.iter().all(|(_, latency)| latency.is_zero()),
        }
    }

    /// One latency, in picoseconds. Takes exactly one number from `random`, also when constant, so that two latencies
    /// drawn from one stream do not shift each other's draws.
    pub fn draw(&self, random: &mut impl Rng) -> u128 {
        let uniform = random.next_u64() >> (u64::BITS - BITS);
        match self {
            Self::Constant(latency) => from_duration(*latency),
            Self::Quantiles(points) => at(points, uniform),
        }
    }

    /// What breaks a rule, in words.
    pub(crate) fn check(&self) -> Result<(), String> {
        let points = match self {
            Self::Constant(latency) => return check_span(*latency),
            Self::Quantiles(points) => points,
        };
        if points.is_empty() {
            return Err("a latency needs at least one quantile, such as p50".to_owned());
        }
        for (quantile, latency) in points {
            if !(0.0..=1.0).contains(quantile) {
                return Err(format!("quantile {quantile} is not between 0 and 1"));
            }
            check_span(*latency)?;
        }
        for pair in points.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            if to.0 <= from.0 {
                return Err(format!("the quantiles must rise: {} comes after {}", to.0, from.0));
            }
            if to.1 < from.1 {
                let (low, high) = (name(from.0), name(to.0));
                return Err(format!("the quantiles must not fall: {high} = {:?} is below {low} = {:?}", to.1, from.1));
            }
        }
        Ok(())
    }
}

fn check_span(latency: Duration) -> Result<(), String> {
    if latency <= LONGEST { Ok(()) } else { Err(format!("a latency of {latency:?} is more than one minute")) }
}

/// A quantile as people write it: `min`, `p99.9`, `max`.
fn name(quantile: f64) -> String {
    if quantile <= 0.0 {
        "min".to_owned()
    } else if quantile >= 1.0 {
        "max".to_owned()
    } else {
        let percent = format!("{:.6}", quantile * 100.0);
        format!("p{}", percent.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// The quantile function at `uniform / 2^53`, in integers.
fn at(points: &[(f64, Duration)], uniform: u64) -> Ps {
    let scaled = |quantile: f64| (quantile * (1_u64 << BITS) as f64) as u64;
    let mut below: Option<(u64, Ps)> = None;
    for (quantile, latency) in points {
        let here = (scaled(*quantile), from_duration(*latency));
        if uniform < here.0 {
            return match below {
                None => here.1,
                Some((from, low)) => {
                    low + here.1.saturating_sub(low) * u128::from(uniform - from) / u128::from(here.0 - from)
                }
            };
        }
        below = Some(here);
    }
    below.map_or(0, |(_, latency)| latency)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng as _;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn disk() -> Latency {
        Latency::Quantiles(vec![(0.0, ms(1)), (0.5, ms(2)), (0.9, ms(3)), (0.99, ms(8)), (1.0, ms(20))])
    }

    #[test]
    fn the_mean_is_the_integral() {
        // 0.5 x 1.5 + 0.4 x 2.5 + 0.09 x 5.5 + 0.01 x 14 = 2.385 ms
        assert!((disk().mean() - 2.385e-3).abs() < 1e-12, "{}", disk().mean());
        // Constant outside what is given: 0.5 x 2 + 0.4 x 3 + 0.1 x 4 = 2.6 ms
        let open = Latency::Quantiles(vec![(0.5, ms(2)), (0.9, ms(4))]);
        assert!((open.mean() - 2.6e-3).abs() < 1e-12);
        assert_eq!(Latency::Constant(ms(5)).mean().to_bits(), 0.005_f64.to_bits());
    }

    #[test]
    fn draws_have_the_mean_and_the_quantiles_that_were_given() {
        for latency in [disk(), Latency::Quantiles(vec![(0.5, ms(2)), (0.9, ms(4))])] {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
            let mut draws: Vec<f64> = (0..100_000).map(|_| latency.draw(&mut random) as f64 / 1e12).collect();
            let mean = draws.iter().sum::<f64>() / draws.len() as f64;
            assert!((mean / latency.mean() - 1.0).abs() < 0.01, "{mean} for {}", latency.mean());
            draws.sort_by(f64::total_cmp);
            assert!((draws[90_000] / latency_at(&latency, 0.9) - 1.0).abs() < 0.02);
        }
    }

    fn latency_at(latency: &Latency, quantile: f64) -> f64 {
        let Latency::Quantiles(points) = latency else { unreachable!() };
        at(points, (quantile * (1_u64 << BITS) as f64) as u64) as f64 / 1e12
    }

    #[test]
    fn a_draw_takes_one_number_and_the_seed_decides() {
        let draws = |seed| -> Vec<u128> {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            (0..100).map(|_| disk().draw(&mut random)).collect()
        };
        assert_eq!(draws(1), draws(1));
        assert_ne!(draws(1), draws(2));
        let mut drawn = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut skipped = drawn.clone();
        Latency::Constant(ms(1)).draw(&mut drawn);
        skipped.next_u64();
        assert_eq!(drawn, skipped);
    }

    #[test]
    fn what_is_no_distribution_is_said() {
        let check = |points: Vec<(f64, Duration)>| Latency::Quantiles(points).check().unwrap_err();
        assert!(check(vec![]).contains("at least one"));
        assert!(check(vec![(0.5, ms(2)), (0.9, ms(1))]).contains("p90 = 1ms is below p50 = 2ms"));
        assert!(check(vec![(0.5, ms(2)), (0.5, ms(3))]).contains("must rise"));
        assert!(check(vec![(f64::NAN, ms(2))]).contains("between 0 and 1"));
        assert!(check(vec![(1.0, Duration::from_mins(2))]).contains("one minute"));
        assert_eq!(disk().check(), Ok(()));
    }
}
