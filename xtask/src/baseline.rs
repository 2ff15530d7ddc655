//! The program of now beside that of an earlier commit, in interleaved pairs: what it costs to make a request, to record one, to
//! verify the lab, to run two hours on the lab, and to list many runs.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use plimsoll_analysis::summary;
use plimsoll_testbed::Postgres;
use serde_json::Value;

use crate::child::{Ours, measured};
use crate::pairs::{Judgement, Ratio, interleaved};
use crate::tasks::{self, Outcome};
use crate::{complain, say};

/// Today's release, v0.1.0: the state before the house was rebuilt. Named by its commit as well, as a clone need not have tags.
const RELEASE: (&str, &str) = ("v0.1.0", "222d29732cda42ec27d959afb6a4f5cd0a0993ac");
const PAIRS: u32 = 10;
const SESSIONS: u32 = 8;
const SECONDS: u32 = 5;
const LISTED_RUNS: u32 = 10_000;
const SCALED: &str = "lab:azure-sql-db/S2@v12-ga-2015-01";

/// One of the two that are compared.
#[derive(Debug)]
struct Side {
    /// `now` or `before`; names its files.
    name: &'static str,
    program: PathBuf,
    /// The benchmark of recording, where it is wanted.
    recording: Option<PathBuf>,
}

type Sample = Box<dyn Fn(&Side) -> Result<f64, String>>;

/// What is compared.
struct Measure {
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    /// The most that now may be of before.
    ratio_bar: Option<f64>,
    /// The most that now may be.
    limit: Option<f64>,
    /// Prepares in a folder; what it returns measures once.
    prepare: fn(&Path) -> Result<Sample, String>,
}

const MEASURES: &[Measure] = &[
    Measure {
        name: "request",
        title: "client CPU a request, 8 sessions on PostgreSQL",
        unit: "us",
        ratio_bar: Some(1.0),
        limit: None,
        prepare: requests,
    },
    Measure {
        name: "recording",
        title: "recording a request as fast as answered, without reading the clock",
        unit: "ns",
        ratio_bar: None,
        limit: Some(50.0),
        prepare: |_| Ok(Box::new(|side| recording(side, "as fast as answered: ", 1.0))),
    },
    Measure {
        name: "recording-scheduled",
        title: "recording a request by a schedule, without reading the clock",
        unit: "ns",
        ratio_bar: None,
        limit: Some(50.0),
        prepare: |_| Ok(Box::new(|side| recording(side, "by a schedule: ", 2.0))),
    },
    Measure {
        name: "lab-verify",
        title: "CPU of `lab verify` of one level",
        unit: "s",
        ratio_bar: Some(1.0),
        limit: None,
        // All levels take minutes each time, and some lie beyond their bars (docs/ACCURACY.md).
        prepare: |folder| Ok(cpu_seconds(folder, &["lab", "verify", "--level", "S2", "--edition", "v12-ga-2015-01"])),
    },
    Measure {
        name: "scale",
        title: "CPU of the 120-minute scale test on the lab",
        unit: "s",
        ratio_bar: Some(1.0),
        limit: None,
        prepare: |folder| {
            Ok(cpu_seconds(folder, &["run", "scale", "--target", SCALED, "--repetitions", "1", "--json"]))
        },
    },
    Measure {
        name: "list",
        title: "a list of 10,000 runs",
        unit: "ms",
        ratio_bar: None,
        limit: Some(50.0),
        prepare: listing,
    },
];

/// Names of all that can be compared.
#[cfg(test)]
pub fn names() -> Vec<&'static str> {
    MEASURES.iter().map(|measure| measure.name).collect()
}

const USAGE: &str = "cargo xtask bench [--baseline REVISION] [--pairs N] [--programs NOW BEFORE] [NAME...]";

#[derive(Debug, PartialEq)]
struct Options<'a> {
    baseline: &'a str,
    pairs: u32,
    programs: Option<(&'a str, &'a str)>,
    names: Vec<&'a str>,
}

fn parse<'a>(arguments: &[&'a str]) -> Option<Options<'a>> {
    let mut options = Options { baseline: RELEASE.0, pairs: PAIRS, programs: None, names: Vec::new() };
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match *word {
            "--baseline" => options.baseline = rest.next()?,
            "--pairs" => options.pairs = rest.next()?.parse().ok().filter(|pairs| *pairs > 1)?,
            "--programs" => options.programs = Some((rest.next()?, rest.next()?)),
            name => options.names.push(MEASURES.iter().find(|measure| measure.name == name)?.name),
        }
    }
    Some(options)
}

/// Compares; an error if a bar is missed.
pub fn bench(arguments: &[&str]) -> Outcome {
    let Some(options) = parse(arguments) else {
        let names: Vec<&str> = MEASURES.iter().map(|measure| measure.name).collect();
        complain(&format!("{USAGE}\nnames: {}", names.join(", ")));
        return Err(tasks::USAGE);
    };
    let is_chosen = |measure: &&Measure| options.names.is_empty() || options.names.contains(&measure.name);
    let chosen: Vec<&Measure> = MEASURES.iter().filter(is_chosen).collect();
    let has = |name: &str| chosen.iter().any(|measure| measure.name.starts_with(name));
    if has("request") {
        tasks::provide_postgresql()?;
    }
    if has("list") {
        tasks::provide("sqlite3", &["sqlite3"])?;
    }
    let sides = match options.programs {
        Some((now, before)) => [("now", now), ("before", before)].map(|(name, program)| Side {
            name,
            program: PathBuf::from(program),
            recording: None,
        }),
        None => built(&options, has("recording"))?,
    };
    let compared = compare(&chosen, &sides, options.pairs).map_err(|error| {
        complain(&error);
        tasks::INTERNAL
    })?;
    if compared { Ok(()) } else { Err(1) }
}

fn compare(chosen: &[&Measure], [now, before]: &[Side; 2], pairs: u32) -> Result<bool, String> {
    let mut holds = true;
    for measure in chosen {
        let folder = tempfile::tempdir().map_err(|error| format!("no folder can be made: {error}"))?;
        let sample = (measure.prepare)(folder.path())?;
        let (ours, theirs) = interleaved(
            pairs,
            |is_now| sample(if is_now { now } else { before }),
            |pair, ours, theirs| {
                let (name, unit) = (measure.name, measure.unit);
                complain(&format!("{name} {pair}: {ours:.3} {unit}, {theirs:.3} {unit}"));
            },
        )?;
        let (line, held) = judged(measure, &ours, &theirs).ok_or("nothing was measured")?;
        holds &= held;
        say(&line);
    }
    Ok(holds)
}

/// A line of the result, and whether the bars hold.
fn judged(measure: &Measure, ours: &[f64], theirs: &[f64]) -> Option<(String, bool)> {
    let (ratio, unit) = (Ratio::of(ours, theirs)?, measure.unit);
    let (now, before) = (summary::median(ours)?, summary::median(theirs)?);
    let mut line = format!(
        "{}: {}: now {now:.2} {unit}, before {before:.2} {unit}, ratio {} in {} pairs",
        measure.name,
        measure.title,
        ratio.words(3),
        ours.len()
    );
    let mut holds = true;
    if let Some(bar) = measure.ratio_bar {
        let judgement = ratio.meets(bar);
        holds &= judgement != Judgement::Missed;
        let _ = write!(line, "; bar {bar:.2} x: {}", judgement.words());
    }
    if let Some(limit) = measure.limit {
        holds &= now <= limit;
        let _ = write!(line, "; bar {limit} {unit}: {}", if now <= limit { "holds" } else { "missed" });
    }
    line.push('\n');
    Some((line, holds))
}

/// Both programs, built from the working copy and from the earlier commit in a working copy of its own.
fn built(options: &Options<'_>, recording: bool) -> Result<[Side; 2], u8> {
    let root = tasks::root();
    let commit = commit(&root, options.baseline).map_err(|error| {
        complain(&error);
        tasks::USAGE
    })?;
    let folder = tasks::target_folder().join("baseline");
    let earlier = folder.join(&commit[..12]);
    if !earlier.join("Cargo.toml").exists() {
        let add = ["worktree", "add", "--force", "--detach"];
        tasks::run(Command::new("git").current_dir(&root).args(add).arg(&earlier).arg(&commit))?;
    }
    let program = tasks::released()?;
    let now = Side { name: "now", program, recording: if recording { Some(recorder(&root, None)?) } else { None } };
    let target = folder.join("build");
    tasks::run(cargo(&earlier, Some(&target)).args(["build", "--release", "--package", "plimsoll"]))?;
    let recording = if recording { Some(recorder(&earlier, Some(&target))?) } else { None };
    let before = Side { name: "before", program: target.join("release/plimsoll"), recording };
    Ok([now, before])
}

/// The commit that a revision stands for; the release's also where its tag is not there.
fn commit(root: &Path, revision: &str) -> Result<String, String> {
    let of = |revision: &str| {
        let mut command = Command::new("git");
        command.current_dir(root).args(["rev-parse", "--verify", "--quiet"]).arg(format!("{revision}^{{commit}}"));
        let output = command.stdin(Stdio::null()).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let known = of(revision).or_else(|| (revision == RELEASE.0).then(|| of(RELEASE.1))?);
    known.filter(|commit| commit.len() >= 12).ok_or_else(|| format!("this clone has no commit '{revision}'"))
}

fn cargo(folder: &Path, target: Option<&Path>) -> Command {
    let mut command = tasks::cargo();
    command.current_dir(folder);
    if let Some(target) = target {
        command.env("CARGO_TARGET_DIR", target);
    }
    command
}

/// The benchmark of recording of a working copy, wherever it is there.
fn recorder(root: &Path, target: Option<&Path>) -> Result<PathBuf, u8> {
    const FILE: &str = "benches/record.rs";
    let crates = fs::read_dir(root.join("crates")).map_err(|_| tasks::INTERNAL)?;
    let folder = crates.filter_map(Result::ok).map(|entry| entry.path()).find(|folder| folder.join(FILE).exists());
    let manifest = folder.ok_or(tasks::INTERNAL)?.join("Cargo.toml");
    let mut command = cargo(root, target);
    command
        .args(["bench", "--bench", "record", "--no-run", "--message-format", "json", "--manifest-path"])
        .arg(manifest);
    let output = command.stderr(Stdio::inherit()).output().map_err(|_| tasks::INTERNAL)?;
    let built = String::from_utf8_lossy(&output.stdout).lines().rev().find_map(executable);
    built.ok_or_else(|| {
        complain("the benchmark of recording can't be built");
        tasks::INTERNAL
    })
}

/// What cargo says that it has built.
fn executable(line: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    (message["target"]["name"] == "record").then(|| message["executable"].as_str().map(PathBuf::from))?
}

/// What the benchmark prints after `name`, without its readings of the clock. Nanoseconds.
fn recording(side: &Side, name: &str, clock_readings: f64) -> Result<f64, String> {
    let program = side.recording.as_ref().ok_or("recording is measured with programs that are built here only")?;
    let printed = measured(Command::new(program).arg("--bench"))?.output;
    let after = |words: &str| {
        let number = printed.lines().find_map(|line| line.strip_prefix(words)?.split(' ').next()?.parse::<f64>().ok());
        number.ok_or_else(|| format!("'{words}' was not printed: {printed}"))
    };
    Ok(after(name)? - clock_readings * after("a reading of the clock: ")?)
}

/// CPU time of a command of the program.
fn cpu_seconds(folder: &Path, arguments: &'static [&'static str]) -> Sample {
    let folder = folder.to_owned();
    Box::new(move |side| {
        let mut command = Command::new(&side.program);
        command.args(arguments).arg("--quiet").arg("--store").arg(folder.join(format!("{}.db", side.name)));
        measured(&mut command).map(|ended| ended.cpu())
    })
}

const DEFINITION: &str = r#"
name = "one-row"
title = "One row by its key"
steps = ["requests"]
existing = true

[[request]]
name = "balance"
statements = ["SELECT balance FROM accounts WHERE aid = :aid"]
parameters = { aid = { uniform = [1, 100000] } }
"#;

/// Requests for single rows of a server on this machine, whose data is in memory.
fn requests(folder: &Path) -> Result<Sample, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let server =
        Postgres::builder().trusting(true).setting("autovacuum", "off").start().map_err(|error| said(&error))?;
    for statement in [
        "CREATE TABLE accounts (aid int PRIMARY KEY, balance int NOT NULL)",
        "INSERT INTO accounts SELECT n, 0 FROM generate_series(1, 100000) n",
        "VACUUM FREEZE ANALYZE accounts",
        "CHECKPOINT",
    ] {
        server.psql(statement).map_err(|error| said(&error))?;
    }
    let definition = folder.join("one-row.toml");
    fs::write(&definition, DEFINITION).map_err(|error| said(&error))?;
    let target = format!("postgres://{}@127.0.0.1:{}/postgres?sslmode=disable", server.superuser(), server.port());
    let folder = folder.to_owned();
    let measure = move |side: &Side| {
        // It goes with the closure.
        let _server = &server;
        let folder = folder.join(side.name);
        fs::create_dir_all(&folder).map_err(|error| said(&error))?;
        let ours = Ours { program: side.program.clone(), target: target.clone(), folder };
        let parameters = [format!("sessions={SESSIONS}"), format!("duration={SECONDS}s")];
        let ended = measured(&mut ours.command(Path::new(""), &definition.to_string_lossy(), &parameters))?;
        let record: Value = serde_json::from_str(ended.output.trim()).map_err(|error| said(&error))?;
        let cost = record.pointer("/host/client/cpu_us_per_request").and_then(Value::as_f64);
        cost.ok_or_else(|| format!("the record has no CPU a request: {}", record["host"]))
    };
    Ok(Box::new(measure))
}

/// Lists a store of many runs. It is made from the kept one, in the form of v0.1.0, as the earlier program can't read later ones.
fn listing(folder: &Path) -> Result<Sample, String> {
    let kept = tasks::root().join("crates/plimsoll/tests/data/v0.1.0/runs.db");
    let many = folder.join("many.db");
    fs::copy(&kept, &many).map_err(|error| format!("{}: {error}", kept.display()))?;
    measured(Command::new("sqlite3").arg(&many).arg(multiplied()))?;
    for name in ["now", "before"] {
        fs::copy(&many, folder.join(format!("{name}.db"))).map_err(|error| error.to_string())?;
    }
    let folder = folder.to_owned();
    Ok(Box::new(move |side| {
        let mut command = Command::new(&side.program);
        command.args(["runs", "--json", "--limit", "1000000", "--store"]).arg(folder.join(format!("{}.db", side.name)));
        let start = Instant::now();
        let lines = measured(&mut command)?.output.lines().count();
        let seconds = start.elapsed().as_secs_f64();
        let is_all = lines >= LISTED_RUNS as usize;
        if is_all { Ok(1e3 * seconds) } else { Err(format!("{lines} runs were listed, not {LISTED_RUNS}")) }
    }))
}

/// SQL that makes many runs of the complete ones in a store of v0.1.0, whose tables will not change any more.
fn multiplied() -> String {
    let document = "replace(document, kept.run_id, new_id)";
    format!(
        "CREATE TEMP TABLE kept AS SELECT run_id, row_number() OVER (ORDER BY run_id) - 1 AS number FROM run \
           WHERE ended_at IS NOT NULL AND length(document) < 8000; \
         CREATE TEMP TABLE copy AS WITH RECURSIVE n(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < {last}) \
           SELECT n, printf('%032x', 1000000 + n) AS new_id, kept.run_id FROM n \
           JOIN kept ON kept.number = n % (SELECT count(*) FROM kept); \
         BEGIN; \
         INSERT INTO run SELECT new_id, test, target, target_fingerprint, campaign, ended_at, {document} \
           FROM copy AS kept JOIN run USING (run_id); \
         INSERT INTO repetition SELECT new_id, label, sequence, document FROM copy JOIN repetition USING (run_id) WHERE n < 2000; \
         COMMIT;",
        last = LISTED_RUNS - 1
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read() {
        let options = parse(&["--pairs", "12", "list", "--baseline", "HEAD~3", "scale"]).unwrap();
        assert_eq!((options.baseline, options.pairs, options.names), ("HEAD~3", 12, vec!["list", "scale"]));
        assert_eq!(parse(&[]).unwrap().baseline, "v0.1.0");
        assert_eq!(parse(&["--programs", "a", "b"]).unwrap().programs, Some(("a", "b")));
        for wrong in [&["--pairs", "1"][..], &["--pairs"], &["--programs", "a"], &["unknown"]] {
            assert!(parse(wrong).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn bars_are_of_the_ratio_or_of_the_figure_itself() {
        let of = |name: &str| MEASURES.iter().find(|measure| measure.name == name).unwrap();
        let (twice, same) = ([2.0; 10], [1.0; 10]);
        assert!(judged(of("scale"), &same, &same).unwrap().1);
        let (line, held) = judged(of("scale"), &twice, &same).unwrap();
        assert!(!held && line.contains("ratio 2.000 (2.000 to 2.000) in 10 pairs; bar 1.00 x: missed"), "{line}");
        assert!(judged(of("list"), &[49.0; 10], &same).unwrap().1, "however much longer than before");
        assert!(!judged(of("list"), &[51.0; 10], &[99.0; 10]).unwrap().1);
    }

    #[test]
    fn the_executable_is_what_cargo_names() {
        let line = r#"{"reason":"compiler-artifact","target":{"name":"record"},"executable":"/a/record-1"}"#;
        assert_eq!(executable(line), Some(PathBuf::from("/a/record-1")));
        assert!(executable("warning: x").is_none() && executable(&line.replace("\"record\"", "\"x\"")).is_none());
    }
}
