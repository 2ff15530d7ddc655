//! Faults as a target's URL names them.

use std::fmt;
use std::time::Duration;

use plimsoll_measurement::units;

/// What is to go wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// Each I/O fails with this probability.
    IoError(f64),
    /// The disk is full when so many bytes were written.
    FullDisk(u64),
    /// Each write reaches the file by half and fails, with this probability.
    TornWrite(f64),
    /// Power is lost at the I/O of this number.
    PowerLoss(u64),
    /// With this probability an I/O takes so many times as long.
    LatencySpike(f64, f64),
    /// Every so often, for so long, each I/O takes so many times as long.
    ThrottleStorm(Duration, Duration, f64),
    /// Every so often, for so long, the devices stand still: no I/O is done.
    DeviceFreeze(Duration, Duration),
    /// From this moment of the target's clock on everything stands still for so long.
    Freeze(Duration, Duration),
}

impl Fault {
    /// The names of the faults, with what they take.
    pub const FORMS: [&'static str; 8] = [
        "io-error:PROBABILITY",
        "full-disk:SIZE",
        "torn-write:PROBABILITY",
        "power-loss:NUMBER-OF-IO",
        "latency-spike:PROBABILITY:FACTOR",
        "throttle-storm:EVERY:FOR:FACTOR",
        "device-freeze:EVERY:FOR",
        "freeze:AT:FOR",
    ];

    /// Reads a fault such as `io-error:0.001`.
    ///
    /// # Errors
    /// A sentence that says what would have been right.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, arguments) = text.split_once(':').unwrap_or((text, ""));
        let arguments: Vec<&str> = arguments.split(':').collect();
        let argument = |index: usize| arguments.get(index).copied().unwrap_or("");
        let number = |index: usize, what: &str, fits: fn(f64) -> bool| {
            let value: Option<f64> = argument(index).parse().ok();
            value.filter(|value| fits(*value)).ok_or_else(|| format!("'{}' is no {what}", argument(index)))
        };
        let probability = |index| number(index, "probability between 0 and 1", |value| value > 0.0 && value <= 1.0);
        let factor = |index| number(index, "factor between 1 and 1,000,000", |value| (1.0..=1e6).contains(&value));
        let duration = |index: usize| {
            let time = units::parse_duration(argument(index)).map_err(|error| error.to_string())?;
            if time.is_zero() { Err("a time of 0".to_owned()) } else { Ok(time) }
        };
        let every_so_often = |what: &str| {
            let (every, lasts) = (duration(0)?, duration(1)?);
            let fits = lasts < every;
            fits.then_some((every, lasts))
                .ok_or_else(|| format!("a {what} of {} does not end before the next", argument(1)))
        };
        let expected = |count: usize, fault: Self| {
            let form = Self::FORMS.iter().find(|form| form.starts_with(name)).copied().unwrap_or(name);
            if arguments.len() == count { Ok(fault) } else { Err(format!("'{text}' is not of the form {form}")) }
        };
        match name {
            "io-error" => expected(1, Self::IoError(probability(0)?)),
            "full-disk" => {
                expected(1, Self::FullDisk(units::parse_bytes(argument(0)).map_err(|error| error.to_string())?))
            }
            "torn-write" => expected(1, Self::TornWrite(probability(0)?)),
            "power-loss" => {
                let number = units::parse_count(argument(0)).map_err(|error| error.to_string())?;
                if number == 0 {
                    return Err("the number of an I/O is 1 or more".to_owned());
                }
                expected(1, Self::PowerLoss(number))
            }
            "latency-spike" => expected(2, Self::LatencySpike(probability(0)?, factor(1)?)),
            "throttle-storm" => {
                let (every, lasts) = every_so_often("storm")?;
                expected(3, Self::ThrottleStorm(every, lasts, factor(2)?))
            }
            "device-freeze" => {
                let (every, lasts) = every_so_often("freeze")?;
                expected(2, Self::DeviceFreeze(every, lasts))
            }
            "freeze" => expected(2, Self::Freeze(duration(0)?, duration(1)?)),
            _ => Err(format!("there is no fault '{name}', known names: {}", Self::FORMS.join(", "))),
        }
    }
}

/// As it is given in a URL.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IoError(probability) => write!(f, "io-error:{probability}"),
            Self::FullDisk(bytes) => write!(f, "full-disk:{bytes}B"),
            Self::TornWrite(probability) => write!(f, "torn-write:{probability}"),
            Self::PowerLoss(number) => write!(f, "power-loss:{number}"),
            Self::LatencySpike(probability, factor) => write!(f, "latency-spike:{probability}:{factor}"),
            Self::ThrottleStorm(every, lasts, factor) => {
                write!(f, "throttle-storm:{}s:{}s:{factor}", every.as_secs_f64(), lasts.as_secs_f64())
            }
            Self::DeviceFreeze(every, lasts) => {
                write!(f, "device-freeze:{}s:{}s", every.as_secs_f64(), lasts.as_secs_f64())
            }
            Self::Freeze(at, lasts) => write!(f, "freeze:{}s:{}s", at.as_secs_f64(), lasts.as_secs_f64()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_and_nonsense_is_refused() {
        assert_eq!(Fault::parse("io-error:0.01"), Ok(Fault::IoError(0.01)));
        assert_eq!(Fault::parse("full-disk:1MiB"), Ok(Fault::FullDisk(1 << 20)));
        assert_eq!(Fault::parse("latency-spike:0.5:20"), Ok(Fault::LatencySpike(0.5, 20.0)));
        let storm = Fault::ThrottleStorm(Duration::from_mins(1), Duration::from_secs(5), 10.0);
        assert_eq!(Fault::parse("throttle-storm:60s:5s:10"), Ok(storm));
        for bad in [
            "io-error",
            "io-error:2",
            "io-error:0",
            "io-error:nan",
            "full-disk:much",
            "latency-spike:0.5",
            "latency-spike:0.5:inf",
            "throttle-storm:5s:60s:10",
            "device-freeze:1s:1s",
            "freeze:5s",
            "freeze:5s:0s",
            "io-error:0.5:3",
            "quake:9",
            "",
        ] {
            assert!(Fault::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_shown_can_be_read() {
        for text in [
            "io-error:0.01",
            "full-disk:1048576B",
            "torn-write:0.5",
            "power-loss:5000",
            "latency-spike:0.5:20",
            "throttle-storm:60s:0.5s:10",
            "device-freeze:2s:0.25s",
            "freeze:5s:0.5s",
        ] {
            assert_eq!(Fault::parse(text).unwrap().to_string(), text);
        }
    }
}
