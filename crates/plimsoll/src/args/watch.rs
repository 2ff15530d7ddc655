//! The arguments of `plimsoll watch`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::Access;
use crate::commands::watch::metrics::Unit;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "\
Examples:
  plimsoll watch postgres://me@db.example/sales                      a line a minute, until Ctrl-C
  plimsoll watch postgres://me@db.example/sales --live               what costs most now, on the whole terminal; ? shows the keys
  plimsoll watch postgres://me@db.example/sales --every 5s --for 2m  the same in lines
  plimsoll watch postgres://me@db.example/sales --html load.html     the same as a page with a chart, at the end
  plimsoll watch postgres://me@db.example/sales --json               one object per slot
  plimsoll watch URL --save-to sqlite:a.db --table t --allow-writes  each slot also into a table of your own
  plimsoll watch job URL --table snapshots                           the SQL of a job at the server, where nobody may poll
  plimsoll watch URL --snapshots snapshots                           what that job has counted since the last time
  plimsoll watch show --from -30m --by database                      what was watched in the last half hour, by database
  plimsoll watch show --by object                                    the same by procedure and function (SQL Server)
  plimsoll watch show --by file                                      what files were read and written, and how long that took
  plimsoll watch compare 14:00..14:30 15:00..15:30                   what changed, and whether it is called more or got slower
  plimsoll watch show --file slots.csv                               what 'watch export' wrote; --saved URL --table NAME for tables

It reads what pg_stat_statements, the Performance Schema or SQL Server's plan cache has counted, and changes nothing at the server that it watches, unless --save-to names it. Slots are kept in the result store, with the texts of
statements and without their values. docs/WATCH.md says what each figure means, and what the profiler can't see.

Exit codes: 0 done, 1 a condition of --fail-if was true, 2 usage, 3 the extension or the table of a job is missing, 4 cannot connect, 5 a right is missing,
6 --save-to or --snapshots is refused, 7 the server was lost at the end or slots are not saved, 130 interrupted by Ctrl-C, with the summary (q ends the live view with 0).")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub struct Watch {
    /// What to do with what was watched.
    #[command(subcommand)]
    pub action: Option<WatchAction>,
    /// The database. Statements of all databases of its server are counted.
    #[arg(value_name = "URL", required = true)]
    pub target: Option<String>,
    /// How long a slot is, at least 1s. Slots begin at whole multiples of it, by the server's clock [default: 60s, and
    /// 10s with --live].
    #[arg(long, value_name = "TIME")]
    pub every: Option<String>,
    /// How long to watch [default: until Ctrl-C, and with --snapshots until all that are there are read].
    #[arg(long = "for", value_name = "TIME")]
    pub time: Option<String>,
    /// How many statements are listed; the others are added up.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub top: u16,
    #[command(flatten)]
    pub access: Access,
    /// List and keep only statements with database=NAME, text=PART, query=ID, or METRIC>=N in a slot; the others are added up. May be
    /// given several times: a statement has to be all of it.
    #[arg(long, value_name = "K=V")]
    pub only: Vec<String>,
    /// Do not look at the sessions once a second. Nothing is known then of waits, nor of statements that have not ended.
    #[arg(long)]
    pub no_samples: bool,
    /// Read the snapshots that a job at the server has put into this table ('plimsoll watch job'), on PostgreSQL also SCHEMA.NAME, in place
    /// of polling: those that are new since the last one in the store. The user needs SELECT on its tables.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["every", "live", "no_samples"])]
    pub snapshots: Option<String>,
    /// Go on as the job makes more, until Ctrl-C or as long as --for says.
    #[arg(long, requires = "snapshots")]
    pub follow: bool,
    /// Keep nothing in the result store.
    #[arg(long)]
    pub no_store: bool,
    /// Show on the whole terminal what costs most, what limit is nearest and how that changes, until q or Ctrl-C; then print
    /// the summary.
    #[arg(long, conflicts_with = "json")]
    pub live: bool,
    /// Print one JSON object per slot to standard output, and no summary.
    #[arg(long)]
    pub json: bool,
    /// Warn of each slot of which this is true, mark it, and end with exit code 1: 'share(query) > 40 %' or
    /// 'mean(query) > 20ms' (the statement with most), 'active > 8' (sessions on average), 'known < 50 %'. May be
    /// given several times.
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<String>,
    /// At the end, also after Ctrl-C, write a page of what was watched, with a chart.
    #[arg(long, value_name = "FILE", conflicts_with = "no_store")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub save: WatchSave,
}

/// Where slots are saved beside the result store.
#[derive(Debug, Args)]
pub struct WatchSave {
    /// Add a row for each statement of each slot to a table of your own database, which may be the one that is watched. Needs --table and
    /// --allow-writes.
    #[arg(long, value_name = "URL", requires = "table")]
    pub save_to: Option<String>,
    /// The table that --save-to adds to, on PostgreSQL also SCHEMA.NAME. It and NAME_texts are made if they are missing; others of these
    /// names are left as they are.
    #[arg(long, value_name = "NAME", requires = "save_to")]
    pub table: Option<String>,
    /// Allow --save-to to make its tables and to add rows.
    #[arg(long, requires = "save_to")]
    pub allow_writes: bool,
    /// File with the password for --save-to in its first line. Also: the engine's own password file, or a prompt.
    #[arg(long, value_name = "FILE", requires = "save_to")]
    pub save_password_file: Option<PathBuf>,
}

/// Where what was watched is read from, if that is not the result store.
#[derive(Debug, Default, Args)]
pub struct WatchSource {
    /// Read what 'plimsoll watch export' wrote, as CSV or as JSON Lines, in place of the result store.
    #[arg(long, value_name = "FILE", conflicts_with = "saved")]
    pub file: Option<PathBuf>,
    /// Read what 'plimsoll watch --save-to URL --table NAME' saved. The right to read both tables is enough.
    #[arg(long, value_name = "URL", requires = "table")]
    pub saved: Option<String>,
    /// The table that --saved reads, on PostgreSQL also SCHEMA.NAME.
    #[arg(long, value_name = "NAME", requires = "saved")]
    pub table: Option<String>,
    /// Read only this watching of them, by the begin of its number; 'plimsoll watch list' lists them. May be given several times
    /// [default: all of the server].
    #[arg(long, value_name = "ID")]
    pub session: Vec<String>,
    /// File with the password for --saved in its first line. Also: PLIMSOLL_PASSWORD, the engine's own password file, or a prompt.
    #[arg(long, value_name = "FILE", requires = "saved")]
    pub password_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum WatchAction {
    /// Say what a server has counted so far, and whether a watch can rely on it.
    Check(WatchCheck),
    /// Print the SQL of a job that makes snapshots at the server, for servers where nobody may poll.
    Job(WatchJob),
    /// List the servers that were watched.
    List {
        #[command(flatten)]
        source: WatchSource,
        /// Print one JSON object per server.
        #[arg(long)]
        json: bool,
    },
    /// Give the present moment a name, such as that of a release.
    Mark(WatchMark),
    /// Show what was watched: what cost most in a range of time.
    Show(WatchShow),
    /// Compare two ranges of time: what is new, gone, called more, or slower.
    Compare(WatchCompare),
    /// Export what was watched: a row for each statement and slot.
    Export(WatchExport),
}

#[derive(Debug, Args)]
pub struct WatchCheck {
    /// The database. Statements of all databases of its server are counted.
    #[arg(value_name = "URL")]
    pub target: String,
    #[command(flatten)]
    pub access: Access,
    /// How many statements are listed, those with most time first.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub top: u16,
    /// From this part of the places on the server is nearly full, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 90, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub nearly_full: u8,
    /// From this part on, statements or plans that ran once are warned of, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 50, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub many_once: u8,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Whoever looks after the server runs what is printed; Plimsoll makes nothing:
  plimsoll watch job postgres://me@db.example/sales --table snapshots > job.sql
  plimsoll watch postgres://me@db.example/sales --snapshots snapshots
On PostgreSQL it is a function, and the line by which pg_cron calls it; on MySQL and MariaDB an event.")]
pub struct WatchJob {
    /// The database that the tables are to be in. Statements of all databases of its server are counted.
    #[arg(value_name = "URL")]
    pub target: String,
    #[command(flatten)]
    pub access: Access,
    /// What the table of snapshots is called, on PostgreSQL also SCHEMA.NAME. NAME_rows and NAME_texts stand beside it.
    #[arg(long, value_name = "NAME")]
    pub table: String,
    /// From one snapshot to the next: less than 60s, or minutes of which an hour has a whole number.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub every: String,
    /// How long snapshots are kept at the server. The job removes older ones.
    #[arg(long, value_name = "TIME", default_value = "24h")]
    pub keep: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The mark stands among what happened, and is a time for the other commands:
  plimsoll watch mark 'release 12'
  plimsoll watch compare '..release 12' 'release 12..'     what changed since then")]
pub struct WatchMark {
    /// The name of the moment.
    #[arg(value_name = "TEXT")]
    pub text: String,
    /// The server, as it was watched [default: the one that was watched last].
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
}

/// What rows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum By {
    /// A statement of a database.
    #[default]
    Query,
    /// A plan of a statement (SQL Server).
    Plan,
    /// A procedure or function; ad hoc statements are one row (SQL Server).
    Object,
    /// A database.
    Database,
    /// A text, in whatever databases it ran.
    Text,
    /// The whole server.
    Instance,
    /// What was waited for, as the server counted it (MySQL, MariaDB, SQL Server).
    Wait,
    /// A file, or who uses files where the server counts by that: operations, bytes, and mean times.
    File,
    /// What else the server counts of its work, such as checkpoints (PostgreSQL).
    Counter,
}

/// Which chart stands open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Chart {
    /// The metric over time: the statements with most of it, and all others, on top of each other.
    #[default]
    Stacked,
    /// The metric of the range, a bar for each row.
    Bars,
    /// Executions against their mean time, both axes logarithmic. A terminal shows none.
    Scatter,
}

#[derive(Debug, Default, Args)]
#[command(after_help = "\
A time is 14:00, 2026-03-01T14:00 or 2026-03-01, in UTC; -30m is half an hour before the end of what is kept; or the text of
a mark ('plimsoll watch mark').")]
pub struct WatchShow {
    /// The server, as it was watched [default: the one that was watched last].
    #[arg(value_name = "URL")]
    pub target: Option<String>,
    #[command(flatten)]
    pub source: WatchSource,
    /// Begin of the range [default: one hour before its end].
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub from: Option<String>,
    /// End of the range [default: the end of what is kept].
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub to: Option<String>,
    /// What rows are.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = By::Query)]
    pub by: By,
    /// In which unit figures are shown.
    #[arg(long, value_enum, value_name = "UNIT", default_value_t = Unit::Total)]
    pub unit: Unit,
    /// The metric that rows are sorted by, such as executions, rows, reads [default: elapsed_us, or sampled_us
    /// where that explains little].
    #[arg(long, value_name = "METRIC")]
    pub sort: Option<String>,
    /// How many rows are listed; the others are added up.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub top: u16,
    /// Which chart stands open; the others are folded on a page.
    #[arg(long, value_enum, value_name = "CHART", default_value_t = Chart::Stacked)]
    pub chart: Chart,
    /// Only statements with database=NAME, text=PART, query=ID, or METRIC>=N; waits and files by text=PART of their name.
    #[arg(long = "where", value_name = "K=V")]
    pub filters: Vec<String>,
    /// Write an HTML page with a chart as well; - for standard output.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Which statements count as the same in two ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompareBy {
    /// Those of the same text: tables that were made anew, or in another database, change nothing.
    Text,
    /// Those that the server counts as one.
    Query,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A range is FROM..TO. Either may be missing: -30m.. is the last half hour of what is kept. Times are as in 'plimsoll watch show'.
Figures are those of a second that is known, as ranges may be of different length.")]
pub struct WatchCompare {
    /// The first range, such as 14:00..14:30.
    #[arg(value_name = "BEFORE", allow_hyphen_values = true)]
    pub before: String,
    /// The second range [default: from the end of the first to the end of what is kept].
    #[arg(value_name = "AFTER", allow_hyphen_values = true)]
    pub after: Option<String>,
    /// The server, as it was watched [default: the one that was watched last].
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    #[command(flatten)]
    pub source: WatchSource,
    /// Which statements count as the same.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = CompareBy::Text)]
    pub by: CompareBy,
    /// The metric that is compared, such as executions, rows, reads [default: elapsed_us, or sampled_us
    /// where that explains little].
    #[arg(long, value_name = "METRIC")]
    pub sort: Option<String>,
    /// How many changes are listed.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub top: u16,
    /// Only statements with database=NAME, text=PART, or query=ID.
    #[arg(long = "where", value_name = "K=V")]
    pub filters: Vec<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("output").required(true)))]
pub struct WatchExport {
    /// The server, as it was watched [default: the one that was watched last].
    #[arg(value_name = "URL")]
    pub target: Option<String>,
    #[command(flatten)]
    pub source: WatchSource,
    /// Begin of the range [default: the begin of what is kept].
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub from: Option<String>,
    /// End of the range [default: the end of what is kept].
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub to: Option<String>,
    /// Write a CSV table; - for standard output.
    #[arg(long, value_name = "FILE", group = "output")]
    pub csv: Option<PathBuf>,
    /// Print one JSON object per statement and slot.
    #[arg(long, group = "output")]
    pub json: bool,
    /// Write the statements as a definition that 'plimsoll run' takes, with what is not known of them; - for standard output.
    #[arg(long, value_name = "FILE.toml", group = "output")]
    pub workload: Option<PathBuf>,
}
