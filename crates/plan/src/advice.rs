//! The rules of the advice as data, and what they find: each with what it looks at and where it comes from.

use crate::gain::Brings;
use crate::hindrance::Hindrance;
use crate::storage::{Cores, Elsewhere, LimitOf, Step};

/// From this share of a limit on, in percent, a file stands at it: the mark of the publisher's own script.
pub const AT_LIMIT_PERCENT: f64 = 90.0;

/// From this share on it has other limits than these: no file does so much more than its limit lets it.
pub const ABOVE_PERCENT: f64 = 110.0;

/// A rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name for scripts.
    pub id: &'static str,
    /// When it has something to say.
    pub condition: &'static str,
    /// What it computes.
    pub formula: &'static str,
    /// Who says so.
    pub source: &'static str,
    /// When.
    pub date: &'static str,
}

const ARTICLE: &str = "article on storage performance of Managed Instance General Purpose";
const DATE: &str = "2018-12-18";

const fn own(id: &'static str, condition: &'static str, formula: &'static str) -> Rule {
    Rule { id, condition, formula, source: "Plimsoll", date: "2026-11-28" }
}

const fn rule(id: &'static str, condition: &'static str, formula: &'static str) -> Rule {
    Rule { id, condition, formula, source: ARTICLE, date: DATE }
}

/// All rules, in the order in which they are to be followed.
pub const RULES: [Rule; 18] = [
    own("cpu-first", "CPU is used to 90 % or more", "CPU of the instance: no file, however large, makes it do more"),
    own(
        "other-limits",
        "a file does 110 % or more of its IOPS or MB/s",
        "max(IOPS / limit, MB/s / limit) >= 1.1: it has other limits than these, so no size is given for it",
    ),
    rule(
        "log-governor",
        "the logs together grow by 90 % or more of what the instance lets them, and no log that has nearly all of it by 99 % of what one may",
        "sum of the MB/s of log files / log rate of the instance",
    ),
    rule(
        "log-governor-waits",
        "of what sessions wait for, the governor of the log's rate takes more than data files and log files, no less than all that is no storage",
        "INSTANCE_LOG_RATE_GOVERNOR / all waits",
    ),
    rule(
        "waits-for-data",
        "of what sessions wait for, pages of data files take the most, no less than all that is no storage, and a read or write there \
         takes longer than normal, or a data file stands at a limit where nobody took times",
        "PAGEIOLATCH / all waits; ms of a read or write > 10",
    ),
    own(
        "waits-for-memory",
        "of what sessions wait for, pages of data files take the most, no less than all that is no storage, and no read or write there takes \
         longer than normal and no data file stands at a limit, as far as that is known",
        "PAGEIOLATCH / all waits; ms of a read or write <= 10",
    ),
    rule(
        "waits-for-log",
        "of what sessions wait for, the log takes the most, no less than all that is no storage",
        "WRITELOG / all waits; ms of a write to the log",
    ),
    rule(
        "space-first",
        "the sizes that the other rules ask for are more than the instance's space, and it can have more",
        "files + what they are to grow by > space < the most that such an instance can have",
    ),
    own(
        "space-short",
        "the sizes that the other rules ask for are more than such an instance can have, or their blobs are",
        "files + what they are to grow by > the most that such an instance can have; first those that use most of their limits",
    ),
    rule(
        "log-before-data",
        "the log and a data file of a database are both to grow",
        "used / limit of the file's blob, of both",
    ),
    rule(
        "file-at-limit",
        "a file uses 90 to 110 % of its IOPS or MB/s, and a larger one may do more",
        "max(IOPS / limit, MB/s / limit)",
    ),
    rule(
        "more-files",
        "a data file stands at a limit, and no size is known to have enough, or there is no room for it, or it takes far more space",
        "n more files that take little space, of which each file gets rows by its size: 1.1 x its part <= 80 % of its limits; or files that are there grow to the size of these, besides or in place of them, if that takes less",
    ),
    rule(
        "another-tier",
        "a log file stands at a limit, or data files that eight would not carry, and no size is known to have enough",
        "a database has one log: Business Critical, or a machine with disks of its own, has other limits",
    ),
    own(
        "size-of-no-use",
        "a log does 99 % or more of the MB/s that one may grow by, the size of a file can't be set, new databases are copies of it, \
         or sessions wait mostly for other storage, and for such files less than 1 %",
        "MB/s of the log / min(log rate of the instance, of a database) from 0.99 to 1.1; waits for such files / all waits",
    ),
    rule(
        "slow-file",
        "reads or writes of a file take 100 ms or more (10 where sessions wait for it most), and its rates are unknown or below 90 % of its limits",
        "ms of a read or write >= 100: unthrottled it is 2 to 10",
    ),
    rule(
        "equal-files",
        "data files of a database (of a filegroup, where the list has them) differ in size by more than 1 %, or in how they grow",
        "largest size / smallest size",
    ),
    rule(
        "fewer-files",
        "fewer data files of the same size in all have as many IOPS together, and carry what all of them do",
        "m x IOPS of a file of (all / m) GB >= n x IOPS now, m < n",
    ),
    rule(
        "size-for-nothing",
        "space is short, and a data file is larger than its content and its limits ask for",
        "size - max(used + 10 %, the smallest size with the same limits)",
    ),
];

/// Something to change.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// By which rule.
    pub rule: &'static Rule,
    /// The files that it is about, by their places in the list.
    pub files: Vec<usize>,
    /// Whether another piece of advice already serves the same files: one of the two is enough.
    pub is_alternative: bool,
    /// What was found and what to do, as figures.
    pub finding: Finding,
}

/// What an instance has too little of.
#[derive(Debug, Clone, PartialEq)]
pub enum Lack {
    /// Space for files.
    Space,
    /// Space for files, unless others give some back first.
    Given {
        /// So many GB.
        gb: f64,
        /// The files that can, by their places in the list, those that can give most first.
        by: Vec<usize>,
    },
    /// Space for files, unless the instance gets more of it.
    Raised {
        /// By so many GB.
        gb: f64,
        /// Whether it is raised for what is advised already, and this comes on top.
        is_more: bool,
    },
    /// Room for their blobs.
    Blobs,
}

/// Larger files in place of more: no rows are moved for them.
#[derive(Debug, Clone, PartialEq)]
pub struct Larger {
    /// The files, by their places in the list, and their sizes then, in GB.
    pub sizes: Vec<(usize, f64)>,
    /// What there is too little of for them; `None` where they could be had.
    pub lack: Option<Lack>,
    /// What they bring, where it is known.
    pub brings: Option<Brings>,
}

/// What a rule found.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    /// The logs stand at the governor.
    LogRate {
        /// MB a second of all logs, each at its busiest.
        mb_per_s: f64,
        /// The same of the log that does most.
        largest_mb_per_s: f64,
        /// MB a second that they may grow by.
        limit_mb_per_s: f64,
        /// What more virtual cores bring.
        cores: Cores,
    },
    /// Files do more than their limits let them.
    Above {
        /// Percent of its limit that the first of them does.
        used_percent: f64,
        /// Of which.
        of: LimitOf,
    },
    /// More space is needed before files can grow.
    Space {
        /// GB that files take once they are as large as they should be.
        needed_gb: f64,
        /// GB that they have now.
        space_gb: f64,
        /// The most that such an instance can have.
        most_gb: f64,
        /// GB that other files can give back and keep their limits.
        back_gb: f64,
    },
    /// There is not so much space to be had, or their blobs are too large together. The files of this advice fit, those that use most first.
    Short {
        /// GB that files take once they are as large as they should be, and the most that such an instance can have.
        files_gb: [Option<f64>; 2],
        /// The same of their blobs.
        blobs_gb: [Option<f64>; 2],
        /// Files that are to grow.
        larger: usize,
        /// Files that are to be added.
        added: usize,
        /// GB that other files can give back and keep their limits.
        back_gb: f64,
        /// GB that files take of which nothing is wanted, and those that the largest database takes then.
        others_and_largest_gb: [f64; 2],
        /// Further files that fit once these are given back.
        after: Vec<usize>,
        /// Where all of them fit.
        elsewhere: Vec<Elsewhere>,
    },
    /// The log of the database goes first.
    LogFirst,
    /// A file is to grow.
    Grow {
        /// Percent of its limit that it uses, and of which, where that is known and the reason.
        used: Option<(f64, LimitOf)>,
        /// How long the slower of a read and a write takes, in ms, where that is the reason.
        slow_ms: Option<f64>,
        /// The size to grow to, in GB.
        size_gb: f64,
        /// What it has then.
        step: Step,
        /// Whether such an instance has room for it, after those that come first.
        fits: bool,
        /// What that brings, where it is known.
        brings: Option<Brings>,
        /// What a mere rebuild of the indexes brings, where it brings no less.
        rebuild: Option<Brings>,
    },
    /// Further files are to be added, and the rows spread over all.
    Add {
        /// Percent of its limit that the first uses.
        used_percent: f64,
        /// Of which.
        of: LimitOf,
        /// How many.
        added: usize,
        /// How many there are then.
        all: usize,
        /// Whether other files of the filegroup are known to be full, so that these are all that rows are spread over.
        others_full: bool,
        /// Files that give space back first, by their places in the list, and their sizes then, in GB.
        shrunk: Vec<(usize, f64)>,
        /// The size of each, in GB.
        size_gb: f64,
        /// What each has.
        step: Step,
        /// What they bring, where it is known.
        brings: Option<Brings>,
        /// Whether such an instance has room for them, after those that come first.
        fits: bool,
        /// Larger files that have enough as well, and take far more space; absent where no size has enough.
        larger: Option<Larger>,
    },
    /// A larger file would do no more.
    NoUse {
        /// Why.
        why: Hindrance,
    },
    /// No size helps.
    Elsewhere {
        /// Percent of its limit that it uses.
        used_percent: f64,
        /// Of which.
        of: LimitOf,
    },
    /// All are to be of one size.
    Equal {
        /// The smallest.
        smallest_gb: f64,
        /// The largest.
        largest_gb: f64,
        /// By how much all others would grow to be as large, in GB.
        more_gb: f64,
    },
    /// Fewer are to be made.
    Fewer {
        /// How many.
        files: usize,
        /// Of which size, in GB.
        size_gb: f64,
        /// IOPS of all together then.
        iops: f64,
        /// And now.
        iops_now: f64,
        /// MB a second of all together then.
        mb_per_s: f64,
        /// And now.
        mb_per_s_now: f64,
        /// Whether now means with those enlarged that are to grow.
        are_grown: bool,
    },
    /// CPU holds back, and no file; those at a limit come after it.
    Cpu {
        /// How much of it is used, in percent.
        percent: f64,
    },
    /// Sessions wait for something most of the time that they wait.
    Waits {
        /// Its share of all waits, in percent.
        percent: f64,
        /// How long the slower of a read and a write takes in the files, in ms, of the file that takes longest.
        slowest_ms: Option<f64>,
        /// Those of the files that are to grow.
        first: Vec<usize>,
        /// What more virtual cores bring the log.
        cores: Cores,
        /// MB a second by which all logs were seen to grow, each at its busiest, and by which they may.
        logs_mb_per_s: [Option<f64>; 2],
    },
    /// A file is slower than it would be below its limits, and no larger size is known to have more, or to bring more.
    Slow {
        /// How long the slower of a read and a write takes, in ms.
        ms: f64,
        /// Why a larger one would bring nothing.
        held: Option<Hindrance>,
    },
    /// A file can be smaller.
    Shrink {
        /// The size that has the same limits, in GB.
        size_gb: f64,
    },
}

/// What a rule of this name found.
pub(crate) fn of(id: &str, files: Vec<usize>, finding: Finding) -> Option<Advice> {
    let rule = RULES.iter().find(|rule| rule.id == id)?;
    Some(Advice { rule, files, is_alternative: false, finding })
}
