//! Figures of a knee: the rate and the response times where as good as all of a disk's rate is there. They compare at one place alone.

use plimsoll_bench::figures::series_of;
use plimsoll_measurement::RunRecord;
use plimsoll_measurement::cell::{KNEE_RATE, KNEE_TIMES};

/// Where the knee of a run is, if the figure is one of it; `None` of any other figure. The response times there say where.
pub fn place(run: &RunRecord, metric: &str) -> Option<String> {
    (metric == KNEE_RATE || metric.starts_with(KNEE_TIMES)).then(|| {
        let time = series_of(run).into_iter().find(|series| series.metric.starts_with(KNEE_TIMES));
        time.and_then(|series| series.note).unwrap_or_else(|| "at an unknown place".to_owned())
    })
}

/// Why figures of two knees are not judged: with more under way a disk makes more, and each operation waits longer.
pub fn doubt(base: &RunRecord, other: &RunRecord, metric: &str) -> Option<String> {
    let (a, b) = (place(base, metric)?, place(other, metric)?);
    (a != b).then(|| format!("the knee is {a} in the first run and {b} in the other: compare the cells"))
}
