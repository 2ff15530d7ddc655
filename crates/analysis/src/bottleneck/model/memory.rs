//! What more memory would bring: a part of the reads is not made.

use plimsoll_measurement::Ceiling;

use super::super::judged::{LEAST_WAITING, Used};
use super::super::means::ceiling;
use super::super::rules::{DATA_WAITS, MORE, Station};
use super::Model;

impl Model<'_> {
    /// Whether more memory's gain is a guess: the share of pages that are found says little of those that more memory would find, as the upper
    /// pages of indexes are always found. It takes the sizes of both.
    pub(super) fn is_guess_of_memory(&self) -> bool {
        self.part_in_memory().is_none()
    }

    /// The part of the data that the memory holds, where the sizes of both are known and the data are larger. The system keeps pages as well, up
    /// to the limit of a full control group, unless the server reads past its cache.
    fn part_in_memory(&self) -> Option<f64> {
        let size = |resource| ceiling(self.ceilings, resource).map(|ceiling| ceiling.value);
        let reads_past_the_cache = self.means.column("device_read_rate").is_some();
        let of_group = self.full_group().filter(|_| !reads_past_the_cache).map_or(0.0, |(limit, _)| limit.value);
        let memory = size("memory")?.max(of_group);
        size("data").filter(|data| memory < *data).map(|data| memory / data)
    }

    /// The limit of the control group's memory with what is used of it, where that is full and sessions wait for reads.
    pub(in super::super) fn full_group(&self) -> Option<(&Ceiling, f64)> {
        let limit = ceiling(self.ceilings, "server_memory")?;
        let (used, reading) = (self.means.column("server_memory")?, self.means.column(DATA_WAITS[0])?);
        (used >= FULL * limit.value && reading >= LEAST_WAITING).then_some((limit, used))
    }

    /// More memory: a part of the reads is not made.
    pub(super) fn with_memory(&self, used: Option<&Used>, waiting: Option<f64>) -> Option<f64> {
        let (misses, lookups) = (self.means.column("cache_misses")?, self.means.column("cache_lookups")?);
        if used.is_some_and(|used| used.part < FULL) || misses <= 0.0 || lookups <= misses {
            return None;
        }
        // Of data of a known size that part is in memory, at least; else by what was found of what was looked for. The size is that of
        // the beginning: who finds too little in memory that should hold all of it has made more since.
        let found = || 1.0 - misses / (lookups - ABOVE * self.rate * self.means.moving).max(misses);
        let hits = self.part_in_memory().unwrap_or_else(found);
        // Of equally likely pages so many more are there with more memory.
        let saved = ((MORE - 1.0) * hits / (1.0 - hits).max(0.01)).min(1.0);
        let mut demands = self.network.demands.clone();
        let column = |metric| self.means.column(metric).unwrap_or(0.0);
        let (reads, writes) = (column("data_reads"), column("data_writes"));
        let of_reads = if writes > 0.0 { reads / (reads + writes) } else { 1.0 };
        demands[Station::Data as usize] *= 1.0 - saved * of_reads;
        // What a read takes beside the device's limits: its latency.
        let limited = self.network.time_at(Station::Data as usize);
        let each = waiting.map_or(0.0, |waiting| (waiting / self.rate - limited).max(0.0));
        let each = each.min(self.network.elsewhere);
        Some(self.network.gain_percent(demands, self.network.elsewhere - saved * each))
    }
}

/// Memory that is used from this part on is full: of a group's the kernel takes pages back before it ends.
const FULL: f64 = 0.95;
/// Pages that a request looks up on the way to those that may be missing: what is above them in their tree is always there.
const ABOVE: f64 = 2.0;
