//! `plimsoll disk` beside fio: the same reads and writes of the same file, in interleaved pairs. What each gets out of the disk, what an
//! operation costs the process, and how long it takes.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_analysis::summary;
use plimsoll_measurement::LatencyHistogramData;
use serde_json::Value;

use crate::child::{answered, measured, record};
use crate::pairs::{Judgement, Ratio, interleaved};
use crate::tasks::{self, Outcome};
use crate::{complain, say};

const USAGE: &str = "cargo xtask bench disk [--pairs N] [--seconds S] [--folder FOLDER] [--program FILE] [CASE...]";
const PAIRS: u32 = 10;
const SECONDS: u32 = 4;
/// Size of the file that both work on.
const FILE_MIB: u32 = 1024;
/// Our own mark is before what is read and written.
const HEADER_MIB: u32 = 1;
/// Files in memory.
const MEMORY: &str = "/dev/shm";
const PERCENTILES: [f64; 3] = [50.0, 90.0, 99.0];

/// What both do, in our words and in fio's.
struct Case {
    name: &'static str,
    ours: &'static str,
    fio: &'static [&'static str],
    /// The file is in memory, where nothing is past the page cache.
    in_memory: bool,
    /// Ours makes at least so many times as many operations as fio does...
    rate_bar: f64,
    /// ... and each costs the process at most this part of what it costs fio. Alone, the client waits nearly all the time, and its CPU time
    /// is that of starting.
    cpu_bar: Option<f64>,
}

/// On a disk, many at a time.
const ON_DISK: Case = Case { name: "", ours: "", fio: &[], in_memory: false, rate_bar: 1.0, cpu_bar: Some(0.75) };

const CASES: [Case; 6] = [
    Case {
        name: "random-read-8k-q32",
        ours: "operation = 'read'\nblock = '8KiB'\nqueue_depth = 32\n",
        fio: &["--rw=randread", "--bs=8k", "--iodepth=32"],
        ..ON_DISK
    },
    Case {
        name: "random-write-8k-q32",
        ours: "operation = 'write'\nblock = '8KiB'\nqueue_depth = 32\n",
        fio: &["--rw=randwrite", "--bs=8k", "--iodepth=32"],
        ..ON_DISK
    },
    Case {
        name: "sequential-read-256k-q8",
        ours: "operation = 'read'\naccess = 'sequential'\nblock = '256KiB'\nqueue_depth = 8\n",
        fio: &["--rw=read", "--bs=256k", "--iodepth=8"],
        ..ON_DISK
    },
    Case {
        name: "sequential-write-64k-q8",
        ours: "operation = 'write'\naccess = 'sequential'\nblock = '64KiB'\nqueue_depth = 8\n",
        fio: &["--rw=write", "--bs=64k", "--iodepth=8"],
        ..ON_DISK
    },
    Case {
        name: "durable-write-8k-q1",
        ours: "operation = 'write'\naccess = 'sequential'\nblock = '8KiB'\nsync = 'o_dsync'\n",
        fio: &["--rw=write", "--bs=8k", "--iodepth=1", "--sync=dsync"],
        cpu_bar: None,
        ..ON_DISK
    },
    Case {
        name: "memory-read-8k-q32",
        ours: "operation = 'read'\nblock = '8KiB'\nqueue_depth = 32\n",
        fio: &["--rw=randread", "--bs=8k", "--iodepth=32", "--direct=0"],
        in_memory: true,
        rate_bar: 1.1,
        cpu_bar: Some(0.9),
    },
];

/// fio as an asynchronous reader and writer past the page cache, with all that makes it fast.
const FIO: [&str; 14] = [
    "--name=fio",
    "--ioengine=io_uring",
    "--fixedbufs=1",
    "--registerfiles=1",
    "--norandommap=1",
    "--randrepeat=0",
    "--thread=1",
    "--time_based=1",
    "--direct=1",
    "--allow_file_create=0",
    "--lat_percentiles=1",
    "--clat_percentiles=0",
    "--percentile_list=50:90:99",
    "--output-format=json",
];

#[derive(Debug)]
struct Options {
    pairs: u32,
    seconds: u32,
    folder: PathBuf,
    program: Option<PathBuf>,
    cases: Vec<String>,
}

fn parse(arguments: &[&str]) -> Option<Options> {
    let folder = PathBuf::from("/var/tmp");
    let mut options = Options { pairs: PAIRS, seconds: SECONDS, folder, program: None, cases: Vec::new() };
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match *word {
            "--pairs" => options.pairs = rest.next()?.parse().ok().filter(|pairs| *pairs > 1)?,
            "--seconds" => options.seconds = rest.next()?.parse().ok().filter(|seconds| *seconds > 0)?,
            "--folder" => options.folder = PathBuf::from(rest.next()?),
            "--program" => options.program = Some(PathBuf::from(rest.next()?)),
            name => options.cases.push(CASES.iter().find(|case| case.name == name)?.name.to_owned()),
        }
    }
    Some(options)
}

/// What a program came to.
#[derive(Debug, Clone, Copy)]
struct Sample {
    operations_per_s: f64,
    /// CPU time of the whole process for an operation.
    cpu_us: f64,
    /// Response times, in the order of [`PERCENTILES`]; absent where there were too few operations.
    latency_us: [Option<f64>; 3],
}

/// Compares; an error if a bar is missed.
pub fn bench(arguments: &[&str]) -> Outcome {
    let Some(options) = parse(arguments) else {
        let names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        complain(&format!("{USAGE}\ncases: {}", names.join(", ")));
        return Err(tasks::USAGE);
    };
    tasks::provide("fio", &["fio"])?;
    let program = options.program.clone().map_or_else(tasks::released, Ok)?;
    let holds = compare(&options, &program).map_err(|error| {
        complain(&error);
        tasks::INTERNAL
    })?;
    if holds { Ok(()) } else { Err(1) }
}

fn compare(options: &Options, program: &Path) -> Result<bool, String> {
    let mut holds = true;
    for case in
        CASES.iter().filter(|case| options.cases.is_empty() || options.cases.iter().any(|name| name == case.name))
    {
        let parent = if case.in_memory { Path::new(MEMORY) } else { &options.folder };
        let failed = |error: std::io::Error| format!("no folder can be made below {}: {error}", parent.display());
        let folder = tempfile::Builder::new().prefix("plimsoll-bench-").tempdir_in(parent).map_err(failed)?;
        let suite = folder.path().join(format!("{}.toml", case.name));
        let text =
            format!("name = '{}'\ntitle = 'Beside fio'\nfile = '{FILE_MIB}MiB'\n[[cell]]\n{}", case.name, case.ours);
        fs::write(&suite, text).map_err(|error| format!("{} can't be written: {error}", suite.display()))?;
        let (ours, theirs) = interleaved(
            options.pairs,
            |is_ours| {
                if is_ours {
                    ours(program, folder.path(), &suite, (case, options.seconds))
                } else {
                    fio(folder.path(), case, options.seconds)
                }
            },
            |pair, ours: &Sample, theirs: &Sample| {
                complain(&format!(
                    "{} {pair}: {:.0}/s at {:.2} us, fio {:.0}/s at {:.2} us",
                    case.name, ours.operations_per_s, ours.cpu_us, theirs.operations_per_s, theirs.cpu_us
                ));
            },
        )?;
        let (text, held) = judged(case, &ours, &theirs).ok_or("nothing was measured")?;
        holds &= held;
        say(&text);
    }
    Ok(holds)
}

/// Lines of the result, and whether the bars hold.
fn judged(case: &Case, ours: &[Sample], theirs: &[Sample]) -> Option<(String, bool)> {
    let of = |samples: &[Sample], value: &dyn Fn(&Sample) -> Option<f64>| {
        samples.iter().map(value).collect::<Option<Vec<f64>>>()
    };
    let ratio = |value: &dyn Fn(&Sample) -> Option<f64>| Ratio::of(&of(ours, value)?, &of(theirs, value)?);
    let median = |samples: &[Sample], value: &dyn Fn(&Sample) -> Option<f64>| summary::median(&of(samples, value)?);
    let rate = |sample: &Sample| Some(sample.operations_per_s);
    let cpu = |sample: &Sample| Some(sample.cpu_us);
    // A bar is the most that something may be, so the rate is held against it the other way round.
    let slower = Ratio::of(&of(theirs, &rate)?, &of(ours, &rate)?)?.meets(1.0 / case.rate_bar);
    let cost = ratio(&cpu)?;
    let dearer = case.cpu_bar.map(|bar| (bar, cost.meets(bar)));
    let mut text = format!(
        "{}, {} pairs: {:.0}/s, {} of fio's, bar {:.2}: {}; CPU {:.2} us, {} of fio's",
        case.name,
        ours.len(),
        median(ours, &rate)?,
        ratio(&rate)?.words(3),
        case.rate_bar,
        slower.words(),
        median(ours, &cpu)?,
        cost.words(3),
    );
    if let Some((bar, judgement)) = &dearer {
        let _ = write!(text, ", bar {bar:.2}: {}", judgement.words());
    }
    for (place, percent) in PERCENTILES.iter().enumerate() {
        let time = |sample: &Sample| sample.latency_us[place];
        if let (Some(us), Some(ratio)) = (median(ours, &time), ratio(&time)) {
            let _ = write!(text, "; p{percent} {us:.0} us, {} of fio's", ratio.words(3));
        }
    }
    text.push('\n');
    let is_dear = dearer.is_some_and(|(_, judgement)| judgement == Judgement::Missed);
    Some((text, slower != Judgement::Missed && !is_dear))
}

/// A run of ours. The file stays, so that both work on it.
fn ours(program: &Path, folder: &Path, suite: &Path, (case, seconds): (&Case, u32)) -> Result<Sample, String> {
    let mut command = Command::new(program);
    command.arg("disk").arg(folder).arg("--suite").arg(suite);
    command.args(["--repetitions", "1", "--keep-file", "--json", "--quiet", "--engine", "uring"]);
    command.args(case.in_memory.then_some("--buffered"));
    command.args(["--set", &format!("duration={seconds}s")]).arg("--store").arg(folder.join("runs.db"));
    let ended = measured(&mut command)?;
    let record = record(&ended.output)?;
    let kinds = record.repetitions.iter().flat_map(|repetition| &repetition.requests);
    let times = LatencyHistogramData::merged(kinds.map(|kind| &kind.times));
    let operations = answered(&record) as f64;
    Ok(Sample {
        operations_per_s: operations / f64::from(seconds),
        cpu_us: 1e6 * ended.cpu() / operations.max(1.0),
        latency_us: PERCENTILES.map(|percent| times.percentile_us(percent)),
    })
}

/// A run of fio on the file that ours has made.
fn fio(folder: &Path, case: &Case, seconds: u32) -> Result<Sample, String> {
    let mut command = Command::new("fio");
    let file = folder.join("plimsoll_disk_test.bin");
    command.args(FIO).args(case.fio).arg(format!("--filename={}", file.display()));
    command.args([format!("--offset={HEADER_MIB}m"), format!("--size={FILE_MIB}m"), format!("--runtime={seconds}")]);
    let ended = measured(&mut command)?;
    sample(&ended.output, ended.cpu())
}

/// What fio printed.
fn sample(printed: &str, cpu_seconds: f64) -> Result<Sample, String> {
    // Before the document it may complain.
    let document = printed.find('{').and_then(|from| serde_json::from_str::<Value>(&printed[from..]).ok());
    let document = document.ok_or_else(|| format!("what fio printed can't be read: {printed}"))?;
    let job = &document["jobs"][0];
    let kind = [&job["read"], &job["write"]].into_iter().find(|kind| kind["total_ios"].as_f64() > Some(0.0));
    let kind = kind.ok_or("fio read and wrote nothing")?;
    let number =
        |value: &Value| value.as_f64().ok_or_else(|| format!("fio printed no number where one belongs: {kind}"));
    let operations = number(&kind["total_ios"])?;
    Ok(Sample {
        operations_per_s: 1e3 * operations / number(&kind["runtime"])?,
        cpu_us: 1e6 * cpu_seconds / operations,
        latency_us: PERCENTILES
            .map(|percent| Some(kind["lat_ns"]["percentile"][format!("{percent:.6}")].as_f64()? / 1e3)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fio_prints_is_a_sample() {
        let printed = r#"fio: a word before
            {"jobs": [{"read": {"total_ios": 0}, "write": {"total_ios": 4000, "runtime": 2000,
             "lat_ns": {"percentile": {"50.000000": 70000, "90.000000": 90000}}}}]}"#;
        let sample = sample(printed, 0.02).unwrap();
        assert_eq!((sample.operations_per_s, sample.cpu_us), (2000.0, 5.0));
        assert_eq!(sample.latency_us, [Some(70.0), Some(90.0), None]);
        assert!(super::sample("nothing", 1.0).is_err() && super::sample("{\"jobs\": []}", 1.0).is_err());
    }

    #[test]
    fn a_rate_below_and_a_cost_above_the_bar_are_missed() {
        let of = |operations_per_s: f64, cpu_us: f64| {
            vec![Sample { operations_per_s, cpu_us, latency_us: [Some(100.0), None, None] }; 6]
        };
        let judge = |case: &Case, ours: &[Sample]| judged(case, ours, &of(1000.0, 10.0)).unwrap();
        let (text, holds) = judge(&CASES[0], &of(1100.0, 6.0));
        assert!(holds, "{text}");
        assert!(
            text.contains("1100/s, 1.100 (1.100 to 1.100) of fio's, bar 1.00: holds; CPU 6.00 us, 0.600"),
            "{text}"
        );
        assert!(text.contains("p50 100 us") && !text.contains("p90"), "{text}");
        assert!(!judge(&CASES[0], &of(900.0, 6.0)).1 && !judge(&CASES[0], &of(1100.0, 9.0)).1);
        assert!(judge(&CASES[4], &of(1100.0, 9.0)).1, "alone it has no bar of its cost");
    }

    #[test]
    fn words_are_read_and_slips_are_told() {
        let options = parse(&["--pairs", "3", "--folder", "/data", "durable-write-8k-q1"]).unwrap();
        assert_eq!((options.pairs, options.seconds, options.cases.len()), (3, SECONDS, 1));
        assert_eq!(options.folder, Path::new("/data"));
        assert!(parse(&["--pairs", "1"]).is_none() && parse(&["random-raed"]).is_none());
    }
}
