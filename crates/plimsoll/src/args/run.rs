//! Arguments of `plimsoll run`.

use clap::Args;

use crate::candidates;

use super::{Access, MOST_REPETITIONS_OF_A_RUN};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  plimsoll run read-scan --target sqlite:./data.db --set volume=500MiB
  plimsoll run cpu-join --target postgres://h/db --reference latest --anchor 0192f3=50
  plimsoll run ./my-test.toml --target postgres://h/db --restart-command 'systemctl restart postgresql'")]
pub struct Run {
    /// Built-in tests (see `plimsoll tests`) or definition files ending in .toml.
    #[arg(required_unless_present = "group", value_name = "TEST", add = candidates::tests())]
    pub tests: Vec<String>,
    /// Use the durations, sessions and rates of a group of tests. Without TEST, run all tests of the group.
    #[arg(long, value_name = "quick|unlimited|limited|scale")]
    pub group: Option<String>,
    /// Target URL: lab:SERVICE/LEVEL@EDITION, sqlite:PATH, postgres://USER@HOST/DATABASE; likewise mysql://, mariadb://, mssql://.
    #[arg(long, required = true, num_args = 1.., value_name = "URL", add = candidates::targets())]
    pub target: Vec<String>,
    #[command(flatten)]
    pub access: Access,
    /// Set a parameter of the test, such as volume=500MiB. See `plimsoll tests show TEST`.
    #[arg(long, value_name = "K=V")]
    pub set: Vec<String>,
    /// Number of repetitions (a, b, c...). The interval is computed from them [default: the definition's, 3].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_REPETITIONS_OF_A_RUN))]
    pub repetitions: Option<u32>,
    /// Find the highest request rate that keeps latency within this goal, such as p99=20ms.
    #[arg(long, value_name = "PERCENTILE=TIME")]
    pub find_knee: Option<String>,
    /// Use small volumes for a first look: at most about 20 s per repetition.
    #[arg(long)]
    pub short: bool,
    /// Campaign name. Other commands find and report runs by this name.
    #[arg(long, value_name = "NAME")]
    pub campaign: Option<String>,
    /// What to call the run, such as 'fsync off'. Other commands show it, and take it in place of a run id.
    #[arg(long, value_name = "NAME")]
    pub label: Option<String>,
    /// End with code 1 if this is true of the result, such as 'p99 > 20ms', 'request_rate < 3000' or 'errors > 1%'.
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<String>,
    /// Keep the data set of scans on the target. Later runs verify it and use it again.
    #[arg(long)]
    pub keep_data: bool,
    #[command(flatten)]
    pub looks: Looks,
    #[command(flatten)]
    pub consent: Consent,
    /// Wait this long between loading data and measuring, such as 5m.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub settle: String,
    /// Shell command that restarts the server, so that each repetition starts with a cold cache.
    #[arg(long, value_name = "COMMAND")]
    pub restart_command: Option<String>,
    /// Scans: how a cold cache is made. 'copy' reads a new copy of a database in each repetition, for Azure SQL Database; with
    /// --settle it waits before it reads.
    #[arg(long, value_name = "usual|copy", value_parser = ["usual", "copy"], conflicts_with_all = ["restart_command", "keep_data"])]
    pub cold: Option<String>,
    /// level-change: shell command that requests the level in PLIMSOLL_LEVEL, for targets without a statement for it.
    #[arg(long, value_name = "COMMAND", requires = "level_check")]
    pub level_command: Option<String>,
    /// level-change: shell command that prints the level in effect on its last line.
    #[arg(long, value_name = "COMMAND", requires = "level_command")]
    pub level_check: Option<String>,
    #[command(flatten)]
    pub multiples: Multiples,
    /// Print one JSON object per run to standard output.
    #[arg(long)]
    pub json: bool,
}

/// What is sampled during a run.
#[derive(Debug, Args)]
pub struct Looks {
    /// Do not sample the server and its machine once a second. The run then has no verdict.
    #[arg(long)]
    pub no_samples: bool,
    /// Watch at the same time which statements the load is made of, as `plimsoll watch` does, and say it after each run.
    #[arg(long)]
    pub watch: bool,
}

/// What needs permission.
#[derive(Debug, Args)]
pub struct Consent {
    /// Allow a definition with 'writes = true' to write to existing tables.
    #[arg(long)]
    pub allow_writes: bool,
    /// Allow tests to create databases beside the target's, and to drop them afterwards.
    #[arg(long)]
    pub allow_create_database: bool,
    /// Allow level-change to request another level of service, which may cost money, and then the old one again.
    #[arg(long)]
    pub allow_level_change: bool,
}

/// What the CPU ladder is compared with.
#[derive(Debug, Args)]
pub struct Multiples {
    /// cpu-join: reference run. The table of multiples divides by its speed.
    #[arg(long, value_name = "RUN", add = candidates::runs())]
    pub reference: Option<String>,
    /// cpu-join: a run and its DTU for the DTU table, such as RUN=50. `catalog` uses the published fit.
    #[arg(long, value_name = "RUN=DTU|catalog")]
    pub anchor: Option<String>,
}
