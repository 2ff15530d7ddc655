//! Picoseconds: the model's own unit of time. A byte at 1 GB/s takes about a nanosecond, so nanoseconds are too coarse.

use std::time::Duration;

use plimsoll_measurement::Moment;

/// A time or a span, in picoseconds.
pub(crate) type Ps = u128;

pub(crate) const PS_PER_NANO: Ps = 1_000;
pub(crate) const PS_PER_SECOND: Ps = 1_000_000_000_000;

pub(crate) fn from_moment(moment: Moment) -> Ps {
    Ps::from(moment.as_nanos()) * PS_PER_NANO
}

/// Rounded up: nothing is ready before its time. At the end of time it stays there.
pub(crate) fn to_moment(at: Ps) -> Moment {
    Moment::from_nanos(u64::try_from(at.div_ceil(PS_PER_NANO)).unwrap_or(u64::MAX))
}

pub(crate) fn from_duration(span: Duration) -> Ps {
    span.as_nanos().saturating_mul(PS_PER_NANO)
}

/// Rounded down, so that a part is never longer than its whole.
pub(crate) fn to_duration(span: Ps) -> Duration {
    Duration::from_nanos(u64::try_from(span / PS_PER_NANO).unwrap_or(u64::MAX))
}

/// A stream of random numbers of its own for each of a seed's users (`SplitMix64`'s finaliser over both).
pub(crate) fn stream(seed: u64, user: u64) -> u64 {
    let mut z = seed.wrapping_add(user.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_ready_early_and_time_ends() {
        assert_eq!(to_moment(1_001), Moment::from_nanos(2));
        assert_eq!(to_moment(2_000), Moment::from_nanos(2));
        assert_eq!(to_moment(Ps::MAX), Moment::from_nanos(u64::MAX));
        assert_eq!(to_duration(1_999), Duration::from_nanos(1));
    }

    #[test]
    fn users_of_one_seed_have_streams_of_their_own() {
        assert_ne!(stream(1, 0), stream(1, 1));
        assert_ne!(stream(1, 0), stream(2, 0));
    }
}
