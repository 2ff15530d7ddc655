//! The arguments of `plimsoll simulate`.

use std::path::PathBuf;

use clap::Args;

use crate::candidates;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  plimsoll simulate examples/mi-layout.toml                five file layouts, beside what was published of them
  plimsoll simulate mine.toml --set sessions=200 --set log=512GB
  plimsoll simulate mine.toml --vary log=32GB,512GB,2TB --vary sessions=50,100 --json
  plimsoll simulate --from latest --on azure-sql-db/S3     what the requests of the last run would get on a level
  plimsoll simulate --from latest --on mine.toml           the same on hardware of your own (docs/LAB.md)
  plimsoll simulate --from latest --gains                  what each limit would bring if it were raised

A model computes all figures, and nothing is measured. docs/SIMULATE.md lists the keys of a scenario and says how far to trust it.")]
pub struct Simulate {
    /// The scenario: server, workload, and files on disks of a date.
    #[arg(value_name = "SCENARIO.toml", required_unless_present = "from")]
    pub scenario: Option<PathBuf>,
    /// Set a key: sessions=200, files.log.size=512GB, or log=512GB for the size of the file log.
    #[arg(long, value_name = "K=V")]
    pub set: Vec<String>,
    /// Simulate each of several values of a key. Several --vary make a grid.
    #[arg(long, value_name = "K=V,V")]
    pub vary: Vec<String>,
    /// Predict from a stored run: the same requests on other hardware.
    #[arg(long, value_name = "RUN", add = candidates::runs(), conflicts_with_all = ["scenario", "set", "vary"])]
    pub from: Option<String>,
    /// The other hardware: a level or a disk of the catalogue, or a file of your own hardware.
    #[arg(long, value_name = "SERVICE/LEVEL | MACHINE.toml", add = candidates::hardware(), requires = "from", conflicts_with = "scenario")]
    pub on: Option<String>,
    /// Raise each limit by 10, 50 and 100 %, and show what that brings: those of --on, or of the run's own hardware.
    #[arg(long, requires = "from", conflicts_with = "scenario")]
    pub gains: bool,
    /// Campaign name. Other commands find and report runs by this name.
    #[arg(long, value_name = "NAME")]
    pub campaign: Option<String>,
    /// Print one JSON object for each case to standard output.
    #[arg(long)]
    pub json: bool,
}
