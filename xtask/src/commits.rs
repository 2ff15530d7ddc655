//! What the suite `database` says of commits beside what PostgreSQL makes on the same file system: durable writes of the disk by themselves,
//! and inserts that commit one by one, in interleaved pairs.

use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_analysis::summary;
use plimsoll_measurement::{Metric, RunRecord};
use plimsoll_testbed::Postgres;

use crate::child::{measured, record};
use crate::pairs::{Ratio, interleaved};
use crate::tasks::{self, Outcome};
use crate::{complain, say};

const USAGE: &str = "cargo xtask bench commits [--pairs N] [--folder FOLDER] [--program FILE]";
const PAIRS: u32 = 9;
/// Inserts of a run: more than a second of commits on a fast disk.
const INSERTS: u32 = 10_000;
/// The first cell of the suite `database`, by the way that PostgreSQL makes its log durable on Linux.
const SUITE: &str = "name = 'commits'\ntitle = 'Commits'\nfile = '256MiB'\n[[cell]]\noperation = 'write'\naccess = 'sequential'\n\
                     block = '8KiB'\nsync = 'fdatasync'\nduration = '2s'\nwarm_up = '1s'\n";
/// The prediction is within so much of what the server makes.
const NEAR: f64 = 0.15;

#[derive(Debug)]
struct Options {
    pairs: u32,
    folder: PathBuf,
    program: Option<PathBuf>,
}

fn parse(arguments: &[&str]) -> Option<Options> {
    let mut options = Options { pairs: PAIRS, folder: PathBuf::from("/var/tmp"), program: None };
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match *word {
            "--pairs" => options.pairs = rest.next()?.parse().ok().filter(|pairs| *pairs > 1)?,
            "--folder" => options.folder = PathBuf::from(rest.next()?),
            "--program" => options.program = Some(PathBuf::from(rest.next()?)),
            _ => return None,
        }
    }
    Some(options)
}

/// Compares; an error if the bar is missed.
pub fn bench(arguments: &[&str]) -> Outcome {
    let Some(options) = parse(arguments) else {
        complain(USAGE);
        return Err(tasks::USAGE);
    };
    tasks::provide_postgresql()?;
    let program = options.program.clone().map_or_else(tasks::released, Ok)?;
    let holds = compare(&options, &program).map_err(|error| {
        complain(&error);
        tasks::INTERNAL
    })?;
    if holds { Ok(()) } else { Err(1) }
}

fn compare(options: &Options, program: &Path) -> Result<bool, String> {
    let failed = |error: std::io::Error| format!("no folder can be made below {}: {error}", options.folder.display());
    let folder = tempfile::Builder::new().prefix("plimsoll-bench-").tempdir_in(&options.folder).map_err(failed)?;
    let suite = folder.path().join("commits.toml");
    std::fs::write(&suite, SUITE).map_err(|error| format!("{} can't be written: {error}", suite.display()))?;
    let server = Postgres::builder().durable(true).trusting(true).data_dir_in(&options.folder).start();
    let server = server.map_err(|error| error.to_string())?;
    let target = server.socket_url("postgres");
    let run = |command: &mut Command| -> Result<RunRecord, String> {
        command.args(["--repetitions", "1", "--json", "--quiet"]).arg("--store").arg(folder.path().join("runs.db"));
        record(&measured(command)?.output)
    };
    let disk = || {
        let mut command = Command::new(program);
        let record = run(command.arg("disk").arg(folder.path()).arg("--suite").arg(&suite).arg("--keep-file"))?;
        let mut points = record.repetitions.iter().flat_map(|repetition| &repetition.points);
        points.find_map(|point| point.get(Metric::Iops)).ok_or("the disk's record has no rate".to_owned())
    };
    let server = || {
        let mut command = Command::new(program);
        let inserts = format!("commits={INSERTS}");
        let record = run(command.args(["run", "insert-latency", "--target", &target, "--set", &inserts]))?;
        let seconds = record.result.map(|figure| figure.value).filter(|seconds| *seconds > 0.0);
        seconds.map(|seconds| f64::from(INSERTS) / seconds).ok_or("the inserts have no time".to_owned())
    };
    let (disks, servers) = interleaved(
        options.pairs,
        |is_disk| if is_disk { disk() } else { server() },
        |pair, disk, server| complain(&format!("{pair}: durable writes {disk:.0}/s, commits {server:.0}/s")),
    )?;
    let ratio = Ratio::of(&disks, &servers).ok_or("nothing was measured")?;
    let median = |values: &[f64]| summary::median(values).unwrap_or(f64::NAN);
    let (disk, commits) = (median(&disks), median(&servers));
    let holds = (ratio.median - 1.0).abs() <= NEAR;
    say(&format!(
        "{} pairs: durable writes of 8 KiB {disk:.0}/s, commits of PostgreSQL {commits:.0}/s; the first are {} of the second, bar {:.2} to {:.2}: {}\n",
        disks.len(),
        ratio.words(3),
        1.0 - NEAR,
        1.0 + NEAR,
        if holds { "holds" } else { "missed" },
    ));
    Ok(holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_slips_are_told() {
        let options = parse(&["--pairs", "3", "--folder", "/data"]).unwrap();
        assert_eq!((options.pairs, options.folder.as_path()), (3, Path::new("/data")));
        assert!(parse(&["--pairs", "1"]).is_none() && parse(&["more"]).is_none());
    }
}
