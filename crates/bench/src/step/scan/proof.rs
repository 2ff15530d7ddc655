//! What proves that a scan began with a cold cache.

use plimsoll_measurement::ColdStart;

use crate::step::context::Keep;

/// What was read in all, to prove that the start was cold.
#[derive(Default)]
pub(super) struct Sums {
    /// Bytes of the pages that were to be read; `None` where that is not known of one of the tables.
    pub pages: Option<u64>,
    /// Bytes that the engine did not have in its cache.
    pub missed: Option<u64>,
    /// Bytes that came from the device.
    pub device: Option<u64>,
    tables: u32,
}

impl Sums {
    pub fn add(&mut self, pages: Option<u64>, missed: Option<u64>, device: Option<u64>) {
        let join = |sum: Option<u64>, more: Option<u64>, first: bool| match (sum, more) {
            (None, more) if first => more,
            (Some(sum), Some(more)) => Some(sum + more),
            _ => None,
        };
        self.missed = join(self.missed, missed, self.tables == 0);
        self.device = join(self.device, device, self.tables == 0);
        self.pages = join(self.pages, pages, self.tables == 0);
        self.tables += 1;
    }

    pub fn proof(&self, methods: Vec<String>, settle_seconds: f64) -> ColdStart {
        let pages = self.pages.filter(|pages| *pages > 0);
        let percent = |bytes: Option<u64>| bytes.zip(pages).map(|(bytes, pages)| 100.0 * bytes as f64 / pages as f64);
        let (engine, device) = (percent(self.missed), percent(self.device));
        let verified = engine.is_some_and(|percent| percent >= 98.0) && device.is_some_and(|percent| percent >= 98.0);
        ColdStart {
            methods,
            engine_miss_percent: engine,
            device_read_percent: device,
            verified,
            settle_seconds,
            ..ColdStart::default()
        }
    }
}

/// Says what makes a start less than cold.
pub(super) fn judge(keep: &mut Keep<'_>, proof: &ColdStart) {
    if proof.engine_miss_percent.is_some_and(|percent| percent < 98.0) {
        keep.warn("not cold: part of the data was in the engine's own cache, so the rate is not the storage's alone");
    }
    match proof.device_read_percent {
        Some(percent) if percent < 98.0 => {
            keep.warn("the operating system's cache served part of the reads, so the rate is not the device's alone");
        }
        None => {
            keep.warn("the device's reads can't be seen from here: the operating system's cache may have served some");
        }
        Some(_) => {}
    }
}
