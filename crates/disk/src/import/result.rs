//! What another tool measured, and why a file can't be taken.

use thiserror::Error;

use super::histogram::least_mean_ms;

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// `sqlio.exe`, text.
    Sqlio,
    /// fio, `--output-format=json`.
    Fio,
    /// `DiskSpd`, `-Rxml`.
    DiskSpd,
}

impl Tool {
    /// As its makers write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sqlio => "SQLIO",
            Self::Fio => "fio",
            Self::DiskSpd => "DiskSpd",
        }
    }
}

/// Whether a run was made at the same time as the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Beside {
    /// It was not, as far as the file tells.
    #[default]
    No,
    /// The file says so.
    Told,
    /// The file says so, and that it was for a part of their time alone.
    Partly,
    /// All runs took less time than they would have needed one after another.
    Reckoned,
}

/// A run of one kind of operation, as another tool measured it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Imported {
    /// A name that the file or the order of its runs gives it: `OR`, the name of a fio job.
    pub label: String,
    /// Line on which it begins, from 1; absent where a file has no lines worth telling.
    pub line: Option<usize>,
    /// Share of reads in percent.
    pub read_percent: u32,
    /// Whether places were drawn at random.
    pub is_random: bool,
    /// Bytes of an operation.
    pub block_bytes: u64,
    /// Threads.
    pub threads: u32,
    /// Operations that a thread has under way.
    pub queue_depth: u32,
    /// How long it ran, in seconds.
    pub seconds: f64,
    /// The file that was read or written.
    pub path: Option<String>,
    /// Its size in bytes.
    pub file_bytes: Option<u64>,
    /// Whether the system's cache was left out; absent where the file does not say.
    pub is_direct: Option<bool>,
    /// What made writes durable: `o_dsync`, `fsync` or `fdatasync`; absent where nothing did or the file does not say.
    pub sync: Option<&'static str>,
    /// Writes for each sync, where they are several.
    pub writes_per_sync: Option<u64>,
    /// Operations a second that were asked for, of all threads; absent where it went as fast as it could.
    pub rate_per_s: Option<f64>,
    /// Whether its `reads` or its `writes` were asked for no rate where the others were.
    pub free_side: Option<&'static str>,
    /// The option by which it made fewer operations than it could: `thinktime`.
    pub held_back_by: Option<&'static str>,
    /// Options that make other work than its cell says, with their values.
    pub unsaid: Vec<String>,
    /// Whether it ran at the same time as the one before it.
    pub beside: Beside,
    /// Operations that failed, which its rate counts.
    pub errors: u64,
    /// Operations a second.
    pub iops: f64,
    /// Bytes a second.
    pub bytes_per_second: f64,
    /// How long operations took.
    pub latency: Latency,
}

impl Imported {
    /// Whether it ran at the same time as the one before it.
    pub fn is_beside(&self) -> bool {
        self.beside != Beside::No
    }

    /// Operations that it made, as a whole number.
    pub fn operations(&self) -> f64 {
        (self.iops * self.seconds).round()
    }
}

/// How long operations took, in microseconds, as far as the file says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Latency {
    /// The shortest.
    pub min_us: Option<f64>,
    /// The mean.
    pub mean_us: Option<f64>,
    /// The longest.
    pub max_us: Option<f64>,
    /// Percentiles, rising: (percent, microseconds).
    pub percentiles_us: Vec<(f64, f64)>,
    /// Percent of the operations by the millisecond that they ended in: the first has those below 1 ms, the last all from 24 ms on.
    pub histogram_percent: Vec<f64>,
}

/// Tools print percentiles as ends of the parts of a histogram, which are so much wider than what was measured: fio's are a 64th.
const PART_WIDTH: f64 = 1.02;

impl Latency {
    /// An error if a percentile is beyond the shortest or the longest of the same times.
    pub(super) fn check_percentiles(&self, min_us: Option<f64>, max_us: Option<f64>) -> Result<(), String> {
        let is_beyond = |(_, us): &&(f64, f64)| {
            let is_above = max_us.is_some_and(|max| *us > max * PART_WIDTH + 1.0);
            is_above || min_us.is_some_and(|min| *us < min / PART_WIDTH - 1.0)
        };
        let Some((percent, us)) = self.percentiles_us.iter().find(is_beyond) else { return Ok(()) };
        let ms = |us: Option<f64>| us.map_or("?".to_owned(), |us| format!("{:.3} ms", us / 1e3));
        let [min, max] = [min_us, max_us].map(ms);
        Err(format!(
            "a percentile ({percent}) of {} is not between the shortest time, {min}, and the longest, {max}",
            ms(Some(*us))
        ))
    }

    /// The least that the mean can be by the percentiles, which are no longer than the times above them; 0 without any.
    fn least_by_percentiles_us(&self) -> f64 {
        let ends = self.percentiles_us.iter().skip(1).map(|(percent, _)| *percent).chain([100.0]);
        let parts = self.percentiles_us.iter().zip(ends).map(|((percent, us), end)| (end - percent).max(0.0) * us);
        let below = self.percentiles_us.first().zip(self.min_us).map_or(0.0, |((percent, _), min)| percent * min);
        (below + parts.sum::<f64>()) / 100.0 / PART_WIDTH
    }

    /// An error if the mean is less than it can be by the percentiles.
    pub(super) fn check_mean(&self) -> Result<(), String> {
        let (Some(mean), least) = (self.mean_us, self.least_by_percentiles_us()) else { return Ok(()) };
        if mean >= least - 1.0 {
            return Ok(());
        }
        let [mean, least] = [mean, least].map(|us| format!("{:.3} ms", us / 1e3));
        Err(format!("a mean of {mean} is less than {least}, the least that it can be by the percentiles"))
    }

    /// An error if the mean of the same times is more than it can be by the percentiles and the longest.
    pub(super) fn check_most_mean(&self, mean_us: Option<f64>, max_us: Option<f64>) -> Result<(), String> {
        let (Some(mean), Some(max), false) = (mean_us, max_us, self.percentiles_us.is_empty()) else { return Ok(()) };
        let starts = std::iter::once(0.0).chain(self.percentiles_us.iter().map(|(percent, _)| *percent));
        let parts =
            self.percentiles_us.iter().zip(starts).map(|((percent, us), start)| (percent - start).max(0.0) * us);
        let last = self.percentiles_us.last().map_or(0.0, |(percent, _)| (100.0 - percent).max(0.0) * max);
        let most = (parts.sum::<f64>() + last) / 100.0 * PART_WIDTH;
        if mean <= most + 1.0 {
            return Ok(());
        }
        let [mean, most] = [mean, most].map(|us| format!("{:.3} ms", us / 1e3));
        Err(format!(
            "a mean of {mean} is more than {most}, the most that it can be by the percentiles and the longest time"
        ))
    }

    /// The mean, or the least that it can be where times and parts are rounded.
    pub(super) fn least_mean_us(&self) -> Option<f64> {
        if self.histogram_percent.is_empty() {
            return self.mean_us;
        }
        let of_histogram = least_mean_ms(&self.histogram_percent) * 1e3;
        Some(self.mean_us.map_or(of_histogram, |mean| of_histogram.max(mean - 1e3)))
    }

    /// A percentile. From a histogram of milliseconds it is the end of the bucket in which it lies; beyond the last one it is unknown.
    pub fn percentile_us(&self, percent: f64) -> Option<f64> {
        let exact = self.percentiles_us.iter().find(|(known, _)| (known - percent).abs() < 1e-9);
        exact.map(|(_, us)| *us).or_else(|| {
            let total: f64 = self.histogram_percent.iter().sum();
            let mut seen = 0.0;
            let bucket = self.histogram_percent.iter().position(|part| {
                seen += part;
                seen >= total * percent / 100.0
            })?;
            (total > 0.0 && bucket + 1 < self.histogram_percent.len()).then(|| (bucket + 1) as f64 * 1e3)
        })
    }
}

/// Why a file can't be taken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{problem}", .line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct ImportError {
    /// Where, from 1.
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: String,
}

impl ImportError {
    pub(super) fn at(line: usize, problem: impl Into<String>) -> Self {
        Self { line: Some(line), problem: problem.into() }
    }
}

/// The class of a run in SQLIO's matrix; sequential writes are large ones behind the first sequential read.
pub(crate) const fn class_of(is_random: bool, is_read: bool, is_behind_a_read: bool) -> &'static str {
    match (is_random, is_read) {
        (true, true) => "OR",
        (true, false) => "OW",
        (false, true) => "LR",
        (false, false) if is_behind_a_read => "LW",
        (false, false) => "SW",
    }
}

/// Whether a number can be a rate, a size or a time: an exabyte and a billion of anything a nanosecond are too much.
pub(super) fn is_amount(value: f64) -> bool {
    (0.0..=1e18).contains(&value)
}

/// Whether a time is long enough to count in: seconds.
pub(super) fn is_time(seconds: f64) -> bool {
    seconds >= 1e-3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_is_no_less_than_its_percentiles_allow() {
        let checked = |min: f64, mean: f64, percentiles: &[(f64, f64)]| {
            let latency = Latency {
                min_us: Some(min),
                mean_us: Some(mean),
                percentiles_us: percentiles.to_vec(),
                ..Latency::default()
            };
            latency.check_mean()
        };
        let spread = [(50.0, 7_000.0), (99.0, 20_000.0)];
        // Half of them take 0.5 ms or more, 49 of 100 at least 7 ms, and one 20 ms.
        assert!(checked(500.0, 3_900.0, &spread).is_ok());
        let refused = checked(500.0, 600.0, &spread).unwrap_err();
        assert!(refused.starts_with("a mean of 0.600 ms is less than 3.8"), "{refused}");
        assert!(checked(500.0, 600.0, &[]).is_ok());
    }
}
