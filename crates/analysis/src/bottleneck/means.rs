//! What the samples of a stretch of time say on average, and the parts of it in which everything stood still.

use plimsoll_measurement::{Ceiling, SampleColumn, Samples, Stall};

use crate::summary;

/// An interval in which the rate is below this part of the usual one may be one in which everything stood still...
const STILL_RATE: f64 = 0.1;
/// ... if the device did less than this part of what it usually does as well.
pub(super) const STILL_IO: f64 = 0.1;
/// No more than this part of the time is taken for standing still: something was done in the rest.
const MOST_STILL: f64 = 0.95;
/// Fewer requests in an interval than this come and go by chance.
const LEAST_USUAL: f64 = 10.0;

/// A stretch of time in which somebody worked.
#[derive(Debug, Clone)]
pub struct Segment<'a> {
    /// What was said meanwhile.
    pub samples: &'a Samples,
    /// From and to, seconds on the samples' axis.
    pub between: (f64, f64),
    /// Work done in each second of that axis: requests, or bytes; empty where that is not known.
    pub seconds: &'a [f64],
    /// Times in which nobody was answered; empty also where that is not known.
    pub stalls: &'a [Stall],
}

/// Averages over the intervals of a stretch.
#[derive(Debug, Clone)]
pub struct Means<'a> {
    stretch: &'a Segment<'a>,
    /// Which intervals count, by their place.
    counted: Vec<usize>,
    /// A column that is left out.
    hidden: Option<&'static str>,
    /// Of CPU time that the machine's host took, and that hit whoever ran, the part that hit those who are not left out.
    own: f64,
    /// Part of the time in which everything stood still.
    pub still: f64,
    /// Part of the time that counts in which everything moved: columns are averages over all of it.
    pub moving: f64,
}

impl<'a> Means<'a> {
    /// Averages over all of a stretch.
    pub fn plain(stretch: &'a Segment<'a>) -> Self {
        let (from, to) = stretch.between;
        let inside = |(start, end): (f64, f64)| end.min(to) - start.max(from) > (end - start) / 2.0;
        let all = stretch.samples.intervals().enumerate().filter(|(_, interval)| inside(*interval));
        Self { stretch, counted: all.map(|(at, _)| at).collect(), hidden: None, own: 1.0, still: 0.0, moving: 1.0 }
    }

    /// Averages over the time of a stretch in which something moved. `is_still` says of a part of the time in which nobody was answered
    /// whether that is to be taken so; if not, the averages are plain. Silences are seen to a hundredth of a second; where nobody
    /// noted them whole intervals count.
    pub fn of(stretch: &'a Segment<'a>, is_still: impl Fn(f64) -> bool) -> Self {
        let plain = Self::plain(stretch);
        let (from, to) = stretch.between;
        let silent = silent_seconds(stretch.stalls, (from, to));
        if silent > 0.0 && to > from {
            let still = (silent / (to - from)).min(MOST_STILL);
            return if is_still(still) { Self { still, moving: 1.0 - still, ..plain } } else { plain };
        }
        let (idle, moving) = plain.split();
        let length = |places: &[usize]| places.iter().map(|at| plain.length(*at)).sum::<f64>();
        let total = length(&plain.counted);
        if total <= 0.0 || idle.is_empty() || moving.is_empty() {
            return plain;
        }
        Self { still: length(&idle) / total, counted: moving, ..plain }
    }

    /// What they are averages of.
    pub fn stretch(&self) -> &'a Segment<'a> {
        self.stretch
    }

    /// The part of the stretch in which nobody was answered, in percent.
    pub fn silent_percent(&self) -> Option<f64> {
        let (from, to) = self.stretch.between;
        (to > from).then(|| 100.0 * silent_seconds(self.stretch.stalls, (from, to)) / (to - from))
    }

    /// How long the silence is in which the middle of the time without an answer lies, in seconds. `None` where there is none.
    pub fn usual_stall(&self) -> Option<f64> {
        let (from, to) = self.stretch.between;
        let inside = self.stretch.stalls.iter().filter(|stall| (from..to).contains(&stall.started_seconds));
        let mut lengths: Vec<f64> = inside.map(|stall| stall.seconds).collect();
        lengths.sort_by(f64::total_cmp);
        let half = lengths.iter().sum::<f64>() / 2.0;
        let mut sum = 0.0;
        lengths.into_iter().find(|length| {
            sum += length;
            sum >= half
        })
    }

    /// Each interval that counts by itself.
    pub fn each(&self) -> impl Iterator<Item = Self> {
        self.counted.iter().map(|at| self.one(*at))
    }

    /// I/Os a second in the intervals in which nobody was answered for most of the time, as a part of those in the others. `None` where
    /// there are no such intervals, or no I/Os.
    pub fn io_in_silence(&self) -> Option<f64> {
        let is_silent = |at: usize| {
            let (start, end) = self.interval(at);
            silent_seconds(self.stretch.stalls, (start, end)) >= MOSTLY * (end - start)
        };
        let (silent, others): (Vec<usize>, Vec<usize>) = self.counted.iter().partition(|at| is_silent(**at));
        let io = |counted: Vec<usize>| Self { counted, ..*self }.sum(&DEVICE_IO);
        let part = io(silent)? / io(others)?;
        part.is_finite().then_some(part)
    }

    /// The mean of these columns at the moments that fell into a silence: what is seen then is what the silence is for. `None` where they
    /// were not seen at moments, or at none in a silence.
    pub fn seen_in_silence(&self, metrics: &[&str]) -> Option<f64> {
        let moments = &self.stretch.samples.moments;
        let columns: Vec<_> =
            moments.columns.iter().filter(|column| metrics.contains(&column.metric.as_str())).collect();
        let (from, to) = self.stretch.between;
        let is_silent = |at: f64| {
            let is_in = |stall: &Stall| (stall.started_seconds..stall.started_seconds + stall.seconds).contains(&at);
            (from..=to).contains(&at) && self.stretch.stalls.iter().any(is_in)
        };
        let silent = moments.seconds.iter().enumerate().filter(|(_, at)| is_silent(**at));
        let seen = silent.filter_map(|(place, _)| {
            columns.iter().filter_map(|column| column.values.get(place).copied().flatten()).reduce(|a, b| a + b)
        });
        summary::mean(&seen.collect::<Vec<_>>())
    }

    /// Whether a moment is in the time that counts.
    fn counts(&self, at: f64) -> bool {
        self.counted.iter().any(|place| {
            let (start, end) = self.interval(*place);
            start < at && at <= end
        })
    }

    /// At what part of the moments somebody was seen in a column. `None` where nobody looked.
    pub fn seen_part(&self, metric: &str) -> Option<f64> {
        let moments = &self.stretch.samples.moments;
        let column = moments.columns.iter().find(|column| column.metric == metric)?;
        let seen = moments.seconds.iter().zip(&column.values).filter(|(at, _)| self.counts(**at));
        let known: Vec<f64> = seen.filter_map(|(_, value)| Some(if (*value)? > 0.0 { 1.0 } else { 0.0 })).collect();
        summary::mean(&known)
    }

    /// How often it was seen what sessions did in the time that counts.
    pub fn looks(&self) -> usize {
        let moments = self.stretch.samples.moments.seconds.iter().filter(|at| self.counts(**at)).count();
        if moments > 0 { moments } else { self.intervals() }
    }

    /// Each interval of the samples by itself, those outside of the stretch too.
    pub fn each_of_all(&self) -> impl Iterator<Item = Self> {
        (0..self.stretch.samples.seconds.len()).map(|at| self.one(at))
    }

    fn one(&self, at: usize) -> Self {
        Self { counted: vec![at], still: 0.0, moving: 1.0, ..*self }
    }

    /// The same as if a column were not known.
    #[must_use]
    pub fn without(&self, metric: &'static str) -> Self {
        let others = self.column(metric).unwrap_or(0.0);
        let ours = self.sum(&["server_cpu", "client_cpu", "kernel_cpu"]).unwrap_or(0.0);
        let own = if others > 0.0 { ours / (ours + others) } else { 1.0 };
        Self { hidden: Some(metric), own, counted: self.counted.clone(), ..*self }
    }

    /// The same with all columns.
    #[must_use]
    pub fn whole(&self) -> Self {
        Self { hidden: None, own: 1.0, counted: self.counted.clone(), ..*self }
    }

    /// How many intervals count.
    pub fn intervals(&self) -> usize {
        self.counted.len()
    }

    /// The mean of a column, weighted by time. `None` where it is known for less than half of the time.
    pub fn column(&self, metric: &str) -> Option<f64> {
        let column = self.stretch.samples.column(metric).filter(|_| self.hidden != Some(metric));
        let values = &column?.values;
        let (mut sum, mut known, mut total) = (0.0, 0.0, 0.0);
        for at in &self.counted {
            let seconds = self.length(*at);
            total += seconds;
            if let Some(value) = values.get(*at).copied().flatten() {
                sum += value * seconds;
                known += seconds;
            }
        }
        let own = if metric == "stolen_cpu" { self.own } else { 1.0 };
        (known > 0.0 && known >= total / 2.0).then(|| sum / known * own)
    }

    /// The mean time of an operation: each interval counts as often as operations were made in it, where that is known.
    pub fn time_of_each(&self, latency: &str) -> Option<f64> {
        let counts = operations(latency).and_then(|name| self.stretch.samples.column(&name));
        let (Some(counts), Some(times)) = (counts, self.stretch.samples.column(latency)) else {
            return self.column(latency);
        };
        let value = |column: &SampleColumn, at: usize| column.values.get(at).copied().flatten();
        let (mut sum, mut all) = (0.0, 0.0);
        for at in &self.counted {
            if let (Some(rate), Some(time)) = (value(counts, *at), value(times, *at)) {
                let count = rate * self.length(*at);
                sum += time * count;
                all += count;
            }
        }
        if all > 0.0 { Some(sum / all) } else { self.column(latency) }
    }

    /// In how many of the intervals a column is known, of how many, where it is not known in all.
    pub fn gaps(&self, metric: &str) -> Option<(usize, usize)> {
        let column = self.stretch.samples.column(metric)?;
        let is_known = |at: &&usize| column.values.get(**at).is_some_and(Option::is_some);
        let known = self.counted.iter().filter(is_known).count();
        (known < self.counted.len()).then_some((known, self.counted.len()))
    }

    /// The means of the columns of this name, by what each is of.
    pub fn each_of(&self, metric: &str) -> Vec<(&'a str, f64)> {
        let columns = self.stretch.samples.columns.iter().filter(|column| column.metric == metric);
        let known = columns.filter_map(|column| {
            let values = self.counted.iter().map(|at| (column.values.get(*at).copied().flatten(), self.length(*at)));
            let (sum, seconds) = values.fold((0.0, 0.0), |(sum, seconds), (value, length)| match value {
                Some(value) => (sum + value * length, seconds + length),
                None => (sum, seconds),
            });
            Some((column.of.as_deref()?, sum / seconds)).filter(|_| seconds > 0.0)
        });
        known.collect()
    }

    /// The sum of several columns' means, as far as they are known; `None` if none is.
    pub fn sum(&self, metrics: &[&str]) -> Option<f64> {
        metrics.iter().filter_map(|metric| self.column(metric)).reduce(|a, b| a + b)
    }

    /// Whether one of these columns is of moments.
    pub fn is_momentary(&self, metrics: &[&str]) -> bool {
        metrics.iter().any(|metric| self.stretch.samples.column(metric).is_some_and(|column| column.momentary))
    }

    /// The standard error of the sum of these columns as the looks have it, where one of them is of moments.
    pub fn chance(&self, metrics: &[&str]) -> Option<f64> {
        if !self.is_momentary(metrics) {
            return None;
        }
        let seen: Vec<f64> = self.each().filter_map(|one| one.sum(metrics)).collect();
        Some(summary::standard_deviation(&seen)? / (seen.len() as f64).sqrt())
    }

    /// Work a second in the time that counts. `None` where that isn't known.
    pub fn rate(&self) -> Option<f64> {
        let mut sum = (0.0, 0.0);
        for at in &self.counted {
            let (start, end) = self.interval(*at);
            let (done, seconds) = self.done(start, end)?;
            sum = (sum.0 + done, sum.1 + seconds);
        }
        (sum.1 > 0.0).then(|| sum.0 / sum.1 / self.moving)
    }

    fn interval(&self, at: usize) -> (f64, f64) {
        let end = self.stretch.samples.seconds[at];
        let start = if at == 0 { self.stretch.samples.started_seconds } else { self.stretch.samples.seconds[at - 1] };
        (start, end)
    }

    fn length(&self, at: usize) -> f64 {
        let (start, end) = self.interval(at);
        end - start
    }

    /// Work done in an interval, and the time of it that lies within the stretch: each second's work is spread evenly over it.
    fn done(&self, start: f64, end: f64) -> Option<(f64, f64)> {
        let (from, to) = self.stretch.between;
        let (start, end) = (start.max(from).max(0.0), end.min(to));
        if self.stretch.seconds.is_empty() || end <= start {
            return None;
        }
        let mut done = 0.0;
        for second in start as usize..=end as usize {
            let part = (end.min(second as f64 + 1.0) - start.max(second as f64)).max(0.0);
            done += part * self.stretch.seconds.get(second).copied().unwrap_or(0.0);
        }
        Some((done, end - start))
    }

    /// Intervals in which everything stood still, and the others.
    fn split(&self) -> (Vec<usize>, Vec<usize>) {
        let rate = |at: usize| {
            let (start, end) = self.interval(at);
            self.done(start, end).map(|(done, seconds)| done / seconds)
        };
        let usual = median(self.counted.iter().filter_map(|at| rate(*at)));
        let io = |at: usize| {
            let known =
                IO.iter().filter_map(|metric| self.stretch.samples.column(metric)?.values.get(at).copied().flatten());
            known.reduce(|a, b| a + b)
        };
        let usual_io = median(self.counted.iter().filter_map(|at| io(*at)));
        let is_still = |at: &usize| {
            let slow = matches!((rate(*at), usual), (Some(rate), Some(usual)) if usual >= LEAST_USUAL && rate < STILL_RATE * usual);
            let idle = matches!((io(*at), usual_io), (Some(io), Some(usual)) if usual > 0.0 && io < STILL_IO * usual);
            slow && idle
        };
        self.counted.iter().partition(|at| is_still(at))
    }
}

/// The column with the operations of which another one has the times.
pub(super) fn operations(latency: &str) -> Option<String> {
    latency.strip_suffix("_latency").map(|name| format!("{name}s"))
}

/// What a device that stands still does not do.
const IO: [&str; 3] = ["data_reads", "data_writes", "log_writes"];
/// The same as the machine counts it, when it is done.
const DEVICE_IO: [&str; 3] = ["disk_reads", "disk_writes", "log_disk_writes"];
/// An interval in which nobody was answered for this part of it.
const MOSTLY: f64 = 0.8;

/// How long of this time nobody was answered.
fn silent_seconds(stalls: &[Stall], (from, to): (f64, f64)) -> f64 {
    let end = |stall: &Stall| stall.started_seconds + stall.seconds;
    stalls.iter().map(|stall| (end(stall).min(to) - stall.started_seconds.max(from)).max(0.0)).sum()
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// The value of a ceiling.
pub fn ceiling<'c>(ceilings: &'c [Ceiling], resource: &str) -> Option<&'c Ceiling> {
    ceilings.iter().find(|ceiling| ceiling.resource == resource && ceiling.value > 0.0)
}
