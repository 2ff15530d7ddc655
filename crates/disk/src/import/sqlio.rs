//! SQLIO's text: any number of runs one after another, as a script appends them to a log. The lines are those of SQLIO 1.5.

use super::histogram;
use super::result::{Beside, ImportError, Imported, Latency, class_of, is_amount};

/// Buckets of its histogram: milliseconds 0 to 23, and all from 24 on.
const BUCKETS: usize = 25;

/// How lines begin that a run has only with its response times, which end with the histogram's parts.
const TIMED: [&str; 5] = ["using system counter for latency", "latency metrics", "Min_Latency", "histogram:", "ms:"];

/// What has been read of a run.
#[derive(Default)]
struct Draft {
    line: usize,
    work: Option<(u32, bool, f64)>,
    path: Option<String>,
    block_kb: Option<u64>,
    is_random: Option<bool>,
    queue_depth: u32,
    file_mb: Option<u64>,
    is_direct: Option<bool>,
    /// Whether a write ends when it is on the disk and in none of its caches.
    is_durable: bool,
    iops: Option<(f64, usize)>,
    mb: Option<(f64, usize)>,
    /// Whether response times were asked for, so that all of them have to be there.
    is_timed: bool,
    histogram_line: usize,
    latency: Latency,
}

/// Reads all runs of a log.
pub(super) fn read(text: &str) -> Result<Vec<Imported>, ImportError> {
    let mut runs: Vec<Imported> = Vec::new();
    let mut draft: Option<Draft> = None;
    let mut last = 0;
    for (number, line) in (1..).zip(text.lines()) {
        last = number;
        let line = line.trim();
        if line.starts_with("sqlio v") {
            runs.extend(draft.take().map(|draft| draft.finish(number)).transpose()?);
            draft = Some(Draft { line: number, ..Draft::default() });
            continue;
        }
        // A log whose first line is lost begins with the threads.
        let begun = draft.get_or_insert_with(|| Draft { line: number, ..Draft::default() });
        begun.take(line, number)?;
    }
    // What follows the last run, such as an empty line or a remark of a script, is no run.
    runs.extend(draft.filter(Draft::says_something).map(|draft| draft.finish(last)).transpose()?);
    label(&mut runs);
    Ok(runs)
}

/// The classes of the matrix. Sequential writes are small ones before the first sequential read, and large ones behind it.
fn label(runs: &mut [Imported]) {
    let first_read = runs.iter().position(|run| !run.is_random && run.read_percent == 100);
    for (at, run) in runs.iter_mut().enumerate() {
        let is_behind = first_read.is_some_and(|first| at > first);
        let name = class_of(run.is_random, run.read_percent == 100, is_behind);
        name.clone_into(&mut run.label);
    }
}

impl Draft {
    fn says_something(&self) -> bool {
        self.work.is_some() || self.iops.is_some() || self.block_kb.is_some()
    }

    fn take(&mut self, line: &str, number: usize) -> Result<(), ImportError> {
        self.is_timed |= TIMED.iter().any(|begin| line.starts_with(begin));
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            // `32 threads writing for 300 secs to file e:\testfile.dat`; also `from files ... and ...`.
            [threads, "thread" | "threads", kind @ ("reading" | "writing"), "for", seconds, "secs", ..] => {
                if self.work.is_some() {
                    return Err(ImportError::at(number, "a run begins before the one above has ended"));
                }
                let threads = whole(threads, number)? as u32;
                self.work = Some((threads, *kind == "reading", self::number(seconds, number)?));
                let path = line.split_once(" file ").or_else(|| line.split_once(" files "));
                self.path = path.map(|(_, path)| path.trim().to_owned());
            }
            ["using", block, pattern @ ("random" | "sequential"), "IOs"] => {
                let block = block
                    .strip_suffix("KB")
                    .ok_or_else(|| ImportError::at(number, format!("'{block}' is no size in KB")))?;
                self.block_kb = Some(whole(block, number)?);
                self.is_random = Some(*pattern == "random");
            }
            ["enabling", "multiple", "I/Os", "per", "thread", "with", depth, "outstanding"] => {
                self.queue_depth = whole(depth, number)? as u32;
            }
            ["using", "specified" | "current", "size:", size, "MB", ..] => self.file_mb = Some(whole(size, number)?),
            ["buffering", "set", ..] => {
                self.is_durable = line.contains("not use file nor disk caches");
                self.is_direct = Some(self.is_durable || line.contains("but not file cache"));
            }
            ["IOs/sec:", rate] => self.iops = Some((only(rate, number, self.iops)?, number)),
            ["MBs/sec:", rate] => self.mb = Some((only(rate, number, self.mb)?, number)),
            ["Min_Latency(ms):", ms] => self.latency.min_us = Some(self::number(ms, number)? * 1e3),
            ["Avg_Latency(ms):", ms] => self.latency.mean_us = Some(self::number(ms, number)? * 1e3),
            ["Max_Latency(ms):", ms] => self.latency.max_us = Some(self::number(ms, number)? * 1e3),
            ["%:", parts @ ..] => {
                if parts.len() != BUCKETS {
                    let problem = format!("the histogram has {} of {BUCKETS} parts", parts.len());
                    return Err(ImportError::at(number, problem));
                }
                let parts = parts.iter().map(|part| self::number(part, number)).collect::<Result<Vec<f64>, _>>()?;
                if !histogram::is_whole(&parts) {
                    let sum: f64 = parts.iter().sum();
                    return Err(ImportError::at(
                        number,
                        format!("the histogram's parts come to {sum} % and not to 100"),
                    ));
                }
                self.latency.histogram_percent = parts;
                self.histogram_line = number;
            }
            [name, ..] if name.starts_with("IOs/sec") || name.starts_with("MBs/sec") => {
                return Err(ImportError::at(number, format!("'{line}' is no rate")));
            }
            _ => {}
        }
        Ok(())
    }

    /// The run, if all of it is there and its numbers fit together.
    fn finish(self, end: usize) -> Result<Imported, ImportError> {
        let missing =
            |what: &str| ImportError::at(end, format!("the run that begins on line {} has no {what}", self.line));
        let (threads, is_read, seconds) = self.work.ok_or_else(|| missing("line with its threads and seconds"))?;
        let block_kb = self.block_kb.ok_or_else(|| missing("size of its I/Os"))?;
        let is_random = self.is_random.ok_or_else(|| missing("pattern"))?;
        let (iops, _) = self.iops.ok_or_else(|| missing("IOs/sec"))?;
        let (mb, line) = self.mb.ok_or_else(|| missing("MBs/sec"))?;
        if threads == 0 || block_kb == 0 || seconds <= 0.0 {
            return Err(ImportError::at(self.line, "a run has threads, a size of its I/Os and seconds above 0"));
        }
        // Both are printed with two digits.
        let computed = iops * block_kb as f64 / 1024.0;
        if (computed - mb).abs() > 0.01 + 0.005 * block_kb as f64 / 1024.0 {
            let problem =
                format!("{mb} MB/s are not {iops} I/Os a second of {block_kb} KB, which are {computed:.2} MB/s");
            return Err(ImportError::at(line, problem));
        }
        let Latency { min_us, mean_us, max_us, ref histogram_percent, .. } = self.latency;
        let is_whole = [min_us, mean_us, max_us].iter().all(Option::is_some) && !histogram_percent.is_empty();
        if self.is_timed && !is_whole {
            return Err(missing("whole latency metrics: the text breaks off"));
        }
        let rises = [min_us, mean_us, max_us].into_iter().flatten().is_sorted();
        if !rises {
            return Err(ImportError::at(line, "the latencies' minimum, mean and maximum are not in this order"));
        }
        let ends = min_us.zip(max_us).filter(|_| is_whole);
        if let Some(problem) = ends.and_then(|(min, max)| histogram::outside(histogram_percent, min / 1e3, max / 1e3)) {
            return Err(ImportError::at(self.histogram_line, problem));
        }
        if let Some(mean_ms) = mean_us.map(|us| us / 1e3).filter(|_| !histogram_percent.is_empty()) {
            let (low, high) = means_of(histogram_percent, max_us.unwrap_or_default() / 1e3);
            // The mean is cut to whole milliseconds, and each part of the histogram rounded to a percent.
            let room = 1.0 + 0.005 * max_us.unwrap_or_default() / 1e3;
            if mean_ms < low - 2.5 || mean_ms > high + room {
                let problem = format!("a mean of {mean_ms} ms is not that of the histogram, {low:.1} to {high:.1} ms");
                return Err(ImportError::at(line, problem));
            }
        }
        Ok(Imported {
            label: String::new(),
            line: Some(self.line),
            read_percent: if is_read { 100 } else { 0 },
            is_random,
            block_bytes: block_kb << 10,
            threads,
            queue_depth: self.queue_depth.max(1),
            seconds,
            path: self.path,
            file_bytes: self.file_mb.map(|mb| mb << 20),
            is_direct: self.is_direct,
            sync: (self.is_durable && !is_read).then_some("o_dsync"),
            writes_per_sync: None,
            rate_per_s: None,
            held_back_by: None,
            unsaid: Vec::new(),
            free_side: None,
            beside: Beside::No,
            errors: 0,
            iops,
            bytes_per_second: iops * (block_kb << 10) as f64,
            latency: self.latency,
        })
    }
}

/// Between which means the operations of a histogram lie, in milliseconds: at the beginning of each part, and at its end.
fn means_of(percent: &[f64], max_ms: f64) -> (f64, f64) {
    let total: f64 = percent.iter().sum();
    let ends = |at: usize| if at + 1 < percent.len() { (at + 1) as f64 } else { max_ms.max(at as f64) };
    let mean =
        |of: &dyn Fn(usize) -> f64| percent.iter().enumerate().map(|(at, part)| part * of(at)).sum::<f64>() / total;
    (mean(&|at| at as f64), mean(&ends))
}

fn number(text: &str, line: usize) -> Result<f64, ImportError> {
    let number = text.parse::<f64>().ok().filter(|number| is_amount(*number));
    number.ok_or_else(|| ImportError::at(line, format!("'{text}' is no number from 0")))
}

fn whole(text: &str, line: usize) -> Result<u64, ImportError> {
    let number = text.parse::<u32>().map(u64::from);
    number.map_err(|_| ImportError::at(line, format!("'{text}' is no whole number")))
}

/// The rate of a run, which has it once.
fn only(text: &str, line: usize, before: Option<(f64, usize)>) -> Result<f64, ImportError> {
    match before {
        Some((_, first)) => Err(ImportError::at(line, format!("this run has a rate already, on line {first}"))),
        None => number(text, line),
    }
}
