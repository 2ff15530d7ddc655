//! The arguments of `plimsoll watch`.

use clap::Args;

use super::Access;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  plimsoll watch postgres://me@db.example/sales                      a line a minute, until Ctrl-C
  plimsoll watch postgres://me@db.example/sales --every 5s --for 2m  what costs most now
  plimsoll watch postgres://me@db.example/sales --json               one object per slot

It reads what pg_stat_statements has counted, and changes nothing at the server. Nothing is stored. docs/WATCH.md says what each figure
means, and what the profiler can't see.

Exit codes: 0 done, 2 usage, 3 the extension is missing, 4 cannot connect, 5 pg_read_all_stats is missing, 7 the server was lost at the
end, 130 interrupted by Ctrl-C, with the summary.")]
pub struct Watch {
    /// The database. Statements of all databases of its server are counted.
    #[arg(value_name = "URL")]
    pub target: String,
    /// How long a slot is, at least 1s. Slots begin at whole multiples of it, by the server's clock.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub every: String,
    /// How long to watch [default: until Ctrl-C].
    #[arg(long = "for", value_name = "TIME")]
    pub time: Option<String>,
    /// How many statements are listed; the others are added up.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub top: u16,
    #[command(flatten)]
    pub access: Access,
    /// Print one JSON object per slot to standard output, and no summary.
    #[arg(long)]
    pub json: bool,
}
