//! The arguments of `plimsoll disk`.

use std::path::PathBuf;

use clap::Args;

use super::MOST_REPETITIONS_OF_A_RUN;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  plimsoll disk /var/tmp                                   a dozen kinds of reads and writes in about two minutes
  plimsoll disk /data --suite log-write --json
  plimsoll disk /data --suite sqlio --factor 30 --size 8GiB
  plimsoll disk /data --suite ./my-cells.toml --repetitions 5

The test writes to a file of its own in PATH and removes it. It never writes to anything else.")]
pub struct Disk {
    /// Folder on the disk to test.
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// What to measure: quick, sqlio, log-write, sweep, or a file of your own ending in .toml.
    #[arg(long, value_name = "SUITE", default_value = "quick")]
    pub suite: String,
    /// Find how many operations under way the disk needs: the same as --suite sweep.
    #[arg(long, conflicts_with = "suite")]
    pub sweep: bool,
    #[command(flatten)]
    pub file: FileOptions,
    /// Make operations by io_uring (uring) or by threads that block (pool).
    #[arg(long, value_name = "auto|uring|pool", default_value = "auto")]
    pub engine: String,
    /// Divide the times of the suite by this number.
    #[arg(long, value_name = "N")]
    pub factor: Option<u32>,
    /// Number of repetitions (a, b, c...). The intervals are computed from them [default: the suite's].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_REPETITIONS_OF_A_RUN))]
    pub repetitions: Option<u32>,
    /// Take about 20 s per repetition, for a first look.
    #[arg(long, conflicts_with = "factor")]
    pub short: bool,
    /// Set a parameter: duration (of each cell) or seed.
    #[arg(long, value_name = "K=V")]
    pub set: Vec<String>,
    /// Campaign name. Other commands find and report runs by this name.
    #[arg(long, value_name = "NAME")]
    pub campaign: Option<String>,
    /// Print one JSON object to standard output.
    #[arg(long)]
    pub json: bool,
}

/// The file that is read and written.
#[derive(Debug, Args)]
pub struct FileOptions {
    /// Size of the test file [default: the suite's; quick and log-write take a quarter of what is free at most].
    #[arg(long, value_name = "SIZE")]
    pub size: Option<String>,
    /// Go through the page cache. The figures then show memory as far as the file fits into it.
    #[arg(long)]
    pub buffered: bool,
    /// Keep the test file. Later runs with the same size and seed use it again.
    #[arg(long)]
    pub keep_file: bool,
}
