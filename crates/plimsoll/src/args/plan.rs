//! The arguments of `plimsoll plan`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Access;

#[derive(Debug, Args)]
pub struct Plan {
    /// For which service.
    #[command(subcommand)]
    pub what: PlanWhat,
}

#[derive(Debug, Subcommand)]
pub enum PlanWhat {
    /// Files on Managed Instance General Purpose, where the size of a file decides its limits.
    Mi(PlanMi),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  plimsoll plan mi --files files.csv --space 8TB           what each file has, and whether they fit
  plimsoll plan mi --files files.csv --date 2018-12-18     by the limits of a day
  plimsoll plan mi --files files.csv --layouts             which files would carry it with room to spare
  plimsoll plan mi --files mssql://ann@host/master         what the files of a live instance do, 30 s long
  plimsoll plan mi --files perfmon.csv                     which files would carry what disks of a machine do
  plimsoll plan mi --from latest                           which files would carry what the last run did
  plimsoll plan mi --files files.csv --against E8bds_v5 --disks '4 x azure-managed-disk/P30'
                                                           the same load on a virtual machine
  plimsoll plan mi --vcores 8 --date 2026-09-01            what was published of such an instance

A list is CSV with a header: database,file,type,size_gb[,used_gb,growth_gb,iops,mb_per_s,read_ms,write_ms], with type data or log.
IOPS and MB/s are those at the busiest time. Also read are the output of the published script for Managed Instance, CSV of PerfMon
(typeperf, relog), and 'iostat -x' as text or JSON. GB and TB are binary. Nothing is changed. docs/PLAN.md has the rules.")]
pub struct PlanMi {
    /// List of the files of all databases, those of tempdb among them; - is standard input. Or a live instance, which is sampled.
    #[arg(long, value_name = "FILE|URL", group = "source")]
    pub files: Option<String>,
    /// A stored run instead: what its files did.
    #[arg(long, value_name = "RUN", group = "source")]
    pub from: Option<String>,
    /// How long a live instance is sampled [default: 30s].
    #[arg(long, value_name = "TIME", requires = "files")]
    pub sample: Option<String>,
    /// From one look at a live instance to the next, at least 100ms [default: 1s].
    #[arg(long, value_name = "TIME", requires = "files")]
    pub interval: Option<String>,
    #[command(flatten)]
    pub access: Access,
    /// CSV with wait_type and wait_time_ms of sys.dm_os_wait_stats: what sessions wait for is part of the advice.
    #[arg(long, value_name = "FILE.csv", requires = "source")]
    pub waits: Option<PathBuf>,
    /// How much CPU of the instance is used: 46%.
    #[arg(long, value_name = "PERCENT", requires = "source")]
    pub cpu: Option<String>,
    /// Day whose limits count [default: the newest that are known].
    #[arg(long, value_name = "DATE")]
    pub date: Option<String>,
    /// Space of the instance: 8TB [default: the most it can have].
    #[arg(long, value_name = "SIZE")]
    pub space: Option<String>,
    /// Virtual cores of the instance: they decide how much space it can have, and how fast its log may grow.
    #[arg(long, value_name = "N")]
    pub vcores: Option<u32>,
    /// Hold the files against disks that all of them share on a virtual machine of this size, such as E8bds_v5.
    #[arg(long, value_name = "VM", requires = "source", requires = "disks")]
    pub against: Option<String>,
    /// The disks of that machine, striped, such as '4 x azure-managed-disk/P30'.
    #[arg(long, value_name = "N x SERVICE/DISK", requires = "against")]
    pub disks: Option<String>,
    /// Search for layouts that carry what the files do, with the statements that would make them. They are never run.
    #[arg(long, requires = "source")]
    pub layouts: bool,
    /// By how much limits of a layout are to be above what was seen.
    #[arg(long, value_name = "PERCENT", default_value = "25%", allow_hyphen_values = true)]
    pub headroom: String,
    /// The most data files of a database in a layout.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=280))]
    pub most_files: u32,
    /// How long an I/O may wait for its turn at a file of a layout, on average.
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub most_wait: String,
    /// Print all parts: other layouts, what was published, and the rules.
    #[arg(long)]
    pub full: bool,
    /// Write the plan as a page to this file, too.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print one JSON object to standard output.
    #[arg(long)]
    pub json: bool,
}
