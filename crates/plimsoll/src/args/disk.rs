//! The arguments of `plimsoll disk`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::MOST_REPETITIONS_OF_A_RUN;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  plimsoll disk /var/tmp                                   a dozen kinds of reads and writes, and the knee, in about two minutes
  plimsoll disk /var/tmp --html disk.html                  the same with charts
  plimsoll disk /data --suite database                     what a commit waits for beside reads and checkpoints
  plimsoll disk /data --suite log-write --json
  plimsoll disk /data --suite sqlio --factor 30 --size 8GiB
  plimsoll disk /data --suite ./my-cells.toml --repetitions 5
  plimsoll disk 'lab:16 x azure-managed-disk/P30?columns=8' --sweep

The test writes to a file of its own in PATH and removes it. It never writes to anything else.")]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Disk {
    /// What else is done with disks.
    #[command(subcommand)]
    pub action: Option<DiskAction>,
    /// Folder on the disk to test, or a modelled volume such as 'lab:16 x azure-managed-disk/P30'.
    #[arg(value_name = "PATH", required = true)]
    pub path: Option<PathBuf>,
    /// What to measure: quick, database, log-write, sqlio, sqlio-32k, sweep, or a file of your own ending in .toml, .fio (fio), .cmd or .bat (SQLIO).
    #[arg(long, value_name = "SUITE", default_value = "quick")]
    pub suite: String,
    /// Find how many operations under way the disk needs: the same as --suite sweep.
    #[arg(long, conflicts_with = "suite")]
    pub sweep: bool,
    #[command(flatten)]
    pub file: FileOptions,
    #[command(flatten)]
    pub bought: Bought,
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
    /// Set a parameter: duration (of each cell), seed, steady (rounds at most until a cell is steady), or verify=yes to check what is read.
    #[arg(long, value_name = "K=V")]
    pub set: Vec<String>,
    /// Campaign name. Other commands find and report runs by this name.
    #[arg(long, value_name = "NAME")]
    pub campaign: Option<String>,
    /// What to call the run. Other commands show it, and take it in place of a run id.
    #[arg(long, value_name = "NAME")]
    pub label: Option<String>,
    /// Write the report as a page to this file, too.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print one JSON object to standard output.
    #[arg(long)]
    pub json: bool,
}

/// The file that is read and written.
#[derive(Debug, Args)]
pub struct FileOptions {
    /// Size of the test file [default: the suite's; all but SQLIO's take a quarter of what is free at most].
    #[arg(long, value_name = "SIZE")]
    pub size: Option<String>,
    /// Go through the page cache. The figures then show memory as far as the file fits into it.
    #[arg(long)]
    pub buffered: bool,
    /// Keep the test file. Later runs with the same size and seed use it again.
    #[arg(long)]
    pub keep_file: bool,
}

/// What is done with disks, beside testing them.
#[derive(Debug, Subcommand)]
pub enum DiskAction {
    /// Store what another tool measured: SQLIO's text, fio's JSON, or DiskSpd's XML.
    Import(Import),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  plimsoll disk import results-16d-01v-16c.log
  plimsoll disk import a.log b.log c.log --one-run       the files are repetitions of one run
  plimsoll disk import fio.json --target 'web01:/data' --json

The file shows which tool wrote it. A file that breaks off, or whose numbers contradict each other, is refused with its line.")]
pub struct Import {
    /// Files with results.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Take the files as repetitions a, b, c... of one run.
    #[arg(long)]
    pub one_run: bool,
    #[command(flatten)]
    pub bought: Bought,
    /// Name of the volume [default: the path in the file].
    #[arg(long, value_name = "NAME")]
    pub target: Option<String>,
    /// Campaign name. Other commands find and report runs by this name.
    #[arg(long, value_name = "NAME")]
    pub campaign: Option<String>,
    /// What to call the run. Other commands show it, and take it in place of a run id.
    #[arg(long, value_name = "NAME")]
    pub label: Option<String>,
    /// Print one JSON object for each run to standard output.
    #[arg(long)]
    pub json: bool,
}

/// What the disk should deliver, by what was bought.
#[derive(Debug, Args)]
#[command(next_help_heading = "What was bought")]
pub struct Bought {
    /// Disks of the catalogue, such as '16 x azure-unmanaged-disk/standard@2014-06'. Each class is shown in percent of their limits.
    #[arg(long = "as", value_name = "N x SERVICE/DISK")]
    pub disks: Option<String>,
    /// Size of the virtual machine, such as E8bds_v5. Its disks share its limits.
    #[arg(long, value_name = "SIZE", requires = "disks")]
    pub vm: Option<String>,
    /// Kind of the storage account, such as standard. Its disks share its limit.
    #[arg(long, value_name = "KIND", requires = "disks")]
    pub account: Option<String>,
    /// How the disks are put together: striped or spanned [default: striped].
    #[arg(long, value_name = "LAYOUT", requires = "disks")]
    pub layout: Option<String>,
    /// Disks that a stripe covers [default: all of them].
    #[arg(long, value_name = "N", requires = "disks")]
    pub columns: Option<usize>,
    /// Allocation unit of the file system and unit of the stripe [default: 64KiB].
    #[arg(long, value_name = "SIZE", requires = "disks")]
    pub allocation_unit: Option<String>,
    /// Where the provider keeps copies: lrs (locally) or grs (in another region).
    #[arg(long, value_name = "KIND", requires = "disks")]
    pub redundancy: Option<String>,
    /// Percent of the limits that you expect with enough operations under way. The answer says which classes are below; the exit code stays 0.
    #[arg(long, value_name = "PERCENT")]
    pub expect: Option<String>,
}
