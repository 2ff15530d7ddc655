//! What a plan of files is made from, as it is shown.

use plimsoll_plan::against::{Against, Pool};
use plimsoll_plan::rules::Observed;
use plimsoll_plan::{Activity, Advice, DatabaseFile, Limits, Settled, Storage};

use super::layouts::Found;

/// A plan of files, as it is shown.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// The files.
    pub files: &'a [DatabaseFile],
    /// Where they are to be.
    pub storage: &'a Storage<'a>,
    /// What each of them has there.
    pub limits: &'a Limits,
    /// What to change.
    pub advised: &'a [Advice],
    /// Layouts that were searched.
    pub layouts: Option<&'a Found>,
    /// Layouts that were searched unasked, where no size of a file has enough.
    pub searched: Option<&'a Found>,
    /// What each file did, in the same order; empty where that was not sampled.
    pub activity: &'a [Activity],
    /// What sessions waited for, and CPU.
    pub observed: &'a Observed,
    /// The same load on disks that all files share.
    pub against: Option<(&'a Pool, Against)>,
    /// Files that were seen somewhat above their limits, and are taken for standing at them.
    pub settled: &'a [Settled],
    /// The day whose limits are taken because files stopped at them.
    pub by_list: Option<&'a str>,
    /// The latest day of which the limits are that the list has, where those are others.
    pub said_on: Option<&'a str>,
    /// What is to be known of where it comes from.
    pub remarks: &'a [String],
}
