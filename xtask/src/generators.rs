//! What a request costs the client, beside pgbench and sysbench: the same statement on the same tables of the same server,
//! prepared, from as many sessions, in interleaved pairs in ABBA order.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::available_parallelism;

use plimsoll_analysis::summary;
use plimsoll_testbed::{Binaries, Postgres};

use crate::child::{Ours, answered, measured, record};
use crate::pairs::{Ratio, interleaved};
use crate::tasks::{self, Outcome};
use crate::{complain, say};

/// Rows of pgbench's accounts are 100,000 times this; the tables of sysbench have as many together.
const SCALE: u32 = 10;
const TABLES: u32 = 8;
const ROWS: u32 = 125_000;
const SESSIONS: u32 = 8;
/// So many that a thread each is dear.
const MANY: u32 = 1_000;
/// Requests a second where the start lag is compared.
const LAG_RATE: u32 = 1_000;

/// What a generator came to in one run.
#[derive(Debug, Clone, Copy)]
struct Figures {
    /// CPU time of its process for a request, microseconds.
    cpu_us: f64,
    user_us: f64,
    /// Requests a second.
    rate: f64,
    /// How late 99 of 100 requests began at most, microseconds.
    lag_us: Option<f64>,
}

/// Everything the runs need.
pub(crate) struct Setting {
    server: Postgres,
    pub(crate) ours: Ours,
    binaries: std::path::PathBuf,
    seconds: u32,
    folder: tempfile::TempDir,
}

/// Whom we are compared with, in what, and what is to be reached.
struct Case {
    title: &'static str,
    sessions: u32,
    example: &'static str,
    parameters: &'static [&'static str],
    theirs: fn(&Setting) -> Result<Figures, String>,
    /// The most that our CPU time may be of theirs.
    cpu_bar: Option<f64>,
    /// The most that our start lag may be of theirs.
    lag_bar: Option<f64>,
}

const CASES: &[Case] = &[
    Case {
        title: "`pgbench -S -M prepared -c 8 -j 1`",
        sessions: SESSIONS,
        example: "pgbench-select.toml",
        parameters: &["scale=10"],
        theirs: |setting| pgbench(setting, SESSIONS, &["-j", "1"]),
        cpu_bar: Some(0.95),
        lag_bar: None,
    },
    Case {
        title: "`pgbench -S -M prepared -c 8 -j 8`",
        sessions: SESSIONS,
        example: "pgbench-select.toml",
        parameters: &["scale=10"],
        theirs: |setting| pgbench(setting, SESSIONS, &["-j", "8"]),
        cpu_bar: Some(0.85),
        lag_bar: None,
    },
    Case {
        title: "`sysbench oltp_point_select --rand-type=uniform --tables=8 --threads=8`",
        sessions: SESSIONS,
        example: "sysbench-point-select.toml",
        parameters: &["table_size=125000"],
        theirs: sysbench,
        cpu_bar: Some(0.85),
        lag_bar: None,
    },
    Case {
        title: "`pgbench -R 5000 -S -M prepared -c 8 -j 1`",
        sessions: SESSIONS,
        example: "pgbench-select.toml",
        parameters: &["scale=10", "rate=5000", "arrivals=poisson"],
        theirs: |setting| pgbench(setting, SESSIONS, &["-j", "1", "-R", "5000"]),
        cpu_bar: Some(0.75),
        lag_bar: None,
    },
    Case {
        title: "`pgbench -R 1000 -S -M prepared -c 8 -j 1 -l`, ours at a constant rate",
        sessions: SESSIONS,
        example: "pgbench-select.toml",
        parameters: &["scale=10", "rate=1000"],
        theirs: |setting| pgbench(setting, SESSIONS, &["-j", "1", "-R", "1000", "-l"]),
        cpu_bar: None,
        lag_bar: Some(0.5),
    },
    Case {
        title: "`pgbench -R 8000 -S -M prepared -c 1000 -j 2`",
        sessions: MANY,
        example: "pgbench-select.toml",
        parameters: &["scale=10", "rate=8000", "arrivals=poisson"],
        theirs: |setting| pgbench(setting, MANY, &["-j", "2", "-R", "8000"]),
        cpu_bar: Some(0.9),
        lag_bar: None,
    },
];

/// Compares, and writes the table where that is wanted.
pub fn compare(arguments: &[&str]) -> Outcome {
    let Some((pairs, seconds, write, only)) = parse(arguments) else {
        complain("cargo xtask compare-generators [--pairs N] [--seconds S] [--write] [--only TEXT]");
        return Err(tasks::USAGE);
    };
    tasks::provide_postgresql()?;
    tasks::provide("sysbench", &["sysbench"])?;
    let program = tasks::released()?;
    let said = |error: String| {
        complain(&error);
        tasks::INTERNAL
    };
    let setting = prepare(program, seconds).map_err(said)?;
    let mut rows = Vec::new();
    for case in CASES.iter().filter(|case| case.title.contains(only)) {
        rows.push(pairs_of(&setting, case, pairs).map_err(said)?);
    }
    let table = document(&rows, pairs, seconds);
    say(&table);
    if write {
        let path = tasks::root().join("docs/GENERATORS.md");
        replace_section(&path, &table).map_err(said)?;
    }
    Ok(())
}

fn parse<'a>(arguments: &[&'a str]) -> Option<(u32, u32, bool, &'a str)> {
    let (mut pairs, mut seconds, mut write, mut only) = (10, 10, false, "");
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match *word {
            "--pairs" => pairs = rest.next()?.parse().ok().filter(|pairs| *pairs > 1)?,
            "--seconds" => seconds = rest.next()?.parse().ok().filter(|seconds| *seconds > 0)?,
            "--write" => write = true,
            "--only" => only = rest.next()?,
            _ => return None,
        }
    }
    // A table of some cases would take the place of that of all.
    (!write || only.is_empty()).then_some((pairs, seconds, write, only))
}

/// A server that lets everybody in and gives no guarantees, with the tables of both.
pub(crate) fn prepare(program: std::path::PathBuf, seconds: u32) -> Result<Setting, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let server = Postgres::builder()
        .shared_buffers_mb(1024)
        .setting("autovacuum", "off")
        .setting("max_connections", &(MANY + 100).to_string())
        .trusting(true)
        .start()
        .map_err(|error| said(&error))?;
    let folder = tempfile::tempdir().map_err(|error| said(&error))?;
    let target = format!("postgres://{}@127.0.0.1:{}/postgres?sslmode=disable", server.superuser(), server.port());
    let ours = Ours { program, target, folder: folder.path().to_owned() };
    let binaries = Binaries::find().map_err(|error| said(&error))?.folder().to_owned();
    let setting = Setting { server, ours, binaries, seconds, folder };
    complain("making the tables");
    measured(setting.client("pgbench").args(["-i", "-q", "-s", &SCALE.to_string()]))?;
    measured(sysbench_command(&setting).arg("prepare"))?;
    setting.server.psql("VACUUM FREEZE ANALYZE").map_err(|error| said(&error))?;
    setting.server.psql("CHECKPOINT").map_err(|error| said(&error))?;
    Ok(setting)
}

impl Setting {
    /// A program of PostgreSQL's that works against the server.
    fn client(&self, program: &str) -> Command {
        let mut command = Command::new(self.binaries.join(program));
        command.env("PGHOST", "127.0.0.1").env("PGPORT", self.server.port().to_string());
        command.env("PGUSER", self.server.superuser()).env("PGDATABASE", "postgres").env("PGSSLMODE", "disable");
        command.current_dir(self.folder.path());
        command
    }
}

fn pgbench(setting: &Setting, sessions: u32, more: &[&str]) -> Result<Figures, String> {
    let seconds = setting.seconds.to_string();
    let mut command = setting.client("pgbench");
    command.args(["-S", "-M", "prepared", "-n", "-c", &sessions.to_string(), "-T", &seconds]).args(more);
    let ended = measured(&mut command)?;
    let count = number_after(&ended.output, "number of transactions actually processed:")?;
    Ok(Figures {
        cpu_us: ended.cpu() * 1e6 / count,
        user_us: ended.user * 1e6 / count,
        rate: count / f64::from(setting.seconds),
        lag_us: logged_lag(setting.folder.path())?,
    })
}

/// The 99th percentile of the lag that pgbench logged; its log is removed.
fn logged_lag(folder: &Path) -> Result<Option<f64>, String> {
    let said = |error: std::io::Error| format!("pgbench's log can't be read: {error}");
    let mut lags = Vec::new();
    for entry in fs::read_dir(folder).map_err(said)? {
        let path = entry.map_err(said)?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("pgbench_log.")) {
            let text = fs::read_to_string(&path).map_err(said)?;
            // client, transaction, latency, script, seconds, microseconds, lag.
            lags.extend(text.lines().filter_map(|line| line.split(' ').nth(6)?.parse::<f64>().ok()));
            fs::remove_file(&path).map_err(said)?;
        }
    }
    lags.sort_by(f64::total_cmp);
    Ok((!lags.is_empty()).then(|| lags[(lags.len() * 99).div_ceil(100) - 1]))
}

fn sysbench_command(setting: &Setting) -> Command {
    let mut command = Command::new("sysbench");
    command.args(["--db-driver=pgsql", "--pgsql-host=127.0.0.1", "--pgsql-db=postgres"]);
    command.arg(format!("--pgsql-port={}", setting.server.port()));
    command.arg(format!("--pgsql-user={}", setting.server.superuser()));
    command.args([format!("--tables={TABLES}"), format!("--table-size={ROWS}"), format!("--threads={SESSIONS}")]);
    command.args([format!("--time={}", setting.seconds)]).args(["--rand-type=uniform", "oltp_point_select"]);
    command
}

fn sysbench(setting: &Setting) -> Result<Figures, String> {
    let ended = measured(sysbench_command(setting).arg("run"))?;
    let count = number_after(&ended.output, "total number of events:")?;
    let rate = count / f64::from(setting.seconds);
    Ok(Figures { cpu_us: ended.cpu() * 1e6 / count, user_us: ended.user * 1e6 / count, rate, lag_us: None })
}

fn number_after(text: &str, words: &str) -> Result<f64, String> {
    let rest = text.split_once(words).map(|(_, rest)| rest.split_whitespace().next().unwrap_or_default());
    rest.and_then(|word| word.parse().ok())
        .filter(|number| *number > 0.0)
        .ok_or(format!("'{words}' was not said: {text}"))
}

fn plimsoll(setting: &Setting, case: &Case) -> Result<Figures, String> {
    let mut parameters: Vec<String> = case.parameters.iter().map(|&parameter| parameter.to_owned()).collect();
    parameters.extend([format!("sessions={}", case.sessions), format!("duration={}s", setting.seconds)]);
    let ended = measured(&mut setting.ours.command(&tasks::root(), case.example, &parameters))?;
    let record = record(&ended.output)?;
    let count = answered(&record) as f64;
    let lag =
        record.repetitions.iter().flat_map(|repetition| &repetition.phases).find_map(|phase| phase.start_lag.as_ref());
    Ok(Figures {
        cpu_us: ended.cpu() * 1e6 / count,
        user_us: ended.user * 1e6 / count,
        rate: count / f64::from(setting.seconds),
        lag_us: lag.and_then(|lag| lag.percentile_us(99.0)),
    })
}

/// The figures of a case, ours and theirs, pair by pair.
struct Row<'a> {
    case: &'a Case,
    ours: Vec<Figures>,
    theirs: Vec<Figures>,
}

fn pairs_of<'a>(setting: &Setting, case: &'a Case, pairs: u32) -> Result<Row<'a>, String> {
    let (ours, theirs) = interleaved(
        pairs,
        |is_ours| if is_ours { plimsoll(setting, case) } else { (case.theirs)(setting) },
        |pair, ours, theirs| {
            complain(&format!(
                "{} {pair}: {:.2} us (user {:.2}) at {:.0}/s, {:.2} us (user {:.2}) at {:.0}/s",
                case.title, ours.cpu_us, ours.user_us, ours.rate, theirs.cpu_us, theirs.user_us, theirs.rate
            ));
        },
    )?;
    Ok(Row { case, ours, theirs })
}

fn document(rows: &[Row<'_>], pairs: u32, seconds: u32) -> String {
    let cpus = available_parallelism().map_or(0, std::num::NonZero::get);
    let mut text = format!(
        "`cargo xtask compare-generators --pairs {pairs} --seconds {seconds} --write`: medians of {pairs} pairs of {seconds} s in ABBA \
         order after one that does not count; client and server on the same {cpus} CPUs, loopback TCP without TLS, data in the \
         server's cache, {SESSIONS} sessions, prepared statements, texts as results. CPU is that of the whole client process, from \
         its start to its end. A ratio is ours to theirs, with the ranks between which its median lies with 95 % confidence.\n\n\
         | beside | CPU us a request, ours | theirs | ratio | bar | | requests a second, ratio |\n|---|---|---|---|---|---|---|\n"
    );
    let column = |figures: &[Figures], of: fn(&Figures) -> f64| figures.iter().map(of).collect::<Vec<f64>>();
    let median = |values: &[f64]| summary::median(values).unwrap_or(f64::NAN);
    let mut lags = String::new();
    for Row { case, ours, theirs } in rows {
        let cpu = (column(ours, |f| f.cpu_us), column(theirs, |f| f.cpu_us));
        let rate = (column(ours, |f| f.rate), column(theirs, |f| f.rate));
        if let (Some(ratio), Some(rates)) = (Ratio::of(&cpu.0, &cpu.1), Ratio::of(&rate.0, &rate.1)) {
            let bar = case.cpu_bar.map_or((String::new(), ""), |bar| (format!("{bar:.2}"), ratio.meets(bar).words()));
            let _ = writeln!(
                text,
                "| {} | {:.2} (user {:.2}) | {:.2} (user {:.2}) | {} | {} | {} | {} |",
                case.title,
                median(&cpu.0),
                median(&column(ours, |f| f.user_us)),
                median(&cpu.1),
                median(&column(theirs, |f| f.user_us)),
                ratio.words(2),
                bar.0,
                bar.1,
                rates.words(2)
            );
        }
        let lag = |figures: &[Figures]| figures.iter().filter_map(|f| f.lag_us).collect::<Vec<f64>>();
        if let (Some(bar), Some(ratio)) = (case.lag_bar, Ratio::of(&lag(ours), &lag(theirs))) {
            let (ours_us, theirs_us, held) = (median(&lag(ours)), median(&lag(theirs)), ratio.meets(bar).words());
            let asked = f64::from(LAG_RATE);
            let worst = rate.0.iter().map(|rate| 100.0 * (rate / asked - 1.0).abs()).fold(0.0, f64::max);
            let _ = write!(
                lags,
                "\nStart lag at {asked}/s, 99th percentile: {ours_us:.0} us, `pgbench -R` {theirs_us:.0} us, ratio {} (bar {bar}: {held}). \
                 The rate was off by {worst:.2} % at most (bar 0.5 %).\n",
                ratio.words(2)
            );
        }
    }
    text + &lags
}

/// Marks between which the document has what was measured last.
const BEGIN: &str = "<!-- measured -->\n";
const END: &str = "<!-- end of measured -->\n";

/// Puts a section between the marks of a document.
pub fn replace_section(path: &Path, section: &str) -> Result<(), String> {
    let said = |error: std::io::Error| format!("{}: {error}", path.display());
    let text = fs::read_to_string(path).map_err(said)?;
    let parts = text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = parts.ok_or_else(|| format!("{} has no place for the table", path.display()))?;
    fs::write(path, format!("{before}{BEGIN}{section}{END}{after}")).map_err(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read() {
        assert_eq!(parse(&["--pairs", "12", "--write"]), Some((12, 10, true, "")));
        assert!(parse(&["--pairs", "1"]).is_none() && parse(&["--seconds"]).is_none() && parse(&["x"]).is_none());
    }
}
