//! The limits that a verdict may name, as data: how their use is seen, which sessions wait for them, and what is changed to see what
//! they cost.
//!
//! A limit binds if a fifth more of it raises the rate. This answers the question what to buy. So a rule says what that
//! fifth changes in the [network](super::network) that was fitted to what was measured. Utilisation and waits are read
//! together, as in Gregg, Thinking methodically about performance, Communications of the ACM 56 (2013) 45-51. The
//! classes of waits are those of the engines' own documentation (docs/ENGINES.md).

use plimsoll_measurement::PIPE_WAIT;

/// Stations at which requests queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Station {
    /// The server's quota of CPU.
    Cpu,
    /// The device of the data.
    Data,
    /// The device of the log, or what lets log through.
    Log,
    /// The client's own CPUs.
    Client,
    /// The network.
    Network,
}

impl Station {
    /// All of them, in the order of a network's demands.
    pub const ALL: [Self; 5] = [Self::Cpu, Self::Data, Self::Log, Self::Client, Self::Network];
}

/// How the use of a limit is seen: the sum of some columns less others, for a ceiling.
#[derive(Debug, Clone, Copy)]
pub struct Use {
    /// Columns; their sum is compared with the ceiling.
    pub columns: &'static [&'static str],
    /// Columns that are taken off.
    pub less: &'static [&'static str],
    /// The ceiling; empty where the columns are percentages themselves.
    pub ceiling: &'static str,
    /// When it counts.
    pub counts: Counts,
    /// A column that is there only if all this is about something else; mostly none.
    pub unless: &'static str,
}

/// When the use of a ceiling counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// Whenever it is known.
    Always,
    /// Others than the rule's limit go to the same device: where most sessions that wait do so for this limit.
    WhereMostWait,
    /// An engine's own percentages are of intervals that ended earlier: where nothing better is known.
    WithoutBetter,
}

/// What is changed to see what a limit costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    /// A fifth more of what a station can do.
    More(Station),
    /// Waits a fifth shorter, where nobody knows what the station can do.
    Faster(Station),
    /// A fifth less of what a request costs at the station, wherever that passes.
    Cheaper(Station),
    /// A fifth more memory: fewer reads of data.
    Memory,
    /// Nobody waits there any more, but for this part.
    Without(f64),
    /// Nothing stands still.
    Unfrozen,
}

/// A limit that a verdict may name.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Its name as scripts see it.
    pub limit: &'static str,
    /// What it is, in a sentence's subject.
    pub words: &'static str,
    /// What is changed, in words.
    pub lift: &'static str,
    /// How its use is seen; the highest of them counts.
    pub uses: &'static [Use],
    /// Columns of sessions that wait for it.
    pub waits: &'static [&'static str],
    /// Columns of how long one operation takes, and what it is in words: all that the engine says, else the first that its device says.
    pub latency: &'static [(&'static str, &'static str)],
    /// What is changed.
    pub change: Change,
    /// True for a rule that counts only where no other one knows how far its station was used.
    pub last_resort: bool,
}

impl Rule {
    /// The station that it is about.
    pub const fn station(&self) -> Option<Station> {
        match self.change {
            Change::More(station) | Change::Faster(station) | Change::Cheaper(station) => Some(station),
            Change::Memory | Change::Without(_) | Change::Unfrozen => None,
        }
    }
}

const fn part(columns: &'static [&'static str], ceiling: &'static str) -> Use {
    Use { columns, less: &[], ceiling, counts: Counts::Always, unless: "" }
}

/// The same at a device that the log may lie on as well as the data, or of what goes on beside the sessions.
const fn disk(columns: &'static [&'static str], ceiling: &'static str) -> Use {
    Use { counts: Counts::WhereMostWait, ..part(columns, ceiling) }
}

/// The same of a log that has no device of its own.
const fn disk_of_log(columns: &'static [&'static str], ceiling: &'static str) -> Use {
    Use { unless: "log_disk_writes", ..disk(columns, ceiling) }
}

/// What an engine sends to its devices, which includes the log.
const fn without_log(columns: &'static [&'static str], ceiling: &'static str) -> Use {
    Use { less: &["log_write_rate"], ..part(columns, ceiling) }
}

/// What the engine says as a percentage.
const fn percent(columns: &'static [&'static str]) -> Use {
    Use { counts: Counts::WithoutBetter, ..part(columns, "") }
}

/// The limit of CPUs.
pub const CPU: &str = "cpu";

/// The limit of locks that other sessions hold.
pub const LOCK_LIMIT: &str = "locks";

/// The limit of threads that a server lets work.
pub const WORKERS: &str = "workers";

/// The limit of what is between client and server.
pub const BETWEEN: &str = "network";

/// The ceiling of CPUs that the server shares with everybody on its machine.
pub const MACHINE_CPU: &str = "machine_cpu";

/// A rule of which nothing is seen: neither use nor waits.
const fn rule(limit: &'static str, words: &'static str, lift: &'static str, change: Change) -> Rule {
    Rule { limit, words, lift, uses: &[], waits: &[], latency: &[], change, last_resort: false }
}

const READS: [(&str, &str); 2] = [("data_read_latency", "a read of data"), ("disk_read_latency", "a read of the disk")];
const LOG_WRITES: [(&str, &str); 5] = [
    ("log_sync_latency", "a sync of the log"),
    ("binary_log_sync_latency", "a sync of the binary log"),
    ("log_write_latency", "a write of the log"),
    ("log_disk_write_latency", "a write of the log's disk"),
    ("disk_write_latency", "a write of the disk"),
];

/// Sessions that wait for locks of tables or by name, where an engine's sum of waits for locks is of rows alone.
pub const TABLE_LOCKS: &str = "waiting_for_table_lock";

/// Sessions that write data themselves, or spill it and read it back.
pub const WRITES: &str = "waiting_for_data_write";

/// Sessions that wait for the device of the data.
pub const DATA_WAITS: [&str; 2] = ["waiting_for_data_read", WRITES];

/// Sessions that wait for the log.
pub const LOG_WAITS: [&str; 2] = ["waiting_for_log_write", "waiting_for_log_governor"];

/// All limits. The order is that in which they are told where they cost the same.
pub const RULES: [Rule; 13] = [
    Rule {
        uses: &[
            part(&["cpu"], "cpu"),
            part(&["server_cpu"], "cpu"),
            part(&["server_cpu", "client_cpu", "other_cpu", "kernel_cpu", "stolen_cpu"], MACHINE_CPU),
            percent(&["cpu_percent"]),
        ],
        waits: &["on_cpu"],
        ..rule(CPU, "CPU", "20 % more CPU cores", Change::More(Station::Cpu))
    },
    Rule {
        uses: &[
            part(&["data_reads", "data_writes"], "data_iops"),
            part(&["data_reads"], "data_read_iops"),
            disk(&["data_writes"], "data_write_iops"),
            disk(&["disk_reads"], "disk_read_iops"),
            disk(&["disk_writes"], "disk_write_iops"),
        ],
        waits: &DATA_WAITS,
        latency: &READS,
        ..rule("data_iops", "data I/Os a second", "20 % more data I/Os a second", Change::More(Station::Data))
    },
    Rule {
        uses: &[
            without_log(&["device_read_rate", "device_write_rate"], "data_bandwidth"),
            part(&["device_read_rate"], "data_read_bandwidth"),
            Use { counts: Counts::WhereMostWait, ..without_log(&["device_write_rate"], "data_write_bandwidth") },
            disk(&["disk_read_rate"], "disk_read_bandwidth"),
            disk(&["disk_write_rate"], "disk_write_bandwidth"),
        ],
        waits: &DATA_WAITS,
        latency: &READS,
        ..rule("data_bandwidth", "data bandwidth", "20 % more data bandwidth", Change::More(Station::Data))
    },
    Rule {
        uses: &[
            part(&["log_write_rate"], "log_bandwidth"),
            part(&["log_writes"], "log_iops"),
            part(&["log_disk_writes"], "log_disk_write_iops"),
            part(&["log_disk_write_rate"], "log_disk_write_bandwidth"),
            disk_of_log(&["disk_writes"], "disk_write_iops"),
            disk_of_log(&["disk_write_rate"], "disk_write_bandwidth"),
            percent(&["log_write_percent"]),
        ],
        waits: &LOG_WAITS,
        latency: &LOG_WRITES,
        ..rule("log_write", "log writes", "20 % more log writes", Change::More(Station::Log))
    },
    Rule {
        uses: &[percent(&["data_io_percent"])],
        waits: &DATA_WAITS,
        latency: &READS,
        last_resort: true,
        ..rule("data_io", "data I/O", "20 % more data I/O", Change::More(Station::Data))
    },
    Rule {
        waits: &DATA_WAITS,
        latency: &READS,
        last_resort: true,
        ..rule("data_io", "data I/O", "data I/O that is 20 % faster", Change::Faster(Station::Data))
    },
    Rule {
        waits: &LOG_WAITS,
        latency: &LOG_WRITES,
        last_resort: true,
        ..rule("log_write", "writes of the log", "writes of the log that are 20 % faster", Change::Faster(Station::Log))
    },
    Rule {
        uses: &[percent(&["memory_percent"])],
        waits: &["waiting_for_data_read"],
        ..rule("memory", "memory", "20 % more memory", Change::Memory)
    },
    rule("device", "a device that stands still at times", "a device that never stands still", Change::Unfrozen),
    Rule {
        waits: &["waiting_for_lock", TABLE_LOCKS],
        ..rule(
            LOCK_LIMIT,
            "locks of other sessions",
            "the same locks spread over 100 times as many rows",
            Change::Without(HARDLY),
        )
    },
    Rule {
        waits: &["waiting_for_worker"],
        ..rule(WORKERS, "the server's limit of threads", "a thread for every session", Change::Without(0.0))
    },
    rule(
        BETWEEN,
        "the way between client and server",
        "a network, a proxy, or a pool of connections that takes 20 % less of the time",
        Change::Without(0.8),
    ),
    Rule {
        uses: &[part(&["client_cpu"], "client_cpu")],
        waits: &["waiting_for_client"],
        ..rule("client", "the client", "a client that needs 20 % less for a request", Change::Cheaper(Station::Client))
    },
];

/// The network has no limit of its own among the rules until a level's is known.
pub const NETWORK: &[Use] = &[part(&["network_sent"], "network"), part(&["network_received"], "network")];

/// Columns of sessions that wait for a device.
pub const DEVICES: [&str; 4] = ["waiting_for_data_read", WRITES, "waiting_for_log_write", "waiting_for_log_governor"];

/// What sessions wait for, and where they queue for it: as far as that is known it is seen.
pub const WAITS: [(&[&str], Option<Station>); 7] = [
    (&DATA_WAITS, Some(Station::Data)),
    (&LOG_WAITS, Some(Station::Log)),
    (&["waiting_for_lock", TABLE_LOCKS], None),
    (&["waiting_for_turn"], None),
    (&["waiting_for_worker"], None),
    (&["sleeping"], None),
    (&[], Some(Station::Network)),
];

/// A kind of locks.
#[derive(Debug, Clone, Copy)]
pub struct Locks {
    /// How the engines' names of waits for them begin.
    pub waits: &'static [&'static str],
    /// What they are, in words.
    pub words: &'static str,
    /// What is changed so that hardly anybody waits for them, in words.
    pub lift: &'static str,
    /// The part of the waits for them that is left then.
    pub rest: f64,
}

/// Hardly anybody waits for a lock any more that is spread over 100 times as many things, or that nobody takes.
pub(super) const HARDLY: f64 = 0.01;

/// Locks of which not every engine says who has them.
pub(super) const TABLES: &str = "locks of whole tables";

/// Kinds of locks by PostgreSQL's waits and by the states of MySQL and MariaDB. Row locks have no state there: the sampler names them.
pub const LOCKS: [Locks; 6] = [
    Locks {
        waits: &["Lock/tuple", "Lock/transactionid", "Lock/spectoken", "InnoDB row lock"],
        words: "locks of rows",
        lift: "the same locks spread over 100 times as many rows",
        rest: HARDLY,
    },
    Locks {
        waits: &["Lock/relation", "Waiting for table", "Table lock"],
        words: TABLES,
        lift: "statements that lock no whole table",
        rest: HARDLY,
    },
    Locks {
        waits: &["Lock/extend"],
        words: "the lock under which one session at a time makes a table's file longer",
        lift: "new pages that are made in 20 % less time",
        rest: 0.8,
    },
    Locks {
        waits: &["Lock/object", "Waiting for schema"],
        words: "locks of what is no table (a schema, a type, or the database, which NOTIFY locks at each commit)",
        lift: "statements that lock no such object",
        rest: HARDLY,
    },
    Locks {
        waits: &["Waiting for global", "Waiting for backup"],
        words: "the lock of the whole server",
        lift: "nobody who locks the whole server, as backups and FLUSH TABLES WITH READ LOCK do",
        rest: HARDLY,
    },
    Locks {
        waits: &["Lock/advisory", "Lock/userlock", "User lock"],
        words: "locks that statements ask for by name",
        lift: "statements that ask for no such locks",
        rest: HARDLY,
    },
];

/// What is meant by names of waits that are no names of the field.
pub const MEANINGS: [(&str, &str); 2] = [
    ("IPC/SyncRep", "the synchronous standby, at each commit"),
    (PIPE_WAIT, "room in a pipe, such as that of the server's log"),
];

/// What is changed where the server does not say who locks tables.
pub(super) const NOBODY_LOCKS_TABLES: &str = "no locks of whole tables, whoever takes them";

/// What is changed where the locks are held by others.
pub(super) const OTHERS_LET_GO: &str = "other sessions that do not hold the locks";

/// How much more of a limit is tried.
pub const MORE: f64 = 1.2;
/// What a session that fills its core would have to have more of.
pub(super) const FASTER_CORES: &str = "cores that are 20 % faster";

/// A gain from which a limit is named, in percent. Binding means 5 % and not binding less than 2 %; this lies in the
/// middle between the two (of logarithms).
pub const NAMED_PERCENT: f64 = 3.3;

/// A gain of what would bring most that is too close to call, in percent.
pub const DOUBT_PERCENT: (f64, f64) = (2.5, 4.0);
/// The same of anything else.
pub const SECOND_DOUBT_PERCENT: (f64, f64) = (2.9, 3.8);

/// Waits for something that others do meanwhile, of which nobody knows what they wait for themselves. Where they take this part of the
/// sessions' time or more there is not enough evidence.
pub const UNSEEN: [(&str, &str, f64); 1] = [(
    "waiting_for_turn",
    "for the writer lock, which one session holds at a time; what that session waits for is unknown",
    0.2,
)];
