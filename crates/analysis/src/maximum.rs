//! The theoretical maximum: what a resource would deliver if it were used to the full, from a rate measured at a known
//! utilisation. Reference: sections 2.9 and 3.11-4; the reservation about the CPU is A33.

/// CPU use from which on the CPU may be what held the rate back, in percent.
pub const CPU_BUSY_PERCENT: f64 = 90.0;

/// Why an extrapolated maximum has to be read with care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reservation {
    /// The CPU was at least [`CPU_BUSY_PERCENT`] busy: the resource may not be able to do what is extrapolated for it,
    /// because the CPU ends first. Not to be published as the resource's maximum.
    CpuBusy,
    /// Nobody knows how busy the CPU was.
    CpuUnknown,
}

/// An extrapolated rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Maximum {
    /// The rate at full utilisation, in the unit of the measured rate.
    pub rate: f64,
    /// Why it may not hold; absent where the CPU is known to have had room.
    pub reservation: Option<Reservation>,
}

/// The rate at full utilisation: `rate / utilisation`.
///
/// `utilisation_percent` is that of the resource in question, `cpu_percent` that of the CPU in the same window. `None`
/// if the rate is not positive and finite or the utilisation is not above 0 and at most 100.
pub fn theoretical_maximum(rate: f64, utilisation_percent: f64, cpu_percent: Option<f64>) -> Option<Maximum> {
    let usable = rate.is_finite() && rate > 0.0 && utilisation_percent > 0.0 && utilisation_percent <= 100.0;
    let reservation = match cpu_percent.filter(|percent| percent.is_finite()) {
        Some(percent) if percent < CPU_BUSY_PERCENT => None,
        Some(_) => Some(Reservation::CpuBusy),
        None => Some(Reservation::CpuUnknown),
    };
    let rate = rate / (utilisation_percent / 100.0);
    (usable && rate.is_finite()).then_some(Maximum { rate, reservation })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference 3.11-4.
    #[test]
    fn the_published_extrapolations() {
        for (rate, utilisation, expected) in [(19_500.0, 70.0, 27_857.0), (11_800.0, 80.0, 14_750.0)] {
            let maximum = theoretical_maximum(rate, utilisation, Some(60.0)).unwrap();
            assert!((maximum.rate - expected).abs() < 0.5, "{maximum:?}");
            assert_eq!(maximum.reservation, None);
        }
    }

    #[test]
    fn an_impossible_utilisation_gives_nothing() {
        for utilisation in [0.0, -5.0, 100.1, f64::NAN] {
            assert_eq!(theoretical_maximum(100.0, utilisation, None), None);
        }
        assert_eq!(theoretical_maximum(0.0, 50.0, None), None);
        assert_eq!(theoretical_maximum(100.0, 100.0, None).map(|maximum| maximum.rate), Some(100.0));
    }

    #[test]
    fn a_busy_or_unknown_cpu_is_said() {
        let reservation = |cpu| theoretical_maximum(100.0, 50.0, cpu).unwrap().reservation;
        assert_eq!(reservation(Some(89.9)), None);
        assert_eq!(reservation(Some(90.0)), Some(Reservation::CpuBusy));
        assert_eq!(reservation(None), Some(Reservation::CpuUnknown));
        assert_eq!(reservation(Some(f64::NAN)), Some(Reservation::CpuUnknown));
    }
}
