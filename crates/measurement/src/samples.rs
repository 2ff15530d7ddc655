//! Samples: what the engine and the machine said of themselves at even times during a repetition, as columns over one time axis.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limit::{LimitBasis, LimitScope, Provenance};

/// The name of a wait that the machine sees, as no engine says it: a process of the server waits until there is room in a pipe.
pub const PIPE_WAIT: &str = "Kernel/pipe write";

/// The samples of a step of a repetition. Each value belongs to the interval that ends at its time; the first begins at `started_seconds`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Samples {
    /// Name of the step within a test of several: `write`, `memory`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// When the first interval began, seconds after the repetition's start.
    pub started_seconds: f64,
    /// Ends of the intervals, seconds after the repetition's start.
    pub seconds: Vec<f64>,
    /// What was sampled, each as long as `seconds`.
    pub columns: Vec<SampleColumn>,
    /// What was seen at single moments, of which there are several in each interval.
    #[serde(default, skip_serializing_if = "Moments::is_empty")]
    pub moments: Moments,
    /// When something could not be read, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<SampleGap>,
}

/// What was seen at single moments. [`Samples::columns`] of the same names have the means of their intervals.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Moments {
    /// When, seconds after the repetition's start.
    pub seconds: Vec<f64>,
    /// What was seen, each as long as `seconds`.
    pub columns: Vec<SampleColumn>,
}

impl Moments {
    /// True if nobody looked.
    pub fn is_empty(&self) -> bool {
        self.seconds.is_empty()
    }
}

/// One thing that was sampled.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SampleColumn {
    /// What it is: `cpu`, `data_reads`, `log_write_latency`, `waiting_for_log_write`, ...
    pub metric: String,
    /// The source: `engine` or `host`.
    pub source: String,
    /// Which one of several, such as the name of a disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Unit of the values: `cores`, `1/s`, `MB/s`, `ms`, `sessions`, `%`.
    pub unit: String,
    /// True where a value is the mean of what was seen at a few moments of its interval, and not what passed in it. Then the
    /// mean of few is a matter of chance.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub momentary: bool,
    /// A value for each interval; null where it is not known.
    pub values: Vec<Option<f64>>,
}

/// A time in which a source said nothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SampleGap {
    /// From, seconds after the repetition's start.
    pub from_seconds: f64,
    /// To.
    pub to_seconds: f64,
    /// The source: `engine` or `host`.
    pub source: String,
    /// Why.
    pub reason: String,
}

/// Something that explains what is seen in figures: a level was asked for, a server was started again.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TimedMark {
    /// When, seconds after the repetition's start.
    pub seconds: f64,
    /// What happened.
    pub text: String,
}

impl Samples {
    /// True if nothing was sampled.
    pub fn is_empty(&self) -> bool {
        self.seconds.is_empty()
    }

    /// The column of that name.
    pub fn column(&self, metric: &str) -> Option<&SampleColumn> {
        self.columns.iter().find(|column| column.metric == metric)
    }

    /// Adds the samples that follow these. What only one of both has is not known in the other.
    pub fn append(&mut self, later: &Self) {
        append((&mut self.seconds, &mut self.columns), (&later.seconds, &later.columns));
        let Moments { seconds, columns } = &mut self.moments;
        append((seconds, columns), (&later.moments.seconds, &later.moments.columns));
        self.gaps.extend(later.gaps.iter().cloned());
    }

    /// The intervals: from and to, seconds after the repetition's start.
    pub fn intervals(&self) -> impl Iterator<Item = (f64, f64)> {
        let starts = std::iter::once(self.started_seconds).chain(self.seconds.iter().copied());
        starts.zip(self.seconds.iter().copied())
    }
}

/// Adds columns of a later time. What only one of both has is not known in the other.
fn append(
    (seconds, columns): (&mut Vec<f64>, &mut Vec<SampleColumn>),
    (later_seconds, later_columns): (&[f64], &[SampleColumn]),
) {
    let (before, all) = (seconds.len(), seconds.len() + later_seconds.len());
    seconds.extend(later_seconds);
    for column in later_columns {
        let is_same = |known: &&mut SampleColumn| {
            (&known.metric, &known.source, &known.of) == (&column.metric, &column.source, &column.of)
        };
        if let Some(known) = columns.iter_mut().find(is_same) {
            known.values.extend(&column.values);
        } else {
            let values = std::iter::repeat_n(None, before).chain(column.values.iter().copied()).collect();
            columns.push(SampleColumn { values, ..column.clone() });
        }
    }
    for column in columns {
        column.values.resize(all, None);
    }
}

/// A ceiling that a figure is held against, such as 500 I/Os a second.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// Of what: one of [`Ceiling::RESOURCES`].
    pub resource: String,
    /// How much.
    pub value: f64,
    /// Its unit, that of the resource.
    pub unit: String,
    /// The source: `catalogue, S2 of v12-ga-2015-01`, `sys.dm_user_db_resource_governance`, `cgroup cpu.max`, ...
    pub source: String,
    /// What it holds back; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<LimitScope>,
    /// How its value is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<LimitBasis>,
    /// The day for which its value stands, as `2015-01-31`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// An I/O of more bytes counts as several of it. Absent where each counts as one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_bytes: Option<u64>,
    /// How an I/O is cut over disks that share the ceiling; absent where it is on one disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stripe: Option<Stripe>,
}

/// Disks that are written in turn. Pieces of an I/O that are neighbours on a disk are one I/O of this disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stripe {
    /// On so many disks an I/O falls at most.
    pub columns: u64,
    /// Bytes on one disk before the next one's turn.
    pub unit_bytes: u64,
}

impl Ceiling {
    /// As how many of it an I/O of so many bytes counts, where it begins at a unit of the stripe: at least so many.
    pub fn ios(&self, bytes: u64) -> u64 {
        let disks =
            self.stripe.map_or(1, |stripe| bytes.div_ceil(stripe.unit_bytes.max(1)).clamp(1, stripe.columns.max(1)));
        let of_one = self.io_bytes.map_or(1, |most| bytes.div_ceil(disks).div_ceil(most.max(1)).max(1));
        disks * of_one
    }

    /// Resources that have ceilings, with their units. A ceiling of reads (or writes) alone has `data_read_` (`data_write_`).
    pub const RESOURCES: [(&str, &str); 25] = [
        ("cpu", "cores"),
        // What the server shares with all on its machine.
        ("machine_cpu", "cores"),
        ("data_iops", "1/s"),
        ("data_read_iops", "1/s"),
        ("data_write_iops", "1/s"),
        ("data_bandwidth", "MB/s"),
        ("data_read_bandwidth", "MB/s"),
        ("data_write_bandwidth", "MB/s"),
        ("log_iops", "1/s"),
        ("log_bandwidth", "MB/s"),
        // Of the device on which the data is, and perhaps the log: I/Os as the device counts them.
        ("disk_read_iops", "1/s"),
        ("disk_write_iops", "1/s"),
        ("disk_read_bandwidth", "MB/s"),
        ("disk_write_bandwidth", "MB/s"),
        // Of the log's own device.
        ("log_disk_read_iops", "1/s"),
        ("log_disk_write_iops", "1/s"),
        ("log_disk_read_bandwidth", "MB/s"),
        ("log_disk_write_bandwidth", "MB/s"),
        ("memory", "MB"),
        // What a control group lets the server's processes use, pages of files that the system keeps for them among it.
        ("server_memory", "MB"),
        // How large the data is: what memory is held against, and no ceiling itself.
        ("data", "MB"),
        ("workers", "workers"),
        ("sessions", "sessions"),
        ("network", "MB/s"),
        ("client_cpu", "cores"),
    ];

    /// A ceiling of a resource of [`Ceiling::RESOURCES`]; `None` for another, or one that is no positive number.
    pub fn new(resource: &str, value: f64, source: impl Into<String>) -> Option<Self> {
        let (resource, unit) = Self::RESOURCES.into_iter().find(|(name, _)| *name == resource)?;
        let (resource, unit) = (resource.to_owned(), unit.to_owned());
        let (scope, basis, date) = (None, None, None);
        (value.is_finite() && value > 0.0).then(|| Self {
            resource,
            value,
            unit,
            source: source.into(),
            scope,
            basis,
            date,
            io_bytes: None,
            stripe: None,
        })
    }

    /// The same with what is known of where its value comes from.
    #[must_use]
    pub fn known_from(self, from: Provenance) -> Self {
        Self { scope: from.scope, basis: Some(from.basis), date: from.date, ..self }
    }
}
